// SPDX-License-Identifier: Apache-2.0
//! The typed pass: an iterator of chunks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::Array;
use hush_plan::schema::{Column, Schema};

use super::arrow_rows::{ArrowRows, Slice};
use super::column::{ColumnBuilder, NullTokens};
use super::dataset::{CsvFiles, DataFile, Piece};
use super::grid::Grid;
use super::lines::{self, Lines};
use super::lookup::Join;
use super::records::Records;
use super::{BatchFault, CHUNK_ROWS, Format, Origin, Place, ReadAs, RowBatch, Source, SourceError, cells};

/// Reads a file chunk by chunk. Ends after the first error.
pub struct TypedReader {
    pub(super) rows: Rows,
    pub(super) typer: Typer,
    pub(super) next_row: u64,
    ended: bool,
}

/// Where rows come from.
pub(super) enum Rows {
    Arrow(Box<ArrowRows>),
    Csv(Box<Records>),
    Files(Box<CsvFiles>),
}

/// Makes the values of one chunk after the other.
pub(super) struct Typer {
    /// One per column of the schema, `None` where it is skipped.
    builders: Vec<Option<ColumnBuilder>>,
    /// For each column of the file, its position in the schema if it is wanted.
    targets: Arc<[Option<usize>]>,
    max_rows: u64,
    /// Most bytes of texts in a chunk.
    text_limit: usize,
    /// Delimiter of CSV, and whether a blank line is a record.
    dialect: (u8, bool),
    /// A buffer: where the fields of a chunk of CSV end.
    marks: Vec<u32>,
    /// What rows look up.
    join: Option<Arc<Join>>,
}

impl TypedReader {
    pub(super) fn new(
        source: &Source,
        schema: &Schema,
        read_as: &dyn Fn(&Column) -> ReadAs,
    ) -> Result<Self, SourceError> {
        let mut positions = match_columns(source, schema)?;
        let mut asked: Vec<(Column, ReadAs)> =
            schema.columns.iter().map(|column| (column.clone(), read_as(column))).collect();
        let join = match &source.origin {
            Origin::Joined(joined) => Some(Arc::new(Join::open(joined, schema, &positions, &mut asked)?)),
            _ => None,
        };
        let source = source.facts();
        positions.truncate(source.columns().len());
        let point = source.format().decimal_point();
        let of_path: Vec<&str> = (0..source.columns().len())
            .filter(|position| source.is_of_path(*position))
            .filter_map(|position| Some(source.columns().get(position)?.name.as_str()))
            .collect();
        let builder = |(column, form): &(Column, ReadAs)| match *form {
            ReadAs::Skip => Ok(None),
            wanted => {
                let nulls = match source.format() {
                    Format::Csv { .. } if !of_path.contains(&column.name.as_str()) => {
                        column.null_tokens(schema)
                    }
                    Format::Arrow | Format::Csv { .. } | Format::Parquet => {
                        column.written.null_tokens.as_deref().unwrap_or_default()
                    }
                };
                ColumnBuilder::new(column, wanted, point, NullTokens::new(nulls)).map(Some)
            }
        };
        let builders: Vec<_> = asked.iter().map(builder).collect::<Result<_, _>>()?;
        let wanted =
            |position: usize| builders.get(position).is_some_and(Option::is_some).then_some(position);
        let targets: Arc<[Option<usize>]> = positions.into_iter().map(wanted).collect();
        for (column, target) in source.columns().iter().zip(targets.iter()) {
            if let (Some(found), Some(_)) = (&column.unsupported, target) {
                return Err(SourceError::UnsupportedType {
                    column: column.name.clone(),
                    found: found.clone(),
                });
            }
        }
        let (rows, dialect) = match (source.format(), &source.origin) {
            (Format::Csv { delimiter }, Origin::Dataset(dataset)) => {
                let dialect = (delimiter, dataset.has_blank_rows());
                (Rows::Files(Box::new(CsvFiles::new(dataset.clone()))), dialect)
            }
            (Format::Csv { .. }, _) => {
                let records = source.records()?;
                let dialect = records.dialect();
                (Rows::Csv(Box::new(records)), dialect)
            }
            (Format::Arrow | Format::Parquet, _) => {
                let kept: Vec<usize> =
                    (0..targets.len()).filter(|i| targets.get(*i).is_some_and(Option::is_some)).collect();
                (Rows::Arrow(Box::new(ArrowRows::open(source, &kept)?)), (b',', false))
            }
        };
        let (max_rows, text_limit) = (schema.max_rows, usize::MAX);
        let typer = Typer { builders, targets, max_rows, text_limit, dialect, marks: Vec::new(), join };
        Ok(Self { rows, typer, next_row: 0, ended: false })
    }

