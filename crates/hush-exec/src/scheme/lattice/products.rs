// SPDX-License-Identifier: Apache-2.0
//! Sums of products of ciphertexts.
//!
//! While chunks are added, sums are kept block by block as threads compute them; at the end they are polynomials.

use arrow::buffer::BooleanBuffer;
use hush_plan::EncodingId;
use hush_plan::plan::ProductSum;
use hush_ring::{Eval, Poly, UniformSeed, Words};
use hush_rlwe::{
    BlockMemory, Body, ProductForm, ProductSums, StoredElement, decode_product, encode_product, product_bytes,
};
use hush_schemes::Values;
use rayon::prelude::*;

use super::super::{ProductChunk, ProductTotal, Products, RunningProducts};
use super::seed_of;
use crate::error::ExecError;
use crate::job::Extent;
use crate::packing::stored_body;
use crate::stop::Stop;
use crate::table::StoredBody;

/// The sums of one run: of each block the components of every sum. Empty before anything is added.
pub(crate) struct ProductBlocks(Vec<Vec<Words>>);

/// The components of every sum.
pub(crate) struct ProductPolys(Vec<Vec<Poly<Eval>>>);

/// Ring elements that count, with their masks, of one chunk.
struct Loaded<'a> {
    seed: UniformSeed,
    bodies: Vec<Body<'a>>,
    elements: Vec<Masked>,
}

/// A ring element that counts.
struct Masked {
    element: u32,
    /// `None` where every slot counts.
    mask: Option<Poly<Eval>>,
    /// Those of factors.
    masks: Vec<Poly<Eval>>,
    /// Powers of its number.
    powers: Vec<i64>,
}

impl Loaded<'_> {
    fn stored(&self) -> impl Iterator<Item = StoredElement<'_>> {
        let Self { seed, bodies, elements } = self;
        elements.iter().map(|Masked { element, mask, masks, powers }| StoredElement {
            seed: *seed,
            element: *element,
            bodies,
            mask: mask.as_ref(),
            masks,
            integers: powers,
            computed: &[],
        })
    }
}

impl RunningProducts for ProductBlocks {
    type Total = ProductPolys;

    fn new(_: &Products) -> Self {
        Self(Vec::new())
    }

    fn memory_bytes(products: &Products, threads: usize) -> Result<u64, ExecError> {
        let sums = ProductSums::new(&products.ring, &products.evaluated, &[]).map_err(|_| INTERNAL)?;
        let words = products.ring.poly_words() as u64;
        let row_bytes = 8 * words / (sums.blocks() as u64).max(1);
        let components = components(products);
        let of_thread = products.shape.held.saturating_mul(ELEMENTS_AT_ONCE).saturating_add(components);
        // To bring a sum back, its components, their digits, and these modulo a prime.
        let most = products.shape.components.iter().max().copied().unwrap_or(0) as u64;
        let brought_back = products.powers.as_ref().map_or(0, |_| 4 * most * 8 * words);
        let of_thread = of_thread.saturating_mul(row_bytes).saturating_add(brought_back);
        let keys = products.powers.as_ref().map_or(0, |keys| keys.memory_bytes() as u64);
        let threads = of_thread.saturating_mul(threads as u64).saturating_add(keys);
        Ok(Self::Total::memory_bytes(products).saturating_mul(2).saturating_add(threads))
    }

    fn absorb(
        &mut self,
        products: &Products,
        chunks: &[ProductChunk<'_>],
        stop: &Stop,
    ) -> Result<(), ExecError> {
        let loaded: Vec<Loaded<'_>> =
            chunks.par_iter().map(|chunk| load(products, chunk)).collect::<Result<_, _>>()?;
        let elements: Vec<StoredElement<'_>> = loaded.iter().flat_map(Loaded::stored).collect();
        let computed =
            products.computing.as_ref().map(|computing| computing.evaluate(&products.ring, &elements, stop));
        let computed = computed.transpose()?.unwrap_or_default();
        let mut elements = elements;
        for (element, computed) in elements.iter_mut().zip(&computed) {
            element.computed = computed;
        }
        let sums = product_sums(products, &elements)?;
        self.0.resize_with(sums.blocks(), || sums.zeros());
        let add = |memory: &mut BlockMemory, (block, totals): (usize, &mut Vec<Words>)| {
            stop.check()?;
            sums.add_block(block, memory, totals);
            Ok(())
        };
        self.0.par_iter_mut().enumerate().try_for_each_init(|| sums.memory(), add)
    }

    /// Sum by sum, so that they are polynomials one after another.
    fn into_objects(self, products: &Products, extent: Extent) -> Result<Vec<Vec<u8>>, ExecError> {
        if self.0.is_empty() {
            return ProductPolys::zero(products).encode(products, extent);
        }
        let sums = product_sums(products, &[])?;
        let encode = |(number, sum): (usize, &ProductSum)| {
            let components = sums.assemble(number, &self.0).map_err(|_| INTERNAL)?;
            object(products, (sum, &components), extent)
        };
        products.task.sums.par_iter().enumerate().map(encode).collect()
    }
}

/// The sums of a task on some ring elements, modulo the primes in which they can be other than 0.
fn product_sums<'a>(
    products: &'a Products,
    elements: &'a [StoredElement<'a>],
) -> Result<ProductSums<'a>, ExecError> {
    let sums = ProductSums::new(&products.ring, &products.evaluated, elements).map_err(|_| INTERNAL)?;
    Ok(sums.within(products.limbs()))
}

