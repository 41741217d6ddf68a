// SPDX-License-Identifier: Apache-2.0
//! `hush bench`.

use std::io;

use hush::Error;
use hush_bench::BenchError;
use hush_bench::split_table::{Options, plots, report, run, run_variant};

use crate::args::{Bench, Benchmark, SplitTable};
use crate::terminal::{print, say};

/// Runs a benchmark and prints its report.
pub(super) fn bench(args: &Bench, threads: usize) -> Result<(), Error> {
    match &args.benchmark {
        Benchmark::SplitTable(args) => split_table(args, threads),
    }
}

fn split_table(args: &SplitTable, threads: usize) -> Result<(), Error> {
    let options = Options {
        rows: args.rows,
        seed: args.seed,
        repeat: args.repeat,
        skip_naive: args.skip_naive,
        skip_peers: args.skip_peers,
        python: args.python.clone(),
        threads,
    };
    if let Some(variant) = &args.variant {
        let measured = run_variant(&options, variant).map_err(to_error)?;
        let text = serde_json::to_string(&measured).map_err(|error| Error::output(error.into()))?;
        return print(&format!("{text}\n"));
    }
    let program = std::env::current_exe().map_err(Error::output)?;
    let measured = run(&options, &program).map_err(to_error)?;
    if let Some(directory) = &args.plots {
        let paths =
            plots::write(directory, &measured).map_err(|message| Error::output(io::Error::other(message)))?;
        for path in paths {
            say(&format!("plot {}", path.display()));
        }
    }
    let text = if args.json {
        serde_json::to_string_pretty(&measured).map_err(|error| Error::output(error.into()))?
    } else {
        report::text(args.rows, args.seed, &measured)
    };
    print(&format!("{}\n", text.trim_end()))
}

fn to_error(error: BenchError) -> Error {
    match error {
        BenchError::Hush(error) => error,
        other => Error::output(io::Error::other(other.to_string())),
    }
}
