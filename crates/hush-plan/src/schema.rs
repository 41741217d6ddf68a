// SPDX-License-Identifier: Apache-2.0
//! The schema: per column a type, a range, a protection and a purpose. Owner's side only; never sent in clear.

pub mod alter;
pub mod cube;
pub mod file;
pub mod filter;
pub mod run;
pub mod units;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::Shown;
use crate::range::Interval;
use crate::writers::Writers;
pub use cube::{Cube, Dimension, Grain};
pub use filter::FilterFault;
pub(crate) use filter::{MAX_BASE, MAX_DIGITS};
pub use run::{MAX_RUNS, Run, RunFault};
pub use units::DateFormat;

/// A column's logical type. Every encrypted value is an integer number of *units*:
/// an integer itself, a decimal times `10^scale`, a date in days or a timestamp in microseconds since 1970,
/// a boolean as 0 or 1, a ranged float times `10^digits` (rounded half away from zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `bool`
    Bool,
    /// `category`: text with few distinct values.
    Category,
    /// `date`
    Date,
    /// `decimal(precision,scale)`, precision at most 38.
    Decimal {
        /// Total decimal digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `float(digits)`: with a range fixed point of `digits` decimals, without one CKKS of that absolute precision.
    Float {
        /// Decimal digits after the point that are kept.
        digits: u8,
    },
    /// `int(bits)`, signed two's complement of 8, 16, 32 or 64 bits.
    Int {
        /// Width in bits.
        bits: u8,
    },
    /// `text`
    Text,
    /// `timestamp`
    Timestamp,
}

/// Whether a text can name a table: 1 to 64 of `A-Z a-z 0-9 _ -`, not beginning with `-`. Such a name is one path
/// segment in any store and address.
pub fn is_table_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('-')
}

/// The protection of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Protection {
    /// Plaintext; the server reads it.
    #[serde(rename = "clear")]
    Clear,
    /// Not decided; `encrypt` refuses the schema.
    #[serde(rename = "DECIDE")]
    Decide,
    /// Not uploaded at all.
    #[serde(rename = "drop")]
    Drop,
    /// Homomorphically encrypted.
    #[serde(rename = "encrypt")]
    Encrypt,
    /// Equal values look equal, for joins and conditions with `=`; nothing else of them shows.
    #[serde(rename = "joinkey")]
    JoinKey,
    /// AEAD: stored and given back; no server computes on it.
    #[serde(rename = "seal")]
    Seal,
}

/// A purpose of a column; purposes decide its layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// AVG: the `sum` layout.
    Avg,
    /// COUNT(x): the `sum` layout, for the values' sake, and the validity.
    Count,
    /// Conditions that a server evaluates without keys: flags of its values, and a copy as for [`Purpose::Fetch`].
    Filter,
    /// Every question that the owner answers: a sealed copy of the values, in no more bits than their range needs.
    Fetch,
    /// Groups by its values, and conditions on them, whatever the clear conditions beside them: sums for each value.
    Group,
    /// PRODUCT and GEOMEAN: `sum`, and logarithms and signs as further columns.
    Geomean,
    /// KURTOSIS: `sum` and the second to fourth powers as further columns.
    Kurtosis,
    /// Sums over the rows of such conditions: its values in limbs, and a copy as for [`Purpose::Fetch`].
    Measure,
    /// MIN, MAX, medians, quantiles, ranges and first rows: a sorted run by the column, and a copy as for [`Purpose::Fetch`], for rows without a run.
    Order,
    /// Element-wise products: the `slots` layout.
    Product,
    /// SKEWNESS: `sum`, and the square and the cube as further columns.
    Skewness,
    /// STDDEV: `sum` and the square as a further column.
    Stddev,
    /// SUM: the `sum` layout.
    Sum,
    /// VARIANCE: `sum` and the square as a further column.
    Variance,
}

impl Purpose {
    /// All of them, in the order in which people are told about them.
    pub const ALL: [Self; 14] = [
        Self::Sum,
        Self::Avg,
        Self::Count,
        Self::Variance,
        Self::Stddev,
        Self::Skewness,
        Self::Kurtosis,
        Self::Geomean,
        Self::Product,
        Self::Fetch,
        Self::Order,
        Self::Group,
        Self::Filter,
        Self::Measure,
    ];

