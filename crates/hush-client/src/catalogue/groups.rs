// SPDX-License-Identifier: Apache-2.0
//! Groups of one table's rows in place of the rows: what a join adds up is added up before it.
//!
//! ```text
//!   aggregate by w.region                       aggregate by w.region
//!     join on p.ward = w.ward                     join on g.ward = w.ward
//!       scan p: every row                           scan g: SELECT ward, SUM(charges) FROM p GROUP BY ward
//!       scan w                                      scan w
//! ```
//!
//! Rows that agree in all columns by which a plan matches, chooses and groups them find the same partners, so that sums of them may be taken first (Yan
//! and Larson, *Eager aggregation and lazy aggregation*, VLDB 1995). Then one question about one table gives the groups, in every way that this
//! table's questions are answered: a cube, a server's sums, a condition without keys.
//!
//! *Invariants.* The result is that of the rows. Conditions on the table that the question states are this question's; every other part of the plan stays.

mod classes;
mod measure;
mod region;
mod wanted;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, LogicalPlan, Projection, TableScan, TableScanBuilder, lit,
};

pub(super) use self::classes::{Classes, come, has_come};
use self::classes::{key_of, matched};
use self::region::{Region, Step};
use self::wanted::{Finish, Wanted, name_of};
use super::conditions::{Described, quoted, render};
use super::narrowed::tokens_of;
use super::scan::{Groups, Scan};
use super::stated::Stated;

/// What is gained by groups, the second scan, in place of rows, the first: more than 0, or `None`.
pub(super) type Gain<'a> = &'a dyn Fn(&Scan, &Scan) -> Option<f64>;

/// What decides on groups.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) gain: Gain<'a>,
    /// The classes of a scan's keys by their partners, where they are known.
    pub(super) classes: &'a dyn Fn(&Matching<'_>, &Stated) -> Option<Rc<Classes>>,
}

/// A scan and the part of a plan in which its rows have partners.
pub(super) struct Matching<'a> {
    /// What is read of the scan.
    pub(super) rows: &'a Scan,
    /// The column of its rows that is matched.
    pub(super) own: &'a Column,
    /// The part of the plan.
    pub(super) partners: &'a LogicalPlan,
    /// The column of the partners with which it is matched.
    pub(super) theirs: &'a Column,
}

/// The keys of a step, as classes.
struct ByClass {
    step: usize,
    own: Column,
    theirs: Column,
    classes: Rc<Classes>,
}

/// The plan with groups in place of rows wherever something is gained by it.
///
/// # Errors
/// None but bugs.
pub(super) fn grouped(plan: LogicalPlan, stated: &Stated, choice: Choice<'_>) -> Result<LogicalPlan> {
    let mut number = 0;
    let mut best = |aggregate: &Aggregate| {
        number += 1;
        best_of(aggregate, &TableReference::bare(format!("#{number}")), stated, choice)
    };
    let plan = plan.transform_down_with_subqueries(|node| {
        use JoinType::{LeftAnti, LeftMark, LeftSemi};
        match &node {
            LogicalPlan::Aggregate(aggregate) => {
                let plan = best(aggregate)?;
                Ok(plan.map_or_else(|| Transformed::no(node), Transformed::yes))
            }
            // Whether there is a partner does not depend on how many there are.
            LogicalPlan::Join(join) if matches!(join.join_type, LeftSemi | LeftAnti | LeftMark) => {
                let all: Vec<Expr> = join.right.schema().columns().into_iter().map(Expr::Column).collect();
                if all.is_empty() {
                    return Ok(Transformed::no(node));
                }
                let distinct = Aggregate::try_new(Arc::clone(&join.right), all, Vec::new())?;
                let right = best(&distinct)?;
                Ok(match right {
                    Some(right) => {
                        Transformed::yes(LogicalPlan::Join(Join { right: Arc::new(right), ..join.clone() }))
                    }
                    None => Transformed::no(node),
                })
            }
            _ => Ok(Transformed::no(node)),
        }
    })?;
    Ok(plan.data.transform_up_with_subqueries(|node| node.recompute_schema().map(Transformed::yes))?.data)
}

