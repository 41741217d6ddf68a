// SPDX-License-Identifier: Apache-2.0
//! A plan in sentences: what runs where, in the order in which it happens.
//!
//! Step by step the same plan that is sent and kept; the words name encrypted columns, so they are for the owner.

use std::fmt;

use serde::Serialize;

use crate::aggregates::MomentFunction;
use crate::encoding::{EncodingId, PrivateEncoding};
use crate::plan::{AggregateTask, OwnerAggregate, OwnerPlan, RowsTask, Task};
use crate::sql::{Query, shown};

/// The party that does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The server's query engine, on clear columns.
    ServerClear,
    /// The server, on ciphertexts.
    ServerEncrypted,
    /// The owner, with the key.
    Owner,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The party.
    pub actor: Actor,
    /// A sentence without subject and full stop.
    pub what: String,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ServerClear => "server, clear",
            Self::ServerEncrypted => "server, encrypted",
            Self::Owner => "you",
        })
    }
}

/// The steps of a planned query.
pub(crate) fn of_query(
    query: &Query,
    encodings: &[PrivateEncoding],
    task: &Task,
    owner: &OwnerPlan,
) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut say = |actor, parts: Vec<String>| {
        if !parts.is_empty() {
            steps.push(Step { actor, what: parts.join("; ") });
        }
    };
    let keep = query.filter_text().map(|filter| format!("keep rows with {filter}"));
    match task {
        Task::Aggregate(task) => {
            say(Actor::ServerClear, keep.into_iter().chain(clear_groups(query, task)).collect());
            say(Actor::ServerEncrypted, sums(query, encodings, task));
            say(Actor::Owner, merge(task, owner).into_iter().chain(last(query)).collect());
        }
        Task::Products(task) => {
            let keys = owner.filtered.iter().flat_map(|sums| &sums.keys).cloned().collect::<Vec<_>>();
            let groups = (!keys.is_empty()).then(|| format!("split them by {}", keys.join(", ")));
            let masks = task.masks.iter().map(|condition| format!("find the rows with {condition}"));
            say(Actor::ServerClear, keep.into_iter().chain(groups).chain(masks).collect());
            let columns = task.operand_count();
            let plural = if task.sums.len() == 1 { "sum" } else { "sums" };
            let multiply = match &task.computed {
                None => format!(
                    "combine {columns} encoded columns as the condition says, and add up {} {plural} of products",
                    task.sums.len()
                ),
                Some(condition) => format!(
                    "expand {} encrypted constants, compute the condition on {columns} encoded columns by the table's keys, and add up {} {plural} \
                     of products",
                    condition.constant_count(),
                    task.sums.len()
                ),
            };
            let back = "bring each sum back to two polynomials by the table's keys".to_owned();
            let weigh = task.highest_power().map(|highest| {
                format!("times powers of the numbers of ring elements, up to {highest}, so that each slot tells its rows apart")
            });
            let steps = [Some(multiply), weigh, task.relinearised.then_some(back)];
            say(Actor::ServerEncrypted, steps.into_iter().flatten().collect());
            let decrypt = match owner.matching {
                Some(_) => {
                    "decrypt the sums slot by slot, and find from them the rows that match, with their values"
                }
                None => "decrypt the sums, and put the limbs of each together",
            };
            let decrypt = decrypt.to_owned();
            let rounds = owner.search.as_ref().map(|search| {
                let (rounds, column) = (search.rounds, &search.column);
                match owner.matching {
                    Some(_) => {
                        format!("in {rounds} rounds before find the last value of {column} that is wanted")
                    }
                    None => {
                        format!("in {rounds} rounds see in which values of {column} the wanted places lie")
                    }
                }
            });
            let rest = "put the rest of the question to them".to_owned();
            let found = match owner.matching {
                Some(_) => rounds.into_iter().chain([decrypt]).collect::<Vec<_>>(),
                None => [decrypt].into_iter().chain(rounds).collect(),
            };
            say(Actor::Owner, found.into_iter().chain([rest]).collect());
        }
        Task::Rows(task) => {
            let limit = task.limit.map(|limit| format!("stop after {limit} rows"));
            let groups = owner.after_sums.then(|| {
                let keys: Vec<String> = query.keys.iter().map(shown).collect();
                format!("split them by {}, and find more groups than it adds up", keys.join(", "))
            });
            say(Actor::ServerClear, keep.into_iter().chain(groups).chain(limit).collect());
            let cube = task.cube.map(|number| format!("add up the cells of cube {number}"));
            let run = task.run.as_ref().map(|run| format!("cut the blocks out of run {}", run.number));
            let prepared = cube.into_iter().chain(run);
            say(Actor::ServerEncrypted, prepared.chain(programs(encodings, task)).collect());
            let find = owner.run.as_ref().map(|_| "find the blocks in the index, and open them".to_owned());
            let pads = task.cube.map(|_| "take off the pads".to_owned());
            let decrypt = (task.object_count() > 0).then(|| "decrypt the rows that match".to_owned());
            let count = owner.owned.len();
            let plural = if count == 1 { "" } else { "s" };
            let owned = (count > 0).then(|| format!("evaluate {count} expression{plural} on them"));
            let regroup = owner.regroup.as_ref().map(|regroup| {
                let sums = if regroup.task.sums.len() == 1 { "value" } else { "values" };
                format!("group them, and add up {} {sums} in each group", regroup.task.sums.len())
            });
            let windows = query.has_windows().then(|| "compute windows over them".to_owned());
            let own = owner.own.as_ref().map(|_| match (&owner.cells, &owner.run) {
                (None, None) => "put the question to them".to_owned(),
                (None, Some(_)) => "put the question to their rows".to_owned(),
                (Some(_), None) => "put the question to the cells".to_owned(),
                (Some(_), Some(_)) => {
                    "put the question to their rows, and to the sums of the others".to_owned()
                }
            });
            let rest = windows.into_iter().chain(last(query)).filter(|_| own.is_none()).collect::<Vec<_>>();
            say(
                Actor::Owner,
                pads.into_iter()
                    .chain(find)
                    .chain(decrypt)
                    .chain(owned)
                    .chain(regroup)
                    .chain(own)
                    .chain(rest)
                    .collect(),
            );
        }
    }
    steps
}

