// SPDX-License-Identifier: Apache-2.0
//! The binary container around the body: sizes, signature, digest.
//!
//! ```text
//! magic 8 │ version u32 │ body length u64 │ body │ verifying key 32 │ signature 64
//! └──────────────────── what the signature covers ────────────────┘
//! ```

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::signature::verify;
use super::{CONTAINER_VERSION, MAGIC, MAX_BODY_BYTES, Manifest, key_id};
use crate::digest::Digest;
use crate::error::{ManifestFault, Measured, TableError};

const HEADER_BYTES: u64 = 8 + 4 + 8;
const KEY_BYTES: u64 = 32;
const SIGNATURE_BYTES: u64 = 64;
/// Largest container in bytes; what a reader may fetch before it has seen a header.
pub(crate) const MAX_CONTAINER_BYTES: u64 = HEADER_BYTES + MAX_BODY_BYTES + KEY_BYTES + SIGNATURE_BYTES;

/// A container whose sizes and signature have been checked, but not what it says.
#[derive(Clone)]
pub struct UncheckedManifest<'a> {
    body: &'a [u8],
    key: [u8; 32],
    container: &'a [u8],
    digest: Digest,
}

/// A manifest whose signature and rules have been checked.
///
/// *Invariants*: the signature belongs to the bytes and the key that the container carries (whether that key is
/// the right one is the caller's question, [`SignedManifest::require_key`]); the key id is that key's; [`Manifest::check`]
/// holds; the body is canonical.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedManifest {
    manifest: Manifest,
    key: [u8; 32],
    bytes: Vec<u8>,
    digest: Digest,
}

impl<'a> UncheckedManifest<'a> {
    /// Checks sizes and signature. Copies and parses nothing.
    ///
    /// # Errors
    /// [`TableError::NotAManifest`], [`TableError::UnknownFormat`], [`TableError::TooLarge`],
    /// [`TableError::WrongLength`], [`TableError::BadSignature`] (also for weak keys).
    pub fn decode(container: &'a [u8]) -> Result<Self, TableError> {
        let wrong_length =
            |expected: u64| TableError::WrongLength { found: container.len() as u64, expected };
        let smallest = wrong_length(HEADER_BYTES + KEY_BYTES + SIGNATURE_BYTES);
        let (magic, rest) = container.split_first_chunk::<8>().ok_or(TableError::NotAManifest)?;
        if *magic != MAGIC {
            return Err(TableError::NotAManifest);
        }
        let Some((version, rest)) = rest.split_first_chunk::<4>() else { return Err(smallest) };
        let version = u32::from_le_bytes(*version);
        if version != CONTAINER_VERSION {
            return Err(TableError::UnknownFormat { found: version, expected: CONTAINER_VERSION });
        }
        let Some((length, rest)) = rest.split_first_chunk::<8>() else { return Err(smallest) };
        let length = u64::from_le_bytes(*length);
        if length > MAX_BODY_BYTES {
            return Err(TableError::TooLarge {
                what: Measured::ManifestBody,
                found: length,
                limit: MAX_BODY_BYTES,
            });
        }
        let after = length.saturating_add(KEY_BYTES + SIGNATURE_BYTES);
        if rest.len() as u64 != after {
            return Err(wrong_length(after.saturating_add(HEADER_BYTES)));
        }
        // The two splits cannot fail now; a typed error costs no more than an assertion.
        let Some((signed, signature)) = container.split_last_chunk::<64>() else { return Err(smallest) };
        let Some((_, key)) = signed.split_last_chunk::<32>() else { return Err(smallest) };
        let digest = Digest::of(container);
        if !was_verified(&digest) {
            verify(signed, key, signature)?;
            remember_verified(digest);
        }
        let body = rest.get(..length as usize).ok_or(smallest)?;
        Ok(Self { body, key: *key, container, digest })
    }

    /// The verifying key that the container carries.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// Parses the body and checks its rules.
    ///
    /// # Errors
    /// [`TableError::BadBody`] or [`TableError::BadManifest`].
    pub fn conform(self) -> Result<SignedManifest, TableError> {
        let manifest: Manifest = serde_json::from_slice(self.body).map_err(|source| {
            super::conform::unreadable(self.body).map_or(TableError::BadBody { source }, TableError::from)
        })?;
        manifest.check()?;
        own_key_id(&manifest, &self.key)?;
        super::succession::check(&manifest, &self.key)?;
        if manifest.to_json()? != self.body {
            return Err(ManifestFault::NotCanonical.into());
        }
        Ok(SignedManifest { manifest, key: self.key, digest: self.digest, bytes: self.container.to_vec() })
    }
}

