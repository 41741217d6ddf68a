// SPDX-License-Identifier: Apache-2.0
//! The values of a column for which a comparison with a constant is true, as places in its code.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::filter::code::{Code, Places};
use crate::plan::{Cut, Key};
use crate::run::cuts_of_prefix;
use crate::schema::ColumnType;
use crate::sql::{CalendarPart, bare, column_name, constant_number, constant_units};

pub(super) fn column_of(codes: &[Code], expr: &Expr) -> Option<usize> {
    let name = column_name(bare(expr))?;
    codes.iter().position(|code| code.column == name)
}

/// What a constant is compared with: a column, or a part of its date.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) place: usize,
    part: Option<CalendarPart>,
}

/// Beyond the values of all columns.
const BEYOND: i128 = i128::MAX >> 1;
/// Most days of a column whose parts are looked at one by one.
const MAX_DAYS: u64 = 1 << 17;
/// Most runs of days that have a part: as many sets of flags are added up.
const MAX_RUNS: usize = 64;

impl Operand {
    pub(super) fn of(codes: &[Code], expr: &Expr) -> Option<Self> {
        if let Some(place) = column_of(codes, expr) {
            return Some(Self { place, part: None });
        }
        let (part, name) = CalendarPart::of_column(expr)?;
        let place = codes.iter().position(|code| code.column == name)?;
        Some(Self { place, part: Some(part) })
    }

    /// How many ranges of places a comparison has at most, whatever its constant.
    pub(super) fn most(self, op: &BinaryOperator) -> usize {
        match (self.part, op) {
            // Parts that begin anew go through their values again and again.
            (Some(CalendarPart::Quarter | CalendarPart::Month | CalendarPart::Day), _) => MAX_RUNS,
            (None | Some(CalendarPart::Year | CalendarPart::StartOf { .. }), op) => {
                if *op == BinaryOperator::NotEq { 2 } else { 1 }
            }
        }
    }

    /// The places of the values for which a comparison with a constant is true; `None` for one of another kind.
    pub(super) fn compared(
        self,
        codes: &[Code],
        op: &BinaryOperator,
        constant: &Expr,
    ) -> Option<Vec<Places>> {
        let code = codes.get(self.place)?;
        match self.part {
            None => compared(code, op, constant),
            Some(part) => part_compared(code, part, op, constant),
        }
    }
}

/// The places of the days whose part compares so with a constant.
fn part_compared(
    code: &Code,
    part: CalendarPart,
    op: &BinaryOperator,
    constant: &Expr,
) -> Option<Vec<Places>> {
    if code.kind != ColumnType::Date || !code.has_cells() || code.count() > MAX_DAYS {
        return None;
    }
    let kind = match part {
        CalendarPart::StartOf { .. } => ColumnType::Date,
        _ => ColumnType::Int { bits: 64 },
    };
    let (floor, is_exact) = floor_of(kind, constant)?;
    let is_true = |place: u64| {
        let day = i64::try_from(code.low()).ok()?.checked_add_unsigned(place)?;
        satisfies(op, i128::from(part.of(day)).cmp(&floor), is_exact)
    };
    let mut found: Vec<Places> = Vec::new();
    for place in 0..code.count() {
        if !is_true(place)? {
            continue;
        }
        match found.last_mut() {
            Some((_, last)) if *last + 1 == place => *last = place,
            _ => found.push((place, place)),
        }
    }
    (found.len() <= MAX_RUNS).then_some(found)
}

/// Whether a comparison is true of a value that lies so to the floor of a constant, which may be the constant itself.
fn satisfies(op: &BinaryOperator, to_floor: Ordering, is_exact: bool) -> Option<bool> {
    // Above the floor and below the constant there is nothing.
    let order = if to_floor == Ordering::Equal && !is_exact { Ordering::Less } else { to_floor };
    Some(match op {
        BinaryOperator::Eq => order.is_eq(),
        BinaryOperator::NotEq => order.is_ne(),
        BinaryOperator::Lt => order.is_lt(),
        BinaryOperator::LtEq => order.is_le(),
        BinaryOperator::Gt => order.is_gt(),
        BinaryOperator::GtEq => order.is_ge(),
        _ => return None,
    })
}

/// The place of the value that is equal to a literal; `None` where none is.
pub(in crate::filter) fn place_of(code: &Code, literal: &Expr) -> Option<u64> {
    match compared(code, &BinaryOperator::Eq, literal)?.as_slice() {
        [(first, last)] if first == last => Some(*first),
        _ => None,
    }
}

