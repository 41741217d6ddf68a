// SPDX-License-Identifier: Apache-2.0
//! Data in an object store: the same rows as on a disk, in how many requests, and that nothing changed or lost is taken for data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, StringArray};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::stream::{BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};

use super::dataset::{ahead, content, files, parquet, patients, put, random, raw};
use super::parquet::write;
use super::*;
use crate::error::{StoreFault, StoreTrouble};
use crate::source::object::PIECE_BYTES;

/// How long a request waits that others do not come to. Longer than any machine takes to send one.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bucket that counts, and fails or changes an object at the n-th request.
#[derive(Debug, Default)]
struct Bucket {
    below: InMemory,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The request that is not answered, counted from 1; 0 for none.
    failing: AtomicU64,
    /// The request before which every object is written anew with other bytes.
    changing: AtomicU64,
    /// Every request before this one is answered when the next one is there, too.
    accompanied: AtomicU64,
    /// Requests for which no other one came.
    alone: AtomicU64,
}

impl Bucket {
    fn add(&self, name: &str, bytes: impl Into<Bytes>) {
        let (path, bytes) = (ObjectPath::parse(name).unwrap(), bytes.into());
        self.below.put(&path, bytes.into()).now_or_never().unwrap().unwrap();
    }

    /// What a step asks for: its requests and the bytes of their answers.
    fn counted<T>(&self, step: impl FnOnce() -> T) -> (T, u64, u64) {
        self.requests.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        let found = step();
        (found, self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Waits for the request behind this one. It comes at once, or it never does.
    async fn accompany(&self, number: u64) {
        let begun = Instant::now();
        while number < self.accompanied.load(Ordering::Relaxed)
            && self.requests.load(Ordering::Relaxed) <= number
        {
            if begun.elapsed() > PATIENCE {
                self.alone.fetch_add(1, Ordering::Relaxed);
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn change(&self) {
        let listed: Vec<_> = self.below.list(None).collect().await;
        for meta in listed.into_iter().map(Result::unwrap) {
            let bytes = self.below.get(&meta.location).await.unwrap().bytes().await.unwrap();
            let mut other = bytes.to_vec();
            // A digit of CSV, or something in a page of Parquet.
            other[1000] ^= 1;
            self.below.put(&meta.location, other.into()).await.unwrap();
        }
    }
}

impl std::fmt::Display for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bucket")
    }
}

#[async_trait]
impl ObjectStore for Bucket {
    async fn put_opts(&self, at: &ObjectPath, bytes: PutPayload, how: PutOptions) -> StoreResult<PutResult> {
        self.below.put_opts(at, bytes, how).await
    }

    async fn put_multipart_opts(
        &self,
        at: &ObjectPath,
        how: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.below.put_multipart_opts(at, how).await
    }

    async fn get_opts(&self, at: &ObjectPath, options: GetOptions) -> StoreResult<GetResult> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.failing.load(Ordering::Relaxed) {
            let (place, fault) = (format!("s3://lake/{at}"), StoreFault::Cut);
            return Err(StoreError::Generic {
                store: "cloud",
                source: Box::new(StoreTrouble { place, fault }),
            });
        }
        if number == self.changing.load(Ordering::Relaxed) {
            self.change().await;
        }
        self.accompany(number).await;
        let is_look = options.head;
        let found = self.below.get_opts(at, options).await?;
        let bytes = if is_look { 0 } else { found.range.end - found.range.start };
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(found)
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<ObjectPath>>,
    ) -> BoxStream<'static, StoreResult<ObjectPath>> {
        self.below.delete_stream(at)
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.below.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> StoreResult<ListResult> {
        self.below.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &ObjectPath, to: &ObjectPath, how: CopyOptions) -> StoreResult<()> {
        self.below.copy_opts(from, to, how).await
    }
}

fn open_in(bucket: &Arc<Bucket>, path: &str, is_folder: bool) -> Result<Source, SourceError> {
    let path = ObjectPath::parse(path).unwrap();
    Source::open_object(bucket.clone(), "s3://lake", &path, is_folder, &OpenOptions::default())
}

#[test]
fn a_prefix_is_the_folder_of_the_same_files() {
    let (seed, mut random) = random();
    for turn in 0..8 {
        let (directory, bucket) = (tempfile::tempdir().unwrap(), Arc::new(Bucket::default()));
        for (name, rows) in files(&mut random) {
            let name = if turn % 4 == 1 { name.replace(".data", ".parquet") } else { name };
            let bytes = if turn % 2 == 0 {
                let lines = rows.iter().map(|(n, t, ..)| format!("{n},\"{}\"\n", t.as_deref().unwrap_or("")));
                format!("n,t\n{}", lines.collect::<String>().replace("a, \"b\"", "a")).into_bytes()
            } else {
                parquet(&rows, random.below(3) == 0, random.below(2) == 0, false)
            };
            put(directory.path(), &name, &bytes);
            bucket.add(&format!("a/visits/{name}"), bytes);
        }
        for (name, bytes) in [
            // What Hadoop, Spark and people with consoles leave.
            ("a/visits", ""),
            ("a/visits/_SUCCESS", ""),
            ("a/visits/year=2020", ""),
            ("a/visits/year=2020_$folder$", ""),
            ("a/visits/year=2020/ward=Z", ""),
            ("a/visits/year=2020/_temporary/0/x", "other"),
            ("a/visits/.hidden/x", "other"),
            ("a/visits-of-others/x", "other"),
            ("a/x", "other"),
        ] {
            bucket.add(name, bytes);
        }
        let context = format!("HUSH_SEED={seed}, turn {turn}");
        let expected = Source::open(directory.path(), &OpenOptions::default());
        let found = open_in(&bucket, "a/visits", true);
        let (Ok(expected), Ok(found)) = (&expected, &found) else {
            assert_eq!(found.unwrap_err().code(), expected.unwrap_err().code(), "{context}");
            continue;
        };
        assert_eq!(found.table_name(), "visits");
        assert_eq!((found.columns(), found.rows()), (expected.columns(), expected.rows()), "{context}");
        let names =
            |source: &Source| source.file_marks().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(found), names(expected), "{context}");
        let wanted = batches(expected, &patients()).map(content);
        let Ok(wanted) = wanted else {
            assert_eq!(
                batches(found, &patients()).unwrap_err().code(),
                wanted.unwrap_err().code(),
                "{context}"
            );
            continue;
        };
        assert!(content(batches(found, &patients()).unwrap()) == wanted, "{context}");
        for (bytes, depth) in [(0, 2), (20_000, 1), (usize::MAX, 4)] {
            let found = content(ahead(found, &patients(), depth, bytes).unwrap());
            assert!(found == wanted, "{context}, {bytes} bytes, depth {depth}");
        }
        assert!(raw(found) == raw(expected), "{context}");
    }
}

/// A table of `rows` rows with columns a to d, as CSV and as Parquet with row groups of 100 000.
fn wide(rows: i64) -> (Bytes, Bytes) {
    let value =
        |row: i64, column: i64| (row * 7919 + column).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed());
    let column = |at| Arc::new((0..rows).map(|row| value(row, at)).collect::<Int64Array>()) as ArrayRef;
    let names = ["a", "b", "c", "d"];
    let columns = names.into_iter().zip((0..4).map(column)).collect();
    let line = |row| format!("{},{},{},{}\n", value(row, 0), value(row, 1), value(row, 2), value(row, 3));
    let csv = "a,b,c,d\n".to_owned() + &(0..rows).map(line).collect::<String>();
    (csv.into(), write(columns, 100_000).into())
}

