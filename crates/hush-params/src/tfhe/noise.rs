// SPDX-License-Identifier: Apache-2.0
//! Variances of every step of a bootstrapping, in relation to the modulus, and the chance of a wrong result.
//!
//! # Math
//! With the unit `2^s` of digits, `β = 2^s/q`, the variance `σ_g²` of errors of large ciphertexts and `σ_l²` of those of small ones:
//!
//! ```text
//!   blind rotation   n·( (k + 1)·N·(1/(12·β²))·σ_g²  +  (1 + 2·k·N/3)·β²/24 )
//!   key switch       k·N·( l'·(B'² + 2)/12·σ_l²  +  (2/3)/(12·B'^(2·l')) )
//!   modulus switch   (1 + n/4) / (12·(2N)²)
//! ```
//!
//! A digit of a uniform coefficient is uniform in `±q/2^(s + 1)`, and what it leaves out in `±2^s/2`. The latter counts where a bit of the secret is 1: for half of
//! them. Of the modulus switch `n/4` remains in place of `n/2`, since half of each rounding, its mean over the bit, is taken out of the last coefficient.
//! *Tested* against samples of each step: of the modulus switch in `hush-tfhe`, of the others in `hush-keys`.

use super::{Messages, TfheSet};

/// Variances, in relation to the square of the modulus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Of the result of a bootstrapping.
    pub rotation: f64,
    /// That a key switch adds.
    pub key_switch: f64,
    /// That a modulus switch adds.
    pub modulus_switch: f64,
}

impl TfheSet {
    /// The variance of errors of large ciphertexts: centred binomial of parameter 21.
    pub fn large_noise(&self) -> f64 {
        10.5 / (self.prime() as f64).powi(2)
    }

    /// The variance of errors of small ciphertexts, `(2^(2b + 1) + 1)/6` in units of `2^-32`.
    pub fn small_noise(&self) -> f64 {
        (2f64.powi(2 * self.noise_bits() as i32 + 1) + 1.0) / 6.0 / 2f64.powi(64)
    }

    /// The variances of a bootstrapping.
    pub fn variances(&self) -> Variances {
        let (n, degree) = (self.dimension() as f64, self.degree() as f64);
        let (rank, large) = (self.rank() as f64, self.large_dimension() as f64);
        let unit = 2f64.powi(self.gadget_shift() as i32) / self.prime() as f64;
        let products = (rank + 1.0) * degree / (12.0 * unit * unit) * self.large_noise();
        let rotation = n * (products + (1.0 + 2.0 * large / 3.0) * unit * unit / 24.0);
        let base = 2f64.powi(self.switch().bits as i32);
        let levels = f64::from(self.switch().levels);
        let left_out = (2.0 / 3.0) / (12.0 * base.powf(2.0 * levels));
        let key_switch = large * (levels * (base * base + 2.0) / 12.0 * self.small_noise() + left_out);
        let modulus_switch = (1.0 + n / 4.0) / (12.0 * (2.0 * degree).powi(2));
        Variances { rotation, key_switch, modulus_switch }
    }

    /// The distance from a message to where it is taken for another: half of that between two messages; for signs, of which a gate adds two, that of their sum
    /// from 0.
    pub fn distance(&self) -> f64 {
        match self.messages() {
            Messages::Padded { bits } => 2f64.powi(-(bits as i32) - 2),
            Messages::Signs => 1.0 / 8.0,
        }
    }

    /// log2 of a bound on the chance that a bootstrapping takes a wrong place of its table, for sums up to [`TfheSet::norm`].
    pub fn failure_log2(&self) -> f64 {
        let Variances { rotation, key_switch, modulus_switch } = self.variances();
        let norm = f64::from(self.norm());
        let deviation = (norm * norm * rotation + key_switch + modulus_switch).sqrt();
        let x = self.distance() / (deviation * std::f64::consts::SQRT_2);
        // erfc(x) < exp(−x²)/(x·√π).
        (-x * x - (x * std::f64::consts::PI.sqrt()).ln()) / std::f64::consts::LN_2
    }
}
