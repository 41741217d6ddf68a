// SPDX-License-Identifier: Apache-2.0
//! What only the owner does: keys, schemas, encryption.

use std::path::PathBuf;

use hush::{EncryptOptions, Error, NewPassphrase, OwnerKey, Passphrase, Pins, Policy, Proposal, WorkFactor};
use pyo3::prelude::*;

use crate::data::Source;
use crate::error::OrRaise;
use crate::work;

/// The owner's key. Holds no passphrase; the secret is wiped when the object goes.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Key {
    pub(crate) key: OwnerKey,
    is_temporary: bool,
}

impl Key {
    /// Versions of a temporary key's tables need no memory: they end with the process.
    pub(crate) fn pins(&self) -> Pins {
        if self.is_temporary { Pins::forgetful() } else { Pins::of_user() }
    }
}

#[pymethods]
impl Key {
    /// Makes a key and stores it under a passphrase: a text, or else the first line of a file.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        backup: Option<PathBuf>,
        passphrase: Option<&str>,
        file: Option<PathBuf>,
        weak: bool,
    ) -> PyResult<Self> {
        let given = given(passphrase, file).or_raise(py)?;
        let new = if weak { NewPassphrase::weak(given) } else { NewPassphrase::new(given) };
        let new = new.or_raise(py)?;
        let key =
            work::run(py, |_| Ok(OwnerKey::create(&path, backup.as_deref(), &new, WorkFactor::Calibrated)?))?;
        Ok(Self { key, is_temporary: false })
    }

    /// Opens a key file with a passphrase: a text, or else the first line of a file.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        passphrase: Option<&str>,
        file: Option<PathBuf>,
    ) -> PyResult<Self> {
        let passphrase = given(passphrase, file).or_raise(py)?;
        let key = work::run(py, |_| Ok(OwnerKey::open(&path, &passphrase)?))?;
        Ok(Self { key, is_temporary: false })
    }

    /// A key that ends with this process.
    #[staticmethod]
    fn temporary(py: Python<'_>) -> PyResult<Self> {
        Ok(Self { key: OwnerKey::temporary().or_raise(py)?, is_temporary: true })
    }

    /// Its public name.
    #[getter]
    fn id(&self) -> String {
        self.key.id()
    }
}

/// The passphrase: a text, else the first line of a file, which Python never sees. Refuses an empty one.
fn given(text: Option<&str>, file: Option<PathBuf>) -> Result<Passphrase, Error> {
    hush::harden_process();
    match (text, file) {
        (_, Some(path)) => Ok(Passphrase::from_file(&path)?),
        (Some(text), None) if !text.is_empty() => Ok(Passphrase::new(text.to_owned())),
        _ => Err(Error::key("HUSH-K008", "the passphrase is empty")),
    }
}

/// A schema with what a person should know before approving it.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Schema {
    pub(crate) schema: hush::Schema,
    warnings: Vec<String>,
}

#[pymethods]
impl Schema {
    /// The text of its file.
    #[getter]
    fn text(&self) -> String {
        hush::schema_text(&self.schema)
    }

    /// What deserves attention.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Whether a person has approved it.
    #[getter]
    fn is_approved(&self) -> bool {
        self.schema.approved
    }

    /// Name of the table in SQL.
    #[getter]
    fn table(&self) -> String {
        self.schema.table.clone()
    }

    /// Names of the columns, in the order of the data.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The same, approved; refused while a column is undecided.
    fn approve(&self, py: Python<'_>, by: &str) -> PyResult<Self> {
        let proposal = Proposal { schema: self.schema.clone(), rows: 0, warnings: Vec::new() };
        Ok(Self { schema: hush::approve(proposal, by).or_raise(py)?, warnings: self.warnings.clone() })
    }

    /// Writes its file.
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        hush::write_schema(&path, &self.schema, replace).or_raise(py)
    }
}

/// Proposes a schema for data.
#[pyfunction]
pub(crate) fn propose(
    py: Python<'_>,
    source: &Source,
    sensitive: Option<Vec<String>>,
    clear: Vec<String>,
) -> PyResult<Schema> {
    let policy = Policy { sensitive: sensitive.unwrap_or_default(), clear };
    let proposal = work::run(py, |_| hush::propose(&source.0, &policy))?;
    Ok(Schema { schema: proposal.schema, warnings: proposal.warnings })
}

/// Reads a schema file, approved or not.
#[pyfunction]
pub(crate) fn read_schema(py: Python<'_>, path: PathBuf) -> PyResult<Schema> {
    Ok(Schema { schema: hush::read_schema(&path).or_raise(py)?, warnings: Vec::new() })
}

/// Encrypts data into a table directory.
#[pyfunction]
pub(crate) fn encrypt(
    py: Python<'_>,
    source: &Source,
    schema: &Schema,
    key: &Key,
    output: PathBuf,
    workload: Option<PathBuf>,
    threads: usize,
) -> PyResult<()> {
    let (source, schema, pins) = (source.0.clone(), schema.schema.clone(), key.pins());
    let (memory_limit, replace) = (None, false);
    let options = EncryptOptions { source, schema, output, workload, threads, memory_limit, pins, replace };
    work::run(py, |progress| hush::encrypt(&options, &key.key, progress).map(drop))
}
