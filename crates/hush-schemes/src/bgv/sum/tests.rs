// SPDX-License-Identifier: Apache-2.0
//! Masked sums against the definition: multiply both halves by `M` by schoolbook.

use hush_params::preset;
use hush_ring::{Coeff, Cpu, ExpandLabel, Poly};
use hush_rlwe::{BodyId, BodyKind, BodyWriter, UncheckedBody};
use hush_testkit::Draw;

use super::*;

const ELEMENTS: u32 = 2;

/// A chunk with its bodies in the clear: `[column][element]` → polynomial.
struct Chunk {
    seed: UniformSeed,
    polys: Vec<Vec<Poly<Coeff>>>,
    bytes: Vec<Vec<u8>>,
}

fn ring() -> Ring {
    Ring::new(preset("n11_q1x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn id(column: u32) -> BodyId {
    BodyId { column, chunk: 0, element_count: ELEMENTS, lanes: 1 }
}

fn chunk(ring: &Ring, columns: u32, draw: &mut Draw) -> Chunk {
    let mut poly = || {
        let limbs = ring.limbs().iter().map(|limb| limb.modulus().value());
        let words: Vec<u64> = limbs.flat_map(|q| vec![q; ring.degree()]).map(|q| draw.word() % q).collect();
        Poly::<Coeff>::from_words(ring, words).unwrap()
    };
    let polys: Vec<Vec<_>> = (0..columns).map(|_| (0..ELEMENTS).map(|_| poly()).collect()).collect();
    let encode = |(column, polys): (u32, &Vec<Poly<Coeff>>)| {
        let mut writer = BodyWriter::new(ring, BodyKind::Sum, id(column)).unwrap();
        polys.iter().flat_map(Poly::limbs).for_each(|(limb, words)| writer.push_limb(limb, words));
        writer.finish().unwrap()
    };
    let bytes = (0..columns).zip(&polys).map(encode).collect();
    Chunk { seed: UniformSeed::generate().unwrap(), polys, bytes }
}

impl Chunk {
    fn bodies(&self, ring: &Ring) -> Vec<Body<'_>> {
        let mut bodies = Vec::new();
        for (column, bytes) in (0..).zip(&self.bytes) {
            let body = UncheckedBody::decode(bytes).unwrap();
            bodies.push(body.conform(ring, BodyKind::Sum, id(column)).unwrap());
        }
        bodies
    }
}

/// `p·M` by schoolbook for one limb, where `weights[i]` is the weight of row `i`.
fn times_selector(p: &[u64], weights: &[i128], q: u64) -> Vec<u64> {
    let (n, q) = (p.len(), i128::from(q));
    let mut selector = vec![0_i128; n];
    for (row, weight) in weights.iter().enumerate() {
        let weight = weight.rem_euclid(q);
        if row == 0 {
            selector[0] = weight;
        } else {
            selector[n - row] = q - weight;
        }
    }
    let mut out = vec![0_i128; n];
    for (j, &y) in selector.iter().enumerate().filter(|(_, y)| **y != 0) {
        for (i, &x) in p.iter().enumerate() {
            let term = i128::from(x) * y % q;
            out[(i + j) % n] += if i + j < n { term } else { -term };
        }
    }
    out.into_iter().map(|word| word.rem_euclid(q) as u64).collect()
}

/// The answer of one group by the definition.
fn reference(ring: &Ring, chunks: &[&Chunk], weights: &[Vec<i128>]) -> (Vec<u64>, Vec<u64>) {
    let columns = chunks[0].polys.len();
    let (mut mask, mut bodies) = (vec![0; ring.poly_words()], vec![0; columns * ring.limb_count()]);
    for (chunk, weights) in chunks.iter().zip(weights) {
        for (element, weights) in (0..ELEMENTS).zip(weights.chunks(ring.degree())) {
            let a = chunk.seed.expand(ring, ExpandLabel::sum(element)).into_coeff();
            for (index, limb) in ring.limbs().iter().enumerate() {
                let q = limb.modulus();
                let product = times_selector(a.limb(index), weights, q.value());
                let part = &mut mask[index * ring.degree()..(index + 1) * ring.degree()];
                part.iter_mut().zip(product).for_each(|(sum, word)| *sum = q.add(*sum, word));
                for (column, polys) in chunk.polys.iter().enumerate() {
                    let product = times_selector(polys[element as usize].limb(index), weights, q.value());
                    let sum = &mut bodies[column * ring.limb_count() + index];
                    *sum = q.add(*sum, product[0]);
                }
            }
        }
    }
    (mask, bodies)
}

fn assert_answer(ring: &Ring, answer: &SumAnswer, expected: &(Vec<u64>, Vec<u64>), draw: &Draw) {
    assert_eq!(answer.a.words(), expected.0, "{draw}");
    let bodies: Vec<u64> =
        (0..answer.body_count()).flat_map(|column| answer.body(column).unwrap().to_vec()).collect();
    assert_eq!(bodies, expected.1, "{draw}");
    assert_eq!(answer.ring(), ring);
}

/// Few rows per group, so that the schoolbook stays affordable; row 0 and the last row included.
fn sparse_groups(ring: &Ring, group_count: u32, draw: &mut Draw) -> Vec<u32> {
    let mut groups = vec![NOT_SELECTED; ELEMENTS as usize * ring.degree()];
    let last = groups.len() - 1;
    for row in [0, 1, ring.degree() - 1, ring.degree(), last] {
        groups[row] = draw.word() as u32 % group_count;
    }
    for _ in 0..60 {
        let row = draw.word() as usize % groups.len();
        groups[row] = draw.word() as u32 % group_count;
    }
    groups
}

#[test]
fn grouped_and_weighted_sums_follow_the_definition() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunks = [chunk(&ring, 2, &mut draw), chunk(&ring, 2, &mut draw)];
    let groups = [sparse_groups(&ring, 3, &mut draw), sparse_groups(&ring, 3, &mut draw)];
    let weight =
        |draw: &mut Draw| (i128::from(draw.word()) << 60) * if draw.word() & 1 == 0 { -1 } else { 1 };
    let weights: Vec<Vec<i128>> =
        groups.iter().map(|g| g.iter().map(|_| weight(&mut draw)).collect()).collect();
    for weighted in [false, true] {
        let mut sums = [SumAccumulator::new(&ring, 3, 2), SumAccumulator::new(&ring, 3, 2)];
        for ((sum, chunk), (groups, weights)) in sums.iter_mut().zip(&chunks).zip(groups.iter().zip(&weights))
        {
            let weights = weighted.then_some(weights.as_slice());
            sum.absorb_masked(chunk.seed, groups, weights, &chunk.bodies(&ring)).unwrap();
        }
        let [mut sum, other] = sums;
        sum.merge(other).unwrap();
        let answers = sum.finish().unwrap();
        assert_eq!(answers.len(), 3);
        for (group, answer) in (0..).zip(&answers) {
            let of_group = |(groups, weights): (&Vec<u32>, &Vec<i128>)| {
                let rows = groups.iter().zip(weights);
                rows.map(|(&g, &w)| {
                    if g != group {
                        0
                    } else if weighted {
                        w
                    } else {
                        1
                    }
                })
                .collect()
            };
            let by_row: Vec<Vec<i128>> = groups.iter().zip(&weights).map(of_group).collect();
            let expected = reference(&ring, &[&chunks[0], &chunks[1]], &by_row);
            assert_answer(&ring, answer, &expected, &draw);
        }
    }
}

