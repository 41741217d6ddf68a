// SPDX-License-Identifier: Apache-2.0
//! The table that is encrypted, as files of both kinds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::synthetic::mix;

/// Its name, as SQL knows it.
pub(super) const NAME: &str = "t";
/// Its columns, all of them encrypted.
pub(super) const COLUMNS: [&str; 4] = ["a", "b", "c", "d"];
/// Values lie below it.
const BOUNDS: [u64; 4] = [1_000_000_000_000, 1_000_000_000_000, 1_000_000_000, 100_000];
/// Rows that are written together.
const BATCH_ROWS: u64 = 1 << 16;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// A line for each row.
    Csv,
    /// Apache Parquet, compressed with Snappy as most writers do.
    Parquet,
}

impl FileFormat {
    /// How its files end.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// Writes the table into a directory.
    pub(super) fn write(self, directory: &Path, seed: u64, rows: u64) -> Result<PathBuf, BenchError> {
        let path = directory.join(format!("{NAME}.{}", self.ending()));
        let file = File::create(&path)?;
        match self {
            Self::Csv => write_csv(file, seed, rows)?,
            Self::Parquet => write_parquet(file, seed, rows)?,
        }
        Ok(path)
    }
}

fn value(seed: u64, row: u64, column: usize) -> u64 {
    mix(seed ^ mix(row << 2 | column as u64)) % BOUNDS[column]
}

/// The sums of all columns, as text.
pub(super) fn true_sums(seed: u64, rows: u64) -> [String; COLUMNS.len()] {
    std::array::from_fn(|column| {
        (0..rows).map(|row| u128::from(value(seed, row, column))).sum::<u128>().to_string()
    })
}

fn write_csv(file: File, seed: u64, rows: u64) -> Result<(), BenchError> {
    let mut out = BufWriter::new(file);
    writeln!(out, "{}", COLUMNS.join(","))?;
    for row in 0..rows {
        let [a, b, c, d] = std::array::from_fn(|column| value(seed, row, column));
        writeln!(out, "{a},{b},{c},{d}")?;
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

fn write_parquet(file: File, seed: u64, rows: u64) -> Result<(), BenchError> {
    let batch = |first: u64| {
        let rows = first..rows.min(first + BATCH_ROWS);
        let column = |(place, name): (usize, &&'static str)| {
            // Values lie far below the largest integer.
            let values = rows.clone().map(|row| value(seed, row, place) as i64);
            (*name, Arc::new(Int64Array::from_iter_values(values)) as ArrayRef, true)
        };
        RecordBatch::try_from_iter_with_nullable(COLUMNS.iter().enumerate().map(column))
    };
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut out =
        ArrowWriter::try_new(file, batch(0)?.schema(), Some(properties)).map_err(std::io::Error::from)?;
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        out.write(&batch(first)?).map_err(std::io::Error::from)?;
    }
    out.close().map_err(std::io::Error::from)?;
    Ok(())
}
