// SPDX-License-Identifier: Apache-2.0
//! Rows on their way from parts to chunks: typed as a source's rows are, without the deleted ones, and cut anew.

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, filter};
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};

use crate::error::ClientError;

/// Consecutive rows of some parts, waiting to fill chunks.
pub(super) struct Gathered {
    /// What has come and gone before.
    first_row: u64,
    rows: usize,
    columns: Vec<Column>,
}

/// The rows of a column that wait.
enum Column {
    Nothing,
    Arrays(Vec<ArrayRef>),
    Units(TypedColumn),
}

impl Gathered {
    /// No rows, of columns that are not known before the first come.
    pub(super) fn new() -> Self {
        Self { first_row: 0, rows: 0, columns: Vec::new() }
    }

    /// Rows that wait.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes rows that stand behind those so far.
    ///
    /// # Errors
    /// None but bugs: all rows of a table have the same columns.
    pub(super) fn take(&mut self, batch: RowBatch) -> Result<(), ClientError> {
        if self.columns.is_empty() {
            self.columns = batch.columns.iter().map(|_| Column::Nothing).collect();
        }
        let before = self.rows;
        for (column, came) in self.columns.iter_mut().zip(batch.columns) {
            column.take(came, before)?;
        }
        self.rows += batch.rows;
        Ok(())
    }

    /// The first `rows` of those that wait; fewer if there are not so many.
    ///
    /// # Errors
    /// None but bugs.
    pub(super) fn cut(&mut self, rows: usize) -> Result<RowBatch, ClientError> {
        let rows = rows.min(self.rows);
        let columns = self.columns.iter_mut().map(|column| column.cut(rows)).collect::<Result<_, _>>()?;
        let first_row = self.first_row;
        self.first_row += rows as u64;
        self.rows -= rows;
        Ok(RowBatch { first_row, rows, columns })
    }
}

impl Column {
    /// Takes more rows behind the `before` that wait.
    fn take(&mut self, came: Option<ColumnData>, before: usize) -> Result<(), ClientError> {
        match (self, came) {
            (_, None) => {}
            (Self::Arrays(arrays), Some(ColumnData::Array(array))) => arrays.push(array),
            (Self::Units(column), Some(ColumnData::Units(more))) => extend(column, more, before)?,
            (nothing @ Self::Nothing, Some(ColumnData::Array(array))) => *nothing = Self::Arrays(vec![array]),
            (nothing @ Self::Nothing, Some(ColumnData::Units(units))) => *nothing = Self::Units(units),
            _ => return Err(ClientError::Internal { what: "a column changes its form between chunks" }),
        }
        Ok(())
    }

    fn cut(&mut self, rows: usize) -> Result<Option<ColumnData>, ClientError> {
        Ok(match self {
            Self::Nothing => None,
            Self::Arrays(arrays) => Some(ColumnData::Array(first_of(arrays, rows)?)),
            Self::Units(column) => {
                let rest = split(&mut column.values, rows);
                let valid = column.valid.as_mut().map(|valid| valid.split_off(rows.min(valid.len())));
                let rest = TypedColumn { values: rest, valid };
                Some(ColumnData::Units(std::mem::replace(column, rest)))
            }
        })
    }
}

/// Takes the first rows of arrays that follow each other into one.
fn first_of(arrays: &mut Vec<ArrayRef>, rows: usize) -> Result<ArrayRef, ClientError> {
    let (mut taken, mut left) = (Vec::new(), rows);
    let mut rest = Vec::new();
    for array in arrays.drain(..) {
        let here = left.min(array.len());
        if here > 0 || (rows == 0 && taken.is_empty()) {
            taken.push(array.slice(0, here));
        }
        if here < array.len() {
            rest.push(array.slice(here, array.len() - here));
        }
        left -= here;
    }
    *arrays = rest;
    let taken: Vec<&dyn Array> = taken.iter().map(AsRef::as_ref).collect();
    Ok(concat(&taken)?)
}

fn extend(column: &mut TypedColumn, more: TypedColumn, before: usize) -> Result<(), ClientError> {
    let count = more.values.len();
    match (&mut column.values, more.values) {
        (Values::F64(values), Values::F64(more)) => values.extend(more),
        (Values::I64(values), Values::I64(more)) => values.extend(more),
        (Values::I128(values), Values::I128(more)) => values.extend(more),
        _ => return Err(ClientError::Internal { what: "a column changes its numbers between chunks" }),
    }
    if column.valid.is_some() || more.valid.is_some() {
        let valid = column.valid.get_or_insert_with(|| vec![true; before]);
        match more.valid {
            Some(more) => valid.extend(more),
            None => valid.resize(valid.len() + count, true),
        }
    }
    Ok(())
}

