// SPDX-License-Identifier: Apache-2.0
//! The server's work on the columns of each packing, beyond the properties that the planner knows.
//!
//! Each packing has a file of its name here. Masked sums need no such file: in packings that can be summed, the rows are
//! the coefficients in order, with one ciphertext for each ring element.

mod approx_slots;
mod approx_sum;
pub(crate) mod element;
mod slots;
mod sum;

use hush_params::ParamSet;
use hush_plan::plan::SlotExpr;
use hush_plan::{EncodingId, Packing, Stored};
use hush_ring::Ring;
use hush_rlwe::{BodyId, BodyKind, CodecError, ObjectRounding, PlaintextModulus, RlweCiphertext};

use self::element::{Bodies, ElementInput, PlainColumns};
use crate::error::ExecError;
use crate::plain::PlainValues;

/// Everything that differs by packing.
trait Served {
    /// The plaintext moduli of each ring element's ciphertexts; none for approximate packings.
    fn moduli(&self) -> Vec<PlaintextModulus>;

    /// The arithmetic of programs on it.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if there are no programs on it, or if its plaintext space does not suit the ring. The checks of
    /// plan and manifest rule out both.
    fn arithmetic(&self, _ring: &Ring) -> Result<Box<dyn Arithmetic>, ExecError> {
        Err(ExecError::Internal { place: "slot plaintext" })
    }
}

/// Evaluates programs of checked shape on one ring element.
pub(crate) trait Arithmetic: Send + Sync {
    /// The result's ciphertexts, one for each lane. `scale_power` is that of the program's shape, for approximate results.
    ///
    /// # Errors
    /// [`ExecError::Weight`] for clear values that are out of range; [`ExecError::Internal`] otherwise.
    fn evaluate(
        &self,
        expr: &SlotExpr,
        scale_power: u32,
        columns: &Bodies<'_>,
        input: &ElementInput<'_>,
    ) -> Result<Vec<RlweCiphertext>, ExecError>;

    /// The same program on plain columns: the values of the rows.
    ///
    /// # Errors
    /// As [`Arithmetic::evaluate`], and for results beyond 256 bits too.
    fn evaluate_plain(
        &self,
        expr: &SlotExpr,
        columns: &PlainColumns<'_>,
        input: &ElementInput<'_>,
    ) -> Result<PlainValues, ExecError>;
}

fn served(packing: &Packing) -> &dyn Served {
    match packing {
        Packing::ApproxSlots(packing) => packing,
        Packing::ApproxSum(packing) => packing,
        Packing::Slots(packing) => packing,
        Packing::Sum(packing) => packing,
    }
}

/// The arithmetic of programs on columns of a packing.
///
/// # Errors
/// [`ExecError::Internal`].
pub(crate) fn arithmetic(packing: &Packing, ring: &Ring) -> Result<Box<dyn Arithmetic>, ExecError> {
    served(packing).arithmetic(ring)
}

/// The rounding of a packing's objects; `None` for approximate packings, whose objects are not rounded.
///
/// # Errors
/// [`CodecError`] for bits out of range.
pub fn rounding(ring: &Ring, packing: &Packing, bits: u32) -> Result<Option<ObjectRounding>, CodecError> {
    let moduli = served(packing).moduli();
    if moduli.is_empty() { Ok(None) } else { ObjectRounding::new(ring, bits, &moduli).map(Some) }
}

/// Kind and identity of the stored body of a column in a chunk of `rows` rows; `None` where no polynomials are stored.
pub fn stored_body(
    column: EncodingId,
    packing: &Packing,
    set: &ParamSet,
    (chunk, rows): (u32, u32),
) -> Option<(BodyKind, BodyId)> {
    let kind = match packing.stored()? {
        Stored::Coefficients => BodyKind::Sum,
        Stored::Evaluations => BodyKind::Slot,
    };
    let element_count = packing.element_count(set, rows);
    Some((kind, BodyId { column: column.0, chunk, element_count, lanes: lanes(packing) }))
}

/// Ciphertexts for each ring element, as objects count them.
pub fn lanes(packing: &Packing) -> u8 {
    u8::try_from(packing.lanes()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use hush_params::{PLAINTEXT_PRIMES_45, preset};
    use hush_plan::packing::{ApproxSlots, ApproxSum, Slots, Sum};
    use hush_rlwe::{OVERHEAD_BYTES, body_bytes};

    use super::*;
    use crate::table;

    /// The planner counts the bytes of objects without a ring, and objects have as many.
    #[test]
    fn planner_and_objects_agree_on_every_packing() {
        let packings = [
            Packing::ApproxSlots(ApproxSlots { scale_log2: 40 }),
            Packing::ApproxSum(ApproxSum { scale_log2: 40 }),
            Packing::Slots(Slots::of(PLAINTEXT_PRIMES_45[..3].to_vec())),
            Packing::Sum(Sum { t_log2: 40 }),
        ];
        let set = preset("n13_q3x46_sec128_v1").unwrap();
        let ring = table::ring(set).unwrap();
        for packing in packings {
            for rows in [1, 4096, 4097, 8192] {
                let (_, id) = stored_body(EncodingId(7), &packing, set, (3, rows)).unwrap();
                let counted = packing.element_bytes(set, None) * packing.element_count(set, rows) as usize;
                let stored = body_bytes(&ring, id.element_count, id.lanes);
                assert_eq!(stored, counted + OVERHEAD_BYTES, "{packing:?} of {rows} rows");
            }
            assert_eq!(rounding(&ring, &packing, 60).unwrap().is_some(), packing.rounds(), "{packing:?}");
            assert_eq!(arithmetic(&packing, &ring).is_ok(), packing.evaluates(), "{packing:?}");
        }
    }
}
