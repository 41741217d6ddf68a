// SPDX-License-Identifier: Apache-2.0
//! One scheme over one chain, with the operations that a circuit takes from encoding to decoding.

use std::collections::BTreeMap;
use std::rc::Rc;

use hush_expr::Ratio;
use hush_params::ChainParams;
use hush_params::bootstrap::BootstrapShape;
use hush_ring::{Chain, Coeff, Cpu, Level, Poly};
use hush_rlwe::{EvaluationKeys, PhaseMeaning, RlweCiphertext};
use hush_schemes::RealScale;
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::{Ckks, CkksCiphertext};
use num_bigint::BigInt;

use super::placed::{Body, PlacedCircuit};
use super::steps::{Steps, centered};
use super::tracked::{Tracked, TrackedNoise};
use super::walk::{Finish, Machine, common_up, divided, multiplied, never, no_level, walk};
use crate::CircuitError;
use crate::bootstrap::{BootstrapKeys, Bootstrapping};
use crate::noise::{BfvNoise, BgvNoise, CkksNoise};
use crate::polynomial::{Counted, InvariantArithmetic, ModularArithmetic, RealArithmetic};

/// A scheme over one chain, with its tables. An exact circuit has a lane for each plaintext prime. Public.
#[derive(Debug)]
pub enum Lane {
    /// BFV, for integers modulo one prime.
    Bfv(Box<Bfv>),
    /// BGV, for integers modulo one prime.
    Bgv(Box<Bgv>),
    /// CKKS.
    Ckks(Box<Ckks>),
    /// CKKS with bootstrapping.
    Bootstrapped(Box<BootstrappedLane>),
}

/// CKKS over a chain in segments, with what bootstrapping needs beside keys. Public.
#[derive(Debug)]
pub struct BootstrappedLane {
    scheme: Ckks,
    bootstrapping: Bootstrapping,
    /// Whether what a bootstrapping errs by is bootstrapped, too.
    is_refined: bool,
}

impl BootstrappedLane {
    /// log2 of the scale of a level; 0 if there is none.
    pub(super) fn scale_log2(&self, level: Level) -> f64 {
        self.scheme.scale(level).map_or(0.0, |scale| scale.log2())
    }

    /// Bootstrappings of a value, one after the other: 2 where the error of the first is bootstrapped, too.
    pub fn passes(&self) -> u32 {
        1 + u32::from(self.is_refined)
    }
    pub(super) fn refine(&mut self) {
        self.is_refined = true;
    }

    /// The bootstrapping, which lists the keys that it needs.
    pub fn bootstrapping(&self) -> &Bootstrapping {
        &self.bootstrapping
    }
}

/// The keys of a lane. Public, as their parts.
#[derive(Clone, Debug)]
pub enum LaneKeys {
    /// A relinearisation key, or none.
    Leveled(EvaluationKeys),
    /// Those of bootstrapping, with that one among them.
    Bootstrapping(Box<BootstrapKeys>),
}

impl LaneKeys {
    fn evaluation(&self) -> &EvaluationKeys {
        match self {
            Self::Leveled(keys) => keys,
            Self::Bootstrapping(keys) => &keys.evaluation,
        }
    }
}

/// Decoded slots.
///
/// *Secrecy.* Plaintext: no `Debug`.
pub enum Slots {
    /// Residues nearest to zero.
    Exact(Vec<i64>),
    /// Values with an error.
    Approximate(Vec<f64>),
}

/// The outcome of a circuit's noise analysis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    /// The least margin of a step.
    pub(super) margin_bits: f64,
    /// log2 of the error of an output slot; −∞ for exact ones.
    pub(super) error_log2: f64,
}

