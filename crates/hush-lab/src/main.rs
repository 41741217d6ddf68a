// SPDX-License-Identifier: Apache-2.0
//! The `hush-lab` command: the historical schemes. Insecure, for teaching.

fn main() {}
