// SPDX-License-Identifier: Apache-2.0
//! Sizes of encodings: of parameter sets as counts, and of stored bodies.

use hush_params::{ParamSet, size};

use super::ChunkShape;
use crate::encoding::{Encoding, EncodingId};
use crate::error::{EncodingFault, PlanError};
use crate::packing::Packing;

/// Bytes that a packed object takes beyond its payload: header and checksum.
pub(super) const OBJECT_OVERHEAD_BYTES: u64 = size::OBJECT_OVERHEAD_BYTES as u64;

/// A parameter set with its sizes as counts.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) set: &'static ParamSet,
    /// `N`.
    pub(super) degree: u64,
    /// Primes.
    pub(super) limbs: u64,
    /// Butterflies of one transform.
    pub(super) butterflies: u64,
}

impl Sizes {
    pub(super) fn new(set: &'static ParamSet) -> Self {
        let degree = set.degree() as u64;
        let butterflies = degree / 2 * u64::from(degree.ilog2());
        Self { set, degree, limbs: set.limb_count() as u64, butterflies }
    }

    /// Bytes of one stored polynomial.
    pub(super) fn poly_bytes(&self) -> u64 {
        size::poly_bytes(self.set) as u64
    }

    /// Residues of one polynomial.
    pub(super) fn residues(&self) -> u64 {
        self.degree * self.limbs
    }
}

/// Bytes of the body of a column in a chunk, rounded to so many bits of each coefficient. One that is cut ends with the last row, unless it is
/// rounded.
pub(super) fn body_bytes(
    packing: &Packing,
    sizes: &Sizes,
    bits: Option<u32>,
    ChunkShape { rows, is_cut }: ChunkShape,
) -> u64 {
    let element_bytes = packing.element_bytes(sizes.set, bits) as u64;
    let is_sum = matches!(packing, Packing::ApproxSum(_) | Packing::Sum(_));
    if !is_cut || !is_sum || bits.is_some() {
        return rows.div_ceil(packing.rows_per_element(sizes.set) as u64) * element_bytes;
    }
    let last = (rows % sizes.degree) as usize;
    rows / sizes.degree * element_bytes + size::cut_poly_bytes(sizes.set, last) as u64
}

/// An encoding with the sizes of its parameter set.
///
/// # Errors
/// [`PlanError::BadEncoding`] if there is none of this id, or it names parameters that nobody knows.
pub(super) fn find(encodings: &[Encoding], id: EncodingId) -> Result<(&Encoding, Sizes), PlanError> {
    let found = encodings.iter().find(|encoding| encoding.id == id);
    let encoding = found.ok_or(bad(id, EncodingFault::UnknownParams))?;
    let set = encoding.ring().map_err(|_| bad(id, EncodingFault::UnknownParams))?;
    Ok((encoding, Sizes::new(set)))
}

pub(super) fn bad(id: EncodingId, fault: EncodingFault) -> PlanError {
    PlanError::BadEncoding { id: id.0, fault }
}
