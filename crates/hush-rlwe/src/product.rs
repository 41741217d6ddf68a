// SPDX-License-Identifier: Apache-2.0
//! Sums over ring elements of products of stored ciphertexts, without any key: conditions times measures.
//!
//! ```text
//!   factor   polynomial in stored ciphertexts            V − T_5,  (T_2 − T_4)·(V − T_7),  …
//!   sum      Σ over ring elements of factor · measure    degree d: answered by c_0 … c_d
//!   phase    c_0 + c_1·s + … + c_d·s^d                   Σ of the products of the phases
//! ```
//!
//! A ciphertext of degree d in the secret has d + 1 components, and nothing brings it back to two: that would take keys. So products cost more with
//! every factor, and sums over all rows cost one addition. Operands of different degrees are added as polynomials.
//!
//! *Evaluation.* Place by place of the evaluation domain everything is independent. A block of places of all operands stays in the caches close to the
//! processor: it is unpacked, or expanded from the seed, then multiplied, then added to the sums over all elements, which are written once.
//!
//! *Noise.* A hard bound on a phase follows from `hush_params::noise::{product_phase_log2, add_phase_log2}` and the bounds of stored ciphertexts
//! (docs/math/products.md). Nothing here watches it.

mod block;
mod steps;

use hush_ring::{Eval, ExpandLabel, LimbStream, Poly, Ring, RingError, RingLimb, UniformSeed, Words};

pub use self::block::BlockMemory;
use self::block::{BlockView, TOGETHER};
use self::steps::{Memory, Steps};
use crate::{Body, RlweError};

/// Most places of a block.
const MOST_PLACES: usize = 256;
/// Fewest: shorter rows are not worth a call.
const FEWEST_PLACES: usize = 64;
/// Words of a block, sums and what they are made of, that are to stay in the second cache.
const CACHED_WORDS: usize = 64 << 10;
/// Words behind each row of a block: rows whose distance is a power of two would share few places of a cache.
pub(crate) const BETWEEN: usize = 8;

/// A polynomial in the stored ciphertexts of a ring element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The ciphertext that was computed for the element.
    Computed,
    /// The ciphertext of the body with this number.
    Stored(usize),
    /// The same integer in every slot.
    Constant(i64),
    /// The factor with this number in the list, which stands before this one.
    Earlier(usize),
    /// The integer with this number, of those that an element has: the same in all of its slots.
    Integer(usize),
    /// The mask with this number, of those that an element has for factors.
    Mask(usize),
    /// Their sum.
    Add(Box<Factor>, Box<Factor>),
    /// Their difference.
    Sub(Box<Factor>, Box<Factor>),
    /// Their product.
    Mul(Box<Factor>, Box<Factor>),
}

/// A sum over all ring elements of a factor, or of a factor times a stored ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductSum {
    /// The number of the factor.
    pub factor: usize,
    /// The number of the body.
    pub measure: Option<usize>,
}

/// How much of each kind every element has for factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Stored ciphertexts.
    pub bodies: usize,
    /// Masks.
    pub masks: usize,
    /// Integers.
    pub integers: usize,
}

/// Factors and sums that fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductTask {
    steps: Steps,
    sums: Vec<ProductSum>,
}

/// The stored ciphertexts of a ring element, as many bodies as the task is of.
#[derive(Clone, Copy, Debug)]
pub struct StoredElement<'a> {
    /// The seed of its chunk.
    pub seed: UniformSeed,
    /// Its number in the chunk.
    pub element: u32,
    /// Slot bodies of one lane.
    pub bodies: &'a [Body<'a>],
    /// What every factor is multiplied by in this element: the slots that count. `None` for all of them.
    pub mask: Option<&'a Poly<Eval>>,
    /// Messages that factors name, without any error: as many as the task is of.
    pub masks: &'a [Poly<Eval>],
    /// Integers that factors name: as many as the task is of.
    pub integers: &'a [i64],
    /// Body and mask of what [`Factor::Computed`] names; empty if there is nothing.
    pub computed: &'a [Poly<Eval>],
}

