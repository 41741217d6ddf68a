// SPDX-License-Identifier: Apache-2.0
//! The modulus chains that a table defines, and its evaluation keys: public, and signed for as its parts are.
//!
//! Evaluation keys let a server multiply and rotate ciphertexts over a chain, or bring sums of products over a ring back to two components; they decrypt
//! nothing. Each file `keys/<digest>.key` holds
//! keys of one kind under one secret ([objects over chains](../../../../docs/formats/chain.md)). The manifest says which, so that the
//! size follows before anything is read. What is in the file is compared with that when it is loaded.

use std::collections::HashSet;

use hush_params::chain::MAX_DEFINITION_BYTES;
use hush_params::size::{self, MAX_POWER};
use hush_params::{ChainParams, Definitions, Named, Params};
use serde::{Deserialize, Serialize};

use super::{Manifest, PartFile, hex_in, hex_out};
use crate::digest::SecretId;
use crate::error::{Counted, KeyFault, ManifestFault};

/// Most chains that a table defines.
pub const MAX_CHAINS: usize = 16;
/// Most files of keys.
pub const MAX_KEYS: usize = 256;
/// Largest file of keys in bytes, as of parts; a larger set of Galois keys is cut into several files.
pub const MAX_KEY_BYTES: u64 = super::MAX_PART_BYTES;

/// The numbers of a chain that is no preset, as `hush_params::ChainParams::canonical_bytes` has them. Not yet checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChainDefinition(#[serde(serialize_with = "hex_out", deserialize_with = "hex_in")] Vec<u8>);

/// A file of evaluation keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// For which operations.
    pub kind: KeyKind,
    /// Name of the chain, or of the ring for keys of powers.
    pub params: String,
    /// Unit of errors: the plaintext modulus in BGV, 1 in BFV and CKKS.
    pub unit: u64,
    /// Under which secret. Keys of one secret work together.
    pub secret: SecretId,
    /// Where they are.
    pub file: PartFile,
}

/// What evaluation keys are for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyKind {
    /// Rotations and conjugation.
    Galois {
        /// The Galois elements: odd, from 3 up to twice the ring degree, rising.
        elements: Vec<u32>,
    },
    /// Sums of products of ciphertexts over a ring: the powers of the secret from its square up.
    Powers {
        /// The highest: the largest degree of a sum, 2 to 7.
        highest: u32,
    },
    /// Products: one key, from the square of the secret.
    Relinearisation,
}

impl ChainDefinition {
    /// The definition of a chain.
    pub fn of(chain: &ChainParams) -> Self {
        Self(chain.canonical_bytes())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl KeyKind {
    /// The Galois elements of the keys in their file, rising; 0 is relinearisation. None of powers, of which a ring has one file.
    pub fn elements(&self) -> &[u32] {
        match self {
            Self::Galois { elements } => elements,
            Self::Powers { .. } => &[],
            Self::Relinearisation => &[0],
        }
    }
}

impl std::fmt::Display for KeyKind {
    /// In words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Galois { elements } => write!(f, "{} rotations", elements.len()),
            Self::Powers { highest } => write!(f, "powers up to {highest}"),
            Self::Relinearisation => f.write_str("relinearisation"),
        }
    }
}

impl KeyEntry {
    /// Bytes that the file of such keys has.
    ///
    /// # Errors
    /// [`KeyFault::Params`] if `params` are no chain, or no ring for keys of powers.
    pub fn expected_bytes(kind: &KeyKind, params: &Params) -> Result<u64, KeyFault> {
        if let KeyKind::Powers { highest } = kind {
            let ring = params.ring().map_err(|_| KeyFault::Params)?;
            return Ok(size::power_keys_bytes(ring, *highest));
        }
        let chain = params.chain().map_err(|_| KeyFault::Params)?;
        Ok(size::evaluation_keys_bytes(chain, u32::try_from(kind.elements().len()).unwrap_or(u32::MAX)))
    }

