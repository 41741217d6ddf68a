// SPDX-License-Identifier: Apache-2.0
//! Bounds of the noise: the formulas, and what they say of a circuit before anything is encrypted.
//!
//! The operations of a [`Chain`](super::chain::Chain) use the same formulas, with the number of samples that they really sum.

use super::OddModulus;
use super::rung::{Rung, Style};
use super::security::SIGMA;
use crate::Circuit;
use crate::circuit::Gate;

/// Where a ciphertext goes: its rungs, how it gets from each to the next, and the samples of the public key.
pub(crate) struct Ladder {
    pub(crate) rungs: Vec<Rung>,
    pub(crate) styles: Vec<Style>,
    pub(crate) samples: u32,
}

/// Bounds of a circuit's noise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Of every gate, at the level that it is computed at.
    pub(crate) gates: Vec<f64>,
    /// Bounds of the result's bits at the last level, the lowest first; bits that are 0 without computation are left out.
    pub(crate) results: Vec<f64>,
    /// The first level at which a bound is not below its limit.
    pub(crate) overflow: Option<u32>,
}

impl Ladder {
    /// Bounds at every level, of one product each where the step is one of products.
    pub(crate) fn of_products(&self) -> Vec<f64> {
        let mut bound = fresh_bound(self.samples);
        let mut bounds = vec![bound];
        for (level, &style) in self.styles.iter().enumerate() {
            let (input, inputs) = match style {
                Style::Linear => (bound, style.inputs(self.rungs[level].n)),
                Style::Quadratic | Style::QuadraticScaled => {
                    (product(bound, bound), style.inputs(self.rungs[level].n))
                }
            };
            bound = self.step(level as u32, input, inputs);
            bounds.push(bound);
        }
        bounds
    }

    /// Bounds of a circuit, as evaluation will report them, but for the numbers of samples, which are bounded here. `None` if it is
    /// deeper than the ladder.
    ///
    /// Cost: a few floating-point operations for every gate and level.
    pub(crate) fn of_circuit(&self, circuit: &Circuit) -> Option<Forecast> {
        let last = self.styles.len() as u32;
        let products = self.styles.iter().filter(|&&style| style != Style::Linear).count() as u32;
        if circuit.depth() > products {
            return None;
        }
        let fresh = fresh_bound(self.samples);
        let mut forecast = Forecast { gates: Vec::new(), results: Vec::new(), overflow: None };
        for (place, gate) in circuit.gates().iter().enumerate() {
            let level = circuit.depth_at(place);
            let operand = |gate: usize, level: u32| {
                self.raise(circuit.depth_at(gate), level, forecast.gates.get(gate).copied().unwrap_or(fresh))
            };
            let bound = match *gate {
                Gate::Input(_) => fresh,
                Gate::Xor(a, b) => sum(operand(a, level), operand(b, level)),
                Gate::And(a, b) => {
                    let below = level.saturating_sub(1);
                    let inputs = self.styles[below as usize].inputs(self.rungs[below as usize].n);
                    self.step(below, product(operand(a, below), operand(b, below)), inputs)
                }
            };
            self.check(level, bound, &mut forecast.overflow);
            forecast.gates.push(bound);
        }
        for &gate in circuit.outputs().iter().flatten() {
            let bound = self.raise(circuit.depth_at(gate), last, forecast.gates[gate]);
            self.check(last, bound, &mut forecast.overflow);
            forecast.results.push(bound);
        }
        Some(forecast)
    }

    /// The first level at which a bound of [`Self::of_products`] is not below its limit, with the bound.
    pub(crate) fn first_overflow(&self) -> Option<(u32, f64)> {
        let bounds = self.of_products().into_iter().zip(&self.rungs).zip(0..);
        bounds
            .filter(|((bound, rung), _)| *bound >= limit(rung.q))
            .map(|((bound, _), level)| (level, bound))
            .next()
    }

    fn check(&self, level: u32, bound: f64, overflow: &mut Option<u32>) {
        if bound >= limit(self.rungs[level as usize].q) {
            *overflow = Some(overflow.map_or(level, |first| first.min(level)));
        }
    }

    /// As a ciphertext is raised: step by step, by the linear inputs of each key.
    fn raise(&self, from: u32, to: u32, bound: f64) -> f64 {
        let linear = |level: u32| Style::Linear.inputs(self.rungs[level as usize].n);
        (from..to).fold(bound, |bound, level| self.step(level, bound, linear(level)))
    }

    fn step(&self, level: u32, bound: f64, inputs: u64) -> f64 {
        let level = level as usize;
        let (from, to) = (self.rungs[level].q, self.rungs[level + 1].q);
        after_step(self.styles[level], from, to, bound, nonzero(inputs * u64::from(from.bits())))
    }
}

/// `|e| < q/4 − 1/2` keeps `m + 2e` inside `(−q/2, q/2)`.
pub(crate) fn limit(q: OddModulus) -> f64 {
    q.value() as f64 / 4.0 - 0.5
}

/// Bound of a fresh ciphertext with `m` samples. About half of them are summed: `m/2 + 4√m` at most.
pub(crate) fn fresh_bound(samples: u32) -> f64 {
    let samples = f64::from(samples);
    sum_bound((samples / 2.0 + 4.0 * samples.sqrt()).min(samples))
}

/// Bound of the sum of two ciphertexts of one level: `|e₁| + |e₂| + 1`, because two ones carry.
pub(crate) fn sum(a: f64, b: f64) -> f64 {
    a + b + 1.0
}

/// Bound of a product before relinearisation: `|2e₁e₂ + m₁e₂ + m₂e₁|`.
pub(crate) fn product(a: f64, b: f64) -> f64 {
    2.0 * a * b + a + b
}

/// After a step that sums `used` samples, for an input with noise up to `bound`.
///
/// # Noise
/// `8σ√used` is exceeded with a chance below `2^-44` if the choice of samples does not depend on their errors (heuristic).
/// Scaled steps work on halves: with `x = (m + 2e)/2` they give `⌊(p/q)x⌉` and errors, and double that.
pub(crate) fn after_step(style: Style, from: OddModulus, to: OddModulus, bound: f64, used: f64) -> f64 {
    if style.is_scaled() {
        let ratio = to.value() as f64 / from.value() as f64;
        ratio * (bound + 0.5) + 0.5 + scaled_bound(used)
    } else {
        bound + sum_bound(used)
    }
}

/// Variance of a sum of errors and roundings to an integer, which vary by `1/4` at most.
pub(crate) fn scaled_bound(count: f64) -> f64 {
    TAIL * (SIGMA * SIGMA + 0.25).sqrt() * count.sqrt()
}

/// How many of the `digits` of uniform residues are not 0, at most: a third of those of their non-adjacent forms, and a little.
pub(crate) fn nonzero(digits: u64) -> f64 {
    let digits = digits as f64;
    (0.36 * digits + 4.0 * digits.sqrt()).min(digits)
}

/// Of a sum of errors.
fn sum_bound(count: f64) -> f64 {
    TAIL * SIGMA * count.sqrt()
}

/// Standard deviations: sums of these errors are sub-Gaussian, so that one is beyond with a chance below `2·exp(−32) < 2^-45`.
const TAIL: f64 = 8.0;

#[cfg(test)]
mod tests;
