// SPDX-License-Identifier: Apache-2.0
//! Regression trees (Breiman, Friedman, Olshen and Stone, *Classification and Regression Trees*, 1984).
//!
//! A split sends rows with `feature ≤ at` one way and the others the other way. The best one makes the sum of the squared
//! distances from the means of the two sides least; for an outcome of 0 and 1 it is the one with the least impurity of Gini.

use serde::{Deserialize, Serialize};

/// A tree as nodes; the first is the root, and children stand behind their parents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// At least one.
    pub nodes: Vec<Node>,
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Node {
    /// What the tree says of the rows that arrive here.
    Leaf {
        /// The mean of their outcomes.
        #[serde(deserialize_with = "super::exact::double")]
        value: f64,
        /// How many rows of those that it was fitted to.
        rows: u64,
    },
    /// A question.
    Split {
        /// The place of a feature.
        feature: usize,
        /// The largest value that goes to `below`.
        #[serde(deserialize_with = "super::exact::double")]
        at: f64,
        /// The node of rows up to `at`.
        below: usize,
        /// The node of the others.
        above: usize,
    },
}

/// How large a tree may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeSize {
    /// Questions one after the other, up to [`MAX_DEPTH`].
    pub depth: u32,
    /// Rows of a leaf, at least 1.
    pub leaf_rows: usize,
}

/// Deepest tree.
pub const MAX_DEPTH: u32 = 16;

/// Rows as columns of one length: the outcomes, and the values of each feature. All are finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    pub(super) outcomes: &'a [f64],
    pub(super) features: &'a [Vec<f64>],
}

/// A question with how much it helps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Question {
    feature: usize,
    at: f64,
    /// By how much it lessens the sum of squared distances.
    gain: f64,
}

/// Least part of the squared distances of all rows that a question has to take away: less is rounding.
const LEAST_GAIN: f64 = 1e-12;

/// Grows a tree, each question the best for its rows. Of equally good ones it takes that of the first feature, and the lowest value.
///
/// # Cost
/// `O(depth · features · n log n)` for `n` rows; 24 bytes for each row.
pub(super) fn grow(observed: Observed<'_>, size: TreeSize) -> Tree {
    let all: Vec<usize> = (0..observed.outcomes.len()).collect();
    let least = LEAST_GAIN * distances(observed, &all);
    let mut nodes = vec![leaf(observed, &all)];
    // Nodes that may still become questions, with their rows and depth.
    let mut open = vec![(0, all, 0)];
    while let Some((place, rows, depth)) = open.pop() {
        if depth >= size.depth {
            continue;
        }
        let Some(question) = best(observed, &rows, size.leaf_rows).filter(|best| best.gain > least) else {
            continue;
        };
        let value = |row: &usize| observed.features.get(question.feature).and_then(|column| column.get(*row));
        let (low, high): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|row| value(row).is_some_and(|value| *value <= question.at));
        let (below, above) = (nodes.len(), nodes.len() + 1);
        nodes.extend([leaf(observed, &low), leaf(observed, &high)]);
        if let Some(node) = nodes.get_mut(place) {
            *node = Node::Split { feature: question.feature, at: question.at, below, above };
        }
        open.extend([(below, low, depth + 1), (above, high, depth + 1)]);
    }
    Tree { nodes }
}

/// Some rows, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    count: f64,
    sum: f64,
}

impl Side {
    fn with(self, outcome: f64) -> Self {
        Self { count: self.count + 1.0, sum: self.sum + outcome }
    }

    fn without(self, other: Self) -> Self {
        Self { count: self.count - other.count, sum: self.sum - other.sum }
    }

    /// The part of the squares that the mean explains.
    fn explained(self) -> f64 {
        self.sum * self.sum / self.count
    }
}

fn mean(observed: Observed<'_>, rows: &[usize]) -> f64 {
    let outcomes = rows.iter().filter_map(|row| observed.outcomes.get(*row));
    outcomes.sum::<f64>() / rows.len().max(1) as f64
}

/// The sum of squared distances from the mean.
fn distances(observed: Observed<'_>, rows: &[usize]) -> f64 {
    let mean = mean(observed, rows);
    let outcomes = rows.iter().filter_map(|row| observed.outcomes.get(*row));
    outcomes.map(|outcome| (outcome - mean) * (outcome - mean)).sum()
}

fn leaf(observed: Observed<'_>, rows: &[usize]) -> Node {
    Node::Leaf { value: mean(observed, rows), rows: rows.len() as u64 }
}

