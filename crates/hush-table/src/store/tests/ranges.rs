// SPDX-License-Identifier: Apache-2.0
//! Ranges of large parts: how little is read, and that nothing altered is ever handed out.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result as StoreResult,
};

use super::*;
use crate::fixture::encoding;
use crate::part::{ChunkRow, GROUP_BYTES, TREE_FROM_BYTES};

/// Encodings of the wide table.
const WIDTH: u32 = 20;

/// A table of one part with [`WIDTH`] encodings and a clear column, each encrypted column several groups long.
fn write_wide(store: &TableStore, random: &mut Random) -> (SignedManifest, Vec<EncodedChunk>) {
    let wide = TableLayout { encodings: (0..WIDTH).map(encoding).collect(), ..layout() };
    let mut writer = TableWriter::begin(store, identity(1), wide).unwrap();
    let mut blobs = |count| (0..count).map(|_| Bytes::from(random.bytes(90_000))).collect::<Vec<_>>();
    let full = |index| EncodedChunk {
        index,
        rows: CHUNK_ROWS,
        seed: [index as u8; 32],
        encoded: blobs(WIDTH),
        sealed: blobs(1),
    };
    let chunks: Vec<_> = (0..12).map(full).collect();
    push_all(&mut writer, &chunks).unwrap();
    let (_, sign) = credentials(7);
    (writer.finish(vec![1], sign).unwrap(), chunks)
}

/// Two of the columns, some of the chunks.
fn some(random: &mut Random) -> Projection {
    let first = random.below(WIDTH as usize) as u32;
    let encodings = [first, (first + 1 + random.below(WIDTH as usize - 1) as u32) % WIDTH];
    let chunks = (0..12).filter(|_| random.below(3) > 0).collect();
    Projection { chunks: Some(chunks), ..Projection::encodings(encodings.map(hush_plan::EncodingId)) }
}

fn read(
    store: &TableStore,
    signed: &SignedManifest,
    wanted: &Projection,
) -> Result<Vec<ChunkRow>, TableError> {
    let (place, entry) = signed.manifest().placed_parts().next().unwrap();
    store.open_encrypted(signed.manifest(), place, entry)?.read(wanted)
}

/// What was read is what was written.
fn assert_right(rows: &[ChunkRow], wanted: &Projection, written: &[EncodedChunk]) {
    let chunks = wanted.chunks.as_ref().unwrap();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), *chunks);
    for row in rows {
        let chunk = &written[row.index as usize];
        assert_eq!(row.seed, Some(chunk.seed));
        let expected: Vec<_> =
            wanted.encodings.iter().map(|id| chunk.encoded[id.0 as usize].clone()).collect();
        assert_eq!(row.encoded, expected);
    }
}

fn part_file(directory: &FilePath, signed: &SignedManifest, kind: FileKind) -> PathBuf {
    let entry = &signed.manifest().parts[0];
    let file = if kind == FileKind::Clear { entry.clear } else { entry.encrypted }.unwrap();
    directory.join(PARTS_NAME).join(kind.file_name(&file.digest))
}

fn flip(file: &FilePath, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let date = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    // Files are dated by ticks of the system's clock: in one tick nobody sees from the date that they have changed.
    file.set_modified(date + std::time::Duration::from_secs(1)).unwrap();
}

/// Passes everything on to a store in memory and counts what is read of parts.
#[derive(Debug, Default)]
pub(super) struct Counting {
    below: object_store::memory::InMemory,
    pub(super) requests: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// While set, nothing is read.
    unreachable: AtomicBool,
}

impl Counting {
    fn reached(&self) -> StoreResult<()> {
        let refused = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        match self.unreachable.load(Ordering::Relaxed) {
            true => Err(object_store::Error::Generic { store: "test", source: refused().into() }),
            false => Ok(()),
        }
    }
}

impl std::fmt::Display for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("counting")
    }
}

#[async_trait]
impl ObjectStore for Counting {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        self.below.put_opts(at, bytes, options).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.below.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.reached()?;
        let found = self.below.get_opts(at, options).await?;
        if !at.as_ref().ends_with(MANIFEST_NAME) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(found.range.end - found.range.start, Ordering::Relaxed);
        }
        Ok(found)
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        self.reached()?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(ranges.iter().map(|range| range.end - range.start).sum(), Ordering::Relaxed);
        self.below.get_ranges(at, ranges).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.below.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.below.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.below.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.below.copy_opts(from, to, options).await
    }
}

