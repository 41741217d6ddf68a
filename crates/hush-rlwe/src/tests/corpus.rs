// SPDX-License-Identifier: Apache-2.0
//! Objects in files: what earlier versions wrote must still be read, and what once was dangerous must still be refused.
//!
//! `tests/corpus/README.md` says what is where. `HUSH_WRITE_CORPUS=1` writes the files that are missing, and changes none.

use std::path::{Path, PathBuf};

use super::mutations::{Sample, samples};
use super::*;

/// One file of the corpus.
pub(super) struct File {
    /// `0.1`, the version that wrote it, or `refused`.
    folder: &'static str,
    /// The file's name without its ending: the sample's, and for what is to be refused `--` and the reason.
    stem: String,
    pub(super) bytes: Vec<u8>,
}

/// Every file, in a fixed order.
pub(super) fn files() -> Vec<File> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(directory(folder)).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            files.push(File { folder, stem, bytes: std::fs::read(&path).unwrap() });
        }
    }
    files
}

fn directory(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder)
}

/// A name for the kind of refusal.
fn reason(error: &CodecError) -> &'static str {
    match error {
        CodecError::Checksum => "checksum",
        CodecError::ElementCount { .. } => "element-count",
        CodecError::Factor { .. } => "factor",
        CodecError::Length { .. } => "length",
        CodecError::Reserved => "reserved",
        CodecError::Residue { .. } => "residue",
        CodecError::Scale { .. } => "scale",
        CodecError::Transparent { .. } => "transparent",
        _ => "other",
    }
}

/// Damaged samples with right checksums: where they are damaged, by what, and why they are refused.
///
/// Residues that are not below their primes once reached products that assume they are. Lengths and counts are what a decoder
/// must not allocate by. Ciphertexts without a mask lie open.
fn dangerous() -> Vec<(&'static str, usize, Vec<u8>, &'static str)> {
    let ones = |count: usize| vec![0xff; count];
    vec![
        ("body-sum", HEADER_BYTES, ones(12), "residue"),
        ("body-slot", 20, ones(4), "length"),
        ("sum-answer", HEADER_BYTES, ones(12), "residue"),
        ("chain-seeded", CHAIN_HEADER_BYTES + 32, ones(12), "residue"),
        ("chain-full", 12, ones(4), "element-count"),
        ("chain-full", 48, ones(8), "length"),
        ("chain-full", CHAIN_HEADER_BYTES + 2 * 92, vec![0; 2 * 92], "transparent"),
        ("chain-full", 57, ones(1), "reserved"),
        ("chain-factors", CHAIN_HEADER_BYTES, vec![0; 8], "factor"),
        ("chain-scales", CHAIN_HEADER_BYTES, f64::NAN.to_le_bytes().to_vec(), "scale"),
        ("chain-evaluation-keys", CHAIN_HEADER_BYTES + 36, ones(12), "residue"),
        ("chain-public-key", CHAIN_HEADER_BYTES + 32, ones(12), "residue"),
    ]
}

/// Writes what is missing, if the environment says so.
fn complete(samples: &[Sample]) {
    if std::env::var_os("HUSH_WRITE_CORPUS").is_none() {
        return;
    }
    let write = |folder: &str, stem: &str, bytes: &[u8]| {
        let path = directory(folder).join(format!("{stem}.bin"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            std::fs::write(&path, bytes).unwrap();
        }
    };
    for sample in samples.iter().filter(|sample| sample.bytes.len() <= MAX_FILE_BYTES) {
        write(NEWEST, sample.name, &sample.bytes);
    }
    for (name, at, field, reason) in dangerous() {
        let mut bytes = samples.iter().find(|sample| sample.name == name).unwrap().bytes.clone();
        bytes[at..at + field.len()].copy_from_slice(&field);
        write("refused", &format!("{name}--{reason}"), &reseal(bytes));
    }
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let samples = samples();
    complete(&samples);
    let files = files();
    for File { folder, stem, bytes } in &files {
        let (name, expected) = stem.split_once("--").unwrap_or((stem, ""));
        let sample = samples.iter().find(|sample| sample.name == name);
        assert!(sample.is_some(), "{folder}/{stem}: no reader of that name");
        match (sample.unwrap().read)(bytes) {
            Ok(again) => {
                assert!(*folder != "refused", "{stem} is read");
                assert!(again == *bytes, "{folder}/{stem}: encoded otherwise");
            }
            Err(error) => {
                assert_eq!((*folder, reason(&error)), ("refused", expected), "{stem}: {error}");
            }
        }
    }
    let is_there = |folder: &str, stem: &str| files.iter().any(|f| f.folder == folder && f.stem == stem);
    for sample in samples.iter().filter(|sample| sample.bytes.len() <= MAX_FILE_BYTES) {
        assert!(is_there(NEWEST, sample.name), "{}: run once with HUSH_WRITE_CORPUS=1", sample.name);
    }
    for (name, _, _, reason) in dangerous() {
        assert!(
            is_there("refused", &format!("{name}--{reason}")),
            "{name}: run once with HUSH_WRITE_CORPUS=1"
        );
    }
}

/// Versions whose files are kept, and what must be refused.
const FOLDERS: [&str; 2] = [NEWEST, "refused"];
/// The version whose files a new form is added to.
const NEWEST: &str = "0.1";
/// Larger samples differ from smaller ones in their number of polynomials alone.
const MAX_FILE_BYTES: usize = 24 << 10;