impl Lane {
    /// A lane that bootstraps, over a chain of a shape.
    ///
    /// # Cost
    /// As [`Bootstrapping::new`].
    ///
    /// # Errors
    /// As there.
    pub fn bootstrapped(shape: &BootstrapShape, chain: &ChainParams, cpu: Cpu) -> Result<Self, CircuitError> {
        let scheme = Bootstrapping::scheme(shape, chain, cpu)?;
        let bootstrapping = Bootstrapping::new(&scheme, shape)?;
        Ok(Self::Bootstrapped(Box::new(BootstrappedLane { scheme, bootstrapping, is_refined: false })))
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        match self {
            Self::Bfv(scheme) => scheme.chain(),
            Self::Bgv(scheme) => scheme.chain(),
            Self::Ckks(scheme) => scheme.chain(),
            Self::Bootstrapped(lane) => lane.scheme.chain(),
        }
    }

    /// Values in one ciphertext.
    pub fn slot_count(&self) -> usize {
        match self {
            Self::Ckks(scheme) => scheme.slot_count(),
            Self::Bootstrapped(lane) => lane.bootstrapping.shape().slots(),
            _ => self.chain().degree(),
        }
    }

    /// The plaintext prime of exact schemes.
    pub fn modulus(&self) -> Option<u64> {
        match self {
            Self::Bfv(scheme) => Some(scheme.encoder().t().value()),
            Self::Bgv(scheme) => Some(scheme.t().value()),
            Self::Ckks(_) | Self::Bootstrapped(_) => None,
        }
    }

    /// The evaluation keys that a circuit needs: Galois elements, 0 for relinearisation, with the highest level of each; none without keys.
    pub fn key_levels(&self, circuit: &PlacedCircuit) -> BTreeMap<usize, Level> {
        if self.is_without_keys() {
            return BTreeMap::new();
        }
        let degree = self.chain().degree();
        let (mut levels, own) = match self {
            Self::Bootstrapped(lane) => {
                (lane.bootstrapping.key_levels(), lane.bootstrapping.shape().output())
            }
            _ => (BTreeMap::from([(0, self.chain().top())]), self.chain().top()),
        };
        for element in circuit.rotations(degree) {
            let highest = levels.entry(element).or_insert(own);
            *highest = own.max(*highest);
        }
        levels
    }

    /// The level at which the inputs of a circuit are encrypted.
    pub fn input_level(&self, circuit: &PlacedCircuit) -> Level {
        match self {
            Self::Bootstrapped(_) => circuit.start(),
            _ => self.chain().top(),
        }
    }

    /// The message with these slots, at the level of a circuit's inputs: exact schemes take the residues of whole numbers. In CKKS slots that are left over hold the same values
    /// again: zeros may be outside of the range that a circuit has bounds for, and one slot beyond its bounds spoils all.
    ///
    /// # Errors
    /// [`CircuitError::Slot`] for too many values; [`CircuitError::Scheme`] for values that do not fit.
    pub fn encode(&self, circuit: &PlacedCircuit, values: &[Ratio]) -> Result<Poly<Coeff>, CircuitError> {
        let (level, (found, max)) = (self.input_level(circuit), (values.len(), self.slot_count()));
        if found > max {
            return Err(CircuitError::Slot { found, max });
        }
        let residues = |t: u64| -> Vec<i64> { values.iter().map(|v| centered(v.numerator(), t)).collect() };
        let doubles = || -> Vec<f64> {
            let mut values: Vec<f64> = values.iter().map(Ratio::to_f64).collect();
            // Sums of elements ask for a period; between its elements and its end values stand again as well.
            if let Some(period) = circuit.period() {
                values = values.iter().copied().cycle().take(period.slots.max(values.len())).collect();
            }
            let own: Vec<f64> = values.iter().copied().cycle().take(max).collect();
            // Few slots stand again and again in all that there are.
            own.iter().copied().cycle().take(self.chain().degree() / 2).collect()
        };
        Ok(match self {
            Self::Bfv(scheme) => scheme.encode(&residues(scheme.encoder().t().value()), level)?,
            Self::Bgv(scheme) => scheme.encode(&residues(scheme.t().value()), level)?,
            Self::Ckks(scheme) => scheme.encode_real(&doubles(), level)?,
            Self::Bootstrapped(lane) => lane.scheme.encode_real(&doubles(), level)?,
        })
    }

