// SPDX-License-Identifier: Apache-2.0
//! The clear files of a table as the query engine scans them: exactly those of the manifest, in its order, each as often as it is
//! named. Parts are named by their content, so parts whose clear columns are the same share a file; the engine's own
//! listing of files takes a file once however often it is named.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use object_store::ObjectMeta;
use object_store::path::Path;

use super::session;

/// Files of one schema, in row order.
#[derive(Debug)]
pub(super) struct ClearFiles {
    schema: SchemaRef,
    files: Vec<PartitionedFile>,
}

impl ClearFiles {
    /// `files`: place in the store and length in bytes of each part's file.
    pub(super) fn new(schema: SchemaRef, files: Vec<(Path, u64)>) -> Self {
        // When a file was changed is looked at elsewhere ([`crate::table::Snapshot::verify_clear`]).
        let meta = |(location, size)| ObjectMeta {
            location,
            last_modified: Default::default(),
            size,
            e_tag: None,
            version: None,
        };
        Self { schema, files: files.into_iter().map(meta).map(PartitionedFile::new_from_meta).collect() }
    }
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
        let format = session::file_format();
        let source = format.file_source(TableSchema::from(self.schema.clone()));
        // Runs of neighbours: one group alone keeps the order of the rows.
        let of_group = self.files.len().div_ceil(state.config().target_partitions()).max(1);
        let groups = self.files.chunks(of_group).map(|files| FileGroup::new(files.to_vec()));
        let scan = FileScanConfigBuilder::new(ObjectStoreUrl::parse(session::STORE_URL)?, source)
            .with_file_groups(groups.collect())
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        format.create_physical_plan(state, scan).await
    }
}