#[test]
fn unfiltered_sums_follow_the_definition_however_they_are_asked_for() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunk = chunk(&ring, 2, &mut draw);
    let rows = ELEMENTS as usize * ring.degree();
    let expected = reference(&ring, &[&chunk], &[vec![1; rows]]);
    let bodies = chunk.bodies(&ring);
    let answer = |absorb: &dyn Fn(&mut SumAccumulator), groups| {
        let mut sum = SumAccumulator::new(&ring, groups, 2);
        absorb(&mut sum);
        sum.finish().unwrap().swap_remove(0)
    };
    let zeros = vec![0; rows];
    let ones = vec![1; rows];
    let unfiltered = answer(&|sum| sum.absorb_unfiltered(chunk.seed, rows, &bodies).unwrap(), 1);
    let several = answer(&|sum| sum.absorb_unfiltered(chunk.seed, rows, &bodies).unwrap(), 2);
    let masked = answer(&|sum| sum.absorb_masked(chunk.seed, &zeros, None, &bodies).unwrap(), 1);
    let weighted = answer(&|sum| sum.absorb_masked(chunk.seed, &zeros, Some(&ones), &bodies).unwrap(), 1);
    let merged = answer(
        &|sum| {
            let mut other = SumAccumulator::new(&ring, 1, 2);
            other.absorb_unfiltered(chunk.seed, rows, &bodies).unwrap();
            sum.merge(other).unwrap();
        },
        1,
    );
    for answer in [unfiltered, several, masked, weighted, merged] {
        assert_answer(&ring, &answer, &expected, &draw);
    }
}

