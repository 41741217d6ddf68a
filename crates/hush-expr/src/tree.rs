// SPDX-License-Identifier: Apache-2.0
//! The tree that a text is parsed to.

use crate::error::Size;
use crate::{ExprError, Ratio};

/// A function of whole vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The sum of the products of two vectors.
    Dot,
    /// The mean of a vector.
    Mean,
    /// The sum of a vector.
    Sum,
}

impl Function {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Mean => "mean",
            Self::Sum => "sum",
        }
    }
}

/// A node of the tree. Chains of sums and products are flat, so its height is the nesting of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Call {
        function: Function,
        arguments: Vec<Node>,
        position: usize,
    },
    /// Of [`crate::Expression::names`].
    Name(usize),
    Negative(Box<Node>),
    Number(Ratio),
    Power(Box<Node>, u32),
    Product(Vec<Node>),
    Reciprocal {
        of: Box<Node>,
        position: usize,
    },
    Sum(Vec<Node>),
}

/// Refuses numbers that only a mistake or an attack asks for.
pub(crate) fn check_bits(bits: u64) -> Result<(), ExprError> {
    if bits > MAX_BITS {
        return Err(ExprError::TooLarge { what: Size::Digits, limit: (MAX_BITS as f64 / 3.33) as usize });
    }
    Ok(())
}

/// Bits of any number on the way.
const MAX_BITS: u64 = 1 << 17;
