// SPDX-License-Identifier: Apache-2.0
//! The packing `slots` at the server: exact programs on integers in slots, modulo several primes at once.

use ethnum::I256;
use hush_plan::EncodingId;
use hush_plan::packing::Slots;
use hush_plan::plan::SlotExpr;
use hush_ring::Ring;
use hush_rlwe::{PlaintextModulus, RlweCiphertext};
use hush_schemes::Values;
use hush_schemes::bgv::slots::{SlotCiphertext, SlotEncoder};

use super::element::{Bodies, ElementInput, PlainColumns, scheme_error};
use super::{Arithmetic, Served};
use crate::clear::select::Operand;
use crate::error::{ExecError, ExpressionRole};
use crate::plain::PlainValues;

/// An intermediate value. Clear subexpressions stay clear for as long as possible, in 256 bits with overflow checked.
enum Value {
    /// The same integer in every slot.
    Constant(I256),
    /// One integer per row.
    Vector(Vec<I256>),
    /// An encrypted vector.
    Encrypted(SlotCiphertext),
}

impl Served for Slots {
    fn moduli(&self) -> Vec<PlaintextModulus> {
        self.primes.iter().copied().map(PlaintextModulus::Prime).collect()
    }

    fn arithmetic(&self, ring: &Ring) -> Result<Box<dyn Arithmetic>, ExecError> {
        let encoder = SlotEncoder::new(ring, &self.primes);
        Ok(Box::new(Exact { encoder: encoder.map_err(|_| ExecError::Internal { place: "slot encoder" })? }))
    }
}

struct Exact {
    encoder: SlotEncoder,
}

impl Arithmetic for Exact {
    fn evaluate(
        &self,
        expr: &SlotExpr,
        _scale_power: u32,
        columns: &Bodies<'_>,
        input: &ElementInput<'_>,
    ) -> Result<Vec<RlweCiphertext>, ExecError> {
        let column = |id| {
            let (seed, body) = columns.of(id)?;
            let loaded = SlotCiphertext::load(input.ring, seed, body, input.element);
            Ok(Value::Encrypted(loaded.map_err(scheme_error)?))
        };
        match (Walk { encoder: &self.encoder, input, column: &column }).value(expr)? {
            Value::Encrypted(result) => Ok(result.into_lanes()),
            Value::Constant(_) | Value::Vector(_) => Err(ExecError::Internal { place: "clear program" }),
        }
    }

    fn evaluate_plain(
        &self,
        expr: &SlotExpr,
        columns: &PlainColumns<'_>,
        input: &ElementInput<'_>,
    ) -> Result<PlainValues, ExecError> {
        let column = |id| match columns.of(id)? {
            PlainValues::Exact(values) => Ok(Value::Vector(values.clone())),
            PlainValues::Approx(_) => Err(ExecError::Internal { place: "exact column" }),
        };
        match (Walk { encoder: &self.encoder, input, column: &column }).value(expr)? {
            Value::Vector(values) => Ok(PlainValues::Exact(values)),
            Value::Constant(_) | Value::Encrypted(_) => Err(ExecError::Internal { place: "clear program" }),
        }
    }
}

/// The value of an encoded column.
type Column<'a> = dyn Fn(EncodingId) -> Result<Value, ExecError> + 'a;

struct Walk<'a> {
    encoder: &'a SlotEncoder,
    input: &'a ElementInput<'a>,
    column: &'a Column<'a>,
}

impl Walk<'_> {
    fn value(&self, expr: &SlotExpr) -> Result<Value, ExecError> {
        match expr {
            SlotExpr::Column(id) => (self.column)(*id),
            SlotExpr::Clear(index) => match self.input.operands.get(*index) {
                Some(Operand::Integers(values)) => {
                    let values = self.input.rows(values).iter();
                    Ok(Value::Vector(values.map(|value| I256::from(*value)).collect()))
                }
                _ => Err(ExecError::Internal { place: "operand of a program" }),
            },
            SlotExpr::Constant(text) => {
                let parsed = I256::from_str_radix(text, 10);
                Ok(Value::Constant(parsed.map_err(|_| ExecError::Internal { place: "constant" })?))
            }
            SlotExpr::Neg(inner) => negate(self.value(inner)?),
            SlotExpr::Add(left, right) => add(self.encoder, self.value(left)?, self.value(right)?),
            SlotExpr::Sub(left, right) => subtract(self.encoder, self.value(left)?, self.value(right)?),
            SlotExpr::Mul(left, right) => multiply(self.encoder, self.value(left)?, self.value(right)?),
        }
    }
}

