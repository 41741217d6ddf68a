// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_slots` at the server: programs on reals in slots, with scales that multiply.

use hush_plan::EncodingId;
use hush_plan::packing::ApproxSlots;
use hush_plan::plan::{SlotExpr, is_integer};
use hush_ring::Ring;
use hush_rlwe::{PlaintextModulus, RlweCiphertext};
use hush_schemes::ckks::{ApproxCiphertext, ApproxEncoder, Scale};

use super::element::{Bodies, ElementInput, PlainColumns, scheme_error};
use super::{Arithmetic, Served};
use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::plain::PlainValues;

/// An intermediate value. Clear subexpressions stay clear for as long as possible, in double precision.
enum Value {
    /// The same integer in every slot: multiplies without a scale.
    Integer(f64),
    /// One number per row; a constant that is no integer is repeated.
    Vector(Vec<f64>),
    /// An encrypted vector.
    Encrypted(ApproxCiphertext),
}

impl Served for ApproxSlots {
    fn moduli(&self) -> Vec<PlaintextModulus> {
        Vec::new()
    }

    fn arithmetic(&self, ring: &Ring) -> Result<Box<dyn Arithmetic>, ExecError> {
        let scale = Scale::from_log2(self.scale_log2);
        let scale = scale.map_err(|_| ExecError::Internal { place: "slot encoder" })?;
        Ok(Box::new(Approximate { encoder: ApproxEncoder::new(ring), scale }))
    }
}

struct Approximate {
    encoder: ApproxEncoder,
    scale: Scale,
}

impl Approximate {
    fn walk<'a>(&'a self, input: &'a ElementInput<'a>, column: &'a Column<'a>) -> Walk<'a> {
        Walk { encoder: &self.encoder, scale: self.scale, input, column }
    }
}

impl Arithmetic for Approximate {
    fn evaluate(
        &self,
        expr: &SlotExpr,
        scale_power: u32,
        columns: &Bodies<'_>,
        input: &ElementInput<'_>,
    ) -> Result<Vec<RlweCiphertext>, ExecError> {
        let column = |id| {
            let (seed, body) = columns.of(id)?;
            let loaded = ApproxCiphertext::load(input.ring, seed, body, input.element, self.scale);
            Ok(Value::Encrypted(loaded.map_err(scheme_error)?))
        };
        match self.walk(input, &column).value(expr)? {
            Value::Encrypted(result) if result.scale().log2() == self.scale.log2() * scale_power => {
                Ok(vec![result.into_ciphertext()])
            }
            Value::Encrypted(_) => Err(ExecError::Internal { place: "scale of a program" }),
            Value::Integer(_) | Value::Vector(_) => Err(ExecError::Internal { place: "clear program" }),
        }
    }

    fn evaluate_plain(
        &self,
        expr: &SlotExpr,
        columns: &PlainColumns<'_>,
        input: &ElementInput<'_>,
    ) -> Result<PlainValues, ExecError> {
        let column = |id| match columns.of(id)? {
            PlainValues::Approx(values) => Ok(Value::Vector(values.clone())),
            PlainValues::Exact(_) => Err(ExecError::Internal { place: "real column" }),
        };
        match self.walk(input, &column).value(expr)? {
            Value::Vector(values) => Ok(PlainValues::Approx(values)),
            Value::Integer(_) | Value::Encrypted(_) => Err(ExecError::Internal { place: "clear program" }),
        }
    }
}

/// The value of an encoded column.
type Column<'a> = dyn Fn(EncodingId) -> Result<Value, ExecError> + 'a;

struct Walk<'a> {
    encoder: &'a ApproxEncoder,
    scale: Scale,
    input: &'a ElementInput<'a>,
    column: &'a Column<'a>,
}

