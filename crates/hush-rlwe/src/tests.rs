// SPDX-License-Identifier: Apache-2.0
//! Binary forms: golden bytes, damage of every kind, hostile fields; and ciphertext algebra.

use hush_params::preset;
use hush_ring::{Cpu, Domain, Poly, Ring, UniformSeed, os_random};

use crate::header::seal;
use crate::*;

mod corpus;
mod mutations;

fn ring(name: &str) -> Ring {
    Ring::new(preset(name).unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn small() -> Ring {
    ring("n11_q1x46_sec128_v1")
}

const ID: BodyId = BodyId { column: 7, chunk: 5, element_count: 2, lanes: 1 };

/// Residue `i` is `i·3^20 mod q`.
fn pattern(ring: &Ring) -> Vec<u64> {
    let limbs = ring.limbs().iter().map(|limb| limb.modulus());
    limbs.flat_map(|q| (0..ring.degree() as u64).map(move |i| q.mul(i, 3_486_784_401))).collect()
}

fn body(ring: &Ring, kind: BodyKind, id: BodyId) -> Vec<u8> {
    let mut writer = BodyWriter::new(ring, kind, id).unwrap();
    for _ in 0..id.element_count * u32::from(id.lanes) {
        for (limb, words) in ring.limbs().iter().zip(pattern(ring).chunks(ring.degree())) {
            writer.push_limb(limb, words);
        }
    }
    writer.finish().unwrap()
}

/// A body of which the coefficients of some rows are stored.
fn cut_body(ring: &Ring, id: BodyId, rows: usize) -> Vec<u8> {
    let mut writer = BodyWriter::cut(ring, id, rows).unwrap();
    for _ in 0..id.element_count {
        for (limb, words) in ring.limbs().iter().zip(pattern(ring).chunks(ring.degree())) {
            writer.push_limb(limb, words);
        }
    }
    writer.finish().unwrap()
}

fn conform<'a>(bytes: &'a [u8], ring: &Ring) -> Result<Body<'a>, CodecError> {
    UncheckedBody::decode(bytes)?.conform(ring, BodyKind::Sum, ID)
}

/// Replaces the checksum by the right one: what a forger does.
fn reseal(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    seal(&mut bytes);
    bytes
}

fn words<D: Domain>(ring: &Ring) -> Poly<D> {
    Poly::from_words(ring, pattern(ring)).unwrap()
}

#[test]
fn bodies_keep_their_bytes() {
    let bytes = body(&small(), BodyKind::Sum, ID);
    #[rustfmt::skip]
    let head: [u8; 44] = [
        b'H', b'U', b'S', b'H', b'C', b'T', 1, 0, 1, 0, 1, 0,
        7, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0,
        // 2 · 2048 · 46/8 = 23552 bytes.
        0x00, 0x5c, 0, 0,
        // 0, then 3486784401 = 0xcfd41b91 from bit 46 on, then twice that from bit 92 on.
        0, 0, 0, 0, 0, 0x40, 0xe4, 0x06, 0xf5, 0x33, 0x00, 0x20,
    ];
    assert_eq!(bytes[..44], head);
    assert_eq!(bytes.len(), body_bytes(&small(), 2, 1));
    let digest = blake3::hash(&bytes[..bytes.len() - 16]);
    assert_eq!(bytes[bytes.len() - 16..], digest.as_bytes()[..16]);
}

#[test]
fn full_chunks_stay_below_the_promised_size() {
    let per_value = |name: &str| {
        let ring = ring(name);
        body_bytes(&ring, (8192 / ring.degree()) as u32, 1) as f64 / 8192.0
    };
    assert!(per_value("n11_q1x46_sec128_v1") <= 5.76);
    assert!(per_value("n12_q2x46_sec128_v1") <= 11.51);
}

#[test]
fn bodies_round_trip_in_every_ring() {
    for set in hush_params::presets() {
        let ring = ring(set.name());
        let id = BodyId { lanes: 3, ..ID };
        let bytes = body(&ring, BodyKind::Slot, id);
        let body = UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Slot, id).unwrap();
        let again = Body::from_verified(&bytes, &ring, BodyKind::Slot, id).unwrap();
        let mut out = vec![0; ring.degree()];
        for (index, (limb, expected)) in
            ring.limbs().iter().zip(pattern(&ring).chunks(ring.degree())).enumerate()
        {
            limb.unpack(body.packed(1, 2, index), &mut out);
            assert_eq!(out, expected);
            assert_eq!(again.packed(1, 2, index), body.packed(1, 2, index));
        }
        for (element, lane, limb) in [(2, 0, 0), (0, 3, 0), (0, 0, ring.limb_count())] {
            assert!(body.packed(element, lane, limb).is_empty());
        }
    }
}

