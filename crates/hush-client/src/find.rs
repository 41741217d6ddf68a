// SPDX-License-Identifier: Apache-2.0
//! Finds rows of a table for its owner, by columns of any protection.
//!
//! An engine without keys says which rows come into question, by a condition on clear columns. The owner reads the
//! chunks with these rows and decides. Of a table on a server the owner takes the parts with these rows, checks them against the signed
//! manifest and decides here. So a server can hide rows from the owner, as from any answer, but never has rows taken for others.

use std::collections::{BTreeMap, HashMap};

use arrow::array::UInt64Array;
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::record_batch::RecordBatch;
use hush_exec::Limits;
use hush_exec::answer::{Answer, EncryptedHalf};
use hush_plan::Schema;
use hush_plan::plan::{PLAN_FORMAT, Predicate, RowsTask, ServerPlan, Task};
use hush_plan::sql::Condition;
use hush_remote::Progress;
use hush_table::manifest::PartPlace;
use hush_table::{
    CHUNK_ROWS, DeadRows, Digest, FileKind, Manifest, PartEntry, PartName, TableStore, files_of_part,
};
use rayon::prelude::*;

use crate::ask::{answer_error, positions, serialised};
use crate::decrypt::{ChunkRows, PartReader};
use crate::error::ClientError;
use crate::matching::rows_where;
use crate::place::{Opened, TablePlace};
use crate::scheme::{Lattice, Scheme};
use crate::threads::thread_pool;

/// Rows of some parts: their numbers in the part, ascending; by the part's number in the table. None of them is empty.
pub(crate) type PartRows = BTreeMap<usize, Vec<u64>>;

/// Finds rows in the versions of one table.
pub(crate) struct Finder<'a> {
    place: TablePlace<'a>,
    /// The files of the table; of one on a server, those that were fetched and are still needed.
    files: TableStore,
    threads: usize,
    /// The rows that were found in parts, by the digests of their files: parts never change.
    known: HashMap<PartId, Vec<u64>>,
}

/// The digests of a part's files of rows.
pub(crate) type PartId = (Option<Digest>, Option<Digest>);

/// What rows are looked for.
pub(crate) trait Criterion: Sync {
    /// A condition on clear columns that all of them meet; `None`: there is none.
    fn clear(&self) -> Option<&Predicate>;

    /// Whether all rows that meet it are looked for.
    fn is_clear(&self) -> bool;

    /// The columns by which the owner decides.
    fn columns(&self) -> &[String];

    /// Numbers in their part, ascending, of those living rows of some chunks that are looked for. The chunks have the columns.
    ///
    /// # Errors
    /// Those of evaluating it.
    fn matching(&self, schema: &Schema, chunks: &[ChunkRows]) -> Result<Vec<u64>, ClientError>;
}

impl Criterion for Condition {
    fn clear(&self) -> Option<&Predicate> {
        Condition::clear(self)
    }

    fn is_clear(&self) -> bool {
        Condition::is_clear(self)
    }

    fn columns(&self) -> &[String] {
        &self.owned().columns
    }

    fn matching(&self, schema: &Schema, chunks: &[ChunkRows]) -> Result<Vec<u64>, ClientError> {
        let batches = chunks.iter().map(living).collect::<Result<Vec<_>, _>>()?;
        let Some((_, first)) = batches.first() else { return Ok(Vec::new()) };
        let merged = concat_batches(&first.schema(), batches.iter().map(|(_, rows)| rows))?;
        let numbers: Vec<u64> = batches.iter().flat_map(|(numbers, _)| numbers.iter().copied()).collect();
        let found = rows_where(&schema.all_clear(), &merged, &self.owned().predicate)?;
        Ok(found.into_iter().filter_map(|place| numbers.get(place).copied()).collect())
    }
}

/// A part to be read, and the chunks of it that come into question; `None` for all.
type Wanted = (usize, Option<Vec<u32>>);

impl<'a> Finder<'a> {
    /// # Errors
    /// No table there.
    pub(crate) fn new(place: TablePlace<'a>, threads: usize) -> Result<Self, ClientError> {
        let files = match place {
            TablePlace::Server(..) => TableStore::memory(),
            _ => place.files()?,
        };
        Ok(Self { place, files, threads, known: HashMap::new() })
    }

