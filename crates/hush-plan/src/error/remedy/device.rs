// SPDX-License-Identifier: Apache-2.0
//! Remedies in the words of `hush-edge`. What the owner has to do is worded as `hush` words it, for that is the owner's program.

use super::{Remedy, command_line};

/// A phrase without a stop.
pub(super) fn describe(remedy: &Remedy) -> String {
    match remedy {
        Remedy::LongTexts => "shorter texts, or a table whose schema drops them".into(),
        Remedy::Memory { needed } => format!("a device with {needed} of memory"),
        Remedy::MoreMemory => "a device with more memory".into(),
        Remedy::Token => command_line::describe(&Remedy::DeviceToken),
        remedy => command_line::describe(remedy),
    }
}
