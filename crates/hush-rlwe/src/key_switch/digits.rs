// SPDX-License-Identifier: Apache-2.0
//! The polynomial that is switched, and its digits.

use hush_ring::parallel::for_each_row;
use hush_ring::{Chain, ChainLevel, Digit, Eval, Level, Poly, Words};

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

    /// Digit `digit` modulo prime `index` of the extended ring, in the evaluation domain; in `scratch`, unless it stands
    /// somewhere already.
    pub(super) fn limb<'b>(&'b self, digit: usize, index: usize, scratch: &'b mut [u64]) -> &'b [u64] {
        let tables = &self.tables.digits()[digit];
        if tables.limbs().contains(&index) {
            return self.source.limb(index, scratch);
        }
        if tables.limbs().is_empty() {
            scratch.fill(0);
            return scratch;
        }
        tables.converter().convert(index, &self.rows[digit], scratch);
        self.tables.extended().limbs()[index].forward(scratch);
        scratch
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
        for_each_row(&mut rows, count * degree, |index, rows| {
            for (digit, row) in rows.chunks_exact_mut(degree).enumerate() {
                if tables.digits()[digit].limbs().contains(&index) {
                    row.copy_from_slice(poly.limb(index));
                } else {
                    digits.limb(digit, index, row);
                }
            }
        });
        Ok(Self { chain: chain.clone(), level, rows })
    }

    pub(super) fn chain(&self) -> &Chain {
        &self.chain
    }
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The rows of all digits modulo prime `index` of the extended ring.
    pub(super) fn limb(&self, index: usize) -> impl Iterator<Item = &[u64]> {
        let degree = self.chain.degree();
        let rows = self.chain.level(self.level).map_or(0, |tables| tables.digits().len());
        self.rows.chunks_exact(degree).skip(index * rows).take(rows)
    }
}