fn four(protect: [Protection; 4]) -> Schema {
    schema(
        ["a", "b", "c", "d"]
            .into_iter()
            .zip(protect)
            .map(|(name, protect)| column(name, INT, protect))
            .collect(),
    )
}

#[test]
fn a_pass_asks_for_every_byte_once() {
    let (csv, of_parquet) = wide(250_000);
    let length = |bytes: &Bytes| bytes.len() as u64;
    let all = four([Protection::Encrypt; 4]);
    let bucket = Arc::new(Bucket::default());
    bucket.add("t.csv", csv.clone());
    bucket.add("t.parquet", of_parquet.clone());
    bucket.add("plain", of_parquet.clone());
    let expected = content(batches(&open(&csv).unwrap(), &all).unwrap());
    // A look: whether it is there, and its beginning; of Parquet its end.
    let (source, requests, bytes) = bucket.counted(|| open_in(&bucket, "t.csv", false).unwrap());
    assert_eq!((requests, bytes), (2, 65_536));
    let (found, requests, bytes) = bucket.counted(|| content(batches(&source, &all).unwrap()));
    assert!(found == expected);
    assert_eq!((requests, bytes), ((length(&csv) - 65_536).div_ceil(PIECE_BYTES), length(&csv) - 65_536));
    let (found, requests, bytes) = bucket.counted(|| content(batches(&source, &all).unwrap()));
    assert!(found == expected);
    assert_eq!((requests, bytes), (length(&csv).div_ceil(PIECE_BYTES), length(&csv)));
    for name in ["t.parquet", "plain"] {
        let source = open_in(&bucket, name, false).unwrap();
        let (found, requests, bytes) = bucket.counted(|| content(batches(&source, &all).unwrap()));
        assert!(found == expected, "{name}");
        assert!(bytes <= length(&of_parquet), "{bytes} of {}", length(&of_parquet));
        // 4 columns in 3 row groups; windows of 512 KiB.
        assert!(requests <= 12 + length(&of_parquet) / (512 << 10), "{requests} requests");
        let half = four([Protection::Drop, Protection::Encrypt, Protection::Drop, Protection::Clear]);
        let (_, _, bytes) = bucket.counted(|| batches(&source, &half).unwrap());
        assert!(bytes <= length(&of_parquet) * 52 / 100, "{bytes} of {}", length(&of_parquet));
    }
}

