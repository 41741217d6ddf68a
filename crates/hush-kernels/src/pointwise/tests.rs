// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, lengths, moduli};

/// Runs `kernel` on every path, modulus and length and compares each element with `expected(q, acc, a, b)` in 128 bits.
fn compare(
    name: &str,
    kernel: impl Fn(Cpu, Modulus, &mut [u64], &[u64], &[u64]),
    expected: impl Fn(u128, u128, u128, u128) -> u128,
) {
    let seed = 11;
    let mut random = Random::new(seed);
    for modulus in moduli() {
        let q = u128::from(modulus.value());
        for len in lengths() {
            let [acc, a, b] = [(); 3].map(|()| random.residues(modulus, len));
            let wide: Vec<u64> =
                (0..len).map(|i| (expected(q, acc[i].into(), a[i].into(), b[i].into()) % q) as u64).collect();
            for cpu in Cpu::available() {
                let mut found = acc.clone();
                kernel(cpu, modulus, &mut found, &a, &b);
                assert_eq!(found, wide, "{name}, {cpu}, q = {modulus}, length {len}, seed {seed}");
            }
        }
    }
}

#[test]
fn sums_and_differences() {
    compare("add", |cpu, q, acc, a, _| add_assign(cpu, q, acc, a), |_, acc, a, _| acc + a);
    compare("sub", |cpu, q, acc, a, _| sub_assign(cpu, q, acc, a), |q, acc, a, _| acc + q - a);
    compare("neg", |cpu, q, acc, _, _| neg_assign(cpu, q, acc), |q, acc, _, _| q - acc);
}

#[test]
fn products() {
    compare("mul", |cpu, q, acc, a, _| mul_assign(cpu, q, acc, a), |_, acc, a, _| acc * a);
    compare("mul_into", mul_into, |_, _, a, b| a * b);
    compare("add_into", add_into, |_, _, a, b| a + b);
    compare("sub_into", sub_into, |q, _, a, b| a + q - b);
    compare("mul_add", mul_add_assign, |_, acc, a, b| acc + a * b);
}

#[test]
fn tensor_products() {
    let mut random = Random::new(12);
    for modulus in moduli() {
        let q = modulus;
        for len in lengths() {
            let [a0, a1, b0, b1, body, mask] = [(); 6].map(|()| random.residues(modulus, len));
            let scalar = random.residues(modulus, 1)[0];
            let entry = |i: usize| {
                let middle = q.add(q.mul(a0[i], b1[i]), q.mul(a1[i], b0[i]));
                [q.mul(a0[i], b0[i]), middle, q.mul(a1[i], b1[i])]
            };
            let expected: [Vec<u64>; 3] = std::array::from_fn(|k| (0..len).map(|i| entry(i)[k]).collect());
            let added = |start: &[u64], product: &[u64]| -> Vec<u64> {
                start.iter().zip(product).map(|(&s, &p)| q.add(s, q.mul(scalar, p))).collect()
            };
            let sums = [added(&body, &expected[0]), added(&mask, &expected[1])];
            for cpu in Cpu::available() {
                let mut found: [Vec<u64>; 3] = std::array::from_fn(|_| vec![7 % q.value(); len]);
                tensor(cpu, q, found.each_mut().map(Vec::as_mut_slice), (&a0, &a1), (&b0, &b1));
                assert_eq!(found, expected, "{cpu}, q = {modulus}, length {len}");
                let [mut left, mut right] = [body.clone(), mask.clone()];
                tensor_add_assign(cpu, q, (&mut left, &mut right), (&a0, &a1), (&b0, &b1), scalar);
                assert_eq!([left, right], sums, "{cpu}, q = {modulus}, length {len}");
            }
        }
    }
}

#[test]
fn products_with_a_scalar() {
    for scalar in [0, 1, 2, u64::MAX / 3, u64::MAX] {
        compare(
            "mul_scalar",
            |cpu, q, acc, _, _| mul_scalar_assign(cpu, q, acc, scalar % q.value()),
            |q, acc, _, _| acc * (u128::from(scalar) % q),
        );
        compare(
            "mul_scalar_add",
            |cpu, q, acc, a, _| mul_scalar_add_assign(cpu, q, acc, a, scalar % q.value()),
            |q, acc, a, _| acc + a * (u128::from(scalar) % q),
        );
    }
}

#[test]
fn products_of_all_pairs_for_a_small_modulus() {
    let modulus = Modulus::new(257).unwrap();
    for cpu in Cpu::available() {
        for scalar in 0..257 {
            let mut data: Vec<u64> = (0..257).collect();
            mul_scalar_assign(cpu, modulus, &mut data, scalar);
            assert!(data.iter().zip(0..).all(|(&found, x)| found == x * scalar % 257), "{cpu}, {scalar}");
        }
    }
}

#[test]
#[should_panic(expected = "operands must have one length")]
fn different_lengths_are_a_programming_error() {
    add_assign(Cpu::scalar(), Modulus::new(17).unwrap(), &mut [1, 2], &[3]);
}
