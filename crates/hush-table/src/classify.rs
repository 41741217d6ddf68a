// SPDX-License-Identifier: Apache-2.0
//! Judging how sensitive a column is: by its name, by the shape of its values, by how unique they are.
//!
//! ```text
//!  name ── words ──▶ class          ┐
//!  every value ── patterns ──▶ hits ├─▶ Verdict { class, protect, reason }
//!  uniqueness, types ───────────────┘
//! ```
//!
//! *Invariants.* Unknown means encrypt (numbers) or seal (text). A reason names kinds and shares, never a value.
//! Clear is proposed only for names that stand for public facts, and only while each value is shared by at
//! least [`SHARED_BY`] rows; whether the clear columns single somebody out *together* is for
//! [`crate::profile`] to count.
//!
//! *Non-goals.* Finding names inside free text: the question is put to columns, and free text is sealed whole.

use hush_plan::Protection;
use hush_plan::schema::{ColumnType, NO_VALUES};

mod checksums;
mod names;
mod patterns;
mod words;

pub use names::class_of_name;
pub use patterns::{Pattern, PatternCounts};

/// Rows that must share a value before it may be proposed as clear.
pub const SHARED_BY: u64 = 5;

/// Most distinct values of a column that may be proposed as clear.
pub const PUBLIC_VALUES: u64 = 1000;

/// The content of a column, as far as name and values show it. Ordered by how strongly it identifies a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// Password, token, key.
    Credential,
    /// Number of a person, record or case.
    RecordId,
    /// National or social-security number, passport, licence.
    NationalId,
    /// Payment card.
    Card,
    /// Bank account.
    Account,
    /// Name of a person.
    PersonName,
    /// E-mail address.
    Email,
    /// Telephone number.
    Phone,
    /// Street address.
    Address,
    /// IP or hardware address, device or user name, link.
    Online,
    /// Date or year of birth.
    BirthDate,
    /// Postal code.
    Postcode,
    /// Position on the map.
    Coordinates,
    /// Age.
    Age,
    /// Special categories and other traits: sex, origin, belief, union, orientation, marital status.
    Trait,
    /// Measured on a body.
    Clinical,
    /// Other health data: diagnosis, medication, genes.
    Health,
    /// Amounts.
    Money,
    /// Dates of events.
    EventDate,
    /// Notes and comments.
    FreeText,
    /// Facts about the institution rather than the person: ward, year, product.
    Public,
}

/// The facts about a column on which the verdict rests.
#[derive(Clone, Debug)]
pub struct ColumnStatistics<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its inferred type.
    pub kind: ColumnType,
    /// Present values.
    pub values: u64,
    /// Distinct values (an estimate beyond some thousands).
    pub distinct: u64,
    /// Rows whose value fewer than [`SHARED_BY`] rows have.
    pub rare_rows: u64,
    /// No value occurs twice.
    pub unique: bool,
    /// Unique whole numbers without gaps.
    pub consecutive: bool,
    /// Values look like sentences.
    pub prose: bool,
    /// Digits after the point, at most.
    pub fraction_digits: u32,
    /// Pattern hits.
    pub patterns: &'a PatternCounts,
}

/// A proposal for one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The recognised content, if there is one.
    pub class: Option<Class>,
    /// The proposed protection.
    pub protect: Protection,
    /// The reason.
    pub reason: String,
}

impl Verdict {
    fn new(class: Option<Class>, protect: Protection, reason: impl Into<String>) -> Self {
        Self { class, protect, reason: reason.into() }
    }
}

/// Judges a column.
pub fn classify(statistics: &ColumnStatistics<'_>) -> Verdict {
    if statistics.values == 0 {
        return Verdict::new(None, Protection::Drop, NO_VALUES);
    }
    let by_name = class_of_name(statistics.name);
    if let Some((pattern, percent)) = statistics.patterns.strongest(statistics.values) {
        return by_pattern(pattern, percent, by_name);
    }
    match by_name {
        Some(class) => by_class(statistics, class),
        None => by_shape(statistics),
    }
}

fn by_pattern(pattern: Pattern, percent: u64, by_name: Option<Class>) -> Verdict {
    let class = pattern.class();
    let evidence = if by_name == Some(class) { "name, " } else { "" };
    let reason = format!("{} ({evidence}{percent} % of values)", pattern.title());
    let protect = if class == Class::Credential { Protection::Drop } else { Protection::Seal };
    Verdict::new(Some(class), protect, reason)
}

