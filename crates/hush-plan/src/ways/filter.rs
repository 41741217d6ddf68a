// SPDX-License-Identifier: Apache-2.0
//! The way of conditions without keys: the server multiplies flags of encrypted columns, as the condition says, and adds up the products with measures
//! over all rows. The owner decrypts the sums, and answers the rest of the query on them ([`crate::filter`]).
//!
//! *What it shows.* Which encoded columns are combined, by their numbers, and how; beside that the condition that clear columns decide. Neither which
//! rows match an encrypted condition nor how many.

mod cells;
mod matching;
mod products;

use self::products::Products;
use super::prepared::on_sums;
use super::{Case, Proposal, sums};
use crate::PrivateEncoding;
use crate::bounds::Bounds;
use crate::derived::named;
use crate::error::PlanError;
use crate::filter::{Asked, FilterShape, OTHER_SUMS, compile};
use crate::leakage::{list, numbered};
use crate::limits::{Facet, WayName};
use crate::plan::{FilteredSum, FilteredSums, OwnQuery, OwnerPlan, ProductsTask, RanksQuery, Search, Task};
use crate::quantity::{Digits, Quantity};
use crate::report::Cost;
use crate::schema::Schema;
use crate::sql::{Query, has_literal, quoted};

/// Most sums of a question.
const MAX_SUMS: usize = 4096;

/// One plan, where the filters of the schema answer the query.
///
/// # Errors
/// None: where they do not, or some part does not have them, there is no proposal.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    // Where constants are to be hidden, and the table has keys for it, more is hidden than their values.
    let hidden = (hides(case) && case.round.is_none()).then(|| propose(case, true));
    let why_not = match hidden {
        Some(Ok(hidden)) => return Ok(vec![hidden]),
        Some(Err(why)) if !case.shape.constant_keys.is_empty() => Some(why),
        _ => None,
    };
    let mut shown = propose(case, false).ok();
    if let Some((shown, why)) = shown.as_mut().zip(why_not) {
        shown.tells.push(format!("when its constants come again, which are not encrypted because {why}"));
    }
    Ok(shown.into_iter().collect())
}

/// Why there is no such plan.
pub(super) fn why_not(case: &Case<'_>) -> Option<String> {
    let shows_pattern = case.hide.has(Facet::Pattern);
    propose(case, shows_pattern).err()
}

/// Whether constants are to be encrypted, where they can be.
fn hides(case: &Case<'_>) -> bool {
    case.hide.has(Facet::Constants) || case.hide.has(Facet::Pattern)
}

/// What a table has for conditions, and the query in its words.
struct Declared<'a> {
    /// With derived conditions as columns.
    schema: &'a Schema,
    shape: &'a FilterShape,
    /// The query, which reads these.
    named: &'a Query,
}

/// A plan, whose constants are encrypted if `hides`: sums, or where the query asks for others the rows that match.
fn propose(case: &Case<'_>, hides: bool) -> Result<Proposal, String> {
    // A constant for which a condition is derived would be known by that.
    let without_constants = |text: &&String| !has_literal(text);
    let nameless = hides.then(|| Schema {
        derived: case.schema.derived.iter().filter(without_constants).cloned().collect(),
        ..case.schema.clone()
    });
    let declared = nameless.as_ref().unwrap_or(case.schema);
    let shape = FilterShape::of(declared).ok().filter(|shape| !shape.is_empty());
    let shape = shape.ok_or("the schema declares no filter")?.of_table(declared, &measured(case));
    let (schema, named) = (&*declared.with_derived(), named(declared, case.query));
    let shape = shape.cut_by(&named);
    let declared = &Declared { schema, shape: &shape, named: &named };
    sums_of_cells(case, declared, hides).or_else(|why| {
        matching::propose(case, declared, hides).map_err(|not_found| match why == OTHER_SUMS {
            true => format!("{why}; nor are its rows found, because {not_found}"),
            false => why,
        })
    })
}

