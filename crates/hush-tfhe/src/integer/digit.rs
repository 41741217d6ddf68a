// SPDX-License-Identifier: Apache-2.0
//! Digits with their bounds.

use crate::{Context, Lwe, TfheError};

/// Values of a digit.
pub(super) const BASE: u64 = 4;
/// The largest sum of digits that a ciphertext has room for.
pub(super) const MOST: u64 = 15;
/// Bits of a digit.
pub(super) const DIGIT_BITS: u32 = 2;

/// A sum of digits: a ciphertext, and a constant beside it.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    /// `None` for a constant, and where a program is counted alone.
    lwe: Option<Lwe>,
    constant: i64,
    /// The largest value. The smallest is 0 or more.
    pub(super) most: u64,
    /// 0 for a constant.
    pub(super) norm: u32,
}

impl Digit {
    /// A number that everybody knows.
    pub(super) fn constant(value: u64) -> Self {
        Self { lwe: None, constant: value as i64, most: value, norm: 0 }
    }

    /// A ciphertext that is fresh or comes from a bootstrapping, up to `most`.
    pub(super) fn clean(lwe: Option<Lwe>, most: u64) -> Self {
        Self { lwe, constant: 0, most, norm: 1 }
    }

    /// The number, if it is a constant.
    pub(super) fn known(&self) -> Option<u64> {
        (self.norm == 0).then_some(self.most)
    }

    /// Whether nothing has to be done before it goes into a sum with any factor.
    pub(super) fn is_clean(&self) -> bool {
        self.most < BASE && self.norm <= 1
    }

    /// Adds `factor` times another.
    pub(super) fn add_scaled(&mut self, other: &Self, factor: u32) -> Result<(), TfheError> {
        let scaled = i64::from(factor);
        match (&mut self.lwe, &other.lwe) {
            (_, None) => {}
            (Some(lwe), Some(other)) => lwe.add_scaled(other, scaled)?,
            (empty, Some(other)) if factor == 1 => *empty = Some(other.clone()),
            (empty, Some(other)) => {
                let mut lwe = other.clone();
                lwe.add_scaled(other, scaled - 1)?;
                *empty = Some(lwe);
            }
        }
        self.constant += scaled * other.constant;
        self.most += u64::from(factor) * other.most;
        self.norm += factor * other.norm;
        Ok(())
    }

    /// So many times the digit.
    pub(super) fn scaled(&self, factor: u32) -> Result<Self, TfheError> {
        let mut scaled = Self::constant(0);
        scaled.add_scaled(self, factor)?;
        Ok(scaled)
    }

    /// `limit` less the digit, which is no more than that.
    pub(super) fn taken_from(&self, limit: u64) -> Result<Self, TfheError> {
        let lwe = self.lwe.as_ref().map(|lwe| {
            let mut negated = lwe.clone();
            negated.add_scaled(lwe, -2)?;
            Ok::<_, TfheError>(negated)
        });
        let constant = limit as i64 - self.constant;
        // A constant is known as what it is; of others only that they are not negative.
        let most = if self.norm == 0 { constant as u64 } else { limit };
        Ok(Self { lwe: lwe.transpose()?, constant, most, norm: self.norm })
    }

    /// `BASE` times this digit and another below `BASE`: what functions of two digits look up.
    pub(super) fn beside(&self, low: &Self) -> Result<Self, TfheError> {
        let mut pair = self.scaled(BASE as u32)?;
        pair.add_scaled(low, 1)?;
        Ok(pair)
    }

    /// The ciphertext of the sum.
    pub(super) fn to_lwe(&self, context: &Context) -> Lwe {
        let steps = 2 * context.message_count().max(1);
        let residue = context.fraction(self.constant.unsigned_abs(), steps);
        let residue = if self.constant < 0 { context.modulus().neg(residue) } else { residue };
        match &self.lwe {
            None => Lwe::constant(context, residue),
            Some(lwe) => {
                let mut lwe = lwe.clone();
                lwe.add_constant(residue);
                lwe
            }
        }
    }
}

/// An integer: its digits, the lowest first.
#[derive(Clone, Debug)]
pub(super) struct Integer(pub(super) Vec<Digit>);

impl Integer {
    /// A constant modulo `4^count`.
    pub(super) fn constant(value: i128, count: usize) -> Self {
        let digit = |place: usize| Digit::constant((value >> (DIGIT_BITS as usize * place) & 3) as u64);
        Self((0..count).map(digit).collect())
    }

    /// A bit as an integer of so many digits.
    pub(super) fn bit(bit: Digit, count: usize) -> Self {
        let zeros = std::iter::repeat_with(|| Digit::constant(0));
        Self(std::iter::once(bit).chain(zeros).take(count.max(1)).collect())
    }

    /// The lowest digit.
    pub(super) fn lowest(&self) -> Digit {
        self.0.first().cloned().unwrap_or_else(|| Digit::constant(0))
    }

    /// Whether it is a constant.
    pub(super) fn is_known(&self) -> bool {
        self.0.iter().all(|digit| digit.norm == 0)
    }
}
