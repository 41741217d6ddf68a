// SPDX-License-Identifier: Apache-2.0
//! AVX-512 kernels: 52-bit integer FMA, byte permutes and vector AES.
//!
//! Every kernel is a safe function compiled with the features; the dispatcher's one `unsafe` call per kernel is justified by
//! the [`crate::Cpu`] that proves [`is_supported`]. Inside, operations go through the token of [`vector`], the only module
//! here with `unsafe`. Slices are cut in vectors of eight words; tails go to the scalar functions.

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod fft;
pub(crate) mod lazy;
pub(crate) mod lift;
pub(crate) mod ntt;
pub(crate) mod permute;
pub(crate) mod pointwise;
mod reduce;
pub(crate) mod sample;
pub(crate) mod uniform;
mod vector;

/// Whether this machine has every feature that the functions of this folder are compiled with.
pub(crate) fn is_supported() -> bool {
    crate::avx2::is_supported()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512ifma")
        && std::arch::is_x86_feature_detected!("avx512vbmi")
        && std::arch::is_x86_feature_detected!("avx512vpopcntdq")
        && std::arch::is_x86_feature_detected!("vaes")
}
