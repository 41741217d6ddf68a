// SPDX-License-Identifier: Apache-2.0
//! The tables for people.

use std::fmt::Write as _;

use super::contender::SETS;
use super::{Contender, Question, Row};

/// The whole report.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::from(
        "INSECURE schemes, for comparison (W2): median seconds of encryption, operations and decryption\n",
    );
    for (figure, title) in
        [(1, "Figure 1: one operation"), (2, "Figure 2: 11 operations at depth 1, 7 at depth 2")]
    {
        let chosen: Vec<&Row> = rows.iter().filter(|row| row.question.figure() == figure).collect();
        if !chosen.is_empty() {
            let _ = write!(out, "\n{title}\n{HEADER}\n");
            for row in chosen {
                let _ = writeln!(out, "{}", line(row));
            }
        }
    }
    let _ = write!(out, "\n{LEGEND}");
    for comparison in &COMPARISONS {
        let _ = writeln!(out, "{}", crossover_text(comparison.name, crossover(rows, comparison)));
    }
    let failures: u32 = rows.iter().map(|row| row.failures).sum();
    let runs: u32 = rows.iter().map(|row| row.runs).sum();
    let unpromised: u32 = rows.iter().map(|row| row.unpromised).sum();
    let _ = writeln!(
        out,
        "Wrong results: {failures} of {runs}. Runs with a bound of the noise over its limit: {unpromised}."
    );
    out
}

/// One row.
pub(super) fn line(row: &Row) -> String {
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
    let times =
        |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{}x", figure(ratio)));
    let per_slot = match row.slots {
        1 => String::new(),
        slots => format!("  {} us for each of {slots} slots", figure(1e6 * row.seconds / slots as f64)),
    };
    format!(
        "{:<4} {:<12} {:<14} {:>9} {:>9} {:>8} {:>9} {:>8} {:>9} {:>9} {:>8} {:>5.0} {:>4}/{:<4}{per_slot}",
        row.security,
        row.contender.name(),
        row.question.name(),
        optional(row.published_s),
        figure(row.seconds),
        times(row.speedup()),
        times(row.speedup_with_keys()),
        figure(row.keys_s),
        figure(row.key_bytes as f64 / 1e6),
        figure(row.expanded_bytes as f64 / 1e6),
        figure(row.peak_mb),
        row.estimated_security,
        row.failures,
        row.runs,
    )
}

/// The security parameter from which LWE multiplies faster than approximate GCD, by straight lines between logarithms of seconds; `None`
/// if the rows do not say.
pub fn crossover(rows: &[Row], comparison: &Comparison) -> Option<Crossover> {
    let gaps: Vec<(f64, f64)> = SETS
        .into_iter()
        .filter_map(|at| {
            let [agcd, lwe] = [comparison.agcd, comparison.lwe].map(|line| line.seconds(rows, at));
            Some((f64::from(at), agcd?.ln() - lwe?.ln()))
        })
        .collect();
    let (first, last) = (gaps.first()?, gaps.last()?);
    if first.1 >= 0.0 {
        return Some(Crossover::Before(first.0));
    }
    let crossing = gaps.windows(2).find(|pair| pair[1].1 >= 0.0);
    Some(crossing.map_or(Crossover::After(last.0), |pair| {
        let share = pair[0].1 / (pair[0].1 - pair[1].1);
        Crossover::At(pair[0].0 + share * (pair[1].0 - pair[0].0))
    }))
}

/// Seconds of one scheme for a multiplication, by security parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Those of 2013.
    Published(Contender),
    /// Those of the rows.
    Ours(Contender, Question),
}

impl Line {
    /// At a security parameter, if they are known.
    pub fn seconds(self, rows: &[Row], security: u32) -> Option<f64> {
        match self {
            Self::Published(contender) => Question::Multiply.published_s(contender, security),
            Self::Ours(contender, question) => {
                let wanted = (contender, security, question);
                let found = rows.iter().find(|row| (row.contender, row.security, row.question) == wanted);
                found.map(|row| row.seconds)
            }
        }
    }
}

/// Multiplications of both schemes side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What is compared, for people.
    pub name: &'static str,
    /// Of approximate GCD.
    pub agcd: Line,
    /// Of LWE.
    pub lwe: Line,
}

/// The published one; the same of ours, with one Recrypt for approximate GCD and a reduction after the product for LWE; and operands
/// from the public key, which want three, with LWE reduced at the end alone.
pub const COMPARISONS: [Comparison; 3] = [
    Comparison { name: "2013", agcd: Line::Published(Contender::Agcd), lwe: Line::Published(Contender::Lwe) },
    Comparison {
        name: "ours, as in 2013 (owner-multiply against lwe-leveled)",
        agcd: Line::Ours(Contender::Agcd, Question::OwnerMultiply),
        lwe: Line::Ours(Contender::LweLeveled, Question::Multiply),
    },
    Comparison {
        name: "ours, operands from the public key (multiply against lwe)",
        agcd: Line::Ours(Contender::Agcd, Question::Multiply),
        lwe: Line::Ours(Contender::Lwe, Question::Multiply),
    },
];

/// Where LWE overtakes approximate GCD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// Beyond the largest parameter measured.
    After(f64),
    /// Here.
    At(f64),
    /// LWE is ahead at the smallest parameter already.
    Before(f64),
}

fn crossover_text(name: &str, crossover: Option<Crossover>) -> String {
    match crossover {
        None => format!("Crossover of multiplications, {name}: not measured."),
        Some(Crossover::After(at)) => {
            format!("Crossover of multiplications, {name}: beyond {at:.0}; approximate GCD is ahead.")
        }
        Some(Crossover::At(at)) => {
            format!("Crossover of multiplications, {name}: LWE is ahead from {at:.0} on.")
        }
        Some(Crossover::Before(at)) => {
            format!("Crossover of multiplications, {name}: LWE is ahead from {at:.0} or less on.")
        }
    }
}

/// Three significant digits.
fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v if v >= 0.1 => format!("{v:.3}"),
        v if v >= 0.01 => format!("{v:.4}"),
        v => format!("{v:.5}"),
    }
}

const HEADER: &str = "set  scheme       question       published      ours   faster with keys   keys s   keys MB   written  peak MB  bits wrong/runs";
const LEGEND: &str = "keys s: key generation, which neither of the seconds holds; with keys: the ratio if it were in ours alone. written: MB of evaluation keys if nothing came from seeds. bits: estimated security.
multiply of agcd refreshes both operands and the product; owner-multiply, like the published figure, only the product.
";
