// SPDX-License-Identifier: Apache-2.0
//! Key files: the owner's seed under a passphrase, in an age v1 file that only its owner can read.
//!
//! *Format.* The file is a standard age file with one scrypt recipient; what it protects is 60 bytes, all
//! little-endian: magic `HUSHSK`, format version `u16`, sampler version `u16`, reserved `u16` (zero), key id
//! (16 bytes), seed (32 bytes). The sampler version says how secrets come from the seed; a newer one is
//! refused rather than misread.
//!
//! *Invariants.* A key file is complete or absent (it is written aside and linked into place), is never
//! overwritten, has mode 0600, and is refused on load when anyone else could read it or owns it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use age::secrecy::SecretString;
use age::{DecryptError, EncryptError, scrypt};
use hush_ring::{RandomnessError, os_random};
use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::seed::{KeyId, OwnerSeed};

/// The extension of key files; nothing public ever has it.
pub const KEY_FILE_EXTENSION: &str = "hushkey";

/// A passphrase, wiped on drop and never shown.
pub struct Passphrase(SecretString);

impl Passphrase {
    /// Takes over `text`.
    pub fn new(text: String) -> Self {
        Self(SecretString::from(text))
    }
}

/// How much work one guess at the passphrase costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkFactor {
    /// About one second on this machine, measured when the file is written.
    #[default]
    Calibrated,
    /// scrypt with `N = 2^log2`; for tests and for machines that share one key. Clamped to 1 … 22.
    Log2(u8),
    /// As much work as takes at most so many bytes of memory: a guess costs time and memory in proportion.
    Memory(u64),
}

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
        "{path}: its passphrase takes {found} MiB of memory to try, the limit leaves {limit} MiB\n  Ways out: a higher limit (--memory-limit, or the container's); a key made with hush keygen --opens-in {limit}MiB",
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

/// Writes `seed` to the new file `path`; makes its directory (mode 0700) if there is none.
///
/// # Errors
/// [`KeyFileError::Exists`] if anything is at `path`, which is left untouched. On any other error nothing
/// remains at `path`.
pub fn store(
    path: &Path,
    seed: &OwnerSeed,
    passphrase: Passphrase,
    work: WorkFactor,
) -> Result<(), KeyFileError> {
    let parent = directory_of(path);
    if path.symlink_metadata().is_ok() {
        return Err(KeyFileError::Exists { path: path.to_owned() });
    }
    if !parent.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|source| io_error(Action::CreateDirectory, parent, source))?;
    }
    let sealed = wrap(seed, passphrase, work)
        .map_err(|source| io_error(Action::Encrypt, path, io::Error::other(source)))?;
    let partial = partial_name(path)?;
    let written = write_new(&partial, &sealed).and_then(|()| std::fs::hard_link(&partial, path));
    // The link exists or it does not; the partial name goes in either case.
    let removed = std::fs::remove_file(&partial);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(KeyFileError::Exists { path: path.to_owned() })
        }
        Err(error) => Err(io_error(Action::Write, path, error)),
        Ok(()) => removed
            .and_then(|()| File::open(parent)?.sync_all())
            .map_err(|source| io_error(Action::Write, path, source)),
    }
}

/// Reads the seed back.
///
/// # Errors
/// A [`KeyFileError`] that says whether the file is missing, open to others, foreign, damaged, too new, or
/// whether the passphrase is wrong.
pub fn load(path: &Path, passphrase: Passphrase) -> Result<OwnerSeed, KeyFileError> {
    load_with(path, passphrase, MAX_WORK_LOG2)
}

/// Reads the seed back in at most so many bytes of memory.
///
/// # Errors
/// As [`load`]; [`KeyFileError::Memory`] for a file whose passphrase takes more to try.
pub fn load_within(
    path: &Path,
    passphrase: Passphrase,
    memory_bytes: u64,
) -> Result<OwnerSeed, KeyFileError> {
    let most = work_within(memory_bytes);
    load_with(path, passphrase, most).map_err(|error| match error {
        KeyFileError::ExcessiveWork { path, found } if found <= MAX_WORK_LOG2 => KeyFileError::Memory {
            path,
            found: (scrypt_bytes(found) >> 20).max(1),
            limit: memory_bytes >> 20,
        },
        other => other,
    })
}

fn load_with(path: &Path, passphrase: Passphrase, max_work: u8) -> Result<OwnerSeed, KeyFileError> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32)
        .open(path)
        .map_err(|source| open_error(path, source))?;
    check_access(path, &file)?;
    let mut sealed = Vec::new();
    let read = (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut sealed);
    read.map_err(|source| io_error(Action::Read, path, source))?;
    if sealed.len() as u64 > MAX_FILE_BYTES {
        return Err(KeyFileError::Damaged { path: path.to_owned() });
    }
    let mut identity = scrypt::Identity::new(passphrase.0);
    identity.set_max_work_factor(max_work);
    let plain = age::decrypt(&identity, &sealed).map(Zeroizing::new);
    let plain = plain.map_err(|error| decrypt_error(path, error))?;
    parse(path, &plain)
}