    /// The word that a schema's `for` has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avg => "avg",
            Self::Count => "count",
            Self::Fetch => "fetch",
            Self::Filter => "filter",
            Self::Geomean => "geomean",
            Self::Group => "group",
            Self::Kurtosis => "kurtosis",
            Self::Measure => "measure",
            Self::Order => "order",
            Self::Product => "product",
            Self::Skewness => "skewness",
            Self::Stddev => "stddev",
            Self::Sum => "sum",
            Self::Variance => "variance",
        }
    }

    /// Whether a sealed copy goes with it, from which the owner serves whatever else is asked.
    pub(crate) fn reads_copy(self) -> bool {
        matches!(self, Self::Fetch | Self::Filter | Self::Measure | Self::Order)
    }
}

/// Inclusive bounds of a column in units (see [`ColumnType`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRange {
    /// Smallest allowed value.
    pub low: i128,
    /// Largest allowed value.
    pub high: i128,
}

impl UnitRange {
    /// Largest absolute value in the range.
    pub fn max_abs(&self) -> u128 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }
}

impl From<UnitRange> for Interval {
    fn from(range: UnitRange) -> Self {
        Self::between(range.low.into(), range.high.into())
    }
}

/// The reason of a column without any value in the file: nobody can know its type, and a person must say it.
pub const NO_VALUES: &str = "no value in the file, so its type is unknown";

/// How the reason of a column begins whose type no table holds, so that it can only be dropped: lists, bytes.
pub const UNHELD_TYPE: &str = "a type that tables cannot hold";

/// How a column's values are written in the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Texts that mean a missing value in this column, instead of the schema's; `None` for those of the schema.
    pub null_tokens: Option<Vec<String>>,
    /// Order of day, month and year; `None` for dates that cannot be mistaken alone.
    pub date_format: Option<DateFormat>,
    /// Whether a number below or above the limit of a measurement (`<5`, `>= 200`) stands for that limit.
    pub censored: bool,
    /// Whether a decimal of more digits is rounded to its scale, as fixed point is. No schema file says so:
    /// [`Schema::all_clear`] does.
    pub rounded: bool,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name as in the data.
    pub name: String,
    /// Logical type.
    pub kind: ColumnType,
    /// Whether missing values are allowed (an encrypted nullable column gets an encrypted validity column).
    pub nullable: bool,
    /// Declared bounds; `None` for text and for floats that go to CKKS.
    pub range: Option<UnitRange>,
    /// Its protection.
    pub protect: Protection,
    /// The name of its tokens, if it is a join key: equal values of columns of one name have equal tokens. `None`: the column's name.
    pub join: Option<String>,
    /// Its purposes (encrypted columns; empty means sum, avg and count).
    pub purposes: Vec<Purpose>,
    /// Why it is protected so, for people.
    pub reason: String,
    /// How its values are written.
    pub written: Written,
}

impl Column {
    /// Whether encrypted values of this column are approximate: a float without a range.
    pub fn is_approximate(&self) -> bool {
        matches!(self.kind, ColumnType::Float { .. }) && self.range.is_none()
    }

    /// Digits after the point of a column's units.
    pub fn scale(&self) -> u32 {
        match self.kind {
            ColumnType::Decimal { scale, .. } => u32::from(scale),
            ColumnType::Float { digits } if self.range.is_some() => u32::from(digits),
            _ => 0,
        }
    }

