// SPDX-License-Identifier: Apache-2.0
//! Encodings that suffice for what a query asks of them, with their bounds and the bytes that they take in an answer.

use hush_params::{ParamSet, size};

use crate::bounds::{Bound, Values};
use crate::encoding::PrivateEncoding;
use crate::packing::Packing;
use crate::plan::SlotExpr;
use crate::predict::CHUNK_ROWS;
use crate::writers::Writers;

/// An encoding that suffices for a sum or for fetching.
pub(crate) struct UsableEncoding<'a> {
    pub(crate) encoding: &'a PrivateEncoding,
    pub(crate) set: &'static ParamSet,
    /// The encrypters of its rows: the owner, or devices too.
    pub(crate) writers: Writers,
    /// Distance in bits of the noise bound from its limit.
    pub(crate) margin: f64,
    /// Absolute error bound, for approximate ones.
    pub(crate) error: Option<f64>,
    /// The values of one row, times its weight.
    pub(crate) values: Values,
    /// How a fetched column may be rounded.
    pub(crate) rounded: Option<Rounded>,
}

/// How polynomials of an answer travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    Residues,
    /// Rounded, where that saves bytes.
    Rounded,
}

/// Coefficients of an answer in as few bits as its bounds allow.
#[derive(Clone, Copy)]
pub(crate) struct Rounded {
    pub(crate) bits: u32,
    /// Distance in bits of the noise bound from its limit, once restored.
    pub(crate) margin: f64,
}

impl UsableEncoding<'_> {
    /// The bound of its decrypted numbers.
    pub(crate) fn bound(&self) -> Bound {
        let margin = self.rounded.map_or(self.margin, |rounded| rounded.margin);
        bound_of(self.values.clone(), self.set, margin)
    }
}

impl BoundProgram {
    /// The bound of its decrypted results.
    pub(crate) fn bound(&self) -> Bound {
        let margin = self.rounded.map_or(self.margin, |rounded| rounded.margin);
        bound_of(self.values.clone(), self.set, margin)
    }
}

fn bound_of(values: Values, set: &ParamSet, margin: f64) -> Bound {
    let is_exact = matches!(values, Values::Exact(_));
    Bound { values, phase_log2: is_exact.then(|| set.log_q() - 1.0 - margin) }
}

/// A program over encodings that suffice.
pub(crate) struct BoundProgram {
    pub(crate) expression: SlotExpr,
    pub(crate) set: &'static ParamSet,
    pub(crate) packing: Packing,
    pub(crate) margin: f64,
    pub(crate) error: Option<f64>,
    /// The values of its result in one row.
    pub(crate) values: Values,
    /// For an approximate program: what its columns and clear operands may reach at most.
    pub(crate) magnitude: Option<f64>,
    /// How its result may be rounded.
    pub(crate) rounded: Option<Rounded>,
}

/// Bytes of one chunk of a column that goes back.
pub(crate) fn fetched_bytes(set: &ParamSet, packing: &Packing, rounded: Option<Rounded>) -> usize {
    packing.element_bytes(set, rounded.map(|rounded| rounded.bits)) * rings(set, packing)
}

pub(crate) fn poly_bytes(set: &ParamSet, rounded: Option<Rounded>) -> usize {
    size::answer_poly_bytes(set, rounded.map(|rounded| rounded.bits))
}

/// Ring elements of a chunk.
pub(crate) fn rings(set: &ParamSet, packing: &Packing) -> usize {
    (CHUNK_ROWS as usize).div_ceil(packing.rows_per_element(set))
}
