// SPDX-License-Identifier: Apache-2.0
//! Ciphertexts in the evaluation domain and what can be done with them without a key.
//!
//! A ciphertext `(c_0, …, c_k)` has the **phase** `c_0 + c_1·s + … + c_k·s^k`. Everything here acts on phases:
//! sums of ciphertexts have the sum of the phases, products (tensors, not relinearised) have their product. The
//! schemes give phases a meaning, so BGV and CKKS share this code without importing each other.

use hush_ring::{Eval, ExpandLabel, Poly, Ring, RingError, RingLimb, UniformSeed, Words};

use crate::{Body, RlweError};

/// A ciphertext of one to three components.
///
/// *Invariants.* 1 to 3 components, all of one ring, canonical. *Serialised as* part of a
/// [`crate::CiphertextSet`]. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq)]
pub struct RlweCiphertext {
    components: Vec<Poly<Eval>>,
}

impl RlweCiphertext {
    /// Takes over components `c_0, c_1, …`.
    ///
    /// # Errors
    /// [`RlweError::ComponentCount`] unless there are 1 to 3; [`RlweError::Ring`] if their rings differ.
    pub fn new(components: Vec<Poly<Eval>>) -> Result<Self, RlweError> {
        let found = components.len();
        let Some((first, rest)) = components.split_first().filter(|_| found <= MAX_COMPONENTS) else {
            return Err(RlweError::ComponentCount { found });
        };
        rest.iter().try_for_each(|other| first.ring().check_same(other.ring()))?;
        Ok(Self { components })
    }

    /// The stored ciphertext of ring element `element` and lane `lane` of a slot column: body from the file,
    /// mask from the chunk's seed.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the body belongs to another parameter set or has no such element or lane.
    pub fn load(
        ring: &Ring,
        seed: UniformSeed,
        body: &Body<'_>,
        element: u32,
        lane: u8,
    ) -> Result<Self, RlweError> {
        let (left, right) = (body.param_code(), ring.param_code());
        if left != right {
            return Err(RingError::RingMismatch { left, right }.into());
        }
        let mut words = Words::recycled(ring.poly_words());
        let limbs = ring.limbs().iter().zip(words.chunks_exact_mut(ring.degree()));
        for (index, (limb, words)) in limbs.enumerate() {
            let packed = body.packed(element, lane, index);
            let (found, expected) = (packed.len(), ring.limb_bytes());
            if found != expected {
                return Err(RingError::Length { found, expected }.into());
            }
            limb.unpack(packed, words);
        }
        let mask = seed.expand(ring, ExpandLabel::slot(body.id().column, element, lane));
        Self::new(vec![Poly::from_words(ring, words)?, mask])
    }

    /// A ciphertext of zero with `components` components (clamped to 1 … 3), to add others to.
    pub fn zero(ring: &Ring, components: usize) -> Self {
        Self { components: vec![Poly::zero(ring); components.clamp(1, MAX_COMPONENTS)] }
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        // At least one component, by construction.
        self.components[0].ring()
    }

    /// `c_0, c_1, …`.
    pub fn components(&self) -> &[Poly<Eval>] {
        &self.components
    }

