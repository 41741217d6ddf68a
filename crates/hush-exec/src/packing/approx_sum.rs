// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_sum` at the server: nothing is rounded, since an error of any size changes the value.

use hush_plan::packing::ApproxSum;
use hush_rlwe::PlaintextModulus;

use super::Served;

impl Served for ApproxSum {
    fn moduli(&self) -> Vec<PlaintextModulus> {
        Vec::new()
    }
}
