// SPDX-License-Identifier: Apache-2.0
//! Reading a schema file strictly, with the line of whatever is wrong.

use std::borrow::Cow;
use std::collections::BTreeSet;

use hush_params::noise::release::MAX_ANSWERS;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::super::units::{DecimalPoint, parse_units, type_bounds};
use super::super::{
    Column, ColumnType, DateFormat, Protection, Purpose, ReleaseBudget, Schema, UnitRange, Written,
    is_table_name,
};
use super::write::{
    CENSORED, LISTING_LINE, PROPOSAL_LINE, date_format_name, note_text, protection_name, type_name,
};
use super::{DEFAULT_MAX_ROWS, FORMAT, RangeProblem, SchemaError, UNLISTED};
use crate::limits::{Facet, Shown};

/// Reads a schema file.
///
/// # Errors
/// [`SchemaError`] with the line. An unapproved schema or one with undecided columns is read: whether that is
/// enough is for [`require_approved`](super::require_approved) to say.
pub fn from_toml(text: &str) -> Result<Schema, SchemaError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = DeTable::parse(text).map_err(|error| SchemaError::Syntax {
        line: line_at(text, error.span().map_or(text.len(), |span| span.start)),
        message: first_line(error.message()),
    })?;
    Reader { text }.schema(document.get_ref())
}

/// Reads one column, as `name = { type = "int(32)", protect = "encrypt" }`: what stands in a schema file below `[columns.name]`.
///
/// # Errors
/// As [`from_toml`]; lines are those of the text.
pub fn column_from_toml(text: &str) -> Result<Column, SchemaError> {
    let document = DeTable::parse(text).map_err(|error| SchemaError::Syntax {
        line: line_at(text, error.span().map_or(text.len(), |span| span.start)),
        message: first_line(error.message()),
    })?;
    let mut columns = document.get_ref().iter();
    match (columns.next(), columns.next()) {
        (Some((name, value)), None) => Reader { text }.column(name.get_ref(), 1, value),
        _ => Err(SchemaError::NoColumns),
    }
}

pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// Most factors of a product, as in expressions.
const MAX_FACTORS: usize = 16;
/// Factors that products of ciphertexts may be declared for.
const PRODUCT_FACTORS: std::ops::RangeInclusive<u64> = 2..=5;
/// Most columns of a set of `moments`: a regression's.
const MAX_MOMENTS: usize = 33;
/// The schema itself or one of its columns, for messages.
pub(super) const SCHEMA: &str = "the schema";

pub(super) struct Reader<'i> {
    text: &'i str,
}

