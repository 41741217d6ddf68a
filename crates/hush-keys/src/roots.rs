// SPDX-License-Identifier: Apache-2.0
//! The roots from which a table's secrets are derived, once they are no longer the owner's seed.
//!
//! Rows under one set of secrets are a *domain*. A domain begins with a root of its own, 32 random bytes. Whoever has an owner's seed and a
//! table's public identifiers, and not the root, derives nothing of it. So another owner's key can be given a table without the
//! seed of the first one, and without encrypting anything again: the roots are sealed under the new key.

use std::collections::BTreeMap;

use hush_ring::{RandomnessError, os_random};
use zeroize::Zeroizing;

use crate::batch::BatchKey;
use crate::kept::{Root, RootName};
use crate::seed::{OwnerSeed, TableKeys};

/// The roots of a table's domains, by their numbers, and the key of its batches. A table without any derives everything from its owner's seed.
///
/// *Secrecy.* Secret. Wiped on drop, no `Debug` of its contents; leaves the process only inside what the owner seals.
#[derive(Default)]
pub struct TableRoots {
    domains: BTreeMap<u32, Root>,
    /// Of domains whose roots are in the owner's key file alone: they are not sealed.
    kept: BTreeMap<u32, Root>,
    batches: Option<BatchKey>,
}

impl TableRoots {
    /// These roots, and a new random one of domain `number`.
    ///
    /// # Errors
    /// [`RandomnessError`] if the operating system gives no entropy.
    pub fn with_domain(&self, number: u32) -> Result<Self, RandomnessError> {
        let mut root = Root(Box::new([0; 32]));
        os_random(root.0.as_mut_slice())?;
        let mut roots = self.copied();
        roots.domains.insert(number, root);
        Ok(roots)
    }

    /// These roots, and those that `owner`'s key file has of a table's domains, each a number with its encryption.
    #[must_use]
    pub fn with_kept(
        &self,
        owner: &OwnerSeed,
        table_id: [u8; 16],
        domains: impl IntoIterator<Item = (u32, [u8; 16])>,
    ) -> Self {
        let mut roots = self.copied();
        for (number, encryption) in domains {
            if let Some(root) = owner.kept.get(&RootName { table_id, encryption }) {
                roots.kept.insert(number, root);
            }
        }
        roots
    }

    /// These roots without those of domains that `is_wanted` refuses.
    #[must_use]
    pub fn retained(&self, is_wanted: impl Fn(u32) -> bool) -> Self {
        let mut roots = self.copied();
        roots.domains.retain(|number, _| is_wanted(*number));
        roots.kept.retain(|number, _| is_wanted(*number));
        roots
    }

    /// These roots, with the batch key that `owner` has derived for a table, so that another owner knows the same batches.
    #[must_use]
    pub fn with_batches_of(&self, owner: &OwnerSeed, table_id: [u8; 16]) -> Self {
        let mut roots = self.copied();
        roots.batches = Some(self.batch_key(owner, table_id));
        roots
    }

    /// Whether domain `number` has a root of its own.
    pub fn has(&self, number: u32) -> bool {
        self.domains.contains_key(&number) || self.is_kept(number)
    }

    /// Whether the root of domain `number` is in the owner's key file alone.
    pub fn is_kept(&self, number: u32) -> bool {
        self.kept.contains_key(&number)
    }

    /// The keys of a domain, which is an encryption of a table: of its root, or of the owner's seed if it has none.
    pub fn of_table<'a>(
        &'a self,
        owner: &'a OwnerSeed,
        number: u32,
        table_id: [u8; 16],
        encryption: [u8; 16],
    ) -> TableKeys<'a> {
        match self.domains.get(&number).or_else(|| self.kept.get(&number)) {
            Some(root) => TableKeys::new(&root.0, table_id, encryption),
            None => owner.of_table(table_id, encryption),
        }
    }

    /// The key of a table's batches.
    pub fn batch_key(&self, owner: &OwnerSeed, table_id: [u8; 16]) -> BatchKey {
        self.batches.as_ref().map_or_else(|| owner.batch_key(table_id), BatchKey::copied)
    }

    /// The bytes to be sealed, without roots of the owner's key file: a byte that counts batch keys (0 or 1), the key, then number and root of each domain.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // In one buffer of its size: what grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(33 + 36 * self.domains.len()));
        bytes.push(u8::from(self.batches.is_some()));
        if let Some(key) = &self.batches {
            bytes.extend_from_slice(key.expose());
        }
        for (number, root) in &self.domains {
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(root.0.as_slice());
        }
        bytes
    }

    /// Reads [`TableRoots::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (batches, mut rest) = match bytes.split_first()? {
            (0, rest) => (None, rest),
            (1, rest) => {
                let (key, rest) = rest.split_first_chunk::<32>()?;
                (Some(BatchKey::from_bytes(*key)), rest)
            }
            _ => return None,
        };
        let mut domains = BTreeMap::new();
        while !rest.is_empty() {
            let (number, after) = rest.split_first_chunk::<4>()?;
            let (root, after) = after.split_first_chunk::<32>()?;
            let (number, mut copy) = (u32::from_le_bytes(*number), Root(Box::new([0; 32])));
            copy.0.copy_from_slice(root);
            let is_rising = domains.last_key_value().is_none_or(|(last, _)| *last < number);
            if !is_rising || domains.insert(number, copy).is_some() {
                return None;
            }
            rest = after;
        }
        Some(Self { domains, kept: BTreeMap::new(), batches })
    }

    fn copied(&self) -> Self {
        let copy = |(number, root): (&u32, &Root)| (*number, root.copied());
        Self {
            domains: self.domains.iter().map(copy).collect(),
            kept: self.kept.iter().map(copy).collect(),
            batches: self.batches.as_ref().map(BatchKey::copied),
        }
    }
}

