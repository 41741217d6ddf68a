// SPDX-License-Identifier: Apache-2.0
//! Candidates: circuits with chains that may hold them.

use hush_arith::prime::is_prime;
use hush_expr::{Aggregate, Circuit, Expression, Input, Interval, Ratio, Reading, RealCircuit, Step};
use hush_params::chain::{ChainRequest, ChosenChain, KeySwitching, Plaintexts};
use hush_params::security::SecurityLevel;
use hush_params::{ChainError, ChainParams};
use hush_ring::{Cpu, Level};
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::Ckks;
use num_bigint::BigInt;

use super::cost::work;
use super::error::ProgramError;
use super::kind::SchemeKind;
use super::lane::{Bounds, Lane};
use super::placed::{Body, PlacedCircuit};
use super::plan::Plan;
use crate::{CircuitError, bridge};

/// The known properties of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// Its values are whole multiples of this; not zero.
    pub unit: Ratio,
    /// Bounds of its values.
    pub range: Interval,
    /// Whether its values are approximate by their type.
    pub is_float: bool,
}

/// The demands on a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Values in each vector.
    pub length: usize,
    /// The scheme, if it is not to be chosen.
    pub scheme: Option<SchemeKind>,
    /// The largest absolute error of a result that is acceptable, for approximate schemes; a positive number.
    pub precision: Option<f64>,
    /// Whether results go on into digits ([`crate::bridge`]), for which they need more room.
    pub is_bridged: bool,
}

/// A circuit for a scheme, with the encrypted form of each vector.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) body: Body,
    pub(super) reading: Reading,
    pub(super) inputs: Vec<Input>,
}

/// A plan without tables.
pub(super) struct Candidate {
    scheme: SchemeKind,
    drawn: Drawn,
    primes: Vec<u64>,
    request: ChainRequest,
    chosen: ChosenChain,
    /// log2 of the error that a slot may have; of no meaning in exact schemes.
    allowed_log2: f64,
    pub(super) work: f64,
}

pub(super) fn exact(
    scheme: SchemeKind,
    expression: &Expression,
    vectors: &[Vector],
    demand: &Demand,
) -> Result<Vec<Candidate>, ProgramError> {
    let input = |vector: &Vector| {
        let inverse = vector.unit.recip().unwrap_or_else(Ratio::one);
        Input { unit: vector.unit.clone(), range: vector.range.scaled(&inverse) }
    };
    let inputs: Vec<Input> = vectors.iter().map(input).collect();
    let circuit = Circuit::build(expression, &inputs)?;
    // Slots are added up by the owner, or by the way into digits.
    let at_once = if demand.is_bridged { 1 } else { SMALLEST_RING };
    let addends = circuit.aggregate().map_or(1, |_| demand.length.div_ceil(at_once));
    let magnitude = circuit.output_magnitude().numerator() * BigInt::from(addends);
    let magnitude = if demand.is_bridged { magnitude << bridge::ROOM_BITS } else { magnitude };
    let drawn = Drawn { reading: circuit.reading().clone(), inputs, body: Body::Exact(circuit) };
    let least: BigInt = magnitude * 2 + 1;
    let bits = least.bits();
    let least_log2 = Ratio::from(least.clone()).log2();
    let fewest = (least_log2 / LARGEST_PRIME_LOG2).ceil().max(1.0) as usize;
    if fewest > MAX_PARTS {
        return Err(ProgramError::Wide { bits, max: MAX_PARTS as u64 * LARGEST_PRIME_LOG2 as u64 });
    }
    let mut counts = vec![fewest, fewest + 1, 2 * fewest];
    counts.dedup();
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut refusal = None;
    for count in counts.into_iter().filter(|&count| count == fewest || least_log2 / count as f64 >= 16.0) {
        for order_log2 in [SMALL_ORDER_LOG2, LARGE_ORDER_LOG2] {
            let Some(primes) = plaintext_primes(&least, count, order_log2) else { continue };
            let t = primes.iter().copied().max().unwrap_or(2);
            let plaintexts = match scheme {
                SchemeKind::Bfv => Plaintexts::ExactScaled { t },
                _ => Plaintexts::Exact { t },
            };
            let body = &drawn.body;
            let sums_log2 = body.sums_log2().min((t as f64).log2());
            let request = request(body, plaintexts, sums_log2, body.level_depth() <= 1);
            match ChainParams::choose(&request) {
                Ok(chosen) => {
                    let work = count as f64 * work(scheme, body, chosen.params(), demand.length);
                    let drawn = drawn.clone();
                    let allowed_log2 = f64::INFINITY;
                    candidates.push(Candidate { scheme, drawn, primes, request, chosen, allowed_log2, work });
                    break;
                }
                Err(source) => refusal = refusal.or(Some(ProgramError::Chain { scheme, source })),
            }
        }
    }
    match refusal {
        Some(error) if candidates.is_empty() => Err(error),
        _ => Ok(candidates),
    }
}

