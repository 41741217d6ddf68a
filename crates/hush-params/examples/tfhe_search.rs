// SPDX-License-Identifier: Apache-2.0
//! Prints the errors and keys of the parameter sets of TFHE; or, with bits of messages and a norm, the cheapest set for them:
//! `cargo run --release -p hush-params --example tfhe_search -- 6 9`.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use hush_params::tfhe::{SETS, TfheSet, Variances, cheapest};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u32>().ok());
    let (Some(bits), Some(norm)) = (numbers.next(), numbers.next()) else {
        SETS.into_iter().for_each(print);
        return;
    };
    match cheapest(bits, norm) {
        None => println!("none"),
        Some(set) => {
            println!("{set:?}");
            print(&set);
        }
    }
}

/// log2 of the deviations of rotation, key switch and modulus switch, the chance of a wrong result, and the bytes of keys as they are sent.
fn print(set: &TfheSet) {
    let Variances { rotation, key_switch, modulus_switch } = set.variances();
    let [rotation, switch, modulus] = [rotation, key_switch, modulus_switch].map(|x| x.log2() / 2.0);
    let rows = set.dimension() * (set.rank() + 1) * set.gadget().levels as usize;
    let width = set.log_q().ceil();
    let bytes = (rows * set.degree()) as f64 * width / 8.0
        + 4.0 * (set.large_dimension() * set.switch().levels as usize) as f64;
    println!(
        "{}: {rotation:.1}, {switch:.1}, {modulus:.1}; 2^{:.1}; {:.1} MB",
        set.name(),
        set.failure_log2(),
        bytes / 1e6
    );
    let Some(of_circuit) = set.circuit_variances() else { return };
    let [body, mask, choice] = [of_circuit.body, of_circuit.mask, of_circuit.choice].map(|x| x.log2() / 2.0);
    println!("  selectors: rows {body:.1} and {mask:.1}, a choice {choice:.1}");
    for bits in [8, 16] {
        let chances = [set.wide_failure_log2(bits, 1), set.chained_failure_log2(bits)];
        let [wide, chained] = chances.map(|chance| chance.unwrap_or(0.0));
        println!("  {bits} bits: 2^{wide:.1}; as a bit of the next index 2^{chained:.1}");
    }
    println!("  a bit of norm {}: 2^{:.1}", set.norm(), set.circuit_failure_log2(set.norm()).unwrap_or(0.0));
}
