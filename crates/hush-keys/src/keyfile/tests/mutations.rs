// SPDX-License-Identifier: Apache-2.0
//! Damaged key files and damaged contents of good ones: each is refused with its code, or is the very key.
//!
//! `tests/corpus/README.md` says what is in the files that this starts from; `HUSH_MUTATIONS` multiplies the number of
//! copies, `HUSH_MUTATION_SEED` gives other ones.

use hush_testkit::{Corpus, CorpusFile};

use super::*;
use hush_testkit::damaged;

/// What opens the files of the corpus, and the seed in them. Neither was ever used for anything else.
const PASSPHRASE: &str = "of the corpus";
const SEED: [u8; 32] = [3; 32];

fn contents() -> Vec<u8> {
    let seed = OwnerSeed::from_bytes(&SEED);
    let head = [MAGIC.as_slice(), &[1, 0, 1, 0, 0, 0]].concat();
    [head.as_slice(), &seed.key_id().to_bytes(), seed.expose()].concat()
}

/// The same with the roots of two encryptions.
fn with_roots() -> Vec<u8> {
    let mut contents = contents();
    contents[6] = 2;
    for table in [4, 5] {
        contents.extend_from_slice(&[table; 32]);
        contents.extend_from_slice(&[6; 32]);
    }
    contents
}

/// Any contents, encrypted as a key file is.
fn file(contents: &[u8]) -> Vec<u8> {
    file_of_work(contents, MIN_WORK_LOG2)
}

fn file_of_work(contents: &[u8], work: u8) -> Vec<u8> {
    let mut recipient = scrypt::Recipient::new(pass(PASSPHRASE).secret());
    recipient.set_work_factor(work);
    age::encrypt(&recipient, contents).unwrap()
}

/// Puts `new` over the contents at `at`.
fn with(at: usize, new: &[u8]) -> Vec<u8> {
    let mut contents = contents();
    contents[at..at + new.len()].copy_from_slice(new);
    file(&contents)
}

/// The header of an age file is text: `-> scrypt SALT WORK` in its second line. Work is refused before it is done.
fn with_work(work: &str) -> Vec<u8> {
    let good = file(&contents());
    let line_end = |from: usize| from + good[from..].iter().position(|byte| *byte == b'\n').unwrap();
    let end = line_end(line_end(0) + 1);
    assert!(good[..end].ends_with(b" 14"));
    [&good[..end - 2], work.as_bytes(), &good[end..]].concat()
}

fn made() -> Vec<CorpusFile> {
    let refused = |name: &str, code: &str, bytes: Vec<u8>| CorpusFile::refused(name, code, "hushkey", bytes);
    let good = contents();
    vec![
        CorpusFile::read("key", "hushkey", file(&good)),
        CorpusFile::read("key-with-roots", "hushkey", file(&with_roots())),
        refused("key-of-newer-format", "HUSH-K011", with(6, &[3, 0])),
        refused("key-of-roots-without-any", "HUSH-K003", with(6, &[2, 0])),
        refused("key-cut-roots", "HUSH-K003", file(&with_roots()[..187])),
        refused("key-roots-out-of-order", "HUSH-K003", {
            let all = with_roots();
            file(&[&all[..60], &all[124..], &all[60..124]].concat())
        }),
        refused("key-of-newer-sampler", "HUSH-K011", with(8, &[0xff, 0xff])),
        refused("key-reserved-bytes", "HUSH-K003", with(10, &[0, 1])),
        refused("key-under-another-id", "HUSH-K003", with(12, &[0; 16])),
        refused("key-with-another-magic", "HUSH-K003", with(0, b"HUSHTB")),
        refused("key-cut-contents", "HUSH-K003", file(&good[..59])),
        refused("key-longer-contents", "HUSH-K003", file(&[good.as_slice(), &[0]].concat())),
        refused("key-no-contents", "HUSH-K003", file(&[])),
        refused("key-of-too-little-work", "HUSH-K017", file_of_work(&good, MIN_WORK_LOG2 - 1)),
        refused("key-excessive-work", "HUSH-K012", with_work("23")),
        refused("key-work-of-many-digits", "HUSH-K003", with_work("99999999999999999999")),
        refused("key-cut-file", "HUSH-K003", file(&good)[..100].to_vec()),
        refused("key-empty-file", "HUSH-K003", Vec::new()),
        refused("key-large-file", "HUSH-K003", vec![0; 5000]),
    ]
}

/// Writes the bytes where a key file could be, and loads them.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        std::fs::write(place.path(), b"").unwrap();
        std::fs::set_permissions(place.path(), Permissions::from_mode(0o600)).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("copy.hushkey")
    }

    /// The code of the refusal, if it is not the corpus' key.
    fn read(&self, bytes: &[u8]) -> Result<(), String> {
        self.read_from(MIN_WORK_LOG2, bytes)
    }

    fn read_from(&self, least_work: u8, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(self.path(), bytes).unwrap();
        match load_with(&self.path(), &pass(PASSPHRASE), least_work..=MAX_WORK_LOG2) {
            Ok(loaded) => {
                assert_eq!(loaded.expose(), &SEED);
                Ok(())
            }
            Err(error) => {
                assert!(error.code().starts_with("HUSH-K0"), "{error}");
                Err(error.code().to_owned())
            }
        }
    }
}

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let place = Place::new();
    corpus().check(&made(), |file| place.read(&file.bytes));
}

#[test]
fn damaged_files_are_refused_or_the_very_key() {
    let place = Place::new();
    // Little work, so that many copies can be tried.
    let good = file_of_work(&contents(), 2);
    let accepted = damaged("key file", 400, &good, |bytes| place.read_from(1, bytes).is_ok());
    // Authenticated encryption: only the very bytes open.
    assert!(accepted <= 40, "{accepted}");
}

/// Everyone who knows the passphrase reaches the contents.
#[test]
fn damaged_contents_are_refused_or_a_key_under_its_own_id() {
    let path = Path::new("memory");
    let known = |bytes: &[u8]| match parse(path, bytes) {
        Ok(seed) => {
            assert_eq!(bytes.len(), PLAIN_BYTES + ROOT_BYTES * seed.kept.all().len());
            assert_eq!(seed.key_id().to_bytes(), bytes[12..28]);
            true
        }
        Err(error) => {
            assert!(["HUSH-K003", "HUSH-K011"].contains(&error.code()), "{error}");
            false
        }
    };
    damaged("contents of a key file", 3000, &contents(), known);
    damaged("contents of a key file with roots", 3000, &with_roots(), known);
}
