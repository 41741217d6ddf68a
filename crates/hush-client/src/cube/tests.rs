// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;

use hush_keys::OwnerSeed;
use hush_plan::schema::file::from_toml;
use hush_plan::schema::units::column_bounds;
use hush_table::source::{TypedColumn, Values};
use hush_testkit::Draw;

use super::*;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 1000
cubes = [
  { by = ["level", { column = "age", bins = [18, 65] }], sum = ["pay", "pay * hours"] },
  { by = ["flag"], sum = ["hours"] },
]
[columns.level]
type = "int(8)"
range = [-2, 3]
nullable = true
protect = "encrypt"
[columns.age]
type = "int(8)"
range = [0, 120]
protect = "encrypt"
[columns.flag]
type = "bool"
protect = "encrypt"
[columns.pay]
type = "int(32)"
range = [-500, 100000]
nullable = true
protect = "encrypt"
[columns.hours]
type = "int(8)"
range = [0, 60]
protect = "encrypt"
"#;

fn half() -> PrivateHalf {
    let mut half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    for (cube, number) in half.cubes.iter_mut().zip([4, 2]) {
        cube.number = number;
    }
    half.next_cube = 5;
    half
}

/// Random rows, with missing values and both ends of each range.
fn batch(schema: &Schema, draw: &mut Draw, rows: usize) -> RowBatch {
    let columns = schema.columns.iter().map(|column| {
        let bounds = column_bounds(column).unwrap();
        let ends = [bounds.low as i64, bounds.high as i64];
        let valid: Vec<bool> = (0..rows).map(|_| !column.nullable || draw.below(5) > 0).collect();
        let values = valid.iter().map(|valid| match (valid, draw.below(4)) {
            (false, _) => 0,
            (true, 0) => ends[draw.below(2)],
            (true, _) => ends[0] + draw.below((ends[1] - ends[0]) as usize + 1) as i64,
        });
        let values = Values::I64(values.collect());
        Some(ColumnData::Units(TypedColumn { values, valid: column.nullable.then_some(valid) }))
    });
    RowBatch { first_row: 0, rows, columns: columns.collect() }
}

fn value(batch: &RowBatch, column: usize, row: usize) -> Option<i64> {
    let Some(Some(ColumnData::Units(TypedColumn { values: Values::I64(values), valid }))) =
        batch.columns.get(column)
    else {
        panic!("no such column")
    };
    valid.as_ref().is_none_or(|valid| valid[row]).then(|| values[row])
}

/// Count, values, sum of pay, of its squares, and of pay times hours, by level and age group: computed row by row.
type Reference = BTreeMap<(Option<i64>, usize), [i128; 5]>;

fn reference(batches: &[RowBatch]) -> Reference {
    let mut cells = Reference::new();
    for batch in batches {
        for row in 0..batch.rows {
            let age = value(batch, 1, row).unwrap();
            let group = usize::from(age >= 18) + usize::from(age >= 65);
            let cell = cells.entry((value(batch, 0, row), group)).or_default();
            let (pay, hours) = (value(batch, 3, row), value(batch, 4, row).unwrap());
            cell[0] += 1;
            cell[1] += i128::from(pay.is_some());
            let pay = i128::from(pay.unwrap_or(0));
            cell[2] += pay;
            cell[3] += pay * pay;
            cell[4] += pay * i128::from(hours);
        }
    }
    cells
}

/// The sums of the first cube as the reference has them.
fn found(shape: &CubeShape, sums: &Sums) -> Reference {
    use hush_plan::cube::Place;
    let groups = shape.axes[1].len();
    let cells = sums.rows.iter().enumerate().filter(|(_, rows)| **rows != 0);
    let found = cells.map(|(cell, rows)| {
        let level = match shape.axes[0].place(cell / groups) {
            Place::Units(units) => Some(units as i64),
            _ => None,
        };
        let lane = |place: usize| sums.lanes[place][cell];
        ((level, cell % groups), [*rows, lane(0), lane(1), lane(2), lane(3)])
    });
    found.collect()
}

