// SPDX-License-Identifier: Apache-2.0
//! Inner products against ciphertexts that are loaded, multiplied and added one by one, on every kernel path.

use hush_params::preset;
use hush_ring::{Cpu, Eval, UniformSeed};
use hush_testkit::Draw;

use super::*;
use crate::{Body, BodyId, BodyKind, BodyWriter, UncheckedBody};

const ELEMENTS: u32 = 2;

fn uniform(draw: &mut Draw, ring: &Ring) -> Poly<Eval> {
    let mut poly = Poly::zero(ring);
    for (index, limb) in ring.limbs().iter().enumerate() {
        poly.limb_mut(index).fill_with(|| draw.word() % limb.modulus().value());
    }
    poly
}

fn id(column: u32) -> BodyId {
    BodyId { column, chunk: 0, element_count: ELEMENTS, lanes: 1 }
}

/// Bodies of random residues.
fn objects(draw: &mut Draw, ring: &Ring, count: u32) -> Vec<Vec<u8>> {
    let object = |column: u32| {
        let mut writer = BodyWriter::new(ring, BodyKind::Slot, id(column)).unwrap();
        for _ in 0..ELEMENTS {
            let poly = uniform(draw, ring);
            poly.limbs().for_each(|(limb, words)| writer.push_limb(limb, words));
        }
        writer.finish().unwrap()
    };
    (0..count).map(object).collect()
}

fn body<'a>(bytes: &'a [u8], ring: &Ring, column: u32) -> Body<'a> {
    UncheckedBody::decode(bytes).unwrap().conform(ring, BodyKind::Slot, id(column)).unwrap()
}

/// The same primes without a parameter set, as a chain has them.
fn level_of(ring: &Ring) -> Ring {
    Ring::of_limbs(ring.limbs().to_vec(), ring.degree(), ring.cpu()).unwrap()
}

