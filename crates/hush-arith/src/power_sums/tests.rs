// SPDX-License-Identifier: Apache-2.0
use std::collections::BTreeMap;

use super::{numbers_of, weights_of};
use crate::Modulus;

/// A small deterministic generator (splitmix64), so that a failure reproduces.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (z ^ (z >> 31)) % count
    }
}

/// The definition.
fn sums(modulus: Modulus, weighted: &BTreeMap<u64, u64>, count: u64) -> Vec<u64> {
    let term = |power, (number, weight): (&u64, &u64)| modulus.mul(modulus.pow(*number, power), *weight);
    let sum = |power| weighted.iter().fold(0, |sum, one| modulus.add(sum, term(power, one)));
    (0..count).map(sum).collect()
}

fn draw(random: &mut Random, modulus: Modulus, (found, count): (usize, u64)) -> BTreeMap<u64, u64> {
    let mut drawn = BTreeMap::new();
    while drawn.len() < found {
        drawn.insert(random.below(count), random.below(modulus.value()));
    }
    drawn
}

#[test]
fn numbers_and_weights_come_back_from_their_sums() {
    let mut random = Random(1);
    for (prime, count) in [(65_537, 1024), (65_537, 3), (257, 256), (1_000_003, 1024)] {
        let modulus = Modulus::new(prime).unwrap();
        for most in [1_usize, 2, 3, 4, 8, 16] {
            for found in 0..=most.min(count as usize) {
                let weighted = draw(&mut random, modulus, (found, count));
                let numbers: Vec<u64> = weighted.keys().copied().collect();
                let ones = weighted.keys().map(|number| (*number, 1)).collect();
                let of_numbers = sums(modulus, &ones, most as u64 + 1);
                assert_eq!(numbers_of(modulus, &of_numbers, count).as_ref(), Some(&numbers), "{weighted:?}");
                let of_weights = sums(modulus, &weighted, most as u64);
                let weights: Vec<u64> = weighted.values().copied().collect();
                assert_eq!(weights_of(modulus, &numbers, &of_weights), Some(weights), "{weighted:?}");
            }
        }
    }
}

/// More numbers than sums are for, numbers beyond the range, numbers that come twice, and sums of nothing that are not 0.
#[test]
fn sums_of_no_such_numbers_are_refused() {
    let mut random = Random(2);
    let modulus = Modulus::new(65_537).unwrap();
    let power_sums = |numbers: &[u64], count: u64| -> Vec<u64> {
        let of = |power| numbers.iter().fold(0, |sum, one| modulus.add(sum, modulus.pow(*one, power)));
        (0..count).map(of).collect()
    };
    for numbers in [&[1, 2, 3][..], &[7, 7], &[128], &[0, 0], &[5, 65_536]] {
        assert_eq!(numbers_of(modulus, &power_sums(numbers, 3), 128), None, "{numbers:?}");
    }
    assert_eq!(numbers_of(modulus, &power_sums(&[1, 2], 3), 128), Some(vec![1, 2]));
    assert_eq!(numbers_of(modulus, &[], 128), None);
    // A sum that is wrong by itself, in any place: all are used.
    for most in [1_u64, 2, 4] {
        for found in 0..=most {
            let weighted = draw(&mut random, modulus, (found as usize, 128));
            let numbers: Vec<u64> = weighted.keys().copied().collect();
            let ones = weighted.keys().map(|number| (*number, 1)).collect();
            let right = sums(modulus, &ones, most + 1);
            for place in found as usize + 1..right.len() {
                let mut wrong = right.clone();
                wrong[place] = modulus.add(wrong[place], 1 + random.below(65_536));
                assert_eq!(numbers_of(modulus, &wrong, 128), None, "{weighted:?} {place}");
            }
            let right = sums(modulus, &weighted, most);
            for place in found as usize..right.len() {
                let mut wrong = right.clone();
                wrong[place] = modulus.add(wrong[place], 1 + random.below(65_536));
                assert_eq!(weights_of(modulus, &numbers, &wrong), None, "{weighted:?} {place}");
            }
        }
    }
    // Too few sums for the numbers, and a number that comes twice.
    assert_eq!(weights_of(modulus, &[1, 2], &[3]), None);
    assert_eq!(weights_of(modulus, &[1, 1], &[3, 3]), None);
}
