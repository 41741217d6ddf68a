// SPDX-License-Identifier: Apache-2.0
//! One measured variant of the split-table workload.

use serde::{Deserialize, Serialize};

use super::cloud::CloudUse;
use crate::usage::ProcessUsage;

/// The run, usage and answer of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the variant.
    pub name: String,
    /// A description in one line, with parameters.
    pub what: String,
    /// Encrypted columns.
    pub encrypted_columns: usize,
    /// Seconds a phase, in order; medians over the repetitions.
    pub phases: Vec<(String, f64)>,
    /// Seconds over all phases: median over the repetitions of the whole.
    pub total_s: f64,
    /// Repetitions behind the medians.
    pub repetitions: u32,
    /// Usage of the process, its threads and children, for one repetition (extrapolated where sampled).
    pub usage: ProcessUsage,
    /// Bytes sent to the server.
    pub bytes_up: u64,
    /// Bytes received from it.
    pub bytes_down: u64,
    /// Fraction of the cells that were really processed; below 1 the times are extrapolated.
    pub sampled_fraction: f64,
    /// The comparison with the plaintext sums.
    pub check: Check,
    /// What functions and bucket were used for, in one repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<CloudUse>,
}

/// Outcome of the comparison with the plaintext sums.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Every sum equals the plaintext sum.
    Exact,
    /// The largest absolute error.
    Within(f64),
    /// A sample has no sums to compare over the whole table; the sampled cells were compared.
    SampleExact,
    /// A result differs by more than the scheme explains.
    Wrong,
    /// Nothing was decrypted.
    NotRun,
}

impl Measured {
    /// CPU seconds over wall seconds, in percent; above 100 where threads overlap.
    pub fn cpu_percent(&self) -> f64 {
        if self.total_s > 0.0 { 100.0 * self.usage.cpu_s / self.total_s } else { 0.0 }
    }

    /// Whether the times are extrapolated.
    pub fn is_sampled(&self) -> bool {
        self.sampled_fraction < 1.0
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Within(error) => write!(f, "±{error:.0e}"),
            Self::SampleExact => f.write_str("exact (sample)"),
            Self::Wrong => f.write_str("WRONG"),
            Self::NotRun => f.write_str("not checked"),
        }
    }
}

/// Median of the values; 0 for none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
