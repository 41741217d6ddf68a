// SPDX-License-Identifier: Apache-2.0
//! Polynomials with the domain in their type.

use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::parallel::{for_each_row, for_each_rows};
use crate::{Ring, RingError, RingLimb, Words};

/// Coefficients: entry `i` of a limb is the coefficient of `X^i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coeff {}

/// Values at the roots of `X^N + 1`, in the order of the NTT; products are entry by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eval {}

/// [`Coeff`] or [`Eval`].
pub trait Domain: sealed::Sealed + Copy + std::fmt::Debug + Send + Sync + 'static {}
impl Domain for Coeff {}
impl Domain for Eval {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Coeff {}
    impl Sealed for super::Eval {}
}

/// An element of a ring, in one of two domains.
///
/// *Invariants.* `limbs·N` canonical residues. *Layout.* Limb after limb: residue `i` of limb `l` is word
/// `l·N + i`. *Secrecy.* As secret as what was put in; `Debug` prints no residue. Owners of secret polynomials
/// call [`Zeroize::zeroize`].
#[derive(Clone, PartialEq, Eq)]
pub struct Poly<D: Domain> {
    ring: Ring,
    words: Words,
    domain: PhantomData<D>,
}

impl<D: Domain> Poly<D> {
    /// Zero.
    pub fn zero(ring: &Ring) -> Self {
        Self { ring: ring.clone(), words: Words::zeroed(ring.poly_words()), domain: PhantomData }
    }

    /// Takes over residues, limb after limb, after checking them.
    ///
    /// # Errors
    /// [`RingError::Length`] or [`RingError::Residue`].
    pub fn from_words(ring: &Ring, words: impl Into<Words>) -> Result<Self, RingError> {
        let words = words.into();
        if words.len() != ring.poly_words() {
            return Err(RingError::Length { found: words.len(), expected: ring.poly_words() });
        }
        let poly = Self { ring: ring.clone(), words, domain: PhantomData };
        let wrong = poly.limbs().position(|(limb, words)| !limb.all_below(words));
        match wrong {
            Some(limb) => Err(RingError::Residue { limb }),
            None => Ok(poly),
        }
    }

    /// A polynomial of any content, for a caller that overwrites every word with canonical residues.
    pub fn recycled(ring: &Ring) -> Self {
        Self { ring: ring.clone(), words: Words::recycled(ring.poly_words()), domain: PhantomData }
    }

    /// Takes over residues that are known to be canonical.
    pub(crate) fn from_canonical(ring: &Ring, words: impl Into<Words>) -> Self {
        let poly = Self { ring: ring.clone(), words: words.into(), domain: PhantomData };
        debug_assert!(poly.words.len() == ring.poly_words());
        debug_assert!(poly.limbs().all(|(limb, words)| limb.all_below(words)));
        poly
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// All residues, limb after limb.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The residues of one limb; empty for a limb that the ring does not have.
    pub fn limb(&self, limb: usize) -> &[u64] {
        self.words.chunks_exact(self.ring.degree()).nth(limb).unwrap_or(&[])
    }
    /// The residues of one limb, to be overwritten with canonical ones.
    pub fn limb_mut(&mut self, limb: usize) -> &mut [u64] {
        let degree = self.ring.degree();
        self.words.chunks_exact_mut(degree).nth(limb).unwrap_or_default()
    }
    /// All residues, to be overwritten with canonical ones.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
    /// Each limb with its residues.
    pub fn limbs(&self) -> impl Iterator<Item = (&RingLimb, &[u64])> {
        self.ring.limbs().iter().zip(self.words.chunks_exact(self.ring.degree()))
    }
    /// Whether every residue is zero. Takes time that depends on the residues: for public values.
    pub fn is_zero_vartime(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// `self += other`.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn add_assign(&mut self, other: &Self) -> Result<(), RingError> {
        self.combine(other, RingLimb::add_assign)
    }

    /// `self −= other`.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), RingError> {
        self.combine(other, RingLimb::sub_assign)
    }

