// SPDX-License-Identifier: Apache-2.0
//! How a job's parts are cut into leaves, and the leaves put together in a tree.
//!
//! ```text
//!                    0..67817                 root: its answer is the job's
//!            ┌──────────┼──────────┐          at most 32 children each
//!        0..2120    2120..4239    …
//!       ┌────┴────┐
//!    0..66  66..132 …                         leaves: at most so many bytes each
//! ```
//!
//! The tree is a function of the cut alone, which the job's record holds: every worker and every front sees the same one.

use std::collections::BTreeSet;
use std::ops::Range;

use hush_exec::PartSize;

/// Most children of a node.
pub const FAN_OUT: usize = 32;
/// Most leaves of a job: with more, leaves are larger than asked for.
pub const MAX_LEAVES: usize = 1 << 14;

/// Parts in neighbourhoods, one for each leaf.
///
/// *Invariant.* Begins with 0 and ascends strictly; only of a table without parts it is `[0, 0]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut(Vec<u32>);

/// A node of the tree: a range of leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node(Range<usize>);

/// The parts of nodes that have left their partial answers.
pub type Present = BTreeSet<(u32, u32)>;

impl Cut {
    /// Leaves of at most `most_bytes` bytes each, or of one part.
    pub fn by_size(sizes: &[PartSize], most_bytes: u64) -> Self {
        let total = sizes.iter().fold(0_u64, |sum, size| sum.saturating_add(size.bytes));
        let most_bytes = most_bytes.max(total / MAX_LEAVES as u64 * 2);
        let (mut cut, mut bytes) = (vec![0], 0_u64);
        for (part, size) in (0_u32..).zip(sizes) {
            let with = bytes.saturating_add(size.bytes);
            if with > most_bytes && cut.last() != Some(&part) {
                cut.push(part);
                bytes = size.bytes;
            } else {
                bytes = with;
            }
        }
        cut.push(u32::try_from(sizes.len()).unwrap_or(u32::MAX));
        Self(cut)
    }

    /// The cut with these borders of a table of so many parts; `None` if there is no such one.
    pub fn of(borders: Vec<u32>, parts: u32) -> Option<Self> {
        let ascends = borders.is_sorted_by(|one, next| one < next) || borders == [0, 0];
        let ends = borders.len() >= 2 && borders.first() == Some(&0) && borders.last() == Some(&parts);
        (ascends && ends).then_some(Self(borders))
    }

    /// The borders.
    pub fn borders(&self) -> &[u32] {
        &self.0
    }

    /// Bytes of the largest leaf.
    pub fn largest(&self, sizes: &[PartSize]) -> u64 {
        let bytes = |leaf: &[u32]| match leaf {
            [first, end] => sizes
                .get(*first as usize..*end as usize)
                .unwrap_or_default()
                .iter()
                .map(|size| size.bytes)
                .sum(),
            _ => 0,
        };
        self.0.windows(2).map(bytes).max().unwrap_or(0)
    }

    /// The node of all parts.
    pub fn root(&self) -> Node {
        Node(0..self.0.len().saturating_sub(1))
    }

    /// The parts of a node.
    pub fn parts(&self, node: &Node) -> (u32, u32) {
        let border = |leaf: usize| self.0.get(leaf).copied().unwrap_or(0);
        (border(node.0.start), border(node.0.end))
    }

    /// The children of a node; a leaf has none.
    pub fn children(&self, node: &Node) -> Vec<Node> {
        let (start, leaves) = (node.0.start, node.0.len());
        if leaves < 2 {
            return Vec::new();
        }
        let count = leaves.min(FAN_OUT);
        let border = |child: usize| start + leaves * child / count;
        (0..count).map(|child| Node(border(child)..border(child + 1))).collect()
    }

    /// The nodes from the root to the one with these parts; `None` if no node has them.
    pub fn path(&self, parts: (u32, u32)) -> Option<Vec<Node>> {
        let mut path = vec![self.root()];
        loop {
            let node = path.last()?;
            let found = self.parts(node);
            if found == parts {
                return Some(path);
            }
            let holds = |child: &Node| {
                let (first, end) = self.parts(child);
                first <= parts.0 && parts.1 <= end
            };
            let next = self.children(node).into_iter().find(holds)?;
            path.push(next);
        }
    }

    /// What has to be invoked so that a node comes about, if nothing is under way: leaves that are missing, nodes of which all children are
    /// there, and, in place of many leaves, nodes below which there is nothing.
    pub fn missing(&self, node: &Node, present: &Present) -> Vec<Node> {
        if present.contains(&self.parts(node)) {
            return Vec::new();
        }
        let children = self.children(node);
        let below: Vec<Node> = children.iter().flat_map(|child| self.missing(child, present)).collect();
        if below.is_empty() || below == children && !self.any_below(node, present) {
            return vec![node.clone()];
        }
        below
    }

    fn any_below(&self, node: &Node, present: &Present) -> bool {
        let (first, end) = self.parts(node);
        present.range((first, 0)..(end, 0)).any(|(_, last)| *last <= end)
    }
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;

    fn sizes(draw: &mut Draw, count: usize) -> Vec<PartSize> {
        (0..count).map(|_| PartSize { rows: 1, bytes: draw.below(1000) as u64 }).collect()
    }

