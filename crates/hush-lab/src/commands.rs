// SPDX-License-Identifier: Apache-2.0
//! What the commands do.

use hush_lab::bv11::{
    InsecureBv11, InsecureBv11Leveled, InsecureBv11LeveledParams, InsecureBv11Params, Overflow, rung,
};
use hush_lab::cnt12::{InsecureCnt12, InsecureCnt12Parameters};
use hush_lab::eval::{Step, evaluate};
use hush_lab::modern::{InsecureBgv, InsecureModernParams};
use hush_lab::partial::{self, InsecurePaillier, InsecurePartial, InsecureRsa};
use hush_lab::{Circuit, InsecureScheme, LabError, Seed, Stream};

use crate::args::{Cli, Command, Options, Scheme};
use crate::prompt;
use crate::table;
use crate::terminal::{Progress, bytes, print, seconds};
use crate::timing;

/// Whether what was decrypted is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything.
    Right,
    /// Something is not.
    Wrong,
}

pub(crate) fn run(cli: &Cli) -> Result<Outcome, LabError> {
    match &cli.command {
        Command::Bench(args) => timing::bench(args),
        Command::Eval { expression, options } => Session::new(options.clone())?.line(expression),
        Command::Repl { options } => prompt::repl(Session::new(options.clone())?),
        Command::Params => {
            table::print_sets();
            Ok(Outcome::Right)
        }
    }
}

/// Options, and the keys that were made for them.
pub(crate) struct Session {
    options: Options,
    seed: Seed,
    /// Evaluations so far: each has randomness of its own.
    count: u64,
    keys: Keys,
}

enum Keys {
    None,
    Bv11(InsecureBv11),
    Leveled(InsecureBv11Leveled),
    Cnt12(Box<InsecureCnt12>),
    Bgv(Box<InsecureBgv>),
}

impl Session {
    pub(crate) fn new(options: Options) -> Result<Self, LabError> {
        let seed = options.seed.as_deref().map_or_else(Seed::from_os, |text| Ok(Seed::from_text(text)))?;
        Ok(Self { options, seed, count: 0, keys: Keys::None })
    }

    /// Gives a name a value.
    pub(crate) fn assign(&mut self, (name, value): (String, u64)) {
        self.options.values.retain(|(known, _)| *known != name);
        self.options.values.push((name, value));
    }

    /// Changes the bits of an integer.
    pub(crate) fn set_width(&mut self, width: u32) {
        self.options.width = width;
    }

    /// Evaluates one expression.
    pub(crate) fn line(&mut self, expression: &str) -> Result<Outcome, LabError> {
        self.count += 1;
        print("INSECURE: for teaching. The secret key is at hand, so that noise can be watched.");
        match self.options.scheme {
            Scheme::Rsa => self.partial::<InsecureRsa>(expression),
            Scheme::Paillier => self.partial::<InsecurePaillier>(expression),
            Scheme::Bgv | Scheme::Bv11 | Scheme::Bv11Leveled | Scheme::Cnt12 => self.bits(expression),
        }
    }

    fn bits(&mut self, expression: &str) -> Result<Outcome, LabError> {
        let circuit = Circuit::parse(expression, self.options.width, &self.options.values)?;
        let (ands, xors) = circuit.operations();
        print(&format!("Expression  {expression}"));
        print(&format!(
            "Circuit     {} encrypted bits, {ands} AND, {xors} XOR, depth {}",
            circuit.inputs().len(),
            circuit.depth()
        ));
        let depth = self.options.depth.unwrap_or(0).max(circuit.depth());
        let seed = self.run_seed();
        match self.options.scheme {
            Scheme::Bv11Leveled => {
                let keys = match std::mem::replace(&mut self.keys, Keys::None) {
                    Keys::Leveled(keys) if keys.depth_limit() >= Some(depth) => keys,
                    _ => generate(&self.leveled_params(depth)?, &self.seed)?,
                };
                let outcome = observe(&keys, &circuit, &seed);
                self.keys = Keys::Leveled(keys);
                outcome
            }
            Scheme::Bv11 => {
                let keys = match std::mem::replace(&mut self.keys, Keys::None) {
                    Keys::Bv11(keys) if keys.depth_limit() >= Some(depth) => keys,
                    _ => generate(&self.bv11_params(depth)?, &self.seed)?,
                };
                let outcome = observe(&keys, &circuit, &seed);
                self.keys = Keys::Bv11(keys);
                outcome
            }
            Scheme::Cnt12 => {
                let keys = match std::mem::replace(&mut self.keys, Keys::None) {
                    Keys::Cnt12(keys) => keys,
                    _ => Box::new(generate(&self.cnt12_params()?, &self.seed)?),
                };
                let outcome = observe(&*keys, &circuit, &seed);
                self.keys = Keys::Cnt12(keys);
                outcome
            }
            Scheme::Bgv => {
                let keys = match std::mem::replace(&mut self.keys, Keys::None) {
                    Keys::Bgv(keys) if keys.depth_limit() >= Some(depth) => keys,
                    _ => Box::new(generate(&InsecureModernParams::new(depth)?, &self.seed)?),
                };
                let outcome = observe(&*keys, &circuit, &seed);
                self.keys = Keys::Bgv(keys);
                outcome
            }
            Scheme::Paillier | Scheme::Rsa => Err(LabError::Unsupported { what: "this scheme, for bits," }),
        }
    }

    /// Encryption must not repeat its randomness from line to line.
    fn run_seed(&self) -> Seed {
        let mut bytes = self.seed.0.to_vec();
        bytes.extend(self.count.to_le_bytes());
        Seed(blake3::derive_key("hushtable lab 2026 run", &bytes))
    }

