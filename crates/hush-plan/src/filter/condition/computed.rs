// SPDX-License-Identifier: Apache-2.0
//! Conditions as polynomials in sums of flags times constants, whose form tells nothing of the constants.
//!
//! Members of AND are multiplied in pairs, those of the least depth first. OR is what is left of AND: `a ∨ b = 1 − (1 − a)·(1 − b)`. Whether members of OR can meet
//! in a row hangs on constants, and so is not looked at.

use super::{CodedColumns, Condition};
use crate::filter::MAX_CONSTANTS;
use crate::filter::code::Inner;
use crate::plan::Formula;

/// Levels of which a depth is counted: more than any chain has.
const LEVELS: u8 = u8::MAX;

impl CodedColumns<'_> {
    /// The formula of a condition, whose sums are added to those before; `None` where clear columns decide some of it, since they would show their constants.
    pub(super) fn computed(self, condition: &Condition, sums: &mut Vec<Inner>) -> Option<Formula> {
        match condition {
            Condition::Clear(_) => None,
            Condition::Within(column, places, most) => {
                // More ranges take more constants than there may be: the question is refused for these.
                let most = (*most).min(MAX_CONSTANTS);
                Some(self.codes.get(*column)?.computed((places, most), sums))
            }
            Condition::Missing(column) => Some(self.codes.get(*column)?.missing(sums)),
            Condition::And(members) => {
                let members = members.iter().map(|member| self.computed(member, sums));
                product(members.collect::<Option<_>>()?)
            }
            Condition::Or(members) => {
                let members = members.iter().map(|member| Some(self.computed(member, sums)?.complement()));
                product(members.collect::<Option<_>>()?).map(Formula::complement)
            }
        }
    }
}

/// The product, as shallow as it can be.
fn product(mut members: Vec<Formula>) -> Option<Formula> {
    let depth = |formula: &Formula| formula.level(LEVELS).map_or(LEVELS, |level| LEVELS - level);
    while members.len() > 1 {
        // The order of the others stays, so that it is that of the condition.
        members.sort_by_cached_key(depth);
        let second = members.remove(1);
        let first = members.remove(0);
        members.push(first.times(second));
    }
    members.pop()
}
