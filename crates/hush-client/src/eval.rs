// SPDX-License-Identifier: Apache-2.0
//! Expressions on encrypted vectors: a rehearsal in one process, with temporary keys. The server's half takes and gives bytes, and
//! has no secret.
//!
//! ```text
//!   vectors ─ ranges ─▶ plan (scheme, parameters, circuit) ─▶ keys, encrypt ─▶ Lane::serve ─▶ decrypt, join, factor ─▶ result
//! ```

mod blocks;
mod division;
mod error;
mod gates;
mod slots;
mod vectors;

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal256Array, Float64Array, Int64Array, StringArray};
use arrow::datatypes::i256;
use arrow::record_batch::RecordBatch;
pub use hush_circuits::program::SchemeKind;
use hush_circuits::program::{Demand, Lane, Plan, Slots};
use hush_expr::{Expression, Ratio};
use hush_keys::{ChainSecret, harden_process};
use hush_plan::report::Leakage;
use hush_remote::Progress;
use hush_rlwe::{UncheckedLeveledSet, encode_seeded};
use num_traits::ToPrimitive;

use crate::account::{Moved, Phases, Verified};
use crate::error::ClientError;
use crate::threads::thread_pool;
pub use error::EvalError;
use hush_system::memory::{available_bytes, peak_resident_bytes};
use vectors::{Column, read_columns};
pub use vectors::{Numbers, VectorSource};

/// An expression with its inputs and options.
#[derive(Clone)]
pub struct EvalOptions {
    /// The expression, such as `y*(x+z)`, `sum(x*y)` or `mean(x^2)`.
    pub expression: String,
    /// Vectors by name.
    pub vectors: Vec<(String, VectorSource)>,
    /// A CSV or Parquet file with columns for the names that [`EvalOptions::vectors`] lacks.
    pub data: Option<PathBuf>,
    /// The scheme; the cheapest that serves if there is none.
    pub scheme: Option<EvalScheme>,
    /// The largest absolute error of an approximate result; 1e-6 if there is none.
    pub precision: Option<f64>,
    /// Evaluate in the clear as well, in exact fractions, and compare.
    pub verify: bool,
    /// Threads.
    pub threads: usize,
}

/// A scheme of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalScheme {
    /// Vectors in slots: sums and products.
    Slots(SchemeKind),
    /// Numbers in digits: comparisons and choices as well.
    Tfhe,
}

/// A result with its account.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// One column, `result`: integers, exact decimals, or doubles; text where no type of Arrow holds an exact value.
    pub batch: RecordBatch,
    /// Its cost, and the view of a server.
    pub account: EvalAccount,
}

/// The report of an evaluation, for a person.
#[derive(Clone, Debug)]
pub struct EvalAccount {
    /// The expression, as it was understood.
    pub expression: String,
    /// Names of the encrypted vectors.
    pub encrypted: Vec<String>,
    /// Values in each.
    pub length: usize,
    /// `BGV`, `BFV`, `CKKS` or `TFHE`.
    pub scheme: &'static str,
    /// Ring degree `N`.
    pub degree: usize,
    /// log2 of the largest ciphertext modulus.
    pub log_q: f64,
    /// log2 of the special primes; 0 without key switching.
    pub log_p: f64,
    /// Labelled security in bits.
    pub security_bits: u32,
    /// Plaintext primes; none in CKKS.
    pub plaintext_primes: Vec<u64>,
    /// The multiplicative depth; in TFHE batches of bootstrappings, one after another.
    pub depth: u32,
    /// Products; none in TFHE.
    pub products: usize,
    /// Integers in digits, in TFHE.
    pub integers: Option<IntegerAccount>,
    /// Pieces that are computed in slots before they come into digits, in TFHE.
    pub pieces: Vec<PieceAccount>,
    /// Sums over elements that stay in digits on the server, in TFHE.
    pub sums: Vec<SumAccount>,
    /// Bootstrappings of slots, if there are any.
    pub bootstraps: Option<BootstrapAccount>,
    /// Bits between a bound and its limit, in the tightest step; in TFHE between the chance of a wrong digit and 2^-128.
    pub margin_bits: f64,
    /// log2 of the chance that a result is wrong.
    pub failure_log2: f64,
    /// Bound on the error of every result; `None` if results are exact.
    pub error: Option<f64>,
    /// Whether exact results are printed rounded, because their decimals do not end.
    pub is_rounded: bool,
    /// Bytes of the evaluation keys.
    pub key_bytes: u64,
    /// Fresh ciphertexts.
    pub ciphertexts: usize,
    /// Bytes up, keys included, and down.
    pub moved: Moved,
    /// Time.
    pub phases: Phases,
    /// Peak resident bytes of this process, where the system tells.
    pub peak_bytes: Option<u64>,
    /// The comparison, if the result was verified.
    pub verified: Option<Verified>,
    /// Facts that a server would have learned.
    pub leakage: Leakage,
}

