// SPDX-License-Identifier: Apache-2.0
//! Named, versioned parameter sets, and how sets and chains are found by name or code. A name never changes its meaning; a new
//! choice gets a new suffix.

use crate::Fingerprint;
use crate::chain::DefinitionFault;
use crate::chain::presets::{self as chains, ChainPreset, chain_presets};
use crate::primes::{BITS_32, BITS_45, BITS_46 as Q46, UNIT_PRIMES};
use crate::security::{SecurityLevel, max_log_q};

/// A validated ring: degree and ciphertext primes. Obtained from [`preset`], never assembled by hand.
#[derive(Debug, PartialEq, Eq)]
pub struct ParamSet {
    name: &'static str,
    code: u16,
    degree: u32,
    moduli: &'static [u64],
    /// Primes of keys under the same secret, beside those of ciphertexts.
    special: &'static [u64],
    /// log2 of the cost of the best attack, in hundredths, rounded down.
    attack_log2_hundredths: u32,
}

/// Why parameters cannot be used.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ParamsError {
    /// A file defines a modulus chain that cannot be used.
    #[error("a modulus chain that the file defines is refused: {fault}")]
    Definition {
        /// What is wrong with it.
        fault: DefinitionFault,
    },
    /// A ring where a chain is needed.
    #[error("{found} is a ring, and a modulus chain is needed here")]
    NotAChain {
        /// Name of the ring.
        found: &'static str,
    },
    /// A chain where a ring is needed.
    #[error("{found} is a modulus chain, and a ring is needed here")]
    NotARing {
        /// Name of the chain.
        found: String,
    },
    /// A file defines one chain twice, or one that has a name.
    #[error("the file defines modulus chain {found} again: it is defined before, or is one of the list")]
    Repeated {
        /// Which chain.
        found: Fingerprint,
    },
    /// Neither the lists nor the file have a chain with this fingerprint.
    #[error("no modulus chain has the fingerprint {found}: the file that names it does not define it")]
    UnknownFingerprint {
        /// The fingerprint as found.
        found: Fingerprint,
    },
    /// No modulus chain has this name.
    #[error("unknown modulus chain {found:?}; this version knows {}", chains::known_names())]
    UnknownChain {
        /// The name as found.
        found: String,
    },
    /// No modulus chain has this code.
    #[error("unknown modulus chain code {found}; it may come from a newer version")]
    UnknownChainCode {
        /// The code as found.
        found: u16,
    },
    /// No set for bootstrapping has this name.
    #[error(
        "unknown parameter set for bootstrapping {found:?}; this version knows {}",
        crate::bootstrap::known_names()
    )]
    UnknownBootstrap {
        /// The name as found.
        found: String,
    },
    /// No preset has this name.
    #[error("unknown parameter set {found:?}; this version knows {}", known_names())]
    UnknownName {
        /// The name as found.
        found: String,
    },
    /// No preset has this code.
    #[error("unknown parameter code {found}; this file may come from a newer version")]
    UnknownCode {
        /// The code as found.
        found: u16,
    },
}

impl ParamSet {
    /// The stable name, for manifests and messages.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The stable number that binary headers carry.
    pub fn code(&self) -> u16 {
        self.code
    }
    /// Ring degree N.
    pub fn degree(&self) -> usize {
        self.degree as usize
    }
    /// The ciphertext primes q_0 … q_ℓ.
    pub fn moduli(&self) -> &'static [u64] {
        self.moduli
    }
    /// The primes that evaluation keys under the same secret have beside those of ciphertexts: the special ones of the chain that goes with the set.
    /// None where there are no such keys.
    pub fn special(&self) -> &'static [u64] {
        self.special
    }
    /// Number of limbs, ℓ + 1.
    pub fn limb_count(&self) -> usize {
        self.moduli.len()
    }
    /// log2 Q, real-valued.
    pub fn log_q(&self) -> f64 {
        self.moduli.iter().map(|q| (*q as f64).log2()).sum()
    }
    /// ⌈log2 Q⌉.
    pub fn log_q_ceil(&self) -> u32 {
        self.log_q().ceil() as u32
    }
    /// log2 of the modulus under which anything about a secret is published: `Q` times the special primes.
    pub fn log_qp(&self) -> f64 {
        self.moduli.iter().chain(self.special).map(|q| (*q as f64).log2()).sum()
    }
    /// Its ceiling, the figure that the security table is asked with.
    pub fn log_qp_ceil(&self) -> u32 {
        self.log_qp().ceil() as u32
    }
    /// Labelled security in bits (at least 128 for every preset).
    pub fn security_bits(&self) -> u32 {
        crate::security::security_bits(self.degree, self.log_qp_ceil()).unwrap_or(0)
    }
    /// log2 of the cost of the best attack on one column: the smallest of uSVP, BDD and dual hybrid by the lattice estimator, which
    /// `tools/estimate.py` repeats.
    pub fn attack_log2(&self) -> f64 {
        f64::from(self.attack_log2_hundredths) / 100.0
    }
    /// Most columns of one table, each with a secret of its own, if an attacker may choose *any* of them: finding one secret still costs
    /// 2^128. With C columns the attack on some column may be C times cheaper.
    pub fn most_columns(&self) -> usize {
        (self.attack_log2() - f64::from(SecurityLevel::Bits128.bits())).exp2() as usize
    }
    /// Bits that one packed residue takes: the width of the widest prime.
    pub fn residue_bits(&self) -> u32 {
        self.moduli.iter().map(|q| 64 - q.leading_zeros()).max().unwrap_or(0)
    }
    /// What the fingerprint is the hash of.
    ///
    /// # Layout
    /// Little-endian: 16 bytes `hush ring v1` padded with zeros; `N` (4); code and number of primes (2 each); the primes (8 each).
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = b"hush ring v1\0\0\0\0".to_vec();
        bytes.extend_from_slice(&self.degree.to_le_bytes());
        bytes.extend_from_slice(&self.code.to_le_bytes());
        bytes.extend_from_slice(&(self.moduli.len() as u16).to_le_bytes());
        self.moduli.iter().for_each(|q| bytes.extend_from_slice(&q.to_le_bytes()));
        bytes
    }
    /// What identifies the set beside its name.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.canonical_bytes())
    }
    /// Whether the set is within the table at 128 bits.
    pub fn is_secure(&self) -> bool {
        max_log_q(self.degree, SecurityLevel::Bits128).is_some_and(|max| self.log_qp_ceil() <= max)
    }
}

