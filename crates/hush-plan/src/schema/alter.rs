// SPDX-License-Identifier: Apache-2.0
//! Altering the schema of a table that is there: columns added, dropped, renamed, widened, or given a further purpose.
//!
//! What would change the answer of a query without a word is refused: a name that means another column than before, a range that values of the
//! table may lie outside of. Whatever holds already is left as it is, so that the same alteration can be asked for once more.

use super::file::{SchemaError, from_toml, to_toml, type_name};
use super::units::{DecimalPoint, column_bounds, format_units, parse_units, type_bounds};
use super::{Column, ColumnType, Protection, Purpose, Schema, UnitRange};

/// What is to be altered. Parts are done in the order of the members, each with the names that those before it have left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alteration {
    /// Columns to be dropped.
    pub drop: Vec<String>,
    /// Columns with their new names.
    pub rename: Vec<(String, String)>,
    /// Columns to be added, NULL in all rows that are there.
    pub add: Vec<Column>,
    /// Columns with wider ranges, lowest and highest value as texts.
    pub widen: Vec<(String, [String; 2])>,
    /// Columns with further purposes.
    pub purposes: Vec<(String, Vec<Purpose>)>,
    /// Further products of encrypted columns, as `products` of a schema has them.
    pub products: Vec<Vec<String>>,
    /// Further sets of columns, as `moments` of a schema has them.
    pub moments: Vec<Vec<String>>,
    /// Further expressions that are added up under conditions without keys, as `measure` of a schema has them, of the names from then on.
    pub measures: Vec<String>,
}

/// An alteration that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlterFault {
    /// A name that is taken, by a column that is there, or was there and was dropped, or differs in the case of letters alone.
    #[error(
        "column {name} cannot be added or renamed to: {taken} is a column of the table{}, and queries would mean another one than before\n  Way out: another name",
        if *.dropped { " that was dropped" } else { "" }
    )]
    Taken {
        /// The name.
        name: String,
        /// The column that has it.
        taken: String,
        /// Whether that one is dropped.
        dropped: bool,
    },
    /// A column that there is not.
    #[error("the table has no column {found}{}", .nearest.as_ref().map_or(String::new(), |name| format!("; did you mean {name}?")))]
    NoColumn {
        /// The name.
        found: String,
        /// The column that was meant, perhaps.
        nearest: Option<String>,
    },
    /// A column that the table does not store.
    #[error("column {column} is dropped: the table has nothing of it\n  Way out: add it (`--add`)")]
    Dropped {
        /// The column.
        column: String,
    },
    /// A column to be added that nobody has decided on.
    #[error("column {column} is to be added with `protect = \"DECIDE\"`: a person has to decide")]
    Undecided {
        /// The column.
        column: String,
    },
    /// A range that is narrower than before.
    #[error(
        "column {column}: the range [{low}, {high}] leaves out values that the table may have, of [{}, {}]\n  Way out: a range that contains that one",
        .present[0], .present[1]
    )]
    Narrower {
        /// The column.
        column: String,
        /// The new lowest value.
        low: String,
        /// The new highest value.
        high: String,
        /// The range that it has.
        present: [String; 2],
    },
    /// A range that the column cannot have.
    #[error("column {column}: [{low}, {high}] is no range of {kind}{}", if *.is_fixed { ", which stays the type of a column that is stored in the clear or sealed" } else { "" })]
    Range {
        /// The column.
        column: String,
        /// The lowest value.
        low: String,
        /// The highest value.
        high: String,
        /// Its type.
        kind: String,
        /// Whether a wider type would do, but for how the column is stored.
        is_fixed: bool,
    },
    /// A column without a range.
    #[error("column {column} has no range: it is {what}")]
    NoRange {
        /// The column.
        column: String,
        /// What it is.
        what: &'static str,
    },
    /// A purpose for a column that is not encrypted.
    #[error(
        "column {column} is not encrypted, so that nothing is computed on it for a purpose\n  Way out: add it under another name, encrypted (`--add`), and fill it (hush update)"
    )]
    NotEncrypted {
        /// The column.
        column: String,
    },
    /// A column that would be compared by ranks, in a table whose chunks share ring elements.
    #[error(
        "column {column} is compared by ranks, which each chunk has by itself, and the chunks of this table share ring elements\n  \
         Ways out: encrypt the table anew with this purpose; or `fetch` in its place, and the owner compares"
    )]
    Ranks {
        /// The column.
        column: String,
    },
    /// A table without any column.
    #[error("the table would have no column left\n  Way out: delete the table")]
    NoColumns,
    /// A schema that no table has.
    #[error("the altered schema: {0}")]
    Schema(#[from] SchemaError),
}

