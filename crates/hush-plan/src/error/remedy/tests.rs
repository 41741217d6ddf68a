// SPDX-License-Identifier: Apache-2.0
//! Every remedy has words in every front, and they are those of that front.

use super::*;

/// Each remedy once, by the one before it: a new one that has no place here does not compile.
fn next(remedy: Option<&Remedy>) -> Option<Remedy> {
    let Some(remedy) = remedy else { return Some(Remedy::AllRows) };
    let column = "age".to_owned();
    Some(match remedy {
        Remedy::AllRows => Remedy::Approve,
        Remedy::Approve => Remedy::Clear { column, of: Subject::Proposal },
        Remedy::Clear { of: Subject::Proposal, .. } => Remedy::Clear { column, of: Subject::Schema },
        Remedy::Clear { of: Subject::Schema, .. } => Remedy::Clear { column, of: Subject::Table },
        Remedy::Clear { of: Subject::Table, .. } => Remedy::Copy { column },
        Remedy::Copy { .. } => Remedy::Decide,
        Remedy::Decide => Remedy::Decrypt,
        Remedy::Decrypt => Remedy::DeliveryName,
        Remedy::DeliveryName => Remedy::DeviceDigits { fewest: 8 },
        Remedy::DeviceDigits { .. } => Remedy::DeviceKey,
        Remedy::DeviceKey => Remedy::DeviceToken,
        Remedy::DeviceToken => Remedy::Directory,
        Remedy::Directory => Remedy::Drop { url: "https://host:7373".into(), table: "t".into() },
        Remedy::Drop { .. } => Remedy::EvalHelp,
        Remedy::EvalHelp => Remedy::Exact,
        Remedy::Exact => Remedy::FewerColumns,
        Remedy::FewerColumns => Remedy::Inexact,
        Remedy::Inexact => Remedy::LighterKey { limit_mib: 64 },
        Remedy::LighterKey { .. } => Remedy::LongTexts,
        Remedy::LongTexts => Remedy::LooserPrecision,
        Remedy::LooserPrecision => Remedy::MeasureDevice,
        Remedy::MeasureDevice => Remedy::Memory { needed: "64MB".into() },
        Remedy::Memory { .. } => Remedy::MissingRows,
        Remedy::MissingRows => Remedy::MoreMemory,
        Remedy::MoreMemory => Remedy::NewDeviceKey,
        Remedy::NewDeviceKey => Remedy::NewDeviceKeys,
        Remedy::NewDeviceKeys => Remedy::Precision,
        Remedy::Precision => Remedy::Propose,
        Remedy::Propose => Remedy::ProposeAgain,
        Remedy::ProposeAgain => Remedy::ProposeExample,
        Remedy::ProposeExample => Remedy::Push,
        Remedy::Push => Remedy::Release { digits: 2 },
        Remedy::Release { digits: 0.. } => Remedy::Release { digits: -2 },
        Remedy::Release { .. } => Remedy::Rename,
        Remedy::Rename => Remedy::Reopen,
        Remedy::Reopen => Remedy::Replace,
        Remedy::Replace => Remedy::ReplaceTable,
        Remedy::ReplaceTable => Remedy::Revoke,
        Remedy::Revoke => Remedy::Say("filter before encrypting".into()),
        Remedy::Say(_) => Remedy::SeveralTables,
        Remedy::SeveralTables => Remedy::SpoolEach,
        Remedy::SpoolEach => Remedy::SpoolOther,
        Remedy::SpoolOther => Remedy::SpoolRoom,
        Remedy::SpoolRoom => Remedy::Token,
        Remedy::Token => Remedy::Vectors,
        Remedy::Vectors => Remedy::VectorColumn,
        Remedy::VectorColumn => Remedy::WeakPassphrase,
        Remedy::WeakPassphrase => Remedy::Work { least: "16MiB".into() },
        Remedy::Work { .. } => Remedy::Workload { of: Subject::Proposal },
        Remedy::Workload { of: Subject::Proposal } => Remedy::Workload { of: Subject::Schema },
        Remedy::Workload { of: Subject::Schema } => Remedy::Workload { of: Subject::Table },
        Remedy::Workload { of: Subject::Table } => return None,
    })
}

fn all() -> Vec<Remedy> {
    std::iter::successors(next(None), |remedy| next(Some(remedy))).collect()
}

/// Whether a text names a command of the program, such as `hush keygen`, or an option, such as `--yes`.
fn names_a_program(text: &str) -> bool {
    let follows = |(place, found): (usize, &str)| {
        text[place + found.len()..].starts_with(|next: char| next.is_ascii_lowercase())
    };
    text.match_indices("--").chain(text.match_indices("hush ")).any(follows)
}

#[test]
fn every_remedy_is_worded_in_every_front() {
    let remedies = all();
    assert_eq!(remedies.last(), Some(&Remedy::Workload { of: Subject::Table }));
    for remedy in &remedies {
        for front in [Front::CommandLine, Front::Device, Front::Python] {
            let text = remedy.describe(front);
            assert!(!text.is_empty() && !text.ends_with('.') && text.trim() == text, "{remedy:?}: {text:?}");
        }
        let python = remedy.describe(Front::Python);
        assert!(!names_a_program(&python), "{remedy:?}: {python:?}");
        for front in [Front::CommandLine, Front::Device] {
            let text = remedy.describe(front);
            assert!(
                !["=True", "hushtable.", "schema=", "=["].iter().any(|word| text.contains(word)),
                "{text:?}"
            );
        }
    }
    assert!(
        names_a_program("hush init FILE") && names_a_program("a --spool") && !names_a_program("hush-server")
    );
}

#[test]
fn a_table_that_is_there_is_replaced_by_one_that_suits_the_query() {
    let words = |front, of| Remedy::Workload { of }.describe(front);
    assert!(words(Front::CommandLine, Subject::Table).contains("--replace"));
    assert!(words(Front::Python, Subject::Table).contains("replace=True"));
    assert!(!words(Front::CommandLine, Subject::Proposal).contains("--replace"));
}
