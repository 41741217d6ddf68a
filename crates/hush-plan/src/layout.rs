// SPDX-License-Identifier: Apache-2.0
//! Encryption-time planning: which encoded columns a table gets, with which parameters.
//!
//! What a table must be able to do ([`Needs`]) comes from the columns' purposes or from queries. Each needed quantity
//! then gets the parameter set that takes the fewest stored bytes per value among those that hold it:
//! - `sum`: see the module `sum`; one body per quantity, `limbs · residue_bits / 8` bytes per value.
//! - `slots`: see the module `slots`; one ciphertext per plaintext prime, shared choice for columns that meet in a product.
//! - `approx_sum`, `approx_slots`: see the module `approx`; scale from the column's digits, magnitude from what is left.

mod approx;
pub(crate) mod slots;
mod sum;

use std::collections::BTreeMap;

use hush_params::{ParamSet, presets};
use num_bigint::BigInt;
use num_traits::One;

use crate::aggregates::{self, Aggregate, Entry, FromSums};
use crate::by_row;
use crate::encoding::{Content, Encoding, EncodingId, LOG_FRACTION_BITS, Layout, Plaintext, PrivateEncoding};
use crate::error::{PlanError, Unfit};
use crate::expr::is_approximate;
use crate::grouped;
use crate::program::Program;
use crate::range::{Writers, at_least_one};
use crate::schema::units::column_bounds;
use crate::schema::{Column, ColumnType, Protection, Purpose, Schema};
use crate::sql::{self, Query};

/// What the encoded columns of a table must be able to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Quantities to be summed, with the largest clear weight (absolute value) of any sum.
    sums: BTreeMap<Content, BigInt>,
    /// Element-wise expressions.
    programs: Vec<Program>,
}

impl Needs {
    /// Needs of the purposes that the schema declares; an encrypted column without any is there to be summed.
    ///
    /// # Errors
    /// [`PlanError::WrongType`] for an encrypted text or category, and for purposes that dates do not have;
    /// [`PlanError::UnknownColumn`] and [`PlanError::MixedArithmetic`] for declared products; [`PlanError::WrongType`] for
    /// declared products and moments of dates, and moments of approximate columns.
    pub fn of_purposes(schema: &Schema) -> Result<Self, PlanError> {
        let mut needs = Self::default();
        let mut factors: Vec<&Column> = Vec::new();
        for column in schema.protected(Protection::Encrypt) {
            needs.add_purposes(column)?;
            if column.purposes.contains(&Purpose::Product) {
                factors.push(column);
            }
            let aggregates = || column.purposes.iter().copied().flat_map(aggregates::of_purpose);
            let is_product =
                |entry: &&Entry| matches!(entry.computes, Aggregate::FromSums(FromSums::Product(_)));
            if let Some(product) = aggregates().find(is_product) {
                let call = format!("{}({})", product.engine_name().to_uppercase(), sql::quoted(&column.name));
                needs.merge(needs_of_sql(schema, &call)?);
            }
        }
        for (index, left) in factors.iter().enumerate() {
            for right in &factors[index..] {
                if is_approximate(left) == is_approximate(right) {
                    needs.programs.push(Program::product(left, right));
                }
            }
        }
        needs.add_weights(schema);
        for factors in &schema.products {
            needs.merge(of_product(schema, factors)?);
        }
        for set in &schema.moments {
            needs.merge(of_moments(schema, set)?);
        }
        Ok(needs)
    }

    /// Room for a clear column as a factor in sums of a column: for the largest one that parameters hold.
    fn add_weights(&mut self, schema: &Schema) {
        for column in schema.protected(Protection::Encrypt).filter(|column| column.is_summed()) {
            let content = Content::Value(column.name.clone());
            let Some(largest) = self.sums.get_mut(&content) else { continue };
            let bounds =
                clear_factors(schema).map(value_bound).filter(|bound| holds(schema, &content, bound));
            if let Some(bound) = bounds.max() {
                *largest = bound.max(std::mem::take(largest));
            }
        }
    }

