// SPDX-License-Identifier: Apache-2.0
//! Finds the group of a row by its keys.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use datafusion::common::hash_utils::RandomState;
use hush_schemes::bgv::sum::NOT_SELECTED;

use crate::error::ExecError;

/// Keys that lie closer together than this get a table by value: 256 KiB at most.
const TABLE_SPAN: u64 = 1 << 16;

/// The source of a row's group.
#[derive(Debug)]
pub(super) enum KeyIndex {
    /// There are no keys: every row belongs to group 0.
    Alone,
    /// By the value of one integer key, if all keys lie close together.
    Table {
        /// The smallest key.
        low: i64,
        /// Groups by `key − low`, [`NOT_SELECTED`] where there is none.
        groups: Vec<u32>,
        /// Group of NULL.
        null: u32,
    },
    /// By the bytes of all keys.
    Bytes {
        /// The expressions that make them.
        converter: RowConverter,
        /// Groups.
        groups: HashMap<Box<[u8]>, u32, RandomState>,
    },
}

impl KeyIndex {
    /// The index of distinct `keys`, one array per key, and their positions in the order of groups: ascending, NULLs first.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for a type that has no order.
    pub(super) fn new(keys: &[ArrayRef]) -> Result<(Self, Vec<u32>), ExecError> {
        let internal = |_| ExecError::Internal { place: "group keys" };
        let Some(first) = keys.first() else { return Ok((Self::Alone, vec![0])) };
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(internal)?;
        let rows = converter.convert_columns(keys).map_err(internal)?;
        let mut order: Vec<u32> = (0..first.len() as u32).collect();
        order.sort_unstable_by(|left, right| rows.row(*left as usize).cmp(&rows.row(*right as usize)));
        if let (Some(table), 1) = (Self::table(first, &order), keys.len()) {
            return Ok((table, order));
        }
        let numbered = order.iter().zip(0_u32..);
        let groups = numbered.map(|(row, group)| (rows.row(*row as usize).data().into(), group)).collect();
        Ok((Self::Bytes { converter, groups }, order))
    }

    /// A table by value; `None` if the keys are no integers or lie far apart.
    fn table(keys: &ArrayRef, order: &[u32]) -> Option<Self> {
        let keys = keys.as_primitive_opt::<Int64Type>()?;
        let (low, high) = (keys.iter().flatten().min()?, keys.iter().flatten().max()?);
        if high.abs_diff(low) >= TABLE_SPAN {
            return None;
        }
        let mut groups = vec![NOT_SELECTED; high.abs_diff(low) as usize + 1];
        let mut null = NOT_SELECTED;
        for (row, group) in order.iter().zip(0_u32..) {
            let row = *row as usize;
            if keys.is_null(row) {
                null = group;
            } else {
                groups[keys.value(row).abs_diff(low) as usize] = group;
            }
        }
        Some(Self::Table { low, groups, null })
    }

    /// Overwrites `groups` (one entry per row) with the row's group where `selected` has a bit, or everywhere.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a key is not among the groups. Then query and masks would have evaluated it differently.
    pub(super) fn assign(
        &self,
        keys: &[ArrayRef],
        selected: Option<&BooleanBuffer>,
        groups: &mut [u32],
    ) -> Result<(), ExecError> {
        let internal = ExecError::Internal { place: "group of a row" };
        let all_found = match self {
            Self::Alone => place(groups, selected, |_| 0),
            Self::Table { low, groups: known, null } => {
                let keys = keys.first().and_then(|keys| keys.as_primitive_opt::<Int64Type>());
                let Some(keys) = keys.filter(|keys| keys.len() == groups.len()) else { return Err(internal) };
                let by_value = |value: i64| {
                    let place = value.checked_sub(*low).and_then(|place| usize::try_from(place).ok());
                    place.and_then(|place| known.get(place)).copied().unwrap_or(NOT_SELECTED)
                };
                let values = keys.values();
                if keys.null_count() == 0 {
                    place(groups, selected, |row| by_value(values[row]))
                } else {
                    place(
                        groups,
                        selected,
                        |row| {
                            if keys.is_null(row) { *null } else { by_value(values[row]) }
                        },
                    )
                }
            }
            Self::Bytes { converter, groups: known } => {
                let Ok(rows) = converter.convert_columns(keys) else { return Err(internal) };
                if rows.num_rows() != groups.len() {
                    return Err(internal);
                }
                // Tables are often sorted or clustered by their keys: look up only where the key changes.
                let mut last: Option<(usize, u32)> = None;
                place(groups, selected, |row| {
                    let key = rows.row(row);
                    let same = last.filter(|(row, _)| rows.row(*row) == key).map(|(_, group)| group);
                    let group = same.or_else(|| known.get(key.data()).copied()).unwrap_or(NOT_SELECTED);
                    last = Some((row, group));
                    group
                })
            }
        };
        if all_found { Ok(()) } else { Err(internal) }
    }
}

