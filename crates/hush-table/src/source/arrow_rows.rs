// SPDX-License-Identifier: Apache-2.0
//! Rows of Arrow batches, of a Parquet file or of whoever holds them, in slices of any length.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};

use super::batches::{self, Checked};
use super::cut::Cut;
use super::dataset::{FileRow, ParquetFiles};
use super::guarded::guarded;
use super::parquet_file::ParquetColumns;
use super::{BatchFault, Origin, Source, SourceError};

/// The rows of some columns.
pub(crate) struct ArrowRows {
    reader: Reader,
    batch: Option<RecordBatch>,
    /// Where it comes from, in a folder of files.
    place: Option<FileRow>,
    used: usize,
    /// Slices that were found unfit to be cut, and why there are no more of them.
    returned: VecDeque<Result<Slice, SourceError>>,
    /// Positions in the data of the columns read.
    columns: Vec<usize>,
    /// Rows left in data of which no column is wanted.
    bare_rows: Option<usize>,
}

/// Where batches come from.
enum Reader {
    Batches(Box<Checked>),
    /// Files of a folder.
    Files(Box<ParquetFiles>),
    /// A file, and the number of its next chunk.
    Parquet(Arc<ParquetColumns>, u64),
}

impl Reader {
    fn next(&mut self) -> Result<Option<(RecordBatch, Option<FileRow>)>, SourceError> {
        let batch = match self {
            Self::Files(files) => {
                return Ok(files.next()?.map(|(batch, place)| (batch, Some(place))));
            }
            Self::Batches(reader) => {
                // The text of a holder of batches is dropped: it may quote values.
                let broken = || SourceError::Batches { what: BatchFault::Broken };
                guarded(|| reader.next().transpose()).ok_or_else(broken)?.map_err(|_| broken())
            }
            Self::Parquet(columns, number) => {
                let chunk = (columns.rows(*number) > 0).then_some(*number);
                *number += 1;
                chunk.map(|number| columns.read(number)).transpose()
            }
        };
        Ok(batch?.map(|batch| (batch, None)))
    }
}

/// Rows `from..to` of a record batch.
pub(crate) struct Slice {
    batch: RecordBatch,
    columns: Vec<usize>,
    /// First row.
    pub(crate) from: usize,
    /// Row after the last.
    pub(crate) to: usize,
    /// Where its first row stands, in a folder of files.
    pub(super) place: Option<FileRow>,
}

impl Slice {
    /// All rows of a batch, which has the columns at positions `columns` of the data.
    pub(super) fn whole(batch: RecordBatch, columns: &[usize]) -> Self {
        let to = batch.num_rows();
        Self { batch, columns: columns.to_vec(), from: 0, to, place: None }
    }

    /// Its rows.
    pub(crate) fn batch(&self) -> RecordBatch {
        self.batch.slice(self.from, self.to - self.from)
    }

    /// Positions in the data and arrays of the columns read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (usize, &ArrayRef)> {
        self.columns.iter().copied().zip(self.batch.columns())
    }

    /// About how many bytes of memory its rows take.
    fn bytes(&self) -> usize {
        let of_array = |array: &ArrayRef| {
            let rows = array.slice(self.from, self.to - self.from).to_data();
            rows.get_slice_memory_size().unwrap_or(usize::MAX)
        };
        self.batch.columns().iter().map(of_array).fold(0, usize::saturating_add)
    }
}

impl ArrowRows {
    /// Starts reading the columns at positions `columns`, ascending.
    pub(super) fn open(source: &Source, columns: &[usize]) -> Result<Self, SourceError> {
        let reader = match &source.origin {
            Origin::Batches(batches) => Reader::Batches(Box::new(Checked::open(batches.as_ref(), columns)?)),
            Origin::Dataset(dataset) => Reader::Files(Box::new(ParquetFiles::open(dataset.clone(), columns))),
            Origin::File(_) | Origin::Memory(_) | Origin::Object(_) => {
                Reader::Parquet(Arc::new(ParquetColumns::open(source, columns)?), 0)
            }
            Origin::Joined(_) | Origin::Stream { .. } => return Err(SourceError::ReadOnce),
        };
        let rows = source.rows().and_then(|rows| usize::try_from(rows).ok());
        let bare_rows = rows.filter(|_| columns.is_empty());
        let (columns, returned) = (columns.to_vec(), VecDeque::new());
        Ok(Self { reader, batch: None, place: None, used: 0, returned, columns, bare_rows })
    }

    /// The columns of a file of which nothing has been read, and their positions in it, for chunks in any order; `None` if there are
    /// none, or other data.
    pub(super) fn file_columns(&self) -> Option<(Arc<ParquetColumns>, &[usize])> {
        match &self.reader {
            Reader::Parquet(columns, 0) if !self.columns.is_empty() => Some((columns.clone(), &self.columns)),
            _ => None,
        }
    }

    /// Takes the next `wanted` rows, or as many as there are, if they take no more than about `limit` bytes.
    pub(super) fn cut(&mut self, wanted: usize, limit: usize) -> Cut<Vec<Slice>> {
        let (mut slices, mut rows, mut bytes) = (Vec::new(), 0, 0_usize);
        while rows < wanted {
            let slice = match self.next_slice(wanted - rows) {
                Ok(Some(slice)) => slice,
                Ok(None) => break,
                Err(error) => return self.give_back(slices, Some(error)),
            };
            rows += slice.to - slice.from;
            bytes = bytes.saturating_add(slice.bytes());
            slices.push(slice);
            if bytes > limit {
                return self.give_back(slices, None);
            }
        }
        if slices.is_empty() { Cut::End } else { Cut::Rows(slices) }
    }

    fn give_back(&mut self, slices: Vec<Slice>, error: Option<SourceError>) -> Cut<Vec<Slice>> {
        self.returned.extend(slices.into_iter().map(Ok).chain(error.map(Err)));
        Cut::Unfit
    }

    /// The next rows, at least 1 and at most `most`; `None` at the end.
    pub(crate) fn next_slice(&mut self, most: usize) -> Result<Option<Slice>, SourceError> {
        if let Some(slice) = self.returned.pop_front() {
            return slice.map(Some);
        }
        if let Some(left) = &mut self.bare_rows {
            let to = most.min(*left);
            *left -= to;
            let batch = RecordBatch::new_empty(batches::bare());
            return Ok((to > 0).then(|| Slice { batch, columns: Vec::new(), from: 0, to, place: None }));
        }
        loop {
            if let Some(batch) = &self.batch
                && self.used < batch.num_rows()
            {
                let (from, to) = (self.used, batch.num_rows().min(self.used + most));
                self.used = to;
                let place = self.place.as_ref();
                let place = place.map(|place| FileRow { row: place.row + from as u64, ..place.clone() });
                let (batch, columns) = (batch.clone(), self.columns.clone());
                return Ok(Some(Slice { batch, columns, from, to, place }));
            }
            // The batch that is used up goes before the next one comes.
            self.batch = None;
            let Some((batch, place)) = self.reader.next()? else { return Ok(None) };
            (self.batch, self.place) = (Some(batch), place);
            self.used = 0;
        }
    }
}
