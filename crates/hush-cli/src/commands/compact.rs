// SPDX-License-Identifier: Apache-2.0
//! `hush compact`: fewer and full parts for a table, without its deleted rows.

use std::time::Instant;

use hush::{
    CompactOptions, CompactReport, CompactionPlan, CompactionState, DUE_PARTS, Error, MOST_DELETED_PERCENT,
    OwnerKey, Phases, TableLocation, TablePlace, Which,
};
use serde_json::json;

use super::{open_key_within, pins};
use crate::account::{bytes, grouped, times};
use crate::args::Compact;
use crate::progress::Bar;
use crate::terminal::{self, print, say, visible};

/// Writes parts of a table anew, or says which ones it would.
pub(super) fn compact(args: &Compact, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let (place, which) = (location.place(), args.parts.which());
    let plan = hush::plan_compaction(place, which, &pins())?;
    if args.dry_run || plan.parts == 0 {
        // What is not due asks for no passphrase.
        if args.json {
            return print_json(&planned_json(&plan));
        }
        say(&planned(&visible(&place.name()), &plan, which));
        return Ok(());
    }
    let key = phases.time("key", || open_key_within(&args.key, args.memory_limit))?;
    let options = CompactOptions { which, threads, memory_limit: args.memory_limit, pins: pins() };
    let report = phases.time("compact", || hush::compact(place, &options, &key, &Bar::default()))?;
    if args.json {
        return print_json(&report_json(&report));
    }
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{}\nTime  {times}", compacted(&visible(&place.name()), &report, which)));
    Ok(())
}

/// What follows an append with `--compact`: a compaction, if one is due. Gives what to say of it.
pub(super) fn compact_if_due(
    place: TablePlace<'_>,
    key: &OwnerKey,
    (threads, memory_limit): (usize, Option<u64>),
) -> Result<String, Error> {
    let options = CompactOptions { which: Which::Due, threads, memory_limit, pins: pins() };
    let report = hush::compact(place, &options, key, &Bar::default())?;
    Ok(compacted(&visible(&place.name()), &report, Which::Due))
}

/// What a compaction has done.
fn compacted(name: &str, report: &CompactReport, which: Which) -> String {
    let now = now(name, report.version, report.table_rows, report.table_parts);
    if report.steps == 0 {
        return format!("{}. {now}", nothing(&report.state, which));
    }
    let steps =
        if report.steps == 1 { String::new() } else { format!(", in {} versions", grouped(report.steps)) };
    format!(
        "Compacted {} into {}{steps}: {} became {}{}. {now}",
        parts(report.parts),
        parts(report.made_parts),
        bytes(report.bytes),
        bytes(report.made_bytes),
        gone(report.removed_rows, "went"),
    )
}

/// What a compaction would do.
fn planned(name: &str, plan: &CompactionPlan, which: Which) -> String {
    let now = now(name, plan.version, plan.table_rows, plan.table_parts);
    if plan.parts == 0 {
        return format!("{}. {now}", nothing(&plan.state, which));
    }
    format!(
        "Would write {} anew: {} rows, {}{}. Nothing was changed. {now}",
        parts(plan.parts),
        grouped(plan.rows),
        bytes(plan.bytes),
        gone(plan.removed_rows, "would go"),
    )
}

/// Why nothing was done.
fn nothing(state: &CompactionState, which: Which) -> String {
    match which {
        Which::Due => format!(
            "Not due: {} side by side, of {DUE_PARTS}; at most {} % of a part deleted, of {MOST_DELETED_PERCENT}",
            small(state.small_parts),
            state.deleted_percent,
        ),
        _ => format!(
            "Nothing to compact: {} side by side, {} % of a part deleted",
            small(state.small_parts),
            state.deleted_percent
        ),
    }
}

fn small(count: u64) -> String {
    // One alone has no neighbour to go with.
    if count < 2 { "no small parts".to_owned() } else { format!("{} small parts", grouped(count)) }
}

fn parts(count: u64) -> String {
    if count == 1 { "1 part".to_owned() } else { format!("{} parts", grouped(count)) }
}

fn gone(rows: u64, went: &str) -> String {
    match rows {
        0 => String::new(),
        1 => format!("; 1 deleted row {went}"),
        rows => format!("; {} deleted rows {went}", grouped(rows)),
    }
}

fn now(name: &str, version: u64, rows: u64, count: u64) -> String {
    format!("{name} is version {version} with {} rows in {}", grouped(rows), parts(count))
}

/// That a compaction is due, for other commands; nothing if none is.
pub(super) fn advice(state: &CompactionState) -> Option<String> {
    (state.due_parts > 0).then(|| {
        let (small, percent) = (small(state.small_parts), state.deleted_percent);
        format!("due: {small} side by side, {percent} % of a part deleted: hush compact")
    })
}

fn state_json(state: &CompactionState) -> serde_json::Value {
    json!({ "small_parts": state.small_parts, "deleted_percent": state.deleted_percent, "due": state.due_parts > 0 })
}

fn planned_json(plan: &CompactionPlan) -> serde_json::Value {
    json!({
        "parts": plan.parts, "rows": plan.rows, "removed_rows": plan.removed_rows, "bytes": plan.bytes,
        "version": plan.version, "table_rows": plan.table_rows, "table_parts": plan.table_parts,
        "before": state_json(&plan.state), "changed": false,
    })
}

fn report_json(report: &CompactReport) -> serde_json::Value {
    json!({
        "parts": report.parts, "made_parts": report.made_parts, "rows": report.rows,
        "removed_rows": report.removed_rows, "bytes": report.bytes, "made_bytes": report.made_bytes,
        "steps": report.steps, "version": report.version, "table_rows": report.table_rows,
        "table_parts": report.table_parts, "before": state_json(&report.state), "changed": report.steps > 0,
    })
}

fn print_json(value: &serde_json::Value) -> Result<(), Error> {
    print(&format!("{}\n", terminal::json(value)))
}
