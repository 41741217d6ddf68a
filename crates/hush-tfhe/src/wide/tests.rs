// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::TfheSet;
use hush_ring::{Cpu, UniformSeed};
use hush_testkit::Draw;

use super::*;
use crate::{CircuitKey, RotationKey, ServerKey, SwitchKey, Table};

/// All that a server does, of keys that are noise, on each path of the kernels: the same bits.
#[test]
fn all_paths_give_the_same_bits() {
    let found = |expansion: usize, cpu: Cpu| {
        let set: &TfheSet = Box::leak(Box::new(TfheSet::insecure_toy(12, 64, expansion)));
        let context = Context::new(set, cpu).unwrap();
        let mut draw = Draw::of(71);
        let q = set.prime();
        let mut residues = |count: usize| (0..count).map(|_| draw.word() % q).collect::<Vec<u64>>();
        let bodies = residues(RotationKey::row_count(&context) * set.degree());
        let rotation = RotationKey::expand(&context, UniformSeed::from_bytes([1; 32]), &bodies).unwrap();
        let bodies: Vec<u32> = residues(SwitchKey::row_count(&context)).iter().map(|x| *x as u32).collect();
        let switch = SwitchKey::expand(&context, UniformSeed::from_bytes([2; 32]), &bodies).unwrap();
        let key = ServerKey::new(rotation, switch).unwrap();
        let inputs: Vec<Lwe> =
            (0..5).map(|_| Lwe::from_words(&context, residues(set.large_dimension() + 1)).unwrap()).collect();
        let (identity, square) = (|m: u64| m, |m: u64| m * m % 16);
        let table = Table::several(&context, &[&identity, &square]).unwrap();
        let mut results = key.bootstrap(&inputs.iter().map(|lwe| (lwe, &table)).collect::<Vec<_>>()).unwrap();
        assert_eq!(results.len(), 2 * inputs.len());
        if expansion == 1 {
            let bodies = residues(CircuitKey::row_count(&context).unwrap() * set.degree());
            let circuit = CircuitKey::expand(&context, UniformSeed::from_bytes([3; 32]), &bodies).unwrap();
            let selectors = circuit.selectors(&key, &inputs.iter().collect::<Vec<_>>()).unwrap();
            let selectors = [selectors.clone(), selectors].concat();
            let wide = WideTable::of(&context, 8, |index| index % 16).unwrap();
            results.push(wide.look_up(&context, &selectors[..8]).unwrap());
        }
        results
    };
    for expansion in [1, 4] {
        let expected = found(expansion, Cpu::scalar());
        for cpu in Cpu::available() {
            assert!(found(expansion, cpu) == expected, "{cpu}, expansion {expansion}");
        }
    }
}
