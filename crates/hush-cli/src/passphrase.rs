// SPDX-License-Identifier: Apache-2.0
//! Passphrases: from a file, an open descriptor, or a terminal; never from an argument or the environment.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use hush::{Error, Passphrase};

/// Longest passphrase read.
const MAX_BYTES: u64 = 4096;

/// Where the passphrase comes from.
pub(crate) struct Source<'a> {
    /// A file.
    pub(crate) file: Option<&'a Path>,
    /// An open descriptor.
    pub(crate) descriptor: Option<u32>,
}

/// Reads the passphrase that opens a key.
///
/// # Errors
/// There is neither file nor descriptor nor terminal; it cannot be read; it is empty.
pub(crate) fn read(source: &Source<'_>, confirm: bool) -> Result<String, Error> {
    let path = match (source.file, source.descriptor) {
        (Some(file), _) => Some(file.to_owned()),
        (None, Some(number)) => Some(PathBuf::from(format!("/dev/fd/{number}"))),
        (None, None) => None,
    };
    let text = match path {
        Some(path) => first_line(&path)?,
        None => ask(confirm)?,
    };
    if text.is_empty() {
        return Err(Error::key("HUSH-K008", "the passphrase is empty"));
    }
    Ok(text)
}

/// A passphrase for the key crate, from text that was read before.
pub(crate) fn secret(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned())
}

fn first_line(path: &Path) -> Result<String, Error> {
    let unreadable = |error: std::io::Error| Error::key("HUSH-K007", format!("{}: {error}", path.display()));
    let mut line = String::new();
    BufReader::new(File::open(path).map_err(unreadable)?.take(MAX_BYTES))
        .read_line(&mut line)
        .map_err(unreadable)?;
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    Ok(line)
}

fn ask(confirm: bool) -> Result<String, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::key(
            "HUSH-K007",
            "the key needs a passphrase and there is no terminal.\n  Use --passphrase-file PATH or --passphrase-fd N.",
        ));
    }
    let prompt = |text: &str| {
        rpassword::prompt_password(text).map_err(|error| Error::key("HUSH-K007", error.to_string()))
    };
    let first = prompt("Passphrase: ")?;
    if confirm && prompt("Again: ")? != first {
        return Err(Error::key("HUSH-K009", "the two passphrases differ"));
    }
    Ok(first)
}
