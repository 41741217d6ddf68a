// SPDX-License-Identifier: Apache-2.0

use arrow::array::{ArrayRef, Float64Array, StringArray};
use hush_keys::OwnerSeed;
use hush_plan::plan::Key;
use hush_plan::schema::file::from_toml;
use hush_table::source::{ColumnData, TypedColumn, Values};
use hush_testkit::Draw;

use super::*;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
order = [
  { by = "pay", within = ["level", "name"], sum = ["pay", "pay * hours"], cover = ["score"] },
  { by = "name", cover = ["hours"] },
  { by = "score" },
]
[columns.level]
type = "int(8)"
range = [-2, 3]
nullable = true
protect = "encrypt"
[columns.name]
type = "text"
nullable = true
protect = "seal"
[columns.pay]
type = "int(32)"
range = [-500, 100000]
nullable = true
protect = "encrypt"
[columns.hours]
type = "int(8)"
range = [0, 60]
protect = "encrypt"
[columns.score]
type = "float(3)"
nullable = true
protect = "seal"
"#;

fn batch(draw: &mut Draw, rows: usize) -> RowBatch {
    let mut numbers = |low: i64, high: i64, nullable: bool| {
        let valid: Vec<bool> = (0..rows).map(|_| !nullable || draw.below(5) > 0).collect();
        let values = valid.iter().map(|valid| match (valid, draw.below(6)) {
            (false, _) => 0,
            (true, 0) => low,
            (true, 1) => high,
            (true, _) => low + draw.below((high - low) as usize + 1) as i64,
        });
        let values = Values::I64(values.collect());
        Some(ColumnData::Units(TypedColumn { values, valid: nullable.then_some(valid) }))
    };
    let (level, pay, hours) = (numbers(-2, 3, true), numbers(-500, 100_000, true), numbers(0, 60, false));
    let names = ["", "Zoë", "ab", "ab\0", "it's"];
    let name = |place: usize| names.get(place).copied();
    let name: StringArray = (0..rows).map(|_| name(draw.below(6))).collect();
    let scores = [-0.0, 0.0, f64::MIN, -1.5, 2.25, f64::MAX];
    let score: Float64Array = (0..rows).map(|_| scores.get(draw.below(7)).copied()).collect();
    let array = |array: ArrayRef| Some(ColumnData::Array(array));
    let columns = vec![level, array(Arc::new(name)), pay, hours, array(Arc::new(score))];
    RowBatch { first_row: 0, rows, columns }
}

/// The values of a row, and its number in the part.
type Row = (Vec<Option<Key>>, u32);

/// All rows of a run, in its order, as their values and the number of the row.
fn rows_of(shape: &RunShape, key: &SealKey, id: RunsId, run: &RunBytes) -> Vec<Row> {
    let size = run.block_bytes as usize;
    let blocks = (run.blocks.len() / size) as u32;
    let open = OpenRun::open((id, run.number, blocks), shape, key, &run.index).unwrap();
    let mut rows = Vec::new();
    let mut last = None;
    for segment in &open.index.segments {
        if last.replace(segment.block) == Some(segment.block) {
            continue;
        }
        let at = segment.block as usize * size;
        let block = open.block(key, segment.block, &run.blocks[at..at + size]).unwrap();
        let block = open.rows(shape, segment.block, &block).unwrap();
        let groups = open.index.segments.iter().filter(|other| other.block == segment.block);
        let groups =
            groups.flat_map(|segment| std::iter::repeat_n(segment.group as usize, segment.rows as usize));
        for (row, group) in groups.enumerate() {
            let within = open.index.within.iter().zip(&shape.columns);
            let within = within.map(|(values, column)| values.key(column.form, group));
            let others = block.columns.iter().zip(&shape.columns[shape.within..]);
            let others = others.map(|(values, column)| values.key(column.form, row));
            rows.push((within.chain(others).collect(), block.numbers[row]));
        }
    }
    rows
}

/// Missing values stand last.
fn spot(key: &Option<Key>) -> (bool, Option<Key>) {
    (key.is_none(), key.clone())
}

