// SPDX-License-Identifier: Apache-2.0
//! Inner products of stored ciphertexts with encrypted scalars: conditions whose constants are encrypted.
//!
//! ```text
//!   sum      Σ body_i·scalar_i + Σ scalar_j              of each ring element by itself
//!   result   (c_0, c_1, c_2) over the chain's top level   to be relinearised there
//! ```
//!
//! Stored ciphertexts are over a preset's ring, scalars over the top level of a chain with the same primes in the same order: residues of both meet
//! as they are.
//!
//! *Evaluation.* Block by block of places and limbs, which are independent. The scalars of a block stay in the second cache while element after element
//! meets them. A body is unpacked, and its mask expanded, once for all sums.

use hush_ring::{LimbStream, Poly, Ring, RingError, RingLimb, Words};

use crate::product::BETWEEN;
use crate::{RlweCiphertext, RlweError, StoredElement};

/// Places of a block.
const PLACES: usize = 128;
/// Rows of a call of the kernel, which takes 64 at most.
const ROWS: usize = 64;
/// Components of a product.
const COMPONENTS: usize = 3;

/// A stored ciphertext, or the constant 1, times a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerTerm {
    /// The number of the body; `None` for the constant 1.
    pub body: Option<usize>,
    /// The number of the scalar.
    pub scalar: usize,
}

/// Sums of products on some ring elements.
#[derive(Debug)]
pub struct InnerProducts<'a> {
    ring: &'a Ring,
    level: &'a Ring,
    elements: &'a [StoredElement<'a>],
    scalars: &'a [RlweCiphertext],
    /// The bodies that sums name, in rising order.
    used: Vec<usize>,
    sums: Vec<Sum>,
    /// The streams of masks, of each limb, element and used body.
    streams: Vec<Vec<Vec<LimbStream>>>,
}

/// The terms of a sum.
#[derive(Debug)]
struct Sum {
    /// Place among the used bodies, and scalar.
    products: Vec<(usize, usize)>,
    /// Scalars times 1.
    alone: Vec<usize>,
}

/// What a thread works in.
pub struct InnerMemory {
    /// Of each scalar a row of its body and one of its mask.
    scalars: Words,
    /// Of each used body likewise.
    stored: Words,
    /// Half of a component.
    half: Words,
}