fn clear_groups(query: &Query, task: &AggregateTask) -> Vec<String> {
    let keys: Vec<String> = query.keys.iter().map(shown).collect();
    let split = (!keys.is_empty()).then(|| format!("split them by {}", keys.join(", ")));
    let clear = task.clear.len();
    let count = (clear == 1).then(|| "count rows".to_owned());
    let plural = if clear == 2 { "" } else { "s" };
    let aggregates =
        (clear > 1).then(|| format!("count rows and compute {} clear aggregate{plural}", clear - 1));
    split.into_iter().chain(count).chain(aggregates).collect()
}

fn sums(query: &Query, encodings: &[PrivateEncoding], task: &AggregateTask) -> Vec<String> {
    let each = if query.keys.is_empty() { "" } else { " in each group" };
    let per_mask = task.masks.iter().enumerate().filter_map(|(index, mask)| {
        let ids = task.sums.iter().filter(|sum| sum.mask == index).map(|sum| sum.column);
        let names = describe(encodings, ids);
        let weight = mask.weight.as_ref().map_or(String::new(), |weight| format!(" times {weight}"));
        let condition =
            mask.condition.as_ref().map_or(String::new(), |condition| format!(" where {condition}"));
        (!names.is_empty()).then(|| format!("add up {}{weight}{condition}{each}", names.join(", ")))
    });
    per_mask.collect()
}

fn programs(encodings: &[PrivateEncoding], task: &RowsTask) -> Vec<String> {
    let count = task.programs.len();
    let plural = if count == 1 { "" } else { "s" };
    let evaluate =
        (count > 0).then(|| format!("evaluate {count} expression{plural} for every row of a chunk"));
    let names = describe(encodings, task.fetch.iter().copied());
    let sealed = match task.sealed.len() {
        0 => None,
        1 => Some("1 sealed column".to_owned()),
        count => Some(format!("{count} sealed columns")),
    };
    let names: Vec<String> = names.into_iter().chain(sealed).collect();
    let fetch = (!names.is_empty()).then(|| format!("send back {}", names.join(", ")));
    evaluate.into_iter().chain(fetch).collect()
}

