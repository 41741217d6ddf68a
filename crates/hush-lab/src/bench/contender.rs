// SPDX-License-Identifier: Apache-2.0
//! Who is compared, and at which security parameters.

use serde::{Deserialize, Serialize};

/// A scheme of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// Coron, Naccache and Tibouchi 2012.
    Agcd,
    /// Hushtable's BGV at 128 bits.
    Bgv,
    /// Brakerski and Vaikuntanathan 2011.
    Lwe,
    /// The same, with a reduction after every product.
    LweLeveled,
}

impl Contender {
    /// In the order of the report.
    pub const ALL: [Self; 4] = [Self::Agcd, Self::Lwe, Self::LweLeveled, Self::Bgv];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agcd => "agcd",
            Self::Bgv => "bgv",
            Self::Lwe => "lwe",
            Self::LweLeveled => "lwe-leveled",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contender| contender.name() == name)
    }
}

/// The security parameters of the comparison.
pub(super) const SETS: [u32; 4] = [42, 52, 62, 72];
