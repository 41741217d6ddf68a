// SPDX-License-Identifier: Apache-2.0
//! Parameter sets of TFHE: what is encrypted bit by bit or in small digits, and bootstrapped with a table.
//!
//! ```text
//!   large ciphertext  k·N, modulo a prime ─ key switch ─▶ small  n, modulo 2^32 ─ modulus switch ─▶ n, modulo 2N
//!          ▲                                                                                          │
//!          └──────────────────────────────────── blind rotation of a table, one coefficient ◀─────────┘
//! ```
//!
//! *Secrets.* That of large ciphertexts is uniform ternary, with errors as everywhere ([`crate::noise`]). That of small ones is uniform binary, with
//! errors uniform in `±2^b`, of which both ends have half the chance of the others (TUniform).
//!
//! *Security.* [`LWE_ESTIMATES`] and [`GLWE_ESTIMATES`] hold what the Lattice Estimator gives, and a test compares each set with them; `tools/estimate.py --tfhe` runs it.
//! That the evaluation keys encrypt secrets under one another is assumed to do no harm (circular security), as in every scheme with bootstrapping.
//!
//! *References.* Chillotti, Gama, Georgieva and Izabachène, J. Cryptology 2020; modulus switching with its mean taken out: de Ruijter, D'Anvers and Verbauwhede, ePrint 2025/809.

mod noise;

pub use noise::Variances;

/// The messages of a set, as fractions of the torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Integers of so many bits, below a bit that stays 0: `m / 2^(bits + 1)`.
    Padded {
        /// Bits of a message.
        bits: u32,
    },
    /// True and false: `1/8` and `−1/8`.
    Signs,
}

/// Where coefficients are cut in digits for the key switch: `levels` balanced digits of `bits` bits, from the highest bit of 32 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchDigits {
    /// Bits of a digit.
    pub bits: u32,
    /// Digits.
    pub levels: u32,
}

/// A named parameter set.
///
/// *Invariants* (tests compare every set with them): `N` is a power of two; the prime is 1 modulo `2N`; wrong results have a chance below `2^-128`
/// as long as no more than [`TfheSet::norm`] goes into a bootstrapping.
#[derive(Debug, PartialEq, Eq)]
pub struct TfheSet {
    name: &'static str,
    code: u16,
    dimension: usize,
    noise_bits: u32,
    rank: usize,
    degree: usize,
    prime: u64,
    gadget_shift: u32,
    switch: SwitchDigits,
    messages: Messages,
    norm: u32,
}

impl TfheSet {
    /// Its name, of which the last part is the version.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// Its number in objects.
    pub fn code(&self) -> u16 {
        self.code
    }
    /// `n`: coefficients of the secret of small ciphertexts.
    pub fn dimension(&self) -> usize {
        self.dimension
    }
    /// `b`: errors of small ciphertexts are integers from `−2^b` to `2^b`, modulo `2^32`.
    pub fn noise_bits(&self) -> u32 {
        self.noise_bits
    }
    /// `k`: polynomials of the secret of large ciphertexts.
    pub fn rank(&self) -> usize {
        self.rank
    }
    /// `N`: coefficients of a polynomial.
    pub fn degree(&self) -> usize {
        self.degree
    }
    /// `q`: the prime that large ciphertexts are modulo.
    pub fn prime(&self) -> u64 {
        self.prime
    }
    /// Coefficients of a large ciphertext but the last, `k·N`.
    pub fn large_dimension(&self) -> usize {
        self.rank * self.degree
    }
    /// log2 of the unit of the digits of blind rotations. A coefficient has one.
    pub fn gadget_shift(&self) -> u32 {
        self.gadget_shift
    }
    /// The digits of the key switch.
    pub fn switch(&self) -> SwitchDigits {
        self.switch
    }
    /// What is encrypted.
    pub fn messages(&self) -> Messages {
        self.messages
    }
    /// Most that the absolute values of the coefficients of a sum may add up to, where it is a sum of bootstrapped or fresh ciphertexts and goes
    /// into a bootstrapping.
    pub fn norm(&self) -> u32 {
        self.norm
    }
    /// Labelled security in bits.
    pub fn security_bits(&self) -> u32 {
        128
    }
    /// log2 of the prime.
    pub fn log_q(&self) -> f64 {
        (self.prime as f64).log2()
    }
}

/// For integers in digits of two bits with room for two more: sums of a few digits and functions of two.
pub const INTEGERS: TfheSet = TfheSet {
    name: "tfhe_m2c2_n942_k1_n11_q47_sec128_v1",
    code: 1,
    dimension: 942,
    noise_bits: 12,
    rank: 1,
    degree: 2048,
    prime: 0x7c1f_0782_0001,
    gadget_shift: 25,
    switch: SwitchDigits { bits: 4, levels: 4 },
    messages: Messages::Padded { bits: 4 },
    norm: 5,
};

/// For gates: a set of its own, in which a bootstrapping takes half the time.
pub const GATES: TfheSet = TfheSet {
    name: "tfhe_gate_n702_k3_n9_q38_sec128_v1",
    code: 2,
    dimension: 702,
    noise_bits: 18,
    rank: 3,
    degree: 512,
    prime: 0x3f_ffe8_0001,
    gadget_shift: 20,
    switch: SwitchDigits { bits: 3, levels: 4 },
    messages: Messages::Signs,
    norm: 4,
};

/// All sets, by their codes.
pub const SETS: [&TfheSet; 2] = [&INTEGERS, &GATES];

/// Estimates for binary secrets of `n` coefficients with any number of samples: log2 of the least standard deviation, in relation to the modulus, that
/// the cheapest known attack (primal uSVP, primal BDD, dual hybrid) takes 2^132 operations for. Lattice Estimator, cost model RC.MATZOV. A wider search over the dual
/// hybrid's parameters than the estimator's finds 1 to 2 bits less, still above 130 (docs/security/parameters.md).
pub const LWE_ESTIMATES: [(usize, f64); 8] = [
    (560, -11.32),
    (620, -12.81),
    (680, -14.30),
    (740, -15.76),
    (800, -17.29),
    (860, -18.74),
    (920, -20.28),
    (980, -21.81),
];

/// Estimates for uniform ternary secrets of `k·N` coefficients with errors as everywhere: log2 of the modulus, and bits of the cheapest known attack
/// (primal uSVP, primal BDD, dual hybrid). A smaller modulus is safer.
pub const GLWE_ESTIMATES: [(usize, f64, f64); 5] = [
    (1024, 25.9, 132.0),
    (1536, 38.0, 134.9),
    (2048, 46.96, 146.3),
    (2048, 50.0, 137.1),
    (4096, 93.9, 146.9),
];

/// log2 of the least standard deviation for a binary secret of `n` coefficients, between two lines of [`LWE_ESTIMATES`]; `None` outside.
pub fn least_noise_log2(n: usize) -> Option<f64> {
    LWE_ESTIMATES.windows(2).find_map(|lines| match lines {
        [(low, from), (high, to)] if (*low..=*high).contains(&n) => {
            Some(from + (to - from) * (n - low) as f64 / (high - low) as f64)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
