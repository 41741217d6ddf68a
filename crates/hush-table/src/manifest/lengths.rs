// SPDX-License-Identifier: Apache-2.0
//! How many bytes the values of a table's columns have together, so that its owner knows what an answer weighs before asking.
//!
//! A server has all these columns, and can count as well: the numbers tell it nothing. They are of the rows that the owner wrote, whatever
//! became of them, and are there to estimate by: nothing relies on them. Devices count nothing, and neither did tables of earlier versions.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{MAX_PART_BYTES, MAX_PARTS, Manifest};
use crate::error::ManifestFault;
use crate::part::{CHUNK_ROWS, MAX_PART_CHUNKS};

/// Most rows that a column is counted over: as many as a table has.
const MAX_ROWS: u64 = MAX_PARTS as u64 * MAX_PART_CHUNKS as u64 * CHUNK_ROWS as u64;
/// Most bytes of its values.
const MAX_BYTES: u64 = MAX_PARTS as u64 * MAX_PART_BYTES;

/// The bytes of a table's columns of texts and of its columns under a seal, as far as they were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// Clear columns of texts, by their places, which rise: bytes of the texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<ColumnLength>,
    /// Columns under a seal, by their numbers, which rise: bytes of the sealed chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<ColumnLength>,
}

/// The bytes of a column in some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLength {
    /// Its place among the clear columns, or its number.
    pub column: u32,
    /// The rows, those without a value too.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl ColumnLength {
    /// Whether a table may have so many rows and bytes.
    fn is_possible(&self) -> bool {
        (1..=MAX_ROWS).contains(&self.rows) && self.bytes <= MAX_BYTES
    }

    /// Without so many of its rows, whose bytes are taken for average ones; `None` if no row is left.
    fn without_rows(self, gone: u64) -> Option<Self> {
        let rows = self.rows.checked_sub(gone).filter(|rows| *rows > 0)?;
        let bytes = u128::from(self.bytes).saturating_mul(rows.into()).checked_div(self.rows.into())?;
        Some(Self { rows, bytes: u64::try_from(bytes).ok()?, ..self })
    }
}

impl Lengths {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.clear.is_empty() && self.sealed.is_empty()
    }

    /// Counts a chunk: its clear columns, whose texts are counted, and its sealed blobs with the numbers of their columns.
    pub(crate) fn count(&mut self, clear: Option<&RecordBatch>, sealed: (&[u32], &[Bytes]), rows: u32) {
        let rows = u64::from(rows);
        let columns = clear.map_or(&[][..], RecordBatch::columns);
        for (column, values) in (0..).zip(columns) {
            if let Some(bytes) = text_bytes(values) {
                add(&mut self.clear, ColumnLength { column, rows, bytes });
            }
        }
        for (column, blob) in sealed.0.iter().zip(sealed.1) {
            add(&mut self.sealed, ColumnLength { column: *column, rows, bytes: blob.len() as u64 });
        }
    }

    /// Counts further rows. A column that has too many of them, or too many bytes, is left out from then on.
    pub fn add(&mut self, further: &Self) {
        further.clear.iter().for_each(|length| add(&mut self.clear, *length));
        further.sealed.iter().for_each(|length| add(&mut self.sealed, *length));
    }

    /// What was counted of the clear column at a place.
    pub fn of_clear(&self, place: usize) -> Option<ColumnLength> {
        let place = u32::try_from(place).ok()?;
        found(&self.clear, place)
    }

    /// What was counted of the column under a seal with this number.
    pub fn of_sealed(&self, number: u32) -> Option<ColumnLength> {
        found(&self.sealed, number)
    }
}

impl Manifest {
    /// Counts the rows of the parts in `replaced` no more, but those of the parts that stand for them. To be called before
    /// [`Manifest::splice_parts`]. What single parts have is not known: their rows are taken for average ones.
    pub fn replace_lengths(&mut self, replaced: Range<usize>, new: &Lengths) {
        // Devices counted nothing.
        let parts = self.parts.get(replaced).unwrap_or_default();
        let parts = parts.iter().filter(|part| part.delivery.is_none());
        let gone = parts.fold(0_u64, |sum, part| sum.saturating_add(part.rows));
        for list in [&mut self.lengths.clear, &mut self.lengths.sealed] {
            *list = list.iter().filter_map(|length| length.without_rows(gone)).collect();
        }
        self.lengths.add(new);
    }

    /// Gives the lengths of clear columns to the places that these have now: for each column the place that it had before, if any.
    pub fn move_lengths(&mut self, before: &[Option<usize>]) {
        let moved = (0..).zip(before).filter_map(|(column, before)| {
            Some(ColumnLength { column, ..self.lengths.of_clear((*before)?)? })
        });
        self.lengths.clear = moved.collect();
    }

    /// Leaves out the lengths of columns under a seal that the table has no more.
    pub fn forget_lengths(&mut self) {
        let Self { lengths, unsealed, .. } = self;
        lengths.sealed.retain(|length| unsealed.binary_search(&length.column).is_err());
    }
}

/// Bytes of the texts of a column; `None` if it has none.
fn text_bytes(values: &ArrayRef) -> Option<u64> {
    let bytes = match values.data_type() {
        DataType::Utf8 => {
            let offsets = values.as_string::<i32>().value_offsets();
            i64::from(*offsets.last()?).checked_sub(i64::from(*offsets.first()?))?
        }
        DataType::LargeUtf8 => {
            let offsets = values.as_string::<i64>().value_offsets();
            offsets.last()?.checked_sub(*offsets.first()?)?
        }
        DataType::Utf8View => {
            let texts = values.as_string_view();
            texts.iter().flatten().fold(0_i64, |sum, text| sum.saturating_add(text.len() as i64))
        }
        _ => return None,
    };
    u64::try_from(bytes).ok()
}

/// Whether a clear column has texts.
fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn found(list: &[ColumnLength], column: u32) -> Option<ColumnLength> {
    let place = list.binary_search_by_key(&column, |length| length.column).ok()?;
    list.get(place).copied()
}

fn add(list: &mut Vec<ColumnLength>, further: ColumnLength) {
    match list.binary_search_by_key(&further.column, |length| length.column) {
        Err(place) => list.insert(place, further),
        Ok(place) => {
            let Some(length) = list.get_mut(place) else { return };
            length.rows = length.rows.saturating_add(further.rows);
            length.bytes = length.bytes.saturating_add(further.bytes);
            if !length.is_possible() {
                list.remove(place);
            }
        }
    }
}

/// What is counted are columns of the table, in order, and no more than it may have.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let Lengths { clear, sealed } = &manifest.lengths;
    let is_clear = |length: &ColumnLength| {
        let column = manifest.clear_columns.get(length.column as usize);
        column.and_then(super::ClearColumn::data_type).is_some_and(|kind| is_text(&kind))
    };
    let is_sealed = |length: &ColumnLength| {
        length.column < manifest.sealed_columns && manifest.unsealed.binary_search(&length.column).is_err()
    };
    let rises = |list: &[ColumnLength]| list.is_sorted_by(|before, after| before.column < after.column);
    let wrong = clear.iter().find(|length| !is_clear(length) || !length.is_possible());
    let wrong = wrong.or_else(|| sealed.iter().find(|length| !is_sealed(length) || !length.is_possible()));
    match wrong {
        Some(length) => Err(ManifestFault::Length { column: length.column }),
        None if rises(clear) && rises(sealed) => Ok(()),
        None => Err(ManifestFault::LengthOrder),
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
