// SPDX-License-Identifier: Apache-2.0
//! Cost of a plan before it runs: bytes exactly where the formats fix them, work by counting, time by counting
//! and a [`MachineProfile`].
//!
//! ```text
//! ServerPlan, encodings, TableShape, Expected ─ predict ─▶ Prediction (bytes, Work) ─ with MachineProfile ─▶ Times
//! ```
//!
//! *Exact and at most.* The bytes up, and those of an answer whose number of groups or chunks is given, are exact; so
//! are the counts of an aggregate without filter and keys. What depends on which rows match is counted as if every row
//! matched and every group occurred in every ring element: an upper bound.
//!
//! *Invariant.* Pure functions of their arguments; nothing is measured here.

mod clear;
mod count;
mod prepared;
mod profile;
mod sealed;
mod site;
mod sizes;
#[cfg(test)]
mod tests;
mod work;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::encoding::{Encoding, EncodingId};
use crate::error::PlanError;
use crate::plan::{RowsTask, ServerPlan, Task};
use crate::schema::units::column_bounds;
use crate::schema::{Column, Schema};
pub use clear::ClearColumn;
pub(crate) use clear::bytes_of;
use prepared::{Asked, SEAL_BYTES};
pub use prepared::{CubeSpread, RunSize, RunSpread};
pub use profile::{MachineProfile, PROFILE_FORMAT, ProfileError, Times, UnitCosts};
pub(crate) use site::Price;
pub use site::{Site, of_rows};
pub use work::{BlockWork, Work};

/// Rows of a full chunk.
pub(crate) const CHUNK_ROWS: u64 = hush_params::size::CHUNK_ROWS as u64;
/// Head and checksum of an answer.
const ANSWER_FRAME_BYTES: u64 = 128 + 32;
/// Entry of a block in the directory of an aggregate answer.
const BLOCK_ENTRY_BYTES: u64 = 16;
/// Entry of a chunk in the directory of a rows answer, before the lengths of its objects.
const CHUNK_ENTRY_BYTES: u64 = 40;
/// Length of an object in a chunk's entry.
const OBJECT_LENGTH_BYTES: u64 = 4;
/// Bytes of the entry of one run of chunks in the directory of an answer of products.
const PRODUCT_ENTRY_BYTES: u64 = 4;
/// Groups that are assumed where nobody says how many there are.
pub const ASSUMED_GROUPS: u64 = 10;

/// How the rows of a table lie in files, from its manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableShape {
    /// The parts in row order.
    pub parts: Vec<PartShape>,
    /// Numbers of the domains, as the manifest counts them; none for a table with domain 0 alone.
    pub domains: Vec<u32>,
    /// Encodings that some parts lack, with the generations of these.
    pub lacking: BTreeMap<EncodingId, Vec<u32>>,
    /// The clear columns.
    pub clear: Vec<ClearColumn>,
    /// The columns under a seal that all parts have which have their values; `None` where all have all, by the numbers 0, 1 and so on of
    /// [`Schema::under_seal`].
    pub sealed: Option<BTreeMap<String, SealedShape>>,
    /// The cubes by their numbers.
    pub cubes: BTreeMap<u32, CubeSpread>,
    /// The sorted runs by their numbers.
    pub runs: BTreeMap<u32, RunSpread>,
    /// Whether rows are deleted that files still have.
    pub has_deleted: bool,
    /// Of each secret of columns for conditions that there are keys for its identity, and the highest of its powers.
    pub powers: BTreeMap<String, u32>,
    /// Of each secret of columns for conditions that there are keys for encrypted constants its identity.
    pub constant_keys: BTreeSet<String>,
}

/// A column under a seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealedShape {
    /// Its number.
    pub number: u32,
    /// Of a copy: bits of a value, and whether some may be missing. Texts and other sealed values have no size that one could know.
    pub copy: Option<CopyShape>,
    /// Of another column its bytes, if they were counted; rows that have nothing of it count as rows without bytes.
    pub mean: Option<MeanBytes>,
}

/// Bytes of a column's values: so many in so many rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeanBytes {
    /// The rows, those without a value too.
    pub rows: u64,
    /// The bytes.
    pub bytes: u64,
}

