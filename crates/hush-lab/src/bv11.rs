// SPDX-License-Identifier: Apache-2.0
//! The scheme of Brakerski and Vaikuntanathan on learning with errors [BV11, eprint 2011/344], for single bits.
//!
//! ```text
//!   InsecureBv11          level 0 ─ product ─▶ 1 ─ product ─▶ … L ─ reduction once ─▶ short
//!                         one (n, q) for all levels: noise squares with every product   (k, p)
//!   InsecureBv11Leveled   (n_0, q_0) ─ product and reduction ─▶ (n_1, q_1) ─▶ … (n_L, q_L)
//! ```
//!
//! A ciphertext `(v, w)` of the bit `m` at level `ℓ` has the phase `w − ⟨v, s_ℓ⟩ = m + 2e` modulo an odd `q`.
//!
//! Differs: the errors are centred binomial, and sets are chosen by a security estimate for average-case noise, not by the asymptotic
//! formulas of the paper. Paper's `ψ` are the samples of a key; their `a` parts are regenerated from a seed.

mod chain;
mod forecast;
mod modulus;
mod params;
mod rows;
mod rung;
mod security;
mod switch;

use self::chain::Chain;
pub use self::modulus::{MAX_MODULUS_BITS, OddModulus};
pub use self::params::{InsecureBv11LeveledParams, InsecureBv11Params, Overflow, rung};
pub use self::rung::Rung;
pub use self::security::{least_dimension, security_bits};
use crate::scheme::{InsecureScheme, Noise, Sizes};
use crate::{LabError, Seed, Stream};

/// An encrypted bit: a vector and a residue, its level, and a bound of its noise.
#[derive(Clone, Debug)]
pub struct InsecureBv11Ciphertext {
    level: u32,
    v: Vec<u64>,
    w: u64,
    bound: f64,
}

impl InsecureBv11Ciphertext {
    /// Products, and for the last level reductions, behind it.
    pub fn level(&self) -> u32 {
        self.level
    }
}

/// **Insecure.** The scheme of the paper: relinearisation at every product, dimension-modulus reduction once, at the end.
pub struct InsecureBv11 {
    params: InsecureBv11Params,
    chain: Chain,
}

/// **Insecure.** The variant that reduces after every product, so that noise stays where it is and moduli grow with the depth alone.
///
/// Relinearisation and reduction are one step: samples of `⌊(q_{ℓ+1}/q_ℓ)·2^τ·s_i·s_j⌉` under the next key, for the binary digits of
/// half of every `h_ij`.
pub struct InsecureBv11Leveled {
    params: InsecureBv11LeveledParams,
    chain: Chain,
}

macro_rules! scheme_on_a_chain {
    ($scheme:ident, $params:ident, $name:literal) => {
        impl $scheme {
            /// Its parameters.
            pub fn params(&self) -> &$params {
                &self.params
            }
        }

        impl InsecureScheme for $scheme {
            type Params = $params;
            type Ciphertext = InsecureBv11Ciphertext;

            const NAME: &'static str = $name;

            fn generate(
                params: &$params,
                seed: &Seed,
                progress: &mut dyn FnMut(f64),
            ) -> Result<Self, LabError> {
                let (rungs, styles) = (params.levels(), params.styles());
                let chain = Chain::generate(rungs, &styles, params.samples, params.depth(), seed, progress)?;
                Ok(Self { params: params.clone(), chain })
            }

            fn encrypt(
                &self,
                bit: bool,
                randomness: &mut Stream,
            ) -> Result<InsecureBv11Ciphertext, LabError> {
                Ok(self.chain.encrypt(bit, self.params.samples, randomness))
            }

            fn add(
                &self,
                a: &InsecureBv11Ciphertext,
                b: &InsecureBv11Ciphertext,
            ) -> Result<InsecureBv11Ciphertext, LabError> {
                self.chain.add(a, b)
            }

            fn multiply(
                &self,
                a: &InsecureBv11Ciphertext,
                b: &InsecureBv11Ciphertext,
            ) -> Result<InsecureBv11Ciphertext, LabError> {
                single(self.chain.multiply_all(&[(a, b)]))
            }

            fn multiply_all(
                &self,
                pairs: &[(&InsecureBv11Ciphertext, &InsecureBv11Ciphertext)],
            ) -> Result<Vec<InsecureBv11Ciphertext>, LabError> {
                self.chain.multiply_all(pairs)
            }

            /// Raises to the last level, the smallest [BV11, section 4.2, BTS].
            fn finish(&self, ct: &InsecureBv11Ciphertext) -> Result<InsecureBv11Ciphertext, LabError> {
                self.chain.raise(ct, self.chain.last_level())
            }

            fn decrypt(&self, ct: &InsecureBv11Ciphertext) -> Result<bool, LabError> {
                self.chain.decrypt(ct)
            }

            fn noise(&self, ct: &InsecureBv11Ciphertext) -> Result<Noise, LabError> {
                self.chain.noise(ct)
            }

            fn depth_limit(&self) -> Option<u32> {
                Some(self.params.depth())
            }

            fn description(&self) -> Vec<(&'static str, String)> {
                self.params.description()
            }

            fn sizes(&self) -> Sizes {
                self.chain.sizes()
            }
        }
    };
}

scheme_on_a_chain!(InsecureBv11, InsecureBv11Params, "bv11");
scheme_on_a_chain!(InsecureBv11Leveled, InsecureBv11LeveledParams, "bv11-leveled");

fn single(
    products: Result<Vec<InsecureBv11Ciphertext>, LabError>,
) -> Result<InsecureBv11Ciphertext, LabError> {
    products?.pop().ok_or(LabError::Level { left: 0, right: 0 })
}

#[cfg(test)]
mod tests;
