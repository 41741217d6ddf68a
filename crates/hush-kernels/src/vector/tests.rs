// SPDX-License-Identifier: Apache-2.0
//! The generic kernels on the portable vector, with several numbers of lanes and both kinds of bounds.

use hush_arith::Modulus;

use super::{Vector, convert, lift, ntt, pointwise, portable::Portable, product, zip::zip};
use crate::{
    ntt::{MAX_DEGREE, NttPlan},
    operands::{MAX_ROWS, PLACES, Pair, Rows, TAG_SHIFT},
    scalar,
    testing::{Random, largest_ntt_prime, lengths, moduli, ntt_prime},
};

/// Calls a generic check for portable vectors of these numbers of lanes, with both kinds of bounds.
macro_rules! for_lanes {
    ($check:ident: $($lanes:literal)*) => {
        $($check::<$lanes, _>(Portable::<$lanes, 1>); $check::<$lanes, _>(Portable::<$lanes, 2>);)*
    };
}

fn transforms<const L: usize, S: Vector<L>>(simd: S) {
    // Every list of passes; every list of blocks.
    for degree in (7..=MAX_DEGREE.ilog2()).map(|log2| 1 << log2) {
        for modulus in [ntt_prime(31, degree), largest_ntt_prime(degree)] {
            let plan = NttPlan::new(modulus, degree, crate::Cpu::scalar()).unwrap();
            let tables = ntt::new_tables(simd, modulus, degree, modulus.psi(degree).unwrap());
            for start in [vec![modulus.value() - 1; degree], Random::new(7).residues(modulus, degree)] {
                let (mut expected, mut found) = (start.clone(), start.clone());
                plan.forward(&mut expected);
                ntt::forward(simd, &tables, &mut found);
                assert!(found == expected, "forward, {L} lanes, N = {degree}, q = {modulus}");
                let (mut expected, mut found) = (start.clone(), start);
                plan.inverse(&mut expected);
                ntt::inverse(simd, &tables, &mut found);
                assert!(found == expected, "inverse, {L} lanes, N = {degree}, q = {modulus}");
            }
        }
    }
}

#[test]
fn the_walk_over_passes_keeps_its_bounds_with_any_number_of_lanes() {
    for_lanes!(transforms: 1 2 4 8);
}

/// A kernel and its specification on operands of every length and modulus: `(q, out, a, b, factors)`.
type Kernel<'a> = &'a dyn Fn(Modulus, &mut [u64], &[u64], &[u64], [u64; 2]);

fn compare(lanes: usize, kernels: &[(Kernel<'_>, Kernel<'_>)]) {
    let mut random = Random::new(8);
    for modulus in moduli() {
        for len in lengths() {
            let [out, a, b] = [(); 3].map(|()| random.residues(modulus, len));
            let factors = [(); 2].map(|()| random.residues(modulus, 1)[0]);
            for (index, (kernel, specification)) in kernels.iter().enumerate() {
                let (mut found, mut expected) = (out.clone(), out.clone());
                kernel(modulus, &mut found, &a, &b, factors);
                specification(modulus, &mut expected, &a, &b, factors);
                assert!(found == expected, "kernel {index}, {lanes} lanes, q = {modulus}, length {len}");
            }
        }
    }
}

fn elementwise<const L: usize, S: Vector<L>>(simd: S) {
    use scalar::{convert as c, pointwise as p};
    compare(
        L,
        &[
            (&|q, out, a, _, _| pointwise::mul_assign(simd, q, out, a), &|q, out, a, _, _| {
                p::mul_assign(q, out, a)
            }),
            (&|q, out, a, b, _| pointwise::mul_into(simd, q, out, a, b), &|q, out, a, b, _| {
                p::mul_into(q, out, a, b)
            }),
            (&|q, out, a, b, _| pointwise::mul_add_assign(simd, q, out, a, b), &|q, out, a, b, _| {
                p::mul_add_assign(q, out, a, b);
            }),
            (&|q, out, _, _, f| pointwise::mul_scalar_assign(simd, q, out, f[0]), &|q, out, _, _, f| {
                p::mul_scalar_assign(q, out, f[0]);
            }),
            (
                &|q, out, a, _, f| pointwise::mul_scalar_add_assign(simd, q, out, a, f[0]),
                &|q, out, a, _, f| {
                    p::mul_scalar_add_assign(q, out, a, f[0]);
                },
            ),
            (&|q, out, a, _, f| convert::sub_scale_assign(simd, q, out, a, f[0]), &|q, out, a, _, f| {
                c::sub_scale_assign(q, out, a, f[0]);
            }),
            (&|q, out, a, _, f| convert::combine_assign(simd, q, out, f[0], a, f[1]), &|q, out, a, _, f| {
                c::combine_assign(q, out, f[0], a, f[1]);
            }),
        ],
    );
}

fn tensors<const L: usize, S: Vector<L>>(simd: S) {
    let mut random = Random::new(9);
    for modulus in moduli() {
        for len in lengths() {
            let rows: [Vec<u64>; 7] = std::array::from_fn(|_| random.residues(modulus, len));
            let [x, y, z, a0, a1, b0, b1] = &rows;
            let (a, b) = ((a0.as_slice(), a1.as_slice()), (b0.as_slice(), b1.as_slice()));
            let mut found = [x.clone(), y.clone(), z.clone()];
            let mut expected = found.clone();
            pointwise::tensor(simd, modulus, found.each_mut().map(Vec::as_mut_slice), a, b);
            scalar::pointwise::tensor(modulus, expected.each_mut().map(Vec::as_mut_slice), a, b);
            assert_eq!(found, expected, "{L} lanes, q = {modulus}, length {len}");
            let factor = random.residues(modulus, 1)[0];
            let [(mut found_body, mut found_mask), (mut body, mut mask)] =
                [(x.clone(), y.clone()), (x.clone(), y.clone())];
            pointwise::tensor_add_assign(simd, modulus, (&mut found_body, &mut found_mask), a, b, factor);
            scalar::pointwise::tensor_add_assign(modulus, (&mut body, &mut mask), a, b, factor);
            assert_eq!((found_body, found_mask), (body, mask), "{L} lanes, q = {modulus}, length {len}");
        }
    }
}

