// SPDX-License-Identifier: Apache-2.0
//! Sends the deliveries in a spool to the table, in order, and deletes those that the table has.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hush_remote::RemoteServer;
use hush_table::{SignedDelivery, TableError, TableStore, TableUri};

use crate::EdgeError;
use crate::event::Event;
use crate::spool::{Spool, Waiting};

/// First pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Interval at which a pause checks whether it is to end.
const STEP: Duration = Duration::from_millis(100);

/// The destination of deliveries.
#[derive(Debug)]
pub enum Destination {
    /// A table in an object store.
    Bucket(Box<TableStore>),
    /// The directory of a table.
    Directory(PathBuf),
    /// A table on a server.
    Server {
        /// The server.
        server: Box<RemoteServer>,
        /// The table's name there.
        table: String,
    },
    /// Nowhere: deliveries stay in the spool.
    Nowhere,
}

/// The table at an address in an object store. Credentials come from the environment.
///
/// # Errors
/// [`EdgeError::Table`] if the environment does not say how to reach the store.
#[cfg(feature = "stores")]
pub(crate) fn bucket(place: &TableUri) -> Result<TableStore, EdgeError> {
    Ok(TableStore::at(place)?)
}

/// The table at an address in an object store, which this build cannot reach.
#[cfg(not(feature = "stores"))]
pub(crate) fn bucket(place: &TableUri) -> Result<TableStore, EdgeError> {
    let what = format!(
        "{place}: this program was built without object stores\n  Way out: --to SERVER/tables/NAME, or hush-edge with them"
    );
    Err(EdgeError::Usage { what })
}

/// Delivers for as long as there is something to deliver.
pub(crate) struct Forwarder<'a> {
    pub(crate) spool: &'a Spool,
    pub(crate) destination: &'a Destination,
    pub(crate) report: &'a (dyn Fn(Event) + Sync),
    /// Set once no more will come: then it ends when the spool is empty, or after [`Forwarder::patience`] without a success.
    pub(crate) last: &'a AtomicBool,
    /// How long to try at the end.
    pub(crate) patience: Duration,
}

impl Forwarder<'_> {
    /// Sends deliveries when `woken` tells that there are some. Returns the number of those that were taken.
    ///
    /// # Errors
    /// A refusal, which another try would not change. A server that cannot be reached is tried again and again.
    pub(crate) fn run(&self, woken: &Receiver<()>) -> Result<u64, EdgeError> {
        let (mut sent, mut pause, mut tried_since) = (0, PAUSE, Instant::now());
        loop {
            let last = self.last.load(Ordering::Acquire);
            let waiting = if matches!(self.destination, Destination::Nowhere) {
                Vec::new()
            } else {
                self.spool.waiting()?
            };
            let mut failed = None;
            for next in waiting {
                match self.deliver(next) {
                    Ok(()) => {
                        (sent, pause, tried_since) = (sent + 1, PAUSE, Instant::now());
                        (self.report)(Event::Delivered { number: next.number });
                    }
                    Err(error) if is_transient(&error) => {
                        failed = Some(error);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            match failed {
                None if last => return Ok(sent),
                None => match woken.recv_timeout(LONGEST_PAUSE) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) if self.last.load(Ordering::Acquire) => {}
                    // The other side has failed; the next run sends the waiting deliveries.
                    Err(RecvTimeoutError::Disconnected) => return Ok(sent),
                },
                Some(_) if last && tried_since.elapsed() >= self.patience => return Ok(sent),
                Some(error) => {
                    (self.report)(Event::Waiting { reason: error.to_string(), pause });
                    self.wait(pause, last);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Waits, but less long once no more will come.
    fn wait(&self, pause: Duration, last: bool) {
        let until = Instant::now() + if last { pause.min(PAUSE) } else { pause };
        while Instant::now() < until && (last || !self.last.load(Ordering::Acquire)) {
            std::thread::sleep(STEP);
        }
    }

    fn deliver(&self, waiting: Waiting) -> Result<(), EdgeError> {
        let signed = self.spool.read(waiting)?;
        match self.destination {
            Destination::Nowhere => return Ok(()),
            Destination::Bucket(table) => self.deliver_to(table, &signed)?,
            Destination::Directory(directory) => {
                self.deliver_to(&TableStore::local_existing(directory)?, &signed)?
            }
            Destination::Server { server, table } => {
                server.deliver(table, self.spool.directory(), &signed)?
            }
        }
        self.spool.delivered(waiting, &signed)
    }

    fn deliver_to(&self, table: &TableStore, signed: &SignedDelivery) -> Result<(), EdgeError> {
        table.deliver_parts(signed, |kind, file| {
            let source = self.spool.store().open_part(kind, &file)?;
            let path = self.spool.directory().to_owned();
            source.read_all().map_err(|source| EdgeError::File { what: "read", path, source })
        })?;
        Ok(())
    }
}

/// Whether the same delivery may succeed later.
fn is_transient(error: &EdgeError) -> bool {
    match error {
        EdgeError::Remote(error) => error.is_transient(),
        EdgeError::Table(TableError::Store { fault, .. }) => fault.is_transient(),
        // A part that is swept before its delivery names it is copied again.
        EdgeError::Table(TableError::NoTable { .. } | TableError::Busy { .. }) => true,
        EdgeError::Table(TableError::PartMissing { .. } | TableError::Io { .. }) => true,
        _ => false,
    }
}