    /// Evaluates a circuit on one ciphertext for each of [`PlacedCircuit::used_inputs`], fresh and at [`Lane::input_level`].
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] without a key that is needed, or for ciphertexts of another chain; [`CircuitError::Slot`] for too few; [`CircuitError::Shape`]
    /// for a circuit that was placed for another lane.
    pub fn evaluate(
        &self,
        circuit: &PlacedCircuit,
        inputs: Vec<RlweCiphertext>,
        keys: &LaneKeys,
    ) -> Result<(RlweCiphertext, PhaseMeaning), CircuitError> {
        let (finish, schedule) = (self.finish(), &circuit.schedule);
        let evaluation = keys.evaluation();
        match (self, &circuit.body) {
            (Self::Bfv(scheme), Body::Exact(body)) => {
                let machine = InvariantArithmetic { scheme, keys: evaluation };
                let level = schedule.start;
                let inputs = inputs.into_iter().map(|inner| Counted { inner, level }).collect();
                let steps = Steps::modulo(body, scheme.encoder().t().value());
                let (output, _) = walk((&machine, &never), &steps, schedule, finish, inputs)?;
                Ok((output.inner, PhaseMeaning::Scale(1.0)))
            }
            (Self::Bgv(scheme), Body::Exact(body)) => {
                let inputs = inputs.into_iter().map(|inner| scheme.ciphertext(inner));
                let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
                let first = inputs.first().ok_or_else(no_level)?;
                let machine = ModularArithmetic::new(scheme, evaluation, first)?;
                let steps = Steps::modulo(body, scheme.t().value());
                let (output, _) = walk((&machine, &never), &steps, schedule, finish, inputs)?;
                Ok((output.inner().clone(), PhaseMeaning::Factor(output.factor())))
            }
            (Self::Ckks(scheme), Body::Real(steps)) => {
                let inputs = ciphertexts(scheme, inputs)?;
                let machine = RealArithmetic { scheme, keys: evaluation };
                let (output, _) = walk((&machine, &never), steps, schedule, finish, inputs)?;
                Ok((output.inner().clone(), PhaseMeaning::Scale(output.scale().value())))
            }
            (Self::Bootstrapped(lane), Body::Real(steps)) => {
                let LaneKeys::Bootstrapping(keys) = keys else { return Err(CircuitError::Shape) };
                let scheme = &lane.scheme;
                let inputs = ciphertexts(scheme, inputs)?;
                let machine = RealArithmetic { scheme, keys: evaluation };
                let bootstrap = |values: &[(Rc<CkksCiphertext>, i32)]| lane.bootstrap(&machine, values, keys);
                let (output, _) = walk((&machine, &bootstrap), steps, schedule, finish, inputs)?;
                Ok((output.inner().clone(), PhaseMeaning::Scale(output.scale().value())))
            }
            _ => Err(CircuitError::Shape),
        }
    }

    /// The slots of a decrypted phase.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`], which a phase of this chain with the meaning that [`Lane::evaluate`] gave rules out.
    pub fn decode(&self, phase: &Poly<Coeff>, meaning: PhaseMeaning) -> Result<Slots, CircuitError> {
        Ok(match (self, meaning) {
            (Self::Bfv(scheme), _) => Slots::Exact(scheme.decode(phase)?),
            (Self::Bgv(scheme), PhaseMeaning::Factor(factor)) => {
                let level = scheme.chain().level_of(phase.ring())?;
                let zero = RlweCiphertext::zero(scheme.chain().ring(level)?, 2);
                Slots::Exact(scheme.decode(phase, &scheme.ciphertext_at(zero, factor)?)?)
            }
            (Self::Bgv(_), PhaseMeaning::Scale(_)) => return Err(no_level()),
            (Self::Ckks(_) | Self::Bootstrapped(_), PhaseMeaning::Factor(_)) => return Err(no_level()),
            (Self::Ckks(scheme), PhaseMeaning::Scale(scale)) => {
                Slots::Approximate(real_slots(scheme, phase, scale)?)
            }
            (Self::Bootstrapped(lane), PhaseMeaning::Scale(scale)) => {
                let mut slots = real_slots(&lane.scheme, phase, scale)?;
                slots.truncate(self.slot_count());
                Slots::Approximate(slots)
            }
        })
    }

    /// Whether nothing is relinearised, and no keys exist.
    pub fn is_without_keys(&self) -> bool {
        self.chain().special().is_empty()
    }

    fn finish(&self) -> Finish {
        if self.is_without_keys() { Finish::Undivided } else { Finish::Divided }
    }

    /// The level from which the steps of a circuit count down. BFV chains have one level, so there it is only counted.
    pub(super) fn top_for(&self, depth: u32) -> Level {
        match self {
            Self::Bfv(_) => Level(depth as u8),
            _ => self.chain().top(),
        }
    }

    /// The circuit on bounds; the output `2^sums_log2` times.
    pub(super) fn bounds(&self, circuit: &PlacedCircuit, sums_log2: f64) -> Result<Bounds, CircuitError> {
        let (finish, schedule) = (self.finish(), &circuit.schedule);
        let params = self.chain().params();
        let exactly = |margin_bits: f64| Bounds { margin_bits, error_log2: f64::NEG_INFINITY };
        // A sum of outputs: each bit of it is a bit of the margin.
        Ok(match (self, &circuit.body) {
            (Self::Bfv(scheme), Body::Exact(body)) => {
                let t = scheme.encoder().t().value();
                let machine = BfvNoise::new(params, t);
                let inputs = vec![machine.fresh().at(schedule.start); body.used_inputs().len()];
                let steps = Steps::modulo(body, t);
                let (output, margin) = walk((&machine, &never), &steps, schedule, finish, inputs)?;
                exactly(margin.min(machine.margin_bits(&output) - sums_log2))
            }
            (Self::Bgv(scheme), Body::Exact(body)) => {
                let t = scheme.t().value();
                let machine = BgvNoise::new(params, t);
                let inputs = vec![machine.fresh(schedule.start); body.used_inputs().len()];
                let steps = Steps::modulo(body, t);
                let (output, margin) = walk((&machine, &never), &steps, schedule, finish, inputs)?;
                exactly(margin.min(machine.margin_bits(&output) - sums_log2))
            }
            (Self::Ckks(scheme), Body::Real(steps)) => {
                let machine = Tracked { noise: CkksNoise::new(scheme), is_rounded: steps.is_rounded };
                let inputs = fresh(&machine, steps, schedule.start)?;
                let (output, margin) = walk((&machine, &never), steps, schedule, finish, inputs)?;
                real_bounds(&machine, &output, (margin, sums_log2))
            }
            (Self::Bootstrapped(lane), Body::Real(steps)) => {
                let noise = CkksNoise::new(&lane.scheme);
                let machine = Tracked { noise, is_rounded: steps.is_rounded };
                let bootstrap = |values: &[(Rc<TrackedNoise>, i32)]| lane.bootstrap_noise(&machine, values);
                let inputs = fresh(&machine, steps, schedule.start)?;
                let (output, margin) = walk((&machine, &bootstrap), steps, schedule, finish, inputs)?;
                real_bounds(&machine, &output, (margin, sums_log2))
            }
            _ => return Err(CircuitError::Shape),
        })
    }
}

