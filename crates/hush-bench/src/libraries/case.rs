// SPDX-License-Identifier: Apache-2.0
//! One row to measure, as an adapter is told of it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The three tables of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// `y·(x + z)` on 2760 elements, phase by phase.
    Workload,
    /// One operation at a time on full-size parameters.
    Primitives,
    /// Random programs with compared results.
    Programs,
}

/// A scheme that every library knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Exact, message in the low digits.
    Bgv,
    /// Exact, message in the high digits.
    Bfv,
    /// Approximate.
    Ckks,
}

/// With which key the workload encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// With the public key.
    Public,
    /// With the secret key, as the owner of a table does.
    Secret,
}

/// A row to measure. Its text form is the command line of every adapter:
/// `TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS`, bits as a comma-separated list or `-` for the library's
/// own choice, `N = 0` likewise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Table.
    pub table: Table,
    /// Scheme.
    pub scheme: Scheme,
    /// Ring degree; 0 for the library's choice.
    pub degree: u32,
    /// Bits of the ciphertext primes, the one that is left at the last level first.
    pub q_bits: Vec<u32>,
    /// Bits of the special primes.
    pub p_bits: Vec<u32>,
    /// Key of the workload's encryptions; primitives time both.
    pub encryption: Encryption,
    /// Threads.
    pub threads: usize,
    /// Repetitions behind each median; 5 where one takes more than 100 ms.
    pub repetitions: u32,
}

/// A case that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS, found {found:?}")]
pub struct CaseError {
    /// The text found.
    found: String,
}

impl Case {
    /// The arguments of an adapter.
    pub fn arguments(&self) -> [String; 8] {
        let list = |bits: &[u32]| match bits {
            [] => "-".to_owned(),
            _ => bits.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        };
        [
            self.table.name().to_owned(),
            self.scheme.name().to_owned(),
            self.degree.to_string(),
            list(&self.q_bits),
            list(&self.p_bits),
            self.encryption.name().to_owned(),
            self.threads.to_string(),
            self.repetitions.to_string(),
        ]
    }
}

impl FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        Self::parse(text).ok_or_else(|| CaseError { found: text.to_owned() })
    }
}

impl Case {
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [table, scheme, degree, q_bits, p_bits, encryption, threads, repetitions] = fields[..] else {
            return None;
        };
        let list = |text: &str| match text {
            "-" => Some(Vec::new()),
            _ => text.split(',').map(|bits| bits.parse().ok()).collect(),
        };
        Some(Self {
            table: Table::ALL.into_iter().find(|t| t.name() == table)?,
            scheme: Scheme::ALL.into_iter().find(|s| s.name() == scheme)?,
            degree: degree.parse().ok()?,
            q_bits: list(q_bits)?,
            p_bits: list(p_bits)?,
            encryption: Encryption::ALL.into_iter().find(|e| e.name() == encryption)?,
            threads: threads.parse().ok().filter(|&threads| threads > 0)?,
            repetitions: repetitions.parse().ok().filter(|&repetitions| repetitions > 0)?,
        })
    }
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Workload, Self::Primitives, Self::Programs];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Primitives => "primitives",
            Self::Programs => "programs",
        }
    }
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bgv, Self::Bfv, Self::Ckks];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bgv => "bgv",
            Self::Bfv => "bfv",
            Self::Ckks => "ckks",
        }
    }
}

impl Encryption {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Public, Self::Secret];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Secret => "secret",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_survives_its_command_line() {
        let case = Case {
            table: Table::Workload,
            scheme: Scheme::Ckks,
            degree: 8192,
            q_bits: vec![46, 40],
            p_bits: Vec::new(),
            encryption: Encryption::Secret,
            threads: 2,
            repetitions: 20,
        };
        let text = case.arguments().join(" ");
        assert_eq!(text, "workload ckks 8192 46,40 - secret 2 20");
        assert_eq!(text.parse(), Ok(case));
        for wrong in ["", "workload ckks 8192 46,x - secret 2 20", "workload ckks 8192 46 - secret 0 20"] {
            assert_eq!(wrong.parse::<Case>(), Err(CaseError { found: wrong.into() }));
        }
    }
}
