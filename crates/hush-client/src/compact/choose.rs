// SPDX-License-Identifier: Apache-2.0
//! The parts that are worth being written anew, by what the manifest says of them.
//!
//! A part is *small* if the rows of it that count are fewer than half of what a part may have, in rows and in bytes, and no other part
//! continues it: that one was cut where a full part ends. Small parts that stand side by side are worth merging, whatever they came from.
//! A part with more than a fifth of its rows deleted is worth it by itself.

use std::collections::HashSet;
use std::ops::Range;

use hush_table::part::{MAX_PART_CHUNKS, PART_TARGET_BYTES};
use hush_table::{CHUNK_ROWS, Digest, Manifest, PartEntry};

/// Small parts side by side at which a compaction is due.
pub const DUE_PARTS: usize = 8;
/// Percent of the rows of a part: with more of them deleted it is written anew.
pub const MOST_DELETED_PERCENT: u64 = 20;
/// Rows of a full part.
const FULL_ROWS: u64 = MAX_PART_CHUNKS as u64 * CHUNK_ROWS as u64;

/// The parts that a compaction writes anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Every part.
    All,
    /// Those that are worth it, and all others with a deleted row.
    Deleted,
    /// Those under earlier secrets than the present ones.
    Outdated,
    /// Those that lack encodings of columns that they have, since an alteration.
    Incomplete,
    /// Those that are worth it, once that is due: from [`DUE_PARTS`] small parts side by side on, or for deleted rows. A part that is larger
    /// than all small ones behind it together waits until they have caught up, so that no row is written anew with every append.
    Due,
    /// Those that are worth it: small ones side by side, and those with more than [`MOST_DELETED_PERCENT`] percent of their rows deleted.
    #[default]
    Worth,
}

/// What the rule says of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionState {
    /// Most small parts that stand side by side.
    pub small_parts: u64,
    /// Largest share of deleted rows that a part has, in percent, rounded down.
    pub deleted_percent: u64,
    /// Parts that a compaction that is due would write anew; 0 if none is due.
    pub due_parts: u64,
}

impl CompactionState {
    /// What the rule says of the table of this manifest.
    pub fn of(manifest: &Manifest) -> Self {
        let traits = Traits::of(manifest);
        let small = runs(&traits.small).map(|run| run.len() as u64).max().unwrap_or(0);
        let percent = |part: &PartEntry| part.dead.map_or(0, |dead| dead.rows * 100 / part.rows.max(1));
        let due = chosen(manifest, Which::Due);
        Self {
            small_parts: small,
            deleted_percent: manifest.parts.iter().map(percent).max().unwrap_or(0),
            due_parts: due.iter().map(|run| run.len() as u64).sum(),
        }
    }
}

/// What the parts of a table are like, one entry for each.
struct Traits {
    small: Vec<bool>,
    /// Whether more of its rows are deleted than a part may keep.
    thinned: Vec<bool>,
}

impl Traits {
    fn of(manifest: &Manifest) -> Self {
        let continued = continued(manifest);
        let is_small = |(part, continued): (&PartEntry, bool)| !continued && is_small(part);
        let small = manifest.parts.iter().zip(continued).map(is_small).collect();
        Self { small, thinned: manifest.parts.iter().map(is_thinned).collect() }
    }
}

/// Whether more of its rows are deleted than a part may keep.
fn is_thinned(part: &PartEntry) -> bool {
    part.dead
        .is_some_and(|dead| dead.rows.saturating_mul(100) > part.rows.saturating_mul(MOST_DELETED_PERCENT))
}

/// Whether a part has less than half of the rows and of the bytes that a part may have, deleted rows left out.
fn is_small(part: &PartEntry) -> bool {
    let living = part.living_rows();
    let largest =
        [part.clear, part.encrypted].into_iter().flatten().map(|file| file.bytes).max().unwrap_or(0);
    let bytes = u128::from(largest) * u128::from(living) / u128::from(part.rows.max(1));
    living < FULL_ROWS / 2 && bytes < u128::from(PART_TARGET_BYTES / 2)
}

/// For each part, whether the next one continues it: chunks of one encryption or one append that a full part has cut.
fn continued(manifest: &Manifest) -> Vec<bool> {
    let numbers = manifest.placed_parts().map(|(place, part)| {
        let first = part.first_written(place);
        (
            part.delivery.is_some(),
            part.append.map(|append| append.id),
            first,
            first.saturating_add(part.chunks),
        )
    });
    let numbers: Vec<_> = numbers.collect();
    let next = numbers.iter().skip(1).map(Some).chain([None]);
    let continues = numbers.iter().zip(next).map(|(here, next)| {
        next.is_some_and(|next| !here.0 && !next.0 && here.1 == next.1 && here.3 == next.2)
    });
    continues.collect()
}

/// Runs of neighbours that are marked.
fn runs(marked: &[bool]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + marked.get(at..)?.iter().position(|marked| *marked)?;
        let length = marked.get(start..)?.iter().take_while(|marked| **marked).count();
        at = start + length;
        Some(start..at)
    })
}

