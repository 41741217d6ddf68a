// SPDX-License-Identifier: Apache-2.0
//! Models that are fitted to tables.

use hush::{Error, ModelFit, ModelKind, ModelRequest, ScoreRequest, TreeSize};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::Answer;
use crate::error::OrRaise;
use crate::table::{Table, of_outcome};
use crate::work;

/// A fitted model.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Model(hush::Model);

/// Fits a model to rows of a table.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    table: &Table,
    kind: &str,
    wanted: (String, Vec<String>),
    condition: Option<String>,
    size: (u32, usize),
) -> PyResult<Model> {
    let ((outcome, features), (depth, leaf_rows)) = (wanted, size);
    let kind = match kind {
        "linear" => Ok(ModelKind::Linear),
        "logistic" => Ok(ModelKind::Logistic),
        "tree" => Ok(ModelKind::Tree(TreeSize { depth, leaf_rows })),
        _ => Err(Error::usage("a model is \"linear\", \"logistic\" or \"tree\"")),
    };
    let request = ModelRequest { kind: kind.or_raise(py)?, outcome, features, condition };
    work::run(py, |progress| Ok(table.owned().fit(&request, progress)?.0)).map(Model)
}

#[pymethods]
impl Model {
    /// The model of a file's text.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, place: &str) -> PyResult<Self> {
        hush::Model::from_json(text, place).map(Self).or_raise(py)
    }

    /// The file's text.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().or_raise(py)
    }

    /// What is known of it.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("outcome", &self.0.outcome)?;
        dict.set_item("features", &self.0.features)?;
        dict.set_item("rows", self.0.rows)?;
        let kind = match &self.0.fit {
            ModelFit::Linear(_) => "linear",
            ModelFit::Logistic(_) => "logistic",
            ModelFit::Tree(_) => "tree",
        };
        dict.set_item("kind", kind)?;
        if let ModelFit::Linear(fit) | ModelFit::Logistic(fit) = &self.0.fit {
            dict.set_item("intercept", fit.intercept)?;
            dict.set_item("coefficients", &fit.coefficients)?;
            dict.set_item("r2", fit.r2)?;
        }
        Ok(dict)
    }

    /// SQL of a row's score.
    fn sql(&self) -> String {
        self.0.sql()
    }

    /// The model for `hush eval`.
    fn expression(&self, py: Python<'_>) -> PyResult<String> {
        self.0.expression().or_raise(py)
    }

    /// What it says of rows of a table.
    fn score(
        &self,
        py: Python<'_>,
        table: &Table,
        keep: Vec<String>,
        condition: Option<String>,
    ) -> PyResult<Answer> {
        let request = ScoreRequest { keep, condition };
        of_outcome(py, work::run(py, |progress| Ok(table.owned().score(&self.0, &request, progress)?))?)
    }
}
