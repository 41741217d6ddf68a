// SPDX-License-Identifier: Apache-2.0
//! CKKS and BGV as the arithmetic of polynomials.

use hush_ring::{Chain, Level};
use hush_rlwe::{EvaluationKeys, RlweCiphertext};
use hush_schemes::SchemeError;
use hush_schemes::bgv::{Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::tree::Arithmetic;
use crate::CircuitError;

/// Real coefficients and CKKS ciphertexts.
pub(super) struct RealArithmetic<'a> {
    pub(super) scheme: &'a Ckks,
    pub(super) keys: &'a EvaluationKeys,
}

impl Arithmetic for RealArithmetic<'_> {
    type Value = CkksCiphertext;
    type Scalar = f64;

    fn one(&self) -> f64 {
        1.0
    }
    fn level(&self, a: &CkksCiphertext) -> Level {
        a.level()
    }
    fn product(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        Ok(self.scheme.mul(a, b)?)
    }
    fn scaled(&self, a: &CkksCiphertext, scalar: f64, level: Level) -> Result<CkksCiphertext, CircuitError> {
        let lowered = match dropped(self.scheme.chain(), a.inner(), a.level(), level) {
            Some(inner) => self.scheme.ciphertext_at(inner, a.scale())?,
            None => self.scheme.level_down(a, level)?,
        };
        let clear = self.scheme.clear_scale(&lowered)?;
        let integer = (scalar * clear.value()).round_ties_even();
        // A NaN is refused as well.
        if integer.is_nan() || integer.abs() >= f64::from(MAX_SCALAR_LOG2).exp2() {
            let limit_log2 = MAX_SCALAR_LOG2.saturating_sub(clear.log2().max(0.0) as u32);
            return Err(SchemeError::ValueRange { index: 0, limit_log2 }.into());
        }
        // A real constant is an integer: no transform is needed, in contrast to a complex one.
        let mut inner = lowered.inner().clone();
        inner.mul_integer_assign(integer as i128);
        Ok(self.scheme.ciphertext_at(inner, lowered.scale().times(clear))?)
    }
    fn add(&self, a: &mut CkksCiphertext, b: &CkksCiphertext) -> Result<(), CircuitError> {
        Ok(self.scheme.add_assign(a, b)?)
    }
    fn add_scalar(&self, a: &CkksCiphertext, scalar: f64) -> Result<CkksCiphertext, CircuitError> {
        Ok(self.scheme.add_constant(a, Complex { re: scalar, im: 0.0 })?)
    }
    fn divide(&self, a: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        if a.inner().components().len() == 3 {
            return Ok(self.scheme.relinearize_rescale(a, self.keys)?);
        }
        Ok(self.scheme.rescale(a)?)
    }
}

/// log2 of what a coefficient times its scale must stay below.
const MAX_SCALAR_LOG2: u32 = 126;

/// Coefficients modulo `t` and BGV ciphertexts.
pub(super) struct ModularArithmetic<'a> {
    scheme: &'a Bgv,
    keys: &'a EvaluationKeys,
    /// The factor of ciphertexts at each level up to the argument's.
    factors: Vec<u64>,
}

impl<'a> ModularArithmetic<'a> {
    /// With the factors that products of the argument have.
    pub(super) fn new(
        scheme: &'a Bgv,
        keys: &'a EvaluationKeys,
        argument: &BgvCiphertext,
    ) -> Result<Self, CircuitError> {
        let t = scheme.t();
        let mut factors = vec![argument.factor()];
        for level in (1..=argument.level().0).rev().map(Level) {
            let switch = scheme.chain().level(level)?.rescale().ok_or(hush_rlwe::RlweError::LastLevel)?;
            let factor = factors.last().copied().unwrap_or(1);
            factors.push(t.mul(t.mul(factor, factor), switch.factor_mod(t)?));
        }
        factors.reverse();
        Ok(Self { scheme, keys, factors })
    }
}

impl Arithmetic for ModularArithmetic<'_> {
    type Value = BgvCiphertext;
    type Scalar = i64;

    fn one(&self) -> i64 {
        1
    }
    fn level(&self, a: &BgvCiphertext) -> Level {
        a.level()
    }
    fn product(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, CircuitError> {
        Ok(self.scheme.mul(a, b)?)
    }
    fn scaled(&self, a: &BgvCiphertext, scalar: i64, level: Level) -> Result<BgvCiphertext, CircuitError> {
        let t = self.scheme.t();
        let lowered = match dropped(self.scheme.chain(), a.inner(), a.level(), level) {
            Some(inner) => self.scheme.ciphertext_at(inner, a.factor())?,
            None => self.scheme.mod_switch_to(a, level)?,
        };
        let own = self.factors.get(level.index()).copied().unwrap_or(1);
        let wanted = t.mul(own, own);
        let inverse = t.inv(lowered.factor()).map_err(hush_ring::RingError::from)?;
        let scalar = t.mul(t.reduce_i64(scalar), t.mul(wanted, inverse));
        let product = self.scheme.mul_scalar(&lowered, self.scheme.encoder().centered(scalar));
        Ok(self.scheme.ciphertext_at(product.inner().clone(), wanted)?)
    }
    fn add(&self, a: &mut BgvCiphertext, b: &BgvCiphertext) -> Result<(), CircuitError> {
        *a = self.scheme.add(a, b)?;
        Ok(())
    }
    fn add_scalar(&self, a: &BgvCiphertext, scalar: i64) -> Result<BgvCiphertext, CircuitError> {
        Ok(self.scheme.add_plain(a, &vec![scalar; self.scheme.encoder().slot_count()])?)
    }
    fn divide(&self, a: &BgvCiphertext) -> Result<BgvCiphertext, CircuitError> {
        if a.inner().components().len() == 3 {
            return Ok(self.scheme.relinearize_rescale(a, self.keys)?);
        }
        Ok(self.scheme.rescale(a)?)
    }
}

/// The ciphertext with primes forgotten down to a level, which costs nothing and adds no error; `None` where the lower level
/// has a prime that this one has not.
fn dropped(chain: &Chain, a: &RlweCiphertext, from: Level, to: Level) -> Option<RlweCiphertext> {
    if from == to { Some(a.clone()) } else { a.drop_to(chain, to).ok() }
}
