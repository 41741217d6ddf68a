// SPDX-License-Identifier: Apache-2.0
//! What the server learns, in sentences for people.
//!
//! Names of encrypted columns never reach the server; a sentence that names them says what stays hidden. Whatever
//! stands in a plan is listed: the plan is all that is sent.

use crate::encoding::PrivateEncoding;
use crate::plan::{AggregateTask, RowsTask, Task};
use crate::report::Leakage;
use crate::schema::{Protection, Schema};
use crate::sql::{Query, shown};

/// What the server learns from holding the table.
pub fn of_table(schema: &Schema, encodings: &[PrivateEncoding], rows: u64) -> Leakage {
    let mut table = Vec::new();
    let clear: Vec<&str> = schema.protected(Protection::Clear).map(|column| column.name.as_str()).collect();
    if !clear.is_empty() {
        table.push(format!("{} of every row", list(&clear)));
    }
    table.push(format!("the number of rows ({rows})"));
    if !encodings.is_empty() {
        table.push(format!(
            "how many encrypted quantities there are ({}), and the width that each was made for ({}), which tells \
             the order of magnitude of its declared range",
            encodings.len(),
            widths(encodings)
        ));
    }
    if encodings.iter().any(|encoding| encoding.content.marks_missing()) {
        table.push("by their width, that some quantities may mark missing values".to_owned());
    }
    let sealed = schema.protected(Protection::Seal).count();
    if sealed > 0 {
        table.push(format!(
            "how many sealed columns there are ({sealed}), and the size of each block of them"
        ));
    }
    if schema.edge {
        table.push(
            "of each delivery of a device: its key, when it came, its number of rows, whether you took it, and which rows of the \
             table it became"
                .to_owned(),
        );
    }
    let mut hidden = Vec::new();
    let unread = [Protection::Encrypt, Protection::Seal];
    let unread: Vec<&str> =
        schema.columns.iter().filter(|c| unread.contains(&c.protect)).map(|c| c.name.as_str()).collect();
    if !unread.is_empty() {
        hidden.push(format!("the names or any value of {}", list(&unread)));
        hidden.push("which of their values are missing".to_owned());
    }
    Leakage { table, query: Vec::new(), hidden }
}

/// The width that each encoding was made for, those of one width together.
fn widths(encodings: &[PrivateEncoding]) -> String {
    let mut found: Vec<(String, usize)> = Vec::new();
    for words in encodings.iter().map(|encoding| encoding.public.words()) {
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => found.push((words, 1)),
        }
    }
    let counted = |(words, count): &(String, usize)| match count {
        1 => words.clone(),
        count => format!("{count} times {words}"),
    };
    list(&found.iter().map(counted).collect::<Vec<_>>())
}

/// What the server learns from the table and from one query.
pub(crate) fn of_query(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    rows: u64,
    query: &Query,
    task: &Task,
) -> Leakage {
    let mut leakage = of_table(schema, encodings, rows);
    let says = &mut leakage.query;
    match query.filter_text() {
        Some(filter) => {
            says.push(format!("the filter \"{filter}\""));
            says.push("which rows match".to_owned());
        }
        None => says.push("that every row is used".to_owned()),
    }
    match task {
        Task::Aggregate(task) => aggregate(query, task, says),
        Task::Rows(task) => by_row(task, says),
    }
    leakage.hidden.push(match task {
        Task::Aggregate(_) if query.keys.is_empty() => "any encrypted result".to_owned(),
        Task::Aggregate(_) => "any encrypted result, in any group".to_owned(),
        Task::Rows(_) => "any encrypted result, in any row".to_owned(),
    });
    leakage
}

fn aggregate(query: &Query, task: &AggregateTask, says: &mut Vec<String>) {
    if !query.keys.is_empty() {
        let keys: Vec<String> = query.keys.iter().map(shown).collect();
        says.push(format!("that rows are grouped by {}, and the size of each group", list(&keys)));
    }
    if task.clear.len() > 1 {
        says.push(format!("the clear aggregates {}", list(task.clear.get(1..).unwrap_or_default())));
    }
    if task.sums.is_empty() {
        return;
    }
    let mut ids: Vec<u32> = task.sums.iter().map(|sum| sum.column.0).collect();
    ids.sort_unstable();
    ids.dedup();
    says.push(format!("which encrypted quantities are added up in each group ({})", numbered(&ids)));
    for mask in &task.masks {
        if let Some(weight) = &mask.weight {
            says.push(format!("that some are weighted by {weight}"));
        }
        if let Some(condition) = &mask.condition {
            says.push(format!("that some count only where {condition}"));
        }
    }
}

/// What more groups than are added up tell besides.
pub(crate) fn of_many_groups(task: &Task) -> Vec<String> {
    let Task::Rows(task) = task else { return Vec::new() };
    let mut says = Vec::new();
    by_row(task, &mut says);
    says.into_iter().map(|line| format!("with more groups than it adds up, {line}")).collect()
}

fn by_row(task: &RowsTask, says: &mut Vec<String>) {
    if !task.fetch.is_empty() {
        let mut ids: Vec<u32> = task.fetch.iter().map(|id| id.0).collect();
        ids.sort_unstable();
        ids.dedup();
        says.push(format!("which encrypted quantities go back ({})", numbered(&ids)));
    }
    if !task.programs.is_empty() {
        let count = task.programs.len();
        says.push(format!(
            "{count} arithmetic expression{} over numbered encrypted quantities, with {} constants",
            if count == 1 { "" } else { "s" },
            if count == 1 { "its" } else { "their" },
        ));
    }
    if !task.operands.is_empty() {
        says.push(format!("that they use {}", list(&task.operands)));
    }
    if task.program_bits.iter().chain(&task.fetch_bits).any(Option::is_some) {
        says.push(
            "to how many bits numbers are rounded, which tells the order of magnitude of declared ranges that meet in them".to_owned(),
        );
    }
    // Without approximate programs it is the largest double.
    if task.operand_limit_log2 < 1023 && !task.programs.is_empty() {
        says.push(format!(
            "that clear numbers up to 2^{} may meet approximate ones: the order of magnitude of a declared range",
            task.operand_limit_log2
        ));
    }
    if let Some(limit) = task.limit {
        says.push(match limit {
            1 => "that only 1 row is wanted".to_owned(),
            limit => format!("that only {limit} rows are wanted"),
        });
    }
}

fn numbered(ids: &[u32]) -> String {
    list(&ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>())
}

fn list<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{encodings_for, patients};

    #[test]
    fn quantities_that_mark_missing_values_are_named_wherever_they_come_from() {
        let schema = patients();
        for (query, expected) in [
            ("SELECT REGR_COUNT(age, bp) FROM patients", true),
            ("SELECT COUNT(age) FROM patients", true),
            ("SELECT SUM(visits) FROM patients", false),
        ] {
            let leakage = of_table(&schema, &encodings_for(&schema, &[query]), 10);
            assert_eq!(leakage.table.iter().any(|line| line.contains("missing")), expected, "{query}");
        }
    }
}
