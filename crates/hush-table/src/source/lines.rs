// SPDX-License-Identifier: Apache-2.0
//! Finding where records of CSV end without reading them, so that they can be read on another thread; and reading those that have no
//! quotes.
//!
//! The rules are those of `csv-core` as [`super::records`] sets it: a quote opens a quoted field at the field's start alone, two quotes
//! in one are a quote, a record ends in LF, CRLF or CR, and a line without a byte is no record (in a table of one column it is one).

use memchr::{memchr, memchr3};

use super::SourceError;
use super::record::{COLUMN_LIMIT, FIRST_RECORD_BYTES, NextRecord, Record};

/// Whole records, as the file has them.
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    pub(super) records: usize,
    /// Number of the first line.
    pub(super) line: u64,
    /// Whether a carriage return that ended a line stands before them.
    pub(super) after_return: bool,
    /// Whether [`PlainRecords`] can read them.
    pub(super) is_plain: bool,
}

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
    has_quotes: bool,
    /// Bytes of the record that has not ended.
    length: usize,
    /// Bytes of the longest record.
    longest: usize,
}

impl RecordScan {
    /// A scan that begins with a record. `after_return`: behind a carriage return, whose line feed may still come.
    pub(super) fn new(delimiter: u8, blank_rows: bool, after_return: bool) -> Self {
        let state = State::RecordStart;
        Self {
            delimiter,
            blank_rows,
            state,
            after_return,
            records: 0,
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

    /// Whether [`PlainRecords`] reads what was seen as the parser does: without quotes, and without a record that could pass a limit.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_quotes && self.longest.max(self.length) < FIRST_RECORD_BYTES
    }

    /// Whether bytes of a record have been seen whose end has not.
    fn is_inside(&self) -> bool {
        self.state != State::RecordStart
    }

    /// Looks at the next bytes, until `wanted` records have ended: how many bytes belong to them, or `None` if all do and more are
    /// to come.
    ///
    /// # Cost
    /// A search for line ends and quotes.
    pub(super) fn advance(&mut self, bytes: &[u8], wanted: usize) -> Option<usize> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let found = match self.state {
                State::Quoted => memchr(b'"', rest),
                State::AfterQuote if rest.starts_with(b"\"") => Some(0),
                _ => memchr3(b'"', b'\n', b'\r', rest),
            };
            let text = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
            self.pass(text);
            at += text.len();
            let Some(byte) = bytes.get(at) else { break };
            at += 1;
            if self.mark(*byte) && self.records == wanted {
                return Some(at);
            }
        }
        None
    }

    /// Takes text without the bytes that are looked for.
    fn pass(&mut self, text: &[u8]) {
        self.length += text.len();
        if let (Some(last), true) = (text.last(), self.state != State::Quoted) {
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
        self.records += usize::from(ended);
        self.longest = self.longest.max(std::mem::take(&mut self.length));
        ended
    }
}

/// Where delimiters and line ends are, block by block: fields are too short to search for the end of each.
struct Marks<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    /// Where the block begins.
    base: usize,
    /// The block's words, whose bytes are 1 where a mark is.
    words: [u64; BLOCK_BYTES / 8],
    /// Number of the word that is looked at.
    word: usize,
    /// What is left of it.
    left: u64,
}

const BLOCK_BYTES: usize = 64;

impl<'a> Marks<'a> {
    fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        let mut marks = Self { bytes, delimiter, base: 0, words: [0; BLOCK_BYTES / 8], word: 0, left: 0 };
        marks.look_at(0);
        marks
    }

    /// The next mark.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.word += 1;
            match self.words.get(self.word) {
                Some(word) => self.left = *word,
                None if self.base + BLOCK_BYTES >= self.bytes.len() => return None,
                None => self.look_at(self.base + BLOCK_BYTES),
            }
        }
        let at = self.base + 8 * self.word + self.left.trailing_zeros() as usize / 8;
        self.left &= self.left - 1;
        Some(at)
    }

    /// Finds the marks of the block at `base`.
    fn look_at(&mut self, base: usize) {
        let block = self.bytes.get(base..).unwrap_or_default();
        let block = block.get(..BLOCK_BYTES).unwrap_or(block);
        let mut flags = [0u8; BLOCK_BYTES];
        // Without a branch: the compiler compares as many bytes at once as the processor can.
        for (flag, byte) in flags.iter_mut().zip(block) {
            *flag = u8::from((*byte == self.delimiter) | (*byte == b'\n') | (*byte == b'\r'));
        }
        for (word, flags) in self.words.iter_mut().zip(flags.as_chunks().0) {
            *word = u64::from_le_bytes(*flags);
        }
        let first = self.words.first().copied().unwrap_or_default();
        (self.base, self.word, self.left) = (base, 0, first);
    }
}

/// Reads records that have no quotes, which is most of most files, faster than the parser.
pub(super) struct PlainRecords<'a> {
    bytes: &'a [u8],
    marks: Marks<'a>,
    /// Where the next record begins.
    start: usize,
    /// Ends of the record's fields, from its start.
    ends: Vec<usize>,
    line: u64,
    after_return: bool,
    blank_rows: bool,
}

impl<'a> PlainRecords<'a> {
    /// A reader of lines that [are plain](Lines::is_plain).
    pub(super) fn new(lines: &'a Lines, delimiter: u8, blank_rows: bool) -> Self {
        let bytes = &lines.bytes[..];
        let marks = Marks::new(bytes, delimiter);
        let (line, after_return) = (lines.line, lines.after_return);
        Self { bytes, marks, start: 0, ends: Vec::new(), line, after_return, blank_rows }
    }

    /// The record of which the last field is not among the ends yet.
    fn record(&mut self, start: usize, end: usize, line: u64) -> Result<Option<Record<'_>>, SourceError> {
        self.ends.push(end - start);
        if self.ends.len() > COLUMN_LIMIT {
            return Err(SourceError::TooManyColumns { limit: COLUMN_LIMIT });
        }
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        Ok(Some(Record::delimited(bytes, &self.ends, line)))
    }
}

impl NextRecord for PlainRecords<'_> {
    #[inline]
    fn next_record(&mut self) -> Result<Option<Record<'_>>, SourceError> {
        self.ends.clear();
        while let Some(at) = self.marks.next() {
            let byte = self.bytes.get(at).copied().unwrap_or_default();
            let is_blank = at == self.start && self.ends.is_empty();
            if byte != b'\n' && byte != b'\r' {
                self.ends.push(at - self.start);
                continue;
            }
            let closes_return = is_blank && byte == b'\n' && self.after_return;
            let (start, line) = (self.start, self.line);
            self.start = at + 1;
            self.line += u64::from(byte == b'\n');
            self.after_return = byte == b'\r';
            if is_blank && (closes_return || !self.blank_rows) {
                continue;
            }
            return self.record(start, at, line);
        }
        // The last line of a file may have no end.
        let (start, end) = (self.start, self.bytes.len());
        if start == end && self.ends.is_empty() {
            return Ok(None);
        }
        self.start = end;
        self.record(start, end, self.line)
    }
}

#[cfg(test)]
mod tests;
