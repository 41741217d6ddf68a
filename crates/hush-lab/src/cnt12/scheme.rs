// SPDX-License-Identifier: Apache-2.0
//! The scheme among the others of the lab: a bound of the noise travels with every ciphertext, and refreshes follow from it.

use std::sync::Arc;

use super::{
    InsecureCnt12Ciphertext, InsecureCnt12Parameters, InsecureCnt12PublicKey, InsecureCnt12Random,
    InsecureCnt12SecretKey, circuit, error::Stage, insecure_cnt12_keys,
};
use crate::scheme::{InsecureScheme, Noise, Sizes};
use crate::{LabError, Seed, Stream, cnt12::Cnt12Error};

/// **Insecure.** The scheme of the paper with both keys: Recrypt after every product, and before where operands are too noisy.
pub struct InsecureCnt12 {
    secret: InsecureCnt12SecretKey,
    public: InsecureCnt12PublicKey,
}

/// An encrypted bit, and what is publicly known of its noise.
#[derive(Clone, Debug)]
pub struct InsecureCnt12Bit {
    ct: InsecureCnt12Ciphertext,
    /// log2 of the bound of `|2r + m|`.
    bound_log2: f64,
    /// The product that this one was refreshed from, for the eyes of the laboratory.
    product: Option<Arc<Self>>,
}

impl InsecureCnt12 {
    /// The public key.
    pub fn public_key(&self) -> &InsecureCnt12PublicKey {
        &self.public
    }

    /// Encrypts by the owner, with the noise of the public key's own elements: no refresh is needed before a product.
    ///
    /// # Errors
    /// [`LabError::Cnt12`].
    pub fn encrypt_by_owner(&self, bit: bool, randomness: &mut Stream) -> Result<InsecureCnt12Bit, LabError> {
        let ct = self.secret.encrypt(&self.public, bit, &mut source(randomness))?;
        let bound_log2 = self.parameters().literal().noise_bits as f64 + 1.0;
        Ok(InsecureCnt12Bit { ct, bound_log2, product: None })
    }

    fn parameters(&self) -> &InsecureCnt12Parameters {
        self.public.parameters()
    }

    fn refresh(&self, bit: &InsecureCnt12Bit) -> Result<InsecureCnt12Bit, LabError> {
        let bound_log2 = self.parameters().refreshed_noise_bits() as f64;
        Ok(InsecureCnt12Bit { ct: self.public.recrypt(&bit.ct)?, bound_log2, product: None })
    }

    /// Both operands, refreshed as far as `noise` of their bounds exceeds what Recrypt can take: the noisier one first.
    fn prepare(
        &self,
        a: &InsecureCnt12Bit,
        b: &InsecureCnt12Bit,
        noise: fn(f64, f64) -> f64,
    ) -> Result<[InsecureCnt12Bit; 2], LabError> {
        let max = self.parameters().refreshable_bits();
        let is_over =
            |pair: &[InsecureCnt12Bit; 2]| noise(pair[0].bound_log2, pair[1].bound_log2) > max as f64;
        let mut pair = [a.clone(), b.clone()];
        for _ in 0..pair.len() {
            if is_over(&pair) {
                let noisier = usize::from(pair[0].bound_log2 < pair[1].bound_log2);
                pair[noisier] = self.refresh(&pair[noisier])?;
            }
        }
        if is_over(&pair) {
            let found = noise(pair[0].bound_log2, pair[1].bound_log2).ceil() as u64;
            return Err(Cnt12Error::Noise { stage: Stage::Product, found, max }.into());
        }
        Ok(pair)
    }

    /// Noise of `2r + m` as that of `r`, with the limit given in bits of `2r + m`.
    fn noise_below(&self, bit: &InsecureCnt12Bit, limit: u64) -> Result<Noise, LabError> {
        let measured = self.secret.noise_bits(&bit.ct)?;
        Ok(Noise {
            measured_log2: measured.saturating_sub(1) as f64,
            bound_log2: (bit.bound_log2 - 1.0).max(0.0),
            limit_log2: limit.saturating_sub(1) as f64,
        })
    }
}

