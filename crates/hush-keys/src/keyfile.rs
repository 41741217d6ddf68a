// SPDX-License-Identifier: Apache-2.0
//! Key files: the owner's seed under a passphrase, in an age v1 file that only its owner can read.
//!
//! *Format.* The file is a standard age file with one scrypt recipient; what it protects is 60 bytes, all
//! little-endian: magic `HUSHSK`, format version `u16`, sampler version `u16`, reserved `u16` (zero), key id
//! (16 bytes), seed (32 bytes). In version 2 there follow roots of 64 bytes, names rising: table id (16), encryption id (16), root (32); a file
//! without any has version 1. The sampler version says how secrets come from the seed; a newer one is
//! refused rather than misread.
//!
//! *Invariants.* A key file is complete or absent (it is written aside and linked into place), is
//! overwritten by the same key alone ([`rewrap`]), has mode 0600, and is refused on load when anyone else could read it or owns it. Its work factor is at least 2^14, when
//! it is written and when it is read: less would make guesses cheap, and nobody would see it.

mod error;
mod kept;
mod passphrase;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use age::{DecryptError, Decryptor, EncryptError, scrypt};
use hush_ring::{os_random, wiping_stack};
use rustix::fs::OFlags;
use zeroize::{Zeroize, Zeroizing};

use crate::kept::{Home, KeptRoots};
use crate::seed::{KeyId, OwnerSeed};
pub use error::{Action, KeyFileError, memory_words};
pub use passphrase::{MIN_PASSPHRASE_CHARS, NewPassphrase, Passphrase};

/// The extension of key files; nothing public ever has it.
pub const KEY_FILE_EXTENSION: &str = "hushkey";

/// How much work one guess at the passphrase costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkFactor {
    /// About one second on this machine, measured when the file is written, and 128 MiB or more.
    #[default]
    Calibrated,
    /// scrypt with `N = 2^log2`, from [`MIN_WORK_LOG2`] to 22; for machines that share one key.
    Log2(u8),
    /// As much work as takes at most so many bytes of memory: a guess costs time and memory in proportion. 16 MiB or more.
    Memory(u64),
}

impl WorkFactor {
    /// log2 of what to ask scrypt for; `None` to measure.
    fn log2(self) -> Option<u8> {
        match self {
            Self::Calibrated => None,
            Self::Log2(log2) => Some(log2.min(MAX_WORK_LOG2)),
            Self::Memory(bytes) => Some(work_within(bytes)),
        }
    }
}

/// Writes `seed` to the new file `path`; makes its directory (mode 0700) if there is none.
///
/// # Errors
/// [`KeyFileError::WeakNewWork`] for less work than [`MIN_WORK_LOG2`]; [`KeyFileError::Exists`] if anything is at `path`, which is left
/// untouched. On any other error nothing remains at `path`.
pub fn store(
    path: &Path,
    seed: &OwnerSeed,
    passphrase: &NewPassphrase,
    work: WorkFactor,
) -> Result<(), KeyFileError> {
    let parent = directory_of(path);
    if let Some(found) = work.log2().filter(|log2| *log2 < MIN_WORK_LOG2) {
        return Err(KeyFileError::WeakNewWork { found, expected: MIN_WORK_LOG2 });
    }
    if path.symlink_metadata().is_ok() {
        return Err(KeyFileError::Exists { path: path.to_owned() });
    }
    if !parent.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|source| io_error(Action::CreateDirectory, parent, source))?;
    }
    let sealed = sealed(path, seed, passphrase, work)?;
    write_linked(path, &sealed)
}

/// Puts the seed of the key file `path` under another passphrase. The file that is there is replaced once the new one has been read back;
/// at every moment one of them is there, whole.
///
/// # Errors
/// As [`store`]; [`KeyFileError::NotAFile`] for a link. The file is then as it was.
pub fn rewrap(
    path: &Path,
    seed: &OwnerSeed,
    passphrase: &NewPassphrase,
    work: WorkFactor,
) -> Result<(), KeyFileError> {
    if let Some(found) = work.log2().filter(|log2| *log2 < MIN_WORK_LOG2) {
        return Err(KeyFileError::WeakNewWork { found, expected: MIN_WORK_LOG2 });
    }
    if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        return Err(KeyFileError::NotAFile { path: path.to_owned() });
    }
    let sealed = sealed(path, seed, passphrase, work)?;
    let partial = partial_name(path)?;
    let written = write_new(&partial, &sealed).map_err(|source| io_error(Action::Write, path, source));
    let checked =
        written.and_then(|()| match load(&partial, passphrase.opens())?.key_id() == seed.key_id() {
            true => Ok(()),
            false => Err(KeyFileError::Damaged { path: partial.clone() }),
        });
    let replaced = checked.and_then(|()| {
        let moved = std::fs::rename(&partial, path);
        moved.map_err(|source| io_error(Action::Write, path, source))
    });
    if replaced.is_err() {
        // The error tells what went wrong before.
        let _ = std::fs::remove_file(&partial);
    }
    replaced?;
    let synced = File::open(directory_of(path)).and_then(|directory| directory.sync_all());
    synced.map_err(|source| io_error(Action::Write, path, source))
}

