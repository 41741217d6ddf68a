// SPDX-License-Identifier: Apache-2.0
//! Options, and the keys that were made for them: one expression, or many with the same keys.

use hush_lab::bv11::{
    InsecureBv11, InsecureBv11Leveled, InsecureBv11LeveledParams, InsecureBv11Params, Overflow, rung,
};
use hush_lab::cnt12::{InsecureCnt12, InsecureCnt12Parameters};
use hush_lab::modern::{InsecureBgv, InsecureModernParams};
use hush_lab::partial::{self, InsecurePaillier, InsecurePartial, InsecureRsa};
use hush_lab::{Circuit, InsecureScheme, LabError, Seed, Stream};

use crate::args::{Options, Scheme};
use crate::outcome::Outcome;
use crate::show::{generate, observe, verdict};
use crate::terminal::{Progress, one_line, print, seconds};

/// Evaluates expressions and keeps the keys between them.
pub(crate) struct Session {
    options: Options,
    seed: Seed,
    /// Evaluations so far: each has randomness of its own.
    count: u64,
    keys: Keys,
}

/// Keys of the session's scheme, once there are any.
#[derive(Default)]
struct Keys {
    bgv: Option<InsecureBgv>,
    bv11: Option<InsecureBv11>,
    cnt12: Option<InsecureCnt12>,
    leveled: Option<InsecureBv11Leveled>,
    paillier: Option<InsecurePaillier>,
    rsa: Option<InsecureRsa>,
}

impl Session {
    /// # Errors
    /// [`LabError::Option`] for options of another scheme; [`LabError::Randomness`].
    pub(crate) fn new(mut options: Options) -> Result<Self, LabError> {
        options.check()?;
        let seed = options.seed.as_deref().map_or_else(Seed::from_os, |text| Ok(Seed::from_text(text)))?;
        let values = std::mem::take(&mut options.values);
        let mut session = Self { options, seed, count: 0, keys: Keys::default() };
        values.into_iter().for_each(|value| session.assign(value));
        Ok(session)
    }

    /// Gives a name a value, in place of the one that it had.
    pub(crate) fn assign(&mut self, (name, value): (String, u64)) {
        self.options.values.retain(|(known, _)| *known != name);
        self.options.values.push((name, value));
    }

    /// Changes the bits of an integer.
    ///
    /// # Errors
    /// [`LabError::Parameter`] outside `[1, 32]`; [`LabError::Option`] for RSA and Paillier.
    pub(crate) fn set_width(&mut self, text: &str) -> Result<(), LabError> {
        let width = text.parse().ok().filter(|width| (1..=32).contains(width));
        let expected = "between 1 and 32 bits";
        let refused = || LabError::Parameter { name: "width", found: text.to_owned(), expected };
        let width = width.ok_or_else(refused)?;
        Options { width, ..self.options.clone() }.check()?;
        self.options.width = width;
        Ok(())
    }

    /// The scheme of all expressions.
    pub(crate) fn scheme(&self) -> Scheme {
        self.options.scheme
    }

    /// Evaluates one expression.
    pub(crate) fn line(&mut self, expression: &str) -> Result<Outcome, LabError> {
        self.count += 1;
        print("INSECURE: for teaching. The secret key is at hand, so that noise can be watched.")?;
        match self.options.scheme {
            Scheme::Bgv => self.bits::<InsecureBgv>(expression),
            Scheme::Bv11 => self.bits::<InsecureBv11>(expression),
            Scheme::Bv11Leveled => self.bits::<InsecureBv11Leveled>(expression),
            Scheme::Cnt12 => self.bits::<InsecureCnt12>(expression),
            Scheme::Paillier => self.numbers::<InsecurePaillier>(expression),
            Scheme::Rsa => self.numbers::<InsecureRsa>(expression),
        }
    }

    fn bits<S: KeptBits>(&mut self, expression: &str) -> Result<Outcome, LabError> {
        let circuit = Circuit::parse(expression, self.options.width, &self.options.values)?;
        let (ands, xors) = circuit.operations();
        print(&format!("Expression  {}", one_line(expression)))?;
        print(&format!(
            "Circuit     {} encrypted bits, {ands} AND, {xors} XOR, depth {}",
            circuit.inputs().len(),
            circuit.depth()
        ))?;
        let depth = self.options.depth.unwrap_or(0).max(circuit.depth());
        let seed = self.run_seed();
        let options = &self.options;
        let slot = S::slot(&mut self.keys);
        let is_served = slot.as_ref().is_some_and(|keys| keys.serves(options, depth, &circuit));
        if !is_served {
            // Keys at hand are replaced only by keys that are there.
            *slot = Some(generate(&S::choose(options, depth, &circuit)?, &self.seed)?);
        }
        let keys = slot.as_ref().ok_or(LabError::Unsupported { what: "a line without keys" })?;
        observe(keys, &circuit, &seed)
    }