/// Columns are asked for together, and the window behind the one that is decoded is on its way.
#[test]
fn no_request_but_the_last_is_waited_for_alone() {
    let (_, of_parquet) = wide(250_000);
    let all = four([Protection::Encrypt; 4]);
    let bucket = Arc::new(Bucket::default());
    bucket.add("t.parquet", of_parquet);
    let source = open_in(&bucket, "t.parquet", false).unwrap();
    let (expected, total, _) = bucket.counted(|| content(batches(&source, &all).unwrap()));
    // 4 columns in 3 row groups, two of them with two windows each.
    assert_eq!(total, 20);
    bucket.accompanied.store(total, Ordering::Relaxed);
    let (found, requests, _) = bucket.counted(|| content(batches(&source, &all).unwrap()));
    assert_eq!((requests, bucket.alone.load(Ordering::Relaxed)), (total, 0));
    assert!(found == expected);
}

#[test]
fn small_files_take_a_request_each() {
    let bucket = Arc::new(Bucket::default());
    let (csv, of_parquet) = wide(1000);
    for number in 0..20 {
        bucket.add(&format!("csv/k={number}/x"), csv.clone());
        bucket.add(&format!("parquet/k={number}/x.parquet"), of_parquet.clone());
    }
    let mut all = four([Protection::Encrypt; 4]);
    all.columns.push(column("k", INT, Protection::Clear));
    for folder in ["csv", "parquet"] {
        let (source, requests, _) = bucket.counted(|| open_in(&bucket, folder, true).unwrap());
        assert_eq!(requests, 20, "{folder}");
        let (found, requests, _) = bucket.counted(|| batches(&source, &all).unwrap());
        assert_eq!((found.iter().map(|batch| batch.rows).sum::<usize>(), requests), (20_000, 20), "{folder}");
    }
}

/// Data that take several requests: their names, and whether they are folders.
const SEVERAL: [(&str, bool); 4] = [("t.csv", false), ("t.parquet", false), ("csv", true), ("parquet", true)];

/// A bucket with [`SEVERAL`]. Each try has one of its own: requests that a pass has left behind may still be counted.
fn several((csv, of_parquet): &(Bytes, Bytes)) -> Arc<Bucket> {
    let bucket = Arc::new(Bucket::default());
    bucket.add("t.csv", csv.clone());
    bucket.add("t.parquet", of_parquet.clone());
    for number in 0..3 {
        bucket.add(&format!("csv/{number}"), csv.clone());
        bucket.add(&format!("parquet/{number}.parquet"), of_parquet.clone());
    }
    bucket
}

