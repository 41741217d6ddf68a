// SPDX-License-Identifier: Apache-2.0
//! Programs on one chunk: ring element after ring element, to the object that the answer carries.

use hush_params::size;
use hush_plan::EncodingId;
use hush_plan::plan::SlotExpr;
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::{Body, CiphertextSet, OVERHEAD_BYTES, ObjectRounding};
use hush_table::ChunkRow;

use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::noop::{self, Scheme};
use crate::packing::element::{ChunkColumns, ElementInput};
use crate::packing::{Arithmetic, arithmetic, rounding, stored_body};
use crate::program::ProgramShape;
use crate::table::{self, PartRef, Snapshot, StoredBody};

/// A program with the tables that its evaluation needs.
pub(super) struct Evaluator<'a> {
    expr: &'a SlotExpr,
    shape: &'a ProgramShape,
    scheme: Scheme,
    ring: Ring,
    arithmetic: Box<dyn Arithmetic>,
    bits: Option<u32>,
    rounding: Option<ObjectRounding>,
}

/// What there is to evaluate a program on in one chunk.
pub(super) struct ChunkInput<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) part: PartRef<'a>,
    /// The columns read, ascending; blobs of `row` in the same order.
    pub(super) columns: &'a [EncodingId],
    pub(super) row: &'a ChunkRow,
    pub(super) operands: &'a [Operand],
}

impl<'a> Evaluator<'a> {
    /// Prepares a program, whose result is rounded to `bits` bits if there are any.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the manifest's plaintext space does not suit the ring, or the bits the space, which their checks
    /// rule out.
    pub(super) fn new(
        expr: &'a SlotExpr,
        shape: &'a ProgramShape,
        bits: Option<u32>,
        scheme: Scheme,
    ) -> Result<Self, ExecError> {
        let ring = table::ring(shape.set)?;
        let arithmetic = arithmetic(&shape.packing, &ring)?;
        let rounding = bits.map(|bits| rounding(&ring, &shape.packing, bits)).transpose();
        let rounding =
            rounding.map_err(|_| ExecError::Internal { place: "rounding of a program" })?.flatten();
        Ok(Self { expr, shape, scheme, ring, arithmetic, bits, rounding })
    }

    /// Bytes of the object for a chunk of `rows` rows.
    pub(super) fn object_bytes(&self, rows: u32) -> u64 {
        let elements = u64::from(self.shape.packing.element_count(self.shape.set, rows));
        let polys = elements * u64::from(self.shape.lanes()) * u64::from(self.shape.components());
        polys * size::answer_poly_bytes(self.shape.set, self.bits) as u64 + OVERHEAD_BYTES as u64
    }

    /// Evaluates the program on a chunk: an encoded [`CiphertextSet`], or encoded [`noop::PlainValues`] in a dry run.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Weight`], [`ExecError::Internal`].
    pub(super) fn evaluate(&self, input: &ChunkInput<'_>) -> Result<Vec<u8>, ExecError> {
        match self.scheme {
            Scheme::Lattice => self.evaluate_encrypted(input),
            Scheme::NoOp => self.evaluate_plain(input),
        }
    }

    fn evaluate_plain(&self, input: &ChunkInput<'_>) -> Result<Vec<u8>, ExecError> {
        let column = |id: &EncodingId| Ok((*id, noop::column(input.blob(*id)?)?));
        let columns = self.shape.columns.iter().map(column).collect::<Result<Vec<_>, ExecError>>()?;
        let input = ElementInput {
            ring: &self.ring,
            columns: ChunkColumns::Plain(&columns),
            operands: input.operands,
            element: 0,
            first_row: 0,
            row_count: input.row.rows as usize,
        };
        Ok(self.arithmetic.evaluate_plain(self.expr, &input)?.encode())
    }

    fn evaluate_encrypted(&self, input: &ChunkInput<'_>) -> Result<Vec<u8>, ExecError> {
        let seed = input.row.seed.ok_or(ExecError::Corrupt { code: "HUSH-T033" })?;
        let rows = input.row.rows;
        let elements = self.shape.packing.element_count(self.shape.set, rows);
        let bodies: Vec<(EncodingId, Body<'_>)> = (self.shape.columns.iter())
            .map(|id| Ok((*id, self.body(input, *id)?)))
            .collect::<Result<_, ExecError>>()?;
        let span = self.shape.packing.rows_per_element(self.shape.set);
        let mut ciphertexts = Vec::new();
        for element in 0..elements {
            let first_row = element as usize * span;
            let input = ElementInput {
                ring: &self.ring,
                columns: ChunkColumns::Encrypted { seed: UniformSeed::from_bytes(seed), bodies: &bodies },
                operands: input.operands,
                element,
                first_row,
                row_count: (rows as usize - first_row).min(span),
            };
            ciphertexts.extend(self.arithmetic.evaluate(self.expr, self.shape.scale_power, &input)?);
        }
        let set = CiphertextSet { ciphertexts, lanes: self.shape.lanes() };
        let chunk = input.row.index;
        let bytes = match &self.rounding {
            Some(rounding) => rounding.round_ciphertexts(&set, chunk),
            None => set.encode(&self.ring, chunk),
        };
        let bytes = bytes.map_err(|_| ExecError::Internal { place: "ciphertext set" })?;
        if bytes.len() as u64 != self.object_bytes(rows) {
            return Err(ExecError::Internal { place: "size of a ciphertext set" });
        }
        Ok(bytes)
    }

    fn body<'b>(&self, input: &ChunkInput<'b>, column: EncodingId) -> Result<Body<'b>, ExecError> {
        let place = (input.row.written, input.row.rows);
        let body = stored_body(column, &self.shape.packing, self.shape.set, place);
        let (kind, id) = body.ok_or(ExecError::Internal { place: "form of a column" })?;
        let stored = StoredBody { blob: input.blob(column)?, kind, id, index: input.row.index };
        input.snapshot.body(input.part, &self.ring, stored)
    }
}

impl<'a> ChunkInput<'a> {
    /// The blob of a column.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it has not been read.
    pub(super) fn blob(&self, column: EncodingId) -> Result<&'a [u8], ExecError> {
        let place = self.columns.binary_search(&column).ok();
        let blob = place.and_then(|place| self.row.encoded.get(place));
        blob.map(AsRef::as_ref).ok_or(ExecError::Internal { place: "column of a chunk" })
    }
}
