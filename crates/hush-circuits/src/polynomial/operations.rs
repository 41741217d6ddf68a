// SPDX-License-Identifier: Apache-2.0
//! What approximate functions are made of, on ciphertexts and on what is known of them.

use hush_schemes::ckks::CkksCiphertext;

use super::arithmetic::RealArithmetic;
use super::real::RealPolynomial;
use super::tree::Arithmetic;
use crate::CircuitError;
use crate::noise::{CkksNoise, SlotNoise};

/// Arithmetic with real coefficients, of ciphertexts or of what is known of them.
pub(crate) trait RealOperations: Arithmetic<Scalar = f64> {
    /// `p(a)`.
    fn polynomial(&self, p: &RealPolynomial, a: &Self::Value) -> Result<Self::Value, CircuitError>;
    /// `slope·a + constant`, a level lower.
    fn affine(&self, a: &Self::Value, slope: f64, constant: f64) -> Result<Self::Value, CircuitError> {
        self.add_scalar(&self.divide(&self.scaled(a, slope, self.level(a))?)?, constant)
    }
    /// `a·b`, relinearised and divided.
    fn times(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, CircuitError> {
        self.divide(&self.product(a, b)?)
    }
}

impl RealOperations for RealArithmetic<'_> {
    fn polynomial(&self, p: &RealPolynomial, a: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        p.evaluate(self.scheme, a, self.keys)
    }
}

impl RealOperations for CkksNoise<'_> {
    fn polynomial(&self, p: &RealPolynomial, a: &SlotNoise) -> Result<SlotNoise, CircuitError> {
        p.noise(self, *a)
    }
}
