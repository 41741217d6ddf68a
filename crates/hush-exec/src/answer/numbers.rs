// SPDX-License-Identifier: Apache-2.0
//! The numbers of matching rows as a Roaring bitmap: next to nothing where all rows match, a bit a row where many do, two bytes a row where
//! few do.
//!
//! *Source.* Lemire et al., Roaring bitmaps: implementation of an optimized software library (2018); the portable 64-bit serialisation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use roaring::RoaringTreemap;

use super::AnswerError;
use crate::ExecError;

/// The column of the row numbers.
pub(crate) const ROW: &str = "row";
/// Rows that a container of the bitmap is for.
const CONTAINER_ROWS: u64 = 1 << 16;
/// Bytes of a container with a bit for each row.
const BITMAP_BYTES: u64 = CONTAINER_ROWS / 8;
/// Bytes that a container takes beside its rows, and the whole beside its containers.
const FRAME_BYTES: u64 = 8;

/// Packs ascending numbers. Equal numbers have equal bytes.
///
/// # Errors
/// [`ExecError::Internal`] if they do not ascend.
pub(super) fn pack(numbers: &[u64]) -> Result<Vec<u8>, ExecError> {
    let internal = ExecError::Internal { place: "row numbers" };
    if !ascend(numbers) {
        return Err(internal);
    }
    let mut set = RoaringTreemap::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        // A whole container at once, where all its rows match; else the numbers of this container.
        let end = (first | (CONTAINER_ROWS - 1)).saturating_add(1);
        let count = rest.partition_point(|number| *number < end).max(1);
        let (here, after) = rest.split_at(count);
        if here.len() as u64 == CONTAINER_ROWS {
            set.insert_range(*first..end);
        } else if set.append(here.iter().copied()).is_err() {
            return Err(internal);
        }
        rest = after;
    }
    let mut bytes = Vec::new();
    match optimal(set).serialize_into(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(internal),
    }
}

/// Whether numbers of rows ascend. Numbers from 2^63 on are of no table.
fn ascend(numbers: &[u64]) -> bool {
    // Of two numbers below 2^63 the second is greater if the difference less 1 is no negative number. Without a branch for each it is a sweep.
    let of_pair = |bits: u64, pair: &[u64; 2]| bits | pair[1] | pair[1].wrapping_sub(pair[0]).wrapping_sub(1);
    let first = numbers.first().copied().unwrap_or(0);
    numbers.array_windows().fold(first, of_pair) >> 63 == 0
}

/// The set with each container in its smallest form.
fn optimal(mut set: RoaringTreemap) -> RoaringTreemap {
    set.optimize();
    set
}

/// The numbers of the matching rows of a table, ascending.
#[derive(Clone, Debug, PartialEq)]
pub enum RowNumbers {
    /// All of a table of so many rows.
    All(u64),
    /// These.
    Some(UInt64Array),
}

