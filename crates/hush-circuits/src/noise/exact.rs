// SPDX-License-Identifier: Apache-2.0
//! BGV and BFV: errors of coefficients.

use hush_params::ChainParams;
use hush_params::noise::{NoiseModel, Operands, PhaseNoise, View};
use hush_ring::Level;
use hush_rlwe::RlweError;

use super::{CircuitNoise, TransformShape};
use crate::CircuitError;
use crate::polynomial::Arithmetic;

/// Bounds on the phase of a BGV or BFV ciphertext.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LevelNoise {
    level: Level,
    phase: PhaseNoise,
    /// Whether there are three components.
    is_product: bool,
}

impl LevelNoise {
    /// A ciphertext of two components at a level.
    pub fn new(level: Level, phase: PhaseNoise) -> Self {
        Self { level, phase, is_product: false }
    }
    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }
    /// The phase.
    pub fn phase(&self) -> PhaseNoise {
        self.phase
    }
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }
    fn with_phase(self, phase: PhaseNoise) -> Self {
        Self { phase, ..self }
    }
    /// Of a whole multiple.
    pub(crate) fn times(self, factor: i64) -> Self {
        let factor_log2 = (factor.unsigned_abs().max(1) as f64).log2();
        self.with_phase(self.phase.scaled(factor_log2))
    }
}

/// The noise of BGV over one chain and plaintext modulus.
#[derive(Clone, Copy, Debug)]
pub struct BgvNoise<'a> {
    params: &'a ChainParams,
    model: NoiseModel,
    /// log2 of a clear coefficient at its largest, `t/2`.
    half_t_log2: f64,
}

impl<'a> BgvNoise<'a> {
    /// The noise of a chain and a plaintext modulus.
    pub fn new(params: &'a ChainParams, t: u64) -> Self {
        let model = NoiseModel::new(params.degree(), t, View::Bound);
        Self { params, model, half_t_log2: (t as f64).log2() - 1.0 }
    }

    /// A symmetric encryption at a level.
    pub fn fresh(&self, level: Level) -> LevelNoise {
        LevelNoise::new(level, self.model.fresh(self.message()))
    }
    /// An encryption under a public key.
    pub fn fresh_public(&self, level: Level) -> LevelNoise {
        LevelNoise::new(level, self.model.fresh_public(self.message()))
    }
    /// log2 of what no coefficient of the phase exceeds.
    pub fn phase_log2(&self, a: &LevelNoise) -> f64 {
        self.model.phase_log2(a.phase)
    }
    fn message(&self) -> PhaseNoise {
        self.model.message(self.half_t_log2)
    }
    /// Whether it decrypts: the phase fits the modulus of its level.
    pub fn decrypts(&self, a: &LevelNoise) -> bool {
        self.margin_bits(a) >= 0.0
    }
    /// Bits between the bound on the phase and what the modulus of its level holds; below 0 where it does not decrypt.
    pub fn margin_bits(&self, a: &LevelNoise) -> f64 {
        self.params.log_q(a.level).unwrap_or(0.0) - 1.0 - self.phase_log2(a)
    }
}

/// The noise of BFV over one chain and plaintext modulus, at one level.
#[derive(Clone, Copy, Debug)]
pub struct BfvNoise<'a> {
    params: &'a ChainParams,
    model: NoiseModel,
    t_log2: f64,
    level: Level,
}

impl<'a> BfvNoise<'a> {
    /// The noise of a chain and a plaintext modulus at the top level.
    pub fn new(params: &'a ChainParams, t: u64) -> Self {
        let model = NoiseModel::new(params.degree(), 1, View::Bound);
        Self { params, model, t_log2: (t as f64).log2(), level: params.top() }
    }

    /// At another level.
    #[must_use]
    pub fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }
    /// A symmetric encryption.
    pub fn fresh(&self) -> LevelNoise {
        LevelNoise::new(
            self.level,
            self.model.encoded(self.model.fresh(self.model.message(self.log_q() - 1.0))),
        )
    }
    /// log2 of what no coefficient of the error exceeds.
    pub fn error_log2(&self, a: &LevelNoise) -> f64 {
        self.model.error_log2(a.phase)
    }
    /// Whether it decrypts: the error is below `Q/(2t)`.
    pub fn decrypts(&self, a: &LevelNoise) -> bool {
        self.margin_bits(a) >= 0.0
    }
    /// Bits between the bound on the error and what decrypts; below 0 where it does not.
    pub fn margin_bits(&self, a: &LevelNoise) -> f64 {
        self.log_q() - self.t_log2 - 1.0 - self.error_log2(a)
    }

    fn log_q(&self) -> f64 {
        self.params.log_q(self.level).unwrap_or(0.0)
    }
}

/// Products of rotations with clear polynomials up to `2^clear_log2`, a key switch in every baby and giant step, one division.
fn transformed(
    model: &NoiseModel,
    params: &ChainParams,
    a: LevelNoise,
    shape: TransformShape,
    clear_log2: f64,
) -> LevelNoise {
    let baby = model.key_switched(a.phase, params, a.level);
    let sum = model.sum(model.mul_clear(baby, clear_log2), (shape.diagonals as f64).log2());
    let giants = (0..shape.giant_steps).fold(sum, |sum, _| model.key_switched(sum, params, a.level));
    a.with_phase(model.mod_switch(giants, 0.0))
}

