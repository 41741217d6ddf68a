// SPDX-License-Identifier: Apache-2.0
//! Scales that are not powers of two.

/// A scale of CKKS over a modulus chain: positive, known to 53 bits, multiplied by ratios of moduli.
#[derive(Clone, Copy, Debug)]
pub struct RealScale(f64);

impl RealScale {
    /// This scale.
    pub fn new(scale: f64) -> Self {
        Self(scale)
    }
    /// As a number.
    pub fn value(self) -> f64 {
        self.0
    }
    /// log2.
    pub fn log2(self) -> f64 {
        self.0.log2()
    }
    /// The scale of a product.
    pub fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
    /// Whether both differ by rounding alone: a sum then errs by less than `2^−40` of the values.
    pub fn is_near(self, other: Self) -> bool {
        (self.0 / other.0 - 1.0).abs() < 2.0_f64.powi(-40)
    }
}

impl PartialEq for RealScale {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for RealScale {}

impl std::fmt::Display for RealScale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "2^{:.3}", self.log2())
    }
}
