// SPDX-License-Identifier: Apache-2.0
//! `hush history` and `hush purge`: what a table was, and that it is no more.

use std::path::Path;

use hush::{Error, PurgeReport, StoredFile};
use serde_json::json;

use super::server::{has_key, locate};
use super::{open_key, pins};
use crate::account::{bytes, grouped};
use crate::args::{History, Purge};
use crate::terminal::{self, print, say, visible};

/// Tells what the versions of a table have changed.
pub(super) fn history(args: &History) -> Result<(), Error> {
    let key = if has_key(&args.key) { Some(open_key(&args.key)?) } else { None };
    let location = locate(&args.table, &args.token)?;
    let history = hush::history(location.place(), key.as_ref(), &pins())?;
    if args.json {
        let value = serde_json::to_value(&history).map_err(|error| Error::output(error.into()))?;
        return print(&format!("{}\n", terminal::json(&value)));
    }
    print(&text_of(&history))
}

fn text_of(history: &hush::History) -> String {
    let mut out = format!(
        "table      {}\nversion    {}\nrows       {} living, {} deleted, {} stored\nparts      {}, {}\n",
        visible(&history.table),
        history.version,
        grouped(history.living_rows),
        grouped(history.deleted_rows),
        grouped(history.stored_rows),
        grouped(history.parts),
        bytes(history.bytes),
    );
    if !history.versions.is_empty() {
        let head = ["version", "when (UTC)", "what", "added", "removed", "rows after"];
        let [version, at, what, added, removed, after] = head;
        out.push_str(&format!("\n{version:>7}  {at:<20}  {what:<8} {added:>14} {removed:>14} {after:>14}\n"));
    }
    for change in &history.versions {
        let after = change.living_rows.map_or("not known".to_owned(), grouped);
        out.push_str(&format!(
            "{:>7}  {:<20}  {:<8} {:>14} {:>14} {after:>14}\n",
            change.version,
            change.at,
            change.what,
            grouped(change.added),
            grouped(change.removed),
        ));
    }
    match history.since {
        None => out.push_str("\nIts versions were made before tables told what they change\n"),
        Some(1) => {}
        Some(since) => {
            out.push_str(&format!("\nOf versions before {since} the table does not tell what they changed\n"))
        }
    }
    out
}

/// Deletes old versions for good, looks what that would delete, or checks the statement of it.
pub(super) fn purge(args: &Purge) -> Result<(), Error> {
    if let Some(statement) = &args.check {
        return check(args, statement);
    }
    // Both are required by the arguments' own rules.
    let table = args.table.as_deref().unwrap_or_default();
    let key = open_key(&args.key)?;
    let location = locate(table, &args.token)?;
    let place = location.place();
    let report = match &args.output {
        Some(output) => hush::purge(place, output, &key, &pins())?,
        None => hush::look_at_purge(place, &key, &pins())?,
    };
    if args.json {
        return print(&format!("{}\n", terminal::json(&to_json(&report, args.dry_run))));
    }
    let (files, size) = count(&report.deleted);
    let verb = if args.dry_run { "Would delete" } else { "Deleted" };
    let mut text =
        format!("{verb} {files} ({size}) of {}; version {} stays", visible(&place.name()), report.version);
    for (left, of) in [
        (&report.waiting, "deliveries that wait"),
        (&report.unnamed, "uploads under way or interrupted less than a day ago"),
    ] {
        if !left.is_empty() {
            let (files, size) = count(left);
            text.push_str(&format!("\n! {files} ({size}) of {of} stay"));
        }
    }
    if let Some(earlier) = report.earlier.filter(|earlier| earlier.objects > 0) {
        let size = bytes(earlier.bytes);
        text.push_str(&format!(
            "\n{verb} {} earlier contents ({size}) that the bucket had kept",
            grouped(earlier.objects)
        ));
    }
    if let Some(output) = &args.output {
        text.push_str(&format!("\nStatement  {}", output.display()));
    }
    for what in &report.not_proven {
        text.push_str(&format!("\nNot proven: {what}"));
    }
    say(&text);
    Ok(())
}

fn check(args: &Purge, statement: &Path) -> Result<(), Error> {
    let table = match &args.table {
        Some(table) => table.clone(),
        None => hush::place_of_statement(statement)?,
    };
    let location = locate(&table, &args.token)?;
    let checked = hush::check_statement(statement, location.place(), &pins())?;
    let said = &checked.statement;
    if args.json {
        let value = json!({
            "table": said.table, "place": said.place, "purged_at": said.purged_at, "version": said.version,
            "files": said.deleted.len(), "bytes": said.deleted_bytes, "unasked": checked.unasked,
            "named_again": checked.named_again, "left": files_json(&said.left),
        });
        return print(&format!("{}\n", terminal::json(&value)));
    }
    let (files, size) = count(&said.deleted);
    let mut text = format!(
        "The statement holds: {files} ({size}) of table {} were purged at {}, and none is at {}",
        visible(&said.table),
        visible(&said.purged_at),
        visible(&location.place().name()),
    );
    if checked.unasked > 0 {
        text.push_str(&format!(
            "\n! {} of them cannot be asked for by name: hash trees and old manifests",
            grouped(checked.unasked)
        ));
    }
    if checked.named_again > 0 {
        text.push_str(&format!(
            "\n! {} of them are of the present version again, which has the same clear columns or deleted rows",
            grouped(checked.named_again)
        ));
    }
    say(&text);
    Ok(())
}

fn count(files: &[StoredFile]) -> (String, String) {
    let plural = if files.len() == 1 { "file" } else { "files" };
    (format!("{} {plural}", grouped(files.len() as u64)), bytes(PurgeReport::bytes(files)))
}

fn files_json(files: &[StoredFile]) -> serde_json::Value {
    files.iter().map(|file| json!({ "path": file.path, "bytes": file.bytes })).collect()
}

fn to_json(report: &PurgeReport, dry_run: bool) -> serde_json::Value {
    json!({
        "version": report.version, "dry_run": dry_run,
        "deleted": files_json(&report.deleted), "deleted_bytes": PurgeReport::bytes(&report.deleted),
        "waiting": files_json(&report.waiting), "unnamed": files_json(&report.unnamed),
        "earlier_objects": report.earlier.map(|earlier| earlier.objects),
        "earlier_bytes": report.earlier.map(|earlier| earlier.bytes),
        "not_proven": report.not_proven,
    })
}
