// SPDX-License-Identifier: Apache-2.0
//! The API token: 256 random bits in a file that only the owner of the process can read.
//!
//! In memory only the token's BLAKE3 hash is kept; presented tokens are hashed and compared in constant time.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

const TOKEN_BYTES: usize = 32;
/// Shortest token that a person may set, in characters.
const TOKEN_MIN: usize = 32;
/// Longest token that a person may set, in characters.
const TOKEN_MAX: usize = 1024;
/// Longest content of a token file, so that a wrong path cannot read a large file: a token and the end of its line.
const TOKEN_FILE_MAX: u64 = TOKEN_MAX as u64 + 2;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Group or others may read the file.
    #[error("{path} can be read by other users (mode {found:o}, expected 600): run chmod 600 on it")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        found: u32,
    },
    /// Too short, too long, or with spaces or control characters inside.
    #[error(
        "{path} does not hold a token of 32 to 1024 printable ASCII characters: delete it to get a fresh one"
    )]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// No randomness.
    #[error("the operating system provides no randomness for a token")]
    Randomness,
    /// File trouble.
    #[error("cannot read or write the token file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// The hash of the token that requests must present.
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes a token.
    pub fn of(token: &[u8]) -> Self {
        Self(*blake3::hash(token).as_bytes())
    }

    /// A fresh token, and its hash.
    ///
    /// # Errors
    /// [`TokenError::Randomness`].
    pub fn fresh() -> Result<(String, Self), TokenError> {
        let mut secret = [0_u8; TOKEN_BYTES];
        getrandom::fill(&mut secret).map_err(|_| TokenError::Randomness)?;
        let token = hush_table::to_hex(&secret);
        let hash = Self::of(token.as_bytes());
        Ok((token, hash))
    }

    /// The hash that 64 hex digits spell, as [`TokenHash`] is shown.
    pub fn parse(hex: &str) -> Option<Self> {
        hush_table::from_hex(hex)?.try_into().ok().map(Self)
    }

    /// Whether `presented` is the token. Constant-time in both.
    pub fn accepts(&self, presented: &[u8]) -> bool {
        Self::of(presented).0.ct_eq(&self.0).into()
    }

    /// Reads the token file, or makes it (mode 0600, never over an existing file) with a fresh token.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let (token, hash) = Self::fresh()?;
                file.write_all(token.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(io)?;
                file.sync_all().map_err(io)?;
                Ok(hash)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::load(path),
            Err(error) => Err(io(error)),
        }
    }

    fn load(path: &Path) -> Result<Self, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        let file = fs::File::open(path).map_err(io)?;
        let mode = file.metadata().map_err(io)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Exposed { path: path.to_owned(), found: mode });
        }
        let mut text = Vec::new();
        file.take(TOKEN_FILE_MAX + 1).read_to_end(&mut text).map_err(io)?;
        let token = text.trim_ascii();
        let printable = token.iter().all(u8::is_ascii_graphic);
        let sound = printable && (TOKEN_MIN..=TOKEN_MAX).contains(&token.len());
        if text.len() as u64 > TOKEN_FILE_MAX || !sound {
            return Err(TokenError::Malformed { path: path.to_owned() });
        }
        Ok(Self::of(token))
    }
}

/// The hash in hex: of a token that nobody can guess it tells nothing.
impl std::fmt::Display for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hush_table::to_hex(&self.0))
    }
}

#[cfg(test)]
pub(crate) mod mutations;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_file_is_made_once_private_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let made = TokenHash::load_or_create(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim().len(), 64);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = TokenHash::load_or_create(&path).unwrap();
        for hash in [made, read] {
            assert!(hash.accepts(text.trim().as_bytes()));
            assert!(!hash.accepts(b""));
            assert!(!hash.accepts(text.as_bytes()));
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_shown() {
        let (token, hash) = TokenHash::fresh().unwrap();
        assert_eq!(hash.to_string(), blake3::hash(token.as_bytes()).to_hex().as_str());
        assert!(TokenHash::parse(&hash.to_string()).unwrap().accepts(token.as_bytes()));
        for bad in ["", "00", &token[1..], &format!("{token}0"), &token.replace(|_| true, "g")] {
            assert!(TokenHash::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn exposed_and_malformed_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "x".repeat(40)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(TokenHash::load_or_create(&path), Err(TokenError::Exposed { found: 0o640, .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(TokenHash::load_or_create(&path).is_ok());
        for bad in ["short".to_owned(), "x".repeat(2000), format!("{} {}", "x".repeat(20), "y".repeat(20))] {
            fs::write(&path, bad).unwrap();
            assert!(matches!(TokenHash::load_or_create(&path), Err(TokenError::Malformed { .. })));
        }
    }
}
