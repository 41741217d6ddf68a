// SPDX-License-Identifier: Apache-2.0
//! Remedies in the words of the package `hushtable`: names of its functions and arguments, and no option of a program.

use super::{Remedy, Subject, clear, tens};

/// A phrase without a stop.
pub(super) fn describe(remedy: &Remedy) -> String {
    match remedy {
        Remedy::AllRows => "all=True, if that is meant".into(),
        Remedy::Approve => "call schema.approve(by), once a person has read it".into(),
        Remedy::Clear { column, of } => clear(column, *of, format!("clear=[{column:?}]")),
        Remedy::Copy { column } => {
            format!("table.alter(purposes={{{column:?}: [\"fetch\"]}}) stores its exact values for you")
        }
        Remedy::Decide => {
            "name it in sensitive=[...] or clear=[...], or set schema[\"NAME\"].protect = ..., then schema.approve(by)".into()
        }
        Remedy::Decrypt => "Table.decrypt() returns sealed columns".into(),
        Remedy::DeliveryName => "the name as it is listed, device, stream and number".into(),
        Remedy::DeviceDigits { fewest } => {
            format!("all 32 digits of the device; of one that has delivered, the first {fewest} do")
        }
        Remedy::DeviceKey => {
            "have its owner make one with the program hush; only its user may read it: chmod 600".into()
        }
        Remedy::DeviceToken => "token_file=, the file with a device's token of that server".into(),
        Remedy::Directory => "a directory here, then hushtable.push(directory, server)".into(),
        Remedy::Drop { url, table } => {
            format!("hushtable.drop(\"{url}/tables/{table}\"), if the server's is not wanted any more")
        }
        Remedy::EvalHelp => "give one vector for each name in the expression".into(),
        Remedy::Exact => "scheme=\"bgv\", which is exact".into(),
        Remedy::FewerColumns => "fewer encrypted columns (clear=[...], or protect = \"drop\")".into(),
        Remedy::Inexact => "scheme=\"ckks\", precision=NUMBER".into(),
        Remedy::LighterKey { limit_mib } => format!("a key made with keygen(opens_in=\"{limit_mib}MiB\")"),
        Remedy::LongTexts => {
            "give the process more memory (memory_limit=, or a container's limit), or drop the long texts in the schema. Nothing was written".into()
        }
        Remedy::LooserPrecision => "a larger precision=".into(),
        Remedy::MeasureDevice => "measure it again, with this version on the device".into(),
        Remedy::Memory { needed } => {
            format!("memory_limit=\"{needed}\" or more (in a container, its limit too)")
        }
        Remedy::MissingRows => "missing=\"skip\" leaves them out, missing=\"insert\" adds them".into(),
        Remedy::MoreMemory => "a higher memory_limit= (in a container, its limit too)".into(),
        Remedy::NewDeviceKey => "have a new key file made for the device, and give it a new spool".into(),
        Remedy::NewDeviceKeys => "have new ones made, with new spools".into(),
        Remedy::Precision => "precision=1e-6".into(),
        Remedy::Propose => {
            "hushtable.propose(data) makes one, which a person approves; schema= names another".into()
        }
        Remedy::ProposeAgain => {
            "use a newer version of the package, or call hushtable.propose(data) once more".into()
        }
        Remedy::ProposeExample => {
            "correct the line; the schema that hushtable.propose(data) makes shows an example".into()
        }
        Remedy::Push => "push it (Table.push, or hushtable.push)".into(),
        Remedy::Release { digits } => format!("release={digits}{}", tens(*digits)),
        Remedy::Rename => "another name for this one: schema.table = \"NAME\", and encrypt again".into(),
        Remedy::Reopen => "open it again, by hushtable.open".into(),
        Remedy::Replace => "edit it; replace=True; another path".into(),
        Remedy::ReplaceTable => "replace=True".into(),
        Remedy::Revoke => "shut the device out".into(),
        Remedy::Say(text) => text.clone(),
        Remedy::SeveralTables => "hushtable.catalogue(table, other).sql(query), with every table that it names".into(),
        Remedy::SpoolEach => {
            "a spool for each key; what waits in this one can still be sent with its own key".into()
        }
        Remedy::SpoolOther => {
            "another spool, which reads files from their beginning: rows that were delivered come again".into()
        }
        Remedy::SpoolRoom => "deliver what waits, or give the spool more room".into(),
        Remedy::Token => {
            "token_file=, the file with that server's token; hush-server prints its path when it starts".into()
        }
        Remedy::Vectors => "give a vector for each name in the expression".into(),
        Remedy::VectorColumn => "check the spelling of the column".into(),
        Remedy::WeakPassphrase => "weak_passphrase=True, if you mean it".into(),
        Remedy::Work { least } => format!("opens_in=\"{least}\", or more"),
        Remedy::Workload { of } => {
            let replace = if *of == Subject::Table { ", replace=True" } else { "" };
            format!("encrypt(..., workload=\"queries.sql\"{replace}), with this query in queries.sql")
        }
    }
}
