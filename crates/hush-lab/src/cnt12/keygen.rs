// SPDX-License-Identifier: Apache-2.0
//! Key generation.

use hush_kernels::Cpu;
use num_bigint::BigUint;
use num_traits::One;

use super::{
    Cnt12Error, InsecureCnt12Parameters, InsecureCnt12PublicKey, InsecureCnt12Random, InsecureCnt12SecretKey,
    keys, random::Expansion,
};
use crate::integer::{IntegerError, modulus::LongModulus, prime, reciprocal, remainder::ShortModulus, words};

/// No prime below divides `q_0`. The paper wants all below `2^λ` excluded, which takes as long as an attack.
const ROUGHNESS: u64 = 1 << 10;

/// A secret key and its public key.
///
/// # Cost
/// A random prime of `η` bits, then `(τ + Θ)·γ·η/64²` word products for the remainders of the long integers modulo `p`: 9·10^9 in
/// the medium set, 2·10^11 in the large one. `progress` is told how many of the `τ + Θ` are done.
///
/// # Errors
/// [`Cnt12Error::Integer`].
///
/// # References
/// eprint 2011/440, sections 3 and 4. Differs: `q_0` has no factor below 2^10 instead of below `2^λ`.
pub fn insecure_cnt12_keys(
    parameters: &InsecureCnt12Parameters,
    random: &mut InsecureCnt12Random,
    progress: &mut dyn FnMut(usize),
) -> Result<(InsecureCnt12SecretKey, InsecureCnt12PublicKey), Cnt12Error> {
    let l = parameters.literal();
    let cpu = Cpu::detect().map_err(IntegerError::from)?;
    let p = prime::random_prime(l.prime_bits, &mut |out: &mut [u64]| random.fill(out));
    let modulus = LongModulus::new(&public_modulus(parameters, &p, cpu, random)?, cpu)?;
    let (masks, multiples) = (Expansion::new(random.seed()), Expansion::new(random.seed()));
    let box_len = l.secret_bits / l.boxes;
    let ones: Vec<usize> =
        (0..l.boxes).map(|at| at * box_len + if at == 0 { 0 } else { random.below(box_len) }).collect();
    let first_multiple = first_multiple(parameters, &p, &multiples, &ones);
    let sk = InsecureCnt12SecretKey {
        parameters: *parameters,
        prime: ShortModulus::new(p, parameters.word_count()),
        ones,
    };
    let mut corrections = Vec::with_capacity(l.zero_count + l.secret_bits);
    let mut mask = vec![0; parameters.word_count()];
    for index in 0..l.zero_count + l.secret_bits {
        let bit = index.checked_sub(l.zero_count).is_some_and(|position| sk.ones.contains(&position));
        masks.fill_words(index as u64, l.ciphertext_bits, &mut mask);
        corrections.push(compress(&sk, &mask, bit, random));
        progress(index + 1);
    }
    let secret_bits = corrections.split_off(l.zero_count);
    let pk = InsecureCnt12PublicKey {
        parameters: *parameters,
        cpu,
        modulus,
        masks,
        zeros: corrections,
        secret_bits,
        multiples,
        first_multiple,
    };
    Ok((sk, pk))
}

/// `x_0 = p·q_0` of exactly `γ` bits, with `q_0` odd and without small factors.
fn public_modulus(
    parameters: &InsecureCnt12Parameters,
    p: &BigUint,
    cpu: Cpu,
    random: &mut InsecureCnt12Random,
) -> Result<BigUint, Cnt12Error> {
    let l = parameters.literal();
    let bits = l.ciphertext_bits;
    loop {
        // Uniform from 2^(γ−1)/p to 2^γ/p: rejection from the next power of two.
        let mut cofactor = words::to_big(&random.bits(bits - l.prime_bits + 1));
        cofactor.set_bit(0, true);
        let product = reciprocal::product(&cofactor, p, cpu)?;
        if product.bits() == bits && !prime::has_factor_below(&cofactor, ROUGHNESS) {
            return Ok(product);
        }
    }
}

/// `δ` with `χ + δ = 2r + m` modulo `p`, hidden by a random multiple of `p`, `η + λ` bits in all.
fn compress(
    sk: &InsecureCnt12SecretKey,
    mask: &[u64],
    bit: bool,
    random: &mut InsecureCnt12Random,
) -> Vec<u64> {
    let l = sk.parameters.literal();
    let p = sk.prime.value();
    let correction = keys::correction(p, &sk.prime.remainder(mask), sk.noise(bit, random));
    let hiding = words::to_big(&random.bits(l.security.into())) * p;
    // Below p·2^λ: the hiding multiple is at most (2^λ − 1)·p.
    words::from_big(&(correction + hiding), (l.prime_bits + u64::from(l.security)).div_ceil(64) as usize)
}

/// `y_0` with `Σ_{i ∈ ones} y_i = ⌊2^κ/p⌉` modulo `2^(κ+1)`.
fn first_multiple(
    parameters: &InsecureCnt12Parameters,
    p: &BigUint,
    multiples: &Expansion,
    ones: &[usize],
) -> Vec<u64> {
    let word_count = parameters.word_count();
    let power = BigUint::one() << (64 * word_count - 1);
    // p is odd, so no tie.
    let mut sum = words::from_big(&((power + (p >> 1u8)) / p), word_count);
    let mut multiple = vec![0; word_count];
    for &index in &ones[1..] {
        multiples.fill_words(index as u64, 64 * word_count as u64, &mut multiple);
        words::sub_assign(&mut sum, &multiple);
    }
    sum
}

/// Checks of a key pair that need the secret: used by tests.
#[cfg(test)]
pub(crate) fn squash_is_right(sk: &InsecureCnt12SecretKey, pk: &InsecureCnt12PublicKey) -> bool {
    let word_count = pk.parameters.word_count();
    let mut sum = pk.first_multiple.clone();
    let mut multiple = vec![0; word_count];
    for &index in &sk.ones[1..] {
        pk.multiples.fill_words(index as u64, 64 * word_count as u64, &mut multiple);
        words::add_assign(&mut sum, &multiple);
    }
    // |Σ·p − 2^κ| ≤ p/2.
    let twice = (words::to_big(&sum) * sk.prime.value()) << 1u8;
    let power = BigUint::one() << (64 * word_count);
    let error = if twice > power { twice - power } else { power - twice };
    error <= *sk.prime.value()
}
