// SPDX-License-Identifier: Apache-2.0
//! The AVX-512 path: 52-bit integer FMA, byte permutes and vector AES.
//!
//! Operations go through the token of [`vector`], the only module here with `unsafe`, but for the call of the AES kernel.

pub(crate) mod bits;
mod butterflies;
pub(crate) mod lazy;
pub(crate) mod permute;
mod residues;
pub(crate) mod sample;
pub(crate) mod uniform;
mod vector;

pub(crate) use self::vector::{Avx512, compiled};
pub(crate) use crate::vector::{convert, lift, ntt, pointwise, product};