    /// Whether nothing needs to be encoded.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.programs.is_empty()
    }

    /// Adds what `other` needs.
    pub fn merge(&mut self, other: Self) {
        for (content, weight) in other.sums {
            self.add_sum(content, weight);
        }
        self.programs.extend(other.programs);
    }

    fn add_sum(&mut self, content: Content, weight: BigInt) {
        let largest = self.sums.entry(content).or_default();
        *largest = at_least_one(largest.clone().max(weight));
    }

    fn add_purposes(&mut self, column: &Column) -> Result<(), PlanError> {
        let name = || column.name.clone();
        if column_bounds(column).is_none() && !is_approximate(column) {
            return Err(PlanError::WrongType { text: name(), reason: Unfit::Text });
        }
        let purposes = &column.purposes;
        let squares = purposes.iter().copied().flat_map(aggregates::of_purpose).any(Entry::reads_squares);
        let is_time = matches!(column.kind, ColumnType::Date | ColumnType::Timestamp);
        if is_time && purposes.iter().any(|purpose| *purpose != Purpose::Count) {
            return Err(PlanError::WrongType { text: name(), reason: Unfit::DateArithmetic });
        }
        // Slots hold the values as well; without them the sum layout keeps what the owner must be able to decrypt.
        let sums = purposes.iter().any(|p| !matches!(p, Purpose::Count | Purpose::Product));
        if sums || !purposes.contains(&Purpose::Product) {
            self.add_sum(Content::Value(name()), BigInt::one());
        }
        if squares {
            self.add_sum(Content::Square(name()), BigInt::one());
        }
        if column.nullable {
            self.add_sum(Content::Valid(name()), BigInt::one());
        }
        Ok(())
    }
}

/// Largest bound of a clear column that sums have room for as a factor.
const MAX_FACTOR_BITS: u64 = 40;

/// Clear columns that may be factors in sums.
fn clear_factors(schema: &Schema) -> impl Iterator<Item = &Column> {
    let is_time = |column: &Column| matches!(column.kind, ColumnType::Date | ColumnType::Timestamp);
    let clear = schema.protected(Protection::Clear);
    clear.filter(move |column| column_bounds(column).is_some() && !is_time(column))
}

/// Whether sums of a column over all rows that the table may have are held with factors up to `bound`.
fn holds(schema: &Schema, content: &Content, bound: &BigInt) -> bool {
    // Devices encrypt for all columns together: their tables are sized by what they are for, or by a workload.
    if schema.edge || bound.bits() > MAX_FACTOR_BITS {
        return false;
    }
    let rows = schema.max_rows.max(1);
    match approximate_digits(schema, content) {
        Some(digits) => approx::sum(content, digits, rows, bound, (Writers::Owner, schema.release))
            .is_ok_and(|choice| choice.max_abs >= approx::comfortable_bound()),
        None => sum::choose(content, &content_bound(schema, content), rows, bound, &[]).is_ok(),
    }
}

/// Encrypted columns whose sums have no room for some clear columns as factors, with these: what `SUM(x * w)` may be refused for,
/// unless a workload asks for it.
pub fn factors_left_out(schema: &Schema) -> Vec<(&str, Vec<&str>)> {
    let summed = schema.protected(Protection::Encrypt).filter(|column| column.is_summed());
    let left_out = summed.map(|column| {
        let content = Content::Value(column.name.clone());
        let lacking = clear_factors(schema).filter(|factor| !holds(schema, &content, &value_bound(factor)));
        (column.name.as_str(), lacking.map(|factor| factor.name.as_str()).collect::<Vec<_>>())
    });
    left_out.filter(|(_, lacking)| !lacking.is_empty()).collect()
}

/// Needs of the sum of a product. One of a single encrypted column and clear ones needs nothing that the column does not
/// have.
fn of_product(schema: &Schema, factors: &[String]) -> Result<Needs, PlanError> {
    let is_encrypted = |name: &&String| schema.column(name).is_some_and(|c| c.protect == Protection::Encrypt);
    let product = factors.iter().map(|name| sql::quoted(name)).collect::<Vec<_>>().join(" * ");
    let needs = needs_of_sql(schema, &format!("SUM({product})"))?;
    Ok(if factors.iter().filter(is_encrypted).count() < 2 { Needs::default() } else { needs })
}

/// Needs of every aggregate of several columns among `set`: R² of a regression reads all of their moments.
///
/// Columns that are not in the table are left out, and sets that are then too small to matter.
fn of_moments(schema: &Schema, set: &[String]) -> Result<Needs, PlanError> {
    let stored = |name: &&String| {
        let is = |protect| schema.protected(protect).any(|column| column.name == **name);
        is(Protection::Clear) || is(Protection::Encrypt)
    };
    let names: Vec<String> = set.iter().filter(stored).map(|name| sql::quoted(name)).collect();
    if names.len() < 2 {
        return Ok(Needs::default());
    }
    needs_of_sql(schema, &format!("LINREG_R2({})", names.join(", ")))
}

/// Needs of one aggregate over all rows.
fn needs_of_sql(schema: &Schema, aggregate: &str) -> Result<Needs, PlanError> {
    let text = format!("SELECT {aggregate} FROM {}", sql::quoted(&schema.table));
    needs_of(schema, &[sql::parse(schema, &text)?])
}

