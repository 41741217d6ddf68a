// SPDX-License-Identifier: Apache-2.0
//! Element-wise programs, ready to be evaluated on chunk after chunk.

use hush_params::size;
use hush_plan::plan::SlotExpr;
use hush_ring::Ring;
use hush_rlwe::{OVERHEAD_BYTES, ObjectRounding};

use super::Scheme;
use crate::error::ExecError;
use crate::packing::{Arithmetic, arithmetic};
use crate::program::ProgramShape;
use crate::table;

/// A program with the tables that its evaluation needs.
pub(crate) struct Program<'a> {
    pub(super) expr: &'a SlotExpr,
    pub(super) shape: &'a ProgramShape,
    pub(super) ring: Ring,
    pub(super) arithmetic: Box<dyn Arithmetic>,
    bits: Option<u32>,
    pub(super) rounding: Option<ObjectRounding>,
}

impl<'a> Program<'a> {
    /// Prepares a program. With `bits`, its result is rounded to so many.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the manifest's plaintext space does not suit the ring, or if `bits` do not suit the space. The
    /// checks of manifest and plan rule out both.
    pub(crate) fn new<S: Scheme>(
        expr: &'a SlotExpr,
        shape: &'a ProgramShape,
        bits: Option<u32>,
    ) -> Result<Self, ExecError> {
        let ring = table::ring(shape.set)?;
        let arithmetic = arithmetic(&shape.packing, &ring)?;
        let rounding = bits.map(|bits| S::rounding(&ring, &shape.packing, bits)).transpose()?.flatten();
        Ok(Self { expr, shape, ring, arithmetic, bits, rounding })
    }

    /// Bytes of the object for a chunk of `rows` rows. A dry run has no ciphertexts, but counts their bytes.
    pub(crate) fn object_bytes(&self, rows: u32) -> u64 {
        let elements = u64::from(self.shape.packing.element_count(self.shape.set, rows));
        let polys = elements * u64::from(self.shape.lanes()) * u64::from(self.shape.components());
        polys * size::answer_poly_bytes(self.shape.set, self.bits) as u64 + OVERHEAD_BYTES as u64
    }
}
