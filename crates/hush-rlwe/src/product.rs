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

use std::borrow::Cow;

use hush_ring::{Eval, ExpandLabel, LimbStream, Poly, Ring, RingError, RingLimb, UniformSeed};

use crate::{Body, RlweError};

/// Most components of a sum: of a product of seven stored ciphertexts.
pub const MAX_PRODUCT_COMPONENTS: usize = 8;
/// Places of a block.
const PLACES: usize = 256;
/// Ring elements whose products are added at a time, for one pass over the sums.
const TOGETHER: usize = 4;

/// A polynomial in the stored ciphertexts of a ring element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The ciphertext of the body with this number.
    Stored(usize),
    /// The same integer in every slot.
    Constant(i64),
    /// The factor with this number in the list, which stands before this one.
    Earlier(usize),
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

/// Factors and sums that fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductTask {
    factors: Vec<Factor>,
    sums: Vec<ProductSum>,
    bodies: usize,
    /// Components of each factor.
    components: Vec<usize>,
    /// Whether factors read a body.
    is_read: Vec<bool>,
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
}

impl Factor {
    /// Components of its ciphertext.
    fn components(&self, earlier: &[usize], bodies: usize, is_read: &mut [bool]) -> Result<usize, RlweError> {
        let mut both = |left: &Self, right: &Self| {
            Ok::<_, RlweError>((
                left.components(earlier, bodies, is_read)?,
                right.components(earlier, bodies, is_read)?,
            ))
        };
        match self {
            Self::Constant(_) => Ok(1),
            Self::Stored(body) => {
                let read = is_read.get_mut(*body).ok_or(RlweError::NoSuchOperand { found: *body, bodies })?;
                *read = true;
                Ok(2)
            }
            Self::Earlier(factor) => {
                let found = earlier.get(*factor).copied();
                found.ok_or(RlweError::NoSuchOperand { found: *factor, bodies: earlier.len() })
            }
            Self::Add(left, right) | Self::Sub(left, right) => {
                both(left, right).map(|(left, right)| left.max(right))
            }
            Self::Mul(left, right) => {
                let (left, right) = both(left, right)?;
                product_components(left, right)
            }
        }
    }
}

/// Components of a product of ciphertexts with so many.
fn product_components(left: usize, right: usize) -> Result<usize, RlweError> {
    let found = left + right - 1;
    if found > MAX_PRODUCT_COMPONENTS {
        return Err(RlweError::ProductDegree { found: found - 1, most: MAX_PRODUCT_COMPONENTS - 1 });
    }
    Ok(found)
}

impl ProductTask {
    /// A task on elements with so many bodies.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] for numbers of bodies or factors that are not there, [`RlweError::ProductDegree`] for too many factors in a
    /// product.
    pub fn new(factors: Vec<Factor>, sums: Vec<ProductSum>, bodies: usize) -> Result<Self, RlweError> {
        let (mut components, mut is_read) = (Vec::with_capacity(factors.len()), vec![false; bodies]);
        for factor in &factors {
            components.push(factor.components(&components, bodies, &mut is_read)?);
        }
        let task = Self { factors, sums, bodies, components, is_read };
        for sum in &task.sums {
            task.components_of(*sum)?;
        }
        Ok(task)
    }

    /// The sums.
    pub fn sums(&self) -> &[ProductSum] {
        &self.sums
    }

    /// Components of a sum's ciphertext.
    fn components_of(&self, sum: ProductSum) -> Result<usize, RlweError> {
        let known = self.components.len();
        let factor = self.components.get(sum.factor).copied();
        let factor = factor.ok_or(RlweError::NoSuchOperand { found: sum.factor, bodies: known })?;
        match sum.measure {
            None => Ok(factor),
            Some(body) if body < self.bodies => product_components(factor, 2),
            Some(body) => Err(RlweError::NoSuchOperand { found: body, bodies: self.bodies }),
        }
    }
}

