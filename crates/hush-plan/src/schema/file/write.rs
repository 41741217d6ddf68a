// SPDX-License-Identifier: Apache-2.0
//! Writing a schema file, with the comments that a person needs to decide.

use std::fmt::Write as _;

use super::super::units::format_units;
use super::super::{
    Column, ColumnType, DateFormat, Protection, ReleaseBudget, Schema, UNHELD_TYPE, UnitRange,
};
use super::{FORMAT, UNLISTED};
use crate::limits::{Facet, Shown};

/// First line of a file that nobody has approved yet.
pub(super) const PROPOSAL_LINE: &str = "# Proposal. Contains no values from your data.";

/// The same where cubes or groups list texts.
pub(super) const LISTING_LINE: &str =
    "# Proposal. Contains the texts that its cubes or groups list, and no other values from your data.";

/// Digits up to which a decimal is written as a bare TOML number: every reader keeps them.
const BARE_DIGITS: usize = 15;

/// Writes the schema file of `schema`. Holds names, types, declared ranges and reasons: nothing of the data but texts that cubes and groups list.
pub fn to_toml(schema: &Schema) -> String {
    let mut out = String::new();
    head(&mut out, schema);
    for column in &schema.columns {
        out.push('\n');
        column_table(&mut out, column, schema.edge);
    }
    out
}

/// A type as the file names it, for instance `decimal(12,2)`.
pub fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::Bool => "bool".to_owned(),
        ColumnType::Category => "category".to_owned(),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        ColumnType::Float { digits } => format!("float({digits})"),
        ColumnType::Int { bits } => format!("int({bits})"),
        ColumnType::Text => "text".to_owned(),
        ColumnType::Timestamp => "timestamp".to_owned(),
    }
}

/// A name as a TOML key: bare where TOML allows it, else quoted.
pub fn table_key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

/// The order of a date as the file names it.
pub fn date_format_name(format: DateFormat) -> &'static str {
    match format {
        DateFormat::DayMonthYear => "dmy",
        DateFormat::MonthDayYear => "mdy",
        DateFormat::YearMonthDay => "ymd",
    }
}

/// The value of `censored` that takes the bound of numbers such as `<5`.
pub(super) const CENSORED: &str = "bound";

pub(super) fn protection_name(protect: Protection) -> &'static str {
    match protect {
        Protection::Clear => "clear",
        Protection::Decide => "DECIDE",
        Protection::Drop => "drop",
        Protection::Encrypt => "encrypt",
        Protection::JoinKey => "joinkey",
        Protection::Seal => "seal",
    }
}

fn head(out: &mut String, schema: &Schema) {
    if !schema.approved {
        let cubes = schema.cubes.iter().chain(&schema.groups);
        let mut dimensions = cubes.flat_map(|cube| &cube.by).chain(&schema.filters);
        let lists = dimensions.any(|dimension| dimension.lists_texts());
        line(out, if lists { LISTING_LINE } else { PROPOSAL_LINE });
    }
    line(out, &format!("format = {FORMAT}"));
    line(out, &format!("table = {}", quoted(&schema.table)));
    if schema.approved {
        line(out, "status = \"approved\"");
    } else {
        line(out, "status = \"proposed\"      # encrypt refuses until \"approved\"");
    }
    line(out, &format!("approved_by = {}", quoted(&schema.approved_by)));
    line(out, &format!("unlisted = {}      # a new column stops the job", quoted(UNLISTED)));
    line(out, &format!("null_tokens = {}", quoted_list(schema.null_tokens.iter().map(String::as_str))));
    line(out, &format!("max_rows = {}      # sums are sized for this many", schema.max_rows));
    if schema.edge {
        line(out, "edge = true      # devices may append rows with public keys");
    }
    if schema.erasable {
        line(
            out,
            "erasable = true      # the secrets' roots are in the key file alone, and can be forgotten",
        );
    }
    if schema.allow != Shown::ALL {
        line(
            out,
            &format!(
                "allow = {}      # what queries may show the server",
                quoted_list(schema.allow.iter().map(Facet::name))
            ),
        );
    }
    if let Some(ReleaseBudget { digits, answers }) = schema.release {
        line(
            out,
            &format!(
                "release = {{ digits = {digits}, answers = {answers} }}      # approximate results may leave with --release"
            ),
        );
    }
    if !schema.products.is_empty() {
        line(out, &format!("products = {}", lists(&schema.products)));
    }
    if !schema.moments.is_empty() {
        line(out, &format!("moments = {}", lists(&schema.moments)));
    }
    for (key, cubes) in [("cubes", &schema.cubes), ("group", &schema.groups)] {
        if cubes.is_empty() {
            continue;
        }
        line(out, &format!("{key} = ["));
        for cube in cubes {
            line(out, &format!("  {},", cube.written(schema)));
        }
        line(out, "]");
    }
    if !schema.runs.is_empty() {
        line(out, "order = [");
        for run in &schema.runs {
            line(out, &format!("  {},", run.written()));
        }
        line(out, "]");
    }
    if !schema.filters.is_empty() {
        let filters: Vec<String> = schema.filters.iter().map(|filter| filter.written(schema)).collect();
        line(out, &format!("filter = [{}]", filters.join(", ")));
    }
    if let Some(factors) = schema.filter_factors {
        line(out, &format!("filter_factors = {factors}"));
    }
    if schema.answer_keys {
        line(out, "answer_keys = true");
    }
    if schema.constant_keys {
        line(out, "constant_keys = true");
    }
    if !schema.derived.is_empty() {
        line(out, &format!("derive = {}", quoted_list(schema.derived.iter().map(String::as_str))));
    }
    if !schema.measures.is_empty() {
        line(out, &format!("measure = {}", quoted_list(schema.measures.iter().map(String::as_str))));
    }
    for note in &schema.notes {
        line(out, &format!("# {}", note_text(note)));
    }
}

