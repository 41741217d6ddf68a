// SPDX-License-Identifier: Apache-2.0
//! Inputs of decoders in files: what earlier versions wrote or read must still be read, and what once was dangerous must
//! still be refused.

use std::path::PathBuf;

use crate::{damaged, damaged_json};

/// One file of a corpus.
#[derive(Clone, Debug)]
pub struct CorpusFile {
    /// `0.2`, the version that wrote the input, or `refused`.
    pub folder: String,
    /// Which reader it is for, and what sets it apart.
    pub name: String,
    /// Why it is refused; empty for what is read.
    pub reason: String,
    /// The name's ending, without the point.
    pub ending: String,
    /// The content.
    pub bytes: Vec<u8>,
}

impl CorpusFile {
    /// The value that the newest version reads.
    pub fn read(name: &str, ending: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, ending) = (name.to_owned(), ending.to_owned());
        Self { folder: NEWEST.to_owned(), name, reason: String::new(), ending, bytes: bytes.into() }
    }

    /// What every version refuses, for this reason.
    pub fn refused(name: &str, reason: &str, ending: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { folder: REFUSED.to_owned(), reason: reason.to_owned(), ..Self::read(name, ending, bytes) }
    }

    /// The reader that it is for: its name up to the first dash.
    pub fn reader(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// Its path below the corpus.
    pub fn path(&self) -> String {
        let reason = if self.reason.is_empty() { String::new() } else { format!("--{}", self.reason) };
        format!("{}/{}{reason}.{}", self.folder, self.name, self.ending)
    }
}

/// What became of the damaged copies of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// So many were accepted.
    pub copies: usize,
    /// Of so many.
    pub of: usize,
}

/// The folder `tests/corpus` of a crate.
#[derive(Clone, Debug)]
pub struct Corpus(PathBuf);

impl Corpus {
    /// The corpus of the crate in this directory: `env!("CARGO_MANIFEST_DIR")`.
    pub fn of(crate_directory: &str) -> Self {
        Self(PathBuf::from(crate_directory).join("tests/corpus"))
    }

    /// Every file, in a fixed order.
    ///
    /// # Panics
    /// If a folder or a file cannot be read.
    pub fn files(&self) -> Vec<CorpusFile> {
        let mut files = Vec::new();
        for folder in FOLDERS {
            let entries = std::fs::read_dir(self.0.join(folder)).into_iter().flatten();
            let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            for path in paths {
                let [stem, ending] = [path.file_stem(), path.extension()]
                    .map(|part| part.and_then(|part| part.to_str()).unwrap_or_default());
                let (name, reason) = stem.split_once("--").unwrap_or((stem, ""));
                let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                let made = CorpusFile::refused(name, reason, ending, bytes);
                files.push(CorpusFile { folder: folder.to_owned(), ..made });
            }
        }
        files
    }

