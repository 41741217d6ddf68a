// SPDX-License-Identifier: Apache-2.0
//! Everything that needs the owner's secret: keys, encryption, decryption, key files.
//!
//! ```text
//!   OwnerSeed ──▶ KeyId, manifest signatures (Ed25519), SealKey (XChaCha20-Poly1305)
//!       │
//!       └──▶ SecretKey per column or table ──▶ Encryptor ─▶ bodies        answers ─▶ decrypt_…
//!   keyfile: the seed under a passphrase
//! ```
//!
//! *Invariants.* **No server links this crate** (a check walks the dependency graph). Secrets are wiped on drop,
//! have no `Debug`, `Clone` or serialised form, and appear in no error. No `(mask, secret)` pair ever carries two
//! messages. Code on secrets has no branch, index or division that depends on them.
//!
//! *Non-goals.* No release of results to third parties (flooding), no threshold keys, no protection against
//! whoever controls the owner's machine.

mod bfv;
mod decrypt;
mod encrypt;
mod error;
pub mod keyfile;
mod process;
mod secret;
mod seed;

pub use bfv::{decrypt_bfv, encrypt_bfv};
pub use decrypt::{
    decrypt_approx_slots, decrypt_approx_sum, decrypt_approx_sum_chunk, decrypt_slots, decrypt_sum,
    decrypt_sum_chunk,
};
pub use encrypt::{
    ApproxSlotColumn, ApproxSumColumn, ChunkEncryption, Encryptor, MAX_CHUNK_ROWS, SlotColumn, SumColumn,
};
pub use error::{DecryptError, EncryptError};
pub use process::{Hardening, harden_process};
pub use secret::SecretKey;
pub use seed::{KeyId, OwnerSeed, SEAL_OVERHEAD_BYTES, SealError, SealKey, VerifyingKey};
