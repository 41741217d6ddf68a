// SPDX-License-Identifier: Apache-2.0
//! The API token as the client holds it: from a file, never from an argument, never shown.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;

use super::error::{RemoteError, TokenFault};

const TOKEN_MIN: usize = 32;
const TOKEN_MAX: usize = 1024;
/// A token and the end of its line.
const TOKEN_FILE_MAX: usize = TOKEN_MAX + 2;

/// A server's API token.
///
/// *Secrecy*: secret. Wiped on drop as far as it is ours (the HTTP library copies it per request); `Debug` shows
/// nothing.
pub struct ApiToken(Zeroizing<String>);

impl ApiToken {
    /// Reads a token file: one line, readable by its owner alone.
    ///
    /// # Errors
    /// [`RemoteError::TokenFile`].
    pub fn from_file(path: &Path) -> Result<Self, RemoteError> {
        Self::read(path).map_err(|fault| RemoteError::TokenFile { path: path.to_owned(), fault })
    }

    /// Takes a token from a descriptor or a secret store.
    ///
    /// # Errors
    /// [`TokenFault::Malformed`].
    pub fn new(text: &str) -> Result<Self, TokenFault> {
        let text = text.trim_ascii();
        let sound =
            (TOKEN_MIN..=TOKEN_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if sound { Ok(Self(Zeroizing::new(text.to_owned()))) } else { Err(TokenFault::Malformed) }
    }

    fn read(path: &Path) -> Result<Self, TokenFault> {
        let file = File::open(path)?;
        check_mode(&file)?;
        // Reserved at once: growing would leave copies behind. One byte more than the maximum tells a longer file.
        let mut text = Zeroizing::new(Vec::with_capacity(TOKEN_FILE_MAX + 1));
        file.take(TOKEN_FILE_MAX as u64 + 1).read_to_end(&mut text)?;
        if text.len() > TOKEN_FILE_MAX {
            return Err(TokenFault::Malformed);
        }
        Self::new(std::str::from_utf8(&text).map_err(|_| TokenFault::Malformed)?)
    }

    /// The value of an `Authorization` header.
    pub(super) fn bearer(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Bearer {}", self.0.as_str()))
    }
}

impl std::fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiToken(…)")
    }
}

#[cfg(unix)]
fn check_mode(file: &File) -> Result<(), TokenFault> {
    use std::os::unix::fs::MetadataExt;
    let facts = file.metadata()?;
    let mode = facts.mode() & 0o777;
    // Pipes and descriptors have modes of their own and are private to the process.
    if facts.is_file() && mode & 0o077 != 0 { Err(TokenFault::Exposed { mode }) } else { Ok(()) }
}

#[cfg(not(unix))]
fn check_mode(_: &File) -> Result<(), TokenFault> {
    Ok(())
}
