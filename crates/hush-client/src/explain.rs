// SPDX-License-Identifier: Apache-2.0
//! The cost and leakage of a query before it runs; after a run, measured beside predicted figures.

use std::collections::BTreeMap;

use hush_exec::answer::Strata;
use hush_exec::clear_half_bytes;
use hush_plan::plan::{RowsTask, RunRead, Task};
use hush_plan::predict::{
    ASSUMED_GROUPS, ClearColumn, Expected, MeanBytes, PartShape, Prediction, SealedShape, Site, TableShape,
    Times, of_rows, predict,
};
use hush_plan::report::Way;
use hush_plan::{ColumnType, QueryPlan, WayName};
use hush_table::manifest::ColumnLength;
use hush_table::{Manifest, PartEntry};
use serde_json::{Value, json};

use crate::account::{AnswerCounts, Phases};
use crate::ask::Outcome;
use crate::copy;
use crate::cube;
use crate::error::ClientError;
use crate::machine::ProfileInUse;
use crate::private::PrivateHalf;
use crate::run;
use crate::table::{Costs, Evaluator, OwnedTable};
use crate::table_keys;
use hush_system::memory::peak_resident_bytes;

/// Version of the JSON of [`Explanation`] and [`Analysis`].
pub const EXPLAIN_FORMAT: u16 = 1;

/// A plan with its price.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The plan.
    pub plan: QueryPlan,
    /// Predicted bytes and work, for [`Prediction::groups`] groups and as if all rows matched.
    pub prediction: Prediction,
    /// Predicted time.
    pub times: Times,
    /// Speed of the link between server and owner in bytes per second; `None` if they are one process.
    pub link: Option<f64>,
    /// Predicted memory of one process that is owner and server.
    pub memory_bytes: u64,
    /// The source of the times.
    pub profile: ProfileInUse,
    /// Seconds that planning took.
    pub planning_s: f64,
}

/// A run beside its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The prediction for the groups and chunks of the answer.
    pub predicted: Explanation,
    /// The measurement.
    pub measured: Measured,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes of the plan.
    pub bytes_up: u64,
    /// Bytes of the answer.
    pub bytes_down: u64,
    /// Bytes of its clear half, the only inexact part of the prediction.
    pub clear_bytes: u64,
    /// Seconds of the server; over the network, with the way there and back.
    pub server_s: f64,
    /// Seconds of decrypting, merging and finishing.
    pub owner_s: f64,
    /// Peak resident bytes of this process, where it is the server too and the system tells.
    pub peak_bytes: Option<u64>,
}

impl OwnedTable {
    /// Plans `sql` and predicts its cost with `threads` threads on the server, without running it.
    ///
    /// `groups` is the number of groups that the answer is assumed to have; without it, ten if there are keys. The plan's
    /// limit on groups caps it.
    ///
    /// # Errors
    /// As [`OwnedTable::plan`].
    pub fn explain(
        &self,
        sql: &str,
        groups: Option<u64>,
        threads: usize,
        profile: ProfileInUse,
    ) -> Result<Explanation, ClientError> {
        self.explained(groups, (threads, profile), || self.plan_and_compare(sql))
    }

    /// As [`OwnedTable::explain`], for a question whose join keys are tokens.
    pub(crate) fn explain_on_tokens(
        &self,
        sql: &str,
        threads: usize,
        profile: ProfileInUse,
    ) -> Result<Explanation, ClientError> {
        self.explained(None, (threads, profile), || self.plan_and_compare_on_tokens(sql))
    }

    fn explained(
        &self,
        groups: Option<u64>,
        (threads, profile): (usize, ProfileInUse),
        plan: impl FnOnce() -> Result<QueryPlan, ClientError>,
    ) -> Result<Explanation, ClientError> {
        let mut phases = Phases::default();
        let planned = phases.time("plan", plan)?;
        let asked = groups.unwrap_or(ASSUMED_GROUPS);
        let plan = planned.clone().for_groups(groups.unwrap_or(0));
        let prediction = self.predict(&plan, asked, threads)?;
        let mut explanation = Explanation::new(plan, prediction, profile, phases.of("plan"), self.costs.link);
        explanation.plan.ways = self.ways_of(&planned, &explanation, asked, threads)?;
        Ok(explanation)
    }