/// The bodies of a chunk, and its ring elements in which something counts.
fn load<'a>(products: &Products, chunk: &ProductChunk<'a>) -> Result<Loaded<'a>, ExecError> {
    let (input, shape) = (&chunk.input, &products.shape);
    let seed = seed_of(input)?;
    let body = |column: &EncodingId| {
        let place = (input.row.written, input.row.rows);
        let (kind, id) = stored_body(*column, &shape.packing, shape.set, place).ok_or(INTERNAL)?;
        let stored = StoredBody { blob: input.blob(*column)?, kind, id, index: input.row.index };
        input.snapshot.body(input.part, &products.ring, stored)
    };
    let bodies = chunk.operands.iter().map(body).collect::<Result<_, _>>()?;
    let count = shape.packing.element_count(shape.set, input.row.rows);
    let elements = (0..count).filter_map(|element| masked(products, chunk, element).transpose());
    Ok(Loaded { seed, bodies, elements: elements.collect::<Result<_, _>>()? })
}

/// A ring element with its masks; `None` where nothing counts.
fn masked(products: &Products, chunk: &ProductChunk<'_>, element: u32) -> Result<Option<Masked>, ExecError> {
    let degree = products.ring.degree();
    let rows_of = |rows: &BooleanBuffer| {
        let first = (element as usize * degree).min(rows.len());
        rows.slice(first, degree.min(rows.len() - first))
    };
    let mask = match chunk.counted.map(rows_of) {
        None => None,
        Some(rows) => match rows.count_set_bits() {
            0 => return Ok(None),
            _ if products.groups.is_some() => None,
            all if all == degree => None,
            _ => Some(in_slots(products, &rows)?),
        },
    };
    let first = (element as usize * degree).min(chunk.groups.len());
    let groups = &chunk.groups[first..chunk.groups.len().min(first + degree)];
    let of_group = |group: usize| groups.iter().map(|of| *of as usize == group).collect();
    let of_groups = (0..products.groups.unwrap_or(0)).map(of_group);
    let masks = chunk.masks.iter().map(rows_of).chain(of_groups).map(|rows| in_slots(products, &rows));
    let powers = products.powers_of(chunk.number.saturating_add(element))?;
    Ok(Some(Masked { element, mask, masks: masks.collect::<Result<_, _>>()?, powers }))
}

/// The message that is 1 in the slots of some rows.
fn in_slots(products: &Products, rows: &BooleanBuffer) -> Result<Poly<Eval>, ExecError> {
    if rows.count_set_bits() == 0 {
        return Ok(Poly::zero(&products.ring));
    }
    let bits: Vec<i64> = rows.iter().map(i64::from).collect();
    products.encoder.encode_clear(0, Values::I64(&bits)).map_err(|_| INTERNAL)
}

impl ProductTotal for ProductPolys {
    fn zero(products: &Products) -> Self {
        let zero = |components: &usize| vec![Poly::zero(&products.ring); *components];
        Self(products.shape.components.iter().map(zero).collect())
    }

    fn decode(products: &Products, objects: &[&[u8]]) -> Option<Self> {
        let sums = objects.par_iter().zip(&products.task.sums);
        let decode = |(object, sum): (&&[u8], &ProductSum)| {
            decode_product(object, &products.ring, &form(products, sum, Extent::Partial)).ok()
        };
        let sums = sums.map(decode).collect::<Option<Vec<_>>>()?;
        (objects.len() == products.task.sums.len()).then_some(Self(sums))
    }

    fn add(&mut self, other: Self) -> Result<(), ExecError> {
        let mut pairs = self.0.iter_mut().flatten().zip(other.0.iter().flatten());
        pairs.try_for_each(|(mine, theirs)| mine.add_assign(theirs)).map_err(|_| INTERNAL)
    }

    fn encode(&self, products: &Products, extent: Extent) -> Result<Vec<Vec<u8>>, ExecError> {
        let encode =
            |(components, sum): (&Vec<Poly<Eval>>, &ProductSum)| object(products, (sum, components), extent);
        self.0.par_iter().zip(&products.task.sums).map(encode).collect()
    }

    fn object_bytes(products: &Products, sum: &ProductSum, extent: Extent) -> u64 {
        product_bytes(&products.ring, &form(products, sum, extent)) as u64
    }

    fn memory_bytes(products: &Products) -> u64 {
        components(products).saturating_mul(8 * products.ring.poly_words() as u64)
    }
}

/// The object of a sum. That of a whole answer has two components where there are keys for the others.
fn object(
    products: &Products,
    (sum, components): (&ProductSum, &[Poly<Eval>]),
    extent: Extent,
) -> Result<Vec<u8>, ExecError> {
    let brought_back = match (&products.powers, extent) {
        (Some(keys), Extent::Whole) if components.len() > 2 => {
            Some(keys.relinearise(components).map_err(|_| INTERNAL)?)
        }
        _ => None,
    };
    let components = brought_back.as_deref().unwrap_or(components);
    encode_product(&products.ring, components, &form(products, sum, extent)).map_err(|_| INTERNAL)
}

/// How a sum travels: as the plan says, with as many bits as components, or with residues that can be added.
fn form(products: &Products, sum: &ProductSum, extent: Extent) -> ProductForm {
    match extent {
        Extent::Whole => ProductForm::Rounded { bits: sum.bits.clone(), t: products.shape.prime },
        Extent::Partial => ProductForm::Residues { components: products.task.components(sum) as u8 },
    }
}

/// Components of all sums.
fn components(products: &Products) -> u64 {
    products.shape.components.iter().map(|count| *count as u64).sum()
}

/// Ring elements whose factors are held at the same time ([`ProductSums`]).
const ELEMENTS_AT_ONCE: u64 = 7;
/// An error that tasks of checked form do not have.
const INTERNAL: ExecError = ExecError::Internal { place: "sums of products" };
