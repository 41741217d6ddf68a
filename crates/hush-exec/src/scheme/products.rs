// SPDX-License-Identifier: Apache-2.0
//! Sums of products, ready to be evaluated on chunk after chunk.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use hush_arith::Modulus;
use hush_plan::EncodingId;
use hush_plan::plan::{Factor, ProductSum, ProductsTask};
use hush_ring::Ring;
use hush_rlwe::{self as rlwe, Operands, PowerKeys, ProductTask};
use hush_schemes::bgv::slots::SlotEncoder;

use super::ChunkInput;
use super::computed::Computing;
use crate::conform::ProductsShape;
use crate::error::ExecError;
use crate::job::{Extent, Job};
use crate::stop::Stop;
use crate::table::{self, Snapshot};

/// A task on products with the tables that its evaluation needs.
pub(crate) struct Products {
    pub(crate) task: ProductsTask,
    pub(crate) shape: ProductsShape,
    pub(crate) ring: Ring,
    /// What is chosen for the operands behind the task's columns, chunk by chunk of the table.
    chosen: Vec<Vec<EncodingId>>,
    pub(super) encoder: SlotEncoder,
    pub(super) evaluated: ProductTask,
    /// The condition with encrypted constants, where there is one.
    pub(super) computing: Option<Computing>,
    /// What brings its sums back to two components, where it asks for that.
    pub(super) powers: Option<Arc<PowerKeys>>,
    /// How many groups its sums are of, whose masks leave out the rows that do not count; `None` without keys.
    pub(super) groups: Option<usize>,
}

/// A chunk of which rows count, with those that are in its ring elements.
pub(crate) struct ProductChunk<'a> {
    pub(crate) input: ChunkInput<'a>,
    /// The columns of all operands ([`Products::operands`]).
    pub(crate) operands: &'a [EncodingId],
    /// The number of its first ring element in the run.
    pub(crate) number: u32,
    /// A bit for each row of all; padding does not count then. `None`: every slot counts, padding too.
    pub(crate) counted: Option<&'a BooleanBuffer>,
    /// A bit for each row and mask of factors.
    pub(crate) masks: &'a [BooleanBuffer],
    /// The group of each row, [`NOT_SELECTED`](hush_schemes::bgv::sum::NOT_SELECTED) for none; empty without keys.
    pub(crate) groups: &'a [u32],
}

/// The sums of one run, while chunks are added.
pub(crate) trait RunningProducts: Send + Sized {
    /// What they are at the end.
    type Total: ProductTotal;

    /// Sums of nothing yet.
    fn new(products: &Products) -> Self;

    /// Memory of one run's sums, and of evaluation on so many threads.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn memory_bytes(products: &Products, threads: usize) -> Result<u64, ExecError>;

    /// Adds the products in some chunks, on all threads of the pool.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if a column does not fit the manifest; [`ExecError::Internal`]; those of [`Stop::check`].
    fn absorb(
        &mut self,
        products: &Products,
        chunks: &[ProductChunk<'_>],
        stop: &Stop,
    ) -> Result<(), ExecError>;

    /// The objects of the finished sums, as [`ProductTotal::encode`].
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn into_objects(self, products: &Products, extent: Extent) -> Result<Vec<Vec<u8>>, ExecError>;
}

/// The sums of one run, as partial answers carry and add them.
pub(crate) trait ProductTotal: Send + Sized {
    /// Sums of nothing.
    fn zero(products: &Products) -> Self;

    /// Reads the objects that a partial answer has of a run, one for each sum; `None` if they are none of the task.
    fn decode(products: &Products, objects: &[&[u8]]) -> Option<Self>;

    /// Adds the sums over other chunks of the run.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for sums of another task, and in dry runs for sums beyond 255 bits.
    fn add(&mut self, other: Self) -> Result<(), ExecError>;

    /// The objects of an answer, rounded, or of a partial one, with residues.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn encode(&self, products: &Products, extent: Extent) -> Result<Vec<Vec<u8>>, ExecError>;

    /// Bytes of the object of a sum.
    fn object_bytes(products: &Products, sum: &ProductSum, extent: Extent) -> u64;

