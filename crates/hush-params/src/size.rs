// SPDX-License-Identifier: Apache-2.0
//! Sizes that several crates must agree on: of chunks, of scales, and exact sizes in bytes, computed from the parameters alone.

use crate::{ChainError, ChainParams, Level, ParamSet};

/// Rows of a full chunk; one body of an encoded column holds as many.
pub const CHUNK_ROWS: u32 = 8192;

/// Full chunks that the rows of one ring element are: 1 where it has no more coefficients than a chunk has rows.
pub fn chunks_of_element(set: &ParamSet) -> u32 {
    (set.degree() as u32 / CHUNK_ROWS).max(1)
}

/// Largest base-2 logarithm of a scale of approximate values, stored or computed.
pub const MAX_SCALE_LOG2: u32 = 120;

/// Bytes of the header of a packed object over a ring.
pub const OBJECT_HEADER_BYTES: usize = 32;
/// Bytes of the header of a packed object over a modulus chain, which names the chain by its fingerprint.
pub const CHAIN_HEADER_BYTES: usize = OBJECT_HEADER_BYTES + 48;
/// Bytes of the checksum behind a packed object.
pub const OBJECT_CHECKSUM_BYTES: usize = 16;
/// Bytes that a packed object over a ring takes beyond its payload.
pub const OBJECT_OVERHEAD_BYTES: usize = OBJECT_HEADER_BYTES + OBJECT_CHECKSUM_BYTES;
/// Bytes that a packed object over a modulus chain takes beyond its payload.
pub const CHAIN_OVERHEAD_BYTES: usize = CHAIN_HEADER_BYTES + OBJECT_CHECKSUM_BYTES;

/// Bytes of the seed from which a mask is expanded.
pub const SEED_BYTES: usize = 32;
/// Bytes of the Galois element before a key in an object of evaluation keys.
pub const ELEMENT_BYTES: usize = 4;
/// Bytes of the highest level behind the Galois element of a key that may serve lower levels alone.
pub const LEVEL_BYTES: usize = 1;

/// Bytes of `count` residues packed at `bits` bits each; every limb is padded to a whole byte.
pub fn packed_bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Bytes of one packed polynomial: all limbs, `N` residues each.
pub fn poly_bytes(set: &ParamSet) -> usize {
    set.limb_count() * packed_bytes(set.degree(), set.residue_bits())
}

/// Bytes of the first coefficients of one packed polynomial: all limbs, so many residues each.
pub fn cut_poly_bytes(set: &ParamSet, coefficients: usize) -> usize {
    set.limb_count() * packed_bytes(coefficients.min(set.degree()), set.residue_bits())
}

/// Bytes of one packed polynomial over a chain's key ring, each limb at the width of its own prime: all ciphertext primes and the
/// special ones.
pub fn key_poly_bytes(chain: &ChainParams) -> usize {
    let limb = |q: &u64| packed_bytes(chain.degree(), 64 - q.leading_zeros());
    chain.universe().iter().chain(chain.special()).map(limb).sum()
}

/// Bytes of one packed evaluation key: its Galois element, its seed, and a body for each digit.
pub fn evaluation_key_bytes(chain: &ChainParams) -> usize {
    ELEMENT_BYTES + SEED_BYTES + chain.digit_count() * key_poly_bytes(chain)
}

/// Bytes of an object of one fresh ciphertext at the top level of a chain: a seed and a body.
pub fn fresh_ciphertext_bytes(chain: &ChainParams) -> usize {
    let limb = |q: &u64| packed_bytes(chain.degree(), 64 - q.leading_zeros());
    CHAIN_OVERHEAD_BYTES + SEED_BYTES + chain.universe().iter().map(limb).sum::<usize>()
}

/// Bytes of an object of `count` evaluation keys; at most `u64::MAX`.
pub fn evaluation_keys_bytes(chain: &ChainParams, count: u32) -> u64 {
    let keys = u64::from(count).saturating_mul(evaluation_key_bytes(chain) as u64);
    keys.saturating_add(CHAIN_OVERHEAD_BYTES as u64)
}

/// Bytes of the packed bodies of a key for ciphertexts at `level` and below: for each of its digits the primes that it has.
fn key_bodies_bytes(chain: &ChainParams, level: Level) -> usize {
    let limb = |q: &u64| packed_bytes(chain.degree(), 64 - q.leading_zeros());
    let count = chain.primes_up_to(level);
    let primes = chain.universe().iter().take(count).chain(chain.special());
    count.div_ceil(chain.digit_limbs()) * primes.map(limb).sum::<usize>()
}

/// Bytes of one packed evaluation key for ciphertexts at `level` and below, in an object of such keys: its Galois element, its level,
/// its seed, and a body for each of its digits. Above the top level those of the top.
pub fn leveled_key_bytes(chain: &ChainParams, level: Level) -> usize {
    ELEMENT_BYTES + LEVEL_BYTES + SEED_BYTES + key_bodies_bytes(chain, level)
}

