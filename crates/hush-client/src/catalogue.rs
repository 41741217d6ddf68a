// SPDX-License-Identifier: Apache-2.0
//! Questions about several tables: joins, sub-queries, WITH and set operations.
//!
//! The owner's query engine plans the question over empty tables, and moves conditions down to the tables that they are on. Each table that it reads is
//! then asked an ordinary question of its own: the columns that the plan reads, or groups of them with what is added up of a group, under the conditions
//! that the table alone decides. What came back takes the tables' places, and the engine does the rest here.
//!
//! ```text
//!   SQL ─ hush_plan::sql::several ─▶ plan over empty tables ─▶ one question for each table ─ OwnedTable ─▶ rows or groups
//!                                           └───────────────── the same plan over these ◀────────────────────┘
//! ```
//!
//! *Invariants.* A server gets nothing but questions about its own table, planned as any other, under conditions that the question states of this table. A condition on rows that was moved down is evaluated here
//! once more, so that no result depends on which ones were.
//!
//! *Non-goals.* Joins on ciphertexts.

mod answered;
mod asked;
mod conditions;
mod faults;
mod groups;
mod narrowed;
mod nulls;
mod partners;
mod planned;
mod questions;
mod rules;
mod scan;
mod sets;
mod stated;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeSet;

use arrow::record_batch::RecordBatch;
use hush_plan::WayName;
use hush_plan::predict::ASSUMED_GROUPS;
use hush_remote::Progress;

use self::asked::Asked;
use self::conditions::{Described, listed};
use self::groups::{Choice, Classes, Gain, Matching};
use self::partners::{Known, Sought};
use self::planned::{Planned, opened};
use self::questions::{Question, most_groups};
use self::scan::Scan;
use self::stated::Stated;
use crate::account::{Moved, Phases};
use crate::ask::Outcome;
use crate::error::ClientError;
use crate::explain::Explanation;
use crate::machine::ProfileInUse;
use crate::table::OwnedTable;

/// How much quicker groups have to be than rows. Predictions are hardly better.
const CLEARLY: f64 = 1.3;

/// Rows that a group of a server's sums has at least, by declared values, where it is asked for in place of its rows.
const ROWS_OF_A_GROUP: u64 = 8;

/// Tables to put one question to. All of them are their owner's, with keys at hand.
pub struct Catalogue<'a> {
    tables: Vec<&'a OwnedTable>,
}

/// A result with its costs.
#[derive(Clone, Debug)]
pub struct CatalogueOutcome {
    /// The result; at least one batch, possibly empty.
    pub batches: Vec<RecordBatch>,
    /// What each table was asked, and what that took.
    pub answers: Vec<TableAnswer>,
    /// Time: plan, those of the questions, and join.
    pub phases: Phases,
    /// Bytes of all questions and answers.
    pub moved: Moved,
    /// Sentences that deserve attention.
    pub notes: Vec<String>,
}

/// The question that one table was asked.
#[derive(Clone, Debug)]
pub struct TableAnswer {
    /// The table's name.
    pub table: String,
    /// The question.
    pub sql: String,
    /// Rows or groups that came back.
    pub rows: usize,
    /// Its costs. Its rows went into the result.
    pub outcome: Outcome,
}

/// What a question would do.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueExplanation {
    /// The question of each table.
    pub questions: Vec<TableExplanation>,
    /// Sentences that deserve attention.
    pub notes: Vec<String>,
}

/// What the question to one table would do.
#[derive(Clone, Debug, PartialEq)]
pub struct TableExplanation {
    /// The table's name.
    pub table: String,
    /// The question.
    pub sql: String,
    /// Its plan with its price.
    pub explanation: Explanation,
}

