// SPDX-License-Identifier: Apache-2.0
//! Sets of keys (ROLLUP, CUBE, GROUPING SETS) over columns alone.
//!
//! Rules that settle types rewrite keys and give them their names back. A set of keys is one expression with several outputs, and has no name: so what is computed
//! for it is computed below, under the name of the output.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug)]
pub(super) struct PlainSets;

impl AnalyzerRule for PlainSets {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plain = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Aggregate(aggregate) => match plain(&aggregate)? {
                Some(plan) => Ok(Transformed::yes(plan)),
                None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
            },
            node => Ok(Transformed::no(node)),
        })?;
        Ok(plain.data)
    }

    fn name(&self) -> &'static str {
        "plain_sets"
    }
}

/// The same over computed columns, if there are sets with more than columns.
fn plain(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let [Expr::GroupingSet(set)] = aggregate.group_expr.as_slice() else { return Ok(None) };
    let mut computed: Vec<Expr> = Vec::new();
    let mut column = |key: &Expr| {
        if matches!(key, Expr::Column(_)) {
            return key.clone();
        }
        let name = key.schema_name().to_string();
        let with_name = key.clone().unalias().alias(&name);
        if !computed.contains(&with_name) {
            computed.push(with_name);
        }
        Expr::Column(Column::new_unqualified(name))
    };
    let mut columns = |keys: &[Expr]| keys.iter().map(&mut column).collect::<Vec<_>>();
    let set = match set {
        GroupingSet::Cube(keys) => GroupingSet::Cube(columns(keys)),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.iter().map(|keys| columns(keys)).collect())
        }
        GroupingSet::Rollup(keys) => GroupingSet::Rollup(columns(keys)),
    };
    if computed.is_empty() {
        return Ok(None);
    }
    let all = aggregate.input.schema().columns().into_iter().map(Expr::Column).chain(computed);
    let input = Projection::try_new(all.collect(), Arc::clone(&aggregate.input))?;
    let input = Arc::new(LogicalPlan::Projection(input));
    let over = Aggregate::try_new(input, vec![Expr::GroupingSet(set)], aggregate.aggr_expr.clone())?;
    Ok(Some(LogicalPlan::Aggregate(over)))
}
