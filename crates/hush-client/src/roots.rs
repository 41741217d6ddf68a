// SPDX-License-Identifier: Apache-2.0
//! The secrets of a table's rows: roots that its owner has sealed in the manifest, and what is derived from them for each domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use hush_keys::{OwnerSeed, PadKey, SealKey, TableKeys, TableRoots};
use hush_table::Manifest;

use crate::chunk::{Seal, seals_of};
use crate::columns::{ColumnKeys, keys_of};
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::tokens::Tokens;

/// The place that the sealed bytes are bound to, beside the key of the table.
const PLACE: &[u8] = b"roots of the domains";

/// Seals roots for a table and its present encryption.
///
/// # Errors
/// [`ClientError::Seal`] if there is no entropy.
pub(crate) fn seal_roots(roots: &TableRoots, keys: TableKeys<'_>) -> Result<Vec<u8>, ClientError> {
    Ok(keys.roots_seal().seal(PLACE, &roots.to_bytes())?)
}

/// Opens roots that [`seal_roots`] sealed for the same table and encryption; none of a table from before there were roots.
///
/// # Errors
/// [`ClientError::Seal`] for altered bytes or another key; [`ClientError::Answer`] for another format.
pub(crate) fn open_roots(sealed: &[u8], keys: TableKeys<'_>) -> Result<TableRoots, ClientError> {
    if sealed.is_empty() {
        return Ok(TableRoots::default());
    }
    let plain = keys.roots_seal().open(PLACE, sealed)?;
    let unreadable = || ClientError::Answer { what: "the sealed roots are of another format".into() };
    TableRoots::from_bytes(&plain).ok_or_else(unreadable)
}

/// The keys of a domain of a manifest. The present one has all that belongs to the table as a whole, too.
pub(crate) fn domain_keys<'a>(
    roots: &'a TableRoots,
    owner: &'a OwnerSeed,
    manifest: &Manifest,
    domain: u32,
) -> Result<TableKeys<'a>, ClientError> {
    let encryption = manifest.encryption_of(domain);
    let encryption =
        encryption.ok_or(ClientError::Internal { what: "a part is of no domain of its table" })?;
    Ok(roots.of_table(owner, domain, *manifest.table_id.as_bytes(), *encryption.as_bytes()))
}

/// The keys of a table's rows. A copy shares them.
#[derive(Clone)]
pub(crate) struct RowKeys {
    /// Of join keys, in all domains.
    pub(crate) tokens: Arc<Tokens>,
    present: Arc<DomainKeys>,
    earlier: Arc<BTreeMap<u32, DomainKeys>>,
}

/// The keys of the rows of one domain.
pub(crate) struct DomainKeys {
    /// Of the encoded columns.
    pub(crate) columns: ColumnKeys,
    /// Of the columns under a seal, numbers rising.
    pub(crate) seals: Vec<Seal>,
    /// Of the pads of cubes.
    pub(crate) pads: PadKey,
    /// Of sorted runs.
    pub(crate) runs: SealKey,
}

impl DomainKeys {
    /// Derives the keys of a domain, for a half's encodings and these of its columns under a seal.
    ///
    /// # Errors
    /// As [`ColumnKeys::derive`].
    pub(crate) fn derive(
        keys: TableKeys<'_>,
        half: &PrivateHalf,
        sealed: &[(u32, &str)],
    ) -> Result<Self, ClientError> {
        let columns = ColumnKeys::derive(keys, &half.encodings)?;
        let seals = seals_of(keys, half.cipher, sealed.iter().copied());
        Ok(Self { columns, seals, pads: keys.cube_pads(), runs: keys.run_seal() })
    }
}

impl RowKeys {
    /// Opens the roots of a manifest, and derives the keys of every domain that has rows.
    ///
    /// # Errors
    /// As [`open_roots`] and [`DomainKeys::derive`]; [`ClientError::NoRoot`] for a table that can be erased, where the key file does not have what
    /// it needs.
    ///
    /// # Cost
    /// A secret polynomial for each encoding and domain: about a millisecond for ten.
    pub(crate) fn open(
        owner: &OwnerSeed,
        manifest: &Manifest,
        half: &PrivateHalf,
    ) -> Result<(Self, TableRoots), ClientError> {
        let roots = open_roots(&manifest.sealed_roots, keys_of(owner, manifest))?;
        let domains = manifest.domains().into_iter();
        let domains =
            domains.filter_map(|number| Some((number, *manifest.encryption_of(number)?.as_bytes())));
        let roots = roots.with_kept(owner, *manifest.table_id.as_bytes(), domains);
        if half.schema.erasable && manifest.domains().iter().any(|number| !roots.has(*number)) {
            return Err(ClientError::NoRoot { place: manifest.table.clone() });
        }
        let derive = |domain| {
            let keys = domain_keys(&roots, owner, manifest, domain)?;
            DomainKeys::derive(keys, half, &half.numbered(manifest))
        };
        let earlier = manifest.earlier.iter().map(|domain| Ok((domain.number, derive(domain.number)?)));
        let earlier = Arc::new(earlier.collect::<Result<_, ClientError>>()?);
        let tokens = Arc::new(Tokens::of(owner, &half.schema));
        let keys = Self { tokens, present: Arc::new(derive(manifest.domain)?), earlier };
        Ok((keys, roots))
    }

    /// The keys under which new rows are encrypted.
    pub(crate) fn present(&self) -> &DomainKeys {
        &self.present
    }

    /// The keys of a domain of `manifest`, whose keys these are.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a domain that the table does not have.
    pub(crate) fn of(&self, manifest: &Manifest, domain: u32) -> Result<&DomainKeys, ClientError> {
        if domain == manifest.domain {
            return Ok(&self.present);
        }
        self.earlier.get(&domain).ok_or(ClientError::Internal { what: "a part is of no domain of its table" })
    }
}