/// A plan for sums of cells.
fn sums_of_cells(case: &Case<'_>, declared: &Declared<'_>, hides: bool) -> Result<Proposal, String> {
    let Declared { schema, shape, named } = *declared;
    let (asked, search) = asked(case, (schema, shape, named), hides)?;
    let Asked { filter, condition, computed, masks, keys, by, shape, cells: summed, on_cells } = asked;
    let measured = shape.quantities();
    let lanes = &shape.lanes;
    let row_of = |lane: usize| lanes.get(lane).map(|lane| &lane.row);
    let axes: Vec<String> = shape.axes.iter().map(|axis| axis.column.clone()).collect();
    let mut bounds = Bounds::default();
    let grouped = on_cells.grouped;
    let at = (0, axes, on_cells.count);
    let rest = named.without_filter();
    let on_rest = &Case { schema, query: &rest, ..*case };
    let cells_query = on_sums(on_rest, (&grouped, &on_cells.lanes), row_of, at, &mut bounds)
        .ok_or("its sums could pass the bits that they have")?;
    // The mask of a group leaves out what a condition would.
    let is_masked = filter.is_some() || case.shape.has_deleted || !keys.is_empty();
    let mut products = Products::new(case, is_masked, &masks);
    let constants = products.compute(computed)?;
    let filtered = cells::factors(&mut products, &condition, summed)?;
    let in_limbs: Vec<(&Quantity, Digits)> = in_limbs(case).collect();
    let read = cells::sums(&mut products, &filtered, (&shape, &cells_query), &in_limbs)?;
    let in_ring = products.in_ring()?;
    let (ranks, clear_bytes) = (products.ranks(), products.bytes_of_ranks());
    let (task, phases, mut cost) = products.finish()?;
    let sums = read.into_iter().zip(phases).map(|(sum, phase_log2)| FilteredSum { phase_log2, ..sum });
    let sums = sums.collect();
    let task = with_keys(case, (task, in_ring), &keys, &mut cost);
    let tells = tells(&task, &keys, search.as_ref()).into_iter().chain(shows_ranks(&task, &ranks)).collect();
    let degree = task.sums.iter().map(|sum| task.components(sum)).max().unwrap_or(1) - 1;
    let keyed = keyed(&task);
    let rounds = search.as_ref().map_or_else(String::new, |search| format!(", in {} rounds", search.rounds));
    let own = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query: case.query.clone() };
    let owner = OwnerPlan {
        aggregates: grouped.outputs,
        own: Some(own),
        cells: Some(cells_query),
        search,
        filtered: Some(FilteredSums { by, measured, keys, sums, is_masked }),
        constants,
        ranks,
        bounds,
        final_sql: grouped.final_sql,
        ..OwnerPlan::default()
    };
    Ok(Proposal {
        name: WayName::Filter,
        what: format!("the server evaluates the condition, degree {degree}, {keyed}{rounds}"),
        task: Task::Products(task),
        filter,
        owner,
        cost,
        clear_bytes,
        tells,
    })
}

/// What the server learns from flags that are chosen for each chunk, and from finding them.
fn shows_ranks<'t>(task: &'t ProductsTask, ranks: &'t [RanksQuery]) -> impl Iterator<Item = String> + 't {
    task.choices.iter().zip(ranks).map(|(choices, query)| {
        let ids: Vec<u32> = choices.among.iter().map(|id| id.0).collect();
        let (flags, ids, run) = (choices.of_chunks.len(), numbered(&ids), query.number);
        format!(
            "that {flags} of encoded columns {ids} are combined, others in each chunk and in an order that only you know; that blocks of run {run} are read, as many \
             of each chunk as the condition has bounds; when the same are chosen and read again; in which chunks few rows lie between two bounds"
        )
    })
}

/// What keys it takes, in words.
fn keyed(task: &ProductsTask) -> String {
    match (&task.computed, task.relinearised) {
        (Some(condition), _) => format!("on {} encrypted constants", condition.constant_count()),
        (None, true) => "with keys for its answer".to_owned(),
        (None, false) => "without keys".to_owned(),
    }
}

