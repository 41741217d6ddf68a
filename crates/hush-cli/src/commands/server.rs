// SPDX-License-Identifier: Apache-2.0
//! `hush push`, `pull`, `ls`, `info` and `drop`.

use std::io::IsTerminal;
use std::path::Path;

use hush::{
    CompactionState, CopyTarget, Error, Listing, Manifest, Present, PrivateHalf, Protection, Pushed,
    TableLocation,
};
use serde_json::json;

use super::{compact, open_key, pins};
use crate::account::{bytes, grouped};
use crate::args::{DropTable, Info, KeyArgs, Ls, Pull, Push, TokenArgs};
use crate::progress::Bar;
use crate::terminal::{self, print, say, visible};

/// The table at `DIRECTORY`, `SERVER/tables/NAME` or `SCHEME://BUCKET/PREFIX`.
pub(super) fn locate(table: &str, token: &TokenArgs) -> Result<TableLocation, Error> {
    TableLocation::of(Path::new(table), token.token_file.as_deref())
}

/// Copies a table to a server or an object store.
pub(super) fn push(args: &Push) -> Result<(), Error> {
    let (table, to) = (
        TableLocation::of_files(&args.table)?,
        CopyTarget::of(&args.server, args.token.token_file.as_deref())?,
    );
    let Pushed { report, rows, replaced } =
        hush::push(table.place(), &to, args.replace, &pins(), &Bar::default())?;
    let mended = match report.parts_replaced {
        0 => String::new(),
        replaced => format!(", {replaced} of them for damaged ones"),
    };
    let text = format!(
        "Version {} is on {}: {} parts sent ({}){mended}, {} were there already",
        report.version,
        to.name(),
        report.parts_sent,
        bytes(report.bytes_sent),
        report.parts_present
    );
    say(&text);
    if let Some(replaced) = replaced {
        say(&replacement(&replaced, rows));
    }
    if args.verify {
        let manifest = table.files()?.load()?;
        match &to {
            CopyTarget::Server(server) => {
                let compared = server.check(&manifest, &Bar::default())?;
                say(&format!("Verified: the server sent all of it back ({})", bytes(compared)));
            }
            CopyTarget::Files(place) => {
                let there = place.files()?;
                there.verify(there.load()?.manifest())?;
                say("Verified: all of it was read back");
            }
        }
    }
    Ok(())
}

/// Takes a table over from a server or an object store.
pub(super) fn pull(args: &Pull) -> Result<(), Error> {
    let key = open_key(&args.key)?;
    let (table, to) = (locate(&args.table, &args.token)?, TableLocation::of_files(&args.output)?);
    let signed = hush::pull(table.place(), to.place(), &key, &pins(), &Bar::default())?;
    let manifest = signed.manifest();
    let (table, rows) = (visible(&manifest.table), grouped(manifest.living_rows()));
    say(&format!("Table {table} version {}: {rows} rows in {}", manifest.version, to.place().name()));
    Ok(())
}

/// That a version took the place of another, with the rows of both.
pub(super) fn replacement(replaced: &Present, rows: u64) -> String {
    let (before, losses) = (grouped(replaced.rows), replaced.losses());
    format!("Replaced version {}: {before} rows before{losses}; {} rows now", replaced.version, grouped(rows))
}

/// Lists tables.
pub(super) fn ls(args: &Ls) -> Result<(), Error> {
    let Listing { tables, unreadable } = Listing::of(&args.server, args.token.token_file.as_deref())?;
    for (place, error) in unreadable {
        say(&format!("! {}: {error}", visible(&place)));
    }
    let mut out = String::new();
    for table in tables {
        out.push_str(&if args.json {
            let line = json!({
                "table": table.name, "version": table.version, "rows": table.rows, "bytes": table.bytes,
                "key": table.key_id,
            });
            format!("{}\n", terminal::json(&line))
        } else {
            let (rows, size) = (grouped(table.rows), bytes(table.bytes));
            format!(
                "{:<24} version {:<4} {rows:>14} rows  {size:>10}  key {}\n",
                visible(&table.name),
                table.version,
                visible(&table.key_id)
            )
        });
    }
    print(&out)
}

/// Shows the public facts about a table, and to an owner with the key at hand the private ones too.
pub(super) fn info(args: &Info) -> Result<(), Error> {
    if args.schema {
        return print(&hush::schema_text(&private_half(args)?.schema));
    }
    let half = if has_key(&args.key) { Some(private_half(args)?) } else { None };
    let manifest = locate(&args.table, &args.token)?.place().look(&pins())?;
    let (digest, manifest) = (manifest.digest(), manifest.manifest());
    let files: u64 = manifest.parts.iter().map(|part| part.stored_bytes()).sum();
    if args.json {
        let mut public = to_json(manifest, &digest.to_string(), files);
        if let Some(half) = &half {
            public["columns"] = columns_json(half);
        }
        return print(&format!("{}\n", terminal::json(&public)));
    }
    let mut out = format!(
        "table      {}\nversion    {}\nrows       {}\nparts      {}, {}\nkey        {}\nmanifest   {digest}\n",
        visible(&manifest.table),
        manifest.version,
        living_rows(manifest),
        manifest.parts.len(),
        bytes(files),
        manifest.key_id,
    );
    if let Some(due) = compact::advice(&CompactionState::of(manifest)) {
        out.push_str(&format!("compaction {due}\n"));
    }
    out.extend(lived(manifest));
    for column in &manifest.clear_columns {
        out.push_str(&format!("clear      {} {}\n", visible(&column.name), column.arrow_type));
    }
    for encoding in &manifest.encodings {
        let held = half.as_ref().and_then(|half| half.description_of(encoding.id));
        let held = held.map_or(String::new(), |words| format!(" {}:", visible(&words)));
        out.push_str(&format!(
            "encrypted  #{}{held} {}, {}\n",
            encoding.id.0,
            encoding.describe(),
            encoding.params
        ));
    }
    for key in &manifest.keys {
        out.push_str(&format!("keys       {}, {}, {}\n", key.kind, key.params, bytes(key.file.bytes)));
    }
    match &half {
        Some(half) => out.push_str(&owned_columns(half, manifest)),
        None if !manifest.sealed_numbers().is_empty() => {
            out.push_str(&format!("sealed     {}\n", manifest.sealed_numbers().len()))
        }
        None => {}
    }
    if half.is_none() {
        out.push_str(
            "names      of encrypted and sealed columns are for the owner: --key, --passphrase-file\n",
        );
    }
    print(&out)
}

