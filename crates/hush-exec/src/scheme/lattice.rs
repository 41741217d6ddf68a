// SPDX-License-Identifier: Apache-2.0
//! BGV and CKKS: columns and answers are ciphertexts.

mod products;

use hush_plan::{EncodingId, Packing};
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::{
    Body, BodyId, BodyKind, CiphertextSet, ObjectRounding, SumAnswer, UncheckedSumAnswer, sum_answer_bytes,
};
use hush_schemes::bgv::sum::SumAccumulator;
use rayon::prelude::*;

use self::products::ProductBlocks;
use super::{BlockInput, ChunkInput, DAMAGED, Program, RunningSums, Scheme, Total};
use crate::clear::masks::RowMask;
use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::kept::KeptSum;
use crate::packing::element::{Bodies, ElementInput};
use crate::packing::{rounding, stored_body};
use crate::table::StoredBody;

/// Computes on ciphertexts.
pub(crate) struct Lattice;

impl Scheme for Lattice {
    type Sums = SumAccumulator;
    type Total = SumAnswer;
    type Products = ProductBlocks;

    fn rounding(ring: &Ring, packing: &Packing, bits: u32) -> Result<Option<ObjectRounding>, ExecError> {
        rounding(ring, packing, bits).map_err(|_| ExecError::Internal { place: "rounding of an object" })
    }

    /// Ring element after ring element.
    fn evaluate(
        program: &Program<'_>,
        chunk: &ChunkInput<'_>,
        operands: &[Operand],
    ) -> Result<Vec<u8>, ExecError> {
        let Program { shape, ring, .. } = program;
        let body = |id: &EncodingId| Ok((*id, program_body(program, chunk, *id)?));
        let bodies = shape.columns.iter().map(body).collect::<Result<Vec<_>, ExecError>>()?;
        let bodies = Bodies { seed: seed_of(chunk)?, bodies: &bodies };
        let span = shape.packing.rows_per_element(shape.set);
        let mut ciphertexts = Vec::new();
        for element in 0..shape.packing.element_count(shape.set, chunk.row.rows) {
            let first_row = element as usize * span;
            let row_count = (chunk.row_count() - first_row).min(span);
            let input = ElementInput { ring, operands, element, first_row, row_count };
            let results = program.arithmetic.evaluate(program.expr, shape.scale_power, &bodies, &input)?;
            ciphertexts.extend(results);
        }
        let set = CiphertextSet { ciphertexts, lanes: shape.lanes() };
        let bytes = match &program.rounding {
            Some(rounding) => rounding.round_ciphertexts(&set, chunk.row.index),
            None => set.encode(ring, chunk.row.index),
        };
        let bytes = bytes.map_err(|_| ExecError::Internal { place: "ciphertext set" })?;
        if bytes.len() as u64 != program.object_bytes(chunk.row.rows) {
            return Err(ExecError::Internal { place: "size of a ciphertext set" });
        }
        Ok(bytes)
    }
}

fn program_body<'b>(
    program: &Program<'_>,
    chunk: &ChunkInput<'b>,
    column: EncodingId,
) -> Result<Body<'b>, ExecError> {
    let place = (chunk.row.written, chunk.row.rows);
    let body = stored_body(column, &program.shape.packing, program.shape.set, place);
    let (kind, id) = body.ok_or(ExecError::Internal { place: "form of a column" })?;
    let stored = StoredBody { blob: chunk.blob(column)?, kind, id, index: chunk.row.index };
    chunk.snapshot.body(chunk.part, &program.ring, stored)
}

fn seed_of(chunk: &ChunkInput<'_>) -> Result<UniformSeed, ExecError> {
    chunk.row.seed.map(UniformSeed::from_bytes).ok_or(DAMAGED)
}

impl RunningSums for SumAccumulator {
    const CAN_BE_KEPT: bool = true;

    fn new(ring: &Ring, group_count: usize, column_count: usize) -> Self {
        Self::new(ring, group_count, column_count)
    }

    fn memory_bytes(ring: &Ring, group_count: usize, column_count: usize) -> usize {
        Self::memory_bytes(ring, group_count, column_count)
    }

    fn absorb(&mut self, mask: &RowMask, block: &BlockInput<'_>) -> Result<(), ExecError> {
        if *mask == RowMask::Nothing {
            return Ok(());
        }
        let BlockInput { ring, columns, chunk } = block;
        let element_count = chunk.row.rows.div_ceil(ring.degree() as u32);
        let body = |column: &EncodingId| {
            let id = BodyId { column: column.0, chunk: chunk.row.written, element_count, lanes: 1 };
            let blob = chunk.blob(*column)?;
            let stored = StoredBody { blob, kind: BodyKind::Sum, id, index: chunk.row.index };
            chunk.snapshot.body(chunk.part, ring, stored)
        };
        let seed = seed_of(chunk)?;
        let bodies = columns.iter().map(body).collect::<Result<Vec<_>, _>>()?;
        let absorbed = match mask {
            RowMask::Nothing => Ok(()),
            RowMask::All => self.absorb_unfiltered(seed, chunk.row_count(), &bodies),
            RowMask::Rows { groups, weights } => {
                self.absorb_masked(seed, groups, weights.as_deref(), &bodies)
            }
        };
        absorbed.map_err(|_| ExecError::Internal { place: "masked sum" })
    }

    fn merge(&mut self, other: Self) -> Result<(), ExecError> {
        Self::merge(self, other).map_err(|_| ExecError::Internal { place: "finished sums" })
    }

    fn encode(self, first: usize) -> Result<Vec<Vec<u8>>, ExecError> {
        let answers = self.finish().map_err(|_| ExecError::Internal { place: "finished sums" })?;
        let numbered = answers.into_par_iter().enumerate();
        numbered.map(|(index, answer)| Total::encode(&answer, (first + index) as u32)).collect()
    }

    fn into_kept(self) -> Result<KeptSum, ExecError> {
        let sum = self.into_partial().map_err(|_| ExecError::Internal { place: "kept sum" })?;
        Ok(sum.into())
    }

    fn absorb_kept(&mut self, sum: &KeptSum) -> Result<(), ExecError> {
        let bodies: Vec<&[u64]> = sum.bodies.iter().map(AsRef::as_ref).collect();
        self.absorb_partial(&sum.mask, &bodies).map_err(|_| ExecError::Internal { place: "kept sum" })
    }
}

impl Total for SumAnswer {
    fn decode(object: &[u8], ring: &Ring, group: u32, column_count: usize) -> Option<Self> {
        let answer = UncheckedSumAnswer::decode(object).ok()?;
        answer.conform(ring, group, u32::try_from(column_count).ok()?).ok()
    }

    fn add(&mut self, other: Self) -> Result<(), ExecError> {
        self.add_assign(&other).map_err(|_| ExecError::Internal { place: "sum of sums" })
    }

    fn encode(&self, group: u32) -> Result<Vec<u8>, ExecError> {
        self.encode(group).map_err(|_| ExecError::Internal { place: "encoded sum" })
    }

    fn object_bytes(ring: &Ring, column_count: usize) -> usize {
        sum_answer_bytes(ring, column_count)
    }
}
