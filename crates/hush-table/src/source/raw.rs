// SPDX-License-Identifier: Apache-2.0
//! The profiling pass: rows of text cells, whatever the file's format.

use super::arrow_rows::ArrowRows;
use super::column::NullTokens;
use super::dataset::{CsvFiles, DataFile};
use super::record::Record;
use super::records::Records;
use super::{BatchFault, CHUNK_ROWS, Format, Origin, Source, SourceError, cells};

/// Rows of a file as text, one after the other, with the missing cells marked.
pub(super) struct FileRows {
    nulls: NullTokens,
    columns: usize,
    kind: Kind,
}

enum Kind {
    Arrow(Box<Blocks>),
    Csv(Box<Records>),
    Files(Box<CsvFiles>),
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
pub(super) struct TextColumn {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    missing: Vec<bool>,
}

impl TextColumn {
    /// Adds a row.
    pub(super) fn push(&mut self, cell: Option<&[u8]>) {
        self.bytes.extend_from_slice(cell.unwrap_or_default());
        self.missing.push(cell.is_none());
        self.ends.push(self.bytes.len());
    }

    /// Row `row`; `None` for a missing one, and behind the last.
    pub(super) fn field(&self, row: usize) -> Option<&[u8]> {
        if self.missing.get(row).copied().unwrap_or(true) {
            return None;
        }
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start..*self.ends.get(row)?)
    }
}

impl FileRows {
    pub(super) fn new(source: &Source) -> Result<Self, SourceError> {
        let columns = source.columns().len();
        let kind = match (source.format(), &source.origin) {
            (Format::Csv { .. }, Origin::Dataset(dataset)) => {
                Kind::Files(Box::new(CsvFiles::new(dataset.clone())))
            }
            (Format::Csv { .. }, _) => Kind::Csv(Box::new(source.records()?)),
            (Format::Arrow | Format::Parquet, _) => {
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
    pub(super) fn next_row(
        &mut self,
        mut sink: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<bool, SourceError> {
        match &mut self.kind {
            Kind::Csv(records) => {
                let Some(record) = records.next()? else { return Ok(false) };
                give(record, self.columns, &self.nulls, |i| i, &mut sink)?;
                Ok(true)
            }
            Kind::Files(files) => loop {
                let Some(open) = files.open()? else { return Ok(false) };
                let DataFile { values, .. } = &open.file;
                let width = self.columns - values.len();
                let position = |i| open.file.position(i);
                let given = open.records.next().and_then(|record| match record {
                    Some(record) => give(record, width, &self.nulls, position, &mut sink).map(|()| true),
                    None => Ok(false),
                });
                if given.map_err(|error| open.file.error(error))? {
                    let values = values.iter().map(|value| value.as_ref().map(String::as_bytes));
                    values.enumerate().for_each(|(i, value)| sink(width + i, value));
                    return Ok(true);
                }
                files.close()?;
            },
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

/// Calls `sink` with the fields of a record, column by column; `position` tells where a column stands in it.
#[inline]
fn give(
    record: Record<'_>,
    columns: usize,
    nulls: &NullTokens,
    position: impl Fn(usize) -> usize,
    sink: &mut impl FnMut(usize, Option<&[u8]>),
) -> Result<(), SourceError> {
    if record.len() != columns {
        let (line, found) = (record.line(), record.len());
        return Err(SourceError::Ragged { line, found, expected: columns });
    }
    for i in 0..columns {
        let field = record.field(position(i));
        let missing = nulls.contains(field) || nulls.contains(field.trim_ascii());
        sink(i, (!missing).then_some(field));
    }
    Ok(())
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