#[test]
fn truncated_and_extended_bytes_are_refused() {
    let (ring, bytes) = (small(), body(&small(), BodyKind::Sum, ID));
    let near_ends = (0..=OVERHEAD_BYTES + 1).chain(bytes.len() - OVERHEAD_BYTES..bytes.len());
    for length in near_ends {
        let error = conform(&bytes[..length], &ring).unwrap_err();
        assert!(matches!(error, CodecError::Length { .. }), "length {length}: {error}");
        assert!(Body::from_verified(&bytes[..length], &ring, BodyKind::Sum, ID).is_err());
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(matches!(conform(&longer, &ring), Err(CodecError::Length { .. })));
}

#[test]
fn every_flipped_bit_is_found() {
    let (ring, bytes) = (small(), body(&small(), BodyKind::Sum, ID));
    let header_bits = 0..HEADER_BYTES * 8;
    let payload_bits = (0..200).map(|step| (HEADER_BYTES * 8 + step * 941) % (bytes.len() * 8));
    let checksum_bits = (bytes.len() - CHECKSUM_BYTES) * 8..bytes.len() * 8;
    for bit in header_bits.clone().chain(payload_bits).chain(checksum_bits) {
        let mut spoiled = bytes.clone();
        spoiled[bit / 8] ^= 1 << (bit % 8);
        assert!(conform(&spoiled, &ring).is_err(), "bit {bit}");
    }
    // A forger who recomputes the checksum is caught by the comparison of fields.
    for bit in header_bits {
        let mut spoiled = bytes.clone();
        spoiled[bit / 8] ^= 1 << (bit % 8);
        let error = conform(&reseal(spoiled), &ring).unwrap_err();
        assert_ne!(error, CodecError::Checksum, "bit {bit}");
    }
}

#[test]
fn errors_name_what_differs() {
    let (ring, bytes) = (small(), body(&small(), BodyKind::Sum, ID));
    let decode = || UncheckedBody::decode(&bytes).unwrap();
    let with = |id| decode().conform(&ring, BodyKind::Sum, id).unwrap_err();
    assert_eq!(with(BodyId { column: 8, ..ID }), CodecError::Column { found: 7, expected: 8 });
    assert_eq!(with(BodyId { chunk: 4, ..ID }), CodecError::Chunk { found: 5, expected: 4 });
    let error = CodecError::ElementCount { found: 2, expected: 3 };
    assert_eq!(with(BodyId { element_count: 3, ..ID }), error);
    assert_eq!(with(BodyId { lanes: 2, ..ID }), CodecError::Lanes { found: 1, expected: 2 });
    let error = decode().conform(&ring, BodyKind::Slot, ID).unwrap_err();
    assert_eq!(error, CodecError::Kind { found: ObjectKind::SumBody, expected: ObjectKind::SlotBody });
    let other = self::ring("n12_q2x46_sec128_v1");
    let error = decode().conform(&other, BodyKind::Sum, ID).unwrap_err();
    assert_eq!(error, CodecError::Params { found: 1, expected: 2 });
}

#[test]
fn hostile_fields_are_refused_before_anything_is_allocated() {
    let (ring, bytes) = (small(), body(&small(), BodyKind::Sum, ID));
    let with = |at: usize, field: &[u8]| {
        let mut spoiled = bytes.clone();
        spoiled[at..at + field.len()].copy_from_slice(field);
        conform(&reseal(spoiled), &ring).unwrap_err()
    };
    assert_eq!(with(0, b"X"), CodecError::Magic);
    assert_eq!(with(6, &[2]), CodecError::Version { found: 2, expected: 1 });
    assert_eq!(with(8, &[99]), CodecError::UnknownKind { found: 99 });
    assert_eq!(with(9, &[1]), CodecError::Reserved);
    assert_eq!(with(26, &[64]), CodecError::Reserved);
    assert_eq!(with(27, &[1]), CodecError::Reserved);
    assert_eq!(with(10, &[0xff, 0xff]), CodecError::UnknownParams { found: 0xffff });
    for field in [[0; 4], [0xff; 4], [0, 0, 0, 0x80]] {
        assert!(matches!(with(20, &field), CodecError::Length { .. }));
        assert!(matches!(with(28, &field), CodecError::Length { .. }));
    }
    assert!(matches!(with(20, &[0xff; 6]), CodecError::Length { .. }));
}

#[test]
fn residues_at_and_above_the_prime_are_refused() {
    let ring = ring("n12_q3x34_sec128_v1");
    for (limb, ring_limb) in ring.limbs().iter().enumerate() {
        let q = ring_limb.modulus().value();
        for residue in [q, (1 << 34) - 1] {
            let mut words = pattern(&ring);
            words[(limb + 1) * ring.degree() - 1] = residue;
            let mut writer =
                BodyWriter::new(&ring, BodyKind::Sum, BodyId { element_count: 1, ..ID }).unwrap();
            for (limb, words) in ring.limbs().iter().zip(words.chunks(ring.degree())) {
                writer.push_limb(limb, words);
            }
            let bytes = writer.finish().unwrap();
            let id = BodyId { element_count: 1, ..ID };
            let error = UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).unwrap_err();
            assert_eq!(error, CodecError::Residue { element: 0, limb: limb as u32 });
        }
    }
}