#[test]
fn two_of_twenty_columns_are_a_tenth_of_the_bytes_in_five_requests() {
    let mut random = Random::fresh();
    let counting = Arc::new(Counting::default());
    let (signed, written) = write_wide(&TableStore::new(counting.clone(), Path::default()), &mut random);
    let length = signed.manifest().parts[0].encrypted.unwrap().bytes;
    assert!(length > 20 << 20);
    for _ in 0..10 {
        let all = Some((0..12).collect());
        let wanted = Projection { chunks: all, ..some(&mut random) };
        // One that knows nothing yet.
        let store = TableStore::new(counting.clone(), Path::default());
        counting.requests.store(0, Ordering::Relaxed);
        counting.bytes.store(0, Ordering::Relaxed);
        assert_right(&read(&store, &signed, &wanted).unwrap(), &wanted, &written);
        let (requests, bytes) = (&counting.requests, counting.bytes.load(Ordering::Relaxed));
        assert!(requests.load(Ordering::Relaxed) <= 5, "{requests:?} requests");
        assert!(bytes * 100 <= length * 12, "{bytes} of {length} bytes");
    }
}

#[test]
fn whatever_is_read_of_an_altered_part_is_right_or_refused() {
    let mut random = Random::fresh();
    let seed = random.seed;
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let (signed, written) = write_wide(&TableStore::local(&directory).unwrap(), &mut random);
    let file = part_file(&directory, &signed, FileKind::Encrypted);
    let length = std::fs::metadata(&file).unwrap().len();
    let (mut right, mut refused) = (0, 0);
    for _ in 0..60 {
        let at = random.below(length as usize) as u64;
        flip(&file, at);
        // Directories and object stores; the second has the altered bytes under the old name.
        let local = TableStore::local_existing(&directory).unwrap();
        let files = object_store::local::LocalFileSystem::new_with_prefix(&directory).unwrap();
        for store in [local, TableStore::new(Arc::new(files), Path::default())] {
            let wanted = some(&mut random);
            match read(&store, &signed, &wanted) {
                Ok(rows) => {
                    assert_right(&rows, &wanted, &written);
                    right += 1;
                }
                Err(error) => {
                    let group = at / GROUP_BYTES * GROUP_BYTES;
                    let part = signed.manifest().parts[0].encrypted.unwrap().digest;
                    assert!(
                        matches!(error, TableError::RangeAltered { part: found, start } if found == part && start == group),
                        "{error:?} for byte {at}, seed {seed}"
                    );
                    refused += 1;
                }
            }
            // Whoever reads everything finds it.
            let entry = signed.manifest().parts[0].encrypted.unwrap();
            assert_eq!(store.open_part(FileKind::Encrypted, &entry).unwrap_err().code(), "HUSH-T031");
            assert_eq!(store.verify(signed.manifest()).unwrap_err().code(), "HUSH-T031");
        }
        flip(&file, at);
    }
    assert!(right > 0 && refused > 0, "{right} right, {refused} refused, seed {seed}");
}

#[test]
fn a_damaged_or_foreign_tree_is_as_good_as_none() {
    let mut random = Random::fresh();
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let (signed, written) = write_wide(&TableStore::local(&directory).unwrap(), &mut random);
    let part = signed.manifest().parts[0].encrypted.unwrap();
    assert!(part.bytes >= TREE_FROM_BYTES);
    let tree = directory.join(PARTS_NAME).join(FileKind::Encrypted.tree_name(&part.digest));
    let good = std::fs::read(&tree).unwrap();
    assert_eq!(good.len() as u64, part.bytes.div_ceil(GROUP_BYTES) * 32);
    let mut altered = good.clone();
    altered[random.below(good.len())] ^= 1;
    let swapped: Vec<u8> = [&good[32..64], &good[..32], &good[64..]].concat();
    let file = part_file(&directory, &signed, FileKind::Encrypted);
    for bad in [altered, swapped, good[..good.len() - 32].to_vec(), [&good[..], &[0; 32]].concat(), vec![]] {
        std::fs::write(&tree, &bad).unwrap();
        let store = TableStore::local_existing(&directory).unwrap();
        let wanted = some(&mut random);
        assert_right(&read(&store, &signed, &wanted).unwrap(), &wanted, &written);
        // Without a tree the whole part is read, and what nobody asked for is found too.
        flip(&file, part.bytes - 1);
        let store = TableStore::local_existing(&directory).unwrap();
        assert_eq!(read(&store, &signed, &wanted).unwrap_err().code(), "HUSH-T031");
        flip(&file, part.bytes - 1);
    }
    std::fs::remove_file(&tree).unwrap();
    TableStore::local_existing(&directory).unwrap().verify(signed.manifest()).unwrap();
}