impl CircuitNoise for BgvNoise<'_> {
    type Noise = LevelNoise;
    type Value = i64;

    fn degree(&self) -> usize {
        self.params.degree()
    }
    fn rotated(&self, a: LevelNoise) -> LevelNoise {
        a.with_phase(self.model.key_switched(a.phase, self.params, a.level))
    }
    fn sum(&self, a: LevelNoise, b: LevelNoise) -> LevelNoise {
        LevelNoise {
            is_product: a.is_product | b.is_product,
            ..a.with_phase(self.model.add(a.phase, b.phase, Operands::Dependent))
        }
    }
    fn masked(&self, a: LevelNoise) -> Result<LevelNoise, CircuitError> {
        Ok(a.with_phase(self.model.mul_clear(a.phase, self.half_t_log2)))
    }
    fn transformed(&self, a: LevelNoise, shape: TransformShape) -> Result<LevelNoise, CircuitError> {
        Ok(transformed(&self.model, self.params, a, shape, self.half_t_log2))
    }
    fn magnitude(&self, value: &i64) -> f64 {
        *value as f64
    }
}

impl CircuitNoise for BfvNoise<'_> {
    type Noise = LevelNoise;
    type Value = i64;

    fn degree(&self) -> usize {
        self.params.degree()
    }
    fn rotated(&self, a: LevelNoise) -> LevelNoise {
        a.with_phase(self.model.key_switched(a.phase, self.params, self.level))
    }
    fn sum(&self, a: LevelNoise, b: LevelNoise) -> LevelNoise {
        LevelNoise {
            is_product: a.is_product | b.is_product,
            ..a.with_phase(self.model.add(a.phase, b.phase, Operands::Dependent))
        }
    }
    fn masked(&self, a: LevelNoise) -> Result<LevelNoise, CircuitError> {
        Ok(a.with_phase(self.model.mul_clear(a.phase, self.t_log2 - 1.0)))
    }
    fn transformed(&self, a: LevelNoise, shape: TransformShape) -> Result<LevelNoise, CircuitError> {
        Ok(transformed(&self.model, self.params, a, shape, self.t_log2 - 1.0))
    }
    fn magnitude(&self, value: &i64) -> f64 {
        *value as f64
    }
}

impl Arithmetic for BgvNoise<'_> {
    type Value = LevelNoise;
    type Scalar = i64;

    fn one(&self) -> i64 {
        1
    }
    fn level(&self, a: &LevelNoise) -> Level {
        a.level
    }
    fn product(&self, a: &LevelNoise, b: &LevelNoise) -> Result<LevelNoise, CircuitError> {
        let phase = self.model.tensor(a.phase, b.phase, Operands::Dependent);
        Ok(LevelNoise { phase, is_product: true, ..*a })
    }
    fn scaled(&self, a: &LevelNoise, _: i64, level: Level) -> Result<LevelNoise, CircuitError> {
        let levels = self.params.levels();
        let drops = match (levels.get(a.level.index()), levels.get(level.index())) {
            (Some(from), Some(to)) => to.iter().all(|place| from.contains(place)),
            _ => false,
        };
        let mut lowered = *a;
        if drops {
            lowered.level = level;
        }
        while lowered.level > level {
            lowered = self.divide(&lowered)?;
        }
        // The factors of levels make any residue of a coefficient.
        Ok(lowered.with_phase(lowered.phase.scaled(self.half_t_log2)))
    }
    fn add(&self, a: &mut LevelNoise, b: &LevelNoise) -> Result<(), CircuitError> {
        *a = CircuitNoise::sum(self, *a, *b);
        Ok(())
    }
    fn add_scalar(&self, a: &LevelNoise, _: i64) -> Result<LevelNoise, CircuitError> {
        Ok(a.with_phase(self.model.add(a.phase, self.message(), Operands::Independent)))
    }
    fn divide(&self, a: &LevelNoise) -> Result<LevelNoise, CircuitError> {
        let level = a.level.below().ok_or(RlweError::LastLevel)?;
        let log_q = |level| self.params.log_q(level).unwrap_or(0.0);
        let phase = if a.is_product {
            let divided = self.model.relinearized_and_mod_switched(a.phase, self.params, a.level);
            divided.ok_or(RlweError::LastLevel)?
        } else {
            self.model.mod_switch(a.phase, log_q(level) - log_q(a.level))
        };
        Ok(LevelNoise { level, phase, is_product: false })
    }
}

/// Levels are counted only: see [`crate::polynomial::IntegerPolynomial::evaluate_invariant`].
impl Arithmetic for BfvNoise<'_> {
    type Value = LevelNoise;
    type Scalar = i64;

    fn one(&self) -> i64 {
        1
    }
    fn level(&self, a: &LevelNoise) -> Level {
        a.level
    }
    fn product(&self, a: &LevelNoise, b: &LevelNoise) -> Result<LevelNoise, CircuitError> {
        let phase =
            self.model.tensor_scaled(a.phase, b.phase, self.t_log2, self.log_q(), Operands::Dependent);
        Ok(LevelNoise { phase, is_product: true, ..*a })
    }
    fn scaled(&self, a: &LevelNoise, scalar: i64, level: Level) -> Result<LevelNoise, CircuitError> {
        let phase = a.phase.scaled((scalar.unsigned_abs().max(1) as f64).log2());
        Ok(LevelNoise { level, phase, ..*a })
    }
    fn add(&self, a: &mut LevelNoise, b: &LevelNoise) -> Result<(), CircuitError> {
        *a = CircuitNoise::sum(self, *a, *b);
        Ok(())
    }
    fn add_scalar(&self, a: &LevelNoise, _: i64) -> Result<LevelNoise, CircuitError> {
        Ok(a.with_phase(self.model.encoded(a.phase)))
    }
    fn divide(&self, a: &LevelNoise) -> Result<LevelNoise, CircuitError> {
        let level = Level(a.level.0.saturating_sub(1));
        let phase =
            if a.is_product { self.model.key_switched(a.phase, self.params, self.level) } else { a.phase };
        Ok(LevelNoise { level, phase, is_product: false })
    }
}
