// SPDX-License-Identifier: Apache-2.0
//! What compares numbers, and what joins conditions.

use crate::Ratio;

/// A comparison of two numbers. It is the number 1 where it holds, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a = b`, also written `a == b`.
    Equal,
    /// `a != b`, also written `a <> b`.
    NotEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterOrEqual,
}

impl Comparison {
    /// As it is written; of two ways, the first.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds.
    pub fn of(self, left: &Ratio, right: &Ratio) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

/// An operation that joins conditions, which are 0 or 1, to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// Whether both hold.
    And,
    /// Whether one holds, or both.
    Or,
    /// Whether one holds, and not both.
    Xor,
}

impl Logic {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }

    /// Its value for two conditions.
    pub fn of(self, left: bool, right: bool) -> bool {
        match self {
            Self::And => left && right,
            Self::Or => left || right,
            Self::Xor => left != right,
        }
    }
}
