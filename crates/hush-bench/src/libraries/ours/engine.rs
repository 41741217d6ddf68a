// SPDX-License-Identifier: Apache-2.0
//! The three schemes behind the few operations that the workload and the primitives use.

use hush_params::ChainParams;
use hush_ring::{Chain, Coeff, Cpu, Level, Poly};
use hush_rlwe::{EvaluationKeys, RlweCiphertext};
use hush_schemes::bgv::{Bfv, Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::super::inputs::{PLAINTEXT_MODULUS, REAL_UNIT};
use crate::BenchError;

/// A scheme over one chain. Messages are at the top level.
pub(super) trait Engine: Sized {
    /// A ciphertext with what is publicly known of it.
    type Ciphertext;

    /// Every table of the scheme.
    fn new(params: &ChainParams) -> Result<Self, BenchError>;
    fn chain(&self) -> &Chain;
    fn slots(&self) -> usize;
    fn encode(&self, values: &[i64]) -> Result<Poly<Coeff>, BenchError>;
    fn ciphertext(&self, inner: RlweCiphertext) -> Result<Self::Ciphertext, BenchError>;
    fn inner(ciphertext: &Self::Ciphertext) -> &RlweCiphertext;
    fn decode(&self, phase: &Poly<Coeff>, ciphertext: &Self::Ciphertext) -> Result<Vec<f64>, BenchError>;
    fn level(&self, ciphertext: &Self::Ciphertext) -> Result<Level, BenchError>;
    /// The same message at this level or a lower one; BFV stays where it is.
    fn down_to(&self, a: &Self::Ciphertext, level: Level) -> Result<Self::Ciphertext, BenchError>;
    fn add(&self, a: &Self::Ciphertext, b: &Self::Ciphertext) -> Result<Self::Ciphertext, BenchError>;
    fn sub(&self, a: &Self::Ciphertext, b: &Self::Ciphertext) -> Result<Self::Ciphertext, BenchError>;
    fn neg(&self, a: &Self::Ciphertext) -> Self::Ciphertext;
    fn add_clear(&self, a: &Self::Ciphertext, values: &[i64]) -> Result<Self::Ciphertext, BenchError>;
    /// A product inside a deep circuit, one level down in BGV and CKKS.
    fn mul_clear_down(&self, a: &Self::Ciphertext, values: &[i64]) -> Result<Self::Ciphertext, BenchError>;
    /// The last product of a circuit: relinearised, and rescaled where the value asks for it (CKKS).
    fn multiply(
        &self,
        a: &Self::Ciphertext,
        b: &Self::Ciphertext,
        keys: &EvaluationKeys,
    ) -> Result<Self::Ciphertext, BenchError>;
    /// A product inside a deep circuit: relinearised, and one level down in BGV and CKKS.
    fn multiply_down(
        &self,
        a: &Self::Ciphertext,
        b: &Self::Ciphertext,
        keys: &EvaluationKeys,
    ) -> Result<Self::Ciphertext, BenchError>;
    /// So many places to the left, in each row.
    fn rotate(
        &self,
        a: &Self::Ciphertext,
        places: i64,
        keys: &EvaluationKeys,
    ) -> Result<Self::Ciphertext, BenchError>;
}

/// BGV.
pub(super) struct BgvEngine(Bgv);

impl Engine for BgvEngine {
    type Ciphertext = BgvCiphertext;

    fn new(params: &ChainParams) -> Result<Self, BenchError> {
        Ok(Self(Bgv::new(params, PLAINTEXT_MODULUS, Cpu::detect()?)?))
    }
    fn chain(&self) -> &Chain {
        self.0.chain()
    }
    fn slots(&self) -> usize {
        self.0.chain().degree()
    }
    fn encode(&self, values: &[i64]) -> Result<Poly<Coeff>, BenchError> {
        Ok(self.0.encode(values, self.0.chain().top())?)
    }
    fn ciphertext(&self, inner: RlweCiphertext) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.ciphertext(inner)?)
    }
    fn inner(ciphertext: &BgvCiphertext) -> &RlweCiphertext {
        ciphertext.inner()
    }
    fn decode(&self, phase: &Poly<Coeff>, ciphertext: &BgvCiphertext) -> Result<Vec<f64>, BenchError> {
        Ok(reals(&self.0.decode(phase, ciphertext)?))
    }
    fn level(&self, ciphertext: &BgvCiphertext) -> Result<Level, BenchError> {
        Ok(ciphertext.level())
    }
    fn down_to(&self, a: &BgvCiphertext, level: Level) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.mod_switch_to(a, level)?)
    }
    fn add(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.add(a, b)?)
    }
    fn sub(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.sub(a, b)?)
    }
    fn neg(&self, a: &BgvCiphertext) -> BgvCiphertext {
        self.0.neg(a)
    }
    fn add_clear(&self, a: &BgvCiphertext, values: &[i64]) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.add_plain(a, values)?)
    }
    fn mul_clear_down(&self, a: &BgvCiphertext, values: &[i64]) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.mod_switch(&self.0.mul_plain(a, values)?)?)
    }
    fn multiply(
        &self,
        a: &BgvCiphertext,
        b: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.mul_relinearize(a, b, keys)?)
    }
    fn multiply_down(
        &self,
        a: &BgvCiphertext,
        b: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.mul_mod_switch(a, b, keys)?)
    }
    fn rotate(
        &self,
        a: &BgvCiphertext,
        places: i64,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, BenchError> {
        Ok(self.0.rotate_rows(a, places, keys)?)
    }
}

/// BFV.
pub(super) struct BfvEngine(Bfv);

