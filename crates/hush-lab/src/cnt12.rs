// SPDX-License-Identifier: Apache-2.0
//! Fully homomorphic encryption over the integers with compressed public keys: Coron, Naccache and Tibouchi, EUROCRYPT 2012
//! (eprint 2011/440). **Insecure**: lattice reduction of LLL's quality breaks every named set, and the small ones fall to guessing.
//!
//! *Words used.* A ciphertext of the bit `m` is an integer `c = q·p + 2r + m` below the public `x_0 = p·q_0`; `2r + m` is its
//! **noise**, and `c` decrypts while the noise is below `p/2`. Sums and products of ciphertexts modulo `x_0` are ciphertexts of
//! the XOR and the AND of the bits. A **refreshed** ciphertext comes from Recrypt, which decrypts under encryption.
//!
//! ```text
//!   keygen ─▶ InsecureCnt12SecretKey     p, and s: one position of each of θ boxes
//!         └─▶ InsecureCnt12PublicKey     x_0, y_0, two seeds, and η + λ bits for each of τ zeros and Θ bits of s
//!   encrypt  the bits, with the public key in one pass over it          evaluate   add, multiply
//!   scheme   all of it as a scheme of the lab             security   what the sets are worth
//!   expand   c·y_i/2^κ mod 2 to n bits: one word of each product        recrypt    Σ s_i·z_i, rounded, under encryption
//! ```
//!
//! *Invariants.* Long public integers are regenerated from the seeds piece by piece and never held together.
//!
//! *Non-goals.* Security, constant time, serialisation.
//!
//! # Differences from the paper
//! Additions in Recrypt are full adders with one product each, `(a+b)(a+c) + a`, column by column, instead of ripple-carry with two; the
//! carries of the last column are summed before they are reduced.

mod ciphertext;
mod circuit;
mod encrypt;
mod error;
mod evaluate;
mod expand;
mod keygen;
mod keys;
mod parameters;
mod random;
mod recrypt;
mod scheme;
mod security;
#[cfg(test)]
mod tests;

pub use ciphertext::InsecureCnt12Ciphertext;
pub use error::Cnt12Error;
pub use keygen::insecure_cnt12_keys;
pub use keys::{InsecureCnt12PublicKey, InsecureCnt12SecretKey};
pub use parameters::{InsecureCnt12Literal, InsecureCnt12Parameters};
pub use random::InsecureCnt12Random;
pub use scheme::{InsecureCnt12, InsecureCnt12Bit};
