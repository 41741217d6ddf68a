// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, largest_ntt_prime, moduli};

/// Lengths with and without a tail for every vector width.
const LENGTHS: [usize; 6] = [0, 1, 7, 32, 96, 100];
const COUNTS: [usize; 6] = [0, 1, 3, 16, 17, MAX_ROWS];

/// The definition, in 128 bits, one term reduced at a time.
fn by_definition(q: u64, terms: impl Iterator<Item = (u64, u64)>) -> u64 {
    terms.fold(0, |sum, (a, b)| (sum + u128::from(a) * u128::from(b) % u128::from(q)) % u128::from(q)) as u64
}

#[test]
fn tagged_sums_follow_the_definition_for_rows_of_any_modulus() {
    let mut random = Random::new(31);
    for modulus in moduli() {
        for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
            let mut rows = random.residues(largest_ntt_prime(8), len * count);
            rows.iter_mut().step_by(5).for_each(|word| *word = hush_arith::MAX_MODULUS);
            let tags: Vec<u64> = (0..len).map(|_| random.word() % (MAX_ROWS as u64 + 1)).collect();
            let weights = random.residues(modulus, count + 1);
            let expected: Vec<u64> = (0..len)
                .map(|c| {
                    let terms = (0..count).map(|i| (rows[i * len + c], weights[i]));
                    let tag = Some((tags[c], weights[count])).filter(|_| count > 0);
                    by_definition(modulus.value(), terms.chain(tag))
                })
                .collect();
            rows.iter_mut().zip(&tags).for_each(|(word, tag)| *word |= tag << TAG_SHIFT);
            for cpu in Cpu::available() {
                let mut out = vec![1; len];
                tagged_sum(cpu, modulus, &mut out, &rows, &weights);
                assert_eq!(out, expected, "{cpu}, q = {modulus}, {count} rows of {len}");
            }
        }
    }
}

#[test]
fn dot_products_follow_the_definition() {
    let mut random = Random::new(32);
    for modulus in moduli() {
        for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
            let [a, b, c] = [(); 3].map(|()| random.residues(modulus, len * count));
            let expected = [&b, &c].map(|factor| {
                let sum = |column: usize| {
                    let at = (0..count).map(|i| i * len + column);
                    by_definition(modulus.value(), at.map(|i| (a[i], factor[i])))
                };
                (0..len).map(sum).collect::<Vec<u64>>()
            });
            for cpu in Cpu::available() {
                let mut out = [vec![1; len], vec![1; len]];
                let [left, right] = &mut out;
                let rows = |words: &'_ [u64]| (0..count).map(|i| words[i * len..][..len].to_vec()).collect();
                let matrices: [Vec<Vec<u64>>; 3] = [&a, &b, &c].map(|words| rows(words));
                let [a, b, c] =
                    matrices.each_ref().map(|rows| rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
                dot_pair(cpu, modulus, (left, right), &a, (&b, &c));
                assert_eq!(out, expected, "{cpu}, q = {modulus}, {count} rows of {len}");
            }
        }
    }
}

#[test]
fn quotients_are_equal_on_every_path_and_exact_away_from_one_half() {
    let mut random = Random::new(33);
    let modulus = largest_ntt_prime(8);
    for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
        let rows = random.residues(modulus, len * count);
        let reciprocals = vec![1.0 / modulus.value() as f64; count];
        let mut specified = rows.clone();
        tag_quotients(Cpu::scalar(), &mut specified, len, &reciprocals);
        for (c, &found) in specified.iter().take(len).enumerate() {
            let sum: u128 = (0..count).map(|i| u128::from(rows[i * len + c])).sum();
            let q = u128::from(modulus.value());
            let (floor, rest) = (sum / q, sum % q);
            let half = rest.abs_diff(q / 2) < q >> 40;
            let tag = u128::from(found >> TAG_SHIFT);
            assert!(half || tag == floor + u128::from(rest > q / 2), "column {c}, {count} rows");
            assert_eq!(found & ((1 << TAG_SHIFT) - 1), rows[c], "the digit stays");
        }
        assert_eq!(specified.get(len..), rows.get(len..), "only the first row has tags");
        for cpu in crate::testing::vector_paths() {
            let mut tagged = rows.clone();
            tag_quotients(cpu, &mut tagged, len, &reciprocals);
            assert_eq!(tagged, specified, "{cpu}");
        }
    }
}

#[test]
fn differences_are_scaled() {
    let mut random = Random::new(34);
    for modulus in moduli() {
        for len in LENGTHS {
            let [start, x] = [(); 2].map(|()| random.residues(modulus, len));
            let factor = random.residues(modulus, 1)[0];
            let terms = start.iter().zip(&x);
            let expected: Vec<u64> = terms.map(|(&s, &x)| modulus.mul(modulus.sub(s, x), factor)).collect();
            for cpu in Cpu::available() {
                let mut out = start.clone();
                sub_scale_assign(cpu, modulus, &mut out, &x, factor);
                assert_eq!(out, expected, "{cpu}, q = {modulus}");
            }
        }
    }
}

#[test]
fn combinations_scale_both_operands() {
    let mut random = Random::new(35);
    for modulus in moduli() {
        for len in LENGTHS {
            let [start, x] = [(); 2].map(|()| random.residues(modulus, len));
            let factors = random.residues(modulus, 2);
            let q = modulus;
            let combine = |(&s, &x): (&u64, &u64)| q.add(q.mul(s, factors[0]), q.mul(x, factors[1]));
            let expected: Vec<u64> = start.iter().zip(&x).map(combine).collect();
            for cpu in Cpu::available() {
                let mut out = start.clone();
                combine_assign(cpu, modulus, &mut out, factors[0], &x, factors[1]);
                assert_eq!(out, expected, "{cpu}, q = {modulus}");
            }
        }
    }
}

#[test]
fn recentred_integers_keep_their_value() {
    let mut random = Random::new(36);
    let moduli: Vec<Modulus> = moduli().into_iter().filter(|q| q.value() > 2).collect();
    for (&source, &target) in
        moduli.iter().flat_map(|source| moduli.iter().map(move |target| (source, target)))
    {
        if source.value() / 2 >= target.value() {
            continue;
        }
        let q = source.value();
        let mut x = random.residues(source, 100);
        x[..3].copy_from_slice(&[q / 2, q / 2 + 1, q - 1]);
        let centered = |&x: &u64| if x > q / 2 { x as i64 - q as i64 } else { x as i64 };
        let expected: Vec<u64> = x.iter().map(|x| target.reduce_i64(centered(x))).collect();
        for cpu in Cpu::available() {
            let mut out = vec![9; x.len()];
            recenter(cpu, source, target, &mut out, &x);
            assert_eq!(out, expected, "{cpu}, {source} to {target}");
        }
    }
}
