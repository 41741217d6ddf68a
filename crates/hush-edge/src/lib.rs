// SPDX-License-Identifier: Apache-2.0
//! The device's side: rows come in, encrypted deliveries go out, and nothing on the device can decrypt them.
//!
//! ```text
//!   lines ─ Feed ─▶ rows of a chunk ─ DeviceEncryptor ─▶ parts ─ Spool ─▶ Forwarder ─▶ table (directory, server, bucket)
//!   standard input,   full, or a        public keys       on disk,        acknowledged:
//!   a file that grows  time has passed                    signed          then deleted
//! ```
//!
//! *Invariants.*
//! - The key of a device encrypts and signs. This crate holds no secret key, nor a way to one (a check walks the dependency graph).
//!   The device cannot read the rows that it has encrypted.
//! - Plaintext is only in memory, and only until its chunk is encrypted. Rows leave encrypted or not at all: on any error the
//!   program stops.
//! - A delivery is in the spool whole or not at all, and leaves it once the table has it. Its number and its end in the input become
//!   durable together. So after a loss of power a growing file is read on from there, and every row is delivered once.
//!
//! *Non-goals.* Encrypting with the owner's secret, which is smaller and faster (`hush encrypt`); sealed columns and slots, which
//! need the secret.

pub mod capacity;
pub mod command;
mod device_key;
mod encrypt;
mod error;
mod event;
mod feed;
mod forward;
mod gateway;
mod input;
mod job;
mod packing;
mod place;
mod spool;

pub use capacity::{Capacity, Load, RingCapacity};
pub use device_key::{DeviceKey, KeyFamily, digest_of_encodings};
pub use encrypt::DeviceEncryptor;
pub use error::EdgeError;
pub use event::Event;
pub use feed::LineForm;
pub use forward::Destination;
pub use gateway::{GatewayOptions, Summary, run};
pub use input::Input;
pub use job::{Device, JobRun, Task};
pub use spool::Spool;
