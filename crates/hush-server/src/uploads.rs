// SPDX-License-Identifier: Apache-2.0
//! Resumable uploads of parts.
//!
//! A part grows in `uploads/{table}/{part}.parquet`, on this machine and out of sight, and is handed to its table's store when it
//! is complete, has the digest of its name and is synced. The length of the growing file *is* the offset, so
//! recovery after a crash needs no record; bytes that a crash damaged are caught by the digest.

mod range;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use hush_table::part::{PartSource, TreeHasher};
use hush_table::store::files::{is_older, make_directory};
use hush_table::{PartName, TableError, TableStore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::body::Pieces;
use crate::error::{ApiError, Code};
use crate::names::TableName;

pub use range::ByteRange;

/// Bytes of a body that are written in one go: at least so many, if there are more.
const BATCH_BYTES: usize = 1 << 20;
/// Longest time that bytes which arrived are not written because more may come.
const BATCH_WAIT: Duration = Duration::from_millis(20);

/// Where parts grow, who is writing which, and how many bytes that takes.
pub struct Uploads {
    root: PathBuf,
    limit: u64,
    open: Arc<Mutex<Open>>,
}

/// The right to write one part; given back on drop.
pub struct Claim {
    growing: PathBuf,
    open: Arc<Mutex<Open>>,
}

/// The unfinished parts.
#[derive(Default)]
struct Open {
    /// Parts that a request is writing.
    active: HashSet<PathBuf>,
    /// Bytes of every growing file: what it has, or will have when the request that writes it is done.
    bytes: HashMap<PathBuf, u64>,
}

impl Open {
    fn total(&self) -> u64 {
        self.bytes.values().copied().fold(0, u64::saturating_add)
    }

    /// Counts a file as it is now.
    fn look_at(&mut self, file: &Path) {
        match fs::metadata(file) {
            Ok(facts) => self.bytes.insert(file.to_owned(), facts.len()),
            Err(_) => self.bytes.remove(file),
        };
    }
}

/// What became of a piece of upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The part is complete, checked and visible.
    Complete,
    /// More is missing; continue at this offset.
    Partial {
        /// Bytes received so far.
        offset: u64,
    },
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.active.remove(&self.growing);
        open.look_at(&self.growing);
    }
}

impl Uploads {
    /// Uploads that grow below `root`, which is made if absent, and take at most `limit` bytes together.
    ///
    /// # Errors
    /// From the file system.
    pub fn open(root: PathBuf, limit: u64) -> Result<Self, TableError> {
        make_directory(&root)?;
        let mut open = Open::default();
        growing_files(&root).for_each(|file| open.look_at(&file));
        Ok(Self { root, limit, open: Arc::new(Mutex::new(open)) })
    }

    /// Bytes of a part received so far; 0 if none.
    pub async fn offset(&self, table: &TableName, part: &PartName) -> u64 {
        tokio::fs::metadata(self.growing(table, part)).await.map_or(0, |facts| facts.len())
    }

