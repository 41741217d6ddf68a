// SPDX-License-Identifier: Apache-2.0
//! One polynomial of several ciphertexts, with one pass over the key for all.

use hush_ring::Level;
use hush_rlwe::RlweError;
use hush_schemes::ckks::CkksCiphertext;

use super::arithmetic::RealArithmetic;
use super::tree::Arithmetic;
use crate::CircuitError;

/// [`RealArithmetic`] on several ciphertexts of one level.
pub(crate) struct Together<'a>(pub(crate) RealArithmetic<'a>);

impl Together<'_> {
    fn each(
        a: &[CkksCiphertext],
        operation: impl Fn(&CkksCiphertext) -> Result<CkksCiphertext, CircuitError>,
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        a.iter().map(operation).collect()
    }
}

impl Arithmetic for Together<'_> {
    type Value = Vec<CkksCiphertext>;
    type Scalar = f64;

    fn one(&self) -> f64 {
        1.0
    }
    fn level(&self, a: &Self::Value) -> Level {
        a.first().map_or(Level(0), CkksCiphertext::level)
    }
    fn product(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, CircuitError> {
        a.iter().zip(b).map(|(a, b)| self.0.product(a, b)).collect()
    }
    fn scaled(&self, a: &Self::Value, scalar: f64, level: Level) -> Result<Self::Value, CircuitError> {
        Self::each(a, |a| self.0.scaled(a, scalar, level))
    }
    fn add_scaled(&self, sum: &mut Self::Value, a: &Self::Value, scalar: f64) -> Result<(), CircuitError> {
        sum.iter_mut().zip(a).try_for_each(|(sum, a)| self.0.add_scaled(sum, a, scalar))
    }
    fn descends_freely(&self, a: &Self::Value, level: Level) -> bool {
        a.iter().all(|a| self.0.descends_freely(a, level))
    }
    fn add(&self, a: &mut Self::Value, b: &Self::Value) -> Result<(), CircuitError> {
        a.iter_mut().zip(b).try_for_each(|(a, b)| self.0.add(a, b))
    }
    fn add_scalar(&self, a: &Self::Value, scalar: f64) -> Result<Self::Value, CircuitError> {
        Self::each(a, |a| self.0.add_scalar(a, scalar))
    }
    fn divide(&self, a: &Self::Value) -> Result<Self::Value, CircuitError> {
        // A sum has three components in all or in none.
        if a.iter().all(|a| a.inner().components().len() == 3) {
            return Ok(self.0.scheme.relinearize_rescale_all(a, self.0.keys)?);
        }
        Self::each(a, |a| self.0.divide(a))
    }
}

/// Refuses ciphertexts of several levels.
pub(crate) fn check_together(a: &[CkksCiphertext]) -> Result<(), CircuitError> {
    match a.windows(2).find(|pair| pair[0].level() != pair[1].level()) {
        Some(pair) => {
            let (left, right) = (pair[0].level(), pair[1].level());
            Err(RlweError::LevelMismatch { left, right }.into())
        }
        None => Ok(()),
    }
}
