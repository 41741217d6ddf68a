// SPDX-License-Identifier: Apache-2.0
//! Conditions whose constants are encrypted, computed with a table's keys: docs/math/constants.md.
//!
//! ```text
//! one ciphertext ─ expand ─▶ a ciphertext of each constant          once for a question
//! flags · constants ─ add up ─ relinearise, divide ─▶ a sum          for each ring element and sum
//! sums ─ formula ─▶ the condition, over the ring of the flags       for each ring element
//! ```

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hush_plan::plan::{ComputedCondition, Formula};
use hush_ring::{Eval, Poly, Ring};
use hush_rlwe::{InnerProducts, InnerTerm, RlweCiphertext, StoredElement, UncheckedSeededSet};
use hush_schemes::bgv::{Bgv, BgvCiphertext};
use rayon::prelude::*;

use crate::PlanFault;
use crate::error::ExecError;
use crate::job::Job;
use crate::keys::LoadedKeys;
use crate::stop::Stop;

/// Ring elements that meet the constants together, for one pass over these.
const TOGETHER: usize = 4;

/// A condition with its constants, ready to be computed on ring element after ring element.
pub(crate) struct Computing {
    bgv: Bgv,
    keys: Arc<LoadedKeys>,
    constants: Vec<RlweCiphertext>,
    sums: Vec<Vec<InnerTerm>>,
    formula: Formula,
    memory_bytes: u64,
}

impl Computing {
    /// Expands the constants of a condition on columns over a ring.
    ///
    /// # Cost
    /// A key switch for each constant, and memory for a ciphertext of each.
    ///
    /// # Errors
    /// [`ExecError::Plan`] for constants that are no ciphertext over the chain of the keys; [`ExecError::NoKeys`] where the table has none, or rows under
    /// other secrets than theirs; [`ExecError::MemoryLimit`]; those of reading keys.
    pub(super) fn new(
        condition: &ComputedCondition,
        (ring, prime): (&Ring, u64),
        job: &Job,
    ) -> Result<Self, ExecError> {
        let (count, limit) = (condition.constant_count(), job.limits.memory_bytes);
        let needed = needed_bytes(ring, condition, job.workers.threads());
        if needed > limit / 4 * 3 {
            return Err(ExecError::MemoryLimit);
        }
        let keys = job.snapshot.constant_keys((&condition.keys, prime), limit / 4)?;
        let memory_bytes = needed.saturating_add(keys.keys().memory_bytes() as u64);
        let bgv = Bgv::new(keys.chain().params(), prime, ring.cpu()).map_err(|_| ExecError::BadChain)?;
        let fresh = fresh(&bgv, &condition.constants).ok_or(ExecError::Plan(PlanFault::Constants))?;
        job.stop.check()?;
        let expanded = bgv.expand(&fresh, count, keys.keys()).map_err(|_| ExecError::NoKeys)?;
        let constants = expanded.into_iter().map(BgvCiphertext::into_inner).collect();
        let mut numbers = 0..count;
        let mut term = |body: &Option<usize>| Some(InnerTerm { body: *body, scalar: numbers.next()? });
        let sums = condition.inner.iter().map(|sum| sum.iter().filter_map(&mut term).collect()).collect();
        Ok(Self { bgv, keys, constants, sums, formula: condition.formula.clone(), memory_bytes })
    }

