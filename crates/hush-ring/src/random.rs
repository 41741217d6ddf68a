// SPDX-License-Identifier: Apache-2.0
//! The one door for secret randomness.
//!
//! A [`SecretRng`] feeds errors and nothing public. It takes 256 bits from the operating system when it is
//! made and is meant to live for one batch (one chunk of a table): no process-wide generator exists, so that
//! neither `fork` nor a restored virtual machine can make two batches share a stream.
//!
//! The generator is AES-256 in counter mode: with the instructions that processors have for it, drawing errors
//! costs a small part of encryption, and it is constant-time with them or without (the portable code is
//! bit-sliced). A key serves one batch, far below the 2^48 blocks that standards allow.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes256Enc, Block};
use zeroize::Zeroizing;

use crate::wiping_stack;

/// The operating system gave no entropy. Nothing was encrypted.
#[derive(Debug, thiserror::Error)]
#[error("the operating system provides no randomness")]
pub struct RandomnessError {
    #[from]
    source: getrandom::Error,
}

/// Fills `out` with entropy of the operating system.
///
/// # Errors
/// [`RandomnessError`] if it fails; `out` must not be used then.
pub fn os_random(out: &mut [u8]) -> Result<(), RandomnessError> {
    getrandom::fill(out)?;
    Ok(())
}

/// A generator for secret values: errors and secret keys.
///
/// *Definition.* Block `i` of the stream is the AES-256 encryption of `i` as a 128-bit big-endian integer; each
/// call of [`SecretRng::fill`] starts with the next whole block. Secret keys are part of what tables depend on,
/// so this never changes.
/// *Secrecy.* The key schedule is wiped on drop; `Debug` prints no state; not `Clone`, so that a stream cannot
/// be replayed by accident.
pub struct SecretRng {
    cipher: Aes256Enc,
    next_block: u128,
}

impl SecretRng {
    /// A generator with a fresh 256-bit seed of the operating system.
    ///
    /// # Errors
    /// [`RandomnessError`] if the operating system has no entropy to give.
    pub fn from_os() -> Result<Self, RandomnessError> {
        let mut seed = Zeroizing::new([0_u8; 32]);
        os_random(seed.as_mut())?;
        Ok(Self::from_seed(&seed))
    }

    /// The generator that belongs to `key_material` under the label `context`, the same every time.
    ///
    /// For expanding secret keys from an owner's master seed, never for errors: an error stream used twice
    /// reveals the difference of two messages. `context` is a constant of the program that no other purpose
    /// uses (BLAKE3's key derivation separates contexts).
    pub fn derive(context: &'static str, key_material: &[u8]) -> Self {
        wiping_stack(|| {
            let seed = Zeroizing::new(blake3::derive_key(context, key_material));
            Self::from_seed(&seed)
        })
    }

    fn from_seed(seed: &[u8; 32]) -> Self {
        Self { cipher: Aes256Enc::new(seed.into()), next_block: 0 }
    }

    /// The next `out.len()` bytes of the stream, from a block boundary on.
    pub fn fill(&mut self, out: &mut [u8]) {
        let (blocks, tail) = Block::slice_as_chunks_mut(out);
        for block in &mut *blocks {
            *block = self.counter();
        }
        self.cipher.encrypt_blocks(blocks);
        if !tail.is_empty() {
            let mut last = self.counter();
            self.cipher.encrypt_block(&mut last);
            let last = Zeroizing::new(last.0);
            tail.copy_from_slice(&last[..tail.len()]);
        }
    }

    fn counter(&mut self) -> Block {
        let block = Block::from(self.next_block.to_be_bytes());
        self.next_block += 1;
        block
    }
}

impl std::fmt::Debug for SecretRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRng(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_generators_differ_and_derived_ones_repeat() {
        let draw = |mut rng: SecretRng| {
            let mut out = [0_u8; 64];
            rng.fill(&mut out);
            out
        };
        assert_ne!(draw(SecretRng::from_os().unwrap()), draw(SecretRng::from_os().unwrap()));
        let context = "hushtable test 2026 a";
        assert_eq!(draw(SecretRng::derive(context, b"k")), draw(SecretRng::derive(context, b"k")));
        assert_ne!(draw(SecretRng::derive(context, b"k")), draw(SecretRng::derive(context, b"l")));
        let other = "hushtable test 2026 b";
        assert_ne!(draw(SecretRng::derive(context, b"k")), draw(SecretRng::derive(other, b"k")));
    }

    #[test]
    fn streams_continue_at_block_boundaries() {
        let context = "hushtable test 2026 a";
        let mut whole = [0_u8; 64];
        SecretRng::derive(context, b"k").fill(&mut whole);
        let mut rng = SecretRng::derive(context, b"k");
        let mut parts = [0_u8; 64];
        rng.fill(&mut parts[..16]);
        rng.fill(&mut parts[16..48]);
        rng.fill(&mut parts[48..53]);
        assert_eq!(parts[..53], whole[..53]);
        let mut after = [0_u8; 16];
        rng.fill(&mut after);
        assert!(!whole.windows(16).any(|window| window == after), "a cut block is not used again");
    }

    #[test]
    fn debug_shows_no_state() {
        assert_eq!(format!("{:?}", SecretRng::derive("hushtable test 2026 a", b"k")), "SecretRng(..)");
    }
}
