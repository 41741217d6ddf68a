// SPDX-License-Identifier: Apache-2.0
//! Questions about several tables.

use std::sync::Arc;

use hush::{Catalogue as Tables, OwnedTable, ProfileInUse};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::account;
use crate::data::Answer;
use crate::table::{Table, answer};
use crate::work;

/// Tables to put one question to.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Catalogue(Vec<Arc<OwnedTable>>);

#[pymethods]
impl Catalogue {
    /// A catalogue of open tables.
    #[new]
    fn new(py: Python<'_>, tables: Vec<PyRef<'_, Table>>) -> PyResult<Self> {
        let tables: Vec<Arc<OwnedTable>> = tables.iter().map(|table| Arc::clone(table.owned())).collect();
        work::run(py, |_| Ok(Tables::new(tables.iter().map(Arc::as_ref).collect()).map(drop)?))?;
        Ok(Self(tables))
    }

    /// Asks a question about them.
    fn ask(&self, py: Python<'_>, sql: &str) -> PyResult<Answer> {
        let outcome = work::run(py, |progress| Ok(self.tables()?.ask(sql, progress)?))?;
        let account = account::of_catalogue(py, &outcome)?;
        answer(py, outcome.batches, account)
    }

    /// Plans a question without running it: a table, its question and its plan each.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
    ) -> PyResult<Vec<(String, String, Bound<'py, PyDict>)>> {
        let explained = work::run(py, |_| {
            let threads = hush::machine()?.threads;
            Ok(self.tables()?.explain(sql, threads, &ProfileInUse::of_user())?)
        })?;
        let questions = explained.questions.into_iter().map(|question| {
            Ok((question.table, question.sql, account::of_plan(py, &question.explanation.plan)?))
        });
        questions.collect()
    }
}

impl Catalogue {
    fn tables(&self) -> Result<Tables<'_>, hush::Error> {
        Ok(Tables::new(self.0.iter().map(Arc::as_ref).collect())?)
    }
}
