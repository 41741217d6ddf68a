// SPDX-License-Identifier: Apache-2.0
//! The manifest: a table's description, the list of its files, and its owner's signature over both.
//!
//! Decoding goes in steps that cannot be skipped: [`UncheckedManifest::decode`] checks sizes and the signature
//! and reads nothing else; [`UncheckedManifest::conform`] parses the body and checks its rules; only then is
//! there a [`SignedManifest`]. [`Pin::check`] refuses versions that an earlier look at the table has excluded.

mod appends;
mod changes;
mod conform;
mod container;
mod cubes;
mod dead;
mod devices;
mod domains;
mod generations;
mod keys;
mod lengths;
mod runs;
mod signature;
mod succession;
#[cfg(test)]
mod tests;

use std::ops::Range;

use arrow::datatypes::DataType;
use hush_plan::{Encoding, EncodingId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use appends::{Appended, Batch, MAX_BATCHES};
pub use changes::{Change, ChangeKind, MAX_CHANGES};
pub(crate) use container::MAX_CONTAINER_BYTES;
pub use container::{SignedManifest, UncheckedManifest};
pub use cubes::Cubes;
pub use dead::Dead;
pub use devices::{DeviceRules, MAX_REJECTED, MAX_REVOKED, MAX_SETTLED, Rejection, Settled};
pub use domains::{Domain, MAX_EARLIER_DOMAINS};
pub use generations::{Generation, MAX_EARLIER_GENERATIONS, StoredColumns};
pub use keys::{ChainDefinition, KeyEntry, KeyKind, MAX_CHAINS, MAX_KEY_BYTES, MAX_KEYS};
pub use lengths::{ColumnLength, Lengths};

pub use runs::{PlacedRun, Runs, StoredRun};
pub(crate) use signature::verify;
pub use succession::{MAX_PREDECESSORS, Predecessor, succession_bytes};

use crate::delivery::DeliveryId;
use crate::digest::{Digest, EncryptionId, TableId, from_hex, to_hex};
use crate::error::{ManifestFault, TableError};

/// First bytes of every manifest; also the domain of its signature.
pub const MAGIC: [u8; 8] = *b"HUSHTBL1";
/// Version of the container.
pub const CONTAINER_VERSION: u32 = 2;
/// Version of the JSON body.
pub const BODY_FORMAT: u16 = 2;
/// Largest body in bytes.
pub const MAX_BODY_BYTES: u64 = 64 << 20;
/// Most parts of a table: as many as fit the largest body with about 250 bytes each; 1.3·10^11 rows.
pub const MAX_PARTS: usize = 1 << 18;
/// Most encodings of a table.
pub const MAX_ENCODINGS: usize = 4096;
/// Most clear columns, and most sealed ones.
pub const MAX_COLUMNS: usize = 4096;
/// Largest sealed roots in bytes.
pub const MAX_ROOTS_BYTES: usize = 8 << 10;
/// Largest sealed schema in bytes.
pub const MAX_SCHEMA_BYTES: usize = 8 << 20;
/// Hexadecimal digits of a key id.
pub(crate) const KEY_ID_DIGITS: usize = 32;
/// Largest part file in bytes. Writers stay near 32 MiB; one chunk of a very wide table may take more.
pub const MAX_PART_BYTES: u64 = 1 << 30;
/// Largest zone file in bytes.
pub const MAX_ZONES_BYTES: u64 = 64 << 20;

/// The body of a manifest.
///
/// *Invariants*, checked by [`Manifest::check`]: see `docs/formats/table.md`. *Serialised as* canonical JSON:
/// members in this order, no blanks. *Secrecy*: public, but for the clear columns' names being the owner's
/// decision; what protected columns are called and hold is in `sealed_schema`, which only the owner can open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`BODY_FORMAT`].
    pub format: u16,
    /// Table name, as SQL names it.
    pub table: String,
    /// Stays the same over all versions of the table.
    pub table_id: TableId,
    /// Random, drawn whenever a set of secrets begins, by an encryption from the source or by a rotation: versions that only add or delete
    /// rows keep it. All keys of the present domain are derived with it.
    pub encryption: EncryptionId,
    /// Number of the present domain, to which new rows go.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub domain: u32,
    /// Earlier domains that have parts, numbers rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Domain>,
    /// Whether the rows of earlier domains are being written anew.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rotating: bool,
    /// 1 for the first version; each later one is higher.
    pub version: u64,
    /// Which owner's key made this table: [`key_id`] of the verifying key that the container carries.
    pub key_id: String,
    /// Owner's keys that the table had before, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predecessors: Vec<Predecessor>,
    /// Rows that its parts hold, deleted ones among them: see [`Manifest::living_rows`].
    pub rows: u64,
    /// Rows of a full chunk, [`crate::CHUNK_ROWS`].
    pub chunk_rows: u32,
    /// Clear columns in table order.
    pub clear_columns: Vec<ClearColumn>,
    /// Public halves of the encodings, ids rising.
    pub encodings: Vec<Encoding>,
    /// Sealed columns that the table has had: they are numbered from 0.
    pub sealed_columns: u32,
    /// Numbers of those that it has no more, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsealed: Vec<u32>,
    /// Number of the present generation of encrypted columns, with which new rows are stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u32,
    /// Earlier generations that have parts, numbers rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<Generation>,
    /// Files, in row order.
    pub parts: Vec<PartEntry>,
    /// What the owner has decided about devices.
    #[serde(default, skip_serializing_if = "DeviceRules::is_empty")]
    pub devices: DeviceRules,
    /// Definitions of the chains that the manifest names and that are no presets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainDefinition>,
    /// Files of evaluation keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyEntry>,
    /// File of the bounds of clear columns: of all parts, or of the first ones. Tables of few parts have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<PartFile>,
    /// Batches of rows that were appended under a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Batch>,
    /// What each version has changed, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Bytes of columns of texts and of columns under a seal, as far as the owner counted them.
    #[serde(default, skip_serializing_if = "Lengths::is_empty")]
    pub lengths: Lengths,
    /// The roots of the domains' secrets, encrypted by the owner; opaque here.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "hex_out",
        deserialize_with = "hex_in"
    )]
    pub sealed_roots: Vec<u8>,
    /// The owner's private half (schema and private encodings), encrypted by the owner; opaque here.
    #[serde(serialize_with = "hex_out", deserialize_with = "hex_in")]
    pub sealed_schema: Vec<u8>,
}

