// SPDX-License-Identifier: Apache-2.0
//! The keys of bootstrapping: evaluation keys with levels, and the keys to a sparse secret and back.
//!
//! On the toy chain, whose limbs take 92, 92 and 60 bytes and the special one 94, a key for level 0 has one digit of 92 + 94 bytes, for
//! level 1 two of 278, and for level 2 three of 338.

use std::collections::BTreeMap;

use super::*;
use crate::chain_object::append_poly;

const LEVELS: [(usize, Level); 3] = [(0, Level(2)), (5, Level(0)), (31, Level(1))];
/// Where the keys of these levels begin.
const STARTS: [usize; 3] = [80, 80 + 37 + 3 * 338, 80 + 37 + 3 * 338 + 37 + 186];
/// Where the key back begins.
const BACK: usize = 80 + 32 + 186;

pub(crate) fn levels() -> BTreeMap<usize, Level> {
    LEVELS.into()
}

/// A key with patterns for bodies.
fn key(chain: &Chain, level: Level, element: u32) -> KeySwitchKey {
    let seed = UniformSeed::from_bytes([element as u8 + 1; 32]);
    let mut key = KeySwitchKey::with_masks_up_to(chain, level, seed, element).unwrap();
    for digit in 0..key.digit_count() {
        let body = pattern(chain.key_ring(), u64::from(element) + digit as u64);
        for place in key.primes() {
            key.body_and_mask(digit, place).0.copy_from_slice(body.limb(place));
        }
    }
    key
}

pub(crate) fn leveled_keys(chain: &Chain) -> EvaluationKeys {
    let mut keys = EvaluationKeys::new();
    for (element, level) in LEVELS {
        keys.insert(key(chain, level, element as u32));
    }
    keys
}

fn sparse(chain: &Chain) -> Chain {
    Chain::new(&chain.params().sparse_chain().unwrap(), chain.unit(), chain.cpu()).unwrap()
}

pub(crate) fn encapsulation_keys(chain: &Chain) -> EncapsulationKeys {
    let small = sparse(chain);
    EncapsulationKeys::new(key(&small, small.top(), 0), key(chain, chain.top(), 0)).unwrap()
}

/// The toy chain with another prime for its special one.
fn other_special() -> Chain {
    let spec = ChainSpec {
        degree: 16,
        universe: toy(1).params().universe().to_vec(),
        special: vec![primes_of(47)[1]],
        levels: toy(1).params().levels().to_vec(),
        digit_limbs: 1,
    };
    Chain::new(&ChainParams::insecure_toy(spec).unwrap(), 1, Cpu::detect().unwrap()).unwrap()
}

fn read_leveled(
    chain: &Chain,
    bytes: &[u8],
    levels: &BTreeMap<usize, Level>,
) -> Result<EvaluationKeys, CodecError> {
    UncheckedLeveledKeys::decode(bytes)?.conform(chain, levels)
}

fn read_encapsulation(chain: &Chain, bytes: &[u8]) -> Result<EncapsulationKeys, CodecError> {
    UncheckedEncapsulationKeys::decode(bytes)?.conform(chain)
}

/// Every cut, one byte more, and a flipped bit in every byte.
fn damage_is_refused(bytes: &[u8], refused: impl Fn(&[u8]) -> Option<CodecError>) {
    for length in 0..bytes.len() {
        assert!(matches!(refused(&bytes[..length]), Some(CodecError::Length { .. })), "{length}");
    }
    let longer = [bytes, &[0]].concat();
    assert!(matches!(refused(&longer), Some(CodecError::Length { .. })));
    // The header's length says so as well.
    for payload in [&bytes[80..bytes.len() - 17], &[&bytes[80..bytes.len() - 16], &[0]].concat()] {
        let mut other = bytes[..80].to_vec();
        other[28..32].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        other.extend_from_slice(payload);
        crate::header::seal(&mut other);
        let (found, expected) = (payload.len() as u64, bytes.len() as u64 - 96);
        assert_eq!(refused(&other), Some(CodecError::Length { found, expected }));
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        let error = refused(&flipped);
        assert!(at < 80 && error.is_some() || error == Some(CodecError::Checksum), "{at}: {error:?}");
    }
}

