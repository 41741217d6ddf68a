// SPDX-License-Identifier: Apache-2.0
//! The owner's own work: keys and encryption.

use std::path::PathBuf;

use hush::{
    AlterOptions, Alteration, AppendOptions, CompactOptions, EncryptOptions, Error, Front, NewPassphrase,
    OwnerKey, Passphrase, Pins, Present, Protection, Purpose, RotateOptions, RotateWay, TableLocation, Which,
    WorkFactor,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
    /// Makes a key and stores it under a passphrase: a text, or else the first line of a file. Trying a passphrase takes memory of
    /// so many bytes at most, or else about a second's work.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        backup: Option<PathBuf>,
        passphrase: Option<&str>,
        file: Option<PathBuf>,
        weak: bool,
        opens_in: Option<u64>,
    ) -> PyResult<Self> {
        let text = given(passphrase, file.clone()).or_raise(py)?;
        let new = if weak { NewPassphrase::weak(text) } else { NewPassphrase::new(text) };
        let new = new.or_raise(py)?;
        let factor = opens_in.map_or(WorkFactor::Calibrated, WorkFactor::Memory);
        let key = work::run(py, |_| Ok(OwnerKey::create(&path, backup.as_deref(), &new, factor)?))?;
        let key = key.to_change(&path, new.opens(), file.as_deref());
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
        let passphrase = given(passphrase, file.clone()).or_raise(py)?;
        let key = work::run(py, |_| Ok(OwnerKey::open(&path, &passphrase)?))?;
        Ok(Self { key: key.to_change(&path, &passphrase, file.as_deref()), is_temporary: false })
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

/// The passphrase: a text, else the first line of a file, which Python never sees. Refuses an empty one.
fn given(text: Option<&str>, file: Option<PathBuf>) -> Result<Passphrase, Error> {
    hush::harden_process();
    match (text, file) {
        (_, Some(path)) => Ok(Passphrase::from_file(&path)?),
        (Some(text), None) if !text.is_empty() => Ok(Passphrase::new(text.to_owned())),
        _ => Err(Error::key("HUSH-K008", "the passphrase is empty")),
    }
}

/// The sentence that a version took the place of another, with the rows of both.
pub(crate) fn replacement(replaced: &Present, rows: u64) -> String {
    let (version, before, losses) = (replaced.version, replaced.rows, replaced.losses());
    format!("version {version} was replaced: {before} rows before{losses}; {rows} rows now")
}

/// The sentence that a table does not have some columns of the data.
pub(crate) fn not_kept(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| format!("not kept: {} (protect = \"drop\" in the schema)", names.join(", ")))
}

/// Encrypts data into a table directory. Returns sentences on everything that the owner should hear: the version that it
/// replaced, columns that are not kept, values that were read as others than they are written.
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
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Vec<String>> {
    let options = EncryptOptions {
        source: source.source.clone(),
        schema: schema.schema.clone(),
        output,
        workload,
        threads,
        memory_limit,
        pins: key.pins(),
        replace,
    };
    let encrypted = source.settle(work::run(py, |progress| hush::encrypt(&options, &key.key, progress)))?;
    let rows = encrypted.manifest.manifest().rows;
    let mut notes: Vec<String> =
        encrypted.replaced.iter().map(|replaced| replacement(replaced, rows)).collect();
    notes.extend(encrypted.device_note(&options.schema, Front::Python));
    let dropped = options.schema.protected(Protection::Drop).map(|column| column.name.as_str());
    notes.extend(not_kept(&dropped.collect::<Vec<_>>()));
    notes.extend(hush::reading_notes(&options.schema, &options.source));
    Ok(notes)
}

/// Adds rows to a table. Returns the version and rows of the table, the rows and bytes that came, the version that had brought the batch, and
/// the rows beyond the schema's `max_rows`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn append<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    source: &Source,
    key: &Key,
    batch: Option<String>,
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let pins = key.pins();
    let options = AppendOptions { source: source.source.clone(), batch, threads, memory_limit, pins };
    let report = source.settle(work::run(py, |progress| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::append(location.place(), &options, &key.key, progress)
    }))?;
    let dict = PyDict::new(py);
    dict.set_item("rows", report.rows)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("version", report.version)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("known_since", report.known_since)?;
    dict.set_item("rows_beyond", report.rows_beyond)?;
    Ok(dict)
}