/// The schema after an alteration; the same where everything holds already. Sets of `products` and `moments` lose what is dropped.
/// Cubes, groups, sorted runs, filters and measures are left out: [`crate::cube::altered`] and its like give them.
///
/// # Errors
/// [`AlterFault`], with the first part that cannot be done.
pub fn altered(schema: &Schema, alteration: &Alteration) -> Result<Schema, AlterFault> {
    let mut next = Schema {
        cubes: Vec::new(),
        groups: Vec::new(),
        runs: Vec::new(),
        filters: Vec::new(),
        derived: Vec::new(),
        measures: Vec::new(),
        ..schema.clone()
    };
    alteration.drop.iter().try_for_each(|name| drop_column(&mut next, name))?;
    alteration.rename.iter().try_for_each(|(from, to)| rename(&mut next, from, to))?;
    alteration.add.iter().try_for_each(|column| add(&mut next, column))?;
    alteration.widen.iter().try_for_each(|(name, range)| widen(&mut next, name, range))?;
    alteration.purposes.iter().try_for_each(|(name, purposes)| give_purposes(&mut next, name, purposes))?;
    for (sets, further) in
        [(&mut next.products, &alteration.products), (&mut next.moments, &alteration.moments)]
    {
        let new: Vec<_> = further.iter().filter(|set| !sets.contains(set)).cloned().collect();
        sets.extend(new);
    }
    if next.columns.iter().all(|column| column.protect == Protection::Drop) {
        return Err(AlterFault::NoColumns);
    }
    // Every rule of a schema file.
    let read = from_toml(&to_toml(&next))?;
    debug_assert_eq!(read, next);
    Ok(next)
}

impl Alteration {
    /// Whether nothing is to be altered.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a column of the table is called afterwards, or `None` if it is dropped.
    pub fn name_after(&self, name: &str) -> Option<String> {
        let is_dropped = self.drop.iter().any(|dropped| dropped == name);
        let follow =
            |name: String, (from, to): &(String, String)| if name == *from { to.clone() } else { name };
        (!is_dropped).then(|| self.rename.iter().fold(name.to_owned(), follow))
    }
}

fn find<'a>(schema: &'a mut Schema, name: &str) -> Result<&'a mut Column, AlterFault> {
    let Some(at) = schema.columns.iter().position(|column| column.name == name) else {
        let names = schema.columns.iter().map(|column| column.name.as_str());
        let nearest = crate::nearest(name, names).map(str::to_owned);
        return Err(AlterFault::NoColumn { found: name.to_owned(), nearest });
    };
    Ok(&mut schema.columns[at])
}

/// A column that the table stores.
fn stored<'a>(schema: &'a mut Schema, name: &str) -> Result<&'a mut Column, AlterFault> {
    let column = find(schema, name)?;
    if column.protect == Protection::Drop {
        return Err(AlterFault::Dropped { column: name.to_owned() });
    }
    Ok(column)
}

/// Files may go on having the column: it is then left out.
fn drop_column(schema: &mut Schema, name: &str) -> Result<(), AlterFault> {
    let column = find(schema, name)?;
    column.protect = Protection::Drop;
    column.join = None;
    column.purposes = Vec::new();
    let is_left = |set: &mut Vec<String>| {
        set.retain(|factor| factor != name);
        set.len() > 1
    };
    // A product without one of its factors is another product.
    schema.products.retain(|factors| factors.iter().all(|factor| factor != name));
    schema.moments.retain_mut(is_left);
    Ok(())
}

fn rename(schema: &mut Schema, from: &str, to: &str) -> Result<(), AlterFault> {
    let has = |name: &str| schema.columns.iter().any(|column| column.name == name);
    if !has(from) && has(to) {
        return Ok(());
    }
    require_free(schema, to, Some(from))?;
    let column = stored(schema, from)?;
    if column.protect == Protection::JoinKey {
        // Its tokens stay those that they are.
        column.join = Some(column.token_name().to_owned());
    }
    column.name = to.to_owned();
    for name in schema.products.iter_mut().chain(&mut schema.moments).flatten() {
        if name == from {
            *name = to.to_owned();
        }
    }
    Ok(())
}

