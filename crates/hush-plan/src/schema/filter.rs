// SPDX-License-Identifier: Apache-2.0
//! Conditions and measures as a schema declares them: what a server evaluates on ciphertexts without keys.

use super::cube::{CubeFault, Dimension, Grain};
use super::units::column_bounds;
use super::{Column, ColumnType, Protection, Purpose, Schema};

/// Most values of a digit of a column's values.
pub(crate) const MAX_BASE: u64 = 64;
/// Most digits.
pub(crate) const MAX_DIGITS: u32 = 4;

/// A fault of a condition or a measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// An approximate column, whose values are near others.
    #[error("{column} is approximate: give it a range, so that it is a fixed point")]
    Approximate {
        /// The column.
        column: String,
    },
    /// A condition to derive that cannot be.
    #[error("derive {text:?}: {why}")]
    Derived {
        /// The condition.
        text: String,
        /// Why not.
        why: String,
    },
    /// Values in groups.
    #[error(
        "{column} can be compared by its values alone: list texts, and give numbers and dates for = [\"filter\"]"
    )]
    Grain {
        /// The column.
        column: String,
    },
    /// Keys for answers that there are not.
    #[error("{option} is for conditions on columns for \"filter\", and the schema has none: leave it out")]
    KeysOfNothing {
        /// The option that asks for them.
        option: &'static str,
    },
    /// What cannot be added up.
    #[error("measure: {0}")]
    Measure(CubeFault),
    /// A column that there is not.
    #[error("there is no column {column}")]
    NoColumn {
        /// Its name.
        column: String,
    },
    /// Equality of values that nothing bounds.
    #[error(
        "{column} has no range, and equality({column}) is for numbers and dates with one: list texts, or name them alone"
    )]
    NoRange {
        /// The column.
        column: String,
    },
    /// A text without its values.
    #[error(
        "{column} is a text without values: list its values, filter = [{{ column = \"{column}\", values = [\"…\"] }}], or name it alone for conditions by ranks, filter = [\"{column}\"]"
    )]
    NoValues {
        /// The column.
        column: String,
    },
    /// A column that is not hidden, or not stored.
    #[error("{column} is neither encrypted nor sealed: conditions on clear columns need nothing")]
    NotHidden {
        /// The column.
        column: String,
    },
    /// A number that is sealed, so that nothing bounds it.
    #[error(
        "{column} is sealed: encrypt it for = [\"filter\"]; of sealed columns texts alone can be compared, those that filter names"
    )]
    Sealed {
        /// The column.
        column: String,
    },
    /// More encrypted columns than there may be.
    #[error(
        "filters and measures would be {found} encrypted columns, {bytes} bytes a row, and {limit} are the most"
    )]
    TooManyColumns {
        /// Found.
        found: usize,
        /// Bytes that they take of a row.
        bytes: u64,
        /// Most of them.
        limit: usize,
    },
    /// More values than there are flags for.
    #[error("{column} has more than {limit} values")]
    TooManyValues {
        /// The column.
        column: String,
        /// Most of them.
        limit: u64,
    },
    /// Named twice.
    #[error("{column} stands twice in it")]
    Twice {
        /// The column, or a value of it.
        column: String,
    },
}

impl Column {
    /// Whether conditions on its values are by ranks in chunks: it has more values than digits tell, or is a sealed text, of which any may come.
    pub(crate) fn is_ranked(&self) -> bool {
        let count = |bounds: super::UnitRange| bounds.high.abs_diff(bounds.low).saturating_add(1);
        match self.protect {
            Protection::Encrypt if self.is_approximate() => false,
            Protection::Encrypt => {
                column_bounds(self).is_some_and(|bounds| count(bounds) > MAX_BASE.pow(MAX_DIGITS).into())
            }
            Protection::Seal => matches!(self.kind, ColumnType::Category | ColumnType::Text),
            Protection::Clear | Protection::Decide | Protection::Drop | Protection::JoinKey => false,
        }
    }
}

impl Schema {
    /// The columns for conditions by ranks in chunks.
    pub(crate) fn ranked(&self) -> impl Iterator<Item = &Column> {
        let by_value = self.all_filters().into_iter().filter(|filter| filter.grain == Grain::Each);
        let column = |filter: Dimension| self.columns.iter().find(|column| column.name == filter.column);
        by_value.filter_map(column).filter(|column| column.is_ranked())
    }

    /// The columns that conditions may be on: those declared, and behind them those of columns that are encrypted for it.
    pub fn all_filters(&self) -> Vec<Dimension> {
        let hidden = self.protected(Protection::Encrypt);
        let hidden = hidden.filter(|column| {
            column.purposes.contains(&Purpose::Filter)
                && !self.filters.iter().any(|declared| declared.column == column.name)
        });
        let each = hidden.map(|column| Dimension { column: column.name.clone(), grain: Grain::Each });
        self.filters.iter().cloned().chain(each).collect()
    }

    /// What is added up under conditions: what is declared, and behind it columns that are encrypted for it.
    pub fn all_measures(&self) -> Vec<String> {
        let hidden = self.protected(Protection::Encrypt);
        let hidden = hidden.filter(|column| {
            column.purposes.contains(&Purpose::Measure) && !self.measures.contains(&column.name)
        });
        self.measures.iter().cloned().chain(hidden.map(|column| column.name.clone())).collect()
    }
}
