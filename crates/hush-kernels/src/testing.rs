// SPDX-License-Identifier: Apache-2.0
//! Tools for tests: a reproducible generator, moduli of every size, extreme and random residues.

use hush_arith::{MAX_MODULUS, Modulus, prime::is_prime};

use crate::Cpu;

/// Splitmix64: small, and the seed in a failure message reproduces it.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn words(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.word()).collect()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.word() as u8).collect()
    }

    /// Residues; about one in four is 0, 1 or q − 1.
    pub(crate) fn residues(&mut self, modulus: Modulus, count: usize) -> Vec<u64> {
        let q = modulus.value();
        let residue = |word: u64| match word >> 60 {
            0 => 0,
            1 => 1 % q,
            2 | 3 => q - 1,
            _ => (word & ((1 << 60) - 1)) % q,
        };
        (0..count).map(|_| residue(self.word())).collect()
    }
}

/// The paths other than the scalar one; says so when there are none, so that a skipped comparison shows.
#[expect(clippy::print_stderr, reason = "a test that compares nothing must say so")]
pub(crate) fn vector_paths() -> Vec<Cpu> {
    let paths: Vec<Cpu> = Cpu::available().into_iter().filter(|&cpu| cpu != Cpu::scalar()).collect();
    if paths.is_empty() {
        eprintln!("SKIPPED: this machine has the scalar path only, nothing to compare");
    }
    paths
}

/// The largest prime below `2^bits` that is 1 modulo `2·degree`.
pub(crate) fn ntt_prime(bits: u32, degree: usize) -> Modulus {
    ntt_prime_at_most(1 << bits, degree)
}

/// The largest prime of the supported range that is 1 modulo `2·degree`.
pub(crate) fn largest_ntt_prime(degree: usize) -> Modulus {
    ntt_prime_at_most(MAX_MODULUS, degree)
}

fn ntt_prime_at_most(limit: u64, degree: usize) -> Modulus {
    let step = 2 * degree as u64;
    let first = (limit - 1) / step * step + 1;
    let prime = (0..first / step).map(|i| first - i * step).find(|&n| is_prime(n)).unwrap();
    Modulus::new(prime).unwrap()
}

/// Primes of every size class, from the smallest to the largest allowed.
pub(crate) fn moduli() -> Vec<Modulus> {
    let sizes = [30, 31, 32, 35, 40, 45, 46].map(|bits| ntt_prime(bits, 8));
    let above = [30u32, 45, 46].map(|bits| {
        let prime = (1u64 << bits..).find(|&n| is_prime(n)).unwrap();
        Modulus::new(prime).unwrap()
    });
    let small = [2, 3, 17, 257, 32_749, 32_771, 65_537].map(|q| Modulus::new(q).unwrap());
    [&small[..], &sizes, &above, &[largest_ntt_prime(8)]].concat()
}

/// Lengths around multiples of the vector widths, and longer ones that are not.
pub(crate) fn lengths() -> impl Iterator<Item = usize> {
    (0..=25).chain([63, 64, 65, 127, 128, 129, 1000])
}
