// SPDX-License-Identifier: Apache-2.0
//! The report for people.

use std::fmt::Write as _;

use super::cloud::{CloudUse, prices};
use super::measured::{Check, Measured};
use crate::aligned::{align, figure_text};

/// The figures of the thesis: CPU s, CPU %, memory MB, voluntary and involuntary switches.
const PUBLISHED: [(&str, [f64; 5]); 4] = [
    ("thesis CKKS", [335.93, 99.70, 78.77, 14.0, 55.0]),
    ("thesis BGV", [313.37, 99.68, 63.50, 31.0, 31.0]),
    ("thesis BFV", [301.88, 99.67, 122.118, 22.0, 29.0]),
    ("thesis framework", [18.68, 0.80, 15.36, 46.0, 1.0]),
];

/// The whole report as text.
pub fn text(rows: u64, seed: u64, variants: &[Measured]) -> String {
    let mut out = format!("Split table (W0): {rows} rows x 8 columns, 4 sensitive, seed {seed}\n\n");
    out.push_str(&table(variants));
    out.push('\n');
    for variant in variants {
        let phases: Vec<String> =
            variant.phases.iter().map(|(name, s)| format!("{name} {:.2} ms", s * 1e3)).collect();
        let _ = writeln!(out, "{:<18} {}", variant.name, variant.what);
        if !phases.is_empty() {
            let _ = writeln!(out, "{:<18} {}", "", phases.join(", "));
        }
    }
    out.push_str(&ratios(variants));
    variants
        .iter()
        .filter_map(|variant| variant.cloud.as_ref())
        .for_each(|used| out.push_str(&functions(used)));
    out.push_str(
        "\n~ extrapolated from the cells processed; every figure counts threads and child processes.\n\
         Times of the published rows are the thesis's own, of its parent process alone.\n",
    );
    out
}

/// What a question on functions used, beside what the thesis met on them.
fn functions(used: &CloudUse) -> String {
    let mut out = String::from("\nsplit on functions, one repetition with its push and its question:\n");
    let _ = writeln!(
        out,
        "  {:.1} requests to the front, {:.1} calls of workers, {:.2} cold starts, {:.1} failed",
        used.front_calls, used.worker_calls, used.cold_starts, used.failed
    );
    let _ = writeln!(
        out,
        "  {:.4} GB-s of the front, {:.4} GB-s of workers; longest call {:.0} ms, peak {:.0} MB, largest event or answer {:.0} kB",
        used.front_gb_s,
        used.worker_gb_s,
        used.longest_s * 1e3,
        used.peak_mb,
        used.largest_bytes / 1e3
    );
    let _ = writeln!(
        out,
        "  bucket: {:.1} reads ({:.2} MB), {:.1} writes and lists ({:.2} MB)",
        used.store_reads,
        used.store_read_bytes / 1e6,
        used.store_writes,
        used.store_written_bytes / 1e6
    );
    let _ = writeln!(
        out,
        "  {:.1} US cents for a thousand of them at list prices ({} a GB-s, {} a call, {} a request to the API, {} a read, {} a write)",
        used.dollars() * 1e5,
        prices::GB_SECOND,
        prices::CALL,
        prices::API_REQUEST,
        prices::STORE_READ,
        prices::STORE_WRITE
    );
    out
}

fn table(variants: &[Measured]) -> String {
    let header = [
        "",
        "encrypted",
        "wall s",
        "CPU s",
        "CPU %",
        "peak MB",
        "vol. cs",
        "invol. cs",
        "up MB",
        "down MB",
        "check",
    ];
    let mut lines: Vec<Vec<String>> = vec![header.map(str::to_owned).to_vec()];
    for variant in variants {
        let mark =
            |value: f64| format!("{}{}", if variant.is_sampled() { "~" } else { "" }, figure_text(value));
        lines.push(vec![
            variant.name.clone(),
            variant.encrypted_columns.to_string(),
            mark(variant.total_s),
            mark(variant.usage.cpu_s),
            figure_text(variant.cpu_percent()),
            figure_text(variant.usage.peak_mb),
            variant.usage.voluntary_switches.to_string(),
            variant.usage.involuntary_switches.to_string(),
            figure_text(variant.bytes_up as f64 / 1e6),
            figure_text(variant.bytes_down as f64 / 1e6),
            variant.check.to_string(),
        ]);
    }
    for (name, [cpu, percent, memory, voluntary, involuntary]) in PUBLISHED {
        let columns = if name == "thesis framework" { "4" } else { "8" };
        let figures = [cpu, percent, memory, voluntary, involuntary].map(figure_text);
        let mut line = vec![name.to_owned(), columns.to_owned(), String::new()];
        line.extend(figures);
        line.extend(["", "", "published"].map(str::to_owned));
        lines.push(line);
    }
    align(&lines)
}

/// Ratios of this run: ours against each peer, same columns apart from the split against the whole.
fn ratios(variants: &[Measured]) -> String {
    let find = |name: &str| variants.iter().find(|v| v.name == name && v.check != Check::Wrong);
    let Some(ours) = find("packed split") else { return String::new() };
    let mut out = String::from("\n");
    for (peer, label) in [
        ("TenSEAL tuned", "TenSEAL tuned by hand, the same 4 columns, without files and network"),
        ("TenSEAL added", "TenSEAL where the owner adds the slots, the same 4 columns"),
        ("TenSEAL packed", "TenSEAL's packed .sum(), the same 4 columns"),
        ("TenSEAL thesis", "the thesis's own way, the same 4 columns"),
        ("packed whole", "our own packed whole table, 8 columns"),
        ("naive CKKS", "one ciphertext per cell, CKKS, 8 columns"),
    ] {
        if let Some(other) = find(peer) {
            let ratio = other.total_s / ours.total_s;
            let _ = writeln!(out, "packed split is {}x faster than {label}", figure_text(ratio));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::ProcessUsage;

    fn variant(name: &str, total_s: f64, sampled_fraction: f64) -> Measured {
        Measured {
            name: name.into(),
            what: "a test".into(),
            encrypted_columns: 4,
            phases: vec![("keys".into(), total_s / 2.0)],
            total_s,
            repetitions: 1,
            usage: ProcessUsage { cpu_s: total_s, peak_mb: 10.0, ..Default::default() },
            bytes_up: 1_000_000,
            bytes_down: 1000,
            sampled_fraction,
            check: Check::Exact,
            cloud: None,
        }
    }

    #[test]
    fn the_report_marks_samples_and_gives_ratios() {
        let shown = text(6000, 1, &[variant("packed split", 0.01, 1.0), variant("TenSEAL tuned", 0.08, 0.5)]);
        assert!(shown.contains("~0.08"), "{shown}");
        assert!(shown.contains("8.00x faster than TenSEAL tuned by hand"), "{shown}");
        assert!(shown.contains("335.93") || shown.contains("336"), "{shown}");
    }
}
