// SPDX-License-Identifier: Apache-2.0
//! Errors of setting a kernel up. Nothing fails once it runs.

use hush_arith::ArithError;

use crate::Path;

/// Why a plan, a width or a path was refused. Every field is public data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The prime has no root of unity of the needed order.
    #[error("no transform modulo this prime")]
    Arith(#[from] ArithError),
    /// The packed width is not supported.
    #[error("a packed width of {found} bits is outside 1..={max}")]
    BitWidthOutOfRange {
        /// The width asked for.
        found: u32,
        /// The largest width, [`crate::bits::MAX_BIT_WIDTH`].
        max: u32,
    },
    /// The path was asked for by name, but this machine lacks an instruction set that it needs.
    #[error("the `{path}` kernels need CPU features that this machine lacks")]
    CpuFeatureMissing {
        /// The path asked for.
        path: Path,
    },
    /// The transform length is not supported.
    #[error("the ring degree {found} is not a power of two in {min}..={max}")]
    DegreeUnsupported {
        /// The degree asked for.
        found: usize,
        /// The smallest degree, [`crate::ntt::MIN_DEGREE`].
        min: usize,
        /// The largest degree, [`crate::ntt::MAX_DEGREE`].
        max: usize,
    },
    /// The name in the environment is no path.
    #[error("HUSH_CPU is `{found}`, expected `scalar`, `avx2` or `avx512`")]
    UnknownPath {
        /// The name found; characters that are not Unicode are replaced.
        found: String,
    },
}
