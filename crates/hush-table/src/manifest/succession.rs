// SPDX-License-Identifier: Apache-2.0
//! Owner's keys that a table had before its present one: each has signed which key takes its place.
//!
//! ```text
//! "HUSHNEXT" 8 │ table id 16 │ version u64 │ verifying key of the next owner's key 32
//! ```
//!
//! The version is the first one of the next key. So a signature hands the table over once: a key that got the table, and gave it on or back,
//! cannot take it again with the old signature.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};

use super::signature::verify;
use super::{Manifest, key_id};
use crate::digest::{Digest, TableId, from_hex, to_hex};
use crate::error::{Counted, ManifestFault};

/// Most keys before the present one.
pub const MAX_PREDECESSORS: usize = 256;

/// First bytes of what a key signs about the next one.
const DOMAIN: [u8; 8] = *b"HUSHNEXT";

/// A key that was the table's owner's, until it signed the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predecessor {
    /// Its verifying key.
    pub key: Digest,
    /// The first version that was not its own any more.
    pub until: u64,
    /// Its Ed25519 signature.
    #[serde(with = "signature")]
    pub signature: [u8; 64],
}

/// The message by which a key names the key whose version `until` of a table will be, and those behind it.
pub fn succession_bytes(table_id: TableId, until: u64, next: &[u8; 32]) -> Vec<u8> {
    [DOMAIN.as_slice(), table_id.as_bytes(), &until.to_le_bytes(), next].concat()
}

impl Manifest {
    /// Whether the key with this id was the table's owner's before, and is not now.
    pub fn had_key(&self, id: &str) -> bool {
        self.key_id != id && self.predecessors.iter().any(|before| key_id(before.key.as_bytes()) == id)
    }
}

/// Every predecessor has signed the one behind it, and the last one the manifest's signer; each for a later version, up to this one.
pub(super) fn check(manifest: &Manifest, signer: &[u8; 32]) -> Result<(), ManifestFault> {
    let before = &manifest.predecessors;
    if before.len() > MAX_PREDECESSORS {
        let (found, limit) = (before.len() as u64, MAX_PREDECESSORS as u64);
        return Err(ManifestFault::TooMany { what: Counted::Predecessors, found, limit });
    }
    let next = before.iter().skip(1).map(|next| next.key.as_bytes()).chain([signer]);
    let mut known = 1;
    let is_wrong = |(predecessor, next): (&Predecessor, &[u8; 32])| {
        let message = succession_bytes(manifest.table_id, predecessor.until, next);
        let is_in_order = known < predecessor.until && predecessor.until <= manifest.version;
        known = predecessor.until;
        !is_in_order
            || predecessor.key.as_bytes() == next
            || verify(&message, predecessor.key.as_bytes(), &predecessor.signature).is_err()
    };
    let wrong = before.iter().zip(next).position(is_wrong);
    wrong.map_or(Ok(()), |index| Err(ManifestFault::Predecessor { index }))
}

mod signature {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::{from_hex, to_hex};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8; 64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 64], D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bytes = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| D::Error::custom("expected 128 lowercase hexadecimal digits"))
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::super::SignedManifest;
    use super::*;
    use crate::fixture::manifest;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32])
    }

    fn signed_over(table_id: TableId, until: u64, from: &SigningKey, to: &SigningKey) -> Predecessor {
        let message = succession_bytes(table_id, until, to.verifying_key().as_bytes());
        let key = Digest::from_bytes(from.verifying_key().to_bytes());
        Predecessor { key, until, signature: from.sign(&message).to_bytes() }
    }

    fn signed(predecessors: Vec<Predecessor>, by: &SigningKey) -> Result<SignedManifest, crate::TableError> {
        let verifying = by.verifying_key().to_bytes();
        let manifest = Manifest { predecessors, key_id: key_id(&verifying), version: 9, ..manifest() };
        SignedManifest::sign(manifest, &verifying, |bytes| by.sign(bytes).to_bytes())
    }

    fn bytes(key: &SigningKey) -> [u8; 32] {
        key.verifying_key().to_bytes()
    }

    #[test]
    fn a_table_passes_from_key_to_key_and_back() {
        let (id, keys) = (manifest().table_id, [key(1), key(2), key(3)]);
        let [first, second, third] = &keys;
        let chain = vec![
            signed_over(id, 3, first, second),
            signed_over(id, 5, second, third),
            signed_over(id, 9, third, second),
        ];
        let version = SignedManifest::decode(signed(chain, second).unwrap().as_bytes()).unwrap();
        let owners = [
            (1, first),
            (2, first),
            (3, second),
            (4, second),
            (5, third),
            (8, third),
            (9, second),
            (70, second),
        ];
        for (number, owner) in owners {
            assert_eq!(version.key_at(number), &bytes(owner), "{number}");
        }
        let had = |key: &SigningKey| version.manifest().had_key(&key_id(&bytes(key)));
        assert_eq!([had(first), had(second), had(third), had(&key(4))], [true, false, true, false]);
    }

    /// A thief of a table cannot name somebody's key as the one before: who takes the table over needs that key's signature, on this
    /// table, this successor and this version.
    #[test]
    fn nobody_takes_a_table_over_without_its_owners_signature() {
        let (id, victim, thief) = (manifest().table_id, key(1), key(2));
        let other_table = TableId::from_bytes([9; 16]);
        let forged = Predecessor { signature: [7; 64], ..signed_over(id, 3, &victim, &thief) };
        let by_thief = Predecessor { signature: signed_over(id, 3, &thief, &thief).signature, ..forged };
        let later = Predecessor { until: 4, ..signed_over(id, 3, &victim, &thief) };
        for chain in [
            vec![signed_over(id, 3, &victim, &key(3))],
            vec![signed_over(other_table, 3, &victim, &thief)],
            vec![forged],
            vec![by_thief],
            vec![later],
            vec![signed_over(id, 1, &victim, &thief)],
            vec![signed_over(id, 10, &victim, &thief)],
            vec![signed_over(id, 3, &thief, &thief)],
            vec![signed_over(id, 3, &victim, &thief), signed_over(id, 3, &victim, &thief)],
            vec![signed_over(id, 5, &victim, &key(3)), signed_over(id, 4, &key(3), &thief)],
        ] {
            let refused = signed(chain, &thief).unwrap_err();
            assert!(refused.to_string().contains("key before"), "{refused}");
        }
    }

    /// A key that had the table and gave it back has the old signature still, and no version behind the one in which it gave it back.
    #[test]
    fn a_signature_hands_a_table_over_once() {
        let (id, owner, borrower) = (manifest().table_id, key(1), key(2));
        let lent = signed_over(id, 3, &owner, &borrower);
        let back = signed(vec![lent, signed_over(id, 5, &borrower, &owner)], &owner).unwrap();
        let again = signed(vec![lent], &borrower).unwrap();
        // Behind version 5 or a later one of the owner's, a version of the borrower's is another owner's.
        for present in [5, 8] {
            assert_eq!(back.key_at(present), &bytes(&owner));
            assert_ne!(again.key_at(present), back.key_at(present));
        }
    }
}
