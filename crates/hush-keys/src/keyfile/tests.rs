// SPDX-License-Identifier: Apache-2.0
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

mod mutations;

const FAST: WorkFactor = WorkFactor::Log2(MIN_WORK_LOG2);

fn pass(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned())
}

fn new(text: &str) -> NewPassphrase {
    NewPassphrase::new(pass(text)).unwrap()
}

fn stored() -> (tempfile::TempDir, PathBuf, OwnerSeed) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys").join("owner.hushkey");
    let seed = OwnerSeed::generate().unwrap();
    store(&path, &seed, &new("correct horse"), FAST).unwrap();
    (dir, path, seed)
}

#[test]
fn a_stored_seed_comes_back_and_is_private() {
    let (_dir, path, seed) = stored();
    let loaded = load(&path, &pass("correct horse")).unwrap();
    assert_eq!(loaded.expose(), seed.expose());
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(32).any(|window| window == seed.expose()));
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no partial file remains");
}

#[test]
fn a_key_opens_in_the_memory_that_it_was_made_for_and_in_no_less() {
    const MIB: u64 = 1 << 20;
    let (dir, _, seed) = stored();
    for (made_for, takes) in [(16 * MIB, 16 * MIB), (48 * MIB, 32 * MIB), (64 * MIB - 1, 32 * MIB)] {
        let path = dir.path().join(format!("{made_for}.hushkey"));
        store(&path, &seed, &new("correct horse"), WorkFactor::Memory(made_for)).unwrap();
        assert_eq!(load_within(&path, &pass("correct horse"), takes).unwrap().expose(), seed.expose());
        match load_within(&path, &pass("correct horse"), takes - 1) {
            Err(KeyFileError::Memory { found, limit, .. }) => {
                assert_eq!((found, limit), (takes / MIB, (takes - 1) / MIB));
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

/// Guesses at a passphrase must cost something: writing a key with less work is refused, and reading one gives a warning.
#[test]
fn keys_of_too_little_work_are_neither_written_nor_read() {
    let (dir, good, seed) = stored();
    let path = dir.path().join("cheap.hushkey");
    let least = MIN_WORK_LOG2;
    for work in [WorkFactor::Log2(least - 1), WorkFactor::Log2(0), WorkFactor::Memory((16 << 20) - 1)] {
        let refused = store(&path, &seed, &new("correct horse"), work).unwrap_err();
        assert!(
            matches!(refused, KeyFileError::WeakNewWork { expected, .. } if expected == least),
            "{refused}"
        );
        assert_eq!(refused.code(), "HUSH-K017");
        assert!(!path.exists());
    }
    // As another program would write it.
    let mut recipient = scrypt::Recipient::new("correct horse".to_owned().into());
    recipient.set_work_factor(least - 1);
    std::fs::write(&good, age::encrypt(&recipient, &[0; PLAIN_BYTES]).unwrap()).unwrap();
    let refused = load(&good, &pass("correct horse")).err().unwrap();
    assert!(matches!(refused, KeyFileError::WeakWork { found, .. } if found == least - 1), "{refused}");
    assert!(refused.to_string().contains("8 MiB"), "{refused}");
}

/// A busy machine may measure too little.
#[test]
fn a_key_that_nobody_sized_takes_128_mebibytes_or_more() {
    let path = tempfile::tempdir().unwrap().path().join("owner.hushkey");
    store(&path, &OwnerSeed::generate().unwrap(), &new("correct horse"), WorkFactor::Calibrated).unwrap();
    assert!(work_of(&std::fs::read(&path).unwrap()).unwrap() >= CALIBRATED_LEAST_LOG2);
}

#[test]
fn new_keys_ask_for_twelve_characters_unless_a_weak_passphrase_is_meant() {
    for (text, found) in [("elevenchars", 11), ("ärgerlicher", 11), ("1234", 4)] {
        let refused = NewPassphrase::new(pass(text)).err().unwrap();
        assert!(matches!(refused, KeyFileError::WeakPassphrase { found: is, expected: 12 } if is == found));
        assert_eq!(refused.code(), "HUSH-K016");
        assert!(!refused.to_string().contains(text));
        assert!(NewPassphrase::weak(pass(text)).is_ok());
    }
    assert!(NewPassphrase::new(pass("twelve chars")).is_ok());
    for empty in [NewPassphrase::new(pass("")), NewPassphrase::weak(pass(""))] {
        assert_eq!(empty.err().unwrap().code(), "HUSH-K008");
    }
}

#[test]
fn a_passphrase_file_is_the_users_own_and_closed_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("passphrase");
    std::fs::write(&path, "correct horse\r\nnot this line").unwrap();
    for mode in [0o640, 0o604, 0o660, 0o601, 0o620] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let refused = Passphrase::from_file(&path).err().unwrap();
        assert!(matches!(refused, KeyFileError::Permissions { found, .. } if found == mode), "{refused}");
    }
    for mode in [0o600, 0o400] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(Passphrase::from_file(&path).unwrap().is_same(&pass("correct horse")));
    }
    // A link is as private as what it leads to.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(Passphrase::from_file(&link).unwrap().is_same(&pass("correct horse")));
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Passphrase::from_file(&link).err().unwrap().code(), "HUSH-K004");
}

