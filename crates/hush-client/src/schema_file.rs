// SPDX-License-Identifier: Apache-2.0
//! Schema files on disk.

use std::io::Write;
use std::path::Path;

use hush_plan::schema::Column;
use hush_plan::schema::file::{
    Change, SchemaError, column_from_toml, edit, from_toml, require_approved, to_toml,
};
use hush_plan::{ColumnType, Protection, Schema, cube, filter, one_hot, run};
use hush_table::profile::zone_note;
use hush_table::source::{Declared, Source};

use crate::error::ClientError;

/// Largest schema file read.
const MAX_BYTES: u64 = 16 << 20;

/// Longest path: no system takes a longer one.
const MAX_PATH_BYTES: usize = 4096;

/// Reads a schema, approved or not.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::SchemaFile`].
pub fn read_schema(path: &Path) -> Result<Schema, ClientError> {
    if is_text(path) && !path.exists() {
        let what = "a path of a schema file is needed, and this is the text of one, or no path (not shown)\n  \
                    Way out: write the text to a file, and give its path.";
        return Err(ClientError::Usage { what: what.to_owned() });
    }
    let file_error = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => ClientError::NoSchema { path: path.to_owned() },
        _ => ClientError::File { path: path.to_owned(), source },
    };
    if std::fs::metadata(path).map_err(file_error)?.len() > MAX_BYTES {
        return Err(file_error(std::io::Error::other("too large for a schema")));
    }
    let bytes = std::fs::read(path).map_err(file_error)?;
    parse(&bytes).map_err(|source| ClientError::SchemaFile { path: path.to_owned(), source })
}

/// Whether somebody gave the text of a schema file instead of its path. A schema names columns and says why they are
/// sensitive, so no error repeats it.
fn is_text(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.chars().any(char::is_control) || text.len() > MAX_PATH_BYTES || text.contains(" = ")
}

/// TOML is UTF-8. For other bytes the error tells their place.
fn parse(bytes: &[u8]) -> Result<Schema, SchemaError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        let before = bytes.get(..place).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        SchemaError::Syntax { line, message: format!("byte {place} of the file is not UTF-8 text") }
    })?;
    checked(text)
}

/// Reads the text of a schema file, approved or not.
///
/// # Errors
/// [`ClientError::SchemaText`], with the line.
pub fn parse_schema(text: &str) -> Result<Schema, ClientError> {
    checked(text).map_err(|source| ClientError::SchemaText { source })
}

/// Reads one column as `name = { type = "int(16)", protect = "encrypt" }`: what stands in a schema file below `[columns.name]`.
///
/// # Errors
/// [`ClientError::SchemaEdit`].
pub fn parse_column(text: &str) -> Result<Column, ClientError> {
    column_from_toml(text).map_err(|source| ClientError::SchemaEdit { source })
}

/// The schema with changed keys, of a column or of its own; see [`hush_plan::schema::file::edit`].
///
/// # Errors
/// [`ClientError::SchemaEdit`].
pub fn edit_schema(
    schema: &Schema,
    column: Option<&str>,
    changes: &[Change<'_>],
) -> Result<Schema, ClientError> {
    let edited = edit(schema, column, changes).and_then(possible);
    edited.map_err(|source| ClientError::SchemaEdit { source })
}

/// The text of a schema file.
pub fn schema_text(schema: &Schema) -> String {
    to_toml(schema)
}

/// Reads a schema that a person has approved.
///
/// # Errors
/// As [`read_schema`]; undecided columns, no approval.
pub fn read_approved_schema(path: &Path) -> Result<Schema, ClientError> {
    let schema = read_schema(path)?;
    require_approved(&schema).map_err(|source| ClientError::SchemaFile { path: path.to_owned(), source })?;
    Ok(schema)
}

/// Refuses a schema in memory that nobody has approved.
///
/// # Errors
/// [`ClientError::SchemaText`]: undecided columns, no approval.
pub(crate) fn require_approval(schema: &Schema) -> Result<(), ClientError> {
    let is_ready = require_approved(schema).and_then(|()| check(schema));
    is_ready.map_err(|source| ClientError::SchemaText { source })
}

/// The schema in a text, with cubes and sorted runs that can be.
fn checked(text: &str) -> Result<Schema, SchemaError> {
    from_toml(text).and_then(possible)
}

fn possible(schema: Schema) -> Result<Schema, SchemaError> {
    check(&schema)?;
    Ok(schema)
}

fn check(schema: &Schema) -> Result<(), SchemaError> {
    cube::check(schema)?;
    one_hot::check(schema)?;
    run::check(schema)?;
    filter::check(schema)
}

/// The ways in which reading `source` by the schema changes values, one sentence each: limits of measurements that stand for
/// their bounds, time zones that a file declares.
pub fn reading_notes(schema: &Schema, source: &Source) -> Vec<String> {
    let kept: Vec<&Column> =
        schema.columns.iter().filter(|column| column.protect != Protection::Drop).collect();
    let censored: Vec<&str> =
        kept.iter().filter(|column| column.written.censored).map(|column| column.name.as_str()).collect();
    let mut notes = match censored.as_slice() {
        [] => Vec::new(),
        names => vec![format!(
            "{}: values such as <5 are read as their bounds (censored = \"bound\").",
            names.join(", ")
        )],
    };
    let zoned = source.columns().iter().filter(|found| found.declared == Some(Declared::Zoned));
    let is_kept =
        |name: &str| kept.iter().any(|column| column.kind == ColumnType::Timestamp && column.name == name);
    notes.extend(zoned.filter(|found| is_kept(&found.name)).map(|found| zone_note(&found.name)));
    notes
}

/// Writes a schema; an existing file is replaced only if `replace`.
///
/// # Errors
/// [`ClientError::Usage`] if the file exists, [`ClientError::File`].
pub fn write_schema(path: &Path, schema: &Schema, replace: bool) -> Result<(), ClientError> {
    let file_error = |source| ClientError::File { path: path.to_owned(), source };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(file_error)?;
    file.write_all(to_toml(schema).as_bytes()).map_err(file_error)?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(ClientError::Exists { path: path.to_owned() })
        }
        Err(error) => Err(file_error(error.error)),
    }
}

#[cfg(test)]
mod tests {
    use hush_plan::error::Front;

    use super::*;

    #[test]
    fn a_schema_in_the_place_of_its_path_is_not_repeated() {
        for text in
            ["format = 1\n[columns.hiv_status]\n", "table = \"hiv_status\"", &"hiv_status".repeat(1000)]
        {
            let error = read_schema(Path::new(text)).unwrap_err();
            assert_eq!(error.code(), "HUSH-U001");
            assert!(!format!("{error}{error:?}").contains("hiv"), "{error}");
        }
        let absent = read_schema(Path::new("patients.schema.toml")).unwrap_err();
        assert_eq!(absent.code(), "HUSH-C040");
        assert!(absent.report(Front::CommandLine).contains("hush init"), "{absent}");
        assert!(!absent.report(Front::Python).contains("hush init"), "{absent}");
    }

    #[test]
    fn a_file_that_is_not_text_is_not_toml_and_told_by_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.schema.toml");
        std::fs::write(&path, b"format = 1\ntable = \"s\xfcd\"\n").unwrap();
        let error = read_schema(&path).unwrap_err();
        assert_eq!(error.code(), "HUSH-S001");
        assert!(error.to_string().ends_with("line 2: byte 21 of the file is not UTF-8 text"), "{error}");
    }
}