/// Whatever lies after the last row has no part in the sum: its errors are not in the noise bound.
#[test]
fn an_unfiltered_sum_leaves_out_the_padding() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunk = chunk(&ring, 2, &mut draw);
    let degree = ring.degree();
    for rows in [degree + 1, degree + 77, 2 * degree - 1] {
        let mut weights = vec![1; rows];
        weights.resize(ELEMENTS as usize * degree, 0);
        let expected = reference(&ring, &[&chunk], &[weights]);
        for groups in [1, 2] {
            let mut sum = SumAccumulator::new(&ring, groups, 2);
            sum.absorb_unfiltered(chunk.seed, rows, &chunk.bodies(&ring)).unwrap();
            assert_answer(&ring, &sum.finish().unwrap()[0], &expected, &draw);
        }
    }
    for found in [0, degree, 2 * degree + 1] {
        let refused =
            SumAccumulator::new(&ring, 1, 2).absorb_unfiltered(chunk.seed, found, &chunk.bodies(&ring));
        assert_eq!(refused, Err(SumError::RowCount { found, expected: 2 * degree }));
    }
}

#[test]
fn short_chunks_and_empty_groups_work() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunk = chunk(&ring, 1, &mut draw);
    let rows = ring.degree() + 3;
    let mut weights = vec![0; ELEMENTS as usize * ring.degree()];
    weights[ring.degree()..rows].fill(1);
    let expected = reference(&ring, &[&chunk], &[weights]);
    let mut groups = vec![NOT_SELECTED; rows];
    groups[ring.degree()..].fill(1);
    let mut sum = SumAccumulator::new(&ring, 2, 1);
    sum.absorb_masked(chunk.seed, &groups, None, &chunk.bodies(&ring)).unwrap();
    let answers = sum.finish().unwrap();
    assert!(answers[0].a.is_zero_vartime() && answers[0].body(0) == Some(&[0][..]));
    assert_answer(&ring, &answers[1], &expected, &draw);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunk = chunk(&ring, 2, &mut draw);
    let bodies = chunk.bodies(&ring);
    let rows = ELEMENTS as usize * ring.degree();
    let mut sum = SumAccumulator::new(&ring, 2, 2);
    let mut absorb = |groups: &[u32], weights: Option<&[i128]>, bodies: &[Body<'_>]| {
        sum.absorb_masked(chunk.seed, groups, weights, bodies)
    };
    let error = absorb(&[0], None, &bodies[..1]).unwrap_err();
    assert_eq!(error, SumError::BodyCount { found: 1, expected: 2 });
    let error = absorb(&vec![0; rows + 1], None, &bodies).unwrap_err();
    assert_eq!(error, SumError::RowCount { found: rows + 1, expected: rows });
    let error = absorb(&[0, 1], Some(&[1]), &bodies).unwrap_err();
    assert_eq!(error, SumError::RowCount { found: 1, expected: 2 });
    let error = absorb(&[0, 2], None, &bodies).unwrap_err();
    assert_eq!(error, SumError::Group { found: 2, group_count: 2 });
    let other = Ring::new(preset("n12_q2x46_sec128_v1").unwrap(), ring.cpu()).unwrap();
    let mut elsewhere = SumAccumulator::new(&other, 2, 2);
    let error = elsewhere.absorb_masked(chunk.seed, &[0], None, &bodies).unwrap_err();
    assert_eq!(error, SumError::Params { found: 1, expected: 2 });
    assert_eq!(elsewhere.merge(SumAccumulator::new(&other, 3, 2)), Err(SumError::Shape));
    assert!(sum.finish().unwrap().iter().all(|answer| answer.a.is_zero_vartime()));
}

