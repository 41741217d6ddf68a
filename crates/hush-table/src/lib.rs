// SPDX-License-Identifier: Apache-2.0
//! Tables: typed rows in, encrypted parts and a signed manifest on disk, and back.
//!
//! ```text
//!                 SignedManifest  (manifest.hush: what the table is, signed by its owner, written last)
//!                       │ names by BLAKE3 digest
//!        ┌──────────────┴───────────────┐
//!   part 0, part 1, …  each ≤ 64 chunks of ≤ 8192 rows
//!        ├─ <digest>.clear.parquet   ordinary Parquet, one row per table row
//!        └─ <digest>.enc.parquet     Parquet, one row per chunk: index, rows, seed, one blob per encoding
//!   keys      <digest>.key             evaluation keys over a modulus chain; most tables have none
//!
//!   TableWriter ─▶ TableStore ─▶ any object store (a directory, memory, …)  ─▶ EncryptedPart / ClearPart
//! ```
//!
//! *Words.* A **chunk** is a run of consecutive rows whose encrypted columns share one public seed; a **part**
//! is a run of chunks, the unit of files; an **encoding** is one encrypted quantity (`hush_plan::Encoding`); a
//! **blob** is one encoding of one chunk, opaque here.
//!
//! *Invariants.*
//! - A prefix without a valid `manifest.hush` is not a table. The manifest is written after all that it names
//!   is durable, and replaced only by a higher version of the same table.
//! - Nothing read from a store is used before its digest agrees with a manifest whose signature has been
//!   checked, and no length read from a file is believed before it is checked against a limit.
//! - Parts are immutable and named by their content: swapped, dropped, repeated or altered parts cannot be
//!   presented under the name that the manifest holds.
//! - This crate never holds a key that decrypts or signs: signatures are made by a closure that the caller
//!   gives. Nothing here is secret except clear columns, which are clear by their owner's decision.
//!
//! *Non-goals.* Encryption (`hush-client`), evaluation (`hush-exec`), the inside of a blob (`hush-rlwe`), locks
//! across machines, and hiding access patterns from the store.
//!
//! The bytes are specified in `docs/formats/table.md`.

// No read outside a slice can stop an owner or a service: what may be absent is asked for with `get`.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod classify;
pub mod delivery;
pub mod digest;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod manifest;
pub mod part;
pub mod profile;
mod short_number;
pub mod source;
pub mod store;
pub mod uri;

pub use delivery::{Delivery, DeliveryId, DeliveryPage, DeviceJob, SignedAnnouncement, SignedDelivery};
pub use digest::{
    AppendId, BatchTag, CubesId, DeviceId, Digest, EncryptionId, JobId, RunId, RunsId, SecretId, StreamId,
    TableId, from_hex, to_hex,
};
pub use error::{DeliveryFault, KeyFault, ManifestFault, PartFault, StoreFault, TableError};
pub use manifest::{
    Appended, Batch, ChainDefinition, ClearColumn, KeyEntry, KeyKind, Manifest, PartEntry, PartFile, Pin,
    SignedManifest,
};
pub use part::{
    CHUNK_ROWS, ChunkRow, ChunkRows, ClearPart, CubeSums, DeadRows, EncodedChunk, EncryptedPart, FileKind,
    PackedSums, PartCubes, PartName, PartRuns, Projection, RunBytes, StoredCube,
};
#[cfg(feature = "stores")]
pub use store::Bucket;
pub use store::files::foreign_entry;
pub use store::{
    Appender, Catalog, CatalogEntry, ClearColumns, Copied, Delivered, EarlierGone, JOURNAL_NAME, KeysToStore,
    PartBounds, PlacedFile, Prepared, PreparedOfPart, Purge, PurgeRun, RecordLog, SeenVersion, StoredPart,
    TableIdentity, TableLayout, TableStore, TableWriter, WriteAccess, check_seeds, files_of_part,
    named_files,
};
pub use uri::{StoreScheme, TableUri, TableUriError};
