// SPDX-License-Identifier: Apache-2.0
//! Why there is no plan.

use hush_expr::ExprError;
use hush_params::ChainError;

use super::kind::SchemeKind;
use crate::CircuitError;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// Approximate vectors where digits are encrypted.
    #[error("TFHE: a vector is approximate by its type, and digits are of exact numbers")]
    Approximate,
    /// No chain serves.
    #[error("{}: no parameters serve this expression: {source}", scheme.name())]
    Chain {
        /// The scheme.
        scheme: SchemeKind,
        /// Why.
        source: ChainError,
    },
    /// A step cannot be run.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The expression.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// Bounds of the noise of this circuit exceed what every chain tried holds.
    #[error("{}: the noise of this expression is {missing_bits:.0} bits beyond what the chain holds", scheme.name())]
    Noise {
        /// The scheme.
        scheme: SchemeKind,
        /// Bits.
        missing_bits: f64,
    },
    /// More precision than doubles and noise allow.
    #[error(
        "CKKS: a precision of {asked:.1e} was asked for, the best for results of this size is {least:.1e}"
    )]
    Precision {
        /// Asked for.
        asked: f64,
        /// The best there is.
        least: f64,
    },
    /// Errors that grow as large as values.
    #[error(
        "CKKS: the bound on the error grows beyond the values: what is repeated may multiply errors each time"
    )]
    Diverges,
    /// More elements than a ciphertext holds, where they are summed inside an expression.
    #[error("CKKS: functions inside an expression take vectors of {max} values at most, found {found}")]
    Long {
        /// Values found.
        found: usize,
        /// The most.
        max: usize,
    },
    /// Coefficients that are too far apart.
    #[error("CKKS: coefficients or values differ by more than 52 bits")]
    Spread,
    /// Digits cannot be evaluated.
    #[error(transparent)]
    Tfhe(#[from] hush_tfhe::TfheError),
    /// An integer wider than encrypted digits hold, or what is compared with one.
    #[error(
        "an integer on the way, or a number beside it, may have {bits} bits: encrypted digits hold 64, and one of them is a sign where something is negative"
    )]
    WideInteger {
        /// Bits found.
        bits: u64,
    },
    /// A result wider than any plaintext space.
    #[error("the result may have {bits} bits, exact schemes are offered up to {max}")]
    Wide {
        /// Bits found.
        bits: u64,
        /// Bits that can be served.
        max: u64,
    },
}

impl ProgramError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Chain { .. } => "HUSH-X020",
            Self::Noise { .. } => "HUSH-X021",
            Self::Wide { .. } | Self::WideInteger { .. } => "HUSH-X022",
            Self::Precision { .. } => "HUSH-X023",
            Self::Spread => "HUSH-X024",
            Self::Approximate => "HUSH-X025",
            Self::Diverges => "HUSH-X026",
            Self::Long { .. } => "HUSH-X027",
            Self::Tfhe(source) => source.code(),
            Self::Circuit(_) => "HUSH-X029",
            Self::Expression(source) => source.code(),
        }
    }
}
