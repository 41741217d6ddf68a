// SPDX-License-Identifier: Apache-2.0
//! The rules of a manifest's body, in the order of its members. All sums are checked.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::HashSet;

use arrow::datatypes::{DataType, TimeUnit};
use hush_params::{Definitions, Named, Params};
use hush_plan::{Encoding, unpacked_encoding};

use hush_plan::schema::is_table_name;

use super::{
    BODY_FORMAT, KEY_ID_DIGITS, MAX_COLUMNS, MAX_ENCODINGS, MAX_PART_BYTES, MAX_PARTS, MAX_ROOTS_BYTES,
    MAX_SCHEMA_BYTES, MAX_ZONES_BYTES, Manifest, PartEntry, PartFile,
};
use crate::error::{Counted, ManifestFault};
use crate::part::{CHUNK_ROWS, MAX_PART_CHUNKS};

/// Checks every rule; the first one broken is the answer.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    head(manifest)?;
    columns(manifest)?;
    let definitions = manifest.definitions()?;
    manifest.encodings.iter().try_for_each(|encoding| self::encoding(encoding, &definitions))?;
    parts(manifest)?;
    zones(manifest)?;
    super::devices::check(manifest)?;
    super::appends::check(manifest)?;
    super::cubes::check(manifest)?;
    super::runs::check(manifest)?;
    super::changes::check(manifest)?;
    super::lengths::check(manifest)?;
    super::domains::check(manifest)?;
    super::generations::check(manifest)?;
    super::keys::check(manifest, &definitions)
}

fn head(manifest: &Manifest) -> Result<(), ManifestFault> {
    if manifest.format != BODY_FORMAT {
        return Err(ManifestFault::Format { found: manifest.format, expected: BODY_FORMAT });
    }
    if !is_table_name(&manifest.table) {
        return Err(ManifestFault::TableName);
    }
    if manifest.version == 0 {
        return Err(ManifestFault::Version);
    }
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if manifest.key_id.len() != KEY_ID_DIGITS || !manifest.key_id.bytes().all(digit) {
        return Err(ManifestFault::KeyId);
    }
    if manifest.chunk_rows != CHUNK_ROWS {
        return Err(ManifestFault::ChunkRows { found: manifest.chunk_rows, expected: CHUNK_ROWS });
    }
    at_most(Counted::ClearColumns, manifest.clear_columns.len(), MAX_COLUMNS)?;
    at_most(Counted::Encodings, manifest.encodings.len(), MAX_ENCODINGS)?;
    at_most(Counted::SealedColumns, manifest.sealed_columns as usize, MAX_COLUMNS)?;
    at_most(Counted::Parts, manifest.parts.len(), MAX_PARTS)?;
    super::keys::check_counts(manifest)?;
    at_most(Counted::RootsBytes, manifest.sealed_roots.len(), MAX_ROOTS_BYTES)?;
    at_most(Counted::SchemaBytes, manifest.sealed_schema.len(), MAX_SCHEMA_BYTES)
}

fn at_most(what: Counted, found: usize, limit: usize) -> Result<(), ManifestFault> {
    if found <= limit {
        return Ok(());
    }
    Err(ManifestFault::TooMany { what, found: found as u64, limit: limit as u64 })
}

fn columns(manifest: &Manifest) -> Result<(), ManifestFault> {
    let mut names = HashSet::new();
    for (index, column) in manifest.clear_columns.iter().enumerate() {
        if column.name.is_empty() || !names.insert(column.name.as_str()) {
            return Err(ManifestFault::ClearName { index });
        }
        column.data_type().ok_or(ManifestFault::ClearType { index })?;
    }
    for (before, after) in manifest.encodings.iter().zip(manifest.encodings.iter().skip(1)) {
        if before.id >= after.id {
            return Err(ManifestFault::EncodingOrder { id: after.id });
        }
    }
    if manifest.clear_columns.is_empty() && !manifest.has_encrypted_files() {
        return Err(ManifestFault::NoColumns);
    }
    Ok(())
}

/// An encoding must name secure parameters that this version or the manifest knows, and a plaintext space that its layout can have
/// there.
fn encoding(encoding: &Encoding, definitions: &Definitions) -> Result<(), ManifestFault> {
    let id = encoding.id;
    let params = definitions.resolve(Named::Name(&encoding.params));
    let params = params.ok().filter(Params::is_secure).ok_or(ManifestFault::Params { id })?;
    if encoding.packing.fits(&params) { Ok(()) } else { Err(ManifestFault::Plaintext { id }) }
}

/// The rule that a body breaks which cannot be read; `None` where it is not one of encodings.
pub(super) fn unreadable(body: &[u8]) -> Option<ManifestFault> {
    unpacked_encoding(body).map(|id| ManifestFault::Plaintext { id })
}