    /// Refuses a chunk whose texts take more than `bytes` ([`SourceError::ChunkTooLarge`]), and a record of more.
    #[must_use]
    pub fn with_text_limit(mut self, bytes: usize) -> Self {
        self.typer.text_limit = bytes;
        match &mut self.rows {
            Rows::Arrow(_) => {}
            Rows::Csv(records) => records.limit(bytes),
            Rows::Files(files) => files.limit(bytes),
        }
        self
    }

    /// The next chunk; `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<RowBatch>, SourceError> {
        let (rows, first_row) = (&mut self.rows, self.next_row);
        let batch = self.typer.chunk(first_row, |typer| match rows {
            Rows::Csv(records) => typer.fill_records(records, CHUNK_ROWS, None),
            Rows::Files(files) => typer.fill_files(files),
            Rows::Arrow(batches) => typer.fill_slices(first_row, |most| batches.next_slice(most)),
        })?;
        if batch.rows == 0 {
            return if first_row == 0 { Err(SourceError::NoRows) } else { Ok(None) };
        }
        self.next_row += batch.rows as u64;
        Ok(Some(batch))
    }
}

impl Typer {
    /// One of the same columns, for another thread.
    pub(super) fn another(&self) -> Self {
        let fresh = |builder: &Option<ColumnBuilder>| builder.as_ref().map(ColumnBuilder::another);
        let (builders, marks) = (self.builders.iter().map(fresh).collect(), Vec::new());
        let (targets, join) = (self.targets.clone(), self.join.clone());
        Self { builders, targets, marks, join, ..*self }
    }

    /// The chunk of records that were cut out of a file, which begins with row `first_row`.
    ///
    /// # Errors
    /// As [`Typer::chunk`].
    pub(super) fn lines(&mut self, first_row: u64, lines: Lines) -> Result<RowBatch, SourceError> {
        self.chunk(first_row, |typer| typer.fill_lines(lines, None))
    }

    /// The chunk of records that were cut out of several files.
    ///
    /// # Errors
    /// As [`Typer::chunk`].
    pub(super) fn pieces(&mut self, first_row: u64, pieces: Vec<Piece>) -> Result<RowBatch, SourceError> {
        self.chunk(first_row, |typer| {
            pieces.into_iter().try_fold(0, |rows, piece| Ok(rows + typer.fill_piece(piece)?))
        })
    }

    /// The chunk that `fill` puts into the builders, which begins with row `first_row`.
    ///
    /// # Errors
    /// The first fault of the chunk, by its place in the file; too many rows.
    pub(super) fn chunk(
        &mut self,
        first_row: u64,
        fill: impl FnOnce(&mut Self) -> Result<usize, SourceError>,
    ) -> Result<RowBatch, SourceError> {
        let filled = fill(self);
        if let Err(error @ SourceError::InFile { .. }) = filled {
            return Err(error);
        }
        // A bad value stands before a bad record that ended the chunk.
        if let Some(error) = self.fault() {
            return Err(error);
        }
        let rows = filled?;
        if first_row + rows as u64 > self.max_rows {
            return Err(SourceError::TooManyRows { limit: self.max_rows });
        }
        let text_bytes = self.text_limit.saturating_sub(self.text_bytes());
        let columns =
            self.builders.iter_mut().map(|builder| builder.as_mut().map(ColumnBuilder::take)).collect();
        let batch = RowBatch { first_row, rows, columns };
        match &self.join {
            Some(join) if rows > 0 => join.add(batch, text_bytes),
            _ => Ok(batch),
        }
    }

