// SPDX-License-Identifier: Apache-2.0

#![allow(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hush_keys::OwnerSeed;
use hush_plan::plan::{Rank, RankAt};
use hush_plan::schema::file::from_toml;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};
use hush_testkit::Draw;

use super::*;
use crate::private::PrivateHalf;
use crate::run::{RunPlan, shape_of};

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
order = [{ by = "x", within = ["g"], sum = ["y"] }]
[columns.x]
type = "int(16)"
nullable = true
protect = "encrypt"
for = ["fetch"]
[columns.y]
type = "int(16)"
protect = "encrypt"
[columns.g]
type = "int(8)"
range = [0, 2]
protect = "encrypt"
for = ["fetch"]
"#;

/// A row: group, value, and what is added up.
type Row = (i64, Option<i64>, i64);

/// A run of some rows, with all of its blocks.
fn run(rows: &[Row]) -> (PartRun, BTreeMap<u32, BlockRows>) {
    let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let key = OwnerSeed::generate().unwrap().of_table([1; 16], [2; 16]).run_seal();
    let maker = Arc::new(RunPlan::of(&half)).maker(key.copied());
    let column = |of: &dyn Fn(&Row) -> Option<i64>| {
        let valid: Vec<bool> = rows.iter().map(|row| of(row).is_some()).collect();
        let values = Values::I64(rows.iter().map(|row| of(row).unwrap_or(0)).collect());
        Some(ColumnData::Units(TypedColumn { values, valid: Some(valid) }))
    };
    let columns = vec![column(&|row| row.1), column(&|row| Some(row.2)), column(&|row| Some(row.0))];
    let batch = RowBatch { first_row: 0, rows: rows.len(), columns };
    maker.add(RunPlan::of(&half).rows(&half.schema, &batch, &[]).unwrap());
    let made = maker.cut().unwrap();
    let (_, shape) = shape_of(&half, 0).unwrap();
    let (stored, blocks) = (&made.runs[0], rows.len().div_ceil(512) as u32);
    let open = OpenRun::open((made.id, 0, blocks), &shape, &key, &stored.index).unwrap();
    let size = stored.block_bytes as usize;
    let block = |place: u32| {
        let sealed = &stored.blocks[place as usize * size..][..size];
        (place, open.rows(&shape, place, &open.block(&key, place, sealed).unwrap()).unwrap())
    };
    let blocks = (0..blocks).map(block).collect();
    (PartRun { first_row: 0, block_bytes: stored.block_bytes, domain: 0, open }, blocks)
}

fn units_of(value: i64) -> Key {
    Key::Number(value.into())
}

