// SPDX-License-Identifier: Apache-2.0
//! A vector of any number of lanes in plain Rust, which checks that kernels keep the contract of [`super`].
//!
//! A lane holds a residue and its **bound**: the value is below `bound·q`. Every operation works out the bound of its outcome from
//! the bounds of its operands alone, and fails where the contract forbids one. So a walk that passes with any data keeps its ranges
//! with all data. Products end as high as their bound allows for every second operand: where a correction is missing, the value shows.

use std::borrow::Cow;

use hush_arith::Modulus;

use super::{Butterflies, Isa, Residues, Sums, Vector};
use crate::{
    ntt::{schedule::Limits, tables::Twiddle},
    operands::{LOW_52, TAG_SHIFT},
};

/// Lanes with products below `RESET·q`: 1 as the path in double precision, 2 as the one by integer FMA.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable<const L: usize, const RESET: u32>;

/// Arithmetic of both kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked<const L: usize, const RESET: u32> {
    modulus: Modulus,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lane {
    value: u64,
    bound: u32,
}

impl<const L: usize, const RESET: u32> Isa for Portable<L, RESET> {
    fn run<D, R>(self, data: D, kernel: impl FnOnce(D) -> R) -> R {
        kernel(data)
    }
}

impl<const L: usize, const RESET: u32> Vector<L> for Portable<L, RESET> {
    type Word = u64;
    type Sums = Checked<L, RESET>;
    type Butterflies = Checked<L, RESET>;

    fn residues(self, modulus: Modulus) -> Self::Sums {
        Checked { modulus }
    }

    fn butterflies(self, modulus: Modulus) -> Self::Butterflies {
        Checked { modulus }
    }
}

impl<const L: usize, const RESET: u32> Checked<L, RESET> {
    fn q(self) -> u64 {
        self.modulus.value()
    }

    /// A lane; its value must keep its bound.
    fn lane(self, value: u64, bound: u32) -> Lane {
        assert!(value < u64::from(bound) * self.q(), "{value} is not below {bound}·{}", self.q());
        Lane { value, bound }
    }

    /// A lane with this residue, within `RESET`, as high as that allows if `is_high`.
    fn reduced(self, residue: u64, is_high: bool) -> Lane {
        let value = if is_high { residue + u64::from(RESET - 1) * self.q() } else { residue };
        self.lane(value, RESET)
    }

    /// The product modulo `q`, within `RESET`.
    fn product(self, y: Lane, w: u64) -> Lane {
        let residue = u128::from(y.value) * u128::from(w) % u128::from(self.q());
        self.reduced(residue as u64, y.value & 1 == 1)
    }

    fn canonical_lane(self, x: Lane) -> Lane {
        assert!(x.bound <= RESET, "a bound of {} is not reduced", x.bound);
        self.lane(x.value % self.q(), 1)
    }

    fn canonical_sum(self, acc: Lane, term: u128) -> Lane {
        assert_eq!(acc.bound, 1, "the accumulator must be canonical");
        self.lane(((u128::from(acc.value) + term) % u128::from(self.q())) as u64, 1)
    }

    fn words(self, words: &[u64; L]) -> [Lane; L] {
        words.map(|word| self.lane(word, 1))
    }

    fn store_canonical(self, words: &mut [u64; L], x: [Lane; L]) {
        assert!(x.iter().all(|lane| lane.bound == 1), "only canonical vectors become words");
        *words = x.map(|lane| lane.value);
    }
}

impl<const L: usize, const RESET: u32> Residues<L> for Checked<L, RESET> {
    type V = [Lane; L];
    type Factor = u64;

    fn load(&self, words: &[u64; L]) -> [Lane; L] {
        self.words(words)
    }

    fn store(&self, words: &mut [u64; L], x: [Lane; L]) {
        self.store_canonical(words, x);
    }

    fn canonical(&self, x: [Lane; L]) -> [Lane; L] {
        x.map(|lane| self.canonical_lane(lane))
    }

    fn sub(&self, a: [Lane; L], b: [Lane; L]) -> [Lane; L] {
        std::array::from_fn(|i| {
            assert!(a[i].bound == 1 && b[i].bound == 1, "differences are of canonical vectors");
            self.reduced(self.modulus.sub(a[i].value, b[i].value), a[i].value & 1 == 1)
        })
    }

