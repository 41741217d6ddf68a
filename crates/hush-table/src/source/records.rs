// SPDX-License-Identifier: Apache-2.0
//! CSV records from bytes: `csv-core` does the tokenizing, this module adds limits, line numbers and the checks
//! that it leaves to its caller (ragged records, a quote that is never closed).

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use hush_plan::schema::units::{DecimalPoint, parse_timestamp, scan_number};

use super::cut::Cut;
use super::lines::Lines;
use super::record::{COLUMN_LIMIT, FIRST_RECORD_BYTES, Record};
use super::scan::RecordScan;
use super::{NotATable, SourceColumn, SourceError};

/// Bytes looked at to tell formats and delimiters apart.
pub(super) const SNIFF_BYTES: usize = 64 * 1024;

/// Longest record, quotes removed.
const RECORD_LIMIT_BYTES: usize = 16 * 1024 * 1024;

const READ_BYTES: usize = 256 * 1024;

/// About what a pass over records takes, beside what it makes of them.
pub(super) const READER_BYTES: u64 = (READ_BYTES + 4 * FIRST_RECORD_BYTES) as u64;

/// Reads records one after the other, in bounded memory.
pub(crate) struct Records {
    input: Box<dyn Read + Send>,
    delimiter: u8,
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
    /// Why there is nothing behind the unread bytes.
    failed: Option<std::io::Error>,
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
            delimiter,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            buffer: vec![0; READ_BYTES],
            unread: 0..0,
            stage: Stage::Reading,
            fields: vec![0; FIRST_RECORD_BYTES],
            ends: vec![0; 256],
            limit: RECORD_LIMIT_BYTES,
            blank_rows: false,
            after_return: false,
            failed: None,
        }
    }

    /// A reader of records that were cut out of a file.
    pub(super) fn of_lines(lines: Lines, delimiter: u8, blank_rows: bool) -> Self {
        let mut records = Self::new(Box::new(std::io::empty()), delimiter);
        // A parser that has been called takes no byte-order mark off its input.
        let _ = records.parser.read_record(&[], &mut [], &mut []);
        records.parser.set_line(lines.line);
        records.unread = 0..lines.bytes.len();
        records.buffer = lines.bytes;
        records.blank_rows = blank_rows;
        records.after_return = lines.after_return;
        records
    }

    /// The delimiter, and whether a blank line is a record.
    pub(super) fn dialect(&self) -> (u8, bool) {
        (self.delimiter, self.blank_rows)
    }

    /// Takes the next `wanted` records as they are, or as many as there are, if they take no more than `limit` bytes.
    pub(super) fn cut(&mut self, wanted: usize, limit: usize) -> Cut<Lines> {
        let mut scan = RecordScan::new(self.delimiter, self.blank_rows, self.after_return);
        let mut seen = 0;
        let length = loop {
            let unread = self.buffer.get(self.unread.clone()).unwrap_or_default();
            if let Some(length) = scan.advance(unread.get(seen..).unwrap_or_default(), wanted) {
                break seen + length;
            }
            seen = unread.len();
            if seen > limit {
                return Cut::Unfit;
            }
            match self.read_more() {
                Ok(true) => {}
                Ok(false) => break seen,
                Err(error) => {
                    self.failed = Some(error);
                    return Cut::Unfit;
                }
            }
        };
        if length > limit {
            return Cut::Unfit;
        }
        let records = scan.records();
        if records == 0 {
            return Cut::End;
        }
        let (line, after_return) = (self.parser.line(), self.after_return);
        let taken = self.unread.start..self.unread.start + length;
        let bytes = self.buffer.get(taken).unwrap_or_default().to_vec();
        self.unread.start += length;
        self.after_return = scan.after_return();
        self.parser.set_line(line + scan.line_feeds() as u64);
        let (has_quotes, is_short) = (scan.has_quotes(), scan.is_short());
        Cut::Rows(Lines { bytes, records, line, after_return, has_quotes, is_short })
    }

    /// Reads bytes behind the unread ones; whether there were any.
    fn read_more(&mut self) -> std::io::Result<bool> {
        if self.stage != Stage::Reading {
            return Ok(false);
        }
        if self.buffer.len() - self.unread.end < READ_BYTES {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
            let room = self.unread.end + READ_BYTES;
            self.buffer.resize(self.buffer.len().max(room), 0);
        }
        let room = self.buffer.get_mut(self.unread.end..).unwrap_or_default();
        let count = read_some(&mut self.input, room)?;
        self.unread.end += count;
        Ok(count > 0)
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
        let bytes = self.fields.get(..written).unwrap_or_default();
        let ends = self.ends.get(..ended).unwrap_or_default();
        Record::new(bytes, ends, self.parser.line().saturating_sub(own_line_end))
    }

    fn refill(&mut self) -> Result<(), SourceError> {
        if self.stage != Stage::Reading {
            self.stage = Stage::Ended;
            return Ok(());
        }
        let read = self.failed.take().map_or_else(|| read_some(&mut self.input, &mut self.buffer), Err);
        let count = read.map_err(SourceError::reading)?;
        self.unread = 0..count;
        if count == 0 {
            self.stage = Stage::LineEnd;
            if let Some(first) = self.buffer.first_mut() {
                *first = b'\n';
            }
            self.unread = 0..1;
        }
        Ok(())
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

/// Reads into `buffer`; 0 at the end.
fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
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
        Ok(SourceColumn { name, unsupported: None, declared: None, kind: None })
    };
    fields.iter().enumerate().map(column).collect()
}
