// SPDX-License-Identifier: Apache-2.0
//! Sums of key switches before the division.

use hush_ring::parallel::for_each_row;
use hush_ring::{BasisSwitch, Chain, Eval, Level, Poly};

use crate::RlweError;

/// `(b, a)` over the extended ring of a level: a ciphertext times `P`, before the division.
///
/// Sums and products with clear polynomials may be taken here, so that one division serves many key switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtendedPair {
    pub(crate) body: Poly<Eval>,
    pub(crate) mask: Poly<Eval>,
    chain: Chain,
    level: Level,
}

impl ExtendedPair {
    /// Zero.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if there is no such level.
    pub fn zero(chain: &Chain, level: Level) -> Result<Self, RlweError> {
        let zero = Poly::zero(chain.level(level)?.extended());
        Ok(Self { body: zero.clone(), mask: zero, chain: chain.clone(), level })
    }

    pub(super) fn recycled(chain: &Chain, level: Level) -> Result<Self, RlweError> {
        let ring = chain.level(level)?.extended();
        let (body, mask) = (Poly::recycled(ring), Poly::recycled(ring));
        Ok(Self { body, mask, chain: chain.clone(), level })
    }

    pub(crate) fn words_mut(&mut self) -> (&mut [u64], &mut [u64]) {
        (self.body.words_mut(), self.mask.words_mut())
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// `self += other`.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if levels or chains differ.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), RlweError> {
        self.body.add_assign(&other.body)?;
        Ok(self.mask.add_assign(&other.mask)?)
    }

    /// `self += other·clear`, for a clear polynomial over the extended ring.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn mul_add_assign(&mut self, other: &Self, clear: &Poly<Eval>) -> Result<(), RlweError> {
        self.body.mul_add_assign(&other.body, clear)?;
        Ok(self.mask.mul_add_assign(&other.mask, clear)?)
    }

    /// Adds the polynomials of a ciphertext at this level, times `P`, so that the division gives their sum.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if they are of another level.
    pub fn add_ciphertext_assign(
        &mut self,
        body: &Poly<Eval>,
        mask: Option<&Poly<Eval>>,
    ) -> Result<(), RlweError> {
        let chain = self.chain.clone();
        let tables = chain.level(self.level)?;
        let (ring, factors) = (tables.ring(), tables.special_product());
        for (out, source) in [(&mut self.body, Some(body)), (&mut self.mask, mask)] {
            let Some(source) = source else { continue };
            ring.check_same(source.ring())?;
            let degree = ring.degree();
            let rows = &mut out.words_mut()[..ring.poly_words()];
            for_each_row(rows, degree, |index, row| {
                ring.limbs()[index].mul_scalar_add_assign(row, source.limb(index), factors[index]);
            });
        }
        Ok(())
    }

    /// `τ` of both polynomials.
    ///
    /// # Errors
    /// [`RlweError::Ring`] for a Galois element that does not exist.
    pub fn automorphism(&self, element: usize) -> Result<Self, RlweError> {
        let tau = self.chain.automorphism(element)?;
        let (body, mask) = (tau.apply(&self.body)?, tau.apply(&self.mask)?);
        Ok(Self { body, mask, chain: self.chain.clone(), level: self.level })
    }

    /// Divides by `P`: both polynomials of a ciphertext at this level.
    ///
    /// # Errors
    /// [`RlweError::Ring`], which the constructors rule out.
    pub fn drop_special(&self) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        let switch = self.chain.level(self.level)?.drop_special();
        self.divide(switch)
    }

    /// Divides by `P` and to the level below at once.
    ///
    /// # Errors
    /// [`RlweError::LastLevel`] at level 0.
    pub fn drop_special_and_mod_switch(&self) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        let switch = self.chain.level(self.level)?.drop_special_and_mod_switch();
        self.divide(switch.ok_or(RlweError::LastLevel)?)
    }

    fn divide(&self, switch: &BasisSwitch) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        Ok((switch.apply(&self.body)?, switch.apply(&self.mask)?))
    }
}
