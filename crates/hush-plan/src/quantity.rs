// SPDX-License-Identifier: Apache-2.0
//! A quantity: what one encoded column holds. Values, their validity, squares, products, and what else is added up.

mod cell;
mod codeword;
mod digits;
mod flag;
mod rank;

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, Zero};
use serde::{Deserialize, Serialize};

use crate::aggregates;
use crate::range::{Interval, at_least_one};
use crate::schema::units::column_bounds;
use crate::schema::{Column, ColumnType, Schema};
pub use cell::{Cell, CellValues, Within};
pub use codeword::{Codeword, CodewordFlag, ConstantWeight, MAX_LENGTH, MAX_WEIGHT};
pub use digits::Digits;
pub use flag::{DateFlag, DatePart, DigitFlag, Flag, FlagOf, Holds};
pub use rank::{RANK_DIGITS, RANK_FLAGS, RankFlag};

/// The numbers that an encoded column holds, one for each row, computed from columns. Private: the server never learns which.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// 1 where both columns have a value, 0 elsewhere; goes with a product of two columns that may be missing.
    BothValid(String, String),
    /// A sum of multiples of other quantities, each named once, in their order: what an expression is without its constant term.
    Combination(Vec<(i64, Quantity)>),
    /// Another quantity, or 1, in the place of the cell that a row is in, and 0 in all others: a number in base `2^bits`, whose digits are the
    /// places. A sum over rows holds the sums over each cell.
    InCells {
        /// The quantity; `None` counts rows.
        #[serde(rename = "content")]
        quantity: Option<Box<Quantity>>,
        /// The cells, the lowest place first. No row is in two of them.
        cells: Vec<Cell>,
        /// Bits of a place.
        bits: u8,
    },
    /// A flag of a column's value: 0 where it is missing.
    Flag(Flag),
    /// 1 where a condition on a row is true, or where it is false; 0 where it is NULL.
    Holds(Holds),
    /// A digit of another quantity: sums over rows of all digits are sums of the quantity.
    Limb {
        /// The quantity.
        #[serde(rename = "content")]
        quantity: Box<Quantity>,
        /// The digits.
        #[serde(flatten)]
        digits: Digits,
        /// Its place, the lowest first.
        place: u8,
    },
    /// Natural logarithm of the absolute value of a product in units, itself in units of `2^-`[`LOG_FRACTION_BITS`], to
    /// half a unit for each factor; 0 where the product is 0 or a factor is missing. Factors as in
    /// [`Quantity::Monomial`], also one.
    Log(Vec<String>),
    /// Product of three columns or more, 0 where any is missing: names in alphabetical order, a power as repeats.
    Monomial(Vec<String>),
    /// 1 where a product is negative, 0 elsewhere.
    Negative(Vec<String>),
    /// Product of two columns, 0 where either is missing.
    Product(String, String),
    /// Square of a column, 0 where missing.
    Square(String),
    /// 1 where the column has a value, 0 where it is missing.
    Valid(String),
    /// The column in units, 0 where missing.
    Value(String),
    /// Another quantity on rows where all of some further columns have a value, 0 elsewhere: sums over the rows that
    /// several columns have in common.
    Where {
        /// The quantity; none of this kind itself.
        #[serde(rename = "content")]
        quantity: Box<Quantity>,
        /// The further columns, sorted, each once.
        present: Vec<String>,
    },
    /// 1 where a product is 0, 0 elsewhere and where a factor is missing.
    Zero(Vec<String>),
}

/// Binary digits after the point of a logarithm: the sum of 10^7 of them is exact to 2^-56, more than a double holds.
pub const LOG_FRACTION_BITS: u32 = 80;