/// Writes the group of every selected row. Returns whether all have one.
fn place(groups: &mut [u32], selected: Option<&BooleanBuffer>, mut group: impl FnMut(usize) -> u32) -> bool {
    let mut all_found = true;
    each_selected(selected, groups.len(), |row| {
        groups[row] = group(row);
        all_found &= groups[row] != NOT_SELECTED;
    });
    all_found
}

/// Visits the selected ones of so many rows, in order.
///
/// Half of the rows, here and there, are what a processor cannot predict: it looks for bits by the word, and not for each row at one.
///
/// # Panics
/// If there are not as many bits as rows.
pub(super) fn each_selected(selected: Option<&BooleanBuffer>, rows: usize, mut visit: impl FnMut(usize)) {
    let Some(selected) = selected else { return (0..rows).for_each(visit) };
    assert_eq!(selected.len(), rows, "bits of a selection");
    for (mut word, first) in selected.bit_chunks().iter_padded().zip((0..).step_by(64)) {
        while word != 0 {
            visit(first + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn integers(keys: &[Option<i64>]) -> ArrayRef {
        Arc::new(Int64Array::from(keys.to_vec()))
    }

    /// Groups of `rows` by the index of `keys`, every second row selected; `None` where a row has no group.
    fn assigned(keys: &[ArrayRef], rows: &[ArrayRef]) -> Option<Vec<u32>> {
        let (index, order) = KeyIndex::new(keys).unwrap();
        assert_eq!(order.len(), keys[0].len());
        let mut groups = vec![NOT_SELECTED; rows[0].len()];
        let second = (0..groups.len()).map(|row| row % 2 == 0).collect();
        index.assign(rows, Some(&second), &mut groups).ok()?;
        Some(groups)
    }

    #[test]
    fn selected_rows_are_those_with_a_bit() {
        for rows in [0, 1, 63, 64, 65, 127, 128, 200] {
            let all = visited(None, rows);
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
            for (factor, of) in [(0, 1), (1, 1), (1, 2), (3, 7), (64, 65)] {
                let is_selected = |row: usize| row * factor % of.max(1) < factor;
                let bits: BooleanBuffer = (0..rows).map(is_selected).collect();
                assert_eq!(
                    visited(Some(&bits), rows),
                    all.iter().copied().filter(|row| is_selected(*row)).collect::<Vec<_>>()
                );
                // Bits that do not begin with a byte.
                for first in 0..rows.min(10) {
                    let found = visited(Some(&bits.slice(first, rows - first)), rows - first);
                    let expected = all.iter().copied().filter(|row| *row >= first && is_selected(*row));
                    assert_eq!(found, expected.map(|row| row - first).collect::<Vec<_>>());
                }
            }
        }
    }

    fn visited(selected: Option<&BooleanBuffer>, rows: usize) -> Vec<usize> {
        let mut found = Vec::new();
        each_selected(selected, rows, |row| found.push(row));
        found
    }

    #[test]
    fn tables_and_bytes_give_the_same_groups() {
        let near = [Some(7), None, Some(-3), Some(60_000)];
        let far = [Some(7), None, Some(i64::MIN), Some(i64::MAX)];
        for (keys, is_table) in [(near, true), (far, false)] {
            let (index, order) = KeyIndex::new(&[integers(&keys)]).unwrap();
            assert_eq!(matches!(index, KeyIndex::Table { .. }), is_table);
            // NULL first, then ascending.
            assert_eq!(order, [1, 2, 0, 3]);
            let rows = [keys[3], Some(1), keys[1], None, keys[0], None, keys[2]];
            let groups = assigned(&[integers(&keys)], &[integers(&rows)]).unwrap();
            assert_eq!(groups, [3, NOT_SELECTED, 0, NOT_SELECTED, 2, NOT_SELECTED, 1]);
            // Two keys are always bytes.
            let text: ArrayRef = Arc::new(StringArray::from(vec!["a"; 4]));
            let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"; 7]));
            assert_eq!(assigned(&[integers(&keys), text], &[integers(&rows), texts]), Some(groups));
        }
    }

    #[test]
    fn a_row_without_a_group_is_an_error_if_it_is_selected() {
        let low = integers(&[Some(i64::MAX - 1), Some(i64::MAX)]);
        for stranger in [Some(i64::MIN), Some(0), Some(i64::MAX - 2), None] {
            assert_eq!(assigned(std::slice::from_ref(&low), &[integers(&[stranger])]), None);
        }
        let found = assigned(&[low], &[integers(&[Some(i64::MAX), Some(0)])]);
        assert_eq!(found, Some(vec![1, NOT_SELECTED]));
        let far = integers(&[Some(1), Some(1 << 40)]);
        assert_eq!(assigned(&[far], &[integers(&[Some(2)])]), None);
    }
}
