// SPDX-License-Identifier: Apache-2.0
//! One scheme at one security parameter: keys, then the questions that they allow.

use std::fmt;
use std::time::Instant;

use super::contender::{Contender, SETS};
use super::{Options, Question, Row};
use crate::bv11::{InsecureBv11, InsecureBv11Leveled, InsecureBv11LeveledParams, InsecureBv11Params};
use crate::cnt12::{InsecureCnt12, InsecureCnt12Parameters};
use crate::eval::evaluate;
use crate::modern::{InsecureBgv, InsecureModernParams};
use crate::{Circuit, InsecureScheme, LabError, Seed, Stream};

/// The measurements of one process: questions that share keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Who.
    pub contender: Contender,
    /// At which security parameter.
    pub security: u32,
    /// The depth of the keys; of no meaning where bootstrapping leaves no limit.
    pub depth: u32,
    /// What.
    pub questions: Vec<Question>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.contender.name(), self.security, self.depth)
    }
}

impl Case {
    /// A case by its text, with all questions of its depth.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let contender = Contender::by_name(parts.next()?)?;
        let (security, depth) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then(|| Self::new(contender, security, depth))
    }

    fn new(contender: Contender, security: u32, depth: u32) -> Self {
        let is_asked = |question: &Question| match (contender, question) {
            (Contender::Agcd, _) => true,
            (_, Question::OwnerMultiply) => false,
            (_, question) => question.depth().max(1) == depth,
        };
        let questions = Question::ALL.into_iter().filter(is_asked).collect();
        Self { contender, security, depth, questions }
    }

    /// Only some of the questions; all if there are none.
    #[must_use]
    pub fn only(mut self, questions: &[Question]) -> Self {
        self.questions.retain(|question| questions.is_empty() || questions.contains(question));
        self
    }

    /// The cases that options ask for, the small ones first.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let mut cases = Vec::new();
        for security in SETS {
            if security <= options.up_to {
                cases.push(Self::new(Contender::Agcd, security, 0));
                for depth in [1, 2] {
                    cases.push(Self::new(Contender::Lwe, security, depth));
                    cases.push(Self::new(Contender::LweLeveled, security, depth));
                }
            }
        }
        cases.extend([1, 2].map(|depth| Self::new(Contender::Bgv, 128, depth)));
        let is_wanted =
            |case: &Self| options.contenders.is_empty() || options.contenders.contains(&case.contender);
        let mut cases: Vec<Self> =
            cases.into_iter().filter(is_wanted).map(|case| case.only(&options.questions)).collect();
        cases.retain(|case| !case.questions.is_empty());
        cases
    }

    /// About how many seconds it takes on one core of a machine of 2024; wrong by a factor of two or three elsewhere.
    ///
    /// # Math
    /// The LWE schemes expand their keys from seeds, once to make them and once for every depth of every run: bytes. Approximate GCD
    /// takes remainders for its keys, and a pass over the keys and 45 long products for every Recrypt: bits of `γ`.
    pub fn estimate_s(&self, repeat: u32) -> f64 {
        let runs = f64::from(repeat);
        let lwe = |expanded_of: &dyn Fn(&Circuit) -> Result<u64, LabError>| {
            let mut made = None;
            let seconds = self.questions.iter().filter_map(|question| {
                let expanded = question.circuit(&mut |_| 0).and_then(|circuit| expanded_of(&circuit)).ok()?;
                let gigabytes = expanded as f64 * 1e-9;
                let run_s = LWE_PASS_S * gigabytes * f64::from(question.depth());
                // The same keys serve the next question, unless it needs larger ones.
                let keys_s =
                    if made.replace(expanded) == Some(expanded) { 0.0 } else { LWE_KEYS_S * gigabytes };
                Some(keys_s + run_s * enough(runs, run_s))
            });
            seconds.sum()
        };
        match self.contender {
            Contender::Agcd => InsecureCnt12Parameters::named_with(self.security, &[]).map_or(0.0, |set| {
                let l = set.literal();
                let gamma = l.ciphertext_bits as f64;
                let recrypts: f64 = self.questions.iter().map(|question| recrypt_count(*question)).sum();
                let keys_s =
                    (l.zero_count + l.secret_bits) as f64 * gamma * l.prime_bits as f64 * AGCD_REMAINDER_S;
                let recrypt_s = l.secret_bits as f64 * gamma * AGCD_EXPANDED_S + gamma * AGCD_PRODUCTS_S;
                let encryption_s =
                    l.zero_count as f64 * gamma * AGCD_ENCRYPTED_S * self.questions.len() as f64;
                let run_s = recrypts * recrypt_s + encryption_s;
                keys_s + run_s * enough(runs, run_s)
            }),
            Contender::Bgv => 0.5,
            Contender::Lwe => lwe(&|circuit| {
                let set = InsecureBv11Params::for_circuit(self.security, self.depth, circuit)?;
                Ok(set.evaluation_bytes().1)
            }),
            Contender::LweLeveled => lwe(&|circuit| {
                let set = InsecureBv11LeveledParams::for_circuit(self.security, self.depth, circuit)?;
                Ok(set.evaluation_bytes().1)
            }),
        }
    }
}

