// SPDX-License-Identifier: Apache-2.0
//! Damaged token files: each is refused as malformed, or holds one token, which is what requests must present.
//!
//! `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use super::*;
use hush_testkit::damaged;

/// What a token file holds, said another way than in the reader.
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

#[test]
fn damaged_token_files_hold_one_token_or_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let made = {
        TokenHash::load_or_create(&path).unwrap();
        fs::read(&path).unwrap()
    };
    let long: Vec<u8> = (b'!'..=b'~').cycle().take(TOKEN_MAX).chain(*b"\r\n").collect();
    for good in [made.as_slice(), &long, b"  0123456789abcdef0123456789abcdef\t\n\n"] {
        assert!(check(&path, good));
        let accepted = damaged("token file", 400, good, |bytes| check(&path, bytes));
        assert!(accepted > 20, "{accepted}");
    }
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
    // Ten gigabytes, of which the disk holds the first line.
    write(&path, &token(32, "\n"));
    OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
    assert!(matches!(TokenHash::load_or_create(&path), Err(TokenError::Malformed { .. })));
}
