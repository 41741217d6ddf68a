// SPDX-License-Identifier: Apache-2.0
//! Authenticated encryption of columns and of what belongs to a table: what is stored and never computed on.

use std::ops::Deref;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes256Enc, Block};
use chacha20::{R20, hchacha};
use hush_ring::{RandomnessError, os_random, wipe, wiping_stack};
use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// How a seal is made. Either takes a nonce of 24 bytes, which may be drawn at random for any number of seals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// Of small things, and of the columns of tables that version 0.1 encrypted. About 1 to 2.5 GB/s.
    XChaCha20Poly1305,
    /// Of columns: two to three times as fast where the processor has vector AES, and slower where it has no AES at all.
    Xaes256Gcm,
}

/// Authenticated encryption of what is stored and never computed on, with random nonces.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SealKey {
    key: Box<[u8; 32]>,
    #[zeroize(skip)]
    cipher: Cipher,
}

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
    /// A key serves one cipher: what it is derived from says which.
    pub(crate) fn new(key: Box<[u8; 32]>, cipher: Cipher) -> Self {
        Self { key, cipher }
    }

    #[cfg(test)]
    pub(crate) fn expose(&self) -> &[u8] {
        self.key.as_slice()
    }

    /// Encrypts `plaintext` and binds it to `place` (column id, chunk index, …), which is not stored.
    ///
    /// # Cost
    /// Some microseconds, and a nanosecond for each byte or two with XChaCha20-Poly1305, for each four to eight with XAES-256-GCM; the stack is wiped each time.
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
        Self { key: self.key.clone(), cipher: self.cipher }
    }

    /// Runs `work` with the cipher of short nonces under the key and the nonce that are made of this key and a nonce of 24 bytes.
    ///
    /// *Source.* draft-irtf-cfrg-xchacha-03, section 2.3: the key from the first 16 bytes, the nonce zeros and the last 8. C2SP, XAES-256-GCM: the
    /// key from the first 12 bytes, the nonce the last 12.
    fn with_cipher<T>(
        &self,
        nonce: &[u8; NONCE_BYTES],
        work: impl FnOnce(&LessSafeKey, Nonce) -> Option<T>,
    ) -> Option<T> {
        let mut of_cipher = [0; NONCE_LEN];
        // The cipher and its key lie in this frame, and nobody else wipes them.
        wiping_stack(|| {
            let (algorithm, key): (&'static Algorithm, [u8; 32]) = match self.cipher {
                Cipher::XChaCha20Poly1305 => {
                    let (first, last) = nonce.split_first_chunk::<16>()?;
                    of_cipher.get_mut(NONCE_LEN - last.len()..)?.copy_from_slice(last);
                    (&CHACHA20_POLY1305, hchacha::<R20>(self.key.as_ref().into(), first.into()).into())
                }
                Cipher::Xaes256Gcm => {
                    let (first, last) = nonce.split_first_chunk::<12>()?;
                    of_cipher.copy_from_slice(last);
                    (&AES_256_GCM, xaes_key(&self.key, first))
                }
            };
            let key = Zeroizing::new(key);
            let cipher = LessSafeKey::new(UnboundKey::new(algorithm, key.as_slice()).ok()?);
            work(&cipher, Nonce::assume_unique_for_key(of_cipher))
        })
    }
}

/// The key of AES-256-GCM that XAES-256-GCM makes of a key and the first half of a nonce: two blocks of AES-CMAC in counter mode.
///
/// *Source.* C2SP, XAES-256-GCM (NIST SP 800-108r1, with the label `X`).
fn xaes_key(key: &[u8; 32], first: &[u8; 12]) -> [u8; 32] {
    let aes = Aes256Enc::new(key.into());
    let mut subkey = Block::default();
    aes.encrypt_block(&mut subkey);
    // Doubled in the field of 2^128 elements.
    let value = u128::from_be_bytes(subkey.into());
    let subkey = (value << 1) ^ (0b1000_0111 & (value >> 127).wrapping_neg());
    let mut made = [0; 32];
    for (half, counter) in made.chunks_exact_mut(16).zip(1_u8..) {
        let mut message = [0; 16];
        message[..4].copy_from_slice(&[0, counter, b'X', 0]);
        message[4..].copy_from_slice(first);
        let mut block = Block::from((u128::from_be_bytes(message) ^ subkey).to_be_bytes());
        aes.encrypt_block(&mut block);
        half.copy_from_slice(&block);
    }
    made
}

