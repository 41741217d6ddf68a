// SPDX-License-Identifier: Apache-2.0
//! Stored columns decrypted chunk by chunk.

use hush_exec::program::element_count;
use hush_keys::{decrypt_approx_slots, decrypt_approx_sum_chunk, decrypt_slots, decrypt_sum_chunk};
use hush_params::preset;
use hush_plan::bounds::Bound;
use hush_ring::UniformSeed;
use hush_rlwe::{Body, BodyId, BodyKind, UncheckedBody};
use hush_schemes::bgv::slots::SlotCiphertext;
use hush_schemes::ckks::ApproxCiphertext;

use super::Cells;
use crate::bounds::{check_rows, named, phase_limit};
use crate::columns::{ColumnKey, Space};
use crate::error::ClientError;
use crate::release::{Release, Slots};

/// The stored body of a column in a chunk.
///
/// # Errors
/// A parameter set that this version does not know.
pub(crate) fn body_of(key: &ColumnKey, chunk: u32, rows: u32) -> Result<(BodyKind, BodyId), ClientError> {
    let public = &key.encoding.public;
    let (kind, lanes) = match &key.space {
        Space::Sum { .. } | Space::ApproxSum { .. } => (BodyKind::Sum, 1),
        Space::Slots { encoder, .. } => (BodyKind::Slot, encoder.lane_count() as u8),
        Space::ApproxSlots { .. } => (BodyKind::Slot, 1),
    };
    let element_count = element_count(public.layout, preset(&public.params)?, rows);
    Ok((kind, BodyId { column: public.id.0, chunk, element_count, lanes }))
}

/// Decrypts the stored body of one column in one chunk, under the chunk's seed: its first `rows` values, each of which `bound`
/// allows; approximate ones as they are to leave the owner, where there is a `release`.
///
/// # Errors
/// A body that is damaged or belongs elsewhere; [`ClientError::Beyond`].
pub(crate) fn decrypt_chunk(
    key: &ColumnKey,
    (seed, chunk, rows): ([u8; 32], u32, u32),
    blob: &[u8],
    bound: &Bound,
    release: Option<&Release<'_>>,
) -> Result<Cells, ClientError> {
    let ring = key.ring();
    let (kind, id) = body_of(key, chunk, rows)?;
    let element_count = id.element_count;
    let body = UncheckedBody::decode(blob)?.conform(ring, kind, id)?;
    let seed = UniformSeed::from_bytes(seed);
    let rows = rows as usize;
    let cells = opened(key, seed, &body, rows, bound)?;
    check_rows(&key.content_name(), &cells, bound)?;
    // Only what was found possible gets noise.
    match (release, &key.space) {
        (Some(release), Space::ApproxSum { scale, .. }) => {
            Ok(Cells::Approx(release.chunk(key, *scale, seed, &body, rows)?))
        }
        (Some(release), Space::ApproxSlots { encoder, scale, .. }) => {
            let elements = (0..element_count).map(|element| {
                let ciphertext = ApproxCiphertext::load(ring, seed, &body, element, *scale)?;
                release.element(key, (encoder, *scale), ciphertext.ciphertext(), Slots::Stored)
            });
            Ok(Cells::Approx(elements.collect::<Result<Vec<_>, _>>()?.concat()))
        }
        _ => Ok(cells),
    }
}

/// A chunk of a column as somebody else encrypted it, not compared with any bound of its values yet.
pub(crate) struct Whole {
    /// The rows.
    pub(crate) rows: Cells,
    /// What lies behind the last row, where an encryption leaves nothing but its errors.
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
    let (kind, id) = body_of(key, chunk, rows)?;
    let body = UncheckedBody::decode(blob)?.conform(key.ring(), kind, id)?;
    let all = id.element_count as usize * key.ring().degree();
    let mut cells = opened(key, UniformSeed::from_bytes(seed), &body, all, bound)?;
    let padding = cells.split_off(rows as usize);
    Ok(Whole { rows: cells, padding })
}

/// What the first `count` coefficients of a stored body hold; all slots of a column by slots.
fn opened(
    key: &ColumnKey,
    seed: UniformSeed,
    body: &Body<'_>,
    count: usize,
    bound: &Bound,
) -> Result<Cells, ClientError> {
    let (ring, limit) = (key.ring(), phase_limit(bound));
    let elements = 0..body.id().element_count;
    Ok(match &key.space {
        Space::Sum { t_log2 } => {
            let values = decrypt_sum_chunk(&key.secret, seed, body, count, *t_log2, limit);
            Cells::Exact(values.map_err(|error| named(key, error))?)
        }
        Space::ApproxSum { scale, .. } => {
            Cells::Approx(decrypt_approx_sum_chunk(&key.secret, seed, body, count, *scale)?)
        }
        Space::Slots { encoder, .. } => {
            let elements = elements.map(|element| {
                let ciphertext = SlotCiphertext::load(ring, seed, body, element)?;
                decrypt_slots(&key.secret, encoder, ciphertext.lanes(), limit)
                    .map_err(|error| named(key, error))
            });
            Cells::Exact(elements.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Space::ApproxSlots { encoder, scale, .. } => {
            let elements = elements.map(|element| {
                let ciphertext = ApproxCiphertext::load(ring, seed, body, element, *scale)?;
                let slots = decrypt_approx_slots(&key.secret, encoder, ciphertext.ciphertext(), *scale);
                Ok::<_, ClientError>(slots?)
            });
            Cells::Approx(elements.collect::<Result<Vec<_>, _>>()?.concat())
        }
    })
}
