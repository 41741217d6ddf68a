// SPDX-License-Identifier: Apache-2.0
//! The protocol between client and server: the paths, headers and codes of `/v1`, and the JSON of its replies.
//!
//! A reply is one type if the client reads all of it. For a longer reply the client has a type of its own
//! ([`table::Present`], [`service::ServerVersion`]). It ignores unknown fields, so that newer servers can say more.
//!
//! *Invariants.* Released names keep their meaning. Sizes are bytes, times are seconds unless the name says otherwise.
//!
//! *Non-goals.* Binary bodies (manifests, parts, deliveries, plans, answers): the crates that define them encode them. HTTP itself.

pub mod code;
pub mod header;
pub mod job;
pub mod path;
pub mod refusal;
pub mod service;
pub mod table;
