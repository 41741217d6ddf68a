// SPDX-License-Identifier: Apache-2.0
//! The same sums with and without decimals for each row, on random tables: with NULLs, the largest and smallest integers, groups
//! without values, no rows, several batches and threads.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, UInt64Array,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Schema;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlanBuilder, TableSource, col};
use hush_testkit::Draw;

use super::*;
use crate::Stop;
use crate::clear::evaluation_error;
use crate::clear::scalar::Scope;
use crate::clear::session::{Partitions, Session};
use crate::error::{ExecError, ExpressionRole};

/// Sums as plans write them, and as people do; all become native.
const NATIVE: [&str; 16] = [
    "SUM(CAST(a AS DECIMAL(38,0)))",
    "SUM(a)",
    "SUM(c)",
    "SUM(CAST(CAST(e AS INT) AS DECIMAL(38,0)))",
    "SUM(CAST(CAST(f AS INT) AS DECIMAL(38,0)))",
    "SUM(CAST(CAST(d AS DECIMAL(38,2)) * CAST('100' AS DECIMAL(38,0)) AS DECIMAL(38,0)))",
    "SUM((CAST(a AS DECIMAL(38,0)) * CAST(b AS DECIMAL(38,0)))::DECIMAL(38,0))",
    "SUM((CAST(b AS DECIMAL(38,0)) * CAST(b AS DECIMAL(38,0)))::DECIMAL(38,0))",
    "SUM((CAST(b AS DECIMAL(38,0)) * CAST(CAST(d AS DECIMAL(38,2)) * CAST('100' AS DECIMAL(38,0)) AS DECIMAL(38,0)))::DECIMAL(38,0))",
    "SUM((CAST(CAST(e AS INT) AS DECIMAL(38,0)) * CAST(c AS DECIMAL(38,0)))::DECIMAL(38,0))",
    "SUM(b * b)",
    "SUM(CASE WHEN c > 3 THEN CAST(a AS DECIMAL(38,0)) END)",
    "SUM(CASE WHEN d IS NOT NULL THEN (CAST(b AS DECIMAL(38,0)) * CAST(c AS DECIMAL(38,0)))::DECIMAL(38,0) END)",
    "SUM(a) FILTER (WHERE c > 3)",
    "SUM(CASE WHEN c > 3 THEN a ELSE 7 END)",
    "SUM(b) FILTER (WHERE e)",
];

/// Sums that stay as they are: other types, lost digits, casts that may fail, repeated values.
const LEFT: [&str; 9] = [
    "SUM(CAST(u AS DECIMAL(38,0)))",
    "SUM(w)",
    "SUM(d)",
    "SUM(CAST(d AS DECIMAL(38,0)))",
    "SUM(CAST(CAST(d AS DECIMAL(38,2)) * CAST('1000' AS DECIMAL(38,0)) AS DECIMAL(38,0)))",
    "SUM(DISTINCT CAST(a AS DECIMAL(38,0)))",
    "SUM((CAST(b AS DECIMAL(38,0)) + CAST(c AS DECIMAL(38,0)))::DECIMAL(38,0))",
    "SUM(CASE WHEN c <> 0 THEN (CAST(b AS DECIMAL(38,0)) * CAST(b / c AS DECIMAL(38,0)))::DECIMAL(38,0) END)",
    "MAX(CAST(a AS DECIMAL(38,0)))",
];

struct Table {
    state: SessionState,
    schema: DFSchema,
    source: Arc<dyn TableSource>,
    /// The session of small tables, and the rows in one partition.
    small: (SessionState, Arc<dyn TableSource>),
}

impl Table {
    /// Batches of random rows in `partitions` partitions.
    fn random(draw: &mut Draw, rows: usize, partitions: usize) -> Self {
        let batches: Vec<Vec<RecordBatch>> =
            (0..partitions).map(|_| (0..1 + draw.below(3)).map(|_| batch(draw, rows)).collect()).collect();
        Self::new(batches)
    }

    fn new(batches: Vec<Vec<RecordBatch>>) -> Self {
        let schema = batches[0][0].schema();
        let source =
            |batches| provider_as_source(Arc::new(MemTable::try_new(schema.clone(), batches).unwrap()));
        let (one, source) = (source(vec![batches.concat()]), source(batches));
        let session = Session::new(1 << 28).unwrap();
        let state = session.for_query(Partitions::Many(3), u64::MAX).into_owned();
        let small = (session.for_query(Partitions::Many(3), 1).into_owned(), one);
        let schema = DFSchema::try_from(schema.as_ref().clone()).unwrap();
        Self { state, schema, source, small }
    }