/// The places of the values for which a comparison with a literal is true; `None` for a literal of another kind.
fn compared(code: &Code, op: &BinaryOperator, literal: &Expr) -> Option<Vec<Places>> {
    let last = code.count() - 1;
    // How many places lie below the literal, and how many at it or below.
    let (below, up_to) = match (code.cuts(), code.is_ordered()) {
        (Some(cuts), _) => {
            let [before, behind] = cuts_around(code.kind, literal)?;
            (places_below(cuts, &before)?, places_below(cuts, &behind)?)
        }
        (None, false) => {
            let place = code.place_of_text(text_of(literal)?);
            let equal = place.map(|place| (place, place)).into_iter().collect();
            return match op {
                BinaryOperator::Eq => Some(equal),
                BinaryOperator::NotEq => Some(others(&equal, last)),
                _ => None,
            };
        }
        (None, true) => {
            let (units, is_exact) = floor_of(code.kind, literal)?;
            let place = units.saturating_sub(code.low());
            let clamped = |count: i128| count.clamp(0, i128::from(last) + 1) as u64;
            let up_to = clamped(place.saturating_add(1));
            (if is_exact { clamped(place) } else { up_to }, up_to)
        }
    };
    let first = |count: u64| if count == 0 { Vec::new() } else { vec![(0, count - 1)] };
    let equal = if below < up_to { vec![(below, up_to - 1)] } else { Vec::new() };
    Some(match op {
        BinaryOperator::Eq => equal,
        BinaryOperator::NotEq => others(&equal, last),
        BinaryOperator::Lt => first(below),
        BinaryOperator::LtEq => first(up_to),
        BinaryOperator::Gt => others(&first(up_to), last),
        BinaryOperator::GtEq => others(&first(below), last),
        _ => return None,
    })
}

/// The places of the texts that match a pattern, of a column by ranks.
pub(super) fn like(code: &Code, pattern: &Expr) -> Option<Vec<Places>> {
    let is_text = matches!(code.kind, ColumnType::Category | ColumnType::Text);
    let cuts = code.cuts().filter(|_| is_text && text_of(pattern).is_some())?;
    let (first, end) = match &*cuts_of_prefix(pattern)? {
        [first] => (places_below(cuts, first)?, code.count()),
        [first, end] => (places_below(cuts, first)?, places_below(cuts, end)?),
        _ => return None,
    };
    Some(vec![(first, end - 1)])
}

/// How many places between cuts lie below one of them.
fn places_below(cuts: &[Cut], cut: &Cut) -> Option<u64> {
    Some(cuts.binary_search(cut).ok()? as u64 + 1)
}

/// The cuts before and behind the values that are equal to a literal; the same where none is. `None` for a literal of another kind.
pub(in crate::filter) fn cuts_around(kind: ColumnType, literal: &Expr) -> Option<[Cut; 2]> {
    let (at, is_exact) = match kind {
        ColumnType::Category | ColumnType::Text => (Key::Text(text_of(literal)?.to_owned()), true),
        _ => {
            let (units, is_exact) = floor_of(kind, literal)?;
            (Key::Number(units), is_exact)
        }
    };
    Some([Cut { at: at.clone(), behind: !is_exact }, Cut { at, behind: true }])
}

/// The greatest value up to a literal, in units, and whether it is the literal.
fn floor_of(kind: ColumnType, literal: &Expr) -> Option<(i128, bool)> {
    if let Some(units) = constant_units(kind, literal) {
        return Some((units, true));
    }
    match (kind, bare(literal)) {
        (ColumnType::Bool, Expr::Value(value)) => match value.value {
            Value::Boolean(value) => Some((i128::from(value), true)),
            _ => None,
        },
        (ColumnType::Int { .. } | ColumnType::Decimal { .. } | ColumnType::Float { .. }, literal) => {
            let own = match kind {
                ColumnType::Decimal { scale, .. } => u32::from(scale),
                ColumnType::Float { digits } => u32::from(digits),
                _ => 0,
            };
            let (value, scale) = constant_number(literal)?;
            let is_negative = value.sign() == Sign::Minus;
            // What no number here has room for lies beyond all values.
            let beyond = if is_negative { -BEYOND } else { BEYOND };
            let Some(less) = scale.checked_sub(own) else { return Some((beyond, false)) };
            let unit = BigInt::from(10).pow(less);
            let mut floor = &value / &unit;
            if is_negative && &floor * &unit != value {
                floor -= 1;
            }
            Some((i128::try_from(floor).map_or(beyond, |floor| floor.clamp(-BEYOND, BEYOND)), false))
        }
        _ => None,
    }
}

/// The text of a literal; `None` for one with quotes in it, which parsers give in their own ways.
pub(crate) fn text_of(literal: &Expr) -> Option<&str> {
    match bare(literal) {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) if !text.contains('\'') => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The places up to the last one that are not among these.
pub(in crate::filter) fn others(places: &[Places], last: u64) -> Vec<Places> {
    let (mut next, mut found) = (0, Vec::new());
    for (first, end) in places {
        if next < *first {
            found.push((next, first - 1));
        }
        next = end + 1;
    }
    if next <= last {
        found.push((next, last));
    }
    found
}
