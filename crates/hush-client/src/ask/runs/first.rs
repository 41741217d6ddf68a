// SPDX-License-Identifier: Apache-2.0
//! The first rows in the order of a run: of the rows that were opened, those that can be among them. The query engine sorts what is left.

use hush_plan::plan::{Key, Opens, RunQuery};
use hush_plan::run::RunColumn;

use super::Blocks;
use crate::run::BlockRows;

/// Drops rows that cannot be among the first ones, where no condition says which rows match. Rows that are alike in the order stay together, and rows
/// of parts without the run only take the place of others.
///
/// # Cost
/// Linear in the rows.
pub(super) fn keep_first(by: &RunColumn, blocks: &mut Blocks, query: &RunQuery) {
    let (Opens::First { rows, descending, nulls_first }, None) = (&query.opens, &query.segments) else {
        return;
    };
    let key = |rows: &BlockRows, row| rows.columns.first().and_then(|values| values.key(by.form, row));
    let all = || blocks.iter().flat_map(|blocks| blocks.values());
    let count: usize = all().map(|rows| rows.numbers.len()).sum();
    let keys = all().flat_map(|rows| (0..rows.numbers.len()).filter_map(move |row| key(rows, row)));
    let mut keys: Vec<Key> = keys.collect();
    // Missing values stand before all others, or behind them.
    let before = if *nulls_first { count - keys.len() } else { 0 };
    let wanted = usize::try_from(*rows).unwrap_or(usize::MAX).saturating_sub(before);
    if wanted == 0 || wanted >= keys.len() {
        return;
    }
    let place = if *descending { keys.len() - wanted } else { wanted - 1 };
    let (_, limit, _) = keys.select_nth_unstable(place);
    let can_be = |key: Key| if *descending { key >= *limit } else { key <= *limit };
    for rows in blocks.iter_mut().flat_map(|blocks| blocks.values_mut()) {
        let kept = (0..rows.numbers.len()).filter(|row| key(rows, *row).map_or(*nulls_first, can_be));
        let kept: Vec<usize> = kept.collect();
        rows.keep(&kept);
    }
}

#[cfg(test)]
mod tests;
