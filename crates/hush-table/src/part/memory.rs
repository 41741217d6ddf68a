// SPDX-License-Identifier: Apache-2.0
//! Bytes of objects that were checked against their part's digest, kept so that the next reader of the same needs no request.
//!
//! A part never changes, and its digest names it, so nothing has to be invalidated. An object that is altered or lost later goes
//! unnoticed for as long as its bytes are here; what is read of it stays right.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::digest::Digest;

/// Most bytes that are kept, for all tables of a catalogue.
const MAX_BYTES: usize = 64 << 20;
/// Longest run that is kept: a column of a part has about a megabyte. Whole parts, which a copy reads, would take the place of all else.
const MAX_RUN_BYTES: usize = 4 << 20;

/// Bytes of an object that are in memory.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(super) start: u64,
    pub(super) bytes: Bytes,
}

/// The bytes that are kept. When it is full it forgets all of them.
#[derive(Debug, Default)]
pub(crate) struct RangeMemory(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    parts: HashMap<Digest, Vec<Run>>,
    bytes: usize,
}

impl Run {
    pub(crate) fn new(start: u64, bytes: Bytes) -> Self {
        Self { start, bytes }
    }

    pub(super) fn holds(&self, range: &std::ops::Range<u64>) -> bool {
        self.start <= range.start && range.end <= self.start.saturating_add(self.bytes.len() as u64)
    }
}

impl RangeMemory {
    /// Keeps bytes that were found to belong to the part.
    pub(crate) fn keep(&self, part: Digest, run: Run) {
        let length = run.bytes.len();
        if length > MAX_RUN_BYTES {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes.saturating_add(length) > MAX_BYTES {
            *kept = Kept::default();
        }
        let end = run.start.saturating_add(length as u64);
        let runs = kept.parts.entry(part).or_default();
        if !runs.iter().any(|known| known.holds(&(run.start..end))) {
            runs.push(run);
            kept.bytes = kept.bytes.saturating_add(length);
        }
    }

    /// Forgets a part.
    pub(crate) fn forget(&self, part: &Digest) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = kept.parts.remove(part).unwrap_or_default();
        let bytes: usize = runs.iter().map(|run| run.bytes.len()).sum();
        kept.bytes = kept.bytes.saturating_sub(bytes);
    }

    /// What is kept of a part.
    pub(crate) fn of(&self, part: &Digest) -> Vec<Run> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.parts.get(part).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_not_doubled() {
        let (memory, name) = (RangeMemory::default(), |number: u32| Digest::of(&number.to_le_bytes()));
        let run = |start, length| Run::new(start, Bytes::from(vec![1; length]));
        memory.keep(name(0), run(64, 128));
        memory.keep(name(0), run(64, 64));
        memory.keep(name(0), run(0, MAX_RUN_BYTES + 1));
        assert_eq!(memory.of(&name(0)).len(), 1);
        assert!(memory.of(&name(0))[0].holds(&(70..192)) && !memory.of(&name(0))[0].holds(&(70..193)));
        assert!(memory.of(&name(1)).is_empty());
        memory.keep(name(9), run(0, 10));
        memory.forget(&name(9));
        assert!(memory.of(&name(9)).is_empty() && memory.of(&name(0)).len() == 1);
        let all = 1..=(MAX_BYTES / MAX_RUN_BYTES) as u32;
        for number in all.clone() {
            memory.keep(name(number), run(0, MAX_RUN_BYTES));
        }
        let kept: usize =
            all.map(|number| memory.of(&name(number)).iter().map(|run| run.bytes.len()).sum::<usize>()).sum();
        // The small run left no room for the last one, before which all were forgotten.
        assert_eq!((kept, memory.of(&name(0)).len()), (MAX_RUN_BYTES, 0));
    }
}
