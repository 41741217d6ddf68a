// SPDX-License-Identifier: Apache-2.0
//! Programmable bootstrapping.

use rayon::prelude::*;

use crate::lwe::Turns;
use crate::{Context, Lwe, RotationKey, SmallLwe, SwitchKey, Table, TfheError};

/// Ciphertexts that share a pass over the keys: four accumulators and a row of the key fit in the second cache.
const TOGETHER: usize = 4;

/// The keys of a server: public, made by the owner.
#[derive(Clone)]
pub struct ServerKey {
    rotation: RotationKey,
    switch: SwitchKey,
}

impl ServerKey {
    /// Both keys of one set.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for keys of two.
    pub fn new(rotation: RotationKey, switch: SwitchKey) -> Result<Self, TfheError> {
        let set = rotation.context().set();
        if switch.code() != set.code() {
            return Err(TfheError::Mixed { expected: set.name() });
        }
        Ok(Self { rotation, switch })
    }

    /// The set with its ring.
    pub fn context(&self) -> &Context {
        self.rotation.context()
    }

    /// Fresh ciphertexts of what the tables hold at the messages of these: for each as many as its table has functions, one after another.
    ///
    /// *Order.* Key switch, modulus switch, rotation: sums before are of the large dimension, which errors of key switches are not in yet.
    ///
    /// # Cost
    /// `n·η·(k + 1)·(l + 1)` transforms each, however many functions. Groups of four share the keys; threads of the caller's pool take groups.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for a ciphertext or a table of another set.
    pub fn bootstrap(&self, inputs: &[(&Lwe, &Table)]) -> Result<Vec<Lwe>, TfheError> {
        self.expect_own(inputs.iter().map(|(input, _)| *input))?;
        if inputs.iter().any(|(_, table)| !table.suits(self.context())) {
            return Err(TfheError::Mixed { expected: self.context().set().name() });
        }
        Ok(self.in_groups(inputs, |group| {
            let scaled: Vec<Option<Lwe>> = group
                .iter()
                .map(|(input, table)| {
                    let functions = table.functions();
                    (functions > 1).then(|| input.scaled(functions as u64))
                })
                .collect();
            let large =
                group.iter().zip(&scaled).map(|((input, _), scaled)| scaled.as_ref().unwrap_or(input));
            let turned = self.turned(&large.collect::<Vec<_>>(), |place| group[place].1);
            self.rotation.rotate(&turned)
        }))
    }

    /// The turns of ciphertexts, beside the tables that are turned.
    pub(crate) fn turned<'t>(
        &self,
        inputs: &[&Lwe],
        table: impl Fn(usize) -> &'t Table,
    ) -> Vec<(Turns, &'t Table)> {
        let small = self.switch.switch(self.context().cpu(), inputs);
        let turns = |(place, small): (usize, &SmallLwe)| {
            let table = table(place);
            (small.turns(self.context(), table.functions().trailing_zeros()), table)
        };
        small.iter().enumerate().map(turns).collect()
    }

    /// What work gives of groups that share the keys, one after another.
    pub(crate) fn in_groups<T: Sync, R: Send>(
        &self,
        inputs: &[T],
        work: impl Fn(&[T]) -> Vec<R> + Sync + Send,
    ) -> Vec<R> {
        let threads = rayon::current_num_threads().max(1);
        let together = inputs.len().div_ceil(threads).clamp(1, TOGETHER);
        let groups: Vec<Vec<R>> = inputs.par_chunks(together).map(work).collect();
        groups.into_iter().flatten().collect()
    }

    /// The key of rotations.
    pub(crate) fn rotation(&self) -> &RotationKey {
        &self.rotation
    }

    /// The small ciphertexts of the same messages: what an answer has.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for a ciphertext of another set.
    pub fn switch(&self, inputs: &[&Lwe]) -> Result<Vec<SmallLwe>, TfheError> {
        self.expect_own(inputs.iter().copied())?;
        let groups = inputs.par_chunks(TOGETHER);
        let groups = groups.map(|group| self.switch.switch(self.context().cpu(), group));
        Ok(groups.collect::<Vec<_>>().into_iter().flatten().collect())
    }

    /// Refuses ciphertexts of another set.
    pub(crate) fn expect_own<'a>(&self, mut inputs: impl Iterator<Item = &'a Lwe>) -> Result<(), TfheError> {
        match inputs.all(|input| input.suits(self.context())) {
            true => Ok(()),
            false => Err(TfheError::Mixed { expected: self.context().set().name() }),
        }
    }
}