impl BootstrappedLane {
    /// One or two ciphertexts, each divided by a power of two, bootstrapped and multiplied again.
    fn bootstrap(
        &self,
        machine: &RealArithmetic<'_>,
        values: &[(Rc<CkksCiphertext>, i32)],
        keys: &BootstrapKeys,
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        let (scheme, input) = (&self.scheme, self.bootstrapping.shape().input());
        let small = |value: &(Rc<CkksCiphertext>, i32)| {
            let small = divided(machine, value, input)?;
            Ok(scheme.level_down(&small, input)?)
        };
        let small = values.iter().map(small).collect::<Result<Vec<_>, CircuitError>>()?;
        let small = (&small.iter().collect::<Vec<_>>()[..], common_up(values));
        let raised = match self.is_refined {
            true => self.bootstrapping.apply_refined(scheme, small, keys)?,
            false => self.bootstrapping.apply_all(scheme, small, keys)?,
        };
        Ok(raised.iter().zip(values).map(|(a, (_, shift))| multiplied(machine, a, *shift)).collect())
    }

    /// [`BootstrappedLane::bootstrap`] on bounds.
    fn bootstrap_noise(
        &self,
        machine: &Tracked<'_>,
        values: &[(Rc<TrackedNoise>, i32)],
    ) -> Result<Vec<TrackedNoise>, CircuitError> {
        let (noise, own) = (&machine.noise, &self.bootstrapping);
        let (input, up) = (own.shape().input(), common_up(values));
        // What it adds to the largest parts that there can be, of slots with two.
        let largest_log2 = f64::from(own.headroom_log2()) - f64::from(up) + 0.5;
        let exact = noise.known(input, largest_log2, f64::NEG_INFINITY)?;
        let exact = match self.is_refined {
            true => own.noise_of_refined(noise, (exact, up), values.len())?,
            false => own.noise_of_all(noise, (exact, up), values.len())?,
        };
        let fresh = |value: &(Rc<TrackedNoise>, i32)| {
            let small = divided(machine, value, input)?;
            own.check(noise, &small.all.times(f64::from(up).exp2()))?;
            Ok(multiplied(machine, &machine.bootstrapped(&small, &exact), value.1))
        };
        values.iter().map(fresh).collect()
    }
}