fn wrap(seed: &OwnerSeed, passphrase: Passphrase, work: WorkFactor) -> Result<Vec<u8>, EncryptError> {
    let mut plain = Zeroizing::new(Vec::with_capacity(PLAIN_BYTES));
    plain.extend_from_slice(MAGIC);
    plain.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    plain.extend_from_slice(&SAMPLER_VERSION.to_le_bytes());
    plain.extend_from_slice(&[0; 2]);
    plain.extend_from_slice(&seed.key_id().to_bytes());
    plain.extend_from_slice(seed.expose());
    let mut recipient = scrypt::Recipient::new(passphrase.0);
    match work {
        WorkFactor::Calibrated => {}
        WorkFactor::Log2(log2) => recipient.set_work_factor(log2.clamp(1, MAX_WORK_LOG2)),
        WorkFactor::Memory(bytes) => recipient.set_work_factor(work_within(bytes)),
    }
    age::encrypt(&recipient, &plain)
}

fn parse(path: &Path, plain: &[u8]) -> Result<OwnerSeed, KeyFileError> {
    let damaged = || KeyFileError::Damaged { path: path.to_owned() };
    let (magic, rest) = plain.split_first_chunk::<6>().ok_or_else(damaged)?;
    let (format, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
    let (sampler, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
    let (reserved, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
    let (id, rest) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
    if magic != MAGIC {
        return Err(damaged());
    }
    for (found, expected) in [(format, FORMAT_VERSION), (sampler, SAMPLER_VERSION)] {
        let found = u16::from_le_bytes(*found);
        if found != expected {
            return Err(KeyFileError::Version { path: path.to_owned(), found, expected });
        }
    }
    let bytes: &[u8; 32] = rest.try_into().map_err(|_| damaged())?;
    let seed = OwnerSeed::from_bytes(bytes);
    if *reserved != [0; 2] || seed.key_id() != KeyId::from_bytes(*id) {
        return Err(damaged());
    }
    Ok(seed)
}

/// Memory of scrypt with `N = 2^log2` and age's block size `r = 8`: `128·r·N`.
fn scrypt_bytes(log2: u8) -> u64 {
    1024 << log2
}

/// The most work that takes no more than so many bytes; never less than 1.
fn work_within(bytes: u64) -> u8 {
    (1..=MAX_WORK_LOG2).take_while(|log2| scrypt_bytes(*log2) <= bytes).last().unwrap_or(1)
}

fn check_access(path: &Path, file: &File) -> Result<(), KeyFileError> {
    let meta = file.metadata().map_err(|source| io_error(Action::Open, path, source))?;
    if !meta.is_file() {
        return Err(KeyFileError::NotAFile { path: path.to_owned() });
    }
    let expected = rustix::process::geteuid().as_raw();
    if meta.uid() != expected {
        return Err(KeyFileError::ForeignOwner { path: path.to_owned(), found: meta.uid(), expected });
    }
    let found = meta.mode() & 0o777;
    if found & 0o077 != 0 {
        return Err(KeyFileError::Permissions { path: path.to_owned(), found });
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits() as i32)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name beside `path` that no other run uses, so that a crash never blocks the next attempt.
fn partial_name(path: &Path) -> Result<PathBuf, KeyFileError> {
    let mut tag = [0_u8; 8];
    os_random(&mut tag)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.partial", u64::from_le_bytes(tag)));
    Ok(path.with_file_name(name))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn io_error(action: Action, path: &Path, source: io::Error) -> KeyFileError {
    KeyFileError::Io { action, path: path.to_owned(), source }
}

fn open_error(path: &Path, source: io::Error) -> KeyFileError {
    // With O_NOFOLLOW a symbolic link gives ELOOP.
    if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        return KeyFileError::NotAFile { path: path.to_owned() };
    }
    io_error(Action::Open, path, source)
}

fn decrypt_error(path: &Path, error: DecryptError) -> KeyFileError {
    let path = path.to_owned();
    match error {
        DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed => {
            KeyFileError::WrongPassphrase { path }
        }
        DecryptError::ExcessiveWork { required, .. } => KeyFileError::ExcessiveWork { path, found: required },
        _ => KeyFileError::Damaged { path },
    }
}

const MAGIC: &[u8; 6] = b"HUSHSK";
const FORMAT_VERSION: u16 = 1;
/// BLAKE3 key derivation, then AES-256 in counter mode, then the ternary sampler of [`crate::secret`].
const SAMPLER_VERSION: u16 = 1;
const PLAIN_BYTES: usize = 60;
/// A key file takes under 300 bytes; more is not a key file.
const MAX_FILE_BYTES: u64 = 4096;
/// Beyond 2^22, scrypt takes 4 GiB.
const MAX_WORK_LOG2: u8 = 22;

#[cfg(test)]
mod tests;
