// SPDX-License-Identifier: Apache-2.0
//! The last step of every query: decrypted groups or rows become the result with an ordinary query engine,
//! which evaluates expressions on aggregates, HAVING, ORDER BY and LIMIT.

pub(crate) mod joint;
pub(crate) mod moments;
mod picked;
pub(crate) mod quantile;

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::datasource::MemTable;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use hush_exec::coerce::{self, MixedWidths, SettleTypes, faithful_rules};
use hush_plan::sql::shown_name;

use self::picked::Picked;
use crate::error::ClientError;

/// The column of row numbers, in tables of rows.
pub(crate) const ROW: &str = "row";

/// Runs `sql` over the one table `merged`.
///
/// # Errors
/// [`ClientError::Finish`] if the engine refuses the expression (for instance a division by zero).
pub(crate) fn finish(merged: RecordBatch, sql: &str) -> Result<Vec<RecordBatch>, ClientError> {
    let found = match Picked::read(sql, &merged.schema()) {
        Some(picked) => vec![picked.of(&merged)?],
        None => by_engine(merged, sql)?,
    };
    found.into_iter().map(|batch| Ok(named(batch)?)).collect()
}

/// The batch with the names that its columns have in the question.
fn named(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    if schema.fields().iter().all(|field| shown_name(field.name()) == field.name()) {
        return Ok(batch);
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_name(shown_name(field.name())))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), batch.columns().to_vec(), &options)
}

fn by_engine(merged: RecordBatch, sql: &str) -> Result<Vec<RecordBatch>, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    // Rules and functions are the same for all queries: making them anew takes longer than most results.
    static COMMON: LazyLock<SessionState> = LazyLock::new(common);
    let context = without_tables(&COMMON);
    // Rows come in the order of the table, and need not be sorted by it again.
    let order = merged.column_by_name(ROW).map(|_| vec![col(ROW).sort(true, false)]);
    let table = MemTable::try_new(merged.schema(), vec![vec![merged]])?;
    context.register_table("merged", Arc::new(table.with_sort_order(order.into_iter().collect())))?;
    let batches = runtime.block_on(async {
        let frame = context.sql(sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        let mut batches = frame.collect().await?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok::<_, datafusion::error::DataFusionError>(batches)
    })?;
    Ok(batches)
}

/// A context of these rules, functions and options, for the tables of one query.
pub(crate) fn without_tables(common: &SessionState) -> SessionContext {
    let tables = Arc::new(MemoryCatalogProviderList::new());
    let config = common.config().clone().with_create_default_catalog_and_schema(true);
    let state = SessionStateBuilder::new_from_existing(common.clone());
    SessionContext::new_with_state(state.with_config(config).with_catalog_list(tables).build())
}