/// What a life has left: sets of secrets, generations of columns, keys before this one.
fn lived(manifest: &Manifest) -> Option<String> {
    let mut lines = String::new();
    let earlier: u64 = manifest.earlier.iter().map(|domain| manifest.living_rows_of(domain.number)).sum();
    if !manifest.earlier.is_empty() {
        let next = if manifest.rotating { "a rotation goes on: hush rotate" } else { "hush compact --all" };
        let sets = manifest.domains().len();
        let rows = grouped(earlier);
        lines.push_str(&format!("secrets    {sets} sets: {rows} rows under earlier secrets; {next}\n"));
    }
    let incomplete = manifest.parts.iter().filter(|part| manifest.is_incomplete(part)).count();
    if incomplete > 0 {
        lines.push_str(&format!(
            "columns    an alteration goes on, {incomplete} parts are left: hush alter\n"
        ));
    } else if !manifest.generations.is_empty() {
        let generations = manifest.generations.len() + 1;
        lines.push_str(&format!("columns    {generations} generations; hush compact --all makes them one\n"));
    }
    if !manifest.predecessors.is_empty() {
        lines.push_str(&format!("keys       {} before this one\n", manifest.predecessors.len()));
    }
    (!lines.is_empty()).then_some(lines)
}

/// Whether a key is at hand. Public facts need none, so a user who named no key is not asked for one.
pub(super) fn has_key(key: &KeyArgs) -> bool {
    let is_asked = key.key.is_some() && std::io::stdin().is_terminal();
    key.passphrase_file.is_some() || key.passphrase_fd.is_some() || is_asked
}

/// The rows of a table, and those that were deleted and are still stored.
fn living_rows(manifest: &Manifest) -> String {
    let living = grouped(manifest.living_rows());
    match manifest.dead_rows() {
        0 => living,
        dead => format!("{living}, and {} deleted", grouped(dead)),
    }
}

/// The half of a table that only its owner reads.
fn private_half(args: &Info) -> Result<PrivateHalf, Error> {
    let key = open_key(&args.key)?;
    let table = locate(&args.table, &args.token)?.open(&key, &pins(), 1)?;
    Ok(table.private_half())
}

/// Cubes and sorted runs, and sealed and dropped columns by name, with their types.
fn owned_columns(half: &PrivateHalf, manifest: &Manifest) -> String {
    let mut out = String::new();
    for cube in half.describe_cubes(manifest) {
        out.push_str(&format!("cube       {}\n", visible(&cube)));
    }
    for run in half.describe_runs(manifest) {
        out.push_str(&format!("run        {}\n", visible(&run)));
    }
    for (label, protect) in
        [("join key", Protection::JoinKey), ("sealed", Protection::Seal), ("dropped", Protection::Drop)]
    {
        for column in half.schema.protected(protect) {
            out.push_str(&format!(
                "{label:<10} {} {}\n",
                visible(&column.name),
                hush::type_name(column.kind)
            ));
        }
    }
    out
}

fn columns_json(half: &PrivateHalf) -> serde_json::Value {
    let column = |column: &hush::Column| json!({ "name": column.name, "type": hush::type_name(column.kind), "protect": column.protect });
    half.schema.columns.iter().map(column).collect()
}

/// Deletes a table.
pub(super) fn drop_table(args: &DropTable) -> Result<(), Error> {
    if !args.yes {
        let what = format!("this deletes {} on {}\n  Way out: --yes", args.table, args.server);
        return Err(Error::usage(what));
    }
    hush::drop_table(&args.server, &args.table, args.token.token_file.as_deref())?;
    say(&format!("Deleted the table {}", visible(&args.table)));
    Ok(())
}

fn to_json(manifest: &Manifest, digest: &str, files: u64) -> serde_json::Value {
    json!({
        "table": manifest.table, "version": manifest.version, "rows": manifest.living_rows(), "deleted_rows": manifest.dead_rows(), "bytes": files,
        "parts": manifest.parts.len(), "key": manifest.key_id, "manifest": digest,
        "clear": manifest.clear_columns.iter().map(|c| json!({ "name": c.name, "type": c.arrow_type })).collect::<Vec<_>>(),
        "encrypted": manifest.encodings.iter().map(|e| json!({
            "id": e.id.0, "layout": e.packing.name(), "params": e.params,
        })).collect::<Vec<_>>(),
        "sealed": manifest.sealed_numbers().len(),
        "compaction_due": CompactionState::of(manifest).due_parts > 0,
        "domains": manifest.domains().len(), "rotating": manifest.rotating,
        "keys_before": manifest.predecessors.len(),
        "evaluation_keys": manifest.keys.iter().map(|key| json!({
            "kind": key.kind.to_string(), "params": key.params, "bytes": key.file.bytes,
        })).collect::<Vec<_>>(),
    })
}
