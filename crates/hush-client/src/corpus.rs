// SPDX-License-Identifier: Apache-2.0
//! Pins and private halves in files, which `tests/corpus/README.md` describes.

use hush_testkit::Corpus;

use crate::pins::mutations as pins;
use crate::private::mutations as private;

pub(crate) fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let (remembered, manifest) = (pins::remembered(), pins::manifest());
    let owner = private::Owner::of_the_corpus();
    let made = [pins::made(), private::made(&owner)].concat();
    corpus().check(&made, |file| match file.reader() {
        "envelope" => private::envelope(&owner, &file.bytes).map(drop),
        "half" => private::contents(&owner, &file.bytes).map(drop),
        "pin" => pins::check_version(&remembered.1, &manifest, &file.bytes),
        "place" => pins::check_place(&remembered.1, &manifest, &file.bytes),
        other => Err(format!("no reader {other}")),
    });
}