/// Makes the keys of a case and asks every question, until it was asked `repeat` times or has taken long.
///
/// `keys` is told the share of the keys that is done; `emit` every row as soon as it is there.
///
/// # Errors
/// Of the schemes; [`LabError::Set`] for a case without parameters.
pub fn measure(
    case: &Case,
    repeat: u32,
    seed: &str,
    keys: &mut dyn FnMut(f64),
    emit: &mut dyn FnMut(&Row),
) -> Result<(), LabError> {
    let mut desk = Desk { case, repeat, seed: Seed::from_text(seed), keys, emit };
    match case.contender {
        Contender::Agcd => {
            let set = InsecureCnt12Parameters::named_with(case.security, &[])?;
            let made = desk.generate::<InsecureCnt12>(&set, set.security_bits(), 1)?;
            for &question in &case.questions {
                match question {
                    Question::OwnerMultiply => desk.row(&made, question, &mut owner_product)?,
                    _ => desk.circuit(&made, question)?,
                }
            }
            Ok(())
        }
        Contender::Bgv => {
            let params = InsecureModernParams::new(case.depth)?;
            let made = desk.generate::<InsecureBgv>(&params, 128.0, params.slots() as u64)?;
            case.questions.iter().try_for_each(|&question| desk.circuit(&made, question))
        }
        Contender::Lwe => {
            let choose =
                |circuit: &Circuit| InsecureBv11Params::for_circuit(case.security, case.depth, circuit);
            desk.circuits::<InsecureBv11>(&choose, &InsecureBv11Params::security_bits)
        }
        Contender::LweLeveled => {
            let choose = |circuit: &Circuit| {
                InsecureBv11LeveledParams::for_circuit(case.security, case.depth, circuit)
            };
            desk.circuits::<InsecureBv11Leveled>(&choose, &InsecureBv11LeveledParams::security_bits)
        }
    }
}

struct Desk<'a> {
    case: &'a Case,
    repeat: u32,
    seed: Seed,
    keys: &'a mut dyn FnMut(f64),
    emit: &'a mut dyn FnMut(&Row),
}

/// One run of a question.
type Run<'a, S> = &'a mut dyn FnMut(&S, &mut Stream) -> Result<Outcome, LabError>;

/// What came of it.
struct Outcome {
    /// Seconds of encryption, and of everything.
    seconds: [f64; 2],
    is_right: bool,
    /// Whether no bound of the noise was over its limit.
    is_promised: bool,
}

/// A scheme with its keys, and what is said of it in every row.
struct Made<S> {
    scheme: S,
    keys_s: f64,
    estimated_security: f64,
    slots: u64,
}

