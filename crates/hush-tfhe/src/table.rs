// SPDX-License-Identifier: Apache-2.0
//! What a bootstrapping looks up.

use crate::{Context, TfheError};

/// The values of a function for every message, or of several functions, laid out for a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Of the set that it is for.
    code: u16,
    coefficients: Vec<u64>,
    functions: usize,
}

impl Table {
    /// The table of a function from messages to messages.
    ///
    /// # Math
    /// Message m of p bits has the `N/2^p` coefficients around place `m·N/2^p`, of a table of N. Those before place 0 are at the end, with the other sign, because `X^N = −1`.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value beyond the set's messages, or a set that has none.
    pub fn of(context: &Context, function: impl Fn(u64) -> u64) -> Result<Self, TfheError> {
        Self::several(context, &[&function])
    }

    /// The table of `2^t` functions, which one rotation looks up: of messages that have their upper t bits 0. What they give may be any message.
    ///
    /// # Math
    /// Turns are multiples of `2^t`, and the function at place r has every coefficient with that remainder. The input is multiplied by `2^t` before, so that messages are as many times as
    /// far apart as turns are: an error passes to the next message no sooner than with one function.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are 1, 2, 4, … functions, at most half of the set's messages; [`TfheError::Message`] for a value beyond them, or a set that has none.
    pub fn several(context: &Context, functions: &[&dyn Fn(u64) -> u64]) -> Result<Self, TfheError> {
        let count = context.message_count();
        if count == 0 {
            return Err(TfheError::Message { limit: 0 });
        }
        let (found, most) = (functions.len() as u64, count / 2);
        if !found.is_power_of_two() || found > most {
            let expected = most.min(found.next_power_of_two());
            return Err(TfheError::Count { what: "functions of a table", found, expected });
        }
        let value = |message: u64, function: usize| context.encode(functions[function](message));
        Self::laid_out(context, (count / found, functions.len()), value)
    }

    /// What each function gives for so many messages, from 0 on, as residues.
    pub(crate) fn laid_out(
        context: &Context,
        (messages, functions): (u64, usize),
        value: impl Fn(u64, usize) -> Result<u64, TfheError>,
    ) -> Result<Self, TfheError> {
        let values = (0..messages).flat_map(|message| (0..functions).map(move |place| (message, place)));
        let values: Vec<u64> =
            values.map(|(message, place)| value(message, place)).collect::<Result<_, _>>()?;
        let degree = context.set().table_degree();
        let width = degree / messages as usize;
        let at = |place: usize| {
            let (message, function) = ((place + width / 2) / width, place % functions);
            match values.get(message * functions + function) {
                Some(value) => *value,
                None => context.modulus().neg(values[function]),
            }
        };
        let coefficients = (0..degree).map(at).collect();
        Ok(Self { code: context.set().code(), coefficients, functions })
    }

    /// `1/8` where the phase is positive, `−1/8` where it is negative.
    pub fn sign(context: &Context) -> Self {
        Self::constant(context, context.fraction(1, 8))
    }

    /// A residue where the phase is positive, its negative where it is negative.
    pub(crate) fn constant(context: &Context, residue: u64) -> Self {
        let coefficients = vec![residue; context.set().table_degree()];
        Self { code: context.set().code(), coefficients, functions: 1 }
    }

    /// Functions that it has.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// Whether it is for this set.
    pub(crate) fn suits(&self, context: &Context) -> bool {
        self.code == context.set().code()
    }

    /// `X^turn` times the table.
    pub(crate) fn turned(&self, context: &Context, turn: usize, out: &mut [u64]) {
        let (degree, q) = (self.coefficients.len(), context.modulus());
        for (place, out) in out.iter_mut().enumerate() {
            let from = (place + 2 * degree - turn) % (2 * degree);
            let value = self.coefficients[from % degree];
            *out = if from >= degree { q.neg(value) } else { value };
        }
    }
}
