// SPDX-License-Identifier: Apache-2.0
//! A plan as a graph of operators: who does what, and what flows where; drawn as SVG or as DOT.
//!
//! Names of columns stand in it, encrypted ones too, so it is for the owner. Constants of the query do not: a drawing
//! is shown to others more easily than a text, and a constant may be a person's name.

mod dot;
mod svg;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::encoding::{EncodingId, PrivateEncoding};
use crate::plan::{AggregateTask, Mask, OwnerPlan, RowsTask, Task};
use crate::sql::{Item, Query, bare, column_name, columns_of, shown};
use crate::steps::Actor;

/// Operators and the edges between them. Acyclic; edges lead to nodes of a higher index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// The operators.
    pub nodes: Vec<GraphNode>,
    /// From and to, as indices.
    pub edges: Vec<(usize, usize)>,
}

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    /// The party that runs it.
    pub actor: Actor,
    /// Its name for people.
    pub title: String,
    /// Further lines.
    pub lines: Vec<String>,
}

impl Graph {
    /// The drawing as SVG: self-contained, with a legend; colours tell where an operator runs.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    /// The graph in Graphviz's language.
    pub fn to_dot(&self) -> String {
        dot::write(self)
    }

    fn node(&mut self, actor: Actor, title: impl Into<String>, lines: Vec<String>, from: &[usize]) -> usize {
        let index = self.nodes.len();
        self.nodes.push(GraphNode { actor, title: title.into(), lines });
        self.edges.extend(from.iter().map(|from| (*from, index)));
        index
    }

    /// The layer of each node: one below the deepest of those that it reads.
    fn layers(&self) -> Vec<usize> {
        let mut layers = vec![0; self.nodes.len()];
        for index in 0..self.nodes.len() {
            let above = self.edges.iter().filter(|(_, to)| *to == index).map(|(from, _)| layers[*from] + 1);
            layers[index] = above.max().unwrap_or(0);
        }
        layers
    }
}

/// The graph of a planned query.
pub(crate) fn of_query(
    query: &Query,
    encodings: &[PrivateEncoding],
    task: &Task,
    owner: &OwnerPlan,
) -> Graph {
    let mut graph = Graph::default();
    let clear = graph.node(Actor::ServerClear, "clear columns", Vec::new(), &[]);
    let selected = match &query.filter {
        Some(filter) => graph.node(Actor::ServerClear, "keep rows", by(columns_of(filter)), &[clear]),
        None => clear,
    };
    let answer = match task {
        Task::Aggregate(task) => aggregate(&mut graph, query, encodings, task, selected),
        Task::Products(task) => {
            let condition = vec![format!("{} encoded columns", task.operand_count())];
            let selected = match &*task.keys {
                [] => selected,
                _ => graph.node(
                    Actor::ServerClear,
                    "group rows",
                    by(owner.filtered.iter().flat_map(|sums| sums.keys.clone()).collect()),
                    &[selected],
                ),
            };
            let flags = graph.node(Actor::ServerEncrypted, "multiply flags", condition, &[selected]);
            graph.node(
                Actor::ServerEncrypted,
                "add up products",
                vec![counted(task.sums.len(), "sum")],
                &[flags],
            )
        }
        Task::Rows(task) => by_row(&mut graph, encodings, task, selected),
    };
    let mut last = answer;
    let secret = match task {
        Task::Aggregate(task) => task.sums.len(),
        Task::Products(task) => task.sums.len(),
        Task::Rows(task) => task.object_count(),
    };
    if secret > 0 {
        let lines = vec![match task {
            Task::Aggregate(_) => format!("{} for each group", counted(secret, "value")),
            Task::Products(task) if task.keys.is_empty() => counted(secret, "sum"),
            Task::Products(_) => format!("{} for each group", counted(secret, "sum")),
            Task::Rows(_) => format!("{} for each row", counted(secret, "value")),
        }];
        last = graph.node(Actor::Owner, "decrypt", lines, &[last]);
    }
    if owner.cells.is_some() && owner.filtered.is_none() {
        last = graph.node(Actor::Owner, "take off the pads", Vec::new(), &[last]);
    }
    if owner.own.is_some() {
        graph.node(Actor::Owner, "put the question to them", Vec::new(), &[last]);
        return graph;
    }
    if query.has_windows() {
        last = graph.node(Actor::Owner, "window functions", query.window_words(), &[last]);
    }
    let merged = query.items.iter().map(output_words).collect();
    if !owner.aggregates.is_empty() || !owner.programs.is_empty() {
        last = graph.node(Actor::Owner, "compute the result", merged, &[last]);
    }
    let having = query.having.is_some().then_some("keep groups (HAVING)");
    let sort = (!query.order.is_empty()).then_some("sort");
    let limit = query.limit.is_some().then_some("keep the first rows (LIMIT)");
    let ends: Vec<&str> = [having, sort, limit].into_iter().flatten().collect();
    if let Some((first, rest)) = ends.split_first() {
        graph.node(Actor::Owner, *first, rest.iter().map(|end| (*end).to_owned()).collect(), &[last]);
    }
    graph
}

