// SPDX-License-Identifier: Apache-2.0
//! Variances of every step of a bootstrapping, in relation to the modulus, and the chance of a wrong result.
//!
//! # Math
//! With the unit `2^s` of the lowest of l digits of `B` values, `β = 2^s/q`, the expansion `η` of tables, the variance `σ_g²` of errors of large ciphertexts and `σ_l²` of those of
//! small ones:
//!
//! ```text
//!   digits D         (l − 1)·(B² + 2)/12  +  1/(12·β²·B^(2·(l − 1)))
//!   blind rotation   n·( (k + 1)·N·D·σ_g²  +  (1 + 2·k·N/3)·β²/24 )
//!   key switch       k·N·( l'·(B'² + 2)/12·σ_l²  +  (2/3)/(12·B'^(2·l')) )
//!   modulus switch   (1 + n/4) / (12·(2·η·N)²)
//! ```
//!
//! The highest digit of a uniform coefficient is uniform in `±q/2^(u + 1)` for its unit `2^u`, and what digits leave out in `±2^s/2`. The latter counts where a bit of the secret is 1: for half of
//! them. Of the modulus switch `n/4` remains in place of `n/2`, since half of each rounding, its mean over the bit, is taken out of the last coefficient. A table of `η·N` coefficients is
//! η polynomials of degree N, each with errors of its own, so that η is in the modulus switch alone.
//!
//! Circuit bootstrapping has `D_t` and `β_t` for its switching keys, `D_c` and `β_c` for its selectors, and `L = log2 N`:
//!
//! ```text
//!   automorphism     V_t = N·D_t·σ_g²  +  (2·N/3)·β_t²/12
//!   trace            step t of L: u_v ← 4·u_v (v ≥ t), 0 (v = t − 1), 2·u_v (v < t − 1), then + V_t for all
//!   row of the body  E = V_rotation + Σ_v count_v·u_v: the sum of the variances of all coefficients
//!   row of the mask  (2/3)·E + N·D_t·σ_g² + (4·N²/9)·β_t²/12
//!   choice           D_c·(E + N·row of the mask)  +  (1 + 2·N/3)·β_c²/12
//! ```
//!
//! `u_v` is the variance of coefficients whose place is divisible by `2^v` and no more, `count_v = N/2^(v + 1)` of them, and of place 0 for `v = L`. An automorphism of step t leaves those with
//! `v ≥ t` where they are, negates those with `v = t − 1`, and brings others to different places. A bit of a choice may be 1 always, so that all of what digits leave out counts.
//! *Tested* against samples of each step: of the modulus switch in `hush-tfhe`, of the others in `hush-keys`.

use super::{Gadget, Messages, TfheSet};

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