impl<'a> Catalogue<'a> {
    /// A catalogue of these tables, under the names that they have in SQL.
    ///
    /// # Errors
    /// [`ClientError::Usage`]: no table, or two of one name.
    pub fn new(tables: Vec<&'a OwnedTable>) -> Result<Self, ClientError> {
        let mut names = BTreeSet::new();
        for table in &tables {
            let name = &table.half.schema.table;
            if !names.insert(name.to_ascii_lowercase()) {
                let what = format!(
                    "two tables are named {name:?}, and a question could not tell them apart\n  Ways out: give each table once; encrypt one of them under another name."
                );
                return Err(ClientError::Usage { what });
            }
        }
        match tables.is_empty() {
            true => Err(ClientError::Usage { what: "a catalogue has at least one table".into() }),
            false => Ok(Self { tables }),
        }
    }

    /// Asks a question about several tables.
    ///
    /// # Cost
    /// Memory: the columns that it reads of each table, of the rows that the conditions on this table alone leave or of their groups, and what the join makes
    /// of them.
    ///
    /// # Errors
    /// [`ClientError::Plan`] and [`ClientError::Tables`] before anything is sent; those of [`OwnedTable::ask`]; [`ClientError::Finish`].
    pub fn ask(&self, sql: &str, progress: &dyn Progress) -> Result<CatalogueOutcome, ClientError> {
        let in_groups = Cell::new(false);
        let gain = |rows: &Scan, groups: &Scan| {
            let saved = self.saved(rows, groups);
            in_groups.set(in_groups.get() || saved.is_some());
            saved
        };
        match self.ask_for(sql, Some(&gain), progress) {
            // There were more groups than anybody knew.
            Err(error) if in_groups.get() && error.is_of_size() => self.ask_for(sql, None, progress),
            asked => asked,
        }
    }

    /// Asks, for groups where something is gained by it, or for rows alone.
    fn ask_for(
        &self,
        sql: &str,
        gain: Option<Gain<'_>>,
        progress: &dyn Progress,
    ) -> Result<CatalogueOutcome, ClientError> {
        let mut asked = Asked::default();
        let known = Known::new(&self.tables);
        let plan = |asked: &mut Asked| asked.phases.time("plan", || self.questions(sql, gain, &known));
        let (mut planned, mut questions) = plan(&mut asked)?;
        let mut is_any = false;
        for sought in known.sought() {
            let classes = self.classes(&sought, &planned, (&mut asked, progress))?;
            is_any |= known.learn(sought, classes);
        }
        if is_any {
            (planned, questions) = plan(&mut asked)?;
        }
        let found = questions.iter().map(|question| asked.ask(question, progress));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let Asked { mut phases, moved, answers, first } = asked;
        drop(first);
        let mut notes = planned.notes.clone();
        for note in answers.iter().flat_map(|answer| &answer.outcome.plan.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let batches = phases.time("join", || answered::result(planned, found))?;
        Ok(CatalogueOutcome { batches, answers, phases, moved, notes })
    }

    /// Asks for a part of a plan first, and puts its keys into classes.
    fn classes(
        &self,
        sought: &Sought,
        planned: &Planned,
        (asked, progress): (&mut Asked, &dyn Progress),
    ) -> Result<Option<Classes>, ClientError> {
        let Sought { plan, place, table, own } = sought;
        let mut part = planned.part(plan.clone())?;
        let questions = self.numbered(&mut part)?;
        let found = questions.iter().map(|question| asked.ask_first(question, progress));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let rows = asked.phases.time("join", || answered::result(part, found))?;
        let table = self.tables.iter().find(|found| found.half.schema.table == *table);
        let Some(table) = table else { return Ok(None) };
        let columns = opened(table.schema());
        let described = Described { columns: &columns, tokens: &table.keys.tokens };
        Classes::of(&rows, *place, &|values| listed(own, values, described))
    }

    /// What [`Catalogue::ask`] would do: each table's question, planned and priced as by [`OwnedTable::explain`].
    ///
    /// # Errors
    /// As [`Catalogue::ask`] before anything is sent.
    pub fn explain(
        &self,
        sql: &str,
        threads: usize,
        profile: &ProfileInUse,
    ) -> Result<CatalogueExplanation, ClientError> {
        let (gain, known) = (|rows: &Scan, groups: &Scan| self.saved(rows, groups), Known::new(&self.tables));
        let (mut planned, questions) = self.questions(sql, Some(&gain), &known)?;
        for sought in known.sought() {
            planned.notes.push(format!(
                "once {} has answered, keys that find the same there may be asked for as one group",
                sought.tables().join(", ")
            ));
        }
        let questions = questions.into_iter().map(|question| {
            let explanation = question.table.explain_on_tokens(&question.sql, threads, profile.clone())?;
            let table = question.table.half.schema.table.clone();
            Ok::<_, ClientError>(TableExplanation { table, sql: question.sql, explanation })
        });
        Ok(CatalogueExplanation { questions: questions.collect::<Result<_, _>>()?, notes: planned.notes })
    }

    /// The plan of a question, and what its tables are asked; equal questions once.
    fn questions(
        &self,
        sql: &str,
        gain: Option<Gain<'_>>,
        known: &Known<'_>,
    ) -> Result<(Planned, Vec<Question<'a>>), ClientError> {
        let classes =
            |matching: &Matching<'_>, stated: &Stated| gain.and_then(|_| known.classes(matching, stated));
        let choice = Choice { gain: gain.unwrap_or(&|_, _| None), classes: &classes };
        let mut planned = Planned::new(&self.tables, sql, choice)?;
        let questions = self.numbered(&mut planned)?;
        Ok((planned, questions))
    }

    /// The questions of a plan's scans.
    fn numbered(&self, planned: &mut Planned) -> Result<Vec<Question<'a>>, ClientError> {
        let mut questions: Vec<Question<'a>> = Vec::new();
        for scan in &mut planned.scans {
            let question = self.question(scan)?;
            let known = questions
                .iter()
                .position(|known| known.sql == question.sql && known.table.half.schema.table == scan.table);
            scan.answer = known.unwrap_or(questions.len());
            if known.is_none() {
                questions.push(question);
            }
        }
        Ok(questions)
    }

