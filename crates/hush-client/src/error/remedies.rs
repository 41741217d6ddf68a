// SPDX-License-Identifier: Apache-2.0
//! The ways out of each error of the owner's side, worded by the front that shows it.
//!
//! Crates below that cannot name a [`Remedy`] (keys, circuits) give the facts; their remedies stand here.

use hush_circuits::program::ProgramError;
use hush_keys::keyfile::{KeyFileError, memory_words};
use hush_plan::error::{Front, Remedy, Subject};
use hush_remote::RemoteError;

use super::{ClientError, megabytes_up};
use crate::eval::EvalError;
use crate::model::ModelError;

/// Remedies with their form, and a note on the state of files.
struct Advice {
    remedies: Vec<Remedy>,
    form: AdviceForm,
    /// Whether nothing was written.
    unwritten: bool,
}

/// The form of advice under its sentence.
enum AdviceForm {
    /// A list after `Ways out:`, or `Way out:` where there is always one.
    Ways(&'static str),
    /// A sentence of its own.
    Sentence,
}

impl ClientError {
    /// The sentence with its ways out, in the words of a front (without the code).
    pub fn report(&self, front: Front) -> String {
        let advice = self.advice();
        let sentence = self.to_string();
        let ways: Vec<String> = advice.remedies.iter().map(|remedy| remedy.describe(front)).collect();
        let ways = ways.join("; ");
        if ways.is_empty() {
            return sentence;
        }
        let stop = if sentence.ends_with(['.', '?']) { "" } else { "." };
        let unwritten = if advice.unwritten { " Nothing was written." } else { "" };
        let ways = match advice.form {
            AdviceForm::Ways(label) => format!("{label}{ways}"),
            AdviceForm::Sentence => capitalised(&ways),
        };
        format!("{sentence}{stop}\n  {}.{unwritten}", ways.trim_end_matches('.'))
    }

