// SPDX-License-Identifier: Apache-2.0
//! Prints every LWE instance of the laboratory's named sets of BV11: name, security parameter, dimension, modulus. `tools/estimate.py`
//! reads it.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use hush_lab::bv11::InsecureBv11Params;

fn main() -> Result<(), hush_lab::LabError> {
    for (depth, security, _, _) in InsecureBv11Params::SETS {
        let levels = InsecureBv11Params::named(security, depth)?.levels();
        for (name, rung) in ["", "-short"].into_iter().zip([levels.first(), levels.last()]) {
            if let Some(rung) = rung {
                println!("bv11-depth{depth}-{security}{name} {security} {} {}", rung.n, rung.q.value());
            }
        }
    }
    Ok(())
}