    /// Memory of the sums of a run.
    fn memory_bytes(products: &Products) -> u64;
}

impl Products {
    /// Prepares a task that fits its table, and what it has chosen there ([`crate::conform::chosen`]).
    ///
    /// # Errors
    /// [`ExecError::Internal`] if ring and prime do not go together, which the checks of manifest and plan rule out.
    pub(crate) fn new(
        task: &ProductsTask,
        shape: ProductsShape,
        chosen: Vec<Vec<EncodingId>>,
    ) -> Result<Self, ExecError> {
        let ring = table::ring(shape.set)?;
        let encoder = SlotEncoder::new(&ring, &[shape.prime]);
        let encoder = encoder.map_err(|_| ExecError::Internal { place: "slot encoder" })?;
        let evaluated = product_task(task, task.masks.len())?;
        Ok(Self {
            task: task.clone(),
            shape,
            ring,
            chosen,
            encoder,
            evaluated,
            computing: None,
            powers: None,
            groups: None,
        })
    }

    /// The same with keys for the largest degree of its sums, where it asks for them.
    ///
    /// # Errors
    /// Those of [`Snapshot::power_keys`].
    pub(crate) fn with_keys(self, snapshot: &Snapshot, memory_bytes: u64) -> Result<Self, ExecError> {
        if !self.task.relinearised {
            return Ok(self);
        }
        let degree = self.shape.components.iter().max().map_or(0, |components| components - 1);
        let keys = snapshot.power_keys((&self.ring, self.shape.prime), degree, memory_bytes)?;
        Ok(Self { powers: Some(keys), ..self })
    }

    /// The same with its encrypted constants expanded, where it has some.
    ///
    /// # Errors
    /// Those of [`Computing::new`].
    pub(crate) fn with_constants(self, job: &Job) -> Result<Self, ExecError> {
        let Some(condition) = &self.task.computed else { return Ok(self) };
        let computing = Computing::new(condition, (&self.ring, self.shape.prime), job)?;
        Ok(Self { computing: Some(computing), ..self })
    }

    /// Bytes that its condition with encrypted constants takes in memory, with their keys.
    pub(crate) fn condition_bytes(&self) -> u64 {
        self.computing.as_ref().map_or(0, Computing::memory_bytes)
    }

    /// The primes of the ring in which its sums can be other than 0.
    pub(super) fn limbs(&self) -> usize {
        self.shape.computed_limbs.unwrap_or_else(|| self.ring.limb_count())
    }

    /// The sums of each of so many groups in turn. The masks of groups stand behind those of the task.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(crate) fn in_groups(self, count: usize) -> Result<Self, ExecError> {
        let Self { mut task, mut shape, .. } = self;
        let masks = task.masks.len();
        let sums = std::mem::take(&mut task.sums);
        let mut used: Vec<usize> = sums.iter().map(|sum| sum.factor).collect();
        used.sort_unstable();
        used.dedup();
        for group in 0..count {
            let first = task.factors.len();
            let of_group = |factor: &usize| {
                Factor::Mul(Box::new(Factor::Earlier(*factor)), Box::new(Factor::Mask(masks + group)))
            };
            task.factors.extend(used.iter().map(of_group));
            let place = |factor: usize| first + used.partition_point(|used| *used < factor);
            task.sums.extend(sums.iter().map(|sum| ProductSum { factor: place(sum.factor), ..sum.clone() }));
        }
        let of_masks = task.degrees().into_iter().skip(task.factors.len() - count * used.len());
        shape.held += count as u64 + of_masks.map(|degree| degree as u64 + 1).sum::<u64>();
        shape.components = shape.components.repeat(count);
        let evaluated = product_task(&task, masks + count)?;
        Ok(Self { task, shape, evaluated, groups: Some(count), ..self })
    }

    /// The columns of all operands in a chunk of the table: those of the task, and behind them those that are chosen there.
    pub(crate) fn operands(&self, chunk: u32) -> Vec<EncodingId> {
        let chosen = self.chosen.iter().filter_map(|of_chunks| of_chunks.get(chunk as usize));
        self.task.columns.iter().chain(chosen).copied().collect()
    }

