// SPDX-License-Identifier: Apache-2.0
//! Authenticated encryption of columns and of what belongs to a table: what is stored and never computed on.

use std::ops::Deref;

use chacha20::{R20, hchacha};
use hush_ring::{RandomnessError, os_random, wipe, wiping_stack};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::{Zeroize, ZeroizeOnDrop};

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// Authenticated encryption of what is stored and never computed on. XChaCha20-Poly1305 with random nonces.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SealKey(Box<[u8; 32]>);

/// What was sealed, in the clear.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`.
pub struct Opened(Vec<u8>);

impl Deref for Opened {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl ZeroizeOnDrop for Opened {}

/// Why sealed bytes did not open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The bytes were altered, belong to another place, or were sealed under another key.
    #[error("sealed data does not open: it was altered, moved, or sealed under another key")]
    Refused,
    /// Shorter than a nonce and a tag.
    #[error("sealed data has {found} bytes, at least {expected} are needed")]
    TooShort {
        /// Bytes found.
        found: usize,
        /// Smallest possible length.
        expected: usize,
    },
    /// No entropy for a nonce.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

/// Bytes that sealing adds: nonce and tag.
pub const SEAL_OVERHEAD_BYTES: usize = NONCE_BYTES + TAG_BYTES;

impl SealKey {
    pub(crate) fn new(key: Box<[u8; 32]>) -> Self {
        Self(key)
    }

    #[cfg(test)]
    pub(crate) fn expose(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Encrypts `plaintext` and binds it to `place` (column id, chunk index, …), which is not stored.
    ///
    /// # Cost
    /// Some microseconds, and a nanosecond for each two or three bytes.
    ///
    /// # Errors
    /// [`SealError::Randomness`] if the operating system gives no nonce.
    pub fn seal(&self, place: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        os_random(&mut nonce)?;
        let mut out = Vec::with_capacity(NONCE_BYTES + plaintext.len() + TAG_BYTES);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(plaintext);
        let tag = self.with_cipher(&nonce, |cipher, nonce| {
            let text = out.get_mut(NONCE_BYTES..).unwrap_or_default();
            cipher.seal_in_place_separate_tag(nonce, Aad::from(place), text).ok()
        });
        out.extend_from_slice(tag.ok_or(SealError::Refused)?.as_ref());
        Ok(out)
    }

    /// Decrypts what [`SealKey::seal`] made for the same `place`.
    ///
    /// # Errors
    /// [`SealError::TooShort`] or [`SealError::Refused`].
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Result<Opened, SealError> {
        let too_short = SealError::TooShort { found: sealed.len(), expected: SEAL_OVERHEAD_BYTES };
        if sealed.len() < SEAL_OVERHEAD_BYTES {
            return Err(too_short);
        }
        let Some((nonce, rest)) = sealed.split_first_chunk::<NONCE_BYTES>() else {
            return Err(too_short);
        };
        let mut plain = Opened(rest.to_vec());
        let length = self.with_cipher(nonce, |cipher, nonce| {
            cipher.open_in_place(nonce, Aad::from(place), &mut plain.0).ok().map(|text| text.len())
        });
        // Behind the text its tag is left.
        plain.0.truncate(length.ok_or(SealError::Refused)?);
        Ok(plain)
    }

    /// The same key once more.
    pub fn copied(&self) -> Self {
        Self(self.0.clone())
    }

    /// Runs `work` with ChaCha20-Poly1305 under the key and the nonce that XChaCha20 makes of this key and a nonce of 24 bytes.
    ///
    /// *Source.* draft-irtf-cfrg-xchacha-03, section 2.3.
    fn with_cipher<T>(
        &self,
        nonce: &[u8; NONCE_BYTES],
        work: impl FnOnce(&LessSafeKey, Nonce) -> Option<T>,
    ) -> Option<T> {
        let (first, last) = nonce.split_first_chunk::<16>()?;
        let mut of_cipher = [0; NONCE_LEN];
        of_cipher.get_mut(NONCE_LEN - last.len()..)?.copy_from_slice(last);
        // The cipher and its key lie in this frame, and nobody else wipes them.
        wiping_stack(|| {
            let key = hchacha::<R20>(self.0.as_ref().into(), first.into());
            let cipher = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).ok()?);
            work(&cipher, Nonce::assume_unique_for_key(of_cipher))
        })
    }
}

#[cfg(test)]
mod tests {
    use chacha20poly1305::aead::{Aead, KeyInit, Payload};
    use chacha20poly1305::{XChaCha20Poly1305, XNonce};
    use hush_testkit::Draw;

    use super::*;

    fn key(draw: &mut Draw) -> SealKey {
        SealKey::new(Box::new(std::array::from_fn(|_| draw.below(256) as u8)))
    }

    /// Of nothing, nonce and tag are left; one byte less is too short.
    #[test]
    fn nothing_is_sealed_and_opened_like_anything() {
        let key = key(&mut Draw::new());
        let sealed = key.seal(b"place", b"").unwrap();
        assert_eq!(sealed.len(), SEAL_OVERHEAD_BYTES);
        assert!(key.open(b"place", &sealed).unwrap().is_empty());
        assert!(matches!(key.open(b"place", &sealed[1..]), Err(SealError::TooShort { .. })));
    }

    /// Another implementation of the whole cipher opens what is sealed here, and seals what is opened here.
    #[test]
    fn seals_are_those_of_another_implementation() {
        let mut draw = Draw::new();
        for length in [0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 1000, 20_000] {
            let key = key(&mut draw);
            let other = XChaCha20Poly1305::new(key.expose().try_into().unwrap());
            let text: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
            let place: Vec<u8> = (0..draw.below(40)).map(|_| draw.below(256) as u8).collect();
            let sealed = key.seal(&place, &text).unwrap();
            let (nonce, rest) = sealed.split_first_chunk::<NONCE_BYTES>().unwrap();
            let payload = Payload { msg: rest, aad: &place };
            assert_eq!(other.decrypt(&XNonce::from(*nonce), payload).unwrap(), text, "{draw:?}");
            let nonce: [u8; NONCE_BYTES] = std::array::from_fn(|_| draw.below(256) as u8);
            let payload = Payload { msg: &text, aad: &place };
            let sealed = [&nonce[..], &other.encrypt(&XNonce::from(nonce), payload).unwrap()].concat();
            assert_eq!(*key.open(&place, &sealed).unwrap(), *text, "{draw:?}");
        }
    }

    /// A bit less or more anywhere, another place or another key: nothing is opened.
    #[test]
    fn altered_seals_are_refused() {
        let mut draw = Draw::new();
        let (key, other) = (key(&mut draw), key(&mut draw));
        let sealed = key.seal(b"place", b"a text of some length").unwrap();
        assert!(key.open(b"place", &sealed).is_ok());
        for bit in 0..8 * sealed.len() {
            let mut altered = sealed.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(key.open(b"place", &altered), Err(SealError::Refused)), "bit {bit}");
        }
        assert!(matches!(key.open(b"places", &sealed), Err(SealError::Refused)));
        assert!(matches!(other.open(b"place", &sealed), Err(SealError::Refused)));
        assert!(matches!(key.open(b"place", &sealed[..sealed.len() - 1]), Err(SealError::Refused)));
    }
}
