// SPDX-License-Identifier: Apache-2.0
//! The engine's plan of a question, over empty tables.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{Field, Schema as ArrowSchema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{LogicalPlan, TableScan};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use hush_encode::arrow_type;
use hush_exec::{logreg, logreg_part, ordered, products_of_rows};
use hush_plan::sql::several;
use hush_plan::{Protection, Schema};

use super::faults;
use super::groups::{Choice, grouped, has_come};
use super::narrowed::Narrowed;
use super::nulls::check_not_in;
use super::rules::exact_rules;
use super::scan::Scan;
use super::stated::{Stated, stated};
use crate::error::ClientError;
use crate::finish::joint::exact_joint;
use crate::finish::quantile::exact_quantile;
use crate::finish::{common, without_tables};
use crate::table::OwnedTable;

/// A planned question.
pub(super) struct Planned {
    pub(super) state: SessionState,
    /// The optimised plan. Its scans have no conditions left.
    pub(super) plan: LogicalPlan,
    /// The conditions that the question states.
    pub(super) stated: Stated,
    /// Its scans, in the order of [`LogicalPlan::transform_down_with_subqueries`].
    pub(super) scans: Vec<Scan>,
    /// Sentences that deserve attention.
    pub(super) notes: Vec<String>,
}

impl Planned {
    /// Plans `sql` over these tables, with groups in place of rows where something is gained by it.
    ///
    /// # Errors
    /// [`ClientError::Plan`]; [`ClientError::Tables`].
    pub(super) fn new(
        tables: &[&OwnedTable],
        sql: &str,
        choice: Choice<'_>,
    ) -> std::result::Result<Self, ClientError> {
        static COMMON: LazyLock<SessionState> = LazyLock::new(|| {
            let common = common();
            // Of an outer join whose sides were exchanged, this rule takes a condition on a column of one side for one on a column of the same
            // name on the other (DataFusion 55.2), and rows are lost. Tables in memory gain nothing by it.
            let is_sound = |rule: &&Arc<dyn PhysicalOptimizerRule + Send + Sync>| {
                !rule.name().starts_with("FilterPushdown")
            };
            let rules = common.physical_optimizers().iter().filter(is_sound).cloned().collect();
            let state = SessionStateBuilder::new_from_existing(common).with_physical_optimizer_rules(rules);
            let mut state = state.with_analyzer_rules(exact_rules());
            // Of two functions with one name the later is taken.
            let functions = ordered().into_iter().chain(products_of_rows());
            let functions = functions.chain([exact_joint(), exact_quantile(), logreg()]);
            state.aggregate_functions().get_or_insert_default().extend(functions);
            state.scalar_functions().get_or_insert_default().push(logreg_part());
            state.build()
        });
        let schemas: Vec<&Schema> = tables.iter().map(|table| table.schema()).collect();
        let several = several(&schemas, sql)?;
        let context = without_tables(&COMMON);
        for schema in &schemas {
            let name = TableReference::bare(schema.table.clone());
            context.register_table(name, Arc::new(EmptyTable::new(opened(schema))))?;
        }
        let state = context.state();
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let planned = runtime.block_on(async {
            let plan = state.create_logical_plan(&several.sql).await?;
            let plan = plan.transform_up_with_subqueries(|node| with_conditions(tables, node))?.data;
            let settled = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
            check_not_in(&settled)?;
            let stated = stated(&settled)?;
            let plan = state.optimizer().optimize(settled, &state, |_, _| {})?;
            // What the engine cannot run is refused before anything is asked.
            let tried = async |plan: LogicalPlan| {
                let (plan, scans) = without_conditions(plan, &stated)?;
                let trial = plan.clone().transform_up_with_subqueries(without_rows)?.data;
                state.query_planner().create_physical_plan(&trial, &state).await?;
                Ok::<_, DataFusionError>((plan, scans))
            };
            // Groups are a gain at best, and never a reason to refuse.
            let with_groups = async { tried(grouped(plan.clone(), &stated, choice)?).await };
            let (plan, scans) = match with_groups.await {
                Err(_) => tried(plan).await,
                tried => tried,
            }?;
            Ok((plan, scans, stated))
        });
        let (plan, scans, stated) = planned.map_err(|error| faults::of_plan(&error, &schemas))?;
        Ok(Self { state, plan, stated, scans, notes: several.notes })
    }
}

impl Planned {
    /// A part of the plan as a plan of its own.
    ///
    /// # Errors
    /// None but bugs.
    pub(super) fn part(&self, plan: LogicalPlan) -> std::result::Result<Self, ClientError> {
        let (plan, scans) = without_conditions(plan, &self.stated)?;
        let (state, stated) = (self.state.clone(), self.stated.clone());
        Ok(Self { state, plan, stated, scans, notes: Vec::new() })
    }
}

/// The columns of a table with nothing encrypted: what comes back of it, and its types.
pub(super) fn opened(schema: &Schema) -> SchemaRef {
    let opened = schema.all_clear();
    let columns = opened.columns.iter().filter(|column| column.protect == Protection::Clear);
    let fields = columns.map(|column| Field::new(&column.name, arrow_type(column.kind), true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// Scans that take conditions, of tables with these join keys.
fn with_conditions(tables: &[&OwnedTable], node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    Ok(match node {
        LogicalPlan::TableScan(scan) => {
            let name = scan.table_name.table();
            let table = tables.iter().find(|table| table.half.schema.table == name);
            let tokens = table.map(|table| Arc::clone(&table.keys.tokens)).unwrap_or_default();
            let source = Arc::new(Narrowed { schema: scan.source.schema(), tokens });
            Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan }))
        }
        other => Transformed::no(other),
    })
}

fn without_rows(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    Ok(match node {
        LogicalPlan::TableScan(scan) => {
            let source = provider_as_source(Arc::new(EmptyTable::new(scan.source.schema())));
            Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan }))
        }
        other => Transformed::no(other),
    })
}

/// Takes the conditions off the scans, which have them above too, and lists what is read.
pub(super) fn without_conditions(plan: LogicalPlan, stated: &Stated) -> Result<(LogicalPlan, Vec<Scan>)> {
    let mut scans = Vec::new();
    let plan = plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
        if has_come(&scan) {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        }
        scans.push(Scan::of(&scan, stated)?);
        let scan = TableScan { filters: Vec::new(), fetch: None, ..scan };
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok((plan.data, scans))
}
