// SPDX-License-Identifier: Apache-2.0
//! Domains: the parts of a table that are under one set of secrets.
//!
//! A table begins with domain 0. A rotation begins the next one: rows that come from then on are encrypted under it, and parts of earlier
//! domains stay as they are until they are written anew. Sums over different domains are under different secrets, so an answer
//! has a mask for each domain.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::{Manifest, PartEntry};
use crate::digest::EncryptionId;
use crate::error::{Counted, ManifestFault};

/// Most domains of a table beside the present one.
pub const MAX_EARLIER_DOMAINS: usize = 63;

/// A domain before the present one that still has parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Its number: domains are counted from 0 through the life of an encryption.
    pub number: u32,
    /// Names its secrets, as [`Manifest::encryption`] names those of the present domain.
    pub encryption: EncryptionId,
}

impl Manifest {
    /// The numbers of the domains with parts, and that of the present one, rising.
    pub fn domains(&self) -> Vec<u32> {
        self.earlier.iter().map(|domain| domain.number).chain([self.domain]).collect()
    }

    /// Names the secrets of a domain; `None` if the table has no such domain.
    pub fn encryption_of(&self, domain: u32) -> Option<EncryptionId> {
        if domain == self.domain {
            return Some(self.encryption);
        }
        self.earlier.iter().find(|earlier| earlier.number == domain).map(|earlier| earlier.encryption)
    }

    /// Rows of a domain that count.
    pub fn living_rows_of(&self, domain: u32) -> u64 {
        let of_domain = self.parts.iter().filter(|part| part.domain == domain);
        of_domain.map(PartEntry::living_rows).fold(0, u64::saturating_add)
    }

    /// Makes a new domain the present one. Parts stay where they are.
    pub fn begin_domain(&mut self, encryption: EncryptionId) {
        self.earlier.push(Domain { number: self.domain, encryption: self.encryption });
        self.domain = self.domain.saturating_add(1);
        self.encryption = encryption;
        self.forget_unused();
    }

    /// Leaves out earlier domains and generations whose parts have all gone or been written anew, and the evaluation keys of the first; without any domain,
    /// a rotation is complete.
    pub fn forget_unused(&mut self) {
        self.forget_empty_generations();
        let used: BTreeSet<u32> = self.parts.iter().map(|part| part.domain).collect();
        self.earlier.retain(|domain| used.contains(&domain.number));
        // They are of the first domain's secret.
        if !self.domains().contains(&0) {
            self.keys.clear();
        }
        self.rotating = self.rotating && !self.earlier.is_empty();
    }
}

/// Domains are few enough, in order, different, and those of the parts.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let earlier = &manifest.earlier;
    if earlier.len() > MAX_EARLIER_DOMAINS {
        let (found, limit) = (earlier.len() as u64, MAX_EARLIER_DOMAINS as u64);
        return Err(ManifestFault::TooMany { what: Counted::Domains, found, limit });
    }
    if manifest.rotating && earlier.is_empty() {
        return Err(ManifestFault::Rotating);
    }
    let mut names = HashSet::from([manifest.encryption]);
    let used: BTreeSet<u32> = manifest.parts.iter().map(|part| part.domain).collect();
    let mut next = 0;
    let wrong = earlier.iter().position(|domain| {
        let is_in_order = next <= domain.number && domain.number < manifest.domain;
        next = domain.number.saturating_add(1);
        !is_in_order || !used.contains(&domain.number) || !names.insert(domain.encryption)
    });
    if let Some(index) = wrong {
        return Err(ManifestFault::Domain { index });
    }
    let is_unknown = |part: &PartEntry| manifest.encryption_of(part.domain).is_none();
    manifest
        .parts
        .iter()
        .position(is_unknown)
        .map_or(Ok(()), |index| Err(ManifestFault::PartDomain { index }))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::digest::{Digest, SecretId};
    use crate::fixture::manifest;
    use crate::manifest::{KeyEntry, KeyKind, PartFile};

    fn named(byte: u8) -> EncryptionId {
        EncryptionId::from_bytes([byte; 16])
    }

    /// Keys go with the last part of the first domain.
    #[test]
    fn keys_of_the_first_domain_go_with_it() {
        let mut manifest = manifest();
        let entry = |kind, byte: u8| KeyEntry {
            kind,
            params: "n13_q3x46_sec128_v1".to_owned(),
            unit: 65_537,
            secret: SecretId::from_bytes([byte; 16]),
            file: PartFile { digest: Digest::of(&[byte]), bytes: 1 },
        };
        manifest.keys = vec![entry(KeyKind::Powers { highest: 4 }, 1), entry(KeyKind::Relinearisation, 2)];
        manifest.begin_domain(named(1));
        assert_eq!(manifest.keys.len(), 2);
        manifest.parts.iter_mut().for_each(|part| part.domain = 1);
        manifest.forget_unused();
        assert_eq!(manifest.keys, []);
    }

    #[test]
    fn a_domain_lives_as_long_as_its_parts() {
        let mut manifest = manifest();
        let (first, parts) = (manifest.encryption, manifest.parts.len());
        assert_eq!((manifest.domains(), manifest.encryption_of(0)), (vec![0], Some(first)));
        manifest.begin_domain(named(1));
        manifest.begin_domain(named(2));
        // Nothing was written in domain 1.
        assert_eq!(manifest.domains(), [0, 2]);
        assert_eq!(
            [0, 1, 2].map(|number| manifest.encryption_of(number)),
            [Some(first), None, Some(named(2))]
        );
        manifest.check().unwrap();
        manifest.parts.iter_mut().for_each(|part| part.domain = 2);
        manifest.forget_unused();
        assert_eq!((manifest.domains(), manifest.parts.len()), (vec![2], parts));
        manifest.check().unwrap();
    }

    #[test]
    fn what_names_no_domain_is_refused() {
        let mut rotated = manifest();
        rotated.begin_domain(named(1));
        type Spoil = fn(&mut Manifest);
        let cases: [(Spoil, ManifestFault); 7] = [
            (
                |m| {
                    m.earlier.clear();
                    m.rotating = true;
                },
                ManifestFault::Rotating,
            ),
            (|m| m.earlier[0].number = 1, ManifestFault::Domain { index: 0 }),
            (|m| m.earlier[0].encryption = m.encryption, ManifestFault::Domain { index: 0 }),
            (|m| m.earlier.push(m.earlier[0]), ManifestFault::Domain { index: 1 }),
            (|m| m.earlier.clear(), ManifestFault::PartDomain { index: 0 }),
            (|m| m.parts[0].domain = 2, ManifestFault::PartDomain { index: 0 }),
            (
                |m| m.earlier = vec![m.earlier[0]; 64],
                ManifestFault::TooMany { what: Counted::Domains, found: 64, limit: 63 },
            ),
        ];
        for (at, (spoil, expected)) in cases.into_iter().enumerate() {
            let mut manifest = rotated.clone();
            spoil(&mut manifest);
            assert_eq!(super::check(&manifest).unwrap_err(), expected, "{at}");
        }
    }
}
