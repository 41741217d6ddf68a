// SPDX-License-Identifier: Apache-2.0
//! Plain loops: the specification that the other paths must equal bit for bit.

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod fft;
pub(crate) mod gadget;
pub(crate) mod lazy;
pub(crate) mod lift;
pub(crate) mod ntt;
pub(crate) mod permute;
pub(crate) mod pointwise;
pub(crate) mod product;
pub(crate) mod sample;
pub(crate) mod select;
pub(crate) mod uniform;