impl PartialEq for TableRoots {
    /// Compares digests, in constant time.
    fn eq(&self, other: &Self) -> bool {
        blake3::hash(&self.to_bytes()) == blake3::hash(&other.to_bytes())
    }
}

impl std::fmt::Debug for TableRoots {
    /// The numbers of the domains.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableRoots(of domains {:?})", self.domains.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a key gives away of its root: a seal that another root does not open.
    fn opens(keys: TableKeys<'_>, sealed: &[u8]) -> bool {
        keys.schema_seal().open(b"here", sealed).is_ok()
    }

    #[test]
    fn a_domain_has_secrets_of_its_own_root_or_of_the_owner() {
        let owner = OwnerSeed::from_bytes(&[1; 32]);
        let (one, two) = (TableRoots::default().with_domain(1).unwrap(), TableRoots::default());
        let of = |roots: &TableRoots, number| {
            roots.of_table(&owner, number, [2; 16], [3; 16]).schema_seal().seal(b"here", b"x").unwrap()
        };
        let other = TableRoots::default().with_domain(1).unwrap();
        for (sealed, opened_by) in [(of(&one, 1), [true, false, false]), (of(&two, 1), [false, true, false])]
        {
            let all = [&one, &two, &other];
            let found = all.map(|roots| opens(roots.of_table(&owner, 1, [2; 16], [3; 16]), &sealed));
            assert_eq!(found, opened_by);
        }
        assert!(opens(owner.of_table([2; 16], [3; 16]), &of(&one, 0)));
        // Another owner has the same domain by the root, and nothing without it.
        let stranger = OwnerSeed::from_bytes(&[9; 32]);
        assert!(opens(one.of_table(&stranger, 1, [2; 16], [3; 16]), &of(&one, 1)));
        assert!(!opens(one.of_table(&stranger, 0, [2; 16], [3; 16]), &of(&one, 0)));
    }

    #[test]
    fn roots_are_read_as_they_were_written_and_nothing_else_is() {
        let owner = OwnerSeed::from_bytes(&[1; 32]);
        let roots = TableRoots::default().with_domain(0).unwrap().with_domain(7).unwrap();
        for roots in [TableRoots::default(), roots.with_batches_of(&owner, [2; 16]), roots] {
            let bytes = roots.to_bytes();
            assert!(TableRoots::from_bytes(&bytes).unwrap() == roots);
            for length in 0..bytes.len() {
                let is_whole =
                    length > 0 && [1, 33].contains(&(length % 36)) && usize::from(bytes[0]) * 32 < length;
                assert!(is_whole || TableRoots::from_bytes(&bytes[..length]).is_none(), "{length}");
            }
        }
        assert!(TableRoots::from_bytes(&[2]).is_none());
        let twice = [&[0][..], &[0; 36], &[0; 36]].concat();
        assert!(TableRoots::from_bytes(&twice).is_none());
    }

    #[test]
    fn batches_stay_known_to_another_owner() {
        let (first, second) = (OwnerSeed::from_bytes(&[1; 32]), OwnerSeed::from_bytes(&[2; 32]));
        let before = TableRoots::default();
        let after = before.with_batches_of(&first, [5; 16]).with_batches_of(&second, [5; 16]);
        let tag = |roots: &TableRoots, owner| roots.batch_key(owner, [5; 16]).tag("monday");
        assert_eq!(tag(&after, &second), tag(&before, &first));
        assert_ne!(tag(&before, &second), tag(&before, &first));
    }

    #[test]
    fn a_forgotten_domain_is_derived_of_nothing() {
        let roots = TableRoots::default().with_domain(0).unwrap().with_domain(1).unwrap();
        let left = roots.retained(|number| number > 0);
        assert_eq!([0, 1].map(|number| left.has(number)), [false, true]);
        assert_eq!(format!("{left:?}"), "TableRoots(of domains [1])");
    }
}