#[test]
fn passphrases_that_cannot_be_read_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let code = |bytes: &[u8]| {
        let path = dir.path().join("passphrase");
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        Passphrase::from_file(&path).map_err(|error| error.code()).err()
    };
    assert_eq!(code(b""), Some("HUSH-K008"));
    assert_eq!(code(b"\r\nsecond line"), Some("HUSH-K008"));
    assert_eq!(code(b"\xff\xfe"), Some("HUSH-K007"));
    assert_eq!(code(&[b'x'; 4097]), Some("HUSH-K007"));
    assert_eq!(code(&[b'x'; 4096]), None);
    let missing = Passphrase::from_file(&dir.path().join("none")).err().unwrap();
    assert_eq!(missing.code(), "HUSH-K007");
    assert_eq!(Passphrase::from_file(dir.path()).err().unwrap().code(), "HUSH-K007");
}

#[test]
fn a_wrong_passphrase_is_named_as_such() {
    let (_dir, path, _) = stored();
    assert!(matches!(load(&path, &pass("wrong")), Err(KeyFileError::WrongPassphrase { .. })));
}

#[test]
fn a_key_is_never_overwritten() {
    let (_dir, path, seed) = stored();
    let other = OwnerSeed::generate().unwrap();
    assert!(matches!(
        store(&path, &other, &new("another passphrase"), FAST),
        Err(KeyFileError::Exists { .. })
    ));
    assert_eq!(load(&path, &pass("correct horse")).unwrap().expose(), seed.expose());
}

#[test]
fn open_permissions_and_links_are_refused() {
    let (_dir, path, _) = stored();
    for mode in [0o640, 0o604, 0o660, 0o601] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let result = load(&path, &pass("correct horse"));
        assert!(matches!(result, Err(KeyFileError::Permissions { found, .. }) if found == mode));
    }
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let link = path.with_file_name("link.hushkey");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(load(&link, &pass("correct horse")), Err(KeyFileError::NotAFile { .. })));
    let result = store(&link, &OwnerSeed::generate().unwrap(), &new("another passphrase"), FAST);
    assert!(matches!(result, Err(KeyFileError::Exists { .. })));
}

/// A pipe under the name does not keep the program waiting.
#[test]
fn pipes_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe.hushkey");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(load(&path, &pass("x")), Err(KeyFileError::NotAFile { .. })));
}

/// Both find the name free, and work for a while before they take it.
#[test]
fn of_two_that_store_under_one_name_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owner.hushkey");
    let store_one = || store(&path, &OwnerSeed::generate().unwrap(), &new("correct horse"), FAST);
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(store_one);
        (store_one(), other.join().unwrap())
    });
    assert!(one.is_ok() != two.is_ok());
    let refused = one.and(two).unwrap_err();
    assert!(matches!(refused, KeyFileError::Exists { .. }), "{refused}");
    assert!(load(&path, &pass("correct horse")).is_ok());
    // What cannot be written is not called there: this name has no room for the ending of a partial file.
    let long = dir.path().join("k".repeat(250));
    let refused = store(&long, &OwnerSeed::generate().unwrap(), &new("correct horse"), FAST).unwrap_err();
    assert!(matches!(refused, KeyFileError::Io { action: Action::Write, .. }), "{refused}");
}

/// More work than any machine should do is called so, however much memory is allowed.
#[test]
fn excessive_work_is_refused_before_it_is_done() {
    let (_dir, path, _) = stored();
    let good = std::fs::read(&path).unwrap();
    let place = good.windows(4).position(|word| word == b" 14\n").unwrap();
    std::fs::write(&path, [&good[..place], b" 23\n", &good[place + 4..]].concat()).unwrap();
    for refused in [load(&path, &pass("x")), load_within(&path, &pass("x"), 32 << 20)] {
        assert!(matches!(refused, Err(KeyFileError::ExcessiveWork { found: 23, .. })));
    }
}

