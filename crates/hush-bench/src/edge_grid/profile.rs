// SPDX-License-Identifier: Apache-2.0
//! The share of the machine that a cell may use.

use std::io;

use hush_system::{memory, processors};
use serde::{Deserialize, Serialize};

/// The machine, or as much of it as a small device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// One core and [`EDGE_MEMORY_BYTES`] of memory.
    Edge,
    /// Everything; a cell computes on one thread all the same.
    Pc,
}

/// Half of the 512 MiB that the smallest boards with an operating system have.
pub const EDGE_MEMORY_BYTES: u64 = 256 << 20;

impl Profile {
    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Pc => "pc",
        }
    }

    /// Cores that a process may run on; all if none.
    pub fn cores(self) -> Option<u32> {
        match self {
            Self::Edge => Some(1),
            Self::Pc => None,
        }
    }

    /// Bytes that a process may take; all if none.
    pub fn memory_bytes(self) -> Option<u64> {
        match self {
            Self::Edge => Some(EDGE_MEMORY_BYTES),
            Self::Pc => None,
        }
    }

    /// Restricts this process: this thread and those that it starts run on the first core that it may use, and memory beyond
    /// the limit is refused by the kernel. (Pages of the program itself are not counted by the kernel, but by the check of
    /// the peak afterwards.)
    ///
    /// # Errors
    /// The operating system refuses.
    pub(super) fn restrict(self) -> io::Result<()> {
        if let Some(limit) = self.memory_bytes() {
            memory::restrict(limit)?;
        }
        if self.cores().is_some() {
            match processors::pin_to(1) {
                // The pool of one thread has to do.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                pinned => pinned?,
            }
        }
        Ok(())
    }
}