/// The best question for these rows; `None` if no feature parts them into two leaves that are large enough.
fn best(observed: Observed<'_>, rows: &[usize], leaf_rows: usize) -> Option<Question> {
    // Distances from the mean of these rows, so that a large mean costs no digits.
    let mean = mean(observed, rows);
    let mut best: Option<Question> = None;
    for (feature, column) in observed.features.iter().enumerate() {
        let cell = |row: &usize| Some((*column.get(*row)?, *observed.outcomes.get(*row)? - mean));
        let mut cells: Vec<(f64, f64)> = rows.iter().filter_map(cell).collect();
        cells.sort_unstable_by(|(one, y), (other, z)| one.total_cmp(other).then(y.total_cmp(z)));
        let all = cells.iter().fold(Side::default(), |side, (_, outcome)| side.with(*outcome));
        let mut low = Side::default();
        for (pair, taken) in cells.windows(2).zip(1..) {
            let [(value, outcome), (next, _)] = *pair else { continue };
            low = low.with(outcome);
            // Zeros of either sign are one value.
            if value >= next || taken < leaf_rows || cells.len() - taken < leaf_rows {
                continue;
            }
            let gain = low.explained() + all.without(low).explained() - all.explained();
            if best.is_none_or(|best| gain > best.gain) {
                best = Some(Question { feature, at: between(value, next), gain });
            }
        }
    }
    best
}

/// The middle of two values, in as few digits as leave it between them: at least the lower one, and less than the higher one.
fn between(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    let rounded = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse().ok());
    rounded.chain([middle]).find(|at| (low..high).contains(at)).unwrap_or(low)
}

impl Tree {
    /// What the tree says of a row.
    pub fn value(&self, features: &[f64]) -> Option<f64> {
        let mut place = 0;
        loop {
            match *self.nodes.get(place)? {
                Node::Leaf { value, .. } => return Some(value),
                Node::Split { feature, at, below, above } => {
                    place = if *features.get(feature)? <= at { below } else { above };
                }
            }
        }
    }

    /// Questions one after the other at most.
    pub fn depth(&self) -> u32 {
        let mut depths = vec![0; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            let Node::Split { below, above, .. } = node else { continue };
            let behind = depths.get(place).map_or(0, |depth| depth + 1);
            for child in [below, above] {
                if let Some(depth) = depths.get_mut(*child) {
                    *depth = behind;
                }
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Leaf { .. })).count()
    }