/// Bytes of an object of evaluation keys with these highest levels; at most `u64::MAX`.
pub fn leveled_keys_bytes(chain: &ChainParams, levels: impl IntoIterator<Item = Level>) -> u64 {
    let keys = levels.into_iter().map(|level| leveled_key_bytes(chain, level) as u64);
    keys.fold(CHAIN_OVERHEAD_BYTES as u64, u64::saturating_add)
}

/// Bytes of an object of the keys to a sparse secret and back: a seed and bodies over [`ChainParams::sparse_chain`], and a seed and
/// bodies for all levels of the chain.
///
/// # Errors
/// As [`ChainParams::sparse_chain`].
pub fn encapsulation_keys_bytes(chain: &ChainParams) -> Result<u64, ChainError> {
    let sparse = chain.sparse_chain()?;
    let bodies = [&sparse, chain].map(|chain| (SEED_BYTES + key_bodies_bytes(chain, chain.top())) as u64);
    Ok(CHAIN_OVERHEAD_BYTES as u64 + bodies.iter().sum::<u64>())
}

/// The highest power of a secret that there are keys for: the largest degree of a sum of products.
pub const MAX_POWER: u32 = 7;

/// Bytes of an object of keys for the powers of a secret up to this one: a seed, and a body for each power and prime.
pub fn power_keys_bytes(set: &ParamSet, highest: u32) -> u64 {
    let bodies = u64::from(highest.saturating_sub(1)) * set.limb_count() as u64;
    let of_bodies = bodies.saturating_mul(answer_poly_bytes(set, None) as u64);
    of_bodies.saturating_add((SEED_BYTES + OBJECT_OVERHEAD_BYTES) as u64)
}

/// Most bits that a coefficient is rounded to.
pub const MAX_ROUNDED_BITS: u32 = 63;
/// Most bits that are packed in one stream; longer coefficients have their lower [`ROUNDED_LOW_BITS`] first, all of them.
const STREAM_BITS: u32 = 56;
/// Bits in the first of two streams.
pub const ROUNDED_LOW_BITS: u32 = 32;

/// The widths of the streams in which coefficients rounded to `bits` bits are packed.
pub fn rounded_widths(bits: u32) -> impl Iterator<Item = u32> {
    let low = if bits > STREAM_BITS { ROUNDED_LOW_BITS } else { bits };
    [low, bits - low].into_iter().filter(|width| *width > 0)
}

/// Bytes of one polynomial of an answer: rounded to so many bits for each of `N` coefficients, or else [`poly_bytes`].
pub fn answer_poly_bytes(set: &ParamSet, rounded_bits: Option<u32>) -> usize {
    match rounded_bits {
        Some(bits) => rounded_widths(bits).map(|width| packed_bytes(set.degree(), width)).sum(),
        None => poly_bytes(set),
    }
}

/// Bytes of an object with a sum of products, which for each component has the bits that it is rounded to, or `None` where it has
/// residues.
pub fn product_answer_bytes(set: &ParamSet, components: &[Option<u32>]) -> usize {
    let payload: usize = components.iter().map(|bits| answer_poly_bytes(set, *bits)).sum();
    OBJECT_OVERHEAD_BYTES + payload
}

