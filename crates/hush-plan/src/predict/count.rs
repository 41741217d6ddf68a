// SPDX-License-Identifier: Apache-2.0
//! Counting what server and owner do for a plan.

use hush_params::size;

use super::sealed::Shares;
use super::sizes::{OBJECT_OVERHEAD_BYTES, Sizes, bad, body_bytes, find};
use super::{BlockWork, CHUNK_ROWS, ChunkShape, Expected, TableShape, Work, clear};
use crate::encoding::{Encoding, EncodingId};
use crate::error::{EncodingFault, PlanError};
use crate::filter::{MAX_CONSTANTS, chain_of_constants};
use crate::packing::{Packing, Stored};
use crate::plan::{
    AggregateTask, ComputedCondition, Factor, Predicate, ProductSum, ProductsTask, RowsTask, ServerPlan,
    SlotExpr,
};

/// Polynomials that a product of two ciphertexts multiplies.
const TENSOR_PRODUCTS: u64 = 4;
/// Products of a residue that is rounded: one modulo its prime, and the words of one in 128 bits.
const ROUNDING_PRODUCTS: u64 = 4;
/// Operations with which a sum of a group becomes a result.
const FINISHING_OPERATIONS: u64 = 10;
/// Polynomials that a server holds of each sum of a condition with encrypted constants.
const SUMS_HELD: usize = 20;
/// Polynomials of a column's ciphertext.
const FRESH_COMPONENTS: u64 = 2;

/// The counts of a task.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) blocks: Vec<BlockWork>,
    /// Encrypted bytes per group or full chunk.
    pub(super) bytes_each: u64,
    /// Encrypted bytes of a rows answer.
    pub(super) answer_bytes: u64,
    /// Work of the clear half.
    pub(super) clear: Work,
    pub(super) chunks_read: u64,
    /// Running sums of one thread.
    pub(super) sums_bytes: u64,
    /// Runs of chunks that have answers of their own.
    pub(super) answers: u64,
    /// What the server holds once, whatever the threads.
    pub(super) held_bytes: u64,
    /// Evaluation keys of the table that are used.
    pub(super) key_bytes: u64,
}

/// Counts an aggregate task: see `docs/math/bgv-sum.md` for what is done.
pub(super) fn aggregate(
    plan: &ServerPlan,
    task: &AggregateTask,
    encodings: &[Encoding],
    shape: &TableShape,
    groups: u64,
) -> Result<Counted, PlanError> {
    let mut blocks: Vec<(usize, &[u32], Sizes, Vec<EncodingId>)> = Vec::new();
    for sum in &task.sums {
        let (_, sizes) = find(encodings, sum.column)?;
        let without = shape.without(sum.column);
        let is_same = |(mask, lack, known, _): &&mut (usize, &[u32], Sizes, Vec<EncodingId>)| {
            *mask == sum.mask && *lack == without && known.set == sizes.set
        };
        match blocks.iter_mut().find(is_same) {
            Some((.., columns)) if columns.contains(&sum.column) => {}
            Some((.., columns)) => columns.push(sum.column),
            None => blocks.push((sum.mask, without, sizes, vec![sum.column])),
        }
    }
    let keys = || task.keys.iter().map(String::as_str);
    let filter: Vec<&str> = plan.predicate.iter().flat_map(Predicate::clear_sql).collect();
    let weights = task.masks.iter().filter_map(|mask| mask.weight.as_deref());
    let selecting: Vec<&str> =
        plan.predicates().flat_map(Predicate::clear_sql).chain(keys()).chain(weights).collect();
    let mut counted = Counted::default();
    let of_domain = |domain: &u32| {
        let domain = *domain;
        blocks.iter().map(move |block| (domain, block))
    };
    for (domain, (mask, without, sizes, columns)) in shape.domains().iter().flat_map(of_domain) {
        let chunks = shape.chunks_of(domain, without);
        let bodies = columns.len() as u64;
        let sums = task.sums.iter().filter(|sum| sum.mask == *mask && columns.contains(&sum.column)).count();
        let work = sum_work(sizes, &chunks, bodies, (selecting.is_empty(), groups), sums as u64);
        counted.bytes_each +=
            (size::sum_answer_bytes(sizes.set, columns.len()) as u64) + OBJECT_OVERHEAD_BYTES;
        counted.sums_bytes += accumulator_bytes(sizes, groups, bodies);
        counted.blocks.push(BlockWork {
            kind: "sum",
            mask: Some(*mask),
            columns: columns.iter().map(|id| id.0).collect(),
            params: sizes.set.name(),
            chunks: chunks.len() as u64,
            elements: chunks.iter().map(|rows| rows.div_ceil(sizes.degree)).sum(),
            work,
        });
    }
    if !counted.blocks.is_empty() {
        counted.chunks_read = shape.chunks().len() as u64;
    }
    let rows = shape.rows();
    let grouped_rows = if task.keys.is_empty() { 0 } else { rows };
    // The manifest knows how many rows there are: COUNT(*) alone reads nothing.
    if !selecting.is_empty() || task.clear.len() > 1 {
        let clear = task.clear.iter().map(String::as_str);
        let expressions: Vec<&str> = filter.into_iter().chain(keys()).chain(clear).collect();
        counted.clear.add(clear::evaluated(rows, &expressions, &shape.clear));
        counted.clear.grouped_rows += grouped_rows;
    }
    // Masks are made part by part, from the same columns.
    if !selecting.is_empty() && !counted.blocks.is_empty() {
        counted.clear.add(clear::evaluated(rows, &selecting, &shape.clear));
        counted.clear.clear_cells += rows * task.masks.len() as u64;
        counted.clear.grouped_rows += grouped_rows;
    }
    Ok(counted)
}

