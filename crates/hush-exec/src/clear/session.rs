// SPDX-License-Identifier: Apache-2.0
//! The query engine's session: no catalogue, no files but those that a query names, bounded memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use datafusion::config::{ConfigNonZeroUsize, Dialect, TableParquetOptions};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::prelude::SessionConfig;
use object_store::memory::InMemory;

use super::{central, product};
use crate::ExecError;
use crate::coerce::faithful_rules;

/// Scheme and host of the store in which the query engine believes clear files to be.
pub(crate) const STORE_URL: &str = "hush://store/";

/// How a query spreads over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partitions {
    /// As many as there are threads.
    Many(usize),
    /// One: for aggregates whose result depends on the order of additions.
    One,
}

/// Rows that are worth a thread of their own.
const ROWS_OF_A_THREAD: u64 = 1 << 16;

/// The query engine as one of our engines uses it: functions and rules of the process, memory of its own.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    rules: &'static Rules,
    runtime: Arc<RuntimeEnv>,
}

/// What all queries of the process share: making it anew takes longer than a small query.
#[derive(Debug)]
struct Rules {
    /// For as many threads as the machine has.
    whole: SessionState,
    /// For one thread.
    single: SessionState,
}

impl Session {
    /// A session whose queries take at most so many bytes together.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the query engine refuses its configuration.
    pub(crate) fn new(memory_bytes: usize) -> Result<Self, ExecError> {
        let failed = |_| ExecError::Internal { place: "query engine session" };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory_bytes)))
            // What a file's footer says is believed no longer than the file has been looked at.
            .with_metadata_cache_limit(0)
            // Clear columns are clear, but a server that only reads should not write them elsewhere.
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled))
            .build_arc()
            .map_err(failed)?;
        let url =
            ObjectStoreUrl::parse(STORE_URL).map_err(|_| ExecError::Internal { place: "store address" })?;
        // Asked for by scans, read by none: files are read through their table.
        runtime.register_object_store(url.as_ref(), Arc::new(InMemory::new()));
        static RULES: OnceLock<Rules> = OnceLock::new();
        let rules = match RULES.get() {
            Some(rules) => rules,
            None => {
                let rules = Rules::new()?;
                RULES.get_or_init(|| rules)
            }
        };
        Ok(Self { rules, runtime })
    }

    /// For expressions.
    pub(crate) fn state(&self) -> &SessionState {
        &self.rules.whole
    }

    /// For a query over a table of so many rows.
    pub(crate) fn for_query(&self, partitions: Partitions, rows: u64) -> Cow<'_, SessionState> {
        let worth = usize::try_from(rows.div_ceil(ROWS_OF_A_THREAD)).unwrap_or(usize::MAX);
        match partitions {
            Partitions::Many(threads) if threads.min(worth) > 1 => {
                let mut state = self.rules.whole.clone();
                state.config_mut().options_mut().execution.target_partitions = threads.min(worth);
                Cow::Owned(state)
            }
            _ => Cow::Borrowed(&self.rules.single),
        }
    }

    /// What a plan of [`Session::for_query`] runs in. Its expressions have found their functions already.
    pub(crate) fn task(&self, state: &SessionState) -> Arc<TaskContext> {
        let (id, config, runtime) = (String::new(), state.config().clone(), Arc::clone(&self.runtime));
        Arc::new(TaskContext::new(
            None,
            id,
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            runtime,
        ))
    }
}

impl Rules {
    fn new() -> Result<Self, ExecError> {
        let whole = common()?;
        let mut single = whole.clone();
        single.config_mut().options_mut().execution.target_partitions = 1;
        Ok(Self { whole, single })
    }
}

/// Rules, functions and options.
fn common() -> Result<SessionState, ExecError> {
    let failed = |_| ExecError::Internal { place: "query engine session" };
    let mut config =
        SessionConfig::new().with_information_schema(false).with_create_default_catalog_and_schema(false);
    let options = config.options_mut();
    options.sql_parser.dialect = Dialect::Generic;
    options.sql_parser.recursion_limit = ConfigNonZeroUsize::try_new(PARSER_DEPTH).map_err(failed)?;
    // Money must not pass through a double on its way from the text to the column.
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.execution.parquet.schema_force_view_types = false;
    options.execution.parquet.pushdown_filters = false;
    options.execution.collect_statistics = false;
    options.execution.time_zone = Some("+00:00".to_owned());
    let mut builder = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_optimizer_rules(faithful_rules());
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    aggregates.extend(product::functions());
    aggregates.extend(central::functions());
    // The later one of a name is taken.
    builder.scalar_functions().get_or_insert_default().extend(crate::coerce::functions());
    Ok(builder.build())
}

/// How clear files are read: whole. The engine's own pruning takes every cast for monotonic and its bounds leave NaN out, so
/// that rows that match are lost; [`super::zones`] knows which terms may be asked about.
pub(crate) fn parquet_options() -> TableParquetOptions {
    let mut options = TableParquetOptions::default();
    options.global.pruning = false;
    options.global.enable_page_index = false;
    options.global.bloom_filter_on_read = false;
    options
}

/// More than the brackets that [`hush_plan::sql::check_expression`] lets pass need with the operators between them.
const PARSER_DEPTH: usize = 400;
