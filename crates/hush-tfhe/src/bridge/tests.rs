// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::{GATES, INTEGERS};
use hush_ring::Cpu;

use super::*;
use crate::BridgeParts;

/// With rows of zeros nothing is switched: the place of every coefficient is left.
#[test]
fn a_coefficient_comes_out_at_its_place() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let (degree, seed) = (4096, UniformSeed::from_bytes([3; 32]));
    let bodies = vec![0; BridgeKey::row_count(2) * degree];
    let key = BridgeKey::expand(&context, (degree, 2), seed, &bodies).unwrap();
    let (body, zero): (Vec<u64>, Vec<u64>) = ((5..).take(degree).collect(), vec![0; degree]);
    let found = key.first_coefficient(&[&body, &zero, &zero]).unwrap();
    assert_eq!((found.body(), found.mask()), (5, &vec![0; 2048][..]));
    // A digit of 1 at place p brings the mask of the lowest row there, of which every second coefficient is taken, backwards.
    let mut one = zero.clone();
    one[4] = 1;
    let found = key.first_coefficient(&[&zero, &one]).unwrap();
    let mut mask = vec![0; degree];
    seed.expand_limb(key.source(), BridgeKey::label(0), 0, &mut mask);
    key.source().limbs()[0].inverse(&mut mask);
    let q = context.modulus();
    assert_eq!(found.mask()[0], q.neg(mask[degree - 4]));
    assert_eq!(found.mask()[1], q.neg(mask[degree - 2 - 4]));
    assert_eq!(found.mask()[2047], q.neg(q.neg(mask[degree - 2])));
}

#[test]
fn shapes_that_there_are_not_are_refused() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let gates = Context::new(&GATES, context.cpu()).unwrap();
    assert!(matches!(BridgeKey::ring(&gates, 4096), Err(TfheError::Mixed { .. })));
    assert!(matches!(BridgeKey::ring(&context, 1024), Err(TfheError::Count { found: 1024, .. })));
    assert!(matches!(BridgeKey::ring(&context, 3000), Err(TfheError::Ring(_))));
    let (degree, seed) = (2048, UniformSeed::from_bytes([3; 32]));
    let bodies = vec![0; BridgeKey::row_count(1) * degree];
    for powers in [0, 2, 3] {
        assert!(BridgeKey::expand(&context, (degree, powers), seed, &bodies).is_err());
    }
    let mut beyond = bodies.clone();
    beyond[7] = INTEGERS.prime();
    assert!(matches!(BridgeKey::expand(&context, (degree, 1), seed, &beyond), Err(TfheError::Residue)));
    let key = BridgeKey::expand(&context, (degree, 1), seed, &bodies).unwrap();
    let zero = vec![0; degree];
    assert!(key.first_coefficient(&[]).is_err());
    assert!(key.first_coefficient(&[&zero, &zero, &zero]).is_err());
    assert!(key.first_coefficient(&[&zero[1..], &zero]).is_err());
    let mut beyond = zero.clone();
    beyond[9] = INTEGERS.prime();
    assert!(matches!(key.first_coefficient(&[&zero, &beyond]), Err(TfheError::Residue)));
}

/// Every header but the right one is refused, before anything is allocated.
#[test]
fn a_key_survives_the_way_and_no_other_object_is_one() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let (degree, powers) = (4096, 1);
    let bodies: Vec<u64> = (0..).take(BridgeKey::row_count(powers) * degree).collect();
    let bytes =
        BridgeParts { seed: UniformSeed::from_bytes([5; 32]), bodies: bodies.clone(), degree, powers }
            .encode(&context)
            .unwrap();
    let key = BridgeParts::decode(&context, (degree, powers), &bytes).unwrap();
    assert_eq!(key.words[..degree], bodies[..degree]);
    for shape in [(2048, 1), (8192, 1), (4096, 2), (4096, 0)] {
        assert!(BridgeParts::decode(&context, shape, &bytes).is_err(), "{shape:?}");
    }
    for place in 0..24 {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(BridgeParts::decode(&context, (degree, powers), &changed).is_err(), "byte {place}");
    }
    for count in [u32::MAX, 1 << 31, 0xffff_ff0c] {
        let mut many = bytes.clone();
        many[12..16].copy_from_slice(&count.to_le_bytes());
        assert!(BridgeParts::decode(&context, (degree, powers), &many).is_err());
    }
    for length in (0..bytes.len()).step_by(997) {
        assert!(BridgeParts::decode(&context, (degree, powers), &bytes[..length]).is_err());
    }
}
