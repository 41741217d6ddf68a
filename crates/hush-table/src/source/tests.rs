// SPDX-License-Identifier: Apache-2.0
//! Files written here, read back: dialect, types, refusals with their lines, damage.

use arrow::array::ArrayRef;
use hush_plan::schema::{ColumnType, UnitRange};

use super::*;

mod ahead;
mod arrays;
mod arrow_types;
mod batches;
mod csv;
mod dataset;
mod limits;
mod lookup;
mod objects;
mod parquet;
mod parquet_columns;

/// xorshift64*, so that a failing seed can be run again.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }
}

pub(super) fn column(name: &str, kind: ColumnType, protect: Protection) -> Column {
    let (purposes, reason, written) = (Vec::new(), String::new(), hush_plan::schema::Written::default());
    Column {
        name: name.to_owned(),
        kind,
        nullable: true,
        range: None,
        protect,
        join: None,
        purposes,
        reason,
        written,
    }
}

pub(super) fn schema(columns: Vec<Column>) -> Schema {
    Schema {
        table: "t".to_owned(),
        columns,
        null_tokens: vec![String::new(), "NA".to_owned()],
        max_rows: 1_000_000,
        approved: true,
        approved_by: String::new(),
        notes: Vec::new(),
        products: Vec::new(),
        moments: Vec::new(),
        cubes: Vec::new(),
        groups: Vec::new(),
        runs: Vec::new(),
        filters: Vec::new(),
        derived: Vec::new(),
        measures: Vec::new(),
        filter_factors: None,
        answer_keys: false,
        constant_keys: false,
        edge: false,
        erasable: false,
        allow: hush_plan::Shown::ALL,
        release: None,
    }
}

pub(super) fn open(text: impl AsRef<[u8]>) -> Result<Source, SourceError> {
    Source::from_bytes(Bytes::copy_from_slice(text.as_ref()), &OpenOptions::default())
}

/// All batches of a pass, checked for their sizes.
pub(super) fn batches(source: &Source, schema: &Schema) -> Result<Vec<RowBatch>, SourceError> {
    let all: Vec<RowBatch> = source.typed(schema)?.collect::<Result<_, _>>()?;
    let mut next = 0;
    for (i, batch) in all.iter().enumerate() {
        assert_eq!(batch.first_row, next);
        assert!(batch.rows == CHUNK_ROWS || (i + 1 == all.len() && batch.rows > 0));
        next += batch.rows as u64;
    }
    Ok(all)
}

/// Units of a column over all batches, `None` where missing; missing rows must hold 0.
pub(super) fn units(batches: &[RowBatch], position: usize) -> Vec<Option<i128>> {
    let mut all = Vec::new();
    for batch in batches {
        let Some(ColumnData::Units(column)) = &batch.columns[position] else { panic!("not units") };
        let values: Vec<i128> = match &column.values {
            Values::F64(_) => panic!("floats"),
            Values::I128(values) => values.clone(),
            Values::I64(values) => values.iter().map(|value| i128::from(*value)).collect(),
        };
        assert_eq!(values.len(), batch.rows);
        for (row, value) in values.into_iter().enumerate() {
            let valid = column.valid.as_ref().is_none_or(|valid| valid[row]);
            assert!(valid || value == 0);
            all.push(valid.then_some(value));
        }
    }
    all
}

pub(super) const INT: ColumnType = ColumnType::Int { bits: 64 };
pub(super) const MONEY: ColumnType = ColumnType::Decimal { precision: 12, scale: 2 };
