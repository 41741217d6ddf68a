// SPDX-License-Identifier: Apache-2.0
//! Golden bytes, sizes, and refusals of what differs.

use hush_params::chain::ChainSpec;
use hush_params::chain::presets::chain_presets;
use hush_params::presets::chain_preset;
use hush_params::primes::primes_of;
use hush_params::{ChainParams, size};
use hush_ring::{Chain, Cpu, Eval, Level, Poly, Ring, RingLimb, UniformSeed};

use crate::*;

pub(crate) mod bootstrapping_keys;

/// Primes of 46, 46 and 30 bits and a special one of 47, on a ring of 16 coefficients.
pub(crate) fn toy(unit: u64) -> Chain {
    let universe = vec![primes_of(46)[0], primes_of(46)[1], primes_of(30)[0]];
    let spec = ChainSpec {
        degree: 16,
        universe,
        special: vec![primes_of(47)[0]],
        levels: vec![vec![0], vec![0, 1], vec![0, 1, 2]],
        digit_limbs: 1,
    };
    Chain::new(&ChainParams::insecure_toy(spec).unwrap(), unit, Cpu::detect().unwrap()).unwrap()
}

/// Residue `i` is `(i + start)·3^20 mod q`.
pub(crate) fn pattern(ring: &Ring, start: u64) -> Poly<Eval> {
    let residues = |limb: &RingLimb| {
        let q = limb.modulus();
        (start..start + ring.degree() as u64)
            .map(|i| q.mul(q.reduce_u64(i), q.reduce_u64(3_486_784_401)))
            .collect::<Vec<_>>()
    };
    let words: Vec<u64> = ring.limbs().iter().flat_map(residues).collect();
    Poly::from_words(ring, words).unwrap()
}

pub(crate) const SEED: [u8; 32] = [7; 32];

pub(crate) fn seeded(chain: &Chain, level: Level) -> SeededCiphertext {
    SeededCiphertext::new(UniformSeed::from_bytes(SEED), pattern(chain.ring(level).unwrap(), 0))
}

pub(crate) fn full(chain: &Chain, level: Level, components: u64) -> RlweCiphertext {
    let ring = chain.ring(level).unwrap();
    RlweCiphertext::new((0..components).map(|start| pattern(ring, start)).collect()).unwrap()
}

pub(crate) fn evaluation_keys(chain: &Chain, elements: &[u32]) -> EvaluationKeys {
    let mut keys = EvaluationKeys::new();
    for &element in elements {
        let seed = UniformSeed::from_bytes([element as u8; 32]);
        let mut key = KeySwitchKey::with_masks(chain, seed, element).unwrap();
        for digit in 0..key.digit_count() {
            let body = pattern(chain.key_ring(), u64::from(element) + digit as u64);
            for limb in 0..chain.key_ring().limb_count() {
                key.body_and_mask(digit, limb).0.copy_from_slice(body.limb(limb));
            }
        }
        keys.insert(key);
    }
    keys
}

pub(crate) fn public_key(chain: &Chain) -> PublicKey {
    let body = pattern(chain.ring(chain.top()).unwrap(), 0);
    PublicKey::new(chain, UniformSeed::from_bytes(SEED), body).unwrap()
}

/// The checksum is made right again, as a forger would.
fn reseal(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    crate::header::seal(&mut bytes);
    bytes
}

#[test]
fn seeded_ciphertexts_keep_their_bytes() {
    let chain = toy(65537);
    let bytes = encode_seeded(&chain, Level(1), &[seeded(&chain, Level(1))]).unwrap();
    let mut expected = Vec::new();
    #[rustfmt::skip]
    expected.extend_from_slice(&[
        b'H', b'U', b'S', b'H', b'C', b'T', 2, 0,
        // Seeded ciphertexts, insecure, no code; no column, no chunk, one of them; one lane, one polynomial each, not rounded, level 1.
        6, 1, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        1, 1, 0, 1,
        // 32 bytes of seed, two limbs of 16·46/8 = 92 bytes.
        216, 0, 0, 0,
    ]);
    expected.extend_from_slice(&GOLDEN_FINGERPRINT);
    expected.extend_from_slice(&65537_u64.to_le_bytes());
    expected.extend_from_slice(&[0; 8]);
    expected.extend_from_slice(&SEED);
    // 0, then 3486784401 = 0xcfd41b91 from bit 46 on, then twice that from bit 92 on.
    expected.extend_from_slice(&[0, 0, 0, 0, 0, 0x40, 0xe4, 0x06, 0xf5, 0x33, 0x00, 0x20]);
    assert_eq!(bytes[..expected.len()], expected);
    assert_eq!(bytes.len(), 80 + 216 + 16);
    assert_eq!(bytes.len(), seeded_set_bytes(&chain, Level(1), 1).unwrap());
    let digest = blake3::hash(&bytes[..bytes.len() - 16]);
    assert_eq!(bytes[bytes.len() - 16..], digest.as_bytes()[..16]);
}

