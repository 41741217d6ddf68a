// SPDX-License-Identifier: Apache-2.0
//! `hush rotate`: another owner's key for a table, or new secrets for its rows.

use std::time::Instant;

use hush::{Error, Front, OwnerKey, Phases, RotateOptions, RotateReport, RotateWay, TableLocation};
use serde_json::json;

use super::owner::NEW_ROOT;
use super::{open_key_to_change, pins};
use crate::account::{bytes, grouped, times};
use crate::args::Rotate;
use crate::passphrase;
use crate::progress::Bar;
use crate::terminal::{self, print, say, visible};

/// Gives a table another key or other secrets, and says first what that does not undo.
pub(super) fn rotate(args: &Rotate, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let (place, way) = (location.place(), args.way.way());
    let key = phases.time("key", || open_key_to_change(&args.key, args.memory_limit))?;
    let new_key = args.new_key.as_ref().map(|path| {
        let source = passphrase::Source {
            file: args.new_passphrase_file.as_deref(),
            descriptor: args.new_passphrase_fd,
        };
        let given = passphrase::read_named(&source, "Passphrase of the new key: ")?;
        let opened = phases.time("new key", || OwnerKey::open(path, &given))?;
        Ok::<_, Error>(opened.to_change(path, &given, args.new_passphrase_file.as_deref()))
    });
    let new_key = new_key.transpose()?;
    if !args.json {
        say(way.not_undone(new_key.is_some(), args.forget));
    }
    let options = RotateOptions {
        way,
        new_key: new_key.as_ref(),
        forget: args.forget,
        threads,
        memory_limit: args.memory_limit,
        pins: pins(),
    };
    let report = phases.time("rotate", || hush::rotate(place, &options, &key, &Bar::default()))?;
    if args.json {
        return print(&format!("{}\n", terminal::json(&to_json(&report, way, args.forget))));
    }
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{}\nTime  {times}", told(&visible(&place.name()), &report, way)));
    Ok(())
}

/// What a rotation has done.
fn told(name: &str, report: &RotateReport, way: RotateWay) -> String {
    let mut lines = Vec::new();
    let went_on = if report.resumed { "went on where a rotation had stopped: " } else { "" };
    lines.push(match way {
        RotateWay::Everything if report.rows == 0 && report.resumed => {
            "Rotated before: nothing was left to do".to_owned()
        }
        RotateWay::Everything => format!(
            "Rotated: {went_on}{} rows written anew under new secrets, {}",
            grouped(report.rows),
            bytes(report.made_bytes)
        ),
        RotateWay::NewRows => "Rotated: rows to come are encrypted under new secrets".to_owned(),
        RotateWay::Rewrap => "Rotated: the table has another key, and its rows the same secrets".to_owned(),
    });
    if let Some(before) = &report.key_before {
        lines.push(format!("Key    {} instead of {before}, which opens no version from now on", report.key));
    }
    let sets = if report.domains == 1 {
        "one set of secrets".to_owned()
    } else {
        format!("{} sets of secrets; hush compact --all makes them one", report.domains)
    };
    lines.push(format!(
        "Table  {name} is version {} with {} rows under {sets}",
        report.version,
        grouped(report.table_rows)
    ));
    if report.forgotten > 0 {
        let roots =
            if report.forgotten == 1 { "1 root".to_owned() } else { format!("{} roots", report.forgotten) };
        lines
            .push(format!("Forgot {roots} of earlier secrets: no copy of an earlier version opens any more"));
        lines.push("! Copies of the key file from before still have them: this program does not know of any; destroy them".to_owned());
    } else if way == RotateWay::Everything {
        lines.push("! Old versions keep the old secrets: hush purge deletes them".to_owned());
    }
    if report.key_file_changed {
        lines.push(NEW_ROOT.to_owned());
    }
    lines.extend(report.device_note(Front::CommandLine).map(|note| format!("! {note}")));
    lines.join("\n")
}

fn to_json(report: &RotateReport, way: RotateWay, forgets: bool) -> serde_json::Value {
    json!({
        "not_undone": way.not_undone(report.key_before.is_some(), forgets), "version": report.version, "key": report.key,
        "key_before": report.key_before, "resumed": report.resumed, "rows": report.rows,
        "made_bytes": report.made_bytes, "table_rows": report.table_rows, "domains": report.domains,
        "devices_need_keys": report.devices, "forgotten": report.forgotten,
        "key_file_changed": report.key_file_changed,
    })
}
