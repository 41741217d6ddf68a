// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::{GATES, INTEGERS};
use hush_ring::Cpu;

use super::*;
use crate::switch::switch_label;

/// Bytes and coefficients of one seed, which every path and every version gives.
#[test]
fn objects_are_what_they_were() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let fresh = Fresh { seed: UniformSeed::from_bytes([1; 32]), bodies: vec![3, INTEGERS.prime() - 1] };
    let bytes = fresh.encode(&context);
    assert_eq!(bytes.len(), 24 + 32 + 16 + 16);
    assert_eq!(
        bytes[..24],
        *b"HUSHTF\x01\x00\x02\x00\x01\x00\x02\x00\x00\x00\x30\x00\x00\x00\x00\x00\x00\x00"
    );
    let read = Fresh::decode(&context, 2, &bytes).unwrap();
    assert_eq!(read[1].body(), INTEGERS.prime() - 1);
    assert_eq!(read[0].mask()[..3], [123649482167901, 127758109594464, 31092573219622]);
    assert_eq!(read[1].mask()[..3], [132789692184697, 15447928745858, 50817523198369]);
    let mut words = [0; 5];
    fresh.seed.expand_words(context.cpu(), switch_label(7), &mut words);
    assert_eq!(words, [416462862, 3721545918, 4149349600, 2987186279, 3918356088]);
}

#[test]
fn answers_survive_the_way() {
    let context = Context::new(&GATES, Cpu::detect().unwrap()).unwrap();
    let words: Vec<u32> = (0..=GATES.dimension() as u32).map(|word| word.wrapping_mul(0x9e37_79b9)).collect();
    let answer = SmallLwe::from_words(&context, words).unwrap();
    let bytes = Answers(vec![answer.clone(), answer.clone()]).encode(&context);
    assert_eq!(Answers::decode(&context, 2, &bytes).unwrap().0, [answer.clone(), answer]);
    for length in 0..bytes.len() {
        assert!(Answers::decode(&context, 2, &bytes[..length]).is_err());
    }
    // A count that no memory would hold is refused before anything is allocated.
    let mut many = bytes;
    many[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(Answers::decode(&context, u32::MAX as usize, &many).is_err());
}

/// A residue that is not below the prime, under a checksum that is right.
#[test]
fn residues_beyond_the_prime_are_refused() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let fresh = Fresh { seed: UniformSeed::from_bytes([1; 32]), bodies: vec![INTEGERS.prime()] };
    assert_eq!(Fresh::decode(&context, 1, &fresh.encode(&context)).unwrap_err(), TfheError::Residue);
}