impl<'a> ProductSums<'a> {
    /// The task on these elements.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] for an element with another number of bodies; [`RlweError::Ring`] for a body over another ring, or without this
    /// ring element.
    pub fn new(
        ring: &'a Ring,
        task: &'a ProductTask,
        elements: &'a [StoredElement<'a>],
    ) -> Result<Self, RlweError> {
        for element in elements {
            if element.bodies.len() != task.bodies {
                return Err(RlweError::NoSuchOperand { found: task.bodies, bodies: element.bodies.len() });
            }
            for body in element.bodies {
                let (left, right) = (body.param_code(), ring.param_code());
                if left != right {
                    return Err(RingError::RingMismatch { left, right }.into());
                }
                let (found, expected) = (body.packed(element.element, 0, 0).len(), ring.limb_bytes());
                if found != expected {
                    return Err(RingError::Length { found, expected }.into());
                }
            }
        }
        let of_body = |element: &StoredElement<'_>, body: &Body<'_>, limb: usize| {
            let label = ExpandLabel::slot(body.id().column, element.element, 0);
            element.seed.limb_stream(ring, label, limb)
        };
        let of_element = |element: &StoredElement<'_>, limb: usize| {
            element.bodies.iter().map(|body| of_body(element, body, limb)).collect()
        };
        let of_limb = |limb| elements.iter().map(|element| of_element(element, limb)).collect();
        let streams = (0..ring.limb_count()).map(of_limb).collect();
        Ok(Self { ring, task, elements, streams, places: PLACES.min(ring.degree()) })
    }

    /// How many blocks of places there are, each of all limbs. They are independent: [`ProductSums::block`] may run on any thread.
    pub fn blocks(&self) -> usize {
        self.ring.limb_count() * (self.ring.degree() / self.places)
    }

    /// The sums in one block: of each its components, one after another.
    ///
    /// # Cost
    /// Two residues for every place, body and element, unpacked and expanded; a product of residues for every pair of components that meet.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, block: usize) -> Vec<Vec<u64>> {
        let of_limb = self.ring.degree() / self.places;
        let (index, block) = (block / of_limb, block % of_limb);
        let limb = &self.ring.limbs()[index];
        let view = BlockView { limb, index, block, places: self.places, streams: &self.streams[index] };
        let rows = |sum: &ProductSum| self.task.components_of(*sum).unwrap_or(0) * self.places;
        let mut sums: Vec<Vec<u64>> = self.task.sums.iter().map(|sum| vec![0; rows(sum)]).collect();
        let numbered: Vec<(usize, &StoredElement<'_>)> = self.elements.iter().enumerate().collect();
        for elements in numbered.chunks(TOGETHER) {
            let found: Vec<Evaluated> =
                elements.iter().map(|element| view.evaluate(self.task, *element)).collect();
            for (sum, acc) in self.task.sums.iter().zip(&mut sums) {
                view.add(*sum, &found, acc);
            }
        }
        sums
    }

    /// The components of every sum, from the results of all blocks in order.
    ///
    /// # Errors
    /// [`RlweError::Ring`] for results of another task.
    pub fn assemble(&self, blocks: &[Vec<Vec<u64>>]) -> Result<Vec<Vec<Poly<Eval>>>, RlweError> {
        let (degree, places) = (self.ring.degree(), self.places);
        let mut sums = Vec::with_capacity(self.task.sums.len());
        for (number, sum) in self.task.sums.iter().enumerate() {
            let component = |component: usize| {
                let mut words = Vec::with_capacity(self.ring.poly_words());
                for block in blocks {
                    let rows = block.get(number).map_or(&[][..], Vec::as_slice);
                    words.extend_from_slice(
                        rows.get(component * places..(component + 1) * places).unwrap_or_default(),
                    );
                }
                debug_assert!(words.len().is_multiple_of(degree), "blocks of whole limbs");
                Ok::<_, RlweError>(Poly::from_words(self.ring, words)?)
            };
            sums.push((0..self.task.components_of(*sum)?).map(component).collect::<Result<_, _>>()?);
        }
        Ok(sums)
    }

    /// All blocks on this thread, assembled.
    ///
    /// # Errors
    /// None in practice.
    pub fn evaluate(&self) -> Result<Vec<Vec<Poly<Eval>>>, RlweError> {
        let blocks: Vec<_> = (0..self.blocks()).map(|block| self.block(block)).collect();
        self.assemble(&blocks)
    }
}

/// A block of places of one limb.
struct BlockView<'a> {
    limb: &'a RingLimb,
    index: usize,
    block: usize,
    places: usize,
    streams: &'a [Vec<LimbStream>],
}

