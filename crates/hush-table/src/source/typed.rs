// SPDX-License-Identifier: Apache-2.0
//! The typed pass: an iterator of chunks.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, sync_channel};

use hush_plan::schema::{Column, Schema};

use super::arrow_rows::ArrowRows;
use super::column::{ColumnBuilder, NullTokens};
use super::records::Records;
use super::{BatchFault, CHUNK_ROWS, Format, Place, ReadAs, RowBatch, Source, SourceError};

/// Reads a file chunk by chunk. Ends after the first error.
pub struct TypedReader {
    rows: Rows,
    /// One per column of the schema, `None` where it is skipped.
    builders: Vec<Option<ColumnBuilder>>,
    /// For each column of the file, its position in the schema if it is wanted.
    targets: Vec<Option<usize>>,
    max_rows: u64,
    /// Most bytes of texts in a chunk.
    text_limit: usize,
    next_row: u64,
    ended: bool,
}

enum Rows {
    Arrow(Box<ArrowRows>),
    Csv(Box<Records>),
}

impl TypedReader {
    pub(super) fn new(
        source: &Source,
        schema: &Schema,
        read_as: &dyn Fn(&Column) -> ReadAs,
    ) -> Result<Self, SourceError> {
        let positions = match_columns(source, schema)?;
        let point = source.format().decimal_point();
        let builder = |column: &Column| match read_as(column) {
            ReadAs::Skip => Ok(None),
            wanted => {
                let nulls = match source.format() {
                    Format::Csv { .. } => column.null_tokens(schema),
                    Format::Arrow | Format::Parquet => {
                        column.written.null_tokens.as_deref().unwrap_or_default()
                    }
                };
                ColumnBuilder::new(column, wanted, point, NullTokens::new(nulls)).map(Some)
            }
        };
        let builders: Vec<_> = schema.columns.iter().map(builder).collect::<Result<_, _>>()?;
        let wanted =
            |position: usize| builders.get(position).is_some_and(Option::is_some).then_some(position);
        let targets: Vec<Option<usize>> = positions.into_iter().map(wanted).collect();
        for (column, target) in source.columns().iter().zip(&targets) {
            if let (Some(found), Some(_)) = (&column.unsupported, target) {
                return Err(SourceError::UnsupportedType {
                    column: column.name.clone(),
                    found: found.clone(),
                });
            }
        }
        let rows = match source.format() {
            Format::Csv { .. } => Rows::Csv(Box::new(source.records()?)),
            Format::Arrow | Format::Parquet => {
                let kept: Vec<usize> =
                    (0..targets.len()).filter(|i| targets.get(*i).is_some_and(Option::is_some)).collect();
                Rows::Arrow(Box::new(ArrowRows::open(source, &kept)?))
            }
        };
        let (max_rows, text_limit) = (schema.max_rows, usize::MAX);
        Ok(Self { rows, builders, targets, max_rows, text_limit, next_row: 0, ended: false })
    }

    /// Refuses a chunk whose texts take more than `bytes` ([`SourceError::ChunkTooLarge`]), and a record of more.
    #[must_use]
    pub fn with_text_limit(mut self, bytes: usize) -> Self {
        self.text_limit = bytes;
        if let Rows::Csv(records) = &mut self.rows {
            records.limit(bytes);
        }
        self
    }

    /// Runs this pass on a thread of its own, at most `depth` chunks ahead of its consumer.
    ///
    /// # Errors
    /// [`SourceError::Read`] if the thread cannot be started.
    pub fn prefetch(self, depth: usize) -> Result<Prefetched, SourceError> {
        let (sender, receiver) = sync_channel(depth);
        // The thread ends when the reader does or when the consumer goes away: it needs no join.
        std::thread::Builder::new()
            .name("hush-read".to_owned())
            .spawn(move || {
                for batch in self {
                    if sender.send(batch).is_err() {
                        return;
                    }
                }
            })
            .map_err(|source| SourceError::Read { source })?;
        Ok(Prefetched { receiver })
    }