    /// The degree of the ring, and how many chunks are together in it.
    pub(crate) fn in_ring(&self) -> (usize, u32) {
        (self.ring.degree(), self.shape.packing.chunks_together(self.shape.set))
    }

    /// Ring elements of full chunks that are together.
    pub(crate) fn elements_together(&self) -> u32 {
        let (_, together) = self.in_ring();
        self.shape.packing.element_count(self.shape.set, together * hush_table::CHUNK_ROWS)
    }

    /// Powers of the number of a ring element, from that of 0 on, as many as factors name: the residues nearest to 0.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(super) fn powers_of(&self, number: u32) -> Result<Vec<i64>, ExecError> {
        let Some(highest) = self.task.highest_power() else { return Ok(Vec::new()) };
        let modulus =
            Modulus::new(self.shape.prime).map_err(|_| ExecError::Internal { place: "prime of slots" })?;
        let t = modulus.value();
        let power = |power| match modulus.pow(modulus.reduce_u64(number.into()), power) {
            residue if residue > t / 2 => residue as i64 - t as i64,
            residue => residue as i64,
        };
        Ok((0..=u64::from(highest)).map(power).collect())
    }

    /// Bytes that full chunks that are together take in memory: of their columns, and of the masks and of the computed condition that stand in factors.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        let elements = self.elements_together();
        let element = self.shape.packing.element_bytes(self.shape.set, None) as u64;
        let computed = if self.computing.is_some() { 2 } else { 0 };
        let masks = (self.task.masks.len() + self.groups.unwrap_or(0) + computed) as u64;
        let masks = masks.saturating_mul(8 * self.ring.poly_words() as u64);
        (self.task.operand_count() as u64)
            .saturating_mul(element)
            .saturating_add(masks)
            .saturating_mul(elements.into())
    }

    /// Bytes of one run's objects.
    pub(crate) fn run_bytes<T: ProductTotal>(&self, extent: Extent) -> u64 {
        self.task.sums.iter().map(|sum| T::object_bytes(self, sum, extent)).sum()
    }
}

/// The task as it is evaluated, with so many masks.
///
/// # Errors
/// [`ExecError::Internal`] for a task that does not conform.
fn product_task(task: &ProductsTask, masks: usize) -> Result<ProductTask, ExecError> {
    let factors: Vec<rlwe::Factor> = task.factors.iter().map(|of| factor(task, of)).collect();
    let sum = |sum: &ProductSum| rlwe::ProductSum { factor: sum.factor, measure: sum.measure };
    let sums = task.sums.iter().map(sum).collect();
    let integers = task.highest_power().map_or(0, |highest| usize::from(highest) + 1);
    ProductTask::new(&factors, sums, Operands { bodies: task.operand_count(), masks, integers })
        .map_err(|_| ExecError::Internal { place: "sums of products" })
}

fn factor(task: &ProductsTask, of: &Factor) -> rlwe::Factor {
    let boxed = |of: &Factor| Box::new(factor(task, of));
    let both = |left: &Factor, right: &Factor| (boxed(left), boxed(right));
    match of {
        Factor::Chosen(choices, place) => rlwe::Factor::Stored(task.place_of_chosen(*choices, *place)),
        Factor::Column(place) => rlwe::Factor::Stored(*place),
        Factor::Computed => rlwe::Factor::Computed,
        Factor::Constant(integer) => rlwe::Factor::Constant(*integer),
        Factor::Mask(place) => rlwe::Factor::Mask(*place),
        Factor::Number(power) => rlwe::Factor::Integer(usize::from(*power)),
        Factor::Earlier(number) => rlwe::Factor::Earlier(*number),
        Factor::Add(left, right) => {
            let (left, right) = both(left, right);
            rlwe::Factor::Add(left, right)
        }
        Factor::Mul(left, right) => {
            let (left, right) = both(left, right);
            rlwe::Factor::Mul(left, right)
        }
        Factor::Sub(left, right) => {
            let (left, right) = both(left, right);
            rlwe::Factor::Sub(left, right)
        }
    }
}