fn ciphertexts(scheme: &Ckks, inputs: Vec<RlweCiphertext>) -> Result<Vec<CkksCiphertext>, CircuitError> {
    Ok(inputs.into_iter().map(|inner| scheme.ciphertext(inner)).collect::<Result<_, _>>()?)
}

/// Bounds of the inputs, in the order of the vectors.
fn fresh(machine: &Tracked<'_>, steps: &Steps<f64>, level: Level) -> Result<Vec<TrackedNoise>, CircuitError> {
    let mut inputs = Vec::new();
    for (op, &magnitude_log2) in steps.ops.iter().zip(&steps.magnitudes_log2) {
        if let super::steps::Op::Input(input) = op {
            inputs.push((*input, machine.noise.fresh(level, magnitude_log2)?));
        }
    }
    inputs.sort_by_key(|&(input, _)| input);
    Ok(inputs.into_iter().map(|(_, noise)| TrackedNoise::fresh(noise)).collect())
}

fn real_bounds(machine: &Tracked<'_>, output: &TrackedNoise, (margin, sums_log2): (f64, f64)) -> Bounds {
    Bounds {
        margin_bits: margin.min(machine.margin_bits(output) - sums_log2),
        error_log2: machine.noise.error_log2(&output.all) + sums_log2,
    }
}

fn real_slots(scheme: &Ckks, phase: &Poly<Coeff>, scale: f64) -> Result<Vec<f64>, CircuitError> {
    let slots = scheme.decode(phase, RealScale::new(scale))?;
    Ok(slots.iter().map(|slot| slot.re).collect())
}

/// The integer nearest to zero with these residues modulo primes.
pub(crate) fn joined(residues: &[i64], primes: &[u64]) -> BigInt {
    use num_integer::Integer;
    let mut value = BigInt::from(0);
    let mut modulus = BigInt::from(1);
    for (&residue, &prime) in residues.iter().zip(primes) {
        let prime = BigInt::from(prime);
        let inverse = modulus.extended_gcd(&prime).x;
        let digit = ((BigInt::from(residue) - &value) * inverse).mod_floor(&prime);
        value += digit * &modulus;
        modulus *= prime;
    }
    if &value * 2 > modulus { value - modulus } else { value }
}
