// SPDX-License-Identifier: Apache-2.0
//! Columns of other data beside those of a file, found by a key: what a join of a table of facts with tables of dimensions gives, before
//! anything is encrypted.
//!
//! ```text
//!  lineitem: partkey, quantity ── chunk by chunk ──┐
//!                                                  ├─▶ partkey, quantity, p_type
//!  part: p_partkey, p_type ───── in memory ────────┘
//! ```
//!
//! *Words.* The **facts** are the data whose rows stay as they are; a **lookup** is other data of which each row of the facts gets at most
//! one; its **key** is what tells which.
//!
//! *Invariants.* The facts keep their rows and the order of them. Their columns come first, then those of each lookup but its key. A row whose
//! key is missing or in no row of the lookup has missing values there. Keys compare as values of the type that the schema gives the
//! facts' column (`typed`). No key stands in two rows of a lookup. Every pass reads a lookup anew, and holds it; between passes nothing is
//! held. Errors name files, columns and rows, and no value.
//!
//! Before there is a schema, rows are looked at as text (`text`): keys compare as the numbers, instants or texts that they look like.
//!
//! *Non-goals.* Joins that multiply rows, and those that drop some; lookups beyond the memory; more than one thread that reads a lookup.

mod fault;
mod text;
mod typed;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::DataType;
use hush_plan::schema::ColumnType;
use hush_plan::schema::units::DecimalPoint;

pub use self::fault::LookupFault;
pub(crate) use self::text::RawRows;
pub(super) use self::typed::Join;
use super::record::COLUMN_LIMIT;
use super::{Origin, Source, SourceColumn, SourceError, cells};

/// Most memory that the rows of one lookup and the index of its key may take.
pub const LOOKUP_BYTES: u64 = 1 << 30;

/// About what the index takes of a row, beside the bytes of its key.
const INDEX_ENTRY_BYTES: usize = 64;

/// About what a value takes in memory.
const VALUE_BYTES: u64 = 16;

/// Facts, and what is looked up for their rows.
pub(super) struct Joined {
    facts: Source,
    lookups: Vec<Lookup>,
}

/// Data of which each row of the facts gets at most one.
#[derive(Clone)]
struct Lookup {
    rows: Source,
    /// Of each column of the key its position among all columns before this lookup's, and its position in the lookup.
    keys: Vec<(usize, usize)>,
    /// Positions in the lookup of the columns that it gives.
    kept: Vec<usize>,
    /// Position of the first of them among all columns.
    first: usize,
}

impl Source {
    /// The same rows with columns of `other` behind their own: those of the row whose key is theirs. `on` pairs columns of this source with
    /// columns of the other one. A source may have several lookups, and a later one's key may be a column that an earlier one gives.
    ///
    /// # Errors
    /// [`SourceError::Lookup`] for columns that there are not, or that stand on both sides; too many columns. Types, keys that stand there
    /// twice and the size of the other data are checked by passes.
    ///
    /// # Cost
    /// None before a pass. Every pass reads the other data, and holds them: at most [`LOOKUP_BYTES`].
    pub fn with_lookup(&self, other: Source, on: &[(String, String)]) -> Result<Self, SourceError> {
        let fault = |what| SourceError::Lookup { file: other.place().into(), what };
        let position =
            |columns: &[SourceColumn], name: &str| columns.iter().position(|found| found.name == name);
        let mut keys = Vec::with_capacity(on.len());
        for (own, theirs) in on {
            let absent = |column: &str, is_there| LookupFault::NoColumn { column: column.into(), is_there };
            let own = position(&self.columns, own).ok_or_else(|| fault(absent(own, false)))?;
            let place = position(&other.columns, theirs).ok_or_else(|| fault(absent(theirs, true)))?;
            if keys.iter().any(|(_, known)| *known == place) {
                return Err(fault(LookupFault::KeyTwice { column: theirs.as_str().into() }));
            }
            keys.push((own, place));
        }
        if keys.is_empty() {
            return Err(fault(LookupFault::NoKey));
        }
        let is_key = |place: &usize| keys.iter().any(|(_, key)| key == place);
        let kept: Vec<usize> = (0..other.columns.len()).filter(|place| !is_key(place)).collect();
        let given: Vec<SourceColumn> =
            kept.iter().filter_map(|place| other.columns.get(*place)).cloned().collect();
        if let Some(column) = given.iter().find(|column| position(&self.columns, &column.name).is_some()) {
            return Err(fault(LookupFault::Clash { column: column.name.as_str().into() }));
        }
        if given.is_empty() {
            return Err(fault(LookupFault::NothingElse));
        }
        let columns: Arc<[SourceColumn]> = self.columns.iter().cloned().chain(given).collect();
        if columns.len() > COLUMN_LIMIT {
            return Err(SourceError::TooManyColumns { limit: COLUMN_LIMIT });
        }
        let (facts, mut lookups) = match &self.origin {
            Origin::Joined(joined) => (joined.facts.clone(), joined.lookups.clone()),
            _ => (self.clone(), Vec::new()),
        };
        let decode_bytes = self.decode_bytes.saturating_add(held_bytes(&other));
        lookups.push(Lookup { rows: other, keys, kept, first: self.columns.len() });
        let origin = Origin::Joined(Arc::new(Joined { facts, lookups }));
        Ok(Self { origin, columns, decode_bytes, ..self.clone() })
    }