/// The circuits of an approximate scheme, at least one: first the one with whole coefficients, which keeps every level for products, as long as they are small; then the one with
/// real coefficients, whose values stay about 1 however deep it is.
///
/// # Errors
/// [`ProgramError::Expression`]; [`ProgramError::Spread`].
pub(super) fn drawn(
    expression: &Expression,
    vectors: &[Vector],
    length: usize,
) -> Result<Vec<Drawn>, ProgramError> {
    // Values of about 1, by powers of two.
    let input = |vector: &Vector| {
        let magnitude = vector.range.magnitude();
        let shift = if magnitude.is_zero() { 0 } else { magnitude.magnitude_bits() + 1 };
        Input {
            unit: Ratio::one().times_power_of_two(shift),
            range: vector.range.scaled(&Ratio::one().times_power_of_two(-shift)),
        }
    };
    let inputs: Vec<Input> = vectors.iter().map(input).collect();
    let is_spread = |circuit: &Circuit| {
        circuit.steps().iter().any(|step| match step {
            Step::Linear { constant, terms } => {
                terms.iter().map(|(_, c)| c).chain([constant]).any(|c| c.bits() > 52)
            }
            _ => false,
        })
    };
    let of = |body: Body, reading: &Reading| Drawn { body, reading: reading.clone(), inputs: inputs.clone() };
    let (mut all, mut refusal) = (Vec::new(), None);
    if !expression.has_repetitions() {
        match Circuit::build(expression, &inputs) {
            Ok(circuit) if is_spread(&circuit) => refusal = Some(ProgramError::Spread),
            Ok(circuit) => all.push(of(Body::of_whole(&circuit), circuit.reading())),
            Err(error) => refusal = Some(error.into()),
        }
    }
    match RealCircuit::build(expression, &inputs, length) {
        Ok(circuit) => {
            let body = Body::of_real(&circuit);
            if body.summed() > LARGEST_SUM {
                return Err(ProgramError::Long { found: length, max: LARGEST_SUM });
            }
            all.push(of(body, circuit.reading()));
        }
        Err(error) => refusal = refusal.or(Some(error.into())),
    }
    match refusal {
        Some(refusal) if all.is_empty() => Err(refusal),
        _ => Ok(all),
    }
}

/// log2 of the error that a slot may have.
///
/// # Errors
/// [`ProgramError::Precision`] for less than doubles allow.
pub(super) fn allowed_log2(drawn: &Drawn, demand: &Demand) -> Result<f64, ProgramError> {
    let asked = demand.precision.unwrap_or(DEFAULT_PRECISION);
    let least = rounding(drawn, demand.length);
    if asked.is_nan() || asked <= 2.0 * least {
        return Err(ProgramError::Precision { asked, least: 2.0 * least });
    }
    Ok((asked - least).log2() - amplification_log2(drawn, demand.length))
}

/// Without bootstrapping.
pub(super) fn approximate(drawn: &Drawn, demand: &Demand) -> Result<Candidate, ProgramError> {
    let (body, allowed_log2) = (&drawn.body, allowed_log2(drawn, demand)?);
    let (depth, value_log2) = (body.level_depth(), body.largest_log2().max(0.0));
    // A rough guess of the bits that an encryption and its products lose; corrected when the circuit has run on bounds. Values that are kept small lose few.
    let of_level = if body.keeps_small() { 0.25 } else { 4.0 };
    let guess = 14.0 + of_level * f64::from(depth) + value_log2 - allowed_log2;
    let scale_log2 = guess.clamp(SMALLEST_SCALE_LOG2, LARGEST_SCALE_LOG2);
    let plaintexts =
        Plaintexts::Approximate { scale_log2: Some(scale_log2), value_log2, error_log2: ANY_ERROR_LOG2 };
    // An addend of less depth is lifted by a division, which the only level of a chain without keys has not.
    // Turns divide what they end with, and sums of elements rotate.
    let needs_no_keys = depth <= 1 && !body.is_mixed() && body.summed() == 1 && !body.has_turns();
    let request = request(body, plaintexts, body.sums_log2(), needs_no_keys);
    let scheme = SchemeKind::Ckks;
    let found = at_scale(&request, scale_log2).or_else(|error| {
        // Less may do: the guess is a rough one.
        SMALLER_SCALES_LOG2.iter().find_map(|&smaller| at_scale(&request, smaller).ok()).ok_or(error)
    });
    let (request, chosen) = found.map_err(|source| ProgramError::Chain { scheme, source })?;
    let work = work(scheme, body, chosen.params(), demand.length);
    Ok(Candidate { scheme, drawn: drawn.clone(), primes: Vec::new(), request, chosen, allowed_log2, work })
}