#[test]
fn a_writer_gives_no_incomplete_object() {
    let ring = small();
    let writer = BodyWriter::new(&ring, BodyKind::Sum, ID).unwrap();
    assert!(matches!(writer.finish(), Err(CodecError::Length { .. })));
    let toy = Ring::insecure_toy(16, &[97]).unwrap();
    let error = BodyWriter::new(&toy, BodyKind::Sum, ID).unwrap_err();
    assert_eq!(error, CodecError::UnknownParams { found: 0 });
}

#[test]
fn sum_answers_round_trip_and_are_checked() {
    let ring = ring("n12_q2x46_sec128_v1");
    let q: Vec<u64> = ring.limbs().iter().map(|limb| limb.modulus().value()).collect();
    let answer = SumAnswer::new(words(&ring), vec![1, 2, q[0] - 1, q[1] - 1, 5, 6]).unwrap();
    assert_eq!((answer.body_count(), answer.body(2), answer.body(3)), (3, Some(&[5, 6][..]), None));
    let bytes = answer.encode(9).unwrap();
    assert_eq!(bytes.len(), sum_answer_bytes(&ring, 3));
    let decode =
        |bytes: &[u8], group, bodies| UncheckedSumAnswer::decode(bytes)?.conform(&ring, group, bodies);
    assert_eq!(decode(&bytes, 9, 3).unwrap(), answer);
    assert_eq!(decode(&bytes, 8, 3).unwrap_err(), CodecError::Chunk { found: 9, expected: 8 });
    assert_eq!(decode(&bytes, 9, 2).unwrap_err(), CodecError::ElementCount { found: 3, expected: 2 });
    for length in (0..64).chain(bytes.len() - 64..bytes.len()) {
        assert!(decode(&bytes[..length], 9, 3).is_err(), "length {length}");
    }
    let last = bytes.len() - CHECKSUM_BYTES - 8;
    let mut spoiled = bytes.clone();
    spoiled[last..last + 8].copy_from_slice(&q[1].to_le_bytes());
    let error = CodecError::Residue { element: 2, limb: 1 };
    assert_eq!(decode(&reseal(spoiled), 9, 3).unwrap_err(), error);
    let mut spoiled = bytes;
    spoiled[HEADER_BYTES..HEADER_BYTES + 6].fill(0xff);
    let error = CodecError::Residue { element: 0, limb: 0 };
    assert_eq!(decode(&reseal(spoiled), 9, 3).unwrap_err(), error);
    assert!(SumAnswer::new(words(&ring), vec![1]).is_err());
    assert!(SumAnswer::new(words(&ring), vec![q[0], 0]).is_err());
}

