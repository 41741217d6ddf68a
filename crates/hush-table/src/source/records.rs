// SPDX-License-Identifier: Apache-2.0
//! CSV records from bytes: `csv-core` does the tokenizing, this module adds limits, line numbers and the checks
//! that it leaves to its caller (ragged records, a quote that is never closed).

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use hush_plan::schema::units::{DecimalPoint, parse_timestamp, scan_number};

use super::{NotATable, SourceColumn, SourceError};

/// Bytes looked at to tell formats and delimiters apart.
pub(super) const SNIFF_BYTES: usize = 64 * 1024;

/// Longest record, quotes removed.
const RECORD_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Most columns of a table.
pub(super) const COLUMN_LIMIT: usize = 16 * 1024;

const READ_BYTES: usize = 256 * 1024;

/// About what a pass over records takes, beside what it makes of them.
pub(super) const READER_BYTES: u64 = (READ_BYTES + 4 * FIRST_RECORD_BYTES) as u64;

/// Room for a record before any is seen; doubled as often as one needs.
const FIRST_RECORD_BYTES: usize = 64 * 1024;

/// One record: its fields with quotes removed.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    end_line: u64,
}

impl<'a> Record<'a> {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of field `i`; empty beyond the last.
    #[inline]
    pub(crate) fn field(&self, i: usize) -> &'a [u8] {
        let start = if i == 0 { 0 } else { self.ends.get(i - 1).copied().unwrap_or(usize::MAX) };
        let end = self.ends.get(i).copied().unwrap_or(0);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The line on which it starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        let used = self.ends.last().copied().unwrap_or(0);
        let inside = self.bytes.get(..used).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        self.end_line.saturating_sub(inside as u64)
    }
}

/// Reads records one after the other, in bounded memory.
pub(crate) struct Records {
    input: Box<dyn Read + Send>,
    parser: Reader,
    buffer: Vec<u8>,
    /// Unread part of the buffer.
    unread: std::ops::Range<usize>,
    stage: Stage,
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// Most bytes of a record.
    limit: usize,
    /// Whether a blank line is a row: of a table of one column it is one that is missing.
    blank_rows: bool,
    /// The byte before the unread ones is a carriage return that ended a line.
    after_return: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The input may have more.
    Reading,
    /// One line end is served after the input, so that an open quote can be told from a last line without one.
    LineEnd,
    /// The parser is told that there is no more.
    Ended,
}

impl Records {
    pub(super) fn new(input: Box<dyn Read + Send>, delimiter: u8) -> Self {
        Self {
            input,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            buffer: vec![0; READ_BYTES],
            unread: 0..0,
            stage: Stage::Reading,
            fields: vec![0; FIRST_RECORD_BYTES],
            ends: vec![0; 256],
            limit: RECORD_LIMIT_BYTES,
            blank_rows: false,
            after_return: false,
        }
    }

    /// From here on, a blank line is a record of one empty field.
    pub(super) fn keep_blank_lines(&mut self) {
        self.blank_rows = true;
    }

