// SPDX-License-Identifier: Apache-2.0
//! Computed ciphertexts as factors, against ciphertexts that are loaded, multiplied and added one by one.

use hush_params::preset;
use hush_ring::Cpu;
use hush_testkit::Draw;

use super::*;
use crate::{BodyId, BodyKind, BodyWriter, RlweCiphertext, UncheckedBody};

const ELEMENTS: u32 = 9;
const ONE_BODY: Operands = Operands { bodies: 1, masks: 0, integers: 0 };
const ID: BodyId = BodyId { column: 3, chunk: 0, element_count: ELEMENTS, lanes: 1 };

/// Uniform in the first limbs, zero in the others.
fn uniform(draw: &mut Draw, ring: &Ring, limbs: usize) -> Poly<Eval> {
    let mut poly = Poly::zero(ring);
    for (index, limb) in ring.limbs().iter().enumerate().take(limbs) {
        poly.limb_mut(index).fill_with(|| draw.word() % limb.modulus().value());
    }
    poly
}

fn object(draw: &mut Draw, ring: &Ring) -> Vec<u8> {
    let mut writer = BodyWriter::new(ring, BodyKind::Slot, ID).unwrap();
    for _ in 0..ELEMENTS {
        uniform(draw, ring, ring.limb_count())
            .limbs()
            .for_each(|(limb, words)| writer.push_limb(limb, words));
    }
    writer.finish().unwrap()
}

/// The computed ciphertext alone, with the stored one for a measure, and `(V − 2)·C·M` for the mask `M` of an element.
fn task() -> ProductTask {
    let less = Factor::Sub(Box::new(Factor::Stored(0)), Box::new(Factor::Constant(2)));
    let product = Factor::Mul(Box::new(less), Box::new(Factor::Computed));
    let factors = [Factor::Computed, product];
    let sum = |factor, measure| ProductSum { factor, measure };
    ProductTask::new(&factors, vec![sum(0, None), sum(0, Some(0)), sum(1, None)], ONE_BODY).unwrap()
}

#[test]
fn computed_ciphertexts_are_factors_in_all_limbs_or_the_first() {
    let task = task();
    for limbs in [1, 2, 3, 4] {
        let mut draw = Draw::new();
        let cpu = Cpu::detect().unwrap();
        let ring = Ring::new(preset("n13_q3x46_sec128_v1").unwrap(), cpu).unwrap();
        let bytes = object(&mut draw, &ring);
        let bodies = [UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Slot, ID).unwrap()];
        let seed = UniformSeed::from_bytes([7; 32]);
        let mut pair = || [(); 2].map(|()| uniform(&mut draw, &ring, limbs));
        let computed: Vec<[Poly<Eval>; 2]> = (0..ELEMENTS).map(|_| pair()).collect();
        let mask = uniform(&mut draw, &ring, 3);
        let elements: Vec<StoredElement<'_>> = (0..)
            .zip(&computed)
            .map(|(element, computed)| {
                let mask = (element == 4).then_some(&mask);
                StoredElement { seed, element, bodies: &bodies, mask, masks: &[], integers: &[], computed }
            })
            .collect();
        let sums = ProductSums::new(&ring, &task, &elements).unwrap().within(limbs);
        let whole = ProductSums::new(&ring, &task, &elements).unwrap();
        assert_eq!(3 * sums.blocks(), limbs.min(3) * whole.blocks());
        let mut expected = [2, 3, 3].map(|components| RlweCiphertext::zero(&ring, components));
        for element in &elements {
            let stored = RlweCiphertext::load(&ring, seed, &bodies[0], element.element, 0).unwrap();
            let mut computed = RlweCiphertext::new(element.computed.to_vec()).unwrap();
            let mut twice = computed.clone();
            twice.mul_integer_assign(2);
            let mut product = stored.mul(&computed).unwrap();
            product.sub_assign(&twice).unwrap();
            if let Some(mask) = element.mask {
                product.mul_clear_assign(mask).unwrap();
                computed.mul_clear_assign(mask).unwrap();
            }
            let measured = computed.mul(&stored).unwrap();
            for (sum, term) in expected.iter_mut().zip([computed, measured, product]) {
                sum.add_assign(&term).unwrap();
            }
        }
        for sums in [sums, whole] {
            let found = sums.evaluate().unwrap();
            assert!(found.iter().map(Vec::as_slice).eq(expected.iter().map(RlweCiphertext::components)));
        }
    }
}

#[test]
fn elements_without_the_computed_ciphertext_are_refused() {
    let mut draw = Draw::new();
    let ring = |set: &str| Ring::new(preset(set).unwrap(), Cpu::detect().unwrap()).unwrap();
    let (ring, other) = (ring("n11_q1x46_sec128_v1"), ring("n12_q2x46_sec128_v1"));
    let bytes = object(&mut draw, &ring);
    let bodies = [UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Slot, ID).unwrap()];
    let seed = UniformSeed::from_bytes([7; 32]);
    let refused = |task: &ProductTask, computed: &[Poly<Eval>]| {
        let element = StoredElement {
            seed,
            element: 0,
            bodies: &bodies,
            mask: None,
            masks: &[],
            integers: &[],
            computed,
        };
        ProductSums::new(&ring, task, &[element]).err()
    };
    let zeros = |ring: &Ring, count| vec![Poly::zero(ring); count];
    let components = |found| Some(RlweError::Components { found, expected: 2 });
    assert_eq!(refused(&task(), &zeros(&ring, 2)), None);
    assert_eq!(refused(&task(), &[]), components(0));
    assert_eq!(refused(&task(), &zeros(&ring, 3)), components(3));
    assert!(matches!(refused(&task(), &zeros(&other, 2)), Some(RlweError::Ring(_))));
    // Who does not name it may have it nevertheless.
    let without = ProductTask::new(&[Factor::Stored(0)], vec![], ONE_BODY).unwrap();
    assert_eq!((refused(&without, &[]), refused(&without, &zeros(&ring, 2))), (None, None));
    assert_eq!(refused(&without, &zeros(&ring, 1)), components(1));
}