    #[test]
    fn leaves_are_as_large_as_they_may_be_and_no_larger() {
        let mut draw = Draw::new();
        for _ in 0..300 {
            let count = draw.below(200);
            let (sizes, most) = (sizes(&mut draw, count), draw.below(5000) as u64);
            let cut = Cut::by_size(&sizes, most);
            assert_eq!(Cut::of(cut.borders().to_vec(), count as u32), Some(cut.clone()), "{draw}");
            let bytes = |first: u32, end: u32| -> u64 {
                sizes[first as usize..end as usize].iter().map(|size| size.bytes).sum()
            };
            let leaves: Vec<(u32, u32)> = cut.borders().windows(2).map(|pair| (pair[0], pair[1])).collect();
            for (first, end) in &leaves {
                assert!(bytes(*first, *end) <= most || end - first == 1, "{draw}");
            }
            for pair in leaves.windows(2) {
                assert!(bytes(pair[0].0, pair[1].0 + 1) > most, "the next part would have fitted, {draw}");
            }
            let largest = leaves.iter().map(|(first, end)| bytes(*first, *end)).max();
            assert_eq!(cut.largest(&sizes), largest.unwrap(), "{draw}");
        }
        assert_eq!(Cut::by_size(&[], 9).borders(), [0, 0]);
        let many = vec![PartSize { rows: 1, bytes: 1 << 30 }; 3 * MAX_LEAVES];
        assert!(Cut::by_size(&many, 1).borders().len() <= MAX_LEAVES + 1);
    }

    #[test]
    fn other_borders_are_no_cut() {
        for bad in [
            vec![],
            vec![0],
            vec![0, 4],
            vec![1, 5],
            vec![0, 3, 3, 5],
            vec![0, 4, 2, 5],
            vec![0, 0],
            vec![0, 0, 5],
        ] {
            assert_eq!(Cut::of(bad.clone(), 5), None, "{bad:?}");
        }
        assert!(Cut::of(vec![0, 0], 0).is_some() && Cut::of(vec![0, 5], 5).is_some());
    }

    /// Every leaf lies under each of its ancestors, children are their parent, and each node is found by its parts.
    #[test]
    fn the_tree_holds_every_part_once_at_every_height() {
        let mut draw = Draw::new();
        for leaves in [1, 2, 31, 32, 33, 100, 1024, 1025, 5000] {
            let mut borders = vec![0];
            (0..leaves).for_each(|leaf: usize| borders.push(borders[leaf] + 1 + draw.below(5) as u32));
            let parts = *borders.last().unwrap();
            let cut = Cut::of(borders.clone(), parts).unwrap();
            let mut level = vec![cut.root()];
            while !level.is_empty() {
                for node in &level {
                    let (first, end) = cut.parts(node);
                    assert_eq!(cut.path((first, end)).unwrap().last(), Some(node));
                    let children = cut.children(node);
                    assert!(children.len() <= FAN_OUT && children.len() != 1);
                    let covered: Vec<_> = children.iter().map(|child| cut.parts(child)).collect();
                    assert!(covered.windows(2).all(|pair| pair[0].1 == pair[1].0));
                    if let (Some(one), Some(last)) = (covered.first(), covered.last()) {
                        assert_eq!((one.0, last.1), (first, end));
                    } else {
                        assert!(borders.windows(2).any(|leaf| leaf == [first, end]));
                    }
                }
                level = level.iter().flat_map(|node| cut.children(node)).collect();
            }
            for _ in 0..200 {
                let (first, end) =
                    (draw.below(parts as usize + 3) as u32, draw.below(parts as usize + 3) as u32);
                if let Some(path) = cut.path((first, end)) {
                    assert_eq!(cut.parts(path.last().unwrap()), (first, end), "{draw}");
                }
            }
        }
    }

    /// Invoking what is missing, over and over, ends in the root whatever was there; and nothing is invoked for a leaf that is there.
    #[test]
    fn what_is_missing_leads_to_the_root() {
        let mut draw = Draw::new();
        for leaves in [1, 2, 33, 1500] {
            let cut = Cut::of((0..=leaves).collect(), leaves).unwrap();
            let root = cut.root();
            assert_eq!(cut.missing(&root, &Present::new()), std::slice::from_ref(&root));
            let mut present: Present =
                (0..leaves).filter(|_| draw.below(2) == 0).map(|leaf| (leaf, leaf + 1)).collect();
            for round in 0.. {
                let missing = cut.missing(&root, &present);
                if missing.is_empty() {
                    assert!(present.contains(&(0, leaves)));
                    break;
                }
                assert!(round < 10, "{draw}");
                for node in missing {
                    let parts = cut.parts(&node);
                    assert!(!present.contains(&parts));
                    let children = cut.children(&node);
                    if children.iter().all(|child| present.contains(&cut.parts(child))) {
                        present.insert(parts);
                    } else {
                        // As a worker does: all of its children, one after the other.
                        assert!(!cut.any_below(&node, &present), "{draw}");
                        present.extend(children.iter().flat_map(|child| child.0.clone()).map(|leaf| {
                            let leaf = leaf as u32;
                            (leaf, leaf + 1)
                        }));
                    }
                }
            }
        }
    }
}