/// The aggregate over those groups that gain most, if any do.
fn best_of(
    aggregate: &Aggregate,
    relation: &TableReference,
    stated: &Stated,
    choice: Choice<'_>,
) -> Result<Option<LogicalPlan>> {
    let mut best: Option<(f64, LogicalPlan)> = None;
    for region in Region::below(&aggregate.input, relation) {
        if region.scan.source.is::<Groups>() || has_come(&region.scan) {
            continue;
        }
        let rows = Scan::of(&region.scan, stated)?;
        let by_classes = by_classes(aggregate, (&region, relation), (&rows, stated), choice);
        for by_class in std::iter::once(None).chain(by_classes.into_iter().map(Some)) {
            let groups = of_region(aggregate, (region.clone(), relation), stated, by_class.as_ref());
            let Some((groups, plan)) = groups else { continue };
            if let Some(gained) = (choice.gain)(&rows, &groups)
                && best.as_ref().is_none_or(|(most, _)| gained > *most)
            {
                best = Some((gained, plan));
            }
        }
    }
    Ok(best.map(|(_, plan)| plan))
}

/// The joins of a region whose keys may be taken as classes, because nothing else reads them, and whose classes are known.
fn by_classes(
    aggregate: &Aggregate,
    (region, relation): (&Region, &TableReference),
    (rows, stated): (&Scan, &Stated),
    choice: Choice<'_>,
) -> Vec<ByClass> {
    let inside = |expr: &Expr| region.work_in(expr.clone().unalias());
    let outputs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr).map(inside);
    let Some(outputs) = outputs.collect::<Option<Vec<_>>>() else { return Vec::new() };
    // How often a column is read of the whole region.
    let reads = |column: &Column| {
        let of_steps = region.steps.iter().flat_map(Step::expressions);
        let all = outputs.iter().chain(of_steps);
        all.map(|expr| count_reads(expr, column)).sum::<usize>()
    };
    let steps = region.steps.iter().enumerate().filter_map(|(step, found)| {
        let Step::Join { join, is_left, .. } = found else { return None };
        let (left, right) = matched(join)?;
        let (own, theirs) = if *is_left { (left, right) } else { (right, left) };
        let partners = if *is_left { &*join.right } else { &*join.left };
        let (own, theirs) = (key_of(own, &region.scan.projected_schema)?, key_of(theirs, partners.schema())?);
        let is_key = own.relation.as_ref() == Some(relation) && partners.schema().has_column(theirs);
        if !is_key || reads(own) != 1 || reads(theirs) != 1 {
            return None;
        }
        let classes = (choice.classes)(&Matching { rows, own, partners, theirs }, stated)?;
        Some(ByClass { step, own: own.clone(), theirs: theirs.clone(), classes })
    });
    steps.collect()
}

/// How often an expression reads a column.
fn count_reads(expr: &Expr, column: &Column) -> usize {
    let mut count = 0;
    // It never fails, since the closure does not.
    let _ = expr.apply(|part| {
        count += usize::from(matches!(part, Expr::Column(found) if found == column));
        Ok(TreeNodeRecursion::Continue)
    });
    count
}