/// Rules, functions and options.
pub(crate) fn common() -> SessionState {
    let mut config = SessionConfig::new().with_target_partitions(1).with_information_schema(false);
    // `SUM(money) * 1.19` is money.
    config.options_mut().sql_parser.parse_float_as_decimal = true;
    let mut builder = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_analyzer_rules(SettleTypes::first())
        .with_optimizer_rules(faithful_rules());
    // Of two functions with one name the later is taken.
    builder.aggregate_functions().get_or_insert_default().extend(moments::functions());
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(MixedWidths));
    builder.scalar_functions().get_or_insert_default().extend(coerce::functions());
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array};
    use arrow::datatypes::{Float64Type, i256};
    use arrow::util::display::array_value_to_string;

    /// Small differences of large numbers, moving frames, a number that dwarfs the others while it is in the frame.
    #[test]
    fn variances_over_windows_are_exact() {
        let near = |units: i64| (1i64 << 60) + units;
        let values =
            Int64Array::from(vec![Some(near(1)), Some(near(2)), None, Some(near(3)), Some(-near(0))]);
        let money: Decimal128Array =
            values.iter().map(|v| v.map(|v| i128::from(v) * 100_000_000_007)).collect();
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]))),
            ("x", Arc::new(values)),
            ("m", Arc::new(money.with_precision_and_scale(38, 2).unwrap())),
        ];
        let table = RecordBatch::try_from_iter(columns).unwrap();
        let ask = |sql: &str| -> Vec<Option<f64>> {
            let batches = finish(table.clone(), &format!("SELECT {sql} FROM merged ORDER BY id")).unwrap();
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Float64Type>().iter()).collect()
        };
        let frame = "OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)";
        let expected = [Some(0.0), Some(0.25), Some(0.25), Some(2.0 / 3.0)];
        assert_eq!(ask(&format!("VAR_POP(x) {frame}"))[..4], expected);
        // The large number comes first and leaves.
        let backwards = "OVER (ORDER BY id DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)";
        assert_eq!(ask(&format!("VAR_SAMP(x) {backwards}"))[..2], [Some(0.5), Some(0.5)]);
        assert_eq!(ask(&format!("STDDEV_SAMP(x) {frame}"))[0], None);
        let unit = 1_000_000_000.07f64;
        assert_eq!(ask(&format!("STDDEV_POP(m) {frame}"))[1], Some(unit / 2.0));
        assert_eq!(ask("STDDEV(x) OVER (PARTITION BY id % 2)")[1], Some(0.5f64.sqrt()));
        // Of 1, 2, 3 and of what is left when -2^60 has gone; of neighbours beyond 2^53.
        assert_eq!(
            ask("SKEWNESS(x) OVER (ORDER BY id DESC ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)")[0],
            Some(0.0)
        );
        assert_eq!(ask("KURTOSIS_POP(m) OVER (PARTITION BY id < 5)")[..4], [Some(-1.5); 4]);
        assert_eq!(ask("KURTOSIS(x) OVER (PARTITION BY id < 5)")[..4], [None; 4]);
    }

    /// Every aggregate that the planner lets stand over a window is known here, of integers and of doubles.
    #[test]
    fn every_aggregate_of_windows_is_known() {
        let columns: [(&str, ArrayRef); 2] = [
            ("x", Arc::new(Int64Array::from(vec![1, 2, 4, 9]))),
            ("f", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0, 9.0]))),
        ];
        let table = RecordBatch::try_from_iter(columns).unwrap();
        for name in hush_plan::plan::window_aggregates() {
            let sql = format!("SELECT {name}(x) OVER () AS a, {name}(f) OVER () AS b FROM merged");
            let batches = finish(table.clone(), &sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            let value = |column: usize| {
                let values =
                    arrow::compute::cast(batches[0].column(column), &arrow::datatypes::DataType::Float64);
                values.unwrap().as_primitive::<Float64Type>().value(0)
            };
            assert!((value(0) - value(1)).abs() < 1e-12, "{name}: {} {}", value(0), value(1));
        }
    }

    /// One row: `a0` = 12345678901234567890123.25, `a1` = 0.1 (a double), `a2` NULL, `a3` = 7, `a4` = 10^40 + 1 (256 bits).
    fn answer(sql: &str) -> Vec<String> {
        let money = Decimal128Array::from(vec![1_234_567_890_123_456_789_012_325]);
        let long =
            i256::from_i128(10_i128.pow(38)).wrapping_mul(i256::from_i128(100)).wrapping_add(i256::ONE);
        let long = Decimal256Array::from(vec![Some(long)]);
        let columns: [(&str, ArrayRef); 5] = [
            ("a0", Arc::new(money.with_precision_and_scale(38, 2).unwrap())),
            ("a1", Arc::new(Float64Array::from(vec![0.1]))),
            ("a2", Arc::new(Int64Array::from(vec![None]))),
            ("a3", Arc::new(Int64Array::from(vec![7]))),
            ("a4", Arc::new(long.with_precision_and_scale(76, 0).unwrap())),
        ];
        let batches = finish(RecordBatch::try_from_iter(columns).unwrap(), sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let column = |batch: &RecordBatch| array_value_to_string(batch.column(0), 0).unwrap();
        batches.iter().filter(|batch| batch.num_rows() > 0).map(column).collect()
    }

    #[test]
    fn numbers_of_different_kinds_meet_without_loss() {
        for (expression, expected) in [
            ("a0 * 1.5", "18518518351851851835184.875"),
            ("a0 > 1e22", "true"),
            ("a0 > 12345678901234567890123.24", "true"),
            ("a0 > a1", "true"),
            ("a1 = 0.1", "true"),
            ("a1 IN (0.1, 5)", "true"),
            ("a1 BETWEEN 0.1 AND 0.2", "true"),
            ("a1 * 3.5", "0.35000000000000003"),
            ("COALESCE(a0, 0.0)", "12345678901234567890123.25"),
            ("CASE WHEN a3 > 1 THEN a1 ELSE a0 END", "0.1"),
            ("CASE WHEN a3 > 1 THEN 1 ELSE 2.5 END + 1", "2.0"),
            ("0 * a2", ""),
            ("a4 * a0", "123456789012345678901232500000000000000012345678901234567890123.25"),
            ("a3 * a4 - a4", "60000000000000000000000000000000000000006"),
            ("0.5 + a4", "10000000000000000000000000000000000000001.5"),
            ("a4 % 10", "1"),
            ("a4 * a1 > 0", "true"),
            ("a4 > a0", "true"),
            ("a2 NOT IN (1) OR a2 NOT IN (2)", ""),
            ("a3 % NULLIF(0, 0)", ""),
            ("ROUND(a1, 3)", "0.1"),
            ("ROUND(a0, 1)", "12345678901234567890123.30"),
            ("POWER(a3, 0.5)", "2.6457513110645907"),
            ("LOG(2, 8.5)", "3.0874628412503395"),
        ] {
            let found = answer(&format!("SELECT {expression} AS v FROM merged ORDER BY a0"));
            assert_eq!(found, [expected], "{expression}");
        }
        assert!(answer("SELECT a3 FROM merged WHERE a0 < 1000.5 OR a1 > 0.1").is_empty());
    }
}
