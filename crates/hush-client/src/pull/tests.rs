// SPDX-License-Identifier: Apache-2.0
//! Tables with deleted rows, taken over from directories, object stores and servers: the newest version, whole and checked.

use hush_remote::{RemoteServer, Silent};
use hush_table::TableStore;

use super::*;
use crate::purge::tests::{Case, Service, ask};
use crate::replace::push_table;
use crate::table::OwnedTable;

/// Pulls into a directory, and compares it with the owner's.
fn pulled(case: &Case, from: TablePlace<'_>, to: &str) -> SignedManifest {
    let path = case.path(to);
    let signed = pull(from, TablePlace::Directory(&path), &case.owner, &case.pins, &Silent).unwrap();
    assert_eq!(signed, case.store().load().unwrap());
    let store = TableStore::local_existing(&path).unwrap();
    assert_eq!(store.load().unwrap(), signed);
    store.verify(signed.manifest()).unwrap();
    for part in &signed.manifest().parts {
        assert_eq!(store.dead_rows(part).unwrap(), case.store().dead_rows(part).unwrap());
    }
    signed
}

fn answers(case: &Case, path: &str) -> (i64, i64) {
    ask(&OwnedTable::open_directory(&case.path(path), &case.owner, &case.pins, 1).unwrap()).unwrap()
}

fn push(case: &Case, server: &RemoteServer) {
    let table = case.path("T");
    push_table(server, TablePlace::Directory(&table), true, &case.pins, &Silent).unwrap();
}

#[test]
fn lists_of_deleted_rows_come_along() {
    let case = Case::new();
    let service = Service::start(&case.path("data"));
    let directory = case.path("T");
    let bucket = TableStore::memory();
    case.delete_rows(&[1, 2]);
    push(&case, &service.client);
    let from_server = TablePlace::Server(&service.client, "t");
    pulled(&case, from_server, "from-server");
    pulled(&case, TablePlace::Directory(&directory), "from-directory");
    pull(TablePlace::Directory(&directory), TablePlace::Bucket(&bucket), &case.owner, &case.pins, &Silent)
        .unwrap();
    pulled(&case, TablePlace::Bucket(&bucket), "from-bucket");
    for path in ["from-server", "from-directory", "from-bucket"] {
        assert_eq!(answers(&case, path), (8, 45 - 1 - 2), "{path}");
    }
    // The next pull goes on to the newest version, of which only a list is new.
    case.delete_rows(&[1, 2, 9]);
    push(&case, &service.client);
    let signed = pulled(&case, from_server, "from-server");
    assert_eq!((signed.manifest().version, answers(&case, "from-server")), (3, (7, 45 - 1 - 2 - 9)));
}

/// A list that is another one would bring deleted rows back, or take living ones away.
#[test]
fn an_altered_list_of_deleted_rows_is_refused() {
    let case = Case::new();
    let service = Service::start(&case.path("data"));
    let first = case.delete_rows(&[1]);
    push(&case, &service.client);
    let signed = case.delete_rows(&[1, 2]);
    push(&case, &service.client);
    let name = |signed: &SignedManifest| {
        let dead = signed.manifest().parts[0].dead.unwrap();
        format!("{}.dead", dead.file.digest)
    };
    let parts = case.path("data/tables/t/parts");
    let (whole, other) =
        (std::fs::read(parts.join(name(&signed))).unwrap(), std::fs::read(parts.join(name(&first))).unwrap());
    let to = case.path("to");
    let pull_it = || {
        let (from, to) = (TablePlace::Server(&service.client, "t"), TablePlace::Directory(&to));
        pull(from, to, &case.owner, &case.pins, &Silent)
    };
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for altered in [flipped, other, Vec::new(), [&whole[..], b"x"].concat()] {
        std::fs::write(parts.join(name(&signed)), altered).unwrap();
        let refused = pull_it().unwrap_err();
        assert!(refused.code().starts_with("HUSH-R"), "{} {refused}", refused.code());
        assert!(TableStore::local_existing(&to).is_err(), "no table of a part of its files");
    }
    std::fs::remove_file(parts.join(name(&signed))).unwrap();
    assert_eq!(pull_it().unwrap_err().code(), "HUSH-R005");
    std::fs::write(parts.join(name(&signed)), whole).unwrap();
    assert_eq!(pull_it().unwrap(), signed);
    assert_eq!(answers(&case, "to"), (8, 45 - 1 - 2));
}
