// SPDX-License-Identifier: Apache-2.0
//! Sorted runs at the owner's: the rows of a part once more, in the order of a column, in sealed blocks.
//!
//! ```text
//! encrypt:  chunk ─ RunPlan::rows ─▶ values of its rows ─ RunMaker ─▶ sorted, cut into blocks, sealed, shuffled; index
//! ask:      index ─ ask::runs ─▶ places of blocks ─ server ─▶ blocks ─ OpenRun ─▶ rows
//! ```
//!
//! Blocks are of equal size and lie in a random order, and each is sealed for its place, as the index is. So a file tells how many rows there
//! are, and a read tells that some block was read.

mod columns;
mod index;
mod open;
mod ranks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hush_keys::{SEAL_OVERHEAD_BYTES, SealKey};
use hush_plan::cube::CubeShape;
use hush_plan::predict::{RunSize, RunSpread};
use hush_plan::run::{NumberedRun, RunColumn, RunForm, RunShape};
use hush_plan::schema::{ColumnType, Schema};
use hush_table::manifest::StoredRun;
use hush_table::source::{ColumnData, RowBatch};
use hush_table::{Manifest, PartEntry, PartRuns, RunBytes, RunsId};
use zeroize::{Zeroize, Zeroizing};

pub(crate) use self::columns::RunValues;
use self::columns::pack;
pub(crate) use self::index::{RunIndex, Segment};
pub(crate) use self::open::{BlockRows, GroupSegments, OpenRun, OpenRuns, PartRun};
use self::ranks::RankIndex;
pub(crate) use self::ranks::{ChunkOrder, ChunkRanks, KnownRanks, KnownRun, OpenRanks, PartRanks};
use crate::cube::rows_of;
use crate::error::ClientError;
use crate::private::PrivateHalf;

/// Most times that blocks take what their rows do, beside [`MAX_FREE_FILL`]; a run whose longest block asks for more is not made.
const MAX_FILL: usize = 4;
/// Bytes that blocks may be filled up with in any case.
const MAX_FREE_FILL: usize = 1 << 20;
/// Most bytes of the runs of a part; further ones are not made.
const MAX_BYTES: usize = 512 << 20;
/// Bits of the number of a row in its part.
const ROW_BITS: u8 = 19;

/// The sorted runs of a table, worked out.
#[derive(Default)]
pub(crate) struct RunPlan {
    runs: Vec<(u32, RunShape)>,
}

/// What rows have for a run.
pub(crate) struct RunRows {
    /// The columns of the shape.
    columns: Vec<RunValues>,
    /// What each row adds, of all lanes but the first.
    lanes: Vec<Vec<i128>>,
    /// The order of its chunk, in which the rows stand; `None` where those of a part are sorted together.
    order: Option<ChunkOrder>,
}

impl Drop for RunRows {
    fn drop(&mut self) {
        self.lanes.zeroize();
    }
}

/// The shape of a run of a table, by its place.
pub(crate) fn shape_of(half: &PrivateHalf, place: usize) -> Option<(&NumberedRun, RunShape)> {
    let numbered = half.runs.get(place)?;
    let runs = half.schema.all_runs();
    let shape = RunShape::of(&half.schema, runs.get(place)?).ok()?.in_order(numbered)?;
    Some((numbered, shape))
}

/// The runs that questions can be put to, and the parts that they cover.
pub(crate) fn spreads(manifest: &Manifest, half: &PrivateHalf) -> BTreeMap<u32, RunSpread> {
    let spread = (0..half.runs.len()).filter_map(|place| {
        let (numbered, _) = shape_of(half, place)?;
        let size = |part: &PartEntry| {
            let StoredRun { index_bytes, blocks, block_bytes, .. } = part.run(numbered.number)?.run;
            Some(RunSize { index_bytes, blocks, block_bytes })
        };
        let parts: Vec<Option<RunSize>> = manifest.parts.iter().map(size).collect();
        let is_there = parts.iter().any(Option::is_some);
        is_there.then(|| (numbered.number, RunSpread { place, numbered: numbered.clone(), parts }))
    });
    spread.collect()
}

impl RunPlan {
    /// Works out the runs of a table. One that there cannot be any more is left out: where parts lack it, rows come back.
    pub(crate) fn of(half: &PrivateHalf) -> Self {
        let runs = (0..half.runs.len()).filter_map(|place| shape_of(half, place));
        Self { runs: runs.map(|(numbered, shape)| (numbered.number, shape)).collect() }
    }

    /// Most bytes of memory that the rows of a part take for all runs, for each row.
    pub(crate) fn row_bytes(&self) -> u64 {
        // As they come and as they are packed; texts take more.
        let of_run = |shape: &RunShape| 32 * (shape.columns.len() + shape.lanes.len()) as u64;
        self.runs.iter().map(|(_, shape)| of_run(shape)).sum()
    }

