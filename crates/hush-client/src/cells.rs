// SPDX-License-Identifier: Apache-2.0
//! Stored columns decrypted chunk by chunk.

use arrow::buffer::NullBuffer;
use ethnum::I256;
use hush_exec::noop::PlainValues;
use hush_exec::program::element_count;
use hush_keys::{decrypt_approx_slots, decrypt_approx_sum_chunk, decrypt_slots, decrypt_sum_chunk};
use hush_params::preset;
use hush_plan::bounds::Bound;
use hush_ring::UniformSeed;
use hush_rlwe::{Body, BodyId, BodyKind, UncheckedBody};
use hush_schemes::bgv::slots::SlotCiphertext;
use hush_schemes::ckks::ApproxCiphertext;

use crate::bounds::{check_rows, named, phase_limit};
use crate::columns::{ColumnKey, Space};
use crate::error::ClientError;
use crate::release::{Release, Slots};

/// One chunk of a decrypted column.
pub(crate) enum Cells {
    /// Integers in units.
    Exact(Vec<I256>),
    /// Reals.
    Approx(Vec<f64>),
}

impl Cells {
    /// The values of a dry run's column or program.
    ///
    /// # Errors
    /// [`ClientError::Answer`] if the bytes hold none.
    pub(crate) fn plain(bytes: &[u8]) -> Result<Self, ClientError> {
        match PlainValues::decode(bytes) {
            Some(PlainValues::Exact(values)) => Ok(Self::Exact(values)),
            Some(PlainValues::Approx(values)) => Ok(Self::Approx(values)),
            None => Err(ClientError::Answer { what: "a chunk has no plain values".into() }),
        }
    }

    /// The values at `rows`; `None` where there is none.
    pub(crate) fn at(&self, rows: &[usize]) -> Option<Self> {
        Some(match self {
            Self::Exact(values) => {
                Self::Exact(rows.iter().map(|row| values.get(*row).copied()).collect::<Option<_>>()?)
            }
            Self::Approx(values) => {
                Self::Approx(rows.iter().map(|row| values.get(*row).copied()).collect::<Option<_>>()?)
            }
        })
    }

    /// Leaves the first `rows` values, and gives those behind them.
    fn split_off(&mut self, rows: usize) -> Self {
        match self {
            Self::Exact(values) => Self::Exact(values.split_off(rows.min(values.len()))),
            Self::Approx(values) => Self::Approx(values.split_off(rows.min(values.len()))),
        }
    }

    /// Adds the values of the next chunk of the same column.
    ///
    /// # Errors
    /// None but bugs: a column is exact or approximate throughout.
    pub(crate) fn append(&mut self, next: Self) -> Result<(), ClientError> {
        match (self, next) {
            (Self::Exact(values), Self::Exact(next)) => values.extend(next),
            (Self::Approx(values), Self::Approx(next)) => values.extend(next),
            _ => return Err(ClientError::Internal { what: "a column changes its kind between chunks" }),
        }
        Ok(())
    }

    /// The values of some rows as an engine that encrypts nothing takes them.
    pub(crate) fn to_plain(&self, rows: std::ops::Range<usize>) -> PlainValues {
        match self {
            Self::Exact(values) => PlainValues::Exact(values.get(rows).unwrap_or_default().to_vec()),
            Self::Approx(values) => PlainValues::Approx(values.get(rows).unwrap_or_default().to_vec()),
        }
    }

    /// What a validity column says of each row: a NULL where it has no value.
    ///
    /// # Errors
    /// None but bugs: validity is exact.
    pub(crate) fn nulls(&self) -> Result<NullBuffer, ClientError> {
        match self {
            Self::Exact(values) => Ok(values.iter().map(|value| *value == I256::ONE).collect()),
            Self::Approx(_) => Err(ClientError::Internal { what: "an approximate validity" }),
        }
    }
}

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
