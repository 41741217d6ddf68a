// SPDX-License-Identifier: Apache-2.0
//! The number of an encoded column, which plans name it by.

use serde::{Deserialize, Serialize};

/// Identifies an encoded column within a table; opaque to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncodingId(pub u32);
