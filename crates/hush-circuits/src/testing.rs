// SPDX-License-Identifier: Apache-2.0
//! Owners of keys, and inputs for tests.

use hush_keys::ChainSecret;
use hush_params::ChainParams;
use hush_params::chain::ChainSpec;
use hush_params::primes::primes_of;
use hush_ring::{Cpu, Level};
use hush_rlwe::{EvaluationKeys, RlweCiphertext};
use hush_schemes::bgv::{Bfv, Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};
pub(crate) use hush_testkit::Draw;

/// Prime, and 1 modulo every `2N` in use.
pub(crate) const T: u64 = 65537;

/// Test inputs of this crate's kinds.
pub(crate) trait Inputs {
    /// Residues modulo [`T`].
    fn integers(&mut self, count: usize) -> Vec<i64>;
    /// Complex numbers with parts from −1 to 1.
    fn complex(&mut self, count: usize) -> Vec<Complex>;
}

impl Inputs for Draw {
    fn integers(&mut self, count: usize) -> Vec<i64> {
        self.residues(T, count)
    }
    fn complex(&mut self, count: usize) -> Vec<Complex> {
        let (re, im) = (self.reals(count, -1.0, 1.0), self.reals(count, -1.0, 1.0));
        re.iter().zip(im).map(|(&re, im)| Complex { re, im }).collect()
    }
}

/// The residue nearest to zero.
pub(crate) fn centered(value: i128) -> i64 {
    let t = i128::from(T);
    let residue = value.rem_euclid(t);
    (if residue > t / 2 { residue - t } else { residue }) as i64
}

/// One prime of 46 bits for each level over a base of two, on a ring that is far too small.
pub(crate) fn toy(degree: u32, depth: usize, digit_limbs: usize) -> ChainParams {
    let universe = primes_of(46)[..depth + 2].to_vec();
    let special = primes_of(47)[..digit_limbs].to_vec();
    let levels = (2..=depth as u8 + 2).map(|count| (0..count).collect()).collect();
    ChainParams::insecure_toy(ChainSpec { degree, universe, special, levels, digit_limbs }).unwrap()
}

/// Levels of 55 bits that are no prefixes of one another.
pub(crate) fn rational(degree: u32, depth: u32) -> ChainParams {
    ChainParams::insecure_toy(ChainParams::rational_spec(degree, 55.0, depth, 70.0, 2).unwrap()).unwrap()
}

/// The scale that suits [`toy`].
pub(crate) const TOY_SCALE_LOG2: f64 = 45.99;

/// Scheme, secret and keys.
pub(crate) struct Owner<S> {
    pub(crate) scheme: S,
    pub(crate) secret: ChainSecret,
    pub(crate) keys: EvaluationKeys,
}

impl<S: crate::SlotScheme> Owner<S> {
    pub(crate) fn of(scheme: S, elements: &[usize]) -> Self {
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let keys = secret.evaluation_keys(true, elements).unwrap();
        Self { scheme, secret, keys }
    }
    /// With other Galois keys.
    pub(crate) fn rekey(&mut self, elements: &[usize]) {
        self.keys = self.secret.evaluation_keys(true, elements).unwrap();
    }
}

pub(crate) fn bgv(params: &ChainParams) -> Owner<Bgv> {
    Owner::of(Bgv::new(params, T, Cpu::detect().unwrap()).unwrap(), &[])
}

pub(crate) fn bfv(params: &ChainParams) -> Owner<Bfv> {
    Owner::of(Bfv::new(params, T, Cpu::detect().unwrap()).unwrap(), &[])
}

pub(crate) fn ckks(params: &ChainParams, scale_log2: f64) -> Owner<Ckks> {
    Owner::of(Ckks::new(params, scale_log2, Cpu::detect().unwrap()).unwrap(), &[])
}

impl Owner<Bgv> {
    pub(crate) fn encrypt(&self, values: &[i64], level: Level) -> BgvCiphertext {
        let fresh = self.secret.encrypt(self.scheme.encode(values, level).unwrap()).unwrap();
        self.scheme.ciphertext(fresh.expand().unwrap()).unwrap()
    }
    pub(crate) fn decrypt(&self, a: &BgvCiphertext) -> Vec<i64> {
        self.scheme.decode(self.secret.phase(a.inner()).unwrap().poly(), a).unwrap()
    }
}

impl Owner<Bfv> {
    pub(crate) fn encrypt(&self, values: &[i64], level: Level) -> RlweCiphertext {
        self.secret.encrypt(self.scheme.encode(values, level).unwrap()).unwrap().expand().unwrap()
    }
    pub(crate) fn decrypt(&self, a: &RlweCiphertext) -> Vec<i64> {
        self.scheme.decode(self.secret.phase(a).unwrap().poly()).unwrap()
    }
}

impl Owner<Ckks> {
    pub(crate) fn encrypt(&self, values: &[Complex], level: Level) -> CkksCiphertext {
        let fresh = self.secret.encrypt(self.scheme.encode(values, level).unwrap()).unwrap();
        self.scheme.ciphertext(fresh.expand().unwrap()).unwrap()
    }
    pub(crate) fn encrypt_real(&self, values: &[f64], level: Level) -> CkksCiphertext {
        let values: Vec<Complex> = values.iter().map(|&re| Complex { re, im: 0.0 }).collect();
        self.encrypt(&values, level)
    }
    pub(crate) fn decrypt(&self, a: &CkksCiphertext) -> Vec<Complex> {
        assert_eq!(a.scale(), self.scheme.scale(a.level()).unwrap(), "the scale of the level");
        self.scheme.decode(self.secret.phase(a.inner()).unwrap().poly(), a.scale()).unwrap()
    }
    /// Asserts that slots are real and near to what they should be.
    pub(crate) fn assert_near(&self, a: &CkksCiphertext, expected: &[f64], precision_log2: f64) {
        let expected: Vec<Complex> = expected.iter().map(|&re| Complex { re, im: 0.0 }).collect();
        assert_close(&self.decrypt(a), &expected, precision_log2);
    }
}

pub(crate) fn assert_close(found: &[Complex], expected: &[Complex], precision_log2: f64) {
    let error = |(&a, &b): (&Complex, &Complex)| (a - b).re.hypot((a - b).im);
    let worst = found.iter().zip(expected).map(error).fold(0.0, f64::max);
    assert!(worst < precision_log2.exp2(), "off by 2^{:.2}, allowed 2^{precision_log2:.2}", worst.log2());
}