#[test]
fn every_form_keeps_its_bytes() {
    let chain = toy(65537);
    let id = LeveledSetId { level: Level(2), count: 2, components: 3 };
    let sets = [full(&chain, Level(2), 3), full(&chain, Level(2), 3)];
    let objects = [
        encode_leveled(&chain, id, &sets).unwrap(),
        evaluation_keys(&chain, &[0, 5]).encode(&chain).unwrap(),
        public_key(&chain).encode().unwrap(),
    ];
    let found = objects.each_ref().map(|bytes| {
        let digest = blake3::hash(bytes);
        u32::from_le_bytes(digest.as_bytes()[..4].try_into().unwrap())
    });
    assert_eq!(found, GOLDEN_DIGESTS, "{found:#x?}");
    // Limbs of 46, 46 and 30 bits, each at its own width: 92 + 92 + 60 bytes; of 47 bits 94.
    assert_eq!(objects.each_ref().map(Vec::len), [96 + 6 * 244, 96 + 2 * (36 + 3 * 338), 96 + 32 + 244]);
    assert_eq!(objects[0].len(), leveled_set_bytes(&chain, id).unwrap());
    assert_eq!(objects[1].len(), evaluation_keys_bytes(&chain, 2).unwrap());
    assert_eq!(objects[2].len(), public_key_bytes(&chain).unwrap());
}

#[test]
fn every_form_comes_back() {
    let chain = toy(1);
    for level in (0..=2).map(Level) {
        let fresh = [seeded(&chain, level), seeded(&chain, level)];
        let bytes = encode_seeded(&chain, level, &fresh).unwrap();
        let back = UncheckedSeededSet::decode(&bytes).unwrap().conform(&chain, level, 2).unwrap();
        assert_eq!(back, fresh);
        for components in [2, 3] {
            let id = LeveledSetId { level, count: 1, components };
            let ciphertext = full(&chain, level, components.into());
            let bytes = encode_leveled(&chain, id, std::slice::from_ref(&ciphertext)).unwrap();
            let back = UncheckedLeveledSet::decode(&bytes).unwrap().conform(&chain, id).unwrap();
            assert_eq!(back, [ciphertext]);
        }
    }
    let keys = evaluation_keys(&chain, &[0, 5, 31]);
    let bytes = keys.encode(&chain).unwrap();
    let decode = || UncheckedEvaluationKeys::decode(&bytes).unwrap();
    assert_eq!(decode().conform(&chain, &[31, 0, 5, 5]).unwrap(), keys);
    let wrong = decode().conform(&chain, &[0, 5, 29]).unwrap_err();
    assert_eq!(wrong, CodecError::GaloisElement { found: 31, expected: 29 });
    let wrong = decode().conform(&chain, &[0, 5]).unwrap_err();
    assert_eq!(wrong, CodecError::ElementCount { found: 3, expected: 2 });
    for element in [2, 33] {
        assert!(matches!(decode().conform(&chain, &[0, 5, element]), Err(CodecError::Object(_))));
    }
    let public = public_key(&chain);
    let bytes = public.encode().unwrap();
    assert_eq!(UncheckedPublicKey::decode(&bytes).unwrap().conform(&chain).unwrap(), public);
}

/// Level 1, two components.
pub(crate) fn with_meaning(chain: &Chain, meanings: &[PhaseMeaning]) -> (LeveledSetId, Vec<u8>) {
    let id = LeveledSetId { level: Level(1), count: meanings.len() as u32, components: 2 };
    let ciphertext = full(chain, Level(1), 2);
    let pairs: Vec<_> = meanings.iter().map(|&meaning| (&ciphertext, meaning)).collect();
    (id, encode_leveled_with_meaning(chain, id, &pairs).unwrap())
}