impl Quantity {
    /// In words, for errors and for `explain`.
    pub fn describe(&self) -> String {
        match self {
            Quantity::BothValid(a, b) => format!("the joint validity of {a} and {b}"),
            Quantity::Combination(terms) => {
                let term =
                    |(weight, quantity): &(i64, Quantity)| format!("{weight} times {}", quantity.describe());
                terms.iter().map(term).collect::<Vec<_>>().join(" plus ")
            }
            Quantity::InCells { quantity, cells, .. } => {
                let what = quantity.as_ref().map_or("rows".to_owned(), |quantity| quantity.describe());
                format!("{what} by {}", columns_of_cells(cells).join(", "))
            }
            Quantity::Flag(flag) => flag.describe(),
            Quantity::Holds(holds) => holds.describe(),
            Quantity::Limb { quantity, place, .. } => {
                format!("digit {} of {}", place + 1, quantity.describe())
            }
            Quantity::Log(factors) => format!("the logarithm of {}", factors.join(" * ")),
            Quantity::Monomial(factors) => format!("the product {}", factors.join(" * ")),
            Quantity::Negative(factors) => format!("where {} is negative", factors.join(" * ")),
            Quantity::Product(a, b) => format!("the product of {a} and {b}"),
            Quantity::Square(name) => format!("the square of {name}"),
            Quantity::Valid(name) => format!("the validity of {name}"),
            Quantity::Value(name) => format!("the values of {name}"),
            Quantity::Where { quantity, present } => {
                let has = if present.len() == 1 { "has" } else { "have" };
                format!("{} where {} {has} a value", quantity.describe(), present.join(", "))
            }
            Quantity::Zero(factors) => format!("where {} is 0", factors.join(" * ")),
        }
    }

