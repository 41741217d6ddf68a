// SPDX-License-Identifier: Apache-2.0
//! Changing the primes that a polynomial is represented by.
//!
//! [`BaseConverter`] carries an integer from one set of primes to another; [`BasisSwitch`] divides a polynomial by
//! primes that it leaves behind (and multiplies it by those that it takes on), rounding to nearest.
//!
//! # References
//! \[HPS18, section 2.2\] base conversion with the quotient in floating point; \[GHS12, section 4\] modulus switching that keeps
//! the message modulo `t`. Differs: the quotient is one more term of the same sum of products, so that a conversion is exact at
//! the cost of one term.

use hush_arith::Modulus;
use zeroize::Zeroizing;

use crate::parallel::{for_each_group_of, for_each_row};
use crate::{Eval, Poly, Ring, RingError, RingLimb, Words};

/// From residues modulo `D = Π d_i` to those of one integer modulo other primes.
///
/// # Math
/// For `x` modulo `D` and a factor `f` it gives `Y = Σ y_i·D̂_i − v·D` with `y_i = [f·x·D̂_i⁻¹]_(d_i)` and `v = ⌊Σ y_i/d_i⌉`: the
/// integer nearest to zero with `Y ≡ f·x mod D`. Where `Y/D` is within `2^−40` of one half either neighbour may come out, the
/// same one modulo every target. A single prime `d` needs no sum: `Y` is `y − d` or `y`.
///
/// *Secrecy.* Tables are public; the residues may be secret: no branch or index depends on them.
#[derive(Clone, Debug)]
pub struct BaseConverter {
    source: Vec<Source>,
    reciprocals: Vec<f64>,
    targets: Vec<Target>,
    /// Whether half a source prime may exceed a target.
    has_small_target: bool,
}

#[derive(Clone, Debug)]
struct Source {
    limb: RingLimb,
    /// `f·D̂_i⁻¹ mod d_i`.
    factor: u64,
}

#[derive(Clone, Debug)]
struct Target {
    limb: RingLimb,
    /// `D̂_i` for each source prime, then `−D`, modulo the target.
    weights: Vec<u64>,
}

impl BaseConverter {
    /// Tables for a conversion with factor 1.
    ///
    /// # Errors
    /// [`RingError::Arith`] if source primes repeat.
    pub fn new(source: &[RingLimb], targets: &[RingLimb]) -> Result<Self, RingError> {
        Self::with_factor(source, targets, |d| Ok(d.reduce_u64(1)))
    }

    /// Tables for a conversion with the factor that is `factor(d)` modulo each source prime.
    ///
    /// # Errors
    /// As [`BaseConverter::new`], and those of `factor`.
    pub fn with_factor(
        source: &[RingLimb],
        targets: &[RingLimb],
        factor: impl Fn(Modulus) -> Result<u64, RingError>,
    ) -> Result<Self, RingError> {
        let moduli: Vec<Modulus> = source.iter().map(RingLimb::modulus).collect();
        let cofactor = |q: Modulus, skipped: usize| {
            product_mod(q, moduli.iter().enumerate().filter(|(index, _)| *index != skipped).map(|(_, d)| d))
        };
        let from = |(index, limb): (usize, &RingLimb)| {
            let d = limb.modulus();
            let factor = d.mul(factor(d)?, d.inv(cofactor(d, index))?);
            Ok::<_, RingError>(Source { limb: limb.clone(), factor })
        };
        let source = source.iter().enumerate().map(from).collect::<Result<Vec<_>, _>>()?;
        let reciprocals = moduli.iter().map(|d| 1.0 / d.value() as f64).collect();
        let to = |limb: &RingLimb| {
            let p = limb.modulus();
            let mut weights: Vec<u64> = (0..moduli.len()).map(|index| cofactor(p, index)).collect();
            weights.push(p.neg(product_mod(p, moduli.iter())));
            Target { limb: limb.clone(), weights }
        };
        let smallest = targets.iter().map(|limb| limb.modulus().value()).min().unwrap_or(u64::MAX);
        let has_small_target = moduli.iter().any(|d| d.value() / 2 >= smallest);
        Ok(Self { source, reciprocals, targets: targets.iter().map(to).collect(), has_small_target })
    }

