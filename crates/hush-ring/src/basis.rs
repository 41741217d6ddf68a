// SPDX-License-Identifier: Apache-2.0
//! Changing the primes that a polynomial is represented by.
//!
//! [`BaseConverter`] carries an integer from one set of primes to another; [`BasisSwitch`] divides a polynomial by
//! primes that it leaves behind (and multiplies it by those that it takes on), rounding to nearest.
//!
//! # References
//! \[HPS18, section 2.2\] base conversion with the quotient in floating point; \[GHS12, section 4\] modulus switching that keeps
//! the message modulo `t`. Differs: the quotient is one more row of the same sum of products, so that a conversion is exact at
//! the cost of one row.

use hush_arith::Modulus;

use crate::parallel::for_each_row;
use crate::{Eval, Poly, Ring, RingError, RingLimb, Words};

/// From residues modulo `D = Π d_i` to those of one integer modulo other primes.
///
/// # Math
/// For `x` modulo `D` it gives `X = u·(Σ y_i·D̂_i − v·D)` with `y_i = [x·u⁻¹·D̂_i⁻¹]_(d_i)` and `v = ⌊Σ y_i/d_i⌉`: an integer with
/// `X ≡ x mod D`, `X ≡ 0 mod u` and `|X| ≤ u·D/2·(1 + 2^−38)`. For `u = 1` it is `x` itself, nearest to zero. Where `X/(u·D)`
/// is within `2^−40` of one half either neighbour may come out, the same one modulo every target.
///
/// *Secrecy.* Tables are public; the residues may be secret: no branch or index depends on them.
#[derive(Clone, Debug)]
pub struct BaseConverter {
    source: Vec<Source>,
    reciprocals: Vec<f64>,
    targets: Vec<Target>,
}

#[derive(Clone, Debug)]
struct Source {
    limb: RingLimb,
    /// `u⁻¹·D̂_i⁻¹ mod d_i`.
    inverse: u64,
}

#[derive(Clone, Debug)]
struct Target {
    limb: RingLimb,
    /// `u·D̂_i` for each source prime, then `−u·D`, modulo the target.
    weights: Vec<u64>,
}

impl BaseConverter {
    /// Tables for a conversion with unit `u`, which is prime to `D`.
    ///
    /// # Errors
    /// [`RingError::Arith`] if `u` is a multiple of a source prime or primes repeat.
    pub fn new(source: &[RingLimb], targets: &[RingLimb], unit: u64) -> Result<Self, RingError> {
        let moduli: Vec<Modulus> = source.iter().map(RingLimb::modulus).collect();
        let from = |(index, limb): (usize, &RingLimb)| {
            let q = limb.modulus();
            let cofactor =
                product_mod(q, moduli.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, d)| d));
            let inverse = q.inv(q.mul(cofactor, q.reduce_u64(unit)))?;
            Ok::<_, RingError>(Source { limb: limb.clone(), inverse })
        };
        let source = source.iter().enumerate().map(from).collect::<Result<Vec<_>, _>>()?;
        let reciprocals = moduli.iter().map(|d| 1.0 / d.value() as f64).collect();
        let to = |limb: &RingLimb| {
            let p = limb.modulus();
            let unit = p.reduce_u64(unit);
            let cofactor = |index: usize| {
                let others = moduli.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, d)| d);
                p.mul(unit, product_mod(p, others))
            };
            let mut weights: Vec<u64> = (0..moduli.len()).map(cofactor).collect();
            weights.push(p.neg(p.mul(unit, product_mod(p, moduli.iter()))));
            Target { limb: limb.clone(), weights }
        };
        Ok(Self { source, reciprocals, targets: targets.iter().map(to).collect() })
    }

    /// Rows of the matrix that [`BaseConverter::prepare`] works on: the source primes and the quotients.
    pub fn row_count(&self) -> usize {
        self.source.len() + 1
    }

    /// Turns residues into the digits `y_i`, in place, and fills the last row with the quotients `v`.
    ///
    /// # Shapes
    /// `rows`: [`BaseConverter::row_count`] rows of `n` coefficients.
    ///
    /// # Panics
    /// If `rows` is not a whole number of rows.
    pub fn prepare(&self, rows: &mut [u64]) {
        assert!(rows.len().is_multiple_of(self.row_count()), "whole rows");
        let (digits, quotients) = rows.split_at_mut(rows.len() / self.row_count() * self.source.len());
        let Some(first) = self.source.first().filter(|_| !quotients.is_empty()) else { return };
        for (source, row) in self.source.iter().zip(digits.chunks_exact_mut(quotients.len())) {
            source.limb.mul_scalar_assign(row, source.inverse);
        }
        hush_kernels::convert::quotients(first.limb.cpu(), quotients, digits, &self.reciprocals);
    }

    /// The integers modulo target `target`, canonical, from prepared rows.
    ///
    /// # Panics
    /// If there is no such target, or the rows do not fit `out`.
    pub fn convert(&self, target: usize, rows: &[u64], out: &mut [u64]) {
        let target = &self.targets[target];
        target.limb.weighted_sum(out, rows, &target.weights);
    }
}

/// From a polynomial over one ring of a chain to another ring: multiplied by the primes `A` that come, divided by the
/// primes `D` that go, the rest rounded to a multiple of `u`.
///
/// # Math
/// `out = (A·x − X)/D` where `X ≡ A·x mod D`, `X ≡ 0 mod u`, `|X| ≤ u·D/2`. Hence `out = A/D·x + ε` with `|ε| ≤ u/2`, and modulo
/// `u` the value is multiplied by `A·D⁻¹` exactly.
///
/// # Cost
/// An inverse NTT for each prime that goes, an NTT for each prime of the new ring, `(|D| + 1)·N` products for each.
#[derive(Clone, Debug)]
pub struct BasisSwitch {
    from: Ring,
    to: Ring,
    /// For each limb of `to`, its place in `from`; `None` for primes that come.
    places: Vec<Option<usize>>,
    /// Places in `from` of the primes that go.
    dropped: Vec<usize>,
    /// `A` modulo each prime of `from`; `None` if no prime comes.
    growth: Option<Vec<u64>>,
    converter: BaseConverter,
    /// `D⁻¹` modulo each prime of `to`.
    inverses: Vec<u64>,
}

