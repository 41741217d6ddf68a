// SPDX-License-Identifier: Apache-2.0
//! One module per group of commands.

mod alter;
mod append;
mod bench;
mod compact;
mod delete;
mod doctor;
mod edge;
mod eval;
mod explain;
mod key;
mod life;
mod model;
mod owner;
mod query;
mod rehearsal;
mod rotate;
mod server;
mod several;
mod update;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hush::{Error, OwnerKey, Pins, ProfileInUse, Source};

use crate::args::{Cli, Command, KeyArgs, LookupArgs};
use crate::passphrase;
use crate::terminal::{say, visible};

/// Runs the command; gives the exit status.
pub(crate) fn run(cli: &Cli) -> Result<ExitCode, Error> {
    let threads = cli.threads.map_or_else(hush_system::processors::count, usize::from);
    match &cli.command {
        Command::Run(args) => rehearsal::run(args, threads),
        Command::Eval(args) => eval::eval(args, threads),
        Command::Init(args) => owner::init(args),
        Command::Keygen(args) => owner::keygen(args),
        Command::Key(args) => key::key(args),
        Command::Encrypt(args) => owner::encrypt(args, threads),
        Command::Append(args) => append::append(args, threads),
        Command::Compact(args) => compact::compact(args, threads),
        Command::Decrypt(args) => owner::decrypt(args),
        Command::Push(args) => server::push(args),
        Command::Pull(args) => server::pull(args),
        Command::Ls(args) => server::ls(args),
        Command::Info(args) => server::info(args),
        Command::Delete(args) => delete::delete(args, threads),
        Command::Update(args) => update::update(args, threads),
        Command::Drop(args) => server::drop_table(args),
        Command::History(args) => life::history(args),
        Command::Purge(args) => life::purge(args),
        Command::Alter(args) => alter::alter(args, threads),
        Command::Rotate(args) => rotate::rotate(args, threads),
        Command::Query(args) => several::query(args, threads),
        Command::Explain(args) => several::explain(args, threads),
        Command::Fit(args) => model::fit(args, threads),
        Command::Score(args) => model::score(args, threads),
        Command::Edge(args) => edge::edge(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Bench(args) => return bench::bench(args, cli),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The rows of a file, or of standard input, with what they look up.
fn open_rows(file: &Path, lookup: &LookupArgs) -> Result<Source, Error> {
    match file.as_os_str() == "-" {
        true => hush::look_up(hush::open_stream(Box::new(std::io::stdin()))?, &lookup.files),
        false => open_file(file, lookup),
    }
}

/// The rows of a file, which a first pass does not use up, with what they look up.
fn open_file(file: &Path, lookup: &LookupArgs) -> Result<Source, Error> {
    hush::look_up(hush::open(file)?, &lookup.files)
}

/// Opens the owner's key.
pub(crate) fn open_key(args: &KeyArgs) -> Result<OwnerKey, Error> {
    open_key_within(args, None)
}

/// Opens the owner's key in a process that may take so many bytes of memory.
fn open_key_within(args: &KeyArgs, memory_limit: Option<u64>) -> Result<OwnerKey, Error> {
    let path = key_path(args)?;
    let passphrase = passphrase::read(&key_source(args))?;
    Ok(match memory_limit {
        Some(limit) => OwnerKey::open_within(&path, &passphrase, limit)?,
        None => OwnerKey::open(&path, &passphrase)?,
    })
}

/// Opens the owner's key, whose file takes and loses the roots of tables that can be erased.
fn open_key_to_change(args: &KeyArgs, memory_limit: Option<u64>) -> Result<OwnerKey, Error> {
    let (path, passphrase) = (key_path(args)?, passphrase::read(&key_source(args))?);
    let key = match memory_limit {
        Some(limit) => OwnerKey::open_within(&path, &passphrase, limit)?,
        None => OwnerKey::open(&path, &passphrase)?,
    };
    Ok(key.to_change(&path, &passphrase, args.passphrase_file.as_deref()))
}

/// The owner's key file, which is there.
fn key_path(args: &KeyArgs) -> Result<PathBuf, Error> {
    let path = args.key.clone().map_or_else(default_key_path, Ok)?;
    if path.exists() {
        return Ok(path);
    }
    let what = format!("no key at {}\n  Ways out: hush keygen; --key PATH.", path.display());
    Err(Error::key("HUSH-K006", what))
}

/// Where the passphrase of the owner's key comes from.
fn key_source(args: &KeyArgs) -> passphrase::Source<'_> {
    passphrase::Source { file: args.passphrase_file.as_deref(), descriptor: args.passphrase_fd }
}

/// The pins of this user; warns if nothing can be remembered.
pub(crate) fn pins() -> Pins {
    let pins = Pins::of_user();
    if !pins.remembers() {
        say("warning: versions of tables are not remembered, so an older one would not be noticed\n  \
             Way out: set HUSH_STATE_DIR, or HOME.");
    }
    pins
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

/// `$XDG_CONFIG_HOME/hushtable/owner.hushkey`, else below `~/.config`.
fn default_key_path() -> Result<PathBuf, Error> {
    let directory = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Error::usage("there is no home directory\n  Way out: --key PATH"))?;
    Ok(config.join("hushtable/owner.hushkey"))
}
