// SPDX-License-Identifier: Apache-2.0
//! Historical schemes, for teaching and benchmarks. **Everything here is insecure.**

pub mod cnt12;
pub mod integer;
