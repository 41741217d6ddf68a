// SPDX-License-Identifier: Apache-2.0
//! The sizes of the scheme.

use super::{
    Cnt12Error,
    circuit::{self, NoiseGates},
    error::Stage,
};
use crate::LabError;

/// Sizes, not yet checked; the paper's names in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsecureCnt12Literal {
    /// The security parameter that the set claims, in bits (`λ`). It claims too much.
    pub security: u32,
    /// Bits of the noise of the public key (`ρ`).
    pub noise_bits: u64,
    /// Bits of the secret prime (`η`).
    pub prime_bits: u64,
    /// Bits of a ciphertext (`γ`).
    pub ciphertext_bits: u64,
    /// Encryptions of zero in the public key (`τ`).
    pub zero_count: usize,
    /// Bits of the factors that an encryption multiplies them with (`α`).
    pub factor_bits: u64,
    /// Bits of the squashed secret key (`Θ`).
    pub secret_bits: usize,
    /// Ones among them, one in each box (`θ`).
    pub boxes: usize,
    /// Fractional bits of an expanded ciphertext (`n`).
    pub precision: u32,
}

/// Sizes that fit together.
///
/// *Invariants* (checked by [`InsecureCnt12Parameters::new`]): fresh ciphertexts can be refreshed in the worst case of
/// their noise, and products of two refreshed ones in the usual case with a margin.
///
/// # Memory
/// Working memory of Recrypt, the largest need, beside the public key: `θ·(n+1)·γ/8` bytes of encrypted bits, thrice 16·L for
/// transforms and 56·L for constants, where L is 2^13, 2^16, 2^18, 2^21 for the named sets: about 3, 15, 70 and 400 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsecureCnt12Parameters {
    literal: InsecureCnt12Literal,
}

impl InsecureCnt12Parameters {
    /// Checks sizes.
    ///
    /// # Errors
    /// [`Cnt12Error::ParameterOutOfRange`], [`Cnt12Error::Boxes`], [`Cnt12Error::Noise`].
    pub fn new(literal: InsecureCnt12Literal) -> Result<Self, Cnt12Error> {
        let l = &literal;
        let ranges = [
            ("security", u64::from(l.security), 1, 256),
            ("rho", l.noise_bits, 1, 1 << 10),
            ("eta", l.prime_bits, l.noise_bits + 16, 1 << 14),
            ("gamma", l.ciphertext_bits, l.prime_bits + 512, 40_000_000),
            // κ exceeds γ by a number of bits, and sums of ciphertexts have room in the last word.
            ("gamma mod 64", l.ciphertext_bits % 64, 0, 44),
            ("tau", l.zero_count as u64, 1, 1 << 16),
            ("alpha", l.factor_bits, 1, l.prime_bits),
            ("theta", l.boxes as u64, 1, 255),
            ("Theta", l.secret_bits as u64, 1, 1 << 16),
            ("n", l.precision.into(), 1, 7),
        ];
        for (name, found, min, max) in ranges {
            if !(min..=max).contains(&found) {
                return Err(Cnt12Error::ParameterOutOfRange { name, found, min, max });
            }
        }
        if !l.secret_bits.is_multiple_of(l.boxes) {
            return Err(Cnt12Error::Boxes { secret_bits: l.secret_bits, boxes: l.boxes });
        }
        // Each number of the sum is rounded by up to 2^−(n+1): all together must stay below one half.
        let max = (1u64 << l.precision) - 1;
        if l.boxes as u64 > max {
            return Err(Cnt12Error::ParameterOutOfRange {
                name: "theta",
                found: l.boxes as u64,
                min: 1,
                max,
            });
        }
        let parameters = Self { literal };
        let max = parameters.refreshable_bits();
        for (stage, found) in [
            (Stage::Fresh, parameters.fresh_noise_bits()),
            (Stage::Product, 2 * parameters.refreshed_noise_bits()),
        ] {
            if found > max {
                return Err(Cnt12Error::Noise { stage, found, max });
            }
        }
        Ok(parameters)
    }

