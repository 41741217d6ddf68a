// SPDX-License-Identifier: Apache-2.0
//! The commands of the program `hush-bench`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use hush::{Error, ProfileInUse};
use hush_bench::{
    BenchError, analytics, appends, bootstraps, compactions, conditions, cubes, deletions, edge_grid,
    encryption, joins, libraries, predictions, products, runs, slot_bootstraps, split_table, tpch,
};
use hush_system::processors;
use hush_system::program::beside;
use hush_terminal::{say, visible};
use serde::Serialize;

use crate::args::{
    Analytics, AnalyticsQuestion, Appends, Benchmark, BootstrapScheme, Bootstraps, Cli, Compact, Conditions,
    Cubes, Delete, EdgeGrid, Encryption, Joins, Libraries, LweAgcd, Predictions, Products, Runs, SplitTable,
    Tpch,
};

/// Runs a benchmark and prints its report.
pub(crate) fn run(cli: &Cli) -> Result<(), Error> {
    let threads = cli.threads.map_or_else(processors::count, usize::from);
    match &cli.benchmark {
        Benchmark::SplitTable(args) => split_table(args, threads),
        Benchmark::EdgeGrid(args) => edge_grid(args),
        Benchmark::Libraries(args) => libraries(args),
        Benchmark::Analytics(args) => analytics(args, threads),
        Benchmark::Appends(args) => appends(args, threads),
        Benchmark::Bootstraps(args) => bootstraps(args, threads),
        Benchmark::Compact(args) => compact(args, threads),
        Benchmark::Conditions(args) => conditions(args, threads),
        Benchmark::Cubes(args) => cubes(args, threads),
        Benchmark::Delete(args) => delete(args, threads),
        Benchmark::Encryption(args) => encryption(args, threads),
        Benchmark::Joins(args) => joins(args, threads),
        Benchmark::Predictions(args) => predictions(args, threads),
        Benchmark::Products(args) => products(args, threads),
        Benchmark::Runs(args) => runs(args, threads),
        Benchmark::Tpch(args) => tpch(args, threads),
        Benchmark::LweAgcd(args) => lwe_agcd(args),
    }
}

fn split_table(args: &SplitTable, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    if let Some(variant) = &args.variant {
        return print_json(&split_table::run_variant(&options, variant).map_err(to_error)?);
    }
    let measured = split_table::run(&options, &this_program()?).map_err(to_error)?;
    write_plots(args.plots.as_deref(), |directory| split_table::plots::write(directory, &measured))?;
    report(args.json, &measured, || split_table::report::text(args.rows, args.seed, &measured))
}

fn edge_grid(args: &EdgeGrid) -> Result<(), Error> {
    let options = args.options();
    if let Some(cell) = &args.cell {
        return print_json(&edge_grid::run_cell(cell, options.profile).map_err(to_error)?);
    }
    let outcome = edge_grid::run(&options, &this_program()?, &mut say).map_err(to_error)?;
    write_plots(args.plots.as_deref(), |directory| edge_grid::plots::write(directory, &outcome.cells))?;
    report(args.json, &outcome, || edge_grid::report::text(&outcome))?;
    all_right("cell", outcome.wrong_cells())
}

fn libraries(args: &Libraries) -> Result<(), Error> {
    if let Some(case) = &args.case {
        return print_json(&libraries::run_case(case, io::stdin().lock()).map_err(to_error)?);
    }
    let outcome = libraries::run(&args.options(), &this_program()?, &mut say).map_err(to_error)?;
    write_plots(args.plots.as_deref(), |directory| libraries::plots::write(directory, &outcome.rows))?;
    report(args.json, &outcome, || libraries::report::text(&outcome))?;
    all_right("program", outcome.disagreements())
}

fn analytics(args: &Analytics, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    if let Some(question) = args.question {
        let question = match question {
            AnalyticsQuestion::Groups => analytics::Question::Groups,
            AnalyticsQuestion::Regression => analytics::Question::Regression,
        };
        return print_json(&analytics::ask(&options, question).map_err(to_error)?);
    }
    let measured = analytics::run(&options, &this_program()?).map_err(to_error)?;
    report(args.json, &measured, || analytics::report::text(args.seed, &measured))
}

fn predictions(args: &Predictions, threads: usize) -> Result<(), Error> {
    let (options, profile) = (args.options(threads), profile());
    let measured = predictions::run(&options, &profile).map_err(to_error)?;
    report(args.json, &measured, || predictions::text(&options, &profile, &measured))
}

fn conditions(args: &Conditions, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let cases = conditions::run(&options).map_err(to_error)?;
    report(args.json, &cases, || conditions::text(&options, &cases))?;
    all_right("question", conditions::wrong(&cases))
}

fn cubes(args: &Cubes, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = cubes::run(&options).map_err(to_error)?;
    report(args.asking.json, &measured, || cubes::text(&options, &measured))?;
    all_right("question", cubes::wrong(&measured))
}

fn bootstraps(args: &Bootstraps, threads: usize) -> Result<(), Error> {
    match args.scheme {
        BootstrapScheme::Tfhe if !args.sets.is_empty() => {
            return Err(to_error(BenchError::SchemeOption { option: "sets", scheme: "ckks" }));
        }
        BootstrapScheme::Ckks if !args.bits.is_empty() => {
            return Err(to_error(BenchError::SchemeOption { option: "bits", scheme: "tfhe" }));
        }
        _ => {}
    }
    if args.scheme == BootstrapScheme::Ckks {
        let options = args.slot_options(threads);
        let measured = slot_bootstraps::run(&options).map_err(to_error)?;
        report(args.asking.json, &measured, || slot_bootstraps::text(&options, &measured))?;
        return all_right("parameter set", slot_bootstraps::wrong(&measured));
    }
    let options = args.options(threads);
    let measured = bootstraps::run(&options).map_err(to_error)?;
    report(args.asking.json, &measured, || bootstraps::text(&options, &measured))?;
    all_right("operation", bootstraps::wrong(&measured))
}