fn parts(manifest: &Manifest) -> Result<(), ManifestFault> {
    let mut files = HashSet::with_capacity(manifest.parts.len());
    let mut deliveries = HashSet::new();
    let mut rows = 0_u64;
    let mut chunks = 0_u32;
    for (index, part) in manifest.parts.iter().enumerate() {
        part_alone(manifest, index, part)?;
        // Two parts may hold the same clear rows; encrypted ones differ at least in their chunk indices.
        if part.encrypted.is_some_and(|file| !files.insert(file.digest)) {
            return Err(ManifestFault::PartRepeated { index });
        }
        if part.delivery.is_some_and(|id| !deliveries.insert(id)) {
            return Err(ManifestFault::DeliveryRepeated { index });
        }
        rows = rows.saturating_add(part.rows);
        chunks = chunks.saturating_add(part.chunks);
    }
    if rows != manifest.rows {
        return Err(ManifestFault::Rows { found: rows, expected: manifest.rows });
    }
    // MAX_PARTS parts of MAX_PART_CHUNKS chunks stay below 2^24: chunk indices cannot wrap.
    debug_assert!(chunks as usize <= MAX_PARTS.saturating_mul(MAX_PART_CHUNKS as usize));
    Ok(())
}

/// Zones are about clear columns of parts.
fn zones(manifest: &Manifest) -> Result<(), ManifestFault> {
    let Some(PartFile { bytes, .. }) = manifest.zones else { return Ok(()) };
    let has_bounds = !manifest.clear_columns.is_empty() && !manifest.parts.is_empty();
    let fits = (1..=MAX_ZONES_BYTES).contains(&bytes);
    if has_bounds && fits { Ok(()) } else { Err(ManifestFault::Zones { bytes }) }
}

/// What can be said of a part without the others.
pub(super) fn part_alone(manifest: &Manifest, index: usize, part: &PartEntry) -> Result<(), ManifestFault> {
    part_rows(index, part)?;
    if part.clear.is_some() == manifest.clear_columns.is_empty()
        || part.encrypted.is_some() != manifest.has_encrypted(part.generation)
        || (part.clear.is_none() && part.encrypted.is_none())
    {
        return Err(ManifestFault::PartFiles { index });
    }
    for file in [part.clear, part.encrypted].into_iter().flatten() {
        if !(1..=MAX_PART_BYTES).contains(&file.bytes) {
            return Err(ManifestFault::PartBytes { index, bytes: file.bytes });
        }
    }
    super::dead::check(index, part)?;
    super::cubes::check_alone(index, part)?;
    super::runs::check_alone(index, part)
}

/// `(chunks − 1) · CHUNK_ROWS < rows ≤ chunks · CHUNK_ROWS`: only the last chunk of a part may be short.
fn part_rows(index: usize, part: &PartEntry) -> Result<(), ManifestFault> {
    let full = u64::from(CHUNK_ROWS);
    let fits = (1..=MAX_PART_CHUNKS).contains(&part.chunks)
        && part.rows <= u64::from(part.chunks).saturating_mul(full)
        && part.rows > u64::from(part.chunks.saturating_sub(1)).saturating_mul(full);
    if fits { Ok(()) } else { Err(ManifestFault::PartRows { index, rows: part.rows, chunks: part.chunks }) }
}

/// The flat types whose values an ordinary query engine can filter and group by.
pub(super) fn is_clear_type(kind: &DataType) -> bool {
    use DataType as T;
    match kind {
        T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 => true,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => true,
        T::Float32 | T::Float64 | T::Date32 | T::Date64 => true,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => true,
        T::Time32(TimeUnit::Second | TimeUnit::Millisecond) => true,
        T::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) | T::Timestamp(_, None) => true,
        T::Decimal128(precision, scale) => is_decimal(*precision, *scale, 38),
        T::Decimal256(precision, scale) => is_decimal(*precision, *scale, 76),
        _ => false,
    }
}

fn is_decimal(precision: u8, scale: i8, digits: u8) -> bool {
    (1..=digits).contains(&precision) && u8::try_from(scale).is_ok_and(|scale| scale <= precision)
}

/// Reads Arrow's text of a type. Types have one text each; nested ones, whose texts could be arbitrarily deep,
/// are refused by length before parsing.
pub(super) fn parse_clear_type(text: &str) -> Option<DataType> {
    const LONGEST: usize = 32;
    let kind: DataType = (text.len() <= LONGEST).then(|| text.parse().ok()).flatten()?;
    (is_clear_type(&kind) && kind.to_string() == text).then_some(kind)
}