/// The chain of an approximate request at a scale, or at a larger one where levels of that size do not suit the primes there are.
fn at_scale(request: &ChainRequest, scale_log2: f64) -> Result<(ChainRequest, ChosenChain), ChainError> {
    let Plaintexts::Approximate { value_log2, error_log2, .. } = request.plaintexts else {
        return ChainParams::choose(request).map(|chosen| (*request, chosen));
    };
    let choose = |scale_log2: f64| {
        let plaintexts = Plaintexts::Approximate { scale_log2: Some(scale_log2), value_log2, error_log2 };
        let request = ChainRequest { plaintexts, ..*request };
        ChainParams::choose(&request).map(|chosen| (request, chosen))
    };
    let scale_log2 = scale_log2.min(LARGEST_SCALE_LOG2);
    choose(scale_log2).or_else(|error| {
        let larger = LARGER_SCALES_LOG2.iter().filter(|&&larger| larger > scale_log2);
        larger.into_iter().find_map(|&larger| choose(larger).ok()).ok_or(error)
    })
}

/// log2 of what the error of a slot is multiplied by in the result.
pub(super) fn amplification_log2(drawn: &Drawn, length: usize) -> f64 {
    let is_sum = drawn.reading.aggregate == Some(Aggregate::Sum);
    let elements = if is_sum { length.max(1) as f64 } else { 1.0 };
    drawn.reading.factor.log2() + elements.log2()
}

/// What encoding and decoding in doubles may add to a result.
pub(super) fn rounding(drawn: &Drawn, length: usize) -> f64 {
    let largest_log2 = drawn.body.output_log2().max(0.0);
    (largest_log2 + amplification_log2(drawn, length) - DOUBLE_BITS).exp2()
}

fn request(body: &Body, plaintexts: Plaintexts, sums_log2: f64, is_without_keys: bool) -> ChainRequest {
    ChainRequest {
        plaintexts,
        depth: body.level_depth(),
        slots: body.summed().next_power_of_two(),
        sums_log2,
        key_switching: if is_without_keys { KeySwitching::Never } else { KeySwitching::Used },
        security: SecurityLevel::Bits128,
    }
}

/// The smallest primes `1 mod 2^order_log2` of about one size with a product of at least `least`.
fn plaintext_primes(least: &BigInt, count: usize, order_log2: u32) -> Option<Vec<u64>> {
    let order = 1_u64 << order_log2;
    let size = (Ratio::from(least.clone()).log2() / count as f64).min(LARGEST_PRIME_LOG2).exp2() as u64;
    let mut primes: Vec<u64> = Vec::new();
    let mut candidate = (size / order + 1).max(1) * order + 1;
    while primes.len() < count {
        if candidate > hush_arith::MAX_MODULUS {
            return None;
        }
        if is_prime(candidate) {
            primes.push(candidate);
        }
        candidate += order;
    }
    let product = primes.iter().fold(BigInt::from(1), |product, &prime| product * prime);
    (product >= *least).then_some(primes)
}

impl Candidate {
    /// Builds the tables and runs the circuit on bounds; with a larger chain where they do not hold.
    pub(super) fn finish(mut self, demand: &Demand) -> Result<Plan, ProgramError> {
        let scheme = self.scheme;
        let mut missing_bits = 0.0;
        for _ in 0..ATTEMPTS {
            let lanes = self.lanes()?;
            let slots = lanes.first().map_or(1, Lane::slot_count);
            let blocks = demand.length.div_ceil(slots).max(1) as f64;
            let sums_log2 = if self.drawn.reading.aggregate.is_some() { blocks.log2() } else { 0.0 };
            let circuit = self.placed(&lanes);
            let mut bounds = Bounds { margin_bits: f64::INFINITY, error_log2: f64::NEG_INFINITY };
            for lane in &lanes {
                let own = lane.bounds(&circuit, sums_log2)?;
                bounds.margin_bits = bounds.margin_bits.min(own.margin_bits);
                bounds.error_log2 = bounds.error_log2.max(own.error_log2 - sums_log2);
            }
            let reserve = match scheme {
                SchemeKind::Ckks => ENCODING_BITS,
                _ if demand.is_bridged => bridge::reserve_bits(self.chosen.params().degree()),
                _ => 0.0,
            };
            let (room, excess) = (bounds.margin_bits - reserve, bounds.error_log2 - self.allowed_log2);
            if room >= 0.0 && excess <= 0.0 {
                return Ok(self.plan((circuit, lanes), bounds, demand));
            }
            missing_bits = (-room).max(excess);
            let more = (-room).max(0.0) + ROOM_BITS;
            match self.request.plaintexts {
                Plaintexts::Approximate { scale_log2: Some(scale), value_log2, error_log2 } => {
                    let scale = scale + if excess > 0.0 { excess + ROOM_BITS } else { 0.0 };
                    let value_log2 = value_log2 + if room < 0.0 { more } else { 0.0 };
                    let plaintexts =
                        Plaintexts::Approximate { scale_log2: Some(scale), value_log2, error_log2 };
                    let found = at_scale(&ChainRequest { plaintexts, ..self.request }, scale);
                    (self.request, self.chosen) =
                        found.map_err(|source| ProgramError::Chain { scheme, source })?;
                }
                _ => {
                    self.request.sums_log2 += more;
                    let chosen = ChainParams::choose(&self.request);
                    self.chosen = chosen.map_err(|source| ProgramError::Chain { scheme, source })?;
                }
            }
        }
        Err(ProgramError::Noise { scheme, missing_bits })
    }