    /// Rows of the matrix that [`BaseConverter::prepare`] works on: one for each source prime.
    pub fn row_count(&self) -> usize {
        self.source.len()
    }

    /// Turns residues into the digits `y_i` with the quotients `v` above those of the first row, in place and in the order of [`BaseConverter::convert`]: tile after
    /// tile of columns, all rows of each.
    ///
    /// # Shapes
    /// `rows`: [`BaseConverter::row_count`] rows of `n` coefficients.
    ///
    /// # Panics
    /// If `rows` is not a whole number of rows.
    pub fn prepare(&self, rows: &mut [u64]) {
        let Some(first) = self.source.first() else { return };
        assert!(rows.len().is_multiple_of(self.row_count()), "whole rows");
        let columns = rows.len() / self.row_count();
        if columns == 0 {
            return;
        }
        let tile = tile_of(columns);
        // A single prime is recentred, without a quotient.
        let is_tagged = self.source.len() > 1 || self.has_small_target;
        let whole = (tile < columns && self.row_count() > 1).then(|| {
            // They may be secret.
            let mut whole = Zeroizing::new(Words::recycled(rows.len()));
            whole.copy_from_slice(rows);
            whole
        });
        for_each_row(rows, self.row_count() * tile, |index, rows| {
            for (place, (source, row)) in self.source.iter().zip(rows.chunks_exact_mut(tile)).enumerate() {
                if let Some(whole) = &whole {
                    row.copy_from_slice(&whole[place * columns + index * tile..][..tile]);
                }
                if source.factor != 1 {
                    source.limb.mul_scalar_assign(row, source.factor);
                }
            }
            if is_tagged {
                hush_kernels::convert::tag_quotients(first.limb.cpu(), rows, tile, &self.reciprocals);
            }
        });
    }

    /// The integers modulo target `target`, canonical, from prepared rows.
    ///
    /// # Panics
    /// If there is no such target, or the rows do not fit `out`.
    pub fn convert(&self, target: usize, rows: &[u64], out: &mut [u64]) {
        self.convert_all(&[target], rows, &mut [out]);
    }

    /// [`BaseConverter::convert`] for several targets: prepared rows that exceed a cache are read once for all.
    ///
    /// # Panics
    /// As there.
    pub fn convert_all(&self, targets: &[usize], rows: &[u64], out: &mut [&mut [u64]]) {
        let Some(columns) = out.first().map(|row| row.len()).filter(|&columns| columns > 0) else { return };
        let tile = tile_of(columns);
        assert!(rows.len() == self.row_count() * columns, "rows that fit");
        for (index, rows) in rows.chunks_exact((self.row_count() * tile).max(1)).enumerate() {
            for (&target, out) in targets.iter().zip(out.iter_mut()) {
                let (target, out) = (&self.targets[target], &mut out[index * tile..][..tile]);
                match self.source.as_slice() {
                    [only] if !self.has_small_target => {
                        target.limb.recenter(only.limb.modulus(), out, rows);
                    }
                    _ => target.limb.tagged_sum(out, rows, &target.weights),
                }
            }
        }
    }
}

/// Columns of a tile: so few that all rows of a tile stay in the second cache, where whole rows do not.
fn tile_of(columns: usize) -> usize {
    if columns >= SMALLEST_TILED && columns.is_multiple_of(TILE) { TILE } else { columns }
}

const TILE: usize = 2048;
const SMALLEST_TILED: usize = 1 << 15;

/// How many limbs are made together at a ring degree. Where the rows that they are converted from are beyond the second cache, several share one reading of them.
/// Below, rows that are finished one by one stay in that cache.
pub fn limbs_together(degree: usize) -> usize {
    if degree < 1 << 16 { 1 } else { 4 }
}

