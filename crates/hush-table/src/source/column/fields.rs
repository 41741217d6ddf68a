// SPDX-License-Identifier: Apache-2.0
//! A column of CSV at a time: numbers as most files have them in a loop of their own, everything else field by field.

use arrow::array::ArrayBuilder;
use hush_plan::schema::ColumnType;

use super::{ColumnBuilder, NullTokens, Place, Store};
use crate::short_number::{FixedPoint, ShortNumber};
use crate::source::grid::Grid;

impl ColumnBuilder {
    /// Adds the fields of a column of all rows.
    pub(in super::super) fn push_column(&mut self, grid: &Grid<'_>, column: usize) {
        let (mut fields, before) = (grid.fields(column), self.rows);
        loop {
            let odd = match self.run() {
                Run::Fields => fields.next(),
                Run::Numbers(run) => self.push_numbers(run, grid, &mut fields),
                Run::Texts => self.push_texts(grid, &mut fields),
            };
            let Some(field) = odd else { return };
            let row = self.rows - before;
            self.push_field(&grid.field(field), || Place::Line(grid.line(row)));
        }
    }

    fn run(&self) -> Run {
        let scale = match (&self.store, self.read_as) {
            (Store::Text(_), _) => return Run::Texts,
            (Store::I64(_), ColumnType::Int { .. }) => 0,
            (Store::I64(_), ColumnType::Decimal { scale, .. }) => scale,
            _ => return Run::Fields,
        };
        let numbers = |form| Run::Numbers(NumberRun { form, null_lengths: self.nulls.lengths_of_numbers() });
        FixedPoint::new(scale).map_or(Run::Fields, numbers)
    }

    /// Adds numbers up to a field that is none of those, which it returns.
    fn push_numbers(
        &mut self,
        run: NumberRun,
        grid: &Grid<'_>,
        fields: &mut impl Iterator<Item = (usize, usize)>,
    ) -> Option<(usize, usize)> {
        let Store::I64(values) = &mut self.store else { return fields.next() };
        let bytes = grid.bytes();
        let odd = fields.find(|(start, end)| {
            let units = run.form.read(bytes, *start, *end).filter(|units| {
                let can_be_null = run.null_lengths >> (end - start).min(63) & 1 == 1;
                (self.inside.0..=self.inside.1).contains(units) && !can_be_null
            });
            units.map(|units| values.push(units)).is_none()
        });
        self.rows = values.len();
        if let Some(valid) = &mut self.valid {
            valid.resize(self.rows, true);
        }
        odd
    }

    /// Adds texts up to one that may be missing or is not UTF-8, which it returns.
    fn push_texts(
        &mut self,
        grid: &Grid<'_>,
        fields: &mut impl Iterator<Item = (usize, usize)>,
    ) -> Option<(usize, usize)> {
        let Store::Text(builder) = &mut self.store else { return fields.next() };
        let odd = fields.find(|field| {
            let text = grid.text(*field).filter(|text| !self.nulls.contains(text.as_bytes()));
            text.map(|text| builder.append_value(text)).is_none()
        });
        self.rows = builder.len();
        if let Some(valid) = &mut self.valid {
            valid.resize(self.rows, true);
        }
        odd
    }
}

/// How a column of fields is read.
enum Run {
    /// Field by field.
    Fields,
    Numbers(NumberRun),
    Texts,
}

#[derive(Clone, Copy)]
struct NumberRun {
    form: FixedPoint,
    /// Lengths of numbers that mean a missing value.
    null_lengths: u64,
}

impl NullTokens {
    /// Bit `l` is set if a token that could be read as a number has `l` bytes (63 for longer ones).
    fn lengths_of_numbers(&self) -> u64 {
        let numbers =
            self.tokens.iter().filter(|token| ShortNumber::read(token).is_some() || token.len() > 18);
        numbers.fold(0, |bits, token| bits | 1u64 << token.len().min(63))
    }
}
