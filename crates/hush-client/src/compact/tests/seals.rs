// SPDX-License-Identifier: Apache-2.0
//! Tables of version 0.1 have sealed columns of another cipher, and keep it.

use hush_plan::schema::alter::Alteration;

use super::*;
use crate::alter::{AlterOptions, alter};

/// Appended, altered, deleted and compacted: the same rows, and the cipher of the beginning.
#[test]
fn tables_of_either_cipher_live_alike() {
    let lived = [Cipher::XChaCha20Poly1305, Cipher::Xaes256Gcm].map(|cipher| {
        let case = Case::sealed_by(cipher, 3);
        let path = case.path("T");
        let place = TablePlace::Directory(&path);
        assert_eq!(numbers(&case.rows()), (0..6).collect::<Vec<_>>());
        case.append(6..9);
        case.delete(1, [0]);
        let alteration =
            Alteration { rename: vec![("flag".to_owned(), "mark".to_owned())], ..Alteration::default() };
        let options = AlterOptions { alteration, threads: 2, memory_limit: None, pins: case.pins.clone() };
        alter(place, &options, &case.owner, &Silent).unwrap();
        assert_eq!(case.compact(Which::All).rows, 8);
        let opened = place.open(case.owner.seed(), &case.pins).unwrap();
        assert_eq!(opened.half.cipher, cipher);
        let rows = case.rows();
        assert_eq!(numbers(&rows), [0, 1, 3, 4, 5, 6, 7, 8]);
        rows
    });
    assert_eq!(lived[0], lived[1]);
}
