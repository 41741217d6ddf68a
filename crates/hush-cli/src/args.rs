// SPDX-License-Identifier: Apache-2.0
//! Arguments. Secrets come by file or descriptor, never by argument.

mod alter;
mod append;
mod compact;
mod credentials;
mod delete;
mod device;
pub(crate) mod edge;
mod key;
mod life;
mod lookup;
mod model;
mod question;
mod release;
mod rotate;
mod update;
mod ways;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use hush_terminal::size;

use edge::Edge;

pub(crate) use append::Append;
pub(crate) use compact::Compact;
pub(crate) use credentials::{KeyArgs, TokenArgs};
pub(crate) use delete::Delete;

pub(crate) use alter::Alter;
pub(crate) use device::{Doctor, Target, TargetArgs};
pub(crate) use key::{Backup, ChangePassphrase, Key, KeyCommand};
pub(crate) use life::{History, Purge};
pub(crate) use lookup::LookupArgs;
pub(crate) use model::{Fit, Printed, Score};
pub(crate) use question::QuestionArgs;
pub(crate) use release::ReleaseArgs;
pub(crate) use rotate::Rotate;
pub(crate) use update::Update;
pub(crate) use ways::WayArgs;

use crate::output::Format;

/// Ask questions of a table that the server cannot read.
#[derive(Debug, Parser)]
#[command(name = "hush", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print errors as one JSON object on standard error
    #[arg(long, global = true)]
    pub(crate) json_errors: bool,
    /// Worker threads (default: all cores)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Rehearse on one machine: encrypt what the query uses, evaluate, decrypt, and say what a server would see
    Run(Run),
    /// Evaluate an expression such as "y*(x+z)" on encrypted vectors, scheme and parameters chosen
    Eval(Eval),
    /// Inspect a file and propose a schema for a person to approve
    Init(Init),
    /// Make an owner key, wrapped by a passphrase
    Keygen(Keygen),
    /// The owner key: another passphrase, copies
    Key(Key),
    /// Encrypt a file into a table, by an approved schema
    Encrypt(Encrypt),
    /// Add rows to a table, in a directory, on a server or in an object store
    Append(Append),
    /// Give rows of a table new values
    Update(Update),
    /// Delete rows of a table
    Delete(Delete),
    /// Write small parts and parts with deleted rows of a table anew: fewer, full, without those rows
    Compact(Compact),
    /// Add, drop, rename or widen columns of a table, or give them further purposes
    Alter(Alter),
    /// Give a table another owner key, or new secrets for its rows
    Rotate(Rotate),
    /// Copy a table to a server or an object store
    Push(Push),
    /// Download the newest version of a table, checked against the key and what was seen of it
    Pull(Pull),
    /// List the tables of a server
    Ls(Ls),
    /// Show what is public about a table; with the owner's key, the names of its columns too
    Info(Info),
    /// Show what each version of a table has changed, and how many rows it has
    History(History),
    /// Delete old versions of a table for good, with all that only they need, and write a signed statement of it
    Purge(Purge),
    /// Ask a table, in a directory, on a server or in an object store
    Query(Query),
    /// Show what runs where, what it costs and what the server learns, without running it
    Explain(Explain),
    /// Fit a linear or logistic model, or a tree, to rows of a table
    Fit(Fit),
    /// What a model says of rows of a table
    Score(Score),
    /// Give the owner's data back
    Decrypt(Decrypt),
    /// Delete a table on a server or in an object store
    Drop(DropTable),
    /// Devices: keys that only encrypt, rows that come over time, deliveries
    Edge(Edge),
    /// Show the processor, the kernels chosen, the memory and what predictions of time rest on
    Doctor(Doctor),
    /// Run a benchmark of the workloads that Hushtable was built for
    Bench(Bench),
}