#[test]
fn meanings_of_phases_keep_their_bytes_and_come_back() {
    let scale = 45.99_f64.exp2();
    let cases = [
        (toy(65537), [PhaseMeaning::Factor(1), PhaseMeaning::Factor(65536)], 1, [1, 65536]),
        (toy(1), [PhaseMeaning::Scale(scale), PhaseMeaning::Scale(0.1)], 2, [scale, 0.1].map(f64::to_bits)),
    ];
    for (chain, meanings, tag, words) in cases {
        let (id, bytes) = with_meaning(&chain, &meanings);
        assert_eq!(bytes.len(), leveled_set_with_meaning_bytes(&chain, id).unwrap());
        // Two ciphertexts of two polynomials each at level 1; each 8 bytes and four limbs of 92.
        assert_eq!(bytes[20..32], [[2, 0, 0, 0], [1, 2, 0, 1], u32::to_le_bytes(2 * (8 + 4 * 92))].concat());
        assert_eq!(bytes[72..80], [0, 0, 0, 0, tag, 0, 0, 0]);
        for (start, word) in [80, 80 + 8 + 4 * 92].into_iter().zip(words) {
            assert_eq!(bytes[start..start + 8], u64::to_le_bytes(word));
        }
        // The rest of each ciphertext is what it is without a meaning.
        let plain =
            encode_leveled(&chain, id, &[full(&chain, Level(1), 2), full(&chain, Level(1), 2)]).unwrap();
        assert_eq!(bytes[88..88 + 4 * 92], plain[80..80 + 4 * 92]);
        let decode = |bytes| UncheckedLeveledSet::decode(bytes).unwrap();
        let back = decode(&bytes).conform_with_meaning(&chain, id).unwrap();
        assert_eq!(back, meanings.map(|meaning| (full(&chain, Level(1), 2), meaning)));
        // One form is not taken for the other.
        let wrong = decode(&bytes).conform(&chain, id).unwrap_err();
        assert_eq!(wrong, CodecError::Meaning { found: tag, expected: 0 });
        let wrong = decode(&plain).conform_with_meaning(&chain, id).unwrap_err();
        assert_eq!(wrong, CodecError::Meaning { found: 0, expected: tag });
    }
}

#[test]
fn meanings_that_no_phase_has_are_refused() {
    let refused = |chain: &Chain, meaning| {
        let ciphertext = full(chain, Level(1), 2);
        let id = LeveledSetId { level: Level(1), count: 1, components: 2 };
        encode_leveled_with_meaning(chain, id, &[(&ciphertext, meaning)]).unwrap_err()
    };
    let (exact, approximate) = (toy(65537), toy(1));
    let wrong = refused(&exact, PhaseMeaning::Scale(1.0));
    assert_eq!(wrong, CodecError::Meaning { found: 2, expected: 1 });
    let wrong = refused(&approximate, PhaseMeaning::Factor(1));
    assert_eq!(wrong, CodecError::Meaning { found: 1, expected: 2 });
    let spoiled = |chain: &Chain, meaning, at: usize, field: &[u8]| {
        let (id, mut bytes) = with_meaning(chain, &[meaning]);
        bytes[at..at + field.len()].copy_from_slice(field);
        let set = UncheckedLeveledSet::decode(&reseal(bytes)).map(|set| set.conform_with_meaning(chain, id));
        set.and_then(|set| set).unwrap_err()
    };
    let one = PhaseMeaning::Factor(1);
    for factor in [0, 65537, u64::MAX] {
        assert_eq!(refused(&exact, PhaseMeaning::Factor(factor)), CodecError::Factor { element: 0 });
        assert_eq!(spoiled(&exact, one, 80, &factor.to_le_bytes()), CodecError::Factor { element: 0 });
    }
    let unit = PhaseMeaning::Scale(1.0);
    for scale in [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(refused(&approximate, PhaseMeaning::Scale(scale)), CodecError::Scale { element: 0 });
        assert_eq!(spoiled(&approximate, unit, 80, &scale.to_le_bytes()), CodecError::Scale { element: 0 });
    }
    // An unknown meaning, reserved bytes, a kind whose phases have no stored meaning, a meaning of another chain, none.
    for (at, field) in [(76, [3]), (77, [1]), (79, [1]), (8, [6]), (26, [1]), (10, [1])] {
        assert_eq!(spoiled(&exact, one, at, &field), CodecError::Reserved, "{at}");
    }
    assert_eq!(spoiled(&exact, one, 6, &[3]), CodecError::Version { found: 3, expected: 2 });
    assert_eq!(spoiled(&exact, one, 76, &[2]), CodecError::Meaning { found: 2, expected: 1 });
    assert_eq!(spoiled(&exact, one, 76, &[0]), CodecError::Meaning { found: 0, expected: 1 });
}

