// SPDX-License-Identifier: Apache-2.0
//! One block of places of one limb: operands of an element after the other, and the sums over all elements.

use std::ops::Range;

use hush_ring::{Eval, LimbStream, Poly, RingLimb, Words};

use super::steps::{Memory, Operation, Step, Steps, Value};
use super::{ProductSum, StoredElement};

/// Ring elements whose products are added at a time, for one pass over the sums: their two products each wait for one reduction, modulo primes
/// below 2^46.
pub(super) const TOGETHER: usize = 7;
/// Places in which all sums are added up before the next ones, so that a factor's rows stay in the first cache.
const PLACES: usize = 64;

/// A block of places of one limb.
pub(super) struct BlockView<'a> {
    pub(super) limb: &'a RingLimb,
    /// The number of the limb.
    pub(super) index: usize,
    /// The number of the block.
    pub(super) block: usize,
    pub(super) places: usize,
    /// Words from one row to the next.
    pub(super) stride: usize,
    pub(super) elements: &'a [StoredElement<'a>],
    /// The streams of masks, of each element and body.
    pub(super) streams: &'a [Vec<LimbStream>],
}

/// What a thread works in: operands and results of one element, and those of several that are added up together.
pub struct BlockMemory {
    passing: Words,
    kept: Vec<Words>,
}

impl BlockMemory {
    pub(super) fn new(steps: &Steps, stride: usize) -> Self {
        let memory = |memory: Memory| Words::zeroed(steps.rows(memory) * stride);
        Self { passing: memory(Memory::Passing), kept: vec![memory(Memory::Kept); TOGETHER] }
    }
}

