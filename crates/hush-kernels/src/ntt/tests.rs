// SPDX-License-Identifier: Apache-2.0
use hush_arith::{ArithError, Modulus};

use super::{MAX_DEGREE, MIN_DEGREE, NttPlan};
use crate::{
    Cpu, KernelError, pointwise,
    testing::{Random, largest_ntt_prime, ntt_prime, vector_paths},
};

fn degrees() -> impl Iterator<Item = usize> {
    (MIN_DEGREE.ilog2()..=MAX_DEGREE.ilog2()).map(|log2| 1 << log2)
}

/// The polynomials on which lazy ranges grow fastest, and a random one.
fn polynomials(modulus: Modulus, degree: usize, seed: u64) -> [Vec<u64>; 4] {
    let last = modulus.value() - 1;
    let alternating = (0..degree).map(|i| if i % 2 == 0 { 0 } else { last }).collect();
    [vec![0; degree], vec![last; degree], alternating, Random::new(seed).residues(modulus, degree)]
}

fn primes(degree: usize) -> [Modulus; 6] {
    let [p31, p32, p35, p45, p46] = [31, 32, 35, 45, 46].map(|bits| ntt_prime(bits, degree));
    [p31, p32, p35, p45, p46, largest_ntt_prime(degree)]
}

/// `A(ψ^e(k))` for each index, by Horner's rule.
fn evaluate(plan: &NttPlan, polynomial: &[u64]) -> Vec<u64> {
    let modulus = plan.modulus();
    let psi = modulus.psi(plan.degree()).unwrap();
    let value = |k| {
        let point = modulus.pow(psi, plan.root_exponent(k) as u64);
        polynomial.iter().rev().fold(0, |sum, &a| modulus.add(modulus.mul(sum, point), a))
    };
    (0..plan.degree()).map(value).collect()
}

#[test]
fn scalar_forward_is_evaluation_at_the_documented_roots() {
    for degree in [16, 32, 64, 128, 256] {
        for modulus in [ntt_prime(30, degree), ntt_prime(46, degree), largest_ntt_prime(degree)] {
            let plan = NttPlan::new(modulus, degree, Cpu::scalar()).unwrap();
            for polynomial in polynomials(modulus, degree, 1) {
                let mut values = polynomial.clone();
                plan.forward(&mut values);
                assert_eq!(values, evaluate(&plan, &polynomial), "N = {degree}, q = {modulus}");
            }
        }
    }
}

#[test]
fn every_odd_root_occurs_once() {
    for degree in [16, 32, 64, 1024] {
        let plan = NttPlan::new(ntt_prime(46, degree), degree, Cpu::scalar()).unwrap();
        let mut exponents: Vec<usize> = (0..degree).map(|k| plan.root_exponent(k)).collect();
        exponents.sort_unstable();
        assert!(exponents.into_iter().eq((1..2 * degree).step_by(2)));
    }
    // brv and τ by hand: 64 points, index 8·1 + 2 becomes 8·2 + 1 = 0b010001, reversed 0b100010 = 34.
    let plan = NttPlan::new(ntt_prime(46, 64), 64, Cpu::scalar()).unwrap();
    assert_eq!(plan.root_exponent(10), 2 * 34 + 1);
}

#[test]
fn products_are_negacyclic_convolutions() {
    for cpu in Cpu::available() {
        for degree in [16, 64, 128, 512] {
            let modulus = ntt_prime(46, degree);
            let plan = NttPlan::new(modulus, degree, cpu).unwrap();
            let [_, a, _, b] = polynomials(modulus, degree, 2);
            let mut expected = vec![0; degree];
            for (i, &a) in a.iter().enumerate() {
                for (j, &b) in b.iter().enumerate() {
                    // X^N = −1.
                    let product = modulus.mul(a, if i + j < degree { b } else { modulus.neg(b) });
                    let sum = &mut expected[(i + j) % degree];
                    *sum = modulus.add(*sum, product);
                }
            }
            let (mut a, mut b) = (a, b);
            plan.forward(&mut a);
            plan.forward(&mut b);
            pointwise::mul_assign(cpu, modulus, &mut a, &b);
            plan.inverse(&mut a);
            assert_eq!(a, expected, "{cpu}, N = {degree}");
        }
    }
}

