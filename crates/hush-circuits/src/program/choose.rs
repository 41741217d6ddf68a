// SPDX-License-Identifier: Apache-2.0
//! From an expression and ranges to a scheme, parameters and a circuit that is known to decrypt.

use hush_arith::prime::is_prime;
use hush_expr::{Aggregate, Circuit, ExprError, Expression, Input, Interval, Ratio, Step};
use hush_params::chain::{ChainRequest, ChosenChain, KeySwitching, Plaintexts};
use hush_params::noise::{FAILURE_LOG2, add_phase_log2, norm_failure_log2};
use hush_params::security::SecurityLevel;
use hush_params::{ChainError, ChainParams};
use hush_ring::Cpu;
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::Ckks;
use num_bigint::BigInt;

use super::cost::work;
use super::kind::SchemeKind;
use super::lane::{Bounds, Lane, joined};
use crate::CircuitError;

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
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// Approximate vectors where digits are encrypted.
    #[error("TFHE: a vector is approximate by its type, and digits are of exact numbers")]
    Approximate,
    /// No chain serves.
    #[error("{}: no parameters serve this expression: {source}", scheme.name())]
    Chain {
        /// The scheme.
        scheme: SchemeKind,
        /// Why.
        source: ChainError,
    },
    /// A step cannot be run.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The expression.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// Bounds of the noise of this circuit exceed what every chain tried holds.
    #[error("{}: the noise of this expression is {missing_bits:.0} bits beyond what the chain holds", scheme.name())]
    Noise {
        /// The scheme.
        scheme: SchemeKind,
        /// Bits.
        missing_bits: f64,
    },
    /// More precision than doubles and noise allow.
    #[error(
        "CKKS: a precision of {asked:.1e} was asked for, the best for results of this size is {least:.1e}"
    )]
    Precision {
        /// Asked for.
        asked: f64,
        /// The best there is.
        least: f64,
    },
    /// Coefficients that are too far apart.
    #[error("CKKS: coefficients or values differ by more than 52 bits")]
    Spread,
    /// Digits cannot be evaluated.
    #[error(transparent)]
    Tfhe(#[from] hush_tfhe::TfheError),
    /// An integer wider than encrypted digits hold, or what is compared with one.
    #[error(
        "an integer on the way, or a number beside it, may have {bits} bits: encrypted digits hold 64, and one of them is a sign where something is negative"
    )]
    WideInteger {
        /// Bits found.
        bits: u64,
    },
    /// A result wider than any plaintext space.
    #[error("the result may have {bits} bits, exact schemes are offered up to {max}")]
    Wide {
        /// Bits found.
        bits: u64,
        /// Bits that can be served.
        max: u64,
    },
}

impl ProgramError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Chain { .. } => "HUSH-X020",
            Self::Noise { .. } => "HUSH-X021",
            Self::Wide { .. } | Self::WideInteger { .. } => "HUSH-X022",
            Self::Precision { .. } => "HUSH-X023",
            Self::Spread => "HUSH-X024",
            Self::Approximate => "HUSH-X025",
            Self::Tfhe(source) => source.code(),
            Self::Circuit(_) => "HUSH-X029",
            Self::Expression(source) => source.code(),
        }
    }
}

/// A scheme with parameters, and a circuit with bounds that all hold in them.
#[derive(Debug)]
pub struct Plan {
    scheme: SchemeKind,
    circuit: Circuit,
    inputs: Vec<Input>,
    lanes: Vec<Lane>,
    bounds: Bounds,
    length: usize,
    error: Option<f64>,
    work: f64,
}

