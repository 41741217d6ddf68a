// SPDX-License-Identifier: Apache-2.0
//! A measured cell.

use hush_params::security::{SecurityLevel, max_log_q};
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Key, Packing};
use super::statistics::Statistics;
use super::watch::Load;

/// The answer of a cell's process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Library and version.
    pub library: String,
    /// The primes, special ones last.
    pub moduli: Vec<u64>,
    /// How many of them are special: no ciphertext is modulo those.
    pub special_count: u32,
    /// Bytes of a ciphertext in memory.
    pub ciphertext_bytes: u64,
    /// In the order of running.
    pub repetitions: Vec<Repetition>,
    /// Ciphertexts that were decrypted, over all repetitions.
    pub checked: u64,
    /// Of those, how many did not hold what was encrypted.
    pub wrong: u64,
    /// Exclusive or of the words of every ciphertext; 0 if none was taken.
    #[serde(default)]
    pub digest: u64,
    /// Peak resident megabytes of the process.
    pub peak_mb: f64,
    /// CPU seconds of the process.
    pub cpu_s: f64,
}

/// Seconds of one repetition, each phase and all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Parameters, with every table.
    pub parameters_s: f64,
    /// Secret key, and public key where it encrypts.
    pub keys_s: f64,
    /// All ciphertexts; extrapolated where fewer were made.
    pub encrypt_s: f64,
    /// Everything.
    pub total_s: f64,
    /// Ciphertexts that were made.
    pub encrypted: u64,
}

/// A measured cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One by one or packed.
    pub way: Packing,
    /// Which key encrypted.
    pub key: Key,
    /// Ring degree.
    pub degree: u32,
    /// Integers.
    pub count: u64,
    /// Ciphertexts that hold them.
    pub ciphertexts: u64,
    /// The answer of the process.
    #[serde(flatten)]
    pub answer: Answer,
    /// log2 of the product of all primes.
    pub log_qp: f64,
    /// The largest `⌈log2 QP⌉` that the security table of 2024 allows for 128 bits.
    pub log_qp_limit: u32,
    /// Seconds from parameters to the last ciphertext.
    pub total_s: Statistics,
    /// Seconds of encryption alone.
    pub encrypt_s: Statistics,
    /// The least part of the ciphertexts that a repetition made; below 1 times are extrapolated.
    pub sampled_fraction: f64,
    /// CPU time over wall time of the whole process, checks included, in percent; 100 is one core.
    pub cpu_percent: f64,
    /// CPU load and memory over time.
    pub load: Vec<Load>,
    /// Joules of the processor while the process ran, everything else on it included.
    pub energy_j: Option<f64>,
}

impl Row {
    /// A row of what was answered and seen from outside.
    pub(super) fn new(
        cell: &Cell,
        answer: Answer,
        wall_s: f64,
        load: Vec<Load>,
        energy_j: Option<f64>,
    ) -> Self {
        let of = |seconds: fn(&Repetition) -> f64| {
            Statistics::of(&answer.repetitions.iter().map(seconds).collect::<Vec<_>>())
        };
        let ciphertexts = cell.ciphertext_count();
        let fewest = answer.repetitions.iter().map(|repetition| repetition.encrypted).min();
        Self {
            way: cell.way,
            key: cell.key,
            degree: cell.degree,
            count: cell.count,
            ciphertexts,
            log_qp: answer.moduli.iter().map(|&q| (q as f64).log2()).sum(),
            log_qp_limit: max_log_q(cell.degree, SecurityLevel::Bits128).unwrap_or(0),
            total_s: of(|repetition| repetition.total_s),
            encrypt_s: of(|repetition| repetition.encrypt_s),
            sampled_fraction: fewest.unwrap_or(0) as f64 / ciphertexts as f64,
            cpu_percent: if wall_s > 0.0 { 100.0 * answer.cpu_s / wall_s } else { 0.0 },
            load,
            energy_j,
            answer,
        }
    }

    /// Whether it is ours.
    pub fn is_ours(&self) -> bool {
        self.answer.library.starts_with(super::OURS)
    }

    /// Whether the modulus is within the security table.
    pub fn is_within_table(&self) -> bool {
        self.log_qp.ceil() <= f64::from(self.log_qp_limit)
    }

    /// Whether times are extrapolated.
    pub fn is_sampled(&self) -> bool {
        self.sampled_fraction < 1.0
    }

