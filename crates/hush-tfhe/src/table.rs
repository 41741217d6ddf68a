// SPDX-License-Identifier: Apache-2.0
//! What a bootstrapping looks up.

use crate::{Context, TfheError};

/// The values of a function for every message, laid out for a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Of the set that it is for.
    code: u16,
    coefficients: Vec<u64>,
}

impl Table {
    /// The table of a function from messages to messages.
    ///
    /// # Math
    /// Message m has the `N/2^bits` coefficients around place `m·N/2^bits`. Those before place 0 are at the end, with the other sign, because `X^N = −1`.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value beyond the set's messages, or a set that has none.
    pub fn of(context: &Context, function: impl Fn(u64) -> u64) -> Result<Self, TfheError> {
        let (degree, count) = (context.set().degree(), context.message_count());
        let values: Vec<u64> =
            (0..count).map(|message| context.encode(function(message))).collect::<Result<_, _>>()?;
        let Some(first) = values.first() else {
            return Err(TfheError::Message { limit: 0 });
        };
        let width = degree / values.len();
        let at = |place: usize| match values.get((place + width / 2) / width) {
            Some(value) => *value,
            None => context.modulus().neg(*first),
        };
        Ok(Self { code: context.set().code(), coefficients: (0..degree).map(at).collect() })
    }

    /// `1/8` where the phase is positive, `−1/8` where it is negative.
    pub fn sign(context: &Context) -> Self {
        let coefficients = vec![context.fraction(1, 8); context.set().degree()];
        Self { code: context.set().code(), coefficients }
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
