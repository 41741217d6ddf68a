// SPDX-License-Identifier: Apache-2.0
//! The clear files of a table as the query engine scans them: exactly those of the manifest, in its order, each as often as
//! the manifest names it. Files are named by their content, so parts with the same clear columns share a file. The engine's
//! own listing would take such a file once.
//!
//! The engine reads them through [`ClearPart`], which checks every byte against the digest in the manifest. No time passes
//! between check and use, so a file cannot change in between.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::{ParquetFileReaderFactory, ParquetRowSelection};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderOptions, RowSelection, RowSelector};
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use hush_table::{ClearPart, DeadRows, FileKind, SignedManifest, TableError, TableStore};
use object_store::ObjectMeta;
use tokio::task::{JoinHandle, spawn_blocking};

use super::session;
use crate::living::{DeadLists, Living};
use crate::parts::PartSet;

/// The clear files of some parts of a table version, in row order, without deleted rows.
#[derive(Debug)]
pub(super) struct ClearFiles {
    schema: SchemaRef,
    files: Vec<PartitionedFile>,
    readers: Arc<Readers>,
    dead: Arc<DeadLists>,
}

/// Opens clear parts for the query engine.
#[derive(Clone, Debug)]
struct Readers {
    store: TableStore,
    manifest: Arc<SignedManifest>,
}

/// The index in the manifest of a file's part.
#[derive(Clone, Copy, Debug)]
struct PartIndex(usize);

/// One part as the query engine reads it.
struct Reader {
    readers: Readers,
    index: usize,
    part: OnceLock<Arc<ClearPart>>,
}

impl ClearFiles {
    pub(super) fn new(
        schema: SchemaRef,
        store: TableStore,
        manifest: Arc<SignedManifest>,
        parts: &PartSet,
        dead: Arc<DeadLists>,
    ) -> Self {
        let of_parts = |(index, _): &(usize, _)| u32::try_from(*index).is_ok_and(|part| parts.contains(part));
        let parts = manifest.manifest().parts.iter().enumerate().filter(of_parts);
        let files = parts.filter_map(|(index, entry)| {
            let file = entry.clear?;
            let meta = ObjectMeta {
                location: store.part_path(FileKind::Clear, &file.digest),
                last_modified: Default::default(),
                size: file.bytes,
                e_tag: None,
                version: None,
            };
            Some(PartitionedFile::new_from_meta(meta).with_extension(PartIndex(index)))
        });
        let files = files.collect();
        Self { schema, files, readers: Arc::new(Readers { store, manifest }), dead }
    }

    /// The files, each with the rows of it that count.
    async fn living(&self) -> Result<Vec<PartitionedFile>> {
        let entries = &self.readers.manifest.manifest().parts;
        let dead_of = |file: &PartitionedFile| {
            let index = file.extension::<PartIndex>().map_or(usize::MAX, |index| index.0);
            entries.get(index).filter(|entry| entry.dead.is_some()).cloned()
        };
        let lists = self.files.iter().map(|file| {
            let (lists, entry) = (self.dead.clone(), dead_of(file)?);
            let read = move || lists.living(&entry);
            Some(if self.dead.is_remote() {
                Either::Remote(spawn_blocking(read))
            } else {
                Either::Here(read())
            })
        });
        // All requests are under way before the first answer is waited for.
        let lists: Vec<_> = lists.collect();
        let mut files = Vec::with_capacity(self.files.len());
        for (file, list) in self.files.iter().zip(lists) {
            let living = match list {
                None => None,
                Some(Either::Here(living)) => Some(living),
                Some(Either::Remote(living)) => Some(living.await.map_err(|gone| external(Box::new(gone)))?),
            };
            let living = living.transpose().map_err(|cause| external(Box::new(cause)))?;
            let file = file.clone();
            files.push(match living.as_ref().and_then(Living::dead) {
                Some(dead) => file.with_extension(ParquetRowSelection::new(selection(dead))),
                None => file,
            });
        }
        Ok(files)
    }
}

