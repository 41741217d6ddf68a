// SPDX-License-Identifier: Apache-2.0
//! How a command ended.

use hush_lab::LabError;

use crate::args::Scheme;

/// Whether what was decrypted is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything.
    Right,
    /// Something is not.
    Wrong,
}

/// An error, and which option or line helps.
#[derive(Debug, thiserror::Error)]
#[error("{error}{hint}")]
pub(crate) struct Refusal {
    error: LabError,
    hint: &'static str,
}

impl From<LabError> for Refusal {
    fn from(error: LabError) -> Self {
        Self { error, hint: "" }
    }
}

/// Who reads a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The author of the command line.
    CommandLine,
    /// The author of lines at the prompt.
    Prompt,
}

/// Adds what helps to an error of an expression.
pub(crate) fn refusal(error: LabError, scheme: Scheme, reader: Reader) -> Refusal {
    let is_of_numbers = matches!(scheme, Scheme::Paillier | Scheme::Rsa);
    let hint = match (&error, reader) {
        (LabError::Name { .. }, Reader::CommandLine) => " (--let NAME=VALUE gives it one)",
        (LabError::Name { .. }, Reader::Prompt) => " (NAME = VALUE gives it one)",
        (LabError::Value { .. }, Reader::CommandLine) if is_of_numbers => {
            " (longer ones by --modulus-bits BITS)"
        }
        (LabError::Value { .. }, Reader::Prompt) if is_of_numbers => {
            " (longer ones by --modulus-bits BITS when the prompt is started)"
        }
        (LabError::Value { .. }, Reader::CommandLine) => " (longer ones by --width BITS)",
        (LabError::Value { .. }, Reader::Prompt) => " (longer ones by a line: width BITS)",
        _ => "",
    };
    Refusal { error, hint }
}