/// Of one element: its factors, and its measures where sums have some.
struct Evaluated {
    factors: Vec<Vec<u64>>,
    measures: Vec<Option<Vec<u64>>>,
}

impl BlockView<'_> {
    /// Body and mask of a stored ciphertext.
    fn load(&self, (number, element): (usize, &StoredElement<'_>), body: usize) -> Vec<u64> {
        let mut words = vec![0; 2 * self.places];
        let (bodies, masks) = words.split_at_mut(self.places);
        let bytes = self.limb.packed_bytes(self.places);
        let packed = element.bodies.get(body).map(|body| body.packed(element.element, 0, self.index));
        let packed = packed.and_then(|packed| packed.get(self.block * bytes..(self.block + 1) * bytes));
        self.limb.unpack(packed.unwrap_or_default(), bodies);
        if let Some(stream) = self.streams.get(number).and_then(|streams| streams.get(body)) {
            stream.expand_into((self.block * self.places / 2) as u64, masks);
        }
        words
    }

    fn evaluate(&self, task: &ProductTask, element: (usize, &StoredElement<'_>)) -> Evaluated {
        let load = |(body, is_read): (usize, &bool)| is_read.then(|| self.load(element, body));
        let operands: Vec<Option<Vec<u64>>> = task.is_read.iter().enumerate().map(load).collect();
        let mut factors: Vec<Vec<u64>> = Vec::with_capacity(task.factors.len());
        for factor in &task.factors {
            let value = self.value(factor, &operands, &factors).into_owned();
            factors.push(value);
        }
        let mut measures: Vec<Option<Vec<u64>>> = vec![None; task.bodies];
        for body in task.sums.iter().filter_map(|sum| sum.measure) {
            if let Some(measure) = measures.get_mut(body)
                && measure.is_none()
            {
                let known = operands.get(body).cloned().flatten();
                *measure = Some(known.unwrap_or_else(|| self.load(element, body)));
            }
        }
        Evaluated { factors, measures }
    }

    /// The rows of a factor.
    fn value<'v>(
        &self,
        factor: &Factor,
        operands: &'v [Option<Vec<u64>>],
        earlier: &'v [Vec<u64>],
    ) -> Cow<'v, [u64]> {
        let value = |factor: &Factor| self.value(factor, operands, earlier);
        match factor {
            Factor::Stored(body) => {
                Cow::Borrowed(operands.get(*body).and_then(Option::as_deref).unwrap_or_default())
            }
            Factor::Earlier(factor) => Cow::Borrowed(earlier.get(*factor).map_or(&[][..], Vec::as_slice)),
            Factor::Constant(integer) => {
                let q = i128::from(self.limb.modulus().value());
                Cow::Owned(vec![i128::from(*integer).rem_euclid(q) as u64; self.places])
            }
            Factor::Add(left, right) => {
                let (mut left, right) = (value(left).into_owned(), value(right));
                left.resize(left.len().max(right.len()), 0);
                self.limb.add_assign(&mut left[..right.len()], &right);
                Cow::Owned(left)
            }
            Factor::Sub(left, right) => {
                let (mut left, right) = (value(left).into_owned(), value(right));
                left.resize(left.len().max(right.len()), 0);
                self.limb.sub_assign(&mut left[..right.len()], &right);
                Cow::Owned(left)
            }
            Factor::Mul(left, right) => {
                let (left, right) = (value(left), value(right));
                let mut product = vec![0; left.len() + right.len() - self.places];
                self.limb.multiply(self.places, &mut product, (&left, &right));
                Cow::Owned(product)
            }
        }
    }

    /// Adds a sum's products of some elements.
    fn add(&self, sum: ProductSum, elements: &[Evaluated], acc: &mut [u64]) {
        let factors = elements.iter().filter_map(|element| element.factors.get(sum.factor));
        let Some(body) = sum.measure else {
            return factors.for_each(|factor| self.limb.add_assign(acc, factor));
        };
        let measures = elements.iter().filter_map(|element| element.measures.get(body)?.as_deref());
        let pairs: Vec<(&[u64], &[u64])> = factors.map(Vec::as_slice).zip(measures).collect();
        self.limb.multiply_add(self.places, acc, &pairs);
    }
}