impl BlockView<'_> {
    /// Adds all elements to every sum, of which the components stand one after another.
    pub(super) fn add(
        &self,
        steps: &Steps,
        sums: &[ProductSum],
        BlockMemory { passing, kept }: &mut BlockMemory,
        totals: &mut [Words],
    ) {
        let masked = steps.masked(sums);
        for first in (0..self.elements.len()).step_by(TOGETHER) {
            let last = self.elements.len().min(first + TOGETHER);
            for (element, kept) in (first..last).zip(&mut *kept) {
                self.prefetch(element + 1, steps);
                self.evaluate(element, steps, passing, kept);
                self.mask(element, &masked, kept);
            }
            for start in (0..self.places).step_by(PLACES) {
                let within = start..(start + PLACES).min(self.places);
                for (sum, total) in sums.iter().zip(&mut *totals) {
                    self.add_sum(steps, *sum, (&kept[..last - first], within.clone()), total);
                }
            }
        }
    }

    /// The packed residues of a body in this block.
    fn packed(&self, element: usize, body: usize) -> &[u8] {
        let Some(stored) = self.elements.get(element) else { return &[] };
        stored.packed(body, (self.limb, self.index), (self.block, self.places))
    }

    /// Asks for an element's bodies.
    fn prefetch(&self, element: usize, steps: &Steps) {
        for (body, load) in steps.loads.iter().enumerate() {
            if load.is_some() {
                self.limb.prefetch(self.packed(element, body));
            }
        }
    }

    /// Loads the bodies of an element, and runs all steps.
    fn evaluate(&self, element: usize, steps: &Steps, passing: &mut [u64], kept: &mut [u64]) {
        for (body, load) in steps.loads.iter().enumerate() {
            let Some(load) = load else { continue };
            let memory = match load.memory {
                Memory::Passing => &mut *passing,
                Memory::Kept => &mut *kept,
            };
            let start = load.first * self.stride;
            let (bodies, masks) = memory[start..start + 2 * self.stride].split_at_mut(self.stride);
            let (bodies, masks) = (&mut bodies[..self.places], &mut masks[..self.places]);
            self.limb.unpack(self.packed(element, body), bodies);
            if let Some(stream) = self.streams.get(element).and_then(|streams| streams.get(body)) {
                stream.expand_into((self.block * self.places / 2) as u64, masks);
            }
        }
        for step in &steps.steps {
            self.run(step, element, passing, kept);
        }
    }

    /// A mask in this block.
    fn within<'m>(&self, mask: &'m Poly<Eval>) -> Option<&'m [u64]> {
        let first = self.block * self.places;
        mask.limb(self.index).get(first..first + self.places)
    }

    /// Multiplies factors by the mask of an element.
    fn mask(&self, element: usize, factors: &[Value], kept: &mut [u64]) {
        let Some(mask) = self.elements.get(element).and_then(|element| element.mask) else { return };
        let Some(mask) = self.within(mask) else { return };
        for factor in factors {
            let rows = &mut kept[factor.first * self.stride..(factor.first + factor.rows) * self.stride];
            let rows = rows.chunks_exact_mut(self.stride);
            rows.for_each(|row| self.limb.mul_assign(&mut row[..self.places], mask));
        }
    }

    /// Runs a step of an element. Its operands lie before its result, or in the other memory.
    fn run(&self, step: &Step, element: usize, passing: &mut [u64], kept: &mut [u64]) {
        let (start, rows) = (step.out.first * self.stride, step.out.rows * self.stride);
        let (passing, kept, out): (&[u64], &[u64], &mut [u64]) = match step.out.memory {
            Memory::Passing => {
                let (before, out) = passing.split_at_mut(start);
                (before, kept, out)
            }
            Memory::Kept => {
                let (before, out) = kept.split_at_mut(start);
                (passing, before, out)
            }
        };
        let out = &mut out[..rows];
        let value = |value: Value| match value.memory {
            Memory::Passing => self.rows(passing, value),
            Memory::Kept => self.rows(kept, value),
        };
        match step.operation {
            Operation::Computed => {
                let computed = self.elements.get(element).map_or(&[][..], |element| element.computed);
                for (row, poly) in out.chunks_exact_mut(self.stride).zip(computed) {
                    row[..self.places].copy_from_slice(self.within(poly).unwrap_or_default());
                }
            }
            Operation::Constant(integer) => self.fill(out, integer),
            Operation::Integer(number) => {
                let integers = self.elements.get(element).map_or(&[][..], |element| element.integers);
                self.fill(out, integers.get(number).copied().unwrap_or_default());
            }
            Operation::Mask(number) => {
                let element = self.elements.get(element);
                let mask = element.and_then(|element| self.within(element.masks.get(number)?));
                out[..self.places].copy_from_slice(mask.unwrap_or_default());
            }
            Operation::Copy(from) => out.copy_from_slice(value(from)),
            Operation::Add(left, right) => {
                let (left, right) = (value(left), value(right));
                let (both, rest) = out.split_at_mut(left.len().min(right.len()));
                self.limb.add_into(both, &left[..both.len()], &right[..both.len()]);
                rest.copy_from_slice(
                    if left.len() > right.len() { left } else { right }.split_at(both.len()).1,
                );
            }
            Operation::Sub(left, right) => {
                let (left, right) = (value(left), value(right));
                let (both, rest) = out.split_at_mut(left.len().min(right.len()));
                self.limb.sub_into(both, &left[..both.len()], &right[..both.len()]);
                rest.copy_from_slice(
                    if left.len() > right.len() { left } else { right }.split_at(both.len()).1,
                );
                if right.len() > left.len() {
                    self.limb.neg_assign(rest);
                }
            }
            Operation::Mul(left, right) => self.limb.multiply(self.stride, out, (value(left), value(right))),
        }
    }

    /// The residues of an integer that is the same in every slot.
    fn fill(&self, out: &mut [u64], integer: i64) {
        let q = i128::from(self.limb.modulus().value());
        out.fill(i128::from(integer).rem_euclid(q) as u64);
    }

    fn rows<'m>(&self, memory: &'m [u64], value: Value) -> &'m [u64] {
        &memory[value.first * self.stride..(value.first + value.rows) * self.stride]
    }

    /// Adds a sum's products of some elements, of which this is kept, in some places.
    fn add_sum(
        &self,
        steps: &Steps,
        sum: ProductSum,
        (kept, within): (&[Words], Range<usize>),
        total: &mut [u64],
    ) {
        let Ok((factor, measure)) = steps.operands(sum) else { return };
        match measure {
            None => {
                for (row, total) in total.chunks_exact_mut(self.stride).enumerate() {
                    let from = (factor.first + row) * self.stride;
                    let row = from + within.start..from + within.end;
                    kept.iter().for_each(|kept| {
                        self.limb.add_assign(&mut total[within.clone()], &kept[row.clone()]);
                    });
                }
            }
            Some(measure) => {
                let mut pairs = [(&[][..], &[][..]); TOGETHER];
                for (pair, kept) in pairs.iter_mut().zip(kept) {
                    *pair = (self.rows(kept, factor), self.rows(kept, measure));
                }
                self.limb.multiply_add_within((self.stride, within), total, &pairs[..kept.len()]);
            }
        }
    }
}