impl<'a> InnerProducts<'a> {
    /// Sums over `ring` elements, which keep no masks for factors here. `level` is the ring of the chain's top level: the primes of `ring` in the same order.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] for a body or scalar that is not there; [`RlweError::Components`] for a scalar of other than two components;
    /// [`RlweError::Ring`] for other primes, for a body over another ring or without this ring element, for a scalar over another level.
    pub fn new(
        ring: &'a Ring,
        level: &'a Ring,
        elements: &'a [StoredElement<'a>],
        scalars: &'a [RlweCiphertext],
        sums: &[Vec<InnerTerm>],
    ) -> Result<Self, RlweError> {
        let (left, right) = (ring.param_code(), level.param_code());
        if ring.degree() != level.degree() || !ring.crt().moduli().eq(level.crt().moduli()) {
            return Err(RingError::RingMismatch { left, right }.into());
        }
        for scalar in scalars {
            level.check_same(scalar.ring())?;
            scalar.pair()?;
        }
        let terms = || sums.iter().flatten();
        if let Some(term) = terms().find(|term| term.scalar >= scalars.len()) {
            return Err(RlweError::NoSuchOperand { found: term.scalar, bodies: scalars.len() });
        }
        let mut used: Vec<usize> = terms().filter_map(|term| term.body).collect();
        used.sort_unstable();
        used.dedup();
        for element in elements {
            for &number in &used {
                let missing = RlweError::NoSuchOperand { found: number, bodies: element.bodies.len() };
                element.check_body(ring, element.bodies.get(number).ok_or(missing)?)?;
            }
        }
        let of_element = |element: &StoredElement<'_>, limb: usize| {
            let bodies = used.iter().filter_map(|&number| element.bodies.get(number));
            bodies.map(|body| element.stream(ring, body, limb)).collect()
        };
        let of_limb = |limb| elements.iter().map(|element| of_element(element, limb)).collect();
        let streams = (0..ring.limb_count()).map(of_limb).collect();
        let sums = sums.iter().map(|terms| Sum::new(terms, &used)).collect();
        Ok(Self { ring, level, elements, scalars, used, sums, streams })
    }

    /// How many blocks of places there are, each of all limbs. They are independent: [`InnerProducts::evaluate_block`] may run on any thread.
    pub fn blocks(&self) -> usize {
        self.ring.limb_count() * (self.ring.degree() / self.places())
    }

    /// What a thread works in.
    pub fn memory(&self) -> InnerMemory {
        let stride = self.places() + BETWEEN;
        let rows = |count: usize| Words::zeroed(2 * count * stride);
        InnerMemory {
            scalars: rows(self.scalars.len()),
            stored: rows(self.used.len()),
            half: Words::zeroed(self.places()),
        }
    }

    /// Bytes of what a thread works in, for so many scalars and bodies that sums name.
    pub fn memory_bytes(ring: &Ring, (scalars, bodies): (usize, usize)) -> usize {
        let places = PLACES.min(ring.degree());
        (2 * (scalars + bodies) * (places + BETWEEN) + places) * size_of::<u64>()
    }

    /// Bytes of the results of all blocks, for so many elements and sums. [`InnerProducts::ciphertext`] has those of one again.
    pub fn result_bytes(ring: &Ring, (elements, sums): (usize, usize)) -> usize {
        COMPONENTS * elements * sums * ring.poly_words() * size_of::<u64>()
    }

    /// The components of every sum in one block: element after element, sum after sum, three rows of each.
    ///
    /// # Cost
    /// Two residues for every place, element and used body, unpacked and expanded; four products of residues for every term.
    ///
    /// # Panics
    /// If there is no such block; for memory of other sums.
    pub fn evaluate_block(&self, block: usize, memory: &mut InnerMemory) -> Words {
        let (places, of_limb) = (self.places(), self.ring.degree() / self.places());
        let (index, block) = (block / of_limb, block % of_limb);
        let view = View { limb: &self.ring.limbs()[index], index, block, places };
        let mut out = Words::recycled(self.elements.len() * self.sums.len() * COMPONENTS * places);
        let InnerMemory { scalars, stored, half } = memory;
        self.load_scalars(view, scalars);
        let scalars = rows(scalars, places);
        let of_products = |half: usize| -> Vec<&[u64]> {
            let products = self.sums.iter().flat_map(|sum| &sum.products);
            products.map(|&(_, scalar)| scalars[2 * scalar + half]).collect()
        };
        let keys = [of_products(0), of_products(1)];
        let streams = &self.streams[index];
        let mut sums = out.chunks_exact_mut(COMPONENTS * places);
        for (number, (element, streams)) in self.elements.iter().zip(streams).enumerate() {
            if let Some(next) = self.elements.get(number + 1) {
                self.used.iter().for_each(|&body| view.limb.prefetch(view.packed(next, body)));
            }
            self.load_element(view, element, streams, stored);
            let stored = rows(stored, places);
            let mut first = 0;
            for (sum, out) in self.sums.iter().zip(sums.by_ref()) {
                let last = first + sum.products.len();
                let keys = [&keys[0][first..last], &keys[1][first..last]];
                view.add_products(out, sum, (&stored, keys), half);
                first = last;
                for &scalar in &sum.alone {
                    let components = out.chunks_exact_mut(places).zip(&scalars[2 * scalar..2 * scalar + 2]);
                    components.for_each(|(out, scalar)| view.limb.add_assign(out, scalar));
                }
            }
        }
        out
    }

    /// A sum of an element, from the results of all blocks in order.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`] if there is no such element or sum; [`RlweError::Ring`] for results of other sums.
    pub fn ciphertext(
        &self,
        blocks: &[Words],
        (element, sum): (usize, usize),
    ) -> Result<RlweCiphertext, RlweError> {
        for (found, bodies) in [(element, self.elements.len()), (sum, self.sums.len())] {
            if found >= bodies {
                return Err(RlweError::NoSuchOperand { found, bodies });
            }
        }
        let places = self.places();
        let row_count = self.elements.len() * self.sums.len() * COMPONENTS;
        let check = |found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(RingError::Length { found, expected }) }
        };
        check(blocks.len(), self.blocks())?;
        blocks.iter().try_for_each(|block| check(block.len(), row_count * places))?;
        let poly = |row: usize| {
            let mut poly = Poly::recycled(self.level);
            let words = poly.words_mut().chunks_exact_mut(places).zip(blocks);
            words.for_each(|(words, block)| {
                words.copy_from_slice(&block[row * places..(row + 1) * places]);
            });
            poly
        };
        let first = (element * self.sums.len() + sum) * COMPONENTS;
        RlweCiphertext::new((first..first + COMPONENTS).map(poly).collect())
    }

    fn places(&self) -> usize {
        PLACES.min(self.ring.degree())
    }

    /// Copies the scalars of a block, so that their rows are not a power of two apart.
    fn load_scalars(&self, view: View<'_>, memory: &mut [u64]) {
        let polys = self.scalars.iter().flat_map(RlweCiphertext::components);
        let (first, last) = (view.block * view.places, (view.block + 1) * view.places);
        for (row, poly) in memory.chunks_exact_mut(view.places + BETWEEN).zip(polys) {
            row[..view.places].copy_from_slice(&poly.limb(view.index)[first..last]);
        }
    }

    /// Unpacks the used bodies of an element, and expands their masks.
    fn load_element(
        &self,
        view: View<'_>,
        element: &StoredElement<'_>,
        streams: &[LimbStream],
        memory: &mut [u64],
    ) {
        let stride = view.places + BETWEEN;
        let memory = memory.chunks_exact_mut(2 * stride);
        for ((rows, &body), stream) in memory.zip(&self.used).zip(streams) {
            let (body_row, mask_row) = rows.split_at_mut(stride);
            view.limb.unpack(view.packed(element, body), &mut body_row[..view.places]);
            stream.expand_into((view.block * view.places / 2) as u64, &mut mask_row[..view.places]);
        }
    }
}