    /// `self += other`; the shorter one is extended by zeros.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), RlweError> {
        self.extend_to(other.components.len());
        for (left, right) in self.components.iter_mut().zip(&other.components) {
            left.add_assign(right)?;
        }
        Ok(())
    }

    /// `self −= other`; the shorter one is extended by zeros.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), RlweError> {
        self.extend_to(other.components.len());
        for (left, right) in self.components.iter_mut().zip(&other.components) {
            left.sub_assign(right)?;
        }
        Ok(())
    }

    /// `self = −self`.
    pub fn neg_assign(&mut self) {
        self.components.iter_mut().for_each(Poly::neg_assign);
    }

    /// Multiplies the phase by a clear integer.
    pub fn mul_integer_assign(&mut self, integer: i128) {
        self.components.iter_mut().for_each(|component| component.mul_scalar_assign(integer));
    }

    /// Adds a phase times a number that is known modulo each prime; the shorter one is extended by zeros.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ, or unless there is one canonical scalar a limb.
    pub fn mul_scalars_add_assign(&mut self, other: &Self, scalars: &[u64]) -> Result<(), RlweError> {
        self.extend_to(other.components.len());
        for (left, right) in self.components.iter_mut().zip(&other.components) {
            left.mul_scalars_add_assign(right, scalars)?;
        }
        Ok(())
    }

    /// The phase times a number that is known modulo each prime.
    ///
    /// # Errors
    /// [`RlweError::Ring`] unless there is one canonical scalar a limb.
    pub fn mul_scalars(mut self, scalars: &[u64]) -> Result<Self, RlweError> {
        for component in &mut self.components {
            component.mul_scalars_assign(scalars)?;
        }
        Ok(self)
    }

    /// The components over a ring with further primes, and the phase times their product: `Q/Q'` for this modulus `Q'`.
    ///
    /// # Math
    /// `Q/Q'·c_i` is zero modulo the further primes, and needs no lift of `c_i`. Where these primes are 1 modulo the plaintext modulus, messages stay what
    /// they are. The phase is as large in relation to `Q` as it was to `Q'`.
    ///
    /// # Errors
    /// [`RlweError::Ring`] unless the primes here are the first of `ring`, in the same order.
    pub fn raised_to(&self, ring: &Ring) -> Result<Vec<Poly<Eval>>, RlweError> {
        let (from, limbs) = (self.ring(), self.ring().limb_count());
        let moduli = || ring.crt().moduli();
        let (left, right) = (from.param_code(), ring.param_code());
        if from.degree() != ring.degree() || !from.crt().moduli().eq(moduli().take(limbs)) {
            return Err(RingError::RingMismatch { left, right }.into());
        }
        let raise = |component: &Poly<Eval>| {
            let mut raised = Poly::zero(ring);
            for (index, limb) in ring.limbs().iter().enumerate().take(limbs) {
                let q = limb.modulus();
                let product =
                    |product, further: &RingLimb| q.mul(product, q.reduce_u64(further.modulus().value()));
                let factor = ring.limbs().iter().skip(limbs).fold(q.reduce_u64(1), product);
                let row = raised.limb_mut(index);
                row.copy_from_slice(component.limb(index));
                limb.mul_scalar_assign(row, factor);
            }
            raised
        };
        Ok(self.components.iter().map(raise).collect())
    }

    /// Adds a clear polynomial to the phase.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn add_clear_assign(&mut self, clear: &Poly<Eval>) -> Result<(), RlweError> {
        Ok(self.components[0].add_assign(clear)?)
    }

    /// Multiplies the phase by a clear polynomial.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn mul_clear_assign(&mut self, clear: &Poly<Eval>) -> Result<(), RlweError> {
        for component in &mut self.components {
            component.mul_assign(clear)?;
        }
        Ok(())
    }

    /// The tensor product `(a_0·b_0, a_0·b_1 + a_1·b_0, a_1·b_1)`. Its phase is the product of the phases.
    /// Clear operands (one component) are allowed.
    ///
    /// # Errors
    /// [`RlweError::Degree`] if the result would need a fourth component; [`RlweError::Ring`] if the rings
    /// differ.
    pub fn mul(&self, other: &Self) -> Result<Self, RlweError> {
        let (left, right) = (self.components.len(), other.components.len());
        if left + right - 1 > MAX_COMPONENTS {
            return Err(RlweError::Degree { left, right });
        }
        let mut components: Vec<Poly<Eval>> = Vec::with_capacity(left + right - 1);
        for (i, a) in self.components.iter().enumerate() {
            for (j, b) in other.components.iter().enumerate() {
                match components.get_mut(i + j) {
                    Some(sum) => sum.mul_add_assign(a, b)?,
                    None => components.push(Poly::product(a, b)?),
                }
            }
        }
        Ok(Self { components })
    }

    fn extend_to(&mut self, components: usize) {
        while self.components.len() < components {
            self.components.push(Poly::zero(self.ring()));
        }
    }
}

impl std::fmt::Debug for RlweCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RlweCiphertext({} components, {:?})", self.components.len(), self.ring())
    }
}

const MAX_COMPONENTS: usize = 3;
