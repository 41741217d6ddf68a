// SPDX-License-Identifier: Apache-2.0
//! What can go wrong in the lab.

use hush_expr::ExprError;

use crate::cnt12::Cnt12Error;
use crate::modern::ModernError;

/// Why a laboratory step was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The approximate-GCD scheme.
    #[error(transparent)]
    Cnt12(#[from] Cnt12Error),
    /// The circuit multiplies more often in a row than the parameters allow.
    #[error("the circuit has depth {found}, these parameters allow {limit}")]
    Depth {
        /// Products one after the other.
        found: u32,
        /// The most that are allowed.
        limit: u32,
    },
    /// Cases of the benchmark gave no rows, or not all.
    #[error("ended early, and missing in the report: {cases}")]
    EndedEarly {
        /// Which, one after the other.
        cases: String,
    },
    /// The text is no expression.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// The circuit is too large.
    #[error("the circuit has more than {limit} gates")]
    Gates {
        /// The most.
        limit: usize,
    },
    /// The input cannot be read.
    #[error("the input cannot be read: {0}")]
    Input(#[source] std::io::Error),
    /// This machine has not the instructions that were asked for.
    #[error(transparent)]
    Kernel(#[from] hush_kernels::KernelError),
    /// Ciphertexts of different levels, keys or shapes met.
    #[error("ciphertexts at levels {left} and {right} do not go together here")]
    Level {
        /// Level of the first.
        left: u32,
        /// Level of the second, or the level expected.
        right: u32,
    },
    /// The system has less memory than keys would take.
    #[error("keys of {bytes} bytes: the system does not give so much memory")]
    Memory {
        /// What was asked for.
        bytes: u64,
    },
    /// Hushtable's own scheme.
    #[error(transparent)]
    Modern(#[from] ModernError),
    /// A name stands for nothing.
    #[error("{label} has no value")]
    Name {
        /// The name.
        label: String,
    },
    /// A selection of the benchmark that leaves nothing.
    #[error("nothing to measure: no scheme has these questions up to security {up_to}")]
    NoCase {
        /// The largest security parameter asked for.
        up_to: u32,
    },
    /// The noise would be over its limit.
    #[error(
        "noise overflow at level {level}: 2^{bound_log2:.1} is possible, a right decryption needs less than 2^{limit_log2:.1}"
    )]
    Noise {
        /// Products behind it.
        level: u32,
        /// log2 of the bound of the noise.
        bound_log2: f64,
        /// log2 of the noise that decryption bears.
        limit_log2: f64,
    },
    /// An option of another scheme.
    #[error("{option} does nothing for {scheme}: it is for {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// The scheme asked for.
        scheme: &'static str,
        /// The schemes that have it.
        expected: &'static str,
    },
    /// Results cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[source] std::io::Error),
    /// A parameter is outside what the scheme allows.
    #[error("parameter {name} = {found}: it must be {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value, as text.
        found: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The plot cannot be written.
    #[error("no plot {path}: {reason}")]
    Plot {
        /// Where to.
        path: String,
        /// What the system or the drawing said.
        reason: String,
    },
    /// A process of the benchmark could not be started.
    #[error("a process for one case could not be started")]
    Process(#[source] std::io::Error),
    /// The operating system has no entropy to give.
    #[error("the operating system provides no randomness")]
    Randomness(#[from] getrandom::Error),
    /// There is no such parameter set.
    #[error("no parameter set of {scheme} for security {security}{}; see `hush-lab params`", at_depth(*.depth))]
    Set {
        /// The scheme.
        scheme: &'static str,
        /// The security parameter asked for.
        security: u32,
        /// The depth asked for; `None` where sets have none.
        depth: Option<u32>,
    },
    /// Something that gates on bits do not do here.
    #[error("{what} is not possible here")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// A number that does not fit.
    #[error("{label}: a whole number of {width} bit(s) is needed")]
    Value {
        /// The number, or the name that stands for it.
        label: String,
        /// Bits of a number.
        width: u32,
    },
}

impl LabError {
    /// That an operator or a function of an expression is neither a sum nor a product.
    pub(crate) fn gates(what: &'static str, position: usize) -> Self {
        Self::Expression(ExprError::Gates { position, what })
    }
}

fn at_depth(depth: Option<u32>) -> String {
    depth.map_or_else(String::new, |depth| format!(" and depth {depth}"))
}
