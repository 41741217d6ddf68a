// SPDX-License-Identifier: Apache-2.0
//! From slots to encrypted digits: results of exact circuits become integers of TFHE, which are compared and chosen.
//!
//! # Math
//! A circuit's result m is known modulo plaintext primes `t_i` with the product T, and lies within bounds. With `M = m − low` below `2^w`, bit j of it is the sign of the **phase** `M/2^(j + 1)` modulo 1, once lower bits
//! are taken away ([`hush_tfhe::ServerKey::digits_of`]). A phase comes from ciphertexts of BFV, which hold `m/t_i` modulo 1:
//!
//! ```text
//!   c_j = round(T/2^(j+1))        m·c_j/T = Σ_i m·k_ij/t_i  modulo 1,    k_ij = c_j·(T/t_i)⁻¹ mod t_i
//! ```
//!
//! A number in a slot, or a sum of slots, is the coefficient at place 0 of a product with a clear polynomial: that with `N·k_ij` in these slots and 0 in the others. So nothing is rotated. The product goes to the prime of TFHE, rounded,
//! and under its secret ([`hush_tfhe::BridgeKey`]).
//!
//! *Bounds.* The error of a phase is `N/2·2^-margin/2` for each prime, of what the circuit leaves ([`reserve_bits`] keeps it below `2^-12`); what the way adds ([`hush_params::tfhe::TfheSet::bridge_error`]); and `2^w/(2·T)` for the rounding of `c_j`, below
//! `2^-6` because T has [`ROOM_BITS`] more than results need. A bit is wrong from an eighth on.
//!
//! *Secrets.* None.

use std::ops::Range;

use hush_params::tfhe::INTEGERS;
use hush_ring::BasisSwitch;
use hush_rlwe::{PhaseMeaning, RlweCiphertext};
use hush_tfhe::{BridgeKey, Lwe};
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::One;
use rayon::prelude::*;

use crate::CircuitError;
use crate::program::{Lane, Plan, ProgramError};

/// Bits of plaintext primes beyond those of results.
pub const ROOM_BITS: u32 = 6;

/// Bits that the noise of results must stay below what decrypts, in a ring of this degree.
pub fn reserve_bits(degree: usize) -> f64 {
    (degree as f64).log2() + 10.0
}

/// The way of a plan's results into digits.
#[derive(Debug)]
pub struct Bridge {
    plan: Plan,
    low: BigInt,
    most: BigInt,
    bits: u32,
    /// The plaintext primes, and their product.
    primes: Vec<u64>,
    product: BigInt,
}

/// What a lane's circuit gives for a block, or for the sum of several.
pub type Output = (RlweCiphertext, PhaseMeaning);

