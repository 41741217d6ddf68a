// SPDX-License-Identifier: Apache-2.0
use aes::{
    Aes128,
    cipher::{BlockCipherEncrypt, KeyInit},
};

use super::rejection::retry;
use super::*;
use crate::testing::{Random, lengths, moduli, ntt_prime};

const KEY: [u8; 16] =
    [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];

/// The definition, coefficient by coefficient, on the block cipher of the `aes` crate.
fn reference(key: &[u8; 16], nonce: u64, modulus: Modulus, len: usize) -> Vec<u64> {
    let cipher = Aes128::new(key.into());
    let words = |counter: u64| {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&nonce.to_le_bytes());
        block[8..].copy_from_slice(&counter.to_le_bytes());
        let mut block = block.into();
        cipher.encrypt_block(&mut block);
        let words: Vec<u64> =
            block.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
        words
    };
    let mask = (1u64 << modulus.bits()) - 1;
    let coefficient = |i: usize| {
        let first = words(i as u64 / 2)[i % 2];
        let retries = (1..256u64).map(|attempt| words((attempt << 56) + i as u64)[0]);
        std::iter::once(first).chain(retries).map(|word| word & mask).find(|&x| x < modulus.value()).unwrap()
    };
    (0..len).map(coefficient).collect()
}

#[test]
fn every_path_follows_the_definition() {
    let mut random = Random::new(61);
    // Small moduli and those just above a power of two are refused about every second time.
    for modulus in moduli() {
        for len in lengths() {
            let nonce = random.word();
            let expected = reference(&KEY, nonce, modulus, len);
            for stream in streams() {
                let mut out = vec![u64::MAX; len];
                stream.fill_uniform(nonce, modulus, &mut out);
                assert_eq!(out, expected, "{stream:?}, q = {modulus}, length {len}");
                for first_block in [0, 1, 4, 31, 32, 500] {
                    let rest = expected.get(2 * first_block..).unwrap_or_default();
                    let mut part = vec![u64::MAX; rest.len()];
                    stream.fill_uniform_from(nonce, modulus, first_block as u64, &mut part);
                    assert_eq!(part, rest, "{stream:?}, q = {modulus}, from block {first_block}");
                }
                let mut acc = vec![9; len];
                stream.accumulate_uniform(nonce, modulus, &mut acc);
                assert!(acc.iter().zip(&expected).all(|(acc, x)| *acc == x + 9), "{stream:?}, {len}");
            }
        }
    }
}

#[test]
fn words_are_those_of_the_blocks_from_any_one_on() {
    let cipher = Aes128::new(&KEY.into());
    for len in lengths() {
        for first in [0, 1, 77, u64::MAX - 3] {
            let words: Vec<u64> = (0..len as u64)
                .map(|word| {
                    let counter = first.wrapping_add(word / 2);
                    let mut block = (u128::from(counter) << 64 | 5).to_le_bytes().into();
                    cipher.encrypt_block(&mut block);
                    (u128::from_le_bytes(block.into()) >> (64 * (word % 2))) as u64
                })
                .collect();
            for stream in streams() {
                let mut out = vec![0; len];
                stream.fill_words(5, first, &mut out);
                assert_eq!(out, words, "{stream:?}, {len} from {first}");
            }
        }
    }
}

/// Every path, and on machines with the vector AES instructions AVX2 without them too.
fn streams() -> Vec<AesCtr128> {
    let streams: Vec<AesCtr128> = Cpu::available().into_iter().map(|cpu| AesCtr128::new(cpu, &KEY)).collect();
    let narrow: Vec<AesCtr128> = streams.iter().filter_map(narrow).collect();
    [streams, narrow].concat()
}

/// The same stream one block at a time, if its path has both ways.
fn narrow(stream: &AesCtr128) -> Option<AesCtr128> {
    match &stream.schedule {
        #[cfg(target_arch = "x86_64")]
        Schedule::Avx2(simd, schedule) => {
            Some(AesCtr128 { schedule: Schedule::Avx2(*simd, schedule.narrow()), ..stream.clone() })
        }
        _ => None,
    }
}

#[test]
fn the_stream_starts_with_a_published_block() {
    // AES-128 of the zero block under the zero key, 66e94bd4ef8a2c3b 884cfa59ca342b2e (the hash key of GCM's first test
    // case, McGrew and Viega 2004): two words, little-endian, cut to 46 bits.
    let modulus = ntt_prime(46, 8);
    for cpu in Cpu::available() {
        let mut out = [0; 2];
        AesCtr128::new(cpu, &[0; 16]).fill_uniform(0, modulus, &mut out);
        assert_eq!(out, [0x0aef_d44b_e966, 0x34ca_59fa_4c88], "{cpu}");
    }
}

#[test]
fn a_prefix_does_not_depend_on_the_length() {
    let modulus = ntt_prime(46, 4096);
    for cpu in Cpu::available() {
        let stream = AesCtr128::new(cpu, &KEY);
        let (mut long, mut short) = (vec![0; 4096], vec![0; 77]);
        stream.fill_uniform(3, modulus, &mut long);
        stream.fill_uniform(3, modulus, &mut short);
        assert_eq!(long[..77], short, "{cpu}");
        stream.fill_uniform(4, modulus, &mut short);
        assert_ne!(long[..77], short, "{cpu}");
    }
}

#[test]
fn exhausted_retries_end_below_the_modulus() {
    let modulus = Modulus::new(257).unwrap();
    assert_eq!(retry(modulus, 0, |_| 511), 511 - 257);
    assert_eq!(retry(modulus, 0, |counter| if counter >> 56 == 255 { 3 } else { 300 }), 3);
}