fn products<const L: usize, S: Vector<L>>(simd: S) {
    let mut random = Random::new(13);
    for modulus in moduli() {
        for (left, right, count) in [(1, 1, 1), (2, 2, 9), (4, 2, 3), (3, 5, 2)] {
            let rows = Rows { places: PLACES, within: (0, PLACES), left, right, adds: count % 2 == 1 };
            let mut operand = |rows: usize| random.residues(modulus, rows * PLACES);
            let operands: Vec<_> = (0..count).map(|_| (operand(left), operand(right))).collect();
            let pairs: Vec<Pair<'_>> = operands.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            let mut found = operand(rows.product());
            let mut expected = found.clone();
            product::multiply_add(simd, modulus, rows, &mut found, &pairs);
            scalar::product::multiply_add(modulus, rows, &mut expected, &pairs);
            assert_eq!(found, expected, "{L} lanes, q = {modulus}, {rows:?}, {count} pairs");
        }
    }
}

fn lifts<const L: usize, S: Vector<L>>(simd: S) {
    let mut random = Random::new(10);
    for modulus in moduli() {
        for len in lengths() {
            let words: Vec<i64> =
                random.words(len).iter().enumerate().map(|(i, &x)| x as i64 >> (i % 64)).collect();
            let errors: Vec<i32> = words.iter().map(|&x| x as i32).collect();
            let (mut found, mut expected) = (vec![0; len], vec![0; len]);
            lift::lift_signed(simd, modulus, &words, &mut found);
            scalar::lift::lift_signed(modulus, &words, &mut expected);
            assert_eq!(found, expected, "{L} lanes, q = {modulus}, length {len}");
            let scale = random.residues(modulus, 1)[0];
            lift::add_scaled_error(simd, modulus, &mut found, &errors, scale);
            scalar::lift::add_scaled_error(modulus, &mut expected, &errors, scale);
            assert_eq!(found, expected, "{L} lanes, q = {modulus}, length {len}");
        }
    }
}

fn column_sums<const L: usize, S: Vector<L>>(simd: S) {
    let mut random = Random::new(11);
    for modulus in moduli() {
        // Around one vector and one tile; around the batches of products.
        for (len, count) in [0, 1, L - 1, L, L + 1, 4 * L, 5 * L + 1]
            .into_iter()
            .flat_map(|len| [1, 2, 3, 4, MAX_ROWS].map(|count| (len, count)))
        {
            let mut rows = random.residues(largest_ntt_prime(8), len * count);
            rows.iter_mut()
                .take(len)
                .for_each(|word| *word |= (random.word() % MAX_ROWS as u64) << TAG_SHIFT);
            let weights = random.residues(modulus, count + 1);
            if len > 0 {
                let (mut found, mut expected) = (vec![1; len], vec![1; len]);
                convert::tagged_sum(simd, modulus, &mut found, &rows, &weights);
                scalar::convert::tagged_sum(modulus, &mut expected, &rows, &weights);
                assert_eq!(found, expected, "{L} lanes, q = {modulus}, {count} rows of {len}");
            }
            let matrices: [Vec<Vec<u64>>; 3] =
                std::array::from_fn(|_| (0..count).map(|_| random.residues(modulus, len)).collect());
            let [a, b, c] =
                matrices.each_ref().map(|rows| rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut found = [vec![1; len], vec![1; len]];
            let mut expected = found.clone();
            let [left, right] = &mut found;
            convert::dot_pair(simd, modulus, (left, right), &a, (&b, &c));
            let [left, right] = &mut expected;
            scalar::convert::dot_pair(modulus, (left, right), &a, (&b, &c));
            assert_eq!(found, expected, "{L} lanes, q = {modulus}, {count} rows of {len}");
        }
    }
}

#[test]
fn elementwise_kernels_equal_the_specification_with_any_number_of_lanes() {
    for_lanes!(elementwise: 1 2 3 4 8 16);
    for_lanes!(tensors: 1 2 3 4 8 16);
    for_lanes!(lifts: 1 2 3 4 8 16);
}

#[test]
fn sums_of_columns_equal_the_specification_with_any_number_of_lanes() {
    for_lanes!(column_sums: 1 2 3 4 8 16);
    for_lanes!(products: 1 2 4 8);
}

#[test]
fn ends_of_slices_are_padded_with_zeros() {
    let (mut out, x) = (vec![9_u64; 7], [1_u64, 2, 3, 4, 5, 6, 7]);
    let seen = std::cell::RefCell::new(Vec::new());
    zip([&mut out], [&x], |[out]: [&mut [u64; 4]; 1], [x]| {
        seen.borrow_mut().push((*out, *x));
        *out = x.map(|x| 10 * x);
    });
    assert_eq!(seen.into_inner(), [([9, 9, 9, 9], [1, 2, 3, 4]), ([9, 9, 9, 0], [5, 6, 7, 0])]);
    assert_eq!(out, [10, 20, 30, 40, 50, 60, 70]);
}