impl Walk<'_> {
    fn value(&self, expr: &SlotExpr) -> Result<Value, ExecError> {
        match expr {
            SlotExpr::Column(id) => (self.column)(*id),
            SlotExpr::Clear(index) => match self.input.operands.get(*index) {
                Some(Operand::Doubles(values)) => Ok(Value::Vector(self.input.rows(values).to_vec())),
                _ => Err(ExecError::Internal { place: "operand of a program" }),
            },
            SlotExpr::Constant(text) => {
                let number: f64 = text.parse().map_err(|_| ExecError::Internal { place: "constant" })?;
                Ok(if is_integer(text) { Value::Integer(number) } else { self.repeat(number) })
            }
            SlotExpr::Neg(inner) => Ok(negate(self.value(inner)?)),
            SlotExpr::Add(left, right) => self.add(self.value(left)?, self.value(right)?),
            SlotExpr::Sub(left, right) => self.add(self.value(left)?, negate(self.value(right)?)),
            SlotExpr::Mul(left, right) => self.multiply(self.value(left)?, self.value(right)?),
        }
    }

    fn repeat(&self, number: f64) -> Value {
        Value::Vector(vec![number; self.input.row_count])
    }

    fn add(&self, left: Value, right: Value) -> Result<Value, ExecError> {
        match (left, right) {
            (Value::Encrypted(mut left), Value::Encrypted(mut right)) => {
                let scale = left.scale().max(right.scale());
                left.raise_to(scale).map_err(scheme_error)?;
                right.raise_to(scale).map_err(scheme_error)?;
                left.add_assign(&right).map_err(scheme_error)?;
                Ok(Value::Encrypted(left))
            }
            (Value::Encrypted(value), Value::Integer(clear))
            | (Value::Integer(clear), Value::Encrypted(value)) => {
                self.add_clear(value, &vec![clear; self.input.row_count])
            }
            (Value::Encrypted(value), Value::Vector(clear))
            | (Value::Vector(clear), Value::Encrypted(value)) => self.add_clear(value, &clear),
            (left, right) => Ok(clear_op(left, right, |left, right| left + right)),
        }
    }

    /// Encodes at the columns' scale, which a word holds, and raises the encoding exactly to the value's scale.
    fn add_clear(&self, value: ApproxCiphertext, clear: &[f64]) -> Result<Value, ExecError> {
        let scale = value.scale();
        let shift = scale.log2().saturating_sub(self.scale.log2());
        let mut encoded = self.encoder.encode_clear(clear, self.scale).map_err(scheme_error)?;
        encoded.mul_scalar_assign(1_i128.checked_shl(shift).unwrap_or(0));
        let mut ciphertext = value.into_ciphertext();
        let added = ciphertext.add_clear_assign(&encoded);
        added.map_err(|_| ExecError::Internal { place: "slot arithmetic" })?;
        Ok(Value::Encrypted(ApproxCiphertext::new(ciphertext, scale)))
    }

    fn multiply(&self, left: Value, right: Value) -> Result<Value, ExecError> {
        match (left, right) {
            (Value::Encrypted(left), Value::Encrypted(right)) => {
                Ok(Value::Encrypted(left.mul(&right).map_err(scheme_error)?))
            }
            (Value::Encrypted(mut value), Value::Integer(clear))
            | (Value::Integer(clear), Value::Encrypted(mut value)) => {
                value.mul_integer_assign(clear as i128);
                Ok(Value::Encrypted(value))
            }
            (Value::Encrypted(mut value), Value::Vector(clear))
            | (Value::Vector(clear), Value::Encrypted(mut value)) => {
                value.mul_clear_assign(self.encoder, &clear, self.scale).map_err(scheme_error)?;
                Ok(Value::Encrypted(value))
            }
            (left, right) => Ok(clear_op(left, right, |left, right| left * right)),
        }
    }
}

fn negate(value: Value) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(-number),
        Value::Vector(values) => Value::Vector(values.into_iter().map(|number| -number).collect()),
        Value::Encrypted(mut value) => {
            value.neg_assign();
            Value::Encrypted(value)
        }
    }
}

/// An operation on two clear values; encrypted ones have been dealt with.
fn clear_op(left: Value, right: Value, op: impl Fn(f64, f64) -> f64) -> Value {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Value::Integer(op(left, right)),
        (Value::Vector(left), Value::Integer(right)) => {
            Value::Vector(left.into_iter().map(|left| op(left, right)).collect())
        }
        (Value::Integer(left), Value::Vector(right)) => {
            Value::Vector(right.into_iter().map(|right| op(left, right)).collect())
        }
        (Value::Vector(left), Value::Vector(right)) => {
            Value::Vector(left.into_iter().zip(right).map(|(left, right)| op(left, right)).collect())
        }
        (encrypted @ Value::Encrypted(_), _) | (_, encrypted) => encrypted,
    }
}
