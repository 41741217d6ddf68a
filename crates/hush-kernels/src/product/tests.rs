// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, moduli};

/// Schoolbook multiplication of two polynomials in one place, coefficient by coefficient.
fn schoolbook(q: u64, a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0_u64; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            let sum = u128::from(product[i + j]) + u128::from(*a) * u128::from(*b);
            product[i + j] = (sum % u128::from(q)) as u64;
        }
    }
    product
}

fn at(rows: &[u64], places: usize, place: usize) -> Vec<u64> {
    rows.iter().skip(place).step_by(places).copied().collect()
}

#[test]
fn products_of_every_degree_are_those_of_polynomials() {
    let mut random = Random::new(71);
    for modulus in moduli() {
        let q = modulus.value();
        for (left, right) in [(1, 1), (1, 4), (2, 2), (3, 2), (4, 2), (4, 4), (7, 2), (8, 8)] {
            for places in [8, 24, 64] {
                let (a, b) =
                    (random.residues(modulus, left * places), random.residues(modulus, right * places));
                for cpu in Cpu::available() {
                    let mut out = vec![u64::MAX; (left + right - 1) * places];
                    multiply(cpu, modulus, places, &mut out, (&a, &b));
                    for place in 0..places {
                        let expected = schoolbook(q, &at(&a, places, place), &at(&b, places, place));
                        let found = at(&out, places, place);
                        assert_eq!(found, expected, "{cpu}, {left} and {right} rows, q = {modulus}");
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_products_are_canonical_whatever_their_number() {
    let mut random = Random::new(73);
    let places = 16;
    for (modulus, (left, right)) in
        moduli().into_iter().flat_map(|q| [(4, 2), (1, 2), (1, 3), (1, 4)].map(|rows| (q, rows)))
    {
        let q = modulus.value();
        let largest = |rows: usize| vec![q - 1; rows * places];
        for count in [0, 1, 2, 3, 7, 8, 15, 40, 1000] {
            for is_largest in [false, true] {
                let operand = |random: &mut Random, rows: usize| match is_largest {
                    true => largest(rows),
                    false => random.residues(modulus, rows * places),
                };
                let operands: Vec<_> =
                    (0..count).map(|_| (operand(&mut random, left), operand(&mut random, right))).collect();
                let pairs: Vec<Pair<'_>> = operands.iter().map(|(a, b)| (&a[..], &b[..])).collect();
                let start = operand(&mut random, left + right - 1);
                let mut expected = start.clone();
                for (a, b) in &operands {
                    for place in 0..places {
                        let product = schoolbook(q, &at(a, places, place), &at(b, places, place));
                        for (row, term) in product.into_iter().enumerate() {
                            let sum = &mut expected[row * places + place];
                            *sum = (*sum + term) % q;
                        }
                    }
                }
                for cpu in Cpu::available() {
                    let mut acc = start.clone();
                    multiply_add(cpu, modulus, places, &mut acc, &pairs);
                    assert_eq!(acc, expected, "{cpu}, {count} pairs, q = {modulus}");
                    // What was there does not count.
                    let mut sum = if count == 0 { vec![0; start.len()] } else { start.clone() };
                    multiply_sum(cpu, modulus, places, &mut sum, &pairs);
                    let without = |(sum, start): (&u64, &u64)| (sum + start) % q;
                    assert!(
                        sum.iter().zip(&start).map(without).eq(expected.iter().copied()),
                        "{cpu}, {count}"
                    );
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "degrees of the first")]
fn pairs_of_other_degrees_are_refused() {
    let modulus = moduli().pop().unwrap();
    let (two, three) = ([1; 16], [1; 24]);
    multiply_add(Cpu::scalar(), modulus, 8, &mut [0; 24], &[(&two, &two), (&two, &three)]);
}

#[test]
#[should_panic(expected = "rows of the product")]
fn accumulators_of_other_degrees_are_refused() {
    let modulus = moduli().pop().unwrap();
    multiply_add(Cpu::scalar(), modulus, 8, &mut [0; 16], &[(&[1; 16], &[1; 16])]);
}

/// Cut into ranges of places, sums are the same, and other places stay as they are.
#[test]
fn places_are_added_up_in_any_cut() {
    let mut random = Random::new(79);
    let places = 40;
    for modulus in moduli() {
        for (left, right) in [(1, 1), (3, 2), (5, 2), (3, 3)] {
            let mut operand = |rows: usize| random.residues(modulus, rows * places);
            let (a, b, start) = (operand(left), operand(right), operand(left + right - 1));
            for cpu in Cpu::available() {
                let mut whole = start.clone();
                multiply_add(cpu, modulus, places, &mut whole, &[(&a, &b)]);
                let mut parts = start.clone();
                for within in [0..8, 8..32] {
                    multiply_add_within(cpu, modulus, (places, within), &mut parts, &[(&a, &b)]);
                }
                for (row, (parts, whole)) in parts.chunks(places).zip(whole.chunks(places)).enumerate() {
                    assert_eq!(parts[..32], whole[..32], "{cpu}, {left} and {right} rows, q = {modulus}");
                    assert_eq!(parts[32..], start[row * places + 32..(row + 1) * places], "{cpu}");
                }
            }
        }
    }
}
