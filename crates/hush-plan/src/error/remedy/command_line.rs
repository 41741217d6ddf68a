// SPDX-License-Identifier: Apache-2.0
//! Remedies in the words of `hush`.

use super::{Remedy, Subject, clear, tens};

/// A phrase without a stop.
pub(super) fn describe(remedy: &Remedy) -> String {
    match remedy {
        Remedy::AllRows => "--all, if that is meant".into(),
        Remedy::Approve => "read it, set status = \"approved\" and approved_by, rerun".into(),
        Remedy::Clear { column, of } => clear(column, *of, format!("--clear {column}")),
        Remedy::Copy { column } => {
            format!("hush alter TABLE --for {column}=fetch stores its exact values for you")
        }
        Remedy::Decide => {
            "decide on each (sensitive or clear, or protect in the schema), approve, rerun".into()
        }
        Remedy::Decrypt => "hush decrypt returns sealed columns".into(),
        Remedy::DeliveryName => "the name as hush edge accept lists it, device, stream and number".into(),
        Remedy::DeviceDigits { fewest } => format!(
            "all 32 digits, as hush edge key and hush edge accept print them; of one that has delivered, the first {fewest} do"
        ),
        Remedy::DeviceKey => {
            "make one with `hush edge key TABLE -o FILE`; only its user may read it: chmod 600".into()
        }
        Remedy::DeviceToken => "--token-file FILE with a device's token of that server".into(),
        Remedy::Directory => "a directory here, then hush push to the server".into(),
        Remedy::Drop { url, table } => {
            format!("hush drop {url} {table} --yes, if the server's is not wanted any more")
        }
        Remedy::EvalHelp => {
            "give one vector for each name in the expression; options of hush eval: hush eval --help".into()
        }
        Remedy::Exact => "--scheme bgv, which is exact".into(),
        Remedy::FewerColumns => "fewer encrypted columns (--clear, or protect = \"drop\")".into(),
        Remedy::Inexact => "--scheme ckks --precision NUMBER".into(),
        Remedy::LighterKey { limit_mib } => {
            format!("a key made with hush keygen --opens-in {limit_mib}MiB")
        }
        Remedy::LongTexts => {
            "raise --memory-limit, or drop the long texts in the schema. Nothing was written".into()
        }
        Remedy::LooserPrecision => "a larger --precision".into(),
        Remedy::MeasureDevice => "hush-edge doctor --json, of this version, on the device".into(),
        Remedy::Memory { needed } => format!("--memory-limit {needed} (in a container, its limit too)"),
        Remedy::MissingRows => "--missing skip leaves them out, --missing insert adds them".into(),
        Remedy::MoreMemory => "a higher --memory-limit (in a container, its limit too)".into(),
        Remedy::NewDeviceKey => {
            "make a new key file for the device with `hush edge key`, and give it a new spool".into()
        }
        Remedy::NewDeviceKeys => "make new ones (hush edge key), with new spools".into(),
        Remedy::Precision => "--precision 1e-6".into(),
        Remedy::Propose => {
            "hush init FILE proposes one, which a person approves; --schema names another".into()
        }
        Remedy::ProposeAgain => "use a newer version, or have a schema proposed again (hush init)".into(),
        Remedy::ProposeExample => "correct the line; a proposal (hush init) shows an example".into(),
        Remedy::Push => "push it (hush push TABLE SERVER)".into(),
        Remedy::Release { digits } => format!("--release={digits}{}", tens(*digits)),
        Remedy::Rename => {
            "another name for this one: table = \"NAME\" in its schema, and encrypt again".into()
        }
        Remedy::Reopen => "run the command again".into(),
        Remedy::Replace => "edit it; --force to replace it; -o another file".into(),
        Remedy::ReplaceTable => "say so (--replace)".into(),
        Remedy::Revoke => "hush edge revoke KEY".into(),
        Remedy::Say(text) => text.clone(),
        Remedy::SeveralTables => {
            "hush query TABLE OTHER \"SELECT ...\", with every table that it names".into()
        }
        Remedy::SpoolEach => {
            "a --spool for each key; what waits in this one can still be sent with its own key".into()
        }
        Remedy::SpoolOther => {
            "another --spool, which reads files from their beginning: rows that were delivered come again"
                .into()
        }
        Remedy::SpoolRoom => "--to TABLE, or a larger --spool-limit".into(),
        Remedy::Token => {
            "--token-file FILE with that server's token; hush-server prints its path when it starts".into()
        }
        Remedy::Vectors => {
            "--NAME 1,2,3; --NAME @FILE; --NAME FILE.csv:COLUMN; --data FILE.csv with columns of these names"
                .into()
        }
        Remedy::VectorColumn => "check the spelling: --x FILE.csv:COLUMN".into(),
        Remedy::WeakPassphrase => "a weak one, if you mean it (hush keygen --weak-passphrase)".into(),
        Remedy::Work { least } => format!("hush keygen --opens-in {least}, or more"),
        Remedy::Workload { of } => {
            let replace = if *of == Subject::Table { " --replace" } else { "" };
            format!("hush encrypt FILE -o TABLE --for queries.sql{replace}, with this query in queries.sql")
        }
    }
}