fn split(values: &mut Values, rows: usize) -> Values {
    let rows = rows.min(values.len());
    match values {
        Values::F64(values) => Values::F64(values.split_off(rows)),
        Values::I64(values) => Values::I64(values.split_off(rows)),
        Values::I128(values) => Values::I128(values.split_off(rows)),
    }
}

/// The rows of a batch that `living` marks.
///
/// # Errors
/// None but bugs: as many marks as rows.
pub(super) fn living(batch: RowBatch, living: &BooleanBuffer) -> Result<RowBatch, ClientError> {
    let mask = BooleanArray::new(living.clone(), None);
    let columns = batch.columns.into_iter().map(|column| {
        Ok(match column {
            None => None,
            Some(ColumnData::Array(array)) => Some(ColumnData::Array(filter(&array, &mask)?)),
            Some(ColumnData::Units(TypedColumn { values, valid })) => {
                let values = match values {
                    Values::F64(values) => Values::F64(kept(values, living)),
                    Values::I64(values) => Values::I64(kept(values, living)),
                    Values::I128(values) => Values::I128(kept(values, living)),
                };
                Some(ColumnData::Units(TypedColumn { values, valid: valid.map(|valid| kept(valid, living)) }))
            }
        })
    });
    let columns = columns.collect::<Result<Vec<_>, ClientError>>()?;
    Ok(RowBatch { first_row: batch.first_row, rows: living.count_set_bits(), columns })
}

fn kept<T>(values: Vec<T>, living: &BooleanBuffer) -> Vec<T> {
    values.into_iter().zip(living).filter_map(|(value, lives)| lives.then_some(value)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, StringArray};

    use super::*;

    fn batch(first: usize, rows: usize, valid: Option<Vec<bool>>) -> RowBatch {
        let texts: StringArray = (first..first + rows).map(|row| Some(format!("t{row}"))).collect();
        let values = Values::I64((first..first + rows).map(|row| row as i64).collect());
        let columns = vec![
            None,
            Some(ColumnData::Array(Arc::new(texts))),
            Some(ColumnData::Units(TypedColumn { values, valid })),
        ];
        RowBatch { first_row: 0, rows, columns }
    }

    fn texts(batch: &RowBatch) -> (Vec<String>, Vec<i64>, Option<Vec<bool>>) {
        let (Some(ColumnData::Array(array)), Some(ColumnData::Units(units))) =
            (&batch.columns[1], &batch.columns[2])
        else {
            panic!("{batch:?}")
        };
        let Values::I64(values) = &units.values else { panic!("{units:?}") };
        let texts = array.as_string::<i32>().iter().map(|text| text.unwrap().to_owned());
        (texts.collect(), values.clone(), units.valid.clone())
    }

    fn numbered(rows: std::ops::Range<usize>) -> (Vec<String>, Vec<i64>) {
        (rows.clone().map(|row| format!("t{row}")).collect(), rows.map(|row| row as i64).collect())
    }

    #[test]
    fn rows_are_cut_anew_in_their_order() {
        let mut gathered = Gathered::new();
        for (first, rows) in [(0, 3), (3, 1), (4, 6)] {
            gathered.take(batch(first, rows, None)).unwrap();
        }
        assert_eq!(gathered.rows(), 10);
        let mut at = 0;
        for wanted in [4, 4, 4] {
            let cut = gathered.cut(wanted).unwrap();
            let expected = numbered(at..(at + wanted).min(10));
            let found = texts(&cut);
            assert_eq!((cut.first_row, cut.rows), (at as u64, expected.1.len()));
            assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, None));
            assert!(cut.columns[0].is_none());
            at += wanted;
        }
        assert_eq!(gathered.rows(), 0);
    }

    #[test]
    fn validity_is_kept_beside_rows_that_all_have_values() {
        let mut gathered = Gathered::new();
        gathered.take(batch(0, 2, None)).unwrap();
        gathered.take(batch(2, 2, Some(vec![false, true]))).unwrap();
        gathered.take(batch(4, 1, None)).unwrap();
        assert_eq!(texts(&gathered.cut(3).unwrap()).2, Some(vec![true, true, false]));
        assert_eq!(texts(&gathered.cut(3).unwrap()).2, Some(vec![true, true]));
    }

    #[test]
    fn deleted_rows_are_left_out_of_every_column() {
        let mask: BooleanBuffer = [true, false, false, true].into_iter().collect();
        let found = living(batch(0, 4, Some(vec![true, true, false, false])), &mask).unwrap();
        assert_eq!(found.rows, 2);
        let expected = (vec!["t0".to_owned(), "t3".to_owned()], vec![0, 3], Some(vec![true, false]));
        assert_eq!(texts(&found), expected);
    }
}
