// SPDX-License-Identifier: Apache-2.0
//! Damaged token files: each is refused as malformed, or holds one token, which is what requests must present.
//!
//! `tests/corpus/README.md` says what is in the files that this starts from; `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use hush_testkit::{CorpusFile, damaged};

use super::*;
use crate::corpus::corpus;

/// The rules of a token file, written independently of the reader.
fn token_of(bytes: &[u8]) -> Option<&[u8]> {
    let blank = |byte: &u8| b" \t\r\n\x0c".contains(byte);
    let start = bytes.iter().position(|byte| !blank(byte))?;
    let end = bytes.iter().rposition(|byte| !blank(byte))? + 1;
    let token = &bytes[start..end];
    let sound = token.iter().all(|byte| (b'!'..=b'~').contains(byte));
    (sound && (32..=1024).contains(&token.len()) && bytes.len() <= 1026).then_some(token)
}

fn write(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Whether the file's content is accepted.
fn check(path: &Path, bytes: &[u8]) -> bool {
    write(path, bytes);
    let read = TokenHash::load_or_create(path);
    assert_eq!(fs::read(path).unwrap(), bytes, "the file is never written over");
    match (read, token_of(bytes)) {
        (Ok(hash), Some(token)) => {
            assert!(hash.accepts(token));
            assert!(
                !hash.accepts(&token[1..]) && !hash.accepts(&[token, b"\n"].concat()) && !hash.accepts(b"")
            );
            true
        }
        (Err(TokenError::Malformed { .. }), None) => false,
        (Ok(_), None) => panic!("accepted: {bytes:?}"),
        (Err(error), token) => panic!("{error}, {token:?}: {bytes:?}"),
    }
}

/// The reason of a refusal.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if check(path, bytes) { Ok(()) } else { Err("malformed".to_owned()) }
}

/// Files that one line of a program writes.
pub(crate) fn made() -> Vec<CorpusFile> {
    let all: Vec<u8> = (b'!'..=b'~').cycle().take(TOKEN_MAX).collect();
    let read = |name: &str, bytes: Vec<u8>| CorpusFile::read(&format!("token-{name}"), "txt", bytes);
    let refused =
        |name: &str, bytes: Vec<u8>| CorpusFile::refused(&format!("token-{name}"), "malformed", "txt", bytes);
    vec![
        read("longest", [&all[..], b"\r\n"].concat()),
        read("shortest-without-line-end", all[..TOKEN_MIN].to_vec()),
        read("between-blanks", [b"  ", &all[..40], b"\t\n\n"].concat()),
        refused("too-long", [&all[..], b"x"].concat()),
        refused("too-short", [&all[..TOKEN_MIN - 1], b"\n"].concat()),
        refused("longest-of-many-lines", [&all[..], b"\n\n\n"].concat()),
        refused("of-blanks", vec![b' '; 40]),
        refused("empty", Vec::new()),
        refused("blank-inside", [&all[..40], b" ", &all[..40]].concat()),
        refused("two", [&all[..40], b"\n", &all[..40]].concat()),
        refused("null-character", [&all[..40], b"\0"].concat()),
        refused("control-character", [&all[..40], b"\x1b[31m", &all[..40]].concat()),
        refused("not-ascii", [&all[..40], "\u{fc}".as_bytes()].concat()),
        refused("byte-order-mark", ["\u{feff}".as_bytes(), &all[..40]].concat()),
        refused("utf-16", all[..40].iter().flat_map(|byte| [*byte, 0]).collect()),
    ]
}

#[test]
fn damaged_token_files_hold_one_token_or_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let made = {
        TokenHash::load_or_create(&path).unwrap();
        fs::read(&path).unwrap()
    };
    assert!(check(&path, &made));
    let accepted = damaged("token file", 400, &made, |bytes| check(&path, bytes));
    assert!(accepted > 20, "{accepted}");
    let accepted = corpus().damaged("token", 400, |_, bytes| check(&path, bytes));
    assert!(accepted.copies > accepted.of / 20, "{accepted:?}");
}

#[test]
fn token_files_are_read_up_to_their_largest_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let token = |length: usize, end: &str| format!("{}{end}", "x".repeat(length)).into_bytes();
    for (length, end, accepted) in [
        (31, "\n", false),
        (32, "", true),
        (32, "\n", true),
        (1024, "", true),
        (1024, "\n", true),
        (1024, "\r\n", true),
        (1024, "\n\n\n", false),
        (1025, "", false),
        (1025, "\n", false),
        (1026, "", false),
    ] {
        assert_eq!(check(&path, &token(length, end)), accepted, "{length} {end:?}");
    }
    // Ten gigabytes; only the first line is on the disk.
    write(&path, &token(32, "\n"));
    OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
    assert!(matches!(TokenHash::load_or_create(&path), Err(TokenError::Malformed { .. })));
}
