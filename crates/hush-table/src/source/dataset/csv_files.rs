// SPDX-License-Identifier: Apache-2.0
//! Records of one CSV file after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{DataFile, Dataset, NextFile};
use crate::source::SourceError;
use crate::source::cut::Cut;
use crate::source::lines::Lines;
use crate::source::records::Records;

/// Where a pass over the files stands.
pub(in crate::source) struct CsvFiles {
    dataset: Arc<Dataset>,
    /// The file after the one that is read.
    next: usize,
    coming: NextFile,
    open: Option<OpenFile>,
    /// Most bytes of a record.
    limit: usize,
    /// Pieces that were found unfit to be part of a chunk that waits, and the error behind them.
    returned: VecDeque<Piece>,
    failed: Option<SourceError>,
}

/// A file that is read.
pub(in crate::source) struct OpenFile {
    pub(in crate::source) file: DataFile,
    pub(in crate::source) records: Records,
}

/// Records that were cut out of a file.
pub(in crate::source) struct Piece {
    pub(in crate::source) file: DataFile,
    pub(in crate::source) lines: Lines,
}

impl CsvFiles {
    pub(in crate::source) fn new(dataset: Arc<Dataset>) -> Self {
        Self {
            dataset,
            next: 0,
            coming: NextFile::default(),
            open: None,
            limit: usize::MAX,
            returned: VecDeque::new(),
            failed: None,
        }
    }

    /// Lowers the limit on a record, as [`Records::limit`] does.
    pub(in crate::source) fn limit(&mut self, bytes: usize) {
        self.limit = bytes;
        if let Some(open) = &mut self.open {
            open.records.limit(bytes);
        }
    }

    /// The next piece that was given back.
    pub(in crate::source) fn returned(&mut self) -> Option<Piece> {
        self.returned.pop_front()
    }

    /// The file that is read, the next one where none is; `None` behind the last.
    pub(in crate::source) fn open(&mut self) -> Result<Option<&mut OpenFile>, SourceError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.open.is_none() && self.next < self.dataset.files.len() {
            let (file, source) = self.dataset.open_file(self.next, &mut self.coming)?;
            self.next += 1;
            let mut records = source.records().map_err(|error| file.error(error))?;
            records.limit(self.limit);
            self.open = Some(OpenFile { file, records });
        }
        Ok(self.open.as_mut())
    }

    /// Ends the file that is read, which must not have changed.
    pub(in crate::source) fn close(&mut self) -> Result<(), SourceError> {
        if self.open.take().is_some() {
            self.dataset.check(self.next - 1)?;
        }
        Ok(())
    }

    /// Takes the next `wanted` records as they are, or as many as there are, if they take no more than `limit` bytes.
    pub(in crate::source) fn cut(&mut self, wanted: usize, limit: usize) -> Cut<Vec<Piece>> {
        let (mut pieces, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while rows < wanted {
            let cut = match self.open() {
                Ok(None) => break,
                Ok(Some(open)) => {
                    open.records.cut(wanted - rows, limit - bytes).map(|lines| (open.file.clone(), lines))
                }
                Err(error) => return self.give_back(pieces, Some(error)),
            };
            match cut {
                Cut::End => {
                    if let Err(error) = self.close() {
                        return self.give_back(pieces, Some(error));
                    }
                }
                Cut::Rows((file, lines)) => {
                    rows += lines.records;
                    bytes += lines.bytes.len();
                    pieces.push(Piece { file, lines });
                }
                Cut::Unfit => return self.give_back(pieces, None),
            }
        }
        if pieces.is_empty() { Cut::End } else { Cut::Rows(pieces) }
    }

    fn give_back(&mut self, pieces: Vec<Piece>, error: Option<SourceError>) -> Cut<Vec<Piece>> {
        self.returned.extend(pieces);
        self.failed = error;
        Cut::Unfit
    }
}
