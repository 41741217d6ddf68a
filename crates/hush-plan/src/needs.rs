// SPDX-License-Identifier: Apache-2.0
//! The sums and programs that a table must serve: from the purposes that its schema declares, or from queries.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_traits::One;

use crate::aggregates;
use crate::by_row;
use crate::error::{PlanError, Unfit};
use crate::fetch;
use crate::grouped;
use crate::layout::{self, Needs};
use crate::program::Program;
use crate::quantity::{Quantity, value_bound};
use crate::schema::units::column_bounds;
use crate::schema::{Column, ColumnType, Protection, Purpose, Schema};
use crate::sql::{self, Query};

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
            // An aggregate needs the sums of a query that calls it.
            let aggregates = column.purposes.iter().copied().flat_map(aggregates::of_purpose);
            for entry in aggregates.filter(|entry| entry.reads_further_quantities()) {
                let call = format!("{}({})", entry.engine_name().to_uppercase(), sql::quoted(&column.name));
                needs.merge(needs_of_sql(schema, &call)?);
            }
        }
        for (index, left) in factors.iter().enumerate() {
            for right in &factors[index..] {
                if left.is_approximate() == right.is_approximate() {
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
        needs.add_one_hot(schema);
        needs.add_filters(schema);
        Ok(needs)
    }

    /// Room for a clear column as a factor in sums of a column: for the largest one that parameters hold.
    fn add_weights(&mut self, schema: &Schema) {
        for column in schema.protected(Protection::Encrypt).filter(|column| column.is_summed()) {
            let quantity = Quantity::Value(column.name.clone());
            let Some(largest) = self.sums.get_mut(&quantity) else { continue };
            let bounds =
                clear_factors(schema).map(value_bound).filter(|bound| has_room(schema, &quantity, bound));
            if let Some(bound) = bounds.max() {
                *largest = bound.max(std::mem::take(largest));
            }
        }
    }

    /// Values and validity, which every column with such purposes has.
    fn add_purposes(&mut self, column: &Column) -> Result<(), PlanError> {
        let name = || column.name.clone();
        if column_bounds(column).is_none() && !column.is_approximate() {
            return Err(PlanError::WrongType { text: name(), reason: Unfit::Text });
        }
        let purposes = &column.purposes;
        let is_time = matches!(column.kind, ColumnType::Date | ColumnType::Timestamp);
        let is_of_time =
            |purpose: &Purpose| matches!(purpose, Purpose::Count | Purpose::Group) || purpose.reads_copy();
        if is_time && !purposes.iter().all(is_of_time) {
            return Err(PlanError::WrongType { text: name(), reason: Unfit::DateArithmetic });
        }
        if column.is_copy_alone() {
            return Ok(());
        }
        // Slots hold the values as well; without them the sum layout keeps what the owner must be able to decrypt.
        let sums = column.is_summed();
        if sums || !purposes.contains(&Purpose::Product) {
            self.add_sum(Quantity::Value(name()), BigInt::one());
        }
        if column.nullable {
            self.add_sum(Quantity::Valid(name()), BigInt::one());
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

/// Whether sums of a column have room for factors up to `bound`.
fn has_room(schema: &Schema, quantity: &Quantity, bound: &BigInt) -> bool {
    // Devices encrypt for all columns together: their tables are sized by what they are for, or by a workload.
    !schema.edge && bound.bits() <= MAX_FACTOR_BITS && layout::holds(schema, quantity, bound)
}

/// Encrypted columns whose sums have no room for some clear columns as factors, with these: what `SUM(x * w)` may be refused for,
/// unless a workload asks for it.
pub fn factors_left_out(schema: &Schema) -> Vec<(&str, Vec<&str>)> {
    let summed = schema.protected(Protection::Encrypt).filter(|column| column.is_summed());
    let left_out = summed.map(|column| {
        let quantity = Quantity::Value(column.name.clone());
        let lacking =
            clear_factors(schema).filter(|factor| !has_room(schema, &quantity, &value_bound(factor)));
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
        let refusal = match served(schema, query) {
            Ok(of_query) => {
                needs.merge(of_query);
                continue;
            }
            Err(refusal) => refusal,
        };
        // The owner answers what nobody computes on ciphertexts.
        let fetch = fetch::compile(schema, query, schema.max_rows.max(1), &Column::has_copy)?;
        let fetch = fetch.ok_or_else(|| fetch::refused(schema, query, refusal))?;
        fetch.quantities().for_each(|quantity| needs.add_sum(quantity, BigInt::one()));
    }
    Ok(needs)
}

/// The encrypted columns that the owner reads to answer those queries that no server answers: copies of them are small. Devices cannot make
/// copies, so of their tables there are none.
///
/// # Errors
/// As [`needs_of`].
pub fn read_by_owner(schema: &Schema, queries: &[Query]) -> Result<BTreeSet<String>, PlanError> {
    let mut names = BTreeSet::new();
    let by_owner = queries.iter().filter(|query| !schema.edge && served(schema, query).is_err());
    for query in by_owner {
        let fetch = fetch::compile(schema, query, schema.max_rows.max(1), &|_| true)?;
        let read = fetch.into_iter().flat_map(|fetch| fetch.sealed);
        names.extend(read.filter(|column| column.protect == Protection::Encrypt).map(|c| c.name.clone()));
    }
    Ok(names)
}

/// Needs of a query that a server answers on ciphertexts.
fn served(schema: &Schema, query: &Query) -> Result<Needs, PlanError> {
    let mut needs = Needs::default();
    if query.is_grouped() {
        let plan = grouped::compile(schema, query, schema.max_rows.max(1))?;
        for sum in plan.sums {
            let weight = plan.masks.get(sum.mask).map_or_else(BigInt::one, |mask| mask.weights.max_abs());
            needs.add_sum(sum.quantity, weight);
        }
    } else {
        let plan = by_row::compile(schema, query, &Program::suits_slots)?;
        plan.fetch.into_iter().for_each(|quantity| needs.add_sum(quantity, BigInt::one()));
        needs.programs.extend(plan.programs);
    }
    Ok(needs)
}

#[cfg(test)]
mod tests;