    /// The set with `λ = 42`, as the authors' program has it; its key falls to a laptop.
    pub const fn insecure_toy() -> Self {
        Self::named(42, 26, 988, 147_456, 158, 936, 150)
    }

    /// The set with `λ = 52`.
    pub const fn insecure_small() -> Self {
        Self::named(52, 41, 1558, 843_033, 572, 1476, 555)
    }

    /// The set with `λ = 62`.
    pub const fn insecure_medium() -> Self {
        Self::named(62, 56, 2128, 4_251_866, 2110, 2016, 2070)
    }

    /// The set with `λ = 72`.
    pub const fn insecure_large() -> Self {
        Self::named(72, 71, 2698, 19_575_950, 7659, 2556, 7965)
    }

    /// A set of our own for tests: no security at all, operations of milliseconds.
    pub const fn insecure_mini() -> Self {
        Self::named(16, 12, 640, 20_008, 20, 600, 30)
    }

    const fn named(
        security: u32,
        noise_bits: u64,
        prime_bits: u64,
        ciphertext_bits: u64,
        zero_count: usize,
        factor_bits: u64,
        secret_bits: usize,
    ) -> Self {
        let (boxes, precision) = (15, 4);
        Self {
            literal: InsecureCnt12Literal {
                security,
                noise_bits,
                prime_bits,
                ciphertext_bits,
                zero_count,
                factor_bits,
                secret_bits,
                boxes,
                precision,
            },
        }
    }

