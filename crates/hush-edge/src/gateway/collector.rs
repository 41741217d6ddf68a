// SPDX-License-Identifier: Apache-2.0
//! Lines on their way from the reader to the spool, a chunk at a time.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use hush_table::error::ErrorKind;
use zeroize::Zeroize;

use super::{Gateway, Message, Summary};
use crate::EdgeError;
use crate::encrypt::{DeviceEncryptor, EncryptedRows};
use crate::event::Event;
use crate::feed::{Feed, Start};
use crate::place::Place;

/// Rows that one run has collected and not yet spooled, and counts of those that it has spooled.
pub(super) struct Collector<'a> {
    pub(super) gateway: &'a Gateway<'a>,
    pub(super) feed: Feed,
    /// Whether places in the input are worth keeping.
    pub(super) is_file: bool,
    pub(super) encryptor: DeviceEncryptor,
    pub(super) summary: Summary,
    /// Tells the deliverer that a delivery is ready.
    pub(super) wake: &'a dyn Fn(),
}

impl Collector<'_> {
    /// Collects until the input ends, or the process is asked to end.
    ///
    /// # Errors
    /// The first error, after all whole rows before it were spooled.
    pub(super) fn collect(&mut self, messages: &Receiver<Message>) -> Result<(), EdgeError> {
        let options = self.gateway.options;
        // The error with which it ends, once the rows read so far are spooled.
        let mut ending = None;
        // The arrival of the oldest row that is not encrypted.
        let mut since: Option<Instant> = None;
        loop {
            while self.feed.is_full() {
                self.spool_next()?;
                since = None;
            }
            let is_due = since.is_some_and(|since| since.elapsed() >= options.flush_after);
            if is_due || self.feed.records() == 0 {
                since = None;
            }
            if is_due {
                self.spool_next()?;
            }
            if self.feed.records() > 0 && since.is_none() {
                since = Some(Instant::now());
            }
            // If deliveries are refused, or the spool stays full, no more is read. But rows already read of a stream would be lost.
            if self.gateway.failed.load(Ordering::Acquire) {
                options.stop.store(true, Ordering::Relaxed);
            } else if ending.is_none() && self.gateway.is_full_for_good() {
                ending = Some(EdgeError::SpoolFull { limit: options.spool_limit });
                options.stop.store(true, Ordering::Relaxed);
            }
            match self.gateway.next(messages) {
                Some(Message::Bytes(mut bytes)) => {
                    let pushed = self.feed.push(&bytes);
                    bytes.zeroize();
                    if let Err(error) = pushed {
                        return self.spool_all().and(Err(error));
                    }
                }
                Some(Message::Rotated(source)) => {
                    let bytes = self.feed.open_bytes();
                    self.spool_all()?;
                    if bytes > 0 {
                        (self.gateway.report)(Event::Torn { bytes });
                    }
                    self.gateway.spool.restart(source)?;
                    self.feed = Feed::new(options.form, &self.gateway.key.schema, Start::default());
                    since = None;
                }
                Some(Message::Failed(error)) => return self.spool_all().and(Err(error)),
                Some(Message::End) => {
                    // If the input was stopped before its end, the last line may not be whole.
                    let ended = if options.stop.load(Ordering::Relaxed) { Ok(()) } else { self.feed.end() };
                    self.spool_all()?;
                    return ending.map_or(ended, Err);
                }
                None => {}
            }
        }
    }

    /// Spools all whole records.
    fn spool_all(&mut self) -> Result<(), EdgeError> {
        while self.feed.records() > 0 {
            self.spool_next()?;
        }
        Ok(())
    }

    /// Spools the next rows, at most a chunk; if one does not suit, those before it.
    fn spool_next(&mut self) -> Result<(), EdgeError> {
        let counts = self.feed.counts();
        let Some(&all) = counts.last() else {
            return Err(EdgeError::Internal { what: "records without a place" });
        };
        match self.encrypt(all) {
            Ok(encrypted) => self.pass(all, encrypted),
            Err(error) if error.kind() == ErrorKind::Data => {
                let suits = |count: &usize| self.encrypt(*count).is_ok();
                let good = first_bad(&counts, suits).checked_sub(1).map(|last| counts[last]);
                if let Some(good) = good {
                    let encrypted = self.encrypt(good)?;
                    self.pass(good, encrypted)?;
                }
                Err(self.complaint(error))
            }
            Err(error) => Err(error),
        }
    }

    /// The first `count` records, encrypted; `None` for empty lines.
    fn encrypt(&mut self, count: usize) -> Result<Option<EncryptedRows>, EdgeError> {
        let rows = self.feed.rows(count)?;
        let (key, spool) = (self.gateway.key, self.gateway.spool);
        rows.map(|rows| self.encryptor.encrypt(key, &rows, spool.next_delivery(key))).transpose()
    }

    /// Passes records, which the spool gets as `encrypted`.
    fn pass(&mut self, count: usize, encrypted: Option<EncryptedRows>) -> Result<(), EdgeError> {
        self.feed.pass(count);
        let Some(encrypted) = encrypted else { return Ok(()) };
        let (position, trace) = self.feed.place();
        let place = Place { position, mark: Some(trace.mark(self.gateway.key)) };
        self.gateway.spool(&encrypted, self.is_file.then_some(place), &mut self.summary)?;
        (self.wake)();
        Ok(())
    }

    /// The fault of the next record with its place in the input, or `error` if no record is at fault.
    fn complaint(&mut self, error: EdgeError) -> EdgeError {
        let first = self.feed.counts().first().copied().unwrap_or(0);
        let (position, _) = self.feed.place();
        match self.encrypt(first) {
            Err(source) if source.kind() == ErrorKind::Data => {
                EdgeError::Row { position, source: Box::new(source) }
            }
            _ => error,
        }
    }
}

/// The index of the first count that does not suit. Every count before one that suits must suit.
fn first_bad(counts: &[usize], mut suits: impl FnMut(&usize) -> bool) -> usize {
    let (mut low, mut high) = (0, counts.len());
    while low < high {
        let middle = low.midpoint(high);
        if counts.get(middle).is_some_and(&mut suits) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