    /// Whether ciphertexts were decrypted in every repetition and all held what was encrypted.
    pub fn is_right(&self) -> bool {
        self.answer.wrong == 0 && self.answer.checked >= self.answer.repetitions.len() as u64
    }

    /// The same cell of another library.
    pub fn is_beside(&self, other: &Self) -> bool {
        let cell = |row: &Self| (row.way, row.key, row.degree, row.count);
        cell(self) == cell(other) && self.is_ours() != other.is_ours()
    }
}

/// Our time beside that of the peer: how many times as long it takes, medians of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One by one or packed.
    pub way: Packing,
    /// Which key encrypted.
    pub key: Key,
    /// Ring degree.
    pub degree: u32,
    /// Integers.
    pub count: u64,
    /// The peer.
    pub library: String,
    /// From parameters to the last ciphertext.
    pub total_ratio: f64,
    /// Encryption alone.
    pub encrypt_ratio: f64,
    /// Whether the peer's time is extrapolated.
    pub is_sampled: bool,
}

/// Every cell that was measured twice.
pub(super) fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let beside = |ours: &Row| {
        let peer = rows.iter().find(|row| row.is_beside(ours))?;
        Some(Comparison {
            way: ours.way,
            key: ours.key,
            degree: ours.degree,
            count: ours.count,
            library: peer.answer.library.clone(),
            total_ratio: peer.total_s.median / ours.total_s.median,
            encrypt_ratio: peer.encrypt_s.median / ours.encrypt_s.median,
            is_sampled: peer.is_sampled(),
        })
    };
    rows.iter().filter(|row| row.is_ours()).filter_map(beside).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn row(library: &str, way: Packing, degree: u32, count: u64, seconds: f64) -> Row {
        let cell = Cell { way, key: Key::Public, degree, count, repetitions: 3 };
        let encrypted = cell.ciphertext_count();
        let repetition = |factor: f64| Repetition {
            parameters_s: 0.25 * seconds * factor,
            keys_s: 0.25 * seconds * factor,
            encrypt_s: 0.5 * seconds * factor,
            total_s: seconds * factor,
            encrypted,
        };
        let answer = Answer {
            library: library.to_owned(),
            moduli: vec![(1 << 26) - 5],
            ciphertext_bytes: 16 * u64::from(degree),
            repetitions: [3.0, 1.0, 1.25].map(repetition).into(),
            checked: 3,
            peak_mb: 20.0,
            cpu_s: 1.0,
            ..Answer::default()
        };
        let load = vec![
            Load { at_s: 0.5, cpu_percent: 99.0, memory_mb: 20.0 },
            Load { at_s: 1.0, cpu_percent: 90.0, memory_mb: 21.0 },
        ];
        Row::new(&cell, answer, 2.0, load, None)
    }

    #[test]
    fn a_row_knows_its_table_its_samples_and_its_checks() {
        let right = row("Hushtable 1", Packing::OneByOne, 1024, 10, 2.0);
        assert!(right.is_ours() && right.is_right() && right.is_within_table() && !right.is_sampled());
        assert_eq!((right.total_s.median, right.encrypt_s.first, right.cpu_percent), (2.5, 3.0, 50.0));
        let changed = |change: fn(&mut Answer)| {
            let mut answer = right.answer.clone();
            change(&mut answer);
            let cell = Cell { way: right.way, key: right.key, degree: 1024, count: 10, repetitions: 3 };
            Row::new(&cell, answer, 2.0, Vec::new(), None)
        };
        assert!(!changed(|answer| answer.wrong = 1).is_right());
        assert!(!changed(|answer| answer.checked = 2).is_right());
        assert!(!changed(|answer| answer.moduli[0] = (1 << 26) + 1).is_within_table());
        assert_eq!(changed(|answer| answer.repetitions[1].encrypted = 5).sampled_fraction, 0.5);
    }

    #[test]
    fn only_the_same_cell_is_compared() {
        let rows = [
            row("Hushtable 1", Packing::OneByOne, 1024, 10, 2.0),
            row("seal-python 4", Packing::OneByOne, 1024, 100, 1.0),
            row("seal-python 4", Packing::Packed, 1024, 10, 1.0),
            row("seal-python 4", Packing::OneByOne, 1024, 10, 8.0),
        ];
        let found = comparisons(&rows);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].total_ratio, found[0].encrypt_ratio, found[0].count), (4.0, 4.0, 10));
    }
}
