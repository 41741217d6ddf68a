// SPDX-License-Identifier: Apache-2.0
//! The packing `sum` at the server: one plaintext modulus, a power of two.

use hush_plan::packing::Sum;
use hush_rlwe::PlaintextModulus;

use super::Served;

impl Served for Sum {
    fn moduli(&self) -> Vec<PlaintextModulus> {
        vec![PlaintextModulus::PowerOfTwo(self.t_log2)]
    }
}