/// What the fields of a header are refused for, whatever the object.
fn other_fields_are_refused(
    bytes: &[u8],
    (kind, count): (ObjectKind, u32),
    refused: impl Fn(&[u8]) -> CodecError,
) {
    let with = |at: usize, field: &[u8]| {
        let mut other = bytes.to_vec();
        other[at..at + field.len()].copy_from_slice(field);
        refused(&reseal(other))
    };
    let found = ObjectKind::PublicKey;
    assert_eq!(with(8, &[9]), CodecError::Kind { found, expected: kind });
    assert_eq!(with(8, &[15]), CodecError::UnknownKind { found: 15 });
    assert_eq!(with(6, &[1]), CodecError::Version { found: 1, expected: 2 });
    assert_eq!(with(9, &[0]), CodecError::InsecureToy);
    assert_eq!(with(12, &[3]), CodecError::Column { found: 3, expected: 0 });
    assert_eq!(with(16, &[3]), CodecError::Chunk { found: 3, expected: 0 });
    assert_eq!(with(20, &[0xff; 4]), CodecError::ElementCount { found: u32::MAX, expected: count });
    assert_eq!(with(24, &[2]), CodecError::Lanes { found: 2, expected: 1 });
    assert_eq!(with(25, &[2]), CodecError::Components { found: 2, expected: 1 });
    assert_eq!(with(27, &[1]), CodecError::Level { found: Level(1), expected: Level(2) });
    assert!(matches!(with(28, &[0xff; 4]), CodecError::Length { .. }));
    assert!(matches!(with(32, &[0xff; 4]), CodecError::Chain { .. }));
    assert!(matches!(with(64, &[3]), CodecError::Chain { found: ChainId { unit: 3, .. }, .. }));
    // No meaning of phases, and nothing that is reserved.
    for at in [26, 76, 77] {
        assert_eq!(with(at, &[1]), CodecError::Reserved, "{at}");
    }
}

