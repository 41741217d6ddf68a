// SPDX-License-Identifier: Apache-2.0
//! Peers that run where they are installed, through adapters of ours.

pub(crate) mod duckdb;

use std::io::Write;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::split_table::{Check, Measured};
use crate::synthetic::{COLUMNS, SENSITIVE, Synthetic};
use crate::usage::ProcessUsage;

/// The adapter to TenSEAL.
const TENSEAL: &str = include_str!("peers/tenseal_split_table.py");

#[derive(Deserialize)]
struct TensealResult {
    version: String,
    wall_s: f64,
    cpu_s: f64,
    voluntary_switches: i64,
    involuntary_switches: i64,
    peak_mb: f64,
    sampled_fraction: f64,
    max_error: Option<f64>,
}

/// Whether `python` has TenSEAL.
pub(crate) fn has_tenseal(python: &str) -> bool {
    let status = Command::new(python)
        .args(["-c", "import tenseal"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs one way of TenSEAL `repeat` times and gives the run of median wall time; `None` if it fails.
pub(crate) fn tenseal(
    python: &str,
    way: &str,
    table: &Synthetic,
    naive_seconds: f64,
    repeat: u32,
) -> Option<Measured> {
    let mut runs: Vec<TensealResult> =
        (0..repeat.max(1)).map_while(|_| run_tenseal(python, way, table, naive_seconds)).collect();
    runs.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
    let (repetitions, middle) = (runs.len() as u32, runs.len() / 2);
    let run = runs.into_iter().nth(middle)?;
    const THESIS: &str = "CKKS N=8192 [60,40,40,60] scale 2^40";
    let (name, parameters, what) = match way {
        "naive" => ("TenSEAL thesis", THESIS, "one ciphertext per cell, Galois keys, a context per column"),
        "packed" => ("TenSEAL packed", THESIS, "4096 slots, .sum() by rotations"),
        "added" => ("TenSEAL added", THESIS, "4096 slots, no Galois keys, the owner adds the slots"),
        _ => (
            "TenSEAL tuned",
            "CKKS N=4096 [60,40] scale 2^30",
            "2048 slots, secret key, the owner adds the slots",
        ),
    };
    Some(Measured {
        name: name.to_owned(),
        what: format!("TenSEAL {}: {parameters}, {what}", run.version),
        encrypted_columns: SENSITIVE,
        phases: Vec::new(),
        total_s: run.wall_s,
        repetitions,
        usage: ProcessUsage {
            cpu_s: run.cpu_s,
            peak_mb: run.peak_mb,
            voluntary_switches: run.voluntary_switches,
            involuntary_switches: run.involuntary_switches,
        },
        bytes_up: 0,
        bytes_down: 0,
        sampled_fraction: run.sampled_fraction,
        check: run
            .max_error
            .map_or(Check::NotRun, |error| if error < 1e-2 { Check::Within(error) } else { Check::Wrong }),
        cloud: None,
    })
}

fn run_tenseal(python: &str, way: &str, table: &Synthetic, naive_seconds: f64) -> Option<TensealResult> {
    let mut child = Command::new(python)
        .args(["-c", TENSEAL, way, &table.rows().to_string(), &naive_seconds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    for column in 0..COLUMNS.len() {
        let bytes: Vec<u8> = table.column(column).iter().flat_map(|value| value.to_le_bytes()).collect();
        input.write_all(&bytes).ok()?;
    }
    drop(input);
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
}