    /// The name of the tokens of a join key.
    pub fn token_name(&self) -> &str {
        self.join.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is there to be summed, and not only counted, multiplied by row or given back.
    pub fn is_summed(&self) -> bool {
        let is_sum = |purpose: &Purpose| {
            !matches!(purpose, Purpose::Count | Purpose::Group | Purpose::Product) && !purpose.reads_copy()
        };
        self.purposes.is_empty() || self.purposes.iter().any(is_sum)
    }

    /// Whether its values are stored once more as a sealed copy, to which the owner puts questions.
    pub fn has_copy(&self) -> bool {
        self.protect == Protection::Encrypt && self.purposes.iter().any(|purpose| purpose.reads_copy())
    }

    /// Whether that copy is all that is stored of it.
    pub fn is_copy_alone(&self) -> bool {
        let is_beside = |purpose: &Purpose| purpose.reads_copy() || *purpose == Purpose::Group;
        self.has_copy() && self.purposes.iter().all(is_beside)
    }

    /// Gives it further purposes, beside those that it has or that are implied where none are written.
    pub fn add_purposes(&mut self, purposes: &[Purpose]) {
        let implied: &[Purpose] = match self.kind {
            ColumnType::Date | ColumnType::Timestamp => &[Purpose::Count],
            _ => &[Purpose::Sum, Purpose::Avg, Purpose::Count],
        };
        let known = if self.purposes.is_empty() { implied.to_vec() } else { self.purposes.clone() };
        let new: Vec<Purpose> = purposes.iter().filter(|purpose| !known.contains(purpose)).copied().collect();
        if !new.is_empty() {
            self.purposes = known.into_iter().chain(new).collect();
        }
    }

    /// The column as it is stored: a join key is a clear text.
    fn into_stored(self) -> Self {
        match self.protect {
            Protection::JoinKey => {
                Self { kind: ColumnType::Text, range: None, protect: Protection::Clear, join: None, ..self }
            }
            _ => self,
        }
    }

    /// The texts of a table of texts (CSV) that mean a missing value in this column.
    pub fn null_tokens<'a>(&'a self, schema: &'a Schema) -> &'a [String] {
        self.written.null_tokens.as_deref().unwrap_or(&schema.null_tokens)
    }
}

/// Digits and number of approximate results that may leave a table's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseBudget {
    /// Digits after the point that released sums and values of rows keep, 0 to 15; scales are chosen for them.
    pub digits: u8,
    /// Numbers that may be released of one encryption, 1 to [`hush_params::noise::release::MAX_ANSWERS`].
    pub answers: u32,
}

/// A table's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Table name, as SQL names it.
    pub table: String,
    /// Columns in file order.
    pub columns: Vec<Column>,
    /// Texts that mean a missing value in tables of texts (CSV). Typed ones (Parquet, data frames) have missing values of their
    /// own, where a text means what it says unless its column has tokens of its own.
    pub null_tokens: Vec<String>,
    /// Rows that the table may grow to; sums are sized for this many.
    pub max_rows: u64,
    /// Whether a person has approved it.
    pub approved: bool,
    /// The person who approved it.
    pub approved_by: String,
    /// Comment lines at the top of the file (for instance what clear columns single out together).
    pub notes: Vec<String>,
    /// Products of encrypted columns that are encrypted too, so that SUM(x*y) works; a power as repeats.
    pub products: Vec<Vec<String>>,
    /// Sets of columns whose sums, squares and products over the rows that they have in common are encrypted too, so that
    /// COVAR, CORR and regressions among them work. Clear columns may be among them.
    pub moments: Vec<Vec<String>>,
    /// Sums over the rows of each cell of some dimensions, made when rows are encrypted.
    pub cubes: Vec<Cube>,
    /// Sums over the rows of each cell of hidden dimensions, by row, so that the server adds them up over the rows of any clear condition. Purposes
    /// ask for further ones ([`Schema::all_groups`]).
    pub groups: Vec<Cube>,
    /// Rows of each part once more, in the order of a column, made when rows are encrypted. Purposes ask for further ones ([`Schema::all_runs`]).
    pub runs: Vec<Run>,
    /// Columns that conditions may be on which a server evaluates without keys, where purposes do not say so: texts, with their values.
    pub filters: Vec<Dimension>,
    /// Conditions on a row that are worked out when it is encrypted, so that a server multiplies their flags as those of values: of several columns, or of
    /// what no flags of values say. As SQL.
    pub derived: Vec<String>,
    /// What is added up over the rows of such conditions: columns, with their squares, or expressions of columns, as SQL. Purposes ask for further
    /// ones ([`Schema::all_measures`]).
    pub measures: Vec<String>,
    /// Most factors of the products that conditions without keys are, with the measure, from 2 to 5; `None`: up to five, and beside clear conditions four.
    /// Parameters are chosen by it, and with them the bytes of every flag.
    pub filter_factors: Option<u8>,
    /// Whether the table has evaluation keys with which a server makes answers to conditions without keys smaller.
    pub answer_keys: bool,
    /// Whether the table has evaluation keys with which a server computes conditions whose constants are encrypted.
    pub constant_keys: bool,
    /// Whether devices may append rows that they encrypt with public keys; the parameters then leave room for their noise.
    pub edge: bool,
    /// Whether its secrets can be forgotten: their roots are then in the owner's key file and nowhere else.
    pub erasable: bool,
    /// What queries may show the server, beside the columns that they name.
    pub allow: Shown,
    /// What approximate results may be released with; `None` where no room is made for it.
    pub release: Option<ReleaseBudget>,
}

