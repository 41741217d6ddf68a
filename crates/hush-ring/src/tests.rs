// SPDX-License-Identifier: Apache-2.0
//! Rings against schoolbook arithmetic; randomness against its distribution.

use std::collections::HashSet;

use hush_params::presets;
use hush_testkit::Draw;

use crate::testing::uniform;
use crate::*;

const Q: [u64; 3] = [0x3fff_ffcc_0001, 0x3fff_ffb2_0001, 0x7_ffff_6001];

/// `a·b mod (X^N + 1, q)` by the definition.
fn schoolbook(a: &[u64], b: &[u64], q: u64) -> Vec<u64> {
    let n = a.len();
    let mut out = vec![0_u128; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let product = u128::from(x) * u128::from(y) % u128::from(q);
            let term = if i + j < n { product } else { u128::from(q) - product };
            out[(i + j) % n] = (out[(i + j) % n] + term) % u128::from(q);
        }
    }
    out.into_iter().map(|word| word as u64).collect()
}

fn toys() -> Vec<Ring> {
    [16, 64, 128].map(|degree| Ring::insecure_toy(degree, &Q).unwrap()).into()
}

#[test]
fn products_are_negacyclic_products() {
    let mut draw = Draw::new();
    for ring in toys() {
        let (a, b): (Poly<Coeff>, Poly<Coeff>) = (uniform(&mut draw, &ring), uniform(&mut draw, &ring));
        let c: Poly<Coeff> = uniform(&mut draw, &ring);
        let mut product = a.clone().into_eval();
        product.mul_assign(&b.clone().into_eval()).unwrap();
        let mut sum = c.clone().into_eval();
        sum.mul_add_assign(&a.clone().into_eval(), &b.clone().into_eval()).unwrap();
        let (product, sum) = (product.into_coeff(), sum.into_coeff());
        for (index, limb) in ring.limbs().iter().enumerate() {
            let q = limb.modulus();
            let expected = schoolbook(a.limb(index), b.limb(index), q.value());
            assert_eq!(product.limb(index), expected, "{draw}");
            let expected: Vec<u64> =
                expected.iter().zip(c.limb(index)).map(|(&x, &y)| (x + y) % q.value()).collect();
            assert_eq!(sum.limb(index), expected, "{draw}");
        }
    }
}

#[test]
fn two_polynomials_are_transformed_as_each_alone() {
    let mut draw = Draw::new();
    for ring in toys() {
        let [a, b, c] = [(); 3].map(|()| uniform::<Coeff>(&mut draw, &ring));
        let factor: Poly<Eval> = uniform(&mut draw, &ring);
        let limbs = ring.limbs();
        let add = |index: usize, row: &mut [u64]| limbs[index].add_assign(row, c.limb(index));
        let scale = |index: usize, row: &mut [u64]| limbs[index].mul_assign(row, factor.limb(index));
        let expected = [&a, &b].map(|poly| poly.clone().into_eval_with(add, scale));
        let found = Poly::pair_into_eval_with(
            a,
            b,
            |index, rows| rows.into_iter().for_each(|row| add(index, row)),
            |index, rows| rows.into_iter().for_each(|row| scale(index, row)),
        );
        assert!(found.unwrap() == expected, "{draw}");
    }
    let [one, other] = [&toys()[0], &toys()[1]].map(Poly::<Coeff>::zero);
    let refused = Poly::pair_into_eval_with(one, other, |_, _| {}, |_, _| {});
    assert!(matches!(refused, Err(RingError::RingMismatch { .. })));
}

#[test]
fn linear_operations_follow_the_integers() {
    let mut draw = Draw::new();
    for ring in toys() {
        let (a, b): (Poly<Coeff>, Poly<Coeff>) = (uniform(&mut draw, &ring), uniform(&mut draw, &ring));
        let mut out = a.clone();
        out.add_assign(&b).unwrap();
        out.sub_assign(&a).unwrap();
        assert_eq!(out, b, "{draw}");
        out.neg_assign();
        out.add_assign(&b).unwrap();
        assert!(out.is_zero_vartime(), "{draw}");
        let scalar = -(i128::from(draw.word()) << 30);
        let mut scaled = a.clone();
        scaled.mul_scalar_assign(scalar);
        for (index, limb) in ring.limbs().iter().enumerate() {
            let q = i128::from(limb.modulus().value());
            for (&x, &y) in a.limb(index).iter().zip(scaled.limb(index)) {
                assert_eq!(i128::from(x) * scalar.rem_euclid(q) % q, i128::from(y), "{draw}");
            }
        }
    }
}