fn merge(task: &AggregateTask, owner: &OwnerPlan) -> Vec<String> {
    let mut parts = Vec::new();
    if !task.sums.is_empty() {
        let sums = if task.sums.len() == 1 { "1 sum" } else { &format!("{} sums", task.sums.len()) };
        parts.push(format!("decrypt {sums} for each group"));
    }
    if owner.hidden.is_some() {
        parts.push("put the rest of the question to the cells in them".to_owned());
        return parts;
    }
    let uses = |is_wanted: fn(&OwnerAggregate) -> bool| owner.aggregates.iter().any(is_wanted);
    if uses(|of| matches!(of, OwnerAggregate::Moments { function: MomentFunction::Avg, .. })) {
        parts.push("divide by counts".to_owned());
    }
    if uses(|of| matches!(of, OwnerAggregate::Product { .. })) {
        parts.push("products from the sums of logarithms".to_owned());
    }
    if uses(|of| matches!(of, OwnerAggregate::Moments { function, .. } if function.order() == 2)) {
        parts.push("variances from the sums of squares".to_owned());
    }
    if uses(|of| matches!(of, OwnerAggregate::Moments { function, .. } if function.order() > 2)) {
        parts.push("shapes of distributions from the sums of powers".to_owned());
    }
    let variables = owner.aggregates.iter().filter_map(|aggregate| match aggregate {
        OwnerAggregate::Joint { moments, .. } => Some(moments.scales.len()),
        _ => None,
    });
    match variables.max() {
        None => {}
        Some(2) => parts.push("what two columns have in common from the sums of products".to_owned()),
        Some(variables) => parts.push(format!("solve normal equations in {} unknowns, exactly", variables)),
    }
    parts
}

/// The owner's work on the merged table.
fn last(query: &Query) -> Vec<String> {
    let having = query.having.as_ref().map(|having| format!("keep groups with {}", shown(having)));
    let order: Vec<String> = query.order.iter().map(|order| shown(&order.expr)).collect();
    let sort = (!order.is_empty()).then(|| format!("sort by {}", order.join(", ")));
    let limit = query.limit.map(|limit| format!("keep {limit} rows"));
    having.into_iter().chain(sort).chain(limit).collect()
}

fn describe(encodings: &[PrivateEncoding], ids: impl Iterator<Item = EncodingId>) -> Vec<String> {
    let mut names: Vec<String> = ids
        .filter_map(|id| encodings.iter().find(|encoding| encoding.public.id == id))
        .map(|encoding| encoding.quantity.describe())
        .collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use crate::limits::Limits;
    use crate::physical::plan_query;
    use crate::predict::Site;
    use crate::sql::parse;
    use crate::tables::{encodings_for, patients};

    fn steps(text: &str) -> Vec<String> {
        let schema = patients();
        let encodings = encodings_for(&schema, &[text]);
        let query = parse(&schema, text).unwrap();
        let plan =
            plan_query(&schema, &encodings, &Site::local(6000), "00ff", &query, &Limits::default()).unwrap();
        plan.steps.iter().map(|step| format!("{}: {}", step.actor, step.what)).collect()
    }

    #[test]
    fn a_grouped_query_in_sentences() {
        let found = steps(
            "SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 \
             GROUP BY ward HAVING COUNT(*) > 4 ORDER BY ward LIMIT 3",
        );
        assert_eq!(
            found,
            [
                "server, clear: keep rows with year = 2023; split them by ward; count rows",
                "server, encrypted: add up the validity of age, the values of age, the values of charges, \
                 the square of charges in each group",
                "you: decrypt 4 sums for each group; divide by counts; variances from the sums of squares; \
                 keep groups with COUNT(*) > 4; sort by ward; keep 3 rows",
            ]
        );
    }

    #[test]
    fn powers_beyond_squares_in_sentences() {
        let found = steps("SELECT SKEWNESS(charges), KURTOSIS(charges) FROM patients");
        assert_eq!(
            found[1..],
            [
                "server, encrypted: add up the values of charges, the square of charges, the product charges * \
                 charges * charges, the product charges * charges * charges * charges",
                "you: decrypt 4 sums for each group; shapes of distributions from the sums of powers",
            ]
        );
    }

    #[test]
    fn a_query_by_row_in_sentences() {
        let found = steps("SELECT ward, age * visits FROM patients WHERE year = 2023");
        assert_eq!(found[0], "server, clear: keep rows with year = 2023");
        assert!(found[1].starts_with("server, encrypted: evaluate 1 expression for every row"), "{found:?}");
        assert_eq!(found[2], "you: decrypt the rows that match");
    }

    #[test]
    fn a_clear_query_needs_no_owner() {
        let found = steps("SELECT SUM(year) FROM patients");
        assert!(
            found.len() == 1 && found[0].starts_with("server, clear: count rows and compute"),
            "{found:?}"
        );
    }
}