#[test]
fn keys_with_levels_keep_their_bytes() {
    let chain = toy(1);
    let bytes = leveled_keys(&chain).encode_up_to(&chain).unwrap();
    #[rustfmt::skip]
    let head = [
        b'H', b'U', b'S', b'H', b'C', b'T', 2, 0,
        // Keys with levels, insecure, no code; no column, no chunk, three of them; one lane, one polynomial each, not rounded, the top.
        13, 1, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0,
        1, 1, 0, 2,
        // 3·37 + 1014 + 186 + 556.
        75, 7, 0, 0,
    ];
    assert_eq!(bytes[..32], head);
    assert_eq!(bytes[32..64], chain.params().fingerprint().to_bytes());
    assert_eq!(bytes[64..80], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for ((element, level), start) in LEVELS.into_iter().zip(STARTS) {
        let element = element as u8;
        assert_eq!(bytes[start..start + 5], [element, 0, 0, 0, level.0]);
        assert_eq!(bytes[start + 5..start + 37], [element + 1; 32]);
    }
    // Of the key for level 0 the one body, modulo the first prime and the special one.
    let body = pattern(chain.key_ring(), 5);
    let mut packed = Vec::new();
    for place in [0, 3] {
        append_packed(&mut packed, &chain.key_ring().limbs()[place], body.limb(place));
    }
    assert_eq!(bytes[STARTS[1] + 37..STARTS[2]], packed);
    assert_eq!(bytes.len(), STARTS[2] + 37 + 2 * 278 + 16);
    let digest = blake3::hash(&bytes);
    assert_eq!(digest.as_bytes()[..4], GOLDEN_LEVELED, "{digest}");
}

#[test]
fn keys_with_levels_come_back() {
    let chain = toy(65537);
    let keys = leveled_keys(&chain);
    let bytes = keys.encode_up_to(&chain).unwrap();
    assert_eq!(bytes.len(), leveled_keys_bytes(&chain, &levels()).unwrap());
    let by_params = size::leveled_keys_bytes(chain.params(), levels().into_values());
    assert_eq!(bytes.len() as u64, by_params);
    let back = read_leveled(&chain, &bytes, &levels()).unwrap();
    assert_eq!(back, keys);
    assert_eq!(back.encode_up_to(&chain).unwrap(), bytes);
    // The identity needs no key, whoever names it.
    let mut with_identity = levels();
    with_identity.insert(1, Level(2));
    assert_eq!(read_leveled(&chain, &bytes, &with_identity).unwrap(), keys);
    assert_eq!(leveled_keys_bytes(&chain, &with_identity).unwrap(), bytes.len());
    let mut more = keys.clone();
    more.insert(key(&chain, Level(0), 1));
    assert_eq!(more.encode_up_to(&chain).unwrap(), bytes);
    // None at all, and keys for all levels alone.
    let none = EvaluationKeys::new().encode_up_to(&chain).unwrap();
    assert_eq!(none.len(), 96);
    assert_eq!(read_leveled(&chain, &none, &BTreeMap::new()).unwrap(), EvaluationKeys::new());
    let whole = evaluation_keys(&chain, &[0, 5]);
    let bytes = whole.encode_up_to(&chain).unwrap();
    assert_eq!(bytes.len(), evaluation_keys_bytes(&chain, 2).unwrap() + 2);
    let tops = BTreeMap::from([(0, Level(2)), (5, Level(2))]);
    assert_eq!(read_leveled(&chain, &bytes, &tops).unwrap(), whole);
}

#[test]
fn keys_with_other_levels_or_elements_are_refused() {
    let chain = toy(1);
    let bytes = leveled_keys(&chain).encode_up_to(&chain).unwrap();
    let refused = |levels: &[(usize, Level)]| {
        read_leveled(&chain, &bytes, &levels.iter().copied().collect()).unwrap_err()
    };
    let [first, second, third] = LEVELS;
    for (element, found, expected) in [(0, 2, 1), (5, 0, 2), (31, 1, 0)] {
        let mut other = levels();
        other.insert(element, Level(expected));
        let (element, found, expected) = (element as u32, Level(found), Level(expected));
        let wrong = read_leveled(&chain, &bytes, &other).unwrap_err();
        assert_eq!(wrong, CodecError::KeyLevel { element, found, expected });
    }
    let wrong = refused(&[first, (7, Level(0)), third]);
    assert_eq!(wrong, CodecError::GaloisElement { found: 5, expected: 7 });
    assert_eq!(refused(&[first, second]), CodecError::ElementCount { found: 3, expected: 2 });
    assert_eq!(
        refused(&[first, second, (7, Level(0)), third]),
        CodecError::ElementCount { found: 3, expected: 4 }
    );
    let (level, top) = (Level(3), Level(2));
    let no_level = CodecError::Object(RlweError::Ring(hush_ring::RingError::Level { found: level, top }));
    assert_eq!(refused(&[first, (5, level), third]), no_level);
    assert_eq!(leveled_keys_bytes(&chain, &[(5, level)].into()).unwrap_err(), no_level);
    for found in [2, 32, 33, usize::MAX] {
        let no_element = RlweError::Ring(hush_ring::RingError::GaloisElement { found, order: 32 });
        assert_eq!(refused(&[first, (found, Level(0))]), CodecError::Object(no_element));
    }
    // Bytes that say so.
    let with = |at: usize, field: &[u8]| {
        let mut other = bytes.clone();
        other[at..at + field.len()].copy_from_slice(field);
        read_leveled(&chain, &reseal(other), &levels()).unwrap_err()
    };
    for ((element, level), start) in LEVELS.into_iter().zip(STARTS) {
        let (element, expected) = (element as u32, level);
        for found in (0..=255).map(Level).filter(|&found| found != expected) {
            assert_eq!(with(start + 4, &[found.0]), CodecError::KeyLevel { element, found, expected });
        }
        for found in [1, 2, 7, 33, u32::MAX] {
            let wrong = with(start, &found.to_le_bytes());
            assert_eq!(wrong, CodecError::GaloisElement { found, expected: element });
        }
    }
}

#[test]
fn keys_with_levels_that_are_damaged_or_foreign_are_refused() {
    let chain = toy(1);
    let bytes = leveled_keys(&chain).encode_up_to(&chain).unwrap();
    let refused = |bytes: &[u8]| read_leveled(&chain, bytes, &levels()).err();
    damage_is_refused(&bytes, refused);
    other_fields_are_refused(&bytes, (ObjectKind::LeveledKeys, 3), |bytes| refused(bytes).unwrap());
    // Residues by key and place in the key ring: of level 0 the special prime stands behind the first.
    for (at, element, limb) in [
        (STARTS[0] + 37, 0, 0),
        (STARTS[0] + 37 + 2 * 338 + 244, 0, 3),
        (STARTS[1] + 37, 1, 0),
        (STARTS[1] + 37 + 92, 1, 3),
        (STARTS[2] + 37 + 278 + 92, 2, 1),
    ] {
        let mut other = bytes.clone();
        other[at..at + 8].fill(0xff);
        assert_eq!(refused(&reseal(other)), Some(CodecError::Residue { element, limb }));
    }
    for other in [toy(65537), other_special()] {
        let (found, expected) = (ChainId::of(&chain), ChainId::of(&other));
        let wrong = read_leveled(&other, &bytes, &levels()).unwrap_err();
        assert_eq!(wrong, CodecError::Chain { found, expected });
        let wrong = leveled_keys(&chain).encode_up_to(&other).unwrap_err();
        assert_eq!(wrong, CodecError::Object(RlweError::ChainMismatch));
    }
    // The two forms of evaluation keys are not taken for each other.
    let (plain, leveled) = (ObjectKind::EvaluationKeys, ObjectKind::LeveledKeys);
    let wrong = UncheckedEvaluationKeys::decode(&bytes).unwrap().conform(&chain, &[0, 5, 31]);
    assert_eq!(wrong.unwrap_err(), CodecError::Kind { found: leveled, expected: plain });
    let bytes = evaluation_keys(&chain, &[0, 5, 31]).encode(&chain).unwrap();
    assert_eq!(refused(&bytes), Some(CodecError::Kind { found: plain, expected: leveled }));
    // And the one without levels does not hold these keys.
    let wrong = leveled_keys(&chain).encode(&chain).unwrap_err();
    let partial = RlweError::PartialKey { element: 5, found: Level(0) };
    assert_eq!(wrong, CodecError::Object(partial));
}

#[test]
fn encapsulation_keys_keep_their_bytes_and_come_back() {
    for unit in [1, 65537] {
        let chain = toy(unit);
        let keys = encapsulation_keys(&chain);
        let bytes = keys.encode().unwrap();
        let back = read_encapsulation(&chain, &bytes).unwrap();
        assert_eq!(back, keys);
        assert_eq!((back.chain(), back.to_sparse().chain()), (&chain, &sparse(&chain)));
        assert_eq!(bytes.len(), encapsulation_keys_bytes(&chain).unwrap());
        assert_eq!(bytes.len() as u64, size::encapsulation_keys_bytes(chain.params()).unwrap());
    }
    let chain = toy(1);
    let bytes = encapsulation_keys(&chain).encode().unwrap();
    assert_eq!(bytes.len(), BACK + 32 + 3 * 338 + 16);
    assert_eq!(bytes[8..12], [14, 1, 0, 0]);
    // Two keys; one lane, one polynomial each, not rounded, the top; 2·32 + 186 + 1014 bytes.
    assert_eq!(bytes[12..32], [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 2, 240, 4, 0, 0]);
    assert_eq!(bytes[32..64], chain.params().fingerprint().to_bytes());
    assert_eq!([&bytes[80..112], &bytes[BACK..BACK + 32]], [[1; 32]; 2]);
    let small = sparse(&chain);
    let mut packed = Vec::new();
    append_poly(&mut packed, &pattern(small.key_ring(), 0));
    assert_eq!(bytes[112..BACK], packed);
    let digest = blake3::hash(&bytes);
    assert_eq!(digest.as_bytes()[..4], GOLDEN_ENCAPSULATION, "{digest}");
}

#[test]
fn encapsulation_keys_that_are_damaged_or_foreign_are_refused() {
    let chain = toy(1);
    let keys = encapsulation_keys(&chain);
    let bytes = keys.encode().unwrap();
    let refused = |bytes: &[u8]| read_encapsulation(&chain, bytes).err();
    damage_is_refused(&bytes, refused);
    other_fields_are_refused(&bytes, (ObjectKind::EncapsulationKeys, 2), |bytes| refused(bytes).unwrap());
    for (at, element, limb) in [(112, 0, 0), (112 + 92, 0, 1), (BACK + 32, 1, 0), (BACK + 32 + 244, 1, 3)] {
        let mut other = bytes.clone();
        other[at..at + 8].fill(0xff);
        assert_eq!(refused(&reseal(other)), Some(CodecError::Residue { element, limb }));
    }
    for other in [toy(65537), other_special()] {
        let (found, expected) = (ChainId::of(&chain), ChainId::of(&other));
        let wrong = read_encapsulation(&other, &bytes).unwrap_err();
        assert_eq!(wrong, CodecError::Chain { found, expected });
    }
    // No estimate covers a sparse secret there.
    let params = chain_preset("n13_q3p1x46_d1_sec128_v1").unwrap().params().unwrap();
    let other = Chain::new(&params, 1, Cpu::detect().unwrap()).unwrap();
    for wrong in [read_encapsulation(&other, &bytes).err(), encapsulation_keys_bytes(&other).err()] {
        let is_named = matches!(&wrong, Some(CodecError::Object(RlweError::NoSparseChain { .. })));
        assert!(is_named && wrong.unwrap().to_string().contains("8192"));
    }
}

/// What a reader would not find on its own chain for the sparse secret.
#[test]
fn encapsulation_keys_of_other_small_chains_are_not_written() {
    let chain = toy(1);
    let back = || key(&chain, chain.top(), 0);
    for other in [sparse(&other_special()), sparse(&toy(65537))] {
        let keys = EncapsulationKeys::new(key(&other, Level(0), 0), back()).unwrap();
        assert_eq!(keys.encode().unwrap_err(), CodecError::Object(RlweError::ChainMismatch));
    }
    let small = sparse(&chain);
    for keys in [
        EncapsulationKeys::new(key(&small, Level(0), 5), back()),
        EncapsulationKeys::new(key(&small, Level(0), 0), key(&chain, chain.top(), 5)),
    ] {
        let wrong = keys.unwrap().encode().unwrap_err();
        assert_eq!(wrong, CodecError::GaloisElement { found: 5, expected: 0 });
    }
}

/// First four bytes of BLAKE3 of each object.
const GOLDEN_LEVELED: [u8; 4] = [0x4c, 0x4d, 0x03, 0x83];
const GOLDEN_ENCAPSULATION: [u8; 4] = [0x92, 0x4f, 0x17, 0x53];
