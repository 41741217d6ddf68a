// SPDX-License-Identifier: Apache-2.0
//! `hush alter`: other columns for a table that is there.

use std::time::Instant;

use hush::{AlterOptions, AlterReport, Alteration, Error, Front, Phases, TableLocation};
use serde_json::json;

use super::{open_key_within, pins};
use crate::account::{bytes, grouped, times};
use crate::args::Alter;
use crate::progress::Bar;
use crate::terminal::{self, print, say, visible};

/// Adds, drops, renames or widens columns, or gives them further purposes.
pub(super) fn alter(args: &Alter, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let (place, alteration) = (location.place(), args.changes.alteration());
    let key = phases.time("key", || open_key_within(&args.key, args.memory_limit))?;
    let (memory_limit, pins) = (args.memory_limit, pins());
    let options = AlterOptions { alteration, threads, memory_limit, pins };
    let report = phases.time("alter", || hush::alter(place, &options, &key, &Bar::default()))?;
    if args.json {
        return print(&format!("{}\n", terminal::json(&to_json(&report))));
    }
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{}\nTime  {times}", told(&visible(&place.name()), &report, &options.alteration)));
    Ok(())
}

/// What an alteration has done.
fn told(name: &str, report: &AlterReport, alteration: &Alteration) -> String {
    let mut lines = Vec::new();
    lines.push(match (report.changed, report.resumed) {
        (false, _) if alteration.is_empty() => "Nothing to alter: no alteration was under way".to_owned(),
        (false, _) => "Altered before: nothing was left to do".to_owned(),
        (true, true) => "Altered: went on where an alteration had stopped".to_owned(),
        (true, false) => format!("Altered: {}", changes(alteration)),
    });
    if report.rows > 0 {
        lines.push(format!("Rows   {} written anew, {}", grouped(report.rows), bytes(report.made_bytes)));
    }
    if report.clear_parts > 0 {
        let files = if report.clear_parts == 1 { "file" } else { "files" };
        lines.push(format!("Clear  {} {files} of clear columns written anew", grouped(report.clear_parts)));
    }
    lines.push(format!(
        "Table  {name} is version {} with {} rows",
        report.version,
        grouped(report.table_rows)
    ));
    if !report.left_behind.is_empty() {
        let names = report.left_behind.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        lines.push(format!(
            "! Parts that are there still have {names}, encrypted: hush compact --all writes them without, and hush purge deletes old versions"
        ));
    } else if report.changed && !alteration.drop.is_empty() {
        lines.push("! Old versions still have what was dropped: hush purge deletes them".to_owned());
    }
    lines.extend(report.device_note(Front::CommandLine).map(|note| format!("! {note}")));
    lines.join("\n")
}

/// The changes in words.
fn changes(alteration: &Alteration) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(alteration.drop.iter().map(|name| format!("{} dropped", visible(name))));
    said.extend(
        alteration.rename.iter().map(|(from, to)| format!("{} renamed to {}", visible(from), visible(to))),
    );
    said.extend(alteration.add.iter().map(|column| format!("{} added", visible(&column.name))));
    let widened = |(name, [low, high]): &(String, [String; 2])| {
        format!("{} widened to {} to {}", visible(name), visible(low), visible(high))
    };
    said.extend(alteration.widen.iter().map(widened));
    said.extend(alteration.purposes.iter().map(|(name, purposes)| {
        let purposes: Vec<&str> = purposes.iter().map(|purpose| purpose.name()).collect();
        format!("{} serves {}", visible(name), purposes.join(", "))
    }));
    said.extend(alteration.products.iter().map(|set| format!("{} is summed", visible(&set.join(" * ")))));
    said.extend(alteration.moments.iter().map(|set| format!("{} have moments", visible(&set.join(", ")))));
    if !alteration.add.is_empty() {
        said.push("rows that are there have NULL in what was added".to_owned());
    }
    said.join("; ")
}

fn to_json(report: &AlterReport) -> serde_json::Value {
    json!({
        "version": report.version, "changed": report.changed, "resumed": report.resumed,
        "encodings": report.encodings, "clear_parts": report.clear_parts, "rows": report.rows,
        "made_bytes": report.made_bytes, "left_behind": report.left_behind, "table_rows": report.table_rows,
        "devices_need_keys": report.devices,
    })
}
