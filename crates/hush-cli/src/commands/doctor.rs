// SPDX-License-Identifier: Apache-2.0
//! `hush doctor`: what this machine is to Hushtable.

use hush::{Error, ProfileInUse};
use hush_edge::command::report_capacity;

use super::profile;
use crate::account::wrapped;
use crate::analysis::ago;
use crate::args::Doctor;
use crate::terminal::{print, say};

/// Prints processor path, threads, memory, versions and the profile that predictions rest on.
pub(super) fn doctor(args: &Doctor) -> Result<(), Error> {
    if args.device {
        return Ok(report_capacity(args.json)?);
    }
    let facts = hush::machine()?;
    let profile = if args.calibrate {
        say("Measuring, some ten seconds.");
        hush::calibrate()?
    } else {
        profile()
    };
    let memory =
        facts.memory_bytes.map_or("unknown".to_owned(), |bytes| format!("{:.1} GB", bytes as f64 / 1e9));
    let text = format!(
        "hush      {}\nKernels   {} (available: {}); HUSH_CPU overrides\nThreads   {}\nMemory    {memory}\nParams    {}\n\
         Profile   {}\nCosts     {}",
        env!("CARGO_PKG_VERSION"),
        facts.kernels,
        facts.available.join(", "),
        facts.threads,
        facts.params.join(", "),
        described(&profile),
        costs(&profile),
    );
    print(&format!("{text}\n"))
}

fn described(profile: &ProfileInUse) -> String {
    match (&profile.path, profile.age_s()) {
        (Some(path), Some(age)) => format!("measured {}: {}", ago(age), path.display()),
        _ => "built-in; --calibrate measures this machine".to_owned(),
    }
}

/// `query 10 ms, clear cell 12 ns, …; 1.3 times that with 4 threads`.
fn costs(profile: &ProfileInUse) -> String {
    let profile = &profile.profile;
    let cost = |(name, seconds): (&str, f64)| format!("{} {}", name.replace('_', " "), short(seconds));
    let units = profile.units.named().map(cost).join(", ");
    let crowded = match profile.threads {
        0 | 1 => String::new(),
        threads => format!("; {:.2} times that while {threads} threads are busy", profile.crowding),
    };
    wrapped(&format!("{units}{crowded}"), 10)
}

fn short(seconds: f64) -> String {
    match seconds {
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s if s >= 1e-6 => format!("{:.1} us", s * 1e6),
        s => format!("{:.2} ns", s * 1e9),
    }
}