    /// Predicted seconds of a plan, for so many groups, beyond what every query takes.
    ///
    /// # Errors
    /// None but bugs: the plan was made for this table.
    pub(crate) fn seconds(&self, plan: &QueryPlan, groups: u64) -> Result<f64, ClientError> {
        let Costs { profile, threads, link } = &self.costs;
        let prediction = self.predict(plan, groups, *threads)?;
        let times = profile.times(&prediction);
        let bytes = prediction.bytes_up + prediction.bytes_down;
        let link_s = link.map_or(0.0, |speed| bytes as f64 / speed);
        Ok((times.server_s + times.owner_s + link_s - profile.once_s()).max(0.0))
    }

    /// The ways among which the planner chose, each with the price of the whole query. The way taken has the plan's price.
    fn ways_of(
        &self,
        planned: &QueryPlan,
        taken: &Explanation,
        groups: u64,
        threads: usize,
    ) -> Result<Vec<Way>, ClientError> {
        let mut ways = taken.plan.ways.clone();
        // Costs that all ways share, which the planner left out of its prices.
        let Some(planned_at) = ways.iter().find(|way| way.taken).cloned() else { return Ok(ways) };
        let link_s = taken.link_s() - planned_at.link_s;
        let (server_s, owner_s) =
            (taken.times.server_s - planned_at.server_s, taken.times.owner_s - planned_at.owner_s);
        let bytes_down = taken.prediction.bytes_down.saturating_sub(planned_at.bytes_down);
        for way in &mut ways {
            let planned = match (way.name, &planned.gathered) {
                _ if way.taken => None,
                (WayName::Sum, Some(_)) => Some(planned),
                (WayName::Gather, Some(gathered)) => Some(gathered.as_ref()),
                _ => None,
            };
            if let Some(plan) = planned {
                let prediction = self.predict(plan, groups, threads)?;
                let (plan, profile) = (plan.clone(), taken.profile.clone());
                let other = Explanation::new(plan, prediction, profile, 0.0, self.costs.link);
                (way.server_s, way.owner_s) = (other.times.server_s, other.times.owner_s);
                (way.link_s, way.bytes_down) = (other.link_s(), other.prediction.bytes_down);
            } else {
                way.server_s += server_s;
                way.owner_s += owner_s;
                way.link_s += link_s;
                way.bytes_down += bytes_down;
            }
            way.seconds = way.server_s + way.link_s + way.owner_s;
        }
        Ok(ways)
    }

    /// Puts measured figures beside predicted ones.
    ///
    /// # Errors
    /// None but bugs: the plan has been run.
    pub fn analyze(
        &self,
        outcome: &Outcome,
        threads: usize,
        profile: ProfileInUse,
    ) -> Result<Analysis, ClientError> {
        let prediction = self.predict_counted(&outcome.plan, outcome.counts.clone(), threads)?;
        let phases = &outcome.phases;
        let embedded = matches!(self.evaluator, Evaluator::Embedded(_));
        let measured = Measured {
            bytes_up: outcome.moved.up,
            bytes_down: outcome.moved.down,
            clear_bytes: outcome.counts.clear_bytes,
            server_s: phases.of("server"),
            owner_s: phases.of("decrypt"),
            peak_bytes: peak_resident_bytes().filter(|_| embedded),
        };
        let predicted =
            Explanation::new(outcome.plan.clone(), prediction, profile, phases.of("plan"), self.costs.link);
        Ok(Analysis { predicted, measured })
    }

    /// Predicts a plan for so many groups, all rows matching.
    ///
    /// # Errors
    /// None but bugs: the plan was made for this table.
    pub(crate) fn predict(
        &self,
        plan: &QueryPlan,
        groups: u64,
        threads: usize,
    ) -> Result<Prediction, ClientError> {
        let counts = match &plan.server.task {
            Task::Aggregate(task) if task.keys.is_empty() => {
                AnswerCounts { rows: 1, ..AnswerCounts::default() }
            }
            Task::Products(task) if task.keys.is_empty() => {
                AnswerCounts { rows: 1, ..AnswerCounts::default() }
            }
            Task::Aggregate(_) | Task::Products(_) => {
                AnswerCounts { rows: groups.min(plan.cost.max_groups), ..AnswerCounts::default() }
            }
            Task::Rows(task) => {
                let shape = shape(self.manifest.manifest(), &self.half);
                let (rows, chunks) = shape.read_by(&plan.server.task).all_matching(task.limit);
                AnswerCounts { rows, regrouped: groups, chunks, clear_bytes: 0 }
            }
        };
        self.predict_counted(plan, counts, threads)
    }