    fn parse(&self, text: &str) -> Expr {
        let stop = Stop::never();
        let scope = Scope { state: &self.state, schema: &self.schema, stop: &stop };
        scope.aggregate(ExpressionRole::Clear(0), text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The sum for all rows, or for each `k` in order; the same in the session of a small table.
    fn ask(&self, sum: Expr, is_grouped: bool) -> Result<RecordBatch, ExecError> {
        let found = Self::ask_in(&self.state, &self.source, sum.clone(), is_grouped);
        let small = Self::ask_in(&self.small.0, &self.small.1, sum, is_grouped);
        assert_eq!(small.as_ref().ok(), found.as_ref().ok());
        found
    }

    fn ask_in(
        state: &SessionState,
        source: &Arc<dyn TableSource>,
        sum: Expr,
        is_grouped: bool,
    ) -> Result<RecordBatch, ExecError> {
        let key = is_grouped.then(|| col("k"));
        let plan = LogicalPlanBuilder::scan("t", source.clone(), None)
            .and_then(|plan| plan.aggregate(key.clone(), [sum.alias("a0")]))
            .and_then(|plan| match key {
                Some(key) => plan.sort([key.sort(true, true)])?.build(),
                None => plan.build(),
            })
            .unwrap();
        let frame = DataFrame::new(state.clone(), plan);
        let schema: Arc<Schema> = Arc::new(frame.schema().as_arrow().clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = runtime.block_on(frame.collect()).map_err(|error| evaluation_error(&error))?;
        Ok(concat_batches(&batches.first().map_or(schema, RecordBatch::schema), &batches).unwrap())
    }
}

fn batch(draw: &mut Draw, rows: usize) -> RecordBatch {
    let rows = draw.below(rows + 1);
    let mut missing = |one_of: usize| -> Vec<bool> { (0..rows).map(|_| draw.below(one_of) == 0).collect() };
    let (key, some, many) = (missing(9), missing(4), missing(40));
    let mut integers = |small: bool| -> Vec<i64> {
        let one = |_| match (small, draw.below(12)) {
            (false, 0) => i64::MIN,
            (false, 1) => i64::MAX,
            (_, 2) => 0,
            (true, _) => draw.below(2_000_000_001) as i64 - 1_000_000_000,
            (false, _) => draw.word() as i64,
        };
        (0..rows).map(one).collect()
    };
    let (a, b, c, w) = (integers(false), integers(true), integers(true), integers(false));
    let present = |values: &[i64], missing: &[bool]| -> Vec<Option<i64>> {
        values.iter().zip(missing).map(|(value, missing)| (!missing).then_some(*value)).collect()
    };
    let narrow = |values: &[i64], missing: &[bool]| {
        present(values, missing).into_iter().map(|v| v.map(|v| (v % 20) as i32))
    };
    let decimal = Decimal128Array::from_iter(present(&b, &some).into_iter().map(|v| v.map(i128::from)));
    let wide = Decimal128Array::from_iter(w.iter().map(|v| Some(i128::from(*v))));
    let keys = present(&c, &key).into_iter().map(|v| v.map(|v| v.rem_euclid(7)));
    // A group without any value.
    let a: Vec<Option<i64>> =
        present(&a, &many).into_iter().zip(&c).map(|(a, c)| a.filter(|_| c.rem_euclid(7) != 3)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(keys.collect::<Int64Array>())),
        ("a", Arc::new(Int64Array::from(a))),
        ("b", Arc::new(Int64Array::from(b.clone()))),
        ("c", Arc::new(narrow(&c, &some).collect::<Int32Array>())),
        ("d", Arc::new(decimal.with_precision_and_scale(12, 2).unwrap())),
        ("e", Arc::new(present(&b, &many).into_iter().map(|v| v.map(|v| v > 0)).collect::<BooleanArray>())),
        ("f", Arc::new(narrow(&b, &many).collect::<Date32Array>())),
        ("u", Arc::new(UInt64Array::from_iter_values(w.iter().map(|v| *v as u64)))),
        ("w", Arc::new(wide.with_precision_and_scale(38, 0).unwrap())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn is_native(expr: &Expr) -> bool {
    expr.exists(|node| Ok(matches!(node, Expr::AggregateFunction(call) if call.func.name() == "exact_sum")))
        .unwrap()
}

#[test]
fn sums_are_the_same_with_and_without_decimals() {
    let mut draw = Draw::new();
    for round in 0..12 {
        let table = Table::random(&mut draw, [0, 1, 70, 3000][round % 4], 1 + round % 3);
        for text in NATIVE {
            let plain = table.parse(text);
            let rewritten = native(plain.clone(), &table.schema).unwrap();
            assert!(is_native(&rewritten), "{text}: {rewritten}");
            for is_grouped in [false, true] {
                let expected = table.ask(plain.clone(), is_grouped).unwrap();
                let found = table.ask(rewritten.clone(), is_grouped).unwrap();
                assert_eq!(found, expected, "{draw}: {text}, round {round}, grouped: {is_grouped}");
            }
        }
    }
}

#[test]
fn other_aggregates_stay_as_they_are() {
    let table = Table::random(&mut Draw::new(), 10, 1);
    for text in LEFT {
        let plain = table.parse(text);
        let rewritten = native(plain.clone(), &table.schema).unwrap();
        assert_eq!(rewritten, plain, "{text}");
    }
}

/// Nothing is wrapped around: two squares of 2^126 are more than 128 bits hold.
#[test]
fn an_overflow_is_an_error() {
    let value: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN; 4]));
    let key: ArrayRef = Arc::new(Int64Array::from(vec![1; 4]));
    let batch = RecordBatch::try_from_iter([("a", value), ("k", key)]).unwrap();
    let square = "SUM((CAST(a AS DECIMAL(38,0)) * CAST(a AS DECIMAL(38,0)))::DECIMAL(38,0))";
    let one = Table::new(vec![vec![batch.slice(0, 1)]]);
    // Within a batch, and where the sums of partitions meet.
    let within = Table::new(vec![vec![batch.slice(0, 2)]]);
    let between = Table::new((0..4).map(|row| vec![batch.slice(row, 1)]).collect());
    for is_grouped in [false, true] {
        let ask = |table: &Table| table.ask(native(table.parse(square), &table.schema).unwrap(), is_grouped);
        assert_eq!(ask(&one).unwrap(), one.ask(one.parse(square), is_grouped).unwrap());
        for table in [&within, &between] {
            let failed = ask(table).unwrap_err();
            let expected = ExecError::Evaluation { role: ExpressionRole::ClearHalf };
            assert_eq!(failed.to_string(), expected.to_string(), "grouped: {is_grouped}");
        }
    }
}
