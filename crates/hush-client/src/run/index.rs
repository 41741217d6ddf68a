// SPDX-License-Identifier: Apache-2.0
//! The index of a run: its segments in order, each with its first value, its rows, its block, and its sums.
//!
//! ```text
//! segments: u32   groups: u32
//! first values of the segments (columns::pack of `by`)
//! for each segment its block's place, rows and group, packed as the sums of a cube, and behind them its sums, in as many bits as their lanes have
//! of each group the values of its `within` columns and the last one of `by` (columns::pack)
//! zeros
//! ```

use hush_plan::cube::Lane;
use hush_plan::plan::Key;
use hush_plan::run::{BLOCK_ROWS, RunColumn, RunShape};
use hush_table::CubeSums;
use zeroize::Zeroize;

use super::columns::{RunValues, pack, unpack};

/// Bits of a block's place, of a number of rows, and of the number of a group: a part has at most 2^19 rows.
const SEGMENT_BITS: [u8; 3] = [16, 10, 20];

/// Rows of a block that have the same values of the `within` columns, and all `by` or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Place of its block in the file.
    pub(crate) block: u32,
    /// Rows.
    pub(crate) rows: u32,
    /// Its group.
    pub(crate) group: u32,
    /// Its sums, of all lanes but the first.
    pub(crate) sums: Vec<i128>,
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.sums.zeroize();
    }
}

/// The index of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunIndex {
    /// The segments, block after block.
    pub(crate) segments: Vec<Segment>,
    /// The first value of each.
    pub(crate) firsts: RunValues,
    /// Values of the `within` columns, of each group.
    pub(crate) within: Vec<RunValues>,
    /// The last value of `by` of each group.
    pub(crate) lasts: RunValues,
}

impl RunIndex {
    /// The bytes of the index of a shape.
    pub(crate) fn encode(&self, shape: &RunShape) -> Option<Vec<u8>> {
        let (segments, groups) = (self.segments.len() as u32, self.lasts.len() as u32);
        let by = shape.by()?;
        let mut bytes = [segments.to_le_bytes(), groups.to_le_bytes()].concat();
        let all = |count: u32| (0..count).collect::<Vec<u32>>();
        bytes.extend(pack(&[(by, &self.firsts)], &all(segments)));
        let mut numbers = CubeSums::zeros(segments, &bits(shape));
        for (place, segment) in self.segments.iter().enumerate() {
            let heads = [segment.block, segment.rows, segment.group].map(u128::from);
            let sums = segment.sums.iter().map(|sum| *sum as u128);
            heads
                .into_iter()
                .chain(sums)
                .enumerate()
                .for_each(|(lane, value)| numbers.set(lane, place, value));
        }
        bytes.extend(numbers.pack());
        let within = shape.columns.iter().zip(&self.within);
        let of_groups: Vec<(&RunColumn, &RunValues)> = within.chain([(by, &self.lasts)]).collect();
        bytes.extend(pack(&of_groups, &all(groups)));
        Some(bytes)
    }

    /// The index that some bytes are, of so many blocks; `None` if they are none.
    pub(crate) fn decode(shape: &RunShape, blocks: u32, mut bytes: &[u8]) -> Option<Self> {
        let (segments, rest) = bytes.split_first_chunk::<4>()?;
        let (groups, rest) = rest.split_first_chunk::<4>()?;
        let (segments, groups) = (u32::from_le_bytes(*segments), u32::from_le_bytes(*groups));
        bytes = rest;
        let by = shape.by()?;
        let [firsts] = <[RunValues; 1]>::try_from(unpack(&[by], segments, &mut bytes)?).ok()?;
        let bits = bits(shape);
        let packed = usize::try_from(CubeSums::packed_bytes(segments, &bits)).ok()?;
        let (packed, rest) = bytes.split_at_checked(packed)?;
        bytes = rest;
        let numbers = CubeSums::unpack(packed, segments, &bits)?;
        let columns: Vec<&RunColumn> = shape.columns.iter().take(shape.within).chain([by]).collect();
        let mut within = unpack(&columns, groups, &mut bytes)?;
        let lasts = within.pop()?;
        let mut lanes: Vec<_> = (0..bits.len()).map(|lane| numbers.lane(lane)).collect::<Option<_>>()?;
        let mut read = Vec::with_capacity(segments as usize);
        for _ in 0..segments {
            let mut values = lanes.iter_mut().map(Iterator::next);
            let mut head = || values.next().flatten().and_then(|value| u32::try_from(value).ok());
            let (block, rows, group) = (head()?, head()?, head()?);
            let sums = shape.lanes.iter().skip(1).zip(values);
            let sums = sums.map(|(lane, found): (&Lane, _)| Some(lane.sum(found?))).collect::<Option<_>>()?;
            if block >= blocks || !(1..=BLOCK_ROWS).contains(&rows) || group >= groups {
                return None;
            }
            read.push(Segment { block, rows, group, sums });
        }
        bytes.iter().all(|byte| *byte == 0).then_some(Self { segments: read, firsts, within, lasts })
    }

    /// A value that none of a segment is above; `None` if `by` is missing in it.
    pub(crate) fn last(&self, by: &RunColumn, segment: usize) -> Option<Key> {
        let group = self.segments.get(segment)?.group;
        let next = self.segments.get(segment + 1).filter(|next| next.group == group);
        let next = next.and_then(|_| self.firsts.key(by.form, segment + 1));
        next.or_else(|| self.lasts.key(by.form, group as usize)).filter(|_| self.firsts.has(segment))
    }
}

fn bits(shape: &RunShape) -> Vec<u8> {
    SEGMENT_BITS.into_iter().chain(shape.lanes.iter().skip(1).map(|lane| lane.bits)).collect()
}