    /// The data whose rows these are: this source without what is looked up for it.
    pub fn facts(&self) -> &Self {
        match &self.origin {
            Origin::Joined(joined) => &joined.facts,
            _ => self,
        }
    }

    /// What is looked up for these rows, in order: the other data, and the columns of its key as pairs of names, first the facts'.
    pub fn lookups(&self) -> Vec<(&Self, Vec<(String, String)>)> {
        let Origin::Joined(joined) = &self.origin else { return Vec::new() };
        let name = |columns: &[SourceColumn], place: usize| {
            columns.get(place).map_or_else(String::new, |column| column.name.clone())
        };
        let pair = |lookup: &Lookup, (own, theirs): (usize, usize)| {
            (name(&self.columns, own), name(&lookup.rows.columns, theirs))
        };
        let keys = |lookup: &Lookup| lookup.keys.iter().map(|key| pair(lookup, *key)).collect();
        joined.lookups.iter().map(|lookup| (&lookup.rows, keys(lookup))).collect()
    }

    /// How the numbers of a column are written where it is text.
    pub(crate) fn decimal_point_of(&self, position: usize) -> DecimalPoint {
        let Origin::Joined(joined) = &self.origin else { return self.format.decimal_point() };
        let lookup = joined.lookups.iter().rev().find(|lookup| lookup.first <= position);
        match lookup {
            Some(Lookup { rows, kept, first, .. }) => {
                rows.decimal_point_of(kept.get(position - first).copied().unwrap_or_default())
            }
            None => joined.facts.decimal_point_of(position),
        }
    }
}

/// About what a lookup takes in memory, and reading it.
fn held_bytes(rows: &Source) -> u64 {
    let row_bytes = INDEX_ENTRY_BYTES as u64 + VALUE_BYTES * rows.columns.len() as u64;
    let values = rows.estimated_rows().unwrap_or(0).saturating_mul(row_bytes);
    values.saturating_add(rows.origin.bytes().unwrap_or(0)).saturating_add(rows.decode_bytes)
}

impl Joined {
    /// The data whose rows these are.
    pub(super) fn facts(&self) -> &Source {
        &self.facts
    }

    /// The facts, then all that is looked up.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.facts).chain(self.lookups.iter().map(|lookup| &lookup.rows))
    }

    /// Whether the values of a column stand in the names of folders of the facts.
    pub(super) fn is_of_path(&self, position: usize) -> bool {
        position < self.facts.columns.len() && self.facts.is_of_path(position)
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self.sources().map(Source::place).collect();
        f.debug_tuple("Joined").field(&places).finish()
    }
}

impl Lookup {
    /// An error of reading it or of its rows, which names it.
    fn error(&self, error: SourceError) -> SourceError {
        error.in_file(&self.rows.place())
    }

    /// What is wrong with it.
    fn fault(&self, what: LookupFault) -> SourceError {
        SourceError::Lookup { file: self.rows.place().into(), what }
    }

    /// Refuses to hold more than [`LOOKUP_BYTES`].
    fn check_size(&self, bytes: u64) -> Result<(), SourceError> {
        if bytes > LOOKUP_BYTES {
            return Err(self.fault(LookupFault::TooLarge { limit_bytes: LOOKUP_BYTES }));
        }
        Ok(())
    }
}

/// What keys are. Only keys of one kind compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Truth values.
    Bool,
    /// Days.
    Date,
    /// Binary floats, which are no keys.
    Float,
    /// Integers and decimals.
    Number,
    /// Texts.
    Text,
    /// Instants.
    Timestamp,
}

impl KeyKind {
    fn of(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Bool => Self::Bool,
            ColumnType::Category | ColumnType::Text => Self::Text,
            ColumnType::Date => Self::Date,
            ColumnType::Decimal { .. } | ColumnType::Int { .. } => Self::Number,
            ColumnType::Float { .. } => Self::Float,
            ColumnType::Timestamp => Self::Timestamp,
        }
    }

    /// The kind that a file declares; `None` of text files, and of columns without a value.
    fn declared(column: &SourceColumn) -> Option<Self> {
        use DataType as T;
        Some(match cells::plain(column.kind.as_ref()?)? {
            T::Boolean => Self::Bool,
            T::Date32 | T::Date64 => Self::Date,
            T::Float32 | T::Float64 => Self::Float,
            T::Null => return None,
            T::Timestamp(..) => Self::Timestamp,
            T::Utf8 => Self::Text,
            _ => Self::Number,
        })
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "truth values",
            Self::Date => "dates",
            Self::Float => "binary floats",
            Self::Number => "numbers",
            Self::Text => "texts",
            Self::Timestamp => "timestamps",
        })
    }
}
