// SPDX-License-Identifier: Apache-2.0
//! Schemas: proposed, read, edited, approved, written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hush::{Error, Policy, Proposal, Setting};
use pyo3::prelude::*;

use crate::data::Source;
use crate::work;

/// A schema with the facts that a person should know before approving it.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Schema {
    pub(crate) schema: hush::Schema,
    warnings: Vec<String>,
}

impl Schema {
    pub(crate) fn new(schema: hush::Schema) -> Self {
        Self { schema, warnings: Vec::new() }
    }
}

/// A value of a schema's key, as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i64),
    Text(String),
    Texts(Vec<String>),
    Lists(Vec<Vec<String>>),
}

impl From<Value> for Setting {
    fn from(value: Value) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(value),
            Value::Integer(value) => Self::Integer(value),
            Value::Text(value) => Self::Text(value),
            Value::Texts(value) => Self::Texts(value),
            Value::Lists(value) => Self::Lists(value),
        }
    }
}

#[pymethods]
impl Schema {
    /// Reads the text of a file.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        work::run(py, |_| hush::parse_schema(text).map(Self::new))
    }

    /// Reads a file, approved or not.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, |_| hush::read_schema(&path).map(Self::new))
    }

    /// Proposes a schema for data.
    #[staticmethod]
    #[pyo3(signature = (source, sensitive, clear, workload=None))]
    fn propose(
        py: Python<'_>,
        source: &Source,
        sensitive: Vec<String>,
        clear: Vec<String>,
        workload: Option<PathBuf>,
    ) -> PyResult<Self> {
        let policy = Policy { sensitive, clear };
        let proposed = work::run(py, |_| {
            let mut proposal = hush::propose(&source.source, &policy)?;
            if let Some(path) = &workload {
                let refused = |error| Error::usage(format!("cannot read {}: {error}", path.display()));
                let queries = std::fs::read_to_string(path).map_err(refused)?;
                let advice = hush::propose_for(&source.source, &mut proposal, &queries)?;
                proposal.warnings.extend(advice.lines());
            }
            Ok(proposal)
        });
        let Proposal { schema, warnings, .. } = source.settle(proposed)?;
        Ok(Self { schema, warnings })
    }

    /// The text of its file.
    #[getter]
    fn text(&self) -> String {
        hush::schema_text(&self.schema)
    }

    /// Notes that deserve attention.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The schema with changed keys of a column, or of its own without a column; `None` removes a key. The result is not approved.
    fn edit(
        &self,
        py: Python<'_>,
        column: Option<&str>,
        changes: Vec<(String, Option<Value>)>,
    ) -> PyResult<Self> {
        let settings: Vec<(String, Option<Setting>)> =
            changes.into_iter().map(|(key, value)| (key, value.map(Setting::from))).collect();
        let changes: Vec<_> = settings.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        let schema = work::run(py, |_| hush::edit_schema(&self.schema, column, &changes))?;
        Ok(Self { schema, warnings: self.warnings.clone() })
    }

    /// The schema, approved; refused while a column is undecided.
    fn approve(&self, py: Python<'_>, by: &str) -> PyResult<Self> {
        let proposal = Proposal {
            schema: self.schema.clone(),
            rows: 0,
            distinct: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let schema = work::run(py, |_| hush::approve(proposal, by))?;
        Ok(Self { schema, warnings: self.warnings.clone() })
    }

    /// Writes its file.
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        work::run(py, |_| hush::write_schema(&path, &self.schema, replace))
    }
}
