// SPDX-License-Identifier: Apache-2.0
//! Cubes of altered schemas: they follow the names of their columns, and go with them.

use super::{CubeShape, MAX_NUMBERS};
use crate::schema::Schema;
use crate::schema::alter::Alteration;
use crate::schema::cube::{Cube, Dimension};
use crate::sql::{self, columns_of, functions, quoted};

/// What a cube of a schema is after an alteration, or `None` if one of its columns is dropped.
pub fn after(schema: &Schema, cube: &Cube, alteration: &Alteration) -> Option<Cube> {
    let by = cube.by.iter().map(|dimension| {
        Some(Dimension { column: alteration.name_after(&dimension.column)?, grain: dimension.grain.clone() })
    });
    let (by, sum) = (by.collect::<Option<_>>()?, sums_after(schema, &cube.sum, alteration)?);
    Some(Cube { by, sum, max_cell_rows: cube.max_cell_rows })
}

/// What is added up after an alteration: columns and expressions; `None` if one of their columns is dropped.
pub(crate) fn sums_after(schema: &Schema, sum: &[String], alteration: &Alteration) -> Option<Vec<String>> {
    let name_after = |name: &str| alteration.name_after(name);
    let sum = sum.iter().map(|text| match schema.columns.iter().any(|column| column.name == *text) {
        true => name_after(text),
        false => renamed(schema, text, &name_after),
    });
    sum.collect()
}

/// Gives an altered schema the cubes that the one before had, as far as there can be such.
pub fn altered(before: &Schema, alteration: &Alteration, next: &mut Schema) {
    next.cubes = before.cubes.iter().filter_map(|cube| after(before, cube, alteration)).collect();
    forget_lost(next);
}

/// Forgets the cubes whose columns are no longer such that there can be one.
pub fn forget_lost(schema: &mut Schema) {
    let cubes = std::mem::take(&mut schema.cubes);
    let mut numbers = 0;
    let kept = cubes.into_iter().filter(|cube| {
        let shape = CubeShape::of(schema, cube).ok();
        let more = shape.map(|shape| u64::from(shape.cells()) * shape.lanes.len() as u64);
        let fits = more.is_some_and(|more| numbers + more <= MAX_NUMBERS);
        numbers += more.filter(|_| fits).unwrap_or(0);
        fits
    });
    schema.cubes = kept.collect();
}

/// An expression of columns, as typed, with other names for them; `None` if it is none, or if one of them has no name.
fn renamed(schema: &Schema, text: &str, name: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let query = sql::parse(schema, &format!("SELECT SUM({text}) FROM {}", quoted(&schema.table))).ok()?;
    let call = functions::aggregate(&query.items.first()?.expr)?.ok()?;
    let argument = call.arguments.first()?;
    if columns_of(argument).iter().all(|column| name(column).as_ref() == Some(column)) {
        return Some(text.to_owned());
    }
    Some(sql::renamed(argument, name)?.to_string())
}