    /// The ranks of the values of a batch of this schema, for each run by chunks.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a column that was not read, or without randomness.
    pub(crate) fn ranks(&self, schema: &Schema, batch: &RowBatch) -> Result<Vec<ChunkRanks>, ClientError> {
        let by = self.runs.iter().filter(|(_, shape)| shape.by_chunk).filter_map(|(_, shape)| shape.by());
        by.map(|by| ChunkRanks::of(by, &RunValues::of(by, data_of(&by.name, schema, batch)?)?)).collect()
    }

    /// What the rows of a batch of this schema, with these ranks, have for each run; `None` where a value is outside of a column's bounds.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a column that was not read.
    pub(crate) fn rows(
        &self,
        schema: &Schema,
        batch: &RowBatch,
        ranks: &[ChunkRanks],
    ) -> Result<Vec<Option<RunRows>>, ClientError> {
        self.runs.iter().map(|(_, shape)| rows(shape, schema, batch, ranks)).collect()
    }

    /// Makes the runs of parts, sealed under this key.
    pub(crate) fn maker(self: &Arc<Self>, key: SealKey) -> RunMaker {
        let open = self.runs.iter().map(|(_, shape)| Some(Gathered::none(shape))).collect();
        let state = State { plan: Arc::clone(self), key, open };
        RunMaker((!self.runs.is_empty()).then(|| Arc::new(Mutex::new(state))))
    }
}

fn rows(
    shape: &RunShape,
    schema: &Schema,
    batch: &RowBatch,
    ranks: &[ChunkRanks],
) -> Result<Option<RunRows>, ClientError> {
    let mut columns = Vec::with_capacity(shape.columns.len());
    for column in &shape.columns {
        let data = data_of(&column.name, schema, batch)?;
        let Some(values) = RunValues::packable(column, data)? else { return Ok(None) };
        columns.push(values);
    }
    if let Some(by) = shape.by().filter(|_| shape.by_chunk) {
        let ranks = ChunkRanks::find(ranks, &by.name)?;
        let rows = ranks.rows.iter().map(|row| *row as usize);
        let columns = columns.iter().map(|values| values.at(rows.clone())).collect();
        return Ok(Some(RunRows { columns, lanes: Vec::new(), order: Some(ranks.order.clone()) }));
    }
    Ok(Some(RunRows { columns, lanes: lanes_of(shape, schema, batch)?, order: None }))
}

fn data_of<'b>(name: &str, schema: &Schema, batch: &'b RowBatch) -> Result<&'b ColumnData, ClientError> {
    let place = schema.positions().get(name).copied();
    let data = place.and_then(|place| batch.columns.get(place)).and_then(Option::as_ref);
    data.ok_or(ClientError::Internal { what: "a column of a run was not read" })
}

/// What each row of a batch adds to the sums of a run, of all lanes but the first.
///
/// # Errors
/// [`ClientError::Internal`] for a column that was not read.
pub(crate) fn lanes_of(
    shape: &RunShape,
    schema: &Schema,
    batch: &RowBatch,
) -> Result<Vec<Vec<i128>>, ClientError> {
    // A cube without dimensions.
    let all = CubeShape { axes: Vec::new(), lanes: shape.lanes.clone() };
    Ok(rows_of(&all, schema, batch)?.into_lanes())
}

/// Gathers the rows of a part as they are written, and gives its runs when it is cut.
#[derive(Clone)]
pub(crate) struct RunMaker(Option<Arc<Mutex<State>>>);

struct State {
    plan: Arc<RunPlan>,
    key: SealKey,
    /// Of each run the rows of the part so far; `None` if it cannot have one.
    open: Vec<Option<Gathered>>,
}

/// The rows of a part so far.
struct Gathered {
    columns: Vec<RunValues>,
    lanes: Vec<Vec<i128>>,
    /// The order of each chunk, of a run by chunks.
    chunks: Vec<ChunkOrder>,
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.lanes.zeroize();
    }
}

impl RunMaker {
    /// Adds the rows of the next chunk, before it is written.
    pub(crate) fn add(&self, rows: Vec<Option<RunRows>>) {
        let Some(state) = &self.0 else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        for (gathered, rows) in state.open.iter_mut().zip(rows) {
            match (gathered.as_mut(), rows) {
                (Some(gathered), Some(rows)) => gathered.append(rows),
                _ => *gathered = None,
            }
        }
    }

    /// The runs of the rows so far.
    pub(crate) fn cut(&self) -> Option<PartRuns> {
        let state = self.0.as_ref()?;
        state.lock().unwrap_or_else(PoisonError::into_inner).cut()
    }
}