    /// What is wrong with a tree from a file over so many features.
    pub(super) fn fault(&self, features: usize) -> Option<&'static str> {
        let mut parents = vec![0_u32; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            match *node {
                Node::Leaf { value, .. } if !value.is_finite() => return Some("a leaf has no finite value"),
                Node::Leaf { .. } => {}
                Node::Split { feature, at, below, above } => {
                    if feature >= features || !at.is_finite() {
                        return Some("a node asks for a feature that there is not");
                    }
                    for child in [below, above] {
                        match parents.get_mut(child) {
                            Some(count) if child > place => *count += 1,
                            _ => return Some("nodes are not in the order of a tree"),
                        }
                    }
                }
            }
        }
        let is_tree = parents.iter().enumerate().all(|(place, count)| *count == u32::from(place > 0));
        if self.nodes.is_empty() || !is_tree {
            return Some("nodes are not those of one tree");
        }
        (self.depth() > MAX_DEPTH).then_some("the tree is too deep")
    }
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;

    /// All questions, by definition.
    fn best_by_trying(observed: Observed<'_>, leaf_rows: usize) -> Option<(f64, usize, f64)> {
        let all: Vec<usize> = (0..observed.outcomes.len()).collect();
        let mut best: Option<(f64, usize, f64)> = None;
        for (feature, column) in observed.features.iter().enumerate() {
            let mut values = column.clone();
            values.sort_by(f64::total_cmp);
            values.dedup();
            for pair in values.windows(2) {
                let at = (pair[0] + pair[1]) / 2.0;
                let (low, high): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| column[**row] <= at);
                if low.len() >= leaf_rows && high.len() >= leaf_rows {
                    let left = distances(observed, &low) + distances(observed, &high);
                    if best.is_none_or(|(least, ..)| left < least - 1e-9) {
                        best = Some((left, feature, at));
                    }
                }
            }
        }
        best
    }

    #[test]
    fn a_question_is_the_best_of_all() {
        let mut draw = Draw::of(5);
        for turn in 0..200 {
            let rows = 2 + draw.below(30);
            let outcomes: Vec<f64> = (0..rows).map(|_| 1e6 + draw.below(7) as f64).collect();
            let features: Vec<Vec<f64>> =
                (0..3).map(|_| (0..rows).map(|_| draw.below(6) as f64 - 2.5).collect()).collect();
            let observed = Observed { outcomes: &outcomes, features: &features };
            let leaf_rows = 1 + draw.below(3);
            let tree = grow(observed, TreeSize { depth: 1, leaf_rows });
            let Some((left, feature, at)) = best_by_trying(observed, leaf_rows) else {
                assert_eq!(tree.nodes.len(), 1, "{turn}");
                continue;
            };
            let all: Vec<usize> = (0..rows).collect();
            match tree.nodes[0] {
                Node::Split { feature: found, at: place, below, above } => {
                    let same =
                        |row: &usize| (features[found][*row] <= place) == (features[feature][*row] <= at);
                    assert!(found == feature && all.iter().all(same), "{turn}");
                    let rows_of = |node: usize| match tree.nodes[node] {
                        Node::Leaf { rows, .. } => rows as usize,
                        Node::Split { .. } => 0,
                    };
                    assert_eq!(rows_of(below) + rows_of(above), rows);
                    assert!(rows_of(below) >= leaf_rows && rows_of(above) >= leaf_rows);
                }
                Node::Leaf { .. } => assert!(distances(observed, &all) - left < 1e-6, "{turn}"),
            }
        }
    }

    #[test]
    fn a_deep_tree_learns_a_table_by_heart() {
        let features: Vec<Vec<f64>> =
            (0..3).map(|bit| (0..8).map(|row| f64::from((row >> bit) & 1)).collect()).collect();
        let outcomes = [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0];
        let observed = Observed { outcomes: &outcomes, features: &features };
        let tree = grow(observed, TreeSize { depth: 3, leaf_rows: 1 });
        assert_eq!((tree.depth(), tree.leaves(), tree.fault(3)), (3, 8, None));
        for (row, outcome) in outcomes.iter().enumerate() {
            let values: Vec<f64> = features.iter().map(|column| column[row]).collect();
            assert_eq!(tree.value(&values), Some(*outcome));
        }
        assert_eq!(
            grow(observed, TreeSize { depth: 3, leaf_rows: 5 }).nodes,
            [Node::Leaf { value: 3.9375, rows: 8 }]
        );
        assert_eq!(grow(observed, TreeSize { depth: 0, leaf_rows: 1 }).leaves(), 1);
    }

    #[test]
    fn nodes_that_are_no_tree_are_found() {
        let leaf = Node::Leaf { value: 1.0, rows: 1 };
        let split = |below, above| Node::Split { feature: 0, at: 0.5, below, above };
        let faulty = [
            vec![],
            vec![split(1, 1), leaf],
            vec![split(0, 1), leaf],
            vec![split(1, 2), leaf],
            vec![leaf, leaf],
            vec![split(1, 2), leaf, Node::Leaf { value: f64::INFINITY, rows: 1 }],
            vec![Node::Split { feature: 1, at: 0.5, below: 1, above: 2 }, leaf, leaf],
        ];
        for nodes in faulty {
            assert!(Tree { nodes: nodes.clone() }.fault(1).is_some(), "{nodes:?}");
        }
        assert_eq!(Tree { nodes: vec![split(1, 2), leaf, leaf] }.fault(1), None);
        let chain = |steps: usize| {
            let nodes = (0..steps).flat_map(|step| [split(2 * step + 1, 2 * step + 2), leaf]);
            Tree { nodes: nodes.chain([leaf]).collect() }
        };
        assert_eq!(chain(MAX_DEPTH as usize).fault(1), None);
        assert_eq!(chain(MAX_DEPTH as usize + 1).fault(1), Some("the tree is too deep"));
        // So many that a recursion would not come back.
        assert_eq!(chain(1_000_000).fault(1), Some("the tree is too deep"));
    }

    #[test]
    fn neighbouring_doubles_are_told_apart() {
        let low = 1.0_f64;
        let high = low.next_up();
        assert_eq!(between(low, high), low);
        assert_eq!([between(7.0, 8.0), between(40.0, 70.5), between(-0.3, -0.1)], [7.5, 60.0, -0.2]);
        assert_eq!(between(1_234_567.0, 1_234_568.0), 1_234_567.5);
        assert_eq!(between(-f64::MAX, f64::MAX), 0.0);
        assert!(between(f64::MAX.next_down(), f64::MAX) < f64::MAX);
    }
}
