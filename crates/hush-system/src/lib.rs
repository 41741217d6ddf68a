// SPDX-License-Identifier: Apache-2.0
//! What the operating system tells and grants.

pub mod program;
