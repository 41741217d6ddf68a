// SPDX-License-Identifier: Apache-2.0
//! Questions to the operating system. Only this crate differs from platform to platform, so that the crates
//! above are the same on each.
//!
//! What a platform lacks:
//!
//! | | Linux | macOS and other Unix | Windows |
//! |---|---|---|---|
//! | [`memory`]: figures and limits | yes | `None` | `None` |
//! | [`usage::own`], [`usage::children`] | yes | yes | `None` |
//! | [`usage::of_process`] | yes | `None` | `None` |
//! | [`processors::count`] | yes | yes | yes |
//! | [`processors::pin_to`] | yes | `Unsupported` | `Unsupported` |
//! | [`memory::restrict`] | yes | yes | `Unsupported` |
//! | [`harden_process`] | all | no core files | nothing |
//! | [`disk::free_bytes`] | yes | yes | `None` |
//!
//! *Invariants.* Nothing here fails because a platform lacks something: the answer is `None`, or an error of kind
//! [`Unsupported`](std::io::ErrorKind::Unsupported) where something was asked to be done.
//!
//! *Non-goals.* Files and their permissions, signals, sockets: the crates that own them say what they need.

pub mod disk;
mod hardening;
pub mod memory;
pub mod processors;
pub mod program;
pub mod usage;

pub use hardening::{Hardening, harden_process};