/// The gap between check and use: a file that changes after it was opened, and after all of it was checked once.
#[test]
fn a_clear_part_that_changes_under_its_reader_is_refused() {
    let mut random = Random::fresh();
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let store = TableStore::local(&directory).unwrap();
    let signed = write(&store, 1, &chunks(&mut random, 3 * 8192, 10)).unwrap();
    let entry = &signed.manifest().parts[0];
    let file = part_file(&directory, &signed, FileKind::Clear);
    let part = store.open_clear(signed.manifest(), entry).unwrap();
    let years = part.read(&[1]).unwrap();
    let column = part.footer().row_group(0).column(1).byte_range();
    for _ in 0..20 {
        let at = column.0 + random.below(column.1 as usize) as u64;
        flip(&file, at);
        assert!(matches!(part.read(&[1]), Err(TableError::RangeAltered { .. })), "byte {at}");
        flip(&file, at);
        assert_eq!(part.read(&[1]).unwrap(), years);
    }
}

#[test]
fn trees_come_and_go_with_their_parts() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        let (signed, _) = write_wide(store, &mut random);
        let trees = || file_names(store).into_iter().filter(|name| name.ends_with(".tree")).count();
        // The clear part is too small for one.
        assert_eq!((trees(), signed.manifest().parts.len()), (1, 1));
        assert_eq!(store.sweep().unwrap(), 0);
        assert_eq!(trees(), 1);
        write(store, 2, &chunks(&mut random, 10, 10)).unwrap();
        store.sweep().unwrap();
        assert_eq!(trees(), 0, "{:?}", file_names(store));
        store.delete().unwrap();
    }
}

/// Groups that were checked before are not hashed again: that the file was written to since it was opened is seen at its end.
#[test]
fn an_encrypted_part_that_changes_under_its_reader_is_refused() {
    let mut random = Random::fresh();
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let store = TableStore::local(&directory).unwrap();
    let (signed, written) = write_wide(&store, &mut random);
    let (place, entry) = signed.manifest().placed_parts().next().unwrap();
    store.open_part(FileKind::Encrypted, &entry.encrypted.unwrap()).unwrap();
    let wanted = some(&mut random);
    let part = store.open_encrypted(signed.manifest(), place, entry).unwrap();
    assert_right(&part.read(&wanted).unwrap(), &wanted, &written);
    let file = part_file(&directory, &signed, FileKind::Encrypted);
    let at = random.below(1000) as u64;
    flip(&file, at);
    assert!(matches!(part.read(&wanted), Err(TableError::PartChanged { .. })));
    flip(&file, at);
    // It is the part again, but nobody knows what was read in between.
    assert!(matches!(part.read(&wanted), Err(TableError::PartChanged { .. })));
    assert_right(&read(&store, &signed, &wanted).unwrap(), &wanted, &written);
}

#[test]
fn empty_and_impossible_ranges_of_parts() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        let (signed, _) = write_wide(store, &mut random);
        let file = signed.manifest().parts[0].encrypted.unwrap();
        let source = store.open_part(FileKind::Encrypted, &file).unwrap();
        for at in [0, 1, GROUP_BYTES, 3 * GROUP_BYTES, file.bytes] {
            assert!(source.read(at..at).unwrap().is_empty());
            assert_eq!(source.read_ranges(&[at..at, at..at]).unwrap().len(), 2);
        }
        #[allow(clippy::reversed_empty_ranges, reason = "what is refused")]
        for bad in [5..4, 0..file.bytes + 1, u64::MAX - 1..u64::MAX] {
            assert!(source.read(bad.clone()).is_err() && source.read_ranges(&[bad]).is_err());
        }
    }
}

