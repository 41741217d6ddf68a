// SPDX-License-Identifier: Apache-2.0
//! Bounds of decrypted numbers, as the planner proved them before anything was sent.
//!
//! The owner compares every number that it decrypts with its bound, and refuses the whole answer where one lies beyond: nobody
//! who computed honestly on stored rows can have made it. Bounds follow from the schema, the number of rows and the weights of
//! the query; they hold for every table of that schema.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::range::Interval;

/// Relative amount by which a sum of doubles may pass its bound: doubles round.
const DOUBLES: f64 = 1.0 / (1u64 << 40) as f64;

/// Bounds of one kind of answer, in the order of the task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Of the encrypted sums.
    pub sums: Vec<Bound>,
    /// Of the programs.
    pub programs: Vec<Bound>,
    /// Of the fetched columns.
    pub fetched: Vec<Bound>,
}

/// Bounds of a decrypted number.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The number.
    pub values: Values,
    /// log2 of the largest phase that it can be decrypted from; `None` where the number is the phase.
    pub phase_log2: Option<f64>,
}

/// The values that a number can have.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// A real.
    Approx {
        /// Largest absolute value in one row, weight included.
        row: f64,
        /// Largest error of the whole.
        error: f64,
        /// The part of it that encryption adds, which the noise of a release has to drown. The rest is the rounding of encodings.
        noise: f64,
    },
    /// An integer in units: what one row can contribute, weight included.
    Exact(Interval),
}

impl Bound {
    /// Whether `value` can be a sum over at most `rows` rows (1 for a number of one row).
    pub fn allows(&self, value: &BigInt, rows: u64) -> bool {
        match &self.values {
            Values::Exact(row) => {
                let rows = BigInt::from(rows);
                row.low() * &rows <= *value && *value <= row.high() * rows
            }
            Values::Approx { .. } => value.to_f64().is_some_and(|value| self.allows_real(value, rows)),
        }
    }

    /// As [`Bound::allows`] for a real; what is not a number is never allowed.
    pub fn allows_real(&self, value: f64, rows: u64) -> bool {
        let most = match &self.values {
            Values::Approx { row, error, .. } => row * rows as f64 * (1.0 + DOUBLES) + error,
            Values::Exact(row) => row.max_abs().to_f64().unwrap_or(f64::INFINITY) * rows as f64,
        };
        value.abs() <= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_bounds_of_their_rows() {
        let bound = Bound {
            values: Values::Exact(Interval::point((-3).into()).hull(&Interval::point(5.into()))),
            phase_log2: None,
        };
        for (value, rows, expected) in
            [(50, 10, true), (51, 10, false), (-30, 10, true), (-31, 10, false), (0, 0, true), (1, 0, false)]
        {
            assert_eq!(bound.allows(&BigInt::from(value), rows), expected, "{value} over {rows}");
        }
        for (value, expected) in
            [(50.0, true), (-50.0, true), (50.5, false), (-50.5, false), (f64::NAN, false)]
        {
            assert_eq!(bound.allows_real(value, 10), expected, "{value}");
        }
        let bound = Bound { values: Values::Approx { row: 8.0, error: 0.5, noise: 0.5 }, phase_log2: None };
        for (value, expected) in
            [(80.5, true), (-80.5, true), (81.0, false), (f64::NAN, false), (f64::INFINITY, false)]
        {
            assert_eq!(bound.allows_real(value, 10), expected, "{value}");
        }
    }
}