impl MeanBytes {
    /// More than a column of any table has.
    pub const MOST: u64 = 1 << 48;

    /// The same for no more than so many rows, with the mean as it was.
    pub fn within(&self, rows: u64) -> Self {
        let rows = self.rows.min(rows);
        Self { rows, bytes: self.of_rows(rows) }
    }

    /// Bytes that other rows take if they are like these, rounded down; at most [`MeanBytes::MOST`].
    pub fn of_rows(&self, rows: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(rows) / u128::from(self.rows.max(1));
        u64::try_from(bytes).map_or(Self::MOST, |bytes| bytes.min(Self::MOST))
    }
}

/// How a copy of an encrypted column is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyShape {
    /// Bits of a value.
    pub bits: u32,
    /// Whether each row has a bit more that tells whether it has a value.
    pub nullable: bool,
}

impl CopyShape {
    /// That of an encrypted column: the bits of its range, or a double's.
    pub fn of(column: &Column) -> Self {
        let bits = column_bounds(column)
            .map_or(64, |bounds| u128::BITS - bounds.high.abs_diff(bounds.low).leading_zeros());
        Self { bits, nullable: column.nullable }
    }

    /// Bits of a row.
    pub fn row_bits(&self) -> u32 {
        self.bits + u32::from(self.nullable)
    }

    /// Bytes of the sealed copy of so many rows: nonce, authentication, head, values, and whether they are there.
    pub fn bytes(&self, rows: u64) -> u64 {
        const HEAD_BYTES: u64 = 19;
        let missing = if self.nullable { rows.div_ceil(8) } else { 0 };
        SEAL_BYTES + HEAD_BYTES + (rows * u64::from(self.bits)).div_ceil(8) + missing
    }
}

/// One part of a table. All its chunks are full but perhaps the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartShape {
    /// Rows.
    pub rows: u64,
    /// Bytes of the file of the clear columns, 0 if there is none.
    pub clear_bytes: u64,
    /// Bytes of the file of the encrypted columns, 0 if there is none.
    pub encrypted_bytes: u64,
    /// Number of its domain.
    pub domain: u32,
    /// Number of its generation: which encrypted columns it has.
    pub generation: u32,
    /// Whether bodies of sums end with the last row, as those of appended parts do.
    pub is_cut: bool,
}

/// A chunk of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkShape {
    /// Rows.
    pub rows: u64,
    /// Whether its part [is cut](PartShape::is_cut).
    pub is_cut: bool,
}

impl PartShape {
    /// Rows of every chunk, in order.
    fn chunks(&self) -> impl Iterator<Item = u64> + use<> {
        let rows = self.rows;
        (0..rows.div_ceil(CHUNK_ROWS)).map(move |chunk| (rows - chunk * CHUNK_ROWS).min(CHUNK_ROWS))
    }

    /// Bytes of the files of the part that are read.
    fn read(&self, clear: bool, encrypted: bool) -> u64 {
        u64::from(clear) * self.clear_bytes + u64::from(encrypted) * self.encrypted_bytes
    }
}

fn rows_of(parts: &[PartShape]) -> u64 {
    parts.iter().map(|part| part.rows).sum()
}

impl TableShape {
    /// Rows of every chunk, in order.
    pub fn chunks(&self) -> Vec<u64> {
        self.parts.iter().flat_map(PartShape::chunks).collect()
    }

    /// Rows of every chunk of a domain, but for the generations `without`, in order.
    fn chunks_of(&self, domain: u32, without: &[u32]) -> Vec<u64> {
        let is_summed = |part: &&PartShape| part.domain == domain && !without.contains(&part.generation);
        self.parts.iter().filter(is_summed).flat_map(PartShape::chunks).collect()
    }