    /// The site at which plans for this table will run.
    pub(crate) fn site(&self) -> Site {
        let Costs { profile, threads, link } = &self.costs;
        let shape = shape(self.manifest.manifest(), &self.half);
        Site { shape, threads: *threads, profile: profile.clone(), link: *link }
    }

    pub(crate) fn predict_counted(
        &self,
        plan: &QueryPlan,
        counts: AnswerCounts,
        threads: usize,
    ) -> Result<Prediction, ClientError> {
        let manifest = self.manifest.manifest();
        let clear = clear_half_bytes(manifest, &plan.server, counts.rows)?;
        let groups = if matches!(plan.server.task, Task::Rows(_)) { 0 } else { counts.rows };
        let (rows, regrouped) = (counts.rows, counts.regrouped);
        let expected = Expected { groups, rows, chunks: counts.chunks, clear };
        let shape = shape(manifest, &self.half);
        let mut prediction = predict(&plan.server, &manifest.encodings, &shape, &expected, threads)?;
        if let Task::Rows(RowsTask { run: Some(run), .. }) = &plan.server.task {
            // The first question of a version brings the index too.
            let index = shape.runs.get(&run.number).map(|spread| spread.answer_bytes(&RunRead::Index));
            prediction.bytes_down += index.unwrap_or_default();
        }
        if let Some(search) = &plan.owner.search {
            let rounds = search.rounds as u64;
            prediction.bytes_up *= rounds;
            prediction.bytes_down *= rounds;
            prediction.work = prediction.work.times(rounds);
            // Of groups whose places lie apart a round asks more.
            prediction.bytes_down_exact = false;
        }
        if !manifest.generations.is_empty()
            && matches!(&plan.server.task, Task::Rows(task) if !task.sealed.is_empty())
        {
            // Parts of before may have no copy, or one of another width.
            prediction.bytes_down_exact = false;
        }
        prediction.work.add(of_rows(&plan.server, &plan.owner, rows, regrouped));
        if let (Some(_), Task::Rows(task)) = (&plan.owner.regroup, &plan.server.task) {
            // Four copies: decrypted, in a table in memory, read from it, and taken apart.
            prediction.owner_memory_bytes = 4 * rows * task.fetch.len() as u64 * REGROUPED_VALUE_BYTES;
        }
        if let (Some(_), Task::Rows(task)) = (&plan.owner.own, &plan.server.task) {
            // Decrypted numbers, and columns of arrays.
            let columns = task.clear.len() + task.fetch.len() + task.sealed.len();
            prediction.owner_memory_bytes = 2 * rows * columns as u64 * REGROUPED_VALUE_BYTES;
        }
        Ok(prediction)
    }
}

/// Bytes of a plain value of a quantity.
const REGROUPED_VALUE_BYTES: u64 = 32;

/// The sizes of the table's parts and clear columns.
fn shape(manifest: &Manifest, half: &PrivateHalf) -> TableShape {
    let schema = &half.schema;
    let bytes = |file: Option<hush_table::PartFile>| file.map_or(0, |file| file.bytes);
    let part = |part: &PartEntry| PartShape {
        rows: part.rows,
        clear_bytes: bytes(part.clear),
        encrypted_bytes: bytes(part.encrypted),
        domain: part.domain,
        generation: part.generation,
        is_cut: part.append.is_some(),
    };
    let clear = |(place, column): (usize, &hush_table::ClearColumn)| ClearColumn {
        name: column.name.clone(),
        // The names of categories are few, and kept once.
        is_text: schema.column(&column.name).is_some_and(|column| column.kind == ColumnType::Text),
        mean: manifest
            .lengths
            .of_clear(place)
            .map(|ColumnLength { rows, bytes, .. }| MeanBytes { rows, bytes }),
    };
    TableShape {
        parts: manifest.parts.iter().map(part).collect(),
        domains: manifest.domains(),
        lacking: Strata::of(manifest).into_lacking(),
        clear: manifest.clear_columns.iter().enumerate().map(clear).collect(),
        sealed: Some(under_seal(manifest, half)),
        cubes: cube::spreads(manifest, half),
        runs: run::spreads(manifest, half),
        has_deleted: manifest.living_rows() < manifest.rows,
        powers: table_keys::of_answers(manifest, half).collect(),
        constant_keys: table_keys::of_constants(manifest, half).collect(),
    }
}

