// SPDX-License-Identifier: Apache-2.0
//! The polynomial that is switched, and its digits.

use hush_ring::parallel::{for_each_group_of, for_each_row};
use hush_ring::{Chain, ChainLevel, Digit, Eval, Level, Poly, Words, limbs_together};

use crate::RlweError;

/// A polynomial of a level, given as it is or as a product that is never stored.
pub(crate) enum Source<'a> {
    Poly(&'a Poly<Eval>),
    Product(&'a Poly<Eval>, &'a Poly<Eval>),
}

impl Source<'_> {
    /// One limb, in `scratch` if it must be computed.
    fn limb<'a>(&'a self, index: usize, scratch: &'a mut [u64]) -> &'a [u64] {
        match self {
            Self::Poly(poly) => poly.limb(index),
            Self::Product(a, b) => {
                a.ring().limbs()[index].mul_into(scratch, a.limb(index), b.limb(index));
                scratch
            }
        }
    }

    fn copy_limb(&self, index: usize, out: &mut [u64]) {
        match self {
            Self::Poly(poly) => out.copy_from_slice(poly.limb(index)),
            Self::Product(..) => drop(self.limb(index, out)),
        }
    }
}

/// The coefficients of a polynomial's digits, ready to be converted to any prime of the extended ring.
pub(super) struct PreparedDigits<'a> {
    tables: &'a ChainLevel,
    source: &'a Source<'a>,
    rows: Vec<Words>,
}

impl<'a> PreparedDigits<'a> {
    pub(super) fn new(tables: &'a ChainLevel, source: &'a Source<'a>) -> Self {
        let degree = tables.ring().degree();
        let prepare = |digit: &Digit| {
            let mut rows = Words::recycled(digit.converter().row_count() * degree);
            let limbs = digit.limbs();
            for_each_row(&mut rows[..limbs.len() * degree], degree, |index, row| {
                source.copy_limb(limbs[index], row);
                tables.ring().limbs()[limbs[index]].inverse(row);
            });
            digit.converter().prepare(&mut rows);
            rows
        };
        Self { tables, source, rows: tables.digits().iter().map(prepare).collect() }
    }

    /// The coefficients of a digit modulo some primes of the extended ring, a row for each: of those that stand nowhere yet.
    pub(super) fn convert(&self, digit: usize, indices: &[usize], rows: &mut [&mut [u64]]) {
        let tables = &self.tables.digits()[digit];
        if tables.limbs().is_empty() {
            return rows.iter_mut().for_each(|row| row.fill(0));
        }
        let others = indices.iter().zip(rows).filter(|(index, _)| !self.is_own(digit, **index));
        let (others, mut rows): (Vec<usize>, Vec<&mut [u64]>) =
            others.map(|(&index, row)| (index, &mut **row)).unzip();
        tables.converter().convert_all(&others, &self.rows[digit], &mut rows);
    }

    /// A row of [`PreparedDigits::convert`] in the evaluation domain.
    pub(super) fn transform(&self, digit: usize, index: usize, row: &mut [u64]) {
        if !self.is_own(digit, index) && !self.tables.digits()[digit].limbs().is_empty() {
            self.tables.extended().limbs()[index].forward(row);
        }
    }

    /// The digit modulo one prime: that row, or the polynomial's own.
    pub(super) fn row<'b>(&'b self, digit: usize, index: usize, row: &'b mut [u64]) -> &'b [u64] {
        if self.is_own(digit, index) { self.source.limb(index, row) } else { row }
    }

    /// Whether a prime is one of the digit's.
    fn is_own(&self, digit: usize, index: usize) -> bool {
        self.tables.digits()[digit].limbs().contains(&index)
    }
}

/// A polynomial's digits over the extended ring: the part of key switching that does not depend on the key.
///
/// *Layout.* For each prime of the extended ring the rows of all digits.
pub struct Decomposed {
    chain: Chain,
    level: Level,
    rows: Words,
}

impl Decomposed {
    /// Decomposes a polynomial of one of the chain's levels.
    ///
    /// # Cost
    /// All the NTTs of [`crate::KeySwitchKey::apply`]; `8·digits·(L + K)·N` bytes.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if it belongs to no level.
    pub fn new(chain: &Chain, poly: &Poly<Eval>) -> Result<Self, RlweError> {
        let level = chain.level_of(poly.ring())?;
        let (tables, degree) = (chain.level(level)?, chain.degree());
        let source = Source::Poly(poly);
        let digits = PreparedDigits::new(tables, &source);
        let count = tables.digits().len();
        let mut rows = Words::recycled(count * tables.extended().poly_words());
        let group = limbs_together(degree);
        for_each_group_of(vec![&mut rows], count * degree, group, |first, rows| {
            let indices: Vec<usize> = (first..first + rows.len()).collect();
            let mut rows: Vec<_> =
                rows.into_iter().flatten().map(|rows| rows.chunks_exact_mut(degree)).collect();
            let mut by_digit: Vec<Vec<&mut [u64]>> =
                (0..count).map(|_| rows.iter_mut().filter_map(Iterator::next).collect()).collect();
            for (digit, rows) in by_digit.iter_mut().enumerate() {
                digits.convert(digit, &indices, rows);
            }
            for (place, &index) in indices.iter().enumerate() {
                for (digit, rows) in by_digit.iter_mut().enumerate() {
                    match digits.is_own(digit, index) {
                        true => rows[place].copy_from_slice(poly.limb(index)),
                        false => digits.transform(digit, index, rows[place]),
                    }
                }
            }
        });
        Ok(Self { chain: chain.clone(), level, rows })
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The rows of all digits modulo prime `index` of the extended ring.
    pub(super) fn limb(&self, index: usize) -> impl Iterator<Item = &[u64]> {
        let degree = self.chain.degree();
        let rows = self.chain.level(self.level).map_or(0, |tables| tables.digits().len());
        self.rows.chunks_exact(degree).skip(index * rows).take(rows)
    }
}