#[test]
fn every_preset_has_a_ring_whose_transforms_invert() {
    let mut draw = Draw::new();
    for set in presets() {
        let ring = Ring::new(set, Cpu::detect().unwrap()).unwrap();
        let a: Poly<Coeff> = uniform(&mut draw, &ring);
        assert_eq!(a.clone().into_eval().into_coeff(), a, "{draw}, {}", set.name());
        assert_eq!(Ring::new(set, ring.cpu()).unwrap(), ring);
        assert_eq!((ring.param_code(), ring.degree()), (set.code(), set.degree()));
        assert_eq!(ring.limb_count() * ring.limb_bytes(), hush_params::size::poly_bytes(set));
    }
}

#[test]
fn signed_coefficients_become_residues() {
    let ring = Ring::insecure_toy(16, &Q).unwrap();
    let signed = [0, 1, -1, i128::MIN, i128::MAX, i128::from(i64::MIN)];
    let poly = Poly::from_signed(&ring, &signed).unwrap();
    for (limb, words) in poly.limbs() {
        let q = i128::from(limb.modulus().value());
        let residues = signed.iter().map(|x| x.rem_euclid(q) as u64).chain(std::iter::repeat_n(0, 10));
        assert!(words.iter().copied().eq(residues));
    }
    let error = Poly::from_signed(&ring, &[0; 17]).unwrap_err();
    assert_eq!(error, RingError::Length { found: 17, expected: 16 });
}

#[test]
fn residues_and_lengths_are_checked() {
    let ring = Ring::insecure_toy(16, &Q).unwrap();
    let mut words = vec![0; 48];
    words[47] = Q[2];
    let error = Poly::<Eval>::from_words(&ring, words).unwrap_err();
    assert_eq!(error, RingError::Residue { limb: 2 });
    let error = Poly::<Eval>::from_words(&ring, vec![0; 47]).unwrap_err();
    assert_eq!(error, RingError::Length { found: 47, expected: 48 });
}

#[test]
fn rings_do_not_mix() {
    let (a, b) = (Ring::insecure_toy(16, &Q).unwrap(), Ring::insecure_toy(32, &Q).unwrap());
    let error = Poly::<Eval>::zero(&a).mul_assign(&Poly::zero(&b)).unwrap_err();
    assert_eq!(error, RingError::RingMismatch { left: 0, right: 0 });
    assert!(Ring::insecure_toy(16, &[Q[0], Q[0]]).is_err());
    assert!(Ring::insecure_toy(16, &[97]).is_ok());
    assert!(Ring::insecure_toy(16, &[101]).is_err());
    assert!(Ring::insecure_toy(24, &Q).is_err());
}

#[test]
fn lazy_products_survive_more_terms_than_fit() {
    let mut draw = Draw::new();
    let ring = Ring::insecure_toy(16, &Q).unwrap();
    let top: Vec<u64> = Q.iter().flat_map(|q| [q - 1; 16]).collect();
    let extra: Poly<Eval> = uniform(&mut draw, &ring);
    let mut sum = LazyMac::new(&ring);
    for _ in 0..10_000 {
        sum.mul_add(&top, &top);
    }
    let mut other = LazyMac::new(&ring);
    other.mul_add(extra.words(), extra.words());
    sum.merge(other);
    let out = sum.finish();
    for (index, limb) in ring.limbs().iter().enumerate() {
        let q = u128::from(limb.modulus().value());
        for (&x, &y) in extra.limb(index).iter().zip(out.limb(index)) {
            // (q − 1)² = 1 mod q.
            assert_eq!((10_000 + u128::from(x) * u128::from(x)) % q, u128::from(y), "{draw}");
        }
    }
}

#[test]
fn lazy_sums_survive_more_terms_than_fit() {
    let ring = Ring::insecure_toy(16, &Q).unwrap();
    let mut sum = LazySum::new(&ring);
    for _ in 0..200_000 {
        sum.add_with(|limb, _, sums| limb.accumulate(sums, &[limb.modulus().value() - 1; 16]));
    }
    sum.merge(sum.clone());
    let out: Poly<Coeff> = sum.finish();
    for (limb, words) in out.limbs() {
        assert!(words.iter().all(|&word| word == limb.modulus().value() - 400_000));
    }
}

#[test]
fn labels_and_seeds_give_different_polynomials() {
    let ring = Ring::insecure_toy(16, &Q).unwrap();
    let seed = UniformSeed::from_bytes([1; 32]);
    let base = ExpandLabel::slot(0, 0, 0);
    let labels = [
        base,
        ExpandLabel { column: 1, ..base },
        ExpandLabel { ring_index: 1, ..base },
        ExpandLabel { lane: 1, ..base },
        ExpandLabel { purpose: MaskPurpose::Sum, ..base },
        ExpandLabel::sum(0),
    ];
    let mut seen = HashSet::new();
    for label in labels {
        assert_eq!(seed.expand(&ring, label), seed.expand(&ring, label));
        for word in seed.expand(&ring, label).words() {
            assert!(seen.insert(*word), "48 residues of 35 bits and more do not repeat");
        }
    }
    let other = UniformSeed::from_bytes([2; 32]).expand(&ring, base);
    assert!(other.words().iter().all(|word| seen.insert(*word)));
}