/// Integers in encrypted digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerAccount {
    /// Bits of each.
    pub bits: u32,
    /// Whether they may be negative.
    pub is_signed: bool,
    /// Bootstrappings.
    pub bootstraps: u64,
    /// The parameter set.
    pub set: &'static str,
}

/// A piece of an expression that is computed in slots, whose results come into encrypted digits.
#[derive(Clone, Debug, PartialEq)]
pub struct PieceAccount {
    /// The piece, as it was understood.
    pub expression: String,
    /// `BGV` or `BFV`.
    pub scheme: &'static str,
    /// Ring degree `N`.
    pub degree: usize,
    /// log2 of the largest ciphertext modulus.
    pub log_q: f64,
    /// Labelled security in bits.
    pub security_bits: u32,
    /// Plaintext primes.
    pub plaintext_primes: Vec<u64>,
    /// Products one after the other.
    pub depth: u32,
    /// Results that come into digits.
    pub results: usize,
    /// Bits of each.
    pub bits: u32,
}

/// A sum over elements of what is compared or chosen, that another part of the expression reads.
#[derive(Clone, Debug, PartialEq)]
pub struct SumAccount {
    /// It, as it was understood.
    pub expression: String,
    /// Bits of it.
    pub bits: u32,
    /// Bootstrappings of it, which are counted in [`IntegerAccount::bootstraps`] too.
    pub bootstraps: u64,
}

/// Bootstrappings of ciphertexts in CKKS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapAccount {
    /// The parameter set.
    pub set: &'static str,
    /// Levels one after the other that the program takes.
    pub needed: u32,
    /// Levels that a bootstrapping gives.
    pub levels: u32,
    /// Bootstrappings of one block of the vectors, in their order.
    pub placed: Vec<PlacedBootstrap>,
    /// Blocks that the vectors are cut into.
    pub blocks: usize,
    /// Bootstrappings of each value, one after the other: 2 where what the first one errs by is bootstrapped too.
    pub passes: u32,
}

/// A bootstrapping in a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedBootstrap {
    /// Values that are bootstrapped as one: 1 or 2.
    pub values: usize,
    /// The last turn that has begun, counted from 1 over all repetitions; 0 before the first.
    pub turn: usize,
}

impl BootstrapAccount {
    /// Bootstrappings in all.
    pub fn count(&self) -> usize {
        self.placed.len() * self.blocks * self.passes as usize
    }
}