/// Sums that were ended and added later are those of one pass, whatever was absorbed beside them, and for columns in
/// another order.
#[test]
fn partial_sums_add_up_to_the_same_answer() {
    let (ring, mut draw) = (ring(), Draw::new());
    let chunks: Vec<Chunk> = (0..3).map(|_| chunk(&ring, 2, &mut draw)).collect();
    let full = ELEMENTS as usize * ring.degree();
    let rows = [full, ring.degree() + 9, full];
    let whole = |range: std::ops::Range<usize>| {
        let mut sum = SumAccumulator::new(&ring, 1, 2);
        for index in range {
            sum.absorb_unfiltered(chunks[index].seed, rows[index], &chunks[index].bodies(&ring)).unwrap();
        }
        sum
    };
    let expected = whole(0..3).finish().unwrap();
    let (first, second) = (whole(0..2).into_partial().unwrap(), whole(2..3).into_partial().unwrap());
    let bodies =
        |sum: &PartialSum| sum.bodies.chunks(ring.limb_count()).map(<[u64]>::to_vec).collect::<Vec<_>>();
    let add = |sum: &mut SumAccumulator, part: &PartialSum| {
        let bodies = bodies(part);
        sum.absorb_partial(&part.mask, &bodies.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    };
    let mut both = SumAccumulator::new(&ring, 1, 2);
    add(&mut both, &second);
    add(&mut both, &first);
    assert_eq!(both.finish().unwrap(), expected);
    let mut beside = whole(2..3);
    add(&mut beside, &first);
    assert_eq!(beside.finish().unwrap(), expected);
    let mut apart = SumAccumulator::new(&ring, 1, 2);
    add(&mut apart, &first);
    let mut merged = whole(2..3);
    merged.merge(apart).unwrap();
    assert_eq!(merged.into_partial().unwrap(), whole(0..3).into_partial().unwrap());
    let mut alone = SumAccumulator::new(&ring, 1, 1);
    alone.absorb_partial(&first.mask, &[&bodies(&first)[1]]).unwrap();
    alone.absorb_partial(&second.mask, &[&bodies(&second)[1]]).unwrap();
    let answer = &alone.finish().unwrap()[0];
    assert_eq!((&answer.a, answer.body(0)), (&expected[0].a, expected[0].body(1)));
}

#[test]
fn partial_sums_that_do_not_fit_are_refused_and_change_nothing() {
    let (ring, other) =
        (ring(), Ring::new(preset("n12_q2x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap());
    let mut sum = SumAccumulator::new(&ring, 1, 1);
    let mut draw = Draw::new();
    let words: Vec<u64> = (0..ring.poly_words()).map(|_| draw.word() >> 20).collect();
    let mask = Poly::<Eval>::from_words(&ring, words).unwrap();
    let q = ring.limbs()[0].modulus().value();
    let error = sum.absorb_partial(&Poly::zero(&other), &[&[0]]).unwrap_err();
    assert_eq!(error, SumError::Shape);
    assert_eq!(sum.absorb_partial(&mask, &[]), Err(SumError::BodyCount { found: 0, expected: 1 }));
    assert_eq!(sum.absorb_partial(&mask, &[&[0, 0]]), Err(SumError::RowCount { found: 2, expected: 1 }));
    assert_eq!(sum.absorb_partial(&mask, &[&[q]]), Err(SumError::Residue));
    let zero = sum.into_partial().unwrap();
    assert!(zero.mask.is_zero_vartime() && zero.bodies == [0]);
    let mut grouped = SumAccumulator::new(&ring, 2, 1);
    assert_eq!(grouped.absorb_partial(&mask, &[&[0]]), Err(SumError::Shape));
    assert_eq!(grouped.into_partial().unwrap_err(), SumError::Shape);
}

/// Bodies of which only the coefficients of rows are stored give the bytes that whole ones give: filtered or not, with groups and weights.
#[test]
fn cut_bodies_give_the_same_answers() {
    let (ring, mut draw) = (ring(), Draw::of(23));
    for rest in [1, 5, 100, 2047] {
        let rows = ring.degree() + rest;
        let whole = chunk(&ring, 3, &mut draw);
        let cut_one = |(column, polys): (u32, &Vec<Poly<Coeff>>)| {
            let mut writer = BodyWriter::cut(&ring, id(column), rows).unwrap();
            polys.iter().flat_map(Poly::limbs).for_each(|(limb, words)| writer.push_limb(limb, words));
            writer.finish().unwrap()
        };
        let bytes = (0..3).zip(&whole.polys).map(cut_one).collect();
        let cut = Chunk { seed: whole.seed, polys: whole.polys.clone(), bytes };
        assert!(cut.bytes[0].len() < whole.bytes[0].len());
        let groups: Vec<u32> = (0..rows).map(|_| [0, 1, NOT_SELECTED][draw.below(3)]).collect();
        let weights: Vec<i128> = (0..rows).map(|_| i128::from(draw.word() as i16)).collect();
        let answers = |chunk: &Chunk, group_count: usize, weights: Option<&[i128]>| {
            let bodies = chunk.bodies(&ring);
            let mut sums = SumAccumulator::new(&ring, group_count, 3);
            if group_count == 1 && weights.is_none() {
                sums.absorb_unfiltered(chunk.seed, rows, &bodies).unwrap();
            } else {
                let in_range =
                    |group: &u32| if (*group as usize) < group_count { *group } else { NOT_SELECTED };
                let groups: Vec<u32> = groups.iter().map(in_range).collect();
                sums.absorb_masked(chunk.seed, &groups, weights, &bodies).unwrap();
            }
            sums.finish().unwrap().iter().map(|answer| answer.encode(0).unwrap()).collect::<Vec<_>>()
        };
        for (group_count, weights) in [(1, None), (1, Some(&weights[..])), (2, None), (2, Some(&weights[..]))]
        {
            assert!(
                answers(&cut, group_count, weights) == answers(&whole, group_count, weights),
                "{rest} {group_count}"
            );
        }
        // Rows that it does not have are refused, not taken for zeros.
        let mut sums = SumAccumulator::new(&ring, 1, 3);
        let (found, expected) = (rows + 1, rows);
        let more = sums.absorb_unfiltered(cut.seed, found, &cut.bodies(&ring)).unwrap_err();
        assert_eq!(more.to_string(), SumError::RowCount { found, expected }.to_string());
        let more = sums.absorb_masked(cut.seed, &vec![0; found], None, &cut.bodies(&ring)).unwrap_err();
        assert_eq!(more.to_string(), SumError::RowCount { found, expected }.to_string());
    }
}
