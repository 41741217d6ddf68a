// SPDX-License-Identifier: Apache-2.0
//! Finding where records of CSV end without reading them, so that they can be read on another thread.
//!
//! The rules are those of `csv-core` as [`super::records`] sets it: a quote opens a quoted field at the field's start alone, two quotes
//! in one are a quote, a record ends in LF, CRLF or CR, and a line without a byte is no record (in a table of one column it is one).

use memchr::{memchr, memchr3, memrchr};

use super::record::FIRST_RECORD_BYTES;

/// Where in the text the scan stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a record.
    RecordStart,
    /// Before the first byte of a field that is not its record's first.
    FieldStart,
    /// In a field that does not begin with a quote, or behind the closing quote of one that does.
    Field,
    /// Between quotes.
    Quoted,
    /// Behind a quote that closes a field or is the first of two.
    AfterQuote,
}

/// Counts the records of a text that comes in pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordScan {
    delimiter: u8,
    /// Whether a blank line is a record.
    blank_rows: bool,
    state: State,
    /// The last byte was a carriage return that ended a line.
    after_return: bool,
    /// Records that have ended.
    records: usize,
    line_feeds: usize,
    has_quotes: bool,
    /// Bytes of the record that has not ended.
    length: usize,
    /// Bytes of the longest record, or somewhat more.
    longest: usize,
}

impl RecordScan {
    /// A scan that begins with a record. `after_return`: behind a carriage return, whose line feed may still come.
    pub(super) fn new(delimiter: u8, blank_rows: bool, after_return: bool) -> Self {
        Self {
            delimiter,
            blank_rows,
            state: State::RecordStart,
            after_return,
            records: 0,
            line_feeds: 0,
            has_quotes: false,
            length: 0,
            longest: 0,
        }
    }

    /// Whether a carriage return ended the last line.
    pub(super) fn after_return(&self) -> bool {
        self.after_return
    }

    /// Records seen, if the text ends here: the last line of a file may have no end.
    pub(super) fn records(&self) -> usize {
        self.records + usize::from(self.is_inside())
    }

    /// Line feeds seen, quoted ones too.
    pub(super) fn line_feeds(&self) -> usize {
        self.line_feeds
    }

    /// Whether a quote was seen.
    pub(super) fn has_quotes(&self) -> bool {
        self.has_quotes
    }

    /// Whether no record could pass a limit.
    pub(super) fn is_short(&self) -> bool {
        self.longest.max(self.length) < FIRST_RECORD_BYTES
    }

    /// Whether bytes of a record have been seen whose end has not.
    fn is_inside(&self) -> bool {
        self.state != State::RecordStart
    }

