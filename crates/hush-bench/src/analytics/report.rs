// SPDX-License-Identifier: Apache-2.0
//! The report for people.

use std::fmt::Write as _;

use super::Measured;
use crate::aligned::{align, figure_text};

/// The whole report as text.
pub fn text(seed: u64, measured: &[Measured]) -> String {
    let threads = measured.first().map_or(0, |case| case.threads);
    let mut out = format!("Analytical queries, {threads} threads, seed {seed}\n\n");
    let header = [
        "",
        "rows",
        "encrypted",
        "plan ms",
        "evaluate s",
        "again s",
        "decrypt ms",
        "answer KB",
        "encrypt s",
        "peak MB",
        "error",
        "DuckDB ms",
        "ratio",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for case in measured {
        let duckdb = case.duckdb.as_ref();
        lines.push(vec![
            case.question.name().to_owned(),
            case.rows.to_string(),
            format!("{} of {}", case.columns.1, case.columns.0),
            figure_text(case.plan_s * 1e3),
            figure_text(case.evaluate_s),
            case.again_s.map_or("-".to_owned(), figure_text),
            figure_text(case.decrypt_s * 1e3),
            figure_text(case.bytes_down as f64 / 1e3),
            figure_text(case.encrypt_s),
            figure_text(case.peak_mb),
            case.check.to_string(),
            duckdb.map_or("-".to_owned(), |peer| figure_text(peer.seconds * 1e3)),
            duckdb.map_or("-".to_owned(), |peer| figure_text(case.evaluate_s / peer.seconds)),
        ]);
    }
    out.push_str(&align(&lines));
    out.push('\n');
    let mut shown = Vec::new();
    for case in measured {
        if shown.contains(&case.question) {
            continue;
        }
        shown.push(case.question);
        let _ = writeln!(out, "{:<12}{}", case.question.name(), case.sql);
        let _ = writeln!(
            out,
            "{:<12}{} quantities encrypted beforehand, {}; medians of {}",
            "",
            case.quantities,
            case.params.join(", "),
            case.repetitions
        );
    }
    let version = measured.iter().find_map(|case| case.duckdb.as_ref()).map(|peer| peer.version.as_str());
    out.push_str(
        "\nEvaluation: files read and checked, conditions, sums, the answer written; again: with the \
         sums of whole parts kept. Encryption reads the CSV and \
         flushes to the disk.\nError: the largest relative one beside the same from the plaintext.\n",
    );
    if let Some(version) = version {
        let _ = writeln!(
            out,
            "DuckDB {version} on the plaintext in memory; ratio: evaluation over its time. For the regression, the \
             sums of its normal equations."
        );
    }
    out
}
