// SPDX-License-Identifier: Apache-2.0
//! `hush init`, `keygen`, `encrypt` and `decrypt`: what only the owner does.

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use hush::{
    Capacity, DeviceFit, EncryptOptions, Error, Front, NewPassphrase, OwnerKey, Phases, Policy, Proposal,
    Protection, StoredBytes, TableDecryption, WorkFactor, schema_path,
};

use super::server::{locate, replacement};
use super::{default_key_path, open_file, open_key, open_key_to_change, open_key_within, open_rows, pins};
use crate::account::{bytes, exposure, grouped, times};
use crate::args::{Decrypt, Encrypt, Init, Keygen, Target};
use crate::output::write_stream;
use crate::passphrase;
use crate::progress::Bar;
use crate::terminal::{print, say, visible};

/// Proposes a schema file.
pub(super) fn init(args: &Init) -> Result<(), Error> {
    let policy = Policy { sensitive: args.policy.sensitive.clone(), clear: args.policy.clear.clone() };
    let source = open_file(&args.file, &args.lookup)?;
    let mut proposal = hush::propose(&source, &policy)?;
    let advice = match &args.workload {
        Some(path) => Some(hush::propose_for(&source, &mut proposal, &read_queries(path)?)?),
        None => None,
    };
    let fit = match args.target.target {
        Some(Target::Edge) => Some(fit_to_device(&mut proposal, args.target.device.as_deref())?),
        None => None,
    };
    let path = args.output.clone().unwrap_or_else(|| schema_path(&args.file));
    let to_stdout = path.as_os_str() == "-";
    if to_stdout {
        print(&hush::schema_text(&proposal.schema))?;
    } else {
        hush::write_schema(&path, &proposal.schema, args.force)?;
    }
    let count = |protect| proposal.schema.protected(protect).count();
    let mut text = format!(
        "{} rows, {} columns: {} encrypted, {} sealed, {} clear, {} dropped, {} to decide\n",
        grouped(proposal.rows),
        proposal.schema.columns.len(),
        count(Protection::Encrypt),
        count(Protection::Seal),
        count(Protection::Clear),
        count(Protection::Drop),
        count(Protection::Decide),
    );
    for warning in &proposal.warnings {
        text.push_str(&format!("! {}\n", visible(warning)));
    }
    match fit {
        Some(fit) => text.push_str(&fit),
        None => text.push_str(&stored(&proposal)?),
    }
    if let Some(advice) = &advice {
        text.push_str("For the queries, predicted at 100 Mbit/s:\n");
        advice.lines().iter().for_each(|line| text.push_str(&format!("  {}\n", visible(line))));
    }
    let (wrote, schema) = match to_stdout {
        true => ("Read the schema".to_owned(), " --schema SCHEMA"),
        false => (format!("Wrote {}. Read it", path.display()), ""),
    };
    text.push_str(&format!(
        "{wrote}, decide, set status = \"approved\".\nNext  hush keygen; hush encrypt {}{} -o TABLE{schema}",
        args.file.display(),
        args.lookup.again(),
    ));
    say(&text);
    Ok(())
}

/// The text of a file of queries.
fn read_queries(path: &Path) -> Result<String, Error> {
    let refused = |source| Error::usage(format!("cannot read {}: {source}", path.display()));
    std::fs::read_to_string(path).map_err(refused)
}

/// What the encrypted columns of a proposal take.
fn stored(proposal: &Proposal) -> Result<String, Error> {
    let stored = StoredBytes::of(&proposal.schema)?;
    if stored.columns.is_empty() {
        return Ok(String::new());
    }
    let columns: Vec<String> =
        stored.columns.iter().map(|(name, bytes)| format!("{} {bytes:.1}", visible(name))).collect();
    let total = format!("Encrypted, a row takes about {:.1} bytes ({}).", stored.total(), columns.join(", "));
    if stored.further_copies <= 0.0 {
        return Ok(format!("{total}\n"));
    }
    Ok(format!(
        "{total} Copies for conditions, groups and medians on these columns\n\
         (\"fetch\" in their for) take {:.1} more.\n",
        stored.further_copies
    ))
}

/// Fits a proposal to a device, from a file or this machine. Says what the table takes there.
fn fit_to_device(proposal: &mut Proposal, file: Option<&Path>) -> Result<String, Error> {
    let (capacity, whose) = match file {
        Some(path) => {
            let bytes = read_some(path).map_err(|source| {
                Error::usage(format!(
                    "cannot read {}: {source}\n  Way out: hush-edge doctor --json, on the device.",
                    path.display()
                ))
            })?;
            (Capacity::from_json(&bytes)?, format!("the device of {}", path.display()))
        }
        None => {
            say("Measuring this machine, some seconds; --device FILE is for another.");
            (Capacity::measure()?, "this machine".to_owned())
        }
    };
    let DeviceFit { columns, load } = hush::fit_to_device(proposal, &capacity)?;
    if load.columns == 0 {
        return Ok("! No column is encrypted: devices would have nothing to protect.\n".to_owned());
    }
    let sets: Vec<String> = columns.iter().map(|(params, count)| format!("{count} over {params}")).collect();
    Ok(format!(
        "On {whose}: {} encoded columns ({}), {:.0} bytes of ciphertext a row, {} rows a second, {:.0} MB of memory; room for {} rows\n",
        load.columns,
        sets.join(", "),
        load.row_bytes,
        grouped(load.rows_per_s as u64),
        load.memory_bytes as f64 / 1e6,
        grouped(proposal.schema.max_rows),
    ))
}

