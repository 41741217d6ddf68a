// SPDX-License-Identifier: Apache-2.0
//! Bytes of sums of products: both forms come back, and nothing else is taken for them.

use hush_params::{preset, size};
use hush_ring::{Cpu, UniformSeed};

use super::*;
use crate::header::{HEADER_BYTES, seal};
use crate::{CHECKSUM_BYTES, RlweError};

const T: u64 = 65_537;

fn ring(name: &str) -> Ring {
    Ring::new(preset(name).unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn residues(components: u8) -> ProductForm {
    ProductForm::Residues { components }
}

fn rounded(bits: &[u32]) -> ProductForm {
    ProductForm::Rounded { bits: bits.to_vec(), t: T }
}

fn random(ring: &Ring, count: u32) -> Vec<Poly<Eval>> {
    let seed = UniformSeed::generate().unwrap();
    (0..count).map(|index| seed.expand(ring, hush_ring::ExpandLabel::sum(index))).collect()
}

fn reseal(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    seal(&mut bytes);
    bytes
}

#[test]
fn both_forms_come_back() {
    for name in ["n11_q1x46_sec128_v1", "n12_q3x34_sec128_v1", "n13_q3x46_sec128_v1"] {
        let (ring, set) = (ring(name), preset(name).unwrap());
        for count in 1..=MAX_PRODUCT_COMPONENTS {
            let components = random(&ring, count as u32);
            let whole = residues(count as u8);
            let bytes = encode_product(&ring, &components, &whole).unwrap();
            assert_eq!(bytes.len(), product_bytes(&ring, &whole));
            assert_eq!(bytes.len(), size::product_answer_bytes(set, &whole.component_bits()));
            assert_eq!(decode_product(&bytes, &ring, &whole).unwrap(), components);

            let form = rounded(&[1, 20, 32, 33, 56, 57, 63, 40][..count]);
            let bytes = encode_product(&ring, &components, &form).unwrap();
            assert_eq!(bytes.len(), product_bytes(&ring, &form));
            assert_eq!(bytes.len(), size::product_answer_bytes(set, &form.component_bits()));
            let restored = decode_product(&bytes, &ring, &form).unwrap();
            assert_eq!(encode_product(&ring, &restored, &form).unwrap(), bytes);
            // Each is what the rounding of its own component gives.
            let each = components.iter().zip(form.roundings(&ring).unwrap());
            for ((component, rounding), restored) in each.zip(&restored) {
                let rounding = rounding.unwrap();
                let coefficients = rounding.round(component.clone().into_coeff()).unwrap();
                assert_eq!(rounding.restore(&coefficients).unwrap().into_eval(), *restored);
            }
        }
    }
}

#[test]
fn headers_keep_their_bytes() {
    let ring = ring("n11_q1x46_sec128_v1");
    let components = vec![Poly::zero(&ring); 3];
    let head = |form| encode_product(&ring, &components, &form).unwrap()[..HEADER_BYTES].to_vec();
    #[rustfmt::skip]
    let expected = [
        b'H', b'U', b'S', b'H', b'C', b'T', 1, 0, 11, 0, 1, 0,
        20, 30, 41, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 0,
        // 2048 · 91/8 = 23296 bytes.
        0x00, 0x5b, 0, 0,
    ];
    assert_eq!(head(rounded(&[20, 30, 41])), expected);
    let mut expected = expected;
    expected[12..20].fill(0);
    // 3 · 2048 · 46/8 = 35328 bytes.
    expected[28..].copy_from_slice(&[0x00, 0x8a, 0, 0]);
    assert_eq!(head(residues(3)), expected);
}

#[test]
fn other_shapes_are_refused() {
    let ring = ring("n12_q2x46_sec128_v1");
    let components = random(&ring, 3);
    let form = rounded(&[20, 30, 41]);
    let bytes = encode_product(&ring, &components, &form).unwrap();
    let whole = encode_product(&ring, &components, &residues(3)).unwrap();
    let refused = |bytes: &[u8], form: &ProductForm| decode_product(bytes, &ring, form).unwrap_err();
    let bits = |found, expected| CodecError::RoundedBits { found, expected };
    assert_eq!(refused(&bytes, &rounded(&[20, 31, 41])), bits(30, 31));
    assert_eq!(refused(&bytes, &rounded(&[20, 41, 30])), bits(30, 41));
    assert_eq!(refused(&bytes, &residues(3)), bits(20, 0));
    assert_eq!(refused(&whole, &form), bits(0, 20));
    let count = |found, expected| CodecError::Components { found, expected };
    assert_eq!(refused(&bytes, &rounded(&[20, 30])), count(3, 2));
    assert_eq!(refused(&whole, &residues(4)), count(3, 4));
    let elsewhere = self::ring("n12_q3x34_sec128_v1");
    let error = decode_product(&bytes, &elsewhere, &form).unwrap_err();
    assert!(matches!(error, CodecError::Params { .. }), "{error}");
    for length in 0..bytes.len() {
        assert!(UncheckedProduct::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    // Other kinds are none, and this is none of them.
    let id = crate::CiphertextSetId { chunk: 0, element_count: 1, lanes: 1, components: 3 };
    let set = crate::UncheckedCiphertextSet::decode(&whole).unwrap().conform(&ring, id).unwrap_err();
    let kinds = (ObjectKind::ProductAnswer, ObjectKind::Ciphertexts);
    assert_eq!(set, CodecError::Kind { found: kinds.0, expected: kinds.1 });
    let mut other = whole.clone();
    other[8] = 4;
    assert_eq!(refused(&reseal(other), &residues(3)), CodecError::Kind { found: kinds.1, expected: kinds.0 });
}

#[test]
fn forged_fields_are_refused() {
    let ring = ring("n12_q2x46_sec128_v1");
    let form = rounded(&[20, 30, 41]);
    let bytes = encode_product(&ring, &random(&ring, 3), &form).unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        decode_product(&reseal(bytes), &ring, &form).unwrap_err()
    };
    // Bits that nothing is rounded to, and of components that are not there.
    assert_eq!([with(12, 64), with(14, 255), with(15, 1), with(19, 20)], [const { CodecError::Reserved }; 4]);
    // Other bits are other lengths.
    for (at, value) in [(12, 0), (12, 21), (14, 40), (25, 4)] {
        assert!(matches!(with(at, value), CodecError::Length { .. }), "{at}: {value}");
    }
    assert_eq!(with(20, 2), CodecError::ElementCount { found: 2, expected: 1 });
    assert_eq!(with(24, 0), CodecError::Lanes { found: 0, expected: 1 });
    assert_eq!(with(26, 20), CodecError::RoundedBits { found: 20, expected: 0 });
    // Two components trade widths: the same length.
    let mut traded = bytes.clone();
    traded.swap(12, 13);
    let error = CodecError::RoundedBits { found: 30, expected: 20 };
    assert_eq!(decode_product(&reseal(traded), &ring, &form).unwrap_err(), error);

    let mut whole = encode_product(&ring, &random(&ring, 2), &residues(2)).unwrap();
    let last = whole.len() - CHECKSUM_BYTES;
    whole[last - 6..last].fill(0xff);
    let error = CodecError::Residue { element: 0, limb: 1 };
    assert_eq!(decode_product(&reseal(whole), &ring, &residues(2)).unwrap_err(), error);
}

#[test]
fn forms_that_cannot_be_are_refused() {
    let ring = ring("n12_q2x46_sec128_v1");
    let components = random(&ring, 2);
    let refused = |form: ProductForm| encode_product(&ring, &components, &form).unwrap_err();
    assert_eq!(refused(residues(3)), CodecError::Components { found: 2, expected: 3 });
    assert_eq!(refused(residues(0)), CodecError::Components { found: 0, expected: 1 });
    assert_eq!(refused(residues(9)), CodecError::Components { found: 9, expected: 8 });
    assert_eq!(refused(rounded(&[])), CodecError::Components { found: 0, expected: 1 });
    assert_eq!(refused(rounded(&[9; 300])), CodecError::Components { found: 255, expected: 8 });
    for found in [0, 64, 256 + 20, u32::MAX] {
        let error = CodecError::Object(RlweError::Ring(RingError::RoundedBits { found, max: 63 }));
        assert_eq!(refused(rounded(&[20, found])), error);
    }
    let prime = ring.limbs()[1].modulus().value();
    let error = refused(ProductForm::Rounded { bits: vec![20, 30], t: prime });
    assert!(matches!(error, CodecError::Object(RlweError::Ring(RingError::Arith(_)))), "{error}");
    let toy = Ring::insecure_toy(16, &[97]).unwrap();
    let error = encode_product(&toy, &[Poly::zero(&toy)], &residues(1)).unwrap_err();
    assert_eq!(error, CodecError::UnknownParams { found: 0 });
    let other = [components[0].clone(), Poly::zero(&self::ring("n12_q3x34_sec128_v1"))];
    assert!(matches!(encode_product(&ring, &other, &residues(2)), Err(CodecError::Params { .. })));
}