/// The groups of a region's scan, and the aggregate over them; `None` where they would not do.
fn of_region(
    aggregate: &Aggregate,
    (region, relation): (Region, &TableReference),
    stated: &Stated,
    by_class: Option<&ByClass>,
) -> Option<(Scan, LogicalPlan)> {
    let inside = |expr: &Expr| region.work_in(expr.clone().unalias());
    let keys = aggregate.group_expr.iter().map(inside).collect::<Option<Vec<_>>>()?;
    let calls = aggregate.aggr_expr.iter().map(inside).collect::<Option<Vec<_>>>()?;
    let (scan, mut steps) = (&region.scan, region.steps.clone());
    let columns =
        DFSchema::try_from_qualified_schema(relation.clone(), scan.projected_schema.as_arrow()).ok()?;
    let tokens = &tokens_of(&scan.source);
    let class = match by_class {
        Some(by_class) => Some(take_classes(&mut steps, by_class)?),
        None => None,
    };
    let mut conditions = take_conditions(&mut steps, scan, stated);
    if let Some(Class { has_one: Some(condition), .. }) = &class {
        conditions.push(condition.clone());
    }
    let mut joined = columns.clone();
    for step in &steps {
        if let Step::Join { join, is_left, .. } = step {
            let other = if *is_left { &join.right } else { &join.left };
            joined = joined.join(other.schema()).ok()?;
            for column in join.schema.columns() {
                // The mark of a mark join is neither side's.
                if !join.left.schema().has_column(&column) && !join.right.schema().has_column(&column) {
                    let (name, field) = join.schema.qualified_field_from_column(&column).ok()?;
                    let mark =
                        DFSchema::new_with_metadata(vec![(name.cloned(), field.clone())], Default::default());
                    joined = joined.join(&mark.ok()?).ok()?;
                }
            }
        }
    }
    let (keyed, sums) = (BTreeSet::new(), Vec::new());
    let mut wanted = Wanted { relation, columns: &columns, joined: &joined, tokens, keys: keyed, sums };
    for step in &steps {
        match step {
            Step::Filter(condition) => wanted.keep(condition)?,
            Step::Join { join, is_of_classes, .. } => {
                let sides = join.on.iter().flat_map(|(left, right)| [left, right]);
                let sides = sides.filter(|_| !is_of_classes);
                sides.chain(&join.filter).try_for_each(|expr| wanted.keep(expr))?;
            }
        }
    }
    keys.iter().try_for_each(|key| wanted.keep(key))?;
    let over = calls.iter().map(|call| match call {
        Expr::AggregateFunction(call) => wanted.over_groups(call),
        _ => None,
    });
    let over: Vec<(Expr, Finish)> = over.collect::<Option<_>>()?;
    // Without keys there is a group even where there are no rows.
    let is_any = (wanted.keys.is_empty() && class.is_none()).then(|| wanted.rows().gt(lit(0_i64)));
    let (scan, leaf) = leaf(scan, conditions, &wanted, class)?;
    let mut plan = match is_any {
        Some(is_any) => LogicalPlan::Filter(Filter::try_new(is_any, Arc::new(leaf)).ok()?),
        None => leaf,
    };
    for step in steps {
        plan = above(plan, step)?;
    }
    let over_groups = aggregate_over(aggregate, Arc::new(plan), keys, over)?;
    Some((scan, over_groups))
}

/// The class of a row, among the keys of groups.
struct Class {
    /// The column in whose place it stands.
    name: String,
    /// It as SQL.
    text: String,
    /// How many there are.
    count: u64,
    /// The condition that there is one, where other rows have no part in the result.
    has_one: Option<String>,
}

/// Matches classes in the place of keys.
fn take_classes(steps: &mut [Step], by_class: &ByClass) -> Option<Class> {
    use JoinType::{Inner, LeftSemi, RightSemi};
    let ByClass { own, theirs, classes, .. } = by_class;
    let Step::Join { join, is_left, is_of_classes } = steps.get_mut(by_class.step)? else { return None };
    let (text, has_one) = classes.sql(&own.name)?;
    let class = Class {
        name: own.name.clone(),
        text,
        count: classes.count(),
        has_one: matches!(join.join_type, Inner | LeftSemi | RightSemi).then_some(has_one),
    };
    let (own, theirs) = (Expr::Column(own.clone()), Expr::Column(theirs.clone()));
    join.on = vec![if *is_left { (own, theirs) } else { (theirs, own) }];
    let partners = if *is_left { &mut join.right } else { &mut join.left };
    *partners = Arc::new(classes.partners(partners).ok()?);
    *is_of_classes = true;
    Some(class)
}

/// Takes those conditions off the lowest steps that are the table's question to answer.
fn take_conditions(steps: &mut Vec<Step>, scan: &TableScan, stated: &Stated) -> Vec<String> {
    let (table, schema) = (scan.table_name.table(), scan.source.schema());
    let tokens = tokens_of(&scan.source);
    let described = Described { columns: &schema, tokens: &tokens };
    let mut taken = Vec::new();
    let mut is_lowest = true;
    let kept = std::mem::take(steps).into_iter().filter_map(|step| match step {
        Step::Filter(condition) if is_lowest => {
            let mut others = Vec::new();
            for part in split_conjunction_owned(condition) {
                let rendered = render(&part, described);
                match rendered.filter(|text| stated.contains(&(table.to_owned(), text.clone()))) {
                    Some(text) => taken.push(text),
                    None => others.push(part),
                }
            }
            conjunction(others).map(Step::Filter)
        }
        step => {
            is_lowest = false;
            Some(step)
        }
    });
    *steps = kept.collect();
    taken
}