    /// How many ring elements of a degree there are, where so many chunks of a part are together ([`crate::Packing::chunks_together`]), and into how many runs
    /// of so many they fall in all domains.
    pub(crate) fn product_runs(&self, (degree, together): (u64, u32), most: u64) -> (u64, u64) {
        let (mut elements, mut runs) = (0, 0);
        let rows_together = CHUNK_ROWS * u64::from(together);
        for domain in self.domains().iter().copied() {
            let mut run = 0;
            let of_domain = self.parts.iter().filter(|part| part.domain == domain);
            let pieces = of_domain.flat_map(|part| {
                let starts = (0..part.rows).step_by(rows_together as usize);
                starts.map(move |start| (part.rows - start).min(rows_together))
            });
            for rows in pieces {
                let more = rows.div_ceil(degree);
                elements += more;
                runs += u64::from(run == 0 || run + more > most);
                run = if run + more > most { more } else { run + more };
            }
        }
        (elements, runs)
    }

    /// The generations of parts that lack an encoding.
    fn without(&self, id: EncodingId) -> &[u32] {
        self.lacking.get(&id).map_or(&[], Vec::as_slice)
    }

    /// How the copy of this number is packed, if it is one.
    fn copy(&self, number: u32) -> Option<CopyShape> {
        self.under_seal().find(|column| column.number == number).and_then(|column| column.copy)
    }

    /// The number of a column under a seal.
    pub(crate) fn sealed_number(&self, schema: &Schema, name: &str) -> Option<u32> {
        match &self.sealed {
            Some(sealed) => sealed.get(name).map(|found| found.number),
            None => schema.under_seal().position(|column| column.name == name).map(|place| place as u32),
        }
    }

    /// The columns under a seal, as far as they are described.
    fn under_seal(&self) -> impl Iterator<Item = &SealedShape> {
        self.sealed.iter().flat_map(BTreeMap::values)
    }

    /// The numbers of the domains. Sums of each are under secrets of its own.
    pub(crate) fn domains(&self) -> &[u32] {
        if self.domains.is_empty() { &[0] } else { &self.domains }
    }

    /// The parts that do not answer by a cube.
    pub fn beside(&self, spread: &CubeSpread) -> Self {
        self.uncovered(spread.covers.iter().copied())
    }

    /// The parts that do not answer by a sorted run.
    pub fn beside_run(&self, spread: &RunSpread) -> Self {
        self.uncovered(spread.covers())
    }

    /// The parts that are not covered.
    fn uncovered(&self, covers: impl Iterator<Item = bool>) -> Self {
        let parts = self.parts.iter().zip(covers.chain(std::iter::repeat(false)));
        let parts = parts.filter(|(_, covers)| !covers).map(|(part, _)| *part);
        Self { parts: parts.collect(), ..self.clone() }
    }

    /// What a task asks for of what is prepared.
    fn asked<'a>(&'a self, task: &'a Task) -> Option<Asked<'a>> {
        match task {
            Task::Aggregate(_) | Task::Products(_) => None,
            Task::Rows(RowsTask { run: Some(run), .. }) => {
                self.runs.get(&run.number).map(|spread| Asked::Run(spread, &run.read))
            }
            Task::Rows(task) => self.cubes.get(&task.cube?).map(Asked::Cube),
        }
    }

    /// The parts whose rows a task reads.
    pub fn read_by(&self, task: &Task) -> Cow<'_, Self> {
        match self.asked(task) {
            None => Cow::Borrowed(self),
            Some(Asked::Cube(spread)) => Cow::Owned(self.beside(spread)),
            Some(Asked::Run(spread, _)) => Cow::Owned(self.beside_run(spread)),
        }
    }

    /// Rows of the table.
    pub fn rows(&self) -> u64 {
        rows_of(&self.parts)
    }

    /// The parts that are read for the first `limit` rows if every row matches: a few together, until there are enough.
    fn looked_at(&self, limit: Option<u64>, threads: usize) -> &[PartShape] {
        let mut left = limit.unwrap_or(u64::MAX);
        let mut end = 0;
        for window in self.parts.chunks(threads.max(1)) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(rows_of(window));
            end += window.len();
        }
        &self.parts[..end]
    }

    /// The rows and chunks that a rows task touches if every row matches: all, or those up to `limit`.
    pub fn all_matching(&self, limit: Option<u64>) -> (u64, Vec<ChunkShape>) {
        let mut left = limit.unwrap_or(u64::MAX);
        let mut touched = Vec::new();
        let chunks = self
            .parts
            .iter()
            .flat_map(|part| part.chunks().map(|rows| ChunkShape { rows, is_cut: part.is_cut }));
        for chunk in chunks {
            if left == 0 {
                break;
            }
            left -= chunk.rows.min(left);
            touched.push(chunk);
        }
        (limit.unwrap_or(u64::MAX).min(self.rows()), touched)
    }
}

