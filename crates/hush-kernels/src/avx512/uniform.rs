// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the vector AES instructions: four blocks per register, eight registers in flight.

use std::arch::x86_64::*;

use hush_arith::Modulus;

use super::vector::{Avx512, Words};
use crate::avx2::uniform::{self as avx2, Schedule};

/// Registers computed together: enough to hide the latency of a round.
const REGISTERS: usize = 8;

/// Expands a key.
pub(crate) fn new_schedule(simd: Avx512, key: &[u8; 16]) -> Schedule {
    avx2::new_schedule(simd.avx2(), key)
}

pub(crate) fn fill_uniform(
    simd: Avx512,
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    first_block: u64,
    out: &mut [u64],
) {
    expand::<false>(simd, schedule, first_block, nonce, Some(modulus), out);
}

pub(crate) fn fill_words(simd: Avx512, schedule: &Schedule, nonce: u64, first_block: u64, out: &mut [u64]) {
    expand::<false>(simd, schedule, first_block, nonce, None, out);
}

pub(crate) fn accumulate_uniform(
    simd: Avx512,
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    acc: &mut [u64],
) {
    expand::<true>(simd, schedule, 0, nonce, Some(modulus), acc);
}

/// Writes the coefficients from number `2·counter` on, or adds them; words as they are without a modulus.
fn expand<const ADD: bool>(
    simd: Avx512,
    schedule: &Schedule,
    counter: u64,
    nonce: u64,
    modulus: Option<Modulus>,
    out: &mut [u64],
) {
    // SAFETY: the token proves that the machine has the features that the function is compiled with.
    unsafe { expand_compiled::<ADD>(simd, schedule, counter, nonce, modulus, out) }
}

#[target_feature(
    enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,aes,avx2"
)]
fn expand_compiled<const ADD: bool>(
    simd: Avx512,
    schedule: &Schedule,
    counter: u64,
    nonce: u64,
    modulus: Option<Modulus>,
    out: &mut [u64],
) {
    let mut keys = [simd.zero(); 11];
    for (key, round_key) in keys.iter_mut().zip(schedule.round_keys()) {
        *key = _mm512_broadcast_i32x4(*round_key);
    }
    let (mask, q) = modulus.map_or((u64::MAX, u64::MAX), |q| ((1 << q.bits()) - 1, q.value()));
    let (mask, q) = (simd.splat(mask), simd.splat(q));
    let (groups, tail) = out.as_chunks_mut::<{ 8 * REGISTERS }>();
    let group_count = groups.len();
    // Lanes are (nonce, counter) pairs; a register holds four blocks and eight coefficients.
    let block = |lane| counter.wrapping_add(lane);
    let mut input = simd.load(&[nonce, block(0), nonce, block(1), nonce, block(2), nonce, block(3)]);
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
            if let (1.., Some(modulus)) = (refused, modulus) {
                let mut mended: Words = [0; 8];
                simd.store(&mut mended, residues);
                let first = 2 * counter as usize + 8 * (REGISTERS * group + register);
                schedule.replace(nonce, modulus, first, u32::from(refused), &mut mended);
                residues = simd.load(&mended);
            }
            simd.store(words, if ADD { simd.add(simd.load(words), residues) } else { residues });
        }
    }
    let done = counter.wrapping_add((4 * REGISTERS * group_count) as u64);
    schedule.expand_narrow::<ADD>(simd.avx2(), done, nonce, modulus, tail);
}