impl State {
    fn cut(&mut self) -> Option<PartRuns> {
        let mut id = [0; 16];
        // Without randomness there is no run; whatever else needs some will say so.
        let is_named = hush_ring::os_random(&mut id).is_ok();
        let mut runs: Vec<RunBytes> = Vec::new();
        let mut bytes = 0;
        for ((number, shape), open) in self.plan.runs.iter().zip(&mut self.open) {
            let gathered = open.replace(Gathered::none(shape));
            let made = gathered.filter(|gathered| is_named && gathered.len() > 0);
            let made = made.and_then(|gathered| gathered.seal(shape, &self.key, (&id, *number)));
            let made = made.filter(|made| bytes + made.index.len() + made.blocks.len() <= MAX_BYTES);
            bytes += made.as_ref().map_or(0, |made| made.index.len() + made.blocks.len());
            runs.extend(made);
        }
        runs.sort_by_key(|run| run.number);
        (!runs.is_empty()).then_some(PartRuns { id: RunsId::from_bytes(id), runs })
    }
}

impl Gathered {
    fn none(shape: &RunShape) -> Self {
        let lanes = shape.lanes.iter().skip(1).map(|_| Vec::new()).collect();
        Self { columns: shape.columns.iter().map(RunValues::empty).collect(), lanes, chunks: Vec::new() }
    }

    fn len(&self) -> usize {
        self.columns.first().map_or(0, RunValues::len)
    }

    fn append(&mut self, mut rows: RunRows) {
        let columns = std::mem::take(&mut rows.columns);
        self.columns.iter_mut().zip(columns).for_each(|(column, more)| column.append(more));
        self.lanes.iter_mut().zip(&rows.lanes).for_each(|(lane, more)| lane.extend_from_slice(more));
        self.chunks.extend(rows.order.take());
    }

    /// The rows in order, cut into blocks.
    fn blocks(&self, shape: &RunShape) -> Vec<Vec<u32>> {
        if shape.by_chunk {
            return ranks::blocks(&self.chunks);
        }
        let sorted = in_order(self.columns.get(..=shape.within).unwrap_or_default());
        sorted.chunks(shape.block_rows() as usize).map(<[u32]>::to_vec).collect()
    }

    /// Sorts, cuts and seals; `None` without randomness.
    fn seal(&self, shape: &RunShape, key: &SealKey, run: (&[u8; 16], u32)) -> Option<RunBytes> {
        let numbers = RunValues::numbers((0..self.len() as u128).collect());
        let number = row_number();
        let stored = shape.columns.iter().zip(&self.columns).skip(shape.within);
        let numbered = shape.has_numbers.then_some((&number, &numbers));
        let stored: Vec<(&RunColumn, &RunValues)> = numbered.into_iter().chain(stored).collect();
        let blocks = self.blocks(shape);
        let mut plain: Vec<Zeroizing<Vec<u8>>> =
            blocks.iter().map(|rows| Zeroizing::new(pack(&stored, rows))).collect();
        let longest = plain.iter().map(|block| block.len()).max()?;
        // Blocks are as long as the longest: a long text would make all of them so.
        let bytes: usize = plain.iter().map(|block| block.len()).sum();
        if longest.saturating_mul(plain.len()) > MAX_FILL * bytes + MAX_FREE_FILL {
            return None;
        }
        let places = shuffled(blocks.len() as u32)?;
        let mut in_file = vec![0; blocks.len()];
        places.iter().zip(0..).for_each(|(place, block)| in_file[*place as usize] = block);
        let mut sealed = Vec::with_capacity(blocks.len() * (longest + SEAL_OVERHEAD_BYTES));
        for (place, block) in (0..).zip(in_file) {
            let block = filled(&std::mem::take(&mut plain[block]), longest);
            sealed.extend(key.seal(&place_of(run, Some(place)), &block).ok()?);
        }
        let index = match shape.by_chunk {
            true => self.rank_index(&blocks, &places)?.encode(shape.by()?),
            false => self.index(shape, &blocks, &places).encode(shape)?,
        };
        let index = Zeroizing::new(index);
        let index = filled(&index, padded(index.len()));
        let index = key.seal(&place_of(run, None), &index).ok()?;
        let block_bytes = u32::try_from(longest + SEAL_OVERHEAD_BYTES).ok()?;
        Some(RunBytes { number: run.1, index: index.into(), block_bytes, blocks: sealed.into() })
    }

    fn rank_index(&self, blocks: &[Vec<u32>], places: &[u32]) -> Option<RankIndex> {
        let firsts = blocks.iter().filter_map(|rows| rows.first()).map(|row| *row as usize);
        let firsts = self.columns.first()?.at(firsts);
        Some(RankIndex { chunks: self.chunks.clone(), places: places.to_vec(), firsts })
    }