    /// The first fault of the builders, by its place.
    fn fault(&self) -> Option<SourceError> {
        let faults = self.builders.iter().flatten().filter_map(ColumnBuilder::fault);
        faults.min_by_key(|(place, _)| *place).map(|(_, error)| error)
    }

    /// Reads records into the builders: all of them, no more than a chunk.
    fn fill_lines(&mut self, lines: Lines, file: Option<&DataFile>) -> Result<usize, SourceError> {
        let (delimiter, blank_rows) = self.dialect;
        let width = self.width(file);
        let mut marks = std::mem::take(&mut self.marks);
        // Within the limit, texts need not be counted.
        let is_within = lines.bytes.len() <= self.text_limit.saturating_sub(self.text_bytes());
        let rows = if is_within && let Some(grid) = Grid::of(&lines, delimiter, width, blank_rows, &mut marks)
        {
            self.fill_columns(&grid, file);
            Some(grid.rows())
        } else {
            None
        };
        self.marks = marks;
        rows.map_or_else(
            || {
                let mut records = Records::of_lines(lines, delimiter, blank_rows);
                records.limit(self.text_limit);
                self.fill_records(&mut records, CHUNK_ROWS, file)
            },
            Ok,
        )
    }

    /// Reads records of one file of a folder into the builders.
    fn fill_piece(&mut self, piece: Piece) -> Result<usize, SourceError> {
        let expected = piece.lines.records;
        let filled = self.fill_lines(piece.lines, Some(&piece.file));
        let rows = self.settle(filled, &piece.file)?;
        lines::check_count(rows, expected).map_err(|error| piece.file.error(error))?;
        Ok(rows)
    }

    /// Reads up to a chunk of records of the files of a folder into the builders.
    fn fill_files(&mut self, files: &mut CsvFiles) -> Result<usize, SourceError> {
        let mut rows = 0;
        while let Some(piece) = files.returned() {
            rows += self.fill_piece(piece)?;
        }
        while rows < CHUNK_ROWS {
            let Some(open) = files.open()? else { break };
            let filled = self.fill_records(&mut open.records, CHUNK_ROWS - rows, Some(&open.file));
            let added = self.settle(filled, &open.file)?;
            rows += added;
            if added == 0 {
                files.close()?;
            }
        }
        Ok(rows)
    }

