// SPDX-License-Identifier: Apache-2.0
//! One column of a typed pass: cells in, checked units or an Arrow array out.

mod arrays;
mod fields;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringBuilder,
    TimestampMicrosecondArray,
};
use arrow::buffer::NullBuffer;
use hush_plan::schema::units::{
    DecimalPoint, Number, censored_bound, column_bounds, parse_bool, parse_date, parse_timestamp,
    parse_units, scan_number, type_bounds,
};
use hush_plan::schema::{Column, ColumnType, UnitRange, file::type_name};

use super::cells::Cell;
use super::{CHUNK_ROWS, ColumnData, Place, ReadAs, SourceError, TypedColumn, Values};
use crate::short_number::ShortNumber;

/// Texts that mean a missing value, found quickly.
#[derive(Clone)]
pub(crate) struct NullTokens {
    /// Bit `l` is set if a token has `l` bytes (63 for longer ones).
    lengths: u64,
    tokens: Vec<Box<[u8]>>,
}

impl NullTokens {
    pub(crate) fn new(tokens: &[String]) -> Self {
        let lengths = tokens.iter().fold(0, |bits, token| bits | 1u64 << token.len().min(63));
        Self { lengths, tokens: tokens.iter().map(|token| token.as_bytes().into()).collect() }
    }

    /// Whether no text means a missing value.
    fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    #[inline]
    pub(crate) fn contains(&self, text: &[u8]) -> bool {
        self.lengths >> text.len().min(63) & 1 == 1 && self.tokens.iter().any(|token| **token == *text)
    }
}

/// Collects one column of one chunk.
pub(super) struct ColumnBuilder {
    column: Column,
    /// The type whose values are read: of a decimal that is rounded, the float of as many digits.
    read_as: ColumnType,
    wanted: ReadAs,
    bounds: UnitRange,
    of_type: UnitRange,
    /// Units of 64 bits that are inside both. The largest integer never is: it stands for what is none.
    inside: (i64, i64),
    point: DecimalPoint,
    nulls: NullTokens,
    store: Store,
    valid: Option<Vec<bool>>,
    rows: usize,
    faults: [Option<Fault>; FAULTS],
    rendered: Vec<u8>,
}

enum Store {
    F64(Vec<f64>),
    I128(Vec<i128>),
    I64(Vec<i64>),
    Text(StringBuilder),
}

impl Store {
    /// An empty store of the same kind with room for `rows` numbers.
    fn another(&self, rows: usize) -> Self {
        match self {
            Self::F64(_) => Self::F64(Vec::with_capacity(rows)),
            Self::I128(_) => Self::I128(Vec::with_capacity(rows)),
            Self::I64(_) => Self::I64(Vec::with_capacity(rows)),
            Self::Text(_) => Self::Text(StringBuilder::new()),
        }
    }
}

/// The first fault of a kind in a chunk, and how many there are.
#[derive(Clone, Copy)]
struct Fault {
    first: Place,
    count: u64,
}

const ANY: UnitRange = UnitRange { low: i128::MIN, high: i128::MAX };

/// Stands for a value that 64 bits do not hold.
const NO_UNITS: i64 = i64::MAX;

const MISSING: usize = 0;
const WRONG_TYPE: usize = 1;
const OUT_OF_RANGE: usize = 2;
const NOT_UTF8: usize = 3;
const FAULTS: usize = 4;

impl ColumnBuilder {
    /// A builder for `column`, where the texts `nulls` mean a missing value.
    ///
    /// # Errors
    /// [`SourceError::NotUnits`] if integers are wanted of a text.
    pub(super) fn new(
        column: &Column,
        wanted: ReadAs,
        point: DecimalPoint,
        nulls: NullTokens,
    ) -> Result<Self, SourceError> {
        let is_text = matches!(column.kind, ColumnType::Category | ColumnType::Text);
        if is_text && wanted == ReadAs::Units {
            return Err(SourceError::NotUnits { column: column.name.clone(), kind: type_name(column.kind) });
        }
        let bounds = column_bounds(column);
        let read_as = match column.kind {
            ColumnType::Decimal { scale, .. } if column.written.rounded => {
                ColumnType::Float { digits: scale }
            }
            kind => kind,
        };
        let is_float = matches!(column.kind, ColumnType::Float { .. });
        let store = match bounds {
            _ if is_text => Store::Text(StringBuilder::new()),
            _ if is_float && wanted == ReadAs::Array => Store::F64(Vec::new()),
            None => Store::F64(Vec::new()),
            Some(bounds) if fits_64_bits(bounds) => Store::I64(Vec::new()),
            Some(_) => Store::I128(Vec::new()),
        };
        let (bounds, of_type) = (bounds.unwrap_or(ANY), type_bounds(column.kind).unwrap_or(ANY));
        let low = i64::try_from(bounds.low.max(of_type.low)).unwrap_or(i64::MIN);
        let high = i64::try_from(bounds.high.min(of_type.high)).unwrap_or(i64::MAX);
        Ok(Self {
            column: column.clone(),
            read_as,
            wanted,
            bounds,
            of_type,
            inside: (low, high.min(NO_UNITS - 1)),
            point,
            nulls,
            store,
            valid: None,
            rows: 0,
            faults: [None; FAULTS],
            rendered: Vec::new(),
        })
    }