#[test]
fn an_object_that_changes_is_refused_whenever_it_does() {
    let all = four([Protection::Encrypt; 4]);
    let data = wide(120_000);
    for (name, is_folder) in SEVERAL {
        for number in 1.. {
            let bucket = several(&data);
            let source = open_in(&bucket, name, is_folder).unwrap();
            let marks = source.file_marks();
            let expected = content(batches(&source, &all).unwrap());
            // Of the same length, and between two passes or during one.
            bucket.changing.store(number, Ordering::Relaxed);
            let (found, requests, _) = bucket.counted(|| match number % 2 {
                0 => batches(&source, &all),
                _ => ahead(&source, &all, 2, usize::MAX),
            });
            if requests < number {
                assert!(content(found.unwrap()) == expected, "{name}");
                assert!(number > 2);
                break;
            }
            let error = found.unwrap_err();
            assert_eq!(error.code(), "HUSH-D045", "{name}, {number}: {error}");
            assert!(error.to_string().starts_with("s3://lake/"), "{error}");
            assert_ne!(open_in(&bucket, name, is_folder).unwrap().file_marks(), marks);
        }
    }
}

#[test]
fn a_request_that_fails_is_the_error_of_the_pass() {
    let all = four([Protection::Encrypt; 4]);
    let data = wide(120_000);
    for (name, is_folder) in SEVERAL {
        for number in 1.. {
            let bucket = several(&data);
            bucket.failing.store(number, Ordering::Relaxed);
            let opened = bucket.counted(|| open_in(&bucket, name, is_folder));
            let (found, requests, _) = match opened {
                (Ok(_), requests, _) if requests >= number => panic!("{name}: request {number} was needless"),
                (Ok(source), before, _) => {
                    bucket.failing.store(number - before, Ordering::Relaxed);
                    let (found, more, _) = bucket.counted(|| batches(&source, &all));
                    (found.map(drop), before + more, 0)
                }
                (Err(error), requests, _) => (Err(error), requests, 0),
            };
            if requests < number {
                found.unwrap();
                break;
            }
            let error = found.unwrap_err();
            assert_eq!(error.code(), "HUSH-T051", "{name}, {number}: {error:?}");
            assert!(error.to_string().starts_with("cannot read s3://lake/"), "{error}");
            assert_eq!(error.store_fault(), Some(&StoreFault::Cut));
        }
    }
}

#[test]
fn an_object_comes_before_a_prefix_but_for_a_slash() {
    let bucket = Arc::new(Bucket::default());
    bucket.add("visits", "n\n1\n");
    bucket.add("visits/a b%2F/k=50%25/x.csv", "n\n2\n3\n");
    let rows = |path, is_folder| open_in(&bucket, path, is_folder).unwrap().text_of(&[0]).unwrap()[0].len();
    assert_eq!((rows("visits", false), rows("visits", true)), (1, 2));
    let whole = open_in(&bucket, "visits/a b%2F", false).unwrap();
    assert_eq!(whole.text_of(&[1]).unwrap()[0], [Some("50%".to_owned()), Some("50%".to_owned())]);
    for (path, is_folder) in [("nothing", false), ("visit", true)] {
        let error = open_in(&bucket, path, is_folder).unwrap_err();
        assert_eq!(error.code(), "HUSH-D040");
        assert!(error.to_string().contains(&format!("s3://lake/{path}")), "{error}");
    }
    bucket.add("empty/x.csv", "");
    let error = open_in(&bucket, "empty", true).unwrap_err();
    assert_eq!(error.to_string(), "x.csv: the file is empty");
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    bucket.add("mixed/a.csv", "t\nx\n");
    bucket.add("mixed/b.csv", write(vec![("t", texts)], 10));
    assert_eq!(open_in(&bucket, "mixed", true).unwrap_err().code(), "HUSH-D041");
}