/// Evaluates an expression on encrypted vectors; see [`EvalOptions`]. Of programs on digits `progress` counts the elements.
///
/// # Errors
/// [`ClientError::Eval`] for an expression, vectors or a precision that cannot be served, before anything is encrypted;
/// [`ClientError::Source`] for a file; [`ClientError::Unequal`] if verification finds a difference.
pub fn evaluate_expression(
    options: &EvalOptions,
    progress: &dyn Progress,
) -> Result<Evaluation, ClientError> {
    harden_process();
    let pool = thread_pool(options.threads)?;
    let mut phases = Phases::default();
    let expression = Expression::parse(&options.expression).map_err(EvalError::from)?;
    let columns = phases.time("read", || read_columns(&expression, options))?;
    let length = columns.first().map_or(0, |column| column.values.len());
    if options.precision.is_some_and(|precision| !(precision.is_finite() && precision > 0.0)) {
        return Err(EvalError::BadPrecision.into());
    }
    let vectors: Vec<_> = columns.iter().map(Column::vector).collect();
    let scheme = match options.scheme {
        Some(EvalScheme::Tfhe) => {
            return gates::evaluate(&expression, &columns, (options, progress), (phases, &pool));
        }
        None if expression.needs_gates() || is_exact_inside(&expression, &columns, options) => {
            return gates::evaluate(&expression, &columns, (options, progress), (phases, &pool));
        }
        Some(EvalScheme::Slots(scheme)) => Some(scheme),
        None => None,
    };
    let demand = Demand { length, scheme, precision: options.precision, is_bridged: false };
    let plan = phases
        .time("plan", || pool.install(|| Plan::choose(&expression, &vectors, &demand)))
        .map_err(EvalError::from)?;
    refuse_what_is_too_long(&plan)?;
    let is_one_value = expression.is_one_value();
    let mut run = Run {
        plan: &plan,
        columns: &columns,
        length,
        is_one_value,
        phases,
        key_bytes: 0,
        moved: Moved::default(),
    };
    let outputs = pool.install(|| run.outputs())?;
    let results = run.results(&outputs)?;
    let Run { mut phases, key_bytes, moved, .. } = run;
    let verified = match options.verify {
        true => Some(phases.time("check", || verify(&expression, &columns, plan.error(), &results))?),
        false => None,
    };
    let (array, is_rounded) = array_of(&results, plan.error().is_some());
    let batch = RecordBatch::try_from_iter([("result", array)])?;
    let mut account = describe(&expression, &plan, length);
    account.is_rounded = is_rounded;
    (account.key_bytes, account.moved, account.phases) = (key_bytes, moved, phases);
    (account.peak_bytes, account.verified) = (peak_resident_bytes(), verified);
    Ok(Evaluation { batch, account })
}

/// What an owner sends for a lane, and the secret that stays.
struct Encrypted {
    secret: ChainSecret,
    /// Objects of keys.
    keys: Vec<Vec<u8>>,
    /// For each block the object of all vectors.
    uploads: Vec<Vec<u8>>,
}

/// One evaluation.
struct Run<'a> {
    plan: &'a Plan,
    columns: &'a [Column],
    length: usize,
    /// Whether all elements have one result.
    is_one_value: bool,
    phases: Phases,
    key_bytes: u64,
    moved: Moved,
}

