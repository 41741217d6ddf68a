// SPDX-License-Identifier: Apache-2.0
//! The part of a plan between an aggregate and one of the scans below it, if what it adds up may be added up by groups of this scan's rows first.

use std::collections::{HashMap, HashSet};

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, TableReference};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, TableScan};

/// What the columns of a node are, over those of the region's scan and of the tables that it is joined with.
type Origins = HashMap<Column, Expr>;

/// A scan and what is above it, from below: conditions and joins. Names and expressions in between are worked in.
#[derive(Clone)]
pub(super) struct Region {
    pub(super) scan: TableScan,
    pub(super) steps: Vec<Step>,
    columns: Origins,
    /// Columns of the tables that it is joined with, under their names.
    others: HashSet<Column>,
}

/// One node above a scan.
#[derive(Clone)]
pub(super) enum Step {
    /// Rows for which this is true are left.
    Filter(Expr),
    /// A join, with the keys and the condition over what is below it.
    Join {
        join: Box<Join>,
        /// Whether the scan is on the left.
        is_left: bool,
        /// Whether its key is the class of the scan's own key, which is no column of its rows.
        is_of_classes: bool,
    },
}

impl Step {
    /// Its conditions and keys.
    pub(super) fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Filter(condition) => vec![condition],
            Self::Join { join, .. } => {
                join.on.iter().flat_map(|(left, right)| [left, right]).chain(&join.filter).collect()
            }
        }
    }
}

impl Region {
    /// The regions of every scan below `plan`. Their own columns are under the name `relation`.
    ///
    /// Rows of a scan have to find their partners by their own columns alone, each for itself, and none may be made up where no partner is found. So a
    /// region goes through inner joins, and through the kept side of outer, semi and anti joins.
    pub(super) fn below(plan: &LogicalPlan, relation: &TableReference) -> Vec<Self> {
        match plan {
            LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
                let schema = &scan.projected_schema;
                let own = |column: Column| {
                    let inside = Column::new(Some(relation.clone()), column.name.clone());
                    (column, Expr::Column(inside))
                };
                let columns = schema.columns().into_iter().map(own).collect();
                vec![Self { scan: scan.clone(), steps: Vec::new(), columns, others: HashSet::new() }]
            }
            LogicalPlan::Projection(projection) => {
                let regions = Self::below(&projection.input, relation).into_iter();
                let named = |region: Self| {
                    let names = projection.schema.columns().into_iter();
                    let exprs = projection.expr.iter().map(|expr| region.work_in(expr.clone().unalias()));
                    let columns =
                        names.zip(exprs).map(|(name, expr)| Some((name, expr?))).collect::<Option<_>>()?;
                    Some(Self { columns, ..region })
                };
                regions.filter_map(named).collect()
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let regions = Self::below(&alias.input, relation).into_iter();
                let (outer, inner) = (alias.schema.columns(), alias.input.schema().columns());
                let renamed = |region: Self| {
                    let both = outer.iter().zip(&inner);
                    let columns = both.map(|(outer, inner)| {
                        region.columns.get(inner).map(|expr| (outer.clone(), expr.clone()))
                    });
                    Some(Self { columns: columns.collect::<Option<_>>()?, ..region })
                };
                regions.filter_map(renamed).collect()
            }
            LogicalPlan::Filter(filter) => {
                let regions = Self::below(&filter.input, relation).into_iter();
                let narrowed = |mut region: Self| {
                    region.steps.push(Step::Filter(region.work_in(filter.predicate.clone())?));
                    Some(region)
                };
                regions.filter_map(narrowed).collect()
            }
            LogicalPlan::Join(join) => {
                use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi};
                use JoinType::{Right, RightAnti, RightMark, RightSemi};
                let kind = join.join_type;
                let mut regions = Vec::new();
                if matches!(kind, Inner | Left | LeftSemi | LeftAnti | LeftMark) {
                    let left = Self::below(&join.left, relation).into_iter();
                    regions.extend(left.filter_map(|region| region.joined(join, true)));
                }
                if matches!(kind, Inner | Right | RightSemi | RightAnti | RightMark) {
                    let right = Self::below(&join.right, relation).into_iter();
                    regions.extend(right.filter_map(|region| region.joined(join, false)));
                }
                regions
            }
            _ => Vec::new(),
        }
    }

    /// The region, with a join above it.
    fn joined(mut self, join: &Join, is_left: bool) -> Option<Self> {
        let (here, other) = if is_left { (&join.left, &join.right) } else { (&join.right, &join.left) };
        // The other side has its columns under their names, of which each has to be one column: aliases above others are gone.
        let others = other.schema().columns();
        if others.iter().any(|column| !self.others.insert(column.clone())) {
            return None;
        }
        let named = others.into_iter().map(|column| (column.clone(), Expr::Column(column)));
        let both = named.chain(self.columns.drain()).collect::<Origins>();
        let below = Self { columns: both, ..self };
        let on = join
            .on
            .iter()
            .map(|(left, right)| Some((below.work_in(left.clone())?, below.work_in(right.clone())?)));
        let on = on.collect::<Option<Vec<_>>>()?;
        let filter = match &join.filter {
            Some(filter) => Some(below.work_in(filter.clone())?),
            None => None,
        };
        let columns = join.schema.columns().into_iter().map(|column| {
            let expr = match here.schema().has_column(&column) {
                true => below.columns.get(&column)?.clone(),
                false => Expr::Column(column.clone()),
            };
            Some((column, expr))
        });
        let columns = columns.collect::<Option<Origins>>()?;
        let mut steps = below.steps;
        let join = Box::new(Join { on, filter, ..join.clone() });
        steps.push(Step::Join { join, is_left, is_of_classes: false });
        Some(Self { steps, columns, ..below })
    }

    /// An expression over the region's uppermost node, over the columns of its scan and of the tables that it is joined with. `None` if there is a
    /// question in it.
    pub(super) fn work_in(&self, expr: Expr) -> Option<Expr> {
        let unknown = || DataFusionError::Internal("a column of another node".to_owned());
        let worked_in = expr.transform_down(|part| match &part {
            Expr::Column(column) => {
                let inside = self.columns.get(column).cloned().ok_or_else(unknown)?;
                Ok(Transformed::new(inside, true, TreeNodeRecursion::Jump))
            }
            Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::ScalarSubquery(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..) => Err(unknown()),
            _ => Ok(Transformed::no(part)),
        });
        worked_in.ok().map(|expr| expr.data)
    }
}
