// SPDX-License-Identifier: Apache-2.0
//! Tasks on products of stored ciphertexts: sums over all rows of what a condition on encrypted columns leaves, without any key.

use serde::{Deserialize, Serialize};

use super::computed::ComputedCondition;
use super::predicate::Predicate;
use super::ranks::Choices;
use crate::encoding::EncodingId;

/// Sums over the rows of products of encoded columns. Rows for which the plan's predicate does not hold, and deleted ones, count as 0.
///
/// *Answer.* Of each domain and each run of chunks ([`ProductsTask::elements`]) the sums in their order, each with the components of its degree; with keys
/// for each group in turn. The groups are its clear half, as columns `k0`, `k1`, … and `c0`, the number of rows of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductsTask {
    /// `GROUP BY`: scalar SQL expressions over clear columns. None: no groups, and no clear half.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Refuse above this many groups, where there are keys.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_groups: u64,
    /// Encoded columns (layout `slots`, one prime, one ring and one secret), which factors and sums name by their places here.
    pub columns: Vec<EncodingId>,
    /// Columns of the same kind that are others in each chunk, which factors name by two places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choices>,
    /// Conditions on clear columns, which factors name by their places here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<Predicate>,
    /// A condition whose constants are encrypted, which factors name too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computed: Option<ComputedCondition>,
    /// Polynomials in all of these.
    pub factors: Vec<Factor>,
    /// What is added up.
    pub sums: Vec<ProductSum>,
    /// Whether sums are brought back to two components, with the table's keys for powers of the secret.
    #[serde(default, skip_serializing_if = "is_false")]
    pub relinearised: bool,
    /// Most ring elements that are added up in one answer: the bounds on noise and on slots hold up to there.
    pub elements: u32,
}

/// A polynomial in encoded columns and conditions, slot by slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Factor {
    /// Sum of two.
    Add(Box<Factor>, Box<Factor>),
    /// What is chosen for each chunk, at the second place of [`Choices::of_chunks`] in the first one of [`ProductsTask::choices`].
    Chosen(usize, usize),
    /// The encoded column at this place of [`ProductsTask::columns`].
    Column(usize),
    /// The condition [`ProductsTask::computed`].
    Computed,
    /// The same integer in every slot.
    Constant(i64),
    /// The factor with this number in the list, which stands before this one.
    Earlier(usize),
    /// 1 where the condition at this place of [`ProductsTask::masks`] is true, and 0 elsewhere, behind the rows too.
    Mask(usize),
    /// Product of two.
    Mul(Box<Factor>, Box<Factor>),
    /// This power of the ring element's number, the same in every slot: the residue nearest to 0 modulo the prime of slots. The elements of an answer are
    /// numbered from 0 on, in the order of the table.
    Number(u8),
    /// Difference of two.
    Sub(Box<Factor>, Box<Factor>),
}

/// The sum over all rows of a factor, or of a factor times an encoded column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductSum {
    /// The number of the factor.
    pub factor: usize,
    /// The place of the column in [`ProductsTask::columns`].
    pub measure: Option<usize>,
    /// Bits to which the coefficients of each component are rounded, that of 1 first; as many as the answer has components.
    pub bits: Vec<u32>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ProductSum {
    /// Bits of each component, as sizes are counted.
    pub(crate) fn rounded(&self) -> Vec<Option<u32>> {
        self.bits.iter().copied().map(Some).collect()
    }
}

impl Factor {
    /// The degree of the result in the secret. `earlier` has those of the factors before.
    pub fn degree(&self, earlier: &[usize]) -> usize {
        match self {
            Self::Chosen(..) | Self::Column(_) | Self::Computed => 1,
            Self::Constant(_) | Self::Mask(_) | Self::Number(_) => 0,
            Self::Earlier(number) => earlier.get(*number).copied().unwrap_or_default(),
            Self::Add(left, right) | Self::Sub(left, right) => {
                left.degree(earlier).max(right.degree(earlier))
            }
            Self::Mul(left, right) => left.degree(earlier) + right.degree(earlier),
        }
    }