/// Bytes of the answer to a masked sum: the whole of `a`, and one residue a limb for each of `bodies`.
pub fn sum_answer_bytes(set: &ParamSet, bodies: usize) -> usize {
    poly_bytes(set) + bodies * set.limb_count() * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset;

    #[test]
    fn an_answer_is_one_polynomial_and_a_word_for_each_limb_of_each_body() {
        let (one, two) = (preset("n11_q1x46_sec128_v1").unwrap(), preset("n12_q2x46_sec128_v1").unwrap());
        // 2048 · 46 bits; twice 4096 · 46.
        assert_eq!((poly_bytes(one), poly_bytes(two)), (11_776, 47_104));
        assert_eq!([0, 1, 3].map(|bodies| sum_answer_bytes(one, bodies)), [11_776, 11_784, 11_800]);
        assert_eq!([0, 1, 5].map(|bodies| sum_answer_bytes(two, bodies)), [47_104, 47_120, 47_184]);
    }

    /// By hand: 4096 coefficients of 20, 28 and 60 bits, or of twice 46.
    #[test]
    fn an_answer_of_products_is_one_polynomial_for_each_component() {
        let set = preset("n12_q2x46_sec128_v1").unwrap();
        assert_eq!(product_answer_bytes(set, &[]), 48);
        assert_eq!(product_answer_bytes(set, &[None; 3]), 48 + 3 * 47_104);
        let bits = [20, 28, 60].map(Some);
        assert_eq!(product_answer_bytes(set, &bits), 48 + 4096 / 8 * (20 + 28 + 60));
    }

    /// By hand: four primes of 43 bits and one special one at `N = 2^13`, a digit for each prime.
    #[test]
    fn an_evaluation_key_is_a_body_for_each_digit() {
        let chain = crate::presets::chain_preset("n13_q4p1x43_d1_sec128_v1").unwrap().params().unwrap();
        assert_eq!(key_poly_bytes(&chain), 5 * 8192 * 43 / 8);
        assert_eq!(evaluation_key_bytes(&chain), 4 + 32 + 4 * 5 * 8192 * 43 / 8);
        let key = 4 + 32 + 4 * 220_160;
        assert_eq!([0, 1, 7].map(|count| evaluation_keys_bytes(&chain, count)), [96, 96 + key, 96 + 7 * key]);
    }

    /// By hand, on the same chain: a key for level `l` has `l + 1` digits over as many primes and the special one.
    #[test]
    fn a_key_of_a_lower_level_lacks_the_primes_and_digits_of_higher_ones() {
        let chain = crate::presets::chain_preset("n13_q4p1x43_d1_sec128_v1").unwrap().params().unwrap();
        let limb = 8192 * 43 / 8;
        let key = |digits: usize| 37 + digits * (digits + 1) * limb;
        for (level, digits) in [(0, 1), (1, 2), (2, 3), (3, 4), (255, 4)] {
            assert_eq!(chain.primes_up_to(Level(level)), digits);
            assert_eq!(leveled_key_bytes(&chain, Level(level)), key(digits));
        }
        assert_eq!(leveled_key_bytes(&chain, chain.top()), evaluation_key_bytes(&chain) + LEVEL_BYTES);
        let bytes = |levels: &[Level]| leveled_keys_bytes(&chain, levels.iter().copied());
        assert_eq!(bytes(&[]), 96);
        assert_eq!(bytes(&[Level(3), Level(0), Level(0)]), 96 + (key(4) + 2 * key(1)) as u64);
    }

    /// By hand: below, the primes of level 0, each a digit, and one special prime; above, all digits over all primes.
    #[test]
    fn keys_to_a_sparse_secret_and_back_are_over_two_chains() {
        for set in crate::bootstrap::SETS {
            let chain = set.chain().unwrap();
            let poly = |primes: &mut dyn Iterator<Item = &u64>| -> usize {
                primes.map(|q| chain.degree() / 8 * (64 - q.leading_zeros()) as usize).sum()
            };
            let base = chain.levels()[0].len();
            let level_0 = chain.levels()[0].iter().map(|&place| &chain.universe()[usize::from(place)]);
            let small = base * poly(&mut level_0.chain(&chain.special()[..1]));
            let large = chain.digit_count() * poly(&mut chain.universe().iter().chain(chain.special()));
            let expected = (96 + 32 + small + 32 + large) as u64;
            assert_eq!(encapsulation_keys_bytes(&chain).unwrap(), expected, "{}", set.name());
        }
        let without = crate::presets::chain_preset("n13_q4p1x43_d1_sec128_v1").unwrap().params().unwrap();
        assert!(matches!(encapsulation_keys_bytes(&without), Err(ChainError::Sparse { .. })));
    }

    #[test]
    fn keys_of_powers_are_a_body_for_each_power_and_prime() {
        let set = crate::preset("n13_q3x46_sec128_v1").unwrap();
        let body = 3 * 8192 * 46 / 8;
        let bytes = |highest| power_keys_bytes(set, highest) - OBJECT_OVERHEAD_BYTES as u64;
        assert_eq!([0, 1, 2, 4].map(bytes), [32, 32, 32 + 3 * body, 32 + 9 * body]);
    }

    #[test]
    fn packed_residues_are_padded_to_whole_bytes() {
        assert_eq!([0, 1, 4, 5, 8].map(|count| packed_bytes(count, 46)), [0, 6, 23, 29, 46]);
    }

    #[test]
    fn long_coefficients_are_packed_in_two_streams() {
        let widths = |bits| rounded_widths(bits).collect::<Vec<_>>();
        assert_eq!((widths(1), widths(56)), (vec![1], vec![56]));
        assert_eq!((widths(57), widths(63)), (vec![32, 25], vec![32, 31]));
        assert_eq!(widths(0), Vec::<u32>::new());
        let set = preset("n12_q2x46_sec128_v1").unwrap();
        assert_eq!(answer_poly_bytes(set, None), poly_bytes(set));
        assert_eq!(answer_poly_bytes(set, Some(57)), 4096 * 57 / 8);
        assert_eq!(answer_poly_bytes(set, Some(3)), 1536);
    }
}
