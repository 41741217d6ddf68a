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
//! *Search.* [`cheapest`] gives the set of least work for messages of so many bits, by the formulas of [`TfheSet::failure_log2`]. A test compares the named sets with it.
//!
//! *References.* Chillotti, Gama, Georgieva and Izabachène, J. Cryptology 2020; modulus switching with its mean taken out: de Ruijter, D'Anvers and Verbauwhede, ePrint 2025/809.

pub mod bridge;
mod noise;
mod search;
mod sets;

pub use noise::{CircuitVariances, Variances};
pub use search::cheapest;
pub use sets::{GATES, INTEGERS, MESSAGES, SETS, WIDE};

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

/// Balanced digits of residues: the lowest in units of `2^shift`, the others `bits` bits higher each. The highest has what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    /// log2 of the lowest unit: what is below is rounded.
    pub shift: u32,
    /// Bits of a digit but the highest.
    pub bits: u32,
    /// Digits.
    pub levels: u32,
}

impl Gadget {
    /// log2 of the units, the lowest first.
    pub fn units(self) -> impl Iterator<Item = u32> {
        (0..self.levels).map(move |level| self.shift + self.bits * level)
    }
}

/// What circuit bootstrapping takes: digits of the selectors that it makes, and of the keys that make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitDigits {
    /// Of selectors: a rotation gives all of their levels, at most 4.
    pub selector: Gadget,
    /// Of the keys of automorphisms, and of the key to the square of the secret.
    pub switch: Gadget,
}

/// A named parameter set.
///
/// *Invariants* (tests compare every set with them): `N` is a power of two, and the expansion; the prime is 1 modulo `2N`; wrong results have a chance below `2^-128`
/// as long as no more than [`TfheSet::norm`] goes into a bootstrapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfheSet {
    name: &'static str,
    code: u16,
    dimension: usize,
    noise_bits: u32,
    rank: usize,
    degree: usize,
    prime: u64,
    expansion: usize,
    gadget: Gadget,
    switch: SwitchDigits,
    messages: Messages,
    norm: u32,
    circuit: Option<CircuitDigits>,
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
    /// How many times `N` coefficients a table has. A polynomial of so many times the degree is as many of degree `N`, which the keys serve as they are.
    pub fn expansion(&self) -> usize {
        self.expansion
    }
    /// Coefficients of a table, `expansion·N`.
    pub fn table_degree(&self) -> usize {
        self.expansion * self.degree
    }
    /// The digits of blind rotations.
    pub fn gadget(&self) -> Gadget {
        self.gadget
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
    /// The digits of circuit bootstrapping; `None` for a set without.
    pub fn circuit(&self) -> Option<CircuitDigits> {
        self.circuit
    }
    /// Bits of a message; 0 for signs.
    pub fn message_bits(&self) -> u32 {
        match self.messages {
            Messages::Padded { bits } => bits,
            Messages::Signs => 0,
        }
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

/// Estimates for binary secrets of `n` coefficients with any number of samples: log2 of the least standard deviation, in relation to the modulus, that
/// the cheapest known attack (primal uSVP, primal BDD, dual hybrid) takes 2^132 operations for. Lattice Estimator, cost model RC.MATZOV. A wider search over the dual
/// hybrid's parameters than the estimator's finds 1 to 2 bits less, still above 130 (docs/security/parameters.md).
pub const LWE_ESTIMATES: [(usize, f64); 11] = [
    (560, -11.32),
    (620, -12.81),
    (680, -14.30),
    (740, -15.76),
    (800, -17.29),
    (860, -18.74),
    (920, -20.28),
    (980, -21.81),
    (1020, -22.80),
    (1060, -23.80),
    (1100, -24.80),
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

#[cfg(any(test, feature = "insecure-toy"))]
impl TfheSet {
    /// A set of a small ring, of no security: for tests whose samples a real one would take too long to give. Rank 1, a prime of 46.95 bits, two digits of the gadget.
    pub fn insecure_toy(dimension: usize, degree: usize, expansion: usize) -> Self {
        Self {
            name: "tfhe_toy",
            code: 0,
            dimension,
            degree,
            expansion,
            noise_bits: 12,
            switch: SwitchDigits { bits: 3, levels: 6 },
            ..sets::WIDE
        }
    }
}

#[cfg(test)]
mod tests;
