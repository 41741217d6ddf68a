// SPDX-License-Identifier: Apache-2.0
//! Leakage: sentences for people on what the server learns.
//!
//! Names of encrypted columns never reach the server; a sentence that names them says what stays hidden. Whatever
//! stands in a plan is listed: the plan is all that is sent.

use crate::encoding::PrivateEncoding;
use crate::plan::Task;
use crate::report::Leakage;
use crate::schema::{Protection, Schema};
use crate::sql::Query;

/// The leakage of holding the table.
pub fn of_table(schema: &Schema, encodings: &[PrivateEncoding], rows: u64) -> Leakage {
    let mut table = Vec::new();
    let clear: Vec<&str> = schema.protected(Protection::Clear).map(|column| column.name.as_str()).collect();
    if !clear.is_empty() {
        table.push(format!("{} of every row", list(&clear)));
    }
    let joined: Vec<&str> =
        schema.protected(Protection::JoinKey).map(|column| column.name.as_str()).collect();
    if !joined.is_empty() {
        table.push(format!(
            "which rows, of this table and of others with join keys of the same name, have equal {}, and which have none; of texts also about how long they are",
            list(&joined)
        ));
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
    if schema.answer_keys {
        table.push(
            "powers of one secret, encrypted under it: keys for smaller answers, which are taken to tell nothing (circular security)"
                .to_owned(),
        );
    }
    if schema.constant_keys {
        table.push(
            "the square of one secret and rearrangements of it, encrypted under it: keys for conditions with encrypted constants, which are taken to tell nothing (circular security)"
                .to_owned(),
        );
    }
    if encodings.iter().any(|encoding| encoding.quantity.marks_missing()) {
        table.push("by their width, that some quantities may mark missing values".to_owned());
    }
    let sealed = schema.protected(Protection::Seal).count();
    if sealed > 0 {
        table.push(format!(
            "how many sealed columns there are ({sealed}), and the size of each block of them"
        ));
    }
    let copies = schema.columns.iter().filter(|column| column.has_copy()).count();
    if copies > 0 {
        table.push(format!(
            "how many sealed copies there are ({copies}), and by their sizes the bits of their declared ranges, and which may miss values"
        ));
    }
    if !schema.cubes.is_empty() {
        let count = schema.cubes.len();
        table.push(format!(
            "how many cubes there are ({count}), how many cells each has and of how many bits, and which parts have which"
        ));
    }
    let runs = schema.all_runs().len();
    if runs > 0 {
        table.push(format!(
            "how many sorted runs there are ({runs}), how many blocks of how many bytes each has, about how long its index is, and which parts have which"
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
    if !joined.is_empty() {
        hidden.push(format!("any value of {}, or which of two is less", list(&joined)));
    }
    Leakage { table, query: Vec::new(), hidden }
}

/// The width that each encoding was made for, those of one width together.
fn widths(encodings: &[PrivateEncoding]) -> String {
    let mut found: Vec<(String, usize)> = Vec::new();
    for words in encodings.iter().map(|encoding| encoding.public.describe()) {
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

/// The leakage of holding the table and of one query; `tells` are the sentences of its way.
pub(crate) fn of_query(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    rows: u64,
    query: &Query,
    task: &Task,
    tells: &[String],
) -> Leakage {
    let mut leakage = of_table(schema, encodings, rows);
    let says = &mut leakage.query;
    match query.filter_text() {
        Some(filter) => {
            says.push(format!("the filter \"{filter}\""));
            says.push("which rows match".to_owned());
        }
        // Of a sorted run only some blocks are read.
        None if matches!(task, Task::Rows(task) if task.run.is_some()) => {}
        None => says.push("that every row is used".to_owned()),
    }
    says.extend_from_slice(tells);
    leakage.hidden.push(match task {
        Task::Aggregate(_) if query.keys.is_empty() => "any encrypted result".to_owned(),
        Task::Products(task) if !task.choices.is_empty() => {
            "which rows match an encrypted condition, and any encrypted result".to_owned()
        }
        Task::Products(_) => {
            "which rows match an encrypted condition, how many, and any encrypted result".to_owned()
        }
        Task::Aggregate(_) => "any encrypted result, in any group".to_owned(),
        Task::Rows(_) => "any encrypted result, in any row".to_owned(),
    });
    leakage
}

/// Encodings by their numbers.
pub(crate) fn numbered(ids: &[u32]) -> String {
    list(&ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>())
}

/// Words with commas between them.
pub(crate) fn list<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Purpose, Run};
    use crate::tables::{encodings_for, patients};

    #[test]
    fn sorted_runs_are_counted_whoever_asks_for_them() {
        let mut schema = patients();
        let told = |schema: &Schema| of_table(schema, &[], 10).table.join("\n");
        assert!(!told(&schema).contains("sorted runs"));
        schema.runs = vec![Run::by("ward")];
        schema.columns[2].purposes = vec![Purpose::Order];
        let told = told(&schema);
        assert!(
            told.contains("sorted runs there are (2)") && told.contains("sealed copies there are (1)"),
            "{told}"
        );
    }

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
