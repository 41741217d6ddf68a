// SPDX-License-Identifier: Apache-2.0
//! The circuit of a request, run on a chain with noise in place of values.

use super::{ChainRequest, KeySwitching, Plaintexts};
use crate::noise::{
    FAILURE_LOG2, NoiseModel, Norms, Operands, PhaseNoise, View, add_phase_log2, failure_log2,
    norm_failure_log2, slot_tail, sub_phase_log2, tail,
};
use crate::{ChainParams, Level};

/// The outcome of a run on a chain that holds the circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    /// The least distance, in bits, of a phase's bound from what decrypts, or of an error's bound from what is allowed.
    pub(super) margin_bits: f64,
    /// log2 of the chance that any of the bounds fails.
    pub(super) failure_log2: f64,
    /// log2 of the bound on the error of a result; −∞ for exact ones.
    pub(super) error_log2: f64,
    /// log2 of the scale of fresh ciphertexts; 0 for exact schemes.
    pub(super) scale_log2: f64,
}

/// A run so far.
struct Watch {
    model: NoiseModel,
    degree: f64,
    run: Run,
}

impl Watch {
    fn new(chain: &ChainParams, unit: u64, scale_log2: f64) -> Self {
        let model = NoiseModel::new(chain.degree(), unit, View::Bound);
        let run = Run {
            margin_bits: f64::INFINITY,
            failure_log2: f64::NEG_INFINITY,
            error_log2: f64::NEG_INFINITY,
            scale_log2,
        };
        Self { model, degree: chain.degree() as f64, run }
    }

    /// Message and error of a phase within `2^limit_log2`. `None` if the bound is not.
    fn phase(&mut self, phase: PhaseNoise, limit_log2: f64) -> Option<()> {
        self.failure(phase, sub_phase_log2(limit_log2, phase.message.coefficient_log2));
        self.margin(limit_log2 - self.model.phase_log2(phase))
    }

    /// The error alone.
    fn error(&mut self, phase: PhaseNoise, limit_log2: f64) -> Option<()> {
        self.failure(phase, limit_log2);
        self.margin(limit_log2 - self.model.error_log2(phase))
    }

    /// The error of slots.
    fn slots(&mut self, phase: PhaseNoise, scale_log2: f64, limit_log2: f64) -> Option<()> {
        let room_log2 = sub_phase_log2(limit_log2 + scale_log2, phase.products.slot_log2);
        // As many bounds in the tail of slots as its directions have.
        let per_deviation = slot_tail(self.degree) / tail(2.0 * self.degree) * self.degree.sqrt();
        let deviations = (room_log2 - phase.random.slot_log2).exp2() / per_deviation;
        self.chance(failure_log2(2.0 * self.degree, deviations));
        self.margin(limit_log2 - self.model.slot_error_log2(phase, scale_log2))
    }

    /// A coefficient too large.
    fn failure(&mut self, phase: PhaseNoise, limit_log2: f64) {
        let room_log2 = sub_phase_log2(limit_log2, phase.products.coefficient_log2);
        let deviations = (room_log2 - phase.random.coefficient_log2).exp2();
        self.chance(failure_log2(self.degree, deviations));
    }

    /// One more bound that may fail, or the norms that it rests on: the slots of a factor and of an error, its Euclidean norm, and
    /// the Euclidean norm of a factor.
    fn chance(&mut self, chance_log2: f64) {
        let norms_log2 = add_phase_log2(FAILURE_LOG2 + 3_f64.log2(), norm_failure_log2(self.degree));
        let chance_log2 = add_phase_log2(chance_log2, norms_log2);
        self.run.failure_log2 = add_phase_log2(self.run.failure_log2, chance_log2);
    }

    fn margin(&mut self, bits: f64) -> Option<()> {
        self.run.margin_bits = self.run.margin_bits.min(bits);
        (bits >= 0.0).then_some(())
    }
}

impl ChainRequest {
    /// Runs the circuit; `None` if the chain does not hold it. On a chain without special primes switches of keys add nothing: what
    /// does not hold without them holds with none.
    pub(super) fn run(&self, chain: &ChainParams) -> Option<Run> {
        // Messages modulo a prime of the chain would not survive a division by it.
        let is_prime_of = |t: u64| chain.universe().iter().chain(chain.special()).any(|&q| q == t);
        if self.plaintexts.modulus().is_some_and(is_prime_of) {
            return None;
        }
        if usize::from(chain.top().0) != self.divisions() {
            return None;
        }
        match self.plaintexts {
            Plaintexts::Approximate { scale_log2, value_log2, error_log2 } => {
                let scale_log2 = match scale_log2 {
                    Some(scale_log2) => scale_log2,
                    None => self.own_scale_log2(chain, value_log2)?,
                };
                self.run_approximately(chain, scale_log2, value_log2, error_log2)
            }
            Plaintexts::Exact { t } => self.run_exactly(chain, t),
            Plaintexts::ExactScaled { t } => self.run_scaled(chain, t),
        }
    }