fn aggregate(
    graph: &mut Graph,
    query: &Query,
    encodings: &[PrivateEncoding],
    task: &AggregateTask,
    selected: usize,
) -> usize {
    let keys: Vec<String> = query.keys.iter().flat_map(columns_of).collect();
    let grouped = match keys.is_empty() {
        true => selected,
        false => graph.node(Actor::ServerClear, "split into groups", by(keys), &[selected]),
    };
    let more = task.clear.len().saturating_sub(1);
    let lines = if more == 0 { Vec::new() } else { vec![counted(more, "clear aggregate")] };
    let counts = graph.node(Actor::ServerClear, "count rows", lines, &[grouped]);
    let mut answered = vec![counts];
    for (index, mask) in task.masks.iter().enumerate() {
        let ids = task.sums.iter().filter(|sum| sum.mask == index).map(|sum| sum.column);
        let names = describe(encodings, ids);
        if names.is_empty() {
            continue;
        }
        let columns = graph.node(Actor::ServerEncrypted, "encrypted columns", names, &[]);
        let sums = graph.node(Actor::ServerEncrypted, "masked sums", mask_words(mask), &[grouped, columns]);
        answered.push(sums);
    }
    graph.node(Actor::ServerClear, "answer", vec!["sent to you".to_owned()], &answered)
}

fn by_row(graph: &mut Graph, encodings: &[PrivateEncoding], task: &RowsTask, selected: usize) -> usize {
    let lines =
        if task.clear.is_empty() { Vec::new() } else { vec![counted(task.clear.len(), "clear value")] };
    let matching = graph.node(Actor::ServerClear, "matching rows", lines, &[selected]);
    let mut answered = vec![matching];
    for (index, program) in task.programs.iter().enumerate() {
        let names = describe(encodings, program.columns().into_iter());
        let columns = graph.node(Actor::ServerEncrypted, "encrypted columns", names, &[]);
        let title = format!("expression {}", index + 1);
        answered.push(graph.node(
            Actor::ServerEncrypted,
            title,
            vec!["slot by slot".to_owned()],
            &[matching, columns],
        ));
    }
    if task.cube.is_some() {
        let cells = graph.node(Actor::ServerEncrypted, "cells of a cube", Vec::new(), &[]);
        answered.push(graph.node(Actor::ServerEncrypted, "add up", vec!["over parts".to_owned()], &[cells]));
    }
    let sealed = (!task.sealed.is_empty()).then(|| counted(task.sealed.len(), "sealed column"));
    let fetched: Vec<String> =
        describe(encodings, task.fetch.iter().copied()).into_iter().chain(sealed).collect();
    if !fetched.is_empty() {
        let columns = graph.node(Actor::ServerEncrypted, "encrypted columns", fetched, &[]);
        let lines = vec!["as they are".to_owned()];
        answered.push(graph.node(Actor::ServerEncrypted, "send back", lines, &[matching, columns]));
    }
    graph.node(Actor::ServerClear, "answer", vec!["sent to you".to_owned()], &answered)
}

/// An output's name, unless it is the text of an expression, in which constants may stand.
fn output_words(item: &Item) -> String {
    let is_text =
        !item.named && column_name(bare(&item.expr)).is_none() && item.name.contains(&shown(&item.expr));
    if is_text { "an expression".to_owned() } else { item.name.clone() }
}

fn mask_words(mask: &Mask) -> Vec<String> {
    let weight = mask.weight.is_some().then(|| "times a clear weight".to_owned());
    let condition = mask.condition.is_some().then(|| "where a clear condition holds".to_owned());
    weight.into_iter().chain(condition).collect()
}

fn by(mut columns: Vec<String>) -> Vec<String> {
    columns.sort();
    columns.dedup();
    if columns.is_empty() { Vec::new() } else { vec![format!("by {}", columns.join(", "))] }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn describe(encodings: &[PrivateEncoding], ids: impl Iterator<Item = EncodingId>) -> Vec<String> {
    let mut names: Vec<String> = ids
        .filter_map(|id| encodings.iter().find(|encoding| encoding.public.id == id))
        .map(|encoding| encoding.quantity.describe())
        .collect();
    names.sort();
    names.dedup();
    names
}
