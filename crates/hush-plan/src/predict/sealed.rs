// SPDX-License-Identifier: Apache-2.0
//! Bytes of sealed columns, which have no size that follows from their rows: what the owner counted, and for rows that nobody counted what the
//! files have beside all that is known, divided as the counted rows of the columns are.

use std::collections::BTreeMap;

use super::sizes::{OBJECT_OVERHEAD_BYTES, body_bytes, find};
use super::{ChunkShape, MeanBytes, PartShape, TableShape};
use crate::encoding::Encoding;
use crate::error::PlanError;

/// Bytes that a part's file has beside the objects of an encoded column, about: of a table of very many they count.
const COLUMN_BYTES: u64 = 54;

/// The bytes of each sealed column of a table that is no copy.
pub(super) struct Shares {
    /// Rows of the table.
    rows: u64,
    /// By the numbers of the columns.
    columns: BTreeMap<u32, f64>,
    /// What the files have of no column that is known.
    rest: f64,
}

impl Shares {
    /// Those of a table.
    ///
    /// # Errors
    /// [`PlanError::BadEncoding`] for an encoding or parameter set that the table does not have.
    pub(super) fn of(shape: &TableShape, encodings: &[Encoding]) -> Result<Self, PlanError> {
        let rows = shape.rows();
        let counted: Vec<(u32, MeanBytes)> = shape
            .under_seal()
            .filter(|column| column.copy.is_none())
            .map(|column| (column.number, column.mean.unwrap_or_default().within(rows)))
            .collect();
        let known: f64 = counted.iter().map(|(_, mean)| mean.bytes as f64).sum();
        let rest = (file_bytes(shape) as f64 - other_bytes(shape, encodings)? as f64 - known).max(0.0);
        // A row that nobody counted weighs as much as one of its column that was; as one of any, if none of its column was.
        let all_rows: f64 = counted.iter().map(|(_, mean)| mean.rows as f64).sum();
        let any = if known > 0.0 { known / all_rows } else { 1.0 };
        let weight = |mean: &MeanBytes| {
            let each = if mean.rows > 0 { mean.bytes as f64 / mean.rows as f64 } else { any };
            rows.saturating_sub(mean.rows) as f64 * each
        };
        let weights: f64 = counted.iter().map(|(_, mean)| weight(mean)).sum();
        let share = if weights > 0.0 { rest / weights } else { 0.0 };
        let columns =
            counted.iter().map(|(number, mean)| (*number, mean.bytes as f64 + share * weight(mean)));
        Ok(Self { rows, columns: columns.collect(), rest })
    }

    /// Bytes of a column in so many rows, which are taken for average ones; at most [`MeanBytes::MOST`].
    pub(super) fn of_rows(&self, number: u32, rows: u64) -> u64 {
        let all = self.columns.get(&number).unwrap_or(&self.rest);
        // A float that is too large becomes the greatest integer.
        ((all * rows as f64 / self.rows.max(1) as f64) as u64).min(MeanBytes::MOST)
    }
}

/// Bytes of the files of encrypted columns.
fn file_bytes(shape: &TableShape) -> u64 {
    shape.parts.iter().map(|part| part.encrypted_bytes).fold(0, u64::saturating_add)
}

/// Bytes of all but sealed columns in the files of encrypted ones: of encodings and copies.
fn other_bytes(shape: &TableShape, encodings: &[Encoding]) -> Result<u64, PlanError> {
    let mut bytes = 0;
    for encoding in encodings {
        let (_, sizes) = find(encodings, encoding.id)?;
        let without = shape.without(encoding.id);
        let stored = shape.parts.iter().filter(|part| !without.contains(&part.generation));
        let of_part = |part: &PartShape| {
            let body = |rows| {
                let chunk = ChunkShape { rows, is_cut: part.is_cut };
                body_bytes(&encoding.packing, &sizes, None, chunk) + OBJECT_OVERHEAD_BYTES
            };
            COLUMN_BYTES + part.chunks().map(body).sum::<u64>()
        };
        bytes += stored.map(of_part).sum::<u64>();
    }
    let copies = shape.under_seal().filter_map(|column| column.copy);
    let copies = copies.flat_map(|copy| shape.chunks().into_iter().map(move |rows| copy.bytes(rows)));
    Ok(bytes + copies.sum::<u64>())
}