    fn lanes(&self) -> Result<Vec<Lane>, ProgramError> {
        let cpu = Cpu::detect().map_err(|error| CircuitError::from(hush_ring::RingError::from(error)))?;
        let params = self.chosen.params();
        let failed = |error| ProgramError::Circuit(CircuitError::Scheme(error));
        if let Some(scale_log2) = self.chosen.scale_log2() {
            return Ok(vec![Lane::Ckks(Box::new(Ckks::new(params, scale_log2, cpu).map_err(failed)?))]);
        }
        let lane = |&t: &u64| match self.scheme {
            SchemeKind::Bfv => Ok(Lane::Bfv(Box::new(Bfv::new(params, t, cpu).map_err(failed)?))),
            _ => Ok(Lane::Bgv(Box::new(Bgv::new(params, t, cpu).map_err(failed)?))),
        };
        self.primes.iter().map(lane).collect()
    }

    fn placed(&self, lanes: &[Lane]) -> PlacedCircuit {
        let Drawn { body, reading, .. } = &self.drawn;
        let depth = body.level_depth();
        let top = lanes.first().map_or(Level(depth as u8), |lane| lane.top_for(depth));
        PlacedCircuit::new(body.clone(), body.straight(top), reading.clone())
    }

    fn plan(self, (circuit, lanes): (PlacedCircuit, Vec<Lane>), bounds: Bounds, demand: &Demand) -> Plan {
        let (scheme, params) = (self.scheme, self.chosen.params());
        let error = (scheme == SchemeKind::Ckks).then(|| result_error(&self.drawn, &bounds, demand.length));
        let work = lanes.len() as f64 * work(scheme, &self.drawn.body, params, demand.length);
        let inputs = self.drawn.inputs;
        Plan { scheme, circuit, inputs, lanes, bounds, length: demand.length, error, work, set: None }
    }
}

/// What no result errs by.
pub(super) fn result_error(drawn: &Drawn, bounds: &Bounds, length: usize) -> f64 {
    (bounds.error_log2 + amplification_log2(drawn, length)).exp2() + rounding(drawn, length)
}

/// Elements that are summed inside an expression: the slots of the largest ring.
const LARGEST_SUM: usize = 1 << 15;
/// Of approximate results, unless another is asked for.
pub(super) const DEFAULT_PRECISION: f64 = 1e-6;
/// The smallest ring, for the largest number of ciphertexts that may be summed.
const SMALLEST_RING: usize = 1024;
/// log2 of the largest plaintext prime.
const LARGEST_PRIME_LOG2: f64 = 46.9;
/// Plaintext primes of one plan.
const MAX_PARTS: usize = 16;
/// Slots for rings up to 32768, and up to 65536.
const SMALL_ORDER_LOG2: u32 = 16;
const LARGE_ORDER_LOG2: u32 = 17;
/// Chains that are tried for one scheme.
const ATTEMPTS: usize = 6;
/// An error that refuses nothing: the circuit itself is checked.
const ANY_ERROR_LOG2: f64 = 200.0;
/// Beyond what was missing, so that the next chain is not short of a fraction of a bit.
const ROOM_BITS: f64 = 1.0;
/// Levels of one prime, then of two.
const LARGER_SCALES_LOG2: [f64; 4] = [46.0, 60.0, 75.0, 90.0];
const SMALLER_SCALES_LOG2: [f64; 3] = [46.0, 40.0, 32.0];
const SMALLEST_SCALE_LOG2: f64 = 25.0;
const LARGEST_SCALE_LOG2: f64 = 90.0;
/// Encoding asks for values below a quarter of the modulus.
pub(super) const ENCODING_BITS: f64 = 1.0;
/// Bits to which an embedding in doubles is right.
const DOUBLE_BITS: f64 = 44.0;