impl<'a> StoredElement<'a> {
    /// Refuses a body over another ring, or without this ring element.
    pub(crate) fn check_body(&self, ring: &Ring, body: &Body<'_>) -> Result<(), RlweError> {
        let (left, right) = (body.param_code(), ring.param_code());
        if left != right {
            return Err(RingError::RingMismatch { left, right }.into());
        }
        let (found, expected) = (body.packed(self.element, 0, 0).len(), ring.limb_bytes());
        if found != expected {
            return Err(RingError::Length { found, expected }.into());
        }
        Ok(())
    }

    /// The stream of a body's mask in one limb.
    pub(crate) fn stream(&self, ring: &Ring, body: &Body<'_>, limb: usize) -> LimbStream {
        self.seed.limb_stream(ring, ExpandLabel::slot(body.id().column, self.element, 0), limb)
    }

    /// The packed residues of the body with this number, in a block of so many places of a limb.
    pub(crate) fn packed(
        &self,
        body: usize,
        (limb, index): (&RingLimb, usize),
        (block, places): (usize, usize),
    ) -> &'a [u8] {
        let packed = self.bodies.get(body).map(|body| body.packed(self.element, 0, index));
        let bytes = limb.packed_bytes(places);
        packed.and_then(|packed| packed.get(block * bytes..(block + 1) * bytes)).unwrap_or_default()
    }
}

/// A task on some ring elements.
#[derive(Debug)]
pub struct ProductSums<'a> {
    ring: &'a Ring,
    task: &'a ProductTask,
    elements: &'a [StoredElement<'a>],
    /// The streams of masks, of each limb, element and body.
    streams: Vec<Vec<Vec<LimbStream>>>,
    places: usize,
    /// Limbs that are evaluated.
    limbs: usize,
}

impl ProductTask {
    /// A task on elements with so many bodies, and masks and integers for factors.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] for numbers of bodies or factors that are not there, [`RlweError::ProductDegree`] for too many factors in a
    /// product.
    pub fn new(factors: &[Factor], sums: Vec<ProductSum>, operands: Operands) -> Result<Self, RlweError> {
        let measures: Vec<usize> = sums.iter().filter_map(|sum| sum.measure).collect();
        let steps = Steps::new(factors, &measures, operands)?;
        for sum in &sums {
            steps.components_of(*sum)?;
        }
        Ok(Self { steps, sums })
    }

    /// The sums.
    pub fn sums(&self) -> &[ProductSum] {
        &self.sums
    }

    /// Places of a block, a power of two: as many as keep it in the second cache. One of many sums has fewer.
    fn places(&self, degree: usize) -> usize {
        let components = self.sums.iter().filter_map(|sum| self.steps.components_of(*sum).ok());
        let rows = components.sum::<usize>()
            + self.steps.rows(Memory::Passing)
            + TOGETHER * self.steps.rows(Memory::Kept);
        let most = (CACHED_WORDS / rows.max(1)).clamp(FEWEST_PLACES, MOST_PLACES);
        (1 << most.ilog2()).min(degree)
    }
}

