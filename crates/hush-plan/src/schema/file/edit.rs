// SPDX-License-Identifier: Apache-2.0
//! Lines of a schema's file, changed as a person would change it and read again.

use super::super::Schema;
use super::write::{lists, quoted, quoted_list, table_key};
use super::{SchemaError, from_toml, to_toml};

/// The value of a key in a schema file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A list of lists of texts.
    Lists(Vec<Vec<String>>),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

/// A key and its new value; `None` removes it.
pub type Change<'a> = (&'a str, Option<Setting>);

/// The schema with keys of `column`, or of the schema itself, changed. It is what the edited file would be read as, so that
/// every rule of files holds. Nobody has approved it any more.
///
/// # Errors
/// As [`from_toml`], with lines of the edited text; [`SchemaError::UnknownKey`] for a key that no file has;
/// [`SchemaError::NoColumn`].
pub fn edit(schema: &Schema, column: Option<&str>, changes: &[Change<'_>]) -> Result<Schema, SchemaError> {
    let open = Schema { approved: false, approved_by: String::new(), ..schema.clone() };
    let text = to_toml(&open);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let first = match column {
        None => 0,
        Some(name) => {
            let header = format!("[columns.{}]", table_key(name));
            let found = lines.iter().position(|line| *line == header);
            found.ok_or_else(|| SchemaError::NoColumn { found: name.to_owned() })? + 1
        }
    };
    for (key, setting) in changes {
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            let place = column.map_or_else(|| "the schema".to_owned(), |name| format!("column {name}"));
            return Err(SchemaError::UnknownKey { line: first, key: (*key).to_owned(), place });
        }
        change(&mut lines, first, key, setting.as_ref());
    }
    from_toml(&lines.join("\n"))
}

/// Changes the key in the table whose lines begin at `first`. Every key stands on a line of its own, whatever its value: the
/// text was written by this program.
fn change(lines: &mut Vec<String>, first: usize, key: &str, setting: Option<&Setting>) {
    let is_key = |line: &String| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(" = "));
    let of_table = lines.iter().enumerate().skip(first).take_while(|(_, line)| !line.starts_with('['));
    let at = of_table.into_iter().find(|(_, line)| is_key(line)).map(|(at, _)| at);
    let line = setting.map(|setting| format!("{key} = {}", setting.text()));
    match (at, line) {
        (Some(at), Some(line)) => lines.splice(at..=at, [line]).for_each(drop),
        (Some(at), None) => drop(lines.remove(at)),
        (None, Some(line)) => lines.insert(first, line),
        (None, None) => {}
    }
}

impl Setting {
    fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Lists(value) => lists(value),
            Self::Text(value) => quoted(value),
            Self::Texts(value) => quoted_list(value.iter().map(String::as_str)),
        }
    }
}