    /// The scale that suits the levels; on a chain of one, the largest whole one that fits.
    fn own_scale_log2(&self, chain: &ChainParams, value_log2: f64) -> Option<f64> {
        if self.divisions() > 0 {
            return Some(chain.steady_scale_log2());
        }
        let factors = if self.depth == 0 { 1.0 } else { 2.0 };
        let room = chain.log_q(Level(0))? - value_log2.max(0.0) - SIGN_BITS;
        Some((room / factors).floor()).filter(|&scale| scale > 0.0)
    }

    fn run_exactly(&self, chain: &ChainParams, t: u64) -> Option<Run> {
        let mut watch = Watch::new(chain, t, 0.0);
        let model = watch.model;
        // A message coefficient is at most t/2.
        let mut phase = model.fresh_public(model.message((t as f64).log2() - 1.0));
        let mut level = chain.top();
        loop {
            phase = self.switched(&model, phase, chain, level);
            let operand = model.sum(phase, self.sums_log2);
            let limit_log2 = chain.log_q(level)? - 1.0;
            watch.phase(operand, limit_log2)?;
            if level == Level(0) && self.divisions() == self.depth as usize {
                return Some(watch.run);
            }
            let product = model.tensor(operand, operand, Operands::Dependent);
            watch.phase(product, limit_log2)?;
            match (level.below(), divided(&model, product, chain, level)) {
                (Some(below), Some(divided)) => (level, phase) = (below, divided),
                _ => return (self.depth == 1).then_some(watch.run),
            }
        }
    }

    fn run_scaled(&self, chain: &ChainParams, t: u64) -> Option<Run> {
        let (mut watch, level) = (Watch::new(chain, 1, 0.0), chain.top());
        let model = watch.model;
        let (t_log2, log_q) = ((t as f64).log2(), chain.log_q(level)?);
        if self.key_switching == KeySwitching::Never && self.depth > 1 {
            return None;
        }
        let operand = |phase| model.sum(self.switched(&model, phase, chain, level), self.sums_log2);
        let mut phase = operand(model.encoded(model.fresh_public(model.message(log_q - 1.0))));
        // No request of sense is deeper than a chain has bits.
        for _ in 0..self.depth.min(MAX_DEPTH) {
            let product = model.tensor_scaled(phase, phase, t_log2, log_q, Operands::Dependent);
            // Relinearised, then rotated.
            phase = operand(self.switched(&model, product, chain, level));
        }
        watch.error(phase, log_q - t_log2 - 1.0)?;
        Some(watch.run)
    }

    fn run_approximately(
        &self,
        chain: &ChainParams,
        scale_log2: f64,
        value_log2: f64,
        error_log2: f64,
    ) -> Option<Run> {
        let mut watch = Watch::new(chain, 1, scale_log2);
        let model = watch.model;
        let (mut scale, mut level) = (scale_log2, chain.top());
        let values = |scale: f64| Norms::of_slots(scale + value_log2);
        let mut phase = model.encoded(model.fresh_public(PhaseNoise::clear(values(scale))));
        let finish = |watch: &mut Watch, phase, scale: f64| {
            watch.run.error_log2 = model.slot_error_log2(phase, scale);
            watch.slots(phase, scale, error_log2)?;
            Some(watch.run)
        };
        loop {
            phase = self.switched(&model, phase, chain, level);
            let operand = model.sum(phase, self.sums_log2).with_message(values(scale));
            let log_q = chain.log_q(level)?;
            watch.phase(operand, log_q - 1.0)?;
            if (scale - scale_log2).abs() > MAX_DRIFT_BITS {
                return None;
            }
            if level == Level(0) && self.divisions() == self.depth as usize {
                return finish(&mut watch, operand, scale);
            }
            let product = model.tensor(operand, operand, Operands::Dependent);
            let product = product.with_message(values(2.0 * scale));
            watch.phase(product, log_q - 1.0)?;
            let Some(divided) = divided(&model, product, chain, level) else {
                return if self.depth == 1 { finish(&mut watch, product, 2.0 * scale) } else { None };
            };
            level = level.below()?;
            scale = 2.0 * scale + chain.log_q(level)? - log_q;
            phase = divided;
        }
    }

    fn switched(
        &self,
        model: &NoiseModel,
        phase: PhaseNoise,
        chain: &ChainParams,
        level: Level,
    ) -> PhaseNoise {
        match self.key_switching {
            KeySwitching::Used if !chain.special().is_empty() => model.key_switched(phase, chain, level),
            _ => phase,
        }
    }
}

/// Relinearised and divided; `None` at level 0.
fn divided(model: &NoiseModel, product: PhaseNoise, chain: &ChainParams, level: Level) -> Option<PhaseNoise> {
    if chain.special().is_empty() {
        return Some(model.mod_switch(product, chain.log_q(level.below()?)? - chain.log_q(level)?));
    }
    model.relinearized_and_mod_switched(product, chain, level)
}

/// A depth that no chain reaches.
const MAX_DEPTH: u32 = 1000;
/// How far the scale of a level may be from the one asked for.
const MAX_DRIFT_BITS: f64 = 1.0;
/// The sign, and a noise that is below half of the message.
const SIGN_BITS: f64 = 2.0;