#[test]
fn ciphertext_sets_round_trip_and_are_checked() {
    let ring = small();
    let ciphertext = |count: usize| RlweCiphertext::new(vec![words(&ring); count]).unwrap();
    let set = CiphertextSet { ciphertexts: vec![ciphertext(2), ciphertext(3)], lanes: 2 };
    let bytes = set.encode(&ring, 4).unwrap();
    let id = CiphertextSetId { chunk: 4, element_count: 1, lanes: 2, components: 3 };
    let decoded = UncheckedCiphertextSet::decode(&bytes).unwrap().conform(&ring, id).unwrap();
    let mut extended = ciphertext(2);
    extended.add_assign(&RlweCiphertext::zero(&ring, 3)).unwrap();
    assert_eq!(decoded.ciphertexts, [extended, ciphertext(3)]);
    for wrong in [
        CiphertextSetId { chunk: 5, ..id },
        CiphertextSetId { element_count: 2, ..id },
        CiphertextSetId { lanes: 1, ..id },
        CiphertextSetId { components: 2, ..id },
        CiphertextSetId { components: 0, ..id },
        CiphertextSetId { components: 4, ..id },
    ] {
        assert!(UncheckedCiphertextSet::decode(&bytes).unwrap().conform(&ring, wrong).is_err());
    }
    assert!(UncheckedSumAnswer::decode(&bytes).unwrap().conform(&ring, 4, 1).is_err());
    let odd = CiphertextSet { ciphertexts: vec![ciphertext(2)], lanes: 2 };
    assert!(matches!(odd.encode(&ring, 0), Err(CodecError::ElementCount { .. })));
}

#[test]
fn rounded_objects_are_smaller_and_no_others() {
    let ring = small();
    let rounding = ObjectRounding::new(&ring, 23, &[PlaintextModulus::PowerOfTwo(20)]).unwrap();
    let whole = body(&ring, BodyKind::Sum, ID);
    let bytes = rounding.round_body(&conform(&whole, &ring).unwrap(), BodyKind::Sum).unwrap();
    assert_eq!(2 * (bytes.len() - OVERHEAD_BYTES), whole.len() - OVERHEAD_BYTES);
    // 0, then ⌊2^23·(3486784401/2^20 mod q)/q⌉.
    let q = ring.limbs()[0].modulus();
    let u = q.mul(3_486_784_401, q.inv(1 << 20).unwrap());
    let rounded = ((u128::from(u) << 24) / u128::from(q.value())).div_ceil(2);
    let packed = u64::from_le_bytes(bytes[HEADER_BYTES..HEADER_BYTES + 8].try_into().unwrap());
    assert_eq!(u128::from(packed & ((1 << 46) - 1)), rounded << 23);

    let other = BodyId { chunk: 6, ..ID };
    let wrong = rounding.restore_body(&bytes, BodyKind::Sum, other).unwrap_err();
    assert_eq!(wrong, CodecError::Chunk { found: 5, expected: 6 });
    let finer = ObjectRounding::new(&ring, 24, &[PlaintextModulus::PowerOfTwo(20)]).unwrap();
    let wrong = CodecError::RoundedBits { found: 23, expected: 24 };
    assert_eq!(finer.restore_body(&bytes, BodyKind::Sum, ID).unwrap_err(), wrong);
    assert_eq!(conform(&bytes, &ring).unwrap_err(), CodecError::RoundedBits { found: 23, expected: 0 });
    let wrong = CodecError::RoundedBits { found: 0, expected: 23 };
    assert_eq!(rounding.restore_body(&whole, BodyKind::Sum, ID).unwrap_err(), wrong);
    let mut spoiled = bytes;
    spoiled[26] = 64;
    assert_eq!(UncheckedBody::decode(&reseal(spoiled)).unwrap_err(), CodecError::Reserved);
    let two = ObjectRounding::new(&ring, 23, &[PlaintextModulus::Prime(65537); 2]).unwrap();
    let wrong = CodecError::Lanes { found: 1, expected: 2 };
    assert_eq!(two.round_body(&conform(&whole, &ring).unwrap(), BodyKind::Sum).unwrap_err(), wrong);
    assert!(ObjectRounding::new(&ring, 0, &[PlaintextModulus::PowerOfTwo(20)]).is_err());
    assert!(ObjectRounding::new(&ring, 20, &[PlaintextModulus::Prime(q.value())]).is_err());
}

