// SPDX-License-Identifier: Apache-2.0
//! Evaluation keys with which a server makes answers to conditions without keys smaller, where a schema asks for them.

use hush_keys::power_keys;
use hush_params::Params;
use hush_plan::{Packing, Schema, filter};
use hush_table::{KeyKind, KeysToStore, Manifest, SecretId};

use crate::columns::ColumnKeys;
use crate::error::ClientError;

/// The keys that a table with this schema has, as an object; `None` where it asks for none, or encrypts nothing for conditions.
///
/// # Errors
/// [`ClientError::Randomness`], [`ClientError::Encrypt`].
pub(crate) fn made(
    keys: &ColumnKeys,
    schema: &Schema,
) -> Result<Option<(KeysToStore, Vec<u8>)>, ClientError> {
    let prime = |packing: &Packing| match packing {
        Packing::Slots(slots) if slots.is_of_filters() => slots.primes.first().copied(),
        _ => None,
    };
    let found = keys.iter().find_map(|key| Some((key, prime(&key.encoding.public.packing)?)));
    let Some((key, unit)) = found.filter(|_| schema.answer_keys) else { return Ok(None) };
    let params = Params::named(&key.encoding.public.params)?;
    let highest = filter::highest_power(params.ring()?);
    let object = power_keys(&key.secret, unit, highest as usize)?.encode()?;
    // A name that says nothing: the secret's own identity is a part of its derivation.
    let mut secret = [0; 16];
    hush_ring::os_random(&mut secret)?;
    let secret = SecretId::from_bytes(secret);
    Ok(Some((KeysToStore { kind: KeyKind::Powers { highest }, params, unit, secret }, object)))
}

/// The rings with such keys, and the highest power of each.
pub(crate) fn present(manifest: &Manifest) -> impl Iterator<Item = (String, u32)> {
    manifest.keys.iter().filter_map(|entry| match entry.kind {
        KeyKind::Powers { highest } => Some((entry.params.clone(), highest)),
        KeyKind::Galois { .. } | KeyKind::Relinearisation => None,
    })
}