    /// Bytes that constants and keys take, and the condition of a few ring elements while it is computed.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Body and mask of the condition's ciphertext for each ring element, over the ring of the flags. They are 0 modulo all primes but those of its level.
    ///
    /// # Errors
    /// [`ExecError::Internal`], those of [`Stop::check`].
    pub(super) fn evaluate(
        &self,
        ring: &Ring,
        elements: &[StoredElement<'_>],
        stop: &Stop,
    ) -> Result<Vec<Vec<Poly<Eval>>>, ExecError> {
        let mut found = Vec::with_capacity(elements.len());
        for elements in elements.chunks(TOGETHER) {
            stop.check()?;
            let sums = self.sums(ring, elements, stop)?;
            let conditions = sums.par_iter().map(|sums| {
                let condition = self.value(&self.formula, sums, stop)?;
                condition.inner().raised_to(ring).map_err(|_| INTERNAL)
            });
            found.extend(conditions.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }

    /// The sums of flags times constants of each element, relinearised and divided to the level below.
    fn sums(
        &self,
        ring: &Ring,
        elements: &[StoredElement<'_>],
        stop: &Stop,
    ) -> Result<Vec<Vec<BgvCiphertext>>, ExecError> {
        let chain = self.bgv.chain();
        let level = chain.ring(chain.top()).map_err(|_| INTERNAL)?;
        let products = InnerProducts::new(ring, level, elements, &self.constants, &self.sums);
        let products = products.map_err(|_| INTERNAL)?;
        let block = |memory: &mut _, block: usize| {
            stop.check()?;
            Ok::<_, ExecError>(products.evaluate_block(block, memory))
        };
        let blocks = (0..products.blocks()).into_par_iter().map_init(|| products.memory(), block);
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let divided = |place: (usize, usize)| {
            stop.check()?;
            let sum = products.ciphertext(&blocks, place).map_err(|_| INTERNAL)?;
            let sum = self.bgv.ciphertext(sum).map_err(|_| INTERNAL)?;
            self.bgv.relinearize_mod_switch(&sum, self.keys.keys()).map_err(|_| INTERNAL)
        };
        let of_element = |element: usize| {
            (0..self.sums.len()).into_par_iter().map(|sum| divided((element, sum))).collect()
        };
        (0..elements.len()).into_par_iter().map(of_element).collect()
    }

    /// A formula in the sums of an element.
    fn value<'s>(
        &self,
        formula: &Formula,
        sums: &'s [BgvCiphertext],
        stop: &Stop,
    ) -> Result<Cow<'s, BgvCiphertext>, ExecError> {
        stop.check()?;
        let bgv = &self.bgv;
        let both = |left: &Formula, right: &Formula| {
            let (left, right) = (self.value(left, sums, stop)?, self.value(right, sums, stop)?);
            let level = left.level().min(right.level());
            let lowered = |of: Cow<'s, BgvCiphertext>| match of.level() == level {
                true => Ok(of),
                false => bgv.mod_switch_to(&of, level).map(Cow::Owned).map_err(|_| INTERNAL),
            };
            Ok::<_, ExecError>((lowered(left)?, lowered(right)?))
        };
        Ok(match formula {
            Formula::Inner(place) => Cow::Borrowed(sums.get(*place).ok_or(INTERNAL)?),
            Formula::Add(left, right) => {
                let (left, right) = both(left, right)?;
                Cow::Owned(bgv.add(&left, &right).map_err(|_| INTERNAL)?)
            }
            Formula::Mul(left, right) => {
                let (left, right) = both(left, right)?;
                Cow::Owned(bgv.mul_mod_switch(&left, &right, self.keys.keys()).map_err(|_| INTERNAL)?)
            }
            Formula::Not(inner) => {
                let inner = self.value(inner, sums, stop)?;
                let ones = vec![1; bgv.chain().degree()];
                Cow::Owned(bgv.add_plain(&bgv.neg(&inner), &ones).map_err(|_| INTERNAL)?)
            }
        })
    }
}

/// The ciphertext of constants in base64.
fn fresh(bgv: &Bgv, constants: &str) -> Option<BgvCiphertext> {
    let bytes = BASE64_STANDARD.decode(constants).ok()?;
    let chain = bgv.chain();
    let conforming = UncheckedSeededSet::decode(&bytes).ok()?.conform(chain, chain.top(), 1).ok()?;
    bgv.ciphertext(conforming.into_iter().next()?.expand().ok()?).ok()
}

/// Bytes that the constants of a condition take, and its sums on a few ring elements while they are computed on so many threads.
fn needed_bytes(ring: &Ring, condition: &ComputedCondition, threads: usize) -> u64 {
    let poly = (ring.poly_words() * size_of::<u64>()) as u64;
    let (count, sums) = (condition.constant_count(), condition.inner.len());
    let bodies = condition.inner.iter().flatten().flatten().collect::<HashSet<_>>().len();
    // Those that were divided have two components, those that are being put together three.
    let of_sums = InnerProducts::result_bytes(ring, (TOGETHER, sums)) as u64;
    let of_sums = of_sums.saturating_add(2 * poly * (TOGETHER * sums) as u64);
    let of_thread = InnerProducts::memory_bytes(ring, (count, bodies)) as u64;
    let of_threads = of_thread.saturating_add(3 * poly).saturating_mul(threads as u64);
    (2 * poly * count as u64).saturating_add(of_sums).saturating_add(of_threads)
}

/// An error that conditions of checked form do not have.
const INTERNAL: ExecError = ExecError::Internal { place: "condition with encrypted constants" };