/// The work of one block. `(whole, groups)`: whether every row counts once, and the groups of the answer.
fn sum_work(sizes: &Sizes, chunks: &[u64], bodies: u64, (whole, groups): (bool, u64), sums: u64) -> Work {
    let mut work = Work::default();
    let mut folded = 0;
    for rows in chunks {
        let (full, rest) = (rows / sizes.degree, rows % sizes.degree);
        let elements = full + u64::from(rest > 0);
        work.expanded += elements * sizes.residues();
        work.bytes_loaded += elements * bodies * sizes.poly_bytes();
        // Bodies are checked once and added up once.
        work.unpacked += 2 * elements * bodies * sizes.residues();
        if whole {
            folded = 1;
            work.transforms += u64::from(rest > 0) * sizes.limbs;
        } else {
            let in_full = full * groups.clamp(1, sizes.degree);
            let in_rest = if rest > 0 { groups.clamp(1, rest) } else { 0 };
            work.transforms += (in_full + in_rest) * sizes.limbs;
        }
    }
    // The sums of whole elements meet their selector once, at the end.
    work.transforms += folded * sizes.limbs;
    work.products = work.transforms * sizes.degree;
    // Every answer goes back to coefficients and is packed.
    work.transforms += groups * sizes.limbs;
    work.butterflies = work.transforms * sizes.butterflies;
    work.unpacked += groups * sizes.residues();
    work.owner_unpacked = groups * sizes.residues();
    work.owner_products = groups * sums * sizes.residues();
    work.owner_decoded = groups * sums;
    work.owner_evaluated = groups * sums * FINISHING_OPERATIONS;
    work
}

/// Running sums of one thread: per group a wide sum, besides buffers.
fn accumulator_bytes(sizes: &Sizes, groups: u64, bodies: u64) -> u64 {
    let poly = 8 * sizes.residues();
    let group = 2 * poly + 8 * bodies * sizes.limbs + 4;
    groups * group + if groups == 1 { poly } else { 0 } + 3 * poly
}