/// A note as it stands in a comment: one line, nothing that a terminal obeys.
pub(super) fn note_text(note: &str) -> String {
    let single: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    single.trim().to_owned()
}

fn column_table(out: &mut String, column: &Column, edge: bool) {
    line(out, &format!("[columns.{}]", table_key(&column.name)));
    line(out, &format!("type = {}", quoted(&type_name(column.kind))));
    if let Some(range) = column.range {
        line(
            out,
            &format!("range = {}  # headroom, not the observed extremes", range_text(column.kind, range)),
        );
    }
    if column.nullable {
        line(out, "nullable = true");
    }
    if let Some(tokens) = &column.written.null_tokens {
        line(out, &format!("null_tokens = {}", quoted_list(tokens.iter().map(String::as_str))));
    }
    if let Some(format) = column.written.date_format {
        line(out, &format!("date_format = {}", quoted(date_format_name(format))));
    }
    if column.written.censored {
        line(out, &format!("censored = {}      # <5 is read as 5", quoted(CENSORED)));
    }
    let choices = match column.protect {
        Protection::Decide if is_text(column.kind) && edge => "       # clear: the server reads it; drop",
        Protection::Decide if is_text(column.kind) => {
            "       # seal: you alone answer WHERE; clear: the server reads it"
        }
        Protection::Decide => "       # encrypt: you alone answer WHERE; clear: the server reads it",
        Protection::Drop if column.reason.starts_with(UNHELD_TYPE) => {
            "         # another type in the data, to keep it"
        }
        Protection::Drop if !edge => "         # or \"seal\"",
        Protection::Clear
        | Protection::Drop
        | Protection::Encrypt
        | Protection::JoinKey
        | Protection::Seal => "",
    };
    line(out, &format!("protect = {}{choices}", quoted(protection_name(column.protect))));
    if let (Protection::JoinKey, Some(name)) = (column.protect, &column.join) {
        line(out, &format!("join = {}", quoted(name)));
    }
    if !column.purposes.is_empty() {
        line(out, &format!("for = {}", quoted_list(column.purposes.iter().map(|purpose| purpose.name()))));
    }
    if !column.reason.is_empty() {
        line(out, &format!("reason = {}", quoted(&column.reason)));
    }
}

fn is_text(kind: ColumnType) -> bool {
    matches!(kind, ColumnType::Category | ColumnType::Text)
}

fn range_text(kind: ColumnType, range: UnitRange) -> String {
    format!("[{}, {}]", bound_text(kind, range.low), bound_text(kind, range.high))
}

/// A bound in natural values: bare where a TOML number holds it exactly, else quoted.
fn bound_text(kind: ColumnType, units: i128) -> String {
    let text = format_units(kind, units);
    match kind {
        ColumnType::Int { .. } => text,
        ColumnType::Decimal { .. } | ColumnType::Float { .. } => {
            let text = match text.split_once('.') {
                Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole.to_owned(),
                _ => text,
            };
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            if digits <= BARE_DIGITS { text } else { quoted(&text) }
        }
        _ => quoted(&text),
    }
}

/// A list of values of a column.
pub(crate) fn lists_of_units(kind: ColumnType, units: &[i128]) -> String {
    format!("[{}]", units.iter().map(|units| bound_text(kind, *units)).collect::<Vec<_>>().join(", "))
}

/// A list of lists of texts.
pub(super) fn lists(items: &[Vec<String>]) -> String {
    let lists: Vec<String> = items.iter().map(|item| quoted_list(item.iter().map(String::as_str))).collect();
    format!("[{}]", lists.join(", "))
}

pub(crate) fn quoted_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                // Control characters lie below U+00A0, so four digits do. Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}
