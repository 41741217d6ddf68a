// SPDX-License-Identifier: Apache-2.0
//! The answer of an adapter, and the row that it becomes once its values are compared.

use std::collections::BTreeMap;

use hush_params::security::{SecurityLevel, max_log_q};
use serde::{Deserialize, Serialize};

use super::case::{Case, Encryption, Scheme, Table};
use super::inputs::Inputs;
use crate::split_table::Check;

/// The output of an adapter: one JSON object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Name and version.
    pub library: String,
    /// Ring degree in use.
    pub degree: u32,
    /// Values per ciphertext.
    pub slots: u32,
    /// Ciphertext primes; 0 if the library does not tell.
    pub q_primes: u32,
    /// Special primes.
    pub p_primes: u32,
    /// log2 of the ciphertext modulus.
    pub log_q: f64,
    /// log2 of the special modulus.
    pub log_p: f64,
    /// Notes on the row.
    #[serde(default)]
    pub note: String,
    /// The fewest repetitions behind a median.
    pub repetitions: u32,
    /// Median milliseconds by phase or operation.
    pub times_ms: BTreeMap<String, f64>,
    /// Bytes of a fresh ciphertext, uncompressed.
    pub ciphertext_bytes: Option<u64>,
    /// Bytes of the public and evaluation keys, uncompressed.
    pub key_bytes: Option<u64>,
    /// Peak resident megabytes (10^6 bytes) of the process.
    pub peak_mb: f64,
    /// Decrypted values of the last repetition, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<f64>>,
    /// Programs that the library did not run, by name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// One row of the tables that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Table.
    pub table: Table,
    /// Scheme.
    pub scheme: Scheme,
    /// Key of the workload's encryptions.
    pub encryption: Encryption,
    /// Threads.
    pub threads: usize,
    /// Largest log2(Q·P) of the security table at this ring degree, for 128 bits.
    pub log_qp_limit: Option<u32>,
    /// How the values compare with those computed in the clear.
    pub check: Check,
    /// The measurement; its values are left out of the row.
    #[serde(flatten)]
    pub answer: Answer,
}

/// Largest error of a CKKS value: 40-bit scales leave 20 bits and more.
pub(super) const TOLERANCE: f64 = 1e-4;

impl Row {
    /// The row of a case that was answered.
    pub fn new(case: &Case, mut answer: Answer, inputs: &Inputs) -> Self {
        let check = check(case.scheme, &answer, inputs);
        answer.values.clear();
        Self {
            table: case.table,
            scheme: case.scheme,
            encryption: case.encryption,
            threads: case.threads,
            log_qp_limit: max_log_q(answer.degree, SecurityLevel::Bits128),
            check,
            answer,
        }
    }

    /// Whether log2(Q·P) is within the security table; a library's defaults may follow an older one.
    pub fn is_within_limit(&self) -> bool {
        // Products of primes of whole bits: a thousandth above is rounding in the sum of logarithms.
        self.log_qp_limit.is_some_and(|limit| self.log_qp() <= f64::from(limit) + 1e-3)
    }

    /// log2(Q·P).
    pub fn log_qp(&self) -> f64 {
        self.answer.log_q + self.answer.log_p
    }

    /// A time in milliseconds.
    pub fn time_ms(&self, name: &str) -> Option<f64> {
        self.answer.times_ms.get(name).copied()
    }
}

