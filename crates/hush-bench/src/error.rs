// SPDX-License-Identifier: Apache-2.0
//! Why a benchmark did not finish.

/// Why a benchmark did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A result that is not numbers.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// A modulus chain refused.
    #[error(transparent)]
    Chain(#[from] hush_params::ChainError),
    /// A child process failed.
    #[error("{what} failed: {message}")]
    Child {
        /// Which one.
        what: String,
        /// The end of what it printed.
        message: String,
    },
    /// Decryption refused.
    #[error(transparent)]
    Decrypt(#[from] hush_keys::DecryptError),
    /// A circuit refused.
    #[error(transparent)]
    Circuit(#[from] hush_circuits::CircuitError),
    /// No circuit for an expression.
    #[error(transparent)]
    Plan(#[from] hush_circuits::program::ProgramError),
    /// A server's half of a circuit refused.
    #[error(transparent)]
    Serve(#[from] hush_circuits::program::ServeError),
    /// A ciphertext without values.
    #[error("internal: a ciphertext without values")]
    Empty,
    /// Encryption refused.
    #[error(transparent)]
    Encrypt(#[from] hush_keys::EncryptError),
    /// Hushtable refused.
    #[error(transparent)]
    Hush(#[from] hush::Error),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// No kernels for what was asked.
    #[error(transparent)]
    Kernel(#[from] hush_ring::KernelError),
    /// More memory than a profile has.
    #[error("it took {found_mb:.0} MB of the {limit_mb:.0} MB that the profile allows")]
    Memory {
        /// Peak, in megabytes (10^6 bytes).
        found_mb: f64,
        /// Limit, likewise.
        limit_mb: f64,
    },
    /// TFHE refused.
    #[error(transparent)]
    Tfhe(#[from] hush_tfhe::TfheError),
    /// An option of another scheme.
    #[error("--{option} goes with --scheme {scheme}; leave it out, or take that scheme")]
    SchemeOption {
        /// The option.
        option: &'static str,
        /// The scheme that it goes with.
        scheme: &'static str,
    },
    /// A question that there is not.
    #[error("there is no question {found}: known are {known}")]
    Question {
        /// Its name.
        found: String,
        /// The names that there are, separated by commas.
        known: String,
    },
    /// A parameter set is unknown.
    #[error(transparent)]
    Params(#[from] hush_params::ParamsError),
    /// Programs that cannot be read or run.
    #[error(transparent)]
    Program(#[from] crate::libraries::programs::ProgramError),
    /// No entropy.
    #[error(transparent)]
    Randomness(#[from] hush_ring::RandomnessError),
    /// A ring refused.
    #[error(transparent)]
    Ring(#[from] hush_ring::RingError),
    /// Containers refused.
    #[error(transparent)]
    Rlwe(#[from] hush_rlwe::RlweError),
    /// A binary form refused.
    #[error(transparent)]
    Codec(#[from] hush_rlwe::CodecError),
    /// A scheme refused.
    #[error(transparent)]
    Scheme(#[from] hush_schemes::SchemeError),
}

impl BenchError {
    /// Checks that questions which are asked for are among those that there are.
    pub(crate) fn check_questions(asked: &[String], known: &[&str]) -> Result<(), Self> {
        match asked.iter().find(|name| !known.contains(&name.as_str())) {
            Some(found) => Err(Self::Question { found: found.clone(), known: known.join(", ") }),
            None => Ok(()),
        }
    }
}
