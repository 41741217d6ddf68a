// SPDX-License-Identifier: Apache-2.0
//! The owner's master seed and the keys that are derived from it.
//!
//! One 32-byte seed is all that is stored. Every key below it comes from BLAKE3's key derivation under a
//! context string of its own, so that no two purposes share key material and a lost table key costs nothing:
//! it is derived again.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signer, SigningKey};
use hush_ring::{Chain, RandomnessError, Ring, SecretRng, os_random};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::ChainSecret;
use crate::secret::SecretKey;

/// The name of an owner's key: the first 16 bytes of BLAKE3 of the Ed25519 verifying key. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 16]);

impl KeyId {
    /// The id of the owner whose manifests verify under `key`.
    pub fn of(key: &VerifyingKey) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(&key.0.to_bytes()).as_bytes()[..16]);
        Self(id)
    }

    /// The bytes as they stand in binary headers.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// An id read from a header; it names a key, it proves nothing.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Display for KeyId {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Verifies manifests that an owner signed. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// Reads a key from 32 bytes; `None` if they are no point of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes).ok().map(Self)
    }

    /// The 32 bytes of the key.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Whether `signature` is the owner's on `message` (strict verification: no malleable encodings, no
    /// small-order keys).
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

/// The owner's master seed.
///
/// *Secrecy.* Secret. Wiped on drop; neither `Clone` nor `Debug` nor comparable; leaves the process only
/// through [`crate::keyfile`], encrypted.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct OwnerSeed(Box<[u8; 32]>);

impl OwnerSeed {
    /// A new seed of the operating system's entropy.
    ///
    /// # Errors
    /// [`RandomnessError`] if there is none.
    pub fn generate() -> Result<Self, RandomnessError> {
        let mut seed = Self(Box::new([0; 32]));
        os_random(seed.0.as_mut_slice())?;
        Ok(seed)
    }

    /// The seed in `bytes`, as a key file stores it. The caller wipes its copy.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut seed = Self(Box::new([0; 32]));
        seed.0.copy_from_slice(bytes);
        seed
    }

    pub(crate) fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public name of this owner.
    pub fn key_id(&self) -> KeyId {
        KeyId::of(&self.verifying_key())
    }

    /// The public half of the manifest signature key.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.signing_key().verifying_key())
    }

    /// Signs a manifest with Ed25519 (deterministic, so that signing needs no randomness).
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing_key().sign(message).to_bytes()
    }

    fn signing_key(&self) -> SigningKey {
        let bytes = Zeroizing::new(blake3::derive_key(CONTEXT_SIGN, self.0.as_slice()));
        SigningKey::from_bytes(&bytes)
    }

    /// The key of sealed columns and of the sealed schema of the table `table_id`.
    pub fn seal_key(&self, table_id: [u8; 16]) -> SealKey {
        let mut material = Zeroizing::new([0_u8; 48]);
        material[..32].copy_from_slice(self.0.as_slice());
        material[32..].copy_from_slice(&table_id);
        SealKey(Box::new(blake3::derive_key(CONTEXT_SEAL, material.as_slice())))
    }

    /// The RLWE secret of one column (`sum` and `approx_sum` layouts), uniform ternary.
    ///
    /// `column_id` is the column's random 128-bit id. The same arguments give the same secret; any other
    /// parameter set or id gives an independent one, which is what lets columns share a uniform polynomial.
    pub fn column_secret(&self, ring: &Ring, column_id: [u8; 16]) -> SecretKey {
        self.rlwe_secret(ring, CONTEXT_COLUMN, column_id)
    }

    /// The RLWE secret that all slot columns of the table `table_id` share, so that they can be multiplied.
    pub fn slots_secret(&self, ring: &Ring, table_id: [u8; 16]) -> SecretKey {
        self.rlwe_secret(ring, CONTEXT_SLOTS, table_id)
    }

    /// The RLWE secret of everything that is encrypted over a modulus chain under the id `id`.
    pub fn chain_secret(&self, chain: &Chain, id: [u8; 16]) -> ChainSecret {
        let mut material = Zeroizing::new(self.0.as_slice().to_vec());
        material.extend_from_slice(&id);
        let params = chain.params();
        for prime in params.universe().iter().chain(params.special()) {
            material.extend_from_slice(&prime.to_le_bytes());
        }
        ChainSecret::sample(chain, id, &mut SecretRng::derive(CONTEXT_CHAIN, material.as_slice()))
    }

    fn rlwe_secret(&self, ring: &Ring, context: &'static str, id: [u8; 16]) -> SecretKey {
        let mut material = Zeroizing::new([0_u8; 50]);
        material[..32].copy_from_slice(self.0.as_slice());
        material[32..34].copy_from_slice(&ring.param_code().to_le_bytes());
        material[34..].copy_from_slice(&id);
        SecretKey::sample(ring, id, &mut SecretRng::derive(context, material.as_slice()))
    }
}

