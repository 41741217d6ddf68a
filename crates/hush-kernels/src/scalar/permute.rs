// SPDX-License-Identifier: Apache-2.0
//! Blocks of 64 words, one word at a time.

use crate::operands::{BLOCK, Block};

#[inline]
pub(crate) fn blocks(out: &mut [[u64; BLOCK]], source: &[[u64; BLOCK]], blocks: &[Block]) {
    for (out, block) in out.iter_mut().zip(blocks) {
        let source = &source[block.source as usize];
        for (out, place) in out.iter_mut().zip(&block.places) {
            *out = source[usize::from(place % BLOCK as u8)];
        }
    }
}