/// A clear column as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClearColumn {
    /// Its name.
    pub name: String,
    /// Arrow's text of its type, such as `Int64` or `Decimal128(12, 2)`.
    pub arrow_type: String,
}

/// One part: a run of chunks. All its chunks are full but perhaps the last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEntry {
    /// Rows of the part.
    pub rows: u64,
    /// Chunks of the part, 1 to 64.
    pub chunks: u32,
    /// File of the clear columns; absent exactly if there are none.
    pub clear: Option<PartFile>,
    /// File of the encodings and sealed columns; absent exactly if there are none.
    pub encrypted: Option<PartFile>,
    /// The delivery that it was, with its device: its chunks are then numbered from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryId>,
    /// Its place in an append of the owner's, which numbers its chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append: Option<Appended>,
    /// The number that its first chunk has in its file, once it stands elsewhere than where it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_chunk: Option<u32>,
    /// Its rows that were deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<Dead>,
    /// Its cubes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cubes: Option<Cubes>,
    /// Its sorted runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
    /// Number of its domain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub domain: u32,
    /// Number of its generation: which encrypted columns its file has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u32,
}

/// A file of a part, or of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// BLAKE3 of the file; names it.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
}

/// Where a part stands in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Global index of its first chunk.
    pub first_chunk: u32,
    /// Number of its first row in the table.
    pub first_row: u64,
}

/// What a reader remembers of a table: it accepts this very version or a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The table.
    pub table_id: TableId,
    /// Version last seen.
    pub version: u64,
    /// Digest of the manifest last seen.
    pub digest: Digest,
}

