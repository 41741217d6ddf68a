// SPDX-License-Identifier: Apache-2.0
//! One cell of the grid, as the process that measures it is told of it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The way in which integers are put into ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    /// One integer in each ciphertext, its constant coefficient: as published.
    OneByOne,
    /// `N` integers in each ciphertext, its coefficients: what a user should do.
    Packed,
}

/// With which key ciphertexts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// The public one.
    Public,
    /// The secret one; half of a ciphertext is a seed.
    Secret,
}

/// A cell to measure. Its text form, the command line of the adapter to SEAL as well, is
/// `WAY KEY N COUNT REPETITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// One by one or packed.
    pub way: Packing,
    /// The key that encrypts.
    pub key: Key,
    /// Ring degree `N`.
    pub degree: u32,
    /// Integers.
    pub count: u64,
    /// Repetitions, each from parameters to the last ciphertext.
    pub repetitions: u32,
}

/// A cell that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected WAY KEY N COUNT REPETITIONS, found {found:?}")]
pub struct CellError {
    /// The text found.
    found: String,
}

impl Cell {
    /// The text form, word by word.
    pub fn arguments(&self) -> [String; 5] {
        [
            self.way.name().to_owned(),
            self.key.name().to_owned(),
            self.degree.to_string(),
            self.count.to_string(),
            self.repetitions.to_string(),
        ]
    }

    /// Integers in each ciphertext but perhaps the last.
    pub fn per_ciphertext(&self) -> usize {
        match self.way {
            Packing::OneByOne => 1,
            Packing::Packed => self.degree as usize,
        }
    }

    /// Ciphertexts.
    pub fn ciphertext_count(&self) -> u64 {
        self.count.div_ceil(self.per_ciphertext() as u64)
    }

    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [way, key, degree, count, repetitions] = fields[..] else {
            return None;
        };
        Some(Self {
            way: Packing::ALL.into_iter().find(|w| w.name() == way)?,
            key: Key::ALL.into_iter().find(|k| k.name() == key)?,
            degree: degree.parse().ok().filter(|degree| super::DEGREES.contains(degree))?,
            count: count.parse().ok().filter(|&count| count > 0)?,
            repetitions: repetitions.parse().ok().filter(|&repetitions| repetitions > 0)?,
        })
    }
}

impl FromStr for Cell {
    type Err = CellError;

    fn from_str(text: &str) -> Result<Self, CellError> {
        Self::parse(text).ok_or_else(|| CellError { found: text.chars().take(80).collect() })
    }
}

impl Packing {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OneByOne, Self::Packed];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneByOne => "one-by-one",
            Self::Packed => "packed",
        }
    }
}

impl Key {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Public, Self::Secret];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Secret => "secret",
        }
    }
}

/// Integer `index` of every cell, below 1024: the top bits of a multiplicative hash, which the adapter computes too.
pub(super) fn integer(index: u64) -> u16 {
    ((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - super::PLAIN_BITS)) as u16
}

/// Whether ciphertext `index` of `count` is decrypted: the first, the last, and up to [`CHECKED`] between them.
pub(super) fn is_checked(index: u64, count: u64) -> bool {
    index + 1 == count || index.is_multiple_of(count.div_ceil(CHECKED))
}

/// Ciphertexts that are decrypted in a repetition; packed ones are few, and all of them are.
const CHECKED: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_survives_its_command_line() {
        let cell =
            Cell { way: Packing::OneByOne, key: Key::Secret, degree: 2048, count: 10_000, repetitions: 5 };
        let text = cell.arguments().join(" ");
        assert_eq!(text, "one-by-one secret 2048 10000 5");
        assert_eq!(text.parse(), Ok(cell));
        assert_eq!(
            (cell.ciphertext_count(), Cell { way: Packing::Packed, ..cell }.ciphertext_count()),
            (10_000, 5)
        );
        for wrong in ["", "packed public 1000 1 1", "packed public 1024 0 1", "packed open 1024 1 1"] {
            assert_eq!(wrong.parse::<Cell>(), Err(CellError { found: wrong.into() }));
        }
    }

    #[test]
    fn integers_fill_the_range_and_samples_hold_both_ends() {
        let mut found: Vec<u16> = (0..10_000).map(integer).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!((found.len(), found[0], found[1023]), (1024, 0, 1023));
        for count in [1, 2, 17, 1000, 10_000] {
            let checked: Vec<u64> = (0..count).filter(|&index| is_checked(index, count)).collect();
            assert!(checked[0] == 0 && checked[checked.len() - 1] == count - 1);
            assert!(checked.len() as u64 >= count.min(CHECKED / 2) && checked.len() as u64 <= CHECKED + 1);
        }
    }
}