    fn numbers<S: KeptNumbers>(&mut self, expression: &str) -> Result<Outcome, LabError> {
        let bits = self.options.modulus_bits.unwrap_or(MODULUS_BITS);
        partial::check::<S>(expression, &self.options.values, bits)?;
        let mut randomness = Stream::derive(&self.run_seed(), "partial");
        let slot = S::slot(&mut self.keys);
        if slot.is_none() {
            let progress = Progress::new("keys");
            let keys = S::generate(bits, &mut randomness)?;
            let elapsed = seconds(progress.finish());
            print(&format!("Keys        {}, a modulus of {bits} bits, {elapsed}", S::NAME))?;
            *slot = Some(keys);
        }
        let keys = slot.as_ref().ok_or(LabError::Unsupported { what: "a line without keys" })?;
        let (found, clear) = partial::evaluate(keys, expression, &self.options.values, &mut randomness)?;
        print(&format!("Result      {found} (modulo the {}-bit modulus)", keys.modulus().bits()))?;
        verdict(found == clear, &clear.to_string())
    }

    /// Encryption must not repeat its randomness from line to line.
    fn run_seed(&self) -> Seed {
        let mut bytes = self.seed.0.to_vec();
        bytes.extend(self.count.to_le_bytes());
        Seed(blake3::derive_key("hushtable lab 2026 run", &bytes))
    }
}

/// A scheme for bits, with keys that a session keeps.
trait KeptBits: InsecureScheme {
    /// Where they are kept.
    fn slot(keys: &mut Keys) -> &mut Option<Self>;

    /// The parameters for `depth` products one after the other, and a circuit of no more.
    fn choose(options: &Options, depth: u32, circuit: &Circuit) -> Result<Self::Params, LabError>;

    /// Whether keys that are at hand are good for it.
    fn serves(&self, _options: &Options, depth: u32, _circuit: &Circuit) -> bool {
        self.depth_limit().is_none_or(|limit| limit >= depth)
    }
}

/// A scheme for numbers, with keys that a session keeps.
trait KeptNumbers: InsecurePartial + Sized {
    /// Where they are kept.
    fn slot(keys: &mut Keys) -> &mut Option<Self>;
}

impl KeptBits for InsecureBgv {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.bgv
    }

    fn choose(_: &Options, depth: u32, _: &Circuit) -> Result<InsecureModernParams, LabError> {
        InsecureModernParams::new(depth)
    }
}

impl KeptBits for InsecureBv11 {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.bv11
    }

    fn choose(options: &Options, depth: u32, circuit: &Circuit) -> Result<InsecureBv11Params, LabError> {
        match (options.n.as_slice(), options.q.as_slice()) {
            ([], []) => InsecureBv11Params::for_circuit(options.security, depth, circuit),
            (&[n], &[q]) => InsecureBv11Params::custom(depth, n, q, options.m, overflow(options)),
            (n, q) => Err(LabError::Parameter {
                name: "n and q",
                found: format!("{} dimensions, {} moduli", n.len(), q.len()),
                expected: "one of each for bv11",
            }),
        }
    }

    fn serves(&self, options: &Options, depth: u32, circuit: &Circuit) -> bool {
        let is_deep = self.params().depth() >= depth;
        let is_chosen = || Self::choose(options, depth, circuit).is_ok_and(|params| params == *self.params());
        is_deep && (has_own(options) || self.params().promises(circuit) || is_chosen())
    }
}

impl KeptBits for InsecureBv11Leveled {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.leveled
    }

    fn choose(
        options: &Options,
        depth: u32,
        circuit: &Circuit,
    ) -> Result<InsecureBv11LeveledParams, LabError> {
        if !has_own(options) {
            return InsecureBv11LeveledParams::for_circuit(options.security, depth, circuit);
        }
        let (n, q) = (&options.n, &options.q);
        if n.len() != q.len() {
            return Err(LabError::Parameter {
                name: "n and q",
                found: format!("{} dimensions, {} moduli", n.len(), q.len()),
                expected: "as many of each",
            });
        }
        let rungs: Result<Vec<_>, _> = n.iter().zip(q).map(|(&n, &q)| rung(n, q)).collect();
        let params = InsecureBv11LeveledParams::custom(rungs?, options.m, overflow(options))?;
        let limit = params.depth();
        match options.depth.filter(|&depth| depth > limit) {
            Some(found) => Err(LabError::Parameter {
                name: "depth",
                found: found.to_string(),
                expected: "below the number of dimensions and moduli given",
            }),
            None if depth > limit => Err(LabError::Depth { found: depth, limit }),
            None => Ok(params),
        }
    }

    fn serves(&self, options: &Options, depth: u32, circuit: &Circuit) -> bool {
        let is_deep = self.params().depth() >= depth;
        let is_chosen = || Self::choose(options, depth, circuit).is_ok_and(|params| params == *self.params());
        is_deep && (has_own(options) || self.params().promises(circuit) || is_chosen())
    }
}

impl KeptBits for InsecureCnt12 {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.cnt12
    }

    fn choose(options: &Options, _: u32, _: &Circuit) -> Result<InsecureCnt12Parameters, LabError> {
        InsecureCnt12Parameters::named_with(options.security, &options.cnt12)
    }
}

impl KeptNumbers for InsecurePaillier {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.paillier
    }
}

impl KeptNumbers for InsecureRsa {
    fn slot(keys: &mut Keys) -> &mut Option<Self> {
        &mut keys.rsa
    }
}

/// Whether parameters are given one by one, not chosen by security.
fn has_own(options: &Options) -> bool {
    !options.n.is_empty() || !options.q.is_empty()
}

fn overflow(options: &Options) -> Overflow {
    if options.show_overflow { Overflow::Show } else { Overflow::Refuse }
}

/// Bits of the modulus of RSA and Paillier, unless told otherwise.
const MODULUS_BITS: u32 = 512;
