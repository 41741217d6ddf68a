// SPDX-License-Identifier: Apache-2.0
//! Lines become batches: a feed finds the whole records in the input so far, and gives the rows of a chunk to the typed reader.

mod records;

use bytes::Bytes;
use hush_plan::{Protection, Schema};
use hush_table::CHUNK_ROWS;
use hush_table::source::{OpenOptions, RowBatch, Source, SourceError};
use zeroize::Zeroize;

use self::records::{DELIMITERS, RecordEnds};
use crate::EdgeError;
use crate::input::json;
use crate::place::{Trace, Window};

/// Most bytes of a record.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 20;

/// Bytes of whole records that make a chunk, even of few records: the file of their clear columns must stay one that the owner
/// takes in.
const MAX_CHUNK_BYTES: usize = 64 << 20;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// A CSV record; the first is the header.
    Csv,
    /// A message: a JSON object of columns, or a list of such.
    Json,
}

/// The place inside a file at which reading begins.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// The place.
    pub(crate) position: u64,
    /// The bytes before it.
    pub(crate) window: Window,
    /// The header, which is before it too; `None` at the beginning.
    pub(crate) header: Option<Vec<u8>>,
}

/// Collects rows until they fill a chunk.
///
/// *Secrecy.* Plaintext; wiped on drop and as it is used.
pub(crate) struct Feed {
    form: LineForm,
    /// The schema without a limit on rows, which only the owner knows.
    schema: Schema,
    /// The header line of a CSV, its end included; that of the schema for messages.
    header: Vec<u8>,
    /// The byte between fields; `None` before the header.
    delimiter: Option<u8>,
    /// CSV records; all but the last are whole.
    bytes: Vec<u8>,
    scan: RecordEnds,
    /// Place of the end of every whole record.
    ends: Vec<usize>,
    /// Bytes in which records have been looked for.
    seen: usize,
    /// Messages read so far.
    messages: u64,
    /// Place in the input after the rows that were passed, and the trace of the bytes before it.
    taken: u64,
    trace: Trace,
    /// The bytes of a CSV before that place.
    window: Window,
    /// For messages: place in the input after the last whole message, and the bytes before it.
    passed: u64,
    ahead: Window,
    /// For messages: the place after the message, at its last record; `None` at the others.
    offsets: Vec<Option<(u64, Trace)>>,
    /// For messages: the start of a line.
    partial: Vec<u8>,
}

