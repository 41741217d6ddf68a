// SPDX-License-Identifier: Apache-2.0
//! Blocks of 64 words, eight gathered at a time.

use super::vector::Avx512;
use crate::operands::{BLOCK, Block};

#[inline(always)]
pub(crate) fn blocks(simd: Avx512, out: &mut [[u64; BLOCK]], source: &[[u64; BLOCK]], blocks: &[Block]) {
    for (out, block) in out.iter_mut().zip(blocks) {
        let source = &source[block.source as usize];
        for (out, places) in out.as_chunks_mut().0.iter_mut().zip(block.places.as_chunks().0) {
            simd.store(out, simd.gather(source, places));
        }
    }
}
