// SPDX-License-Identifier: Apache-2.0
//! Sums of whole parts, kept between plans.
//!
//! Parts are immutable and named by their digests, so the sum over all living rows of a part is a function of the part's file,
//! the list of its deleted rows, its place in the table, the ring, and the columns. These make the key, so nothing has to be invalidated: another
//! version of a table names the same parts, and their sums are still right, or other parts, which have other keys.
//!
//! # Integrity
//! A kept sum was computed from bytes with the digest in a signed manifest, and it is found by that digest alone. A file
//! that is altered, exchanged or lost later does not change it: the sum is still that of the part which the manifest
//! names, and the answer is right. But a plan that uses kept sums alone does not read the file, and so does not *notice*
//! the damage. A wrong sum would last as long as the memory does. So a sum is kept only if the file looked the same
//! after it was read as when its digest was checked.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hush_plan::EncodingId;
use hush_ring::{Eval, Poly, Ring};
use hush_schemes::bgv::sum::PartialSum;
use hush_table::manifest::{Dead, PartFile};
use hush_table::{Digest, Manifest};

use crate::table::PartRef;

/// Memory for sums of whole parts. A kept sum is added to an answer, and the part is not read.
///
/// Cheap to clone; clones share the memory. Engines that share one, such as those of a server's tables, keep its bound
/// together. When it is full, the least recently used part goes first. So a plan over more parts than fit, run over and
/// over, finds none of them.
#[derive(Clone)]
pub struct SumCache {
    limit_bytes: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    parts: HashMap<Key, PartSums>,
    bytes: usize,
    /// Counts uses. The part with the smallest `used` is the least recently used.
    clock: u64,
}

/// Everything that a sum over all rows of a part depends on, except the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    file: PartFile,
    dead: Option<Dead>,
    first_chunk: u32,
    rows: u64,
    params: u16,
}

/// The sums of one part in one ring.
struct PartSums {
    /// `Σ a·M`, which all columns share.
    mask: Arc<Poly<Eval>>,
    /// `Σ b_i` of each column, a residue for each limb.
    bodies: BTreeMap<EncodingId, Arc<[u64]>>,
    used: u64,
}

/// The sum of some columns of a part.
pub(crate) struct KeptSum {
    pub(crate) mask: Arc<Poly<Eval>>,
    /// One for each column, in the order asked for.
    pub(crate) bodies: Vec<Arc<[u64]>>,
}

impl Key {
    /// The key of a part in a ring; `None` for a part without encrypted file.
    pub(crate) fn new(part: PartRef<'_>, ring: &Ring) -> Option<Self> {
        Some(Self {
            file: part.entry.encrypted?,
            dead: part.entry.dead,
            first_chunk: part.place.first_chunk,
            rows: part.entry.rows,
            params: ring.param_code(),
        })
    }
}

impl SumCache {
    /// 64 MiB. The sum of a part in the ring of 64-bit columns takes 64 KiB for any number of columns. So this is room for
    /// a thousand parts: 5·10^8 rows.
    pub const DEFAULT_BYTES: usize = 64 << 20;

    /// Memory for at most `limit_bytes` of sums; with 0 nothing is kept.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, kept: Arc::default() }
    }

    /// Bytes in use, never above the limit.
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// The sum of these columns, if each of them is kept.
    pub(crate) fn find(&self, key: &Key, columns: &[EncodingId]) -> Option<KeptSum> {
        let mut kept = self.kept();
        kept.clock += 1;
        let clock = kept.clock;
        let sums = kept.parts.get_mut(key)?;
        let bodies = columns.iter().map(|column| sums.bodies.get(column).cloned()).collect::<Option<_>>()?;
        sums.used = clock;
        Some(KeptSum { mask: sums.mask.clone(), bodies })
    }

    /// Keeps the sum of some columns, beside those of other columns of the part.
    pub(crate) fn keep(&self, key: Key, columns: &[EncodingId], sum: KeptSum) {
        let mut kept = self.kept();
        kept.clock += 1;
        let used = kept.clock;
        let mut sums = kept.take(&key).unwrap_or_else(|| PartSums::new(sum.mask));
        sums.used = used;
        sums.bodies.extend(columns.iter().copied().zip(sum.bodies));
        if sums.bytes() > self.limit_bytes {
            return;
        }
        while kept.bytes + sums.bytes() > self.limit_bytes {
            // A look at each of the few thousand parts that fit takes microseconds.
            let Some(oldest) = kept.parts.iter().min_by_key(|(_, sums)| sums.used).map(|(key, _)| *key)
            else {
                break;
            };
            kept.take(&oldest);
        }
        kept.bytes += sums.bytes();
        kept.parts.insert(key, sums);
    }

    /// Forgets the sums of files that are gone, and those of the files of `present` with other deleted rows than it has.
    pub fn forget_old(&self, present: &Manifest, gone: &HashSet<Digest>) {
        let living: HashMap<PartFile, Option<Dead>> =
            present.parts.iter().filter_map(|part| Some((part.encrypted?, part.dead))).collect();
        let mut kept = self.kept();
        let is_old = |key: &&Key| {
            let is_gone = |file: &PartFile| gone.contains(&file.digest);
            is_gone(&key.file)
                || key.dead.is_some_and(|dead| is_gone(&dead.file))
                || living.get(&key.file).is_some_and(|dead| *dead != key.dead)
        };
        let old: Vec<Key> = kept.parts.keys().filter(is_old).copied().collect();
        old.iter().for_each(|key| drop(kept.take(key)));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SumCache {
    /// [`SumCache::DEFAULT_BYTES`].
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

impl std::fmt::Debug for SumCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SumCache({} of {} bytes)", self.bytes(), self.limit_bytes)
    }
}

impl Kept {
    fn take(&mut self, key: &Key) -> Option<PartSums> {
        let sums = self.parts.remove(key)?;
        self.bytes -= sums.bytes();
        Some(sums)
    }
}

impl PartSums {
    fn new(mask: Arc<Poly<Eval>>) -> Self {
        Self { mask, bodies: BTreeMap::new(), used: 0 }
    }

    fn bytes(&self) -> usize {
        let body = |body: &Arc<[u64]>| BODY_OVERHEAD + 8 * body.len();
        PART_OVERHEAD + 8 * self.mask.words().len() + self.bodies.values().map(body).sum::<usize>()
    }
}

impl From<PartialSum> for KeptSum {
    fn from(sum: PartialSum) -> Self {
        let bodies = sum.bodies.chunks(sum.mask.ring().limb_count()).map(Arc::from).collect();
        Self { mask: Arc::new(sum.mask), bodies }
    }
}

/// Map entry, allocation and counters of a part, rounded up.
const PART_OVERHEAD: usize = 256;
/// The same of a column.
const BODY_OVERHEAD: usize = 64;

#[cfg(test)]
mod tests;