impl Feed {
    /// A feed for input that is read from `start` on.
    pub(crate) fn new(form: LineForm, schema: &Schema, start: Start) -> Self {
        let Start { position, window, header } = start;
        let (header, delimiter) = match (form, header) {
            (LineForm::Json, _) => (json::header(schema), Some(b',')),
            (LineForm::Csv, Some(header)) => {
                let delimiter = delimiter_of(&header, schema);
                (header, Some(delimiter))
            }
            (LineForm::Csv, None) => (Vec::new(), None),
        };
        Self {
            form,
            schema: Schema { max_rows: u64::MAX, ..schema.clone() },
            header,
            delimiter,
            bytes: Vec::new(),
            scan: RecordEnds::new(delimiter),
            ends: Vec::new(),
            seen: 0,
            messages: 0,
            taken: position,
            trace: window.trace(),
            ahead: window.clone(),
            window,
            passed: position,
            offsets: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// The header at the beginning of a file; `None` if there is no whole one.
    pub(crate) fn header_of(start: &[u8]) -> Option<Vec<u8>> {
        let mut ends = Vec::new();
        RecordEnds::new(None).find(start, 0, 1, &mut ends);
        Some(start.get(..*ends.first()?)?.to_vec())
    }

    /// Takes bytes of the input.
    ///
    /// # Errors
    /// [`EdgeError::LongRecord`], [`EdgeError::Json`]; the whole records before stay.
    pub(crate) fn push(&mut self, read: &[u8]) -> Result<(), EdgeError> {
        match self.form {
            LineForm::Csv => {
                self.bytes.extend_from_slice(read);
                self.find_records()
            }
            LineForm::Json => self.push_messages(read),
        }
    }

    /// Ends the input. A last line without its end is a record all the same; with an open quote it is one that will be refused.
    ///
    /// # Errors
    /// As [`Feed::push`].
    pub(crate) fn end(&mut self) -> Result<(), EdgeError> {
        if self.open_bytes() == 0 {
            return Ok(());
        }
        if self.form == LineForm::Csv && (self.scan.is_behind_return() || self.scan.is_quoted()) {
            self.ends.push(self.bytes.len());
            self.scan = RecordEnds::new(self.delimiter);
            return self.take_header();
        }
        self.push(b"\n")
    }

    /// Bytes of the last record, which is not whole.
    pub(crate) fn open_bytes(&self) -> usize {
        match self.form {
            LineForm::Csv => self.bytes.len() - self.ends.last().copied().unwrap_or(0),
            LineForm::Json => self.partial.len(),
        }
    }

    /// Whole records that wait.
    pub(crate) fn records(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are enough for a chunk.
    pub(crate) fn is_full(&self) -> bool {
        let bytes = self.ends.last().copied().unwrap_or(0);
        self.ends.len() >= CHUNK_ROWS as usize || bytes >= MAX_CHUNK_BYTES
    }

    /// Place in the input after the rows that were passed, and the trace of the bytes before it.
    pub(crate) fn place(&self) -> (u64, Trace) {
        (self.taken, self.trace)
    }

    /// The possible record counts of the next rows, ascending, at most a chunk. They end with whole messages, so that no message is read
    /// again because a piece of it was not delivered.
    pub(crate) fn counts(&self) -> Vec<usize> {
        let most = self.ends.len().min(CHUNK_ROWS as usize);
        match self.form {
            LineForm::Csv => (1..=most).collect(),
            LineForm::Json => {
                let offsets = self.offsets.iter().take(most).enumerate();
                offsets.filter_map(|(index, offset)| offset.map(|_| index + 1)).collect()
            }
        }
    }

    /// The first `count` records as rows; `None` if they are empty lines.
    ///
    /// # Errors
    /// [`EdgeError::Source`] for rows that do not suit the schema; line 1 is the header.
    pub(crate) fn rows(&self, count: usize) -> Result<Option<RowBatch>, EdgeError> {
        let end = count.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        let mut text = Vec::with_capacity(self.header.len() + end);
        text.extend_from_slice(&self.header);
        text.extend_from_slice(self.bytes.get(..end).unwrap_or_default());
        let options = OpenOptions { delimiter: self.delimiter, ..OpenOptions::default() };
        let source = Source::from_bytes(Bytes::from(text), &options)?;
        let mut batches = source.typed(&self.schema)?;
        match (batches.next().transpose(), batches.next()) {
            (Err(SourceError::NoRows) | Ok(None), _) => Ok(None),
            (first, None) => Ok(first?),
            (Err(error), Some(_)) => Err(error.into()),
            (Ok(_), Some(_)) => Err(EdgeError::Internal { what: "more rows than records" }),
        }
    }

    /// Leaves the first `count` records behind.
    pub(crate) fn pass(&mut self, count: usize) {
        let Some(end) = count.checked_sub(1).and_then(|last| self.ends.get(last)).copied() else { return };
        match self.form {
            LineForm::Csv => {
                self.window.pass(self.bytes.get(..end).unwrap_or_default());
                (self.taken, self.trace) = (self.taken + end as u64, self.window.trace());
            }
            LineForm::Json => {
                if let Some(place) = self.offsets.get(count - 1).copied().flatten() {
                    (self.taken, self.trace) = place;
                }
            }
        }
        self.discard(count, end);
    }

    fn discard(&mut self, count: usize, end: usize) {
        let rest = self.bytes.split_off(end);
        self.bytes.zeroize();
        self.bytes = rest;
        self.ends.drain(..count);
        self.ends.iter_mut().for_each(|place| *place -= end);
        self.offsets.drain(..count.min(self.offsets.len()));
        self.seen -= end;
    }

    fn find_records(&mut self) -> Result<(), EdgeError> {
        if self.delimiter.is_none() {
            self.seen = self.scan.find(&self.bytes, self.seen, 1, &mut self.ends);
            self.take_header()?;
        }
        if self.delimiter.is_some() {
            self.seen = self.scan.find(&self.bytes, self.seen, usize::MAX, &mut self.ends);
        }
        if self.open_bytes() > MAX_RECORD_BYTES {
            return Err(EdgeError::LongRecord { limit: MAX_RECORD_BYTES });
        }
        Ok(())
    }

    /// The first record of a CSV is its header.
    fn take_header(&mut self) -> Result<(), EdgeError> {
        if let (None, Some(end)) = (self.delimiter, self.ends.first().copied()) {
            self.header = self.bytes.get(..end).unwrap_or_default().to_vec();
            let delimiter = delimiter_of(&self.header, &self.schema);
            (self.delimiter, self.scan) = (Some(delimiter), RecordEnds::new(Some(delimiter)));
            self.seen = end;
            self.pass(1);
        }
        Ok(())
    }

    fn push_messages(&mut self, read: &[u8]) -> Result<(), EdgeError> {
        let mut rest = read;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            self.partial.extend_from_slice(line);
            rest = after;
            self.messages += 1;
            let mut message = std::mem::take(&mut self.partial);
            let parsed = json::records(&self.schema, &message, self.messages);
            self.passed += message.len() as u64;
            self.ahead.pass(&message);
            message.zeroize();
            let records = parsed?;
            if records.len() > CHUNK_ROWS as usize {
                return Err(EdgeError::Json { number: self.messages, what: "it has more than 8192 rows" });
            }
            let last = records.len().saturating_sub(1);
            for (index, mut record) in records.into_iter().enumerate() {
                self.bytes.extend_from_slice(&record);
                record.zeroize();
                self.ends.push(self.bytes.len());
                self.offsets.push((index == last).then(|| (self.passed, self.ahead.trace())));
            }
            self.seen = self.bytes.len();
        }
        self.partial.extend_from_slice(rest);
        if self.partial.len() > MAX_RECORD_BYTES {
            return Err(EdgeError::LongRecord { limit: MAX_RECORD_BYTES });
        }
        Ok(())
    }
}

/// The byte between the fields of a header: the one that splits it into the columns of the schema.
fn delimiter_of(header: &[u8], schema: &Schema) -> u8 {
    let fits = |delimiter: &u8| {
        let options = OpenOptions { delimiter: Some(*delimiter), ..OpenOptions::default() };
        let source = Source::from_bytes(Bytes::from(header.to_vec()), &options);
        let wanted = schema.columns.iter().filter(|column| column.protect != Protection::Drop);
        source.is_ok_and(|source| {
            let has = |name: &str| source.columns().iter().any(|column| column.name == name);
            wanted.clone().all(|column| has(&column.name))
        })
    };
    DELIMITERS.into_iter().find(fits).unwrap_or(b',')
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.bytes.zeroize();
        self.partial.zeroize();
    }
}

#[cfg(test)]
mod tests;
