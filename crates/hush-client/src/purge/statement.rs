// SPDX-License-Identifier: Apache-2.0
//! What an owner says of a purge, signed: a file for those who asked for rows to be erased, and for auditors.
//!
//! The signature covers the statement's JSON without blanks, behind a domain of its own. The file is that JSON with blanks for people,
//! in one form: any other byte makes it another file.

use std::io::Write;
use std::path::Path;

use hush_keys::{OwnerSeed, VerifyingKey};
use hush_remote::StoredFile;
use hush_table::store::files::read_at_most;
use hush_table::{Digest, EarlierGone, PartName, TableId, from_hex, to_hex};
use serde::{Deserialize, Serialize};

use super::error::{PurgeError, StatementFault};
use crate::error::ClientError;

/// The form of statements.
const FORMAT: &str = "hushtable purge 1";
/// Domain of their signatures.
const DOMAIN: &[u8] = b"hushtable statement of a purge\0";
/// Longest file that is read: half a million files.
const MAX_BYTES: u64 = 128 << 20;
/// Folders of files that a purge deletes; and the table's own.
const FOLDERS: [&str; 3] =
    [hush_table::store::PARTS_NAME, hush_table::store::KEYS_NAME, hush_table::store::VERSIONS_NAME];

/// What a purge has done, as the table's owner says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The form of the statement.
    pub format: String,
    /// The table's name.
    pub table: String,
    /// The table.
    pub table_id: TableId,
    /// The place that was purged: a directory, a server's table or a prefix in an object store.
    pub place: String,
    /// When, by the owner's clock, in UTC.
    pub purged_at: String,
    /// The version that stays.
    pub version: u64,
    /// BLAKE3 of its manifest.
    pub manifest: Digest,
    /// Files that are gone. The name of a part is the BLAKE3 of its content: ciphertext, or columns that were clear.
    pub deleted: Vec<StoredFile>,
    /// Their bytes.
    pub deleted_bytes: u64,
    /// Files that stay though no version names them: of deliveries that wait, and of uploads under way or interrupted ones.
    pub left: Vec<StoredFile>,
    /// Earlier contents of objects that a bucket with versions had kept, and that are gone: absent where it was not asked, or does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// What nobody can prove, in words.
    pub not_proven: Vec<String>,
}

/// Contents that a bucket had kept, and that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl From<EarlierGone> for Earlier {
    fn from(EarlierGone { objects, bytes }: EarlierGone) -> Self {
        Self { objects, bytes }
    }
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    statement: Statement,
    /// The owner's verifying key.
    key: String,
    signature: String,
}

/// A statement whose signature was found right, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    pub(super) statement: Statement,
    pub(super) key: [u8; 32],
}

/// A file that does not exist yet, in a place that can be written to.
pub(super) struct Reserved<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl<'a> Reserved<'a> {
    /// Sees that a statement can be written before anything is deleted.
    ///
    /// # Errors
    /// [`PurgeError::Exists`], [`ClientError::File`].
    pub(super) fn at(path: &'a Path) -> Result<Self, ClientError> {
        let failed = |source| ClientError::File { path: path.to_owned(), source };
        if path.symlink_metadata().is_ok() {
            return Err(PurgeError::Exists { path: path.to_owned() }.into());
        }
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")));
        Ok(Self { path, file: file.map_err(failed)? })
    }

    /// Signs and writes.
    ///
    /// # Errors
    /// As [`Reserved::at`].
    pub(super) fn write(mut self, statement: Statement, owner: &OwnerSeed) -> Result<(), ClientError> {
        let failed = |source| ClientError::File { path: self.path.to_owned(), source };
        let bytes = encode(statement, owner).map_err(|error| failed(error.into()))?;
        self.file.write_all(&bytes).and_then(|()| self.file.as_file().sync_all()).map_err(failed)?;
        match self.file.persist_noclobber(self.path) {
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(PurgeError::Exists { path: self.path.to_owned() }.into())
            }
            written => written.map(drop).map_err(|error| failed(error.error)),
        }
    }
}

/// The bytes of a signed statement.
pub(super) fn encode(statement: Statement, owner: &OwnerSeed) -> serde_json::Result<Vec<u8>> {
    let signature = owner.sign(&signed_bytes(&statement)?);
    let key = to_hex(&owner.verifying_key().to_bytes());
    Signed { statement, key, signature: to_hex(&signature) }.encode()
}

/// Reads a statement, and sees that it is as the key in it has signed it.
///
/// # Errors
/// [`PurgeError::Statement`], [`ClientError::File`].
pub(super) fn read(path: &Path) -> Result<Verified, ClientError> {
    let wrong = |fault| ClientError::from(PurgeError::Statement { path: path.to_owned(), fault });
    let bytes = match read_at_most(path, MAX_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(wrong(StatementFault::Length));
        }
        read => read.map_err(|source| ClientError::File { path: path.to_owned(), source })?,
    };
    decode(&bytes).map_err(wrong)
}

fn decode(bytes: &[u8]) -> Result<Verified, StatementFault> {
    let form = StatementFault::Form;
    let signed: Signed = serde_json::from_slice(bytes).map_err(|_| form)?;
    if signed.encode().map_err(|_| form)? != bytes {
        return Err(form);
    }
    let key: [u8; 32] = from_hex(&signed.key).and_then(|key| key.try_into().ok()).ok_or(form)?;
    let signature: [u8; 64] =
        from_hex(&signed.signature).and_then(|signature| signature.try_into().ok()).ok_or(form)?;
    let message = signed_bytes(&signed.statement).map_err(|_| form)?;
    let verifying = VerifyingKey::from_bytes(&key).ok_or(StatementFault::Signature)?;
    if !verifying.verifies(&message, &signature) {
        return Err(StatementFault::Signature);
    }
    let statement = signed.statement;
    // No name leads out of the table's place.
    let is_sound = statement.format == FORMAT && statement.deleted.iter().all(|file| is_below(&file.path));
    if is_sound { Ok(Verified { statement, key }) } else { Err(form) }
}

impl Signed {
    fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

impl Statement {
    /// The form that this version writes.
    pub(super) fn format() -> String {
        FORMAT.to_owned()
    }

    /// The parts that are gone, but for those that are not to be found by name.
    pub(super) fn deleted_parts(&self) -> impl Iterator<Item = (&StoredFile, PartName)> {
        self.deleted.iter().filter_map(|file| Some((file, part_of(file)?)))
    }
}

/// The part that a file is; `None` for hash trees, versions and unfinished files.
pub(super) fn part_of(file: &StoredFile) -> Option<PartName> {
    let (folder, name) = file.path.split_once('/')?;
    PartName::of_file(name).filter(|part| part.kind.folder() == folder && part.file_name() == name)
}

fn signed_bytes(statement: &Statement) -> serde_json::Result<Vec<u8>> {
    let mut bytes = DOMAIN.to_vec();
    serde_json::to_writer(&mut bytes, statement)?;
    Ok(bytes)
}

/// Whether a path is that of a file directly in a folder of the table's, or directly in its place.
fn is_below(path: &str) -> bool {
    let name = match path.split_once('/') {
        Some((folder, name)) if FOLDERS.contains(&folder) => name,
        Some(_) => return false,
        None => path,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)
}