impl Reader<'_> {
    fn schema(&self, top: &DeTable<'_>) -> Result<Schema, SchemaError> {
        const KEYS: [&str; 23] = [
            "allow",
            "approved_by",
            "columns",
            "cubes",
            "derive",
            "edge",
            "erasable",
            "filter",
            "filter_factors",
            "answer_keys",
            "constant_keys",
            "format",
            "group",
            "max_rows",
            "measure",
            "moments",
            "null_tokens",
            "order",
            "products",
            "release",
            "status",
            "table",
            "unlisted",
        ];
        self.known_keys(top, &KEYS, SCHEMA)?;
        self.format(require(top, "format", SCHEMA, 1)?)?;
        if let Some(value) = top.get("unlisted")
            && value.get_ref().as_str() != Some(UNLISTED)
        {
            return Err(self.wrong(value, SCHEMA, "unlisted", "\"refuse\""));
        }
        let approved = match top.get("status").map(|value| (value, value.get_ref().as_str())) {
            Some((_, Some("approved"))) => true,
            None | Some((_, Some("proposed"))) => false,
            Some((value, _)) => {
                return Err(self.wrong(value, SCHEMA, "status", "\"proposed\" or \"approved\""));
            }
        };
        let mut schema = Schema {
            table: self.table_name(require(top, "table", SCHEMA, 1)?)?,
            columns: self.columns(top)?,
            null_tokens: self.null_tokens(top)?,
            max_rows: self.max_rows(top)?,
            approved,
            approved_by: self.optional_text(top, "approved_by", SCHEMA)?,
            notes: self.notes(),
            products: Vec::new(),
            moments: Vec::new(),
            cubes: Vec::new(),
            groups: Vec::new(),
            runs: Vec::new(),
            filters: Vec::new(),
            derived: Vec::new(),
            measures: Vec::new(),
            filter_factors: None,
            answer_keys: self.flag(top, "answer_keys")?,
            constant_keys: self.flag(top, "constant_keys")?,
            edge: self.flag(top, "edge")?,
            erasable: self.flag(top, "erasable")?,
            allow: top.get("allow").map_or(Ok(Shown::ALL), |value| self.allow(value))?,
            release: top.get("release").map(|value| self.release(value)).transpose()?,
        };
        if let Some(value) = top.get("erasable")
            && schema.erasable
            && schema.protected(Protection::JoinKey).next().is_some()
        {
            let expected =
                "left out: tokens of join keys are made with the owner's key, and are not forgotten";
            return Err(self.wrong(value, SCHEMA, "erasable", expected));
        }
        if let Some(value) = top.get("moments") {
            schema.moments = self.moments(value, &schema)?;
        }
        if let Some(value) = top.get("products") {
            schema.products = self.products(value, &schema)?;
        }
        if let Some(value) = top.get("cubes") {
            schema.cubes = self.cubes(value, "cubes", &schema)?;
        }
        if let Some(value) = top.get("group") {
            schema.groups = self.cubes(value, "group", &schema)?;
        }
        if let Some(value) = top.get("order") {
            schema.runs = self.runs(value)?;
        }
        if let Some(value) = top.get("filter") {
            schema.filters = self.filters(value, &schema)?;
        }
        if let Some(value) = top.get("filter_factors") {
            let factors = self.rows(value, SCHEMA, "filter_factors").ok();
            let factors = factors.filter(|factors| PRODUCT_FACTORS.contains(factors));
            let wrong = || self.wrong(value, SCHEMA, "filter_factors", "a whole number from 2 to 5");
            schema.filter_factors = Some(factors.ok_or_else(wrong)? as u8);
        }
        if let Some(value) = top.get("derive") {
            schema.derived = self.texts(value, SCHEMA, "derive")?;
        }
        if let Some(value) = top.get("measure") {
            schema.measures = self.texts(value, SCHEMA, "measure")?;
        }
        Ok(schema)
    }

    fn format(&self, value: &Value<'_>) -> Result<(), SchemaError> {
        let found = value.get_ref().as_integer().map(ToString::to_string);
        if found.as_deref() == Some(FORMAT.to_string().as_str()) {
            return Ok(());
        }
        let found = found.unwrap_or_else(|| value.get_ref().type_str().to_owned());
        Err(SchemaError::Format { line: self.line(value), found, expected: FORMAT })
    }

    fn null_tokens(&self, top: &DeTable<'_>) -> Result<Vec<String>, SchemaError> {
        match top.get("null_tokens") {
            None => Ok(vec![String::new()]),
            Some(value) => self.texts(value, SCHEMA, "null_tokens"),
        }
    }

    fn flag(&self, top: &DeTable<'_>, name: &'static str) -> Result<bool, SchemaError> {
        let Some(value) = top.get(name) else { return Ok(false) };
        value.get_ref().as_bool().ok_or_else(|| self.wrong(value, SCHEMA, name, "true or false"))
    }

    fn allow(&self, value: &Value<'_>) -> Result<Shown, SchemaError> {
        let facets = self.texts(value, SCHEMA, "allow")?;
        let facets = facets.iter().map(|name| Facet::named(name));
        let expected = "a list of \"constants\", \"pattern\", \"sizes\"";
        facets.collect::<Option<Shown>>().ok_or_else(|| self.wrong(value, SCHEMA, "allow", expected))
    }

    fn release(&self, value: &Value<'_>) -> Result<ReleaseBudget, SchemaError> {
        let expected = "{ digits = 0 to 15, answers = 1 to 65536 }";
        let wrong = || self.wrong(value, SCHEMA, "release", expected);
        let table = value.get_ref().as_table().ok_or_else(wrong)?;
        self.known_keys(table, &["answers", "digits"], "release")?;
        let number = |key: &str, most: u32| {
            let integer = table.get(key)?.get_ref().as_integer()?;
            u32::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| *number <= most)
        };
        let digits = number("digits", 15).ok_or_else(wrong)?;
        let answers = number("answers", MAX_ANSWERS).filter(|answers| *answers > 0).ok_or_else(wrong)?;
        Ok(ReleaseBudget { digits: digits as u8, answers })
    }

    fn max_rows(&self, top: &DeTable<'_>) -> Result<u64, SchemaError> {
        top.get("max_rows").map_or(Ok(DEFAULT_MAX_ROWS), |value| self.rows(value, SCHEMA, "max_rows"))
    }

    /// A number of rows.
    pub(super) fn rows(
        &self,
        value: &Value<'_>,
        place: &'static str,
        key: &'static str,
    ) -> Result<u64, SchemaError> {
        let integer = value.get_ref().as_integer();
        integer
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok())
            .filter(|rows| (1..=1 << 40).contains(rows))
            .ok_or_else(|| self.wrong(value, place, key, "a whole number from 1 to 2^40"))
    }

    /// The table's name, which every server must be able to take.
    fn table_name(&self, value: &Value<'_>) -> Result<String, SchemaError> {
        let name = self.text_of(value, SCHEMA, "table")?;
        if is_table_name(&name) {
            return Ok(name);
        }
        Err(self.wrong(value, SCHEMA, "table", "1 to 64 of A to Z, a to z, 0 to 9, _ and -, no - in front"))
    }

    /// Comment lines before the first table, the fixed first line left out; in the form in which they are written.
    fn notes(&self) -> Vec<String> {
        let head = self.text.lines().take_while(|line| !line.trim_start().starts_with('['));
        head.filter(|line| line.starts_with('#'))
            .map(|line| note_text(line.trim_start_matches('#')))
            .filter(|note| {
                [PROPOSAL_LINE, LISTING_LINE]
                    .iter()
                    .all(|line| line.strip_prefix("# ") != Some(note.as_str()))
            })
            .collect()
    }

    fn columns(&self, top: &DeTable<'_>) -> Result<Vec<Column>, SchemaError> {
        let value = top.get("columns").ok_or(SchemaError::NoColumns)?;
        let tables = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(value, SCHEMA, "columns", "tables such as [columns.age]"))?;
        // The map is sorted by name; the position of the key gives the order of the file.
        let mut entries: Vec<_> = tables.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let columns: Vec<Column> = entries
            .into_iter()
            .map(|(key, value)| self.column(key.get_ref(), self.line_of(key.span().start), value))
            .collect::<Result<_, _>>()?;
        if columns.is_empty() { Err(SchemaError::NoColumns) } else { Ok(columns) }
    }

    fn column(&self, name: &str, line: usize, value: &Value<'_>) -> Result<Column, SchemaError> {
        const KEYS: [&str; 10] = [
            "censored",
            "date_format",
            "for",
            "join",
            "null_tokens",
            "nullable",
            "protect",
            "range",
            "reason",
            "type",
        ];
        let place = format!("column {name}");
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(value, &place, "columns", "tables such as [columns.age]"))?;
        self.known_keys(table, &KEYS, &place)?;
        let type_value = require(table, "type", &place, line)?;
        let type_text = self.text_of(type_value, &place, "type")?;
        let kind = parse_type(&type_text).ok_or_else(|| SchemaError::UnknownType {
            line: self.line(type_value),
            column: name.to_owned(),
            found: type_text,
        })?;
        let protect_value = require(table, "protect", &place, line)?;
        let protect = self.protection(protect_value, &place)?;
        if protect == Protection::Encrypt && type_bounds(kind).is_none() {
            return Err(SchemaError::TextEncrypted {
                line: self.line(protect_value),
                column: name.to_owned(),
                kind: type_name(kind),
            });
        }
        let nullable = match table.get("nullable") {
            None => false,
            Some(value) => value
                .get_ref()
                .as_bool()
                .ok_or_else(|| self.wrong(value, &place, "nullable", "true or false"))?,
        };
        Ok(Column {
            name: name.to_owned(),
            kind,
            nullable,
            range: table.get("range").map(|value| self.range(value, name, kind)).transpose()?,
            protect,
            join: self.join(table, &place, (protect, kind))?,
            purposes: self.purposes(table, &place)?,
            reason: self.optional_text(table, "reason", &place)?,
            written: self.written(table, &place, kind)?,
        })
    }

    /// How the values are written. A key that the type cannot have is refused: it would promise what nobody does.
    fn written(&self, table: &DeTable<'_>, place: &str, kind: ColumnType) -> Result<Written, SchemaError> {
        let is_time = matches!(kind, ColumnType::Date | ColumnType::Timestamp);
        let is_number =
            matches!(kind, ColumnType::Decimal { .. } | ColumnType::Float { .. } | ColumnType::Int { .. });
        let tokens = table.get("null_tokens").map(|value| self.texts(value, place, "null_tokens"));
        let date_format = table.get("date_format").map(|value| {
            let expected = "\"dmy\", \"mdy\" or \"ymd\", of a date or timestamp";
            let format = value.get_ref().as_str().and_then(date_format).filter(|_| is_time);
            format.ok_or_else(|| self.wrong(value, place, "date_format", expected))
        });
        let censored = table.get("censored").map(|value| {
            let is_bound = is_number && value.get_ref().as_str() == Some(CENSORED);
            let expected = "\"bound\", of a number";
            if is_bound { Ok(true) } else { Err(self.wrong(value, place, "censored", expected)) }
        });
        Ok(Written {
            null_tokens: tokens.transpose()?,
            date_format: date_format.transpose()?,
            censored: censored.transpose()?.unwrap_or(false),
            rounded: false,
        })
    }

    fn protection(&self, value: &Value<'_>, place: &str) -> Result<Protection, SchemaError> {
        const ALL: [Protection; 6] = [
            Protection::Clear,
            Protection::Decide,
            Protection::Drop,
            Protection::Encrypt,
            Protection::JoinKey,
            Protection::Seal,
        ];
        let text = value.get_ref().as_str();
        ALL.into_iter().find(|protect| text == Some(protection_name(*protect))).ok_or_else(|| {
            self.wrong(
                value,
                place,
                "protect",
                "\"clear\", \"encrypt\", \"joinkey\", \"seal\", \"drop\" or \"DECIDE\"",
            )
        })
    }

    fn purposes(&self, table: &DeTable<'_>, place: &str) -> Result<Vec<Purpose>, SchemaError> {
        let Some(value) = table.get("for") else { return Ok(Vec::new()) };
        let purpose = |name: String| {
            Purpose::ALL.into_iter().find(|purpose| purpose.name() == name).ok_or_else(|| {
                let names = Purpose::ALL.map(Purpose::name).join(", ");
                self.wrong(value, place, "for", format!("a list of {names}"))
            })
        };
        self.texts(value, place, "for")?.into_iter().map(purpose).collect()
    }

    fn range(&self, value: &Value<'_>, column: &str, kind: ColumnType) -> Result<UnitRange, SchemaError> {
        let fail =
            |problem| SchemaError::Range { line: self.line(value), column: column.to_owned(), problem };
        if type_bounds(kind).is_none() || kind == ColumnType::Bool {
            return Err(fail(RangeProblem::Untyped));
        }
        let Some([low, high]) = value.get_ref().as_array().and_then(two) else {
            return Err(fail(RangeProblem::NotTwo));
        };
        let bound =
            |value: &Value<'_>| bound_units(value.get_ref(), kind).ok_or(fail(RangeProblem::NotOfType));
        let range = UnitRange { low: bound(low)?, high: bound(high)? };
        if range.low > range.high { Err(fail(RangeProblem::Empty)) } else { Ok(range) }
    }

    fn products(&self, value: &Value<'_>, schema: &Schema) -> Result<Vec<Vec<String>>, SchemaError> {
        let expected = "products of 2 to 16 columns, [[\"a\", \"b\"]]";
        let wrong = || self.wrong(value, SCHEMA, "products", expected);
        let usable = |name: &String| {
            schema.columns.iter().any(|column| {
                column.name == *name
                    && type_bounds(column.kind).is_some()
                    && matches!(column.protect, Protection::Encrypt | Protection::Decide)
            })
        };
        let product = |item: &Value<'_>| {
            let factors = self.texts(item, SCHEMA, "products").map_err(|_| wrong())?;
            match factors.iter().find(|name| !usable(name)) {
                Some(factor) => Err(SchemaError::Product { line: self.line(item), factor: factor.clone() }),
                None if (2..=MAX_FACTORS).contains(&factors.len()) => Ok(factors),
                None => Err(wrong()),
            }
        };
        value.get_ref().as_array().ok_or_else(wrong)?.iter().map(product).collect()
    }

    fn moments(&self, value: &Value<'_>, schema: &Schema) -> Result<Vec<Vec<String>>, SchemaError> {
        let usable = |name: &String| {
            let column = schema.columns.iter().find(|column| column.name == *name);
            column.is_some_and(|column| {
                !matches!(column.protect, Protection::Drop | Protection::JoinKey | Protection::Seal)
                    && !matches!(column.kind, ColumnType::Date | ColumnType::Timestamp)
                    && type_bounds(column.kind).is_some()
            })
        };
        let set = |item: &Value<'_>| {
            let wrong = || {
                let expected = "sets of two or more different columns of numbers, [[\"y\", \"x\"]]";
                self.wrong(item, SCHEMA, "moments", expected)
            };
            let names = self.texts(item, SCHEMA, "moments").map_err(|_| wrong())?;
            let all_differ = names.iter().collect::<BTreeSet<_>>().len() == names.len();
            let fits = (2..=MAX_MOMENTS).contains(&names.len()) && all_differ && names.iter().all(usable);
            if fits { Ok(names) } else { Err(wrong()) }
        };
        let sets = value.get_ref().as_array();
        sets.ok_or_else(|| self.wrong(value, SCHEMA, "moments", "a list of sets of columns"))?
            .iter()
            .map(set)
            .collect()
    }

    pub(super) fn known_keys(
        &self,
        table: &DeTable<'_>,
        known: &[&str],
        place: &str,
    ) -> Result<(), SchemaError> {
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => Err(SchemaError::UnknownKey {
                line: self.line_of(key.span().start),
                key: key.get_ref().to_string(),
                place: place.to_owned(),
            }),
        }
    }

    pub(super) fn texts(
        &self,
        value: &Value<'_>,
        place: &str,
        key: &'static str,
    ) -> Result<Vec<String>, SchemaError> {
        let wrong = || self.wrong(value, place, key, "a list of texts");
        let items = value.get_ref().as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    pub(super) fn text_of(
        &self,
        value: &Value<'_>,
        place: &str,
        key: &'static str,
    ) -> Result<String, SchemaError> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wrong(value, place, key, "a text"))
    }

    fn optional_text(
        &self,
        table: &DeTable<'_>,
        key: &'static str,
        place: &str,
    ) -> Result<String, SchemaError> {
        table.get(key).map_or(Ok(String::new()), |value| self.text_of(value, place, key))
    }

    pub(super) fn wrong(
        &self,
        value: &Value<'_>,
        place: &str,
        key: &'static str,
        expected: impl Into<Cow<'static, str>>,
    ) -> SchemaError {
        let expected = expected.into();
        SchemaError::WrongValue { line: self.line(value), place: place.to_owned(), key, expected }
    }

    pub(super) fn line(&self, value: &Value<'_>) -> usize {
        self.line_of(value.span().start)
    }

    fn line_of(&self, offset: usize) -> usize {
        line_at(self.text, offset)
    }
}