#[test]
fn inverse_undoes_forward_on_the_scalar_path() {
    for degree in degrees() {
        for modulus in primes(degree) {
            let plan = NttPlan::new(modulus, degree, Cpu::scalar()).unwrap();
            let [_, constant, _, random] = polynomials(modulus, degree, 3);
            for polynomial in [constant, random] {
                let mut data = polynomial.clone();
                plan.forward(&mut data);
                plan.inverse(&mut data);
                assert_eq!(data, polynomial, "N = {degree}, q = {modulus}");
            }
        }
    }
}

#[test]
fn vector_paths_equal_the_scalar_path() {
    for cpu in vector_paths() {
        for degree in degrees() {
            for modulus in primes(degree) {
                let specification = NttPlan::new(modulus, degree, Cpu::scalar()).unwrap();
                let plan = NttPlan::new(modulus, degree, cpu).unwrap();
                assert_eq!(plan.cpu(), cpu);
                for polynomial in polynomials(modulus, degree, 4) {
                    let mut expected = polynomial.clone();
                    let mut found = polynomial.clone();
                    specification.forward(&mut expected);
                    plan.forward(&mut found);
                    assert!(found == expected, "forward, {cpu}, N = {degree}, q = {modulus}");
                    // Any canonical vector is a vector of values.
                    let mut expected = polynomial.clone();
                    let mut found = polynomial;
                    specification.inverse(&mut expected);
                    plan.inverse(&mut found);
                    assert!(found == expected, "inverse, {cpu}, N = {degree}, q = {modulus}");
                }
            }
        }
    }
}

#[test]
fn unaligned_data_give_the_same_values() {
    let (degree, modulus) = (1024, ntt_prime(46, 1024));
    let polynomial = Random::new(5).residues(modulus, degree);
    let mut expected = polynomial.clone();
    NttPlan::new(modulus, degree, Cpu::scalar()).unwrap().forward(&mut expected);
    for cpu in vector_paths() {
        let plan = NttPlan::new(modulus, degree, cpu).unwrap();
        for offset in 0..8 {
            let mut buffer = vec![0; degree + 8];
            let data = &mut buffer[offset..offset + degree];
            data.copy_from_slice(&polynomial);
            plan.forward(data);
            assert!(data == expected, "{cpu}, offset {offset}");
        }
    }
}

#[test]
fn refuses_what_has_no_transform() {
    let modulus = ntt_prime(46, 1024);
    for found in [0, 1, 8, 24, 1 << 17] {
        let error = NttPlan::new(modulus, found, Cpu::scalar()).unwrap_err();
        assert_eq!(error, KernelError::DegreeUnsupported { found, min: MIN_DEGREE, max: MAX_DEGREE });
    }
    let modulus = Modulus::new(97).unwrap();
    let error = NttPlan::new(modulus, 64, Cpu::scalar()).unwrap_err();
    assert_eq!(error, KernelError::Arith(ArithError::NoRootOfUnity { modulus: 97, degree: 64 }));
}

#[test]
fn works_for_the_smallest_moduli() {
    // 97 = 3·32 + 1 and 257 = 4·64 + 1: far below the sizes in use, still correct on every path.
    for (q, degree) in [(97, 16), (257, 16), (257, 128), (12_289, 2048)] {
        let modulus = Modulus::new(q).unwrap();
        let polynomial = Random::new(6).residues(modulus, degree);
        let mut expected = polynomial.clone();
        let specification = NttPlan::new(modulus, degree, Cpu::scalar()).unwrap();
        specification.forward(&mut expected);
        for cpu in Cpu::available() {
            let plan = NttPlan::new(modulus, degree, cpu).unwrap();
            let mut data = polynomial.clone();
            plan.forward(&mut data);
            assert_eq!(data, expected, "{cpu}, q = {q}");
            plan.inverse(&mut data);
            assert_eq!(data, polynomial, "{cpu}, q = {q}");
        }
    }
}
