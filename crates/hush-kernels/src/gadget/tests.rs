// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, moduli};

/// By integers of 128 bits.
fn expected(q: u64, (moved, x): (&[u64], &[u64]), turn: usize, shift: u32) -> Vec<u64> {
    let degree = x.len();
    let coefficient = |place: usize| {
        // X^turn·moved: the coefficient that comes to this place, and its sign.
        let from = (place + 2 * degree - turn) % (2 * degree);
        let value = i128::from(moved[from % degree]);
        let value = if from >= degree { -value } else { value };
        let difference = (value - i128::from(x[place])).rem_euclid(i128::from(q));
        let centred = if 2 * difference > i128::from(q) { difference - i128::from(q) } else { difference };
        let digit = (centred + (1 << (shift - 1))).div_euclid(1 << shift);
        digit.rem_euclid(i128::from(q)) as u64
    };
    (0..degree).map(coefficient).collect()
}

#[test]
fn digits_are_those_of_integers() {
    let mut random = Random::new(71);
    for modulus in moduli().into_iter().filter(|modulus| modulus.bits() > 20) {
        let q = modulus.value();
        for degree in [16, 64, 512] {
            let mut x = random.residues(modulus, degree);
            // Where rounding and centring turn.
            let edges =
                [0, 1, q - 1, q / 2, q / 2 + 1, 1 << 14, (1 << 14) - 1, q - (1 << 14), q - (1 << 14) - 1];
            x.iter_mut().zip(edges).for_each(|(x, edge)| *x = edge);
            let moved = random.residues(modulus, degree);
            for turn in [0, 1, 7, degree - 1, degree, degree + 1, 2 * degree - 1] {
                for shift in [1, 15, modulus.bits() - 3] {
                    for cpu in Cpu::available() {
                        for moved in [&x, &moved] {
                            let mut out = vec![u64::MAX; degree];
                            turned_digits(cpu, modulus, &mut out, (moved, &x), turn, shift);
                            let expected = expected(q, (moved, &x), turn, shift);
                            assert_eq!(out, expected, "{cpu}, q = {q}, {turn}, {shift}");
                        }
                    }
                }
            }
        }
    }
}

/// Digits are balanced, and give back the rounded quotient, by integers of 128 bits.
#[test]
fn digits_add_up_to_what_was_cut() {
    let mut random = Random::new(73);
    let signed = |q: u64, word: u64| i128::from(word) - if word > q / 2 { i128::from(q) } else { 0 };
    for modulus in moduli().into_iter().filter(|modulus| modulus.bits() > 20) {
        let q = modulus.value();
        for (shift, bits, levels) in [(3, 4, 3), (1, 7, 2), (modulus.bits() - 4, 1, 2)] {
            let unit = 1_i128 << shift;
            let half = 1_i128 << (bits - 1);
            let mut words = random.residues(modulus, 67);
            let edges = [0, 1, q - 1, q / 2, q / 2 + 1, 1 << (shift - 1), q - (1 << (shift - 1))];
            words.iter_mut().zip(edges).for_each(|(word, edge)| *word = edge);
            for cpu in Cpu::available() {
                let mut rest = words.clone();
                round(cpu, modulus, &mut rest, shift);
                let rounded = rest.clone();
                let mut sums = vec![0_i128; words.len()];
                for level in 0..levels {
                    let mut low = vec![u64::MAX; words.len()];
                    cut_digits(cpu, modulus, &mut low, &mut rest, bits);
                    for (sum, low) in sums.iter_mut().zip(low) {
                        assert!((-half..half).contains(&signed(q, low)), "{cpu}: {low}");
                        *sum += signed(q, low) << (bits * level);
                    }
                }
                for (((word, rounded), sum), rest) in words.iter().zip(&rounded).zip(sums).zip(&rest) {
                    let quotient = (signed(q, *word) + unit / 2).div_euclid(unit);
                    assert_eq!(signed(q, *rounded), quotient, "{cpu}: {word}");
                    assert_eq!(sum + (signed(q, *rest) << (bits * levels)), quotient, "{cpu}: {word}");
                }
            }
        }
    }
}

#[test]
fn rows_are_added_modulo_two_to_the_32() {
    let mut random = Random::new(72);
    for length in [0, 1, 15, 16, 17, 941] {
        let words =
            |random: &mut Random| random.words(length).iter().map(|x| *x as u32).collect::<Vec<u32>>();
        let start = words(&mut random);
        let factors = [0, 1, -1, 7, -8, i32::MAX, i32::MIN];
        let rows: Vec<Vec<u32>> = factors.iter().map(|_| words(&mut random)).collect();
        for count in 0..=factors.len() {
            let term = |place: usize, row: usize| i128::from(rows[row][place]) * i128::from(factors[row]);
            let sum = |place: usize| {
                (0..count).map(|row| term(place, row)).sum::<i128>() + i128::from(start[place])
            };
            let expected: Vec<u32> = (0..length).map(|place| sum(place) as u32).collect();
            for cpu in Cpu::available() {
                let mut out = start.clone();
                add_scaled(cpu, &mut out, &rows[..count].concat(), &factors[..count]);
                assert_eq!(out, expected, "{cpu}, {length}, {count}");
            }
        }
    }
}
