// SPDX-License-Identifier: Apache-2.0
//! The hash tree of a part, cut off at groups of 64 KiB, so that a range can be checked without reading the rest.
//!
//! BLAKE3 is a binary tree over chunks of 1 KiB. The chaining values of all subtrees of 64 chunks determine the root, which is
//! the part's digest. A [`DigestTree`] holds these values. Whoever has them and the digest needs no further trust: values that do not
//! fold into the digest are refused, and a group that does not hash to its value was altered.
//!
//! *Source*: the BLAKE3 specification, section 2.1 (tree structure); `blake3::hazmat` gives the nodes.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use std::io::{self, Read};

use blake3::hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

use super::TREE_FROM_BYTES;
use crate::digest::Digest;
use crate::manifest::PartFile;

/// Bytes of a group; the last of a part may be shorter.
pub const GROUP_BYTES: u64 = 64 << 10;
/// Bytes of a group's value.
const VALUE_BYTES: usize = 32;

/// The digest of a part and the values of its groups.
///
/// *Invariant*: the values fold into the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestTree {
    digest: Digest,
    length: u64,
    /// One value per group. A part of one group has its digest here: no other node stands above it.
    groups: Vec<ChainingValue>,
}

impl DigestTree {
    /// The tree of some bytes.
    ///
    /// # Cost
    /// The cost of a digest.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = TreeHasher::new(bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The tree of the `length` bytes that a reader gives.
    ///
    /// # Errors
    /// The reader's errors; [`io::ErrorKind::UnexpectedEof`] if it ends early.
    ///
    /// # Cost
    /// One pass over the bytes; 64 KiB of memory and 32 bytes for each 64 KiB.
    pub fn of_reader(mut reader: impl Read, length: u64) -> io::Result<Self> {
        let mut hasher = TreeHasher::new(length);
        let mut buffer = vec![0; GROUP_BYTES.min(length) as usize];
        let mut left = length;
        while left > 0 {
            let size = left.min(GROUP_BYTES);
            let group = buffer.get_mut(..size as usize).unwrap_or_default();
            reader.read_exact(group)?;
            hasher.update(group);
            left = left.saturating_sub(size);
        }
        Ok(hasher.finish())
    }

    /// The tree of a part from its stored values. `None` if they are not the values of that part.
    pub fn decode(bytes: &[u8], part: &PartFile) -> Option<Self> {
        let (groups, rest) = bytes.as_chunks::<VALUE_BYTES>();
        let is_whole = rest.is_empty() && groups.len() as u64 == part.bytes.div_ceil(GROUP_BYTES);
        if !is_whole || root(groups)? != *part.digest.as_bytes() {
            return None;
        }
        Some(Self { digest: part.digest, length: part.bytes, groups: groups.to_vec() })
    }

    /// Bytes that the stored values of a part take; `None` if it has none beside it.
    pub fn stored_bytes(part: &PartFile) -> Option<u64> {
        let groups = (part.bytes >= TREE_FROM_BYTES).then(|| part.bytes.div_ceil(GROUP_BYTES))?;
        groups.checked_mul(VALUE_BYTES as u64)
    }

    /// The values as they are stored: 32 bytes for each group, in order.
    pub fn encode(&self) -> Vec<u8> {
        self.groups.as_flattened().to_vec()
    }

    /// Whether it is kept beside its part.
    pub fn is_stored(&self) -> bool {
        self.length >= TREE_FROM_BYTES
    }

    /// The digest of all bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The bytes of a group, as a range of the part.
    pub fn range(&self, group: usize) -> std::ops::Range<u64> {
        let start = GROUP_BYTES.saturating_mul(group as u64).min(self.length);
        start..start.saturating_add(GROUP_BYTES).min(self.length)
    }

    /// Whether some bytes are those of a group.
    pub fn agrees(&self, group: usize, bytes: &[u8]) -> bool {
        let Some(expected) = self.groups.get(group) else { return false };
        if bytes.len() as u64 != self.range(group).end.saturating_sub(self.range(group).start) {
            return false;
        }
        let mut hasher = group_hasher(group);
        hasher.update(bytes);
        value(&hasher, self.groups.len() == 1) == *expected
    }
}

/// Builds the tree of bytes that come piece by piece.
#[derive(Debug)]
pub struct TreeHasher {
    length: u64,
    groups: Vec<ChainingValue>,
    /// The group that is being filled, and how many bytes of it have come.
    group: blake3::Hasher,
    filled: u64,
}

impl TreeHasher {
    /// For `length` bytes in all.
    pub fn new(length: u64) -> Self {
        let groups = Vec::with_capacity(length.div_ceil(GROUP_BYTES).min(1 << 16) as usize);
        Self { length, groups, group: group_hasher(0), filled: 0 }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = GROUP_BYTES.saturating_sub(self.filled) as usize;
            let (here, rest) = bytes.split_at(bytes.len().min(room));
            self.group.update(here);
            self.filled = self.filled.saturating_add(here.len() as u64);
            if self.filled == GROUP_BYTES {
                self.end_group();
            }
            bytes = rest;
        }
    }

    /// The tree. If more or fewer bytes came than announced, it is the tree of no part of the announced length.
    pub fn finish(mut self) -> DigestTree {
        if self.filled > 0 {
            self.end_group();
        }
        let digest = root(&self.groups).map_or_else(|| Digest::of(&[]), Digest::from_bytes);
        DigestTree { digest, length: self.length, groups: self.groups }
    }

    fn end_group(&mut self) {
        let next = group_hasher(self.groups.len().saturating_add(1));
        let group = std::mem::replace(&mut self.group, next);
        // Only what begins at the first byte can be the root.
        let alone = self.length <= GROUP_BYTES && self.groups.is_empty();
        self.groups.push(value(&group, alone));
        self.filled = 0;
    }
}