/// What the server learns from a task, which of a search is one of many that the last round may be.
fn tells(task: &ProductsTask, keys: &[String], search: Option<&Search>) -> Vec<String> {
    let mut ids: Vec<u32> = task.columns.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    let ids = numbered(&ids);
    let combined = match search {
        None if task.computed.is_some() => format!(
            "that encoded columns {ids} are combined with constants that it cannot read, and how; nothing of the constants, or whether they are those of \
             another question"
        ),
        None => format!("that encoded columns {ids} are combined, and how; when the same are combined again"),
        Some(Search { rounds, .. }) => format!(
            "that encoded columns are combined in {rounds} rounds, and how, in the last one for example {ids}; which a later round combines hangs \
             on what the rounds before have found; when the same are combined again"
        ),
    };
    let masks = task.masks.iter().map(|condition| format!("which rows match {condition}, within that"));
    let groups = (!keys.is_empty())
        .then(|| format!("that rows are grouped by {}, and the size of each group", list(keys)));
    let combined = (!task.columns.is_empty()).then_some(combined);
    combined.into_iter().chain(masks).chain(groups).collect()
}

/// The question as conditions and cells, and how places of the order are searched for, where they are.
fn asked(
    case: &Case<'_>,
    (schema, shape, query): (&Schema, &FilterShape, &Query),
    hides: bool,
) -> Result<(Asked, Option<Search>), String> {
    let rows = case.catalog.rows();
    let found = compile(schema, shape, (query, case.round, hides), rows);
    if hides {
        return Ok((found?, None));
    }
    if found.as_ref().is_err_and(|why| *why == OTHER_SUMS) && case.round.is_none() && !case.limits.at_once {
        let search = Search::of(shape, query);
        let sample = search.as_ref().and_then(|search| search.sample(schema));
        if let (Some(search), Some(sample)) = (search, sample) {
            let asked = compile(schema, shape, (query, Some(&sample), false), rows)?;
            return if search.is_all_of(query, &asked) {
                Ok((asked, Some(search)))
            } else {
                Err(OTHER_SUMS.to_owned())
            };
        }
    }
    let search = case.round.and_then(|round| {
        let search = Search::of(shape, query)?;
        Some(Search { round: Some(round.clone()), ..search })
    });
    Ok((found?, search))
}

/// What every part of a table has in limbs.
fn measured(case: &Case<'_>) -> Vec<Quantity> {
    let mut found: Vec<Quantity> = Vec::new();
    for (quantity, _) in in_limbs(case) {
        if !found.contains(quantity) {
            found.push(quantity.clone());
        }
    }
    found
}

fn in_limbs<'a>(case: &Case<'a>) -> impl Iterator<Item = (&'a Quantity, Digits)> {
    let lacking = &case.shape.lacking;
    let is_whole = |known: &&PrivateEncoding| lacking.get(&known.public.id).is_none_or(Vec::is_empty);
    case.catalog.encodings().filter(is_whole).filter_map(|known| match &known.quantity {
        Quantity::Limb { quantity, digits, place: 0 } => Some((&**quantity, *digits)),
        _ => None,
    })
}

/// A task in a ring of this degree, with so many chunks together, whose sums are grouped by clear columns, for as many groups as its answer may have.
fn with_keys(
    case: &Case<'_>,
    (task, in_ring): (ProductsTask, (u64, u32)),
    keys: &[String],
    cost: &mut Cost,
) -> ProductsTask {
    if keys.is_empty() {
        return task;
    }
    let (_, runs) = case.shape.product_runs(in_ring, u64::from(task.elements));
    cost.answer_bytes_each = cost.answer_bytes_each.saturating_mul(runs.max(1));
    let affordable = sums::most_groups(case.limits, cost, false);
    cost.max_groups = affordable.min((MAX_SUMS / task.sums.len().max(1)) as u64).max(1);
    let keys = keys.iter().map(|name| quoted(name)).collect();
    ProductsTask { keys, max_groups: cost.max_groups, ..task }
}