impl Run<'_> {
    /// Decrypted slots, by lane and answer.
    fn outputs(&mut self) -> Result<Vec<Vec<Slots>>, ClientError> {
        self.plan.lanes().iter().map(|lane| self.lane(lane)).collect()
    }

    fn lane(&mut self, lane: &Lane) -> Result<Vec<Slots>, ClientError> {
        let (chain, circuit) = (lane.chain(), self.plan.circuit());
        let Encrypted { secret, keys, uploads } = self.encrypted(lane)?;
        let mut phases = std::mem::take(&mut self.phases);
        let answers = phases.time("server", || {
            let server_keys = lane.decode_keys(circuit, &keys)?;
            drop(keys);
            lane.serve(circuit, &server_keys, &uploads)
        });
        let answers = answers.map_err(EvalError::from)?;
        let slots = phases.time("decrypt", || {
            let slots = answers.iter().map(|answer| {
                let unchecked = UncheckedLeveledSet::decode(answer)?;
                let mut answer = unchecked.conform_with_meaning(chain, lane.answer_id(circuit))?;
                let (output, meaning) =
                    answer.pop().ok_or(ClientError::Internal { what: "an answer without a ciphertext" })?;
                let phase = secret.phase(&output)?;
                Ok(lane.decode(phase.poly(), meaning).map_err(EvalError::from)?)
            });
            slots.collect::<Result<Vec<_>, ClientError>>()
        })?;
        self.phases = phases;
        self.moved.down += bytes_of(&answers);
        Ok(slots)
    }

    /// Keys of a lane, and the vectors under them.
    fn encrypted(&mut self, lane: &Lane) -> Result<Encrypted, ClientError> {
        let (chain, circuit) = (lane.chain(), self.plan.circuit());
        let mut phases = std::mem::take(&mut self.phases);
        let (secret, keys) = phases.time("keys", || {
            let secret = ChainSecret::generate(chain)?;
            let levels = lane.key_levels(circuit);
            let keys = match lane {
                Lane::Bootstrapped(_) => {
                    let evaluation = secret.evaluation_keys_up_to(&levels)?.encode_up_to(chain)?;
                    vec![evaluation, secret.encapsulation_keys()?.encode()?]
                }
                _ if levels.is_empty() => Vec::new(),
                _ => vec![secret.evaluation_keys_up_to(&levels)?.encode(chain)?],
            };
            Ok::<_, ClientError>((secret, keys))
        })?;
        let level = lane.input_level(circuit);
        let encrypt = |block: usize| {
            let of_vector = |&input: &usize| {
                let values = self.block(input, block);
                let message = lane.encode(circuit, &values).map_err(EvalError::from)?;
                Ok::<_, ClientError>(secret.encrypt(message)?)
            };
            let fresh = circuit.used_inputs().iter().map(of_vector).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, ClientError>(encode_seeded(chain, level, &fresh)?)
        };
        let uploads = phases
            .time("encrypt", || (0..self.plan.block_count()).map(encrypt).collect::<Result<Vec<_>, _>>())?;
        self.phases = phases;
        let key_bytes = bytes_of(&keys);
        self.key_bytes += key_bytes;
        self.moved.up += bytes_of(&uploads) + key_bytes;
        Ok(Encrypted { secret, keys, uploads })
    }

    /// The plaintext of a vector in one block.
    fn block(&self, input: usize, block: usize) -> Vec<Ratio> {
        let inverse = self.plan.inputs().get(input).and_then(|input| input.unit.recip());
        let inverse = inverse.unwrap_or_else(Ratio::one);
        let slots = self.plan.slot_count();
        let range = block * slots..self.length.min((block + 1) * slots);
        let values = self.columns.get(input).and_then(|column| column.values.get(range));
        values.unwrap_or_default().iter().map(|value| value * &inverse).collect()
    }

    /// The results in decrypted slots: one for each element, or one for all.
    fn results(&mut self, outputs: &[Vec<Slots>]) -> Result<Vec<Ratio>, ClientError> {
        let (plan, slots) = (self.plan, self.plan.slot_count());
        let output = |answer: usize, slot: usize| -> Option<Ratio> {
            let mut residues = Vec::with_capacity(outputs.len());
            for lane in outputs {
                match lane.get(answer)? {
                    Slots::Approximate(values) => return Ratio::from_f64(*values.get(slot)?),
                    Slots::Exact(values) => residues.push(*values.get(slot)?),
                }
            }
            Some(Ratio::from(plan.join(&residues)))
        };
        let length = self.length;
        let results = self.phases.time("decrypt", || {
            if plan.circuit().aggregate().is_none() {
                let result = |index| Some(plan.circuit().result(&output(index / slots, index % slots)?, 1));
                let count = if self.is_one_value { length.min(1) } else { length };
                return (0..count).map(result).collect::<Option<Vec<_>>>();
            }
            // The last block comes by itself, for its padding does not count.
            let answers = outputs.first().map_or(0, Vec::len);
            let last = length - (plan.block_count() - 1) * slots;
            let mut sum = Ratio::zero();
            for answer in 0..answers {
                for slot in 0..if answer + 1 == answers { last } else { slots } {
                    sum = &sum + &output(answer, slot)?;
                }
            }
            Some(vec![plan.circuit().result(&sum, length)])
        });
        results.ok_or(ClientError::Internal { what: "an answer lacks a slot, or one is not finite" })
    }
}

