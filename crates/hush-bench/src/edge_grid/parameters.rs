// SPDX-License-Identifier: Apache-2.0
//! The modulus of every ring degree: as many bits as the security table of 2024 allows.
//!
//! The shape is that of SEAL's defaults, so that ciphertexts are alike: from `N = 4096` on one prime is special, for
//! products and rotations, and ciphertexts are modulo the others. One level is enough, since products in BFV take none.

use hush_params::chain::ChainSpec;
use hush_params::primes::{SMALL_PRIMES, primes_of};
use hush_params::{ChainError, ChainParams};

/// Bits of the primes, the special one last: 26, 53, 106, 214, 430 and 868 in all.
fn sizes(degree: u32) -> &'static [(u32, usize)] {
    match degree {
        1024 => &[(26, 1)],
        2048 => &[(26, 1), (27, 1)],
        4096 => &[(35, 2), (36, 1)],
        8192 => &[(42, 1), (43, 4)],
        16384 => &[(43, 10)],
        32768 => &[(45, 6), (46, 13)],
        _ => &[],
    }
}

/// The chain of a ring degree.
///
/// # Errors
/// [`ChainError`] for a degree that the grid does not have.
pub(super) fn chain_params(degree: u32) -> Result<ChainParams, ChainError> {
    let primes = |&(bits, count): &(u32, usize)| {
        let list = if bits < 30 { &SMALL_PRIMES[..] } else { primes_of(bits) };
        list.iter().copied().filter(move |prime| u64::BITS - prime.leading_zeros() == bits).take(count)
    };
    let mut universe: Vec<u64> = sizes(degree).iter().flat_map(primes).collect();
    let special = if degree < SMALLEST_WITH_SPECIAL { None } else { universe.pop() };
    let levels = vec![(0..universe.len() as u8).collect()];
    let special = special.into_iter().collect();
    ChainParams::new(ChainSpec { degree, universe, special, levels, digit_limbs: 1 })
}

/// In smaller rings there is no room for a prime that ciphertexts do not use.
const SMALLEST_WITH_SPECIAL: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::super::DEGREES;
    use super::*;

    #[test]
    fn every_modulus_has_the_bits_that_the_table_allows() {
        for (degree, bits) in DEGREES.into_iter().zip([26, 53, 106, 214, 430, 868]) {
            let params = chain_params(degree).unwrap();
            assert_eq!((params.log_qp_ceil(), params.security_bits()), (bits, 128), "N = {degree}");
            assert_eq!(params.special().len(), usize::from(degree >= 4096));
        }
        assert!(chain_params(512).is_err());
    }
}