/// Variances of circuit bootstrapping, in relation to the square of the modulus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitVariances {
    /// The sum over the coefficients of a row for digits of the body.
    pub body: f64,
    /// Of each coefficient of a row for digits of the mask.
    pub mask: f64,
    /// That a choice between two ciphertexts adds to a coefficient.
    pub choice: f64,
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
        let unit = self.unit(self.gadget());
        let products = (rank + 1.0) * degree * self.digits(self.gadget()) * self.large_noise();
        let rotation = n * (products + (1.0 + 2.0 * large / 3.0) * unit * unit / 24.0);
        let base = 2f64.powi(self.switch().bits as i32);
        let levels = f64::from(self.switch().levels);
        let left_out = (2.0 / 3.0) / (12.0 * base.powf(2.0 * levels));
        let key_switch = large * (levels * (base * base + 2.0) / 12.0 * self.small_noise() + left_out);
        let modulus_switch = (1.0 + n / 4.0) / (12.0 * (2.0 * self.table_degree() as f64).powi(2));
        Variances { rotation, key_switch, modulus_switch }
    }

    /// The lowest unit of digits, in relation to the modulus.
    fn unit(&self, gadget: Gadget) -> f64 {
        2f64.powi(gadget.shift as i32) / self.prime() as f64
    }

    /// The sum of the variances of the digits of a uniform coefficient.
    pub(super) fn digits(&self, gadget: Gadget) -> f64 {
        let lower = f64::from(gadget.levels - 1);
        let base = 2f64.powi(gadget.bits as i32);
        let highest = 1.0 / self.unit(gadget) / base.powf(lower);
        lower * (base * base + 2.0) / 12.0 + highest * highest / 12.0
    }

    /// The variances of circuit bootstrapping; `None` for a set without.
    pub fn circuit_variances(&self) -> Option<CircuitVariances> {
        let circuit = self.circuit()?;
        let (degree, steps) = (self.degree() as f64, self.degree().trailing_zeros() as usize);
        let (switch, selector) = (self.unit(circuit.switch), self.unit(circuit.selector));
        let products = degree * self.digits(circuit.switch) * self.large_noise();
        let automorphism = products + 2.0 * degree / 3.0 * switch * switch / 12.0;
        let mut places = vec![0.0; steps + 1];
        for step in 1..=steps {
            for (order, variance) in places.iter_mut().enumerate() {
                *variance *= match order {
                    _ if order >= step => 4.0,
                    _ if order + 1 == step => 0.0,
                    _ => 2.0,
                };
                *variance += automorphism;
            }
        }
        let count = |order: usize| if order < steps { degree / 2f64.powi(order as i32 + 1) } else { 1.0 };
        let of_trace: f64 = (0..).zip(&places).map(|(order, variance)| count(order) * variance).sum();
        let body = self.variances().rotation + of_trace;
        let square = products + 4.0 * degree * degree / 9.0 * switch * switch / 12.0;
        let mask = 2.0 / 3.0 * body + square;
        let left_out = (1.0 + 2.0 * degree / 3.0) * selector * selector / 12.0;
        let choice = self.digits(circuit.selector) * (body + degree * mask) + left_out;
        Some(CircuitVariances { body, mask, choice })
    }

    /// log2 of a bound on the chance that the bootstrapping of a sum of norm `norm` of results of wide look-ups of so many bits takes a wrong place of its table; `None` for a set
    /// without circuit bootstrapping.
    pub fn wide_failure_log2(&self, bits: u32, norm: u32) -> Option<f64> {
        let result = f64::from(bits) * self.circuit_variances()?.choice;
        let Variances { key_switch, modulus_switch, .. } = self.variances();
        let variance = f64::from(norm).powi(2) * result + key_switch + modulus_switch;
        Some(chance_log2(self.distance(), variance))
    }

    /// log2 of a bound on the chance that circuit bootstrapping takes a bit for the other, if it is a sum of norm `norm` of bootstrapped ciphertexts; `None` for a set without.
    pub fn circuit_failure_log2(&self, norm: u32) -> Option<f64> {
        self.bit_failure_log2(f64::from(norm).powi(2) * self.variances().rotation)
    }

    /// The same for the result of a wide look-up of so many bits.
    pub fn chained_failure_log2(&self, bits: u32) -> Option<f64> {
        self.bit_failure_log2(f64::from(bits) * self.circuit_variances()?.choice)
    }

    /// The same for a bit with errors of this variance.
    ///
    /// A bit is the message 1. It is multiplied by half of the number of messages, to a quarter of the modulus, and turns come in multiples of the levels of a selector.
    fn bit_failure_log2(&self, variance: f64) -> Option<f64> {
        let levels = f64::from(self.circuit()?.selector.levels.next_power_of_two());
        let Variances { key_switch, modulus_switch, .. } = self.variances();
        let factor = 2f64.powi(self.message_bits() as i32 - 1);
        Some(chance_log2(
            1.0 / 8.0,
            factor * factor * variance + key_switch + levels * levels * modulus_switch,
        ))
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
        chance_log2(self.distance(), norm * norm * rotation + key_switch + modulus_switch)
    }
}

/// log2 of a bound on the chance that an error of this variance passes the distance, on either side.
pub(super) fn chance_log2(distance: f64, variance: f64) -> f64 {
    let x = distance / (2.0 * variance).sqrt();
    // erfc(x) < exp(−x²)/(x·√π).
    (-x * x - (x * std::f64::consts::PI.sqrt()).ln()) / std::f64::consts::LN_2
}