impl<'a> ProductSums<'a> {
    /// The task on these elements.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] for an element with another number of bodies, masks or integers; [`RlweError::Components`] for one without the computed
    /// ciphertext that a factor names; [`RlweError::Ring`] for a body over another ring, or without this ring element.
    pub fn new(
        ring: &'a Ring,
        task: &'a ProductTask,
        elements: &'a [StoredElement<'a>],
    ) -> Result<Self, RlweError> {
        for element in elements {
            let Operands { bodies, masks, integers } = task.steps.operands_of_element();
            for (found, bodies) in [
                (bodies, element.bodies.len()),
                (masks, element.masks.len()),
                (integers, element.integers.len()),
            ] {
                if bodies != found {
                    return Err(RlweError::NoSuchOperand { found, bodies });
                }
            }
            let (found, expected) = (element.computed.len(), 2);
            if found != expected && (found > 0 || task.steps.names_computed()) {
                return Err(RlweError::Components { found, expected });
            }
            let mut of_mask = element.mask.iter().copied().chain(element.masks).chain(element.computed);
            of_mask.try_for_each(|mask| ring.check_same(mask.ring()))?;
            element.bodies.iter().try_for_each(|body| element.check_body(ring, body))?;
        }
        let of_element = |element: &StoredElement<'_>, limb: usize| {
            element.bodies.iter().map(|body| element.stream(ring, body, limb)).collect()
        };
        let of_limb = |limb| elements.iter().map(|element| of_element(element, limb)).collect();
        let streams = (0..ring.limb_count()).map(of_limb).collect();
        let limbs = ring.limb_count();
        Ok(Self { ring, task, elements, streams, places: task.places(ring.degree()), limbs })
    }

    /// The same sums in the first `limbs` limbs alone, of all if there are fewer. [`ProductSums::assemble`] has zeros in the others: for sums of multiples of a
    /// computed ciphertext that is zero there.
    pub fn within(self, limbs: usize) -> Self {
        Self { limbs: limbs.min(self.ring.limb_count()), ..self }
    }

    /// How many blocks of places there are, each of all limbs that are evaluated. They are independent: [`ProductSums::add_block`] may run on any thread.
    pub fn blocks(&self) -> usize {
        self.limbs * (self.ring.degree() / self.places)
    }

    /// Sums of nothing in one block: of each its components, one after another.
    pub fn zeros(&self) -> Vec<Words> {
        let rows =
            |sum: &ProductSum| self.task.steps.components_of(*sum).unwrap_or(0) * (self.places + BETWEEN);
        self.task.sums.iter().map(|sum| Words::zeroed(rows(sum))).collect()
    }

    /// What a thread works in.
    pub fn memory(&self) -> BlockMemory {
        BlockMemory::new(&self.task.steps, self.places + BETWEEN)
    }

    /// Adds these elements to the sums in one block, which are laid out as [`ProductSums::zeros`].
    ///
    /// # Cost
    /// Two residues for every place, body and element, unpacked and expanded; a product of residues for every pair of components that meet. Sums are
    /// read and written once for every few elements.
    ///
    /// # Panics
    /// If there is no such block; for sums or memory of another task.
    pub fn add_block(&self, block: usize, memory: &mut BlockMemory, sums: &mut [Words]) {
        let of_limb = self.ring.degree() / self.places;
        let (index, block) = (block / of_limb, block % of_limb);
        let view = BlockView {
            limb: &self.ring.limbs()[index],
            index,
            block,
            places: self.places,
            stride: self.places + BETWEEN,
            elements: self.elements,
            streams: &self.streams[index],
        };
        view.add(&self.task.steps, &self.task.sums, memory, sums);
    }

    /// The components of the sum with this number, from the results of all blocks in order.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] if there is no such sum; [`RlweError::Ring`] for results of another task.
    pub fn assemble(&self, number: usize, blocks: &[Vec<Words>]) -> Result<Vec<Poly<Eval>>, RlweError> {
        let missing = RlweError::NoSuchOperand { found: number, bodies: self.task.sums.len() };
        let sum = self.task.sums.get(number).ok_or(missing)?;
        let (places, stride) = (self.places, self.places + BETWEEN);
        let (found, expected) = (blocks.len(), self.blocks());
        if found != expected {
            return Err(RingError::Length { found, expected }.into());
        }
        let poly = |component: usize| {
            let mut poly = Poly::recycled(self.ring);
            poly.words_mut()[self.limbs * self.ring.degree()..].fill(0);
            for (index, blocks) in blocks.chunks_exact(self.ring.degree() / places).enumerate() {
                for (words, block) in poly.limb_mut(index).chunks_exact_mut(places).zip(blocks) {
                    let rows = block.get(number).map_or(&[][..], |rows| rows);
                    let row = rows.get(component * stride..component * stride + places);
                    let found = rows.len();
                    words.copy_from_slice(row.ok_or(RingError::Length { found, expected: stride })?);
                }
            }
            Ok(poly)
        };
        (0..self.task.steps.components_of(*sum)?).map(poly).collect()
    }

    /// All blocks on this thread, assembled.
    ///
    /// # Errors
    /// None in practice.
    pub fn evaluate(&self) -> Result<Vec<Vec<Poly<Eval>>>, RlweError> {
        let mut memory = self.memory();
        let sums = |block| {
            let mut sums = self.zeros();
            self.add_block(block, &mut memory, &mut sums);
            sums
        };
        let blocks: Vec<_> = (0..self.blocks()).map(sums).collect();
        (0..self.task.sums.len()).map(|number| self.assemble(number, &blocks)).collect()
    }
}

#[cfg(test)]
mod tests;
