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
    #[error("position {position}: {function} takes {}{expected} argument(s), found {found}", if *.or_more { "at least " } else { "" })]
    Arguments {
        /// Where.
        position: usize,
        /// Its name.
        function: &'static str,
        /// Arguments found.
        found: usize,
        /// Arguments expected.
        expected: usize,
        /// Whether more are welcome.
        or_more: bool,
    },
    /// The expression does not depend on any vector.
    #[error("the expression is a constant: there is nothing to encrypt")]
    Constant,
    /// A number of repetitions that is no small whole number.
    #[error("position {position}: repetitions must be a whole number from 1 to {max}")]
    Count {
        /// Where.
        position: usize,
        /// The most.
        max: u32,
    },
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
    #[error(
        "position {position}: no function of this name; there are sum, mean, dot, min, max, if, lookup and repeat"
    )]
    Function {
        /// Where.
        position: usize,
    },
    /// What is no sum and no product, where there are no others.
    #[error("position {position}: '{what}' is neither a sum nor a product: it needs gates on encrypted bits")]
    Gates {
        /// Where.
        position: usize,
        /// The operator or the function.
        what: &'static str,
    },
    /// A condition that is neither 0 nor 1.
    #[error("position {position}: a condition may be neither 0 nor 1")]
    NotBoolean {
        /// Where: of the operator or the function that needs it.
        position: usize,
    },
    /// Not a number.
    #[error("position {position}: not a number")]
    Number {
        /// Where.
        position: usize,
    },
    /// A place that may have no entry.
    #[error("position {position}: a place that may be none of the entries, which are counted from 0")]
    Place {
        /// Where: of the function.
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
    /// Entries of a table.
    Entries,
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
            Self::Entries => "entries of a table",
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
            Self::Gates { .. } => "HUSH-X011",
            Self::NotBoolean { .. } => "HUSH-X012",
            Self::Count { .. } => "HUSH-X013",
            Self::Place { .. } => "HUSH-X014",
        }
    }

    /// The ways out.
    pub fn ways_out(&self) -> &'static str {
        match self {
            Self::Aggregate { .. } => {
                "of exact vectors leave --scheme and --precision out: functions may stand anywhere then, but not be of the states of a repetition around them; of others --scheme ckks has them in sums and products; or evaluate the parts one by one and combine the results"
            }
            Self::Arguments { .. } | Self::Function { .. } => {
                "sum(x), mean(x) and dot(x, y) of whole vectors; min(x, y), max(x, y, z), if(x > 0, y, z); lookup(x, 5, 2, 7); repeat(8, z := x, z^2/2 + x)"
            }
            Self::Constant => "name at least one vector, as in 2*x",
            Self::Count { .. } => "split it: repeat the result of a repetition",
            Self::Division { .. } => {
                "divide by a number; or give the reciprocals as a vector of their own, as in x*r"
            }
            Self::DivisionByZero { .. } => "divide by another number",
            Self::Exponent { .. } => "write the power out as products",
            Self::Gates { .. } => "TFHE evaluates it, of exact numbers: leave the scheme to be chosen",
            Self::NotBoolean { .. } => "compare it with a number, as in x > 0",
            Self::Place { .. } => {
                "give an entry for each whole number that the place may be; or limit it, as in min(x, 3)"
            }
            Self::Number { .. } => "write 12, 0.5 or 1e-3",
            Self::TooLarge { .. } => "split the expression",
            Self::Unexpected { .. } => {
                "numbers, names, + - * / ^, < <= > >= = !=, and, or, xor, not, and parentheses, \
                 as in y*(x + z)^2, or x < 5 and not y = z; quote the expression for the shell"
            }
        }
    }
}
