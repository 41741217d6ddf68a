// SPDX-License-Identifier: Apache-2.0
//! What decrypted numbers can be, as the planner proved it before anything was sent.
//!
//! The owner compares every number that it decrypts with its bound, and refuses the whole answer where one lies beyond: nobody
//! who computed honestly on stored rows can have made it. Bounds follow from the schema, the number of rows and the weights of
//! the query; they hold for every table of that schema.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use crate::encoding::{Content, LOG_FRACTION_BITS, PrivateEncoding};
use crate::layout::value_bound;
use crate::range::Interval;
use crate::schema::Schema;
use crate::schema::units::column_bounds;

/// By how much a sum of doubles may pass its bound, in proportion: doubles round.
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

/// What a decrypted number can be.
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
        /// What encryption adds to it: the noise of a release has to drown that. The rest is the rounding of encodings.
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

/// What one row can hold of an exact quantity, in units; 0 is among it, for rows where something is missing.
///
/// It lies within the largest absolute value that the encoding was sized for.
pub fn row_values(schema: &Schema, content: &Content) -> Interval {
    let zero = Interval::point(BigInt::zero());
    let column = |name: &String| {
        let column = schema.columns.iter().find(|column| column.name == *name);
        let declared = column.and_then(column_bounds).map(Interval::from);
        declared.unwrap_or_else(|| Interval::symmetric(column.map_or_else(BigInt::one, value_bound)))
    };
    let product = |factors: &[String]| {
        let mut powers: BTreeMap<&String, u32> = BTreeMap::new();
        for name in factors {
            *powers.entry(name).or_default() += 1;
        }
        let one = Interval::point(BigInt::one());
        powers.into_iter().fold(one, |product, (name, power)| product.mul(&column(name).pow(power)))
    };
    let possible = match content {
        Content::BothValid(..) | Content::Negative(_) | Content::Valid(_) | Content::Zero(_) => {
            Interval::point(BigInt::one())
        }
        // Of whole numbers other than 0.
        Content::Log(factors) => {
            let bits: u64 = factors.iter().map(|name| column(name).max_abs().bits().max(1)).sum();
            Interval::point(BigInt::from(bits) << LOG_FRACTION_BITS)
        }
        Content::Monomial(factors) => product(factors),
        Content::Product(left, right) => product(&[left.clone(), right.clone()]),
        Content::Square(name) => product(&[name.clone(), name.clone()]),
        Content::Value(name) => column(name),
        Content::Where { content, .. } => row_values(schema, content),
    };
    possible.hull(&zero)
}

/// What a stored row of an encoding can hold.
///
/// # Errors
/// None but for encodings whose bound is not a number: then nothing is allowed but 0.
pub fn stored_values(schema: &Schema, encoding: &PrivateEncoding, error: Option<f64>) -> Values {
    match error {
        Some(error) => Values::Approx { row: encoding.max_abs.parse().unwrap_or(0.0), error, noise: error },
        None => Values::Exact(row_values(schema, &encoding.content)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::content_bound;
    use crate::schema::file::from_toml;

    fn schema() -> Schema {
        let text = "format = 1\ntable = \"t\"\nstatus = \"approved\"\napproved_by = \"x\"\n\
             [columns.a]\ntype = \"int(32)\"\nrange = [-3, 5]\nprotect = \"encrypt\"\n\
             [columns.b]\ntype = \"int(32)\"\nrange = [2, 7]\nprotect = \"encrypt\"\n\
             [columns.c]\ntype = \"bool\"\nprotect = \"encrypt\"\n";
        from_toml(text).unwrap()
    }

    fn range(content: &Content) -> (i64, i64) {
        let values = row_values(&schema(), content);
        assert!(values.max_abs() <= content_bound(&schema(), content), "{content:?}");
        (values.low().to_i64().unwrap(), values.high().to_i64().unwrap())
    }

    #[test]
    fn signs_and_missing_values_are_counted_in() {
        let name = |name: &str| name.to_owned();
        assert_eq!(range(&Content::Value(name("a"))), (-3, 5));
        assert_eq!(range(&Content::Value(name("b"))), (0, 7));
        assert_eq!(range(&Content::Value(name("c"))), (0, 1));
        assert_eq!(range(&Content::Square(name("a"))), (0, 25));
        assert_eq!(range(&Content::Product(name("a"), name("b"))), (-21, 35));
        assert_eq!(range(&Content::Monomial(vec![name("a"), name("a"), name("a")])), (-27, 125));
        assert_eq!(range(&Content::Monomial(vec![name("a"), name("a"), name("b")])), (0, 175));
        assert_eq!(range(&Content::Valid(name("a"))), (0, 1));
        // Three binary digits each.
        let logs = row_values(&schema(), &Content::Log(vec![name("a"), name("b")]));
        assert_eq!((logs.low(), logs.high()), (&BigInt::zero(), &(BigInt::from(6) << 80)));
        let both = Content::Where { content: Box::new(Content::Square(name("a"))), present: vec![name("b")] };
        assert_eq!(range(&both), (0, 25));
    }

    #[test]
    fn sums_have_the_bounds_of_their_rows() {
        let bound = Bound {
            values: Values::Exact(row_values(&schema(), &Content::Value("a".into()))),
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
