// SPDX-License-Identifier: Apache-2.0
//! Polynomials with coefficients modulo `t`, for BGV and BFV.

use hush_ring::Level;
use hush_rlwe::{EvaluationKeys, RlweCiphertext};
use hush_schemes::bgv::{BatchEncoder, Bfv, Bgv, BgvCiphertext};

use super::MAX_DEGREE;
use super::arithmetic::{Counted, InvariantArithmetic, ModularArithmetic};
use super::tree::{Basis, PolynomialCost, Tree, cheapest, degree_of};
use crate::CircuitError;
use crate::error::check_depth;
use crate::noise::{BfvNoise, BgvNoise, LevelNoise};

/// `Σ c_i·X^i` modulo the plaintext modulus of an encoder, with its evaluation planned.
///
/// *Invariants.* Degree from 1 to [`MAX_DEGREE`]. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntegerPolynomial {
    coefficients: Vec<i64>,
    baby_log2: u32,
    cost: PolynomialCost,
}

impl IntegerPolynomial {
    /// The polynomial with these coefficients, constant first, taken modulo `t`.
    ///
    /// # Cost
    /// A symbolic run of the evaluation for each number of baby powers: microseconds to a millisecond.
    ///
    /// # Errors
    /// [`CircuitError::Degree`] unless the degree modulo `t` is 1 to [`MAX_DEGREE`].
    pub fn new(encoder: &BatchEncoder, coefficients: &[i64]) -> Result<Self, CircuitError> {
        let t = encoder.t();
        let mut coefficients: Vec<i64> =
            coefficients.iter().map(|&c| encoder.centered(t.reduce_i64(c))).collect();
        let degree = degree_of(&coefficients);
        if !(1..=MAX_DEGREE).contains(&degree) {
            return Err(CircuitError::Degree { found: degree, max: MAX_DEGREE });
        }
        coefficients.truncate(degree + 1);
        let (baby_log2, cost) = cheapest(&coefficients, Basis::Power, 1)?;
        Ok(Self { coefficients, baby_log2, cost })
    }

    /// The degree.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }
    /// Levels that an evaluation uses: `⌈log2(degree + 1)⌉`.
    pub fn depth(&self) -> u32 {
        self.cost.depth
    }
    /// The cost of an evaluation.
    pub fn cost(&self) -> PolynomialCost {
        self.cost
    }

    /// `p(a)`, slot by slot.
    ///
    /// # Level
    /// [`IntegerPolynomial::depth`] lower.
    ///
    /// # Noise
    /// Before each division at most `2^k·t/2` times the noise of a level's powers, or that of their product.
    ///
    /// # Errors
    /// [`CircuitError::Levels`]; [`CircuitError::Scheme`] without the relinearisation key.
    pub fn evaluate(
        &self,
        scheme: &Bgv,
        a: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, CircuitError> {
        check_depth(a.level(), self.depth())?;
        let arithmetic = ModularArithmetic::new(scheme, keys, a)?;
        Tree::new(&arithmetic, Basis::Power, self.baby_log2, a.clone())
            .value(&self.coefficients, self.depth())
    }

    /// The noise of [`IntegerPolynomial::evaluate`], by running it with bounds in place of ciphertexts.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn noise(&self, model: &BgvNoise<'_>, a: LevelNoise) -> Result<LevelNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        Tree::new(model, Basis::Power, self.baby_log2, a).value(&self.coefficients, self.depth())
    }

    /// The noise of [`IntegerPolynomial::evaluate_invariant`], at the level of `a`.
    ///
    /// # Errors
    /// None in practice: levels are counted only.
    pub fn noise_invariant(&self, model: &BfvNoise<'_>, a: LevelNoise) -> Result<LevelNoise, CircuitError> {
        let model = model.at(a.level());
        let argument = a.at(Level(self.depth() as u8));
        let result = Tree::new(&model, Basis::Power, self.baby_log2, argument)
            .value(&self.coefficients, self.depth())?;
        Ok(result.at(a.level()))
    }

    /// `p(a)` in BFV, slot by slot: at the same level, with noise that grows with the depth.
    ///
    /// # Noise
    /// For each of [`IntegerPolynomial::depth`] steps a product of ciphertexts, and one with a coefficient below `t/2`.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] without the relinearisation key.
    pub fn evaluate_invariant(
        &self,
        scheme: &Bfv,
        a: &RlweCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, CircuitError> {
        let arithmetic = InvariantArithmetic { scheme, keys };
        let argument = Counted { inner: a.clone(), level: Level(self.depth() as u8) };
        let mut tree = Tree::new(&arithmetic, Basis::Power, self.baby_log2, argument);
        Ok(tree.value(&self.coefficients, self.depth())?.inner)
    }
}