fn products(args: &Products, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = products::run(&options).map_err(to_error)?;
    report(args.asking.json, &measured, || products::text(&options, &measured))?;
    all_right("question", usize::from(!measured.is_exact))
}

fn joins(args: &Joins, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = joins::run(&options).map_err(to_error)?;
    report(args.asking.json, &measured, || joins::text(&options, &measured))?;
    all_right("question", joins::wrong(&measured))
}

/// The questions beside what others published.
#[derive(Serialize)]
struct TpchReport<'a> {
    questions: &'a [tpch::Case],
    published: &'a [tpch::Published],
}

fn tpch(args: &Tpch, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let cases = tpch::run(&options).map_err(to_error)?;
    write_plots(args.plots.as_deref(), |directory| tpch::plots::write(directory, &cases, threads))?;
    let with_others = TpchReport { questions: &cases, published: &tpch::PUBLISHED };
    report(args.json, &with_others, || tpch::report::text(&options, &cases))?;
    all_right("question", tpch::wrong(&cases))
}

fn runs(args: &Runs, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = runs::run(&options).map_err(to_error)?;
    report(args.asking.json, &measured, || runs::text(&options, &measured))?;
    all_right("question", runs::wrong(&measured))
}

fn appends(args: &Appends, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = appends::run(&options).map_err(to_error)?;
    report(args.json, &measured, || appends::text(&options, &measured))?;
    all_right("table", usize::from(measured.check != split_table::Check::Exact))
}

fn compact(args: &Compact, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = compactions::run(&options).map_err(to_error)?;
    report(args.json, &measured, || compactions::text(&options, &measured))?;
    all_right("table", usize::from(measured.check != split_table::Check::Exact))
}

fn delete(args: &Delete, threads: usize) -> Result<(), Error> {
    let options = args.options(threads);
    let measured = deletions::run(&options).map_err(to_error)?;
    report(args.json, &measured, || deletions::text(&options, &measured))?;
    all_right("table", usize::from(measured.check != split_table::Check::Exact))
}

fn encryption(args: &Encryption, threads: usize) -> Result<(), Error> {
    if let Some(case) = &args.case {
        return print_json(&encryption::run_case(case).map_err(to_error)?);
    }
    let options = args.options(threads);
    let measured = encryption::run(&options, &this_program()?).map_err(to_error)?;
    report(args.json, &measured, || encryption::text(&options, &measured))?;
    if measured.is_kept() {
        return Ok(());
    }
    Err(failed("a limit was passed, or a sum is wrong".to_owned()))
}

/// Runs `hush-lab bench`, so that the insecure schemes are in no program but the laboratory's.
fn lwe_agcd(args: &LweAgcd) -> Result<(), Error> {
    let program = beside("hush-lab").map_err(Error::output)?;
    if !program.is_file() {
        return Err(Error::usage(format!(
            "the laboratory is a program of its own, and not at {}\n  Ways out: cargo build --release -p hush-lab",
            program.display()
        )));
    }
    let status = Command::new(&program).arg("bench").args(&args.arguments).status().map_err(Error::output)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => Err(failed("a result of the laboratory was wrong".to_owned())),
        _ => Err(failed(format!("the laboratory ended early: {status}"))),
    }
}

/// What predictions of time rest on; says so where a profile is there but of no use.
fn profile() -> ProfileInUse {
    let profile = ProfileInUse::of_user();
    if let Some(unused) = &profile.unused {
        say(&format!(
            "warning: {}; built-in figures are used\n  Way out: hush doctor --calibrate.",
            visible(&unused.to_string())
        ));
    }
    profile
}

/// The program that measures a case in a process of its own: this one.
fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::output)
}

/// Writes plots where they are wanted, and says which.
fn write_plots(
    directory: Option<&Path>,
    write: impl FnOnce(&Path) -> Result<Vec<PathBuf>, String>,
) -> Result<(), Error> {
    let Some(directory) = directory else { return Ok(()) };
    for path in write(directory).map_err(failed)? {
        say(&format!("plot {}", path.display()));
    }
    Ok(())
}

/// Prints what was measured, as JSON or as text.
fn report(as_json: bool, measured: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Error> {
    if as_json { print_json(measured) } else { print(&format!("{}\n", text().trim_end())) }
}

fn print(text: &str) -> Result<(), Error> {
    hush_terminal::print(text).map_err(Error::output)
}

fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::output(error.into()))?;
    print(&format!("{text}\n"))
}

/// Refuses wrong results: so many of what `noun` names.
fn all_right(noun: &str, wrong: usize) -> Result<(), Error> {
    match wrong {
        0 => Ok(()),
        1 => Err(failed(format!("one {noun} gave a wrong result"))),
        wrong => Err(failed(format!("{wrong} {noun}s gave wrong results"))),
    }
}

fn failed(message: String) -> Error {
    Error::output(io::Error::other(message))
}

fn to_error(error: BenchError) -> Error {
    match error {
        BenchError::Hush(error) => error,
        other => failed(other.to_string()),
    }
}