#[test]
fn sizes_are_those_of_the_parameters_alone() {
    for params in chain_presets().iter().map(|preset| preset.params().unwrap()) {
        let chain = Chain::new(&params, 65537, Cpu::detect().unwrap()).unwrap();
        assert_eq!(packed_poly_bytes_of(chain.key_ring()), size::key_poly_bytes(&params));
        for count in [0, 1, 9] {
            let bytes = evaluation_keys_bytes(&chain, count).unwrap() as u64;
            assert_eq!(bytes, size::evaluation_keys_bytes(&params, count));
        }
        if params.degree() > 8192 {
            break;
        }
    }
}

/// As objects have it, limb by limb.
fn packed_poly_bytes_of(ring: &Ring) -> usize {
    ring.limbs().iter().map(|limb| limb.packed_bytes(ring.degree())).sum()
}

#[test]
fn a_seeded_ciphertext_is_half_a_full_one() {
    let params = chain_preset("n13_q3p1x46_d1_sec128_v1").unwrap().params().unwrap();
    let chain = Chain::new(&params, 65537, Cpu::detect().unwrap()).unwrap();
    let id = LeveledSetId { level: chain.top(), count: 1, components: 2 };
    let whole = leveled_set_bytes(&chain, id).unwrap() - CHAIN_OVERHEAD_BYTES;
    let half = seeded_set_bytes(&chain, chain.top(), 1).unwrap() - CHAIN_OVERHEAD_BYTES;
    assert_eq!(2 * (half - 32), whole);
    assert_eq!(half, 32 + 3 * 8192 * 46 / 8);
    // Keys: bodies alone, at 46 bits instead of words of 64.
    let keys = evaluation_keys_bytes(&chain, 1).unwrap() - CHAIN_OVERHEAD_BYTES;
    assert_eq!(keys - 36, 3 * 4 * 8192 * 46 / 8);
}

#[test]
fn what_differs_is_named() {
    let chain = toy(65537);
    let id = LeveledSetId { level: Level(1), count: 1, components: 2 };
    let bytes = encode_leveled(&chain, id, &[full(&chain, Level(1), 2)]).unwrap();
    let conform = |bytes: &[u8], chain: &Chain, id| {
        UncheckedLeveledSet::decode(bytes).and_then(|set| set.conform(chain, id)).unwrap_err()
    };
    let wrong = conform(&bytes, &chain, LeveledSetId { level: Level(2), ..id });
    assert_eq!(wrong, CodecError::Level { found: Level(1), expected: Level(2) });
    assert!(matches!(conform(&bytes, &chain, LeveledSetId { level: Level(9), ..id }), CodecError::Object(_)));
    let wrong = conform(&bytes, &chain, LeveledSetId { components: 3, ..id });
    assert_eq!(wrong, CodecError::Components { found: 2, expected: 3 });
    let wrong = conform(&bytes, &chain, LeveledSetId { components: 1, ..id });
    assert_eq!(wrong, CodecError::Components { found: 1, expected: 2 });
    let wrong = conform(&bytes, &chain, LeveledSetId { count: 2, ..id });
    assert_eq!(wrong, CodecError::ElementCount { found: 1, expected: 2 });
    assert!(conform(&bytes, &chain, LeveledSetId { count: u32::MAX, ..id }).to_string().contains("expected"));
    let other = toy(1);
    let ids = [&chain, &other].map(ChainId::of);
    assert_eq!(conform(&bytes, &other, id), CodecError::Chain { found: ids[0], expected: ids[1] });
    let wrong = UncheckedSeededSet::decode(&bytes).unwrap().conform(&chain, Level(1), 1).unwrap_err();
    let (found, expected) = (ObjectKind::LeveledCiphertexts, ObjectKind::SeededCiphertexts);
    assert_eq!(wrong, CodecError::Kind { found, expected });

    let with = |at: usize, field: &[u8]| {
        let mut spoiled = bytes.clone();
        spoiled[at..at + field.len()].copy_from_slice(field);
        conform(&reseal(spoiled), &chain, id)
    };
    assert_eq!(with(0, b"X"), CodecError::Magic);
    assert_eq!(with(0, b"HUSHCH"), CodecError::EarlierForm);
    assert_eq!(with(6, &[9]), CodecError::Version { found: 9, expected: 2 });
    // The kinds of one version are not read in the other.
    assert_eq!(with(6, &[1]), CodecError::Version { found: 1, expected: 2 });
    assert_eq!(with(8, &[1]), CodecError::Version { found: 2, expected: 1 });
    assert_eq!(with(8, &[77]), CodecError::UnknownKind { found: 77 });
    assert_eq!(with(8, &[0]), CodecError::UnknownKind { found: 0 });
    assert_eq!(with(9, &[0]), CodecError::InsecureToy);
    for at in [9, 77] {
        assert_eq!(with(at, &[2]), CodecError::Reserved);
    }
    assert_eq!(with(12, &[3]), CodecError::Column { found: 3, expected: 0 });
    assert_eq!(with(16, &[3]), CodecError::Chunk { found: 3, expected: 0 });
    assert_eq!(with(20, &[0xff; 4]), CodecError::ElementCount { found: u32::MAX, expected: 1 });
    assert_eq!(with(24, &[2]), CodecError::Lanes { found: 2, expected: 1 });
    assert!(matches!(with(64, &[3]), CodecError::Chain { found: ChainId { unit: 65539, .. }, .. }));
    for at in [28, 72] {
        for length in [[0; 4], [0xff; 4], [9, 0, 0, 0]] {
            if (at, length) != (72, [0; 4]) {
                assert!(matches!(with(at, &length), CodecError::Length { .. }), "{at}");
            }
        }
    }
    assert_eq!(with(80, &[0xff; 8]), CodecError::Residue { element: 0, limb: 0 });
    assert_eq!(with(80 + 3 * 92, &[0xff; 8]), CodecError::Residue { element: 0, limb: 1 });
    for short in 0..96 {
        assert!(matches!(conform(&bytes[..short], &chain, id), CodecError::Length { .. }), "{short}");
    }
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    assert_eq!(conform(&damaged, &chain, id), CodecError::Checksum);
}