impl InsecureScheme for InsecureCnt12 {
    type Params = InsecureCnt12Parameters;
    type Ciphertext = InsecureCnt12Bit;

    const NAME: &'static str = "cnt12";

    fn generate(
        params: &InsecureCnt12Parameters,
        seed: &Seed,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, LabError> {
        let mut random = source(&mut Stream::derive(seed, "cnt12 keys"));
        let count = params.literal().zero_count + params.literal().secret_bits;
        let (secret, public) = insecure_cnt12_keys(params, &mut random, &mut |done| {
            if done.is_multiple_of(count.div_ceil(PROGRESS_STEPS)) {
                progress(done as f64 / count as f64);
            }
        })?;
        Ok(Self { secret, public })
    }

    fn encrypt(&self, bit: bool, randomness: &mut Stream) -> Result<InsecureCnt12Bit, LabError> {
        let mut bits = self.encrypt_all(&[bit], randomness)?;
        bits.pop().ok_or(LabError::Level { left: 0, right: 0 })
    }

    /// The public key is expanded once for all bits.
    fn encrypt_all(&self, bits: &[bool], randomness: &mut Stream) -> Result<Vec<InsecureCnt12Bit>, LabError> {
        let bound_log2 = self.parameters().fresh_noise_bits() as f64;
        let cts = self.public.encrypt(bits, &mut source(randomness))?;
        Ok(cts.into_iter().map(|ct| InsecureCnt12Bit { ct, bound_log2, product: None }).collect())
    }

    fn add(&self, a: &InsecureCnt12Bit, b: &InsecureCnt12Bit) -> Result<InsecureCnt12Bit, LabError> {
        let [a, b] = self.prepare(a, b, circuit::log2_sum)?;
        let bound_log2 = circuit::log2_sum(a.bound_log2, b.bound_log2);
        Ok(InsecureCnt12Bit { ct: self.public.add(&a.ct, &b.ct)?, bound_log2, product: None })
    }

    /// Up to three times Recrypt: of operands that are too noisy to be multiplied, as fresh ones are, and of the product.
    fn multiply(&self, a: &InsecureCnt12Bit, b: &InsecureCnt12Bit) -> Result<InsecureCnt12Bit, LabError> {
        let [a, b] = self.prepare(a, b, |a, b| a + b)?;
        let bound_log2 = a.bound_log2 + b.bound_log2;
        let product = InsecureCnt12Bit { ct: self.public.mul(&a.ct, &b.ct)?, bound_log2, product: None };
        Ok(InsecureCnt12Bit { product: Some(Arc::new(product.clone())), ..self.refresh(&product)? })
    }

    fn decrypt(&self, ct: &InsecureCnt12Bit) -> Result<bool, LabError> {
        Ok(self.secret.decrypt(&ct.ct)?)
    }

    fn noise(&self, ct: &InsecureCnt12Bit) -> Result<Noise, LabError> {
        self.noise_below(ct, self.parameters().literal().prime_bits - 2)
    }

    fn noise_before_refresh(&self, ct: &InsecureCnt12Bit) -> Result<Option<Noise>, LabError> {
        let max = self.parameters().refreshable_bits();
        ct.product.as_ref().map(|product| self.noise_below(product, max)).transpose()
    }

    fn depth_limit(&self) -> Option<u32> {
        None
    }

    fn description(&self) -> Vec<(&'static str, String)> {
        self.parameters().description()
    }

    fn sizes(&self) -> Sizes {
        self.parameters().sizes()
    }
}

/// Randomness of this scheme, keyed by the next block of a stream.
fn source(randomness: &mut Stream) -> InsecureCnt12Random {
    let mut seed = [0; 16];
    randomness.fill(&mut seed);
    InsecureCnt12Random::from_seed(seed)
}

const PROGRESS_STEPS: usize = 100;