    /// The named sets from the smallest on, with their names: mini (ours), toy, small, medium, large.
    pub const fn insecure_named() -> [(&'static str, Self); 5] {
        [
            ("mini", Self::insecure_mini()),
            ("toy", Self::insecure_toy()),
            ("small", Self::insecure_small()),
            ("medium", Self::insecure_medium()),
            ("large", Self::insecure_large()),
        ]
    }

    /// The named set of a security parameter, some of its sizes replaced: by the names of the paper, `Theta` for `Θ` and `theta` for `θ`.
    ///
    /// # Errors
    /// [`LabError::Set`] for a security parameter without a set; [`LabError::Parameter`] for an unknown name; [`LabError::Cnt12`] for
    /// sizes that do not fit.
    pub fn named_with(security: u32, sizes: &[(String, u64)]) -> Result<Self, LabError> {
        let named = Self::insecure_named().into_iter().find(|(_, set)| set.literal.security == security);
        let mut literal = named.ok_or(LabError::Set { scheme: "cnt12", security, depth: None })?.1.literal;
        let short = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        for &(ref name, value) in sizes {
            match name.as_str() {
                "rho" => literal.noise_bits = value,
                "eta" => literal.prime_bits = value,
                "gamma" => literal.ciphertext_bits = value,
                "tau" => literal.zero_count = short(value),
                "alpha" => literal.factor_bits = value,
                "Theta" => literal.secret_bits = short(value),
                "theta" => literal.boxes = short(value),
                "n" => literal.precision = u32::try_from(value).unwrap_or(u32::MAX),
                _ => {
                    return Err(LabError::Parameter {
                        name: "of cnt12",
                        found: name.clone(),
                        expected: "rho, eta, gamma, tau, alpha, Theta, theta or n",
                    });
                }
            }
        }
        Ok(Self::new(literal)?)
    }

    /// The sizes.
    pub const fn literal(&self) -> &InsecureCnt12Literal {
        &self.literal
    }

    /// Words of a ciphertext and of each `y_i`: `⌊γ/64⌋ + 1`, so that `κ + 1 = 64·word_count`.
    pub const fn word_count(&self) -> usize {
        (self.literal.ciphertext_bits / 64 + 1) as usize
    }

    /// Bits of the noise that an encryption adds itself: `ρ' = η − ρ`, as in the authors' program.
    pub const fn encryption_noise_bits(&self) -> u64 {
        self.literal.prime_bits - self.literal.noise_bits
    }

    /// A bound on the noise of [`super::InsecureCnt12PublicKey::encrypt`], bits: `2r + m + Σ b_i·2r_i`.
    pub fn fresh_noise_bits(&self) -> u64 {
        let l = &self.literal;
        let sum = l.factor_bits as f64 + l.noise_bits as f64 + 1.0 + (l.zero_count as f64).log2();
        circuit::log2_sum(sum, self.encryption_noise_bits() as f64 + 1.0).ceil() as u64
    }

    /// The noise of a refreshed ciphertext hardly ever exceeds this, and then by a few bits (492 instead of 490 was seen in the toy set):
    /// its usual size after the circuit of Recrypt on encrypted
    /// bits that are each a sum of up to `Θ/θ` bits of the key, and `MARGIN_BITS`.
    pub fn refreshed_noise_bits(&self) -> u64 {
        let l = &self.literal;
        // 2r has the standard deviation 2^(ρ+1)/√3; half of a box is summed.
        let input = l.noise_bits as f64 + 1.0 - 3f64.log2() / 2.0
            + ((l.secret_bits / l.boxes) as f64 / 2.0).max(1.0).log2() / 2.0;
        let columns = vec![vec![input; l.boxes]; l.precision as usize + 1];
        circuit::rounded_sum(&NoiseGates, columns)
            .map_or(u64::MAX / 4, |bits| bits.ceil() as u64 + MARGIN_BITS)
    }

    /// The most bits of noise with which Recrypt is proven to work: below `p·(1/2 − θ/2^(n+1))`, less one bit for the error of
    /// `2^κ/p`.
    pub fn refreshable_bits(&self) -> u64 {
        let l = &self.literal;
        let room = 0.5 - l.boxes as f64 / f64::from(1u32 << (l.precision + 1));
        // p has its bit η − 1 set.
        (l.prime_bits - 2).saturating_sub((-room.log2()).ceil() as u64)
    }

    /// Bytes of the public key as stored: `((τ + Θ)(η + λ) + 2γ)/8`.
    pub const fn public_key_bytes(&self) -> u64 {
        let l = &self.literal;
        let corrections = (l.zero_count + l.secret_bits) as u64 * (l.prime_bits + l.security as u64);
        (corrections + 2 * l.ciphertext_bits) / 8
    }

    /// Bytes of a ciphertext.
    pub const fn ciphertext_bytes(&self) -> u64 {
        self.literal.ciphertext_bits.div_ceil(8)
    }
}

/// Between the usual size of a refreshed ciphertext's noise and what it hardly ever exceeds: as much as the toy set has room for.
const MARGIN_BITS: u64 = 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_sets_fit_and_have_the_published_sizes() {
        let bytes = [None, Some(76_519), Some(437_567), Some(2_207_241), Some(10_303_797)];
        for ((name, set), bytes) in InsecureCnt12Parameters::insecure_named().into_iter().zip(bytes) {
            let checked = InsecureCnt12Parameters::new(*set.literal());
            assert!(checked.is_ok(), "{name}: {checked:?}");
            if let Some(bytes) = bytes {
                assert_eq!(set.public_key_bytes(), bytes, "{name}");
            }
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let good = *InsecureCnt12Parameters::insecure_mini().literal();
        let bad = [
            InsecureCnt12Literal { prime_bits: 300, factor_bits: 270, ..good },
            InsecureCnt12Literal { factor_bits: 630, ..good },
            InsecureCnt12Literal { secret_bits: 31, ..good },
            InsecureCnt12Literal { ciphertext_bits: 20_031, ..good },
            InsecureCnt12Literal { ciphertext_bits: 0, ..good },
            InsecureCnt12Literal { boxes: 30, ..good },
            InsecureCnt12Literal { boxes: 0, ..good },
            InsecureCnt12Literal { precision: 40, ..good },
            InsecureCnt12Literal { security: 0, ..good },
            InsecureCnt12Literal { noise_bits: u64::MAX >> 12, ..good },
            InsecureCnt12Literal { zero_count: usize::MAX, ..good },
        ];
        for literal in bad {
            assert!(InsecureCnt12Parameters::new(literal).is_err(), "{literal:?}");
        }
    }
}
