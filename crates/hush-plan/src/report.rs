// SPDX-License-Identifier: Apache-2.0
//! The report of `explain` on a plan, beside steps and graph: costs and bounds, leakage, the ways that
//! were weighed.

use serde::Serialize;

use crate::limits::WayName;

/// A way to answer a query, with its price. Every way gives the same result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Its name.
    pub name: WayName,
    /// The party that evaluates, and the form of the answer, in words.
    pub what: String,
    /// Predicted seconds of server, link and owner.
    pub seconds: f64,
    /// Those of the server.
    pub server_s: f64,
    /// Those of the way there and back.
    pub link_s: f64,
    /// Those of the owner.
    pub owner_s: f64,
    /// Predicted bytes of the answer, without what the clear half of every way has.
    pub bytes_down: u64,
    /// Sentences on what the server learns from it.
    pub tells: Vec<String>,
    /// Speed of the link, in bytes per second, at which it becomes quicker than the way that is taken.
    pub even_link: Option<Turn>,
    /// Rows of the table at which it does.
    pub even_rows: Option<Turn>,
    /// Whether the plan takes it.
    pub taken: bool,
}

/// Where two ways take as long, by their predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// There.
    pub at: f64,
    /// Whether the way is quicker above; else it is below.
    pub above: bool,
}

/// Sizes that limits are compared with, and bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Payload of the encrypted answer in bytes, per group (aggregate task) or full chunk (rows task); with frames and all
    /// else that is sent in [`Prediction`](crate::predict::Prediction).
    pub answer_bytes_each: u64,
    /// Upper bound on groups that the limit allows.
    pub max_groups: u64,
    /// Parameter sets in use, by name.
    pub params: Vec<String>,
    /// Smallest labelled security in bits.
    pub security_bits: u32,
    /// Smallest distance in bits between a noise bound and its limit.
    pub margin_bits: f64,
    /// Multiplicative depth.
    pub depth: u32,
    /// Absolute error bound of approximate results, where there are any: of encryption and encoding. Double precision adds
    /// up to 2^-48 of the largest value in a ring element.
    pub precision: Option<f64>,
    /// Every encrypted sum, program and fetched column, in the order of the task.
    pub nodes: Vec<EncryptedNode>,
}

/// One encrypted operation with its parameters and bounds. Names encrypted columns: for the owner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EncryptedNode {
    /// `sum`, `program` or `fetch`.
    pub kind: &'static str,
    /// Its operand: `the values of age`, or a program as typed.
    pub what: String,
    /// `BGV` or `CKKS`.
    pub scheme: &'static str,
    /// Name of the parameter set.
    pub params: &'static str,
    /// Ring degree `N`.
    pub degree: usize,
    /// `log2 Q`.
    pub log_q: f64,
    /// Labelled security in bits.
    pub security_bits: u32,
    /// The plaintext space: `t = 2^53`, `t = 3 primes, 134 bits`, `scale 2^40`.
    pub plaintext: String,
    /// Multiplicative depth.
    pub depth: u32,
    /// Distance in bits of the noise bound from its limit; `None` where there is no limit to reach.
    pub margin_bits: Option<f64>,
    /// log2 of a bound on the chance that the noise exceeds its bound.
    pub failure_log2: f64,
    /// Absolute error bound of an approximate result.
    pub error: Option<f64>,
    /// Bits of a coefficient in the answer, where it is rounded: see `docs/math/rounding.md`.
    pub answer_bits: Option<u32>,
    /// Cost of rows that devices encrypt; `None` where the owner alone does.
    pub devices: Option<DeviceCost>,
}

/// Cost of a value that a device encrypts with public keys, beside one of the owner's, in a full chunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceCost {
    /// Bytes of a device's value.
    pub value_bytes: f64,
    /// Bytes of the owner's.
    pub owner_value_bytes: f64,
    /// Bits by which the noise of sums over a device's values is larger.
    pub noise_bits: f64,
}

/// Sentences on what the server learns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Leakage {
    /// From the table.
    pub table: Vec<String>,
    /// From this query.
    pub query: Vec<String>,
    /// Things that it does not learn.
    pub hidden: Vec<String>,
}
