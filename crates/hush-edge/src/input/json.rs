// SPDX-License-Identifier: Apache-2.0
//! Messages as an MQTT broker passes them on, one per line: a JSON object of columns, or a list of objects. They are read as records
//! of a CSV with the schema as header.

use hush_plan::schema::Column;
use hush_plan::{Protection, Schema};
use serde_json::value::RawValue;

use crate::EdgeError;

/// The header line: the columns of the schema that are kept, in its order.
pub(crate) fn header(schema: &Schema) -> Vec<u8> {
    let names: Vec<String> = kept(schema).map(|column| quoted(&column.name)).collect();
    format!("{}\n", names.join(",")).into_bytes()
}

/// The records of a message; none of an empty line.
///
/// Numbers are taken as they are written, digit by digit. A column that an object lacks, or that is null, is missing.
///
/// # Errors
/// [`EdgeError::Json`] for anything else than objects with names of columns and plain values.
pub(crate) fn records(schema: &Schema, message: &[u8], number: u64) -> Result<Vec<Vec<u8>>, EdgeError> {
    let wrong = |what| EdgeError::Json { number, what };
    let text = std::str::from_utf8(message).map_err(|_| wrong("it is not UTF-8"))?.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let objects: Vec<Object<'_>> = if text.starts_with('[') {
        serde_json::from_str(text).map_err(|_| wrong("the list does not hold objects alone"))?
    } else {
        vec![serde_json::from_str(text).map_err(|_| wrong("it is not valid JSON"))?]
    };
    let record = |object: Object<'_>| {
        let known = |name: &str| schema.columns.iter().any(|column| column.name == name);
        if object.keys().any(|name| !known(name)) {
            return Err(wrong("it names a column that the schema has not"));
        }
        let cells = kept(schema).map(|column| {
            let null = column.null_tokens(schema).first().map_or("", String::as_str);
            object.get(column.name.as_str()).map_or_else(|| Some(quoted(null)), |value| cell(value, null))
        });
        let cells = cells.collect::<Option<Vec<_>>>();
        let cells = cells.ok_or_else(|| wrong("a value is an object or a list"))?;
        Ok(format!("{}\n", cells.join(",")).into_bytes())
    };
    objects.into_iter().map(record).collect()
}

type Object<'a> = std::collections::BTreeMap<std::borrow::Cow<'a, str>, &'a RawValue>;

fn kept(schema: &Schema) -> impl Iterator<Item = &Column> {
    schema.columns.iter().filter(|column| column.protect != Protection::Drop)
}

/// A value as a CSV cell; `None` for objects and lists.
fn cell(value: &RawValue, null: &str) -> Option<String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{' | b'[') | None => None,
        Some(b'"') => serde_json::from_str::<String>(text).ok().map(|text| quoted(&text)),
        Some(b'n') => Some(quoted(null)),
        _ => Some(text.to_owned()),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
