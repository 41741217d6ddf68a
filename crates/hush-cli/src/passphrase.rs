// SPDX-License-Identifier: Apache-2.0
//! Passphrases: from a file, an open descriptor, or a terminal; never from an argument or the environment.

use std::io::IsTerminal;
use std::path::Path;

use hush::{Error, Passphrase};

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
/// There is neither file nor descriptor nor terminal; it cannot be read, or others can read it; it is empty.
pub(crate) fn read(source: &Source<'_>) -> Result<Passphrase, Error> {
    given(source, "Passphrase: ", false)
}

/// Reads the passphrase that opens a key; on a terminal by this prompt.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_named(source: &Source<'_>, prompt: &str) -> Result<Passphrase, Error> {
    given(source, prompt, false)
}

/// Reads the passphrase that a key is to be stored under; on a terminal by this prompt, and twice.
///
/// # Errors
/// As [`read`]; the two differ.
pub(crate) fn read_new(source: &Source<'_>, prompt: &str) -> Result<Passphrase, Error> {
    given(source, prompt, true)
}

fn given(source: &Source<'_>, prompt: &str, confirm: bool) -> Result<Passphrase, Error> {
    match (source.file, source.descriptor) {
        (Some(file), _) => Passphrase::from_file(file).map_err(|error| of_file(Error::from(error), file)),
        (None, Some(number)) => Ok(Passphrase::from_descriptor(number)?),
        (None, None) => ask(prompt, confirm),
    }
}

/// A file that others can read has one way out more than a key file.
fn of_file(error: Error, file: &Path) -> Error {
    match error.code() {
        "HUSH-K004" | "HUSH-K005" => Error::key(
            error.code(),
            format!(
                "{}\n  Way out for a file that cannot be changed: --passphrase-fd 3 3< {}",
                error.message(),
                file.display()
            ),
        ),
        _ => error,
    }
}

fn ask(text: &str, confirm: bool) -> Result<Passphrase, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::key(
            "HUSH-K007",
            "the key needs a passphrase and there is no terminal.\n  Use --passphrase-file PATH or --passphrase-fd N.",
        ));
    }
    let prompt = |text: &str| {
        let typed =
            rpassword::prompt_password(text).map_err(|error| Error::key("HUSH-K007", error.to_string()));
        Ok::<_, Error>(Passphrase::new(typed?))
    };
    let first = prompt(text)?;
    if first.is_empty() {
        return Err(Error::key("HUSH-K008", "the passphrase is empty"));
    }
    if confirm && !prompt("Again: ")?.is_same(&first) {
        return Err(Error::key("HUSH-K009", "the two passphrases differ"));
    }
    Ok(first)
}
