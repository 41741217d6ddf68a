// SPDX-License-Identifier: Apache-2.0
//! AVX2 kernels: modular products in double precision by FMA, and the AES instructions.
//!
//! Integer products of 64 bits are slow in AVX2; products of doubles are not, and the primes fit them. What gains nothing from
//! that is the scalar code again, compiled for wider registers. As in the AVX-512 folder, `unsafe` stands in [`vector`] alone.

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod fft;
pub(crate) mod lazy;
pub(crate) mod lift;
pub(crate) mod ntt;
pub(crate) use crate::scalar::permute;
pub(crate) mod pointwise;
mod reduce;
pub(crate) mod sample;
pub(crate) mod uniform;
mod vector;

/// Whether this machine has every feature that the functions of this folder are compiled with.
pub(crate) fn is_supported() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("aes")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
}