#[test]
fn ciphertexts_without_a_mask_are_refused() {
    let chain = toy(1);
    let ring = chain.ring(Level(1)).unwrap();
    let id = LeveledSetId { level: Level(1), count: 1, components: 2 };
    let open = RlweCiphertext::new(vec![pattern(ring, 0), Poly::zero(ring)]).unwrap();
    let refused = encode_leveled(&chain, id, &[open]).unwrap_err();
    assert_eq!(refused, CodecError::Transparent { element: 0 });
    // Bytes that say so, and such that are open modulo one prime alone.
    let bytes = encode_leveled(&chain, id, &[full(&chain, Level(1), 2)]).unwrap();
    let mask = CHAIN_HEADER_BYTES + 2 * 92;
    for zeros in [mask..mask + 2 * 92, mask + 92..mask + 2 * 92] {
        let mut spoiled = bytes.clone();
        spoiled[zeros].fill(0);
        let spoiled = reseal(spoiled);
        let refused = UncheckedLeveledSet::decode(&spoiled).unwrap().conform(&chain, id).unwrap_err();
        assert_eq!(refused, CodecError::Transparent { element: 0 });
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let chain = toy(1);
    let id = LeveledSetId { level: Level(1), count: 1, components: 2 };
    let wrong_level = encode_leveled(&chain, id, &[full(&chain, Level(2), 2)]).unwrap_err();
    assert!(matches!(wrong_level, CodecError::Object(_)));
    let wrong_shape = encode_leveled(&chain, id, &[full(&chain, Level(1), 3)]).unwrap_err();
    assert_eq!(wrong_shape, CodecError::Components { found: 3, expected: 2 });
    let too_few = encode_leveled(&chain, id, &[]).unwrap_err();
    assert_eq!(too_few, CodecError::ElementCount { found: 0, expected: 1 });
    assert!(encode_seeded(&chain, Level(0), &[seeded(&chain, Level(1))]).is_err());
    let foreign = evaluation_keys(&toy(65537), &[0]).encode(&chain).unwrap_err();
    assert_eq!(foreign, CodecError::Object(RlweError::ChainMismatch));
    let id = LeveledSetId { count: u32::MAX, ..id };
    assert!(leveled_set_bytes(&chain, id).unwrap() > 1 << 32);
}

const GOLDEN_FINGERPRINT: [u8; 32] = [
    45, 254, 179, 197, 105, 123, 173, 147, 12, 114, 189, 137, 170, 217, 231, 200, 30, 31, 219, 61, 86, 166,
    203, 73, 208, 21, 150, 164, 59, 69, 19, 216,
];
/// First four bytes of BLAKE3 of each object.
const GOLDEN_DIGESTS: [u32; 3] = [0x4ec2_68a8, 0x3e6f_acf9, 0xe788_e7ef];