    /// Claims a part for writing up to byte `end`.
    ///
    /// # Errors
    /// [`Code::UploadActive`] while another request writes it; [`Code::UploadsFull`] if all growing parts would take
    /// more than the limit.
    pub fn claim(&self, table: &TableName, part: &PartName, end: u64) -> Result<Claim, ApiError> {
        let growing = self.growing(table, part);
        let mut open = self.lock();
        if open.active.contains(&growing) {
            return Err(Code::UploadActive.into());
        }
        let has = open.bytes.get(&growing).copied().unwrap_or(0);
        let found = open.total().saturating_sub(has).saturating_add(end.max(has));
        if found > self.limit {
            return Err(ApiError::over(Code::UploadsFull, found, self.limit));
        }
        open.bytes.insert(growing.clone(), end.max(has));
        open.active.insert(growing.clone());
        Ok(Claim { growing, open: Arc::clone(&self.open) })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request is writing a part of the table.
    pub fn is_receiving(&self, table: &TableName) -> bool {
        let directory = self.root.join(table.as_str());
        self.lock().active.iter().any(|file| file.starts_with(&directory))
    }

    /// What the table has received of parts that are not complete, by name, with its bytes.
    pub fn received(&self, table: &TableName) -> Vec<(String, u64)> {
        let directory = self.root.join(table.as_str());
        let open = self.lock();
        let of_table = open.bytes.iter().filter_map(|(file, bytes)| {
            let name = file.strip_prefix(&directory).ok()?.to_str()?.to_owned();
            Some((name, *bytes))
        });
        let mut received: Vec<_> = of_table.collect();
        received.sort_unstable();
        received
    }

    /// Forgets what a table has received of parts that nobody is writing.
    ///
    /// # Errors
    /// From the file system.
    pub fn discard_table(&self, table: &TableName) -> io::Result<()> {
        let directory = self.root.join(table.as_str());
        let removed = fs::remove_dir_all(&directory);
        let mut open = self.lock();
        let Open { active, bytes } = &mut *open;
        // A request that is still writing counts until it ends.
        bytes.retain(|file, _| !file.starts_with(&directory) || active.contains(file));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes what has not grown for `age` and is not being written.
    pub fn sweep(&self, age: Duration) {
        for file in growing_files(&self.root) {
            let mut open = self.lock();
            if !open.active.contains(&file) && older_than(&file, age) {
                // Another sweep will find what cannot be removed now.
                let _ = fs::remove_file(&file);
                open.look_at(&file);
            }
        }
        let Ok(tables) = fs::read_dir(&self.root) else { return };
        for table in tables.flatten().filter(|table| older_than(&table.path(), age)) {
            // Fails for a directory that is in use: it is not empty.
            let _ = fs::remove_dir(table.path());
        }
    }

    fn growing(&self, table: &TableName, part: &PartName) -> PathBuf {
        self.root.join(table.as_str()).join(part.file_name())
    }
}

impl Claim {
    /// Appends one range of the part; hands it to its table's store when it is complete.
    ///
    /// A range that starts at 0 begins anew. BLAKE3 is computed as the bytes pass; a resumed upload reads
    /// what was there before once more, at its end. A small part takes one turn of a thread that may block.
    ///
    /// # Errors
    /// [`Code::WrongOffset`] (with `Upload-Offset`), [`Code::WrongDigest`], [`Code::StorageFull`], and those of
    /// [`Pieces::next`], after which the bytes that arrived are kept.
    pub async fn append(
        &self,
        part: &PartName,
        range: ByteRange,
        mut pieces: Pieces,
        table: &TableStore,
    ) -> Result<Outcome, ApiError> {
        let mut growing = Growing::new(self.growing.clone(), range);
        if range.start > 0 {
            // Before the body: a client that waits for leave need not send what does not fit.
            growing = blocking(move || growing.opened()).await?;
        }
        loop {
            let (batch, more) = batch(&mut pieces).await;
            let is_complete = matches!(more, Ok(false)) && range.end == range.total;
            let (part, table) = (*part, table.clone());
            let turn = move || {
                let growing = growing.opened()?.with(&batch)?;
                if is_complete { growing.hand_over(&part, &table).map(|()| None) } else { Ok(Some(growing)) }
            };
            match (blocking(turn).await?, more?) {
                (None, _) => return Ok(Outcome::Complete),
                (Some(_), false) => return Ok(Outcome::Partial { offset: range.end }),
                (Some(same), true) => growing = same,
            }
        }
    }
}

/// A part that a request is writing. Its functions block.
struct Growing {
    path: PathBuf,
    range: ByteRange,
    file: Option<File>,
    /// Of the whole part, if it began with this request.
    hasher: Option<TreeHasher>,
}

impl Growing {
    fn new(path: PathBuf, range: ByteRange) -> Self {
        let hasher = (range.start == 0).then(|| TreeHasher::new(range.total));
        Self { path, range, file: None, hasher }
    }

    /// With its file open at the start of the range.
    fn opened(self) -> Result<Self, ApiError> {
        if self.file.is_some() {
            return Ok(self);
        }
        if let Some(directory) = self.path.parent() {
            make_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        if self.range.start == 0 {
            let file = options.write(true).truncate(true).open(&self.path)?;
            return Ok(Self { file: Some(file), ..self });
        }
        let file = options.append(true).open(&self.path)?;
        let offset = file.metadata()?.len();
        if offset == self.range.start {
            return Ok(Self { file: Some(file), ..self });
        }
        Err(ApiError::from(Code::WrongOffset).with_header(UPLOAD_OFFSET, offset))
    }

    /// Appends some bytes. A file that the disk has no room for is removed.
    fn with(mut self, batch: &[Bytes]) -> Result<Self, ApiError> {
        for piece in batch {
            if let Some(Err(error)) = self.file.as_mut().map(|file| file.write_all(piece)) {
                let error = ApiError::from(error);
                if error.code == Code::StorageFull {
                    fs::remove_file(&self.path)?;
                }
                return Err(error);
            }
            if let Some(hasher) = self.hasher.as_mut() {
                hasher.update(piece);
            }
        }
        Ok(self)
    }

    /// Hands a part that has all of its bytes to its table's store, if it is the part of its name.
    fn hand_over(self, part: &PartName, table: &TableStore) -> Result<(), ApiError> {
        self.file.as_ref().map_or(Ok(()), File::sync_all)?;
        let tree = match self.hasher {
            Some(hasher) => hasher.finish(),
            None => PartSource::from_file(File::open(&self.path)?)?.tree()?,
        };
        if tree.digest() != part.digest {
            fs::remove_file(&self.path)?;
            return Err(Code::WrongDigest.into());
        }
        Ok(table.take_part(part.kind, &tree, &self.path)?)
    }
}

/// Runs something that blocks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    spawn_blocking(work).await.map_err(|_| Code::Internal)?
}

/// The next pieces of a body, up to [`BATCH_BYTES`], and whether there are more: also those that came before an error. None waits
/// longer than [`BATCH_WAIT`] for others.
async fn batch(pieces: &mut Pieces) -> (Vec<Bytes>, Result<bool, ApiError>) {
    let (mut batch, mut bytes, mut until) = (Vec::new(), 0, None);
    while bytes < BATCH_BYTES {
        let next = match until {
            None => pieces.next().await,
            Some(until) => match timeout_at(until, pieces.next()).await {
                Ok(next) => next,
                Err(_) => break,
            },
        };
        match next {
            Ok(Some(piece)) => {
                bytes += piece.len();
                batch.push(piece);
                until.get_or_insert_with(|| Instant::now() + BATCH_WAIT);
            }
            Ok(None) => return (batch, Ok(false)),
            Err(error) => return (batch, Err(error)),
        }
    }
    (batch, Ok(true))
}

/// Response header: where an upload stands.
pub const UPLOAD_OFFSET: axum::http::HeaderName =
    axum::http::HeaderName::from_static(hush_protocol::header::UPLOAD_OFFSET);

/// All growing files.
fn growing_files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let tables = fs::read_dir(root).into_iter().flatten().flatten();
    let files = tables.filter_map(|table| fs::read_dir(table.path()).ok()).flatten().flatten();
    files.map(|file| file.path())
}

/// Whether a file was last changed longer ago than `age`. Unknown ages are young.
fn older_than(path: &Path, age: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|facts| facts.modified());
    changed.is_ok_and(|changed| is_older(changed, age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::parse_part;
    use axum::body::Body;

    fn pieces(bytes: &[u8]) -> Pieces {
        Pieces::new(Body::from(bytes.to_vec()), bytes.len() as u64, Duration::from_secs(5))
    }

    #[tokio::test]
    async fn ranges_assemble_and_only_the_right_digest_becomes_visible() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::open(dir.path().join("uploads"), 100).unwrap();
        let table = TableName::parse("t").unwrap();
        let content = b"the quick brown fox".as_slice();
        let digest = blake3::hash(content).to_hex();
        let part = parse_part(&format!("{digest}.enc")).unwrap();
        let place = TableStore::local(dir.path().join("tables/t")).unwrap();
        let target = dir.path().join("tables/t/parts").join(part.file_name());
        let range = |start, end| ByteRange { start, end, total: content.len() as u64 };

        let claim = uploads.claim(&table, &part, 19).unwrap();
        assert_eq!(uploads.claim(&table, &part, 19).map(|_| ()).unwrap_err().code, Code::UploadActive);
        let first = claim.append(&part, range(0, 5), pieces(&content[..5]), &place).await.unwrap();
        assert_eq!(first, Outcome::Partial { offset: 5 });
        assert_eq!(uploads.offset(&table, &part).await, 5);
        let skipped = claim.append(&part, range(6, 19), pieces(&content[6..]), &place).await.unwrap_err();
        assert_eq!((skipped.code, skipped.headers[0].1.as_str()), (Code::WrongOffset, "5"));
        assert!(!target.exists());
        let last = claim.append(&part, range(5, 19), pieces(&content[5..]), &place).await.unwrap();
        assert_eq!(last, Outcome::Complete);
        assert_eq!(fs::read(&target).unwrap(), content);
        assert_eq!(uploads.offset(&table, &part).await, 0);
        drop(claim);
        assert!(uploads.claim(&table, &part, 19).is_ok());
    }

    #[tokio::test]
    async fn a_body_of_several_batches_is_one_part() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..3 * BATCH_BYTES + 77).map(|at| (at % 251) as u8).collect();
        let total = content.len() as u64;
        let uploads = Uploads::open(dir.path().join("uploads"), total).unwrap();
        let table = TableName::parse("t").unwrap();
        let part = parse_part(&format!("{}.enc", blake3::hash(&content).to_hex())).unwrap();
        let place = TableStore::local(dir.path().join("t")).unwrap();
        let target = dir.path().join("t/parts").join(part.file_name());
        let claim = uploads.claim(&table, &part, total).unwrap();
        for (start, end) in [(0, 100), (100, total)] {
            let body = content[start as usize..end as usize].to_vec();
            let body: Vec<_> = body.chunks(70_001).map(|piece| Ok::<_, io::Error>(piece.to_vec())).collect();
            let body = Body::from_stream(futures_util::stream::iter(body));
            let pieces = Pieces::new(body, end - start, Duration::from_secs(5));
            claim.append(&part, ByteRange { start, end, total }, pieces, &place).await.unwrap();
        }
        assert!(fs::read(&target).unwrap() == content);
    }

    #[tokio::test]
    async fn unfinished_parts_share_a_budget_that_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("uploads");
        let table = TableName::parse("t").unwrap();
        let part = |fill: char| parse_part(&format!("{}.enc", fill.to_string().repeat(64))).unwrap();
        let place = TableStore::local(dir.path().join("never")).unwrap();
        let uploads = Uploads::open(root.clone(), 10).unwrap();
        let one = uploads.claim(&table, &part('1'), 8).unwrap();
        let refused = uploads.claim(&table, &part('2'), 3).map(|_| ()).unwrap_err();
        assert_eq!((refused.code, refused.over), (Code::UploadsFull, Some((11, 10))));
        // Of the eight bytes announced four come: only these count when the request is over, also after a restart.
        one.append(&part('1'), ByteRange { start: 0, end: 4, total: 20 }, pieces(b"abcd"), &place)
            .await
            .unwrap();
        drop(one);
        drop(uploads);
        let uploads = Uploads::open(root, 10).unwrap();
        drop(uploads.claim(&table, &part('2'), 6).unwrap());
        assert_eq!(uploads.claim(&table, &part('2'), 7).map(|_| ()).unwrap_err().over, Some((11, 10)));
        assert_eq!(uploads.claim(&table, &part('1'), 11).map(|_| ()).unwrap_err().over, Some((11, 10)));
        uploads.discard_table(&table).unwrap();
        drop(uploads.claim(&table, &part('2'), 10).unwrap());
    }

    #[tokio::test]
    async fn a_wrong_digest_is_discarded_whole_or_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::open(dir.path().join("uploads"), 100).unwrap();
        let table = TableName::parse("t").unwrap();
        let part = parse_part(&format!("{}.clear", "0".repeat(64))).unwrap();
        let place = TableStore::local(dir.path().join("tables/t")).unwrap();
        let target = dir.path().join("tables/t/parts").join(part.file_name());
        let claim = uploads.claim(&table, &part, 19).unwrap();
        for start in [0, 2] {
            if start > 0 {
                let range = ByteRange { start: 0, end: start, total: 4 };
                claim.append(&part, range, pieces(b"ab"), &place).await.unwrap();
            }
            let range = ByteRange { start, end: 4, total: 4 };
            let content = &b"abcd"[start as usize..];
            let refused = claim.append(&part, range, pieces(content), &place).await.unwrap_err();
            assert_eq!(refused.code, Code::WrongDigest);
            assert_eq!(uploads.offset(&table, &part).await, 0);
            assert!(!target.exists());
        }
    }
}