/// The data that decide an answer's size beside the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Groups of an aggregate answer, or of one on products.
    pub groups: u64,
    /// Rows of a rows answer.
    pub rows: u64,
    /// Each chunk that goes back in a rows answer.
    pub chunks: Vec<ChunkShape>,
    /// Bytes of the clear half.
    pub clear: ClearBytes,
}

/// Bytes of an answer's clear half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClearBytes {
    /// The bytes.
    pub bytes: u64,
    /// Whether they are certain; texts have a length that nobody knows beforehand.
    pub exact: bool,
}

/// Predicted cost of one plan. Bytes on the wire are without the transport's own (HTTP, TLS).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Bytes from the owner: the plan as it is sent.
    pub bytes_up: u64,
    /// Bytes to the owner: the answer.
    pub bytes_down: u64,
    /// Whether `bytes_down` is certain for the groups or chunks that were assumed.
    pub bytes_down_exact: bool,
    /// Encrypted bytes for each group (aggregate, and products with groups), each run of chunks (products) or each full chunk (rows).
    pub bytes_each: u64,
    /// Bytes that an answer takes whatever the number of groups or chunks: head, blocks' directory, checksum.
    pub bytes_fixed: u64,
    /// Bytes of the clear half.
    pub clear_half: ClearBytes,
    /// Bytes of the table's evaluation keys that the server uses.
    pub key_bytes: u64,
    /// Groups that were assumed; 0 for a task without.
    pub groups: u64,
    /// Chunks of which encrypted columns are read.
    pub chunks_read: u64,
    /// Threads that have a chunk to work on.
    pub busy_threads: u64,
    /// Threads of the owner that have a chunk or a group to work on.
    pub owner_threads: u64,
    /// Of the bytes read those that wait for each other: parts are read together, a thread for each.
    pub longest_reads: u64,
    /// Counted work for each mask and parameter set, program and fetched column.
    pub blocks: Vec<BlockWork>,
    /// All work together.
    pub work: Work,
    /// Memory of the server beyond its program: running sums, parts being read, the answer.
    pub server_memory_bytes: u64,
    /// Memory of the owner beyond the program for rows that are grouped there; 0 otherwise.
    pub owner_memory_bytes: u64,
}