/// Writes the bytes of the key file `path` to the new file `copy`.
///
/// # Errors
/// Those of [`load`] but for the passphrase; [`KeyFileError::Exists`] if anything is at `copy`.
pub fn copy(path: &Path, copy: &Path) -> Result<(), KeyFileError> {
    let sealed = read_sealed(path)?;
    write_linked(copy, &sealed)
}

fn sealed(
    path: &Path,
    seed: &OwnerSeed,
    passphrase: &NewPassphrase,
    work: WorkFactor,
) -> Result<Vec<u8>, KeyFileError> {
    wiping_stack(|| wrap(seed, passphrase, work))
        .map_err(|source| io_error(Action::Encrypt, path, io::Error::other(source)))
}

/// Writes a new file aside and links it into place.
fn write_linked(path: &Path, sealed: &[u8]) -> Result<(), KeyFileError> {
    let partial = partial_name(path)?;
    let written = write_new(&partial, sealed).and_then(|()| std::fs::hard_link(&partial, path));
    // The link exists or it does not; the partial name goes in either case.
    let removed = std::fs::remove_file(&partial);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(KeyFileError::Exists { path: path.to_owned() })
        }
        Err(error) => Err(io_error(Action::Write, path, error)),
        Ok(()) => removed
            .and_then(|()| File::open(directory_of(path))?.sync_all())
            .map_err(|source| io_error(Action::Write, path, source)),
    }
}

/// Reads the seed back.
///
/// # Errors
/// A [`KeyFileError`] that says whether the file is missing, open to others, foreign, damaged, too new, of too little work, or whether
/// the passphrase is wrong.
pub fn load(path: &Path, passphrase: &Passphrase) -> Result<OwnerSeed, KeyFileError> {
    load_with(path, passphrase, MIN_WORK_LOG2..=MAX_WORK_LOG2)
}

/// Reads the seed back in at most so many bytes of memory.
///
/// # Errors
/// As [`load`]; [`KeyFileError::Memory`] if trying the file's passphrase takes more.
pub fn load_within(
    path: &Path,
    passphrase: &Passphrase,
    memory_bytes: u64,
) -> Result<OwnerSeed, KeyFileError> {
    let most = work_within(memory_bytes);
    load_with(path, passphrase, MIN_WORK_LOG2..=most).map_err(|error| match error {
        KeyFileError::ExcessiveWork { path, found } if found <= MAX_WORK_LOG2 => KeyFileError::Memory {
            path,
            found: (scrypt_bytes(found) >> 20).max(1),
            limit: memory_bytes >> 20,
        },
        other => other,
    })
}

fn load_with(
    path: &Path,
    passphrase: &Passphrase,
    work: RangeInclusive<u8>,
) -> Result<OwnerSeed, KeyFileError> {
    let damaged = || KeyFileError::Damaged { path: path.to_owned() };
    let sealed = read_sealed(path)?;
    let (found, expected) = (work_of(&sealed).ok_or_else(damaged)?, *work.start());
    if found < expected {
        return Err(KeyFileError::WeakWork { path: path.to_owned(), found, expected });
    }
    let mut identity = scrypt::Identity::new(passphrase.secret());
    identity.set_max_work_factor(*work.end());
    wiping_stack(|| {
        let plain = unwrap(&identity, &sealed).map_err(|error| decrypt_error(path, error))?;
        parse(path, &plain)
    })
}

/// The bytes of a key file that nobody else can read.
fn read_sealed(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(path)
        .map_err(|source| open_error(path, source))?;
    check_access(path, &file)?;
    let mut sealed = Vec::new();
    let read = (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut sealed);
    read.map_err(|source| io_error(Action::Read, path, source))?;
    if sealed.len() as u64 > MAX_FILE_BYTES {
        return Err(KeyFileError::Damaged { path: path.to_owned() });
    }
    Ok(sealed)
}

/// The contents, in one buffer of their size: what grows leaves copies behind.
fn unwrap(identity: &scrypt::Identity, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let reader = Decryptor::new_buffered(sealed)?.decrypt(std::iter::once(identity as _))?;
    // What it protects is shorter than the file.
    let mut plain = Zeroizing::new(Vec::with_capacity(sealed.len()));
    reader.take(sealed.len() as u64).read_to_end(&mut plain)?;
    Ok(plain)
}

