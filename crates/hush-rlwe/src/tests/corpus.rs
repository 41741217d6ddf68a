// SPDX-License-Identifier: Apache-2.0
//! Objects in files: what earlier versions wrote must still be read, and what once was dangerous must still be refused.
//!
//! `tests/corpus/README.md` says what is where. `HUSH_WRITE_CORPUS=1` writes the files that are missing, and changes none.

use hush_testkit::{Corpus, CorpusFile};

use super::mutations::{Sample, samples};
use super::*;

/// Every file, in a fixed order.
pub(super) fn files() -> Vec<CorpusFile> {
    corpus().files()
}

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

/// A name for the kind of refusal.
fn reason(error: &CodecError) -> &'static str {
    match error {
        CodecError::Checksum => "checksum",
        CodecError::EarlierForm => "earlier-form",
        CodecError::ElementCount { .. } => "element-count",
        CodecError::Factor { .. } => "factor",
        CodecError::KeyLevel { .. } => "key-level",
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
        ("power-keys", HEADER_BYTES + 32, ones(12), "residue"),
        ("power-keys", 20, vec![3], "length"),
        ("product-residues", HEADER_BYTES, ones(12), "residue"),
        ("product-rounded", 12, vec![21], "length"),
        ("product-rounded", 15, ones(1), "reserved"),
        ("chain-seeded", CHAIN_HEADER_BYTES + 32, ones(12), "residue"),
        ("chain-full", 20, ones(4), "element-count"),
        ("chain-full", 72, ones(4), "length"),
        ("chain-full", CHAIN_HEADER_BYTES + 2 * 92, vec![0; 2 * 92], "transparent"),
        ("chain-full", 77, ones(1), "reserved"),
        ("chain-factors", CHAIN_HEADER_BYTES, vec![0; 8], "factor"),
        ("chain-scales", CHAIN_HEADER_BYTES, f64::NAN.to_le_bytes().to_vec(), "scale"),
        ("chain-evaluation-keys", CHAIN_HEADER_BYTES + 36, ones(12), "residue"),
        ("chain-leveled-keys", CHAIN_HEADER_BYTES + 37, ones(12), "residue"),
        ("chain-leveled-keys", CHAIN_HEADER_BYTES + 4, vec![1], "key-level"),
        ("chain-encapsulation-keys", CHAIN_HEADER_BYTES + 32, ones(12), "residue"),
        ("chain-encapsulation-keys", 72, ones(4), "length"),
        ("chain-public-key", CHAIN_HEADER_BYTES + 32, ones(12), "residue"),
    ]
}

/// The objects that this version makes.
fn made(samples: &[Sample]) -> Vec<CorpusFile> {
    let small = samples.iter().filter(|sample| sample.bytes.len() <= MAX_FILE_BYTES);
    let mut files: Vec<_> =
        small.map(|sample| CorpusFile::read(sample.name, "bin", sample.bytes.clone())).collect();
    for (name, at, field, reason) in dangerous() {
        let mut bytes = samples.iter().find(|sample| sample.name == name).unwrap().bytes.clone();
        bytes[at..at + field.len()].copy_from_slice(&field);
        files.push(CorpusFile::refused(name, reason, "bin", reseal(bytes)));
    }
    files
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let samples = samples();
    corpus().check(&made(&samples), |file| {
        let sample = samples.iter().find(|sample| sample.name == file.name);
        assert!(sample.is_some(), "{}: no reader of that name", file.path());
        let again = (sample.unwrap().read)(&file.bytes).map_err(|error| reason(&error).to_owned())?;
        assert!(again == file.bytes, "{}: encoded otherwise", file.path());
        Ok(())
    });
}

/// Larger samples differ from smaller ones in their number of polynomials alone.
const MAX_FILE_BYTES: usize = 24 << 10;