    /// The columns that it is made of, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = match self {
            Quantity::BothValid(a, b) | Quantity::Product(a, b) => vec![a, b],
            Quantity::Log(factors)
            | Quantity::Monomial(factors)
            | Quantity::Negative(factors)
            | Quantity::Zero(factors) => factors.iter().map(String::as_str).collect(),
            Quantity::Combination(terms) => {
                terms.iter().flat_map(|(_, quantity)| quantity.columns()).collect()
            }
            Quantity::InCells { quantity, cells, .. } => {
                let summed = quantity.iter().flat_map(|quantity| quantity.columns());
                columns_of_cells(cells).into_iter().chain(summed).collect()
            }
            Quantity::Flag(flag) => vec![&flag.column],
            Quantity::Holds(holds) => holds.columns.iter().map(String::as_str).collect(),
            Quantity::Limb { quantity, .. } => quantity.columns(),
            Quantity::Square(name) | Quantity::Valid(name) | Quantity::Value(name) => vec![name],
            Quantity::Where { quantity, present } => {
                quantity.columns().into_iter().chain(present.iter().map(String::as_str)).collect()
            }
        };
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// A sum of multiples of quantities, each named once.
    pub(crate) fn combination(mut terms: Vec<(i64, Self)>) -> Self {
        terms.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
        Self::Combination(terms)
    }

    /// The same quantity of columns with other names.
    #[must_use]
    pub fn renamed(&self, name: &dyn Fn(&str) -> String) -> Self {
        let all = |factors: &[String]| {
            let mut names: Vec<String> = factors.iter().map(|factor| name(factor)).collect();
            names.sort_unstable();
            names
        };
        // In the order in which planners name them.
        let pair = |a: &String, b: &String| {
            let mut names = [name(a), name(b)];
            names.sort_unstable();
            names
        };
        match self {
            Quantity::BothValid(a, b) => {
                let [a, b] = pair(a, b);
                Quantity::BothValid(a, b)
            }
            Quantity::Combination(terms) => {
                let terms = terms.iter().map(|(weight, quantity)| (*weight, quantity.renamed(name)));
                Quantity::combination(terms.collect())
            }
            Quantity::InCells { quantity, cells, bits } => {
                let quantity = quantity.as_ref().map(|quantity| Box::new(quantity.renamed(name)));
                let within = |within: &Within| Within { column: name(&within.column), ..within.clone() };
                let cells = cells.iter().map(|cell| cell.iter().map(within).collect()).collect();
                Quantity::InCells { quantity, cells, bits: *bits }
            }
            Quantity::Flag(flag) => Quantity::Flag(Flag { column: name(&flag.column), ..flag.clone() }),
            Quantity::Holds(holds) => Quantity::Holds(holds.renamed(name)),
            Quantity::Limb { quantity, digits, place } => {
                Quantity::Limb { quantity: Box::new(quantity.renamed(name)), digits: *digits, place: *place }
            }
            Quantity::Log(factors) => Quantity::Log(all(factors)),
            Quantity::Monomial(factors) => Quantity::Monomial(all(factors)),
            Quantity::Negative(factors) => Quantity::Negative(all(factors)),
            Quantity::Product(a, b) => {
                let [a, b] = pair(a, b);
                Quantity::Product(a, b)
            }
            Quantity::Square(column) => Quantity::Square(name(column)),
            Quantity::Valid(column) => Quantity::Valid(name(column)),
            Quantity::Value(column) => Quantity::Value(name(column)),
            Quantity::Where { quantity, present } => {
                Quantity::Where { quantity: Box::new(quantity.renamed(name)), present: all(present) }
            }
            Quantity::Zero(factors) => Quantity::Zero(all(factors)),
        }
    }

    /// Largest absolute value of one row, in units, by the declared ranges; 1 for approximate quantities, whose bound
    /// their encoding sets.
    pub(crate) fn bound(&self, schema: &Schema) -> BigInt {
        let bound = |name: &String| {
            let column = schema.columns.iter().find(|column| column.name == *name);
            column.map_or_else(BigInt::one, value_bound)
        };
        match self {
            Quantity::BothValid(..)
            | Quantity::Flag(_)
            | Quantity::Holds(_)
            | Quantity::Negative(_)
            | Quantity::Valid(_)
            | Quantity::Zero(_) => BigInt::one(),
            Quantity::Combination(terms) => {
                terms.iter().map(|(weight, quantity)| quantity.bound(schema) * weight.unsigned_abs()).sum()
            }
            Quantity::Limb { digits, .. } => digits.range().max_abs(),
            Quantity::InCells { quantity, cells, bits } => {
                let one = quantity.as_ref().map_or_else(BigInt::one, |quantity| quantity.bound(schema));
                one << (cells.len().saturating_sub(1) * usize::from(*bits))
            }
            // A factor's logarithm is below 0.7 times its binary digits, which leaves room for its rounding.
            Quantity::Log(factors) => {
                let bits: u64 = factors.iter().map(|name| bound(name).bits()).sum();
                BigInt::from(bits) << LOG_FRACTION_BITS
            }
            Quantity::Monomial(factors) => factors.iter().map(bound).product(),
            Quantity::Product(a, b) => bound(a) * bound(b),
            Quantity::Square(name) => bound(name).pow(2),
            Quantity::Value(name) => bound(name),
            Quantity::Where { quantity, .. } => quantity.bound(schema),
        }
    }

    /// The numbers of one row, in units, of an exact quantity; 0 is among them, for rows where something is missing.
    ///
    /// It lies within the largest absolute value that the encoding was sized for.
    pub fn row_values(&self, schema: &Schema) -> Interval {
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
        let possible = match self {
            Quantity::BothValid(..)
            | Quantity::Flag(_)
            | Quantity::Holds(_)
            | Quantity::Negative(_)
            | Quantity::Valid(_)
            | Quantity::Zero(_) => Interval::point(BigInt::one()),
            Quantity::Combination(terms) => terms.iter().fold(zero.clone(), |sum, (weight, quantity)| {
                sum.add(&quantity.row_values(schema).mul(&Interval::point((*weight).into())))
            }),
            Quantity::Limb { digits, .. } => digits.range(),
            Quantity::InCells { quantity, cells, bits } => {
                let one = || Interval::point(BigInt::one());
                let row = quantity.as_ref().map_or_else(one, |quantity| quantity.row_values(schema));
                let highest = BigInt::one() << (cells.len().saturating_sub(1) * usize::from(*bits));
                row.mul(&Interval::point(highest))
            }
            // Of whole numbers other than 0.
            Quantity::Log(factors) => {
                let bits: u64 = factors.iter().map(|name| column(name).max_abs().bits().max(1)).sum();
                Interval::point(BigInt::from(bits) << LOG_FRACTION_BITS)
            }
            Quantity::Monomial(factors) => product(factors),
            Quantity::Product(left, right) => product(&[left.clone(), right.clone()]),
            Quantity::Square(name) => product(&[name.clone(), name.clone()]),
            Quantity::Value(name) => column(name),
            Quantity::Where { quantity, .. } => quantity.row_values(schema),
        };
        possible.hull(&zero)
    }

    /// Digits after the point that an approximate quantity keeps; `None` for exact ones.
    pub(crate) fn approximate_digits(&self, schema: &Schema) -> Option<u8> {
        let digits = |name: &String| {
            let column = schema.columns.iter().find(|column| column.name == *name)?;
            match column.kind {
                ColumnType::Float { digits } if column.is_approximate() => Some(digits),
                _ => None,
            }
        };
        match self {
            Quantity::BothValid(..)
            | Quantity::Flag(_)
            | Quantity::Holds(_)
            | Quantity::Limb { .. }
            | Quantity::Log(_)
            | Quantity::Negative(_)
            | Quantity::Valid(_)
            | Quantity::Zero(_) => None,
            // What is added up so is exact.
            Quantity::Combination(_) | Quantity::InCells { .. } => None,
            Quantity::Monomial(factors) => factors.iter().filter_map(digits).max(),
            Quantity::Product(a, b) => digits(a).max(digits(b)),
            Quantity::Square(name) | Quantity::Value(name) => digits(name),
            Quantity::Where { quantity, .. } => quantity.approximate_digits(schema),
        }
    }

    /// Whether it is 0 or 1 by row, and so as narrow as nothing else is.
    pub(crate) fn marks_missing(&self) -> bool {
        match self {
            Quantity::BothValid(..) | Quantity::Negative(_) | Quantity::Valid(_) | Quantity::Zero(_) => true,
            // Their encodings look like those of limbs.
            Quantity::Flag(_) | Quantity::Holds(_) | Quantity::Limb { .. } => false,
            Quantity::Where { quantity, .. } => quantity.marks_missing(),
            Quantity::Combination(_)
            | Quantity::InCells { .. }
            | Quantity::Log(_)
            | Quantity::Monomial(_)
            | Quantity::Product(..)
            | Quantity::Square(_)
            | Quantity::Value(_) => false,
        }
    }

    /// Whether two are equal, or equal with the two columns exchanged.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Quantity::Product(a1, a2), Quantity::Product(b1, b2))
            | (Quantity::BothValid(a1, a2), Quantity::BothValid(b1, b2)) => {
                (a1, a2) == (b1, b2) || (a1, a2) == (b2, b1)
            }
            (Quantity::Where { quantity: a, present: p }, Quantity::Where { quantity: b, present: q }) => {
                p == q && a.is_same(b)
            }
            _ => self == other,
        }
    }

    /// The layout that sums of it need, in words.
    pub(crate) fn describe_layout(&self) -> String {
        let words = match self {
            Quantity::BothValid(..) => "the joint validity (`products` in the schema)",
            Quantity::InCells { .. } => "sums by hidden values (`group` in the schema)",
            Quantity::Flag(_) => "flags of its values (purpose `filter`)",
            Quantity::Holds(_) => "flags of a condition (`derive` in the schema)",
            Quantity::Combination(_) | Quantity::Limb { .. } => "digits of its values (purpose `measure`)",
            Quantity::Monomial(factors) => {
                let is_power = factors.iter().all(|factor| Some(factor) == factors.first());
                let order = u32::try_from(factors.len()).unwrap_or(u32::MAX);
                let purpose = aggregates::purpose_of_order(order).filter(|_| is_power);
                let purpose = purpose.map_or(String::new(), |of| format!("purpose `{}`, or ", of.name()));
                return format!(
                    "the product as a further `sum` column ({purpose}`products = [{factors:?}]` in the schema)"
                );
            }
            Quantity::Log(_) | Quantity::Negative(_) | Quantity::Zero(_) => {
                "sums of logarithms (`for = [\"geomean\"]` of one column)"
            }
            Quantity::Product(..) => "the product as a further `sum` column (`products` in the schema)",
            Quantity::Square(_) => "the square as a further `sum` column (purpose `variance`)",
            Quantity::Valid(_) => "the encrypted validity",
            Quantity::Value(_) => "a `sum` layout",
            Quantity::Where { .. } => "sums over the rows that they have in common (`moments` in the schema)",
        };
        words.to_owned()
    }
}