    /// The ways out that the sentence does not tell itself.
    fn advice(&self) -> Advice {
        match self {
            error if error.is_stale_version() => way(Remedy::Reopen),
            Self::Eval(source) => ways(eval(source)),
            Self::Plan(source) => ways(source.remedies(Subject::Table)),
            Self::Query { source, .. } => {
                Advice { unwritten: true, ..ways(source.remedies(Subject::Proposal)) }
            }
            Self::Rehearsed { source, by } => ways(source.remedies(*by)),
            Self::NoSchema { .. } => way(Remedy::Propose),
            Self::Exists { .. } => ways([Remedy::Replace]),
            Self::Edge(source) => Advice { remedies: source.remedy().into_iter().collect(), ..way_form() },
            Self::KeyFile(source) => ways(key_file(source)),
            Self::Source(source) => sentence(source.remedy()),
            Self::SchemaEdit { source } | Self::SchemaFile { source, .. } | Self::SchemaText { source } => {
                sentence(source.remedy())
            }
            Self::Table(source) => Advice { remedies: source.remedy().into_iter().collect(), ..way_form() },
            Self::DeviceTooSmall { .. } => ways([Remedy::FewerColumns, "a larger device".into()]),
            Self::MemoryLimit { needed, .. } => {
                let needed = megabytes_up(*needed).replace(' ', "");
                ways([Remedy::Memory { needed }, "fewer columns or purposes in the schema".into()])
            }
            Self::MemoryPassed { .. } => Advice {
                unwritten: true,
                ..ways([Remedy::MoreMemory, "Parquet with smaller pages, or CSV".into()])
            },
            Self::Misused { way: remedy, .. } => way(remedy.clone()),
            Self::Model(source) => ways(model(source)),
            Self::AllRows { .. } => Advice { unwritten: true, ..ways([Remedy::AllRows]) },
            Self::ManyRows { .. } => {
                Advice { unwritten: true, ..ways([Remedy::AllRows, "a key of more columns".into()]) }
            }
            Self::ManyMatches { .. } => ways(["a narrower condition".into(), "another way".into()]),
            Self::MissingKeys { .. } => Advice { unwritten: true, ..ways([Remedy::MissingRows]) },
            Self::NotPushed { .. } => ways([Remedy::Push, "ask the directory that has it".into()]),
            Self::Release(source) => ways(source.ways_out()),
            Self::Remote(RemoteError::Unauthorised { .. }) => way(Remedy::Token),
            Self::Remote(
                RemoteError::OtherOwner { url, table }
                | RemoteError::OtherTable { url, table }
                | RemoteError::Newer { url, table, .. },
            ) => ways([Remedy::Drop { url: url.clone(), table: table.clone() }, Remedy::Rename]),
            Self::Unfinished { place, .. } => ways([
                "the data, schema and key as they were".into(),
                format!("delete {place}/{} to begin anew", hush_table::JOURNAL_NAME).into(),
            ]),
            Self::WouldReplace { .. } => {
                Advice { unwritten: true, ..ways([Remedy::ReplaceTable, "another directory or name".into()]) }
            }
            _ => ways([]),
        }
    }
}

fn ways(remedies: impl IntoIterator<Item = Remedy>) -> Advice {
    let remedies = remedies.into_iter().collect();
    Advice { remedies, form: AdviceForm::Ways("Ways out: "), unwritten: false }
}

fn way(remedy: Remedy) -> Advice {
    Advice { remedies: vec![remedy], ..way_form() }
}

fn way_form() -> Advice {
    Advice { remedies: Vec::new(), form: AdviceForm::Ways("Way out: "), unwritten: false }
}

fn sentence(remedy: Remedy) -> Advice {
    Advice { remedies: vec![remedy], form: AdviceForm::Sentence, unwritten: false }
}

/// The ways out of an error of a key file.
fn key_file(error: &KeyFileError) -> Vec<Remedy> {
    match error {
        KeyFileError::Memory { limit, .. } => {
            vec![Remedy::MoreMemory, Remedy::LighterKey { limit_mib: *limit }]
        }
        KeyFileError::WeakPassphrase { .. } => vec!["some more words".into(), Remedy::WeakPassphrase],
        KeyFileError::WeakNewWork { expected, .. } => {
            vec![Remedy::Work { least: memory_words(*expected).replace(' ', "") }]
        }
        _ => Vec::new(),
    }
}

/// The ways out of a refused evaluation.
fn eval(error: &EvalError) -> Vec<Remedy> {
    match error {
        EvalError::BadPrecision => vec![Remedy::Precision],
        EvalError::Empty { .. } | EvalError::Lengths { .. } => {
            vec!["give every vector the same number of values".into()]
        }
        EvalError::Missing { .. } | EvalError::NotANumber { .. } => {
            vec!["correct or leave out these values".into()]
        }
        EvalError::NoColumn { .. } => vec![Remedy::VectorColumn],
        EvalError::NoVector { .. } => vec![Remedy::Vectors],
        EvalError::Program(source) => program(source),
        EvalError::Serve(_) => vec!["this is a bug: please report it with the expression".into()],
        EvalError::Memory { .. } => {
            let smaller =
                "a precision above 0.02, or vectors of at most 256 values, for which a smaller set will do";
            vec![Remedy::MoreMemory, "fewer repetitions".into(), smaller.into()]
        }
        EvalError::Slow { .. } => {
            vec![
                "fewer values, fewer repetitions, or values of fewer digits".into(),
                "sums and products alone, which no digits are needed for".into(),
            ]
        }
        EvalError::Unused { .. } => vec![Remedy::EvalHelp],
    }
}

fn program(error: &ProgramError) -> Vec<Remedy> {
    match error {
        ProgramError::Approximate => vec!["write the values as decimals, without exponents".into()],
        ProgramError::Chain { .. } | ProgramError::Noise { .. } => {
            vec!["split the expression and evaluate the parts one after the other".into(), Remedy::Inexact]
        }
        ProgramError::Circuit(_) | ProgramError::Tfhe(_) => {
            vec!["this is a bug: please report it with the expression".into()]
        }
        ProgramError::Expression(source) => vec![source.ways_out().into()],
        ProgramError::Diverges => {
            vec!["fewer repetitions".into(), "narrower ranges of the vectors".into()]
        }
        ProgramError::Long { .. } => {
            vec!["fewer values".into(), "the function as the whole expression, which takes any number".into()]
        }
        ProgramError::Precision { .. } => vec![Remedy::LooserPrecision, Remedy::Exact],
        ProgramError::Spread => vec!["scale the vectors".into(), Remedy::Exact],
        ProgramError::WideInteger { .. } => {
            vec!["fewer decimals".into(), "smaller values or constants".into(), "split the expression".into()]
        }
        ProgramError::Wide { .. } => {
            vec!["fewer decimals".into(), "split the expression".into(), Remedy::Inexact]
        }
    }
}

fn model(error: &ModelError) -> Vec<Remedy> {
    match error {
        ModelError::NoRows { .. } => vec!["a wider condition".into(), "features that have values".into()],
        ModelError::NoFit => vec!["fewer features".into(), "more rows".into(), "a tree".into()],
        ModelError::NotFinite { .. } => vec!["a condition that leaves these rows out".into()],
        ModelError::File { .. } => vec!["fit the model again".into()],
        ModelError::NotAName { .. } => {
            vec!["a column with the value of the feature, and a model of it".into()]
        }
        ModelError::Request { .. } => Vec::new(),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