impl Manifest {
    /// Checks every rule of the format that one manifest can show.
    ///
    /// # Errors
    /// [`TableError::BadManifest`] with the first rule broken.
    ///
    /// # Cost
    /// O(parts + encodings); about 50 bytes per part for the check on repeated files.
    pub fn check(&self) -> Result<(), TableError> {
        conform::check(self).map_err(TableError::from)
    }

    /// Most chunks of a part that are together in the ring elements of an encoding ([`hush_plan::Packing::chunks_together`]). Parts have a multiple of them,
    /// but for the last of an encryption or append.
    pub fn chunks_together(&self) -> u32 {
        let together =
            |encoding: &Encoding| encoding.ring().map_or(1, |set| encoding.packing.chunks_together(set));
        self.encodings.iter().map(together).max().unwrap_or(1)
    }

    /// Whether a part has the form that parts of this table have, whatever the others are.
    pub fn suits(&self, part: &PartEntry) -> bool {
        conform::part_alone(self, 0, part).is_ok()
    }

    /// The canonical body.
    ///
    /// # Errors
    /// [`TableError::BadBody`] never occurs for a manifest built of this crate's types; kept typed, not asserted.
    pub fn to_json(&self) -> Result<Vec<u8>, TableError> {
        serde_json::to_vec(self).map_err(|source| TableError::BadBody { source })
    }

    /// Parts with their places in the table, in row order. Sums saturate; a checked manifest does not reach that.
    pub fn placed_parts(&self) -> impl Iterator<Item = (PartPlace, &PartEntry)> {
        self.parts.iter().scan(PartPlace { first_chunk: 0, first_row: 0 }, |next, entry| {
            let here = *next;
            next.first_chunk = here.first_chunk.saturating_add(entry.chunks);
            next.first_row = here.first_row.saturating_add(entry.rows);
            Some((here, entry))
        })
    }

    /// The number that a chunk has in its own file.
    #[cfg(test)]
    pub(crate) fn written_index(&self, chunk: u32) -> u32 {
        let offset_in = |(place, entry): (PartPlace, &PartEntry)| {
            let offset = chunk.checked_sub(place.first_chunk).filter(|offset| *offset < entry.chunks)?;
            Some(entry.first_written(place).saturating_add(offset))
        };
        self.placed_parts().find_map(offset_in).unwrap_or(chunk)
    }

    /// Puts `new` parts in the place of those in `replaced`. All others keep the numbers that their chunks were written with, and the
    /// table counts its rows anew. Zones are the caller's.
    pub fn splice_parts(&mut self, replaced: Range<usize>, new: impl IntoIterator<Item = PartEntry>) {
        let written =
            |(place, part): (PartPlace, &PartEntry)| (part.clone(), Some(part.first_written(place)));
        let mut parts: Vec<(PartEntry, Option<u32>)> = self.placed_parts().map(written).collect();
        let end = replaced.end.min(parts.len());
        let new = new.into_iter().map(|part| (part, None));
        parts.splice(replaced.start.min(end)..end, new).for_each(drop);
        let (mut first_chunk, mut rows) = (0_u32, 0_u64);
        let placed = parts.into_iter().map(|(mut part, written)| {
            if part.delivery.is_none() && part.append.is_none() {
                part.first_chunk = written.filter(|written| *written != first_chunk);
            }
            first_chunk = first_chunk.saturating_add(part.chunks);
            rows = rows.saturating_add(part.rows);
            part
        });
        self.parts = placed.collect();
        self.rows = rows;
        self.forget_unused();
    }