/// Counts a task of products in so many groups: docs/math/products.md.
pub(super) fn products(
    plan: &ServerPlan,
    task: &ProductsTask,
    encodings: &[Encoding],
    shape: &TableShape,
    groups: u64,
) -> Result<Counted, PlanError> {
    let first = task.first_column().ok_or(bad(EncodingId(0), EncodingFault::UnknownParams))?;
    let (encoding, sizes) = find(encodings, first)?;
    let mut counted = Counted::default();
    let residues = sizes.residues();
    let in_ring = (sizes.degree, encoding.packing.chunks_together(sizes.set));
    let (elements, runs) = shape.product_runs(in_ring, u64::from(task.elements));
    counted.answers = runs;
    let degrees = task.degrees();
    let components = |sum: &ProductSum| task.components(sum) as u64;
    let answered = |sum: &ProductSum| task.answered(sum) as u64;
    // A product of every pair of components, in factors and with measures.
    let of_factors: u64 = task.factors.iter().map(|factor| factor_products(factor, &degrees)).sum();
    let of_sums: u64 =
        task.sums.iter().filter(|sum| sum.measure.is_some()).map(|sum| 2 * (components(sum) - 1)).sum();
    // The factor of a group is that of all rows times its mask.
    let mut used: Vec<usize> = task.sums.iter().map(|sum| sum.factor).collect();
    used.sort_unstable();
    used.dedup();
    let has_keys = !task.keys.is_empty();
    let of_masks = used.iter().filter_map(|factor| degrees.get(*factor)).map(|degree| *degree as u64 + 1);
    let of_masks: u64 = if has_keys { of_masks.sum() } else { 0 };
    let columns = task.operand_count() as u64;
    // A mask is encoded in slots, and evaluated.
    let of_rows = if has_keys { groups } else { u64::from(plan.predicate.is_some()) };
    let transforms = (task.masks.len() as u64 + of_rows) * (1 + sizes.limbs);
    let element = Work {
        transforms,
        butterflies: transforms * sizes.butterflies,
        bytes_loaded: columns * sizes.poly_bytes(),
        expanded: columns * residues,
        unpacked: columns * residues,
        products: (of_factors + groups * (of_masks + of_sums)) * residues,
        ..Work::default()
    };
    let mut work = element.times(elements);
    if let Some(condition) = &task.computed {
        let (once, each) = computed_work(condition, &sizes);
        work.add(once);
        work.add(each.times(elements));
        counted.key_bytes += chain_of_constants(sizes.set)
            .map_or(0, |(_, chain)| size::evaluation_keys_bytes(&chain, 1 + MAX_CONSTANTS.ilog2()));
        // Expanded constants, sums of a few ring elements, and keys with their masks.
        let polynomials = 2 * condition.constant_count() + SUMS_HELD * condition.inner.len();
        counted.held_bytes = 8 * residues * polynomials as u64 + 3 * counted.key_bytes;
    }
    for sum in &task.sums {
        let answers = counted.answers * groups;
        let polynomials = answers * answered(sum);
        if task.relinearised {
            // A digit of each component and prime is evaluated modulo all primes, and multiplied by a body and a mask.
            let digits = answers * components(sum).saturating_sub(2) * sizes.limbs;
            let transforms = digits * sizes.limbs;
            work.transforms += transforms;
            work.butterflies += transforms * sizes.butterflies;
            work.products += 2 * digits * residues;
        }
        // Sums go to coefficients, and are rounded; the owner does the reverse.
        let transforms = polynomials * sizes.limbs;
        work.transforms += transforms;
        work.butterflies += transforms * sizes.butterflies;
        work.products += ROUNDING_PRODUCTS * polynomials * residues;
        work.owner_butterflies += transforms * sizes.butterflies + answers * sizes.butterflies;
        work.owner_products += 2 * polynomials * residues;
        work.owner_unpacked += polynomials * sizes.degree;
        work.owner_decoded += answers * sizes.degree;
        counted.bytes_each += size::product_answer_bytes(sizes.set, &sum.rounded()) as u64;
    }
    if task.relinearised {
        let highest = shape.powers.values().max().copied().unwrap_or_default();
        counted.key_bytes += size::power_keys_bytes(sizes.set, highest);
    }
    counted.answer_bytes = counted.answers * counted.bytes_each * groups;
    if has_keys {
        // Of each group an object in every run.
        counted.bytes_each *= counted.answers;
    }
    counted.chunks_read = shape.chunks().len() as u64;
    counted.sums_bytes = 8 * residues * groups * task.sums.iter().map(components).sum::<u64>();
    let expressions: Vec<&str> = plan.expressions().collect();
    counted.clear = clear::evaluated(shape.rows(), &expressions, &shape.clear);
    if has_keys {
        // Once to find the groups, and once to find those of rows.
        counted.clear.add(counted.clear);
        counted.clear.grouped_rows += 2 * shape.rows();
    }
    counted.blocks.push(BlockWork {
        kind: "products",
        mask: None,
        columns: task.columns.iter().map(|id| id.0).collect(),
        params: sizes.set.name(),
        chunks: counted.chunks_read,
        elements,
        work,
    });
    Ok(counted)
}