impl Bridge {
    /// The way for a plan that was made for it.
    ///
    /// # Errors
    /// [`ProgramError::WideInteger`] for results of more than 64 bits; [`CircuitError::Shape`] for a plan of an approximate scheme.
    pub fn new(plan: Plan) -> Result<Self, ProgramError> {
        let (low, high) = plan.output_bounds().ok_or(CircuitError::Shape)?;
        let most = high - &low;
        let bits = most.bits().max(1);
        if bits > MAX_BITS {
            return Err(ProgramError::WideInteger { bits });
        }
        let primes: Vec<u64> = plan.lanes().iter().filter_map(Lane::modulus).collect();
        let product = primes.iter().fold(BigInt::one(), |product, prime| product * prime);
        Ok(Self { plan, low, most, bits: bits as u32, primes, product })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// What is taken away from results, so that none is below 0.
    pub fn low(&self) -> &BigInt {
        &self.low
    }
    /// The largest that is left.
    pub fn most(&self) -> &BigInt {
        &self.most
    }
    /// Bits of what is left.
    pub fn bits(&self) -> u32 {
        self.bits
    }
    /// Whether there is one result for all elements.
    pub fn is_one_value(&self) -> bool {
        self.plan.circuit().aggregate().is_some()
    }
    /// Powers of a lane's secret that its results have.
    pub fn powers(&self, lane: &Lane) -> u32 {
        u32::from(lane.answer_id(self.plan.circuit()).components) - 1
    }

    /// A bound on the errors of phases, in relation to the modulus.
    pub fn error(&self) -> f64 {
        let of_lane = |lane: &Lane| {
            let degree = lane.chain().degree();
            let left = degree as f64 * (-2.0 - reserve_bits(degree)).exp2();
            left + INTEGERS.bridge_error(degree, self.powers(lane))
        };
        let rounded =
            (f64::from(self.bits) - 1.0 - hush_expr::Ratio::from(self.product.clone()).log2()).exp2();
        self.plan.lanes().iter().map(of_lane).sum::<f64>() + rounded
    }

    /// log2 of the chance that a bit of one result is wrong.
    pub fn failure_log2(&self) -> f64 {
        INTEGERS.bit_failure_of_phase_log2(self.error()) + f64::from(self.bits).log2()
    }

    /// The phases of results, the lowest bit's first: of the elements in a range, or of the one result. `outputs` are what [`Lane::outputs`] gave, and `keys` those from the lanes' secrets, lane by lane.
    ///
    /// # Cost
    /// For each phase and lane about `6·L + 10` transforms, with L primes: a twentieth of the bootstrapping of its bit.
    ///
    /// # Errors
    /// [`ProgramError::Circuit`] for other lanes than the plan's; [`ProgramError::Tfhe`] for other keys.
    pub fn phases(
        &self,
        elements: Range<usize>,
        outputs: &[Vec<Output>],
        keys: &[BridgeKey],
    ) -> Result<Vec<Vec<Lwe>>, ProgramError> {
        let lanes = self.plan.lanes();
        if outputs.len() != lanes.len() || keys.len() != lanes.len() {
            return Err(CircuitError::Shape.into());
        }
        let numbers: Vec<Vec<(usize, Range<usize>)>> = match self.is_one_value() {
            true => vec![self.all_slots(outputs.first().map_or(0, Vec::len))],
            false => elements.map(|element| vec![self.slot(element)]).collect(),
        };
        let factors: Vec<BigInt> = (0..self.bits).map(|place| self.factor(place)).collect();
        let of_result = |slots: &Vec<(usize, Range<usize>)>| self.phases_of(slots, &factors, outputs, keys);
        numbers.par_iter().map(of_result).collect()
    }

    /// The phases of one result: a slot, or a sum of slots.
    fn phases_of(
        &self,
        slots: &[(usize, Range<usize>)],
        factors: &[BigInt],
        outputs: &[Vec<Output>],
        keys: &[BridgeKey],
    ) -> Result<Vec<Lwe>, ProgramError> {
        let mut phases: Vec<Lwe> = factors.iter().filter_map(|factor| self.constant(factor, keys)).collect();
        let lanes = self.plan.lanes().iter().zip(outputs).zip(keys.iter().zip(&self.primes));
        for ((lane, outputs), (key, &prime)) in lanes {
            let share = self.share(prime);
            for (answer, slots) in slots {
                let output = outputs.get(*answer).ok_or(CircuitError::Shape)?;
                let switch =
                    BasisSwitch::new(output.0.ring(), key.source(), 1).map_err(CircuitError::from)?;
                for (phase, factor) in phases.iter_mut().zip(factors) {
                    let weight = (factor * &share).mod_floor(&prime.into());
                    let found = coefficient(lane, output, (slots, &weight), (&switch, key))?;
                    phase.add_scaled(&found, 1)?;
                }
            }
        }
        Ok(phases)
    }

    /// Where an element's result is: the answer of its block, and its slot.
    fn slot(&self, element: usize) -> (usize, Range<usize>) {
        let (block, slot) = (element / self.plan.slot_count(), element % self.plan.slot_count());
        (block, slot..slot + 1)
    }

    /// All slots that are added up: of the last answer as many as the last block has.
    fn all_slots(&self, answers: usize) -> Vec<(usize, Range<usize>)> {
        let slots = self.plan.slot_count();
        let last = self.plan.length() - (self.plan.block_count() - 1) * slots;
        (0..answers).map(|answer| (answer, 0..if answer + 1 == answers { last } else { slots })).collect()
    }

    /// `round(T/2^(place + 1))`.
    fn factor(&self, place: u32) -> BigInt {
        ((&self.product >> place) + 1_u32) >> 1
    }

    /// `(T/t)⁻¹` modulo t.
    fn share(&self, prime: u64) -> BigInt {
        let prime = BigInt::from(prime);
        (&self.product / &prime).extended_gcd(&prime).x
    }

    /// Minus the lowest result, as a phase.
    fn constant(&self, factor: &BigInt, keys: &[BridgeKey]) -> Option<Lwe> {
        let context = keys.first()?.context();
        let turned = (-&self.low * factor).mod_floor(&self.product);
        let residue = turned * context.modulus().value() / &self.product;
        Some(Lwe::constant(context, u64::try_from(residue).unwrap_or(0)))
    }
}

/// The sum of some slots of a ciphertext times `weight/t`, as a ciphertext of one number.
fn coefficient(
    lane: &Lane,
    output: &Output,
    (slots, weight): (&Range<usize>, &BigInt),
    (switch, key): (&BasisSwitch, &BridgeKey),
) -> Result<Lwe, ProgramError> {
    let prime = lane.modulus().ok_or(CircuitError::Shape)?;
    let degree = BigInt::from(lane.chain().degree());
    let weight = (weight * degree).mod_floor(&prime.into());
    // Values are reduced where they are encoded.
    let weight = i64::try_from(weight).unwrap_or(0);
    let mut weights = vec![0; slots.end];
    weights[slots.clone()].fill(weight);
    let product = match (lane, output) {
        (Lane::Bfv(scheme), (output, _)) => scheme.mul_plain(output, &weights),
        (Lane::Bgv(scheme), (output, PhaseMeaning::Factor(factor))) => {
            let ciphertext = scheme.ciphertext_at(output.clone(), *factor).map_err(CircuitError::from)?;
            scheme.mul_plain_to_bfv(&ciphertext, &weights)
        }
        _ => return Err(CircuitError::Shape.into()),
    };
    let product = product.map_err(CircuitError::from)?;
    let switched =
        |component| Ok::<_, ProgramError>(switch.apply(component).map_err(CircuitError::from)?.into_coeff());
    let components = product.components().iter().map(switched).collect::<Result<Vec<_>, _>>()?;
    let words: Vec<&[u64]> = components.iter().map(|component| component.words()).collect();
    Ok(key.first_coefficient(&words)?)
}

/// Bits of the widest integers of programs on digits.
const MAX_BITS: u64 = 64;

#[cfg(test)]
mod tests;
