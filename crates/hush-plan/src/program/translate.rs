// SPDX-License-Identifier: Apache-2.0
//! SQL arithmetic to programs. The tree is kept as typed (`y*(x+z)` stays one product), unlike in aggregates.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_traits::{One, Signed};
use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator};

use super::{Node, Program, SLOT_FACTORS};
use crate::error::{Clause, PlanError, Unfit};
use crate::expr::{Kind, MAX_FACTORS, Weight, Width, normalise};
use crate::quantity::value_bound;
use crate::range::power_of_ten;
use crate::schema::{ColumnType, Schema};
use crate::sql::clear::{encrypted_in, usable};
use crate::sql::number::{MAX_SCALE, numeric_literal};
use crate::sql::{bare, column_name, shown};

/// Clear operands of the programs of one query, without duplicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operands(pub(crate) Vec<String>);

impl Operands {
    fn index(&mut self, sql: String) -> usize {
        self.0.iter().position(|present| *present == sql).unwrap_or_else(|| {
            self.0.push(sql);
            self.0.len() - 1
        })
    }
}

/// A program with what can make its result NULL.
#[derive(Clone, Debug)]
pub(crate) struct Translated {
    pub(crate) program: Program,
    pub(crate) kind: Kind,
    /// Encrypted columns that may be missing.
    pub(crate) may_miss: BTreeSet<String>,
    /// Clear expressions that must not be NULL.
    pub(crate) not_null: BTreeSet<String>,
}

/// Translates an expression that holds at least one encrypted column.
///
/// # Errors
/// [`PlanError::WrongType`], [`PlanError::NoBound`] and [`PlanError::NotPolynomial`] where only the owner can compute
/// it; [`PlanError::TooManyFactors`] and [`PlanError::MixedArithmetic`].
pub(crate) fn translate(
    schema: &Schema,
    expr: &Expr,
    operands: &mut Operands,
) -> Result<Translated, PlanError> {
    let approximate = arithmetic(schema, expr)?;
    let mut translator = Translator { schema, operands, approximate, whole: expr };
    match translator.value(expr)? {
        Value::Clear(_) => Err(PlanError::WrongType { text: shown(expr), reason: Unfit::NotANumber }),
        Value::Encrypted(translated) => Ok(translated),
    }
}

/// Whether the encrypted columns are approximate (`true`) or exact; both is refused.
fn arithmetic(schema: &Schema, expr: &Expr) -> Result<bool, PlanError> {
    let (mut exact, mut approximate) = (None, None);
    for name in crate::sql::columns_of(expr) {
        let column = usable(schema, &name, Clause::Select)?;
        if column.protect == crate::schema::Protection::Encrypt {
            let slot = if column.is_approximate() { &mut approximate } else { &mut exact };
            slot.get_or_insert(name);
        }
    }
    match (exact, approximate) {
        (Some(exact), Some(approximate)) => {
            Err(PlanError::MixedArithmetic { text: shown(expr), exact, approximate })
        }
        (_, approximate) => Ok(approximate.is_some()),
    }
}

/// A clear number that is not yet an operand: its scale may still change.
struct ClearValue {
    form: ClearForm,
    kind: Kind,
    not_null: BTreeSet<String>,
}

enum ClearForm {
    /// Literal of an approximate program.
    Decimal(BigInt, u32),
    /// SQL of type DOUBLE, of an approximate program.
    Double(String),
    Exact(Weight),
}

enum Value {
    Clear(ClearValue),
    Encrypted(Translated),
}

struct Translator<'a> {
    schema: &'a Schema,
    operands: &'a mut Operands,
    approximate: bool,
    whole: &'a Expr,
}

