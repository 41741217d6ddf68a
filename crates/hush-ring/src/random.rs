// SPDX-License-Identifier: Apache-2.0
//! The one door for secret randomness.
//!
//! A [`SecretRng`] feeds errors and nothing public. It takes 256 bits from the operating system when it is
//! made and is meant to live for one batch (one chunk of a table): no process-wide generator exists, so that
//! neither `fork` nor a restored virtual machine can make two batches share a stream.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

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

/// A ChaCha20 generator for secret values: errors and secret keys.
///
/// *Secrecy.* The state is wiped on drop; `Debug` prints no state; not `Clone`, so that a stream cannot be
/// replayed by accident.
pub struct SecretRng {
    inner: ChaCha20Rng,
}

impl SecretRng {
    /// A generator with a fresh 256-bit seed of the operating system.
    ///
    /// # Errors
    /// [`RandomnessError`] if the operating system has no entropy to give.
    pub fn from_os() -> Result<Self, RandomnessError> {
        let mut seed = Zeroizing::new([0_u8; 32]);
        os_random(seed.as_mut())?;
        Ok(Self { inner: ChaCha20Rng::from_seed(*seed) })
    }

    /// The generator that belongs to `key_material` under the label `context`, the same every time.
    ///
    /// For expanding secret keys from an owner's master seed, never for errors: an error stream used twice
    /// reveals the difference of two messages. `context` is a constant of the program that no other purpose
    /// uses (BLAKE3's key derivation separates contexts).
    pub fn derive(context: &'static str, key_material: &[u8]) -> Self {
        let seed = Zeroizing::new(blake3::derive_key(context, key_material));
        Self { inner: ChaCha20Rng::from_seed(*seed) }
    }

    /// The next `out.len()` bytes of the stream.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.inner.fill_bytes(out);
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
    fn debug_shows_no_state() {
        assert_eq!(format!("{:?}", SecretRng::derive("hushtable test 2026 a", b"k")), "SecretRng(..)");
    }
}