/// The expansion is part of the format. The numbers come from another implementation, written from the
/// definition in Python with the packages `blake3` and `cryptography`: seed 00 01 … 1f, set 2, mask of element 1.
#[test]
fn expansion_never_changes() {
    let set = hush_params::preset("n12_q2x46_sec128_v1").unwrap();
    let ring = Ring::new(set, Cpu::detect().unwrap()).unwrap();
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(0..).for_each(|(byte, index)| *byte = index);
    let poly = UniformSeed::from_bytes(bytes).expand(&ring, ExpandLabel::sum(1));
    let digest = |limb: &[u64]| {
        let bytes: Vec<u8> = limb.iter().flat_map(|word| word.to_le_bytes()).collect();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    };
    assert_eq!((poly.limb(0)[0], poly.limb(1)[4095]), (EXPANSION.0, EXPANSION.1));
    assert_eq!((digest(poly.limb(0)).as_str(), digest(poly.limb(1)).as_str()), (EXPANSION.2, EXPANSION.3));
}

const EXPANSION: (u64, u64, &str, &str) =
    (66_240_889_117_303, 60_643_182_384_645, "e329e37dd7459b00", "696b1c78827a36da");

/// Chi-square with 255 degrees of freedom over the top byte of 2^18 residues: above 390 with probability
/// below 2^-20 if they are uniform (q is within 2^-24 of 2^46).
#[test]
fn expanded_residues_are_uniform() {
    let ring = Ring::insecure_toy(1 << 16, &[Q[0]]).unwrap();
    let mut counts = [0_f64; 256];
    for index in 0..4 {
        let poly = UniformSeed::generate().unwrap().expand(&ring, ExpandLabel::sum(index));
        poly.words().iter().for_each(|word| counts[(word >> 38) as usize] += 1.0);
    }
    let expected = f64::from(1 << 18) / 256.0;
    let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    assert!(chi < 390.0, "chi-square {chi}");
}

#[test]
fn seeds_never_repeat() {
    let mut seen = HashSet::new();
    for _ in 0..100_000 {
        assert!(seen.insert(UniformSeed::generate().unwrap()));
    }
}

/// The error distribution: sample variance of 10.5 and chi-square against the binomial.
///
/// With 2^20 samples the sample variance has standard deviation 10.5·√((2 − 1/21)/2^20) = 0.0143; the interval
/// of ±0.1 is 7 of them wide each way (false alarm below 2^-38). Chi-square over the 25 values from −12 to 12
/// and both tails together (25 degrees of freedom) exceeds 75 with probability below 2^-18.
#[test]
fn errors_are_centred_binomial() {
    let count = 1 << 20;
    let mut random = vec![0; ERROR_BYTES * count];
    SecretRng::from_os().unwrap().fill(&mut random);
    let mut errors = vec![0; count];
    sample_errors(Cpu::detect().unwrap(), &random, &mut errors);
    assert!(errors.iter().all(|e| e.abs() <= 21));
    let (mut sum, mut squares, mut counts) = (0.0, 0.0, [0_f64; 26]);
    for &error in &errors {
        sum += f64::from(error);
        squares += f64::from(error * error);
        counts[if error.abs() <= 12 { (error + 12) as usize } else { 25 }] += 1.0;
    }
    let n = count as f64;
    assert!((squares / n - 10.5).abs() < 0.1, "variance {}", squares / n);
    assert!((sum / n).abs() < 7.0 * (10.5 / n).sqrt(), "mean {}", sum / n);
    // P(e) = C(42, 21 + e)/2^42.
    let mut binomial = vec![1.0_f64];
    for k in 0..42 {
        binomial.push(binomial[k] * (42 - k) as f64 / (k + 1) as f64);
    }
    let probability = |e: i32| binomial[(21 + e) as usize] / 42_f64.exp2();
    let mut expected: Vec<f64> = (-12..=12).map(probability).collect();
    expected.push(1.0 - expected.iter().sum::<f64>());
    let terms = counts.iter().zip(&expected).map(|(count, p)| (count - n * p).powi(2) / (n * p));
    let chi: f64 = terms.sum();
    assert!(chi < 75.0, "chi-square {chi}");
}
