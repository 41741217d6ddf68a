// SPDX-License-Identifier: Apache-2.0
//! What the tables of a question have answered.

use arrow::record_batch::RecordBatch;
use hush_remote::Progress;

use super::TableAnswer;
use super::questions::Question;
use crate::account::{Moved, Phases};
use crate::error::ClientError;

/// The answers of a question so far, with what they took.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) phases: Phases,
    pub(super) moved: Moved,
    /// One for each question. Their rows are elsewhere.
    pub(super) answers: Vec<TableAnswer>,
    /// The rows of those that were asked first, by their places.
    pub(super) first: Vec<(usize, Vec<RecordBatch>)>,
}

impl Asked {
    /// Puts a question, unless it was asked first.
    ///
    /// # Errors
    /// Those of [`crate::OwnedTable::ask`].
    pub(super) fn ask(
        &mut self,
        question: &Question<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<RecordBatch>, ClientError> {
        let table = &question.table.half.schema.table;
        let known = self.first.iter().find(|(place, _)| {
            self.answers.get(*place).is_some_and(|known| known.table == *table && known.sql == question.sql)
        });
        if let Some((_, batches)) = known {
            return Ok(batches.clone());
        }
        let mut outcome = question.table.run(question.plan.clone(), Phases::default(), progress)?;
        outcome.phases.iter().for_each(|(name, seconds)| self.phases.add(name, seconds));
        self.moved.up += outcome.moved.up;
        self.moved.down += outcome.moved.down;
        let found = std::mem::take(&mut outcome.batches);
        let batches = self.phases.time("decrypt", || question.opened(found))?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        self.answers.push(TableAnswer { table: table.clone(), sql: question.sql.clone(), rows, outcome });
        Ok(batches)
    }

    /// Puts a question whose rows are needed for the plan, and perhaps once more.
    ///
    /// # Errors
    /// As [`Asked::ask`].
    pub(super) fn ask_first(
        &mut self,
        question: &Question<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<RecordBatch>, ClientError> {
        let (before, batches) = (self.answers.len(), self.ask(question, progress)?);
        if self.answers.len() > before {
            self.first.push((before, batches.clone()));
        }
        Ok(batches)
    }
}
