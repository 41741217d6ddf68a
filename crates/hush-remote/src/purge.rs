// SPDX-License-Identifier: Apache-2.0
//! Purging a table on a server, and seeing whether a file is served.

use hush_protocol::code::NO_PART;
use hush_protocol::path;
use hush_protocol::table::{Purged, StoredFile};
use hush_table::store::VERSIONS_NAME;
use hush_table::{Digest, FileKind, PartFile, PartName};

use super::transport::{Call, Method, Transport};
use super::upload::part_path;
use super::{RemoteError, SHORT_MAX_BYTES, table_path};

/// Largest list of files that is read: half a million of them.
const PURGED_MAX_BYTES: u64 = 64 << 20;
/// Folder of a server's unfinished uploads, as a purge names it.
const UPLOADS: &str = "uploads";

pub(super) fn purge(
    transport: &Transport,
    table: &str,
    version: &Digest,
    dry_run: bool,
) -> Result<Purged, RemoteError> {
    let path = format!("{}?manifest={version}&dry_run={dry_run}", path::purge(&table_path(table)?));
    let call = Call { max_bytes: PURGED_MAX_BYTES, ..Call::new(Method::Post, &path) };
    let purged: Purged = transport.json(&call)?;
    let mut all = purged.deleted.iter().chain(&purged.waiting).chain(&purged.unnamed);
    // The owner signs these names, and reads them on a terminal.
    if all.all(is_of_a_table) {
        Ok(purged)
    } else {
        Err(transport.protocol("it names a file that is no table's"))
    }
}

/// Whether a file has a name that files of tables have, finished or not.
fn is_of_a_table(file: &StoredFile) -> bool {
    let Some((folder, name)) = file.path.split_once('/') else { return is_half(&file.path, "manifest.hush") };
    match folder {
        VERSIONS_NAME => name.strip_suffix(".hush").is_some_and(|digest| digest.parse::<Digest>().is_ok()),
        UPLOADS => PartName::of_file(name).is_some(),
        folder => {
            let whole = name.split('.').next().unwrap_or_default();
            let part = PartName::of_file(name).or_else(|| {
                let kinds = FileKind::ALL.map(|kind| Some(PartName::new(kind, whole.parse().ok()?)));
                kinds.into_iter().flatten().find(|part| is_half(name, &part.file_name()))
            });
            part.is_some_and(|part| part.kind.folder() == folder)
        }
    }
}

/// Whether a name is that of a file which was not yet in place: `NAME.7-1.partial`.
fn is_half(name: &str, whole: &str) -> bool {
    let between = name.strip_prefix(whole).and_then(|rest| rest.strip_suffix(".partial"));
    between.is_some_and(|text| text.starts_with('.') && text.len() <= 64 && text.bytes().all(is_of_a_number))
}

fn is_of_a_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

/// Asks for the first byte of a part file: whatever is no refusal of such a part speaks for it.
pub(super) fn serves(transport: &Transport, table: &str, part: &PartName) -> Result<bool, RemoteError> {
    let file = PartFile { digest: part.digest, bytes: 1 };
    let path = part_path(&table_path(table)?, part.kind, &file);
    let call = Call { headers: vec![("range", "bytes=0-0".to_owned())], ..Call::get(&path, SHORT_MAX_BYTES) };
    match transport.send(&call) {
        // A server that pays no heed to the range sends all of it, and one with an empty file has no such range.
        Ok(_) | Err(RemoteError::TooLarge { .. } | RemoteError::Refused { status: 416, .. }) => Ok(true),
        Err(error) if error.server_code() == Some(NO_PART) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canned::{Canned, response};

    fn digest() -> String {
        Digest::of(b"x").to_string()
    }

    #[test]
    fn names_that_no_table_has_are_refused() {
        let canned = Canned::new();
        let purged = |path: &str| {
            let file = StoredFile { path: path.to_owned(), bytes: 7 };
            let body = Purged { unnamed: vec![file], ..Purged::default() };
            let server = canned.body(&serde_json::to_vec(&body).unwrap());
            server.purge("t", &Digest::of(b"manifest"), true)
        };
        let digest = digest();
        for good in [
            format!("parts/{digest}.enc.parquet"),
            format!("parts/{digest}.dead"),
            format!("parts/{digest}.cubes"),
            format!("parts/{digest}.runs"),
            format!("parts/{digest}.clear.tree"),
            format!("keys/{digest}.key"),
            format!("versions/{digest}.hush"),
            format!("uploads/{digest}.enc.parquet"),
            format!("parts/{digest}.enc.parquet.77-1.partial"),
            "manifest.hush.77-2.partial".to_owned(),
        ] {
            assert_eq!(purged(&good).unwrap().unnamed[0].path, good);
        }
        for bad in [
            format!("keys/{digest}.enc.parquet"),
            format!("parts/{digest}.key"),
            format!("parts/../{digest}.dead"),
            format!("parts/{digest}.enc.parquet.\u{1b}[2J.partial"),
            format!("versions/{}.hush", &digest[1..]),
            "manifest.hush".to_owned(),
            "parts/notes.txt".to_owned(),
            "/etc/passwd".to_owned(),
            String::new(),
        ] {
            assert_eq!(purged(&bad).unwrap_err().code(), "HUSH-R006", "{bad}");
        }
        let asked = canned.asked();
        let expected = format!("POST /v1/tables/t/purge?manifest={}&dry_run=true", Digest::of(b"manifest"));
        assert!(asked[0].starts_with(&expected), "{asked:?}");
    }

    #[test]
    fn a_part_counts_as_served_unless_the_server_says_that_there_is_none() {
        let canned = Canned::new();
        let part = PartName::new(FileKind::Encrypted, Digest::of(b"x"));
        let refusal = |code: &str| {
            format!("{{\"code\":\"{code}\",\"message\":\"m\",\"request_id\":\"r\"}}").into_bytes()
        };
        let long = vec![7; 1 << 20];
        let replies = [
            (response("206 Partial Content", b"x"), Some(true)),
            (response("200 OK", &long), Some(true)),
            (response("416 Range Not Satisfiable", &refusal("HUSH-V026")), Some(true)),
            (response("404 Not Found", &refusal(NO_PART)), Some(false)),
            (response("403 Forbidden", &refusal("HUSH-V036")), None),
            (response("404 Not Found", b"nothing of ours"), None),
        ];
        for (reply, expected) in replies {
            assert_eq!(canned.set(&[&reply]).serves("t", &part).ok(), expected);
        }
    }
}
