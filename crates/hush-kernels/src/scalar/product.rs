// SPDX-License-Identifier: Apache-2.0
//! Products of polynomials by the definition.

use hush_arith::Modulus;

use crate::operands::{Pair, Rows};

#[inline(always)]
pub(crate) fn multiply_add(q: Modulus, rows: Rows, acc: &mut [u64], pairs: &[Pair<'_>]) {
    for (power, row) in acc.chunks_exact_mut(rows.places).enumerate() {
        for (place, acc) in row.iter_mut().enumerate().take(rows.within.1).skip(rows.within.0) {
            *acc *= u64::from(rows.adds);
            let coefficient = |rows_of: &[u64], row: usize| u128::from(rows_of[row * rows.places + place]);
            for (a, b) in pairs {
                // At most eight products below 2^94.
                let terms = rows.terms(power).map(|left| coefficient(a, left) * coefficient(b, power - left));
                *acc = q.reduce_u128(u128::from(*acc) + terms.sum::<u128>());
            }
        }
    }
}