    /// An empty builder of the same column.
    pub(super) fn another(&self) -> Self {
        Self {
            column: self.column.clone(),
            nulls: self.nulls.clone(),
            store: self.store.another(CHUNK_ROWS),
            valid: None,
            rows: 0,
            faults: [None; FAULTS],
            rendered: Vec::new(),
            ..*self
        }
    }

    /// Bytes of the texts collected; 0 of other columns.
    pub(super) fn text_bytes(&self) -> usize {
        match &self.store {
            Store::Text(builder) => builder.values_slice().len(),
            Store::F64(_) | Store::I128(_) | Store::I64(_) => 0,
        }
    }

    /// Rows collected.
    #[cfg(test)]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a CSV field. Blanks around all but texts are ignored.
    #[inline]
    pub(super) fn push_field(&mut self, field: &[u8], place: impl Fn() -> Place) {
        if let Store::Text(builder) = &mut self.store {
            if self.nulls.contains(field) {
                self.push_missing(place);
            } else if let Ok(text) = std::str::from_utf8(field) {
                builder.append_value(text);
                self.rows += 1;
                self.mark_valid();
            } else {
                self.push_fault(NOT_UTF8, place);
            }
            return;
        }
        let field = trim(field);
        if self.nulls.contains(field) {
            return self.push_missing(place);
        }
        if let Store::I64(_) = self.store
            && let Some(units) = self.quick(field)
            && (self.inside.0..=self.inside.1).contains(&units)
            && let Store::I64(values) = &mut self.store
        {
            values.push(units);
            self.rows += 1;
            return self.mark_valid();
        }
        self.push_parsed(field, place);
    }

    /// Adds a cell of a typed file.
    pub(super) fn push_cell(&mut self, cell: Option<Cell<'_>>, place: impl Fn() -> Place) {
        let cell = match (cell, self.read_as) {
            (None, _) => return self.push_missing(place),
            // Every single is a double: the exact value, not that of its shortest text.
            (Some(Cell::Single(value)), ColumnType::Float { .. }) => Cell::Double(value.into()),
            (Some(cell), _) => cell,
        };
        let plain = |units: i128| Number::from_integer(units, 0);
        let number = match (cell, self.read_as) {
            (Cell::Text(text), _) => return self.push_field(text.as_bytes(), place),
            (Cell::Bool(value), ColumnType::Bool) => return self.push_units(i128::from(value), place),
            (Cell::Date(days), ColumnType::Date) => return self.push_units(i128::from(days), place),
            (Cell::Timestamp(micros), ColumnType::Timestamp) => {
                return self.push_units(i128::from(micros), place);
            }
            (Cell::Double(value), _) if matches!(self.store, Store::F64(_)) => {
                return self.push_float(value, place);
            }
            (Cell::Integer(value), ColumnType::Int { .. }) => {
                return if self.in_type(value) {
                    self.push_units(value, place)
                } else {
                    self.push_fault(WRONG_TYPE, place)
                };
            }
            (Cell::Integer(value), ColumnType::Decimal { .. }) => plain(value),
            (Cell::Decimal { value, scale }, ColumnType::Decimal { .. } | ColumnType::Int { .. }) => {
                Number::from_integer(value, scale)
            }
            _ => {
                let mut rendered = std::mem::take(&mut self.rendered);
                rendered.clear();
                cell.render(&mut rendered);
                self.push_rendered(&rendered, place);
                self.rendered = rendered;
                return;
            }
        };
        let scale = if let ColumnType::Decimal { scale, .. } = self.read_as { scale } else { 0 };
        match number.units_exact(scale).filter(|units| self.in_type(*units)) {
            Some(units) => self.push_units(units, place),
            None => self.push_fault(WRONG_TYPE, place),
        }
    }