impl SignedManifest {
    /// Decodes a container: sizes, signature, rules.
    ///
    /// # Errors
    /// Those of [`UncheckedManifest::decode`] and [`UncheckedManifest::conform`].
    pub fn decode(container: &[u8]) -> Result<Self, TableError> {
        UncheckedManifest::decode(container)?.conform()
    }

    /// Decodes a container that must be signed by `key`; another signer's body is not even parsed.
    ///
    /// # Errors
    /// [`TableError::ForeignKey`] and those of [`SignedManifest::decode`].
    pub fn decode_signed_by(container: &[u8], key: &[u8; 32]) -> Result<Self, TableError> {
        let unchecked = UncheckedManifest::decode(container)?;
        require(unchecked.key(), key)?;
        unchecked.conform()
    }

    /// Checks a manifest, encodes it and has it signed.
    ///
    /// `sign` gets all bytes before the signature and returns the Ed25519 signature that belongs to `key`.
    ///
    /// # Errors
    /// [`TableError::BadManifest`]; [`TableError::TooLarge`]; [`TableError::BadSignature`] if the closure's
    /// signature does not verify.
    pub fn sign(
        manifest: Manifest,
        key: &[u8; 32],
        sign: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Result<Self, TableError> {
        manifest.check()?;
        own_key_id(&manifest, key)?;
        super::succession::check(&manifest, key)?;
        let body = manifest.to_json()?;
        let length = body.len() as u64;
        if length > MAX_BODY_BYTES {
            return Err(TableError::TooLarge {
                what: Measured::ManifestBody,
                found: length,
                limit: MAX_BODY_BYTES,
            });
        }
        let mut bytes = Vec::with_capacity(body.len().saturating_add(128));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&CONTAINER_VERSION.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(key);
        let signature = sign(&bytes);
        verify(&bytes, key, &signature)?;
        bytes.extend_from_slice(&signature);
        let digest = Digest::of(&bytes);
        remember_verified(digest);
        Ok(Self { manifest, key: *key, digest, bytes })
    }

    /// What the manifest says.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The whole container.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// BLAKE3 of the whole container; plans and answers name the table version by it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The verifying key that the container carries.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// The verifying key whose version `version` of the table was, or will be as long as it is not handed over.
    pub fn key_at(&self, version: u64) -> &[u8; 32] {
        let before = self.manifest.predecessors.iter().find(|before| version < before.until);
        before.map_or(&self.key, |before| before.key.as_bytes())
    }

    /// Accepts only this signer.
    ///
    /// # Errors
    /// [`TableError::ForeignKey`].
    pub fn require_key(&self, key: &[u8; 32]) -> Result<(), TableError> {
        require(&self.key, key)
    }
}

impl std::fmt::Debug for UncheckedManifest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UncheckedManifest").field("body_bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// A manifest names its signer and nobody else.
fn own_key_id(manifest: &Manifest, key: &[u8; 32]) -> Result<(), ManifestFault> {
    if manifest.key_id == key_id(key) { Ok(()) } else { Err(ManifestFault::KeyIdOfSigner) }
}

fn require(found: &[u8; 32], expected: &[u8; 32]) -> Result<(), TableError> {
    if found == expected {
        return Ok(());
    }
    Err(TableError::ForeignKey { found: Digest::of(found), expected: Digest::of(expected) })
}

/// Digests of containers whose signature was found right lately, the last one first. A table's manifest is read again and again, and
/// the check takes longer than all else of a small one; the same bytes have the same signature.
static VERIFIED: Mutex<VecDeque<Digest>> = Mutex::new(VecDeque::new());
const MOST_VERIFIED: usize = 64;

fn was_verified(container: &Digest) -> bool {
    VERIFIED.lock().unwrap_or_else(PoisonError::into_inner).contains(container)
}

fn remember_verified(container: Digest) {
    let mut verified = VERIFIED.lock().unwrap_or_else(PoisonError::into_inner);
    verified.push_front(container);
    verified.truncate(MOST_VERIFIED);
}