    /// Lowers the limit on a record, to no less than what is set aside for the first.
    pub(super) fn limit(&mut self, bytes: usize) {
        self.limit = bytes.clamp(FIRST_RECORD_BYTES, RECORD_LIMIT_BYTES);
    }

    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// Reading fails, a limit is passed, or the input ends inside quotes.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, SourceError> {
        if self.blank_rows
            && let Some(own_line_end) = self.blank_line()?
        {
            if let Some(end) = self.ends.first_mut() {
                *end = 0;
            }
            return Ok(Some(self.record(0, 1, own_line_end)));
        }
        let (mut written, mut ended) = (0, 0);
        loop {
            if self.unread.is_empty() {
                self.refill()?;
            }
            let input = self.buffer.get(self.unread.clone()).unwrap_or_default();
            let output = self.fields.get_mut(written..).unwrap_or_default();
            let ends = self.ends.get_mut(ended..).unwrap_or_default();
            let (result, read, out, end) = self.parser.read_record(input, output, ends);
            let last = read.checked_sub(1).and_then(|at| input.get(at)).copied();
            self.unread.start += read;
            written += out;
            ended += end;
            match result {
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputEndsFull => self.grow_ends()?,
                ReadRecordResult::OutputFull => self.grow_fields()?,
                ReadRecordResult::Record if self.stage == Stage::Ended => {
                    // The line end that was added stands inside the quotes.
                    let line = self.record(written, ended, 0).line();
                    return Err(SourceError::UnclosedQuote { line });
                }
                ReadRecordResult::Record => {
                    let own_line_end = u64::from(last == Some(b'\n'));
                    self.after_return = last == Some(b'\r');
                    return Ok(Some(self.record(written, ended, own_line_end)));
                }
            }
        }
    }

    /// Takes the line end of a blank line, which the parser would skip; gives how many lines the parser now counts more.
    fn blank_line(&mut self) -> Result<Option<u64>, SourceError> {
        loop {
            if self.stage == Stage::Reading && self.unread.is_empty() {
                self.refill()?;
            }
            // The line end that is added to the input is none of its own.
            let next = if self.stage == Stage::Reading { self.buffer.get(self.unread.start) } else { None };
            let follows_return = std::mem::take(&mut self.after_return);
            match next {
                Some(b'\n') => self.parser.set_line(self.parser.line() + 1),
                Some(b'\r') => self.after_return = true,
                _ => return Ok(None),
            }
            self.unread.start += 1;
            match (self.after_return, follows_return) {
                (false, true) => {}
                (is_return, _) => return Ok(Some(u64::from(!is_return))),
            }
        }
    }

    fn record(&self, written: usize, ended: usize, own_line_end: u64) -> Record<'_> {
        Record {
            bytes: self.fields.get(..written).unwrap_or_default(),
            ends: self.ends.get(..ended).unwrap_or_default(),
            end_line: self.parser.line().saturating_sub(own_line_end),
        }
    }

    fn refill(&mut self) -> Result<(), SourceError> {
        if self.stage != Stage::Reading {
            self.stage = Stage::Ended;
            return Ok(());
        }
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(0) => {
                    self.stage = Stage::LineEnd;
                    if let Some(first) = self.buffer.first_mut() {
                        *first = b'\n';
                    }
                    self.unread = 0..1;
                    return Ok(());
                }
                Ok(count) => {
                    self.unread = 0..count;
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(SourceError::Read { source }),
            }
        }
    }

    fn grow_fields(&mut self) -> Result<(), SourceError> {
        let length = self.fields.len() * 2;
        if length > self.limit {
            let line = self.record(self.fields.len(), 0, 0).line();
            return Err(SourceError::RecordTooLong { line, limit_bytes: self.fields.len() });
        }
        self.fields.resize(length, 0);
        Ok(())
    }

    fn grow_ends(&mut self) -> Result<(), SourceError> {
        let length = self.ends.len() * 2;
        if length > COLUMN_LIMIT {
            return Err(SourceError::TooManyColumns { limit: COLUMN_LIMIT });
        }
        self.ends.resize(length, 0);
        Ok(())
    }
}

/// Refuses what is plainly not delimited UTF-8 text.
pub(super) fn check_text(start: &[u8]) -> Result<(), SourceError> {
    const COMPRESSED: [&[u8]; 5] = [b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"];
    const DATABASE: [&[u8]; 3] = [b"SQLite format 3", b"\xd0\xcf\x11\xe0", b"ARROW1"];
    let found = if start.is_empty() {
        return Err(SourceError::Empty);
    } else if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        NotATable::Utf16
    } else if COMPRESSED.iter().any(|magic| start.starts_with(magic)) {
        NotATable::Compressed
    } else if DATABASE.iter().any(|magic| start.starts_with(magic)) {
        NotATable::Database
    } else if start.contains(&0) {
        NotATable::Binary
    } else {
        return Ok(());
    };
    Err(SourceError::NotATable { found })
}

/// The delimiter that cuts the first lines into the same number of fields, more than one; a comma if none does.
pub(super) fn sniff_delimiter(start: &[u8]) -> u8 {
    const LINES: usize = 100;
    let score = |delimiter: u8| {
        let mut records = Records::new(Box::new(std::io::Cursor::new(start.to_vec())), delimiter);
        let mut counts = Vec::new();
        while counts.len() < LINES
            && let Ok(Some(record)) = records.next()
        {
            counts.push(record.len());
        }
        // The last record of a cut-off buffer may be incomplete.
        if counts.len() > 1 && start.len() == SNIFF_BYTES {
            counts.pop();
        }
        let columns = counts.first().copied().unwrap_or(0);
        let same = counts.iter().filter(|count| **count == columns).count();
        if columns < 2 { (0, 0) } else { (same * 1000 / counts.len().max(1), columns) }
    };
    // `max_by_key` keeps the last of equals: the comma stands last.
    *[b'|', b'\t', b';', b','].iter().max_by_key(|delimiter| score(**delimiter)).unwrap_or(&b',')
}

/// Reads the header line.
pub(super) fn header(records: &mut Records) -> Result<Vec<SourceColumn>, SourceError> {
    let record = records.next()?.ok_or(SourceError::Empty)?;
    let fields: Vec<&[u8]> = (0..record.len()).map(|i| record.field(i).trim_ascii()).collect();
    let is_value = |field: &&[u8]| {
        field.is_empty()
            || scan_number(field, DecimalPoint::DotOrComma).is_some()
            || parse_timestamp(field, None).is_some()
    };
    if fields.iter().all(is_value) {
        return Err(SourceError::NoHeader);
    }
    let column = |(i, field): (usize, &&[u8])| {
        let name = std::str::from_utf8(field).map_err(|_| SourceError::HeaderNotText)?;
        let name = if name.is_empty() { format!("column_{}", i + 1) } else { name.to_owned() };
        Ok(SourceColumn { name, unsupported: None, declared: None })
    };
    fields.iter().enumerate().map(column).collect()
}