/// The scan that asks for groups, and what stands for it in the plan.
fn leaf(
    scan: &TableScan,
    conditions: Vec<String>,
    wanted: &Wanted<'_>,
    class: Option<Class>,
) -> Option<(Scan, LogicalPlan)> {
    let key = |name: &String| {
        let field = wanted.columns.as_arrow().field_with_name(name).ok()?;
        Some((quoted(name), field.clone().with_nullable(true)))
    };
    let mut keys = wanted.keys.iter().map(key).collect::<Option<Vec<_>>>()?;
    let classes = class.map(|class| {
        keys.push((class.text.clone(), Field::new(class.name, DataType::Int64, true)));
        (class.text, class.count)
    });
    let names = keys.iter().map(|(text, _)| text.clone()).collect();
    let sums = wanted.sums.iter().enumerate();
    let sums =
        sums.map(|(place, (text, kind))| (text.clone(), Field::new(name_of(place), kind.clone(), true)));
    let outputs: Vec<(String, Field)> = keys.into_iter().chain(sums).collect();
    let schema =
        Arc::new(ArrowSchema::new(outputs.iter().map(|(_, field)| field.clone()).collect::<Vec<_>>()));
    let table = scan.table_name.table().to_owned();
    let keys = Some(names);
    let scan = Scan { table, outputs, keys, classes, conditions, is_narrowed: true, fetch: None, answer: 0 };
    let source = Arc::new(Groups { schema, scan: scan.clone() });
    let leaf = TableScanBuilder::new(wanted.relation.clone(), source).build().ok()?;
    Some((scan, LogicalPlan::TableScan(leaf)))
}

/// A plan with one more step above it.
fn above(plan: LogicalPlan, step: Step) -> Option<LogicalPlan> {
    Some(match step {
        Step::Filter(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan)).ok()?),
        Step::Join { join, is_left, .. } => {
            let plan = Arc::new(plan);
            let (left, right) = if is_left { (plan, join.right) } else { (join.left, plan) };
            let (kind, how) = (join.join_type, join.join_constraint);
            let join = Join::try_new(
                left,
                right,
                join.on,
                join.filter,
                kind,
                how,
                join.null_equality,
                join.null_aware,
            );
            LogicalPlan::Join(join.ok()?)
        }
    })
}

/// The aggregate over groups, with the names and types of the one over rows.
fn aggregate_over(
    aggregate: &Aggregate,
    input: Arc<LogicalPlan>,
    keys: Vec<Expr>,
    over: Vec<(Expr, Finish)>,
) -> Option<LogicalPlan> {
    let (calls, finishes): (Vec<Expr>, Vec<Finish>) = over.into_iter().unzip();
    let named = |prefix: &'static str, exprs: Vec<Expr>| {
        exprs.into_iter().enumerate().map(move |(place, expr)| expr.alias(format!("{prefix}{place}")))
    };
    // Sets of keys have no name; their columns and the number of the set stand in front as well.
    let keys = match keys.as_slice() {
        [Expr::GroupingSet(_)] => keys,
        _ => named("#key", keys).collect(),
    };
    let calls: Vec<Expr> = named("#", calls).collect();
    let over = Aggregate::try_new(input, keys, calls).ok()?;
    let key_count = over.schema.fields().len().checked_sub(over.aggr_expr.len())?;
    let finishes = std::iter::repeat_n(None, key_count).chain(finishes.into_iter().map(Some));
    let results = over.schema.columns().into_iter().map(Expr::Column).zip(finishes);
    let outputs = results.zip(aggregate.schema.iter()).map(|((result, finish), (relation, field))| {
        let value = match finish {
            Some(finish) => finish.of(result, field.data_type()),
            None => result,
        };
        value.alias_qualified(relation.cloned(), field.name())
    });
    let outputs = outputs.collect();
    Some(LogicalPlan::Projection(Projection::try_new(outputs, Arc::new(LogicalPlan::Aggregate(over))).ok()?))
}
