// SPDX-License-Identifier: Apache-2.0
//! Hushtable's own BGV on the circuits of the laboratory: where the path from the two schemes leads.
//!
//! A ciphertext has thousands of slots of integers modulo a prime `t`. Bits are such integers: `+` and `*` of integers become XOR and AND
//! when the result is taken modulo 2, as long as no integer reaches `t/2`. Every slot holds the same bit here; a circuit runs on all
//! of them at once.

mod error;

pub use error::ModernError;

use hush_keys::{ChainSecret, encrypt_public};
use hush_params::chain::{ChainRequest, KeySwitching, Plaintexts};
use hush_params::noise::{NoiseModel, Operands, PhaseNoise, View};
use hush_params::security::SecurityLevel;
use hush_params::{ChainParams, Level};
use hush_ring::{Coeff, Cpu, Poly};
use hush_rlwe::{EvaluationKeys, PublicKey};
use hush_schemes::bgv::{Bgv, BgvCiphertext};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use crate::scheme::{InsecureScheme, Noise, Sizes};
use crate::{LabError, Seed, Stream};

/// **Insecure**, though its parameters keep 128 bits: the laboratory has the secret key at hand and tells the noise.
///
/// Differs from the other schemes: randomness is the operating system's, whatever the seed.
pub struct InsecureBgv {
    params: InsecureModernParams,
    bgv: Bgv,
    secret: ChainSecret,
    public: PublicKey,
    evaluation: EvaluationKeys,
}

/// A chain of moduli for a depth.
#[derive(Clone, Debug)]
pub struct InsecureModernParams {
    chain: ChainParams,
    depth: u32,
}

/// A bit in every slot.
#[derive(Clone, Debug)]
pub struct InsecureModernBit {
    ct: BgvCiphertext,
    /// What no integer of the message exceeds.
    magnitude: u64,
    phase: PhaseNoise,
}

impl InsecureModernParams {
    /// The smallest chain of 128 bits of security for so many products one after the other.
    ///
    /// # Errors
    /// [`ModernError::Chain`] if no ring is large enough.
    pub fn new(depth: u32) -> Result<Self, LabError> {
        let request = ChainRequest {
            plaintexts: Plaintexts::Exact { t: PLAINTEXT_MODULUS },
            depth,
            slots: 1,
            sums_log2: SUMS_LOG2,
            key_switching: KeySwitching::Used,
            security: SecurityLevel::Bits128,
        };
        let chain = ChainParams::choose(&request).map_err(ModernError::from)?.into_params();
        Ok(Self { chain, depth })
    }

    /// Slots of a ciphertext.
    pub fn slots(&self) -> usize {
        self.chain.degree()
    }

    fn log_q(&self, level: Level) -> f64 {
        self.chain.log_q(level).unwrap_or(0.0)
    }
}

impl InsecureBgv {
    fn model(&self) -> NoiseModel {
        NoiseModel::new(self.params.slots(), PLAINTEXT_MODULUS, View::Bound)
    }

    /// Both at the lower level of the two.
    fn align(
        &self,
        a: &InsecureModernBit,
        b: &InsecureModernBit,
    ) -> Result<[InsecureModernBit; 2], ModernError> {
        let level = a.ct.level().min(b.ct.level());
        Ok([self.down_to(a, level)?, self.down_to(b, level)?])
    }

    fn down_to(&self, a: &InsecureModernBit, level: Level) -> Result<InsecureModernBit, ModernError> {
        let mut out = a.clone();
        while let Some(below) = out.ct.level().below().filter(|_| out.ct.level() > level) {
            let ratio_log2 = self.params.log_q(below) - self.params.log_q(out.ct.level());
            out.ct = self.bgv.mod_switch(&out.ct)?;
            out.phase = self.model().mod_switch(out.phase, ratio_log2);
        }
        Ok(out)
    }

    fn message_of(&self, bit: &InsecureModernBit) -> Result<Vec<i64>, ModernError> {
        let phase = self.secret.phase(bit.ct.inner())?;
        Ok(self.bgv.decode(phase.poly(), &bit.ct)?)
    }