impl Schema {
    /// Finds a column by name: exactly, else ignoring ASCII case where that is unambiguous.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name).or_else(|| {
            let mut same = self.columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
            match (same.next(), same.next()) {
                (Some(column), None) => Some(column),
                _ => None,
            }
        })
    }

    /// Columns by protection, in file order.
    pub fn protected(&self, protect: Protection) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.protect == protect)
    }

    /// The columns that are stored under a seal: those that are sealed, and behind them those with a copy.
    pub fn under_seal(&self) -> impl Iterator<Item = &Column> {
        let copies = self.columns.iter().filter(|column| column.has_copy());
        self.protected(Protection::Seal).chain(copies)
    }

    /// The columns that a server reads, as it reads them: the clear ones, and the tokens of join keys as texts.
    pub fn readable(&self) -> impl Iterator<Item = Column> {
        let shown = self
            .columns
            .iter()
            .filter(|column| matches!(column.protect, Protection::Clear | Protection::JoinKey));
        shown.cloned().map(Column::into_stored)
    }

    /// The schema with join keys as they are stored, clear texts.
    #[must_use]
    pub fn with_tokens(&self) -> Self {
        Self { columns: self.columns.iter().cloned().map(Column::into_stored).collect(), ..self.clone() }
    }

    /// The encrypters of rows.
    pub fn writers(&self) -> Writers {
        if self.edge { Writers::Devices } else { Writers::Owner }
    }

    /// Position of every column by exact name.
    pub fn positions(&self) -> BTreeMap<&str, usize> {
        self.columns.iter().enumerate().map(|(i, column)| (column.name.as_str(), i)).collect()
    }

    /// The schema of the same data with nothing encrypted or sealed: for checking results in the clear, and for what the owner asks of columns
    /// that came back.
    ///
    /// Encrypted and sealed columns and join keys become clear. A ranged float that is encrypted becomes the decimal that its fixed point is
    /// (`decimal(38, digits)`), so that both halves compute with the same rounded values.
    pub fn all_clear(&self) -> Self {
        // What columns are encrypted for says nothing of clear ones.
        let mut schema = Self {
            products: Vec::new(),
            moments: Vec::new(),
            cubes: Vec::new(),
            groups: Vec::new(),
            runs: Vec::new(),
            filters: Vec::new(),
            derived: Vec::new(),
            measures: Vec::new(),
            filter_factors: None,
            answer_keys: false,
            constant_keys: false,
            edge: false,
            allow: Shown::ALL,
            ..self.clone()
        };
        for column in &mut schema.columns {
            column.purposes.clear();
            let is_encrypted = column.protect == Protection::Encrypt;
            if is_encrypted || matches!(column.protect, Protection::JoinKey | Protection::Seal) {
                column.protect = Protection::Clear;
            }
            if is_encrypted && let (ColumnType::Float { digits }, Some(_)) = (column.kind, column.range) {
                column.kind = ColumnType::Decimal { precision: 38, scale: digits };
                column.written.rounded = true;
            }
        }
        schema
    }
}