impl Desk<'_> {
    fn generate<S: InsecureScheme>(
        &mut self,
        params: &S::Params,
        estimated_security: f64,
        slots: u64,
    ) -> Result<Made<S>, LabError> {
        let started = Instant::now();
        let scheme = S::generate(params, &self.seed, self.keys)?;
        Ok(Made { scheme, keys_s: started.elapsed().as_secs_f64(), estimated_security, slots })
    }

    /// Every question with parameters that promise its circuit; keys are made anew where those differ from the ones before.
    fn circuits<S: InsecureScheme>(
        &mut self,
        choose: &dyn Fn(&Circuit) -> Result<S::Params, LabError>,
        security_bits: &dyn Fn(&S::Params) -> f64,
    ) -> Result<(), LabError>
    where
        S::Params: PartialEq,
    {
        let mut before: Option<(S::Params, Made<S>)> = None;
        for &question in &self.case.questions {
            let params = choose(&question.circuit(&mut |_| 0)?)?;
            let made = match before.take() {
                Some((known, made)) if known == params => made,
                // The keys before are given back first.
                other => {
                    drop(other);
                    self.generate::<S>(&params, security_bits(&params), 1)?
                }
            };
            self.circuit(&made, question)?;
            before = Some((params, made));
        }
        Ok(())
    }

    fn circuit<S: InsecureScheme>(&mut self, made: &Made<S>, question: Question) -> Result<(), LabError> {
        self.row(made, question, &mut |scheme, randomness| {
            let circuit = question.circuit(&mut |_| randomness.below(2))?;
            let mut seed = Seed([0; 32]);
            randomness.fill(&mut seed.0);
            let evaluation = evaluate(scheme, &circuit, &seed, &mut |_| {})?;
            let [encryption, ..] = evaluation.seconds;
            let seconds = [encryption, evaluation.seconds.iter().sum()];
            Ok(Outcome { seconds, is_right: evaluation.is_right(), is_promised: evaluation.unpromised == 0 })
        })
    }

    fn row<S: InsecureScheme>(
        &mut self,
        made: &Made<S>,
        question: Question,
        run: Run<'_, S>,
    ) -> Result<(), LabError> {
        let Made { scheme, keys_s, estimated_security, slots } = made;
        let mut randomness = Stream::derive(&self.seed, &format!("{} {}", self.case, question.name()));
        let (mut encryptions, mut totals, mut failures, mut unpromised) = (Vec::new(), Vec::new(), 0, 0);
        while !is_enough(&totals, self.repeat) {
            let Outcome { seconds: [encryption, total], is_right, is_promised } =
                run(scheme, &mut randomness)?;
            encryptions.push(encryption);
            totals.push(total);
            failures += u32::from(!is_right);
            unpromised += u32::from(!is_promised);
        }
        let sizes = scheme.sizes();
        (self.emit)(&Row {
            contender: self.case.contender,
            security: self.case.security,
            question,
            runs: totals.len() as u32,
            seconds: median(totals),
            encryption_s: median(encryptions),
            keys_s: *keys_s,
            failures,
            unpromised,
            key_bytes: sizes.public + sizes.evaluation,
            expanded_bytes: sizes.evaluation_expanded,
            ciphertext_bytes: sizes.ciphertext,
            peak_mb: peak_mb(),
            estimated_security: *estimated_security,
            slots: *slots,
            published_s: question.published_s(self.case.contender, self.case.security),
        });
        Ok(())
    }
}

/// Two bits encrypted by the owner, their product with one Recrypt, decrypted.
fn owner_product(scheme: &InsecureCnt12, randomness: &mut Stream) -> Result<Outcome, LabError> {
    let bits = [(); 2].map(|()| randomness.below(2) == 1);
    let started = Instant::now();
    let [a, b] = bits.map(|bit| scheme.encrypt_by_owner(bit, randomness));
    let (a, b, encryption) = (a?, b?, started.elapsed());
    let product = scheme.multiply(&a, &b)?;
    let decrypted = scheme.decrypt(&product)?;
    let total = started.elapsed();
    Ok(Outcome {
        seconds: [encryption, total].map(|time| time.as_secs_f64()),
        is_right: decrypted == (bits[0] & bits[1]),
        is_promised: scheme.noise(&product)?.is_safe(),
    })
}

fn is_enough(totals: &[f64], repeat: u32) -> bool {
    let spent: f64 = totals.iter().sum();
    totals.len() >= repeat.max(1) as usize || (!totals.is_empty() && spent > LONG_S)
}

/// How often something of `run_s` seconds is repeated.
fn enough(runs: f64, run_s: f64) -> f64 {
    runs.min((LONG_S / run_s).ceil().max(1.0))
}

fn recrypt_count(question: Question) -> f64 {
    match question {
        Question::Add => 0.0,
        Question::OwnerMultiply => 1.0,
        Question::Multiply => 3.0,
        Question::Eleven => 18.0,
        Question::Seven => 9.0,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    values.get(low).zip(values.get(high)).map_or(0.0, |(low, high)| (low + high) / 2.0)
}

/// Peak resident megabytes of this process; 0 where the system does not tell.
fn peak_mb() -> f64 {
    hush_system::memory::peak_resident_bytes().unwrap_or(0) as f64 / 1e6
}

/// What takes so many seconds together is not repeated.
const LONG_S: f64 = 20.0;
/// Seconds for a gigabyte of expanded keys: making them, and adding up what a product selects.
const LWE_KEYS_S: f64 = 0.6;
const LWE_PASS_S: f64 = 0.13;
/// Seconds for a bit of `γ` times a bit of `η`, for a bit of `Θ·γ` and of `τ·γ`, and for the products of a Recrypt for a bit of `γ`.
const AGCD_REMAINDER_S: f64 = 5.3e-13;
const AGCD_EXPANDED_S: f64 = 1e-10;
const AGCD_ENCRYPTED_S: f64 = 4e-10;
const AGCD_PRODUCTS_S: f64 = 3e-7;