    /// Chunks of the table (saturating).
    pub fn chunk_count(&self) -> u32 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.chunks))
    }

    /// Ids of the encodings, in the order of blobs in a chunk.
    pub fn encoding_ids(&self) -> Vec<EncodingId> {
        self.encodings.iter().map(|encoding| encoding.id).collect()
    }

    /// Whether the table has encodings or sealed columns, so that new parts have encrypted files.
    pub fn has_encrypted_files(&self) -> bool {
        self.has_encrypted(self.generation)
    }

    /// Arrow schema of the clear columns, all nullable.
    ///
    /// # Errors
    /// [`ManifestFault::ClearType`] for a type that clear columns cannot have.
    pub fn clear_schema(&self) -> Result<arrow::datatypes::SchemaRef, TableError> {
        let field = |(index, column): (usize, &ClearColumn)| {
            let kind = column.data_type().ok_or(ManifestFault::ClearType { index })?;
            Ok(arrow::datatypes::Field::new(&column.name, kind, true))
        };
        let fields: Result<Vec<_>, ManifestFault> =
            self.clear_columns.iter().enumerate().map(field).collect();
        Ok(std::sync::Arc::new(arrow::datatypes::Schema::new(fields?)))
    }
}

impl PartEntry {
    /// The number that its first chunk has in its file, if it stands at `place`: 0 in a delivery, a number of its own in an append, and
    /// otherwise its number in the table, or the one that it had there when it was written.
    pub fn first_written(&self, place: PartPlace) -> u32 {
        match (self.delivery, self.append) {
            (Some(_), _) => 0,
            (None, Some(append)) => append.first,
            (None, None) => self.first_chunk.unwrap_or(place.first_chunk),
        }
    }

    /// Bytes of the files of its rows, cubes and sorted runs.
    pub fn stored_bytes(&self) -> u64 {
        let cubes = self.cubes.as_ref().map(|cubes| cubes.file);
        let runs = self.runs.as_ref().map(|runs| runs.file);
        [self.clear, self.encrypted, cubes, runs].into_iter().flatten().map(|file| file.bytes).sum()
    }
}

impl ClearColumn {
    /// Describes a clear column.
    ///
    /// # Errors
    /// [`TableError::ClearType`] for nested, interval and other types that clear columns cannot have.
    pub fn new(name: &str, kind: &DataType) -> Result<Self, TableError> {
        if !conform::is_clear_type(kind) {
            return Err(TableError::ClearType { column: name.to_owned(), found: kind.to_string() });
        }
        Ok(Self { name: name.to_owned(), arrow_type: kind.to_string() })
    }

    /// The Arrow type; `None` if the text is not the canonical one of a type that clear columns can have.
    pub fn data_type(&self) -> Option<DataType> {
        conform::parse_clear_type(&self.arrow_type)
    }
}

impl Pin {
    /// Remembers a manifest.
    pub fn of(manifest: &SignedManifest) -> Self {
        let body = manifest.manifest();
        Self { table_id: body.table_id, version: body.version, digest: manifest.digest() }
    }

    /// Accepts the pinned manifest or a later version of the same table.
    ///
    /// # Errors
    /// [`TableError::OtherTable`], [`TableError::RolledBack`] for an earlier version, [`TableError::Forked`] for
    /// the pinned version with another content.
    pub fn check(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let now = Self::of(manifest);
        if now.table_id != self.table_id {
            return Err(TableError::OtherTable {
                place: manifest.manifest().table.clone(),
                found: now.table_id,
                expected: self.table_id,
            });
        }
        if now.version < self.version {
            return Err(TableError::RolledBack { found: now.version, expected: self.version });
        }
        if now.version == self.version && now.digest != self.digest {
            return Err(TableError::Forked {
                version: now.version,
                found: now.digest,
                expected: self.digest,
            });
        }
        Ok(())
    }
}

/// The id of the owner whose manifests verify under `verifying_key`: the first half of its BLAKE3, in lowercase hex.
///
/// A manifest that names another id than its own signer's is refused, so that nobody can act under an owner's id
/// (a server keeps the chunk seeds that were used by it) without the owner's signature.
pub fn key_id(verifying_key: &[u8; 32]) -> String {
    let mut text = to_hex(Digest::of(verifying_key).as_bytes());
    text.truncate(KEY_ID_DIGITS);
    text
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn hex_out<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_hex(bytes))
}

fn hex_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    from_hex(&text).ok_or_else(|| serde::de::Error::custom("expected lowercase hexadecimal digits"))
}
