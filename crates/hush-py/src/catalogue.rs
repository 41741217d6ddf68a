// SPDX-License-Identifier: Apache-2.0
//! Questions about several tables.

use std::sync::Arc;

use hush::{Catalogue as Tables, CatalogueOutcome, OwnedTable, ProfileInUse};
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
        let account = of_outcome(py, &outcome)?;
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

/// The cost of a question, with what each table was asked.
fn of_outcome(py: Python<'_>, outcome: &CatalogueOutcome) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    account::cost(&dict, &outcome.phases, outcome.moved)?;
    let leakages: Vec<_> =
        outcome.answers.iter().map(|asked| (asked.table.as_str(), &asked.outcome.plan.leakage)).collect();
    dict.set_item("leakage", account::of_leakages(py, &leakages)?)?;
    account::exposure(&dict, &[], None)?;
    dict.set_item("notes", outcome.notes.clone())?;
    let questions = outcome.answers.iter().map(|asked| {
        let dict = PyDict::new(py);
        dict.set_item("table", &asked.table)?;
        dict.set_item("sql", &asked.sql)?;
        dict.set_item("rows", asked.rows)?;
        dict.set_item(
            "way",
            asked.outcome.plan.ways.iter().find(|way| way.taken).map(|way| way.name.name()),
        )?;
        dict.set_item("bytes_up", asked.outcome.moved.up)?;
        dict.set_item("bytes_down", asked.outcome.moved.down)?;
        Ok(dict)
    });
    dict.set_item("questions", questions.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict.unbind())
}