impl RowNumbers {
    /// These numbers of a table of so many rows; `None` unless they ascend, and lie in the table.
    pub fn new(numbers: UInt64Array, rows: u64) -> Option<Self> {
        let values = numbers.values();
        if numbers.null_count() > 0 || values.last().is_some_and(|last| *last >= rows) || !ascend(values) {
            return None;
        }
        Some(if values.len() as u64 == rows { Self::All(rows) } else { Self::Some(numbers) })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows as usize,
            Self::Some(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers as a column named `row`, and other columns behind it.
    ///
    /// # Errors
    /// [`ArrowError`] for other numbers than rows.
    pub fn before(&self, others: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let number = Arc::new(Field::new(ROW, DataType::UInt64, false));
        let described = others.schema();
        let fields: Vec<_> = std::iter::once(number).chain(described.fields().iter().cloned()).collect();
        let numbers: ArrayRef = Arc::new(self.to_array());
        let columns = std::iter::once(numbers).chain(others.columns().iter().cloned());
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect())
    }

    /// The numbers.
    pub fn to_array(&self) -> UInt64Array {
        match self {
            Self::All(rows) => (0..*rows).collect::<Vec<_>>().into(),
            Self::Some(numbers) => numbers.clone(),
        }
    }
}

/// Unpacks numbers below `rows`. The bytes come from a server: a few of them may claim many rows, so that these are counted
/// before memory is taken.
///
/// # Errors
/// [`AnswerError::Clear`].
pub(super) fn unpack(bytes: &[u8], rows: u64) -> Result<RowNumbers, AnswerError> {
    let set = read(bytes, rows)?;
    // As many different numbers below `rows` are all of them.
    if set.len() == rows {
        return Ok(RowNumbers::All(rows));
    }
    let mut numbers = Vec::with_capacity(set.len() as usize);
    for (high, bitmap) in set.bitmaps() {
        let (high, found) = (u64::from(high) << 32, bitmap.statistics());
        let mut rows = bitmap.iter();
        // Where most rows are in runs, a run at a time; looking for runs takes longer than the rows of the other containers.
        let alone = found.n_values_bitset_containers + u64::from(found.n_values_array_containers);
        if 2 * alone < found.cardinality {
            while let Some(run) = rows.next_range() {
                numbers.extend((high | u64::from(*run.start()))..(high | u64::from(*run.end())) + 1);
            }
        } else {
            rows.for_each(|row| numbers.push(high | u64::from(row)));
        }
    }
    RowNumbers::new(numbers.into(), rows).ok_or(AnswerError::Clear)
}

/// How many numbers there are.
///
/// # Errors
/// As [`unpack`].
pub(super) fn count(bytes: &[u8], rows: u64) -> Result<u64, AnswerError> {
    Ok(read(bytes, rows)?.len())
}

fn read(bytes: &[u8], rows: u64) -> Result<RoaringTreemap, AnswerError> {
    let read = || {
        let mut rest = bytes;
        let set = RoaringTreemap::deserialize_from(&mut rest).ok()?;
        (rest.is_empty() && set.max().is_none_or(|last| last < rows)).then_some(set)
    };
    // A panic of the decoder is an error of the answer.
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().ok_or(AnswerError::Clear)
}

/// Bytes of the numbers 0 to `count` − 1.
pub(crate) fn bytes_of_first(count: u64) -> u64 {
    let full = count - count % CONTAINER_ROWS;
    let mut set = RoaringTreemap::new();
    set.insert_range(0..full);
    // Few rows have two forms of equal size, of which a container keeps the one that it has.
    set.extend(full..count);
    optimal(set).serialized_size() as u64
}

/// Bytes that `count` numbers among `rows` take where they are spread evenly: more than where they are together.
pub(crate) fn bytes_of_some(count: u64, rows: u64) -> u64 {
    let containers = rows.div_ceil(CONTAINER_ROWS).min(count);
    // Numbers, a bit for each row, or runs: as many as there are gaps before a number.
    let runs =
        (u128::from(count) * u128::from(rows.saturating_sub(count)) / u128::from(rows.max(1))) as u64 + 1;
    let of = |bytes: u64| bytes.div_ceil(containers.max(1));
    let each = of(2 * count).min(of(4 * runs) + 2).min(BITMAP_BYTES);
    // The frame of every 2^32 rows, that of each container, and the rows.
    FRAME_BYTES + (2 * FRAME_BYTES) * rows.div_ceil(1 << 32).min(count) + containers * (FRAME_BYTES + each)
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;

    fn round_trip(numbers: &[u64]) -> usize {
        let bytes = pack(numbers).unwrap();
        assert_eq!(unpack(&bytes, u64::MAX).unwrap().to_array().values(), numbers);
        assert_eq!(count(&bytes, u64::MAX).unwrap(), numbers.len() as u64);
        bytes.len()
    }

    #[test]
    fn numbers_round_trip_in_few_bytes() {
        assert!(round_trip(&[]) <= 8);
        assert!(round_trip(&[0]) < 40 && round_trip(&[(1 << 63) - 1]) < 40);
        let all: Vec<u64> = (0..1_000_000).collect();
        for count in (0..20).chain(CONTAINER_ROWS - 5..CONTAINER_ROWS + 20).chain([4096, 4097, 1_000_000]) {
            assert_eq!(round_trip(&all[..count as usize]) as u64, bytes_of_first(count), "{count}");
        }
        assert!(round_trip(&all) < 400);
        // All but one in fifty.
        let most: Vec<u64> = (0..1_000_000).filter(|row| row % 50 != 3).collect();
        let (bytes, expected) = (round_trip(&most) as u64, bytes_of_some(most.len() as u64, 1_000_000));
        assert!((bytes / 2..2 * bytes).contains(&expected), "{bytes} {expected}");
        for (step, count) in [(2, 300_000), (50, 10_000), (1 << 20, 5_000)] {
            let some: Vec<u64> = (0..count).map(|index| index * step + 7).collect();
            let bytes = round_trip(&some) as u64;
            assert!(bytes <= bytes_of_some(count, count * step + 7), "{step}: {bytes}");
        }
        assert!(pack(&[4, 3]).is_err());
    }

    #[test]
    fn numbers_ascend_where_each_is_less_than_the_next() {
        let most = (1 << 63) - 1;
        for numbers in [&[][..], &[0], &[most], &[0, most], &[3, 4, 5], &[1, 1 << 40, (1 << 40) + 1]] {
            assert!(ascend(numbers), "{numbers:?}");
        }
        for numbers in [
            &[0, 0][..],
            &[4, 3],
            &[most, 0],
            &[1, 2, 2],
            &[1, 3, 2, 9],
            &[most + 1],
            &[0, u64::MAX],
            &[u64::MAX, 0],
        ] {
            assert!(!ascend(numbers), "{numbers:?}");
        }
    }

    #[test]
    fn numbers_beyond_the_table_and_damaged_ones_are_refused() {
        let bytes = pack(&(5..90_000).collect::<Vec<_>>()).unwrap();
        assert!(unpack(&bytes, 90_000).is_ok() && unpack(&bytes, 89_999).is_err());
        let all = pack(&(0..90_000).collect::<Vec<_>>()).unwrap();
        assert_eq!(unpack(&all, 90_000), Ok(RowNumbers::All(90_000)));
        assert_eq!(unpack(&all, 90_001).unwrap(), RowNumbers::Some((0..90_000).collect::<Vec<_>>().into()));
        for cut in 0..bytes.len() {
            assert!(unpack(&bytes[..cut], 90_000).is_err(), "{cut}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(unpack(&longer, 90_000).is_err());
        // Few bytes that claim 2^40 rows.
        let mut many = RoaringTreemap::new();
        many.insert_range(0..1 << 40);
        many.optimize();
        let mut bytes = Vec::new();
        many.serialize_into(&mut bytes).unwrap();
        assert!(unpack(&bytes, 1_000_000).is_err());
    }

    #[test]
    fn whatever_the_bytes_nothing_panics_and_numbers_ascend() {
        let bytes = pack(&(0..5_000).map(|row| row * 3).chain(100_000..300_000).collect::<Vec<_>>()).unwrap();
        let mut draw = Draw::new();
        for _ in 0..3_000 {
            let mut bad = bytes.clone();
            let at = draw.below(bad.len());
            bad[at] = draw.below(256) as u8;
            if let Ok(numbers) = unpack(&bad, 300_000) {
                assert!(numbers.to_array().values().is_sorted_by(|one, other| one < other));
            }
        }
    }
}