/// Evaluates the expression in exact fractions, element by element, as its text stands, and compares.
fn verify(
    expression: &Expression,
    columns: &[Column],
    error: Option<f64>,
    results: &[Ratio],
) -> Result<Verified, ClientError> {
    let length = columns.first().map_or(0, |column| column.values.len());
    let vectors: Vec<&[Ratio]> = columns.iter().map(|column| column.values.as_slice()).collect();
    let mut expected = expression.values(&vectors).map_err(EvalError::from)?;
    if let Some(function) = expression.function() {
        let sum = expected.iter().fold(Ratio::zero(), |sum, value| &sum + value);
        let share = Ratio::new(1.into(), length.max(1).into()).unwrap_or_else(Ratio::one);
        let is_mean = function == hush_expr::Function::Mean;
        expected = vec![if is_mean { &sum * &share } else { sum }];
    } else if expression.is_one_value() {
        expected.truncate(1);
    }
    let unequal = || ClientError::Unequal { column: "result".to_owned() };
    if expected.len() != results.len() {
        return Err(unequal());
    }
    let differences = || expected.iter().zip(results).map(|(a, b)| (a - b).abs());
    match error {
        None if differences().all(|difference| difference.is_zero()) => Ok(Verified::Exactly),
        None => Err(unequal()),
        Some(bound) => {
            let worst = differences().max().map_or(0.0, |worst| worst.to_f64());
            if worst <= bound { Ok(Verified::Within(worst)) } else { Err(unequal()) }
        }
    }
}

/// Results as a column, and whether they are rounded.
fn array_of(results: &[Ratio], is_approximate: bool) -> (ArrayRef, bool) {
    if is_approximate {
        return (Arc::new(Float64Array::from_iter_values(results.iter().map(Ratio::to_f64))), false);
    }
    let places: Option<u32> =
        results.iter().try_fold(0, |most, result| Some(most.max(result.decimal_places()?)));
    let (places, is_rounded) = (places.unwrap_or(ROUNDED_PLACES), places.is_none());
    let units: Vec<_> = results.iter().map(|result| result.rounded_units(places)).collect();
    let text = || -> ArrayRef {
        Arc::new(StringArray::from_iter_values(results.iter().map(|result| result.to_decimal(places))))
    };
    let narrow: Option<Vec<i64>> = units.iter().map(ToPrimitive::to_i64).collect();
    let array: ArrayRef = match narrow {
        Some(narrow) if places == 0 => Arc::new(Int64Array::from(narrow)),
        _ => {
            let wide: Option<Vec<i256>> =
                units.iter().map(|unit| i256::from_string(&unit.to_string())).collect();
            let digits = units.iter().map(|unit| unit.to_string().trim_start_matches('-').len()).max();
            let digits = digits.unwrap_or(1).max(places as usize + 1);
            match (wide, u8::try_from(digits)) {
                (Some(wide), Ok(digits)) if digits <= MAX_DECIMAL_DIGITS => {
                    let array = Decimal256Array::from(wide).with_precision_and_scale(digits, places as i8);
                    array.map_or_else(|_| text(), |array| Arc::new(array))
                }
                _ => text(),
            }
        }
    };
    (array, is_rounded)
}

fn bytes_of(objects: &[Vec<u8>]) -> u64 {
    objects.iter().map(|object| object.len() as u64).sum()
}

