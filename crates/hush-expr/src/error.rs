// SPDX-License-Identifier: Apache-2.0
//! Why a text is no expression, or an expression no circuit.

/// What is wrong. Positions count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExprError {
    /// Functions inside expressions.
    #[error("position {position}: {function}(...) must be the whole expression")]
    Aggregate {
        /// Where.
        position: usize,
        /// Its name.
        function: &'static str,
    },
    /// The wrong number of arguments.
    #[error("position {position}: {function} takes {expected} argument(s), found {found}")]
    Arguments {
        /// Where.
        position: usize,
        /// Its name.
        function: &'static str,
        /// Arguments found.
        found: usize,
        /// Arguments expected.
        expected: usize,
    },
    /// The expression does not depend on any vector.
    #[error("the expression is a constant: there is nothing to encrypt")]
    Constant,
    /// A division by something encrypted.
    #[error("position {position}: a division by an encrypted value")]
    Division {
        /// Where.
        position: usize,
    },
    /// A division by zero.
    #[error("position {position}: a division by zero")]
    DivisionByZero {
        /// Where.
        position: usize,
    },
    /// An exponent that is no small whole number.
    #[error("position {position}: an exponent must be a whole number from 0 to {max}")]
    Exponent {
        /// Where.
        position: usize,
        /// The largest.
        max: u32,
    },
    /// A function that does not exist.
    #[error("position {position}: no function of this name; there are sum, mean and dot")]
    Function {
        /// Where.
        position: usize,
    },
    /// Not a number.
    #[error("position {position}: not a number")]
    Number {
        /// Where.
        position: usize,
    },
    /// Larger than supported.
    #[error("the expression has {what} beyond the limit of {limit}")]
    TooLarge {
        /// What.
        what: Size,
        /// The limit.
        limit: usize,
    },
    /// Something else was expected here.
    #[error("position {position}: expected {expected}")]
    Unexpected {
        /// Where.
        position: usize,
        /// What would do.
        expected: &'static str,
    },
}

/// The limits of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Characters of text.
    Characters,
    /// The degree in the vectors.
    Degree,
    /// Digits of a number.
    Digits,
    /// Parentheses, signs and calls inside one another.
    Nesting,
    /// Operators and operands.
    Operations,
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Characters => "characters",
            Self::Degree => "a degree",
            Self::Digits => "digits of a number",
            Self::Nesting => "a nesting",
            Self::Operations => "operations",
        })
    }
}

impl ExprError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unexpected { .. } => "HUSH-X001",
            Self::Number { .. } => "HUSH-X002",
            Self::Exponent { .. } => "HUSH-X003",
            Self::Function { .. } => "HUSH-X004",
            Self::Arguments { .. } => "HUSH-X005",
            Self::Aggregate { .. } => "HUSH-X006",
            Self::Division { .. } => "HUSH-X007",
            Self::DivisionByZero { .. } => "HUSH-X008",
            Self::Constant => "HUSH-X009",
            Self::TooLarge { .. } => "HUSH-X010",
        }
    }

    /// The ways out.
    pub fn ways_out(&self) -> &'static str {
        match self {
            Self::Aggregate { .. } => "evaluate the parts one by one and combine the results",
            Self::Arguments { .. } | Self::Function { .. } => "sum(x), mean(x), dot(x, y)",
            Self::Constant => "name at least one vector, as in 2*x",
            Self::Division { .. } => {
                "divide by a number; or give the reciprocals as a vector of their own, as in x*r"
            }
            Self::DivisionByZero { .. } => "divide by another number",
            Self::Exponent { .. } => "write the power out as products",
            Self::Number { .. } => "write 12, 0.5 or 1e-3",
            Self::TooLarge { .. } => "split the expression",
            Self::Unexpected { .. } => {
                "numbers, names, + - * / ^ and parentheses, as in y*(x + z)^2; quote the expression for the shell"
            }
        }
    }
}
