// SPDX-License-Identifier: Apache-2.0
//! Inputs of decoders in files: what earlier versions wrote or read must still be read, and what once was dangerous must
//! still be refused.

use std::path::PathBuf;

/// One file of a corpus.
#[derive(Clone, Debug)]
pub struct CorpusFile {
    /// `0.1`, the version whose input it is, or `refused`.
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
    /// What the newest version reads.
    pub fn read(name: &str, ending: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, ending) = (name.to_owned(), ending.to_owned());
        Self { folder: NEWEST.to_owned(), name, reason: String::new(), ending, bytes: bytes.into() }
    }

    /// What every version refuses, for this reason.
    pub fn refused(name: &str, reason: &str, ending: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { folder: REFUSED.to_owned(), reason: reason.to_owned(), ..Self::read(name, ending, bytes) }
    }

    /// Its path below the corpus.
    pub fn path(&self) -> String {
        let reason = if self.reason.is_empty() { String::new() } else { format!("--{}", self.reason) };
        format!("{}/{}{reason}.{}", self.folder, self.name, self.ending)
    }
}

/// The folder `tests/corpus` of a crate.
#[derive(Clone, Debug)]
pub struct Corpus(PathBuf);

impl Corpus {
    /// Of the crate in this directory: `env!("CARGO_MANIFEST_DIR")`.
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
            assert!(path.exists(), "no {}: run once with HUSH_WRITE_CORPUS=1", path.display());
        }
        let files = self.files();
        for folder in FOLDERS {
            assert!(files.iter().any(|file| file.folder == folder), "nothing in {folder}");
        }
        for file in files {
            assert_eq!(file.folder == REFUSED, !file.reason.is_empty(), "{}: its name", file.path());
            match read(&file) {
                Ok(()) => assert!(file.reason.is_empty(), "{} is read", file.path()),
                Err(found) => assert_eq!(found, file.reason, "{}: the reason", file.path()),
            }
        }
    }

    fn write_missing(&self, made: &[CorpusFile]) {
        for file in made {
            let path = self.0.join(file.path());
            if path.exists() {
                continue;
            }
            let folder = self.0.join(&file.folder);
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &file.bytes));
            written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// The version whose folder new files are added to; closed and followed by another once it is released.
const NEWEST: &str = "0.1";
const REFUSED: &str = "refused";
/// Versions whose files are kept, and what must be refused.
const FOLDERS: [&str; 2] = [NEWEST, REFUSED];