impl Translator<'_> {
    fn value(&mut self, expr: &Expr) -> Result<Value, PlanError> {
        let Some(column) = encrypted_in(self.schema, expr, Clause::Select)? else {
            return self.clear(expr).map(Value::Clear);
        };
        let unfit =
            |reason| Err(PlanError::NotPolynomial { text: shown(expr), column: column.name.clone(), reason });
        match expr {
            Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => self.value(inner),
            Expr::Identifier(_) => self.column(expr).map(Value::Encrypted),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match self.value(inner)? {
                Value::Encrypted(value) if value.kind == Kind::Number => Ok(Value::Encrypted(negated(value))),
                _ => Err(self.dates()),
            },
            Expr::BinaryOp { left, op, right } => {
                if !matches!(op, BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply) {
                    return unfit(Unfit::Function);
                }
                let (left, right) = (self.value(left)?, self.value(right)?);
                let result = if *op == BinaryOperator::Multiply {
                    self.product(left, right)?
                } else {
                    self.sum(left, op, right)?
                };
                if !self.approximate && result.program.scale > MAX_SCALE {
                    return unfit(Unfit::TooWide);
                }
                Ok(Value::Encrypted(result))
            }
            Expr::Cast {
                expr: inner, data_type: DataType::Double(_) | DataType::DoublePrecision, ..
            } => self.value(inner),
            Expr::Cast { .. } => unfit(Unfit::Cast),
            Expr::Case { .. } => unfit(Unfit::Case),
            _ => unfit(Unfit::Function),
        }
    }

    fn dates(&self) -> PlanError {
        PlanError::WrongType { text: shown(self.whole), reason: Unfit::DateArithmetic }
    }

    fn clear(&self, expr: &Expr) -> Result<ClearValue, PlanError> {
        if self.approximate {
            let form = match numeric_literal(expr) {
                Some((value, scale)) => return Ok(literal(value, scale)),
                None => ClearForm::Double(format!("CAST({expr} AS DOUBLE)")),
            };
            let not_null = BTreeSet::from([bare(expr).to_string()]);
            return Ok(ClearValue { form, kind: Kind::Number, not_null });
        }
        let pieces = normalise(self.schema, expr)?;
        let not_a_number = || PlanError::WrongType { text: shown(expr), reason: Unfit::NotANumber };
        let [piece] = pieces.as_slice() else { return Err(not_a_number()) };
        let weight = piece.clear_weight().ok_or_else(not_a_number)?;
        Ok(ClearValue { form: ClearForm::Exact(weight), kind: piece.kind, not_null: piece.not_null.clone() })
    }

    fn column(&self, expr: &Expr) -> Result<Translated, PlanError> {
        let column = usable(self.schema, column_name(expr).unwrap_or_default(), Clause::Select)?;
        let kind = match column.kind {
            ColumnType::Category | ColumnType::Text => {
                return Err(PlanError::WrongType { text: shown(expr), reason: Unfit::Text });
            }
            ColumnType::Date => Kind::Date,
            ColumnType::Timestamp => Kind::Timestamp,
            _ => Kind::Number,
        };
        let program = Program {
            node: Node::Column(column.name.clone()),
            columns: BTreeSet::from([column.name.clone()]),
            bound: value_bound(column),
            scale: column.scale(),
            degree: 1,
            approximate: self.approximate,
            text: shown(self.whole),
        };
        let may_miss = column.nullable.then(|| column.name.clone()).into_iter().collect();
        Ok(Translated { program, kind, may_miss, not_null: BTreeSet::new() })
    }

    /// The clear value as a program of degree 0, at least at `scale`.
    fn operand(&mut self, value: ClearValue, scale: u32) -> Result<Translated, PlanError> {
        let too_wide = PlanError::WrongType { text: shown(self.whole), reason: Unfit::TooWide };
        let (node, bound, scale) = match value.form {
            ClearForm::Decimal(value, digits) => (Node::Constant(value, digits), BigInt::one(), 0),
            ClearForm::Double(sql) => (Node::Clear(self.operands.index(sql)), BigInt::one(), 0),
            ClearForm::Exact(weight) => {
                let weight = weight.at_scale(scale);
                let (bound, scale) = (weight.range().max_abs(), weight.scale);
                let node = match weight.units {
                    None => Node::Constant(weight.factor, 0),
                    Some(_) => {
                        let units = weight.into_units();
                        if units.width() != Some(Width::Narrow) {
                            return Err(too_wide);
                        }
                        Node::Clear(self.operands.index(units.render(Width::Narrow)))
                    }
                };
                (node, bound, scale)
            }
        };
        let program = Program {
            node,
            columns: BTreeSet::new(),
            bound,
            scale,
            degree: 0,
            approximate: self.approximate,
            text: shown(self.whole),
        };
        Ok(Translated { program, kind: value.kind, may_miss: BTreeSet::new(), not_null: value.not_null })
    }

    fn sum(&mut self, left: Value, op: &BinaryOperator, right: Value) -> Result<Translated, PlanError> {
        let scale = scale_of_value(&left).max(scale_of_value(&right));
        let left = self.at_scale(left, scale)?;
        let right = self.at_scale(right, scale)?;
        let minus = *op == BinaryOperator::Minus;
        let kind = match (left.kind, right.kind) {
            (Kind::Number, Kind::Number) => Kind::Number,
            (Kind::Date, Kind::Number) => Kind::Date,
            (Kind::Number, Kind::Date) if !minus => Kind::Date,
            (a, b) if a == b && minus => Kind::Number,
            _ => return Err(self.dates()),
        };
        let node = if minus { Node::Sub } else { Node::Add };
        let bound = &left.program.bound + &right.program.bound;
        let degree = left.program.degree.max(right.program.degree);
        Ok(join(left, right, Shape { kind, bound, scale, degree }, node))
    }

    fn product(&mut self, left: Value, right: Value) -> Result<Translated, PlanError> {
        let left = self.at_scale(left, 0)?;
        let right = self.at_scale(right, 0)?;
        if left.kind != Kind::Number || right.kind != Kind::Number {
            return Err(self.dates());
        }
        let degree = left.program.degree + right.program.degree;
        // The server alone states the precision of approximate products.
        let limit = if self.approximate { usize::from(SLOT_FACTORS) } else { MAX_FACTORS };
        if usize::from(degree) > limit {
            return Err(PlanError::TooManyFactors { text: shown(self.whole), limit });
        }
        let bound = &left.program.bound * &right.program.bound;
        let scale = left.program.scale + right.program.scale;
        Ok(join(left, right, Shape { kind: Kind::Number, bound, scale, degree }, Node::Mul))
    }

    fn at_scale(&mut self, value: Value, scale: u32) -> Result<Translated, PlanError> {
        match value {
            Value::Clear(clear) => self.operand(clear, scale),
            Value::Encrypted(translated) => Ok(rescaled(translated, scale)),
        }
    }
}

