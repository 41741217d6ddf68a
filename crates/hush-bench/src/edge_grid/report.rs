// SPDX-License-Identifier: Apache-2.0
//! The tables for people.

use std::fmt::Write as _;

use super::cell::{Key, Packing};
use super::row::{Comparison, Row};
use super::{Outcome, Profile};
use crate::aligned::{align, figure_text};

/// The whole report as text.
pub fn text(outcome: &Outcome) -> String {
    let mut out = String::from(
        "Encryption at the edge (W1): BFV, integers below 1024; parameters, keys and encryption, ms\n",
    );
    out.push_str(match outcome.profile {
        Profile::Edge => "Profile edge: one core",
        Profile::Pc => "Profile pc: one thread",
    });
    match outcome.memory_limit_bytes {
        Some(limit) => writeln!(out, ", {:.0} MB of memory\n", limit as f64 / 1e6),
        None => writeln!(out, ", no limit to memory\n"),
    }
    .unwrap_or_default();
    out.push_str(&cells(outcome));
    out.push_str(&beside(outcome));
    out.push_str(LEGEND);
    if outcome.cells.iter().any(|row| !row.is_within_table()) {
        out.push_str("! beyond the 2024 security table: the library's own defaults follow an older one.\n");
    }
    if outcome.cells.iter().any(Row::is_sampled) {
        out.push_str("~ extrapolated from a sample of the ciphertexts.\n");
    }
    if let Some(reason) = &outcome.energy_absent {
        let _ = writeln!(out, "energy: {reason}");
    }
    for skipped in &outcome.skipped {
        let _ = writeln!(out, "skipped {}: {}", skipped.library, skipped.reason);
    }
    out
}

fn cells(outcome: &Outcome) -> String {
    let has_energy = outcome.energy_absent.is_none();
    let mut header: Vec<&str> = HEADER.into();
    if has_energy {
        header.push("J");
    }
    let mut lines: Vec<Vec<String>> = vec![header.into_iter().map(str::to_owned).collect()];
    for row in &outcome.cells {
        let mut line = line(row);
        if has_energy {
            line.push(row.energy_j.map_or_else(|| "-".to_owned(), figure_text));
        }
        lines.push(line);
    }
    align(&lines)
}

const HEADER: [&str; 17] = [
    "",
    "way",
    "key",
    "N",
    "log2 QP",
    "of",
    "integers",
    "ciphertexts",
    "mean",
    "±",
    "first",
    "later",
    "±",
    "of it keys",
    "peak MB",
    "CPU %",
    "check",
];

fn line(row: &Row) -> Vec<String> {
    let (answer, total) = (&row.answer, &row.total_s);
    let ms = |seconds: f64| figure_text(1e3 * seconds);
    let mark = if row.is_sampled() { "~" } else { "" };
    let maybe = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), ms);
    // What does not grow with the number of integers.
    let fixed = answer.repetitions.iter().map(|repetition| repetition.parameters_s + repetition.keys_s);
    let fixed = fixed.sum::<f64>() / answer.repetitions.len().max(1) as f64;
    vec![
        answer.library.clone(),
        row.way.name().to_owned(),
        row.key.name().to_owned(),
        row.degree.to_string(),
        format!("{:.0}{}", row.log_qp.ceil(), if row.is_within_table() { "" } else { "!" }),
        row.log_qp_limit.to_string(),
        row.count.to_string(),
        row.ciphertexts.to_string(),
        format!("{mark}{}", ms(total.mean)),
        maybe(total.ci95),
        format!("{mark}{}", ms(total.first)),
        total.later_mean.map_or_else(|| "-".to_owned(), |later| format!("{mark}{}", ms(later))),
        maybe(total.later_ci95),
        ms(fixed),
        figure_text(answer.peak_mb),
        format!("{:.0}", row.cpu_percent),
        if row.is_right() { format!("exact ({})", answer.checked) } else { "WRONG".to_owned() },
    ]
}