#[test]
fn runs_have_all_rows_in_order_and_their_index_adds_up() {
    let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let owner = OwnerSeed::generate().unwrap();
    let key = owner.of_table([1; 16], [2; 16]).run_seal();
    let plan = Arc::new(RunPlan::of(&half));
    let draw = &mut Draw::of(24);
    for sizes in [vec![1], vec![511, 2], vec![700, 512, 900]] {
        let batches: Vec<RowBatch> = sizes.iter().map(|rows| batch(draw, *rows)).collect();
        let maker = plan.maker(key.copied());
        batches.iter().for_each(|batch| maker.add(plan.rows(&half.schema, batch, &[]).unwrap()));
        let made = maker.cut().unwrap();
        assert!(maker.cut().is_none(), "a part without rows has none");
        for ((number, shape), run) in plan.runs.iter().zip(&made.runs) {
            assert_eq!(*number, run.number);
            let found = rows_of(shape, &key, made.id, run);
            // The reference sorts the rows as they came.
            let mut expected = Vec::new();
            for batch in &batches {
                let of_batch = rows(shape, &half.schema, batch, &[]).unwrap().unwrap();
                for row in 0..batch.rows {
                    let keys = of_batch.columns.iter().zip(&shape.columns);
                    let keys: Vec<_> = keys.map(|(values, column)| values.key(column.form, row)).collect();
                    expected.push((keys, expected.len() as u32));
                }
            }
            let order =
                |(keys, number): &Row| (keys[..=shape.within].iter().map(spot).collect::<Vec<_>>(), *number);
            expected.sort_by_key(order);
            if !shape.has_numbers {
                expected.iter_mut().for_each(|(_, number)| *number = 0);
            }
            assert_eq!(found, expected);
            let blocks = (run.blocks.len() / run.block_bytes as usize) as u32;
            let index = OpenRun::open((made.id, *number, blocks), shape, &key, &run.index).unwrap().index;
            assert_eq!(
                index.segments.iter().map(|segment| segment.rows as usize).sum::<usize>(),
                expected.len()
            );
            let mut next = 0;
            for (place, segment) in index.segments.iter().enumerate() {
                let rows = &expected[next..next + segment.rows as usize];
                next += rows.len();
                let by = |row: &Row| row.0[shape.within].clone();
                let of_group = |row: &Row| row.0[..shape.within] == rows[0].0[..shape.within];
                assert!(rows.iter().all(of_group));
                let described = &shape.columns[shape.within];
                match index.firsts.key(described.form, place).zip(index.last(described, place)) {
                    None => assert!(rows.iter().all(|row| by(row).is_none())),
                    Some((first, last)) => {
                        assert_eq!(by(&rows[0]), Some(first.clone()));
                        assert!(
                            rows.iter().all(|row| by(row).is_some_and(|key| first <= key && key <= last))
                        );
                    }
                }
                if *number == 0 {
                    let value = |row: &Row, column: usize| match row.0[column] {
                        Some(Key::Number(value)) => value,
                        _ => 0,
                    };
                    let sum = |of: &dyn Fn(&Row) -> i128| rows.iter().map(of).sum::<i128>();
                    let hours = shape.columns.iter().position(|column| column.name == "hours").unwrap();
                    let pay = sum(&|row| value(row, 2));
                    let product = sum(&|row| value(row, 2) * value(row, hours));
                    assert!(segment.sums.contains(&pay) && segment.sums.contains(&product));
                }
            }
            assert_eq!(next, expected.len());
        }
    }
}

#[test]
fn blocks_and_indexes_open_in_their_place_alone() {
    let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let owner = OwnerSeed::generate().unwrap();
    let key = owner.of_table([1; 16], [2; 16]).run_seal();
    let plan = Arc::new(RunPlan::of(&half));
    let draw = &mut Draw::of(25);
    let mut made = || {
        let maker = plan.maker(key.copied());
        maker.add(plan.rows(&half.schema, &batch(draw, 2000), &[]).unwrap());
        maker.cut().unwrap()
    };
    let (one, other) = (made(), made());
    assert_ne!(one.id, other.id);
    let (shape, run) = (&plan.runs[2].1, &one.runs[2]);
    let size = run.block_bytes as usize;
    assert_eq!(run.blocks.len(), 4 * size, "the last block is as long as the others");
    let open = |id, number, index: &[u8]| OpenRun::open((id, number, 4), shape, &key, index);
    let opened = open(one.id, 2, &run.index).unwrap();
    assert!(open(other.id, 2, &run.index).is_err() && open(one.id, 1, &run.index).is_err());
    assert!(open(one.id, 2, &other.runs[2].index).is_err());
    assert!(OpenRun::open((one.id, 2, 3), shape, &key, &run.index).is_err(), "fewer blocks");
    let block = |place: usize| &run.blocks[place * size..(place + 1) * size];
    let plain = opened.block(&key, 1, block(1)).unwrap();
    assert!([512, 2000 - 3 * 512].contains(&opened.rows(shape, 1, &plain).unwrap().numbers.len()));
    assert!(opened.rows(shape, 1, &plain[..size / 2]).is_err(), "not all of them");
    assert!(opened.block(&key, 1, block(2)).is_err(), "swapped");
    assert!(opened.block(&key, 1, &other.runs[2].blocks[size..2 * size]).is_err(), "of another part");
    let places: Vec<u32> = opened.index.segments.iter().map(|segment| segment.block).collect();
    let is_shuffled = (0..40).any(|_| {
        let made = made();
        let run = &made.runs[2];
        let open = OpenRun::open((made.id, 2, 4), shape, &key, &run.index).unwrap();
        open.index.segments.iter().map(|segment| segment.block).ne(places.iter().copied())
    });
    assert!(is_shuffled);
}

/// A device that keeps to nothing may send clear values beyond the bounds: no run has them, and they count as what they are.
#[test]
fn values_beyond_the_bounds_are_kept_and_not_packed() {
    let column = RunColumn {
        name: "x".to_owned(),
        kind: ColumnType::Int { bits: 64 },
        nullable: true,
        form: RunForm::Units { low: -3, bits: 4 },
    };
    let read = |values: &[i64], valid: Option<Vec<bool>>| {
        ColumnData::Units(TypedColumn { values: Values::I64(values.to_vec()), valid })
    };
    let within = read(&[-3, 12, 99], Some(vec![true, true, false]));
    assert!(RunValues::packable(&column, &within).unwrap().is_some());
    for beyond in [-4, 13, i64::MIN, i64::MAX] {
        let values = read(&[-3, beyond, 12], None);
        assert!(RunValues::packable(&column, &values).unwrap().is_none(), "{beyond}");
        let values = RunValues::of(&column, &values).unwrap();
        let keys = [-3, beyond, 12].map(|value| Some(Key::Number(value.into())));
        assert_eq!([0, 1, 2].map(|row| values.key(column.form, row)), keys);
    }
}