/// Refuses a name that means a column already: queries find columns by name whatever the case of its letters.
fn require_free(schema: &Schema, name: &str, but: Option<&str>) -> Result<(), AlterFault> {
    let is_taken =
        |column: &&Column| column.name.eq_ignore_ascii_case(name) && but.is_none_or(|but| but != column.name);
    match schema.columns.iter().find(is_taken) {
        None => Ok(()),
        Some(column) => Err(AlterFault::Taken {
            name: name.to_owned(),
            taken: column.name.clone(),
            dropped: column.protect == Protection::Drop,
        }),
    }
}

/// The rows that are there have no value of it, so that it can be missing whatever the declaration says.
fn add(schema: &mut Schema, column: &Column) -> Result<(), AlterFault> {
    let column = Column { nullable: true, ..column.clone() };
    if column.protect == Protection::Decide {
        return Err(AlterFault::Undecided { column: column.name });
    }
    if schema.columns.contains(&column) {
        return Ok(());
    }
    // Who adds a dropped column knows that it is another one.
    let was_dropped = |known: &Column| known.name == column.name && known.protect == Protection::Drop;
    schema.columns.retain(|known| !was_dropped(known));
    require_free(schema, &column.name, None)?;
    schema.columns.push(column);
    Ok(())
}

fn widen(schema: &mut Schema, name: &str, [low, high]: &[String; 2]) -> Result<(), AlterFault> {
    let column = stored(schema, name)?;
    let no_range = |what| AlterFault::NoRange { column: name.to_owned(), what };
    if column.is_approximate() {
        return Err(no_range("approximate, and its encoding sets its magnitude"));
    }
    let present = column_bounds(column).filter(|_| column.kind != ColumnType::Bool);
    let present = present.ok_or_else(|| no_range("no number, date or time"))?;
    // Widest of its kind first, so that a wider type can be told from no range at all.
    let widest = match column.kind {
        ColumnType::Int { .. } => ColumnType::Int { bits: 64 },
        ColumnType::Decimal { scale, .. } => ColumnType::Decimal { precision: 38, scale },
        other => other,
    };
    let wrong = |is_fixed| AlterFault::Range {
        column: name.to_owned(),
        low: low.clone(),
        high: high.clone(),
        kind: type_name(if is_fixed { column.kind } else { widest }),
        is_fixed,
    };
    let units = |text: &String| parse_units(widest, text.trim().as_bytes(), DecimalPoint::Dot);
    let range = units(low).zip(units(high)).map(|(low, high)| UnitRange { low, high });
    let range = range.filter(|range| range.low <= range.high).ok_or_else(|| wrong(false))?;
    if range.low > present.low || range.high < present.high {
        let text = |units| format_units(column.kind, units);
        return Err(AlterFault::Narrower {
            column: name.to_owned(),
            low: low.clone(),
            high: high.clone(),
            present: [text(present.low), text(present.high)],
        });
    }
    let kind = narrowest(column.kind, range);
    if kind != column.kind && column.protect != Protection::Encrypt {
        return Err(wrong(true));
    }
    (column.kind, column.range) = (kind, Some(range));
    Ok(())
}

/// The type of a column with such a range: its own where that holds it, else the narrowest of its kind.
fn narrowest(kind: ColumnType, range: UnitRange) -> ColumnType {
    let holds = |kind: &ColumnType| {
        type_bounds(*kind).is_some_and(|bounds| bounds.low <= range.low && range.high <= bounds.high)
    };
    let wider: Vec<ColumnType> = match kind {
        ColumnType::Int { .. } => [8, 16, 32, 64].map(|bits| ColumnType::Int { bits }).to_vec(),
        ColumnType::Decimal { precision, scale } => {
            (precision..=38).map(|precision| ColumnType::Decimal { precision, scale }).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(kind).chain(wider).find(holds).unwrap_or(kind)
}

fn give_purposes(schema: &mut Schema, name: &str, purposes: &[Purpose]) -> Result<(), AlterFault> {
    let column = stored(schema, name)?;
    if column.protect != Protection::Encrypt {
        return Err(AlterFault::NotEncrypted { column: name.to_owned() });
    }
    column.add_purposes(purposes);
    Ok(())
}

#[cfg(test)]
mod tests;
