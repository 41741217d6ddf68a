// SPDX-License-Identifier: Apache-2.0
//! Prints every parameter set for bootstrapping: name, code, `N`, the weight of the sparse secret, and the primes that keys to the dense secret and to the sparse one are
//! modulo. `tools/estimate.py --bootstrapping` reads it.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use hush_params::bootstrap::{SETS, SPARSE_WEIGHT};
use hush_params::{ChainError, ChainParams};

fn main() -> Result<(), ChainError> {
    let primes = |chain: &ChainParams| {
        let all = chain.universe().iter().chain(chain.special());
        all.map(u64::to_string).collect::<Vec<_>>().join(",")
    };
    for set in SETS {
        let dense = set.chain()?;
        let sparse = dense.sparse_chain()?;
        let (name, code, degree) = (set.name(), set.code(), set.shape().degree);
        println!("{name} {code} {degree} {SPARSE_WEIGHT} {} {}", primes(&dense), primes(&sparse));
    }
    Ok(())
}