impl Plan {
    /// The plan of least predicted work among those that serve (see the cost model in docs/math/circuits.md).
    ///
    /// Vectors are in the order of [`Expression::names`]. Without a scheme: CKKS if a vector is approximate by its type; else BGV or
    /// BFV, or CKKS as well where a precision was given.
    ///
    /// # Cost
    /// Several searches for chains, up to a second each.
    ///
    /// # Errors
    /// A [`ProgramError`] if nothing serves; that of the first scheme that was tried.
    pub fn choose(
        expression: &Expression,
        vectors: &[Vector],
        demand: &Demand,
    ) -> Result<Self, ProgramError> {
        let is_float = vectors.iter().any(|vector| vector.is_float);
        let schemes = match (demand.scheme, is_float, demand.precision) {
            (Some(scheme), ..) => vec![scheme],
            (None, true, _) => vec![SchemeKind::Ckks],
            (None, false, None) => vec![SchemeKind::Bgv, SchemeKind::Bfv],
            (None, false, Some(_)) => vec![SchemeKind::Bgv, SchemeKind::Bfv, SchemeKind::Ckks],
        };
        let mut candidates = Vec::new();
        let mut refusal = None;
        for scheme in schemes {
            let found = match scheme {
                SchemeKind::Ckks => approximate(expression, vectors, demand),
                _ => exact(scheme, expression, vectors, demand),
            };
            match found {
                Ok(found) => candidates.extend(found),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        candidates.sort_by(|a, b| a.work.total_cmp(&b.work));
        for candidate in candidates {
            match candidate.finish(demand) {
                Ok(plan) => return Ok(plan),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        Err(refusal.unwrap_or(ProgramError::Expression(ExprError::Constant)))
    }

    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.scheme
    }
    /// The circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }
    /// The encrypted form of each vector.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    /// One for each plaintext prime; one in CKKS.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }
    /// Values in one ciphertext.
    pub fn slot_count(&self) -> usize {
        self.lanes.first().map_or(1, Lane::slot_count)
    }
    /// Ciphertexts that a vector takes in each lane.
    pub fn block_count(&self) -> usize {
        self.length.div_ceil(self.slot_count()).max(1)
    }
    /// Bits between the tightest bound of a step and what it must not exceed; at least 0.
    pub fn margin_bits(&self) -> f64 {
        self.bounds.margin_bits
    }
    /// What no result errs by, if results are approximate.
    pub fn error(&self) -> Option<f64> {
        self.error
    }
    /// Predicted butterflies of the whole run.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// log2 of the chance that any result is wrong, or further off than [`Plan::error`]: a bound for every step, block and lane.
    pub fn failure_log2(&self) -> f64 {
        let degree = self.lanes.first().map_or(1024, |lane| lane.chain().degree()) as f64;
        // The bound itself, and the three norms that it rests on.
        let one = add_phase_log2(FAILURE_LOG2 + 2.0, norm_failure_log2(degree));
        // A step may be watched undivided, divided and lowered.
        let bounds = 3 * self.circuit.steps().len() * self.block_count() * self.lanes.len();
        one + (bounds as f64).log2()
    }

    /// The integer with these residues, one for each lane, nearest to zero.
    pub fn join(&self, residues: &[i64]) -> BigInt {
        joined(residues, &self.lanes.iter().filter_map(Lane::modulus).collect::<Vec<_>>())
    }
}

/// A plan without tables.
struct Candidate {
    scheme: SchemeKind,
    circuit: Circuit,
    inputs: Vec<Input>,
    primes: Vec<u64>,
    request: ChainRequest,
    chosen: ChosenChain,
    /// log2 of the error that a slot may have; of no meaning in exact schemes.
    allowed_log2: f64,
    work: f64,
}

fn exact(
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
    let addends = circuit.aggregate().map_or(1, |_| demand.length.div_ceil(SMALLEST_RING));
    let magnitude = circuit.output_magnitude().numerator() * BigInt::from(addends);
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
            let sums_log2 = circuit.sums_log2().min((t as f64).log2());
            let request = request(&circuit, plaintexts, sums_log2, circuit.depth() <= 1);
            match ChainParams::choose(&request) {
                Ok(chosen) => {
                    let work = count as f64 * work(scheme, &circuit, chosen.params(), demand.length);
                    let (circuit, inputs) = (circuit.clone(), inputs.clone());
                    let allowed_log2 = f64::INFINITY;
                    candidates.push(Candidate {
                        scheme,
                        circuit,
                        inputs,
                        primes,
                        request,
                        chosen,
                        allowed_log2,
                        work,
                    });
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

fn approximate(
    expression: &Expression,
    vectors: &[Vector],
    demand: &Demand,
) -> Result<Vec<Candidate>, ProgramError> {
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
    let circuit = Circuit::build(expression, &inputs)?;
    let is_spread = circuit.steps().iter().any(|step| match step {
        Step::Linear { constant, terms } => {
            terms.iter().map(|(_, c)| c).chain([constant]).any(|c| c.bits() > 52)
        }
        _ => false,
    });
    if is_spread {
        return Err(ProgramError::Spread);
    }
    let asked = demand.precision.unwrap_or(DEFAULT_PRECISION);
    let least = rounding(&circuit, demand.length);
    if asked.is_nan() || asked <= 2.0 * least {
        return Err(ProgramError::Precision { asked, least: 2.0 * least });
    }
    let allowed_log2 = (asked - least).log2() - amplification_log2(&circuit, demand.length);
    let value_log2 = circuit.largest_magnitude().log2().max(0.0);
    // A rough guess of the bits that an encryption and its products lose; corrected when the circuit has run on bounds.
    let guess = 14.0 + 4.0 * f64::from(circuit.depth()) + value_log2 - allowed_log2;
    let scale_log2 = guess.clamp(SMALLEST_SCALE_LOG2, LARGEST_SCALE_LOG2);
    let plaintexts =
        Plaintexts::Approximate { scale_log2: Some(scale_log2), value_log2, error_log2: ANY_ERROR_LOG2 };
    // An addend of less depth is lifted by a division, which the only level of a chain without keys has not.
    let is_mixed = circuit.steps().iter().enumerate().any(|(place, step)| match step {
        Step::Linear { terms, .. } => {
            terms.iter().any(|&(term, _)| circuit.depth_of(term) < circuit.depth_of(place))
        }
        _ => false,
    });
    let request = request(&circuit, plaintexts, circuit.sums_log2(), circuit.depth() <= 1 && !is_mixed);
    let scheme = SchemeKind::Ckks;
    let found = at_scale(&request, scale_log2).or_else(|error| {
        // Less may do: the guess is a rough one.
        SMALLER_SCALES_LOG2.iter().find_map(|&smaller| at_scale(&request, smaller).ok()).ok_or(error)
    });
    let (request, chosen) = found.map_err(|source| ProgramError::Chain { scheme, source })?;
    let work = work(scheme, &circuit, chosen.params(), demand.length);
    Ok(vec![Candidate { scheme, circuit, inputs, primes: Vec::new(), request, chosen, allowed_log2, work }])
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
fn amplification_log2(circuit: &Circuit, length: usize) -> f64 {
    let elements = if circuit.aggregate() == Some(Aggregate::Sum) { length.max(1) as f64 } else { 1.0 };
    circuit.factor().log2() + elements.log2()
}

/// What encoding and decoding in doubles may add to a result.
fn rounding(circuit: &Circuit, length: usize) -> f64 {
    let largest_log2 = circuit.output_magnitude().log2().max(0.0);
    (largest_log2 + amplification_log2(circuit, length) - DOUBLE_BITS).exp2()
}

fn request(circuit: &Circuit, plaintexts: Plaintexts, sums_log2: f64, is_without_keys: bool) -> ChainRequest {
    ChainRequest {
        plaintexts,
        depth: circuit.depth(),
        slots: 1,
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
    fn finish(mut self, demand: &Demand) -> Result<Plan, ProgramError> {
        let scheme = self.scheme;
        let mut missing_bits = 0.0;
        for _ in 0..ATTEMPTS {
            let lanes = self.lanes()?;
            let slots = lanes.first().map_or(1, Lane::slot_count);
            let blocks = demand.length.div_ceil(slots).max(1) as f64;
            let sums_log2 = if self.circuit.aggregate().is_some() { blocks.log2() } else { 0.0 };
            let mut bounds = Bounds { margin_bits: f64::INFINITY, error_log2: f64::NEG_INFINITY };
            for lane in &lanes {
                let own = lane.bounds(&self.circuit, sums_log2)?;
                bounds.margin_bits = bounds.margin_bits.min(own.margin_bits);
                bounds.error_log2 = bounds.error_log2.max(own.error_log2 - sums_log2);
            }
            let reserve = if scheme == SchemeKind::Ckks { ENCODING_BITS } else { 0.0 };
            let (room, excess) = (bounds.margin_bits - reserve, bounds.error_log2 - self.allowed_log2);
            if room >= 0.0 && excess <= 0.0 {
                return Ok(self.plan(lanes, bounds, demand));
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

    fn plan(self, lanes: Vec<Lane>, bounds: Bounds, demand: &Demand) -> Plan {
        let amplified = bounds.error_log2 + amplification_log2(&self.circuit, demand.length);
        let error = (self.scheme == SchemeKind::Ckks)
            .then(|| amplified.exp2() + rounding(&self.circuit, demand.length));
        let count = lanes.len() as f64;
        let params = self.chosen.params();
        let work = count * work(self.scheme, &self.circuit, params, demand.length);
        let Self { scheme, circuit, inputs, .. } = self;
        Plan { scheme, circuit, inputs, lanes, bounds, length: demand.length, error, work }
    }
}

/// Of approximate results, unless another is asked for.
const DEFAULT_PRECISION: f64 = 1e-6;
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
const ENCODING_BITS: f64 = 1.0;
/// Bits to which an embedding in doubles is right.
const DOUBLE_BITS: f64 = 44.0;