pub(super) fn require<'a, 'i>(
    table: &'a DeTable<'i>,
    key: &'static str,
    place: &str,
    line: usize,
) -> Result<&'a Value<'i>, SchemaError> {
    table.get(key).ok_or_else(|| SchemaError::MissingKey { line, place: place.to_owned(), key })
}

fn two<'a, 'i>(array: &'a DeArray<'i>) -> Option<[&'a Value<'i>; 2]> {
    let mut items = array.iter();
    let pair = [items.next()?, items.next()?];
    items.next().is_none().then_some(pair)
}

/// Units of a bound, from its digits as they stand in the file.
pub(super) fn bound_units(value: &DeValue<'_>, kind: ColumnType) -> Option<i128> {
    let read = |text: &str| {
        // A float's bounds must be exact as well: a range is declared, not measured.
        let exact = match kind {
            ColumnType::Float { digits } => ColumnType::Decimal { precision: 38, scale: digits },
            other => other,
        };
        parse_units(exact, text.as_bytes(), DecimalPoint::Dot)
    };
    match value {
        DeValue::Datetime(datetime) => read(&datetime.to_string()),
        DeValue::Float(float) => read(float.as_str()),
        DeValue::Integer(integer) if integer.radix() == 10 => read(integer.as_str()),
        DeValue::String(text) => read(text),
        _ => None,
    }
}

