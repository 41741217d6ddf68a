// SPDX-License-Identifier: Apache-2.0
//! Named, versioned modulus chains. A name never changes its meaning; a new choice gets a new suffix and a new code.
//!
//! `n14_q7p2x46_d2_sec128_v1` reads: `N = 2^14`, 7 ciphertext and 2 special primes of 46 bits, 2 primes per key-switching
//! digit, 128 bits of security. Level 0 has the first prime, every level one more. Primes of `46u` bits are 1 modulo 65537 too.

use super::{ChainError, ChainParams, ChainSpec};
use crate::primes::{BITS_46, UNIT_PRIMES, primes_of};
use crate::security::SecurityLevel;

/// A named chain.
#[derive(Debug, PartialEq, Eq)]
pub struct ChainPreset {
    name: &'static str,
    code: u16,
    degree_log2: u32,
    primes: Primes,
    universe_count: usize,
    special_count: usize,
    digit_limbs: usize,
    security: SecurityLevel,
}

/// Where a preset's primes come from; the special ones are the first.
#[derive(Debug, PartialEq, Eq)]
enum Primes {
    List(&'static [u64]),
    OfBits(u32),
}

impl ChainPreset {
    /// The stable name.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The stable number.
    pub fn code(&self) -> u16 {
        self.code
    }
    /// The level of the security table that the name claims.
    pub fn security(&self) -> SecurityLevel {
        self.security
    }

    /// The chain.
    ///
    /// # Errors
    /// None: a test makes every one of them.
    pub fn params(&self) -> Result<ChainParams, ChainError> {
        let mut primes = match self.primes {
            Primes::List(list) => list,
            Primes::OfBits(bits) => primes_of(bits),
        }
        .iter()
        .copied();
        let special = primes.by_ref().take(self.special_count).collect();
        let universe: Vec<u64> = primes.take(self.universe_count).collect();
        let levels = (1..=self.universe_count as u8).map(|count| (0..count).collect()).collect();
        let (degree, digit_limbs) = (1 << self.degree_log2, self.digit_limbs);
        ChainParams::with_security(
            ChainSpec { degree, universe, special, levels, digit_limbs },
            self.security,
        )
    }
}

/// All named chains, smallest ring first.
pub fn chain_presets() -> &'static [ChainPreset] {
    PRESETS
}

