// SPDX-License-Identifier: Apache-2.0
//! From rows to what is encrypted of them, the same for owner and device: both compute the same quantities from the same rows,
//! so that the owner can check what a device delivers.
//!
//! ```text
//!   RowBatch ─ quantity ─▶ values of an encoded column     ─▶ encryption
//!            └ clear_rows ─▶ clear columns as Arrow arrays ─▶ Parquet
//! ```
//!
//! *Invariants.* No key and no randomness. No error names a value.
//!
//! *Non-goals.* Reading rows (`hush-table`), saying what a column holds (`hush-plan`), polynomials (`hush-schemes`).

mod clear;
mod error;
pub mod logarithm;
mod quantity;
mod units;

pub use clear::{
    MAX_CLEAR_FILE_BYTES, MAX_CLEAR_ROW_BYTES, arrow_type, clear_rows, clear_schema, oversized_row,
};
pub use error::EncodeError;
pub use quantity::{Codewords, QuantityValues, View, quantity_values};
pub use units::{RowValues, units_of};