fn negate(value: Value) -> Result<Value, ExecError> {
    Ok(match value {
        Value::Constant(value) => Value::Constant(value.checked_neg().ok_or_else(overflow)?),
        Value::Vector(values) => Value::Vector(each(&values, I256::checked_neg)?),
        Value::Encrypted(mut value) => {
            value.neg_assign();
            Value::Encrypted(value)
        }
    })
}

fn add(encoder: &SlotEncoder, left: Value, right: Value) -> Result<Value, ExecError> {
    match (left, right) {
        (Value::Encrypted(mut left), Value::Encrypted(right)) => {
            left.add_assign(&right).map_err(scheme_error)?;
            Ok(Value::Encrypted(left))
        }
        (Value::Encrypted(mut value), Value::Vector(clear))
        | (Value::Vector(clear), Value::Encrypted(mut value)) => {
            value.add_clear_assign(encoder, Values::I256(&clear)).map_err(scheme_error)?;
            Ok(Value::Encrypted(value))
        }
        (Value::Encrypted(mut value), Value::Constant(clear))
        | (Value::Constant(clear), Value::Encrypted(mut value)) => {
            value.add_integer_assign(encoder, clear).map_err(scheme_error)?;
            Ok(Value::Encrypted(value))
        }
        (left, right) => clear_op(left, right, I256::checked_add),
    }
}

fn subtract(encoder: &SlotEncoder, left: Value, right: Value) -> Result<Value, ExecError> {
    match (left, right) {
        (Value::Encrypted(mut left), Value::Encrypted(right)) => {
            left.sub_assign(&right).map_err(scheme_error)?;
            Ok(Value::Encrypted(left))
        }
        (left @ Value::Encrypted(_), right) | (left, right @ Value::Encrypted(_)) => {
            add(encoder, left, negate(right)?)
        }
        (left, right) => clear_op(left, right, I256::checked_sub),
    }
}

fn multiply(encoder: &SlotEncoder, left: Value, right: Value) -> Result<Value, ExecError> {
    match (left, right) {
        (Value::Encrypted(left), Value::Encrypted(right)) => {
            Ok(Value::Encrypted(left.mul(&right).map_err(scheme_error)?))
        }
        (Value::Encrypted(mut value), Value::Vector(clear))
        | (Value::Vector(clear), Value::Encrypted(mut value)) => {
            value.mul_clear_assign(encoder, Values::I256(&clear)).map_err(scheme_error)?;
            Ok(Value::Encrypted(value))
        }
        (Value::Encrypted(mut value), Value::Constant(clear))
        | (Value::Constant(clear), Value::Encrypted(mut value)) => {
            value.mul_integer_assign(encoder, clear).map_err(scheme_error)?;
            Ok(Value::Encrypted(value))
        }
        (left, right) => clear_op(left, right, I256::checked_mul),
    }
}

/// An operation on two clear values.
fn clear_op(left: Value, right: Value, op: impl Fn(I256, I256) -> Option<I256>) -> Result<Value, ExecError> {
    match (left, right) {
        (Value::Constant(left), Value::Constant(right)) => {
            Ok(Value::Constant(op(left, right).ok_or_else(overflow)?))
        }
        (Value::Vector(left), Value::Constant(right)) => {
            Ok(Value::Vector(each(&left, |left| op(left, right))?))
        }
        (Value::Constant(left), Value::Vector(right)) => {
            Ok(Value::Vector(each(&right, |right| op(left, right))?))
        }
        (Value::Vector(left), Value::Vector(right)) => {
            let values = left.into_iter().zip(right).map(|(left, right)| op(left, right));
            Ok(Value::Vector(values.collect::<Option<_>>().ok_or_else(overflow)?))
        }
        (Value::Encrypted(_), _) | (_, Value::Encrypted(_)) => {
            Err(ExecError::Internal { place: "clear operation" })
        }
    }
}

fn each(values: &[I256], op: impl Fn(I256) -> Option<I256>) -> Result<Vec<I256>, ExecError> {
    values.iter().map(|value| op(*value)).collect::<Option<_>>().ok_or_else(overflow)
}

fn overflow() -> ExecError {
    ExecError::Weight { role: ExpressionRole::ClearHalf }
}
