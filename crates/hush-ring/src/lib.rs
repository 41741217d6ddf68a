// SPDX-License-Identifier: Apache-2.0
//! RNS rings.
mod random;
pub use random::*;
