// SPDX-License-Identifier: Apache-2.0
//! The engine from outside: random tables are encrypted with a fresh key, plans run, answers decrypted and compared
//! with 128-bit and 256-bit arithmetic on the plaintext.

mod aggregate;
mod fixture;
mod reference;
mod refusals;
mod rows;