/// The columns under a seal that all parts have which have their values.
fn under_seal(manifest: &Manifest, half: &PrivateHalf) -> BTreeMap<String, SealedShape> {
    let earlier = manifest.generations.iter().map(|generation| generation.number);
    let generations: Vec<u32> = earlier.chain([manifest.generation]).collect();
    let known = half.numbered(manifest).into_iter().filter_map(|(number, name)| {
        let column = half.schema.columns.iter().find(|column| column.name == name)?;
        let lacks = |generation: &u32| {
            let stored = manifest.columns_of(*generation).sealed;
            !stored.contains(&number) && !column.is_copy_alone() && half.has(manifest, *generation, name)
        };
        let is_whole = !column.has_copy() || !generations.iter().any(lacks);
        let copy = column.has_copy().then(|| copy::shape(column));
        let mean = if copy.is_some() { None } else { mean_of_sealed(manifest, number) };
        is_whole.then(|| (name.to_owned(), SealedShape { number, copy, mean }))
    });
    known.collect()
}

/// The bytes of a column under a seal, if they were counted. Parts that lack the column send nothing of it: their rows count as rows without bytes.
fn mean_of_sealed(manifest: &Manifest, number: u32) -> Option<MeanBytes> {
    let length = manifest.lengths.of_sealed(number)?;
    let lacks = |generation: &u32| !manifest.columns_of(*generation).sealed.contains(&number);
    let earlier = manifest.generations.iter().map(|generation| generation.number);
    let without: Vec<u32> = earlier.filter(lacks).collect();
    let lacking = manifest.parts.iter().filter(|part| without.contains(&part.generation));
    let lacking: u64 = lacking.map(|part| part.rows).sum();
    let counted = MeanBytes { rows: length.rows, bytes: length.bytes }.within(manifest.rows - lacking);
    Some(MeanBytes { rows: counted.rows + lacking, ..counted })
}

impl Explanation {
    fn new(
        plan: QueryPlan,
        prediction: Prediction,
        profile: ProfileInUse,
        planning_s: f64,
        link: Option<f64>,
    ) -> Self {
        let times = profile.profile.times(&prediction);
        let both = prediction.server_memory_bytes.saturating_add(prediction.owner_memory_bytes);
        let memory_bytes = profile.profile.base_memory_bytes.saturating_add(both);
        Self { plan, prediction, times, link, memory_bytes, profile, planning_s }
    }

    /// Predicted seconds on the link between server and owner.
    pub fn link_s(&self) -> f64 {
        let bytes = self.prediction.bytes_up + self.prediction.bytes_down;
        self.link.map_or(0.0, |speed| bytes as f64 / speed)
    }

    /// Predicted seconds of server, link and owner.
    pub fn total_s(&self) -> f64 {
        self.times.server_s + self.link_s() + self.times.owner_s
    }

    /// Everything, as JSON: see `docs/reference/explain.md`.
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        json!({
            "format": EXPLAIN_FORMAT,
            "table": plan.server.table,
            "steps": plan.steps,
            "exact": plan.cost.precision.is_none(),
            "error": plan.cost.precision,
            "failure_log2": hush_params::noise::FAILURE_LOG2,
            "nodes": plan.cost.nodes,
            "ways": plan.ways,
            "prediction": self.prediction,
            "max_groups": plan.cost.max_groups,
            "times": {
                "server_s": self.times.server_s,
                "link_s": self.link_s(),
                "owner_s": self.times.owner_s,
                "total_s": self.total_s(),
            },
            "memory_bytes": self.memory_bytes,
            "planning_s": self.planning_s,
            "profile": {
                "measured": self.profile.path.is_some(),
                "path": self.profile.path,
                "age_s": self.profile.age_s(),
                "kernels": self.profile.profile.kernels,
                "unused": self.profile.unused.as_ref().map(|unused| json!({
                    "path": unused.path, "reason": unused.reason,
                })),
            },
            "leakage": plan.leakage,
            "graph": plan.graph,
        })
    }
}

impl Analysis {
    /// Both halves as JSON: see `docs/reference/explain.md`.
    pub fn to_json(&self) -> Value {
        let measured = &self.measured;
        json!({
            "format": EXPLAIN_FORMAT,
            "predicted": self.predicted.to_json(),
            "measured": {
                "bytes_up": measured.bytes_up,
                "bytes_down": measured.bytes_down,
                "clear_bytes": measured.clear_bytes,
                "server_s": measured.server_s,
                "owner_s": measured.owner_s,
                "peak_bytes": measured.peak_bytes,
            },
        })
    }
}
