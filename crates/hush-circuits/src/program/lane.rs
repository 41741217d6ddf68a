// SPDX-License-Identifier: Apache-2.0
//! One scheme over one chain, with the operations that a circuit takes from encoding to decoding.

use hush_expr::{Circuit, Ratio};
use hush_ring::{Chain, Coeff, Level, Poly};
use hush_rlwe::{EvaluationKeys, PhaseMeaning, RlweCiphertext};
use hush_schemes::RealScale;
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::Ckks;
use num_bigint::BigInt;

use super::walk::{Finish, centered, double, no_level, walk};
use crate::CircuitError;
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
    /// The chain.
    pub fn chain(&self) -> &Chain {
        match self {
            Self::Bfv(scheme) => scheme.chain(),
            Self::Bgv(scheme) => scheme.chain(),
            Self::Ckks(scheme) => scheme.chain(),
        }
    }

    /// Values in one ciphertext.
    pub fn slot_count(&self) -> usize {
        match self {
            Self::Ckks(scheme) => scheme.slot_count(),
            _ => self.chain().degree(),
        }
    }

    /// The plaintext prime of exact schemes.
    pub fn modulus(&self) -> Option<u64> {
        match self {
            Self::Bfv(scheme) => Some(scheme.encoder().t().value()),
            Self::Bgv(scheme) => Some(scheme.t().value()),
            Self::Ckks(_) => None,
        }
    }

    /// The message with these slots, at the top level: exact schemes take the residues of whole numbers.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] for too many values, or values that do not fit.
    pub fn encode(&self, values: &[Ratio]) -> Result<Poly<Coeff>, CircuitError> {
        let top = self.chain().top();
        let residues = |t: u64| -> Vec<i64> { values.iter().map(|v| centered(v.numerator(), t)).collect() };
        Ok(match self {
            Self::Bfv(scheme) => scheme.encode(&residues(scheme.encoder().t().value()), top)?,
            Self::Bgv(scheme) => scheme.encode(&residues(scheme.t().value()), top)?,
            Self::Ckks(scheme) => {
                let values: Vec<f64> = values.iter().map(Ratio::to_f64).collect();
                scheme.encode_real(&values, top)?
            }
        })
    }

    /// Evaluates a circuit on one ciphertext for each of [`Circuit::used_inputs`], fresh and at the top level.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] without a relinearisation key where one is needed, or for ciphertexts of another chain;
    /// [`CircuitError::Slot`] for too few.
    pub fn evaluate(
        &self,
        circuit: &Circuit,
        inputs: Vec<RlweCiphertext>,
        keys: &EvaluationKeys,
    ) -> Result<(RlweCiphertext, PhaseMeaning), CircuitError> {
        let (top, finish) = (self.top_for(circuit), self.finish());
        match self {
            Self::Bfv(scheme) => {
                let machine = InvariantArithmetic { scheme, keys };
                let inputs = inputs.into_iter().map(|inner| Counted { inner, level: top }).collect();
                let t = scheme.encoder().t().value();
                let (output, _) = walk(&machine, circuit, top, finish, inputs, |c| centered(c, t))?;
                Ok((output.inner, PhaseMeaning::Scale(1.0)))
            }
            Self::Bgv(scheme) => {
                let inputs = inputs.into_iter().map(|inner| scheme.ciphertext(inner));
                let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
                let machine = ModularArithmetic::new(scheme, keys, inputs.first().ok_or_else(no_level)?)?;
                let t = scheme.t().value();
                let (output, _) = walk(&machine, circuit, top, finish, inputs, |c| centered(c, t))?;
                Ok((output.inner().clone(), PhaseMeaning::Factor(output.factor())))
            }
            Self::Ckks(scheme) => {
                let inputs = inputs.into_iter().map(|inner| scheme.ciphertext(inner));
                let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
                let machine = RealArithmetic { scheme, keys };
                let (output, _) = walk(&machine, circuit, top, finish, inputs, double)?;
                Ok((output.inner().clone(), PhaseMeaning::Scale(output.scale().value())))
            }
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
            (Self::Bgv(_), PhaseMeaning::Scale(_)) | (Self::Ckks(_), PhaseMeaning::Factor(_)) => {
                return Err(no_level());
            }
            (Self::Ckks(scheme), PhaseMeaning::Scale(scale)) => {
                let slots = scheme.decode(phase, RealScale::new(scale))?;
                Slots::Approximate(slots.iter().map(|slot| slot.re).collect())
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

    /// The level of inputs. BFV chains have one level, so there it is only counted.
    fn top_for(&self, circuit: &Circuit) -> Level {
        match self {
            Self::Bfv(_) => Level(circuit.depth() as u8),
            _ => self.chain().top(),
        }
    }

    /// The circuit on bounds; the output `2^sums_log2` times.
    pub(super) fn bounds(&self, circuit: &Circuit, sums_log2: f64) -> Result<Bounds, CircuitError> {
        let (top, finish) = (self.top_for(circuit), self.finish());
        let used = circuit.used_inputs();
        let params = self.chain().params();
        let exactly = |margin_bits: f64| Bounds { margin_bits, error_log2: f64::NEG_INFINITY };
        // A sum of outputs: each bit of it is a bit of the margin.
        Ok(match self {
            Self::Bfv(scheme) => {
                let t = scheme.encoder().t().value();
                let machine = BfvNoise::new(params, t);
                let inputs = vec![machine.fresh().at(top); used.len()];
                let (output, margin) = walk(&machine, circuit, top, finish, inputs, |c| centered(c, t))?;
                exactly(margin.min(machine.margin_bits(&output) - sums_log2))
            }
            Self::Bgv(scheme) => {
                let t = scheme.t().value();
                let machine = BgvNoise::new(params, t);
                let inputs = vec![machine.fresh(top); used.len()];
                let (output, margin) = walk(&machine, circuit, top, finish, inputs, |c| centered(c, t))?;
                exactly(margin.min(machine.margin_bits(&output) - sums_log2))
            }
            Self::Ckks(scheme) => {
                let machine = CkksNoise::new(scheme);
                let mut inputs = Vec::with_capacity(used.len());
                for step in circuit.steps().iter().zip(circuit.ranges()) {
                    if let (hush_expr::Step::Input(input), range) = step {
                        inputs.push((*input, machine.fresh(top, range.magnitude().log2())?));
                    }
                }
                inputs.sort_by_key(|&(input, _)| input);
                let inputs = inputs.into_iter().map(|(_, noise)| noise).collect();
                let (output, margin) = walk(&machine, circuit, top, finish, inputs, double)?;
                Bounds {
                    margin_bits: margin.min(machine.margin_bits(&output) - sums_log2),
                    error_log2: machine.error_log2(&output) + sums_log2,
                }
            }
        })
    }
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