/// Reads a type's name, for instance `decimal(12,2)`. Blanks around numbers are allowed.
pub(super) fn parse_type(text: &str) -> Option<ColumnType> {
    let (name, arguments) = match text.split_once('(') {
        None => (text.trim(), Vec::new()),
        Some((name, rest)) => {
            let numbers = rest.strip_suffix(')')?.split(',').map(|number| number.trim().parse::<u8>());
            (name.trim(), numbers.collect::<Result<_, _>>().ok()?)
        }
    };
    match (name, arguments.as_slice()) {
        ("bool", []) => Some(ColumnType::Bool),
        ("category", []) => Some(ColumnType::Category),
        ("date", []) => Some(ColumnType::Date),
        ("decimal", &[precision, scale]) if (1..=38).contains(&precision) && scale <= precision => {
            Some(ColumnType::Decimal { precision, scale })
        }
        ("float", &[digits]) if digits <= 15 => Some(ColumnType::Float { digits }),
        ("int", &[bits @ (8 | 16 | 32 | 64)]) => Some(ColumnType::Int { bits }),
        ("text", []) => Some(ColumnType::Text),
        ("timestamp", []) => Some(ColumnType::Timestamp),
        _ => None,
    }
}

fn date_format(text: &str) -> Option<DateFormat> {
    const ALL: [DateFormat; 3] =
        [DateFormat::DayMonthYear, DateFormat::MonthDayYear, DateFormat::YearMonthDay];
    ALL.into_iter().find(|format| date_format_name(*format) == text)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