impl Engine for BfvEngine {
    type Ciphertext = RlweCiphertext;

    fn new(params: &ChainParams) -> Result<Self, BenchError> {
        Ok(Self(Bfv::new(params, PLAINTEXT_MODULUS, Cpu::detect()?)?))
    }
    fn chain(&self) -> &Chain {
        self.0.chain()
    }
    fn slots(&self) -> usize {
        self.0.chain().degree()
    }
    fn encode(&self, values: &[i64]) -> Result<Poly<Coeff>, BenchError> {
        Ok(self.0.encode(values, self.0.chain().top())?)
    }
    fn ciphertext(&self, inner: RlweCiphertext) -> Result<RlweCiphertext, BenchError> {
        Ok(inner)
    }
    fn inner(ciphertext: &RlweCiphertext) -> &RlweCiphertext {
        ciphertext
    }
    fn decode(&self, phase: &Poly<Coeff>, _ciphertext: &RlweCiphertext) -> Result<Vec<f64>, BenchError> {
        Ok(reals(&self.0.decode(phase)?))
    }
    fn level(&self, ciphertext: &RlweCiphertext) -> Result<Level, BenchError> {
        Ok(self.0.chain().level_of(ciphertext.ring())?)
    }
    fn down_to(&self, a: &RlweCiphertext, _level: Level) -> Result<RlweCiphertext, BenchError> {
        Ok(a.clone())
    }
    fn add(&self, a: &RlweCiphertext, b: &RlweCiphertext) -> Result<RlweCiphertext, BenchError> {
        let mut sum = a.clone();
        sum.add_assign(b)?;
        Ok(sum)
    }
    fn sub(&self, a: &RlweCiphertext, b: &RlweCiphertext) -> Result<RlweCiphertext, BenchError> {
        let mut difference = a.clone();
        difference.sub_assign(b)?;
        Ok(difference)
    }
    fn neg(&self, a: &RlweCiphertext) -> RlweCiphertext {
        let mut out = a.clone();
        out.neg_assign();
        out
    }
    fn add_clear(&self, a: &RlweCiphertext, values: &[i64]) -> Result<RlweCiphertext, BenchError> {
        Ok(self.0.add_plain(a, values)?)
    }
    fn mul_clear_down(&self, a: &RlweCiphertext, values: &[i64]) -> Result<RlweCiphertext, BenchError> {
        Ok(self.0.mul_plain(a, values)?)
    }
    fn multiply(
        &self,
        a: &RlweCiphertext,
        b: &RlweCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, BenchError> {
        Ok(self.0.mul_relinearize(a, b, keys)?)
    }
    fn multiply_down(
        &self,
        a: &RlweCiphertext,
        b: &RlweCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, BenchError> {
        self.multiply(a, b, keys)
    }
    fn rotate(
        &self,
        a: &RlweCiphertext,
        places: i64,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, BenchError> {
        Ok(self.0.rotate_rows(a, places, keys)?)
    }
}

/// CKKS, at the scale of the prime that a product gives up.
pub(super) struct CkksEngine(Ckks);

impl Engine for CkksEngine {
    type Ciphertext = CkksCiphertext;

    fn new(params: &ChainParams) -> Result<Self, BenchError> {
        let scale_log2 = params.universe().last().map_or(0.0, |&prime| (prime as f64).log2());
        Ok(Self(Ckks::new(params, scale_log2, Cpu::detect()?)?))
    }
    fn chain(&self) -> &Chain {
        self.0.chain()
    }
    fn slots(&self) -> usize {
        self.0.slot_count()
    }
    fn encode(&self, values: &[i64]) -> Result<Poly<Coeff>, BenchError> {
        Ok(self.0.encode(&complex(values), self.0.chain().top())?)
    }
    fn ciphertext(&self, inner: RlweCiphertext) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.ciphertext(inner)?)
    }
    fn inner(ciphertext: &CkksCiphertext) -> &RlweCiphertext {
        ciphertext.inner()
    }
    fn decode(&self, phase: &Poly<Coeff>, ciphertext: &CkksCiphertext) -> Result<Vec<f64>, BenchError> {
        Ok(self.0.decode(phase, ciphertext.scale())?.iter().map(|value| value.re).collect())
    }
    fn level(&self, ciphertext: &CkksCiphertext) -> Result<Level, BenchError> {
        Ok(ciphertext.level())
    }
    fn down_to(&self, a: &CkksCiphertext, level: Level) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.level_down(a, level)?)
    }
    fn add(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.add(a, b)?)
    }
    fn sub(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.sub(a, b)?)
    }
    fn neg(&self, a: &CkksCiphertext) -> CkksCiphertext {
        self.0.neg(a)
    }
    fn add_clear(&self, a: &CkksCiphertext, values: &[i64]) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.add_plain(a, &complex(values))?)
    }
    fn mul_clear_down(&self, a: &CkksCiphertext, values: &[i64]) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.rescale(&self.0.mul_plain(a, &complex(values))?)?)
    }
    fn multiply(
        &self,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, BenchError> {
        self.multiply_down(a, b, keys)
    }
    fn multiply_down(
        &self,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.mul_rescale(a, b, keys)?)
    }
    fn rotate(
        &self,
        a: &CkksCiphertext,
        places: i64,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, BenchError> {
        Ok(self.0.rotate(a, places, keys)?)
    }
}

fn reals(values: &[i64]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

fn complex(values: &[i64]) -> Vec<Complex> {
    values.iter().map(|&value| Complex { re: value as f64 / REAL_UNIT, im: 0.0 }).collect()
}