/// A request that fails says nothing about the part, and the same part is read once the store is reached again.
#[test]
fn a_store_that_is_not_reached_is_no_damage() {
    let mut random = Random::fresh();
    let counting = Arc::new(Counting::default());
    let (signed, written) = write_wide(&TableStore::new(counting.clone(), Path::default()), &mut random);
    let store = TableStore::new(counting.clone(), Path::default());
    let (place, entry) = signed.manifest().placed_parts().next().unwrap();
    let encrypted = store.open_encrypted(signed.manifest(), place, entry).unwrap();
    let clear = store.open_clear(signed.manifest(), entry).unwrap();
    let years = clear.read(&[1]).unwrap();
    let mut wanted = some(&mut random);
    wanted.chunks = Some((0..12).collect());
    for _ in 0..2 {
        counting.unreachable.store(true, Ordering::Relaxed);
        let file = entry.encrypted.unwrap();
        let errors = [
            encrypted.read(&wanted).unwrap_err(),
            encrypted.chunks(&wanted).map(drop).unwrap_err(),
            store.open_part(FileKind::Encrypted, &file).unwrap_err(),
            store.inspect(&PartName::new(FileKind::Encrypted, file.digest)).unwrap_err(),
            store.load().unwrap_err(),
        ];
        for error in errors {
            let refused = matches!(&error, TableError::Io { source, .. } if source.kind() == std::io::ErrorKind::ConnectionRefused);
            assert!(refused, "{error:?}");
        }
        // The footer of the clear part lies in memory, and so does all of a small part.
        assert!(clear.read(&[1]).is_ok_and(|read| read == years));
        counting.unreachable.store(false, Ordering::Relaxed);
        assert_right(&encrypted.read(&wanted).unwrap(), &wanted, &written);
    }
}

/// The store's own tag of a file has neither the time of the last change of anything about it nor its device.
#[test]
fn files_behind_an_object_store_are_looked_at_as_in_a_directory() {
    let mut random = Random::fresh();
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let (signed, _) = write_wide(&TableStore::local(&directory).unwrap(), &mut random);
    let entry = signed.manifest().parts[0].encrypted.unwrap();
    let file = part_file(&directory, &signed, FileKind::Encrypted);
    let files = object_store::local::LocalFileSystem::new_with_prefix(&directory).unwrap();
    let store = TableStore::new(Arc::new(files), Path::default());
    store.open_part(FileKind::Encrypted, &entry).unwrap();
    assert!(store.looks_unchanged(FileKind::Encrypted, &entry));
    let written = std::fs::metadata(&file).unwrap().modified().unwrap();
    flip(&file, random.below(entry.bytes as usize) as u64);
    std::fs::File::options().append(true).open(&file).unwrap().set_modified(written).unwrap();
    assert!(!store.looks_unchanged(FileKind::Encrypted, &entry));
    assert_eq!(store.open_part(FileKind::Encrypted, &entry).unwrap_err().code(), "HUSH-T031");
}

#[test]
fn a_lost_tree_is_made_again_where_its_owner_wants_it() {
    let mut random = Random::fresh();
    let (guard, stores) = stores();
    for store in &stores {
        let (signed, written) = write_wide(store, &mut random);
        let file = signed.manifest().parts[0].encrypted.unwrap();
        let path = store.tree_path(FileKind::Encrypted, &file.digest);
        let tree = || match objects::fetch(store.objects(), &path, u64::MAX).unwrap() {
            objects::Lookup::Object(source, _) => Some(source.read_all().unwrap()),
            _ => None,
        };
        let good = tree().unwrap();
        let fresh = || match &store.directory {
            Some(directory) => TableStore::local_existing(directory).unwrap(),
            None => TableStore::new(store.objects().clone(), Path::default()),
        };
        let wanted = some(&mut random);
        for bad in [None, Some(Bytes::new()), Some(good.slice(32..)), Some(vec![7; good.len()].into())] {
            let damage = || match &bad {
                None => objects::delete(store.objects(), &path).unwrap(),
                Some(bad) => drop(objects::put(store.objects(), &path, bad.clone()).unwrap()),
            };
            damage();
            assert_right(&read(&fresh(), &signed, &wanted).unwrap(), &wanted, &written);
            assert_eq!(tree(), bad, "a reader alone writes nothing");
            assert_right(&read(&fresh().mending_trees(), &signed, &wanted).unwrap(), &wanted, &written);
            assert_eq!(tree().as_ref(), Some(&good));
            damage();
            let found = fresh().mending_trees().inspect(&PartName::new(FileKind::Encrypted, file.digest));
            assert_eq!(
                (found.unwrap(), tree().as_ref()),
                (StoredPart::Sound { bytes: file.bytes }, Some(&good))
            );
        }
    }
    drop(guard);
}