    fn index(&self, shape: &RunShape, blocks: &[Vec<u32>], places: &[u32]) -> RunIndex {
        let keys = &self.columns[..shape.within];
        let by = &self.columns[shape.within];
        let is_same = |columns: &[RunValues], one: u32, other: u32| {
            columns.iter().all(|column| column.compare(one as usize, other as usize).is_eq())
        };
        let (mut segments, mut firsts): (Vec<Segment>, Vec<u32>) = (Vec::new(), Vec::new());
        // Of each group a row, and the last one that has a value.
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for (rows, block) in blocks.iter().zip(places) {
            let mut open = false;
            for row in rows {
                let is_new = groups.last().is_none_or(|(first, _)| !is_same(keys, *first, *row));
                let before = firsts.last().filter(|_| open && !is_new);
                let goes_on = before.is_some_and(|first| by.has(*first as usize) == by.has(*row as usize));
                if is_new {
                    groups.push((*row, *row));
                }
                if let Some((_, last)) = groups.last_mut()
                    && by.has(*row as usize)
                {
                    *last = *row;
                }
                if !goes_on {
                    let group = groups.len() as u32 - 1;
                    let sums = vec![0; self.lanes.len()];
                    segments.push(Segment { block: *block, rows: 0, group, sums });
                    firsts.push(*row);
                    open = true;
                }
                if let Some(segment) = segments.last_mut() {
                    segment.rows += 1;
                    for (sum, lane) in segment.sums.iter_mut().zip(&self.lanes) {
                        // 512 numbers of lanes that have at most 126 bits together.
                        *sum = sum.wrapping_add(lane.get(*row as usize).copied().unwrap_or(0));
                    }
                }
            }
        }
        let of = |rows: Vec<u32>| rows.into_iter().map(|row| row as usize);
        let of_groups: Vec<u32> = groups.iter().map(|(row, _)| *row).collect();
        RunIndex {
            segments,
            firsts: by.at(of(firsts)),
            within: keys.iter().map(|column| column.at(of(of_groups.clone()))).collect(),
            lasts: by.at(of(groups.iter().map(|(_, last)| *last).collect())),
        }
    }
}

/// Rows in the order of some columns, the first one first, and of their numbers where these are equal. There is a column.
fn in_order(keys: &[RunValues]) -> Vec<u32> {
    let rows = keys.first().map_or(0, RunValues::len) as u32;
    if let [by] = keys
        && let Some(numbers) = by.as_numbers().filter(|_| by.is_whole())
    {
        // Side by side they are sorted thrice as quickly.
        let mut pairs: Vec<(u128, u32)> = numbers.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        let rows = pairs.iter().map(|(_, row)| *row).collect();
        pairs.iter_mut().for_each(|(number, _)| number.zeroize());
        return rows;
    }
    let mut rows: Vec<u32> = (0..rows).collect();
    rows.sort_unstable_by(|one, other| {
        let compared = keys.iter().map(|column| column.compare(*one as usize, *other as usize));
        compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then).then(one.cmp(other))
    });
    rows
}

/// The column of the numbers of rows in their part.
fn row_number() -> RunColumn {
    let form = RunForm::Units { low: 0, bits: ROW_BITS };
    RunColumn { name: String::new(), kind: ColumnType::Int { bits: 32 }, nullable: false, form }
}

/// The place that an index, or a block by its place in the file, is sealed for.
fn place_of((id, number): (&[u8; 16], u32), block: Option<u32>) -> Vec<u8> {
    let what = if block.is_some() { b"block" } else { b"index" };
    [b"run".as_slice(), id, &number.to_le_bytes(), what, &block.unwrap_or_default().to_le_bytes()].concat()
}

/// Bytes with zeros behind them. They are copied, since bytes that grow leave some behind that nobody wipes.
fn filled(bytes: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    let mut whole = Zeroizing::new(Vec::with_capacity(length.max(bytes.len())));
    whole.extend_from_slice(bytes);
    whole.resize(length.max(bytes.len()), 0);
    whole
}

/// The length to which an index is filled up, a sixteenth more at most: groups, missing values and texts show in it no further.
fn padded(length: usize) -> usize {
    let step = (length.next_power_of_two() / 32).max(256);
    length.next_multiple_of(step)
}

/// The first so many numbers in a random order; `None` without randomness.
fn shuffled(count: u32) -> Option<Vec<u32>> {
    let mut numbers: Vec<(u64, u32)> = Vec::with_capacity(count as usize);
    let mut random = vec![0; count as usize * 8];
    hush_ring::os_random(&mut random).ok()?;
    // Random keys in their order: two are equal with probability 2^-44 at most.
    numbers.extend(
        random
            .chunks_exact(8)
            .zip(0..)
            .map(|(key, number)| (u64::from_le_bytes(key.try_into().unwrap_or_default()), number)),
    );
    numbers.sort_unstable();
    Some(numbers.into_iter().map(|(_, number)| number).collect())
}

#[cfg(test)]
mod tests;