pub(crate) fn known_names() -> String {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

/// The largest primes below `2^42.8` that are `1 mod 2^17`: five of them fill the table at `N = 8192` (213.999996 of 214 bits).
const Q42_8: [u64; 5] = [0x6f6_e316_0001, 0x6f6_e310_0001, 0x6f6_e30e_0001, 0x6f6_e2ea_0001, 0x6f6_e2ae_0001];

const B128: SecurityLevel = SecurityLevel::Bits128;
const B192: SecurityLevel = SecurityLevel::Bits192;
const B256: SecurityLevel = SecurityLevel::Bits256;
const X46: Primes = Primes::List(&BITS_46);
const X46U: Primes = Primes::List(&UNIT_PRIMES);

/// `counts`: ciphertext primes, special primes, primes per digit.
const fn chain(
    name: &'static str,
    code: u16,
    degree_log2: u32,
    primes: Primes,
    counts: (usize, usize, usize),
    security: SecurityLevel,
) -> ChainPreset {
    let (universe_count, special_count, digit_limbs) = counts;
    ChainPreset { name, code, degree_log2, primes, universe_count, special_count, digit_limbs, security }
}

/// Code 102 had primes of 35 bits; the attack on it cost 2^130.3.
static PRESETS: &[ChainPreset] = &[
    chain("n12_q2p0x46_d1_sec128_v1", 101, 12, X46, (2, 0, 1), B128),
    chain("n12_q2p1x34_d1_sec128_v1", 114, 12, Primes::OfBits(34), (2, 1, 1), B128),
    chain("n13_q3p1x46_d1_sec128_v1", 103, 13, X46, (3, 1, 1), B128),
    chain("n13_q4p1x43_d1_sec128_v1", 104, 13, Primes::List(&Q42_8), (4, 1, 1), B128),
    chain("n14_q5p1x46_d1_sec192_v1", 105, 14, X46, (5, 1, 1), B192),
    chain("n14_q5p1x46u_d1_sec192_v1", 115, 14, X46U, (5, 1, 1), B192),
    chain("n14_q6p3x46_d3_sec128_v1", 106, 14, X46, (6, 3, 3), B128),
    chain("n14_q7p2x46_d2_sec128_v1", 107, 14, X46, (7, 2, 2), B128),
    chain("n14_q8p1x46_d1_sec128_v1", 108, 14, X46, (8, 1, 1), B128),
    chain("n15_q8p2x46_d2_sec256_v1", 109, 15, X46, (8, 2, 2), B256),
    chain("n15_q12p6x46_d6_sec128_v1", 110, 15, X46, (12, 6, 6), B128),
    chain("n15_q14p4x46_d4_sec128_v1", 111, 15, X46, (14, 4, 4), B128),
    chain("n15_q15p3x46_d3_sec128_v1", 112, 15, X46, (15, 3, 3), B128),
    chain("n15_q17p1x46_d1_sec128_v1", 113, 15, X46, (17, 1, 1), B128),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamsError;
    use crate::presets::{chain_preset, chain_preset_by_code};
    use crate::primes::UNIT_OF;
    use crate::security::max_log_q;

    /// FNV-1a, so that the test sees a change of any number of a chain.
    fn digest(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn every_chain_is_what_its_name_says_and_within_the_table() {
        for preset in chain_presets() {
            let params = preset.params().unwrap();
            let (q, p) = (params.universe().len(), params.special().len());
            let all = || params.universe().iter().chain(params.special());
            let bits = 64 - all().max().unwrap().leading_zeros();
            assert!(all().all(|prime| 64 - prime.leading_zeros() == bits));
            let (degree_log2, security) = (params.degree().trailing_zeros(), preset.security().bits());
            let digit = params.digit_limbs();
            let unit = if all().all(|prime| prime % UNIT_OF == 1) { "u" } else { "" };
            let name = format!("n{degree_log2}_q{q}p{p}x{bits}{unit}_d{digit}_sec{security}_v1");
            assert_eq!(preset.name(), name);
            let max = max_log_q(params.degree() as u32, preset.security()).unwrap();
            assert!(params.log_qp_ceil() <= max, "{name}");
            assert!(params.security_bits() >= security);
            assert_eq!(usize::from(params.top().0), q - 1);
            assert_eq!(chain_preset(&name).unwrap(), preset);
            assert_eq!(chain_preset_by_code(preset.code()).unwrap(), preset);
        }
        let codes: std::collections::BTreeSet<u16> = chain_presets().iter().map(ChainPreset::code).collect();
        assert!(codes.len() == chain_presets().len() && !codes.contains(&102));
        let unknown = chain_preset("n10").unwrap_err();
        assert_eq!(unknown, ParamsError::UnknownChain { found: "n10".to_owned() });
        assert!(
            chain_presets().iter().all(|preset| unknown.to_string().contains(preset.name())),
            "{unknown}"
        );
        assert_eq!(chain_preset_by_code(1), Err(ParamsError::UnknownChainCode { found: 1 }));
    }

    #[test]
    fn chains_keep_their_numbers() {
        let digests: Vec<(u16, u64)> = chain_presets()
            .iter()
            .map(|preset| (preset.code(), digest(&preset.params().unwrap().canonical_bytes())))
            .collect();
        assert_eq!(digests, GOLDEN);
        let first = chain_preset("n13_q4p1x43_d1_sec128_v1").unwrap().params().unwrap();
        assert_eq!((first.special(), first.universe()), (&Q42_8[..1], &Q42_8[1..]));
    }

    const GOLDEN: [(u16, u64); 14] = [
        (101, 3600235185946982632),
        (114, 3966177631620572138),
        (103, 16416937797718747805),
        (104, 3343790385100134895),
        (105, 1283469558940727922),
        (115, 92409160171094798),
        (106, 13333492743123478540),
        (107, 12479204371240366382),
        (108, 7566588903559722460),
        (109, 8450136749324977355),
        (110, 9444327596399309800),
        (111, 3936400885065462474),
        (112, 4454591178839344628),
        (113, 1223625881193413629),
    ];
}