/// The columns of conditions, each once, as they come first.
fn columns_of_cells(cells: &[Cell]) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for within in cells.iter().flatten() {
        if !columns.contains(&within.column.as_str()) {
            columns.push(&within.column);
        }
    }
    columns
}

/// Largest absolute value of a column in units, by its declared range; 1 for an approximate column.
pub(crate) fn value_bound(column: &Column) -> BigInt {
    let range = if column.is_approximate() { None } else { column_bounds(column) };
    range.map_or_else(BigInt::one, |range| at_least_one(range.max_abs().into()))
}

#[cfg(test)]
mod tests {
    use num_traits::ToPrimitive;

    use super::*;
    use crate::schema::Protection;
    use crate::schema::file::from_toml;
    use crate::tables::{column, ranged};

    fn schema() -> Schema {
        let text = "format = 1\ntable = \"t\"\nstatus = \"approved\"\napproved_by = \"x\"\n\
             [columns.a]\ntype = \"int(32)\"\nrange = [-3, 5]\nprotect = \"encrypt\"\n\
             [columns.b]\ntype = \"int(32)\"\nrange = [2, 7]\nprotect = \"encrypt\"\n\
             [columns.c]\ntype = \"bool\"\nprotect = \"encrypt\"\n";
        from_toml(text).unwrap()
    }