    fn mul(&self, a: [Lane; L], b: [Lane; L]) -> [Lane; L] {
        std::array::from_fn(|i| {
            assert!(a[i].bound <= RESET && b[i].bound <= RESET, "factors must be reduced");
            self.product(a[i], b[i].value)
        })
    }

    fn mul_pairs(&self, a: ([Lane; L], [Lane; L]), b: ([Lane; L], [Lane; L])) -> [Lane; L] {
        let (left, right) = (Residues::mul(self, a.0, b.0), Residues::mul(self, a.1, b.1));
        std::array::from_fn(|i| {
            let sum = left[i].value + right[i].value;
            self.reduced(sum % self.q(), sum & 1 == 1)
        })
    }

    fn mul_add(&self, acc: [Lane; L], a: [Lane; L], b: [Lane; L]) -> [Lane; L] {
        let products = Residues::mul(self, a, b);
        std::array::from_fn(|i| self.canonical_sum(acc[i], products[i].value.into()))
    }

    fn factor(&self, modulus: Modulus, w: u64) -> u64 {
        assert!(w < modulus.value(), "factors must be canonical");
        w
    }

    fn mul_factor(&self, y: [Lane; L], w: u64) -> [Lane; L] {
        y.map(|y| {
            assert!(y.bound <= RESET, "factors must be reduced");
            self.canonical_lane(self.product(y, w))
        })
    }

    fn mul_add_factor(&self, acc: [Lane; L], y: [Lane; L], w: u64) -> [Lane; L] {
        std::array::from_fn(|i| self.canonical_sum(acc[i], u128::from(y[i].value) * u128::from(w)))
    }

    fn load_small(&self, integers: &[i32; L]) -> [Lane; L] {
        // Of no bound that products other than `mul_add_factor` take.
        integers.map(|e| Lane { value: self.modulus.reduce_i64(e.into()), bound: u32::MAX })
    }

    fn word_shift(&self, modulus: Modulus) -> u64 {
        modulus.reduce_u128(1 << 64)
    }

    fn load_signed(&self, integers: &[i64; L], shift: u64) -> [Lane; L] {
        integers.map(|x| {
            let excess = if x < 0 { shift } else { 0 };
            self.lane(self.modulus.sub(self.modulus.reduce_u64(x as u64), excess), 1)
        })
    }
}

/// A sum with the number of its products.
impl<const L: usize, const RESET: u32> Sums<L> for Checked<L, RESET> {
    const BATCH: usize = 3;
    type Sum = ([u128; L], usize);
    type Number = u64;
    type Weight = u64;

    fn zero(&self) -> [Lane; L] {
        [Lane { value: 0, bound: 1 }; L]
    }

    fn start(&self, x: [Lane; L]) -> Self::Sum {
        assert!(x.iter().all(|lane| lane.bound <= RESET), "sums start reduced");
        (x.map(|lane| lane.value.into()), 0)
    }

    fn add_product(&self, (sums, count): Self::Sum, a: [Lane; L], b: [Lane; L]) -> Self::Sum {
        assert!(count < Self::BATCH, "a sum takes {} products", Self::BATCH);
        assert!(a.iter().chain(&b).all(|lane| lane.bound == 1), "factors must be canonical");
        (std::array::from_fn(|i| sums[i] + u128::from(a[i].value) * u128::from(b[i].value)), count + 1)
    }

    fn numbers<'w>(&self, modulus: Modulus, words: &'w [u64]) -> Cow<'w, [u64]> {
        assert!(words.iter().all(|&w| w < modulus.value()), "weights must be canonical");
        words.into()
    }

    fn weight(&self, number: &u64) -> u64 {
        *number
    }

    fn load_digits(&self, words: &[u64; L]) -> [Lane; L] {
        words.map(|word| Lane { value: word & LOW_52, bound: u32::MAX })
    }

    fn load_tags(&self, words: &[u64; L]) -> [Lane; L] {
        words.map(|word| Lane { value: word >> TAG_SHIFT, bound: u32::MAX })
    }

    fn add_weighted(&self, (sums, count): Self::Sum, y: [Lane; L], w: u64) -> Self::Sum {
        assert!(count < Self::BATCH, "a sum takes {} products", Self::BATCH);
        (std::array::from_fn(|i| sums[i] + u128::from(y[i].value) * u128::from(w)), count + 1)
    }

    fn reduce_sum(&self, (sums, _): Self::Sum) -> [Lane; L] {
        sums.map(|sum| self.reduced((sum % u128::from(self.q())) as u64, sum & 1 == 1))
    }
}

