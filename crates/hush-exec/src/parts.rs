// SPDX-License-Identifier: Apache-2.0
//! Sets of parts of one table version, by their places in its manifest.

use std::fmt;
use std::ops::Range;

/// A set of parts, counted from 0 in the order of the manifest.
///
/// *Invariant.* Ascending ranges, none empty, with a gap between any two: equal sets have equal ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartSet(Vec<Range<u32>>);

impl PartSet {
    /// The ranges: ascending, none empty, with gaps between them.
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.0
    }

    /// The set that has just these ranges; `None` if they are not the one spelling of a set.
    pub fn from_ranges(ranges: Vec<Range<u32>>) -> Option<Self> {
        let filled = ranges.iter().all(|range| range.start < range.end);
        let apart = ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
        (filled && apart).then_some(Self(ranges))
    }

    /// Whether there is no part.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of parts.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// The first place after all parts; 0 for no parts.
    pub fn end(&self) -> u32 {
        self.0.last().map_or(0, |range| range.end)
    }

    /// Number of parts from the first of the table on, up to the first that is not in the set.
    pub fn prefix(&self) -> u32 {
        self.0.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// Whether a part is in the set. *Cost.* Logarithmic in the number of ranges.
    pub fn contains(&self, part: u32) -> bool {
        let after = self.0.partition_point(|range| range.start <= part);
        after.checked_sub(1).and_then(|index| self.0.get(index)).is_some_and(|range| part < range.end)
    }

    /// Adds the parts of a range.
    pub fn insert(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        // Those that it touches become one with it.
        let first = self.0.partition_point(|known| known.end < range.start);
        let last = self.0.partition_point(|known| known.start <= range.end).max(first);
        let touched = self.0.get(first..last).unwrap_or_default();
        let start = touched.first().map_or(range.start, |known| known.start.min(range.start));
        let end = touched.last().map_or(range.end, |known| known.end.max(range.end));
        self.0.splice(first..last, std::iter::once(start..end));
    }

    /// The parts that are in this set or in another.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        other.0.iter().cloned().for_each(|range| all.insert(range));
        all
    }

    /// The parts that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for range in &other.0 {
            let first = self.0.partition_point(|known| known.end <= range.start);
            let here = self.0.iter().skip(first).take_while(|known| known.start < range.end);
            both.0.extend(here.map(|known| known.start.max(range.start)..known.end.min(range.end)));
        }
        both
    }

    /// The parts of a table of `count` parts that are not in the set.
    #[must_use]
    pub fn complement(&self, count: u32) -> Self {
        let mut missing = Self::default();
        let mut next = 0;
        for range in &self.0 {
            missing.insert(next.min(count)..range.start.min(count));
            next = range.end;
        }
        missing.insert(next.min(count)..count);
        missing
    }
}

impl From<Range<u32>> for PartSet {
    fn from(range: Range<u32>) -> Self {
        std::iter::once(range).collect()
    }
}

impl FromIterator<Range<u32>> for PartSet {
    /// The union of ranges in any order.
    fn from_iter<I: IntoIterator<Item = Range<u32>>>(ranges: I) -> Self {
        let mut all = Self::default();
        ranges.into_iter().for_each(|range| all.insert(range));
        all
    }
}

impl fmt::Display for PartSet {
    /// `0 to 3, 7`, as far as a sentence holds it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (index, range) in self.0.iter().take(MOST_SHOWN).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match range.end - range.start {
                1 => write!(f, "{comma}{}", range.start)?,
                _ => write!(f, "{comma}{} to {}", range.start, range.end - 1)?,
            }
        }
        match self.0.len().checked_sub(MOST_SHOWN) {
            None | Some(0) => Ok(()),
            Some(_) => write!(f, " and more ({} in all)", self.len()),
        }
    }
}

/// Ranges that an error names.
const MOST_SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hush_testkit::Draw;

    use super::*;

    /// A set as a set of numbers below 24, for a table of so many parts.
    fn numbers(set: &PartSet) -> BTreeSet<u32> {
        (0..24).filter(|part| set.contains(*part)).collect()
    }

    #[test]
    fn sets_of_ranges_are_sets_of_numbers() {
        let mut draw = Draw::new();
        for _ in 0..2000 {
            let mut below = |bound: usize| draw.below(bound) as u32;
            let mut ranges = || -> Vec<Range<u32>> {
                let mut range = |_| {
                    let start = below(24);
                    start..(start + below(5)).min(24)
                };
                (0..5).map(&mut range).collect()
            };
            let (one, other) = (ranges(), ranges());
            let all = |ranges: &[Range<u32>]| ranges.iter().cloned().flatten().collect::<BTreeSet<_>>();
            let (left, right): (PartSet, PartSet) =
                (one.iter().cloned().collect(), other.iter().cloned().collect());
            assert_eq!(numbers(&left), all(&one), "{draw:?}");
            assert_eq!(left.len() as usize, all(&one).len());
            assert_eq!(PartSet::from_ranges(left.ranges().to_vec()), Some(left.clone()));
            assert_eq!(numbers(&left.union(&right)), &numbers(&left) | &numbers(&right));
            assert_eq!(numbers(&left.intersection(&right)), &numbers(&left) & &numbers(&right));
            let of_table: BTreeSet<u32> = (0..20).collect();
            assert_eq!(
                numbers(&left.complement(20)),
                of_table.difference(&numbers(&left)).copied().collect()
            );
            assert_eq!(left.prefix(), (0..).find(|part| !left.contains(*part)).unwrap());
            for set in [&left.union(&right), &left.intersection(&right), &left.complement(20)] {
                assert_eq!(PartSet::from_ranges(set.ranges().to_vec()).as_ref(), Some(set));
            }
        }
    }

    #[test]
    fn a_set_has_one_spelling() {
        let wrong: [&[(u32, u32)]; 5] =
            [&[(1, 1)], &[(2, 1)], &[(0, 1), (1, 2)], &[(3, 4), (0, 1)], &[(0, 3), (2, 5)]];
        for wrong in wrong {
            let ranges = wrong.iter().map(|(start, end)| *start..*end);
            assert_eq!(PartSet::from_ranges(ranges.collect()), None);
        }
        assert_eq!(PartSet::from_iter([5..6, 0..2, 2..4]).to_string(), "0 to 3, 5");
        assert_eq!(PartSet::default().to_string(), "none");
        let many: PartSet = (0..20).map(|part| 2 * part..2 * part + 1).collect();
        assert!(many.to_string().ends_with("12, 14 and more (20 in all)"), "{many}");
    }
}
