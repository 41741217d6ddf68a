// SPDX-License-Identifier: Apache-2.0
//! Stored columns that a plan fetches: their bodies as they are, or rounded.

use hush_ring::Ring;
use hush_rlwe::{OVERHEAD_BYTES, ObjectRounding, has_masks, masked_body_bytes};

use crate::conform::FetchShape;
use crate::error::ExecError;
use crate::packing::stored_body;
use crate::scheme::{ChunkInput, Scheme};
use crate::table::{self, StoredBody};

/// A fetched column, ready to be rounded.
pub(super) struct Fetcher<'a> {
    shape: &'a FetchShape,
    ring: Ring,
    /// `None` where bodies go back as they are: in dry runs always.
    rounding: Option<ObjectRounding>,
}

impl<'a> Fetcher<'a> {
    /// Prepares a column.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it cannot be rounded as its shape says, which the check of the plan rules out.
    pub(super) fn new<S: Scheme>(shape: &'a FetchShape) -> Result<Self, ExecError> {
        let ring = table::ring(shape.set)?;
        let rounding = shape.bits.map(|bits| S::rounding(&ring, &shape.packing, bits)).transpose()?.flatten();
        Ok(Self { shape, ring, rounding })
    }

    /// Bytes of the object for a chunk of `rows` rows, which a device or the owner encrypted.
    pub(super) fn object_bytes(&self, rows: u32, from_device: bool) -> u64 {
        let elements = self.shape.packing.element_count(self.shape.set, rows);
        if from_device {
            return masked_body_bytes(&self.ring, elements) as u64;
        }
        let element = self.shape.packing.element_bytes(self.shape.set, self.shape.bits) as u64;
        u64::from(elements) * element + OVERHEAD_BYTES as u64
    }

    /// The column of a chunk.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Internal`].
    pub(super) fn fetch(&self, input: &ChunkInput<'_>) -> Result<Vec<u8>, ExecError> {
        let blob = input.blob(self.shape.id)?;
        // Bodies that devices encrypted go back whole: the owner needs the masks beside them.
        let Some(rounding) = self.rounding.as_ref().filter(|_| !has_masks(blob)) else {
            return Ok(blob.to_vec());
        };
        let FetchShape { id, packing, set, .. } = self.shape;
        let body = stored_body(*id, packing, set, (input.row.written, input.row.rows));
        let (kind, id) = body.ok_or(ExecError::Internal { place: "form of a column" })?;
        let stored = StoredBody { blob, kind, id, index: input.row.index };
        let body = input.snapshot.body(input.part, &self.ring, stored)?;
        rounding.round_body(&body, kind).map_err(|_| ExecError::Internal { place: "rounded column" })
    }
}