    /// Reads up to a chunk of rows into the builders.
    fn fill(&mut self) -> Result<usize, SourceError> {
        let first_row = self.next_row;
        let limit_bytes = self.text_limit;
        let too_large = |builders: &[Option<ColumnBuilder>]| {
            let texts = || builders.iter().flatten().map(ColumnBuilder::text_bytes).sum::<usize>();
            limit_bytes < usize::MAX && texts() > limit_bytes
        };
        match &mut self.rows {
            Rows::Csv(records) => {
                let mut rows = 0;
                while rows < CHUNK_ROWS {
                    let Some(record) = records.next()? else { break };
                    if record.len() != self.targets.len() {
                        let (line, found) = (record.line(), record.len());
                        return Err(SourceError::Ragged { line, found, expected: self.targets.len() });
                    }
                    for (i, target) in self.targets.iter().enumerate() {
                        if let Some(builder) =
                            target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut)
                        {
                            builder.push_field(record.field(i), || Place::Line(record.line()));
                        }
                    }
                    rows += 1;
                    if too_large(&self.builders) {
                        let place = Place::Line(record.line());
                        return Err(SourceError::ChunkTooLarge { place, rows, limit_bytes });
                    }
                }
                Ok(rows)
            }
            Rows::Arrow(batches) => {
                let mut rows = 0;
                while rows < CHUNK_ROWS {
                    let Some(slice) = batches.next_slice(CHUNK_ROWS - rows)? else { break };
                    for (file_column, array) in slice.columns() {
                        let target = self.targets.get(file_column).copied().flatten();
                        let Some(builder) =
                            target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut)
                        else {
                            continue;
                        };
                        let start = builder.rows();
                        let mut row = first_row + start as u64;
                        let is_read = super::cells::visit(array, slice.from, slice.to, &mut |cell| {
                            row += 1;
                            builder.push_cell(cell, || Place::Row(row));
                        });
                        // A column of fewer rows than its neighbours would put values beside the wrong ones.
                        if !is_read {
                            return Err(SourceError::Batches { what: BatchFault::Broken });
                        }
                    }
                    rows += slice.to - slice.from;
                    if too_large(&self.builders) {
                        let place = Place::Row(first_row + rows as u64);
                        return Err(SourceError::ChunkTooLarge { place, rows, limit_bytes });
                    }
                }
                Ok(rows)
            }
        }
    }

    fn advance(&mut self) -> Result<Option<RowBatch>, SourceError> {
        let filled = self.fill();
        // A bad value stands before a bad record that ended the chunk.
        let faults = self.builders.iter().flatten().filter_map(ColumnBuilder::fault);
        if let Some((_, error)) = faults.min_by_key(|(place, _)| *place) {
            return Err(error);
        }
        let rows = filled?;
        if rows == 0 {
            return if self.next_row == 0 { Err(SourceError::NoRows) } else { Ok(None) };
        }
        let first_row = self.next_row;
        self.next_row += rows as u64;
        if self.next_row > self.max_rows {
            return Err(SourceError::TooManyRows { limit: self.max_rows });
        }
        let columns =
            self.builders.iter_mut().map(|builder| builder.as_mut().map(ColumnBuilder::take)).collect();
        Ok(Some(RowBatch { first_row, rows, columns }))
    }
}

impl Iterator for TypedReader {
    type Item = Result<RowBatch, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.advance().transpose();
        self.ended = !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// A typed pass that runs ahead on its own thread.
pub struct Prefetched {
    receiver: Receiver<Result<RowBatch, SourceError>>,
}

impl Iterator for Prefetched {
    type Item = Result<RowBatch, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

/// For each column of the file its position in the schema.
fn match_columns(source: &Source, schema: &Schema) -> Result<Vec<usize>, SourceError> {
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(schema.columns.len());
    positions.extend(schema.columns.iter().enumerate().map(|(i, column)| (column.name.as_str(), i)));
    let found: Vec<Option<usize>> =
        source.columns().iter().map(|column| positions.remove(column.name.as_str())).collect();
    let unlisted: Vec<String> = source
        .columns()
        .iter()
        .zip(&found)
        .filter(|(_, position)| position.is_none())
        .map(|(column, _)| column.name.clone())
        .collect();
    if !unlisted.is_empty() {
        return Err(SourceError::Unlisted { columns: unlisted });
    }
    // Dropped columns may be absent: the owner's other copies may already lack them.
    let is_needed = |position: &usize| {
        schema.columns.get(*position).is_some_and(|column| column.protect != hush_plan::Protection::Drop)
    };
    let mut absent: Vec<usize> = positions.into_values().filter(is_needed).collect();
    if absent.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    absent.sort_unstable();
    let name = |position: usize| schema.columns.get(position).map(|column| column.name.clone());
    Err(SourceError::Absent { columns: absent.into_iter().filter_map(name).collect() })
}
