// SPDX-License-Identifier: Apache-2.0
//! Programs on one chunk: ring element after ring element, to the object that the answer carries.

use hush_params::size;
use hush_plan::plan::SlotExpr;
use hush_plan::{EncodingId, Layout, Plaintext};
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::{Body, BodyId, BodyKind, CiphertextSet, OVERHEAD_BYTES, ObjectRounding, RlweCiphertext};
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::ChunkRow;

use super::element::{ChunkColumns, ElementInput};
use super::{approx, exact};
use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::noop::{self, Scheme};
use crate::program::{ProgramShape, element_count, rounding, rows_per_element};
use crate::table::{self, PartRef, Snapshot, StoredBody};

/// A program with the tables that its evaluation needs.
pub(super) struct Evaluator<'a> {
    expr: &'a SlotExpr,
    shape: &'a ProgramShape,
    scheme: Scheme,
    ring: Ring,
    encoder: Encoder,
    bits: Option<u32>,
    rounding: Option<ObjectRounding>,
}

enum Encoder {
    Approximate(ApproxEncoder, Scale),
    Exact(SlotEncoder),
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
        let internal = |_| ExecError::Internal { place: "slot encoder" };
        let encoder = match &shape.plaintext {
            Plaintext::Primes { primes } => {
                Encoder::Exact(SlotEncoder::new(&ring, primes).map_err(internal)?)
            }
            Plaintext::Scale { log2 } => {
                let scale = Scale::from_log2(*log2).map_err(internal)?;
                Encoder::Approximate(ApproxEncoder::new(&ring), scale)
            }
            Plaintext::PowerOfTwo { .. } => return Err(ExecError::Internal { place: "slot plaintext" }),
        };
        let rounding = bits.map(|bits| rounding(&ring, &shape.plaintext, bits)).transpose();
        let rounding =
            rounding.map_err(|_| ExecError::Internal { place: "rounding of a program" })?.flatten();
        Ok(Self { expr, shape, scheme, ring, encoder, bits, rounding })
    }

    /// Bytes of the object for a chunk of `rows` rows.
    pub(super) fn object_bytes(&self, rows: u32) -> u64 {
        let elements = u64::from(element_count(self.shape.layout, self.shape.set, rows));
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
        let values = match &self.encoder {
            Encoder::Exact(encoder) => exact::evaluate_plain(self.expr, encoder, &input),
            Encoder::Approximate(encoder, scale) => {
                approx::evaluate_plain(self.expr, encoder, *scale, &input)
            }
        };
        Ok(values?.encode())
    }

    fn evaluate_encrypted(&self, input: &ChunkInput<'_>) -> Result<Vec<u8>, ExecError> {
        let seed = input.row.seed.ok_or(ExecError::Corrupt { code: "HUSH-T033" })?;
        let rows = input.row.rows;
        let elements = element_count(self.shape.layout, self.shape.set, rows);
        let bodies: Vec<(EncodingId, Body<'_>)> = (self.shape.columns.iter())
            .map(|id| Ok((*id, self.body(input, *id, elements)?)))
            .collect::<Result<_, ExecError>>()?;
        let span = rows_per_element(self.shape.layout, self.shape.set);
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
            ciphertexts.extend(self.element(&input)?);
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

    fn element(&self, input: &ElementInput<'_>) -> Result<Vec<RlweCiphertext>, ExecError> {
        match &self.encoder {
            Encoder::Exact(encoder) => exact::evaluate(self.expr, encoder, input),
            Encoder::Approximate(encoder, scale) => {
                let result = approx::evaluate(self.expr, encoder, *scale, input)?;
                if result.scale().log2() != scale.log2() * self.shape.scale_power {
                    return Err(ExecError::Internal { place: "scale of a program" });
                }
                Ok(vec![result.into_ciphertext()])
            }
        }
    }

    fn body<'b>(
        &self,
        input: &ChunkInput<'b>,
        column: EncodingId,
        elements: u32,
    ) -> Result<Body<'b>, ExecError> {
        debug_assert!(matches!(self.shape.layout, Layout::Slots | Layout::ApproxSlots));
        let id = BodyId {
            column: column.0,
            chunk: input.row.written,
            element_count: elements,
            lanes: self.shape.lanes(),
        };
        let stored =
            StoredBody { blob: input.blob(column)?, kind: BodyKind::Slot, id, index: input.row.index };
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
