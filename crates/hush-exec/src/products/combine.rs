// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers on products, as they come: sums of the same run are added residue by residue, and rounded at the end.
//!
//! *Memory.* One sum for each run and sum of the plan, with all residues.

use std::collections::BTreeMap;

use hush_plan::plan::ProductsTask;
use rayon::prelude::*;

use super::{Total, check_answer_size, covered, prepare};
use crate::answer::{self, EncryptedHalf, PartialAnswer, ProductsRun};
use crate::conform::ProductRun;
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job};
use crate::parts::PartSet;
use crate::scheme::{ProductTotal, Products, Scheme};

/// Begins a combination for a task on products.
///
/// # Errors
/// [`ExecError::Plan`] for a plan that does not fit its table, [`ExecError::AnswerLimit`] if the answer would be too large.
pub(crate) fn combine<S: Scheme>(job: &Job, task: &ProductsTask) -> Result<Box<dyn Combine>, ExecError> {
    let (products, runs) = prepare(job, task)?;
    // A condition that nobody can evaluate is refused here too.
    job.predicate(&job.scope())?;
    check_answer_size::<S>(job, &products, runs.len(), Extent::Whole, &job.parts)?;
    Ok(Box::new(Combined::<S> { products, runs, totals: BTreeMap::new(), is_spent: false }))
}

struct Combined<S: Scheme> {
    products: Products,
    runs: Vec<ProductRun>,
    /// By the number of the run.
    totals: BTreeMap<u32, Total<S>>,
    is_spent: bool,
}

impl<S: Scheme> Combine for Combined<S> {
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        job.stop.check()?;
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        let EncryptedHalf::Products(found) = &partial.answer.encrypted else {
            return Err(differ("kinds of task"));
        };
        let numbers = covered(&self.runs, &partial.parts);
        if !found.runs.iter().map(|run| run.number).eq(numbers.iter().copied()) {
            return Err(differ("runs of chunks"));
        }
        let new = numbers.iter().filter(|number| !self.totals.contains_key(number)).count();
        let count = (self.totals.len() + new) as u64;
        if count.saturating_mul(Total::<S>::memory_bytes(&self.products)) > job.limits.memory_bytes / 2 {
            return Err(ExecError::MemoryLimit);
        }
        let decode = |run: &ProductsRun<'_>| {
            job.stop.check()?;
            let total = Total::<S>::decode(&self.products, &run.objects);
            Ok((run.number, total.ok_or(differ("encrypted sums"))?))
        };
        let incoming: Vec<_> = found.runs.par_iter().map(decode).collect::<Result<_, ExecError>>()?;
        self.is_spent = true;
        for (number, more) in incoming {
            match self.totals.get_mut(&number) {
                Some(total) => total.add(more)?,
                None => drop(self.totals.insert(number, more)),
            }
        }
        self.is_spent = false;
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn is_decided(&self, _: &Job, _: &PartSet) -> bool {
        false
    }

    fn finish(self: Box<Self>, job: &Job, extent: Extent, covered: &PartSet) -> Result<Vec<u8>, ExecError> {
        let Self { products, totals, .. } = *self;
        check_answer_size::<S>(job, &products, totals.len(), extent, covered)?;
        let totals: Vec<_> = totals.into_iter().collect();
        let encode = |(number, total): (u32, Total<S>)| {
            job.stop.check()?;
            Ok((number, total.encode(&products, extent)?))
        };
        let encoded = job
            .workers
            .install(|| totals.into_par_iter().map(encode).collect::<Result<Vec<_>, ExecError>>())?;
        answer::encode_products(&job.head(extent, covered), products.task.sums.len(), &encoded)
    }
}