/// A list that is at hand, or on its way.
enum Either {
    Here(std::result::Result<Living, TableError>),
    Remote(JoinHandle<std::result::Result<Living, TableError>>),
}

/// The rows that are not deleted, as the query engine selects rows of a file.
fn selection(dead: &DeadRows) -> RowSelection {
    let runs = dead.runs().into_iter();
    let selectors =
        runs.map(|(lives, rows)| if lives { RowSelector::select(rows) } else { RowSelector::skip(rows) });
    RowSelection::from(selectors.collect::<Vec<_>>())
}

fn external(cause: Box<dyn std::error::Error + Send + Sync>) -> DataFusionError {
    DataFusionError::External(cause)
}

#[async_trait]
impl TableProvider for ClearFiles {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let source = ParquetSource::new(TableSchema::from(self.schema.clone()))
            .with_table_parquet_options(session::parquet_options())
            .with_parquet_file_reader_factory(self.readers.clone());
        let files = self.living().await?;
        // Groups are runs of neighbouring files. A single group keeps the order of the rows.
        let of_group = files.len().div_ceil(state.config().target_partitions()).max(1);
        let groups = files.chunks(of_group).map(|files| FileGroup::new(files.to_vec()));
        let url = ObjectStoreUrl::parse(session::STORE_URL)?;
        let scan = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file_groups(groups.collect())
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(scan))
    }
}

impl ParquetFileReaderFactory for Readers {
    fn create_reader(
        &self,
        _partition: usize,
        file: PartitionedFile,
        _metadata_bytes: Option<usize>,
        _metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        // A foreign file has no part: opening it is refused below.
        let index = file.extension::<PartIndex>().map_or(usize::MAX, |index| index.0);
        Ok(Box::new(Reader { readers: self.clone(), index, part: OnceLock::new() }))
    }
}

type Reading<'a, T> = Pin<Box<dyn Future<Output = ParquetResult<T>> + Send + 'a>>;

impl Reader {
    /// Runs `read` on the part. Local files are read right here. A read that is a request runs on a thread that may block.
    async fn with_part<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ClearPart) -> std::io::Result<T> + Send + 'static,
    ) -> ParquetResult<T> {
        let (readers, index, known) = (self.readers.clone(), self.index, self.part.get().cloned());
        let work = move || -> ParquetResult<(T, Arc<ClearPart>)> {
            let part = match known {
                Some(part) => part,
                None => Arc::new(readers.open(index).map_err(unreadable)?),
            };
            let found = read(&part).map_err(|cause| unreadable(part.failed(cause)));
            Ok((found?, part))
        };
        let (found, part) = if self.readers.store.is_directory() {
            work()?
        } else {
            let gone = |cause| ParquetError::External(Box::new(cause));
            spawn_blocking(work).await.map_err(gone)??
        };
        let _ = self.part.set(part);
        Ok(found)
    }
}

impl Readers {
    fn open(&self, index: usize) -> std::result::Result<ClearPart, TableError> {
        let manifest = self.manifest.manifest();
        let missing = || TableError::PartMissing { name: format!("{:?}", FileKind::Clear) };
        self.store.open_clear(manifest, manifest.parts.get(index).ok_or_else(missing)?)
    }
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> Reading<'_, Bytes> {
        Box::pin(self.with_part(move |part| part.source().read(range)))
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> Reading<'_, Vec<Bytes>> {
        Box::pin(self.with_part(move |part| part.source().read_ranges(&ranges)))
    }

    fn get_metadata<'a>(
        &'a mut self,
        _options: Option<&'a ArrowReaderOptions>,
    ) -> Reading<'a, Arc<ParquetMetaData>> {
        Box::pin(self.with_part(|part| Ok(part.footer().clone())))
    }
}

fn unreadable(cause: TableError) -> ParquetError {
    ParquetError::External(Box::new(cause))
}