fn element<'a>(seed: UniformSeed, element: u32, bodies: &'a [Body<'a>]) -> StoredElement<'a> {
    StoredElement { seed, element, bodies, mask: None, masks: &[], integers: &[], computed: &[] }
}

/// The same ciphertext over another ring of the same primes.
fn over(level: &Ring, ciphertext: &RlweCiphertext) -> RlweCiphertext {
    let components = ciphertext.components().iter();
    let moved = components.map(|poly| Poly::from_words(level, poly.words().to_vec()).unwrap());
    RlweCiphertext::new(moved.collect()).unwrap()
}

/// Evaluates all blocks in some order.
fn evaluate(sums: &InnerProducts<'_>) -> Vec<Vec<RlweCiphertext>> {
    let mut memory = sums.memory();
    let mut blocks: Vec<(usize, Words)> =
        (0..sums.blocks()).rev().map(|block| (block, sums.evaluate_block(block, &mut memory))).collect();
    blocks.sort_by_key(|(block, _)| *block);
    let blocks: Vec<Words> = blocks.into_iter().map(|(_, words)| words).collect();
    let of_element =
        |element| (0..sums.sums.len()).map(|sum| sums.ciphertext(&blocks, (element, sum)).unwrap()).collect();
    (0..sums.elements.len()).map(of_element).collect()
}

#[test]
fn sums_are_those_of_single_products_on_every_path() {
    for (set, most) in [("n11_q1x46_sec128_v1", 150), ("n13_q3x46_sec128_v1", 4)] {
        let mut draw = Draw::new();
        let set = preset(set).unwrap();
        let scalar_ring = Ring::new(set, Cpu::scalar()).unwrap();
        let bytes = objects(&mut draw, &scalar_ring, 5);
        let seeds = [UniformSeed::from_bytes([1; 32]), UniformSeed::from_bytes([2; 32])];
        let scalars: Vec<Vec<Poly<Eval>>> =
            (0..4).map(|_| (0..2).map(|_| uniform(&mut draw, &scalar_ring)).collect()).collect();
        // Bodies 1 and 3 only in the first of them; one sum is empty, one is constants alone, one has more rows than a call of the kernel.
        let mut term = |body: Option<usize>| InnerTerm { body, scalar: draw.below(4) };
        let many = (0..most).map(|number| term(Some(number % 5))).collect();
        let sums: Vec<Vec<InnerTerm>> = vec![
            vec![term(Some(3)), term(None), term(Some(1)), term(Some(3))],
            vec![],
            vec![term(None), term(None)],
            many,
        ];
        for cpu in Cpu::available() {
            let ring = Ring::new(set, cpu).unwrap();
            let level = level_of(&ring);
            let bodies: Vec<Body<'_>> =
                (0..).zip(&bytes).map(|(column, bytes)| body(bytes, &ring, column)).collect();
            let elements = [(0, 0), (1, 0), (0, 1)]
                .map(|(number, seed): (u32, usize)| element(seeds[seed], number, &bodies));
            let scalars: Vec<RlweCiphertext> = scalars
                .iter()
                .map(|pair| {
                    let pair =
                        pair.iter().map(|poly| Poly::from_words(&level, poly.words().to_vec()).unwrap());
                    RlweCiphertext::new(pair.collect()).unwrap()
                })
                .collect();
            let inner = InnerProducts::new(&ring, &level, &elements, &scalars, &sums).unwrap();
            let found = evaluate(&inner);
            assert_eq!(found.len(), elements.len());
            for (stored, found) in elements.iter().zip(found) {
                assert_eq!(found.len(), sums.len());
                for (terms, found) in sums.iter().zip(found) {
                    let mut expected = RlweCiphertext::zero(&level, 3);
                    for term in terms {
                        let scalar = &scalars[term.scalar];
                        let product = term.body.map(|body| {
                            let stored =
                                RlweCiphertext::load(&ring, stored.seed, &bodies[body], stored.element, 0);
                            over(&level, &stored.unwrap()).mul(scalar).unwrap()
                        });
                        expected.add_assign(product.as_ref().unwrap_or(scalar)).unwrap();
                    }
                    assert!(found == expected, "{draw}, {cpu}, {terms:?}");
                }
            }
        }
    }
}

#[test]
fn bytes_are_what_is_allotted() {
    let mut draw = Draw::new();
    let ring = Ring::new(preset("n11_q1x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
    let (level, bytes) = (level_of(&ring), objects(&mut draw, &ring, 3));
    let bodies: Vec<Body<'_>> = (0..).zip(&bytes).map(|(column, bytes)| body(bytes, &ring, column)).collect();
    let elements = [element(UniformSeed::from_bytes([1; 32]), 0, &bodies); 7];
    let scalars = vec![RlweCiphertext::zero(&level, 2); 5];
    let sums = [vec![InnerTerm { body: Some(2), scalar: 4 }], vec![InnerTerm { body: Some(0), scalar: 1 }]];
    let inner = InnerProducts::new(&ring, &level, &elements, &scalars, &sums).unwrap();
    let mut memory = inner.memory();
    let words = memory.scalars.len() + memory.stored.len() + memory.half.len();
    assert_eq!(InnerProducts::memory_bytes(&ring, (5, 2)), 8 * words);
    let results = (0..inner.blocks()).map(|block| inner.evaluate_block(block, &mut memory).len());
    assert_eq!(InnerProducts::result_bytes(&ring, (7, 2)), 8 * results.sum::<usize>());
}

/// Why sums are refused.
fn refused(
    ring: &Ring,
    level: &Ring,
    elements: &[StoredElement<'_>],
    scalars: &[RlweCiphertext],
    sums: &[Vec<InnerTerm>],
) -> RlweError {
    InnerProducts::new(ring, level, elements, scalars, sums).unwrap_err()
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let mut draw = Draw::new();
    let ring = |set: &str| Ring::new(preset(set).unwrap(), Cpu::detect().unwrap()).unwrap();
    let (small, other) = (ring("n11_q1x46_sec128_v1"), ring("n12_q2x46_sec128_v1"));
    let (level, bytes) = (level_of(&small), objects(&mut draw, &small, 1));
    let bodies = [body(&bytes[0], &small, 0)];
    let seed = UniformSeed::from_bytes([1; 32]);
    let elements = [element(seed, 1, &bodies)];
    let pair = [RlweCiphertext::zero(&level, 2)];
    let sums = |body, scalar| [vec![InnerTerm { body, scalar }]];
    let fits = sums(Some(0), 0);
    let inner = InnerProducts::new(&small, &level, &elements, &pair, &fits).unwrap();
    assert!(matches!(
        inner.ciphertext(&[], (0, 0)),
        Err(RlweError::Ring(RingError::Length { found: 0, .. }))
    ));
    let short = vec![Words::zeroed(1); inner.blocks()];
    assert!(matches!(
        inner.ciphertext(&short, (0, 0)),
        Err(RlweError::Ring(RingError::Length { found: 1, .. }))
    ));
    let missing = |found, bodies| RlweError::NoSuchOperand { found, bodies };
    assert_eq!(inner.ciphertext(&short, (1, 0)).unwrap_err(), missing(1, 1));
    assert_eq!(inner.ciphertext(&short, (0, 3)).unwrap_err(), missing(3, 1));
    assert_eq!(refused(&small, &level, &elements, &pair, &sums(Some(1), 0)), missing(1, 1));
    assert_eq!(refused(&small, &level, &elements, &pair, &sums(None, 1)), missing(1, 1));
    let three = [RlweCiphertext::zero(&level, 3)];
    let components = RlweError::Components { found: 3, expected: 2 };
    assert_eq!(refused(&small, &level, &elements, &three, &fits), components);
    let of_set = [RlweCiphertext::zero(&small, 2)];
    for error in [
        refused(&small, &level, &elements, &of_set, &fits),
        refused(&small, &level_of(&other), &elements, &[], &[]),
        refused(&small, &level, &[element(seed, ELEMENTS, &bodies)], &pair, &fits),
        refused(&other, &level_of(&other), &elements, &[RlweCiphertext::zero(&level_of(&other), 2)], &fits),
    ] {
        assert!(matches!(error, RlweError::Ring(_)), "{error}");
    }
}