/// The runs of parts to be written anew, in the order of the table.
pub(super) fn chosen(manifest: &Manifest, which: Which) -> Vec<Range<usize>> {
    let traits = Traits::of(manifest);
    let by_itself: Vec<bool> = match which {
        Which::All => vec![true; manifest.parts.len()],
        Which::Deleted => manifest.parts.iter().map(|part| part.dead.is_some()).collect(),
        Which::Outdated => manifest.parts.iter().map(|part| part.domain != manifest.domain).collect(),
        Which::Incomplete => manifest.parts.iter().map(|part| manifest.is_incomplete(part)).collect(),
        Which::Due | Which::Worth => traits.thinned,
    };
    let goes_along = |small: bool| small && !matches!(which, Which::Outdated | Which::Incomplete);
    let marked: Vec<bool> =
        by_itself.iter().zip(&traits.small).map(|(itself, small)| *itself || goes_along(*small)).collect();
    let has_reason = |run: &Range<usize>| by_itself.get(run.clone()).is_some_and(|run| run.contains(&true));
    let found =
        runs(&marked).map(|run| if which == Which::Due { grown(manifest, &by_itself, run) } else { run });
    let fewest = if which == Which::Due { DUE_PARTS } else { 2 };
    found.filter(|run| run.len() >= fewest || has_reason(run)).collect()
}

/// The end of a run, from the first part on that is no larger than those behind it together, or that has a reason of its own.
fn grown(manifest: &Manifest, by_itself: &[bool], run: Range<usize>) -> Range<usize> {
    let rows = |at: usize| manifest.parts.get(at).map_or(0, PartEntry::living_rows);
    let mut behind: u64 = run.clone().map(rows).sum();
    let first = run.clone().find(|at| {
        behind -= rows(*at);
        rows(*at) <= behind || by_itself.get(*at) == Some(&true)
    });
    first.unwrap_or(run.end)..run.end
}

/// The parts of one compaction: those that were chosen when it began, and what it makes of them.
pub(super) struct Wanted {
    which: Which,
    chosen: HashSet<Digest>,
    made: HashSet<Digest>,
}

impl Wanted {
    /// What `which` chooses now. Parts that come later are left to a later compaction: one that others add to would never end.
    pub(super) fn of(manifest: &Manifest, which: Which) -> Self {
        let runs = chosen(manifest, which).into_iter();
        let parts = runs.filter_map(|run| manifest.parts.get(run)).flatten();
        Self { which, chosen: parts.filter_map(name_of).collect(), made: HashSet::new() }
    }

    /// Remembers a step: what it took is done with, even where a new part has the same file.
    pub(super) fn done(&mut self, taken: &[PartEntry], made: &[PartEntry]) {
        for name in taken.iter().filter_map(name_of) {
            self.chosen.remove(&name);
        }
        self.made.extend(made.iter().filter_map(name_of));
    }

    /// Whether a part was made by an earlier step.
    pub(super) fn has_made(&self, part: &PartEntry) -> bool {
        name_of(part).is_some_and(|name| self.made.contains(&name))
    }

    /// Whether there was nothing to choose.
    pub(super) fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// The parts of the next step: as many as make a full part, and no fewer than one. A last part that an earlier step has made is small as a
    /// rule, and goes with those behind it.
    pub(super) fn next_step(&self, manifest: &Manifest) -> Option<Range<usize>> {
        let small = Traits::of(manifest).small;
        let is_in = |names: &HashSet<Digest>, part: &PartEntry| {
            name_of(part).is_some_and(|name| names.contains(&name))
        };
        let is_chosen = |part: &PartEntry| is_in(&self.chosen, part);
        let parts = manifest.parts.iter().zip(small);
        let marked: Vec<bool> =
            parts.map(|(part, small)| is_chosen(part) || (small && is_in(&self.made, part))).collect();
        let has_reason = |part: &PartEntry| match self.which {
            Which::All => is_chosen(part),
            Which::Deleted => is_chosen(part) && part.dead.is_some(),
            Which::Outdated => is_chosen(part) && part.domain != manifest.domain,
            Which::Incomplete => is_chosen(part) && manifest.is_incomplete(part),
            Which::Due | Which::Worth => is_chosen(part) && is_thinned(part),
        };
        let is_worth = |run: &Range<usize>| {
            let parts = manifest.parts.get(run.clone()).unwrap_or_default();
            parts.iter().any(has_reason) || (parts.len() > 1 && parts.iter().any(is_chosen))
        };
        let prefix = |run: Range<usize>| {
            let parts = manifest.parts.get(run.clone()).unwrap_or_default();
            let mut rows = 0_u64;
            let taken = parts.iter().take_while(|part| {
                let is_taken = rows < FULL_ROWS;
                rows = rows.saturating_add(part.living_rows());
                is_taken
            });
            run.start..run.start + taken.count()
        };
        let has_chosen = |run: &Range<usize>| {
            manifest.parts.get(run.clone()).is_some_and(|parts| parts.iter().any(is_chosen))
        };
        // Each step uses up a part that was chosen, so that they end.
        runs(&marked).filter(is_worth).map(prefix).find(has_chosen)
    }
}

/// What tells a part from others, and stays when rows of it are deleted.
fn name_of(part: &PartEntry) -> Option<Digest> {
    part.encrypted.or(part.clear).map(|file| file.digest)
}

#[cfg(test)]
mod tests;