/// Random bytes never panic, and never conform.
#[test]
fn noise_is_refused() {
    let ring = small();
    let mut bytes = vec![0; 4096];
    for round in 0..500 {
        os_random(&mut bytes).unwrap();
        let good = body(&ring, BodyKind::Sum, BodyId { element_count: 0, ..ID });
        let keep = round % HEADER_BYTES;
        bytes[..keep].copy_from_slice(&good[..keep]);
        let length = 48 + round * 8;
        assert!(conform(&reseal(bytes[..length].to_vec()), &ring).is_err());
    }
}

#[test]
fn products_beyond_three_components_are_refused() {
    let ring = Ring::insecure_toy(16, &[97]).unwrap();
    let fresh = RlweCiphertext::zero(&ring, 2);
    let product = fresh.mul(&fresh).unwrap();
    assert_eq!(product.components().len(), 3);
    assert_eq!(product.mul(&fresh).unwrap_err(), RlweError::Degree { left: 3, right: 2 });
    assert_eq!(RlweCiphertext::new(vec![]).unwrap_err(), RlweError::ComponentCount { found: 0 });
    let four = vec![Poly::zero(&ring); 4];
    assert_eq!(RlweCiphertext::new(four).unwrap_err(), RlweError::ComponentCount { found: 4 });
    let other = Ring::insecure_toy(32, &[193]).unwrap();
    assert!(RlweCiphertext::new(vec![Poly::zero(&ring), Poly::zero(&other)]).is_err());
}

/// The phase of each operation, with a known "secret", is the operation on phases.
#[test]
fn operations_act_on_phases() {
    let ring = Ring::insecure_toy(16, &[0x3fff_ffcc_0001]).unwrap();
    let random = |index| UniformSeed::generate().unwrap().expand(&ring, hush_ring::ExpandLabel::sum(index));
    let secret = random(0);
    let phase = |ciphertext: &RlweCiphertext| {
        let mut sum = Poly::zero(&ring);
        for component in ciphertext.components().iter().rev() {
            sum.mul_assign(&secret).unwrap();
            sum.add_assign(component).unwrap();
        }
        sum
    };
    let (a, b) = ([random(1), random(2)], [random(3), random(4)]);
    let (a, b) = (RlweCiphertext::new(a.into()).unwrap(), RlweCiphertext::new(b.into()).unwrap());
    let clear = random(5);
    let mut product = phase(&a);
    product.mul_assign(&phase(&b)).unwrap();
    let tensor = a.mul(&b).unwrap();
    assert_eq!(phase(&tensor), product);
    let mut mixed = a.clone();
    mixed.sub_assign(&tensor).unwrap();
    mixed.mul_integer_assign(-3);
    mixed.mul_clear_assign(&clear).unwrap();
    mixed.add_clear_assign(&clear).unwrap();
    mixed.neg_assign();
    let mut expected = phase(&a);
    expected.sub_assign(&product).unwrap();
    expected.mul_scalar_assign(-3);
    expected.mul_assign(&clear).unwrap();
    expected.add_assign(&clear).unwrap();
    expected.neg_assign();
    assert_eq!(phase(&mixed), expected);
}

#[test]
fn answers_add_residue_by_residue() {
    let ring = ring("n12_q2x46_sec128_v1");
    let q: Vec<u64> = ring.limbs().iter().map(|limb| limb.modulus().value()).collect();
    let one = SumAnswer::new(words(&ring), vec![1, 2, q[0] - 1, q[1] - 1]).unwrap();
    let other: Vec<u64> =
        pattern(&ring).chunks(ring.degree()).flat_map(|limb| limb.iter().rev().copied()).collect();
    let other =
        SumAnswer::new(Poly::from_words(&ring, other).unwrap(), vec![q[0] - 1, 5, q[0] - 1, 1]).unwrap();
    let mut sum = one.clone();
    sum.add_assign(&other).unwrap();
    for (limb, q) in q.iter().enumerate() {
        let added = one.a.limb(limb).iter().zip(other.a.limb(limb));
        let added = added.map(|(x, y)| ((u128::from(*x) + u128::from(*y)) % u128::from(*q)) as u64);
        assert_eq!(sum.a.limb(limb), added.collect::<Vec<_>>());
    }
    assert_eq!([sum.body(0), sum.body(1)], [Some([0, 7].as_slice()), Some([q[0] - 2, 0].as_slice())]);
    // Another number of columns, another ring: refused, and nothing is added.
    let before = sum.clone();
    let narrow = SumAnswer::new(words(&ring), vec![1, 2]).unwrap();
    assert_eq!(sum.add_assign(&narrow), Err(CodecError::ElementCount { found: 1, expected: 2 }));
    let small = small();
    let elsewhere = SumAnswer::new(words(&small), vec![1, 2]).unwrap();
    assert!(matches!(sum.add_assign(&elsewhere), Err(CodecError::Params { .. })));
    assert_eq!(sum, before);
}