/// Predicts what `plan` costs on a table of this shape with `threads` threads.
///
/// # Errors
/// [`PlanError::BadEncoding`] for an encoding or parameter set that the table does not have.
pub fn predict(
    plan: &ServerPlan,
    encodings: &[Encoding],
    shape: &TableShape,
    expected: &Expected,
    threads: usize,
) -> Result<Prediction, PlanError> {
    // A plan is strings, numbers and lists, which always serialise.
    let bytes_up = serde_json::to_vec(plan).map_or(0, |bytes| bytes.len() as u64);
    let limit = match &plan.task {
        Task::Aggregate(_) | Task::Products(_) => None,
        Task::Rows(task) => task.limit,
    };
    let asked = shape.asked(&plan.task);
    let shape = &*shape.read_by(&plan.task);
    let parts = shape.looked_at(limit, threads);
    let counted = match &plan.task {
        Task::Aggregate(task) => count::aggregate(plan, task, encodings, shape, expected.groups)?,
        Task::Products(task) => count::products(plan, task, encodings, shape, task.groups(expected.groups))?,
        Task::Rows(task) => count::rows(plan, task, encodings, shape, rows_of(parts), expected)?,
    };
    let (directory, each_overhead) = match &plan.task {
        Task::Aggregate(_) => (counted.blocks.len() as u64 * BLOCK_ENTRY_BYTES, 0),
        Task::Products(task) => {
            let objects = task.groups(expected.groups) * task.sums.len() as u64;
            (counted.answers * (PRODUCT_ENTRY_BYTES + OBJECT_LENGTH_BYTES * objects), 0)
        }
        Task::Rows(task) if task.object_count() == 0 => (0, 0),
        Task::Rows(task) => (0, CHUNK_ENTRY_BYTES + OBJECT_LENGTH_BYTES * task.object_count() as u64),
    };
    let (items, encrypted) = match &plan.task {
        Task::Aggregate(_) => (expected.groups, expected.groups.saturating_mul(counted.bytes_each)),
        Task::Products(_) => (counted.answers, counted.answer_bytes),
        Task::Rows(_) => (expected.chunks.len() as u64, counted.answer_bytes),
    };
    let bytes_fixed = ANSWER_FRAME_BYTES + directory;
    let bytes_down = encrypted
        .saturating_add(items.saturating_mul(each_overhead))
        .saturating_add(bytes_fixed)
        .saturating_add(asked.map_or(0, Asked::answer_bytes))
        .saturating_add(expected.clear.bytes);
    let has_groups = match &plan.task {
        Task::Aggregate(_) => true,
        Task::Products(task) => !task.keys.is_empty(),
        Task::Rows(_) => false,
    };
    let queries = u64::from(has_groups);
    let mut work = Work { queries, ..Work::default() };
    counted.blocks.iter().for_each(|block| work.add(block.work));
    work.add(counted.clear);
    // Digests are of whole files, whichever columns are wanted.
    let uses_clear = counted.clear.clear_cells + counted.clear.text_cells > 0;
    let has_sealed = matches!(&plan.task, Task::Rows(task) if !task.sealed.is_empty());
    let has_unsized = matches!(&plan.task, Task::Rows(task) if task.sealed.iter().any(|number| shape.copy(*number).is_none()));
    let uses_encrypted = !counted.blocks.is_empty() || has_sealed;
    // Of very many encoded columns the wanted ones are read by themselves.
    let loaded = work.bytes_loaded;
    let encrypted_of = |part: &PartShape| match &plan.task {
        Task::Products(_) => {
            (u128::from(loaded) * u128::from(part.rows) / u128::from(shape.rows().max(1))) as u64
        }
        Task::Aggregate(_) | Task::Rows(_) => part.read(false, uses_encrypted),
    };
    let files = parts.iter().map(|part| part.read(uses_clear, false) + encrypted_of(part));
    let files: Vec<u64> = files.collect();
    work.bytes_read = files.iter().sum();
    work.add(asked.map(Asked::work).unwrap_or_default());
    let longest_reads = files.chunks(threads.max(1)).filter_map(|window| window.iter().max()).sum();
    // Clear columns of a few parts together, encrypted ones chunk by chunk.
    let clear_of = |window: &[PartShape]| window.iter().map(|part| part.read(uses_clear, false)).sum::<u64>();
    let clear_held = parts.chunks(threads.max(1)).map(clear_of).max().unwrap_or(0);
    let chunk_of = |part: &PartShape| encrypted_of(part) / part.rows.div_ceil(CHUNK_ROWS).max(1);
    let chunks_held = parts.iter().map(chunk_of).max().unwrap_or(0).saturating_mul(threads as u64);
    let items_of_owner = match &plan.task {
        Task::Aggregate(_) => expected.groups,
        Task::Products(task) => counted.answers * task.sums.len() as u64 * task.groups(expected.groups),
        Task::Rows(_) => expected.chunks.len() as u64,
    };
    Ok(Prediction {
        bytes_up,
        bytes_down,
        bytes_down_exact: expected.clear.exact && !has_unsized && asked.is_none_or(Asked::is_certain),
        bytes_each: counted.bytes_each + each_overhead,
        bytes_fixed,
        clear_half: expected.clear,
        key_bytes: counted.key_bytes,
        groups: if has_groups { expected.groups } else { 0 },
        chunks_read: counted.chunks_read,
        busy_threads: (threads as u64).min(counted.chunks_read).max(1),
        owner_threads: (threads as u64).min(items_of_owner).max(1),
        longest_reads,
        blocks: counted.blocks,
        work,
        // Objects of an answer are put together once more in its container.
        owner_memory_bytes: 0,
        server_memory_bytes: counted.sums_bytes.saturating_mul(threads as u64)
            + clear_held
            + chunks_held
            + counted.held_bytes
            + 2 * bytes_down,
    })
}
