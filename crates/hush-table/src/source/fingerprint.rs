// SPDX-License-Identifier: Apache-2.0
//! Fingerprints of batches: whether a later pass read the same rows.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use xxhash_rust::xxh3::Xxh3Default;
use zerocopy::IntoBytes;

use super::batch::{ColumnData, RowBatch, TypedColumn, Values};

impl RowBatch {
    /// A fingerprint (XXH3, 128 bits) of the values, the missing ones and the order of all columns that were read. Equal batches have equal
    /// fingerprints on one machine, whatever kind of file they come from.
    ///
    /// It tells data that changed from data that did not. It does not withstand somebody who wants two batches to have one fingerprint, and
    /// it tells values that are easy to guess: whoever keeps it seals it.
    ///
    /// # Cost
    /// One pass over the values, a fraction of a nanosecond for each number. Texts with missing values are copied.
    pub fn fingerprint(&self) -> u128 {
        let mut hasher = Xxh3Default::new();
        hasher.update((self.rows as u64).as_bytes());
        for column in &self.columns {
            match column {
                None => hasher.update(&[0]),
                Some(ColumnData::Array(array)) => hash_array(array, &mut hasher),
                Some(ColumnData::Units(column)) => hash_units(column, &mut hasher),
            }
        }
        hasher.digest128()
    }
}

/// An array's type, missing values and values, each of a known length.
fn hash_array(array: &ArrayRef, hasher: &mut Xxh3Default) {
    let kind = array.data_type().to_string();
    hasher.update(&[1, kind.len() as u8]);
    hasher.update(kind.as_bytes());
    let missing = array.nulls().filter(|nulls| nulls.null_count() > 0);
    hasher.update(&[u8::from(missing.is_none())]);
    missing.into_iter().for_each(|nulls| hash_bits(nulls.inner(), hasher));
    if let Some(texts) = array.as_string_opt::<i32>() {
        let lengths: Vec<u32> = texts.iter().map(|text| text.map_or(0, |text| text.len() as u32)).collect();
        hasher.update(lengths.as_bytes());
        let ends = [texts.value_offsets().first(), texts.value_offsets().last()];
        match (missing, ends.map(|end| end.map_or(0, |end| *end as usize))) {
            (None, [start, end]) => hasher.update(texts.value_data().get(start..end).unwrap_or_default()),
            // Something may lie where a text is missing.
            (Some(_), _) => texts.iter().flatten().for_each(|text| hasher.update(text.as_bytes())),
        }
    } else if let Some(bits) = array.as_boolean_opt() {
        match missing.map(NullBuffer::inner) {
            None => hash_bits(bits.values(), hasher),
            Some(valid) => hash_bits(&(bits.values() & valid), hasher),
        }
    } else {
        // Numbers: what stands for a missing one is 0.
        array.to_data().buffers().iter().for_each(|bytes| hasher.update(bytes));
    }
}

/// Bits from the first on, wherever in a byte that lies.
fn hash_bits(bits: &BooleanBuffer, hasher: &mut Xxh3Default) {
    let words: Vec<u64> = bits.bit_chunks().iter_padded().collect();
    hasher.update(words.as_bytes());
}

