// SPDX-License-Identifier: Apache-2.0
//! Exact counts of the combinations of a few columns, so that any subset of them can be judged afterwards.

use super::counts::HashedMap;

/// Columns watched at once: eight 16-bit numbers of values make a 128-bit key.
const COLUMNS: usize = 8;

/// Distinct values of a watched column.
const VALUES: usize = 1000;

/// Distinct combinations.
const TUPLES: usize = 1 << 17;

/// Counts of combinations. A column with more than [`VALUES`] values is no longer watched, and while there are
/// more than [`TUPLES`] combinations the one with most values is let go: what remains stays exact.
#[derive(Clone, Debug)]
pub(super) struct JointCounts {
    columns: Vec<Watched>,
    /// For each column of the table its slot.
    slots: Vec<Option<usize>>,
    tuples: HashedMap<u128, u64>,
    current: u128,
}

#[derive(Clone, Debug)]
struct Watched {
    position: usize,
    /// Numbers of the values, by hash, from 0.
    numbers: HashedMap<u64, u16>,
    watched: bool,
}

impl JointCounts {
    /// Watches at most eight of the columns at `positions`.
    pub(super) fn new(column_count: usize, positions: impl Iterator<Item = usize>) -> Self {
        let columns: Vec<Watched> = positions
            .take(COLUMNS)
            .map(|position| Watched { position, numbers: HashedMap::default(), watched: true })
            .collect();
        let mut slots = vec![None; column_count];
        for (slot, column) in columns.iter().enumerate() {
            if let Some(entry) = slots.get_mut(column.position) {
                *entry = Some(slot);
            }
        }
        Self { columns, slots, tuples: HashedMap::default(), current: 0 }
    }

    /// A cell of the current row.
    #[inline]
    pub(super) fn cell(&mut self, position: usize, hash: u64) {
        if let Some(Some(slot)) = self.slots.get(position).copied() {
            self.watch(slot, hash);
        }
    }

    fn watch(&mut self, slot: usize, hash: u64) {
        let Some(column) = self.columns.get_mut(slot).filter(|column| column.watched) else { return };
        let next = column.numbers.len() as u16; // at most VALUES
        let number = *column.numbers.entry(hash).or_insert(next);
        if column.numbers.len() > VALUES {
            self.let_go(slot);
        } else {
            self.current |= u128::from(number) << (16 * slot);
        }
    }

    /// Counts the current row.
    #[inline]
    pub(super) fn end_row(&mut self) {
        let tuple = std::mem::take(&mut self.current);
        *self.tuples.entry(tuple).or_insert(0) += 1;
        while self.tuples.len() > TUPLES {
            let watched = self.columns.iter().enumerate().filter(|(_, column)| column.watched);
            let Some((slot, _)) = watched.max_by_key(|(_, column)| column.numbers.len()) else { return };
            self.let_go(slot);
        }
    }

    /// Forgets a column: rows that differ only in it become one combination.
    fn let_go(&mut self, slot: usize) {
        if let Some(column) = self.columns.get_mut(slot) {
            column.watched = false;
            column.numbers = HashedMap::default();
        }
        let keep = !(0xffffu128 << (16 * slot));
        self.current &= keep;
        self.tuples = masked(&self.tuples, keep);
    }

    /// Counts of the combinations of the columns at `positions`; `None` if one of them is not watched.
    pub(super) fn project(&self, positions: &[usize]) -> Option<HashedMap<u128, u64>> {
        let mut keep = 0u128;
        for position in positions {
            let slot = self.slots.get(*position).copied().flatten()?;
            self.columns.get(slot).filter(|column| column.watched)?;
            keep |= 0xffffu128 << (16 * slot);
        }
        Some(masked(&self.tuples, keep))
    }
}

fn masked(tuples: &HashedMap<u128, u64>, keep: u128) -> HashedMap<u128, u64> {
    let mut merged = HashedMap::default();
    for (tuple, count) in tuples {
        *merged.entry(tuple & keep).or_insert(0) += count;
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::counts::hash_value;
    use super::*;

    /// Against a plain map of tuples, with one column that grows too fine to be watched.
    #[test]
    fn projections_equal_direct_counting() {
        let row = |i: u64| [i % 7, i * i % 11, i, i / 500];
        let mut joint = JointCounts::new(5, [0, 1, 2, 4].into_iter());
        for i in 0..5000 {
            for (position, value) in [0, 1, 2, 4].into_iter().zip(row(i)) {
                joint.cell(position, hash_value(Some(&value.to_le_bytes())));
            }
            joint.cell(3, 99);
            joint.end_row();
        }
        assert!(joint.project(&[2]).is_none(), "5000 values are too many");
        assert!(joint.project(&[3]).is_none(), "never watched");
        for (positions, chosen) in
            [(vec![0, 1], vec![0, 1]), (vec![0, 1, 4], vec![0, 1, 3]), (vec![4], vec![3])]
        {
            let mut direct: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
            for i in 0..5000 {
                *direct.entry(chosen.iter().map(|c| row(i)[*c]).collect()).or_insert(0) += 1;
            }
            let mut expected: Vec<u64> = direct.into_values().collect();
            let mut found: Vec<u64> = joint.project(&positions).unwrap().into_values().collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn too_many_combinations_let_the_finest_column_go() {
        let mut joint = JointCounts::new(3, 0..3);
        for i in 0..400_000u64 {
            for (position, modulus) in [(0, 997), (1, 991), (2, 2)] {
                joint.cell(position, hash_value(Some(&(i % modulus).to_le_bytes())));
            }
            joint.end_row();
        }
        assert!(joint.tuples.len() <= TUPLES);
        assert!(joint.project(&[0]).is_none());
        assert_eq!(joint.project(&[1, 2]).unwrap().values().sum::<u64>(), 400_000);
        assert_eq!(joint.project(&[1, 2]).unwrap().len(), 991 * 2);
    }
}