/// Authenticated encryption of what is stored and never computed on. XChaCha20-Poly1305 with random nonces.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SealKey(Box<[u8; 32]>);

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
    /// Encrypts `plaintext` and binds it to `place` (column id, chunk index, …), which is not stored.
    ///
    /// # Errors
    /// [`SealError::Randomness`] if the operating system gives no nonce.
    pub fn seal(&self, place: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        os_random(&mut nonce)?;
        let payload = Payload { msg: plaintext, aad: place };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::Refused)?;
        let mut out = Vec::with_capacity(NONCE_BYTES + sealed.len());
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    /// Decrypts what [`SealKey::seal`] made for the same `place`.
    ///
    /// # Errors
    /// [`SealError::TooShort`] or [`SealError::Refused`].
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let too_short = SealError::TooShort { found: sealed.len(), expected: SEAL_OVERHEAD_BYTES };
        if sealed.len() < SEAL_OVERHEAD_BYTES {
            return Err(too_short);
        }
        let Some((nonce, rest)) = sealed.split_first_chunk::<NONCE_BYTES>() else {
            return Err(too_short);
        };
        let payload = Payload { msg: rest, aad: place };
        let plain = self.cipher().decrypt(&XNonce::from(*nonce), payload);
        plain.map(Zeroizing::new).map_err(|_| SealError::Refused)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.0.as_ref().into())
    }
}

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

const CONTEXT_SIGN: &str = "hushtable v1 manifest signature Ed25519";
const CONTEXT_SEAL: &str = "hushtable v1 sealed data XChaCha20-Poly1305";
const CONTEXT_COLUMN: &str = "hushtable v1 RLWE ternary secret of a column";
const CONTEXT_SLOTS: &str = "hushtable v1 RLWE ternary secret of a table's slots";
const CONTEXT_CHAIN: &str = "hushtable v1 RLWE ternary secret of a modulus chain";

#[cfg(test)]
mod tests {
    use hush_params::preset;
    use hush_ring::Cpu;

    use super::*;

    fn fixed() -> OwnerSeed {
        OwnerSeed::from_bytes(&[7; 32])
    }

    /// Secrets are derived again from the seed for as long as a table lives, so the derivation is a format. The
    /// numbers come from another implementation, written from its definition in Python with the packages `blake3`
    /// and `cryptography`: master seed 00 … 1f, id 20 … 2f, set 2.
    #[test]
    fn secrets_never_change() {
        let ring = Ring::new(preset("n12_q2x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
        let owner = OwnerSeed::from_bytes(&std::array::from_fn(|index| index as u8));
        let id = std::array::from_fn(|index| 32 + index as u8);
        let digest = |secret: &SecretKey| {
            let bytes: Vec<u8> = secret.small().iter().map(|&s| s as u8).collect();
            blake3::hash(&bytes).to_hex()[..16].to_owned()
        };
        assert_eq!(digest(&owner.column_secret(&ring, id)), "2430cc118118610d");
        assert_eq!(digest(&owner.slots_secret(&ring, id)), "da503ffa5fc1a1b5");
    }

    #[test]
    fn the_key_id_is_a_function_of_the_seed() {
        assert_eq!(fixed().key_id(), fixed().key_id());
        assert_ne!(fixed().key_id(), OwnerSeed::generate().unwrap().key_id());
        assert_eq!(fixed().key_id().to_string().len(), 32);
    }

    #[test]
    fn signatures_verify_and_altered_messages_do_not() {
        let seed = fixed();
        let key = seed.verifying_key();
        let signature = seed.sign(b"manifest");
        assert!(key.verifies(b"manifest", &signature));
        assert!(!key.verifies(b"manifesu", &signature));
        let mut flipped = signature;
        flipped[3] ^= 1;
        assert!(!key.verifies(b"manifest", &flipped));
        assert!(!OwnerSeed::generate().unwrap().verifying_key().verifies(b"manifest", &signature));
        assert_eq!(VerifyingKey::from_bytes(&key.to_bytes()), Some(key));
    }

    #[test]
    fn sealed_data_opens_in_its_place_only() {
        let key = fixed().seal_key([1; 16]);
        let sealed = key.seal(b"column 3 chunk 9", b"private").unwrap();
        assert_eq!(sealed.len(), 7 + SEAL_OVERHEAD_BYTES);
        assert_eq!(key.open(b"column 3 chunk 9", &sealed).unwrap().as_slice(), b"private");
        assert!(matches!(key.open(b"column 3 chunk 8", &sealed), Err(SealError::Refused)));
        let other = fixed().seal_key([2; 16]);
        assert!(matches!(other.open(b"column 3 chunk 9", &sealed), Err(SealError::Refused)));
        for index in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[index] ^= 0x10;
            assert!(key.open(b"column 3 chunk 9", &flipped).is_err(), "byte {index}");
        }
        for length in 0..SEAL_OVERHEAD_BYTES {
            let result = key.open(b"column 3 chunk 9", &sealed[..length]);
            assert!(matches!(result, Err(SealError::TooShort { .. })), "length {length}");
        }
    }

    #[test]
    fn two_seals_of_one_message_differ() {
        let key = fixed().seal_key([1; 16]);
        assert_ne!(key.seal(b"", b"x").unwrap(), key.seal(b"", b"x").unwrap());
    }
}
