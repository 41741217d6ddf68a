// SPDX-License-Identifier: Apache-2.0
//! The input of a program: its columns on the rows of one ring element.

use hush_plan::EncodingId;
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::Body;
use hush_schemes::SchemeError;

use crate::clear::select::Operand;
use crate::error::{ExecError, ExpressionRole};
use crate::plain::PlainValues;

/// A program's encrypted columns in a chunk: bodies under the chunk's seed.
pub(crate) struct Bodies<'a> {
    pub(crate) seed: UniformSeed,
    pub(crate) bodies: &'a [(EncodingId, Body<'a>)],
}

/// A program's columns in a chunk of a dry run: the values of all its rows.
pub(crate) struct PlainColumns<'a>(pub(crate) &'a [(EncodingId, PlainValues)]);

/// The rows that a ring element covers, with a program's clear operands.
pub(crate) struct ElementInput<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) operands: &'a [Operand],
    pub(crate) element: u32,
    pub(crate) first_row: usize,
    pub(crate) row_count: usize,
}

impl Bodies<'_> {
    /// The body of a column, and its seed.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it is not there.
    pub(crate) fn of(&self, column: EncodingId) -> Result<(UniformSeed, &Body<'_>), ExecError> {
        let found = self.bodies.iter().find(|(id, _)| *id == column);
        found.map(|(_, body)| (self.seed, body)).ok_or(NO_COLUMN)
    }
}

impl PlainColumns<'_> {
    /// The values of a column.
    ///
    /// # Errors
    /// As [`Bodies::of`].
    pub(crate) fn of(&self, column: EncodingId) -> Result<&PlainValues, ExecError> {
        self.0.iter().find(|(id, _)| *id == column).map(|(_, values)| values).ok_or(NO_COLUMN)
    }
}

impl ElementInput<'_> {
    /// An operand on the rows of the element, from its whole chunk's values.
    pub(crate) fn rows<'v, T>(&self, values: &'v [T]) -> &'v [T] {
        values.get(self.first_row..self.first_row + self.row_count).unwrap_or_default()
    }
}

const NO_COLUMN: ExecError = ExecError::Internal { place: "column of a program" };

/// The engine's error for a refusal of the scheme.
pub(crate) fn scheme_error(error: SchemeError) -> ExecError {
    match error {
        SchemeError::NotFinite { .. } | SchemeError::ValueRange { .. } => {
            ExecError::Weight { role: ExpressionRole::ClearHalf }
        }
        _ => ExecError::Internal { place: "slot arithmetic" },
    }
}
