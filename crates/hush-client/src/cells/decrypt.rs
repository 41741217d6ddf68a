// SPDX-License-Identifier: Apache-2.0
//! Stored columns decrypted chunk by chunk.

use hush_exec::packing::stored_body;
use hush_plan::bounds::Bound;
use hush_ring::UniformSeed;
use hush_rlwe::{Body, BodyId, BodyKind, UncheckedBody};

use super::Cells;
use crate::bounds::{check_rows, phase_limit};
use crate::error::ClientError;
use crate::packing::{ColumnKey, Stored};
use crate::release::Release;

/// The stored body of a column in a chunk.
///
/// # Errors
/// A parameter set that this version does not know.
pub(crate) fn body_of(key: &ColumnKey, chunk: u32, rows: u32) -> Result<(BodyKind, BodyId), ClientError> {
    let public = &key.encoding.public;
    let body = stored_body(public.id, &public.packing, public.ring()?, (chunk, rows));
    body.ok_or(ClientError::Internal { what: "a body of a column without polynomials" })
}

/// Decrypts one column in one chunk, under the chunk's seed: its first `rows` values, which `bound` must all allow. With
/// a `release`, approximate values have the form that may leave the owner.
///
/// # Errors
/// A blob that is damaged or belongs elsewhere; [`ClientError::Beyond`].
pub(crate) fn decrypt_chunk(
    key: &ColumnKey,
    (seed, chunk, rows): ([u8; 32], u32, u32),
    blob: &[u8],
    bound: &Bound,
    release: Option<&Release<'_>>,
) -> Result<Cells, ClientError> {
    let stored = Stored { key, seed: UniformSeed::from_bytes(seed), chunk, rows, blob };
    let (owned, rows) = (key.codec.owned(), rows as usize);
    let cells = owned.decrypt(&stored, rows, phase_limit(bound))?;
    check_rows(&key.content_name(), &cells, bound)?;
    // Only values within their bounds get noise.
    match release {
        Some(release) => Ok(owned.release(&stored, rows, release)?.unwrap_or(cells)),
        None => Ok(cells),
    }
}

impl Stored<'_> {
    /// The blob as a body.
    ///
    /// # Errors
    /// A body that is damaged or belongs elsewhere.
    pub(crate) fn body(&self) -> Result<Body<'_>, ClientError> {
        let (kind, id) = body_of(self.key, self.chunk, self.rows)?;
        Ok(UncheckedBody::decode(self.blob)?.conform(self.key.ring(), kind, id)?)
    }
}

/// A chunk of a column as somebody else encrypted it, not compared with any bound of its values yet.
pub(crate) struct Whole {
    /// The rows.
    pub(crate) rows: Cells,
    /// The values behind the last row, where an encryption leaves its errors alone.
    pub(crate) padding: Cells,
}

/// Decrypts every coefficient or slot of a stored body, those behind the last row too.
///
/// # Errors
/// A body that is damaged or belongs elsewhere; [`ClientError::Beyond`] for the phase of an exact column.
pub(crate) fn decrypt_whole_chunk(
    key: &ColumnKey,
    (seed, chunk, rows): ([u8; 32], u32, u32),
    blob: &[u8],
    bound: &Bound,
) -> Result<Whole, ClientError> {
    let stored = Stored { key, seed: UniformSeed::from_bytes(seed), chunk, rows, blob };
    let (_, id) = body_of(key, chunk, rows)?;
    let all = id.element_count as usize * key.ring().degree();
    let mut cells = key.codec.owned().decrypt(&stored, all, phase_limit(bound))?;
    let padding = cells.split_off(rows as usize);
    Ok(Whole { rows: cells, padding })
}