/// Writes parts of a table anew: `which` is `worth`, `due`, `deleted` or `all`. Returns what went and what came, and the version, rows and
/// parts of the table.
#[pyfunction]
pub(crate) fn compact<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    which: &str,
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let which = match which {
        "all" => Which::All,
        "deleted" => Which::Deleted,
        "due" => Which::Due,
        _ => Which::Worth,
    };
    let options = CompactOptions { which, threads, memory_limit, pins: key.pins() };
    let report = work::run(py, |progress| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::compact(location.place(), &options, &key.key, progress)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("parts", report.parts)?;
    dict.set_item("made_parts", report.made_parts)?;
    dict.set_item("removed_rows", report.removed_rows)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("made_bytes", report.made_bytes)?;
    dict.set_item("version", report.version)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("table_parts", report.table_parts)?;
    Ok(dict)
}

/// Alters the columns of a table. `add` has columns as a schema file does, `widen` lowest and highest values as texts.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn alter<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    add: Vec<String>,
    drop: Vec<String>,
    rename: Vec<(String, String)>,
    widen: Vec<(String, [String; 2])>,
    purposes: Vec<(String, Vec<String>)>,
    products: Vec<Vec<String>>,
    moments: Vec<Vec<String>>,
    measures: Vec<String>,
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let purpose = |name: &String| Purpose::ALL.into_iter().find(|purpose| purpose.name() == name);
    let purposes = purposes.into_iter().map(|(name, given)| {
        let known = given.iter().map(|text| purpose(text).ok_or(text)).collect::<Result<Vec<_>, _>>();
        known.map(|known| (name.clone(), known)).map_err(|text| {
            let all = Purpose::ALL.map(Purpose::name).join(", ");
            pyo3::exceptions::PyValueError::new_err(format!("purpose {text:?} is none of {all}"))
        })
    });
    let purposes = purposes.collect::<PyResult<Vec<_>>>()?;
    let pins = key.pins();
    let report = work::run(py, |progress| {
        let add = add.iter().map(|text| hush::column_of_text(text)).collect::<Result<_, _>>()?;
        let alteration = Alteration { drop, rename, add, widen, purposes, products, moments, measures };
        let options = AlterOptions { alteration, threads, memory_limit, pins };
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::alter(location.place(), &options, &key.key, progress)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("version", report.version)?;
    dict.set_item("changed", report.changed)?;
    dict.set_item("resumed", report.resumed)?;
    dict.set_item("rows", report.rows)?;
    dict.set_item("made_bytes", report.made_bytes)?;
    dict.set_item("clear_parts", report.clear_parts)?;
    dict.set_item("left_behind", &report.left_behind)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("note", report.device_note(Front::Python))?;
    Ok(dict)
}

/// Gives a table another key or other secrets: `way` is `everything`, `new_rows` or `rewrap`. Returns what was done and what it does not undo.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn rotate<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    way: &str,
    new_key: Option<&Key>,
    forget: bool,
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let way = match way {
        "new_rows" => RotateWay::NewRows,
        "rewrap" => RotateWay::Rewrap,
        _ => RotateWay::Everything,
    };
    let pins = new_key.unwrap_or(key).pins();
    let options =
        RotateOptions { way, new_key: new_key.map(|key| &key.key), forget, threads, memory_limit, pins };
    let report = work::run(py, |progress| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::rotate(location.place(), &options, &key.key, progress)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("version", report.version)?;
    dict.set_item("key", &report.key)?;
    dict.set_item("key_before", report.key_before.as_deref())?;
    dict.set_item("resumed", report.resumed)?;
    dict.set_item("rows", report.rows)?;
    dict.set_item("made_bytes", report.made_bytes)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("domains", report.domains)?;
    dict.set_item("forgotten", report.forgotten)?;
    dict.set_item("not_undone", way.not_undone(new_key.is_some(), forget))?;
    dict.set_item("note", report.device_note(Front::Python))?;
    Ok(dict)
}