    fn sum(&self, a: &InsecureModernBit, b: &InsecureModernBit) -> Result<InsecureModernBit, ModernError> {
        let magnitude = fits(a.magnitude + b.magnitude)?;
        let [a, b] = self.align(a, b)?;
        // Ciphertexts of different factors are first multiplied by integers of about √t.
        let factor_log2 =
            if a.ct.factor() == b.ct.factor() { 0.0 } else { (PLAINTEXT_MODULUS as f64).log2() / 2.0 };
        let [x, y] = [a.phase, b.phase].map(|phase| phase.scaled(factor_log2));
        let phase = self.model().add(x, y, Operands::Dependent);
        Ok(InsecureModernBit { ct: self.bgv.add(&a.ct, &b.ct)?, magnitude, phase })
    }

    fn product(
        &self,
        a: &InsecureModernBit,
        b: &InsecureModernBit,
    ) -> Result<InsecureModernBit, ModernError> {
        let magnitude = fits(a.magnitude * b.magnitude)?;
        let [a, b] = self.align(a, b)?;
        let level = a.ct.level();
        let ct = self.bgv.mul_mod_switch(&a.ct, &b.ct, &self.evaluation)?;
        let product = self.model().tensor(a.phase, b.phase, Operands::Dependent);
        let phase = self.model().relinearized_and_mod_switched(product, &self.params.chain, level);
        Ok(InsecureModernBit { ct, magnitude, phase: phase.unwrap_or(product) })
    }
}

impl InsecureScheme for InsecureBgv {
    type Params = InsecureModernParams;
    type Ciphertext = InsecureModernBit;

    const NAME: &'static str = "bgv";

    fn generate(
        params: &InsecureModernParams,
        _seed: &Seed,
        _progress: &mut dyn FnMut(f64),
    ) -> Result<Self, LabError> {
        let make = || {
            let bgv = Bgv::new(&params.chain, PLAINTEXT_MODULUS, Cpu::detect()?)?;
            let secret = ChainSecret::generate(bgv.chain())?;
            let (public, evaluation) = (secret.public_key()?, secret.evaluation_keys(true, &[])?);
            Ok::<_, ModernError>(Self { params: params.clone(), bgv, secret, public, evaluation })
        };
        Ok(make()?)
    }

    fn encrypt(&self, bit: bool, _randomness: &mut Stream) -> Result<InsecureModernBit, LabError> {
        let encrypt = || {
            let values = vec![i64::from(bit); self.params.slots()];
            let message = self.bgv.encode(&values, self.bgv.chain().top())?;
            Ok::<_, ModernError>(self.bgv.ciphertext(encrypt_public(&self.public, message)?)?)
        };
        let model = self.model();
        let phase = model.fresh_public(model.message((PLAINTEXT_MODULUS as f64).log2() - 1.0));
        Ok(InsecureModernBit { ct: encrypt()?, magnitude: 1, phase })
    }

    fn add(&self, a: &InsecureModernBit, b: &InsecureModernBit) -> Result<InsecureModernBit, LabError> {
        Ok(self.sum(a, b)?)
    }

    fn multiply(&self, a: &InsecureModernBit, b: &InsecureModernBit) -> Result<InsecureModernBit, LabError> {
        Ok(self.product(a, b)?)
    }

    /// All slots must agree: a wrong one among thousands would be noticed.
    fn decrypt(&self, ct: &InsecureModernBit) -> Result<bool, LabError> {
        let values = self.message_of(ct)?;
        let parity = |value: &i64| value.rem_euclid(2) == 1;
        let first = values.first().is_some_and(parity);
        match values.iter().all(|value| parity(value) == first) {
            true => Ok(first),
            false => Err(LabError::Unsupported { what: "a bit from slots that differ" }),
        }
    }

    fn noise(&self, ct: &InsecureModernBit) -> Result<Noise, LabError> {
        let unit_log2 = (PLAINTEXT_MODULUS as f64).log2();
        let phase = self.secret.phase(ct.ct.inner()).map_err(ModernError::from)?;
        Ok(Noise {
            measured_log2: (largest_log2(phase.poly()) - unit_log2).max(0.0),
            bound_log2: self.model().phase_log2(ct.phase) - unit_log2,
            limit_log2: self.params.log_q(ct.ct.level()) - 1.0 - unit_log2,
        })
    }

    fn depth_limit(&self) -> Option<u32> {
        Some(self.params.depth)
    }

