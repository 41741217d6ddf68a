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

use super::{central, logistic, order, product};
use crate::ExecError;
use crate::coerce::faithful_rules;

/// Scheme and host of the store in which the query engine believes clear files to be.
pub(crate) const STORE_URL: &str = "hush://store/";

/// The partitions over which a query spreads, one for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partitions {
    /// At most this many threads.
    Many(usize),
    /// One: for aggregates whose result depends on the order of additions.
    One,
}

/// Number of rows that is worth a thread of its own.
const ROWS_OF_A_THREAD: u64 = 1 << 16;

/// The query engine within one of our engines: it shares functions and rules with the process, and has its own memory.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    rules: &'static Rules,
    runtime: Arc<RuntimeEnv>,
}

/// The sessions that all queries of the process share, because making a new one takes longer than a small query.
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
            // The footer of a file is not believed for longer than one look at the file.
            .with_metadata_cache_limit(0)
            // Clear columns are clear, but a server that only reads should not write them elsewhere.
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled))
            .build_arc()
            .map_err(failed)?;
        let url =
            ObjectStoreUrl::parse(STORE_URL).map_err(|_| ExecError::Internal { place: "store address" })?;
        // Scans ask for a store but do not read from it: files are read through their table.
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

    /// The context in which a plan of [`Session::for_query`] runs. It has no functions: the plan's expressions have found theirs.
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
    aggregates.extend(order::functions());
    aggregates.push(logistic::aggregate());
    // Of two functions with one name the later is taken.
    let scalars = builder.scalar_functions().get_or_insert_default();
    scalars.extend(crate::coerce::functions());
    scalars.push(logistic::part());
    Ok(builder.build())
}

/// Options that read clear files whole. The engine's own pruning takes every cast for monotonic, and its bounds leave NaN out,
/// so it would lose matching rows. [`super::zones`] knows the sound conditions.
pub(crate) fn parquet_options() -> TableParquetOptions {
    let mut options = TableParquetOptions::default();
    options.global.pruning = false;
    options.global.enable_page_index = false;
    options.global.bloom_filter_on_read = false;
    options
}

/// Enough for the brackets that [`hush_plan::sql::check_expression`] lets pass, with the operators between them.
const PARSER_DEPTH: usize = 400;