/// The kind, missing values and values of a column in units.
fn hash_units(column: &TypedColumn, hasher: &mut Xxh3Default) {
    let valid = column.valid.as_deref().map(<[bool]>::as_bytes).filter(|valid| valid.contains(&0));
    hasher.update(&[2, u8::from(valid.is_none())]);
    hasher.update(valid.unwrap_or_default());
    let (kind, values) = match &column.values {
        Values::F64(values) => (0, values.as_bytes()),
        Values::I128(values) => (1, values.as_bytes()),
        Values::I64(values) => (2, values.as_bytes()),
    };
    hasher.update(&[kind]);
    hasher.update(values);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, Date32Array, Float64Array, Int64Array, StringArray};
    use hush_testkit::Draw;

    use super::*;

    fn fingerprint(columns: Vec<Option<ColumnData>>) -> u128 {
        RowBatch { first_row: 0, rows: 3, columns }.fingerprint()
    }

    fn array(array: impl Array + 'static) -> Option<ColumnData> {
        Some(ColumnData::Array(Arc::new(array)))
    }

    fn units(values: Values, valid: Option<Vec<bool>>) -> Option<ColumnData> {
        Some(ColumnData::Units(TypedColumn { values, valid }))
    }

    #[test]
    fn any_difference_of_two_batches_shows() {
        let text = |texts: [Option<&str>; 3]| vec![array(StringArray::from(texts.to_vec()))];
        let bits = |bits: [Option<bool>; 3]| vec![array(BooleanArray::from(bits.to_vec()))];
        let whole = |values: [Option<i64>; 3]| vec![array(Int64Array::from(values.to_vec()))];
        let batches = [
            vec![],
            vec![None],
            vec![None, None],
            text([Some("a"), Some("bc"), Some("")]),
            text([Some("ab"), Some("c"), Some("")]),
            text([Some("a"), Some("bc"), None]),
            text([Some("a"), None, Some("bc")]),
            text([None, Some("a"), Some("bc")]),
            bits([Some(true), Some(false), Some(false)]),
            bits([Some(true), None, Some(false)]),
            bits([Some(true), Some(false), None]),
            bits([Some(false), Some(true), Some(false)]),
            whole([Some(1), Some(0), Some(0)]),
            whole([Some(1), None, Some(0)]),
            whole([Some(0), Some(1), Some(0)]),
            vec![array(Date32Array::from(vec![1, 0, 0]))],
            vec![array(Float64Array::from(vec![0.0, -0.0, 0.0]))],
            vec![array(Float64Array::from(vec![0.0, 0.0, 0.0]))],
            vec![units(Values::I64(vec![1, 0, 0]), None)],
            vec![units(Values::I64(vec![1, 0, 0]), Some(vec![true, false, true]))],
            vec![units(Values::I64(vec![1, 0, 0]), Some(vec![true, true, false]))],
            vec![units(Values::I128(vec![1, 0, 0]), None)],
            vec![units(Values::F64(vec![1.0, 0.0, 0.0]), None)],
            vec![units(Values::I64(vec![1]), None), units(Values::I64(vec![0, 0]), None)],
        ];
        let found: std::collections::HashSet<u128> = batches.into_iter().map(fingerprint).collect();
        assert_eq!(found.len(), 24);
        let shorter = RowBatch { first_row: 0, rows: 2, columns: vec![] };
        assert!(!found.contains(&shorter.fingerprint()));
    }

    /// A slice of a larger array, text behind missing values, and a column that says of each value that it is there.
    #[test]
    fn equal_batches_have_one_fingerprint() {
        let mut draw = Draw::new();
        for _ in 0..50 {
            let (before, rows) = (draw.below(70), 3 + draw.below(200));
            let total = before + rows + draw.below(70);
            let texts: Vec<Option<String>> = (0..total)
                .map(|row| (row == before || draw.below(4) > 0).then(|| "x".repeat(draw.below(5))))
                .collect();
            let bits: Vec<Option<bool>> =
                (0..total).map(|_| (draw.below(4) > 0).then(|| draw.below(2) == 0)).collect();
            let range = before..before + rows;
            for (large, small) in [
                (
                    Arc::new(StringArray::from(texts.clone())) as ArrayRef,
                    Arc::new(StringArray::from(texts[range.clone()].to_vec())) as ArrayRef,
                ),
                (
                    Arc::new(BooleanArray::from(bits.clone())),
                    Arc::new(BooleanArray::from(bits[range.clone()].to_vec())),
                ),
            ] {
                let one = |array| fingerprint(vec![Some(ColumnData::Array(array))]);
                assert_eq!(one(large.slice(before, rows)), one(small), "{draw:?}");
            }
        }
        let values = || Values::I64(vec![1, 2, 3]);
        assert_eq!(
            fingerprint(vec![units(values(), None)]),
            fingerprint(vec![units(values(), Some(vec![true; 3]))])
        );
        let hidden = StringArray::new(
            arrow::buffer::OffsetBuffer::new(vec![0, 1, 3, 4].into()),
            arrow::buffer::Buffer::from(b"axxb"),
            Some(NullBuffer::from(vec![true, false, true])),
        );
        let plain = StringArray::from(vec![Some("a"), None, Some("b")]);
        assert_eq!(fingerprint(vec![array(hidden)]), fingerprint(vec![array(plain)]));
    }
}