    /// Nodes of it.
    pub fn size(&self) -> usize {
        match self {
            Self::Add(left, right) | Self::Mul(left, right) | Self::Sub(left, right) => {
                1 + left.size() + right.size()
            }
            _ => 1,
        }
    }

    /// Products of two polynomials in it.
    pub fn products(&self) -> usize {
        match self {
            Self::Add(left, right) | Self::Sub(left, right) => left.products() + right.products(),
            Self::Mul(left, right) => 1 + left.products() + right.products(),
            _ => 0,
        }
    }

    /// The highest power of an element's number that it names itself.
    fn highest_power(&self) -> Option<u8> {
        match self {
            Self::Add(left, right) | Self::Mul(left, right) | Self::Sub(left, right) => {
                left.highest_power().max(right.highest_power())
            }
            Self::Number(power) => Some(*power),
            _ => None,
        }
    }
}

impl ProductsTask {
    /// How many groups its sums are of, where rows make so many.
    pub fn groups(&self, found: u64) -> u64 {
        if self.keys.is_empty() { 1 } else { found }
    }

    /// The highest power of a ring element's number that factors name: then the slots of sums are read one by one, where otherwise they are added up.
    pub fn highest_power(&self) -> Option<u8> {
        self.factors.iter().filter_map(Factor::highest_power).max()
    }

    /// A column that it reads.
    pub fn first_column(&self) -> Option<EncodingId> {
        let chosen = || self.choices.iter().find_map(|choices| choices.among.first());
        self.columns.first().or_else(chosen).copied()
    }

    /// How many encoded columns factors and sums name; what is chosen in each chunk is one.
    pub fn operand_count(&self) -> usize {
        self.columns.len() + self.choices.iter().map(|choices| choices.of_chunks.len()).sum::<usize>()
    }

    /// The place among all operands, behind [`ProductsTask::columns`], of what is chosen for each chunk.
    pub fn place_of_chosen(&self, choices: usize, place: usize) -> usize {
        let before = self.choices.iter().take(choices).map(|choices| choices.of_chunks.len());
        self.columns.len() + before.sum::<usize>() + place
    }

    /// The degree of each factor.
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees = Vec::with_capacity(self.factors.len());
        for factor in &self.factors {
            let degree = factor.degree(&degrees);
            degrees.push(degree);
        }
        degrees
    }

    /// Components of a sum in the answer.
    pub fn answered(&self, sum: &ProductSum) -> usize {
        let components = self.components(sum);
        if self.relinearised { components.min(2) } else { components }
    }

    /// Components of a sum's ciphertext: one more than its degree.
    pub fn components(&self, sum: &ProductSum) -> usize {
        self.degrees().get(sum.factor).map_or(0, |degree| degree + usize::from(sum.measure.is_some()) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_follow_from_the_factors_before() {
        let column = |place| Box::new(Factor::Column(place));
        let difference = Factor::Sub(column(0), column(1));
        let both = Factor::Mul(Box::new(difference), column(2));
        let group = Factor::Mul(
            Box::new(Factor::Earlier(0)),
            Box::new(Factor::Add(column(3), Box::new(Factor::Constant(-1)))),
        );
        let sum = |factor, measure| ProductSum { factor, measure, bits: Vec::new() };
        let task = ProductsTask {
            factors: vec![both, group],
            sums: vec![sum(0, None), sum(1, Some(4)), sum(2, None)],
            ..ProductsTask::default()
        };
        assert_eq!(task.degrees(), [2, 3]);
        assert_eq!(task.sums.iter().map(|sum| task.components(sum)).collect::<Vec<_>>(), [3, 5, 0]);
        assert_eq!(
            task.factors.iter().map(|factor| (factor.size(), factor.products())).collect::<Vec<_>>(),
            [(5, 1), (5, 1)]
        );
        let text = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<ProductsTask>(&text).unwrap(), task);
    }
}
