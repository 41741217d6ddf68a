// SPDX-License-Identifier: Apache-2.0
//! The table of docs/math/constants.md is what the noise model computes, operation by operation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hush_params::noise::{NoiseModel, Operands, View, bgv_fresh_phase_log2, expanded, product_phase_log2};
use hush_params::presets::chain_preset;
use hush_params::{ChainParams, Level};

const PAGE: &str = include_str!("../../../docs/math/constants.md");
const T: u64 = 65537;

/// The rows of the table of bounds: what it is of, its level, log2 of its bound and of half of the modulus.
fn rows() -> Vec<[&'static str; 4]> {
    let (_, table) = PAGE.split_once("| | level | log2 of the bound |").unwrap();
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    lines.map(|line| cells(line).try_into().unwrap()).collect()
}

/// log2 of `Q/2` at a level.
fn half(chain: &ChainParams, level: Level) -> f64 {
    chain.log_q(level).unwrap() - 1.0
}

/// TPC-H's Q6: days in two digits of 51 and 50 values, 11 discounts, 50 quantities.
#[test]
fn the_bounds_are_those_of_the_code() {
    let chain = chain_preset("n14_q5p1x46u_d1_sec192_v1").unwrap().params().unwrap();
    let model = NoiseModel::new(chain.degree(), T, View::Bound);
    let (top, third, second, first) = (chain.top(), Level(3), Level(2), Level(1));
    let flag = model.fresh(model.message((T as f64).log2() - 1.0));
    let constant = expanded(&model, &chain, top, 3 * 51 + 2 * 50 + 11 + 50);
    let divide = |phase, level| model.relinearized_and_mod_switched(phase, &chain, level).unwrap();
    let inner = |terms: f64| model.sum(model.tensor(flag, constant, Operands::Independent), terms.log2());
    let times = |one, other| model.tensor(one, other, Operands::Dependent);
    let (of_days, of_places) = (divide(inner(51.0), top), divide(inner(50.0), top));
    let product = times(of_days, of_places);
    let end = divide(product, third);
    let ratio = half(&chain, second) - half(&chain, third);
    let beyond = model.mod_switch(of_days, ratio);
    let days = model.add(model.add(beyond, end, Operands::Dependent), end, Operands::Dependent);
    let others = divide(times(divide(inner(11.0), top), of_places), third);
    let both = times(days, others);
    let condition = divide(both, second);
    let phases = [
        (flag, top),
        (constant, top),
        (inner(51.0), top),
        (of_days, third),
        (product, third),
        (end, second),
        (days, second),
        (both, second),
        (condition, first),
    ];
    // From here on nothing is a chance.
    let raised = model.phase_log2(condition) + half(&chain, top) - half(&chain, first);
    let limb = product_phase_log2(chain.degree(), raised, bgv_fresh_phase_log2((T as f64).log2()));
    let rows = rows();
    assert_eq!(rows.len(), phases.len() + 3);
    for ([what, level, bound, room], (phase, found)) in rows.iter().zip(phases) {
        assert_eq!(*level, found.to_string(), "{what}");
        assert_eq!(*bound, format!("{:.1}", model.phase_log2(phase)), "{what}");
        assert_eq!(*room, format!("{:.1}", half(&chain, found)), "{what}");
    }
    for ([what, _, bound, room], found) in rows.iter().skip(phases.len()).zip([raised, limb, limb + 10.0]) {
        assert_eq!(
            (*bound, *room),
            (&*format!("{found:.1}"), &*format!("{:.1}", half(&chain, top))),
            "{what}"
        );
    }
}
