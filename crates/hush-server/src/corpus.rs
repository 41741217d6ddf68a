// SPDX-License-Identifier: Apache-2.0
//! Token files and records of jobs in files: `tests/corpus/README.md` says what is in them.

use hush_testkit::Corpus;

use crate::jobs::mutations as jobs;
use crate::token::mutations as token;

pub(crate) fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let (tokens, records) = (tempfile::tempdir().unwrap(), jobs::Place::new());
    corpus().check(&[token::made(), jobs::made()].concat(), |file| match file.reader() {
        "record" => jobs::read(&records, &file.bytes),
        "token" => token::read(&tokens.path().join("token"), &file.bytes),
        other => panic!("{}: no reader {other}", file.path()),
    });
}