    fn range(quantity: &Quantity) -> (i64, i64) {
        let values = quantity.row_values(&schema());
        assert!(values.max_abs() <= quantity.bound(&schema()), "{quantity:?}");
        (values.low().to_i64().unwrap(), values.high().to_i64().unwrap())
    }

    #[test]
    fn signs_and_missing_values_are_counted_in() {
        let name = |name: &str| name.to_owned();
        assert_eq!(range(&Quantity::Value(name("a"))), (-3, 5));
        assert_eq!(range(&Quantity::Value(name("b"))), (0, 7));
        assert_eq!(range(&Quantity::Value(name("c"))), (0, 1));
        assert_eq!(range(&Quantity::Square(name("a"))), (0, 25));
        assert_eq!(range(&Quantity::Product(name("a"), name("b"))), (-21, 35));
        assert_eq!(range(&Quantity::Monomial(vec![name("a"), name("a"), name("a")])), (-27, 125));
        assert_eq!(range(&Quantity::Monomial(vec![name("a"), name("a"), name("b")])), (0, 175));
        assert_eq!(range(&Quantity::Valid(name("a"))), (0, 1));
        // Three binary digits each.
        let logs = Quantity::Log(vec![name("a"), name("b")]).row_values(&schema());
        assert_eq!((logs.low(), logs.high()), (&BigInt::zero(), &(BigInt::from(6) << 80)));
        let both =
            Quantity::Where { quantity: Box::new(Quantity::Square(name("a"))), present: vec![name("b")] };
        assert_eq!(range(&both), (0, 25));
        let value = |column| Quantity::Value(name(column));
        let sum = Quantity::combination(vec![(-2, value("b")), (3, value("a"))]);
        assert_eq!(range(&sum), (-9 - 14, 15));
        let widest = Quantity::combination(vec![(i64::MIN, value("c")), (1, value("a"))]);
        assert_eq!(widest.bound(&schema()), (BigInt::one() << 63) + 5);
    }

    /// A float that a range makes exact keeps no digits of an approximate one.
    #[test]
    fn ranges_make_floats_exact() {
        let float = |name| column(name, ColumnType::Float { digits: 3 }, Protection::Encrypt);
        let int = column("x", ColumnType::Int { bits: 32 }, Protection::Encrypt);
        let columns = vec![float("open"), ranged(float("closed"), -5000, 5000), int];
        let schema = crate::tables::schema("t", columns);
        let digits = |name: &str| Quantity::Value(name.into()).approximate_digits(&schema);
        assert_eq!(
            (digits("open"), digits("closed"), digits("x"), digits("none")),
            (Some(3), None, None, None)
        );
    }

    #[test]
    fn a_quantity_names_its_columns_once() {
        let quantity = Quantity::Product("b".into(), "a".into());
        let present = vec!["c".into(), "a".into()];
        let both = Quantity::Where { quantity: Box::new(quantity), present };
        assert_eq!(both.columns(), ["a", "b", "c"]);
        assert_eq!(Quantity::Monomial(vec!["y".into(), "x".into(), "y".into()]).columns(), ["x", "y"]);
        assert_eq!(Quantity::Valid("v".into()).columns(), ["v"]);
    }
}
