// SPDX-License-Identifier: Apache-2.0
//! Everything that needs the owner's secret: keys, encryption, decryption, key files.
//!
//! ```text
//!   OwnerSeed ──▶ KeyId, manifest signatures (Ed25519)
//!       ├──▶ TokenKey of one name (AES-SIV): equal tokens for equal values
//!       └──▶ TableKeys of one encryption ──▶ SealKey per sealed column (XAES-256-GCM)
//!                       │
//!                       └──▶ SecretKey per column ──▶ Encryptor ─▶ bodies        answers ─▶ decrypt_…
//!   keyfile: the seed under a passphrase, and the roots that can be forgotten
//! ```
//!
//! *Invariants.* **No server links this crate** (a check walks the dependency graph). Secrets are wiped on drop,
//! have no `Debug`, `Clone` or serialised form, and appear in no error. No `(mask, secret)` pair ever carries two
//! messages. Code on secrets has no branch, index or division that depends on them.
//!
//! # Example
//! The owner encrypts a column; a server, without this crate, adds up some rows; the owner decrypts.
//! ```
//! use hush_keys::{Encryptor, OwnerSeed, PhaseLimit, SecretKind, SumColumn, decrypt_sum};
//! use hush_ring::{Cpu, Ring};
//! use hush_rlwe::{BodyId, BodyKind, UncheckedBody};
//! use hush_schemes::{Values, bgv::sum::{NOT_SELECTED, SumAccumulator}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ring = Ring::new(hush_params::preset("n11_q1x46_sec128_v1")?, Cpu::detect()?)?;
//! let owner = OwnerSeed::generate()?;
//! let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
//! let mut encryptor = Encryptor::new();
//! let mut chunk = encryptor.begin_chunk(0, 4)?;
//! let values = Values::I64(&[10, -20, 30, 40]);
//! let column = SumColumn { column: 0, secret: &secret, t_log2: 30, values };
//! let stored = chunk.encrypt_sum(&ring, &[column])?.remove(0);
//! let seed = chunk.seed();
//!
//! let id = BodyId { column: 0, chunk: 0, element_count: 1, lanes: 1 };
//! let body = UncheckedBody::decode(&stored)?.conform(&ring, BodyKind::Sum, id)?;
//! let mut sum = SumAccumulator::new(&ring, 1, 1);
//! sum.absorb_masked(seed, &[0, NOT_SELECTED, 0, 0], None, &[body])?;
//! let answer = sum.finish()?.remove(0);
//!
//! assert_eq!(decrypt_sum(&secret, &answer, 0, 30, PhaseLimit::from_log2(37.0))?, 80);
//! # Ok(())
//! # }
//! ```
//!
//! *Non-goals.* No threshold keys, no protection against an attacker who controls the owner's machine.

mod batch;
mod chain;
mod decrypt;
mod encrypt;
mod error;
mod kept;
pub mod keyfile;
#[cfg(all(test, target_os = "linux"))]
mod leftovers;
mod pads;
mod power_keys;
mod powers;
mod public;
mod release;
mod roots;
mod seal;
mod secret;
mod seed;
mod tfhe;
mod tokens;

pub use batch::BatchKey;
pub use chain::{ChainSecret, Phase, encrypt_public};
pub use decrypt::{
    PhaseLimit, decrypt_approx_slots, decrypt_approx_sum, decrypt_approx_sum_chunk, decrypt_product,
    decrypt_slots, decrypt_sum, decrypt_sum_chunk,
};
pub use encrypt::{
    ApproxSlotColumn, ApproxSumColumn, ChunkEncryption, Encryptor, MAX_CHUNK_ROWS, SlotColumn, SumColumn,
};
pub use error::{DecryptError, EncryptError};
pub use hush_system::{Hardening, harden_process};
pub use kept::RootName;
pub use pads::PadKey;
pub use power_keys::power_keys;
pub use powers::check_powers;
pub use public::public_sum_key;
pub use release::{Flood, Flooded, NumberId, ReleaseKey};
pub use roots::TableRoots;
pub use seal::{Cipher, Opened, SEAL_OVERHEAD_BYTES, SealError, SealKey};
pub use secret::SecretKey;
pub use seed::{KeyId, OwnerSeed, SecretKind, TableKeys, VerifyingKey};
pub use tfhe::TfheSecret;
pub use tokens::{TOKEN_OVERHEAD_BYTES, TokenKey};
