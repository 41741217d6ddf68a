// SPDX-License-Identifier: Apache-2.0
//! Row-by-row queries, protection known, layouts not yet: what is fetched, what is computed on ciphertexts, what is
//! left to the owner.
//!
//! An output is cut at its outermost parts that are polynomials in numeric columns. Those become programs (in the
//! clear half if all of it is clear), single columns are fetched, and whatever stands around them (division,
//! functions, windows, CASE, comparisons, sorting) is evaluated by the owner after decryption. The cut does not depend on what
//! is encrypted, so that the same query on clear data takes the same path and gives the same result. A program that the
//! server cannot evaluate, for its degree or for want of a layout, is evaluated by the owner on its columns.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use sqlparser::ast::{BinaryOperator, Expr, Function, UnaryOperator};

use crate::error::{Clause, Feature, PlanError, Unfit};
use crate::expr::{Kind, Piece, normalise};
use crate::final_sql::{self, Clauses, Replacement};
use crate::plan::{OutputType, ProgramOutput};
use crate::program::{Operands, Program, Translated, translate};
use crate::quantity::Quantity;
use crate::range::{fits_digits, fits_int64};
use crate::schema::{Column, ColumnType, Protection, Schema};
use crate::sql::clear::{check_clear, encrypted_in, usable};
use crate::sql::number::numeric_literal;
use crate::sql::windows::{retracted, window};
use crate::sql::{Query, bare, column_name, columns_of, quoted, shown};

/// A row-by-row query without its encodings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRow {
    pub(crate) clear: Vec<String>,
    pub(crate) operands: Vec<String>,
    /// Programs for the server.
    pub(crate) programs: Vec<Program>,
    /// Programs for the owner: their columns are in `fetch`, and their clear operands are positions in `clear`.
    pub(crate) owned: Vec<Program>,
    pub(crate) fetch: Vec<Quantity>,
    pub(crate) outputs: Vec<RowOutput>,
    pub(crate) windows: u64,
    pub(crate) final_sql: String,
    pub(crate) limit: Option<u64>,
}

/// One column `p{i}` of the merged rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowOutput {
    pub(crate) source: Source,
    /// Positions in `fetch`.
    pub(crate) valid_if: Vec<usize>,
    /// Positions in `clear`.
    pub(crate) not_null: Vec<usize>,
    pub(crate) scale: u8,
    pub(crate) output: ProgramOutput,
}

/// The source of an output's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Clear(usize),
    Fetched(usize),
    /// By the owner: position in [`ByRow::owned`].
    Owned(usize),
    Program(usize),
}

/// Cuts a row-by-row query; `serves` says whether the server is to evaluate a program.
///
/// # Errors
/// Codes P010, P011, P014, P015, P017 and P024.
pub(crate) fn compile(
    schema: &Schema,
    query: &Query,
    serves: &dyn Fn(&Program) -> bool,
) -> Result<ByRow, PlanError> {
    if let Some(filter) = &query.filter {
        check_clear(schema, filter, Clause::Where)?;
    }
    let mut builder =
        Builder { schema, serves, seen: Vec::new(), operands: Operands::default(), plan: ByRow::empty() };
    let items = query.items.iter().map(|item| builder.finish(&item.expr, Clause::Select));
    let items = items.collect::<Result<_, _>>()?;
    let order = query.order.iter().map(|key| builder.finish(&key.expr, Clause::OrderBy));
    let order = order.collect::<Result<_, _>>()?;
    let Builder { operands, mut plan, .. } = builder;
    let clauses = Clauses { items, having: None, order, ties: vec![quoted("row")] };
    plan.final_sql = final_sql::assemble(query, &clauses);
    plan.operands = operands.0;
    plan.windows = query.windows();
    // Windows look at every row that matches, whatever is kept of them.
    if query.order.is_empty() && plan.windows == 0 {
        plan.limit = query.limit.map(|limit| limit.saturating_add(query.offset));
    }
    Ok(plan)
}

impl ByRow {
    fn empty() -> Self {
        Self {
            clear: Vec::new(),
            operands: Vec::new(),
            programs: Vec::new(),
            owned: Vec::new(),
            fetch: Vec::new(),
            outputs: Vec::new(),
            windows: 0,
            final_sql: String::new(),
            limit: None,
        }
    }
}

struct Builder<'a> {
    schema: &'a Schema,
    serves: &'a dyn Fn(&Program) -> bool,
    /// Expressions that already have an output, with its index.
    seen: Vec<(Expr, usize)>,
    operands: Operands,
    plan: ByRow,
}