    /// The living rows of a version that are looked for. A finder is always asked for the same ones.
    ///
    /// # Errors
    /// What the engine or the criterion refuses, such as a division by zero; damage; [`ClientError::Beyond`]; the server's.
    ///
    /// # Cost
    /// A query of the condition on clear columns, then reading the criterion's columns in the chunks that are left, in bounded memory. From a server,
    /// taking the files of their parts.
    pub(crate) fn find(
        &mut self,
        opened: &Opened,
        criterion: &dyn Criterion,
        progress: &dyn Progress,
    ) -> Result<PartRows, ClientError> {
        let manifest = opened.manifest.manifest();
        let pool = thread_pool(self.threads)?;
        let wanted = match criterion.clear() {
            Some(predicate) => {
                let rows = self.clear_rows(opened, predicate, progress)?;
                if criterion.is_clear() && !matches!(self.place, TablePlace::Server(..)) {
                    return Ok(by_part(&rows, manifest));
                }
                chunks_of(&rows, manifest)
            }
            None => (0..manifest.parts.len()).map(|part| (part, None)).collect(),
        };
        let mut found = PartRows::new();
        let read: Vec<Wanted> = {
            let is_new = |(part, _): &Wanted| {
                manifest.parts.get(*part).is_some_and(|entry| !self.known.contains_key(&id_of(entry)))
            };
            wanted.iter().filter(|wanted| is_new(wanted)).cloned().collect()
        };
        let reader = self.reader(opened, Some(criterion.columns()))?;
        progress.begin("find rows", Some(read.len() as u64), "parts");
        for window in read.chunks(self.threads.max(1)) {
            let rows = self.with_files(manifest, window.iter().map(|(part, _)| *part), || {
                let of_part = |(part, chunks): &Wanted| {
                    criterion.matching(&opened.half.schema, &reader.read(*part, chunks.as_deref(), None)?)
                };
                pool.install(|| window.par_iter().map(of_part).collect::<Result<Vec<_>, _>>())
            })?;
            let parts = window.iter().filter_map(|(part, _)| manifest.parts.get(*part));
            self.known.extend(parts.map(id_of).zip(rows));
            progress.advance(window.len() as u64);
        }
        progress.end();
        for (part, _) in wanted {
            let Some(entry) = manifest.parts.get(part) else { continue };
            let Some(rows) = self.known.get(&id_of(entry)).filter(|rows| !rows.is_empty()) else { continue };
            // Since the part was read, others may have deleted rows of it.
            let dead = self.dead_rows(entry)?;
            let lives = |row: &&u64| dead.as_ref().is_none_or(|dead| !dead.contains(**row));
            let rows: Vec<u64> = rows.iter().filter(lives).copied().collect();
            if !rows.is_empty() {
                found.insert(part, rows);
            }
        }
        Ok(found)
    }

    /// A reader of some columns of a version; its files are those of [`Finder::with_files`].
    ///
    /// # Errors
    /// Unknown columns.
    pub(crate) fn reader(
        &self,
        opened: &Opened,
        columns: Option<&[String]>,
    ) -> Result<PartReader, ClientError> {
        let (half, keys) = (opened.half.clone(), opened.keys.clone());
        PartReader::new(self.files.clone(), opened.manifest.manifest(), (half, keys), columns)
    }

    /// Some rows of a version with all columns that can be given back, in the order of the table.
    ///
    /// # Errors
    /// Damage; [`ClientError::Beyond`]; the server's.
    pub(crate) fn rows(&self, opened: &Opened, found: &PartRows) -> Result<RecordBatch, ClientError> {
        let (manifest, reader) = (opened.manifest.manifest(), self.reader(opened, None)?);
        let places: Vec<PartPlace> = manifest.placed_parts().map(|(place, _)| place).collect();
        let mut picked = Vec::new();
        for (part, rows) in found {
            let first = places.get(*part).map_or(0, |place| place.first_chunk);
            let mut chunks: Vec<u32> =
                rows.iter().map(|row| first.saturating_add((row / u64::from(CHUNK_ROWS)) as u32)).collect();
            chunks.dedup();
            let read = self.with_files(manifest, [*part], || reader.read(*part, Some(&chunks), None))?;
            for chunk in read {
                let (start, count) = (chunk.first_row as u64, chunk.rows.num_rows() as u64);
                let own = rows.iter().filter_map(|row| row.checked_sub(start).filter(|row| *row < count));
                picked.push(take_record_batch(&chunk.rows, &UInt64Array::from_iter_values(own))?);
            }
        }
        Ok(concat_batches(&reader.schema(), &picked)?)
    }

    /// Does `read` while the files of some parts are at hand.
    ///
    /// # Errors
    /// Those of `read`; of a server.
    pub(crate) fn with_files<T>(
        &self,
        manifest: &Manifest,
        parts: impl IntoIterator<Item = usize>,
        read: impl FnOnce() -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let TablePlace::Server(server, table) = self.place else { return read() };
        let mut fetched = Vec::new();
        for entry in parts.into_iter().filter_map(|part| manifest.parts.get(part)) {
            for (kind, file) in files_of_part(entry) {
                self.files.put_received(kind, file, server.part(table, kind, file)?.into())?;
                fetched.push(PartName::new(kind, file.digest));
            }
        }
        let done = read()?;
        for name in fetched {
            self.files.remove_part(&name)?;
        }
        Ok(done)
    }