    /// A cell of another type than the column's, by way of its text.
    fn push_rendered(&mut self, text: &[u8], place: impl Fn() -> Place) {
        if let (Store::Text(builder), Ok(text)) = (&mut self.store, std::str::from_utf8(text)) {
            builder.append_value(text);
            self.rows += 1;
            self.mark_valid();
        } else {
            self.push_parsed(text, place);
        }
    }

    /// Fast paths for what nearly every field looks like; `None` sends it the careful way.
    #[inline]
    fn quick(&self, field: &[u8]) -> Option<i64> {
        match self.read_as {
            ColumnType::Bool => parse_bool(field).map(i64::from),
            ColumnType::Date => parse_date(field, self.column.written.date_format),
            ColumnType::Decimal { scale, .. } => short_units(field, scale),
            ColumnType::Int { .. } => short_units(field, 0),
            ColumnType::Timestamp => parse_timestamp(field, self.column.written.date_format),
            ColumnType::Category | ColumnType::Float { .. } | ColumnType::Text => None,
        }
    }

    #[inline]
    fn in_type(&self, units: i128) -> bool {
        self.of_type.low <= units && units <= self.of_type.high
    }

    fn push_parsed(&mut self, field: &[u8], place: impl Fn() -> Place) {
        let field = censored_bound(field).filter(|_| self.column.written.censored).unwrap_or(field);
        if let Store::F64(_) = self.store {
            let exact = || scan_number(field, self.point).and_then(|_| parse_float(field));
            return match short_float(field).or_else(exact) {
                Some(value) => self.push_float(value, place),
                None => self.push_fault(WRONG_TYPE, place),
            };
        }
        let format = self.column.written.date_format;
        let units = match self.read_as {
            ColumnType::Date => parse_date(field, format).map(i128::from),
            ColumnType::Timestamp => parse_timestamp(field, format).map(i128::from),
            kind => parse_units(kind, field, self.point),
        };
        match units {
            Some(units) => self.push_units(units, place),
            None => self.push_fault(WRONG_TYPE, place),
        }
    }

    #[inline]
    fn push_units(&mut self, units: i128, place: impl Fn() -> Place) {
        if units < self.bounds.low || units > self.bounds.high {
            return self.push_fault(OUT_OF_RANGE, place);
        }
        match &mut self.store {
            Store::I128(values) => values.push(units),
            // Inside the bounds, which fit.
            Store::I64(values) => values.push(units as i64),
            Store::F64(_) | Store::Text(_) => return self.push_fault(WRONG_TYPE, place),
        }
        self.rows += 1;
        self.mark_valid();
    }

    fn push_float(&mut self, value: f64, place: impl Fn() -> Place) {
        if !value.is_finite() {
            return self.push_fault(WRONG_TYPE, place);
        }
        if let Store::F64(values) = &mut self.store {
            values.push(value);
            self.rows += 1;
            self.mark_valid();
        }
    }

    #[inline]
    fn mark_valid(&mut self) {
        if let Some(valid) = &mut self.valid {
            valid.push(true);
        }
    }

    #[inline]
    fn push_missing(&mut self, place: impl Fn() -> Place) {
        if !self.column.nullable {
            return self.push_fault(MISSING, place);
        }
        self.push_nothing();
    }

    #[cold]
    fn push_fault(&mut self, kind: usize, place: impl Fn() -> Place) {
        if let Some(slot) = self.faults.get_mut(kind) {
            slot.get_or_insert_with(|| Fault { first: place(), count: 0 }).count += 1;
        }
        self.push_nothing();
    }

    /// A missing value: 0 in units.
    fn push_nothing(&mut self) {
        let rows = self.rows;
        self.valid.get_or_insert_with(|| vec![true; rows]).push(false);
        match &mut self.store {
            Store::F64(values) => values.push(0.0),
            Store::I128(values) => values.push(0),
            Store::I64(values) => values.push(0),
            Store::Text(builder) => builder.append_null(),
        }
        self.rows += 1;
    }

