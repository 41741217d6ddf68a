// SPDX-License-Identifier: Apache-2.0
//! `hush bench`.

use std::io;

use hush::Error;
use hush_bench::split_table::{Options, plots, report, run, run_variant};
use hush_bench::{BenchError, analytics, edge_grid, encryption, libraries, predictions};

use super::profile;
use crate::args::{
    Analytics, AnalyticsQuestion, Bench, Benchmark, Libraries, LibrariesTable, Predictions, SplitTable,
};
use crate::bench_args::{EdgeGrid, Encryption};
use crate::terminal::{print, say};

/// Runs a benchmark and prints its report.
pub(super) fn bench(args: &Bench, threads: usize) -> Result<(), Error> {
    match &args.benchmark {
        Benchmark::SplitTable(args) => split_table(args, threads),
        Benchmark::EdgeGrid(args) => grid(args),
        Benchmark::Libraries(args) => side_by_side(args),
        Benchmark::Analytics(args) => analytical(args, threads),
        Benchmark::Encryption(args) => encrypted(args, threads),
        Benchmark::Predictions(args) => predicted(args, threads),
        Benchmark::LweAgcd(args) => super::lab::bench(&args.arguments),
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

fn grid(args: &EdgeGrid) -> Result<(), Error> {
    let options = args.options();
    if let Some(cell) = &args.cell {
        let answer = edge_grid::run_cell(cell, options.profile).map_err(to_error)?;
        return print(&format!("{}\n", json(&answer)?));
    }
    let program = std::env::current_exe().map_err(Error::output)?;
    let mut progress = say;
    let outcome = edge_grid::run(&options, &program, &mut progress).map_err(to_error)?;
    if let Some(directory) = &args.plots {
        let paths = edge_grid::plots::write(directory, &outcome.cells)
            .map_err(|message| Error::output(io::Error::other(message)))?;
        for path in paths {
            say(&format!("plot {}", path.display()));
        }
    }
    let text = if args.json { json(&outcome)? } else { edge_grid::report::text(&outcome) };
    print(&format!("{}\n", text.trim_end()))?;
    match outcome.wrong_cells() {
        0 => Ok(()),
        1 => Err(Error::output(io::Error::other("one cell gave a wrong result"))),
        wrong => Err(Error::output(io::Error::other(format!("{wrong} cells gave wrong results")))),
    }
}

fn side_by_side(args: &Libraries) -> Result<(), Error> {
    if let Some(case) = &args.case {
        let answer = libraries::run_case(case, io::stdin().lock()).map_err(to_error)?;
        return print(&format!("{}\n", json(&answer)?.trim_end()));
    }
    let options = libraries::Options {
        repetitions: args.repeat,
        table: args.table.map(|table| match table {
            LibrariesTable::Workload => libraries::Table::Workload,
            LibrariesTable::Primitives => libraries::Table::Primitives,
            LibrariesTable::Programs => libraries::Table::Programs,
        }),
        only: args.only.clone(),
        skip_peers: args.skip_peers,
        pythons: args.python.clone(),
        go: args.go.clone(),
        cmake_prefix: args.cmake_prefix.clone(),
        build: args.build.clone(),
        programs: args.programs,
        seed: args.seed,
    };
    let program = std::env::current_exe().map_err(Error::output)?;
    let mut progress = say;
    let outcome = libraries::run(&options, &program, &mut progress).map_err(to_error)?;
    if let Some(directory) = &args.plots {
        let paths = libraries::plots::write(directory, &outcome.rows)
            .map_err(|message| Error::output(io::Error::other(message)))?;
        for path in paths {
            say(&format!("plot {}", path.display()));
        }
    }
    let text = if args.json { json(&outcome)? } else { libraries::report::text(&outcome) };
    print(&format!("{}\n", text.trim_end()))?;
    match outcome.disagreements() {
        0 => Ok(()),
        1 => Err(Error::output(io::Error::other("one program gave a wrong result"))),
        wrong => Err(Error::output(io::Error::other(format!("{wrong} programs gave wrong results")))),
    }
}

fn analytical(args: &Analytics, threads: usize) -> Result<(), Error> {
    let options = analytics::Options {
        rows: args.rows,
        seed: args.seed,
        repeat: args.repeat,
        skip_peers: args.skip_peers,
        python: args.python.clone(),
        threads,
    };
    if let Some(question) = args.question {
        let question = match question {
            AnalyticsQuestion::Groups => analytics::Question::Groups,
            AnalyticsQuestion::Regression => analytics::Question::Regression,
        };
        let measured = analytics::ask(&options, question).map_err(to_error)?;
        return print(&format!("{}\n", json(&measured)?.trim_end()));
    }
    let program = std::env::current_exe().map_err(Error::output)?;
    let measured = analytics::run(&options, &program).map_err(to_error)?;
    let text = if args.json { json(&measured)? } else { analytics::report::text(args.seed, &measured) };
    print(&format!("{}\n", text.trim_end()))
}

fn predicted(args: &Predictions, threads: usize) -> Result<(), Error> {
    let options =
        predictions::Options { rows: args.rows.clone(), seed: args.seed, repeat: args.repeat, threads };
    let profile = profile();
    let measured = predictions::run(&options, &profile).map_err(to_error)?;
    let text = if args.json { json(&measured)? } else { predictions::text(&options, &profile, &measured) };
    print(&format!("{}\n", text.trim_end()))
}

fn encrypted(args: &Encryption, threads: usize) -> Result<(), Error> {
    if let Some(case) = &args.case {
        let answer = encryption::run_case(case).map_err(to_error)?;
        return print(&format!("{}\n", json(&answer)?));
    }
    let Encryption { rows, seed, repeat, .. } = *args;
    let options = encryption::Options { rows, seed, repeat, limits: args.limits.clone(), threads };
    let program = std::env::current_exe().map_err(Error::output)?;
    let measured = encryption::run(&options, &program).map_err(to_error)?;
    let text = if args.json { json(&measured)? } else { encryption::text(&options, &measured) };
    print(&format!("{}\n", text.trim_end()))?;
    if measured.iter().all(encryption::Measured::is_kept) {
        return Ok(());
    }
    Err(Error::output(io::Error::other("a limit was passed, or a sum is wrong")))
}

fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map_err(|error| Error::output(error.into()))
}

fn to_error(error: BenchError) -> Error {
    match error {
        BenchError::Hush(error) => error,
        other => Error::output(io::Error::other(other.to_string())),
    }
}
