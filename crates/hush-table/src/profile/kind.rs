// SPDX-License-Identifier: Apache-2.0
//! The kinds of values that a column can have.

/// The narrowest kind of value that a column's values all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` and `false`, `yes` and `no`.
    Bool,
    /// Few texts, often repeated.
    Category,
    /// Days.
    Date,
    /// Numbers with a fixed number of digits after the point.
    Decimal,
    /// No value at all.
    Empty,
    /// Numbers with exponents, or more digits than a decimal should have.
    Float,
    /// Whole numbers of at most 64 bits.
    Int,
    /// Anything else.
    Text,
    /// Instants.
    Timestamp,
    /// A nested or binary type.
    Unsupported,
}
