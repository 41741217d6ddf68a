// SPDX-License-Identifier: Apache-2.0
//! What a program is evaluated on: its columns on the rows of one ring element.

use hush_plan::EncodingId;
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::Body;
use hush_schemes::SchemeError;

use crate::clear::select::Operand;
use crate::error::{ExecError, ExpressionRole};
use crate::noop::PlainValues;

/// A program's columns in a chunk.
#[derive(Clone, Copy)]
pub(crate) enum ChunkColumns<'a> {
    /// Bodies under a seed.
    Encrypted { seed: UniformSeed, bodies: &'a [(EncodingId, Body<'a>)] },
    /// Values of all rows of the chunk, which is one element here.
    Plain(&'a [(EncodingId, PlainValues)]),
}

/// The columns of a program, and which rows a ring element covers.
pub(crate) struct ElementInput<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) columns: ChunkColumns<'a>,
    pub(crate) operands: &'a [Operand],
    pub(crate) element: u32,
    pub(crate) first_row: usize,
    pub(crate) row_count: usize,
}

impl ElementInput<'_> {
    /// The body of an encrypted column, and its seed.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it is not there.
    pub(crate) fn body(&self, column: EncodingId) -> Result<(UniformSeed, &Body<'_>), ExecError> {
        let ChunkColumns::Encrypted { seed, bodies } = self.columns else { return Err(NO_COLUMN) };
        let found = bodies.iter().find(|(id, _)| *id == column);
        found.map(|(_, body)| (seed, body)).ok_or(NO_COLUMN)
    }

    /// The values of a plain column.
    ///
    /// # Errors
    /// As [`ElementInput::body`].
    pub(crate) fn plain(&self, column: EncodingId) -> Result<&PlainValues, ExecError> {
        let ChunkColumns::Plain(columns) = self.columns else { return Err(NO_COLUMN) };
        columns.iter().find(|(id, _)| *id == column).map(|(_, values)| values).ok_or(NO_COLUMN)
    }

    /// An operand on the rows of the element, from its whole chunk's values.
    pub(crate) fn rows<'v, T>(&self, values: &'v [T]) -> &'v [T] {
        values.get(self.first_row..self.first_row + self.row_count).unwrap_or_default()
    }
}

const NO_COLUMN: ExecError = ExecError::Internal { place: "column of a program" };

/// What a refusal of the scheme means here.
pub(crate) fn scheme_error(error: SchemeError) -> ExecError {
    match error {
        SchemeError::NotFinite { .. } | SchemeError::ValueRange { .. } => {
            ExecError::Weight { role: ExpressionRole::ClearHalf }
        }
        _ => ExecError::Internal { place: "slot arithmetic" },
    }
}