/// One byte more than a file with a device's capacity may have.
fn read_some(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(Capacity::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a key.
pub(super) fn keygen(args: &Keygen) -> Result<(), Error> {
    let path = args.output.clone().map_or_else(default_key_path, Ok)?;
    let source = passphrase::Source { file: args.passphrase_file.as_deref(), descriptor: args.passphrase_fd };
    let given = passphrase::read_new(&source, "Passphrase: ")?;
    let new = if args.weak_passphrase { NewPassphrase::weak(given) } else { NewPassphrase::new(given) };
    let work = args.opens_in.map_or(WorkFactor::Calibrated, WorkFactor::Memory);
    let key = OwnerKey::create(&path, args.backup.as_deref(), &new?, work)?;
    let backup = match &args.backup {
        Some(backup) => format!("Backup at {}.", backup.display()),
        None => "No backup was made: --backup PATH writes one.".to_owned(),
    };
    let text = format!(
        "Key {} at {}, wrapped by your passphrase.\n{backup}\n\
         Whoever loses the key file or the passphrase loses the data: nobody can restore it.",
        key.id(),
        path.display()
    );
    say(&text);
    Ok(())
}

/// What follows a change of the key file.
pub(super) const NEW_ROOT: &str =
    "! The key file has a root that nothing else has: copy it again (hush key backup)";

/// Encrypts a file into a table directory.
pub(super) fn encrypt(args: &Encrypt, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let is_stream = args.file.as_os_str() == "-";
    let schema = match &args.schema {
        Some(schema) => schema.clone(),
        None if is_stream => {
            return Err(Error::usage("standard input has no schema beside it\n  Way out: --schema PATH."));
        }
        None => schema_path(&args.file),
    };
    let schema = hush::approved_schema(&schema)?;
    let key = phases.time("key", || match schema.erasable {
        true => open_key_to_change(&args.key, args.memory_limit),
        false => open_key_within(&args.key, args.memory_limit),
    })?;
    let options = EncryptOptions {
        schema,
        source: open_rows(&args.file, &args.lookup)?,
        output: args.output.clone(),
        workload: args.workload.clone(),
        threads,
        memory_limit: args.memory_limit,
        pins: pins(),
        replace: args.replace,
    };
    let counted = options.source.rows();
    if let Some(note) = hush::filter_note(&options.schema, counted.unwrap_or(options.schema.max_rows)) {
        // Rows of CSV are counted while they are read.
        let most = if counted.is_some() { "" } else { ", as many as `max_rows` admits" };
        say(&format!("Takes {note}{most}"));
    }
    let encrypted = phases.time("encrypt", || hush::encrypt(&options, &key, &Bar::default()))?;
    let manifest = encrypted.manifest.manifest();
    if let Some(replaced) = &encrypted.replaced {
        say(&replacement(replaced, manifest.rows));
    }
    if options.schema.erasable {
        say(NEW_ROOT);
    }
    if let Some(note) = encrypted.device_note(&options.schema, Front::CommandLine) {
        say(&format!("! {note}"));
    }
    let dropped = options.schema.protected(Protection::Drop).map(|column| column.name.as_str());
    not_kept(&dropped.collect::<Vec<_>>());
    for note in hush::reading_notes(&options.schema, &options.source) {
        say(&format!("! {}", visible(&note)));
    }
    let stored = manifest.parts.iter().map(|part| part.stored_bytes()).sum();
    let text = format!(
        "Table {} version {}: {} rows, {} encoded columns, {}, key {}\nTime  {}\nNext  hush query {} \"SELECT ...\"; hush push {} SERVER",
        visible(&manifest.table),
        manifest.version,
        grouped(manifest.rows),
        manifest.encodings.len(),
        bytes(stored),
        manifest.key_id,
        times(&phases, start.elapsed().as_secs_f64()),
        args.output.display(),
        args.output.display(),
    );
    say(&text);
    Ok(())
}

/// Names the columns that the table does not have.
fn not_kept(names: &[&str]) {
    if !names.is_empty() {
        say(&format!("Not kept  {} (protect = \"drop\")", visible(&names.join(", "))));
    }
}

/// Writes the owner's data to standard output.
pub(super) fn decrypt(args: &Decrypt) -> Result<(), Error> {
    let key = open_key(&args.key)?;
    let location = locate(&args.table, &args.token)?;
    let columns = args.columns.as_deref();
    let decryption = TableDecryption::open(location.place(), &key, &pins(), columns, &Bar::default())?;
    if args.columns.is_none() {
        not_kept(&decryption.dropped());
    }
    let decryption = match args.release.digits {
        Some(digits) => decryption.released(digits)?,
        None => decryption,
    };
    exposure(&decryption.exposed());
    let schema = decryption.schema();
    write_stream(&schema, decryption.map(|batch| batch.map_err(Error::from)), args.format)
}
