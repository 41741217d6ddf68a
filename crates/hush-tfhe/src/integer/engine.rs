// SPDX-License-Identifier: Apache-2.0
//! Look-ups: bootstrappings in one batch for all elements, or their number alone.

use super::digit::{Digit, Integer, MOST};
use crate::{Lwe, ServerKey, Table, TfheError};

/// A function of what a digit holds, from 0 to 15; or two of them, from 0 to 7.
pub(super) struct LookUp {
    values: Vec<[u64; MOST as usize + 1]>,
    /// `None` where programs are counted alone.
    table: Option<Table>,
}

impl LookUp {
    /// The largest value that it takes.
    pub(super) fn most(&self) -> u64 {
        (MOST + 1) / self.values.len() as u64 - 1
    }
}

/// Evaluates look-ups with a server's key, or counts them without.
pub(super) struct Engine<'a> {
    key: Option<&'a ServerKey>,
    norm: u32,
    /// Bootstrappings so far.
    pub(super) count: u64,
    /// Batches so far, which follow one another.
    pub(super) rounds: u64,
}

impl<'a> Engine<'a> {
    /// With a key; without one everything is counted and nothing computed.
    pub(super) fn new(key: Option<&'a ServerKey>) -> Self {
        let set = key.map_or(&hush_params::tfhe::INTEGERS, |key| key.context().set());
        Self { key, norm: set.norm(), count: 0, rounds: 0 }
    }

    /// The largest sum, and the largest norm, that a bootstrapping takes.
    pub(super) fn limit(&self) -> (u64, u32) {
        (MOST, self.norm)
    }

    /// The function as a table.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value beyond the set's messages.
    pub(super) fn look_up(&self, function: impl Fn(u64) -> u64) -> Result<LookUp, TfheError> {
        self.look_ups(&[&function])
    }

    /// Two functions as a table that one bootstrapping looks up, of digits up to [`LookUp::most`].
    ///
    /// # Errors
    /// As [`Engine::look_up`].
    pub(super) fn look_up_both(&self, functions: [&dyn Fn(u64) -> u64; 2]) -> Result<LookUp, TfheError> {
        self.look_ups(&functions)
    }

    fn look_ups(&self, functions: &[&dyn Fn(u64) -> u64]) -> Result<LookUp, TfheError> {
        let table = self.key.map(|key| Table::several(key.context(), functions)).transpose()?;
        let values = functions.iter().map(|function| std::array::from_fn(|value| function(value as u64)));
        Ok(LookUp { values: values.collect(), table })
    }

    /// What the functions give of the digits: of each as many as its look-up has.
    ///
    /// # Errors
    /// [`TfheError::Norm`] and [`TfheError::Message`] for sums beyond what a bootstrapping takes, which operations carry before.
    pub(super) fn apply(&mut self, jobs: &[(Digit, &LookUp)]) -> Result<Vec<Digit>, TfheError> {
        for (digit, look_up) in jobs {
            if digit.norm > self.norm {
                return Err(TfheError::Norm { found: digit.norm, limit: self.norm });
            }
            if digit.most > look_up.most() {
                return Err(TfheError::Message { limit: look_up.most() + 1 });
            }
        }
        let is_needed = |(digit, _): &&(Digit, &LookUp)| digit.norm > 0;
        let needed = jobs.iter().filter(is_needed).count() as u64;
        self.count += needed;
        self.rounds += u64::from(needed > 0);
        let mut found = match self.key {
            None => Vec::new(),
            Some(key) => {
                let inputs = jobs.iter().filter(is_needed);
                let inputs: Vec<(Lwe, &Table)> = inputs
                    .filter_map(|(digit, look_up)| {
                        Some((digit.to_lwe(key.context()), look_up.table.as_ref()?))
                    })
                    .collect();
                key.bootstrap(&inputs.iter().map(|(lwe, table)| (lwe, *table)).collect::<Vec<_>>())?
            }
        }
        .into_iter();
        let mut results = Vec::with_capacity(jobs.len());
        for (digit, look_up) in jobs {
            for values in &look_up.values {
                results.push(match digit.known() {
                    Some(value) => Digit::constant(values[value as usize]),
                    None => {
                        let reached = &values[..=digit.most as usize];
                        Digit::clean(found.next(), reached.iter().copied().max().unwrap_or(0))
                    }
                });
            }
        }
        Ok(results)
    }

    /// The integers with clean digits. What is clean stays as it is.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn cleaned(&mut self, integers: &[Integer]) -> Result<Vec<Integer>, TfheError> {
        let identity = self.look_up(|value| value)?;
        let unclean = integers.iter().flat_map(|integer| &integer.0).filter(|digit| !digit.is_clean());
        let jobs: Vec<_> = unclean.map(|digit| (digit.clone(), &identity)).collect();
        let mut found = self.apply(&jobs)?.into_iter();
        let clean = |digit: &Digit| match digit.is_clean() {
            true => digit.clone(),
            false => found.next().unwrap_or_else(|| digit.clone()),
        };
        let mut clean = clean;
        Ok(integers.iter().map(|integer| Integer(integer.0.iter().map(&mut clean).collect())).collect())
    }
}

#[cfg(test)]
mod tests;
