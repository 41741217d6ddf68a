// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with key files and passphrases.

use std::io;
use std::path::PathBuf;

use hush_ring::RandomnessError;

use super::scrypt_bytes;

/// Why a key file was not written or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The contents are not a key file, are cut short, or were altered.
    #[error("{path} is damaged or not a key file", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A key exists there; keys are never overwritten.
    #[error("{path} exists; a key is never overwritten", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another user owns the file.
    #[error("{path} belongs to user {found}, expected {expected}", path = path.display())]
    ForeignOwner {
        /// The file.
        path: PathBuf,
        /// Owner found.
        found: u32,
        /// The user of this process.
        expected: u32,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// What was tried.
        action: Action,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Trying the passphrase takes more memory than there may be.
    #[error(
        "{path}: its passphrase takes {found} MiB of memory to try, the limit leaves {limit} MiB",
        path = path.display()
    )]
    Memory {
        /// The file.
        path: PathBuf,
        /// MiB needed.
        found: u64,
        /// MiB allowed.
        limit: u64,
    },
    /// The key was opened without leave to change its file.
    #[error("{path} was opened to be read, and is to get or lose the root of a table's secrets", path = path.display())]
    Fixed {
        /// The file.
        path: PathBuf,
    },
    /// As many roots as a key file can hold.
    #[error("{path} has {limit} roots of erasable tables, as many as a key file can", path = path.display())]
    TooManyRoots {
        /// The file.
        path: PathBuf,
        /// How many.
        limit: usize,
    },
    /// A copy from before the last change of the key file.
    #[error("{path} is a copy from before: it lacks {missing} of the roots that the key file has", path = path.display())]
    OldCopy {
        /// The file.
        path: PathBuf,
        /// How many it lacks.
        missing: usize,
    },
    /// A file that should be a copy of a key's, and is another key's.
    #[error("{path} holds another key: found {found}, expected {expected}", path = path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// Its key.
        found: String,
        /// The key that it should be a copy of.
        expected: String,
    },
    /// Not a regular file (a link, a directory, a device).
    #[error("{path} is not a regular file", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Group or others have access.
    #[error("{path} has mode {found:o}; only its owner may have access: chmod 600", path = path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
        /// The permission bits found.
        found: u32,
    },
    /// No entropy.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// A passphrase for a new key that others may guess.
    #[error("the passphrase has {found} characters, a new key takes {expected} or more")]
    WeakPassphrase {
        /// Characters found.
        found: usize,
        /// Characters expected.
        expected: usize,
    },
    /// A guess at the passphrase of a new key would cost too little.
    #[error(
        "a new key would cost 2^{found} steps of scrypt ({} of memory) for a guess at its passphrase, expected 2^{expected} ({}) or more",
        memory_words(*found), memory_words(*expected)
    )]
    WeakNewWork {
        /// log2 of the work factor asked for.
        found: u8,
        /// log2 of the least.
        expected: u8,
    },
    /// A guess at the passphrase would cost too little.
    #[error(
        "a guess at the passphrase of {path} would cost 2^{found} steps of scrypt ({} of memory), expected 2^{expected} ({}) or more\n  Ways out: a new key that takes more memory to open; tables of this key are to be encrypted again under it",
        memory_words(*found), memory_words(*expected), path = path.display()
    )]
    WeakWork {
        /// The file.
        path: PathBuf,
        /// log2 of the work factor found.
        found: u8,
        /// log2 of the least.
        expected: u8,
    },
    /// A passphrase could not be read.
    #[error("{place}: {reason}")]
    Unreadable {
        /// The file, or descriptor.
        place: String,
        /// Why.
        reason: String,
    },
    /// There is no passphrase.
    #[error("the passphrase is empty")]
    Empty,
    /// Written by a newer version.
    #[error("{path} has key format {found}, this version reads {expected}", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u16,
        /// Version understood.
        expected: u16,
    },
    /// The passphrase does not open the file (or its header was altered; the two look the same).
    #[error("wrong passphrase for {path}", path = path.display())]
    WrongPassphrase {
        /// The file.
        path: PathBuf,
    },
    /// The file asks for more work than this machine should do.
    #[error("{path} demands a scrypt work factor of 2^{found}", path = path.display())]
    ExcessiveWork {
        /// The file.
        path: PathBuf,
        /// log2 of the factor demanded.
        found: u8,
    },
}

impl KeyFileError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "HUSH-K001",
            Self::WrongPassphrase { .. } => "HUSH-K002",
            Self::Damaged { .. } => "HUSH-K003",
            Self::Permissions { .. } => "HUSH-K004",
            Self::ForeignOwner { .. } => "HUSH-K005",
            Self::NotAFile { .. } => "HUSH-K010",
            Self::Version { .. } => "HUSH-K011",
            Self::ExcessiveWork { .. } => "HUSH-K012",
            Self::Io { .. } => "HUSH-K013",
            Self::Randomness(_) => "HUSH-K014",
            Self::Memory { .. } => "HUSH-K015",
            Self::OtherKey { .. } => "HUSH-K018",
            Self::OldCopy { .. } => "HUSH-K019",
            Self::TooManyRoots { .. } => "HUSH-K024",
            Self::Fixed { .. } => "HUSH-K025",
            Self::WeakPassphrase { .. } => "HUSH-K016",
            Self::WeakNewWork { .. } | Self::WeakWork { .. } => "HUSH-K017",
            Self::Unreadable { .. } => "HUSH-K007",
            Self::Empty => "HUSH-K008",
        }
    }
}

/// What was tried when the operating system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Making the directory.
    CreateDirectory,
    /// Encrypting the contents.
    Encrypt,
    /// Opening the file.
    Open,
    /// Reading the file.
    Read,
    /// Writing the file.
    Write,
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CreateDirectory => "create the directory",
            Self::Encrypt => "encrypt",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Memory that a work factor takes, in words.
pub fn memory_words(log2: u8) -> String {
    let kib = scrypt_bytes(log2.min(40)) >> 10;
    if kib < 1024 { format!("{kib} KiB") } else { format!("{} MiB", kib >> 10) }
}