    /// The rules that an entry keeps whatever the others are.
    fn check(&self, definitions: &Definitions) -> Result<(), KeyFault> {
        let params = definitions.resolve(Named::Name(&self.params)).map_err(|_| KeyFault::Params)?;
        let is_of_chain = || params.chain().is_ok_and(|chain| !chain.special().is_empty());
        let is_fitting = match &self.kind {
            KeyKind::Powers { .. } => params.ring().is_ok(),
            KeyKind::Galois { .. } | KeyKind::Relinearisation => is_of_chain(),
        };
        if !params.is_secure() || !is_fitting {
            return Err(KeyFault::Params);
        }
        if self.unit == 0 {
            return Err(KeyFault::Unit);
        }
        if let KeyKind::Powers { highest } = self.kind
            && !(2..=MAX_POWER).contains(&highest)
        {
            return Err(KeyFault::Powers { found: highest, most: MAX_POWER });
        }
        let order = 2 * params.degree() as u64;
        let is_galois = |element: &u32| *element >= 3 && element % 2 == 1 && u64::from(*element) < order;
        if let KeyKind::Galois { elements } = &self.kind {
            let rising = elements.is_sorted_by(|a, b| a < b);
            if elements.is_empty() || !rising || !elements.iter().all(is_galois) {
                return Err(KeyFault::Elements);
            }
        }
        let (found, expected) = (self.file.bytes, Self::expected_bytes(&self.kind, &params)?);
        if found != expected {
            return Err(KeyFault::Bytes { found, expected });
        }
        if found > MAX_KEY_BYTES {
            return Err(KeyFault::TooLarge { found, limit: MAX_KEY_BYTES });
        }
        Ok(())
    }
}

impl Manifest {
    /// The chains that the table defines: with them every name in it can be resolved.
    ///
    /// # Errors
    /// [`ManifestFault::Chain`] for a definition that is malformed, insecure or repeated. A checked manifest has none.
    pub fn definitions(&self) -> Result<Definitions, ManifestFault> {
        let mut definitions = Definitions::default();
        for (index, chain) in self.chains.iter().enumerate() {
            let defined = definitions.define(chain.as_bytes());
            defined.map_err(|cause| ManifestFault::Chain { index, cause: Box::new(cause) })?;
        }
        Ok(definitions)
    }
}

/// Keys and chains are of bounded number, each within its rules; no chain is defined for nothing, no key is there twice.
pub(super) fn check(manifest: &Manifest, definitions: &Definitions) -> Result<(), ManifestFault> {
    let mut files = HashSet::new();
    let mut keys = HashSet::new();
    let mut rings = HashSet::new();
    for (index, entry) in manifest.keys.iter().enumerate() {
        let bad = |fault| ManifestFault::Key { index, fault };
        entry.check(definitions).map_err(bad)?;
        let of = |element: &u32| (entry.params.as_str(), entry.unit, entry.secret, *element);
        let is_only = match entry.kind {
            KeyKind::Powers { .. } => rings.insert((entry.params.as_str(), entry.unit)),
            KeyKind::Galois { .. } | KeyKind::Relinearisation => true,
        };
        let fresh = is_only
            && files.insert(entry.file.digest)
            && entry.kind.elements().iter().all(|e| keys.insert(of(e)));
        if !fresh {
            return Err(bad(KeyFault::Repeated));
        }
    }
    let names = manifest.keys.iter().map(|entry| &entry.params);
    let named: HashSet<&String> =
        names.chain(manifest.encodings.iter().map(|encoding| &encoding.params)).collect();
    for (index, chain) in manifest.chains.iter().enumerate() {
        let defined =
            ChainParams::from_canonical_bytes(chain.as_bytes()).map(|chain| Params::Chain(chain.into()));
        if !defined.is_ok_and(|params| named.contains(&params.name())) {
            return Err(ManifestFault::ChainUnused { index });
        }
    }
    Ok(())
}

/// The numbers and lengths, before any definition is read.
pub(super) fn check_counts(manifest: &Manifest) -> Result<(), ManifestFault> {
    let longest = manifest.chains.iter().map(|chain| chain.0.len()).max().unwrap_or(0);
    for (what, found, limit) in [
        (Counted::Chains, manifest.chains.len(), MAX_CHAINS),
        (Counted::DefinitionBytes, longest, MAX_DEFINITION_BYTES),
        (Counted::Keys, manifest.keys.len(), MAX_KEYS),
    ] {
        if found > limit {
            return Err(ManifestFault::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