/// All presets, smallest ring first; last those with special primes.
pub fn presets() -> &'static [ParamSet] {
    PRESETS
}

/// The presets whose secrets have no keys over further primes: all but those that a schema has to ask for.
pub fn presets_without_keys() -> impl Iterator<Item = &'static ParamSet> {
    PRESETS.iter().filter(|set| set.special().is_empty())
}

/// Finds a preset by its name.
///
/// # Errors
/// [`ParamsError::UnknownName`] if this version has no such set.
pub fn preset(name: &str) -> Result<&'static ParamSet, ParamsError> {
    PRESETS
        .iter()
        .find(|set| set.name == name)
        .ok_or_else(|| ParamsError::UnknownName { found: name.chars().take(64).collect() })
}

/// Finds a preset by the code of a binary header.
///
/// # Errors
/// [`ParamsError::UnknownCode`] if this version has no such set.
pub fn preset_by_code(code: u16) -> Result<&'static ParamSet, ParamsError> {
    PRESETS.iter().find(|set| set.code == code).ok_or(ParamsError::UnknownCode { found: code })
}

/// Finds a chain by its name.
///
/// # Errors
/// [`ParamsError::UnknownChain`].
pub fn chain_preset(name: &str) -> Result<&'static ChainPreset, ParamsError> {
    let unknown = || ParamsError::UnknownChain { found: name.chars().take(64).collect() };
    chain_presets().iter().find(|preset| preset.name() == name).ok_or_else(unknown)
}

/// Finds a chain by its code.
///
/// # Errors
/// [`ParamsError::UnknownChainCode`].
pub fn chain_preset_by_code(code: u16) -> Result<&'static ChainPreset, ParamsError> {
    chain_presets()
        .iter()
        .find(|preset| preset.code() == code)
        .ok_or(ParamsError::UnknownChainCode { found: code })
}

fn known_names() -> String {
    PRESETS.iter().map(|set| set.name).collect::<Vec<_>>().join(", ")
}

/// The table's primes of 34 bits: three limbs at N = 4096. They fill 102 of 106 bits, which leaves room for the columns of a table.
const Q34: [u64; 3] = [0x3_ffd2_0001, 0x3_ffc0_0001, 0x3_ff94_0001];

/// Plaintext primes below 2^32, congruent to 1 mod 2^17, for slots with two limbs at N = 4096: the table's of 32 bits.
pub const PLAINTEXT_PRIMES_32: [u64; 12] = BITS_32;

/// Plaintext primes below 2^45, congruent to 1 mod 2^17, for slots at N = 8192: the first of the table's of 45 bits.
pub const PLAINTEXT_PRIMES_45: [u64; 12] = match BITS_45.first_chunk() {
    Some(first) => *first,
    None => unreachable!(),
};

const fn set(
    name: &'static str,
    code: u16,
    degree: u32,
    moduli: &'static [u64],
    attack_log2_hundredths: u32,
) -> ParamSet {
    ParamSet { name, code, degree, moduli, special: &[], attack_log2_hundredths }
}