    /// `self = −self`.
    pub fn neg_assign(&mut self) {
        self.each_limb(RingLimb::neg_assign);
    }

    /// `self *= scalar`, for any signed integer.
    pub fn mul_scalar_assign(&mut self, scalar: i128) {
        self.each_limb(|limb, words| limb.mul_scalar_assign(words, limb.modulus().reduce_i128(scalar)));
    }

    /// `self *= scalars[i]` limb by limb, for canonical scalars.
    ///
    /// # Errors
    /// [`RingError::Length`] unless there is one scalar a limb.
    pub fn mul_scalars_assign(&mut self, scalars: &[u64]) -> Result<(), RingError> {
        let (found, expected) = (scalars.len(), self.ring.limb_count());
        if found != expected {
            return Err(RingError::Length { found, expected });
        }
        let (degree, limbs) = (self.ring.degree(), self.ring.limbs());
        for_each_row(&mut self.words, degree, |index, row| {
            limbs[index].mul_scalar_assign(row, scalars[index])
        });
        Ok(())
    }

    /// `self += scalars[i]·other` limb by limb, for canonical scalars.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`]; [`RingError::Length`] unless there is one scalar a limb.
    pub fn mul_scalars_add_assign(&mut self, other: &Self, scalars: &[u64]) -> Result<(), RingError> {
        let (found, expected) = (scalars.len(), self.ring.limb_count());
        if found != expected {
            return Err(RingError::Length { found, expected });
        }
        self.combine_limbs(other, |index, limb, row, x| limb.mul_scalar_add_assign(row, x, scalars[index]))
    }

    fn combine(
        &mut self,
        other: &Self,
        op: impl Fn(&RingLimb, &mut [u64], &[u64]) + Sync,
    ) -> Result<(), RingError> {
        self.combine_limbs(other, |_, limb, row, x| op(limb, row, x))
    }

    fn combine_limbs(
        &mut self,
        other: &Self,
        op: impl Fn(usize, &RingLimb, &mut [u64], &[u64]) + Sync,
    ) -> Result<(), RingError> {
        self.ring.check_same(&other.ring)?;
        let (degree, limbs) = (self.ring.degree(), self.ring.limbs());
        for_each_row(&mut self.words, degree, |index, row| {
            op(index, &limbs[index], row, other.limb(index));
        });
        Ok(())
    }

    fn each_limb(&mut self, op: impl Fn(&RingLimb, &mut [u64]) + Sync) {
        let (degree, limbs) = (self.ring.degree(), self.ring.limbs());
        for_each_row(&mut self.words, degree, |index, row| op(&limbs[index], row));
    }

    fn with_domain<E: Domain>(self) -> Poly<E> {
        Poly { ring: self.ring, words: self.words, domain: PhantomData }
    }
}

impl Poly<Coeff> {
    /// The polynomial with these signed coefficients; missing ones are zero.
    ///
    /// # Timing
    /// Independent of the coefficients.
    ///
    /// # Errors
    /// [`RingError::Length`] if there are more than `N`.
    pub fn from_signed(ring: &Ring, coefficients: &[i128]) -> Result<Self, RingError> {
        if coefficients.len() > ring.degree() {
            return Err(RingError::Length { found: coefficients.len(), expected: ring.degree() });
        }
        let mut poly = Self::zero(ring);
        poly.each_limb(|limb, words| {
            for (word, &coefficient) in words.iter_mut().zip(coefficients) {
                *word = limb.modulus().reduce_i128(coefficient);
            }
        });
        Ok(poly)
    }

    /// To the evaluation domain, in place.
    pub fn into_eval(self) -> Poly<Eval> {
        self.into_eval_with(|_, _| {}, |_, _| {})
    }

