// SPDX-License-Identifier: Apache-2.0
//! The tables for people.

use std::fmt::Write as _;

use super::case::{Encryption, Scheme, Table};
use super::row::Row;
use super::{Outcome, inputs, programs};
use crate::aligned::{align, figure_text};

/// A column of times: its heading, the name in a row and what milliseconds are multiplied by.
type Time = (&'static str, &'static str, f64);

const PHASES: [Time; 6] = [
    ("param", "parameters", 1.0),
    ("keys", "keys", 1.0),
    ("encrypt 3", "encrypt", 1.0),
    ("evaluate", "evaluate", 1.0),
    ("decrypt", "decrypt", 1.0),
    ("total", "total", 1.0),
];

const OPERATIONS: [Time; 7] = [
    ("NTT us", "ntt", 1e3),
    ("inverse us", "inverse_ntt", 1e3),
    ("encrypt pk", "encrypt_public", 1.0),
    ("encrypt sk", "encrypt_secret", 1.0),
    ("decrypt", "decrypt", 1.0),
    ("multiply", "multiply", 1.0),
    ("rotate", "rotate", 1.0),
];

/// The published milliseconds of the project: parameters, keys, encryption, evaluation, decryption and all.
const PUBLISHED: [(&str, Scheme, [f64; 6]); 6] = [
    ("PALISADE", Scheme::Bgv, [11.351, 503.454, 219.291, 31.797, 29.491, 795.384]),
    ("HElib", Scheme::Bgv, [14162.4, 4393.89, 221.522, 288.121, 994.884, 20060.82]),
    ("PALISADE", Scheme::Bfv, [30.964, 87.478, 90.632, 77.812, 1.106, 287.992]),
    ("SEAL", Scheme::Bfv, [52.848, 30.626, 20.889, 26.758, 3.777, 134.898]),
    ("PALISADE", Scheme::Ckks, [13.076, 91.191, 82.08, 50.75, 57.704, 294.801]),
    ("SEAL", Scheme::Ckks, [15.276, 42.513, 35.136, 17.062, 0.322, 110.309]),
];

/// The whole report as text.
pub fn text(outcome: &Outcome) -> String {
    let mut out = String::from("Libraries and schemes side by side (W3), 128-bit security; medians in ms\n");
    let workload = format!("y*(x+z) on {} elements", inputs::ELEMENTS);
    for (kind, title, times) in [
        (Table::Workload, workload.as_str(), &PHASES[..]),
        (Table::Primitives, "One operation at a time", &OPERATIONS[..]),
    ] {
        if outcome.rows.iter().any(|row| row.table == kind) {
            let _ = write!(out, "\n{title}\n{}", table(&outcome.rows, kind, times));
        }
    }
    if !outcome.rows.is_empty() {
        out.push_str(LEGEND);
    }
    let over = outcome.rows.iter().any(|row| !row.is_within_limit());
    if over {
        out.push_str("! beyond the 2024 security table: the library's own choice follows an older one.\n");
    }
    for (library, note) in notes(&outcome.rows) {
        let _ = writeln!(out, "{library}: {note}");
    }
    out.push_str(&programs::report::text(&outcome.programs));
    for skipped in &outcome.skipped {
        let _ = writeln!(out, "skipped {}: {}", skipped.library, skipped.reason);
    }
    out
}