/// Needs of a set of queries; columns that no query uses get no encoding.
///
/// # Errors
/// Whatever makes a query impossible whatever the layouts are.
pub fn needs_of(schema: &Schema, queries: &[Query]) -> Result<Needs, PlanError> {
    let mut needs = Needs::default();
    for query in queries {
        if query.is_grouped() {
            let plan = grouped::compile(schema, query, schema.max_rows.max(1))?;
            for sum in plan.sums {
                let weight = plan.masks.get(sum.mask).map_or_else(BigInt::one, |mask| mask.weights.max_abs());
                needs.add_sum(sum.content, weight);
            }
        } else {
            let plan = by_row::compile(schema, query, &Program::suits_slots)?;
            plan.fetch.into_iter().for_each(|content| needs.add_sum(content, BigInt::one()));
            needs.programs.extend(plan.programs);
        }
    }
    Ok(needs)
}

/// Chooses the encoded columns that serve `needs` on a table of up to `rows` rows. `new_id` gives a random identity
/// (32 hexadecimal digits) for each secret: for each column, but one for the slot columns that meet in products.
///
/// A parameter set takes as many columns as it has room for ([`ParamSet::most_columns`]): finding *some* column's secret costs 2^128 as
/// well. Where there are more, all columns that are summed do without that set.
///
/// # Errors
/// [`PlanError::NoParameters`] where no parameter set is large enough.
pub fn plan_encodings(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<PrivateEncoding>, PlanError> {
    let mut crowded = Vec::new();
    let sums = loop {
        let sums = match schema.writers() {
            Writers::Owner => owned_sums(schema, needs, rows, &crowded)?,
            Writers::Devices => shared_sums(schema, needs, rows, &crowded)?,
        };
        match presets().iter().find(|set| is_crowded(set, &sums)) {
            Some(set) => crowded.push(set.name()),
            None => break sums,
        }
    };
    // A sum needs no other column's secret; the factors of a product need a common one.
    let mut groups: Vec<Vec<(Content, Choice)>> = sums.into_iter().map(|sum| vec![sum]).collect();
    groups.extend(slots::choose(schema, &needs.programs)?);
    groups.extend(approx::slots(schema, &needs.programs)?);

    let mut encodings = Vec::new();
    for group in groups {
        let secret_id = new_id();
        for (content, choice) in group {
            let public = Encoding {
                id: EncodingId(encodings.len() as u32),
                layout: choice.layout,
                params: choice.params.to_owned(),
                plaintext: choice.plaintext,
            };
            let (max_abs, secret_id) = (choice.max_abs.to_string(), secret_id.clone());
            encodings.push(PrivateEncoding { public, content, max_abs, secret_id });
        }
    }
    Ok(encodings)
}

fn is_crowded(set: &ParamSet, chosen: &[(Content, Choice)]) -> bool {
    chosen.iter().filter(|(_, choice)| choice.params == set.name()).count() > set.most_columns()
}

/// Columns to be summed that the owner alone encrypts; exact ones not over the sets `without`.
fn owned_sums(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    without: &[&str],
) -> Result<Vec<(Content, Choice)>, PlanError> {
    let choose = |(content, weight): (&Content, &BigInt)| {
        let choice = match approximate_digits(schema, content) {
            Some(digits) => approx::sum(content, digits, rows, weight, (Writers::Owner, schema.release))?,
            None => sum::choose(content, &content_bound(schema, content), rows, weight, without)?,
        };
        Ok((content.clone(), choice))
    };
    needs.sums.iter().map(choose).collect()
}

/// Columns to be summed that devices encrypt too. Sealed columns and element-wise products are not among what they can.
fn shared_sums(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    without: &[&str],
) -> Result<Vec<(Content, Choice)>, PlanError> {
    if let Some(column) = schema.protected(Protection::Seal).next() {
        return Err(PlanError::NotByDevices { column: column.name.clone(), what: "sealing" });
    }
    if let Some(column) = needs.programs.iter().find_map(|program| program.columns.first()) {
        return Err(PlanError::NotByDevices { column: column.clone(), what: "element-wise products" });
    }
    let mut chosen = BTreeMap::new();
    let mut exact = Vec::new();
    for (content, weight_max) in &needs.sums {
        match approximate_digits(schema, content) {
            Some(digits) => {
                let choice =
                    approx::sum(content, digits, rows, weight_max, (Writers::Devices, schema.release))?;
                chosen.insert(content.clone(), choice);
            }
            None => exact.push(sum::Asked { content, max_abs: content_bound(schema, content), weight_max }),
        }
    }
    let taken: Vec<&str> =
        chosen.values().map(|choice| choice.params).chain(without.iter().copied()).collect();
    let shared = sum::choose_shared(&exact, rows, &taken)?;
    chosen.extend(exact.iter().map(|asked| asked.content.clone()).zip(shared));
    Ok(chosen.into_iter().collect())
}

/// A layout with its parameters, for one quantity.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    layout: Layout,
    params: &'static str,
    plaintext: Plaintext,
    max_abs: BigInt,
}

