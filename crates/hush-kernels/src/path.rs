// SPDX-License-Identifier: Apache-2.0
//! The instruction sets that loops are written for.

use std::fmt;

/// An instruction set that the loops are written for, from the plainest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Path {
    /// Plain Rust: the specification of all others.
    Scalar,
    /// AVX2 with FMA and AES-NI: modular products in double precision.
    Avx2,
    /// AVX-512 with IFMA, VBMI, VPOPCNTDQ and VAES: modular products in 52-bit integers.
    Avx512,
}

impl Path {
    pub(crate) const ALL: [Path; 3] = [Path::Scalar, Path::Avx2, Path::Avx512];

    /// The name used by [`crate::CPU_ENV`] and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Scalar => "scalar",
            Path::Avx2 => "avx2",
            Path::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
