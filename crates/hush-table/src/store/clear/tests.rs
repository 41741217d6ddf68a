// SPDX-License-Identifier: Apache-2.0

use arrow::array::{Array, AsArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};

use super::*;
use crate::part::MIN_ZONED_PARTS;

fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let fields = columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A table of parts with the clear columns `a` and `b`.
fn table(store: &TableStore, parts: usize) -> Manifest {
    let columns = schema(&[("a", DataType::Int64), ("b", DataType::Utf8)]);
    let mut manifest = crate::fixture::manifest();
    manifest.clear_columns = columns
        .fields()
        .iter()
        .map(|field| crate::manifest::ClearColumn::new(field.name(), field.data_type()).unwrap())
        .collect();
    let part = |number: usize| {
        let rows = CHUNK_ROWS as usize + 5;
        let a: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..rows).map(|row| (row * (number + 1)) as i64)));
        let b: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("b{row}"))));
        let mut writer = ClearPartWriter::new(&columns).unwrap();
        writer.push(&RecordBatch::try_new(columns.clone(), vec![a, b]).unwrap()).unwrap();
        let written = writer.finish().unwrap();
        store.put_part(&written).unwrap();
        PartEntry { rows: rows as u64, chunks: 2, clear: Some(written.file), ..manifest.parts[0].clone() }
    };
    manifest.parts = (0..parts).map(part).collect();
    manifest
}

#[test]
fn columns_go_come_and_change_places() {
    let store = TableStore::memory();
    let before = table(&store, MIN_ZONED_PARTS);
    let columns = ClearColumns {
        schema: schema(&[("b2", DataType::Utf8), ("new", DataType::Int64), ("a", DataType::Int64)]),
        before: vec![Some(1), None, Some(0)],
    };
    let mut after = before.clone();
    let mut bounds = PartBounds::none(&columns.schema);
    for (was, now) in before.parts.iter().zip(&mut after.parts) {
        let (file, of_part) = store.put_clear_anew(&store, (&before, was), &columns).unwrap();
        now.clear = file;
        bounds.append(of_part).unwrap();
    }
    after.clear_columns = columns
        .schema
        .fields()
        .iter()
        .map(|field| crate::manifest::ClearColumn::new(field.name(), field.data_type()).unwrap())
        .collect();
    store.put_bounds(&mut after, bounds).unwrap();
    let zones = store.zones(&after).unwrap().unwrap();
    for (number, entry) in after.parts.iter().enumerate() {
        let part = store.open_clear(&after, entry).unwrap();
        let rows = part.read(&[0, 1, 2]).unwrap();
        let rows = arrow::compute::concat_batches(part.schema(), &rows).unwrap();
        assert_eq!(rows.num_rows() as u64, entry.rows);
        let a = rows.column(2).as_primitive::<Int64Type>();
        assert_eq!((a.value(3), a.null_count()), (3 * (number as i64 + 1), 0));
        assert_eq!(
            (rows.column(1).null_count(), rows.column(0).as_string::<i32>().value(7)),
            (rows.num_rows(), "b7")
        );
        assert!(zones.agrees(number, &part).unwrap());
    }
    // Without columns there are no files, and where there were none all values are missing.
    let none = ClearColumns { schema: schema(&[]), before: vec![] };
    assert_eq!(store.put_clear_anew(&store, (&after, &after.parts[0]), &none).unwrap().0, None);
    let bare = PartEntry { clear: None, ..after.parts[0].clone() };
    let first = ClearColumns { schema: schema(&[("n", DataType::Int64)]), before: vec![None] };
    let (file, _) = store.put_clear_anew(&store, (&after, &bare), &first).unwrap();
    let mut table = after.clone();
    table.clear_columns = vec![crate::manifest::ClearColumn::new("n", &DataType::Int64).unwrap()];
    let part = store.open_clear(&table, &PartEntry { clear: file, ..bare }).unwrap();
    let nulls: usize = part.read(&[0]).unwrap().iter().map(|batch| batch.column(0).null_count()).sum();
    assert_eq!(nulls as u64, after.parts[0].rows);
}