    /// Looks at the next bytes, until `wanted` records have ended: how many bytes belong to them, or `None` if all do and more are
    /// to come. The line feed of a carriage return that ends the last record belongs to it, if it is among the bytes.
    ///
    /// # Cost
    /// Blocks without quotes and blank lines are looked at many bytes at a time; others by a search for line ends and quotes.
    pub(super) fn advance(&mut self, bytes: &[u8], wanted: usize) -> Option<usize> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(block) = rest.first_chunk()
                && self.pass_block(block, wanted)
            {
                at += BLOCK_BYTES;
                continue;
            }
            // The block has something odd, or the last record: mark by mark to its end.
            let end = at + rest.len().min(BLOCK_BYTES);
            while at < end {
                let block = bytes.get(at..end).unwrap_or_default();
                let found = match self.state {
                    State::Quoted => memchr(b'"', block),
                    State::AfterQuote if block.starts_with(b"\"") => Some(0),
                    _ => memchr3(b'"', b'\n', b'\r', block),
                };
                let text = block.get(..found.unwrap_or(block.len())).unwrap_or_default();
                self.pass(text);
                at += text.len();
                let Some(mark) = block.get(text.len()) else { break };
                at += 1;
                if self.mark(*mark) && self.records == wanted {
                    return Some(self.with_line_feed(bytes, at));
                }
            }
        }
        None
    }

    /// The end of the last record, which stands at `at` or behind the line feed there.
    fn with_line_feed(&mut self, bytes: &[u8], at: usize) -> usize {
        if !self.after_return || bytes.get(at) != Some(&b'\n') {
            return at;
        }
        self.mark(b'\n');
        at + 1
    }

    /// Takes a whole block, if its records follow from its line feeds alone and do not complete the `wanted`.
    fn pass_block(&mut self, block: &[u8; BLOCK_BYTES], wanted: usize) -> bool {
        if matches!(self.state, State::Quoted | State::AfterQuote) || self.after_return {
            return false;
        }
        let found = Survey::of(block, self.state == State::RecordStart);
        let (Some(last), false) = (block.last(), found.is_odd) else { return false };
        if *last == b'\r' || self.records + found.line_feeds >= wanted {
            return false;
        }
        match (memchr(b'\n', block), memrchr(b'\n', block)) {
            (Some(first), Some(last)) => {
                // No record between them is longer than a block.
                self.longest = self.longest.max(self.length + first + 1).max(BLOCK_BYTES);
                self.length = BLOCK_BYTES - last - 1;
            }
            _ => self.length += BLOCK_BYTES,
        }
        self.records += found.line_feeds;
        self.line_feeds += found.line_feeds;
        self.state = match *last {
            b'\n' => State::RecordStart,
            last if last == self.delimiter => State::FieldStart,
            _ => State::Field,
        };
        true
    }

    /// Takes text without the bytes that are looked for.
    fn pass(&mut self, text: &[u8]) {
        self.length += text.len();
        if self.state == State::Quoted {
            self.line_feeds += memchr::memchr_iter(b'\n', text).count();
        } else if let Some(last) = text.last() {
            self.state = if *last == self.delimiter { State::FieldStart } else { State::Field };
            self.after_return = false;
        }
    }

    /// Takes a quote or a line end; whether a record ended with it.
    fn mark(&mut self, byte: u8) -> bool {
        self.length += 1;
        if byte != b'"' {
            return self.end_line(byte);
        }
        self.state = match self.state {
            State::AfterQuote | State::FieldStart | State::RecordStart => State::Quoted,
            State::Field => State::Field,
            State::Quoted => State::AfterQuote,
        };
        (self.has_quotes, self.after_return) = (true, false);
        false
    }

    /// Takes a line end outside quotes; whether a record ended with it.
    fn end_line(&mut self, byte: u8) -> bool {
        let closes_return = byte == b'\n' && self.after_return;
        let ended = self.is_inside() || (self.blank_rows && !closes_return);
        self.state = State::RecordStart;
        self.after_return = byte == b'\r';
        self.line_feeds += usize::from(byte == b'\n');
        self.records += usize::from(ended);
        self.longest = self.longest.max(std::mem::take(&mut self.length));
        ended
    }
}

/// Bytes that are looked at together.
const BLOCK_BYTES: usize = 4096;
/// Bytes of a step, whose line feeds a byte can count.
const STEP_BYTES: usize = 128;

/// The line ends of a block.
struct Survey {
    line_feeds: usize,
    /// It has a quote, a blank line, or a carriage return without a line feed behind it (the last byte aside).
    is_odd: bool,
}

impl Survey {
    /// `at_start`: the block begins with a record.
    fn of(block: &[u8; BLOCK_BYTES], at_start: bool) -> Self {
        let mut found = Self { line_feeds: 0, is_odd: false };
        let before = if at_start { b'\n' } else { 0 };
        let mut first = [before; STEP_BYTES];
        let (steps, _) = block.as_chunks::<STEP_BYTES>();
        for (number, step) in steps.iter().enumerate() {
            let start = number * STEP_BYTES;
            let previous = match start.checked_sub(1).and_then(|from| block.get(from..)?.first_chunk()) {
                Some(previous) => previous,
                None => {
                    first[1..].copy_from_slice(&step[..STEP_BYTES - 1]);
                    &first
                }
            };
            found.take(previous, step);
        }
        found
    }

    /// Takes a step; `previous` has the byte before each of it.
    fn take(&mut self, previous: &[u8; STEP_BYTES], step: &[u8; STEP_BYTES]) {
        let (mut line_feeds, mut odd) = (0u8, 0u8);
        // Without a branch: the compiler compares as many bytes at once as the processor can.
        for (before, byte) in previous.iter().zip(step) {
            let (line_feed, is_return) = (u8::from(*byte == b'\n'), u8::from(*byte == b'\r'));
            let (after_feed, after_return) = (u8::from(*before == b'\n'), u8::from(*before == b'\r'));
            line_feeds = line_feeds.wrapping_add(line_feed);
            let is_blank = (line_feed | is_return) & after_feed;
            let is_alone = after_return & (line_feed ^ 1);
            odd |= u8::from(*byte == b'"') | is_blank | is_alone;
        }
        self.line_feeds += usize::from(line_feeds);
        self.is_odd |= odd != 0;
    }
}

#[cfg(test)]
mod tests;
