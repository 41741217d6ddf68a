// SPDX-License-Identifier: Apache-2.0
//! Finished sums of some rows, to be kept and added to other sums later.

use hush_ring::{Eval, LazyMac, Poly};

use super::SumAccumulator;
use crate::SumError;

/// The masked sum of some rows in a form that can be added to any number of other sums.
///
/// The mask half does not depend on the columns: sums of other columns over the same rows have the same one.
///
/// *Secrecy.* As the ciphertexts that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialSum {
    /// `Σ a·M`.
    pub mask: Poly<Eval>,
    /// `Σ w_i·b_i`: columns × limbs canonical residues, column after column.
    pub bodies: Vec<u64>,
}

impl SumAccumulator {
    /// Ends a sum without groups as something that other accumulators can add.
    ///
    /// # Cost
    /// At most one NTT and one multiplication for each limb.
    ///
    /// # Errors
    /// [`SumError::Shape`] unless there is just one group.
    pub fn into_partial(mut self) -> Result<PartialSum, SumError> {
        self.fold_whole()?;
        let ring = self.ring;
        let Ok([group]) = <[_; 1]>::try_from(self.groups) else { return Err(SumError::Shape) };
        let mask = group.masks.map_or_else(|| Poly::zero(&ring), LazyMac::finish);
        Ok(PartialSum { mask, bodies: group.bodies })
    }

    /// Adds to group 0 what [`SumAccumulator::into_partial`] gave for some rows: the sum is then the same, bit for
    /// bit, as if those rows had been absorbed. `bodies` has the residues of one column each.
    ///
    /// # Cost
    /// One multiplication of a ring element; no NTT.
    ///
    /// # Errors
    /// [`SumError::Shape`] unless there is just one group and the rings are equal; [`SumError::BodyCount`],
    /// [`SumError::RowCount`] if `bodies` is not one set of residues for each column; [`SumError::Residue`]. Nothing
    /// has been added then.
    pub fn absorb_partial(&mut self, mask: &Poly<Eval>, bodies: &[&[u64]]) -> Result<(), SumError> {
        let Self { ring, body_count, groups, scratch, .. } = self;
        let [group] = groups.as_mut_slice() else { return Err(SumError::Shape) };
        if mask.ring() != ring {
            return Err(SumError::Shape);
        }
        let (found, expected) = (bodies.len(), *body_count);
        if found != expected {
            return Err(SumError::BodyCount { found, expected });
        }
        for body in bodies {
            let (found, expected) = (body.len(), ring.limb_count());
            if found != expected {
                return Err(SumError::RowCount { found, expected });
            }
            let canonical = |(limb, residue): (&hush_ring::RingLimb, &u64)| *residue < limb.modulus().value();
            if !ring.limbs().iter().zip(*body).all(canonical) {
                return Err(SumError::Residue);
            }
        }
        // The transform of the constant 1 is 1 everywhere.
        scratch.selector.fill(1);
        let masks = group.masks.get_or_insert_with(|| LazyMac::new(ring));
        masks.mul_add(mask.words(), &scratch.selector);
        for (totals, body) in group.bodies.chunks_exact_mut(ring.limb_count()).zip(bodies) {
            for ((limb, total), residue) in ring.limbs().iter().zip(totals).zip(*body) {
                *total = limb.modulus().add(*total, *residue);
            }
        }
        Ok(())
    }
}
