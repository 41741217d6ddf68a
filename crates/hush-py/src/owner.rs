// SPDX-License-Identifier: Apache-2.0
//! What only the owner does: keys and encryption.

use std::path::PathBuf;

use hush::{EncryptOptions, Error, OwnerKey, Passphrase, Pins, Present, WorkFactor};
use pyo3::prelude::*;

use crate::data::Source;
use crate::error::OrRaise;
use crate::schema::Schema;
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
    /// Makes a key and stores it under a passphrase.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, backup: Option<PathBuf>, passphrase: &str) -> PyResult<Self> {
        let secret = secret(passphrase).or_raise(py)?;
        let key = work::run(py, |_| {
            Ok(OwnerKey::create(&path, backup.as_deref(), &secret, WorkFactor::Calibrated)?)
        })?;
        Ok(Self { key, is_temporary: false })
    }

    /// Opens a key file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, passphrase: &str) -> PyResult<Self> {
        let secret = secret(passphrase).or_raise(py)?;
        let key = work::run(py, |_| Ok(OwnerKey::open(&path, secret())?))?;
        Ok(Self { key, is_temporary: false })
    }

    /// A key that ends with this process.
    #[staticmethod]
    fn temporary(py: Python<'_>) -> PyResult<Self> {
        let key = work::run(py, |_| Ok(OwnerKey::temporary()?))?;
        Ok(Self { key, is_temporary: true })
    }

    /// Its public name.
    #[getter]
    fn id(&self) -> String {
        self.key.id()
    }
}

/// Gives the passphrase as often as it is asked for; refuses an empty one.
fn secret(passphrase: &str) -> Result<impl Fn() -> Passphrase + Send, Error> {
    if passphrase.is_empty() {
        return Err(Error::key("HUSH-K008", "the passphrase is empty"));
    }
    Ok(move || Passphrase::new(passphrase.to_owned()))
}

/// That a version took the place of another, with the rows of both.
pub(crate) fn replacement(replaced: &Present, rows: u64) -> String {
    let (version, before, losses) = (replaced.version, replaced.rows, replaced.losses());
    format!("version {version} was replaced: {before} rows before{losses}; {rows} rows now")
}

/// Encrypts data into a table directory. Gives a sentence about the version that it replaced, if there was one.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn encrypt(
    py: Python<'_>,
    source: &Source,
    schema: &Schema,
    key: &Key,
    output: PathBuf,
    replace: bool,
    workload: Option<PathBuf>,
    threads: usize,
) -> PyResult<Option<String>> {
    let options = EncryptOptions {
        source: source.source.clone(),
        schema: schema.schema.clone(),
        output,
        workload,
        threads,
        memory_limit: None,
        pins: key.pins(),
        replace,
    };
    let encrypted = source.settle(work::run(py, |progress| hush::encrypt(&options, &key.key, progress)))?;
    Ok(encrypted.replaced.map(|replaced| replacement(&replaced, encrypted.manifest.manifest().rows)))
}
