// SPDX-License-Identifier: Apache-2.0
//! What only the owner does: keys and encryption.

use std::path::PathBuf;

use hush::{EncryptOptions, Error, OwnerKey, Passphrase, Pins, WorkFactor};
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
    let (data, schema) = (source.source.clone(), schema.schema.clone());
    let options = EncryptOptions {
        source: data,
        schema,
        output,
        workload,
        threads,
        memory_limit: None,
        pins: key.pins(),
    };
    source.settle(work::run(py, |progress| hush::encrypt(&options, &key.key, progress).map(drop)))
}