/// log2 of the work that a file asks for: the last word of its second line, `-> scrypt SALT WORK`. `None` without one.
fn work_of(sealed: &[u8]) -> Option<u8> {
    let line = sealed.split(|byte| *byte == b'\n').nth(1)?;
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split(' ').collect();
    match words.as_slice() {
        ["->", "scrypt", _, work] => work.parse().ok(),
        _ => None,
    }
}

fn wrap(seed: &OwnerSeed, passphrase: &NewPassphrase, work: WorkFactor) -> Result<Vec<u8>, EncryptError> {
    let roots = seed.kept.all();
    let version = if roots.is_empty() { PLAIN_VERSION } else { ROOTS_VERSION };
    let mut plain = Zeroizing::new(Vec::with_capacity(PLAIN_BYTES + ROOT_BYTES * roots.len()));
    plain.extend_from_slice(MAGIC);
    plain.extend_from_slice(&version.to_le_bytes());
    plain.extend_from_slice(&SAMPLER_VERSION.to_le_bytes());
    plain.extend_from_slice(&[0; 2]);
    plain.extend_from_slice(&seed.key_id().to_bytes());
    plain.extend_from_slice(seed.expose());
    for (name, root) in &roots {
        plain.extend_from_slice(&name.table_id);
        plain.extend_from_slice(&name.encryption);
        plain.extend_from_slice(root.0.as_slice());
    }
    let sealed_with = |work: Option<u8>| {
        let mut recipient = scrypt::Recipient::new(passphrase.secret());
        if let Some(log2) = work {
            recipient.set_work_factor(log2);
        }
        let sealed = age::encrypt(&recipient, &plain);
        overwrite_freed();
        sealed
    };
    let sealed = sealed_with(work.log2())?;
    // A busy machine may measure too little.
    match (work, work_of(&sealed)) {
        (WorkFactor::Calibrated, Some(log2)) if log2 < CALIBRATED_LEAST_LOG2 => {
            sealed_with(Some(CALIBRATED_LEAST_LOG2))
        }
        _ => Ok(sealed),
    }
}

/// The library encrypts out of a buffer of 64 KiB that it does not wipe. A new one of that size is where it was, as a rule.
fn overwrite_freed() {
    let mut buffer = vec![!0_u8; 64 << 10];
    std::hint::black_box(&mut buffer).zeroize();
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
    let format = u16::from_le_bytes(*format);
    let known = format.clamp(PLAIN_VERSION, ROOTS_VERSION);
    for (found, expected) in [(format, known), (u16::from_le_bytes(*sampler), SAMPLER_VERSION)] {
        if found != expected {
            return Err(KeyFileError::Version { path: path.to_owned(), found, expected });
        }
    }
    let (bytes, rest) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
    let roots = kept::parse(rest).ok_or_else(damaged)?;
    let home = Home::Fixed(path.to_owned());
    let seed = OwnerSeed { kept: KeptRoots::of(roots), home, ..OwnerSeed::from_bytes(bytes) };
    let has_roots = format == ROOTS_VERSION;
    if *reserved != [0; 2] || seed.key_id() != KeyId::from_bytes(*id) || rest.is_empty() == has_roots {
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
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
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
/// Of a file with the seed alone.
const PLAIN_VERSION: u16 = 1;
/// Of a file with roots.
const ROOTS_VERSION: u16 = 2;
/// BLAKE3 key derivation, then AES-256 in counter mode, then the ternary sampler of [`crate::secret`].
const SAMPLER_VERSION: u16 = 1;
const PLAIN_BYTES: usize = 60;
/// Bytes of a root with its name.
const ROOT_BYTES: usize = 64;
/// Most roots of a key file.
const MAX_ROOTS: usize = 1024;
/// A key file without roots takes under 300 bytes; more than this is not a key file.
const MAX_FILE_BYTES: u64 = 4096 + (MAX_ROOTS * ROOT_BYTES) as u64;
/// Least work: 16 MiB of memory and some 50 ms for a guess, what scrypt's author recommended for interactive logins \[Percival09\]. A passphrase
/// of twelve characters under less would be within reach of rented machines.
pub const MIN_WORK_LOG2: u8 = 14;
/// Least work where nobody asked for less: 128 MiB, what is recommended today.
const CALIBRATED_LEAST_LOG2: u8 = 17;
/// Beyond 2^22, scrypt takes 4 GiB.
const MAX_WORK_LOG2: u8 = 22;

#[cfg(test)]
mod tests;
