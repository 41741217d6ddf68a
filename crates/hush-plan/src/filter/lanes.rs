// SPDX-License-Identifier: Apache-2.0
//! What is added up under conditions without keys: one number of a row for each measure that a schema declares.
//!
//! An expression is one number, whatever its monomials: it takes the limbs of its own range, and no sum of parts that nobody asks for. A query may ask
//! for every combination of what is measured ([`crate::cube`]).

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::aggregates;
use crate::cube::{CubeFault, Lane, added_up, is_column, is_spanned, squared};
use crate::grouped::Grouped;
use crate::plan::{LinearForm, Moment, OwnerAggregate};
use crate::quantity::Quantity;
use crate::schema::Schema;
use crate::schema::cube::Cube;

/// The lanes of measures. Squares of a column are among them where it has them itself.
///
/// # Errors
/// What cannot be added up.
pub(super) fn measured(schema: &Schema, measures: &[String]) -> Result<Vec<Lane>, CubeFault> {
    let mut found: Vec<Quantity> = Vec::new();
    // Columns come first: many expressions are whole multiples of them and of others.
    let (columns, expressions): (Vec<&String>, Vec<&String>) =
        measures.iter().partition(|text| is_column(schema, text));
    let columns = columns.into_iter().map(|name| of_column(schema, name));
    let expressions = expressions.into_iter().map(|text| of_expression(schema, text));
    for quantities in columns.chain(expressions) {
        for quantity in quantities? {
            if !is_spanned(&quantity, &found) {
                found.push(quantity);
            }
        }
    }
    Ok(of_quantities(schema, &found))
}

/// Measures without the expressions that are combinations of the others.
pub(crate) fn without_spanned(schema: &Schema, measures: &BTreeSet<String>) -> BTreeSet<String> {
    let lanes = |measures: &BTreeSet<String>| {
        measured(schema, &measures.iter().cloned().collect::<Vec<_>>()).map_or(0, |lanes| lanes.len())
    };
    let all = lanes(measures);
    measures.iter().filter(|text| !is_column(schema, text)).fold(measures.clone(), |kept, text| {
        let without: BTreeSet<String> = kept.iter().filter(|other| *other != text).cloned().collect();
        if lanes(&without) == all { without } else { kept }
    })
}

/// The lanes of quantities that a table has; those that are too wide for one are left out.
pub(super) fn of_quantities(schema: &Schema, quantities: &[Quantity]) -> Vec<Lane> {
    let lane =
        |quantity: &Quantity| Lane::new(Some(quantity.clone()), quantity.row_values(schema), rows_of(schema));
    quantities.iter().filter_map(lane).collect()
}

fn rows_of(schema: &Schema) -> u64 {
    schema.max_rows.max(1)
}

/// What is added up of a column alone.
fn of_column(schema: &Schema, name: &str) -> Result<Vec<Quantity>, CubeFault> {
    let column = schema.columns.iter().find(|column| column.name == name);
    let purposes = column.into_iter().flat_map(|column| &column.purposes);
    let has_squares = purposes.copied().flat_map(aggregates::of_purpose).any(|entry| entry.order() > 1);
    let first = added_up(schema, &NONE, name, rows_of(schema))?;
    let squares = has_squares.then(|| squared(schema, &NONE, name, rows_of(schema))).transpose()?;
    let first = fitting(schema, name, quantities_of(&first))?;
    // Without the squares a column still has sums.
    let squares = squares.map(|squares| quantities_of(&squares)).unwrap_or_default();
    let squares = squares.into_iter().filter(|quantity| !first.contains(quantity) && fits(schema, quantity));
    Ok(first.iter().cloned().chain(squares).collect())
}

/// The cube by nothing.
const NONE: Cube = Cube { by: Vec::new(), sum: Vec::new(), max_cell_rows: None };

fn quantities_of(plan: &Grouped) -> Vec<Quantity> {
    plan.sums.iter().map(|sum| sum.quantity.clone()).collect()
}

fn fits(schema: &Schema, quantity: &Quantity) -> bool {
    !of_quantities(schema, std::slice::from_ref(quantity)).is_empty()
}

/// Quantities, if there can be a lane of each.
fn fitting(schema: &Schema, text: &str, quantities: Vec<Quantity>) -> Result<Vec<Quantity>, CubeFault> {
    match quantities.iter().all(|quantity| fits(schema, quantity)) {
        true => Ok(quantities),
        false => Err(CubeFault::TooWide { text: text.to_owned() }),
    }
}

/// The sum of an expression without its constant term, and how many rows have it.
fn of_expression(schema: &Schema, text: &str) -> Result<Vec<Quantity>, CubeFault> {
    let plan = added_up(schema, &NONE, text, rows_of(schema))?;
    let quantities = quantities_of(&plan);
    let form = plan.outputs.iter().find_map(|output| match output {
        OwnerAggregate::Moments { powers, .. } => powers.first(),
        _ => None,
    });
    let combined = form.and_then(|form| combination(form, &quantities));
    match combined.filter(|(combination, _)| fits(schema, combination)) {
        Some((combination, monomials)) => {
            let rest = quantities.into_iter().filter(|quantity| !monomials.contains(quantity));
            fitting(schema, text, std::iter::once(combination).chain(rest).collect())
        }
        None => fitting(schema, text, quantities),
    }
}

/// A form of sums of quantities as one quantity, and what it is a combination of; `None` for weights beyond 64 bits.
fn combination(form: &LinearForm, quantities: &[Quantity]) -> Option<(Quantity, Vec<Quantity>)> {
    let mut weights: BTreeMap<&Quantity, BigInt> = BTreeMap::new();
    for (coefficient, moment) in &form.terms {
        if let Moment::Encrypted(index) = moment {
            *weights.entry(quantities.get(*index)?).or_default() += coefficient.parse::<BigInt>().ok()?;
        }
    }
    let common = weights.values().fold(BigInt::zero(), |common, weight| common.gcd(weight));
    let common = if common.is_positive() { common } else { BigInt::one() };
    let monomials: Vec<Quantity> = weights.keys().map(|quantity| (*quantity).clone()).collect();
    let term =
        |(quantity, weight): (&Quantity, BigInt)| Some(((weight / &common).to_i64()?, quantity.clone()));
    let terms: Vec<(i64, Quantity)> = weights.into_iter().map(term).collect::<Option<_>>()?;
    match terms.as_slice() {
        [] => None,
        [(_, quantity)] => Some((quantity.clone(), monomials)),
        _ => Some((Quantity::combination(terms), monomials)),
    }
}
