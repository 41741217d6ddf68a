// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, lengths};

/// Numbers that are often the least, the largest or near a bound.
fn values(random: &mut Random, count: usize) -> Vec<i64> {
    let value = |word: u64| match word >> 61 {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => (word & 7) as i64 - 4,
        _ => word as i64,
    };
    (0..count).map(|_| value(random.word())).collect()
}

/// The definition, value by value.
fn reference<T: PartialOrd>(values: &[T], low: T, high: T) -> Vec<u64> {
    let mut selection = vec![0; values.len().div_ceil(64)];
    for (index, value) in values.iter().enumerate() {
        if *value >= low && *value <= high {
            selection[index / 64] |= 1 << (index % 64);
        }
    }
    selection
}

/// Compares a kernel with the definition on every path.
fn check<T: Copy + PartialOrd + std::fmt::Debug>(
    kernel: fn(Cpu, &[T], T, T, &mut [u64]),
    values: &[T],
    bounds: &[T],
) {
    for (low, high) in bounds.iter().flat_map(|low| bounds.iter().map(|high| (*low, *high))) {
        let expected = reference(values, low, high);
        for cpu in Cpu::available() {
            // Stale bits must be overwritten.
            let mut selection = vec![u64::MAX; expected.len()];
            kernel(cpu, values, low, high, &mut selection);
            assert_eq!(selection, expected, "{cpu}, {} values from {low:?} to {high:?}", values.len());
        }
    }
}

#[test]
fn ranges_follow_the_definition() {
    let mut random = Random::new(43);
    for len in lengths() {
        let values = values(&mut random, len);
        check(within_i64, &values, &[i64::MIN, -3, 0, 2, values.first().copied().unwrap_or(1), i64::MAX]);
        let halves: Vec<i32> = values.iter().map(|value| (value >> 32) as i32).collect();
        check(within_i32, &halves, &[i32::MIN, -1, 0, i32::MAX]);
        let wide: Vec<i128> = values.iter().map(|value| i128::from(*value) * i128::from(i64::MAX)).collect();
        check(within_i128, &wide, &[i128::MIN, -1, 0, i128::from(i64::MAX) * 2, i128::MAX]);
    }
}

#[test]
fn sums_are_those_of_the_selected_values() {
    let mut random = Random::new(47);
    for len in lengths() {
        let (values, mut selection) = (values(&mut random, len), random.words(len.div_ceil(64)));
        for fill in [None, Some(0), Some(u64::MAX)] {
            if let Some(fill) = fill {
                selection.fill(fill);
            }
            let is_selected = |index: &usize| selection[index / 64] >> (index % 64) & 1 == 1;
            let expected: i128 = (0..len).filter(is_selected).map(|index| i128::from(values[index])).sum();
            for cpu in Cpu::available() {
                assert_eq!(sum_selected(cpu, &values, &selection), expected, "{cpu}, {len}");
            }
        }
    }
    for extreme in [i64::MIN, i64::MAX] {
        for cpu in Cpu::available() {
            let sum = sum_selected(cpu, &[extreme; 200], &[u64::MAX; 4]);
            assert_eq!(sum, 200 * i128::from(extreme), "{cpu}");
        }
    }
}

#[test]
#[should_panic(expected = "one bit for each value")]
fn selections_of_other_lengths_are_refused() {
    sum_selected(Cpu::scalar(), &[1; 64], &[1, 1]);
}
