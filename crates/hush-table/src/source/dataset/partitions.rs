// SPDX-License-Identifier: Apache-2.0
//! Columns whose values stand in the names of folders, as Hive writes them: `year=2023/ward=A/part-0.parquet`.

use std::path::{Component, Path};

use crate::source::PathFault;

/// Stands for a missing value.
const MISSING: &[u8] = b"__HIVE_DEFAULT_PARTITION__";

/// A key and its value.
pub(super) type Partition = (String, Option<String>);

/// The columns of a file's path. Folders without `=` in their names add none.
pub(super) fn of(file: &Path) -> Result<Vec<Partition>, PathFault> {
    let folders = file.parent().into_iter().flat_map(Path::components);
    let names = folders.filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    names.filter_map(partition).collect()
}

fn partition(folder: &[u8]) -> Option<Result<Partition, PathFault>> {
    let at = memchr::memchr(b'=', folder)?;
    let (key, value) = (folder.get(..at)?, folder.get(at + 1..)?);
    let text = |bytes| String::from_utf8(decoded(bytes)).map_err(|_| PathFault::NotText);
    let value = if value == MISSING { Ok(None) } else { text(value).map(Some) };
    let key = text(key).and_then(|key| if key.trim().is_empty() { Err(PathFault::NoKey) } else { Ok(key) });
    Some(key.and_then(|key| Ok((key, value?))))
}

/// With `%41` as `A`; a `%` without two digits stands for itself.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(byte) = text.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_columns() {
        let found = of(Path::new("year=2023/raw/ward=a%2Fb%20%C3%A9=1/x=1.parquet")).unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(found, [("year".to_owned(), text("2023")), ("ward".to_owned(), text("a/b é=1"))]);
        assert_eq!(of(Path::new("a=1.csv")).unwrap(), []);
        assert_eq!(of(Path::new("a%3Db=/x.csv")).unwrap(), [("a=b".to_owned(), text(""))]);
        assert_eq!(of(Path::new("a=%zz%4/x.csv")).unwrap(), [("a".to_owned(), text("%zz%4"))]);
        assert_eq!(of(Path::new("a=__HIVE_DEFAULT_PARTITION__/x.csv")).unwrap(), [("a".to_owned(), None)]);
        assert!(matches!(of(Path::new("=1/x.csv")), Err(PathFault::NoKey)));
        assert!(matches!(of(Path::new("a=%ff/x.csv")), Err(PathFault::NotText)));
    }
}
