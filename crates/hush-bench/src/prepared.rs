// SPDX-License-Identifier: Apache-2.0
//! The same rows in the clear, encrypted, and encrypted with something that is prepared for questions: cubes, or sorted runs.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use hush::{EncryptOptions, Manifest, Outcome, OwnedTable, OwnerKey, Pins, QueryLimits, Silent, WayName};
use tempfile::TempDir;

use crate::BenchError;
use crate::split_table::{Check, median};
use crate::usage::ProcessUsage;

/// Doubles from the same exact sums differ in their last bits at most.
const TOLERANCE: f64 = 1e-12;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows.
    pub rows: u64,
    /// Seed of the table.
    pub seed: u64,
    /// Repetitions of each question.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
}

/// How the rows are stored.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stored {
    /// Every column in the clear.
    Clear,
    /// Encrypted, and nothing prepared.
    Encrypted,
    /// Encrypted, and prepared.
    Prepared,
}

/// The tables.
pub(crate) struct Tables {
    /// CPU microseconds a row that what is prepared adds to an encryption, where the rows are encrypted without it, too.
    pub(crate) made_us_a_row: Option<f64>,
    /// CPU microseconds a row of the last encryption.
    pub(crate) prepared_us_a_row: f64,
    directory: TempDir,
    key: OwnerKey,
    threads: usize,
}

impl Tables {
    /// Writes the rows as CSV, and encrypts them in these forms, each by its schema.
    ///
    /// # Errors
    /// Hushtable refuses, or files cannot be written.
    pub(crate) fn new(
        options: &Options,
        forms: &[Stored],
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
        schema: impl Fn(Stored) -> String,
    ) -> Result<Self, BenchError> {
        let directory = tempfile::tempdir()?;
        let csv = directory.path().join("rows.csv");
        let mut out = BufWriter::new(File::create(&csv)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let key = OwnerKey::temporary().map_err(hush::Error::from)?;
        let mut tables =
            Self { made_us_a_row: None, prepared_us_a_row: 0.0, directory, key, threads: options.threads };
        let encrypt = |form| tables.encrypt(&csv, form, &schema(form));
        if forms.contains(&Stored::Clear) {
            encrypt(Stored::Clear)?;
        }
        let compared = [Stored::Encrypted, Stored::Prepared].into_iter().filter(|form| forms.contains(form));
        let compared: Vec<Stored> = compared.collect();
        let (mut made, mut last) = (Vec::new(), 0.0);
        // In turns, so that both meet the same neighbours on the machine.
        for _ in 0..if compared.len() == 2 { 3 } else { 1 } {
            let seconds = compared.iter().map(|form| encrypt(*form)).collect::<Result<Vec<_>, _>>()?;
            last = seconds.last().map_or(last, |last| last * 1e6 / options.rows as f64);
            if let [without, with] = seconds[..] {
                made.push((with - without) * 1e6 / options.rows as f64);
            }
        }
        tables.prepared_us_a_row = last;
        tables.made_us_a_row = (!made.is_empty()).then(|| median(&made));
        Ok(tables)
    }

    /// The rows as CSV.
    pub(crate) fn csv(&self) -> PathBuf {
        self.directory.path().join("rows.csv")
    }

    /// Bytes of all files of the prepared table.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub(crate) fn stored_bytes(&self) -> Result<u64, BenchError> {
        let mut left = vec![self.output(Stored::Prepared)];
        let mut bytes = 0;
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(directory)? {
                let (entry, found) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
                match found.is_dir() {
                    true => left.push(entry),
                    false => bytes += found.len(),
                }
            }
        }
        Ok(bytes)
    }

    fn output(&self, form: Stored) -> PathBuf {
        self.directory.path().join(match form {
            Stored::Clear => "clear",
            Stored::Encrypted => "encrypted",
            Stored::Prepared => "prepared",
        })
    }

    /// The CPU seconds that it took.
    fn encrypt(&self, csv: &Path, form: Stored, schema: &str) -> Result<f64, BenchError> {
        let output = self.output(form);
        let file = output.with_extension("toml");
        std::fs::write(&file, schema)?;
        let encryption = EncryptOptions {
            source: hush::open(csv)?,
            schema: hush::approved_schema(&file)?,
            output,
            workload: None,
            threads: self.threads,
            memory_limit: None,
            pins: Pins::forgetful(),
            replace: true,
        };
        let before = ProcessUsage::now();
        hush::encrypt(&encryption, &self.key, &Silent)?;
        Ok(ProcessUsage::now().since(before).cpu_s)
    }

    /// Opens a table for questions by a way.
    ///
    /// # Errors
    /// Hushtable refuses.
    pub(crate) fn open(&self, form: Stored, way: Option<WayName>) -> Result<OwnedTable, BenchError> {
        self.open_within(form, QueryLimits { way, ..QueryLimits::default() })
    }

    /// Opens a table for questions within limits.
    ///
    /// # Errors
    /// Hushtable refuses.
    pub(crate) fn open_within(&self, form: Stored, limits: QueryLimits) -> Result<OwnedTable, BenchError> {
        let pins = Pins::forgetful();
        let table = OwnedTable::open_directory(&self.output(form), &self.key, &pins, self.threads);
        Ok(table.map_err(hush::Error::from)?.with_limits(limits))
    }

    /// Opens a table and asks.
    ///
    /// # Errors
    /// Hushtable refuses.
    pub(crate) fn ask(&self, form: Stored, way: Option<WayName>, sql: &str) -> Result<Outcome, BenchError> {
        Ok(self.open(form, way)?.ask(sql, &Silent).map_err(hush::Error::from)?)
    }

    /// What the manifest of the prepared table tells.
    ///
    /// # Errors
    /// Hushtable refuses.
    pub(crate) fn of_manifest<T>(&self, of: impl FnOnce(&Manifest) -> T) -> Result<T, BenchError> {
        Ok(of(self.open(Stored::Prepared, None)?.manifest().manifest()))
    }
}

/// What the largest relative error of results means.
pub(crate) fn check(worst: f64) -> Check {
    if worst <= TOLERANCE { Check::Within(worst) } else { Check::Wrong }
}