/// Of a cut body the coefficients of rows are those of a whole one, and all others zero.
#[test]
fn cut_bodies_have_the_coefficients_of_their_rows() {
    for (ring, whole) in [(small(), 0), (small(), 1), (ring("n12_q2x46_sec128_v1"), 1)] {
        let degree = ring.degree();
        let id = BodyId { element_count: whole + 1, ..ID };
        for rest in [1, 2, 3, 7, 8, 100, degree - 1, degree] {
            let rows = whole as usize * degree + rest;
            let bytes = cut_body(&ring, id, rows);
            let limbs = ring.limb_count();
            let expected =
                whole as usize * limbs * ring.limb_bytes() + limbs * ring.limbs()[0].packed_bytes(rest);
            assert_eq!(bytes.len(), HEADER_BYTES + expected + CHECKSUM_BYTES);
            assert_eq!((bytes[8], u32::from_le_bytes(bytes[20..24].try_into().unwrap())), (10, rows as u32));
            let full = body(&ring, BodyKind::Sum, id);
            let full = UncheckedBody::decode(&full).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
            let checked = UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
            let quick = Body::from_verified(&bytes, &ring, BodyKind::Sum, id).unwrap();
            assert_eq!(
                (full.coefficients(), checked.coefficients()),
                (id.element_count as usize * degree, rows)
            );
            assert!(!checked.has_masks() && !has_masks(&bytes));
            for (body, element) in
                [checked, quick].iter().flat_map(|body| (0..=whole).map(move |at| (body, at)))
            {
                for (index, limb) in ring.limbs().iter().enumerate() {
                    let (mut words, mut wanted) = (vec![9; degree], vec![0; degree]);
                    limb.unpack(body.packed(element, 0, index), &mut words);
                    limb.unpack(full.packed(element, 0, index), &mut wanted);
                    wanted.iter_mut().skip(rows - element as usize * degree).for_each(|word| *word = 0);
                    assert!(words == wanted, "{rest} {element} {index}");
                }
            }
        }
    }
}

#[test]
fn cut_bodies_of_other_rows_are_refused() {
    let (ring, degree) = (small(), small().degree());
    let bytes = cut_body(&ring, ID, degree + 5);
    let with =
        |id| UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).map(drop).unwrap_err();
    for elements in [1, 3] {
        let error = with(BodyId { element_count: elements, ..ID });
        assert_eq!(error, CodecError::ElementCount { found: 2, expected: elements });
    }
    assert_eq!(with(BodyId { column: 8, ..ID }), CodecError::Column { found: 7, expected: 8 });
    let slots = UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Slot, ID).map(drop);
    let (found, expected) = (ObjectKind::CutSumBody, ObjectKind::SlotBody);
    assert_eq!(slots.unwrap_err(), CodecError::Kind { found, expected });
    for rows in [0, degree, 2 * degree + 1] {
        assert!(BodyWriter::cut(&ring, ID, rows).is_err(), "{rows}");
    }
    // Bits behind the last coefficient, which would be one of the next. 5·46 bits leave two of the last byte.
    let mut forged = bytes.clone();
    let last = forged.len() - CHECKSUM_BYTES - 1;
    forged[last] |= 0x80;
    assert_eq!(conform(&reseal(forged), &ring).map(drop), Err(CodecError::Residue { element: 1, limb: 0 }));
    // One row more or fewer than the bytes hold.
    for rows in [degree as u32 + 4, degree as u32 + 6] {
        let mut forged = bytes.clone();
        forged[20..24].copy_from_slice(&rows.to_le_bytes());
        assert!(matches!(UncheckedBody::decode(&reseal(forged)), Err(CodecError::Length { .. })), "{rows}");
    }
}
