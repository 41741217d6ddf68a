// SPDX-License-Identifier: Apache-2.0
//! Pins, private halves, and replies of a server in files: `tests/corpus/README.md` says what is in them.

use hush_testkit::Corpus;

use crate::pins::mutations as pins;
use crate::private::mutations as private;
use crate::remote::{canned::Canned, mutations as remote};

pub(crate) fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let (remembered, manifest) = (pins::remembered(), pins::manifest());
    let (owner, canned) = (private::Owner::of_the_corpus(), Canned::new());
    let made = [pins::made(), private::made(&owner), remote::made()].concat();
    corpus().check(&made, |file| match file.reader() {
        "envelope" => private::envelope(&owner, &file.bytes).map(drop),
        "half" => private::contents(&owner, &file.bytes).map(drop),
        "pin" => pins::check_version(&remembered.1, &manifest, &file.bytes),
        "place" => pins::check_place(&remembered.1, &manifest, &file.bytes),
        _ => remote::read(&canned, file),
    });
}
