// SPDX-License-Identifier: Apache-2.0
//! Sums and masks against clear sums.

use super::*;
use crate::testing::*;
use hush_ring::Level;

fn windowed(row: &[i64], count: usize, stride: usize) -> Vec<i64> {
    let sum = |i: usize| (0..count).map(|j| i128::from(row[(i + j * stride) % row.len()])).sum();
    (0..row.len()).map(|i| centered(sum(i))).collect()
}

#[test]
fn windows_of_every_length_are_summed_with_exactly_the_keys_that_they_list() {
    let (degree, n) = (64, 32);
    let mut draw = Draw::new();
    let mut party = bgv(&toy(degree as u32, 1, 1));
    let x = draw.integers(degree);
    let a = party.encrypt(&x, Level(1));
    for (count, stride) in
        [(1, 1), (2, 1), (3, 1), (7, 4), (8, 4), (11, 2), (12, 1), (31, 1), (32, 1), (4, 8)]
    {
        let window = Window::new(count, stride, n).unwrap();
        let elements = window.galois_elements(degree);
        party.rekey(&elements);
        let found = party.decrypt(&window.sum(&party.scheme, &a, &party.keys).unwrap());
        let expected = [windowed(&x[..n], count, stride), windowed(&x[n..], count, stride)].concat();
        assert_eq!(found, expected, "{count} slots at stride {stride}, {draw}");
        for &missing in &elements {
            let rest: Vec<usize> = elements.iter().copied().filter(|&g| g != missing).collect();
            party.rekey(&rest);
            let refused = window.sum(&party.scheme, &a, &party.keys).unwrap_err();
            assert_eq!(refused, hush_rlwe::RlweError::MissingKey { element: missing }.into());
        }
    }
    assert_eq!(Window::new(9, 4, n).unwrap_err(), CircuitError::Slot { found: 36, max: 32 });
    assert_eq!(Window::new(0, 4, n).unwrap_err(), CircuitError::Slot { found: 0, max: 32 });
    assert!(Window::block(6, n).is_err());
    assert!(Window::block(200, n).is_err());
}

#[test]
fn blocks_and_all_slots_are_summed_into_every_slot() {
    let (degree, n) = (64, 32);
    let mut draw = Draw::new();
    let params = toy(degree as u32, 2, 1);
    let (mut party, mut other, mut owner) = (bgv(&params), bfv(&params), ckks(&params, TOY_SCALE_LOG2));
    let x = draw.integers(degree);
    let reals = draw.reals(n, -1.0, 1.0);
    for count_log2 in 0..=5 {
        let block = 1 << count_log2;
        let elements = sum_blocks_elements(&party.scheme, count_log2).unwrap();
        party.rekey(&elements);
        owner.rekey(&elements);
        let a = party.encrypt(&x, Level(1));
        let found = party.decrypt(&sum_blocks(&party.scheme, &a, count_log2, &party.keys).unwrap());
        let sum = |i: usize| x[i - i % block..][..block].iter().map(|&x| i128::from(x)).sum();
        assert_eq!(found, (0..degree).map(|i| centered(sum(i))).collect::<Vec<_>>(), "{block}, {draw}");
        for &missing in &elements {
            let rest: Vec<usize> = elements.iter().copied().filter(|&g| g != missing).collect();
            party.rekey(&rest);
            assert!(sum_blocks(&party.scheme, &a, count_log2, &party.keys).is_err(), "{missing} is used");
        }
        let a = owner.encrypt_real(&reals, Level(2));
        let found = sum_blocks(&owner.scheme, &a, count_log2, &owner.keys).unwrap();
        assert_eq!(found.level(), if block == n { Level(2) } else { Level(1) });
        let sum = |i: usize| reals[i - i % block..][..block].iter().sum::<f64>();
        owner.assert_near(&found, &(0..n).map(sum).collect::<Vec<_>>(), -24.0);
    }
    let total = centered(x.iter().map(|&x| i128::from(x)).sum());
    party.rekey(&sum_all_elements(&party.scheme));
    other.rekey(&sum_all_elements(&other.scheme));
    owner.rekey(&sum_all_elements(&owner.scheme));
    let found = sum_all(&party.scheme, &party.encrypt(&x, Level(0)), &party.keys).unwrap();
    assert_eq!(party.decrypt(&found), vec![total; degree]);
    let found = sum_all(&other.scheme, &other.encrypt(&x, Level(0)), &other.keys).unwrap();
    assert_eq!(other.decrypt(&found), vec![total; degree]);
    let found = sum_all(&owner.scheme, &owner.encrypt_real(&reals, Level(0)), &owner.keys).unwrap();
    owner.assert_near(&found, &vec![reals.iter().sum(); n], -24.0);
}

#[test]
fn masks_keep_what_they_name_and_clear_the_rest() {
    let degree = 64;
    let mut draw = Draw::new();
    let params = toy(degree as u32, 1, 1);
    let (party, other, owner) = (bgv(&params), bfv(&params), ckks(&params, TOY_SCALE_LOG2));
    let (x, reals) = (draw.integers(degree), draw.reals(degree / 2, -1.0, 1.0));
    let named = [0, 5, 31];
    let kept = |i: usize| named.contains(&i);
    let expected: Vec<i64> = (0..degree).map(|i| if kept(i) { x[i] } else { 0 }).collect();
    let found = mask_result(&party.scheme, &party.encrypt(&x, Level(1)), &named).unwrap();
    assert_eq!(party.decrypt(&found), expected);
    let found = mask_result(&other.scheme, &other.encrypt(&x, Level(1)), &named).unwrap();
    assert_eq!(other.decrypt(&found), expected);
    let expected: Vec<f64> = (0..degree / 2).map(|i| if kept(i) { reals[i] } else { 0.0 }).collect();
    let found = mask_result(&owner.scheme, &owner.encrypt_real(&reals, Level(1)), &named).unwrap();
    owner.assert_near(&found, &expected, -30.0);
    let half = mask(&party.scheme, &party.encrypt(&x, Level(1)), &[true; 32]).unwrap();
    assert_eq!(party.decrypt(&half), [&x[..32], &[0; 32]].concat());
    let refused = mask_result(&party.scheme, &party.encrypt(&x, Level(1)), &[64]).unwrap_err();
    assert_eq!(refused, CircuitError::Slot { found: 64, max: 63 });
    let refused = mask(&owner.scheme, &owner.encrypt_real(&reals, Level(1)), &[true; 33]).unwrap_err();
    assert_eq!(refused, CircuitError::Slot { found: 33, max: 32 });
    let refused = mask(&owner.scheme, &owner.encrypt_real(&reals, Level(0)), &[true]).unwrap_err();
    assert_eq!(refused, CircuitError::Levels { found: Level(0), expected: 1 });
}
