// SPDX-License-Identifier: Apache-2.0
//! Exact sizes in bytes, computed from the parameter set alone.

use crate::ParamSet;

/// Bytes of `count` residues packed at `bits` bits each; every limb is padded to a whole byte.
pub fn packed_bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Bytes of one packed polynomial: all limbs, `N` residues each.
pub fn poly_bytes(set: &ParamSet) -> usize {
    set.limb_count() * packed_bytes(set.degree(), set.residue_bits())
}

/// Bytes of the answer to a masked sum: the whole of `a`, and one residue a limb for each of `bodies`.
pub fn sum_answer_bytes(set: &ParamSet, bodies: usize) -> usize {
    poly_bytes(set) + bodies * set.limb_count() * 8
}
