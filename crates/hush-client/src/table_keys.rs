// SPDX-License-Identifier: Apache-2.0
//! Evaluation keys of a table, where its schema asks for them: such with which a server makes answers to conditions without keys smaller, and such with which it
//! computes conditions whose constants are encrypted.
//!
//! A file of them is named for the secret that it is of, so that the owner never has anything computed by the keys of another one: after rows have got other
//! secrets, or flags have been dropped and others added, a table may have keys that are of no use any more.

use std::sync::Arc;

use hush_keys::{ChainSecret, power_keys};
use hush_params::{ChainParams, ParamSet, Params};
use hush_plan::filter::{self, MAX_CONSTANTS};
use hush_plan::{Packing, PrivateEncoding, Schema};
use hush_ring::Chain;
use hush_schemes::bgv::expansion_elements;
use hush_table::manifest::{KeyEntry, KeyKind};
use hush_table::{Digest, EncryptionId, KeysToStore, Manifest, SecretId};

use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use crate::private::PrivateHalf;

/// The domain whose rows the keys are for: that of all rows which an encryption brings.
const DOMAIN: u32 = 0;

/// Keys to store, and their object.
pub(crate) type Made = (KeysToStore, Vec<u8>);

/// The keys that a table with this schema has, as objects; none where it asks for none, or encrypts nothing for conditions.
///
/// # Errors
/// [`ClientError::Randomness`], [`ClientError::Encrypt`].
pub(crate) fn made(
    keys: &ColumnKeys,
    schema: &Schema,
    encryption: EncryptionId,
) -> Result<Vec<Made>, ClientError> {
    let mut made = Vec::new();
    let Some((key, unit)) = keys.iter().find_map(|key| Some((key, unit_of(&key.encoding)?))) else {
        return Ok(made);
    };
    let params = Params::named(&key.encoding.public.params)?;
    let ring = params.ring()?;
    let secret = name_of(&key.encoding, encryption);
    if schema.answer_keys {
        let highest = filter::highest_power(ring);
        let object = power_keys(&key.secret, unit, highest as usize)?.encode()?;
        made.push((KeysToStore { kind: KeyKind::Powers { highest }, params, unit, secret }, object));
    }
    if let Some((_, chain)) = filter::chain_of_constants(ring).filter(|_| schema.constant_keys) {
        let of_chain = chain_secret(key, unit, &chain)?;
        let elements = expansion_elements(chain.degree(), MAX_CONSTANTS);
        for elements in [vec![], elements] {
            let keys = of_chain.evaluation_keys(elements.is_empty(), &elements)?;
            let mut elements: Vec<u32> = elements.iter().map(|element| *element as u32).collect();
            elements.sort_unstable();
            let kind = match elements.is_empty() {
                true => KeyKind::Relinearisation,
                false => KeyKind::Galois { elements },
            };
            let object = keys.encode(of_chain.chain())?;
            let params = Params::Chain(chain.clone());
            made.push((KeysToStore { kind, params, unit, secret }, object));
        }
    }
    Ok(made)
}

/// The secret of a column for conditions, over the chain of the keys.
///
/// # Errors
/// [`ClientError::Ring`].
pub(crate) fn chain_secret(
    key: &ColumnKey,
    unit: u64,
    chain: &Arc<ChainParams>,
) -> Result<ChainSecret, ClientError> {
    let chain = Chain::new(chain, unit, key.ring().cpu())?;
    Ok(ChainSecret::of(&key.secret, &chain)?)
}

/// The secrets that a table has keys for smaller answers for, by the identity that a private half has of each, and the highest power of these.
pub(crate) fn of_answers(manifest: &Manifest, half: &PrivateHalf) -> impl Iterator<Item = (String, u32)> {
    let encryption = manifest.encryption_of(DOMAIN);
    half.encodings.iter().filter_map(move |encoding| {
        let mut of_secret = manifest.keys.iter().filter(|entry| is_of(entry, encoding, encryption));
        let highest = of_secret.find_map(|entry| match entry.kind {
            KeyKind::Powers { highest } => Some(highest),
            KeyKind::Galois { .. } | KeyKind::Relinearisation => None,
        });
        Some((encoding.secret_id.clone(), highest?))
    })
}

/// The secrets that a table has keys for encrypted constants for, by the identity that a private half has of each.
pub(crate) fn of_constants(manifest: &Manifest, half: &PrivateHalf) -> impl Iterator<Item = String> {
    let encryption = manifest.encryption_of(DOMAIN);
    half.encodings.iter().filter_map(move |encoding| {
        let of_secret = || manifest.keys.iter().filter(|entry| is_of(entry, encoding, encryption));
        let relinearises = of_secret().any(|entry| entry.kind == KeyKind::Relinearisation);
        let expands = |entry: &KeyEntry| {
            let degree = encoding.public.ring().map_or(0, ParamSet::degree);
            let elements = expansion_elements(degree, MAX_CONSTANTS);
            elements.iter().all(|element| entry.kind.elements().contains(&(*element as u32)))
        };
        (relinearises && of_secret().any(expands)).then(|| encoding.secret_id.clone())
    })
}

/// Leaves out the keys that are of no secret of a table any more.
pub(crate) fn forget_others(manifest: &mut Manifest, half: &PrivateHalf) {
    let encryption = manifest.encryption_of(DOMAIN);
    manifest.keys.retain(|entry| half.encodings.iter().any(|encoding| is_of(entry, encoding, encryption)));
}

/// Whether keys are of the secret of an encoding in the first domain.
fn is_of(entry: &KeyEntry, encoding: &PrivateEncoding, encryption: Option<EncryptionId>) -> bool {
    let name = encryption.map(|encryption| name_of(encoding, encryption));
    let is_alike = match entry.kind {
        KeyKind::Powers { .. } => entry.params == encoding.public.params,
        KeyKind::Galois { .. } | KeyKind::Relinearisation => {
            let ring = encoding.public.ring().ok();
            let chain = ring.and_then(filter::chain_of_constants);
            chain.is_some_and(|(name, _)| entry.params == name)
        }
    };
    is_alike && Some(entry.unit) == unit_of(encoding) && Some(entry.secret) == name
}

/// The plaintext modulus of what is encrypted for conditions; `None` for other columns.
pub(crate) fn unit_of(encoding: &PrivateEncoding) -> Option<u64> {
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
