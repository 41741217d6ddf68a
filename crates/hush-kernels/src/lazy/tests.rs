// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, largest_ntt_prime, lengths, moduli};

const LOW_52: u64 = (1 << 52) - 1;

#[test]
fn sums_are_plain_sums() {
    let mut random = Random::new(21);
    let modulus = largest_ntt_prime(8);
    for len in lengths() {
        let [start, x] = [(); 2].map(|()| random.residues(modulus, len));
        for cpu in Cpu::available() {
            let mut acc = start.clone();
            accumulate(cpu, &mut acc, &x);
            assert!(
                acc.iter().zip(&start).zip(&x).all(|((acc, start), x)| *acc == start + x),
                "{cpu}, {len}"
            );
        }
    }
}

#[test]
fn any_word_reduces() {
    let mut random = Random::new(22);
    for modulus in moduli() {
        let q = modulus.value();
        let mut words = random.words(200);
        let multiple = u64::MAX / q * q;
        words.extend([
            0,
            1,
            q - 1,
            q,
            q + 1,
            u64::MAX,
            u64::MAX - 1,
            multiple,
            multiple - 1,
            1 << 52,
            1 << 63,
        ]);
        words.extend((1..64).map(|bits| (1u64 << bits) - 1));
        words.extend((0..64).map(|i| (u64::MAX / q - i) * q - 1));
        for len in lengths().chain([words.len()]).filter(|&len| len <= words.len()) {
            for cpu in Cpu::available() {
                let mut data = words[words.len() - len..].to_vec();
                let expected: Vec<u64> = data.iter().map(|x| x % q).collect();
                reduce_assign(cpu, modulus, &mut data);
                assert_eq!(data, expected, "{cpu}, q = {q}");
            }
        }
    }
}

#[test]
fn products_accumulate_in_two_words() {
    let mut random = Random::new(23);
    for modulus in moduli() {
        for len in lengths() {
            let [a, b] = [(); 2].map(|()| random.residues(modulus, len));
            let [lo, hi] = [(); 2].map(|()| random.words(len).iter().map(|x| x >> 2).collect::<Vec<u64>>());
            for cpu in Cpu::available() {
                let (mut new_lo, mut new_hi) = (lo.clone(), hi.clone());
                mul_accumulate(cpu, &mut new_lo, &mut new_hi, &a, &b);
                for i in 0..len {
                    let product = u128::from(a[i]) * u128::from(b[i]);
                    assert_eq!(new_lo[i], lo[i] + (product as u64 & LOW_52), "{cpu}");
                    assert_eq!(new_hi[i], hi[i] + (product >> 52) as u64, "{cpu}");
                }
            }
        }
    }
}

#[test]
fn wide_sums_reduce_like_wide_integers() {
    let mut random = Random::new(24);
    for modulus in moduli() {
        let q = u128::from(modulus.value());
        let mut lo = random.words(100);
        let mut hi = random.words(100);
        lo.extend([0, u64::MAX, u64::MAX, 0]);
        hi.extend([0, u64::MAX, 0, u64::MAX]);
        for len in lengths().filter(|&len| len <= lo.len()).chain([lo.len()]) {
            let (lo, hi) = (&lo[lo.len() - len..], &hi[hi.len() - len..]);
            let expected: Vec<u64> = lo
                .iter()
                .zip(hi)
                .map(|(&lo, &hi)| ((u128::from(lo) + ((u128::from(hi) % q) << 52)) % q) as u64)
                .collect();
            for cpu in Cpu::available() {
                let mut out = vec![0; len];
                reduce_wide(cpu, modulus, &mut out, lo, hi);
                assert_eq!(out, expected, "{cpu}, q = {q}");
            }
        }
    }
}

#[test]
fn the_stated_number_of_products_does_not_overflow() {
    let modulus = largest_ntt_prime(8);
    // The low words of some products come close to 2^52; 2^12 times that must still fit.
    let worst =
        (0..1000).map(|i| modulus.value() - 1 - i).max_by_key(|&a| a.wrapping_mul(a) & LOW_52).unwrap();
    for cpu in Cpu::available() {
        let (a, mut lo, mut hi) = (vec![worst; 9], vec![0; 9], vec![0; 9]);
        for _ in 0..MAX_PRODUCT_TERMS {
            mul_accumulate(cpu, &mut lo, &mut hi, &a, &a);
        }
        let mut out = vec![0; 9];
        reduce_wide(cpu, modulus, &mut out, &lo, &hi);
        let expected = modulus.mul(modulus.mul(worst, worst), MAX_PRODUCT_TERMS as u64);
        assert_eq!(out, vec![expected; 9], "{cpu}");
    }
}