#[cfg(test)]
mod tests {
    use aes_gcm::KeyInit as _;
    use chacha20poly1305::aead::{Aead, KeyInit as _, Payload};
    use chacha20poly1305::{XChaCha20Poly1305, XNonce};
    use cmac::{Cmac, Mac as _};
    use hush_testkit::Draw;

    use super::*;

    const CIPHERS: [Cipher; 2] = [Cipher::XChaCha20Poly1305, Cipher::Xaes256Gcm];

    fn key(draw: &mut Draw, cipher: Cipher) -> SealKey {
        SealKey::new(Box::new(std::array::from_fn(|_| draw.below(256) as u8)), cipher)
    }

    /// Of nothing, nonce and tag are left; one byte less is too short.
    #[test]
    fn nothing_is_sealed_and_opened_like_anything() {
        for cipher in CIPHERS {
            let key = key(&mut Draw::new(), cipher);
            let sealed = key.seal(b"place", b"").unwrap();
            assert_eq!(sealed.len(), SEAL_OVERHEAD_BYTES);
            assert!(key.open(b"place", &sealed).unwrap().is_empty());
            assert!(matches!(key.open(b"place", &sealed[1..]), Err(SealError::TooShort { .. })));
        }
    }

    /// The two vectors of the specification: the first bit of the first block that is encrypted is 0 in one and 1 in the other.
    #[test]
    fn seals_of_aes_are_those_of_the_specification() {
        let nonce = *b"ABCDEFGHIJKLMNOPQRSTUVWX";
        let vectors: [(u8, &[u8], &str); 2] = [
            (1, b"", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (3, b"c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ];
        for (byte, place, expected) in vectors {
            let key = SealKey::new(Box::new([byte; 32]), Cipher::Xaes256Gcm);
            let expected =
                (0..expected.len()).step_by(2).map(|at| u8::from_str_radix(&expected[at..at + 2], 16));
            let expected: Vec<u8> = expected.map(Result::unwrap).collect();
            let sealed = [&nonce[..], &expected].concat();
            assert_eq!(*key.open(place, &sealed).unwrap(), *b"XAES-256-GCM");
        }
    }

    /// The cipher by other implementations: text, place and nonce to what is stored behind the nonce.
    fn by_others(key: &SealKey, nonce: &[u8; NONCE_BYTES], place: &[u8], text: &[u8]) -> Vec<u8> {
        let payload = Payload { msg: text, aad: place };
        match key.cipher {
            Cipher::XChaCha20Poly1305 => {
                let other = XChaCha20Poly1305::new(key.expose().try_into().unwrap());
                other.encrypt(&XNonce::from(*nonce), payload).unwrap()
            }
            Cipher::Xaes256Gcm => {
                let block = |counter: u8| {
                    let mut mac = Cmac::<aes::Aes256>::new(key.expose().try_into().unwrap());
                    mac.update(&[&[0, counter, b'X', 0][..], &nonce[..12]].concat());
                    mac.finalize().into_bytes().to_vec()
                };
                let derived = [block(1), block(2)].concat();
                let other = aes_gcm::Aes256Gcm::new(derived[..].into());
                let payload = aes_gcm::aead::Payload { msg: text, aad: place };
                aes_gcm::aead::Aead::encrypt(&other, nonce[12..].into(), payload).unwrap()
            }
        }
    }

    /// Other implementations of the whole cipher make of the same nonce what is sealed here, and what they make is opened here.
    #[test]
    fn seals_are_those_of_other_implementations() {
        let mut draw = Draw::new();
        for cipher in CIPHERS {
            for length in [0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 1000, 20_000] {
                let key = key(&mut draw, cipher);
                let text: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
                let place: Vec<u8> = (0..draw.below(40)).map(|_| draw.below(256) as u8).collect();
                let sealed = key.seal(&place, &text).unwrap();
                let (nonce, rest) = sealed.split_first_chunk::<NONCE_BYTES>().unwrap();
                assert_eq!(by_others(&key, nonce, &place, &text), rest, "{draw:?}");
                let nonce: [u8; NONCE_BYTES] = std::array::from_fn(|_| draw.below(256) as u8);
                let sealed = [&nonce[..], &by_others(&key, &nonce, &place, &text)].concat();
                assert_eq!(*key.open(&place, &sealed).unwrap(), *text, "{draw:?}");
            }
        }
    }

    /// A bit less or more anywhere, another place or another key: nothing is opened.
    #[test]
    fn altered_seals_are_refused() {
        let mut draw = Draw::new();
        for cipher in CIPHERS {
            let (key, other) = (key(&mut draw, cipher), key(&mut draw, cipher));
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
}