    /// The earliest fault of the chunk, if there is one.
    pub(super) fn fault(&self) -> Option<(Place, SourceError)> {
        let (kind, fault) = self
            .faults
            .iter()
            .enumerate()
            .filter_map(|(kind, fault)| fault.map(|fault| (kind, fault)))
            .min_by_key(|(_, fault)| fault.first)?;
        let (place, more, column) = (fault.first, fault.count - 1, self.column.name.clone());
        let error = match kind {
            MISSING => SourceError::Missing { place, column, more },
            OUT_OF_RANGE => SourceError::OutOfRange { place, column, more },
            NOT_UTF8 => SourceError::NotUtf8 { place, column, more },
            _ => SourceError::WrongType { place, column, expected: type_name(self.column.kind), more },
        };
        Some((place, error))
    }

    /// The collected chunk; the builder starts the next one.
    pub(super) fn take(&mut self) -> ColumnData {
        self.rows = 0;
        let valid = self.valid.take();
        let next = self.store.another(CHUNK_ROWS);
        let values = match std::mem::replace(&mut self.store, next) {
            Store::F64(values) => Values::F64(values),
            Store::I128(values) => Values::I128(values),
            Store::I64(values) => Values::I64(values),
            Store::Text(mut builder) => return ColumnData::Array(Arc::new(builder.finish())),
        };
        match self.wanted {
            ReadAs::Array => ColumnData::Array(array(values, valid, self.column.kind)),
            ReadAs::Skip | ReadAs::Units => ColumnData::Units(TypedColumn { values, valid }),
        }
    }
}

/// An Arrow array of the column's type.
pub(super) fn array(values: Values, valid: Option<Vec<bool>>, kind: ColumnType) -> ArrayRef {
    let nulls = valid.map(NullBuffer::from);
    let wide = |values: Values| match values {
        Values::F64(_) => Vec::new(),
        Values::I128(values) => values,
        Values::I64(values) => values.into_iter().map(i128::from).collect(),
    };
    // Units of these types are inside their 64-bit (or, for dates, 32-bit) bounds.
    let narrow = |values: Values| match values {
        Values::F64(_) => Vec::new(),
        Values::I128(values) => values.into_iter().map(|value| value as i64).collect(),
        Values::I64(values) => values,
    };
    match (kind, values) {
        (_, Values::F64(values)) => Arc::new(Float64Array::new(values.into(), nulls)),
        (ColumnType::Bool, values) => {
            let bits = narrow(values).into_iter().map(|value| value != 0).collect::<Vec<_>>();
            Arc::new(BooleanArray::new(bits.into(), nulls))
        }
        (ColumnType::Date, values) => {
            let days = narrow(values).into_iter().map(|value| value as i32).collect::<Vec<_>>();
            Arc::new(Date32Array::new(days.into(), nulls))
        }
        (ColumnType::Decimal { precision, scale }, values) => {
            let kind = arrow::datatypes::DataType::Decimal128(precision, scale.cast_signed());
            Arc::new(Decimal128Array::new(wide(values).into(), nulls).with_data_type(kind))
        }
        (ColumnType::Timestamp, values) => {
            Arc::new(TimestampMicrosecondArray::new(narrow(values).into(), nulls))
        }
        (_, values) => Arc::new(Int64Array::new(narrow(values).into(), nulls)),
    }
}

fn fits_64_bits(bounds: UnitRange) -> bool {
    i64::try_from(bounds.low).is_ok() && i64::try_from(bounds.high).is_ok()
}

#[inline]
fn trim(field: &[u8]) -> &[u8] {
    match field {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => field.trim_ascii(),
        _ => field,
    }
}

/// Units of a number of at most 18 digits; `None` for anything else, right or wrong.
#[inline]
fn short_units(field: &[u8], scale: u8) -> Option<i64> {
    ShortNumber::read(field)?.units(scale)
}

/// The float nearest to a number of few digits: one division of two integers that floats hold. `None` for others, and for zeros, which
/// have signs.
fn short_float(field: &[u8]) -> Option<f64> {
    const EXACT: u64 = 1 << 53;
    let number =
        ShortNumber::read(field).filter(|number| (1..=EXACT).contains(&number.value.unsigned_abs()))?;
    let power = 10u64.checked_pow(number.fraction_digits.into())?;
    // At most 18 digits stand after the point: 10^18 is 5^18 (42 bits) times a power of two.
    Some(number.value as f64 / power as f64)
}

/// A number that [`scan_number`] accepts, as the nearest float.
fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = if text.contains(',') { text.replace(',', ".").parse() } else { text.parse() }.ok()?;
    value.is_finite().then_some(value)
}