impl Builder<'_> {
    fn finish(&mut self, expr: &Expr, clause: Clause) -> Result<String, PlanError> {
        final_sql::rewrite(expr, &mut |expr| self.part(expr, clause))
    }

    /// The column of the merged table that takes the place of `expr`, if it is to be taken as one part.
    fn part(&mut self, expr: &Expr, clause: Clause) -> Result<Option<Replacement>, PlanError> {
        if let Some(name) = column_name(expr) {
            let column = usable(self.schema, name, clause)?;
            return self.column(expr, column).map(Some);
        }
        if let Some(call) = window(expr) {
            self.check_moving(call, clause)?;
        }
        if !self.is_arithmetic(expr, clause)? {
            return Ok(None);
        }
        if let Some(index) = self.seen_index(expr) {
            return Ok(Some(self.replacement(index)));
        }
        match self.computed(expr) {
            Ok(output) => Ok(Some(self.add(expr, output))),
            // The owner computes what slots cannot: floats, for instance.
            Err(
                PlanError::WrongType { .. } | PlanError::NoBound { .. } | PlanError::NotPolynomial { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether `expr` is `+ - *` over at least one column and otherwise numbers.
    fn is_arithmetic(&self, expr: &Expr, clause: Clause) -> Result<bool, PlanError> {
        let is_operation = matches!(
            bare(expr),
            Expr::BinaryOp {
                op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply,
                ..
            } | Expr::UnaryOp { op: UnaryOperator::Minus, .. }
        );
        let names = columns_of(expr);
        for name in &names {
            usable(self.schema, name, clause)?;
        }
        Ok(is_operation && !names.is_empty() && is_polynomial(expr))
    }

    /// A frame that moves gives up what leaves it: right for exact numbers alone.
    fn check_moving(&self, call: &Function, clause: Clause) -> Result<(), PlanError> {
        let Some(argument) = retracted(call) else { return Ok(()) };
        let mut is_exact = is_polynomial(argument);
        for name in columns_of(argument) {
            let column = usable(self.schema, &name, clause)?;
            let is_float = matches!(column.kind, ColumnType::Float { .. });
            is_exact &= !is_float || column.protect == Protection::Encrypt && !column.is_approximate();
        }
        let feature = Feature::MovingDoubles;
        if is_exact { Ok(()) } else { Err(PlanError::Unsupported { clause, feature }) }
    }

    fn seen_index(&self, expr: &Expr) -> Option<usize> {
        self.seen.iter().find(|(seen, _)| bare(seen) == bare(expr)).map(|(_, index)| *index)
    }

    fn add(&mut self, expr: &Expr, output: RowOutput) -> Replacement {
        let index = self.plan.outputs.len();
        self.plan.outputs.push(output);
        self.seen.push((expr.clone(), index));
        self.replacement(index)
    }

    fn replacement(&self, index: usize) -> Replacement {
        let output = self.plan.outputs.get(index).map(|output| output.output);
        let is_int = output == Some(ProgramOutput::Number(OutputType::Int));
        Replacement { column: format!("p{index}"), is_int }
    }

    /// A column selected alone. Clear ones have the type that the same column would have after decryption.
    fn column(&mut self, expr: &Expr, column: &Column) -> Result<Replacement, PlanError> {
        if column.protect == Protection::Clear {
            let name = quoted(&column.name);
            let (sql, is_int) = match column.kind {
                ColumnType::Int { .. } => (format!("CAST({name} AS BIGINT)"), true),
                ColumnType::Decimal { scale, .. } => (format!("CAST({name} AS DECIMAL(38,{scale}))"), false),
                ColumnType::Float { .. } => (format!("CAST({name} AS DOUBLE)"), false),
                _ => (name, false),
            };
            return Ok(Replacement { column: format!("c{}", self.clear(sql)), is_int });
        }
        if let Some(index) = self.seen_index(expr) {
            return Ok(self.replacement(index));
        }
        let scale = column.scale();
        let output = match column.kind {
            ColumnType::Bool => ProgramOutput::Bool,
            ColumnType::Category | ColumnType::Text => {
                return Err(PlanError::WrongType { text: shown(expr), reason: Unfit::Text });
            }
            ColumnType::Date => ProgramOutput::Date,
            ColumnType::Float { .. } if column.is_approximate() => ProgramOutput::Number(OutputType::Float),
            ColumnType::Decimal { .. } | ColumnType::Float { .. } => {
                ProgramOutput::Number(OutputType::Decimal { scale: narrow(scale), wide: false })
            }
            ColumnType::Int { .. } => ProgramOutput::Number(OutputType::Int),
            ColumnType::Timestamp => ProgramOutput::Timestamp,
        };
        let valid = column.nullable.then(|| Quantity::Valid(column.name.clone()));
        let output = RowOutput {
            source: Source::Fetched(self.fetch(Quantity::Value(column.name.clone()))),
            valid_if: valid.map(|quantity| self.fetch(quantity)).into_iter().collect(),
            not_null: Vec::new(),
            scale: narrow(scale),
            output,
        };
        Ok(self.add(expr, output))
    }

    /// A polynomial: on ciphertexts, or by the owner, if any column is encrypted, else in exact decimals by the server's
    /// engine.
    fn computed(&mut self, expr: &Expr) -> Result<RowOutput, PlanError> {
        if encrypted_in(self.schema, expr, Clause::Select)?.is_none() {
            let pieces = normalise(self.schema, expr)?;
            let (output, scale) = output_of(&pieces, expr)?;
            let [piece] = pieces.as_slice() else { return Err(not_a_number(expr)) };
            let units = piece.clear_weight().ok_or_else(|| not_a_number(expr))?.into_units();
            let width = units.width().ok_or_else(|| too_wide(expr))?;
            let not_null = self.not_null(&piece.not_null);
            let source = Source::Clear(self.clear(units.render(width)));
            return Ok(RowOutput { source, valid_if: Vec::new(), not_null, scale, output });
        }
        let mut operands = self.operands.clone();
        let Translated { program, may_miss, not_null, .. } = translate(self.schema, expr, &mut operands)?;
        let (output, scale) = if program.approximate {
            (ProgramOutput::Number(OutputType::Float), 0)
        } else {
            // As it would be with every column clear, so that both ways give one type.
            let pieces = normalise(&self.schema.all_clear(), expr)?;
            let (output, scale) = output_of(&pieces, expr)?;
            // Terms that cancelled took their digits with them; the program still computes with these.
            match program.scale.checked_sub(u32::from(scale)) {
                Some(0) => (output, scale),
                shift => {
                    let units = bound_of(&pieces, expr)? * BigInt::from(10).pow(shift.unwrap_or(0));
                    let scale = narrow(program.scale);
                    (ProgramOutput::Number(decimal(&units, scale, expr)?), scale)
                }
            }
        };
        let valid_if = may_miss.into_iter().map(|name| self.fetch(Quantity::Valid(name))).collect();
        let not_null = self.not_null(&not_null);
        let source = if (self.serves)(&program) {
            self.operands = operands;
            self.plan.programs.push(program);
            Source::Program(self.plan.programs.len() - 1)
        } else {
            self.owned(program, &operands)
        };
        Ok(RowOutput { source, valid_if, not_null, scale, output })
    }

    fn owned(&mut self, mut program: Program, operands: &Operands) -> Source {
        for name in &program.columns {
            self.fetch(Quantity::Value(name.clone()));
        }
        let places: Vec<usize> = operands.0.iter().map(|sql| self.clear(sql.clone())).collect();
        program.node.move_operands(&places);
        self.plan.owned.push(program);
        Source::Owned(self.plan.owned.len() - 1)
    }

    fn not_null(&mut self, expressions: &BTreeSet<String>) -> Vec<usize> {
        expressions.iter().map(|sql| self.clear(sql.clone())).collect()
    }

    fn clear(&mut self, sql: String) -> usize {
        position_or_push(&mut self.plan.clear, sql)
    }

    fn fetch(&mut self, quantity: Quantity) -> usize {
        position_or_push(&mut self.plan.fetch, quantity)
    }
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|present| *present == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

fn is_polynomial(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_polynomial(inner),
        Expr::Identifier(_) | Expr::TypedString(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Plus | UnaryOperator::Minus, expr } => is_polynomial(expr),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply,
            right,
        } => is_polynomial(left) && is_polynomial(right),
        Expr::Value(_) => numeric_literal(expr).is_some(),
        _ => false,
    }
}

/// Type and scale of an exact polynomial, from its range over clear columns.
fn output_of(pieces: &[Piece], expr: &Expr) -> Result<(ProgramOutput, u8), PlanError> {
    let [piece] = pieces else { return Err(not_a_number(expr)) };
    let weight = piece.clear_weight().ok_or_else(|| not_a_number(expr))?;
    let bound = bound_of(pieces, expr)?;
    let scale = narrow(weight.scale);
    let number =
        if scale == 0 && fits_int64(&bound) { OutputType::Int } else { decimal(&bound, scale, expr)? };
    match piece.kind {
        Kind::Number => Ok((ProgramOutput::Number(number), scale)),
        Kind::Date => Ok((ProgramOutput::Date, 0)),
        Kind::Timestamp => Err(PlanError::WrongType { text: shown(expr), reason: Unfit::DateArithmetic }),
    }
}

/// Largest absolute value of an exact polynomial, in units.
fn bound_of(pieces: &[Piece], expr: &Expr) -> Result<BigInt, PlanError> {
    let [piece] = pieces else { return Err(not_a_number(expr)) };
    Ok(piece.clear_weight().ok_or_else(|| not_a_number(expr))?.range().max_abs())
}

/// The narrowest decimal for so many units.
fn decimal(bound: &BigInt, scale: u8, expr: &Expr) -> Result<OutputType, PlanError> {
    let wide = [false, true].into_iter().find(|wide| fits_digits(bound, if *wide { 76 } else { 38 }));
    Ok(OutputType::Decimal { scale, wide: wide.ok_or_else(|| too_wide(expr))? })
}

fn not_a_number(expr: &Expr) -> PlanError {
    PlanError::WrongType { text: shown(expr), reason: Unfit::NotANumber }
}

fn too_wide(expr: &Expr) -> PlanError {
    PlanError::WrongType { text: shown(expr), reason: Unfit::TooWide }
}

/// Scales are at most [`crate::sql::number::MAX_SCALE`].
fn narrow(scale: u32) -> u8 {
    u8::try_from(scale).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
