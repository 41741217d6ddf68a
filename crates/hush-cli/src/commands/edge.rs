// SPDX-License-Identifier: Apache-2.0
//! `hush edge`: the work of its owner's commands.

use hush::{Accepted, Error, MAX_REJECTIONS, TableLocation};

use super::server::locate;
use super::{open_key, pins};
use crate::account::grouped;
use crate::args::edge::{Accept, DeviceKeyArgs, Edge, EdgeCommand, Revoke};
use crate::terminal::{print, say, visible};

/// Runs a command of `hush edge`.
pub(super) fn edge(args: &Edge) -> Result<(), Error> {
    match &args.command {
        EdgeCommand::Key(args) => key(args),
        EdgeCommand::Run(args) => Ok(args.run()?),
        EdgeCommand::Accept(args) => accept(args),
        EdgeCommand::Revoke(args) => revoke(args),
    }
}

fn key(args: &DeviceKeyArgs) -> Result<(), Error> {
    let owner = open_key(&args.key)?;
    let location = locate(&args.table, &args.token)?;
    let device = hush::device_key(location.place(), &owner, &pins())?;
    device.write(&args.output)?;
    let (to, token) = match &location {
        TableLocation::Directory(_) => (visible(&args.table), ""),
        TableLocation::Server(..) => (visible(&args.table), " --token-file DEVICE_TOKEN"),
        // Credentials of the store come from the device's environment.
        TableLocation::Bucket(_) => (visible(&args.table), ""),
    };
    say(&format!(
        "Device {} may deliver rows to {}: key at {}.\n\
         It encrypts and signs; it decrypts nothing. Whoever has it can add rows in the device's name, and reads the schema in it.\n\
         Is it lost or stolen: hush edge revoke {} {}\n\
         Next  hush-edge rows.csv --key {} --spool SPOOL --to {to}{token}",
        device.id(),
        visible(&device.schema.table),
        args.output.display(),
        visible(&args.table),
        device.id(),
        args.output.display(),
    ));
    Ok(())
}

fn accept(args: &Accept) -> Result<(), Error> {
    let owner = open_key(&args.key)?;
    let location = locate(&args.table, &args.token)?;
    let accepted = hush::accept_deliveries(location.place(), &owner, &pins(), &args.reject)?;
    if args.json {
        return print_json(&accepted);
    }
    let mut text = match accepted.deliveries {
        0 => format!("Nothing was taken in: version {}", accepted.version),
        count => format!(
            "Took in {} deliveries, {} rows: version {}, {} rows",
            grouped(count),
            grouped(accepted.rows),
            accepted.version,
            grouped(accepted.table_rows)
        ),
    };
    if accepted.discarded > 0 {
        text.push_str(&format!("\nDiscarded {} deliveries for good", grouped(accepted.discarded)));
    }
    text.push_str(&rejected(&accepted, &visible(&args.table)));
    let left = [
        (
            accepted.out_of_order,
            "wait for one before them: it was rejected, a device has it in its spool, or the server holds it back",
        ),
        (
            accepted.outdated,
            "were encrypted for the table as it was before it was encrypted again, and stay out: their devices need new keys \
             (hush edge key) and new spools, and those rows once more",
        ),
        (
            accepted.repeated,
            "are of a job of which the table has another run: the same rows once more, which stay out",
        ),
    ];
    for (count, why) in left.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("\n! {} deliveries {why}", grouped(count)));
    }
    if accepted.rows_beyond > 0 {
        text.push_str(&format!(
            "\n! The table has {} rows more than max_rows in its schema: sums that may not fit are refused. Encrypt again with room",
            grouped(accepted.rows_beyond)
        ));
    }
    say(&text);
    Ok(())
}

/// Lists deliveries that were not taken, with reasons and possible decisions.
fn rejected(accepted: &Accepted, table: &str) -> String {
    let mut text = String::new();
    for rejected in &accepted.rejected {
        text.push_str(&format!(
            "\n! Rejected {} of device {} ({} rows): {}\n  \
             Ways out: --reject {} discards it for good; hush edge revoke {table} {} shuts the device out.",
            rejected.number,
            rejected.device,
            grouped(rejected.rows),
            visible(&rejected.why),
            rejected.delivery,
            rejected.device,
        ));
    }
    if accepted.rejected_more > 0 {
        text.push_str(&format!("\n! {} more were rejected", grouped(accepted.rejected_more)));
    }
    for device in &accepted.held_devices {
        text.push_str(&format!(
            "\n! Device {device}: {MAX_REJECTIONS} of its deliveries were rejected for what they hold; nobody looks at the others.\n  \
             Way out: hush edge revoke {table} {device}, and a new key for the device if it is mended.",
        ));
    }
    text
}

fn revoke(args: &Revoke) -> Result<(), Error> {
    let owner = open_key(&args.key)?;
    let location = locate(&args.table, &args.token)?;
    let revoked = hush::revoke_device(location.place(), &owner, &pins(), &args.device, args.remove_rows)?;
    if args.json {
        return print_json(&revoked);
    }
    let mut rows = match (revoked.removed_rows, revoked.left_rows - revoked.merged_rows) {
        (0, 0) if revoked.merged_rows > 0 => "No part of the table is the device's own.".to_owned(),
        (0, 0) => "It has no rows in the table.".to_owned(),
        (0, left) => format!("Its {} rows stay in the table: --remove-rows takes them out.", grouped(left)),
        (removed, _) => format!(
            "{} rows of {} deliveries are gone from the table. Whoever copied earlier versions has them still.",
            grouped(removed),
            grouped(revoked.removed_deliveries)
        ),
    };
    if revoked.merged_rows > 0 {
        rows.push_str(&format!(
            "\n! {} more were merged with other rows by a compaction, and stay: nothing in the table says which they are.",
            grouped(revoked.merged_rows)
        ));
    }
    say(&format!(
        "Device {} is revoked: version {}, {} rows. Its deliveries are refused from now on.\n{rows}",
        revoked.device,
        revoked.version,
        grouped(revoked.table_rows)
    ));
    Ok(())
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(value).map_err(|error| Error::output(error.into()))?;
    print(&format!("{text}\n"))
}