/// The peer's time as a multiple of ours, ring by ring.
fn beside(outcome: &Outcome) -> String {
    let Some(library) = outcome.comparisons.first().map(|found| found.library.as_str()) else {
        return String::new();
    };
    let mut out = format!(
        "\nHow many times our time {library} takes, medians; in brackets encryption alone, without parameters and keys\n"
    );
    let mut columns: Vec<(Packing, Key)> = Vec::new();
    let mut cells: Vec<(u32, u64)> = Vec::new();
    for found in &outcome.comparisons {
        if !columns.contains(&(found.way, found.key)) {
            columns.push((found.way, found.key));
        }
        if !cells.contains(&(found.degree, found.count)) {
            cells.push((found.degree, found.count));
        }
    }
    let mut header = vec!["N".to_owned(), "integers".to_owned()];
    header.extend(columns.iter().map(|(way, key)| format!("{}, {}", way.name(), key.name())));
    let mut lines = vec![header];
    for (degree, count) in cells {
        let mut line = vec![degree.to_string(), count.to_string()];
        line.extend(columns.iter().map(|&(way, key)| {
            let cell = |found: &&Comparison| {
                (found.degree, found.count, found.way, found.key) == (degree, count, way, key)
            };
            outcome.comparisons.iter().find(cell).map_or_else(|| "-".to_owned(), ratio)
        }));
        lines.push(line);
    }
    out.push_str(&align(&lines));
    out
}

fn ratio(found: &Comparison) -> String {
    let mark = if found.is_sampled { "~" } else { "" };
    format!("{mark}{:.1} ({:.1})", found.total_ratio, found.encrypt_ratio)
}

const LEGEND: &str = "\n±: half of the 95 % confidence interval of the mean (Student). first: of the repetitions in one process the\n\
     first, later the others. of it keys: parameters and keys. CPU %: of the whole process, checks included; 100 is one core.\n\
     key: secret makes ciphertexts of which half is a seed; SEAL is asked for expanded ones.\n\
     exact (K): K ciphertexts were decrypted, outside the clock, and held their integers.\n";

#[cfg(test)]
pub(super) mod tests {
    use super::super::row::comparisons;
    use super::super::row::tests::row;
    use super::*;
    use crate::libraries::Skipped;

    pub(in super::super) fn outcome() -> Outcome {
        let mut cells = Vec::new();
        for (library, factor) in [("Hushtable 1", 1.0), ("seal-python 4", 4.0)] {
            for count in [10, 1000] {
                for way in Packing::ALL {
                    cells.push(row(library, way, 1024, count, factor * count as f64));
                }
            }
        }
        Outcome {
            profile: Profile::Edge,
            memory_limit_bytes: Some(268_435_456),
            plain_modulus: 1024,
            energy_absent: Some("the machine does not tell".to_owned()),
            comparisons: comparisons(&cells),
            cells,
            skipped: vec![Skipped { library: "seal-python".into(), reason: "not there".into() }],
        }
    }

    #[test]
    fn the_tables_state_intervals_ratios_and_what_is_missing() {
        let mut outcome = outcome();
        outcome.cells[0].answer.wrong = 1;
        outcome.cells[1].log_qp = 26.5;
        outcome.cells[7].sampled_fraction = 0.5;
        let shown = text(&outcome);
        let line = |start: &str| {
            let same = |line: &&str| line.split_whitespace().eq(start.split_whitespace());
            assert_eq!(shown.lines().filter(same).count(), 1, "{start:?} in {shown}");
        };
        // Of 30, 10 and 12.5 s; s = 10.90, t = 4.303; later s = 1.768, t = 12.706.
        line(
            "Hushtable 1 one-by-one public 1024 26 26 10 10 17500 27070 30000 11250 15883 8750 20.0 50 WRONG",
        );
        line(
            "Hushtable 1 packed public 1024 27! 26 10 1 17500 27070 30000 11250 15883 8750 20.0 50 exact (3)",
        );
        line("1024 1000 4.0 (4.0) 4.0 (4.0)");
        for part in [
            "edge: one core, 268 MB",
            "! beyond",
            "~ extrapolated",
            "energy: the machine does",
            "skipped seal",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(text(&serde_json::from_str(&json).unwrap()), shown);
    }
}