/// Which columns are protected.
#[derive(Debug, Args)]
pub(crate) struct Policy {
    /// These columns are protected, whatever is proposed; what is not named keeps its proposal
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) sensitive: Vec<String>,
    /// These columns may be read by the server
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) clear: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// CSV or Parquet file, or a folder of them, also in an object store (s3://, gs://, az://)
    pub(crate) file: PathBuf,
    /// The query
    pub(crate) sql: String,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) policy: Policy,
    /// Use this schema instead of a proposal
    #[arg(long, value_name = "PATH", conflicts_with_all = ["sensitive", "clear"])]
    pub(crate) schema: Option<PathBuf>,
    /// Recompute everything in the clear and compare exactly
    #[arg(long)]
    pub(crate) verify: bool,
    /// Run the same plan on plain values: nothing is encrypted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Do not break a table that is wider than the terminal
    #[arg(long)]
    pub(crate) wide: bool,
    /// Write the account as JSON to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Put measured beside predicted: bytes, time, memory
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) analyze: bool,
    /// Do not print the account
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Every option that is not below is a vector: `--x 1,2,3`, `--x @FILE`, `--x FILE.csv:COLUMN`.
#[derive(Debug, Args)]
#[command(override_usage = "hush eval [OPTIONS] EXPRESSION --NAME VALUES ...", after_help = VECTORS)]
pub(crate) struct Eval {
    /// Numbers, names, + - * / ^, parentheses; < <= > >= = !=, and, or, xor, not, min, max, if(condition, a, b), lookup(place, entry, ...), repeat(count, name := start, next); or sum(...), mean(...), dot(..., ...)
    #[arg(allow_hyphen_values = true)]
    pub(crate) expression: String,
    /// A vector: the long form of --NAME VALUES, for names that are options
    #[arg(long = "set", value_name = "NAME=VALUES", value_parser = vector, allow_hyphen_values = true)]
    pub(crate) vectors: Vec<(String, String)>,
    /// CSV or Parquet file whose columns are the names that have no vector
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Scheme
    #[arg(long, value_enum, default_value_t = Scheme::Auto)]
    pub(crate) scheme: Scheme,
    /// Largest absolute error of an approximate result (default: 1e-6)
    #[arg(long, value_name = "ERROR")]
    pub(crate) precision: Option<f64>,
    /// Evaluate in the clear as well and compare
    #[arg(long)]
    pub(crate) verify: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Write the account as JSON to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not print the account
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const VECTORS: &str = "Every other option is a vector:
  --x 1,2.5,-3         its values; a number with an exponent (1e-3) makes it approximate
  --x @FILE            a text file of numbers
  --x FILE.csv:COLUMN  a column of a CSV or Parquet file";

/// Schemes of an evaluation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Scheme {
    /// The cheapest that serves
    Auto,
    /// Exact
    Bfv,
    /// Exact
    Bgv,
    /// Approximate
    Ckks,
    /// Exact, digit by digit: comparisons and choices as well
    Tfhe,
}

fn vector(text: &str) -> Result<(String, String), String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=VALUES")?;
    Ok((name.to_owned(), values.to_owned()))
}

impl Cli {
    /// Parses the command line. In `eval` an option that is not its own is a vector: `--x VALUES` is read as `--set x=VALUES`.
    pub(crate) fn of_arguments(arguments: impl Iterator<Item = OsString>) -> Self {
        let arguments = for_benchmarks(arguments.collect());
        let mut command = Self::command();
        // So that options of all commands are known to each.
        command.build();
        let known = command.find_subcommand("eval").map_or_else(Vec::new, |eval| {
            eval.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
        });
        Self::parse_from(with_vectors(arguments, &known))
    }
}

fn with_vectors(arguments: Vec<OsString>, known: &[String]) -> Vec<OsString> {
    let Some(eval) = place_of("eval", &arguments) else { return arguments };
    let mut out = Vec::with_capacity(arguments.len() + 4);
    let mut rest = arguments.into_iter().enumerate();
    while let Some((index, argument)) = rest.next() {
        let option = argument.to_str().filter(|_| index > eval).and_then(|text| text.strip_prefix("--"));
        let (name, value) = match option.map(|option| option.split_once('=')) {
            Some(Some((name, value))) => (name, Some(value.to_owned())),
            _ => (option.unwrap_or_default(), None),
        };
        if name.is_empty() || known.iter().any(|known| known == name) {
            out.push(argument);
            continue;
        }
        let value = value.or_else(|| rest.next().and_then(|(_, value)| value.into_string().ok()));
        out.extend([OsString::from("--set"), format!("{name}={}", value.unwrap_or_default()).into()]);
    }
    out
}

/// The position of `command`, if it is the chosen one. Only options of all commands, with their values, stand before it.
fn place_of(command: &str, arguments: &[OsString]) -> Option<usize> {
    let place = arguments.iter().position(|argument| argument == command)?;
    let before = arguments.get(1..place).unwrap_or_default();
    (!before.iter().any(is_command)).then_some(place)
}

fn is_command(argument: &OsString) -> bool {
    Cli::command().get_subcommands().any(|command| argument == command.get_name())
}

