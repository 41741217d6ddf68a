// SPDX-License-Identifier: Apache-2.0
//! Lines into batches: how much of what has come is whole records, and how the rows of a chunk are given to the typed reader.

use bytes::Bytes;
use hush_plan::Schema;
use hush_table::CHUNK_ROWS;
use hush_table::source::{OpenOptions, RowBatch, Source};
use zeroize::Zeroize;

use crate::EdgeError;
use crate::input::json;

/// Most bytes of a record.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 20;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// A CSV record; the first is the header.
    Csv,
    /// A message: a JSON object of columns, or a list of such.
    Json,
}

/// Collects what is read until it is a chunk.
///
/// *Secrecy.* Plaintext; wiped on drop and as it is used.
pub(crate) struct Feed {
    form: LineForm,
    /// The header line of a CSV, its end included; that of the schema for messages.
    header: Vec<u8>,
    has_header: bool,
    /// CSV records, whole but for the last.
    bytes: Vec<u8>,
    /// Place of the end of every whole record.
    ends: Vec<usize>,
    /// How far records have been looked for.
    seen: usize,
    quoted: bool,
    /// Messages read so far.
    messages: u64,
    /// Place in the input after the rows that were taken.
    taken: u64,
    /// Place in the input after the last whole message.
    passed: u64,
    /// For messages: bytes of the input up to the end of the message whose last record this is; `None` for the others.
    offsets: Vec<Option<u64>>,
    /// For messages: the start of a line.
    partial: Vec<u8>,
}

/// The rows of one delivery.
pub(crate) struct Rows {
    pub(crate) batch: RowBatch,
    /// Place in the input after them.
    pub(crate) position: u64,
}

impl Feed {
    /// A feed for input that begins at `position`; `header` where the header stands before it.
    pub(crate) fn new(form: LineForm, schema: &Schema, position: u64, header: Option<Vec<u8>>) -> Self {
        let (header, has_header) = match (form, header) {
            (LineForm::Json, _) => (json::header(schema), true),
            (LineForm::Csv, Some(header)) => (header, true),
            (LineForm::Csv, None) => (Vec::new(), false),
        };
        Self {
            form,
            header,
            has_header,
            bytes: Vec::new(),
            ends: Vec::new(),
            seen: 0,
            quoted: false,
            messages: 0,
            taken: position,
            passed: position,
            offsets: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Takes what was read.
    ///
    /// # Errors
    /// [`EdgeError::LongRecord`], [`EdgeError::Json`].
    pub(crate) fn push(&mut self, schema: &Schema, read: &[u8]) -> Result<(), EdgeError> {
        match self.form {
            LineForm::Csv => {
                self.bytes.extend_from_slice(read);
                self.find_records()
            }
            LineForm::Json => self.push_messages(schema, read),
        }
    }

    /// The input has ended: what has no end of line is a record all the same.
    ///
    /// # Errors
    /// As [`Feed::push`].
    pub(crate) fn end(&mut self, schema: &Schema) -> Result<(), EdgeError> {
        let open = match self.form {
            LineForm::Csv => self.bytes.len() > self.ends.last().copied().unwrap_or(0),
            LineForm::Json => !self.partial.is_empty(),
        };
        if open { self.push(schema, b"\n") } else { Ok(()) }
    }

    /// Whole records that wait.
    pub(crate) fn records(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are enough for a chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= CHUNK_ROWS as usize
    }

    /// The next rows, at most a chunk of them; `None` if there is no whole record.
    ///
    /// # Errors
    /// [`EdgeError::Source`] for rows that do not suit the schema, with their line in the batch.
    pub(crate) fn take(&mut self, schema: &Schema) -> Result<Option<Rows>, EdgeError> {
        let count = self.next_count();
        let Some(end) = count.checked_sub(1).and_then(|last| self.ends.get(last)).copied() else {
            return Ok(None);
        };
        let mut text = Vec::with_capacity(self.header.len() + end);
        text.extend_from_slice(&self.header);
        text.extend_from_slice(self.bytes.get(..end).unwrap_or_default());
        self.position_after(count, end);
        self.discard(count, end);
        let source = Source::from_bytes(Bytes::from(text), &OpenOptions::default())?;
        let mut batches = source.typed(schema)?;
        // Empty lines are no rows.
        let Some(batch) = batches.next().transpose()? else { return Ok(None) };
        Ok(Some(Rows { batch, position: self.taken }))
    }

    /// Records of the next rows: whole messages, so that none is read again because a part of it was not delivered.
    fn next_count(&self) -> usize {
        let most = self.ends.len().min(CHUNK_ROWS as usize);
        match self.form {
            LineForm::Csv => most,
            LineForm::Json => {
                let mut ends = self.offsets.iter().take(most);
                ends.rposition(Option::is_some).map_or(0, |last| last + 1)
            }
        }
    }

    fn position_after(&mut self, count: usize, end: usize) {
        self.taken = match self.form {
            LineForm::Csv => self.taken + end as u64,
            LineForm::Json => self.offsets.get(count - 1).copied().flatten().unwrap_or(self.taken),
        };
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

    /// Looks for the ends of records: line ends outside quotes.
    fn find_records(&mut self) -> Result<(), EdgeError> {
        for (place, byte) in self.bytes.iter().enumerate().skip(self.seen) {
            match byte {
                b'"' => self.quoted = !self.quoted,
                b'\n' if !self.quoted => self.ends.push(place + 1),
                _ => {}
            }
        }
        self.seen = self.bytes.len();
        let open = self.seen - self.ends.last().copied().unwrap_or(0);
        if open > MAX_RECORD_BYTES {
            return Err(EdgeError::LongRecord { limit: MAX_RECORD_BYTES });
        }
        if let (false, Some(end)) = (self.has_header, self.ends.first().copied()) {
            self.header = self.bytes.get(..end).unwrap_or_default().to_vec();
            self.has_header = true;
            self.taken += end as u64;
            self.discard(1, end);
        }
        Ok(())
    }

    fn push_messages(&mut self, schema: &Schema, read: &[u8]) -> Result<(), EdgeError> {
        let mut rest = read;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            self.partial.extend_from_slice(line);
            rest = after;
            self.messages += 1;
            self.passed += self.partial.len() as u64;
            let mut message = std::mem::take(&mut self.partial);
            let parsed = json::records(schema, &message, self.messages);
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
                self.offsets.push((index == last).then_some(self.passed));
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

impl Drop for Feed {
    fn drop(&mut self) {
        self.bytes.zeroize();
        self.partial.zeroize();
    }
}

#[cfg(test)]
mod tests;