fn by_class(statistics: &ColumnStatistics<'_>, class: Class) -> Verdict {
    let number = if is_text(statistics.kind) { Protection::Seal } else { Protection::Encrypt };
    let (protect, reason) = match class {
        Class::Credential => (Protection::Drop, "credential (name)"),
        Class::RecordId if statistics.unique => (Protection::Seal, "unique in every row"),
        Class::RecordId => (Protection::Seal, "identifier (name)"),
        Class::NationalId => (Protection::Seal, "official identifier (name)"),
        Class::Card => (Protection::Seal, "payment card (name)"),
        Class::Account => (Protection::Seal, "bank account (name)"),
        Class::PersonName => (Protection::Seal, "name of a person (name)"),
        Class::Email => (Protection::Seal, "e-mail (name)"),
        Class::Phone => (Protection::Seal, "phone number (name)"),
        Class::Address => (Protection::Seal, "address (name)"),
        Class::Online => (Protection::Seal, "online identifier (name)"),
        Class::BirthDate => (number, "birth date (name)"),
        Class::Postcode => (Protection::Seal, "quasi-identifier (postcode)"),
        Class::Coordinates => (number, "position (name)"),
        Class::Age if matches!(statistics.kind, ColumnType::Int { .. }) => {
            (number, "quasi-identifier (whole years)")
        }
        Class::Age => (number, "quasi-identifier (age)"),
        Class::Trait => (number, "quasi-identifier (personal trait)"),
        Class::Clinical if number == Protection::Encrypt && statistics.kind != ColumnType::Bool => {
            (Protection::Decide, "clinical measurement (name)")
        }
        Class::Clinical | Class::Health => (number, "health data (name)"),
        Class::Money if statistics.fraction_digits == 2 => (number, "money (name, two decimals)"),
        Class::Money => (number, "money (name)"),
        Class::EventDate => (number, "date of an event (name)"),
        Class::FreeText => (Protection::Seal, "free text (name)"),
        Class::Public => return public(statistics),
    };
    Verdict::new(Some(class), protect, reason)
}

fn public(statistics: &ColumnStatistics<'_>) -> Verdict {
    let is_float = matches!(statistics.kind, ColumnType::Float { .. } | ColumnType::Decimal { .. });
    if statistics.distinct > PUBLIC_VALUES || statistics.prose || is_float {
        let mut verdict = by_shape(statistics);
        verdict.class = Some(Class::Public);
        return verdict;
    }
    let (protect, reason) = match statistics.rare_rows {
        0 => (Protection::Clear, "few values; nobody singled out".to_owned()),
        rows => (
            Protection::Decide,
            format!("few values, but {rows} rows share theirs with fewer than {SHARED_BY}"),
        ),
    };
    Verdict::new(Some(Class::Public), protect, reason)
}

/// Nothing is known by name or pattern.
fn by_shape(statistics: &ColumnStatistics<'_>) -> Verdict {
    let (class, protect, reason) = match statistics.kind {
        ColumnType::Int { .. } if statistics.consecutive => {
            (Some(Class::RecordId), Protection::Seal, "row number (unique in every row)")
        }
        ColumnType::Text | ColumnType::Category if statistics.prose => {
            (Some(Class::FreeText), Protection::Seal, "free text")
        }
        ColumnType::Text | ColumnType::Category if statistics.unique && statistics.values > 1 => {
            (Some(Class::RecordId), Protection::Seal, "unique in every row")
        }
        ColumnType::Category => (None, Protection::Seal, "category; unknown means not clear"),
        ColumnType::Text => (None, Protection::Seal, "unknown text"),
        ColumnType::Date | ColumnType::Timestamp => {
            (Some(Class::EventDate), Protection::Encrypt, "date; unknown means encrypt")
        }
        ColumnType::Decimal { .. } if statistics.fraction_digits == 2 => {
            (Some(Class::Money), Protection::Encrypt, "two decimals, as money has")
        }
        ColumnType::Bool | ColumnType::Decimal { .. } | ColumnType::Float { .. } | ColumnType::Int { .. } => {
            (None, Protection::Encrypt, "unknown means encrypt")
        }
    };
    Verdict::new(class, protect, reason)
}

fn is_text(kind: ColumnType) -> bool {
    matches!(kind, ColumnType::Category | ColumnType::Text)
}

#[cfg(test)]
mod tests;