/// Between passes a word holds the bound of its value in its upper bits.
impl<const L: usize, const RESET: u32> Butterflies<L> for Checked<L, RESET> {
    type V = [Lane; L];
    type Factor = [u64; L];
    type Word = u64;

    const LIMITS: Limits = Limits {
        growth_quarters: 4 * RESET,
        forward_quarters: 4 + 64 * RESET,
        reset: RESET,
        layer: 8 * RESET,
        pass: 2 * RESET,
    };
    const MAX_RADIX: usize = 8 * RESET as usize;
    const PAIRS: bool = RESET == 2;

    fn splat(&self, w: &Twiddle<u64>) -> [u64; L] {
        [w.value; L]
    }

    fn load_factors(&self, values: &[u64; L], _: &[u64; L]) -> [u64; L] {
        *values
    }

    fn zero(&self) -> [Lane; L] {
        Sums::zero(self)
    }

    fn load_words(&self, words: &[u64; L]) -> [Lane; L] {
        self.words(words)
    }

    fn store_words(&self, words: &mut [u64; L], x: [Lane; L]) {
        self.store_canonical(words, x);
    }

    fn load(&self, words: &[u64; L]) -> [Lane; L] {
        words.map(|word| self.lane(word & LOW_52, (word >> TAG_SHIFT) as u32))
    }

    fn store(&self, words: &mut [u64; L], x: [Lane; L]) {
        *words = x.map(|lane| u64::from(lane.bound) << TAG_SHIFT | lane.value);
    }

    fn butterfly(&self, x: [Lane; L], y: [Lane; L], w: [u64; L]) -> ([Lane; L], [Lane; L]) {
        let lanes: [(Lane, Lane); L] = std::array::from_fn(|i| {
            let limit = Self::LIMITS.forward_quarters / 4;
            assert!(y[i].bound <= limit && x[i].bound + RESET <= limit, "a bound above {limit}");
            let (product, bound) = (self.product(y[i], w[i]).value, x[i].bound + RESET);
            let raised = x[i].value + u64::from(RESET) * self.q();
            (self.lane(x[i].value + product, bound), self.lane(raised - product, bound))
        });
        (lanes.map(|lane| lane.0), lanes.map(|lane| lane.1))
    }

    fn sum_difference(&self, x: [Lane; L], y: [Lane; L]) -> ([Lane; L], [Lane; L]) {
        let limit = Self::LIMITS.layer;
        let lanes: [(Lane, Lane); L] = std::array::from_fn(|i| {
            assert!(x[i].bound <= limit && y[i].bound <= limit, "a bound above {limit}");
            let raised = x[i].value + u64::from(limit) * self.q();
            let sum = self.lane(x[i].value + y[i].value, x[i].bound + y[i].bound);
            (sum, Lane { value: raised - y[i].value, bound: 2 * limit })
        });
        (lanes.map(|lane| lane.0), lanes.map(|lane| lane.1))
    }

    fn mul(&self, y: [Lane; L], w: [u64; L]) -> [Lane; L] {
        std::array::from_fn(|i| {
            assert!(y[i].bound <= 2 * Self::LIMITS.layer, "a bound above twice a layer's");
            self.product(y[i], w[i])
        })
    }

    fn reduce(&self, x: [Lane; L]) -> [Lane; L] {
        x.map(|lane| {
            assert!(lane.bound <= Self::LIMITS.forward_quarters / 4, "a bound above the forward one");
            self.product(lane, 1)
        })
    }

    fn canonical(&self, x: [Lane; L]) -> [Lane; L] {
        Residues::canonical(self, x)
    }

    fn transpose(&self, rows: [[Lane; L]; L]) -> [[Lane; L]; L] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}
