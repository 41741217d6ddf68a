// SPDX-License-Identifier: Apache-2.0

use crate::{ErrorKind, Limits, Worker};

#[test]
fn places_without_a_table_are_refused_by_name() {
    let directory = std::env::temp_dir().join("hush-worker-no-such-table");
    let directory = directory.to_str().unwrap();
    for (place, code, kind) in [
        (directory, "HUSH-T020", ErrorKind::Usage),
        ("https://host:7373/tables/patients", "HUSH-T052", ErrorKind::Usage),
        ("s3://lake/a//b", "HUSH-T051", ErrorKind::Usage),
        ("ftp://host/patients", "HUSH-U001", ErrorKind::Usage),
    ] {
        let error = Worker::open(place, 1, Limits::default()).unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, kind), "{error}");
        assert!(error.to_string().starts_with(place), "{error}");
    }
}
