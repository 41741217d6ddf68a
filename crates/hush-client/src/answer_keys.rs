// SPDX-License-Identifier: Apache-2.0
//! Evaluation keys with which a server makes answers to conditions without keys smaller, where a schema asks for them.
//!
//! A file of them is named for the secret that it is of, so that the owner never has sums brought back by the keys of another one: after rows have got other
//! secrets, or flags have been dropped and others added, a table may have keys that are of no use any more.

use hush_keys::power_keys;
use hush_params::Params;
use hush_plan::{Packing, PrivateEncoding, Schema, filter};
use hush_table::manifest::{KeyEntry, KeyKind};
use hush_table::{Digest, EncryptionId, KeysToStore, Manifest, SecretId};

use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::private::PrivateHalf;

/// The domain whose rows the keys are for: that of all rows which an encryption brings.
const DOMAIN: u32 = 0;

/// The keys that a table with this schema has, as an object; `None` where it asks for none, or encrypts nothing for conditions.
///
/// # Errors
/// [`ClientError::Randomness`], [`ClientError::Encrypt`].
pub(crate) fn made(
    keys: &ColumnKeys,
    schema: &Schema,
    encryption: EncryptionId,
) -> Result<Option<(KeysToStore, Vec<u8>)>, ClientError> {
    let found = keys.iter().find_map(|key| Some((key, unit_of(&key.encoding)?)));
    let Some((key, unit)) = found.filter(|_| schema.answer_keys) else { return Ok(None) };
    let params = Params::named(&key.encoding.public.params)?;
    let highest = filter::highest_power(params.ring()?);
    let object = power_keys(&key.secret, unit, highest as usize)?.encode()?;
    let (kind, secret) = (KeyKind::Powers { highest }, name_of(&key.encoding, encryption));
    Ok(Some((KeysToStore { kind, params, unit, secret }, object)))
}

/// The secrets that a table has such keys for, by the identity that a private half has of each, and the highest power of these.
pub(crate) fn present(manifest: &Manifest, half: &PrivateHalf) -> impl Iterator<Item = (String, u32)> {
    let encryption = manifest.encryption_of(DOMAIN);
    half.encodings.iter().filter_map(move |encoding| {
        let is_meant = |entry: &&KeyEntry| is_of(entry, encoding, encryption);
        match manifest.keys.iter().find(is_meant)?.kind {
            KeyKind::Powers { highest } => Some((encoding.secret_id.clone(), highest)),
            KeyKind::Galois { .. } | KeyKind::Relinearisation => None,
        }
    })
}

/// Leaves out the keys that are of no secret of a table any more.
pub(crate) fn forget_others(manifest: &mut Manifest, half: &PrivateHalf) {
    let encryption = manifest.encryption_of(DOMAIN);
    manifest.keys.retain(|entry| {
        !matches!(entry.kind, KeyKind::Powers { .. })
            || half.encodings.iter().any(|encoding| is_of(entry, encoding, encryption))
    });
}

/// Whether keys are of the secret of an encoding in the first domain.
fn is_of(entry: &KeyEntry, encoding: &PrivateEncoding, encryption: Option<EncryptionId>) -> bool {
    let name = encryption.map(|encryption| name_of(encoding, encryption));
    let is_alike = entry.params == encoding.public.params && Some(entry.unit) == unit_of(encoding);
    is_alike && Some(entry.secret) == name && matches!(entry.kind, KeyKind::Powers { .. })
}

/// The plaintext modulus of what is encrypted for conditions; `None` for other columns.
fn unit_of(encoding: &PrivateEncoding) -> Option<u64> {
    match &encoding.public.packing {
        Packing::Slots(slots) if slots.is_of_filters() => slots.primes.first().copied(),
        _ => None,
    }
}

/// The name under which the keys of a secret are stored. It says nothing of the secret: that is derived from the owner's key, and this from the random
/// identity that it is told from others by.
fn name_of(encoding: &PrivateEncoding, encryption: EncryptionId) -> SecretId {
    let text = format!("hushtable secret with answer keys\n{encryption}\n{}", encoding.secret_id);
    let mut name = [0; 16];
    name.copy_from_slice(&Digest::of(text.as_bytes()).as_bytes()[..16]);
    SecretId::from_bytes(name)
}
