// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the vector AES instructions: four blocks per register, eight registers in flight.

use std::arch::x86_64::*;

use hush_arith::Modulus;

use super::vector::{Avx512, Words};
use crate::avx2::uniform::Schedule;

/// Registers computed together: enough to hide the latency of a round.
const REGISTERS: usize = 8;

/// As [`Schedule::expand`].
#[target_feature(
    enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,aes,avx2"
)]
pub(crate) fn expand<const ADD: bool>(
    schedule: &Schedule,
    counter: u64,
    nonce: u64,
    modulus: Option<Modulus>,
    out: &mut [u64],
) {
    let simd = Avx512::new();
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
    schedule.expand::<ADD>(done, nonce, modulus, tail);
}