/// A set with keys under its secrets: one special prime and so many others, of a list that the chain takes in the same order. The cost of an attack is
/// that with all of them.
const fn set_with_keys(
    name: &'static str,
    code: u16,
    degree: u32,
    (primes, count): (&'static [u64], usize),
    attack_log2_hundredths: u32,
) -> ParamSet {
    let (special, rest) = primes.split_at(1);
    ParamSet { name, code, degree, moduli: rest.split_at(count).0, special, attack_log2_hundredths }
}

/// Code 3 was a set of three primes of 35 bits. The attack on it cost 2^130.3: too little for some column of five.
static PRESETS: &[ParamSet] = &[
    set("n11_q1x46_sec128_v1", 1, 2048, Q46.split_at(1).0, 14_964),
    set("n12_q2x46_sec128_v1", 2, 4096, Q46.split_at(2).0, 15_022),
    set("n12_q3x34_sec128_v1", 8, 4096, &Q34, 13_433),
    set("n13_q3x46_sec128_v1", 4, 8192, Q46.split_at(3).0, 20_741),
    set("n13_q4x46_sec128_v1", 5, 8192, Q46.split_at(4).0, 15_075),
    set("n14_q5x46_sec128_v1", 6, 16384, Q46.split_at(5).0, 25_666),
    set("n14_q6x46_sec128_v1", 7, 16384, Q46.split_at(6).0, 20_855),
    // Last: whoever takes the first of equals, or the smallest, has no use for its keys.
    set_with_keys("n14_q5x46u_sec128_v1", 9, 16384, (&UNIT_PRIMES, 5), 20_855),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primes::primes_of;

    #[test]
    fn every_preset_is_within_the_table_and_found_again() {
        for set in presets() {
            assert!(set.is_secure(), "{}", set.name());
            assert_eq!(preset(set.name()).unwrap(), set);
            assert_eq!(preset_by_code(set.code()).unwrap(), set);
            for q in set.moduli() {
                assert_eq!(q % (2 * set.degree() as u64), 1);
                let bits = (*q as f64).log2();
                assert!((30.0..46.95).contains(&bits));
            }
        }
    }

    /// The chain's primes in the chain's order, and no label beyond the chain's.
    #[test]
    fn sets_with_keys_are_the_top_levels_of_their_chains() {
        let with_keys: Vec<_> = presets().iter().filter(|set| !set.special().is_empty()).collect();
        assert_eq!(with_keys.len(), 1);
        let (set, preset) = (with_keys[0], chain_preset("n14_q5p1x46u_d1_sec192_v1").unwrap());
        let chain = preset.params().unwrap();
        assert_eq!((set.moduli(), set.special()), (chain.universe(), chain.special()));
        assert_eq!((set.degree(), set.log_qp_ceil()), (chain.degree(), chain.log_qp_ceil()));
        assert_eq!(set.security_bits(), preset.security().bits());
        assert!(set.moduli().iter().chain(set.special()).all(|q| q % 65_537 == 1));
        let wide = super::preset("n14_q6x46_sec128_v1").unwrap();
        assert!(set.log_qp() < wide.log_q() && set.attack_log2() == wide.attack_log2());
        assert!(wide.special().is_empty() && wide.log_qp() == wide.log_q());
    }

    /// One prime more than a ring has room for, and a ring too small for any.
    #[test]
    fn a_set_beyond_the_table_is_not_secure() {
        assert!(set("fits", 999, 2048, Q46.split_at(1).0, 0).is_secure());
        assert!(!set("two primes", 999, 2048, Q46.split_at(2).0, 0).is_secure());
        assert!(!set("small ring", 999, 1024, Q46.split_at(1).0, 0).is_secure());
        assert!(!set("no ring", 999, 1000, Q46.split_at(1).0, 0).is_secure());
    }

    /// The label holds for some column of a table as well as for each.
    #[test]
    fn every_set_has_room_for_columns() {
        assert_eq!(primes_of(34)[..3], Q34);
        for set in presets() {
            let columns = set.most_columns();
            assert!(columns >= 64, "{}: {columns}", set.name());
            let attack = set.attack_log2() - (columns as f64).log2();
            assert!(attack >= 128.0, "{}", set.name());
            // Where a number can tell one column more.
            let one_more = set.attack_log2() - (columns as f64 + 1.0).log2();
            assert!(one_more < 128.0 || columns > 1 << 40, "{}", set.name());
            assert!(set.attack_log2() >= f64::from(set.security_bits()), "{}", set.name());
        }
        assert_eq!(preset("n12_q3x34_sec128_v1").unwrap().most_columns(), 80);
    }

    #[test]
    fn unknown_names_and_codes_are_refused() {
        assert_eq!(preset_by_code(3), Err(ParamsError::UnknownCode { found: 3 }));
        assert!(matches!(preset("n10_q1x60"), Err(ParamsError::UnknownName { .. })));
        assert_eq!(preset_by_code(999), Err(ParamsError::UnknownCode { found: 999 }));
        let message = preset("n10_q1x60").unwrap_err().to_string();
        assert!(presets().iter().all(|set| message.contains(set.name())), "{message}");
    }

    #[test]
    fn plaintext_primes_suit_every_ring_and_divide_no_modulus() {
        for t in PLAINTEXT_PRIMES_32.iter().chain(&PLAINTEXT_PRIMES_45) {
            assert_eq!(t % (1 << 17), 1);
            assert!(!Q46.contains(t) && !Q34.contains(t));
        }
        // Stored tables name them by value: the first and the last of each stay what they are.
        let ends = [PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45].map(|primes| [primes[0], primes[11]]);
        assert_eq!(ends, [[0xfff0_0001, 0xff1c_0001], [0x1fff_ffc2_0001, 0x1fff_fe0c_0001]]);
    }
}
