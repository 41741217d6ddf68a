// SPDX-License-Identifier: Apache-2.0
//! Rows that match a condition on encrypted columns, where they are few: a server that sees neither which rows these are nor their values adds up, slot by
//! slot, what finds them.
//!
//! ```text
//!   ring element n   0    1    2    3    4    …        in one slot: does its row match, and its value
//!   matches          ·    x    ·    ·    x
//!   value            7    3    9    1    5
//!
//!   rows             p_0 = 2,  p_1 = 1 + 4,  p_2 = 1 + 16     Σ n^e over the rows that match       → n = 1 and 4
//!   values           v_0 = 3 + 5,  v_1 = 3·1 + 5·4            Σ value·n^e                          → 3 and 5
//! ```
//!
//! A slot with k such rows takes the powers 0 to k of numbers, and of every digit of a value the powers below k (the power sums of `hush-arith` have how
//! they are solved). Sums are modulo the prime of slots, so that no limb can overflow.
//!
//! *Source.* docs/math/products.md, "Rows that match".

use sqlparser::ast::Expr;

use super::code::Code;
use super::condition::CodedColumns;
use super::{Computed, FilterShape, NO_ROW, Term, hidden_term, limb_of, parted};
use crate::cube::Lane;
use crate::fetch::and;
use crate::plan::{MatchingColumn, MatchingValue};
use crate::quantity::{Digits, Quantity};
use crate::schema::{Protection, Schema};
use crate::sql::Query;

/// A question for the rows that match.
pub(crate) struct Matching {
    /// The part of the condition that clear columns decide.
    pub(crate) filter: Option<Expr>,
    /// The rest, as a polynomial in flags, with the clear conditions within it.
    pub(crate) condition: Term,
    pub(crate) masks: Vec<Expr>,
    /// The same where its constants are encrypted.
    pub(crate) computed: Option<Computed>,
    /// What is read of a row.
    pub(crate) digits: Vec<Term>,
    /// The columns that these are digits of.
    pub(crate) columns: Vec<MatchingColumn>,
}

/// The question whose condition, where conditions that are derived have names, is that of `named`, and `further`.
///
/// # Errors
/// Why it cannot be asked so.
pub(crate) fn matching(
    schema: &Schema,
    shape: &FilterShape,
    in_limbs: &[(&Quantity, Digits)],
    (query, named, hides): (&Query, &Query, bool),
    further: Option<Term>,
) -> Result<Matching, String> {
    let (clear, hidden) = parted(schema, named, hides)?;
    let no_condition = || "it has no condition on a column for \"filter\"".to_owned();
    if hidden.is_empty() && further.is_none() {
        return Err(no_condition());
    }
    let mut masks = Vec::new();
    let columns = CodedColumns { schema, codes: &shape.codes, hides };
    let (computed, condition) = hidden_term(columns, &hidden, &mut masks)?;
    let condition = further.into_iter().fold(condition, Term::times);
    match condition {
        Term::Constant(0) => return Err(NO_ROW.to_owned()),
        ref decided if decided.degree() == 0 => return Err(no_condition()),
        _ => {}
    }
    let mut read = Read { schema, shape, in_limbs, digits: Vec::new() };
    let names = query.without_filter().columns();
    if names.is_empty() {
        return Err("it reads no column of the rows that match".to_owned());
    }
    let columns = names.iter().map(|name| read.column(name)).collect::<Result<_, _>>()?;
    let filter = clear.into_iter().cloned().reduce(and);
    Ok(Matching { filter, condition, masks, computed, digits: read.digits, columns })
}

/// What is read of a row, as columns are added.
struct Read<'a> {
    schema: &'a Schema,
    shape: &'a FilterShape,
    in_limbs: &'a [(&'a Quantity, Digits)],
    digits: Vec<Term>,
}

impl Read<'_> {
    /// A column, by its limbs if it has some, and by its flags otherwise.
    fn column(&mut self, name: &str) -> Result<MatchingColumn, String> {
        let column = self.schema.columns.iter().find(|column| column.name == name);
        if column.is_some_and(|column| column.protect == Protection::Clear) {
            return Err(format!("rows that match come back without clear columns, and it reads {name}"));
        }
        let nullable = column.is_some_and(|column| column.nullable);
        let code = self.shape.codes.iter().find(|code| code.column == name && !code.digit_terms().is_empty());
        let (value, valid) = match (self.limbs(&Quantity::Value(name.to_owned())), code) {
            (Some(limbs), _) => (limbs, nullable),
            (None, Some(code)) => {
                let first = self.digits.len();
                self.digits.extend(code.digit_terms());
                if self.digits.iter().any(|digit| digit.degree() == 0) {
                    return Err(format!(
                        "it reads {name} of the rows that match, a digit of which has one value"
                    ));
                }
                let count = self.digits.len() - first;
                // The digit of texts says where there is none.
                match code.is_ordered() {
                    true => (MatchingValue::Flags { first, count }, nullable),
                    false => (MatchingValue::Text(first), false),
                }
            }
            (None, None) if self.shape.codes.iter().any(|code| code.column == name) => {
                return Err(format!(
                    "it reads {name} of the rows that match, whose flags serve conditions alone: with \"measure\" beside \"filter\" its values come back"
                ));
            }
            (None, None) => {
                return Err(format!(
                    "it reads {name} of the rows that match, which is neither for \"filter\" nor for \"measure\""
                ));
            }
        };
        let valid = valid.then(|| self.valid(name, code)).transpose()?;
        Ok(MatchingColumn { name: name.to_owned(), value, valid })
    }

    /// Adds the limbs of a quantity, if it is measured.
    fn limbs(&mut self, quantity: &Quantity) -> Option<MatchingValue> {
        let lane = |lane: &&Lane| lane.quantity.as_ref() == Some(quantity);
        let lane = self.shape.lanes.iter().find(lane)?;
        let (_, digits) = self.in_limbs.iter().find(|(known, _)| *known == quantity)?;
        let (first, count) = (self.digits.len(), digits.places(&lane.row));
        let limb = |place| Term::Stored(limb_of(quantity, *digits, place));
        self.digits.extend((0..count).map(limb));
        let Digits { bits, natural } = *digits;
        Some(MatchingValue::Limbs { first, count: count.into(), bits, natural })
    }

    /// Adds the digit that is 1 where a column has a value.
    fn valid(&mut self, name: &str, code: Option<&Code>) -> Result<usize, String> {
        let place = self.digits.len();
        match code {
            Some(code) => self.digits.push(code.valid()),
            None => {
                let limbs = self.limbs(&Quantity::Valid(name.to_owned()));
                let one = matches!(limbs, Some(MatchingValue::Limbs { count: 1, .. }));
                if !one {
                    return Err(format!("where {name} of the rows that match is missing is not measured"));
                }
            }
        }
        Ok(place)
    }
}