    /// Adds the values of a file's path to the rows that were filled from it, and names the file in its errors.
    fn settle(&mut self, filled: Result<usize, SourceError>, file: &DataFile) -> Result<usize, SourceError> {
        if let Some(error) = self.fault() {
            return Err(file.error(error));
        }
        let rows = filled.map_err(|error| file.error(error))?;
        let width = self.width(Some(file));
        for (value, target) in file.values.iter().zip(self.targets.iter().skip(width)) {
            let Some(builder) = target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut)
            else {
                continue;
            };
            let cell = value.as_deref().map(cells::Cell::Text);
            (0..rows).for_each(|_| builder.push_cell(cell, || Place::Path));
        }
        if let Some(limit_bytes) = self.passed_text_limit() {
            return Err(file.error(SourceError::ChunkTooLarge { place: Place::Path, rows, limit_bytes }));
        }
        self.fault().map_or(Ok(rows), |error| Err(file.error(error)))
    }

    /// Number of the columns that a file has.
    fn width(&self, file: Option<&DataFile>) -> usize {
        self.targets.len() - file.map_or(0, |file| file.values.len())
    }

    /// Reads the fields of a grid into the builders, column by column.
    fn fill_columns(&mut self, grid: &Grid<'_>, file: Option<&DataFile>) {
        let width = self.width(file);
        for (column, target) in self.targets.iter().take(width).enumerate() {
            if let Some(builder) = target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut) {
                builder.push_column(grid, file.map_or(column, |file| file.position(column)));
            }
        }
    }

    /// Reads up to `most` records into the builders.
    fn fill_records(
        &mut self,
        records: &mut Records,
        most: usize,
        file: Option<&DataFile>,
    ) -> Result<usize, SourceError> {
        let (mut rows, width) = (0, self.width(file));
        while rows < most {
            let Some(record) = records.next()? else { break };
            if record.len() != width {
                let (line, found) = (record.line(), record.len());
                return Err(SourceError::Ragged { line, found, expected: width });
            }
            for (i, target) in self.targets.iter().take(width).enumerate() {
                if let Some(builder) =
                    target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut)
                {
                    let field = record.field(file.map_or(i, |file| file.position(i)));
                    builder.push_field(field, || Place::Line(record.line()));
                }
            }
            rows += 1;
            if let Some(limit_bytes) = self.passed_text_limit() {
                let place = Place::Line(record.line());
                return Err(SourceError::ChunkTooLarge { place, rows, limit_bytes });
            }
        }
        Ok(rows)
    }

    /// Reads up to a chunk of rows of slices into the builders. `next` gives at most as many rows as it is told.
    pub(super) fn fill_slices(
        &mut self,
        first_row: u64,
        mut next: impl FnMut(usize) -> Result<Option<Slice>, SourceError>,
    ) -> Result<usize, SourceError> {
        let mut rows = 0;
        while rows < CHUNK_ROWS {
            let Some(slice) = next(CHUNK_ROWS - rows)? else { break };
            for (file_column, array) in slice.columns() {
                let target = self.targets.get(file_column).copied().flatten();
                let Some(builder) = target.and_then(|at| self.builders.get_mut(at)).and_then(Option::as_mut)
                else {
                    continue;
                };
                // A column of fewer rows than its neighbours would put values beside the wrong ones.
                let broken = || SourceError::Batches { what: BatchFault::Broken };
                let array = cells::plain_rows(array, slice.from, slice.to).ok_or_else(broken)?;
                if builder.push_array(&array) {
                    continue;
                }
                let mut row = slice.place.as_ref().map_or(first_row + rows as u64, |place| place.row);
                let is_read = cells::visit(&array, 0, array.len(), &mut |cell| {
                    row += 1;
                    builder.push_cell(cell, || Place::Row(row));
                });
                if !is_read {
                    return Err(broken());
                }
            }
            let added = slice.to - slice.from;
            let before = slice.place.as_ref().map_or(first_row + rows as u64, |place| place.row);
            rows += added;
            let too_large = self.passed_text_limit().map(|limit_bytes| {
                let place = Place::Row(before + added as u64);
                SourceError::ChunkTooLarge { place, rows, limit_bytes }
            });
            match slice.place {
                None => too_large.map_or(Ok(()), Err)?,
                // Rows of the next file have the same numbers again.
                Some(place) => {
                    let error = self.fault().or(too_large);
                    error.map_or(Ok(()), |error| Err(place.file.error(error)))?;
                }
            }
        }
        Ok(rows)
    }

    /// The limit on the texts of a chunk, if they take more.
    fn passed_text_limit(&self) -> Option<usize> {
        (self.text_limit < usize::MAX && self.text_bytes() > self.text_limit).then_some(self.text_limit)
    }

    /// Bytes of the texts collected.
    fn text_bytes(&self) -> usize {
        self.builders.iter().flatten().map(ColumnBuilder::text_bytes).sum()
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
