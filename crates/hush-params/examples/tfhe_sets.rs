// SPDX-License-Identifier: Apache-2.0
//! Prints every parameter set of TFHE: name, code, `n`, bits of the noise, `k`, `N`, the prime. `tools/estimate.py --tfhe` reads it.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use hush_params::tfhe::SETS;

fn main() {
    for set in SETS {
        let small = format!("{} {}", set.dimension(), set.noise_bits());
        let ring = format!("{} {} {}", set.rank(), set.degree(), set.prime());
        println!("{} {} {small} {ring}", set.name(), set.code());
    }
}