    fn question(&self, scan: &Scan) -> Result<Question<'a>, ClientError> {
        let table = self.tables.iter().find(|table| table.half.schema.table == scan.table);
        let table = table.ok_or(ClientError::Internal { what: "a plan reads a table that nobody gave" })?;
        Question::new(table, scan)
    }

    /// Seconds that groups save, where a table's server can make them: rows that come back may as well be grouped by the plan.
    fn saved(&self, rows: &Scan, groups: &Scan) -> Option<f64> {
        let question = self.question(groups).ok()?;
        let plan = &question.plan;
        let known = most_groups(question.table.schema(), groups);
        match plan.way {
            WayName::Fetch | WayName::Gather | WayName::Rows => return None,
            // Of these the plan knows the cells.
            WayName::Cube | WayName::Filter | WayName::Group => {}
            // Predictions are for few groups.
            WayName::Order | WayName::Sum => {
                let most = question.table.manifest.manifest().living_rows() / ROWS_OF_A_GROUP;
                let most = most.min(plan.cost.max_groups);
                known.filter(|groups| *groups <= most)?;
            }
        }
        // As where one way alone is allowed, and it gives no rows.
        let Ok(rows) = self.question(rows) else { return Some(f64::INFINITY) };
        let rows = rows.table.seconds(&rows.plan, 0).ok()?;
        let assumed = match (known, &groups.classes) {
            (Some(known), Some(_)) => known,
            (known, _) => known.map_or(ASSUMED_GROUPS, |known| known.min(ASSUMED_GROUPS)),
        };
        let groups = question.table.seconds(plan, assumed).ok()?;
        (groups * CLEARLY < rows).then_some(rows - groups)
    }
}