    /// Reads every file and compares what comes of it with its place: files of versions are read, the others refused for
    /// the reason in their name. `made` are files that a program makes; they must be there, and the environment variable
    /// `HUSH_WRITE_CORPUS` writes those that are missing and changes none.
    ///
    /// `read` gives the reason of a refusal, and asserts by itself what an accepted value must be.
    ///
    /// # Panics
    /// If a file is missing, is refused that must be read, is read that must be refused, or is refused for another reason.
    pub fn check(&self, made: &[CorpusFile], read: impl Fn(&CorpusFile) -> Result<(), String>) {
        if std::env::var_os("HUSH_WRITE_CORPUS").is_some() {
            self.write_missing(made);
        }
        for file in made {
            let path = self.0.join(file.path());
            assert!(self.has(file), "no {}: run once with HUSH_WRITE_CORPUS=1", path.display());
        }
        let files = self.files();
        // The newest version may have nothing of its own yet.
        for folder in FOLDERS.iter().filter(|folder| **folder != NEWEST) {
            assert!(files.iter().any(|file| file.folder == *folder), "nothing in {folder}");
        }
        let mut faults = Vec::new();
        for file in files {
            assert_eq!(file.folder == REFUSED, !file.reason.is_empty(), "{}: its name", file.path());
            match read(&file) {
                Ok(()) if file.reason.is_empty() => {}
                Ok(()) => faults.push(format!("{} is read", file.path())),
                Err(found) if found == file.reason => {}
                Err(found) => faults.push(format!("{} is refused for {found}", file.path())),
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// Calls `decode` with damaged copies of a reader's files, as [`damaged`] and for JSON [`damaged_json`] do: `count` of
    /// each file that is read, a tenth of that of each other one. Gives how many copies of the former were accepted, and how
    /// many there were.
    ///
    /// # Panics
    /// If `decode` does, or there is no file for the reader.
    pub fn damaged(
        &self,
        reader: &str,
        count: usize,
        mut decode: impl FnMut(&CorpusFile, &[u8]) -> bool,
    ) -> Accepted {
        let mut sum = Accepted { copies: 0, of: 0 };
        for file in self.files().iter().filter(|file| file.reader() == reader) {
            let is_read = file.reason.is_empty();
            let copies = if is_read { count } else { count.div_ceil(10) };
            let mut copies_seen = 0;
            let decode = |bytes: &[u8]| {
                copies_seen += 1;
                decode(file, bytes)
            };
            let accepted = match file.ending.as_str() {
                "json" => damaged_json(&file.path(), copies, &file.bytes, decode),
                _ => damaged(&file.path(), copies, &file.bytes, decode),
            };
            if is_read {
                sum = Accepted { copies: sum.copies + accepted, of: sum.of + copies_seen };
            }
        }
        assert!(sum.of > 0, "no files for {reader}");
        sum
    }

    /// Whether the file is there, or was written by an earlier version, in the form that is still written.
    fn has(&self, file: &CorpusFile) -> bool {
        let versions = if file.reason.is_empty() { &EARLIER[..] } else { &[] };
        let earlier =
            versions.iter().map(|version| CorpusFile { folder: (*version).to_owned(), ..file.clone() });
        earlier.chain([file.clone()]).any(|file| self.0.join(file.path()).exists())
    }

    fn write_missing(&self, made: &[CorpusFile]) {
        for file in made {
            let path = self.0.join(file.path());
            if self.has(file) {
                continue;
            }
            let folder = self.0.join(&file.folder);
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &file.bytes));
            written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Earlier versions, whose folders are closed.
const EARLIER: [&str; 1] = ["0.1"];
/// The version that new files are added to; its release closes the folder and opens the next.
const NEWEST: &str = "0.2";
const REFUSED: &str = "refused";
/// Versions with kept files, and the inputs that must be refused.
const FOLDERS: [&str; 3] = [EARLIER[0], NEWEST, REFUSED];

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// A reader of texts that begin with `a`.
    fn read(bytes: &[u8]) -> Result<(), String> {
        if bytes.first() == Some(&b'a') { Ok(()) } else { Err("no-a".to_owned()) }
    }

    /// A corpus of these files, and what its check says.
    fn check(name: &str, files: &[CorpusFile]) -> (Corpus, Result<(), String>) {
        let crate_directory =
            std::env::temp_dir().join(format!("hush-testkit-{name}-{}", std::process::id()));
        let corpus = Corpus::of(crate_directory.to_str().expect("a path of text"));
        corpus.write_missing(files);
        let checked = catch_unwind(AssertUnwindSafe(|| corpus.check(&[], |file| read(&file.bytes))));
        let text = |panic: Box<dyn std::any::Any + Send>| *panic.downcast::<String>().unwrap_or_default();
        (corpus, checked.map_err(text))
    }

    #[test]
    fn every_file_in_the_wrong_place_is_named() {
        let earlier = |file: CorpusFile| CorpusFile { folder: EARLIER[0].to_owned(), ..file };
        let good = [
            earlier(CorpusFile::read("text", "txt", "abc")),
            CorpusFile::refused("text-short", "no-a", "json", ""),
        ];
        let (corpus, checked) = check("good", &good);
        assert_eq!(checked, Ok(()));
        // 100 copies of what is read, 10 of the other, which are not counted.
        let mut seen = 0;
        let accepted = corpus.damaged("text", 100, |_, bytes| {
            seen += 1;
            read(bytes).is_ok()
        });
        assert_eq!(seen, accepted.of / 10 * 11);
        assert!((1..accepted.of).contains(&accepted.copies), "{accepted:?}");
        assert!(catch_unwind(|| corpus.damaged("other", 1, |_, _| true)).is_err());

        // What an earlier version wrote is not written again; what no version wrote is missing.
        corpus.check(&[CorpusFile::read("text", "txt", "abc")], |file| read(&file.bytes));
        let missing = [CorpusFile::read("text-new", "txt", "abc")];
        assert!(catch_unwind(|| corpus.check(&missing, |file| read(&file.bytes))).is_err());

        let bad = [
            earlier(CorpusFile::read("text", "txt", "bc")),
            CorpusFile::refused("text", "no-a", "txt", "abc"),
            CorpusFile::refused("text", "no-b", "txt", ""),
        ];
        let expected = "0.1/text.txt is refused for no-a\nrefused/text--no-a.txt is read\n\
                        refused/text--no-b.txt is refused for no-a";
        assert_eq!(check("bad", &bad).1, Err(expected.to_owned()));
        for name in ["good", "bad"] {
            let made = std::env::temp_dir().join(format!("hush-testkit-{name}-{}", std::process::id()));
            std::fs::remove_dir_all(made).expect("it was made above");
        }
    }
}
