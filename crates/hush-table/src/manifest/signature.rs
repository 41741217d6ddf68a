// SPDX-License-Identifier: Apache-2.0
//! Signatures of manifests and of what stands in them.

use ed25519_dalek::{Signature, VerifyingKey};

use crate::error::TableError;

/// Strict verification: one message and key have one valid signature encoding, and small-order keys are refused,
/// so that a digest of the container identifies what was signed.
pub(crate) fn verify(signed: &[u8], key: &[u8; 32], signature: &[u8; 64]) -> Result<(), TableError> {
    let key = VerifyingKey::from_bytes(key).map_err(|_| TableError::BadSignature)?;
    key.verify_strict(signed, &Signature::from_bytes(signature)).map_err(|_| TableError::BadSignature)
}
