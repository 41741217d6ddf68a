// SPDX-License-Identifier: Apache-2.0
//! Prints every named parameter set and modulus chain: name, code, ring degree, all primes. `tools/estimate.py` reads it.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use hush_params::chain::presets::chain_presets;
use hush_params::{ChainError, presets};

fn main() -> Result<(), ChainError> {
    let words = |primes: &[u64]| primes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    for set in presets() {
        let all = [set.moduli(), set.special()].concat();
        println!("{} {} {} {}", set.name(), set.code(), set.degree(), words(&all));
    }
    for preset in chain_presets() {
        let chain = preset.params()?;
        let all = [chain.universe(), chain.special()].concat();
        println!("{} {} {} {}", preset.name(), preset.code(), chain.degree(), words(&all));
    }
    Ok(())
}