impl Sum {
    fn new(terms: &[InnerTerm], used: &[usize]) -> Self {
        let place = |term: &InnerTerm| Some((used.binary_search(&term.body?).ok()?, term.scalar));
        let alone = terms.iter().filter(|term| term.body.is_none()).map(|term| term.scalar);
        Self { products: terms.iter().filter_map(place).collect(), alone: alone.collect() }
    }
}

/// A block of places of one limb.
#[derive(Clone, Copy)]
struct View<'a> {
    limb: &'a RingLimb,
    /// The number of the limb.
    index: usize,
    /// The number of the block.
    block: usize,
    places: usize,
}

impl View<'_> {
    /// The packed residues of a body in this block.
    fn packed<'b>(&self, stored: &StoredElement<'b>, body: usize) -> &'b [u8] {
        stored.packed(body, (self.limb, self.index), (self.block, self.places))
    }

    /// The products of a sum: `Σ b·(k_0, k_1)` and `Σ a·(k_0, k_1)`, of which the two in the middle are one component.
    fn add_products(
        &self,
        out: &mut [u64],
        sum: &Sum,
        (stored, keys): (&[&[u64]], [&[&[u64]]; 2]),
        half: &mut [u64],
    ) {
        let of_stored =
            |half: usize| sum.products.iter().map(|&(body, _)| stored[2 * body + half]).collect::<Vec<_>>();
        let (bodies, masks) = (of_stored(0), of_stored(1));
        let (body, rest) = out.split_at_mut(self.places);
        let (middle, square) = rest.split_at_mut(self.places);
        if bodies.len() <= ROWS {
            self.limb.dot_pair((body, middle), &bodies, (keys[0], keys[1]));
            self.limb.dot_pair((half, square), &masks, (keys[0], keys[1]));
            return self.limb.add_assign(middle, half);
        }
        body.fill(0);
        middle.fill(0);
        square.fill(0);
        let mut other = Words::recycled(self.places);
        let keys = keys[0].chunks(ROWS).zip(keys[1].chunks(ROWS));
        for ((bodies, masks), keys) in bodies.chunks(ROWS).zip(masks.chunks(ROWS)).zip(keys) {
            self.limb.dot_pair((&mut other, half), bodies, keys);
            self.limb.add_assign(body, &other);
            self.limb.add_assign(middle, half);
            self.limb.dot_pair((&mut other, half), masks, keys);
            self.limb.add_assign(middle, &other);
            self.limb.add_assign(square, half);
        }
    }
}

/// The rows of a memory.
fn rows(memory: &[u64], places: usize) -> Vec<&[u64]> {
    memory.chunks_exact(places + BETWEEN).map(|row| &row[..places]).collect()
}

#[cfg(test)]
mod tests;