impl BasisSwitch {
    /// Tables for going from one ring to another of the same degree.
    ///
    /// # Errors
    /// [`RingError::Arith`] if `unit` is a multiple of a prime that goes.
    pub fn new(from: &Ring, to: &Ring, unit: u64) -> Result<Self, RingError> {
        let place = |limb: &RingLimb, ring: &Ring| {
            ring.limbs().iter().position(|other| other.modulus() == limb.modulus())
        };
        let places: Vec<_> = to.limbs().iter().map(|limb| place(limb, from)).collect();
        let dropped: Vec<usize> =
            (0..from.limb_count()).filter(|&index| place(&from.limbs()[index], to).is_none()).collect();
        let gone: Vec<RingLimb> = dropped.iter().map(|&index| from.limbs()[index].clone()).collect();
        let converter = BaseConverter::new(&gone, to.limbs(), unit)?;
        let come: Vec<Modulus> = to
            .limbs()
            .iter()
            .zip(&places)
            .filter(|(_, place)| place.is_none())
            .map(|(limb, _)| limb.modulus())
            .collect();
        let growth = (!come.is_empty())
            .then(|| from.limbs().iter().map(|limb| product_mod(limb.modulus(), come.iter())).collect());
        let gone: Vec<Modulus> = gone.iter().map(RingLimb::modulus).collect();
        let inverse = |limb: &RingLimb| limb.modulus().inv(product_mod(limb.modulus(), gone.iter()));
        let inverses = to.limbs().iter().map(inverse).collect::<Result<_, _>>()?;
        Ok(Self { from: from.clone(), to: to.clone(), places, dropped, growth, converter, inverses })
    }

    /// The ring that polynomials come from.
    pub fn from(&self) -> &Ring {
        &self.from
    }
    /// The ring that they go to.
    pub fn to(&self) -> &Ring {
        &self.to
    }

    /// `A/D`: what values are multiplied by.
    pub fn ratio(&self) -> f64 {
        let log2 = |ring: &Ring, skip: &dyn Fn(usize) -> bool| -> f64 {
            let limbs = ring.limbs().iter().enumerate().filter(|(index, _)| !skip(*index));
            limbs.map(|(_, limb)| limb.modulus().value() as f64).product()
        };
        let come = log2(&self.to, &|index| self.places[index].is_some());
        come / log2(&self.from, &|index| !self.dropped.contains(&index))
    }

    /// `A·D⁻¹` modulo a prime `t`: what messages are multiplied by.
    ///
    /// # Errors
    /// [`RingError::Arith`] if `t` divides `D`.
    pub fn factor_mod(&self, t: Modulus) -> Result<u64, RingError> {
        let moduli = |ring: &Ring| ring.limbs().iter().map(RingLimb::modulus).collect::<Vec<_>>();
        // Primes of both rings cancel.
        let (from, to) = (product_mod(t, moduli(&self.from).iter()), product_mod(t, moduli(&self.to).iter()));
        Ok(t.mul(to, t.inv(from)?))
    }

    /// The polynomial in the new ring.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] if it is not over [`BasisSwitch::from`].
    pub fn apply(&self, poly: &Poly<Eval>) -> Result<Poly<Eval>, RingError> {
        self.from.check_same(poly.ring())?;
        let degree = self.from.degree();
        let rows = self.remainders(poly);
        let mut out = Poly::recycled(&self.to);
        for_each_row(out.words_mut(), degree, |index, out| self.limb(index, poly, &rows, out));
        Ok(out)
    }

    /// The digits of `[A·x]_D`, ready to be converted.
    fn remainders(&self, poly: &Poly<Eval>) -> Words {
        let degree = self.from.degree();
        let mut rows = Words::recycled(self.converter.row_count() * degree);
        for_each_row(&mut rows[..self.dropped.len() * degree], degree, |index, row| {
            let place = self.dropped[index];
            let limb = &self.from.limbs()[place];
            row.copy_from_slice(poly.limb(place));
            if let Some(growth) = &self.growth {
                limb.mul_scalar_assign(row, growth[place]);
            }
            limb.inverse(row);
        });
        self.converter.prepare(&mut rows);
        rows
    }

    fn limb(&self, index: usize, poly: &Poly<Eval>, rows: &[u64], out: &mut [u64]) {
        let limb = &self.to.limbs()[index];
        match self.places[index] {
            Some(place) => out.copy_from_slice(poly.limb(place)),
            None => out.fill(0),
        }
        if let (Some(place), Some(growth)) = (self.places[index], &self.growth) {
            limb.mul_scalar_assign(out, growth[place]);
        }
        if !self.dropped.is_empty() {
            let mut converted = Words::recycled(out.len());
            self.converter.convert(index, rows, &mut converted);
            limb.forward(&mut converted);
            limb.sub_scale_assign(out, &converted, self.inverses[index]);
        }
    }
}

fn product_mod<'a>(modulus: Modulus, factors: impl Iterator<Item = &'a Modulus>) -> u64 {
    factors.fold(modulus.reduce_u64(1), |product, q| modulus.mul(product, modulus.reduce_u64(q.value())))
}

#[cfg(test)]
mod tests;
