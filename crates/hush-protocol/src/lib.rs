// SPDX-License-Identifier: Apache-2.0
//! What both ends of the network say: the paths, headers and codes of `/v1`, and the JSON of its replies.
//!
//! A reply is one type where the client reads all that it needs of it. What the client reads of a longer reply is a type of its own
//! beside it ([`table::Present`], [`service::ServerVersion`]): unknown fields are ignored, so that newer servers can say more.
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
