// SPDX-License-Identifier: Apache-2.0
//! Hushtable on the workload, over the network: keys, encryption, upload, evaluation and decryption, with a real
//! server process on the loopback address; or in one process, without upload.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hush::{
    ApiToken, EncryptOptions, Manifest, OwnedTable, OwnerKey, Phases, Pins, Protection, RemoteServer, Silent,
};
use tempfile::TempDir;

use super::Options;
use super::cloud::Functions;
use super::measured::{Check, Measured, median};
use crate::BenchError;
use crate::synthetic::{COLUMNS, SENSITIVE, Synthetic};
use crate::usage::ProcessUsage;

/// The columns that are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encrypted {
    /// The sensitive ones.
    Sensitive,
    /// All.
    Whole,
}

/// The places of the table and of the server's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In the system's temporary directory: every file is flushed to the disk, twice.
    Disk,
    /// In a file system in memory if there is one, because the peers keep everything in memory.
    Memory,
    /// As [`Storage::Memory`], and there is no server: the table is asked where it was written.
    Process,
    /// In a bucket, before functions.
    Functions,
}

impl Storage {
    /// What serves a table of so many rows on this machine: large ones go to the disk.
    fn for_rows(self, rows: u64) -> Self {
        if self == Self::Functions {
            return self;
        }
        let fits = rows <= LARGEST_ROWS_IN_MEMORY && Path::new(MEMORY_FILE_SYSTEM).is_dir();
        if fits { self } else { Self::Disk }
    }

    fn directory(self) -> std::io::Result<TempDir> {
        match self {
            Self::Memory | Self::Process | Self::Functions => tempfile::tempdir_in(MEMORY_FILE_SYSTEM),
            Self::Disk => tempfile::tempdir(),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Memory => "over loopback HTTP, files in memory",
            Self::Process => "in one process, files in memory",
            Self::Disk => "over loopback HTTP, files flushed to disk",
            Self::Functions => "by emulated functions on a table in a bucket",
        }
    }
}

/// Tables of more rows are kept on the disk.
pub(super) const LARGEST_ROWS_IN_MEMORY: u64 = 1_000_000;

/// The file system in memory of Linux.
const MEMORY_FILE_SYSTEM: &str = "/dev/shm";

/// Runs the workload `options.repeat` times with fresh keys and tables, and gives medians.
///
/// # Errors
/// Hushtable refuses, or the server cannot be started.
pub(super) fn run(
    table: &Synthetic,
    encrypted: Encrypted,
    storage: Storage,
    options: &Options,
) -> Result<Measured, BenchError> {
    let (name, columns) = match (encrypted, storage) {
        (Encrypted::Sensitive, Storage::Memory) => ("packed split", SENSITIVE),
        (Encrypted::Sensitive, Storage::Process) => ("split in process", SENSITIVE),
        (Encrypted::Sensitive, Storage::Disk) => ("split on disk", SENSITIVE),
        (Encrypted::Sensitive, Storage::Functions) => ("split on functions", SENSITIVE),
        (Encrypted::Whole, _) => ("packed whole", COLUMNS.len()),
    };
    let storage = storage.for_rows(table.rows());
    let directory = storage.directory()?;
    let input = write_input(&directory, table, encrypted)?;
    let host = match storage {
        Storage::Process => Host::None,
        Storage::Disk | Storage::Memory => Host::Server(Server::start(directory.path(), options.threads)?),
        Storage::Functions => Host::Functions(Functions::given()?),
    };
    let before = ProcessUsage::now();
    let mut runs = Vec::new();
    for repetition in 0..options.repeat.max(1) {
        runs.push(once(&input, &host, &directory.path().join(format!("table{repetition}")), options, table)?);
    }
    let repetitions = runs.len() as u32;
    // The server's usage counts once it has been waited for.
    drop(host);
    let mut usage = ProcessUsage::now().since(before);
    usage.scale(1.0 / f64::from(repetitions));
    let names: Vec<&'static str> =
        runs.first().map_or_else(Vec::new, |run| run.phases.iter().map(|(name, _)| name).collect());
    let phase = |name: &str| {
        let times: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.phases.iter().find(|(n, _)| *n == name))
            .map(|(_, s)| s)
            .collect();
        (name.to_owned(), median(&times))
    };
    let totals: Vec<f64> = runs.iter().map(|run| run.phases.total()).collect();
    let last = runs.last();
    Ok(Measured {
        name: name.to_owned(),
        what: format!(
            "Hushtable {}, {}; {} of {COLUMNS} columns encrypted, \
             {:.2} B per encrypted value; median of {repetitions}",
            storage.describe(),
            last.map_or(String::new(), |run| run.params.join(", ")),
            columns,
            last.map_or(0.0, |run| run.bytes_per_value),
            COLUMNS = COLUMNS.len(),
        ),
        encrypted_columns: columns,
        phases: names.into_iter().map(phase).collect(),
        total_s: median(&totals),
        repetitions,
        usage,
        bytes_up: last.map_or(0, |run| run.bytes_up),
        bytes_down: last.map_or(0, |run| run.bytes_down),
        sampled_fraction: 1.0,
        check: if runs.iter().all(|run| run.is_exact) { Check::Exact } else { Check::Wrong },
        cloud: None,
    })
}

/// Who answers.
enum Host {
    /// This process.
    None,
    Server(Server),
    Functions(Functions),
}

/// One repetition.
struct Run {
    phases: Phases,
    bytes_up: u64,
    bytes_down: u64,
    params: Vec<String>,
    bytes_per_value: f64,
    is_exact: bool,
}