/// Whatever is opened beside what has to be: rows and sums between cuts, least values, and values at places of the order are those of the rows.
#[test]
fn units_are_those_of_the_rows() {
    let mut draw = Draw::new();
    let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let (_, shape) = shape_of(&half, 0).unwrap();
    let by = shape.by().unwrap();
    let mut merged = 0;
    for round in 0..120 {
        let domain = [3, 200, 60_000][draw.below(3)];
        let groups = 1 + draw.below(3);
        let mut rows = |count: usize| -> Vec<Row> {
            let value =
                |draw: &mut Draw| (draw.below(9) > 0).then(|| draw.below(domain) as i64 - domain as i64 / 2);
            (0..count)
                .map(|_| (draw.below(groups) as i64, value(&mut draw), draw.below(900) as i64 - 450))
                .collect()
        };
        let parts: Vec<Vec<Row>> = [700, 1, 2600].iter().map(|count| rows(*count)).collect();
        let beside = rows([0, 40][round % 2]);
        let all: Vec<Row> = parts.concat().into_iter().chain(beside.clone()).collect();
        let mut known: Vec<Key> = all.iter().filter_map(|row| row.1).map(units_of).collect();
        known.sort_unstable();
        let cuts = (0..draw.below(3)).map(|_| Cut {
            at: units_of(draw.below(domain) as i64 - domain as i64 / 2),
            behind: draw.below(2) > 0,
        });
        let cuts: BTreeSet<Cut> = cuts.collect();
        let cuts: Vec<Cut> = cuts.into_iter().collect();
        let fraction = |numerator| hush_plan::plan::Fraction { numerator, denominator: 4 };
        let ranks = [RankAt::Last, RankAt::Between(fraction(2)), RankAt::UpTo(fraction(1), round % 3 == 0)];
        let ranks: Vec<RankAt> = ranks.into_iter().filter(|_| draw.below(2) > 0).collect();
        let wanted: Vec<Key> = ranks
            .iter()
            .flat_map(|at| <[u64; 2]>::from(at.places(known.len() as u64)))
            .map(|place| known[place as usize].clone())
            .collect();
        let zone = |key: &Key| cuts.partition_point(|cut| !cut.is_above(key));
        let mut values = RunValues::empty(by);
        let (mut runs, mut blocks, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for part in &parts {
            let (run, mut opened) = run(part);
            let mut needed: BTreeSet<u32> = (0..opened.len() as u32).filter(|_| draw.below(4) == 0).collect();
            for (place, segment) in run.open.index.segments.iter().enumerate() {
                let first = run.open.index.firsts.key(by.form, place);
                let Some((first, last)) = first.zip(run.open.index.last(by, place)) else { continue };
                let is_asked = wanted.iter().any(|key| first < last && first <= *key && *key <= last);
                if is_asked || zone(&first) != zone(&last) {
                    needed.insert(segment.block);
                }
            }
            opened.retain(|block, _| needed.contains(block));
            for rows in opened.values() {
                (0..rows.numbers.len())
                    .for_each(|row| values.push(by.form, rows.columns[0].key(by.form, row).as_ref()));
                let y = |row| match rows.columns[1].key(shape.columns[2].form, row) {
                    Some(Key::Number(number)) => number,
                    _ => panic!("y is a number"),
                };
                added.extend((0..rows.numbers.len()).map(y));
            }
            runs.push(run);
            blocks.push(opened);
        }
        for row in &beside {
            values.push(by.form, row.1.map(units_of).as_ref());
            added.push(row.2.into());
        }
        let least = 0;
        let ranks: Vec<Rank> = ranks.into_iter().map(|at| Rank { at, condition: None }).collect();
        let opens = Opens::Parted(ranks.clone());
        let query =
            RunQuery { place: 0, cuts: cuts.clone(), least, segments: None, opens, needed: Vec::new() };
        let lanes = [(
            shape
                .lanes
                .iter()
                .position(|lane| lane.quantity.as_ref().is_some_and(|quantity| quantity.columns() == ["y"]))
                .unwrap()
                - 1,
            added,
        )];
        let counting = Counting { by, runs: &runs, blocks: &blocks, values: &values, lanes: &lanes };
        let units = counting.units(&query);
        let key = |place: &Place| match place {
            Place::Segment(run, segment) => runs[*run].open.index.firsts.key(by.form, *segment),
            Place::Row(row) => values.key(by.form, *row),
        };
        // Rows and sums of each zone.
        let mut found: BTreeMap<Option<usize>, (i64, i128)> = BTreeMap::new();
        for ((place, rows), sum) in units.places.iter().zip(&units.rows).zip(&units.sums[0]) {
            let of_zone = found.entry(key(place).as_ref().map(zone)).or_default();
            *of_zone = (of_zone.0 + rows, of_zone.1 + sum);
        }
        let mut expected: BTreeMap<Option<usize>, (i64, i128)> = BTreeMap::new();
        for (_, value, y) in &all {
            let of_zone = expected.entry(value.map(units_of).as_ref().map(zone)).or_default();
            *of_zone = (of_zone.0 + 1, of_zone.1 + i128::from(*y));
        }
        assert_eq!(found, expected, "{round}");
        // Values at places, and the least one.
        let mut order: Vec<(Key, i64)> = units
            .places
            .iter()
            .zip(&units.rows)
            .filter_map(|(place, rows)| Some((key(place)?, *rows)))
            .collect();
        order.sort_unstable();
        assert_eq!(order.first().map(|(key, _)| key), known.first(), "{round}");
        let spread: Vec<Key> = order.iter().flat_map(|(key, rows)| (0..*rows).map(|_| key.clone())).collect();
        for rank in &ranks {
            let (low, high) = rank.at.places(known.len() as u64);
            for place in [low, high] {
                assert_eq!(spread[place as usize], known[place as usize], "{round}: {rank:?}");
            }
        }
        // They are few, but for rows of parts without the run.
        let zones = cuts.len() + 4 * ranks.len() + 2;
        assert!(
            units.places.len() <= parts.len() * groups * zones + beside.len(),
            "{round}: {}",
            units.places.len()
        );
        merged += usize::from(units.places.len() * 10 < all.len());
        // Nothing counts as one where nobody knows which places matter.
        let filtered = RunQuery { opens: Opens::Matching, ..query };
        let single = counting.units(&filtered);
        let closed = single.places.iter().filter(|place| matches!(place, Place::Segment(..))).count();
        assert_eq!(
            (single.rows.iter().sum::<i64>() as usize, closed + values.len()),
            (all.len(), single.places.len())
        );
    }
    assert!(merged > 50, "{merged}");
}
