// SPDX-License-Identifier: Apache-2.0
//! The whole way of rows through a device: read, collect, encrypt, spool, forward.

mod collector;
mod parquet;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

use hush_table::CHUNK_ROWS;
use serde::Serialize;

use self::collector::Collector;
use crate::encrypt::{DeviceEncryptor, EncryptedRows};
use crate::event::Event;
use crate::feed::{Feed, LineForm};
use crate::forward::{Destination, Forwarder};
use crate::input::{Input, Message};
use crate::place::Place;
use crate::spool::Spool;
use crate::{DeviceKey, EdgeError};

/// Messages that may wait between reader and encryption: half a megabyte.
const READ_AHEAD: usize = 8;
/// Interval at which a stop is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Options of a run.
#[derive(Debug)]
pub struct GatewayOptions {
    /// The source of rows; `None` to send the waiting rows and no more.
    pub input: Option<Input>,
    /// The form of a line.
    pub form: LineForm,
    /// Directory of the spool.
    pub spool: PathBuf,
    /// The destination of deliveries.
    pub destination: Destination,
    /// How long rows wait for a chunk to fill.
    pub flush_after: Duration,
    /// Bytes of the spool at which no more is read until some are delivered.
    pub spool_limit: u64,
    /// How long to try to deliver at the end.
    pub patience: Duration,
    /// Set from outside to end: rows that wait are encrypted first.
    pub stop: Arc<AtomicBool>,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Rows encrypted.
    pub rows: u64,
    /// Chunks spooled.
    pub chunks: u64,
    /// Chunks among them that were not full.
    pub flushed: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Deliveries that the table has taken.
    pub delivered: u64,
    /// Deliveries that still wait in the spool.
    pub waiting: u64,
}

/// Reads, encrypts, spools and forwards until the input ends or it is stopped.
///
/// # Cost
/// Memory: a chunk as text, as values and encrypted, and the one before it that is being sent: 18 MB, and 1.2 MB for each encoded
/// column over 4096 × 2 limbs ([`crate::Capacity`]).
///
/// # Errors
/// Rows that do not suit the schema, a full disk, a refusal by the table's place. All whole rows before are spooled first; the same
/// command goes on after them.
pub fn run(
    key: &DeviceKey,
    options: &GatewayOptions,
    report: &(dyn Fn(Event) + Sync),
) -> Result<Summary, EdgeError> {
    let spool = Spool::open(&options.spool, key)?;
    let last = AtomicBool::new(false);
    let (wake, woken) = channel();
    let (summary, sent) = std::thread::scope(|scope| {
        let (spool, last) = (&spool, &last);
        let destination = &options.destination;
        let forwarder = Forwarder { spool, destination, report, last, patience: options.patience };
        let failed = Arc::new(AtomicBool::new(false));
        let sending = {
            let failed = failed.clone();
            scope.spawn(move || {
                let sent = forwarder.run(&woken);
                failed.store(sent.is_err(), Ordering::Release);
                sent
            })
        };
        let _ = wake.send(());
        let gateway = Gateway { key, options, spool, report, failed };
        let collected = gateway.collect(&|| {
            let _ = wake.send(());
        });
        // After a failure here too, the forwarder sends the waiting deliveries and then ends.
        last.store(true, Ordering::Release);
        let _ = wake.send(());
        let sent =
            sending.join().unwrap_or(Err(EdgeError::Internal { what: "the forwarding thread panicked" }));
        collected.and_then(|summary| Ok((summary, sent?)))
    })?;
    let waiting = spool.waiting()?.len() as u64;
    Ok(Summary { delivered: sent, waiting, ..summary })
}

struct Gateway<'a> {
    key: &'a DeviceKey,
    options: &'a GatewayOptions,
    spool: &'a Spool,
    report: &'a (dyn Fn(Event) + Sync),
    /// Set if deliveries are refused: more are of no use.
    failed: Arc<AtomicBool>,
}

impl Gateway<'_> {
    fn collect(&self, wake: &dyn Fn()) -> Result<Summary, EdgeError> {
        let Some(input) = &self.options.input else { return Ok(Summary::default()) };
        let mut opened = input.open()?;
        if let Some(file) = opened.parquet()? {
            return self.collect_table(&file, wake);
        }
        let of_file = opened.place.map(|(source, _)| source);
        let resume = |source| self.spool.resume(source, |position| opened.mark_at(position, self.key));
        let position = of_file.map(resume).transpose()?.unwrap_or(0);
        let start = opened.start_at(position, self.options.form)?;
        let mut collector = Collector {
            gateway: self,
            feed: Feed::new(self.options.form, &self.key.schema, start),
            is_file: of_file.is_some(),
            encryptor: DeviceEncryptor::new(self.key),
            summary: Summary::default(),
            wake,
        };
        let (sender, messages) = sync_channel(READ_AHEAD);
        let stop = self.options.stop.clone();
        // The thread is not joined, because it may wait for input that never comes. It ends with the process, or when nobody listens.
        std::thread::Builder::new()
            .name("hush-read".to_owned())
            .spawn(move || opened.read(&sender, &stop))
            .map_err(|source| EdgeError::File {
            what: "start a thread for",
            path: self.options.spool.clone(),
            source,
        })?;
        collector.collect(&messages)?;
        Ok(collector.summary)
    }

    /// The next message; `None` if there is none for now.
    fn next(&self, messages: &Receiver<Message>) -> Option<Message> {
        match messages.recv_timeout(TICK) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) if self.options.stop.load(Ordering::Relaxed) => Some(Message::End),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::End),
        }
    }

    /// Lets encrypted rows wait in the spool; `place` is the place in the input after them.
    fn spool(
        &self,
        encrypted: &EncryptedRows,
        place: Option<Place>,
        summary: &mut Summary,
    ) -> Result<(), EdgeError> {
        self.wait_for_room();
        let waiting = self.spool.push(self.key, encrypted, place)?;
        let flushed = encrypted.rows < CHUNK_ROWS as usize;
        summary.rows += encrypted.rows as u64;
        summary.chunks += 1;
        summary.flushed += u64::from(flushed);
        summary.bytes += encrypted.bytes();
        let (number, bytes) = (waiting.number, encrypted.bytes());
        (self.report)(Event::Spooled { number, rows: encrypted.rows, bytes, flushed });
        Ok(())
    }

    /// Whether the gateway would wait for room for ever.
    fn is_full_for_good(&self) -> bool {
        matches!(self.options.destination, Destination::Nowhere)
            && self.spool.bytes() >= self.options.spool_limit
    }

    /// Waits while the spool is at its limit; then the writer of the input waits too.
    fn wait_for_room(&self) {
        let mut told = false;
        loop {
            let bytes = self.spool.bytes();
            let stopped = matches!(self.options.destination, Destination::Nowhere)
                || self.options.stop.load(Ordering::Relaxed)
                || self.failed.load(Ordering::Acquire);
            if bytes < self.options.spool_limit || stopped {
                return;
            }
            if !std::mem::replace(&mut told, true) {
                (self.report)(Event::Full { bytes });
            }
            std::thread::sleep(TICK);
        }
    }
}
