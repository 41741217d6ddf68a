// SPDX-License-Identifier: Apache-2.0
//! Element-wise expressions over encrypted columns, with their bounds: value, degree and noise.

mod translate;

use std::collections::BTreeSet;

use hush_params::noise;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

pub(crate) use translate::{Operands, Translated, translate};

use crate::encoding::EncodingId;
use crate::plan::{SlotExpr, is_integer};
use crate::quantity::value_bound;
use crate::range::log2;
use crate::schema::Column;

/// An element-wise expression before it is bound to encodings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    pub(crate) node: Node,
    /// The encrypted columns in it.
    pub(crate) columns: BTreeSet<String>,
    /// Largest absolute value, in units (exact programs).
    pub(crate) bound: BigInt,
    /// Digits after the point of the units.
    pub(crate) scale: u32,
    /// Encrypted factors of its longest product.
    pub(crate) degree: u8,
    /// By CKKS.
    pub(crate) approximate: bool,
    /// As typed.
    pub(crate) text: String,
}

/// A node of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Add(Box<Node>, Box<Node>),
    /// Clear operand, by index.
    Clear(usize),
    Column(String),
    /// `value · 10^-scale`; exact programs use scale 0 only.
    Constant(BigInt, u32),
    Mul(Box<Node>, Box<Node>),
    Neg(Box<Node>),
    Sub(Box<Node>, Box<Node>),
}

/// Most encrypted factors of a product in slots: products are not relinearised.
const SLOT_FACTORS: u8 = 2;

impl Program {
    /// Whether its degree is one that a server evaluates.
    pub(crate) fn suits_slots(&self) -> bool {
        self.degree <= SLOT_FACTORS
    }

    /// The product of two columns, for the purpose `product`.
    pub(crate) fn product(left: &Column, right: &Column) -> Self {
        let node = |column: &Column| Box::new(Node::Column(column.name.clone()));
        Self {
            node: Node::Mul(node(left), node(right)),
            columns: BTreeSet::from([left.name.clone(), right.name.clone()]),
            bound: value_bound(left) * value_bound(right),
            scale: left.scale() + right.scale(),
            degree: 2,
            approximate: left.is_approximate(),
            text: format!("{} * {}", left.name, right.name),
        }
    }

    /// log2 bound on the phase of the result in a ring of this degree with plaintext primes up to `2^t_log2`.
    ///
    /// # Noise
    /// Fresh ciphertexts by [`noise::bgv_fresh_phase_log2`]; products by the worst case over a negacyclic convolution;
    /// a clear operand has coefficients up to `t/2`; a constant multiplies by its centred residue.
    pub(crate) fn phase_log2(&self, degree: usize, t_log2: f64) -> f64 {
        self.node.phase_log2(degree, t_log2)
    }
}

impl Node {
    fn phase_log2(&self, degree: usize, t_log2: f64) -> f64 {
        match self {
            Self::Add(a, b) | Self::Sub(a, b) => {
                noise::add_phase_log2(a.phase_log2(degree, t_log2), b.phase_log2(degree, t_log2))
            }
            Self::Clear(_) => t_log2 - 1.0,
            Self::Column(_) => noise::bgv_fresh_phase_log2(t_log2),
            Self::Constant(value, _) => log2(value).min(t_log2 - 1.0),
            Self::Mul(a, b) => {
                let (left, right) = (a.phase_log2(degree, t_log2), b.phase_log2(degree, t_log2));
                // A constant has one coefficient, so there is no convolution.
                match (&**a, &**b) {
                    (Self::Constant(..), _) | (_, Self::Constant(..)) => left + right,
                    _ => noise::product_phase_log2(degree, left, right),
                }
            }
            Self::Neg(a) => a.phase_log2(degree, t_log2),
        }
    }

    /// Power of the columns' scale that an approximate result carries: products add powers, where a clear factor
    /// counts 1 and an integer constant ([`is_integer`]) 0; a sum takes the larger one.
    pub(crate) fn scale_power(&self) -> u32 {
        match self {
            Self::Add(a, b) | Self::Sub(a, b) => a.scale_power().max(b.scale_power()),
            Self::Clear(_) | Self::Column(_) => 1,
            Self::Constant(value, scale) => u32::from(!is_integer(&decimal_text(value, *scale))),
            Self::Mul(a, b) => a.scale_power() + b.scale_power(),
            Self::Neg(a) => a.scale_power(),
        }
    }

    /// Renames clear operand `i` to `places[i]`.
    pub(crate) fn move_operands(&mut self, places: &[usize]) {
        match self {
            Self::Add(a, b) | Self::Mul(a, b) | Self::Sub(a, b) => {
                a.move_operands(places);
                b.move_operands(places);
            }
            Self::Clear(index) => *index = places.get(*index).copied().unwrap_or(*index),
            Self::Column(_) | Self::Constant(..) => {}
            Self::Neg(a) => a.move_operands(places),
        }
    }

    /// The expression with each column bound by `encoding`, or `None` where that has none for it.
    pub(crate) fn bind(&self, encoding: &dyn Fn(&str) -> Option<EncodingId>) -> Option<SlotExpr> {
        let bind = |node: &Node| node.bind(encoding).map(Box::new);
        Some(match self {
            Self::Add(a, b) => SlotExpr::Add(bind(a)?, bind(b)?),
            Self::Clear(index) => SlotExpr::Clear(*index),
            Self::Column(name) => SlotExpr::Column(encoding(name)?),
            Self::Constant(value, scale) => SlotExpr::Constant(decimal_text(value, *scale)),
            Self::Mul(a, b) => SlotExpr::Mul(bind(a)?, bind(b)?),
            Self::Neg(a) => SlotExpr::Neg(bind(a)?),
            Self::Sub(a, b) => SlotExpr::Sub(bind(a)?, bind(b)?),
        })
    }

    /// Bound on value and error (absolute) of an approximate program whose columns are at most `magnitude` with error
    /// at most `error`; the engine refuses clear operands above `magnitude`.
    pub(crate) fn approximate_error(&self, magnitude: f64, error: f64) -> (f64, f64) {
        let sides = |a: &Node, b: &Node| {
            (a.approximate_error(magnitude, error), b.approximate_error(magnitude, error))
        };
        match self {
            Self::Add(a, b) | Self::Sub(a, b) => {
                let (left, right) = sides(a, b);
                (left.0 + right.0, left.1 + right.1)
            }
            Self::Clear(_) | Self::Column(_) => (magnitude, error),
            Self::Constant(value, scale) => {
                (value.abs().to_f64().unwrap_or(f64::MAX) / 10f64.powi(*scale as i32), error)
            }
            Self::Mul(a, b) => {
                let (left, right) = sides(a, b);
                (left.0 * right.0, left.0 * right.1 + right.0 * left.1 + left.1 * right.1)
            }
            Self::Neg(a) => a.approximate_error(magnitude, error),
        }
    }
}

/// `value · 10^-scale` in decimal digits.
fn decimal_text(value: &BigInt, scale: u32) -> String {
    if scale == 0 {
        return value.to_string();
    }
    let sign = if value.is_negative() { "-" } else { "" };
    let width = scale as usize + 1;
    let digits = format!("{:0>width$}", value.abs().to_string());
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests;