fn literal(value: BigInt, scale: u32) -> ClearValue {
    ClearValue { form: ClearForm::Decimal(value, scale), kind: Kind::Number, not_null: BTreeSet::new() }
}

fn scale_of_value(value: &Value) -> u32 {
    match value {
        Value::Clear(ClearValue { form: ClearForm::Exact(weight), .. }) => weight.scale,
        Value::Clear(_) => 0,
        Value::Encrypted(translated) => translated.program.scale,
    }
}

/// The same value at a finer scale: times a power of ten.
fn rescaled(mut value: Translated, scale: u32) -> Translated {
    if let Some(digits) = scale.checked_sub(value.program.scale).filter(|digits| *digits > 0) {
        let factor = power_of_ten(digits);
        value.program.bound *= &factor;
        value.program.scale = scale;
        value.program.node = Node::Mul(Box::new(value.program.node), Box::new(Node::Constant(factor, 0)));
    }
    value
}

fn negated(mut value: Translated) -> Translated {
    value.program.node = Node::Neg(Box::new(value.program.node));
    value
}

/// The kind and the bounds of a result, from those of the operands.
struct Shape {
    kind: Kind,
    bound: BigInt,
    scale: u32,
    degree: u8,
}

fn join(
    left: Translated,
    right: Translated,
    shape: Shape,
    node: impl FnOnce(Box<Node>, Box<Node>) -> Node,
) -> Translated {
    let Shape { kind, bound, scale, degree } = shape;
    debug_assert!(!bound.is_negative());
    let (a, b) = (left.program, right.program);
    let program = Program {
        node: node(Box::new(a.node), Box::new(b.node)),
        columns: a.columns.union(&b.columns).cloned().collect(),
        bound,
        scale,
        degree,
        approximate: a.approximate,
        text: a.text,
    };
    Translated {
        program,
        kind,
        may_miss: left.may_miss.union(&right.may_miss).cloned().collect(),
        not_null: left.not_null.union(&right.not_null).cloned().collect(),
    }
}
