// SPDX-License-Identifier: Apache-2.0
//! The loops: NTT, FFT, point-wise arithmetic mod `q`, products of ciphertexts, lazy sums, bit packing, AES-CTR expansion, noise sampling, conditions on columns, digits of blind rotations.
//!
//! *Words used.* A **path** is an instruction set that a loop is written for; [`Cpu`] names one and proves that the
//! machine has it. A residue is **canonical** when it lies in `[0, q)`.
//!
//! ```text
//!   ntt  pointwise  lazy  convert  permute  bits  uniform  sample  lift  fft  select  product  gadget      safe API: checks lengths, picks the path
//!   ───────┬──────────────────┬──────────────────┬───
//!        scalar             avx2              avx512       kernels by API module, same names
//!   the specification    FP64 FMA, AES-NI   IFMA, VBMI, VAES
//!                           └────── vector ──────┘         kernels written once for both: see there
//! ```
//!
//! *Invariants.* All paths give the same bits for the same input; the scalar path is the specification. Residues go in
//! and come out canonical unless a function says otherwise. Loops on possibly secret data ([`ntt`], [`pointwise`],
//! [`lazy`], [`convert`], [`sample`], [`lift`], [`fft`], [`bits`], [`select`],
//! [`product`], [`gadget`]) have no branch, index or division that depends on it; [`uniform`] is for
//! public data and says so. Slices need no alignment; operands are distinct borrows, so they never overlap.
//!
//! *Shape contracts.* Lengths are fixed by the caller's layout, never by input data, so a mismatch is a programming
//! error: functions state it under *Panics* and check it before the first load.
//!
//! *Non-goals.* No allocation in loops, no threads, no notion of polynomial, basis or key (`hush-ring` and above).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod bits;
pub mod convert;
mod cpu;
mod error;
pub mod fft;
pub mod gadget;
pub mod lazy;
pub mod lift;
pub mod ntt;
mod operands;
mod path;
pub mod permute;
pub mod pointwise;
pub mod product;
pub mod sample;
mod scalar;
pub mod select;
#[cfg(test)]
mod testing;
pub mod uniform;
#[cfg(any(test, target_arch = "x86_64"))]
mod vector;

pub use bits::BitWidth;
pub use cpu::{CPU_ENV, Cpu};
pub use error::KernelError;
pub use ntt::NttPlan;
pub use path::Path;
pub use permute::Permutation;
pub use uniform::AesCtr128;
