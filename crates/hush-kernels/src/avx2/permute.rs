// SPDX-License-Identifier: Apache-2.0
//! Blocks of 64 words by the scalar code: four gathered words cost more than four loads.
//!
//! It is not inlined, because the compiler would load single words into vectors here.

use super::vector::Avx2;
use crate::{
    operands::{BLOCK, Block},
    scalar::permute as scalar,
};

#[inline(never)]
pub(crate) fn blocks(_: Avx2, out: &mut [[u64; BLOCK]], source: &[[u64; BLOCK]], blocks: &[Block]) {
    scalar::blocks(out, source, blocks);
}