/// Compares everything that was decrypted; what was timed without giving its values counts as wrong.
fn check(scheme: Scheme, answer: &Answer, inputs: &Inputs) -> Check {
    let mut needed: Vec<&str> = Vec::new();
    for (time, value) in
        [("evaluate", "result"), ("decrypt", "decrypted"), ("multiply", "product"), ("rotate", "rotated")]
    {
        let is_workload = answer.times_ms.contains_key("evaluate");
        if answer.times_ms.contains_key(time) && !(is_workload && time == "decrypt") {
            needed.push(value);
        }
    }
    let mut largest = 0.0_f64;
    for &name in &needed {
        let (Some(found), Some(expected)) = (answer.values.get(name), inputs.expected(name)) else {
            return Check::Wrong;
        };
        if found.len() != expected.len() {
            return Check::Wrong;
        }
        let unit = if scheme == Scheme::Ckks { Inputs::real_unit(name) } else { 1.0 };
        for (&found, &expected) in found.iter().zip(&expected) {
            let error = (found - expected as f64 / unit).abs();
            // `max` would pass over a NaN.
            largest = if error.is_nan() { f64::INFINITY } else { largest.max(error) };
        }
    }
    match scheme {
        _ if needed.is_empty() => Check::NotRun,
        Scheme::Ckks if largest <= TOLERANCE => Check::Within(largest),
        Scheme::Bgv | Scheme::Bfv if largest == 0.0 => Check::Exact,
        _ => Check::Wrong,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn case(table: Table, scheme: Scheme) -> Case {
        let (q_bits, p_bits) = (vec![35, 35], vec![35]);
        let encryption = Encryption::Public;
        Case { table, scheme, degree: 4096, q_bits, p_bits, encryption, threads: 1, repetitions: 20 }
    }

    pub(crate) fn answer(case: &Case, inputs: &Inputs) -> Answer {
        let (times, names): (&[&str], &[&str]) = match case.table {
            Table::Workload => {
                (&["parameters", "keys", "encrypt", "evaluate", "decrypt", "total"], &["result"])
            }
            Table::Primitives => {
                (&["ntt", "decrypt", "multiply", "rotate"], &["decrypted", "product", "rotated"])
            }
            Table::Programs => (&["programs"], &[]),
        };
        let unit = |name: &str| if case.scheme == Scheme::Ckks { Inputs::real_unit(name) } else { 1.0 };
        let values = |name: &str| -> Vec<f64> {
            inputs.expected(name).unwrap().iter().map(|&v| v as f64 / unit(name)).collect()
        };
        Answer {
            library: "Test 1.0".into(),
            degree: 4096,
            slots: 4096,
            q_primes: 2,
            p_primes: 1,
            log_q: 70.0,
            log_p: 35.0,
            note: String::new(),
            repetitions: 20,
            times_ms: times.iter().map(|&time| (time.to_owned(), 1.5)).collect(),
            ciphertext_bytes: Some(131_072),
            key_bytes: None,
            peak_mb: 10.0,
            values: names.iter().map(|&name| (name.to_owned(), values(name))).collect(),
            left_out: BTreeMap::new(),
        }
    }

    #[test]
    fn right_values_pass_and_any_wrong_or_missing_value_fails() {
        let inputs = Inputs::fixed();
        for table in [Table::Workload, Table::Primitives] {
            for scheme in Scheme::ALL {
                let case = case(table, scheme);
                let right = answer(&case, &inputs);
                let row = Row::new(&case, right.clone(), &inputs);
                assert!(matches!(row.check, Check::Exact | Check::Within(0.0)), "{case:?} {:?}", row.check);
                assert!(row.answer.values.is_empty() && row.is_within_limit());
                for name in right.values.keys() {
                    type Change = fn(&mut Vec<f64>);
                    let changes: [Change; 4] =
                        [|v| v[7] += 1.0, |v| v[2000] = f64::NAN, |v| v.truncate(99), Vec::clear];
                    for change in changes {
                        let mut wrong = right.clone();
                        change(wrong.values.get_mut(name).unwrap());
                        assert_eq!(Row::new(&case, wrong, &inputs).check, Check::Wrong, "{case:?} {name}");
                    }
                    let mut missing = right.clone();
                    missing.values.remove(name);
                    assert_eq!(Row::new(&case, missing, &inputs).check, Check::Wrong, "{case:?} {name}");
                }
            }
        }
    }

    #[test]
    fn defaults_beyond_the_table_are_told_apart() {
        let (case, inputs) = (case(Table::Workload, Scheme::Bfv), Inputs::fixed());
        let mut over = answer(&case, &inputs);
        over.log_p = 39.0;
        let row = Row::new(&case, over, &inputs);
        assert_eq!((row.is_within_limit(), row.log_qp_limit), (false, Some(106)));
    }
}