fn once(
    input: &Input,
    host: &Host,
    output: &Path,
    options: &Options,
    table: &Synthetic,
) -> Result<Run, BenchError> {
    let mut phases = Phases::default();
    let key = phases.time("keys", OwnerKey::temporary).map_err(hush::Error::from)?;
    let encryption = EncryptOptions {
        source: hush::open(&input.csv)?,
        schema: hush::approved_schema(&input.schema)?,
        output: output.to_owned(),
        workload: None,
        threads: options.threads,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: true,
    };
    let signed = phases.time("encrypt", || hush::encrypt(&encryption, &key, &Silent))?.manifest;
    let mut bytes_sent = 0;
    let owned = match host {
        Host::Functions(functions) => {
            let (owned, sent) = functions.open(output, TABLE, &key, &mut phases)?;
            bytes_sent = sent;
            Ok(owned)
        }
        Host::Server(server) => {
            let remote = server.connect()?;
            // Every repetition has a key of its own, so the server must forget the last one's table.
            drop(remote.delete(TABLE));
            let pushed = phases.time("transfer", || remote.push(output, &Silent));
            bytes_sent = pushed.map_err(hush::Error::from)?.bytes_sent;
            let (owned, seconds) = timed(|| OwnedTable::open_remote(remote, TABLE, &key, &Pins::forgetful()));
            phases.add("transfer", seconds);
            owned
        }
        Host::None => phases
            .time("open", || OwnedTable::open_directory(output, &key, &Pins::forgetful(), options.threads)),
    };
    let owned = owned.map_err(hush::Error::from)?;
    let outcome = owned.ask(&query(), &Silent).map_err(hush::Error::from)?;
    for (name, seconds) in outcome.phases.iter() {
        phases.add(name, seconds);
    }
    let batch = outcome.batches.first().ok_or(BenchError::Empty)?;
    let is_exact = (0..COLUMNS.len()).all(|column| {
        let sum = batch.column(column).as_primitive_opt::<Int64Type>();
        sum.is_some_and(|sum| sum.len() == 1 && i128::from(sum.value(0)) == table.sum(column))
    });
    std::fs::remove_dir_all(output)?;
    Ok(Run {
        phases,
        bytes_up: bytes_sent + outcome.moved.up,
        bytes_down: outcome.moved.down,
        params: outcome.plan.cost.params.clone(),
        bytes_per_value: bytes_per_value(signed.manifest()),
        is_exact,
    })
}

/// Bytes of encrypted parts, headers and seeds included, over encoded values.
fn bytes_per_value(manifest: &Manifest) -> f64 {
    let bytes: u64 = manifest.parts.iter().filter_map(|part| part.encrypted).map(|file| file.bytes).sum();
    let values = manifest.rows * manifest.encodings.len() as u64;
    bytes as f64 / values.max(1) as f64
}

/// Name of the table, as SQL and the server know it.
const TABLE: &str = "split";

/// Sums over every column.
fn query() -> String {
    let sums: Vec<String> = COLUMNS.iter().map(|column| format!("SUM({column})")).collect();
    format!("SELECT {} FROM {TABLE}", sums.join(", "))
}

/// The workload's files.
struct Input {
    csv: PathBuf,
    schema: PathBuf,
}

fn write_input(directory: &TempDir, table: &Synthetic, encrypted: Encrypted) -> Result<Input, BenchError> {
    let input =
        Input { csv: directory.path().join("split.csv"), schema: directory.path().join("split.schema.toml") };
    let mut out = BufWriter::new(File::create(&input.csv)?);
    table.write_csv(&mut out)?;
    out.flush()?;
    let mut proposal = hush::propose(&hush::open(&input.csv)?, &hush::Policy::default())?.schema;
    for (index, column) in proposal.columns.iter_mut().enumerate() {
        let is_encrypted = encrypted == Encrypted::Whole || index < SENSITIVE;
        column.protect = if is_encrypted { Protection::Encrypt } else { Protection::Clear };
        column.purposes = if is_encrypted { vec![hush::Purpose::Sum] } else { Vec::new() };
        column.nullable = false;
    }
    proposal.max_rows = table.rows().max(1);
    proposal.approved = true;
    proposal.approved_by = "the benchmark".to_owned();
    hush::write_schema(&input.schema, &proposal, true)?;
    Ok(input)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// A server process, stopped and waited for on drop.
struct Server {
    child: Child,
    url: String,
    token: PathBuf,
}

impl Server {
    /// Starts the `hush-server` that lies beside this program.
    fn start(directory: &Path, threads: usize) -> Result<Self, BenchError> {
        let program = hush_system::program::beside("hush-server")?;
        let data = directory.join("server");
        let mut child = Command::new(&program)
            .args(["--listen", "127.0.0.1:0", "--threads", &threads.to_string(), "--data"])
            .arg(&data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| BenchError::Child {
                what: program.display().to_string(),
                message: error.to_string(),
            })?;
        let mut url = String::new();
        for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            if let Some(found) = line?.split_whitespace().find(|word| word.starts_with("http://")) {
                url = found.to_owned();
                break;
            }
        }
        Ok(Self { child, url, token: data.join("token") })
    }

    fn connect(&self) -> Result<RemoteServer, BenchError> {
        let token = ApiToken::from_file(&self.token).map_err(hush::Error::from)?;
        Ok(RemoteServer::new(&self.url, Some(token)).map_err(hush::Error::from)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
