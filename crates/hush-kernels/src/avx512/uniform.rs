// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the vector AES instructions: four blocks per register, eight registers in flight.

use std::arch::x86_64::*;

use hush_arith::Modulus;

use super::vector::{Avx512, Words};
use crate::{avx2::uniform::Schedule, scalar::lazy as scalar};

/// Registers computed together: enough to hide the latency of a round.
const REGISTERS: usize = 8;

#[target_feature(
    enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,aes,avx2"
)]
pub(crate) fn fill_uniform(schedule: &Schedule, nonce: u64, modulus: Modulus, out: &mut [u64]) {
    let (done, tail) = expand::<false>(schedule, nonce, modulus, out);
    schedule.fill_from(done, nonce, modulus, tail);
}

#[target_feature(
    enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,aes,avx2"
)]
pub(crate) fn accumulate_uniform(schedule: &Schedule, nonce: u64, modulus: Modulus, acc: &mut [u64]) {
    let (done, tail) = expand::<true>(schedule, nonce, modulus, acc);
    let mut residues = [0; 8 * REGISTERS];
    schedule.fill_from(done, nonce, modulus, &mut residues[..tail.len()]);
    scalar::accumulate(tail, &residues);
}

/// Writes or adds the residues of all whole groups of registers; gives the counter reached and the words left.
#[inline]
#[target_feature(
    enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,aes,avx2"
)]
fn expand<'a, const ADD: bool>(
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    out: &'a mut [u64],
) -> (u64, &'a mut [u64]) {
    let simd = Avx512::new();
    let mut keys = [simd.zero(); 11];
    for (key, round_key) in keys.iter_mut().zip(schedule.round_keys()) {
        *key = _mm512_broadcast_i32x4(*round_key);
    }
    let (mask, q) = (simd.splat((1 << modulus.bits()) - 1), simd.splat(modulus.value()));
    let (groups, tail) = out.as_chunks_mut::<{ 8 * REGISTERS }>();
    let group_count = groups.len();
    // Lanes are (nonce, counter) pairs; a register holds four blocks and eight coefficients.
    let mut input = simd.load(&[nonce, 0, nonce, 1, nonce, 2, nonce, 3]);
    let four = simd.load(&[0, 4, 0, 4, 0, 4, 0, 4]);
    for (group, words) in groups.iter_mut().enumerate() {
        let mut blocks = [simd.zero(); REGISTERS];
        for block in &mut blocks {
            *block = _mm512_xor_si512(input, keys[0]);
            input = simd.add(input, four);
        }
        for key in &keys[1..10] {
            for block in &mut blocks {
                *block = _mm512_aesenc_epi128(*block, *key);
            }
        }
        for (register, (block, words)) in blocks.into_iter().zip(words.as_chunks_mut::<8>().0).enumerate() {
            let mut residues = simd.and(_mm512_aesenclast_epi128(block, keys[10]), mask);
            let refused = simd.not_below(residues, q);
            if refused != 0 {
                let mut mended: Words = [0; 8];
                simd.store(&mut mended, residues);
                replace(schedule, nonce, modulus, 8 * (REGISTERS * group + register), refused, &mut mended);
                residues = simd.load(&mended);
            }
            simd.store(words, if ADD { simd.add(simd.load(words), residues) } else { residues });
        }
    }
    ((4 * REGISTERS * group_count) as u64, tail)
}

/// Replaces the marked coefficients of eight that start at coefficient `first`.
#[cold]
#[target_feature(enable = "avx2,aes")]
fn replace(schedule: &Schedule, nonce: u64, modulus: Modulus, first: usize, refused: u8, words: &mut Words) {
    for (lane, word) in words.iter_mut().enumerate() {
        if refused >> lane & 1 == 1 {
            *word = schedule.retry(nonce, modulus, first + lane);
        }
    }
}