#[test]
fn cells_are_the_sums_of_their_rows() {
    let (half, mut draw) = (half(), Draw::new());
    let plan = CubePlan::of(&half);
    for _ in 0..20 {
        let rows = 1 + draw.below(300);
        let batches = [batch(&half.schema, &mut draw, rows), batch(&half.schema, &mut draw, 40)];
        let shape = &plan.cubes[0].shape;
        let mut sums = Sums::zeros(shape);
        for batch in &batches {
            sums.add(plan.rows(&half.schema, batch, false).unwrap()[0].as_ref().unwrap());
        }
        assert_eq!(found(shape, &sums), reference(&batches), "{draw:?}");
    }
}

/// Pads hide every number, come off again, and add up over parts; a part of few rows has no cube.
#[test]
fn padded_cubes_add_up() {
    let (half, mut draw, owner) = (half(), Draw::new(), OwnerSeed::generate().unwrap());
    let keys = owner.of_table([1; 16], [2; 16]);
    let plan = Arc::new(CubePlan::of(&half));
    let maker = plan.maker(keys.cube_pads());
    let cut = || maker.cut();
    let mut parts = Vec::new();
    let mut batches = Vec::new();
    for rows in [300, 250] {
        let batch = batch(&half.schema, &mut draw, rows);
        maker.add(&plan.rows(&half.schema, &batch, false).unwrap());
        parts.push(cut().unwrap());
        batches.push(batch);
    }
    assert_ne!(parts[0].id, parts[1].id);
    assert_eq!(parts[0].numbers(), [2, 4]);
    let shape = &plan.cubes[0].shape;
    let mut total = CubeSums::zeros(shape.cells(), &shape.bits());
    let mut all_pads = total.clone();
    for part in &parts {
        let stored = part.cube(4).unwrap().unpack().unwrap();
        // Not one count is as it is: of 23 numbers of 10 bits some could be by chance.
        let plain = stored.lane(0).unwrap().filter(|count| *count == 0).count();
        assert!(plain < 5, "{plain}");
        total.add(&stored).unwrap();
        all_pads.add(&pads(&keys.cube_pads(), part.id.as_bytes(), (4, shape))).unwrap();
    }
    let mut sums = Sums::zeros(shape);
    for (place, lane) in std::iter::once(&mut sums.rows).chain(&mut sums.lanes).enumerate() {
        let numbers = total.lane(place).unwrap().zip(all_pads.lane(place).unwrap());
        for (sum, (number, pad)) in lane.iter_mut().zip(numbers) {
            *sum = shape.lanes[place].sum(number.wrapping_sub(pad));
        }
    }
    assert_eq!(found(shape, &sums), reference(&batches));
    let few = batch(&half.schema, &mut draw, 20);
    maker.add(&plan.rows(&half.schema, &few, false).unwrap());
    assert_eq!(
        cut().map(|cubes| cubes.numbers()),
        Some(vec![2]),
        "two cells take less than twenty rows, 21 do not"
    );
}

/// An alteration keeps the number of a cube that stays as it is, and gives new numbers to all others.
#[test]
fn numbers_mean_one_shape() {
    let half = half();
    let schema = |change: &dyn Fn(&mut Schema)| {
        let mut schema = half.schema.clone();
        change(&mut schema);
        schema
    };
    let none = Alteration::default();
    let renumbered = |alteration: &Alteration, schema: &Schema| {
        let (numbered, next) = super::renumbered(&half, alteration, schema);
        (numbered.iter().map(|cube| cube.number).collect::<Vec<_>>(), next)
    };
    assert_eq!(renumbered(&none, &half.schema), (vec![4, 2], 5));
    let fewer = schema(&|schema| drop(schema.cubes.remove(0)));
    assert_eq!(renumbered(&none, &fewer), (vec![2], 5));
    let wider = schema(&|schema| schema.max_rows = 100_000);
    assert_eq!(renumbered(&none, &wider), (vec![5, 6], 7));
    let swapped = schema(&|schema| schema.cubes.swap(0, 1));
    assert_eq!(renumbered(&none, &swapped), (vec![2, 4], 5));
    let renaming =
        Alteration { rename: vec![("flag".to_owned(), "sign".to_owned())], ..Alteration::default() };
    let after = |alteration: &Alteration| {
        let mut next = hush_plan::schema::alter::altered(&half.schema, alteration).unwrap();
        hush_plan::cube::altered(&half.schema, alteration, &mut next);
        next
    };
    assert_eq!(renumbered(&renaming, &after(&renaming)), (vec![4, 2], 5));
    // A name that stands elsewhere in the alphabet: the planner would name the lanes in another order.
    let renaming =
        Alteration { rename: vec![("hours".to_owned(), "zeal".to_owned())], ..Alteration::default() };
    let schema = after(&renaming);
    let (numbered, _) = super::renumbered(&half, &renaming, &schema);
    let before: Vec<String> =
        half.cubes[0].lanes.iter().map(|lane| lane.describe().replace("hours", "zeal")).collect();
    let now: Vec<String> = numbered[0].lanes.iter().map(hush_plan::Quantity::describe).collect();
    assert_eq!(
        (numbered[0].number, now),
        (4, before.iter().map(|text| text.replace("zeal and pay", "pay and zeal")).collect())
    );
}

