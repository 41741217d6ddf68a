// SPDX-License-Identifier: Apache-2.0
//! Steps of decoders that may panic.

use std::panic::AssertUnwindSafe;

/// Runs a step of a decoder; `None` if it panicked. Arrow's and Parquet's decoders panic on some damaged bytes (an index
/// beyond a page), and what the owner reads is not trusted to be sound. Nothing may be used after a panic.
pub(super) fn guarded<T>(step: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(step)).ok()
}
