// SPDX-License-Identifier: Apache-2.0
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

mod mutations;

const FAST: WorkFactor = WorkFactor::Log2(4);

fn pass(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned())
}

fn stored() -> (tempfile::TempDir, PathBuf, OwnerSeed) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys").join("owner.hushkey");
    let seed = OwnerSeed::generate().unwrap();
    store(&path, &seed, pass("correct horse"), FAST).unwrap();
    (dir, path, seed)
}

#[test]
fn a_stored_seed_comes_back_and_is_private() {
    let (_dir, path, seed) = stored();
    let loaded = load(&path, pass("correct horse")).unwrap();
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
    for (made_for, takes) in [(MIB, MIB), (3 * MIB, 2 * MIB), (4 * MIB - 1, 2 * MIB)] {
        let path = dir.path().join(format!("{made_for}.hushkey"));
        store(&path, &seed, pass("correct horse"), WorkFactor::Memory(made_for)).unwrap();
        assert_eq!(load_within(&path, pass("correct horse"), takes).unwrap().expose(), seed.expose());
        match load_within(&path, pass("correct horse"), takes - 1) {
            Err(KeyFileError::Memory { found, limit, .. }) => {
                assert_eq!((found, limit), (takes / MIB, (takes - 1) / MIB));
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

#[test]
fn a_wrong_passphrase_is_named_as_such() {
    let (_dir, path, _) = stored();
    assert!(matches!(load(&path, pass("wrong")), Err(KeyFileError::WrongPassphrase { .. })));
}

#[test]
fn a_key_is_never_overwritten() {
    let (_dir, path, seed) = stored();
    let other = OwnerSeed::generate().unwrap();
    assert!(matches!(store(&path, &other, pass("x"), FAST), Err(KeyFileError::Exists { .. })));
    assert_eq!(load(&path, pass("correct horse")).unwrap().expose(), seed.expose());
}

#[test]
fn open_permissions_and_links_are_refused() {
    let (_dir, path, _) = stored();
    for mode in [0o640, 0o604, 0o660, 0o601] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let result = load(&path, pass("correct horse"));
        assert!(matches!(result, Err(KeyFileError::Permissions { found, .. }) if found == mode));
    }
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let link = path.with_file_name("link.hushkey");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(load(&link, pass("correct horse")), Err(KeyFileError::NotAFile { .. })));
    let result = store(&link, &OwnerSeed::generate().unwrap(), pass("x"), FAST);
    assert!(matches!(result, Err(KeyFileError::Exists { .. })));
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
        assert!(load(&path, pass("correct horse")).is_err(), "case {case}");
    }
    std::fs::write(&path, &good).unwrap();
    assert!(load(&path, pass("correct horse")).is_ok());
}

#[test]
fn missing_files_and_directories_are_io_errors() {
    let dir = tempfile::tempdir().unwrap();
    let missing = load(&dir.path().join("none.hushkey"), pass("x"));
    assert!(matches!(missing, Err(KeyFileError::Io { action: Action::Open, .. })));
    assert!(matches!(load(dir.path(), pass("x")), Err(KeyFileError::NotAFile { .. })));
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