/// Numbers of rows that pass their bits are noticed, whatever the cells; others are not suspected.
#[test]
fn full_cells_are_noticed() {
    let bounded = SCHEMA.replace("\"pay * hours\"] }", "\"pay * hours\"], max_cell_rows = 9 }");
    let half = PrivateHalf::new(from_toml(&bounded).unwrap(), Vec::new());
    let (shape, wide) = (
        CubeShape::of(&half.schema, &half.schema.cubes[0]).unwrap(),
        CubeShape::of(&half.schema, &self::half().schema.cubes[0]).unwrap(),
    );
    assert_eq!((shape.lanes[0].bits, wide.lanes[0].bits), (4, 10));
    // A thousand rows of 10 bits, or fifteen of 4.
    assert!(shape.lanes.iter().zip(&wide.lanes).all(|(lane, wide)| wide.bits - lane.bits == 6), "{shape:?}");
    let mut draw = Draw::new();
    let (mut full, mut free) = (0, 0);
    for _ in 0..200 {
        let rows = 1 + draw.below(400);
        let batch = batch(&half.schema, &mut draw, rows);
        let mut sums = Sums::zeros(&shape);
        sums.add(&rows_of(&shape, &half.schema, &batch).unwrap());
        let passes = sums.rows.iter().any(|rows| *rows > 15);
        assert_eq!(has_room(&shape, &sums), !passes);
        // As they come back.
        let lanes = std::iter::once(&sums.rows).chain(&sums.lanes).zip(&shape.lanes);
        let found = lanes.map(|(sums, lane)| sums.iter().map(|sum| lane.sum(*sum as u128)).collect());
        let mut lanes: Vec<Vec<i128>> = found.collect();
        let found = Sums { rows: lanes.remove(0), lanes };
        let rows = rows as u64;
        assert_eq!(crate::ask::are_of_rows(&shape, &found, rows), !passes);
        assert_eq!(crate::ask::has_full_cell(&shape, &found, rows), passes);
        assert!(!crate::ask::has_full_cell(&shape, &found, rows + 1) || passes);
        if passes { full += 1 } else { free += 1 }
    }
    assert!(full > 20 && free > 20, "{full} {free}");
}

#[test]
fn values_without_a_cell_are_named_by_row_and_column() {
    let (half, mut draw) = (half(), Draw::new());
    let mut batch = batch(&half.schema, &mut draw, 10);
    batch.first_row = 100;
    let Some(Some(ColumnData::Units(TypedColumn { values: Values::I64(values), .. }))) =
        batch.columns.get_mut(1)
    else {
        panic!("no such column")
    };
    values[6] = 121;
    let plan = CubePlan::of(&half);
    // Of rows that devices have sent only the cube is lost in which such a row cannot be.
    let stored: Vec<bool> =
        plan.rows(&half.schema, &batch, true).unwrap().iter().map(Option::is_some).collect();
    assert_eq!(stored, [false, true]);
    let error = plan.rows(&half.schema, &batch, false).err().unwrap();
    assert_eq!(error.code(), "HUSH-C096");
    let told = error.to_string();
    assert!(told.starts_with("row 107, column age") && !told.contains("121"), "{told}");
}