/// Work on a condition with encrypted constants: once, and for each ring element.
fn computed_work(condition: &ComputedCondition, sizes: &Sizes) -> (Work, Work) {
    // A key switch transforms the digits of a polynomial to all primes and one more, multiplies them by a key, and divides by that prime.
    let switch = |limbs: u64| {
        let transforms = limbs * (limbs + 1) + 2 * limbs;
        let products = 2 * limbs * (limbs + 1) * sizes.degree;
        Work { transforms, butterflies: transforms * sizes.butterflies, products, ..Work::default() }
    };
    let top = switch(sizes.limbs);
    let mut once = top.times((condition.constant_count() + MAX_CONSTANTS.ilog2() as usize) as u64);
    once.products += 2 * condition.constant_count() as u64 * sizes.residues();
    let mut each = top.times(condition.inner.len() as u64);
    each.products += TENSOR_PRODUCTS * condition.constant_count() as u64 * sizes.residues();
    // Products are of lower levels.
    each.add(switch(sizes.limbs.saturating_sub(1)).times(condition.formula.products() as u64));
    (once, each)
}

/// Products of residues for one place of a factor.
fn factor_products(factor: &Factor, degrees: &[usize]) -> u64 {
    match factor {
        Factor::Chosen(..)
        | Factor::Column(_)
        | Factor::Computed
        | Factor::Constant(_)
        | Factor::Earlier(_)
        | Factor::Mask(_)
        | Factor::Number(_) => 0,
        Factor::Add(left, right) | Factor::Sub(left, right) => {
            factor_products(left, degrees) + factor_products(right, degrees)
        }
        Factor::Mul(left, right) => {
            let pairs = (left.degree(degrees) + 1) * (right.degree(degrees) + 1);
            pairs as u64 + factor_products(left, degrees) + factor_products(right, degrees)
        }
    }
}

/// Counts a rows task that looks at so many rows for what is expected.
pub(super) fn rows(
    plan: &ServerPlan,
    task: &RowsTask,
    encodings: &[Encoding],
    shape: &TableShape,
    looked_at: u64,
    expected: &Expected,
) -> Result<Counted, PlanError> {
    let chunks = &expected.chunks;
    let mut counted = Counted::default();
    for (index, expr) in task.programs.iter().enumerate() {
        let columns = expr.columns();
        let first = columns.first().copied().ok_or(bad(EncodingId(0), EncodingFault::UnknownParams))?;
        let (encoding, sizes) = find(encodings, first)?;
        let (packing, lanes) = (&encoding.packing, encoding.packing.lanes() as u64);
        let mut element = Work::default();
        let degree = program_work(expr, &sizes, lanes, &mut element);
        let components = degree + 1;
        element.unpacked += components * lanes * sizes.residues();
        element.owner_unpacked = components * lanes * sizes.residues();
        element.owner_products = degree * lanes * sizes.residues();
        element.owner_butterflies = lanes * (sizes.limbs + 1) * sizes.butterflies;
        element.owner_decoded = lanes * sizes.degree;
        let bits = task.bits_of_program(index);
        if bits.is_some() {
            rounding_work(&sizes, lanes * components, packing, &mut element);
        }
        let object = Object { kind: "program", columns, sizes, packing, element };
        let element_bytes = lanes * components * (size::answer_poly_bytes(sizes.set, bits) as u64);
        let span = packing.rows_per_element(sizes.set) as u64;
        counted.push(object, |chunk| chunk.rows.div_ceil(span) * element_bytes, chunks);
    }
    for (index, id) in task.fetch.iter().enumerate() {
        let (encoding, sizes) = find(encodings, *id)?;
        let (packing, lanes) = (&encoding.packing, encoding.packing.lanes() as u64);
        let residues = lanes * sizes.residues();
        let mut element = Work {
            bytes_loaded: lanes * sizes.poly_bytes(),
            owner_expanded: residues,
            owner_unpacked: residues,
            owner_products: residues,
            owner_butterflies: lanes * (sizes.limbs + 1) * sizes.butterflies,
            owner_decoded: lanes * sizes.degree,
            ..Work::default()
        };
        let bits = task.bits_of_fetch(index);
        if bits.is_some() {
            element.unpacked += residues;
            rounding_work(&sizes, lanes, packing, &mut element);
        }
        let object = Object { kind: "fetch", columns: vec![*id], sizes, packing, element };
        counted.push(object, |chunk| body_bytes(packing, &sizes, bits, *chunk), chunks);
    }
    if !task.sealed.is_empty() {
        for copy in task.sealed.iter().filter_map(|number| shape.copy(*number)) {
            counted.bytes_each += copy.bytes(CHUNK_ROWS);
            counted.answer_bytes += chunks.iter().map(|chunk| copy.bytes(chunk.rows)).sum::<u64>();
        }
        let sealed = Shares::of(shape, encodings)?;
        let rows = chunks.iter().map(|chunk| chunk.rows).sum::<u64>();
        for number in task.sealed.iter().filter(|number| shape.copy(**number).is_none()) {
            counted.bytes_each = counted.bytes_each.saturating_add(sealed.of_rows(*number, CHUNK_ROWS));
            counted.answer_bytes = counted.answer_bytes.saturating_add(sealed.of_rows(*number, rows));
        }
    }
    if task.object_count() > 0 {
        counted.chunks_read = chunks.len() as u64;
    }
    let expressions: Vec<&str> = plan.expressions().collect();
    counted.clear = clear::evaluated(looked_at, &expressions, &shape.clear);
    counted.clear.selected_rows = expected.rows;
    Ok(counted)
}