/// Every note once.
fn notes(rows: &[Row]) -> Vec<(&str, &str)> {
    let mut notes = Vec::new();
    for row in rows.iter().filter(|row| !row.answer.note.is_empty()) {
        let note = (row.answer.library.as_str(), row.answer.note.as_str());
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn table(rows: &[Row], table: Table, times: &[Time]) -> String {
    let mut header: Vec<String> =
        ["", "scheme", "key", "N", "slots", "primes", "log2 Q+P", "of", "threads"].map(str::to_owned).into();
    header.extend(times.iter().map(|(heading, ..)| (*heading).to_owned()));
    header.extend(["peak MB", "ct kB", "keys kB", "reps", "check"].map(str::to_owned));
    let mut chosen: Vec<&Row> = rows.iter().filter(|row| row.table == table).collect();
    // By scheme, ring, threads and key; libraries in the order of measuring.
    chosen.sort_by_key(|row| (row.scheme.name(), row.answer.degree, row.threads, row.encryption.name()));
    let mut lines = vec![header];
    lines.extend(chosen.into_iter().map(|row| line(row, table, times)));
    if table == Table::Workload {
        let width = lines[0].len();
        lines.extend(PUBLISHED.iter().map(|published| published_line(published, width)));
    }
    align(&lines)
}

fn line(row: &Row, table: Table, times: &[Time]) -> Vec<String> {
    let answer = &row.answer;
    let kilobytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".into(), |b| figure_text(b as f64 / 1e3));
    let key = match (table, row.encryption) {
        (Table::Primitives, _) => "both",
        (_, Encryption::Public) => "pk",
        (_, Encryption::Secret) => "sk",
    };
    let over = if row.is_within_limit() { "" } else { "!" };
    let mut cells = vec![
        answer.library.clone(),
        row.scheme.name().to_uppercase(),
        key.to_owned(),
        answer.degree.to_string(),
        answer.slots.to_string(),
        if answer.q_primes == 0 { "-".into() } else { format!("{}+{}", answer.q_primes, answer.p_primes) },
        format!("{:.0}+{:.0}{over}", answer.log_q, answer.log_p),
        row.log_qp_limit.map_or_else(|| "-".into(), |limit| limit.to_string()),
        row.threads.to_string(),
    ];
    let time = |(_, name, factor): &Time| row.time_ms(name).map(|ms| figure_text(ms * factor));
    cells.extend(times.iter().map(|column| time(column).unwrap_or_else(|| "-".into())));
    cells.extend([
        figure_text(answer.peak_mb),
        kilobytes(answer.ciphertext_bytes),
        kilobytes(answer.key_bytes),
        answer.repetitions.to_string(),
        row.check.to_string(),
    ]);
    cells
}

fn published_line((library, scheme, times): &(&str, Scheme, [f64; 6]), width: usize) -> Vec<String> {
    let mut cells = vec![format!("published {library}"), scheme.name().to_uppercase()];
    cells.resize(9, String::new());
    cells.extend(times.map(figure_text));
    cells.resize(width - 1, String::new());
    cells.push("published".to_owned());
    cells
}

/// The columns of the tables with times.
const LEGEND: &str = "\nkey: pk with the public key, sk with the secret one. kB: 1000 bytes, uncompressed; keys are those given away.\n\
     Primitives: encrypt and decrypt with encoding and decoding; multiply with relinearisation, in BGV and CKKS one\n\
     level down. NTT: one polynomial, one prime. Repetitions: what takes over 100 ms is repeated less often.\n\
     Every row's values were compared with those computed in the clear, or says WRONG.\n\
     Published rows are of 2021/22, another machine, sizes that differ, nothing repeated.\n";

#[cfg(test)]
mod tests {
    use super::super::Skipped;
    use super::super::inputs::Inputs;
    use super::super::row::tests::{answer, case};
    use super::*;

    #[test]
    fn both_tables_state_parameters_times_and_checks() {
        let inputs = Inputs::fixed();
        let row = |table, scheme| {
            let case = case(table, scheme);
            Row::new(&case, answer(&case, &inputs), &inputs)
        };
        let mut wrong = row(Table::Workload, Scheme::Bfv);
        wrong.check = crate::split_table::Check::Wrong;
        wrong.answer.log_p = 39.0;
        let rows = vec![row(Table::Workload, Scheme::Bgv), wrong, row(Table::Primitives, Scheme::Ckks)];
        let skipped = vec![Skipped { library: "SEAL".into(), reason: "not there".into() }];
        let outcome = Outcome { rows, skipped, ..Outcome::default() };
        let shown = text(&outcome);
        let line = |start: &str| {
            let lines = shown.lines().filter(|line| line.split_whitespace().eq(start.split_whitespace()));
            assert_eq!(lines.count(), 1, "{start:?} in {shown}");
        };
        line("Test 1.0 BGV pk 4096 4096 2+1 70+35 106 1 1.50 1.50 1.50 1.50 1.50 1.50 10.0 131 - 20 exact");
        line("Test 1.0 BFV pk 4096 4096 2+1 70+39! 106 1 1.50 1.50 1.50 1.50 1.50 1.50 10.0 131 - 20 WRONG");
        line("Test 1.0 CKKS both 4096 4096 2+1 70+35 106 1 1500 - - - 1.50 1.50 1.50 10.0 131 - 20 ±0e0");
        line("published SEAL CKKS 15.3 42.5 35.1 17.1 0.3220 110 published");
        assert!(shown.contains("skipped SEAL: not there"), "{shown}");
        assert!(shown.contains("! beyond the 2024 security table"), "{shown}");
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), outcome);
    }
}
