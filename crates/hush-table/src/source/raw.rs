// SPDX-License-Identifier: Apache-2.0
//! The profiling pass: rows of text cells, whatever the file's format.

use super::arrow_rows::ArrowRows;
use super::column::NullTokens;
use super::records::Records;
use super::{BatchFault, CHUNK_ROWS, Format, Source, SourceError, cells};

/// Rows of a file as text, one after the other, with the missing cells marked.
pub(crate) struct RawRows {
    nulls: NullTokens,
    columns: usize,
    kind: Kind,
}

enum Kind {
    Arrow(Box<Blocks>),
    Csv(Box<Records>),
}

/// Parquet or Arrow, rendered block by block.
struct Blocks {
    rows: ArrowRows,
    columns: Vec<TextColumn>,
    next_row: usize,
    row_count: usize,
}

/// A column of a block, rendered.
#[derive(Clone, Default)]
struct TextColumn {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    missing: Vec<bool>,
}

impl TextColumn {
    fn field(&self, row: usize) -> Option<&[u8]> {
        if self.missing.get(row).copied().unwrap_or(true) {
            return None;
        }
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start..*self.ends.get(row)?)
    }
}

impl RawRows {
    pub(super) fn new(source: &Source) -> Result<Self, SourceError> {
        let columns = source.columns().len();
        let kind = match source.format() {
            Format::Csv { .. } => Kind::Csv(Box::new(source.records()?)),
            Format::Arrow | Format::Parquet => {
                let readable =
                    source.columns().iter().enumerate().filter(|(_, column)| column.unsupported.is_none());
                let kept: Vec<usize> = readable.map(|(i, _)| i).collect();
                let rows = ArrowRows::open(source, &kept)?;
                let columns = vec![TextColumn::default(); columns];
                Kind::Arrow(Box::new(Blocks { rows, columns, next_row: 0, row_count: 0 }))
            }
        };
        Ok(Self { nulls: NullTokens::new(source.null_tokens()), columns, kind })
    }

    /// Calls `sink` for every cell of the next row, with the column's position and `None` for a missing one.
    /// Returns `false`, and calls nothing, at the end.
    ///
    /// # Errors
    /// A ragged record, or reading fails.
    #[inline]
    pub(crate) fn next_row(
        &mut self,
        mut sink: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<bool, SourceError> {
        match &mut self.kind {
            Kind::Csv(records) => {
                let Some(record) = records.next()? else { return Ok(false) };
                if record.len() != self.columns {
                    let (line, found) = (record.line(), record.len());
                    return Err(SourceError::Ragged { line, found, expected: self.columns });
                }
                for i in 0..self.columns {
                    let field = record.field(i);
                    let missing = self.nulls.contains(field) || self.nulls.contains(field.trim_ascii());
                    sink(i, (!missing).then_some(field));
                }
                Ok(true)
            }
            Kind::Arrow(blocks) => {
                if blocks.next_row == blocks.row_count && !blocks.refill()? {
                    return Ok(false);
                }
                for (i, column) in blocks.columns.iter().enumerate() {
                    let field = column.field(blocks.next_row).filter(|field| !self.nulls.contains(field));
                    sink(i, field);
                }
                blocks.next_row += 1;
                Ok(true)
            }
        }
    }
}

impl Blocks {
    /// Renders the next block; `false` at the end.
    fn refill(&mut self) -> Result<bool, SourceError> {
        (self.next_row, self.row_count) = (0, 0);
        for column in &mut self.columns {
            column.bytes.clear();
            column.ends.clear();
            column.missing.clear();
        }
        let Some(slice) = self.rows.next_slice(CHUNK_ROWS)? else { return Ok(false) };
        for (position, array) in slice.columns() {
            let Some(column) = self.columns.get_mut(position) else { continue };
            let is_read = cells::visit(array, slice.from, slice.to, &mut |cell| {
                if let Some(cell) = cell {
                    cell.render(&mut column.bytes);
                }
                column.missing.push(cell.is_none());
                column.ends.push(column.bytes.len());
            });
            if !is_read {
                return Err(SourceError::Batches { what: BatchFault::Broken });
            }
        }
        self.row_count = slice.to - slice.from;
        Ok(self.row_count > 0)
    }
}