fn group_hasher(group: usize) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(GROUP_BYTES.saturating_mul(group as u64));
    hasher
}

/// The value of a group: of a node below the root, or of the root where there is no other group.
fn value(group: &blake3::Hasher, alone: bool) -> ChainingValue {
    if alone { *group.finalize().as_bytes() } else { group.finalize_non_root() }
}

/// The root above some groups; `None` above none.
fn root(groups: &[ChainingValue]) -> Option<[u8; 32]> {
    if let [alone] = groups {
        return Some(*alone);
    }
    let (left, right) = halves(groups)?;
    Some(*merge_subtrees_root(&fold(left)?, &fold(right)?, Mode::Hash).as_bytes())
}

/// The value of the subtree over some groups; `None` over none.
fn fold(groups: &[ChainingValue]) -> Option<ChainingValue> {
    if let [alone] = groups {
        return Some(*alone);
    }
    let (left, right) = halves(groups)?;
    Some(merge_subtrees_non_root(&fold(left)?, &fold(right)?, Mode::Hash))
}

/// Both subtrees of a node: the left one holds the greatest power of two of groups that leaves some for the right one.
fn halves(groups: &[ChainingValue]) -> Option<(&[ChainingValue], &[ChainingValue])> {
    let last = groups.len().checked_sub(1)?;
    groups.split_at_checked(1 << last.checked_ilog2()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that differ from group to group.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
    }

    /// Lengths around the borders of chunks, groups and of powers of two of groups.
    fn lengths() -> Vec<usize> {
        let group = GROUP_BYTES as usize;
        let near = |size: usize| [size.saturating_sub(1), size, size + 1];
        let counts = [0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17];
        counts.iter().flat_map(|count| near(count * group)).chain([1, 1023, 1025]).collect()
    }

    #[test]
    fn the_root_is_the_ordinary_digest() {
        for length in lengths() {
            let bytes = bytes(length);
            let tree = DigestTree::of(&bytes);
            assert_eq!(tree.digest(), Digest::of(&bytes), "{length}");
            assert_eq!(DigestTree::of_reader(&bytes[..], length as u64).unwrap(), tree, "{length}");
            for piece in [1000, 65_535, 65_537, 200_000] {
                let mut hasher = TreeHasher::new(length as u64);
                bytes.chunks(piece).for_each(|piece| hasher.update(piece));
                assert_eq!(hasher.finish(), tree, "{length} in pieces of {piece}");
            }
            assert!(DigestTree::of_reader(&bytes[..], length as u64 + 1).is_err());
            let groups: Vec<_> = (0..tree.group_count()).map(|group| tree.range(group)).collect();
            assert_eq!(groups.len() as u64, (length as u64).div_ceil(GROUP_BYTES));
            for (group, range) in groups.iter().enumerate() {
                assert!(tree.agrees(group, &bytes[range.start as usize..range.end as usize]));
            }
        }
    }

    #[test]
    fn stored_values_are_those_of_the_part_or_refused() {
        for length in lengths().into_iter().filter(|length| *length > 0) {
            let bytes = bytes(length);
            let tree = DigestTree::of(&bytes);
            let part = PartFile { digest: Digest::of(&bytes), bytes: length as u64 };
            let stored = tree.encode();
            assert_eq!(DigestTree::decode(&stored, &part), Some(tree));
            let other = PartFile { bytes: part.bytes + GROUP_BYTES, ..part };
            assert_eq!(DigestTree::decode(&stored, &other), None, "another number of groups");
            assert_eq!(DigestTree::decode(&stored[1..], &part), None);
            assert_eq!(DigestTree::decode(&[], &part), None);
            for flipped in (0..stored.len()).step_by(17) {
                let mut stored = stored.clone();
                stored[flipped] ^= 1;
                assert_eq!(DigestTree::decode(&stored, &part), None, "{length} {flipped}");
            }
        }
    }

    #[test]
    fn a_group_of_another_place_or_content_is_not_that_group() {
        let bytes = bytes(5 * GROUP_BYTES as usize + 77);
        let tree = DigestTree::of(&bytes);
        let group = |group: usize| {
            let range = tree.range(group);
            bytes[range.start as usize..range.end as usize].to_vec()
        };
        assert!(!tree.agrees(0, &group(1)) && !tree.agrees(6, &group(5)) && !tree.agrees(5, &group(5)[1..]));
        for at in [0, 1, 40_000, GROUP_BYTES as usize - 1] {
            let mut altered = group(2);
            altered[at] ^= 0x80;
            assert!(!tree.agrees(2, &altered), "{at}");
        }
    }
}
