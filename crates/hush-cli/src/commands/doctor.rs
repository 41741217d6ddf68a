// SPDX-License-Identifier: Apache-2.0
//! `hush doctor`: what this machine is to Hushtable.

use hush::Error;

use crate::terminal::print;

/// Prints processor path, threads, memory and versions.
pub(super) fn doctor() -> Result<(), Error> {
    let facts = hush::machine()?;
    let memory =
        facts.memory_bytes.map_or("unknown".to_owned(), |bytes| format!("{:.1} GB", bytes as f64 / 1e9));
    let text = format!(
        "hush      {}\nKernels   {} (available: {}); HUSH_CPU overrides\nThreads   {}\nMemory    {memory}\nParams    {}",
        env!("CARGO_PKG_VERSION"),
        facts.kernels,
        facts.available.join(", "),
        std::thread::available_parallelism().map_or(1, usize::from),
        facts.params.join(", "),
    );
    print(&format!("{text}\n"))
}