/// A ciphertext that goes back for each chunk.
struct Object<'a> {
    kind: &'static str,
    columns: Vec<EncodingId>,
    sizes: Sizes,
    packing: &'a Packing,
    /// Work on one ring element.
    element: Work,
}

impl Counted {
    /// `bytes`: those of its payload in a chunk.
    fn push(&mut self, object: Object<'_>, bytes: impl Fn(&ChunkShape) -> u64, chunks: &[ChunkShape]) {
        let Object { kind, columns, sizes, packing, element } = object;
        let span = packing.rows_per_element(sizes.set) as u64;
        let full = ChunkShape { rows: CHUNK_ROWS, is_cut: false };
        self.bytes_each += bytes(&full) + OBJECT_OVERHEAD_BYTES;
        self.answer_bytes += chunks.iter().map(|chunk| bytes(chunk) + OBJECT_OVERHEAD_BYTES).sum::<u64>();
        let elements: u64 = chunks.iter().map(|chunk| chunk.rows.div_ceil(span)).sum();
        let columns = columns.iter().map(|id| id.0).collect();
        let work = element.times(elements);
        let chunks = chunks.len() as u64;
        self.blocks.push(BlockWork {
            kind,
            mask: None,
            columns,
            params: sizes.set.name(),
            chunks,
            elements,
            work,
        });
    }
}

/// Adds the work of an expression on one ring element; gives its number of encrypted factors.
fn program_work(expr: &SlotExpr, sizes: &Sizes, lanes: u64, work: &mut Work) -> u64 {
    let residues = lanes * sizes.residues();
    match expr {
        SlotExpr::Column(_) => {
            work.bytes_loaded += lanes * sizes.poly_bytes();
            work.expanded += residues;
            work.unpacked += 2 * residues;
            1
        }
        SlotExpr::Clear(_) | SlotExpr::Constant(_) => 0,
        SlotExpr::Neg(inner) => program_work(inner, sizes, lanes, work),
        SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) => {
            let degrees = (program_work(left, sizes, lanes, work), program_work(right, sizes, lanes, work));
            match degrees {
                (0, 0) => {}
                (0, _) | (_, 0) => encode(sizes, lanes, work),
                (left, right) => work.products += (left.min(right) + 1) * residues,
            }
            degrees.0.max(degrees.1)
        }
        SlotExpr::Mul(left, right) => {
            let degrees = (program_work(left, sizes, lanes, work), program_work(right, sizes, lanes, work));
            match degrees {
                (0, 0) => {}
                (0, _) | (_, 0) => {
                    let constant = [left, right].iter().any(|side| matches!(***side, SlotExpr::Constant(_)));
                    if !constant {
                        encode(sizes, lanes, work);
                    }
                    work.products += FRESH_COMPONENTS * residues;
                }
                _ => work.products += TENSOR_PRODUCTS * residues,
            }
            degrees.0 + degrees.1
        }
    }
}

/// Polynomials are rounded by the server and restored by the owner. Both transform evaluations, since only coefficients can be
/// rounded.
fn rounding_work(sizes: &Sizes, polynomials: u64, packing: &Packing, work: &mut Work) {
    if packing.stored() == Some(Stored::Evaluations) {
        let transforms = polynomials * sizes.limbs;
        work.transforms += transforms;
        work.butterflies += transforms * sizes.butterflies;
        work.owner_butterflies += transforms * sizes.butterflies;
    }
    let residues = polynomials * sizes.residues();
    work.products += ROUNDING_PRODUCTS * residues;
    work.owner_products += residues;
}

/// A clear vector becomes a plaintext: one transform modulo the plaintext prime, one modulo each prime of the ring.
fn encode(sizes: &Sizes, lanes: u64, work: &mut Work) {
    let transforms = lanes * (sizes.limbs + 1);
    work.transforms += transforms;
    work.butterflies += transforms * sizes.butterflies;
}