    fn description(&self) -> Vec<(&'static str, String)> {
        let (chain, top) = (&self.params.chain, self.params.chain.top());
        vec![
            ("ring degree N", chain.degree().to_string()),
            ("slots", format!("{}: the circuit runs on all of them at once", self.params.slots())),
            ("plaintext modulus t", PLAINTEXT_MODULUS.to_string()),
            ("modulus Q", format!("{:.0} bits, {} for keys", self.params.log_q(top), chain.log_p().ceil())),
            ("depth L", self.params.depth.to_string()),
            ("estimated security", "at least 128 bits".to_owned()),
        ]
    }

    fn sizes(&self) -> Sizes {
        let chain = &self.params.chain;
        let row = 8 * chain.degree() as u64;
        let ciphertext = 2 * row * chain.levels().last().map_or(0, Vec::len) as u64;
        let expanded = self.evaluation.memory_bytes() as u64;
        Sizes {
            secret: chain.degree() as u64 / 4,
            public: ciphertext / 2 + 16,
            evaluation: expanded / 2 + 16,
            evaluation_expanded: expanded,
            ciphertext,
        }
    }
}

fn fits(found: u64) -> Result<u64, ModernError> {
    let max = PLAINTEXT_MODULUS / 2;
    if found > max { Err(ModernError::Magnitude { found, max }) } else { Ok(found) }
}

/// log2 of the largest coefficient, nearest to zero: by the Chinese remainder theorem on big integers.
fn largest_log2(poly: &Poly<Coeff>) -> f64 {
    let rows: Vec<(u64, &[u64])> =
        poly.limbs().map(|(limb, words)| (limb.modulus().value(), words)).collect();
    let modulus: BigUint = rows.iter().map(|(q, _)| BigUint::from(*q)).product();
    let basis: Vec<BigUint> = rows
        .iter()
        .map(|(q, _)| {
            let rest = &modulus / q;
            // The primes differ, so the inverse exists.
            let inverse = rest.modinv(&BigUint::from(*q)).unwrap_or_default();
            rest * inverse
        })
        .collect();
    let mut largest = BigUint::zero();
    for place in 0..rows.first().map_or(0, |(_, words)| words.len()) {
        let lifted: BigUint = rows.iter().zip(&basis).map(|((_, words), unit)| unit * words[place]).sum();
        let residue = lifted % &modulus;
        let negated = &modulus - &residue;
        largest = largest.max(residue.min(negated));
    }
    // Shifted so that the quotient of a float is exact enough.
    let shift = largest.bits().saturating_sub(60);
    (largest >> shift).to_f64().unwrap_or(0.0).max(1.0).log2() + shift as f64
}

/// A prime that is 1 modulo twice every ring degree up to 32768.
const PLAINTEXT_MODULUS: u64 = 65537;
/// Room for sums between products: 16 terms, and `√t` where factors differ.
const SUMS_LOG2: f64 = 12.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Circuit;
    use crate::eval::evaluate;

    #[test]
    fn circuits_are_right_in_every_slot_and_noise_stays_below_its_bound() {
        let params = InsecureModernParams::new(2).unwrap();
        let seed = Seed::from_text("modern");
        let scheme = InsecureBgv::generate(&params, &seed, &mut |_| {}).unwrap();
        for text in ["1+(1*0+1)*1", "(1*1+1)*(1*1+0)+1+0", "1*1+1"] {
            let circuit = Circuit::parse(text, 1, &[]).unwrap();
            let evaluation = evaluate(&scheme, &circuit, &seed, &mut |step| {
                assert!(step.is_right && step.noise.is_safe(), "{step:?}");
                assert!(step.noise.measured_log2 <= step.noise.bound_log2, "{step:?}");
            });
            assert!(evaluation.unwrap().is_right(), "{text}");
        }
        let deep = Circuit::parse("1*1*1*1*1", 1, &[]).unwrap();
        let refused = evaluate(&scheme, &deep, &seed, &mut |_| {});
        assert!(matches!(refused, Err(LabError::Depth { found: 3, limit: 2 })));
    }

    #[test]
    fn integers_that_outgrow_the_plaintext_modulus_are_refused() {
        assert!(matches!(fits(32768), Ok(32768)));
        assert!(matches!(fits(32769), Err(ModernError::Magnitude { found: 32769, max: 32768 })));
    }
}