/// Whether functions of whole vectors stand inside an expression on exact vectors, and no precision is asked for, which CKKS would keep: then digits are exact.
fn is_exact_inside(expression: &Expression, columns: &[Column], options: &EvalOptions) -> bool {
    let is_exact = options.precision.is_none() && !columns.iter().any(|column| column.is_float);
    is_exact && expression.expect_whole_functions().is_err()
}

/// Refuses a plan that nobody waits for, or that the machine has no memory for.
fn refuse_what_is_too_long(plan: &Plan) -> Result<(), EvalError> {
    let Some(set) = plan.bootstrap_set() else { return Ok(()) };
    let found = (plan.circuit().raises().len() * plan.block_count()) as u64 * u64::from(plan.passes());
    if found > MAX_BOOTSTRAPS {
        return Err(EvalError::Slow { found, limit: MAX_BOOTSTRAPS, each: "some seconds" });
    }
    let needed = set.memory_bytes();
    match available_bytes() {
        Some(found) if found < needed => Err(EvalError::Memory { found, needed }),
        _ => Ok(()),
    }
}

fn bootstraps(plan: &Plan) -> Option<BootstrapAccount> {
    let (set, circuit) = (plan.bootstrap_set()?, plan.circuit());
    let placed = circuit
        .raises()
        .iter()
        .map(|raise| PlacedBootstrap { values: raise.steps.len(), turn: circuit.turns_until(raise.after) });
    let placed: Vec<_> = placed.collect();
    let (needed, levels, blocks) = (circuit.levels(), set.shape().program, plan.block_count());
    Some(BootstrapAccount { set: set.name(), needed, levels, placed, blocks, passes: plan.passes() })
}

fn describe(expression: &Expression, plan: &Plan, length: usize) -> EvalAccount {
    let circuit = plan.circuit();
    let used = circuit.used_inputs();
    let encrypted: Vec<String> =
        used.iter().filter_map(|&input| expression.names().get(input).cloned()).collect();
    let params = plan.lanes().first().map(|lane| lane.chain().params());
    let count = plan.lanes().len();
    let primes: Vec<u64> = plan.lanes().iter().filter_map(Lane::modulus).collect();
    let size = match plan.error() {
        None => "the size of the results' range, from the plaintext primes: ranges are those of the vectors",
        Some(_) => {
            "the precision and the size of the results' range, from the modulus: ranges are those of the vectors"
        }
    };
    let leakage = Leakage {
        table: vec![format!("{} vectors of {length} values", encrypted.len())],
        query: vec!["the circuit: its sums, products and coefficients".into(), size.into()],
        hidden: vec![
            format!("the values of {}", encrypted.join(", ")),
            "the results".into(),
            "names, units and the constant that is added last".into(),
        ],
    };
    EvalAccount {
        expression: expression.to_string(),
        encrypted,
        length,
        scheme: plan.scheme().name(),
        degree: params.map_or(0, |params| params.degree()),
        log_q: params.and_then(|params| params.log_q(params.top())).unwrap_or(0.0),
        log_p: params.map_or(0.0, |params| params.log_p()),
        security_bits: params.map_or(0, |params| params.security_bits()),
        plaintext_primes: primes,
        depth: circuit.depth(),
        products: circuit.product_count(),
        integers: None,
        pieces: Vec::new(),
        sums: Vec::new(),
        bootstraps: bootstraps(plan),
        margin_bits: plan.margin_bits(),
        failure_log2: plan.failure_log2(),
        error: plan.error(),
        is_rounded: false,
        key_bytes: 0,
        ciphertexts: count * used.len() * plan.block_count(),
        moved: Moved::default(),
        phases: Phases::default(),
        peak_bytes: None,
        verified: None,
        leakage,
    }
}

/// Bootstrappings of slots that are waited for: an hour or two.
const MAX_BOOTSTRAPS: u64 = 2_000;
/// Digits after the point of results with endless decimals.
const ROUNDED_PLACES: u32 = 15;
/// Digits of Arrow's widest decimal.
const MAX_DECIMAL_DIGITS: u8 = 76;