/// From a polynomial over one ring of a chain to another ring: multiplied by the primes `A` that come, divided by the
/// primes `D` that go, the rest rounded to a multiple of `u`.
///
/// # Math
/// `out = (A·x − u·Y)/D` where `Y` is nearest to zero with `u·Y ≡ A·x mod D`. Hence `out = A/D·x + ε` with `|ε| ≤ u/2`, and
/// modulo `u` the value is multiplied by `A·D⁻¹` exactly.
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
    converter: BaseConverter,
    /// `A·D⁻¹` and `−u·D⁻¹` modulo each prime of `to`.
    factors: Vec<(u64, u64)>,
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
        let come: Vec<Modulus> = to
            .limbs()
            .iter()
            .zip(&places)
            .filter(|(_, place)| place.is_none())
            .map(|(limb, _)| limb.modulus())
            .collect();
        let grown = |d: Modulus| Ok(d.mul(product_mod(d, come.iter()), d.inv(d.reduce_u64(unit))?));
        let converter = BaseConverter::with_factor(&gone, to.limbs(), grown)?;
        let gone: Vec<Modulus> = gone.iter().map(RingLimb::modulus).collect();
        let pair = |limb: &RingLimb| {
            let q = limb.modulus();
            let inverse = q.inv(product_mod(q, gone.iter()))?;
            let growth = product_mod(q, come.iter().filter(|other| **other != q));
            Ok::<_, RingError>((q.mul(growth, inverse), q.neg(q.mul(q.reduce_u64(unit), inverse))))
        };
        let factors = to.limbs().iter().map(pair).collect::<Result<_, _>>()?;
        Ok(Self { from: from.clone(), to: to.clone(), places, dropped, converter, factors })
    }

    /// The ring that polynomials come from.
    pub fn from(&self) -> &Ring {
        &self.from
    }
    /// The ring that they go to.
    pub fn to(&self) -> &Ring {
        &self.to
    }

    /// `A/D`: the factor of values.
    pub fn ratio(&self) -> f64 {
        let log2 = |ring: &Ring, skip: &dyn Fn(usize) -> bool| -> f64 {
            let limbs = ring.limbs().iter().enumerate().filter(|(index, _)| !skip(*index));
            limbs.map(|(_, limb)| limb.modulus().value() as f64).product()
        };
        let come = log2(&self.to, &|index| self.places[index].is_some());
        come / log2(&self.from, &|index| !self.dropped.contains(&index))
    }

    /// `A·D⁻¹` modulo a prime `t`: the factor of messages.
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
        let mut rows = Words::recycled(self.converter.row_count() * degree);
        for_each_row(&mut rows[..self.dropped.len() * degree], degree, |index, row| {
            let place = self.dropped[index];
            row.copy_from_slice(poly.limb(place));
            self.from.limbs()[place].inverse(row);
        });
        self.converter.prepare(&mut rows);
        let mut out = Poly::recycled(&self.to);
        let group = limbs_together(degree);
        for_each_group_of(vec![out.words_mut()], degree, group, |first, out| {
            let indices: Vec<usize> = (first..first + out.len()).collect();
            let mut out: Vec<&mut [u64]> = out.into_iter().flatten().collect();
            if !self.dropped.is_empty() {
                self.converter.convert_all(&indices, &rows, &mut out);
            }
            for (&index, out) in indices.iter().zip(out) {
                self.finish_limb(index, self.places[index].map(|place| poly.limb(place)), out);
            }
        });
        Ok(out)
    }

    /// `count` pairs of polynomials in the new ring, made a few limbs at a time, so that they are finished while they are in a near
    /// cache.
    ///
    /// `make(limbs, rows)` writes canonical residues of all pairs modulo some primes of [`BasisSwitch::from`], with the rows of each, and is called
    /// once for each; `finish(limb, rows)` may change those of the outcomes modulo prime `limb` of [`BasisSwitch::to`].
    ///
    /// # Shapes
    /// `rows`: `count` pairs of rows of `N` words.
    pub fn apply_pairs(
        &self,
        count: usize,
        make: impl Fn(&[usize], &mut [Vec<RowPair<'_>>]) + Sync,
        finish: impl Fn(usize, &mut [RowPair<'_>]) + Sync,
    ) -> Vec<(Poly<Eval>, Poly<Eval>)> {
        let degree = self.from.degree();
        let group = limbs_together(degree);
        let digits = || Words::recycled(self.converter.row_count() * degree);
        let mut digits: Vec<Words> = (0..2 * count).map(|_| digits()).collect();
        let matrices = digits.iter_mut().map(|digits| &mut **digits).collect();
        for_each_group_of(matrices, degree, group, |first, rows| {
            let places = &self.dropped[first..first + rows.len()];
            let mut rows: Vec<_> = rows.into_iter().map(pairs).collect();
            make(places, &mut rows);
            for (&place, (left, right)) in places
                .iter()
                .zip(rows)
                .flat_map(|(place, pairs)| pairs.into_iter().map(move |pair| (place, pair)))
            {
                self.from.limbs()[place].inverse(left);
                self.from.limbs()[place].inverse(right);
            }
        });
        digits.iter_mut().for_each(|digits| self.converter.prepare(digits));
        let mut out: Vec<Poly<Eval>> = (0..2 * count).map(|_| Poly::recycled(&self.to)).collect();
        let matrices = out.iter_mut().map(Poly::words_mut).collect();
        for_each_group_of(matrices, degree, group, |first, rows| {
            let indices: Vec<usize> = (first..first + rows.len()).collect();
            let mut kept = Words::recycled(indices.len() * 2 * count * degree);
            let old: Vec<_> = indices.iter().map(|&index| self.places[index]).collect();
            let mut kept_rows: Vec<_> = kept
                .chunks_exact_mut((2 * count * degree).max(1))
                .zip(&old)
                .filter(|(_, place)| place.is_some())
                .map(|(rows, _)| pairs(rows.chunks_exact_mut(degree).collect()))
                .collect();
            make(&old.iter().copied().flatten().collect::<Vec<_>>(), &mut kept_rows);
            let mut by_poly: Vec<Vec<&mut [u64]>> = (0..2 * count).map(|_| Vec::new()).collect();
            for rows in rows {
                by_poly.iter_mut().zip(rows).for_each(|(of_poly, row)| of_poly.push(row));
            }
            if !self.dropped.is_empty() {
                for (out, digits) in by_poly.iter_mut().zip(&digits) {
                    self.converter.convert_all(&indices, digits, out);
                }
            }
            // One prime after the other: its tables are as large as several rows.
            let mut by_poly: Vec<_> = by_poly.into_iter().map(Vec::into_iter).collect();
            for (place, (&index, old)) in indices.iter().zip(&old).enumerate() {
                let mut rows: Vec<&mut [u64]> = by_poly.iter_mut().filter_map(Iterator::next).collect();
                for (poly, row) in rows.iter_mut().enumerate() {
                    let kept = &kept[(place * 2 * count + poly) * degree..][..degree];
                    self.finish_limb(index, old.map(|_| kept), row);
                }
                finish(index, &mut pairs(rows));
            }
        });
        let mut out = out.into_iter();
        std::iter::from_fn(|| Some((out.next()?, out.next()?))).collect()
    }

    /// One limb of the outcome, from the coefficients of `Y` and from the same limb of the polynomial, if the old ring has it.
    fn finish_limb(&self, index: usize, kept: Option<&[u64]>, out: &mut [u64]) {
        let limb = &self.to.limbs()[index];
        let (alpha, beta) = self.factors[index];
        if self.dropped.is_empty() {
            // Without growth a prime that comes would have nothing to come from: its limb is a multiple of it.
            match kept {
                Some(kept) => out.copy_from_slice(kept),
                None => out.fill(0),
            }
            return limb.mul_scalar_assign(out, alpha);
        }
        limb.forward(out);
        match kept {
            // α·x − α·Y, in one product.
            Some(kept) if limb.modulus().add(alpha, beta) == 0 => limb.sub_scale_assign(out, kept, beta),
            Some(kept) => limb.combine_assign(out, beta, kept, alpha),
            None => limb.mul_scalar_assign(out, beta),
        }
    }
}

/// One limb of two polynomials.
pub type RowPair<'a> = (&'a mut [u64], &'a mut [u64]);

fn pairs(rows: Vec<&mut [u64]>) -> Vec<RowPair<'_>> {
    let mut rows = rows.into_iter();
    std::iter::from_fn(|| Some((rows.next()?, rows.next()?))).collect()
}

fn product_mod<'a>(modulus: Modulus, factors: impl Iterator<Item = &'a Modulus>) -> u64 {
    factors.fold(modulus.reduce_u64(1), |product, q| modulus.mul(product, modulus.reduce_u64(q.value())))
}

#[cfg(test)]
mod tests;