/// Largest absolute value of one row, in units, by the declared ranges; 1 for approximate quantities, whose bound
/// their encoding sets.
pub(crate) fn content_bound(schema: &Schema, content: &Content) -> BigInt {
    let bound = |name: &String| {
        let column = schema.columns.iter().find(|column| column.name == *name);
        column.map_or_else(BigInt::one, value_bound)
    };
    match content {
        Content::BothValid(..) | Content::Negative(_) | Content::Valid(_) | Content::Zero(_) => BigInt::one(),
        // A factor's logarithm is below 0.7 times its binary digits, which leaves room for its rounding.
        Content::Log(factors) => {
            let bits: u64 = factors.iter().map(|name| bound(name).bits()).sum();
            BigInt::from(bits) << LOG_FRACTION_BITS
        }
        Content::Monomial(factors) => factors.iter().map(bound).product(),
        Content::Product(a, b) => bound(a) * bound(b),
        Content::Square(name) => bound(name).pow(2),
        Content::Value(name) => bound(name),
        Content::Where { content, .. } => content_bound(schema, content),
    }
}

/// Largest absolute value of a column in units, by its declared range; 1 for an approximate column.
pub(crate) fn value_bound(column: &Column) -> BigInt {
    let range = if is_approximate(column) { None } else { column_bounds(column) };
    range.map_or_else(BigInt::one, |range| at_least_one(range.max_abs().into()))
}

/// Digits after the point that an approximate quantity keeps; `None` for exact ones.
pub(crate) fn approximate_digits(schema: &Schema, content: &Content) -> Option<u8> {
    let digits = |name: &String| {
        let column = schema.columns.iter().find(|column| column.name == *name)?;
        match column.kind {
            ColumnType::Float { digits } if is_approximate(column) => Some(digits),
            _ => None,
        }
    };
    match content {
        Content::BothValid(..)
        | Content::Log(_)
        | Content::Negative(_)
        | Content::Valid(_)
        | Content::Zero(_) => None,
        Content::Monomial(factors) => factors.iter().filter_map(digits).max(),
        Content::Product(a, b) => digits(a).max(digits(b)),
        Content::Square(name) | Content::Value(name) => digits(name),
        Content::Where { content, .. } => approximate_digits(schema, content),
    }
}

/// A quantity in words, for errors and for `explain`.
pub fn content_words(content: &Content) -> String {
    match content {
        Content::BothValid(a, b) => format!("the joint validity of {a} and {b}"),
        Content::Log(factors) => format!("the logarithm of {}", factors.join(" * ")),
        Content::Monomial(factors) => format!("the product {}", factors.join(" * ")),
        Content::Negative(factors) => format!("where {} is negative", factors.join(" * ")),
        Content::Product(a, b) => format!("the product of {a} and {b}"),
        Content::Square(name) => format!("the square of {name}"),
        Content::Valid(name) => format!("the validity of {name}"),
        Content::Value(name) => format!("the values of {name}"),
        Content::Where { content, present } => {
            let has = if present.len() == 1 { "has" } else { "have" };
            format!("{} where {} {has} a value", content_words(content), present.join(", "))
        }
        Content::Zero(factors) => format!("where {} is 0", factors.join(" * ")),
    }
}

/// Columns that a quantity is made of, each once.
pub(crate) fn content_columns(content: &Content) -> Vec<&str> {
    let mut columns: Vec<&str> = match content {
        Content::BothValid(a, b) | Content::Product(a, b) => vec![a, b],
        Content::Log(factors)
        | Content::Monomial(factors)
        | Content::Negative(factors)
        | Content::Zero(factors) => factors.iter().map(String::as_str).collect(),
        Content::Square(name) | Content::Valid(name) | Content::Value(name) => vec![name],
        Content::Where { content, present } => {
            content_columns(content).into_iter().chain(present.iter().map(String::as_str)).collect()
        }
    };
    columns.sort_unstable();
    columns.dedup();
    columns
}

#[cfg(test)]
mod tests;
