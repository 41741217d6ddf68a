// SPDX-License-Identifier: Apache-2.0
//! CKKS, BGV and BFV as the arithmetic of polynomials.

use hush_ring::{Chain, Level};
use hush_rlwe::{EvaluationKeys, RlweCiphertext};
use hush_schemes::bgv::{Bfv, Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::tree::Arithmetic;
use crate::CircuitError;

/// Real coefficients and CKKS ciphertexts.
pub(crate) struct RealArithmetic<'a> {
    pub(crate) scheme: &'a Ckks,
    pub(crate) keys: &'a EvaluationKeys,
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
        Ok(self.scheme.mul_constant(&lowered, Complex { re: scalar, im: 0.0 })?)
    }
    fn add_scaled(
        &self,
        sum: &mut CkksCiphertext,
        a: &CkksCiphertext,
        scalar: f64,
    ) -> Result<(), CircuitError> {
        match dropped(self.scheme.chain(), a.inner(), a.level(), sum.level()) {
            Some(inner) => {
                let a = self.scheme.ciphertext_at(inner, a.scale())?;
                Ok(self.scheme.mul_constant_add_assign(sum, &a, scalar)?)
            }
            None => self.add(sum, &self.scaled(a, scalar, sum.level())?),
        }
    }
    fn add(&self, a: &mut CkksCiphertext, b: &CkksCiphertext) -> Result<(), CircuitError> {
        Ok(self.scheme.add_assign(a, b)?)
    }
    fn add_scalar(&self, a: &CkksCiphertext, scalar: f64) -> Result<CkksCiphertext, CircuitError> {
        Ok(self.scheme.add_constant(a, Complex { re: scalar, im: 0.0 })?)
    }
    fn descends_freely(&self, a: &CkksCiphertext, level: Level) -> bool {
        self.scheme.chain().params().includes(a.level(), level)
    }
    fn divide(&self, a: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        if a.inner().components().len() == 3 {
            return Ok(self.scheme.relinearize_rescale(a, self.keys)?);
        }
        Ok(self.scheme.rescale(a)?)
    }
}

/// Coefficients modulo `t` and BGV ciphertexts.
pub(crate) struct ModularArithmetic<'a> {
    pub(crate) scheme: &'a Bgv,
    keys: &'a EvaluationKeys,
    /// The factor of ciphertexts at each level up to the argument's.
    factors: Vec<u64>,
}

impl<'a> ModularArithmetic<'a> {
    /// With the factors that products of the argument have.
    pub(crate) fn new(
        scheme: &'a Bgv,
        keys: &'a EvaluationKeys,
        argument: &BgvCiphertext,
    ) -> Result<Self, CircuitError> {
        let t = scheme.t();
        let mut factors = vec![argument.factor()];
        for level in (1..=argument.level().0).rev().map(Level) {
            let switch = scheme.chain().level(level)?.mod_switch().ok_or(hush_rlwe::RlweError::LastLevel)?;
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
            return Ok(self.scheme.relinearize_mod_switch(a, self.keys)?);
        }
        Ok(self.scheme.mod_switch(a)?)
    }
}

/// Coefficients modulo `t` and BFV ciphertexts. Their products use noise and no level; levels are only counted.
pub(crate) struct InvariantArithmetic<'a> {
    pub(crate) scheme: &'a Bfv,
    pub(crate) keys: &'a EvaluationKeys,
}

/// A ciphertext and the level that it would have elsewhere.
#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) inner: RlweCiphertext,
    pub(crate) level: Level,
}

impl Arithmetic for InvariantArithmetic<'_> {
    type Value = Counted;
    type Scalar = i64;

    fn one(&self) -> i64 {
        1
    }
    fn level(&self, a: &Counted) -> Level {
        a.level
    }
    fn product(&self, a: &Counted, b: &Counted) -> Result<Counted, CircuitError> {
        Ok(Counted { inner: self.scheme.mul(&a.inner, &b.inner)?, level: a.level })
    }
    fn scaled(&self, a: &Counted, scalar: i64, level: Level) -> Result<Counted, CircuitError> {
        let mut inner = a.inner.clone();
        if scalar != 1 {
            inner.mul_integer_assign(scalar.into());
        }
        Ok(Counted { inner, level })
    }
    fn add(&self, a: &mut Counted, b: &Counted) -> Result<(), CircuitError> {
        Ok(a.inner.add_assign(&b.inner)?)
    }
    fn add_scalar(&self, a: &Counted, scalar: i64) -> Result<Counted, CircuitError> {
        let values = vec![scalar; self.scheme.encoder().slot_count()];
        Ok(Counted { inner: self.scheme.add_plain(&a.inner, &values)?, level: a.level })
    }
    fn divide(&self, a: &Counted) -> Result<Counted, CircuitError> {
        let level = Level(a.level.0.saturating_sub(1));
        Ok(Counted { inner: a.inner.relinearize(self.keys)?, level })
    }
}

/// The ciphertext with primes forgotten down to a level, which costs nothing and adds no error; `None` where the lower level
/// has a prime that this one has not.
fn dropped(chain: &Chain, a: &RlweCiphertext, from: Level, to: Level) -> Option<RlweCiphertext> {
    if from == to { Some(a.clone()) } else { a.drop_to(chain, to).ok() }
}