    /// [`Poly::into_eval`] with work on each limb before, on its coefficients, and after, on its values, while it is in the
    /// nearest cache. Both must leave canonical residues.
    pub fn into_eval_with(
        mut self,
        before: impl Fn(usize, &mut [u64]) + Sync,
        after: impl Fn(usize, &mut [u64]) + Sync,
    ) -> Poly<Eval> {
        let (degree, limbs) = (self.ring.degree(), self.ring.limbs());
        for_each_row(&mut self.words, degree, |index, row| {
            before(index, row);
            limbs[index].forward(row);
            after(index, row);
        });
        self.with_domain()
    }

    /// [`Poly::into_eval_with`] for two polynomials at once, limb by limb, so that what `after` makes for a limb serves
    /// both while it is in the nearest cache.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn pair_into_eval_with(
        mut a: Self,
        mut b: Self,
        before: impl Fn(usize, [&mut [u64]; 2]) + Sync,
        after: impl Fn(usize, [&mut [u64]; 2]) + Sync,
    ) -> Result<[Poly<Eval>; 2], RingError> {
        a.ring.check_same(&b.ring)?;
        let (degree, limbs) = (a.ring.degree(), a.ring.limbs());
        for_each_rows([&mut a.words, &mut b.words], degree, |index, mut rows: [&mut [u64]; 2]| {
            before(index, rows.each_mut().map(|row| &mut **row));
            rows.iter_mut().for_each(|row| limbs[index].forward(row));
            after(index, rows);
        });
        Ok([a.with_domain(), b.with_domain()])
    }
}

impl Poly<Eval> {
    /// To coefficients, in place.
    pub fn into_coeff(mut self) -> Poly<Coeff> {
        self.each_limb(RingLimb::inverse);
        self.with_domain()
    }

    /// `self *= other`: the product in the ring.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn mul_assign(&mut self, other: &Self) -> Result<(), RingError> {
        self.combine(other, RingLimb::mul_assign)
    }

    /// `a·b`.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn product(a: &Self, b: &Self) -> Result<Self, RingError> {
        a.ring.check_same(&b.ring)?;
        let mut out = Self::recycled(&a.ring);
        let degree = a.ring.degree();
        for_each_row(&mut out.words, degree, |index, row| {
            a.ring.limbs()[index].mul_into(row, a.limb(index), b.limb(index));
        });
        Ok(out)
    }

    /// The same integers modulo the primes of `ring`, which must all be primes of this polynomial's ring.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] if one is not; [`RingError::Length`] for a ring of another degree.
    pub fn restrict(&self, ring: &Ring) -> Result<Self, RingError> {
        let (found, expected) = (self.ring.degree(), ring.degree());
        if found != expected {
            return Err(RingError::Length { found, expected });
        }
        let mut out = Self::recycled(ring);
        for (index, limb) in ring.limbs().iter().enumerate() {
            let same = |other: &RingLimb| other.modulus() == limb.modulus();
            let place = self.ring.limbs().iter().position(same);
            let (left, right) = (self.ring.param_code(), ring.param_code());
            let place = place.ok_or(RingError::RingMismatch { left, right })?;
            out.limb_mut(index).copy_from_slice(self.limb(place));
        }
        Ok(out)
    }

    /// `self += a·b`.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn mul_add_assign(&mut self, a: &Self, b: &Self) -> Result<(), RingError> {
        self.ring.check_same(&a.ring)?;
        self.ring.check_same(&b.ring)?;
        let (degree, limbs) = (self.ring.degree(), self.ring.limbs());
        for_each_row(&mut self.words, degree, |index, row| {
            limbs[index].mul_add_assign(row, a.limb(index), b.limb(index));
        });
        Ok(())
    }
}

impl<D: Domain> Zeroize for Poly<D> {
    /// Overwrites all residues with zero.
    fn zeroize(&mut self) {
        self.words.zeroize();
    }
}

impl<D: Domain> std::fmt::Debug for Poly<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Poly<{}>({:?})", std::any::type_name::<D>().rsplit(':').next().unwrap_or(""), self.ring)
    }
}
