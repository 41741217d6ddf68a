// SPDX-License-Identifier: Apache-2.0
//! What can be done about each refusal of the planner.

use super::{Clause, Feature, PlanError, Remedy, Subject, Unfit};
use crate::schema::{ColumnType, NO_VALUES, Protection};

impl PlanError {
    /// What the user can do instead where the query was asked of `subject`, most useful first; each stands alone.
    pub fn remedies(&self, subject: Subject) -> Vec<Remedy> {
        let fixed = |ways: &[&str]| ways.iter().map(|way| Remedy::from(*way)).collect();
        let clear = |column: &String| Remedy::Clear { column: column.clone(), of: subject };
        match self {
            Self::ApproximateColumn { column } => {
                let copy = (subject == Subject::Table).then(|| Remedy::Copy { column: column.clone() });
                let range = format!("a range for {column} in the schema makes it exact").into();
                copy.into_iter().chain([range, clear(column)]).collect()
            }
            Self::NoWay { shown, .. } if shown.is_empty() => fixed(&["one of these ways, or none"]),
            Self::NoWay { .. } => fixed(&["hide less", "allow it in the schema, then encrypt again"]),
            Self::EncryptedComparison { column, .. } => {
                vec![clear(column), "filter before encrypting".into()]
            }
            Self::EncryptedOperand { clause: Clause::OrderBy, column, .. } => {
                vec![format!("order by an aggregate of {column}").into(), clear(column)]
            }
            Self::EncryptedOperand { column, .. } => vec![clear(column)],
            Self::MissingLayout { .. } => vec![
                Remedy::Workload { of: subject },
                "the column's `for`, or `products` or `moments`, in the schema, then encrypt again".into(),
            ],
            Self::MixedArithmetic { approximate, .. } => {
                vec![format!("a range for {approximate} in the schema makes it exact fixed point").into()]
            }
            Self::NoTable => fixed(&["FROM and the name of the table"]),
            Self::NoBound { .. } => fixed(&[
                "a range for the clear column in the schema",
                "CAST it to DECIMAL(p,s), which bounds it by p digits",
            ]),
            Self::NoParameters { .. } => fixed(&[
                "a narrower range for the column in the schema",
                "smaller constants or clear factors",
                "fewer rows per table",
            ]),
            Self::WrongType { reason: Unfit::TooWide, .. } => {
                fixed(&["a narrower range for its columns in the schema"])
            }
            Self::Mismatch { .. } => fixed(&[
                "write values as their column has them: 2024, 12.50, 'text', DATE '2024-03-31'",
                "CAST the column",
            ]),
            Self::NotByDevices { .. } => fixed(&[
                "another protection or purpose for the column in the schema",
                "a table without `edge = true`, which the owner encrypts",
            ]),
            Self::Noise { .. } | Self::Overflow { .. } => vec![
                Remedy::Workload { of: subject },
                "a narrower range for the clear factor in the schema".into(),
                "split the query by a clear condition".into(),
            ],
            Self::NotGrouped { column, .. } => vec![format!("add {column} to GROUP BY").into()],
            Self::NotOneSelect { found: 1, .. } => {
                fixed(&["to change a table, change its data and encrypt it again"])
            }
            Self::NotPolynomial { .. } => fixed(&[
                "divide or round the aggregate: SUM(x)/100, ROUND(AVG(x), 2)",
                "compute it before encrypting",
            ]),
            Self::NotQueryable { column, protect, kind, reason, .. } => {
                not_queryable(column, *protect, *kind, reason)
            }
            Self::TooManyFactors { .. } => fixed(&["multiply two of them before encrypting"]),
            // Somebody may have meant a text.
            Self::UnknownColumn { found, quoted, nearest, clause, .. }
                if *quoted || nearest.is_none() && matches!(clause, Clause::Where | Clause::Having) =>
            {
                vec![format!("a text takes single quotes: {}", in_quotes(found)).into()]
            }
            Self::Unsupported { feature: Feature::Nothing, .. } => {
                vec![Remedy::Decrypt, "COUNT(*) counts rows".into()]
            }
            Self::Unsupported {
                feature:
                    feature @ (Feature::CommonTable | Feature::Join | Feature::SetOperation | Feature::Subquery),
                ..
            } if subject == Subject::Table => {
                [Remedy::SeveralTables].into_iter().chain(feature.way_out().map(Remedy::from)).collect()
            }
            Self::Unsupported { feature, .. } | Self::UnsupportedCall { feature, .. } => {
                feature.way_out().map(Remedy::from).into_iter().collect()
            }
            Self::AnswerTooLarge { .. } => fixed(&["a higher limit", "fewer columns in one query"]),
            _ => Vec::new(),
        }
    }
}

/// What makes a column queryable: what its type allows.
fn not_queryable(column: &str, protect: Protection, kind: ColumnType, reason: &str) -> Vec<Remedy> {
    if reason == NO_VALUES {
        let typed = format!(
            "give {column} its type in the schema, with nullable = true and protect = \"encrypt\": \
             a column without values sums to NULL"
        );
        return vec![typed.into()];
    }
    if protect == Protection::JoinKey {
        return vec![
            "ask the encrypted table, without a release: what reads join keys is answered in parts".into(),
            "explain it as a question about several tables, of which this is the only one".into(),
            "a question without it".into(),
        ];
    }
    let is_text = matches!(kind, ColumnType::Category | ColumnType::Text);
    let again = match is_text {
        // No server computes on texts.
        true => "protect = \"clear\" in the schema (the server reads it), then encrypt again",
        false => "protect = \"clear\" or \"encrypt\" in the schema, then encrypt again",
    };
    let decrypt = (protect == Protection::Seal).then_some(Remedy::Decrypt);
    decrypt.into_iter().chain([again.into()]).collect()
}

/// A text as a literal.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