    /// The rows of a part that were deleted, if any were.
    ///
    /// # Errors
    /// Damage; those of a server.
    pub(crate) fn dead_rows(&self, entry: &PartEntry) -> Result<Option<DeadRows>, ClientError> {
        if let (TablePlace::Server(server, table), Some(dead)) = (self.place, entry.dead) {
            let bytes = server.part(table, FileKind::Dead, dead.file)?;
            self.files.put_received(FileKind::Dead, dead.file, bytes.into())?;
        }
        Ok(self.files.dead_rows(entry)?)
    }

    /// Chunk and place in the chunk of each living row that meets a condition on clear columns, in the order of the table.
    fn clear_rows(
        &self,
        opened: &Opened,
        predicate: &Predicate,
        progress: &dyn Progress,
    ) -> Result<Vec<(u32, usize)>, ClientError> {
        let manifest = opened.manifest.manifest();
        let plan = ServerPlan {
            format: PLAN_FORMAT,
            table: manifest.table.clone(),
            manifest: opened.manifest.digest().to_string(),
            predicate: Some(predicate.clone()),
            task: Task::Rows(RowsTask::default()),
            max_answer_bytes: hush_plan::Limits::default().max_answer_bytes,
        };
        let request = serialised(&plan)?;
        let bytes = match self.place {
            TablePlace::Server(server, _) => server.run(&request, progress)?,
            _ => {
                let engine = Lattice.engine(self.files.clone(), self.threads, Limits::default())?;
                engine.with_version(opened.manifest.clone())?.run(&request)?
            }
        };
        let answer = Answer::decode(&bytes, plan.max_answer_bytes).map_err(answer_error)?;
        answer.expect(opened.manifest.digest(), Digest::of(&request)).map_err(answer_error)?;
        let other = || ClientError::Answer { what: "it is of another kind than the plan".into() };
        if !matches!(answer.encrypted, EncryptedHalf::Rows(_)) {
            return Err(other());
        }
        let (numbers, columns) = answer.matching(manifest.rows).map_err(answer_error)?;
        if columns.num_columns() > 0 { Err(other()) } else { positions(&numbers, manifest) }
    }
}

/// What a part is known by, whatever rows of it were deleted.
pub(crate) fn id_of(entry: &PartEntry) -> PartId {
    (entry.clear.map(|file| file.digest), entry.encrypted.map(|file| file.digest))
}

/// The part of each place in the table, in order, and the number of its chunk in the part.
fn parts_of(
    rows: &[(u32, usize)],
    manifest: &Manifest,
) -> impl Iterator<Item = (usize, PartPlace, u32, usize)> {
    let places: Vec<PartPlace> = manifest.placed_parts().map(|(place, _)| place).collect();
    rows.iter().filter_map(move |(chunk, row)| {
        let part = places.partition_point(|place| place.first_chunk <= *chunk).checked_sub(1)?;
        Some((part, *places.get(part)?, *chunk, *row))
    })
}

/// Numbers in their parts of some rows of the table.
fn by_part(rows: &[(u32, usize)], manifest: &Manifest) -> PartRows {
    let mut found = PartRows::new();
    for (part, place, chunk, row) in parts_of(rows, manifest) {
        let before = u64::from(chunk.saturating_sub(place.first_chunk)) * u64::from(CHUNK_ROWS);
        found.entry(part).or_default().push(before.saturating_add(row as u64));
    }
    found
}

/// The parts with some rows of the table, and their chunks with these rows.
fn chunks_of(rows: &[(u32, usize)], manifest: &Manifest) -> Vec<Wanted> {
    let mut found: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (part, _, chunk, _) in parts_of(rows, manifest) {
        let chunks = found.entry(part).or_default();
        if chunks.last() != Some(&chunk) {
            chunks.push(chunk);
        }
    }
    found.into_iter().map(|(part, chunks)| (part, Some(chunks))).collect()
}

/// The living rows of a chunk, with their numbers in the part.
fn living(chunk: &ChunkRows) -> Result<(Vec<u64>, RecordBatch), ClientError> {
    let first = chunk.first_row as u64;
    let numbers = first..first.saturating_add(chunk.rows.num_rows() as u64);
    Ok(match &chunk.living {
        Some(living) => {
            let numbers = numbers.zip(living).filter(|(_, lives)| *lives == Some(true));
            (numbers.map(|(number, _)| number).collect(), filter_record_batch(&chunk.rows, living)?)
        }
        None => (numbers.collect(), chunk.rows.clone()),
    })
}