    fn overflow(&self) -> Overflow {
        if self.options.show_overflow { Overflow::Show } else { Overflow::Refuse }
    }

    fn bv11_params(&self, depth: u32) -> Result<InsecureBv11Params, LabError> {
        match (self.options.n.as_slice(), self.options.q.as_slice()) {
            ([], []) => InsecureBv11Params::named(self.options.security, depth),
            (&[n], &[q]) => InsecureBv11Params::custom(depth, n, q, self.options.m, self.overflow()),
            (n, _) => Err(LabError::Parameter {
                name: "n and q",
                found: format!("{} dimensions", n.len()),
                expected: "one of each for bv11",
            }),
        }
    }

    fn leveled_params(&self, depth: u32) -> Result<InsecureBv11LeveledParams, LabError> {
        let (n, q) = (&self.options.n, &self.options.q);
        if n.is_empty() && q.is_empty() {
            return InsecureBv11LeveledParams::derive(self.options.security, depth);
        }
        if n.len() != q.len() {
            return Err(LabError::Parameter {
                name: "n and q",
                found: format!("{} dimensions, {} moduli", n.len(), q.len()),
                expected: "as many of each",
            });
        }
        let rungs: Result<Vec<_>, _> = n.iter().zip(q).map(|(&n, &q)| rung(n, q)).collect();
        InsecureBv11LeveledParams::custom(rungs?, self.options.m, self.overflow())
    }

    fn cnt12_params(&self) -> Result<InsecureCnt12Parameters, LabError> {
        InsecureCnt12Parameters::named_with(self.options.security, &self.options.cnt12)
    }

    fn partial<S: InsecurePartial>(&mut self, expression: &str) -> Result<Outcome, LabError> {
        let mut randomness = Stream::derive(&self.run_seed(), "partial");
        let progress = Progress::new("keys");
        let scheme = S::generate(self.options.modulus_bits, &mut randomness)?;
        print(&format!(
            "Keys        {}, a modulus of {} bits, {}",
            S::NAME,
            self.options.modulus_bits,
            seconds(progress.finish())
        ));
        let (found, clear) = partial::evaluate(&scheme, expression, &self.options.values, &mut randomness)?;
        print(&format!("Result      {found} (modulo the {}-bit modulus)", scheme.modulus().bits()));
        Ok(verdict(found == clear, &clear.to_string()))
    }
}

/// Makes keys and tells their sizes.
fn generate<S: InsecureScheme>(params: &S::Params, seed: &Seed) -> Result<S, LabError> {
    let mut progress = Progress::new("keys");
    let scheme = S::generate(params, seed, &mut |share| progress.at(share))?;
    let elapsed = progress.finish();
    print(&format!("Scheme      {} (insecure)", S::NAME));
    for (name, value) in scheme.description() {
        print(&format!("  {name:<20} {value}"));
    }
    let sizes = scheme.sizes();
    print(&format!(
        "Keys        {}; public {}, secret {}, evaluation {} ({} if nothing came from seeds)",
        seconds(elapsed),
        bytes(sizes.public),
        bytes(sizes.secret),
        bytes(sizes.evaluation),
        bytes(sizes.evaluation_expanded)
    ));
    print(&format!("Ciphertext  {} for a bit", bytes(sizes.ciphertext)));
    Ok(scheme)
}

/// Evaluates, and prints a line for every gate: those of one depth together, products first.
fn observe<S: InsecureScheme>(scheme: &S, circuit: &Circuit, seed: &Seed) -> Result<Outcome, LabError> {
    print("Gate                      depth  bit  noise     bound     limit     time");
    let mut unsafe_gates = 0;
    let evaluation = evaluate(scheme, circuit, seed, &mut |step: Step| {
        let noise = step.noise;
        let remark = match (step.is_right, noise.is_safe()) {
            (false, _) => "  WRONG",
            (true, false) => "  not promised: the bound is over the limit",
            (true, true) => "",
        };
        unsafe_gates += usize::from(!noise.is_safe());
        print(&format!(
            "  {:<23} {:<6} {:<4} 2^{:<7.1} 2^{:<7.1} 2^{:<7.1} {}{remark}",
            circuit.describe(step.gate),
            circuit.depth_at(step.gate),
            u8::from(step.bit),
            noise.measured_log2,
            noise.bound_log2,
            noise.limit_log2,
            seconds(step.seconds)
        ));
        if let Some(before) = step.before_refresh {
            print(&format!(
                "    before Recrypt {:<13} 2^{:<7.1} 2^{:<7.1} 2^{:<7.1}",
                "", before.measured_log2, before.bound_log2, before.limit_log2
            ));
        }
    })?;
    for noise in &evaluation.finished {
        print(&format!("Sent back   noise {noise}"));
    }
    let [encryption, gates, reduction, decryption] = evaluation.seconds;
    print(&format!(
        "Time        encryption {}, gates {}, last reduction {}, decryption {}",
        seconds(encryption),
        seconds(gates),
        seconds(reduction),
        seconds(decryption)
    ));
    if unsafe_gates > 0 {
        print(&format!(
            "Noise       {unsafe_gates} gates are over what is promised, {} are wrong",
            evaluation.wrong_gates
        ));
    }
    print(&format!("Result      {}", evaluation.result));
    Ok(verdict(evaluation.is_right(), &evaluation.expected.to_string()))
}

fn verdict(is_right: bool, expected: &str) -> Outcome {
    if is_right {
        print("Verified    equals the evaluation in the clear");
        Outcome::Right
    } else {
        print(&format!(
            "WRONG       the evaluation in the clear gives {expected}: the noise is over its limit"
        ));
        Outcome::Wrong
    }
}