#[test]
fn truncated_and_altered_files_never_open() {
    let (_dir, path, _) = stored();
    let good = std::fs::read(&path).unwrap();
    let spoiled = (0..good.len())
        .map(|length| good[..length].to_vec())
        .chain((0..good.len()).map(|index| {
            let mut bytes = good.clone();
            bytes[index] ^= 0x04;
            bytes
        }))
        .chain([[good.as_slice(), b"x"].concat(), vec![0; 5000]]);
    for (case, bytes) in spoiled.enumerate() {
        std::fs::write(&path, &bytes).unwrap();
        assert!(load(&path, &pass("correct horse")).is_err(), "case {case}");
    }
    std::fs::write(&path, &good).unwrap();
    assert!(load(&path, &pass("correct horse")).is_ok());
}

#[test]
fn missing_files_and_directories_are_io_errors() {
    let dir = tempfile::tempdir().unwrap();
    let missing = load(&dir.path().join("none.hushkey"), &pass("x"));
    assert!(matches!(missing, Err(KeyFileError::Io { action: Action::Open, .. })));
    assert!(matches!(load(dir.path(), &pass("x")), Err(KeyFileError::NotAFile { .. })));
}

#[test]
fn contents_of_another_version_or_key_are_refused() {
    let path = Path::new("memory");
    let seed = OwnerSeed::from_bytes(&[3; 32]);
    let mut plain = Vec::new();
    plain.extend_from_slice(MAGIC);
    plain.extend_from_slice(&[1, 0, 1, 0, 0, 0]);
    plain.extend_from_slice(&seed.key_id().to_bytes());
    plain.extend_from_slice(seed.expose());
    assert_eq!(plain.len(), PLAIN_BYTES);
    assert!(parse(path, &plain).is_ok());
    for index in 0..plain.len() {
        let mut bytes = plain.clone();
        bytes[index] ^= 2;
        let result = parse(path, &bytes);
        match index {
            6..10 => assert!(matches!(result, Err(KeyFileError::Version { .. })), "byte {index}"),
            _ => assert!(matches!(result, Err(KeyFileError::Damaged { .. })), "byte {index}"),
        }
        assert!(parse(path, &plain[..index]).is_err());
    }
}

#[test]
fn memory_is_told_in_words() {
    let words = [0, 9, 10, 14, 20].map(super::error::memory_words);
    assert_eq!(words, ["1 KiB", "512 KiB", "1 MiB", "16 MiB", "1024 MiB"]);
}

#[test]
fn passphrases_are_the_same_or_not() {
    assert!(pass("correct horse").is_same(&pass("correct horse")));
    for other in ["correct hors", "correct horse ", "Correct horse", ""] {
        assert!(!pass("correct horse").is_same(&pass(other)), "{other}");
    }
}

#[test]
fn a_key_goes_under_another_passphrase_and_stays_the_same_key() {
    let (dir, path, seed) = stored();
    rewrap(&path, &seed, &new("battery staple"), WorkFactor::Memory(32 << 20)).unwrap();
    assert!(matches!(load(&path, &pass("correct horse")), Err(KeyFileError::WrongPassphrase { .. })));
    assert_eq!(load(&path, &pass("battery staple")).unwrap().expose(), seed.expose());
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no partial file remains");
    // Too little work, a link, a directory that takes no files: the file stays as it is.
    let before = std::fs::read(&path).unwrap();
    let cheap = rewrap(&path, &seed, &new("tired donkey"), WorkFactor::Log2(MIN_WORK_LOG2 - 1));
    assert!(matches!(cheap, Err(KeyFileError::WeakNewWork { .. })));
    let link = dir.path().join("link.hushkey");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = rewrap(&link, &seed, &new("tired donkey"), FAST);
    assert!(matches!(linked, Err(KeyFileError::NotAFile { .. })));
    let gone = dir.path().join("nowhere").join("owner.hushkey");
    assert!(matches!(rewrap(&gone, &seed, &new("tired donkey"), FAST), Err(KeyFileError::Io { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_copy_has_the_bytes_of_the_file_and_overwrites_nothing() {
    let (dir, path, seed) = stored();
    let backup = dir.path().join("backup.hushkey");
    copy(&path, &backup).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&backup).unwrap());
    assert_eq!(backup.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(load(&backup, &pass("correct horse")).unwrap().expose(), seed.expose());
    assert!(matches!(copy(&path, &backup), Err(KeyFileError::Exists { .. })));
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let open = copy(&path, &dir.path().join("other.hushkey"));
    assert!(matches!(open, Err(KeyFileError::Permissions { .. })));
}