/// What follows `bench` is another program's: `hush bench ARGUMENTS` is read as `hush bench -- ARGUMENTS`, and `hush help bench` as
/// `hush bench -- help`.
fn for_benchmarks(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if let [_, help, bench, ..] = &mut arguments[..]
        && help == "help"
        && bench == "bench"
    {
        std::mem::swap(help, bench);
    }
    if let Some(bench) = place_of("bench", &arguments) {
        arguments.insert(bench + 1, "--".into());
    }
    arguments
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// CSV or Parquet file, or a folder of them, also in an object store (s3://, gs://, az://)
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) policy: Policy,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// SQL queries, separated by semicolons: propose the layouts that make them cheap
    #[arg(long = "for", value_name = "PATH", conflicts_with = "target")]
    pub(crate) workload: Option<PathBuf>,
    /// Where to write the schema, - for standard output (default: beside the data, patients.schema.toml for
    /// patients.csv)
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing schema
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// Where to write the key (default: ~/.config/hushtable/owner.hushkey)
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// File whose first line is the passphrase
    #[arg(long, value_name = "PATH", env = "HUSH_PASSPHRASE_FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Open file descriptor whose first line is the passphrase
    #[arg(long, value_name = "N", conflicts_with = "passphrase_file")]
    pub(crate) passphrase_fd: Option<u32>,
    /// Write a second, identical copy here (another disk, please)
    #[arg(long, value_name = "PATH")]
    pub(crate) backup: Option<PathBuf>,
    /// Accept a passphrase of fewer than 12 characters
    #[arg(long)]
    pub(crate) weak_passphrase: bool,
    /// Memory that trying a passphrase takes at most, for small machines: 16MiB or more (default: about a second's work, 128 MiB or more)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) opens_in: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Encrypt {
    /// CSV or Parquet file, or a folder of them, also in an object store (s3://, gs://, az://); - is CSV on standard input
    pub(crate) file: PathBuf,
    /// Table directory to write, or s3://BUCKET/PREFIX
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// Approved schema (default: beside the data, patients.schema.toml for patients.csv)
    #[arg(long, value_name = "PATH")]
    pub(crate) schema: Option<PathBuf>,
    /// SQL queries, separated by semicolons, whose layouts the table must have
    #[arg(long = "for", value_name = "PATH")]
    pub(crate) workload: Option<PathBuf>,
    /// Most memory that the program may take, for instance 64MB (the key included: see keygen --opens-in)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory_limit: Option<u64>,
    /// Replace the table that is there: all its rows, those accepted from devices too
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// Table directory, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    /// Server, for instance https://host:7373, or s3://BUCKET/PREFIX
    pub(crate) server: String,
    /// Then download all of it and compare, instead of taking the other side's word for what it has
    #[arg(long)]
    pub(crate) verify: bool,
    /// Replace the rows of the version that is there, where this one does not only add to them
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    /// Table directory to write, or s3://BUCKET/PREFIX
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Server, or s3://BUCKET/PREFIX
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// One JSON object per table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The schema of the table as it is now, as a file; needs the owner's key
    #[arg(long, conflicts_with = "json")]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "hush query [OPTIONS] <TABLE>... <SQL>")]
pub(crate) struct Query {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Do not break a table that is wider than the terminal
    #[arg(long)]
    pub(crate) wide: bool,
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,
    /// Print the account of time (of the whole command, and its parts) and bytes to standard error
    #[arg(long)]
    pub(crate) account: bool,
    /// Put measured beside predicted (bytes, time, memory), on standard error
    #[arg(long)]
    pub(crate) analyze: bool,
    /// The analysis as JSON
    #[arg(long, requires = "analyze")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ways: WayArgs,
    /// Put the question to columns that are kept on this machine, in so many bytes [default: 1GB]; those that are missing come back whole
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "1GB",
        value_parser = size::parse, conflicts_with_all = ["way", "hide", "digits"])]
    pub(crate) keep: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "hush explain [OPTIONS] <TABLE>... <SQL>")]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    /// Groups that the answer is assumed to have (default: 10 where there is GROUP BY)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) groups: Option<u64>,
    /// Add parameters, depth and noise margin of each encrypted operation, and the counted work
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the operators into this file, .svg or .dot
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) ways: WayArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Decrypt {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    /// Only these columns
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) columns: Option<Vec<String>>,
    /// Format of the data
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DropTable {
    /// Server, or s3://BUCKET/PREFIX
    pub(crate) server: String,
    /// Table name
    pub(crate) table: String,
    /// Really delete
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Of `hush-bench`: see `hush bench help`
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(line: &str) -> Eval {
        match Cli::of_arguments(line.split(' ').map(OsString::from)).command {
            Command::Eval(eval) => eval,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_that_are_not_evals_own_are_vectors() {
        let args =
            eval("hush --threads 1 eval y*x --x -1,2 --scheme bgv --y=@f --set data=3 --json --threads 2");
        let vectors: Vec<(&str, &str)> = args.vectors.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(vectors, [("x", "-1,2"), ("y", "@f"), ("data", "3")]);
        assert!(args.json && matches!(args.scheme, Scheme::Bgv));
    }

    #[test]
    fn arguments_of_benchmarks_are_passed_on() {
        for (line, expected) in [
            ("hush bench", ""),
            ("hush bench --help", "--help"),
            ("hush help bench", "help"),
            ("hush help bench libraries", "help libraries"),
            ("hush bench -x", "-x"),
            ("hush bench W2 --up-to 52 --json", "W2 --up-to 52 --json"),
            ("hush bench -- split-table", "-- split-table"),
            ("hush --threads 2 bench split-table --threads 3", "split-table --threads 3"),
            ("hush bench --threads 0 split-table", "--threads 0 split-table"),
        ] {
            let Command::Bench(bench) = Cli::of_arguments(line.split(' ').map(OsString::from)).command else {
                panic!("another command: {line}");
            };
            let words: Vec<_> = bench.arguments.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(words.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn other_commands_have_no_vectors() {
        let line = ["hush", "run", "eval", "--x", "1"].map(OsString::from).to_vec();
        assert_eq!(with_vectors(line.clone(), &[]), line);
    }
}
