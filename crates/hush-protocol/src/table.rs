// SPDX-License-Identifier: Apache-2.0
//! Tables, and the deliveries that wait beside them.

use serde::{Deserialize, Serialize};

/// Most deliveries in one page of a list: in hex, 32 MiB of the largest.
pub const MOST_LISTED: u16 = 4096;

/// A table in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct TableSummary {
    /// Name on this server.
    pub name: String,
    /// Version of the committed manifest.
    pub version: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of its parts.
    pub bytes: u64,
    /// Identifies the owner's key.
    pub key_id: String,
}

/// What anybody with the token can know of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct TableFacts {
    /// As in the list.
    #[serde(flatten)]
    pub summary: TableSummary,
    /// Stays the same over all versions.
    pub table_id: String,
    /// BLAKE3 of the manifest; plans name the version by it.
    pub manifest: String,
    /// Bytes of the manifest.
    pub manifest_bytes: u64,
    /// The Ed25519 key that later versions must be signed with, hex.
    pub verifying_key: String,
    /// Rows of a full chunk.
    pub chunk_rows: u32,
    /// Chunks.
    pub chunks: u32,
    /// Parts.
    pub parts: u64,
    /// Clear columns.
    pub clear_columns: Vec<ClearColumnFacts>,
    /// Encoded columns; their names are not known here.
    pub encodings: Vec<EncodingFacts>,
    /// Number of sealed columns.
    pub sealed_columns: u32,
}

/// A clear column.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct ClearColumnFacts {
    /// Name.
    pub name: String,
    /// Arrow type.
    pub arrow_type: String,
}

/// An encoded column.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct EncodingFacts {
    /// Number in the table.
    pub id: u32,
    /// `sum`, `slots`, `approx_sum` or `approx_slots`.
    pub layout: String,
    /// Parameter set.
    pub params: String,
}

/// The members of [`TableFacts`] that a push reads.
#[derive(Clone, Debug, Deserialize)]
pub struct Present {
    /// Stays the same over all versions.
    pub table_id: String,
    /// Version of the committed manifest.
    pub version: u64,
    /// BLAKE3 of the manifest.
    pub manifest: String,
    /// The key that later versions must be signed with, hex.
    pub verifying_key: String,
}

/// Some of the deliveries that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct Deliveries {
    /// They, as signed, in the order of their ids: hex of the containers.
    pub deliveries: Vec<String>,
    /// The `after` of the next page; null at the end.
    pub next: Option<String>,
}

/// What a purge of a table's old versions has deleted, and what it has left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct Purged {
    /// Files that are gone, or would be.
    pub deleted: Vec<StoredFile>,
    /// Files of deliveries that wait: they stay.
    pub waiting: Vec<StoredFile>,
    /// Files that no version names and that are of an upload under way or of an interrupted one: they stay.
    pub unnamed: Vec<StoredFile>,
}

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StoredFile {
    /// Folder and name below the table's place.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_reads_what_servers_say_of_tables() {
        let summary = TableSummary { name: "t".into(), version: 3, rows: 2, bytes: 1, key_id: "k".into() };
        let facts = TableFacts {
            summary: summary.clone(),
            table_id: "id".into(),
            manifest: "m".into(),
            manifest_bytes: 9,
            verifying_key: "v".into(),
            chunk_rows: 8192,
            chunks: 1,
            parts: 1,
            clear_columns: vec![ClearColumnFacts { name: "c".into(), arrow_type: "Int64".into() }],
            encodings: vec![EncodingFacts { id: 0, layout: "sum".into(), params: "p".into() }],
            sealed_columns: 0,
        };
        let said = serde_json::to_value(&facts).unwrap();
        let read: Present = serde_json::from_value(said.clone()).unwrap();
        assert_eq!((read.table_id.as_str(), read.version), ("id", 3));
        assert_eq!((read.manifest.as_str(), read.verifying_key.as_str()), ("m", "v"));
        assert_eq!(serde_json::from_value::<TableFacts>(said).unwrap().summary, summary);
    }
}
