// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use arrow::array::StringArray;
use hush_keys::OwnerSeed;
use hush_plan::Schema;
use hush_plan::plan::Key;
use hush_plan::schema::file::from_toml;
use hush_table::RunBytes;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};
use hush_testkit::Draw;

use super::*;
use crate::private::PrivateHalf;
use crate::run::RunPlan;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
filter = ["name"]
[columns.id]
type = "int(64)"
nullable = true
protect = "encrypt"
for = ["filter"]
[columns.name]
type = "text"
nullable = true
protect = "seal"
"#;

const NAMES: [&str; 6] = ["", "Zoë", "ab", "ab\0", "abc", "it's"];

/// Rows, many of them with the same values, and their values as keys: of `id`, and of `name`.
fn batch(draw: &mut Draw, rows: usize) -> (RowBatch, [Vec<Option<Key>>; 2]) {
    let number = |draw: &mut Draw| match draw.below(3) {
        0 => draw.below(50) as i64,
        1 => (draw.below(1 << 62) as i64) - (draw.below(1 << 62) as i64),
        _ => [i64::MIN, i64::MAX][draw.below(2)],
    };
    let is_there: Vec<bool> = (0..rows).map(|_| draw.below(6) > 0).collect();
    let ids: Vec<i64> = is_there.iter().map(|is_there| if *is_there { number(draw) } else { 0 }).collect();
    let names: Vec<Option<String>> = (0..rows)
        .map(|_| match draw.below(4) {
            0 => None,
            1 => Some(format!("n{}", draw.below(3000))),
            _ => NAMES.get(draw.below(6)).map(|name| (*name).to_owned()),
        })
        .collect();
    let keys = [
        ids.iter().zip(&is_there).map(|(id, there)| there.then_some(Key::Number(i128::from(*id)))).collect(),
        names.iter().map(|name| name.clone().map(Key::Text)).collect(),
    ];
    let ids = ColumnData::Units(TypedColumn { values: Values::I64(ids), valid: Some(is_there) });
    let names = ColumnData::Array(Arc::new(names.iter().map(Option::as_deref).collect::<StringArray>()));
    (RowBatch { first_row: 0, rows, columns: vec![Some(ids), Some(names)] }, keys)
}

struct Case {
    key: SealKey,
    plan: Arc<RunPlan>,
    schema: Schema,
}

impl Case {
    fn new() -> Self {
        let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
        let key = OwnerSeed::generate().unwrap().of_table([1; 16], [2; 16]).run_seal();
        Self { key, plan: Arc::new(RunPlan::of(&half)), schema: half.schema }
    }

    /// The runs of a part of these chunks.
    fn made(&self, chunks: &[RowBatch]) -> (RunsId, Vec<RunBytes>) {
        let maker = self.plan.maker(self.key.copied());
        for chunk in chunks {
            let ranks = self.plan.ranks(&self.schema, chunk).unwrap();
            maker.add(self.plan.rows(&self.schema, chunk, &ranks).unwrap());
        }
        let made = maker.cut().unwrap();
        (made.id, made.runs)
    }

    fn open(&self, id: RunsId, run: &RunBytes, rows: u64) -> Result<OpenRanks, ClientError> {
        let (_, shape) = self.plan.runs.iter().find(|(number, _)| *number == run.number).unwrap();
        let blocks = (run.blocks.len() / run.block_bytes as usize) as u32;
        OpenRanks::open((id, run.number, blocks), (shape, rows), &self.key, &run.index)
    }
}

/// What a server reads of some blocks.
fn read<'r>(run: &'r RunBytes, places: &[u32]) -> Vec<(u32, &'r [u8])> {
    let size = run.block_bytes as usize;
    let block = |place: &u32| (*place, &run.blocks[*place as usize * size..(*place as usize + 1) * size]);
    places.iter().map(block).collect()
}

fn cuts(draw: &mut Draw, keys: &[Option<Key>]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = (0..1 + draw.below(4))
        .map(|_| {
            let known = keys[draw.below(keys.len())].clone();
            let at = match (known, draw.below(3)) {
                (Some(Key::Number(number)), 0) => Key::Number(number.saturating_add(1)),
                (Some(key), _) => key,
                (None, 0) => Key::Number(i128::MAX),
                (None, _) => Key::Number(i128::MIN),
            };
            Cut { at, behind: draw.below(2) == 0 }
        })
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

#[test]
fn rows_below_cuts_are_those_of_every_chunk() {
    let case = Case::new();
    let draw = &mut Draw::of(51);
    for last in [1, 128, 129, 5000] {
        let drawn = [CHUNK_ROWS as usize, CHUNK_ROWS as usize, last].map(|rows| batch(draw, rows));
        let (chunks, keys): (Vec<RowBatch>, Vec<_>) = drawn.into_iter().unzip();
        let (id, runs) = case.made(&chunks);
        assert_eq!(runs.len(), 2);
        let rows = chunks.iter().map(|chunk| chunk.rows as u64).sum();
        for run in &runs {
            let open = case.open(id, run, rows).unwrap();
            let column = usize::from(open.by.name == "name");
            for _ in 0..20 {
                let of_first: &Vec<Option<Key>> = &keys[0][column];
                let cuts = cuts(draw, of_first);
                let places = open.places(&cuts);
                let each: usize = chunks.iter().map(|chunk| chunk.rows.div_ceil(128).min(cuts.len())).sum();
                assert_eq!(places.len(), each, "as many of each chunk as there are cuts");
                assert!(places.is_sorted_by(|one, other| one < other));
                let found = open.rows_below(&cuts, &case.key, &read(run, &places)).unwrap();
                for (cut, found) in cuts.iter().zip(found) {
                    let below = |keys: &[Vec<Option<Key>>; 2]| {
                        keys[column].iter().flatten().filter(|key| cut.is_above(key)).count() as u32
                    };
                    assert_eq!(found, keys.iter().map(below).collect::<Vec<_>>(), "{cut:?}");
                }
            }
        }
    }
}

#[test]
fn flags_are_those_of_ranks_in_an_order_that_is_drawn() {
    let case = Case::new();
    let draw = &mut Draw::of(52);
    let (chunk, keys) = batch(draw, 700);
    let ranks = case.plan.ranks(&case.schema, &chunk).unwrap();
    let again = case.plan.ranks(&case.schema, &chunk).unwrap();
    for (column, keys) in ["id", "name"].into_iter().zip(&keys) {
        let found = ChunkRanks::find(&ranks, column).unwrap();
        assert_ne!(found.order, ChunkRanks::find(&again, column).unwrap().order);
        let code = |rank: u32| found.order.code(rank);
        assert!(
            (0..=CHUNK_ROWS)
                .all(|rank| code(rank) / 2 == rank && found.order.spare_code(rank) == code(rank) ^ 1)
        );
        let odd = (0..CHUNK_ROWS).filter(|rank| code(*rank) % 2 == 1).count();
        assert!((3700..4500).contains(&odd), "{odd}");
        for (number, flag) in (0..).zip(RankFlag::all()) {
            let place = found.order.place_of(number).unwrap();
            let rank = |key: &Key| keys.iter().flatten().filter(|other| *other < key).count() as u32;
            let expected = keys.iter().map(|key| i64::from(flag.is_set(key.as_ref().map(rank).map(code))));
            assert_eq!(found.flags(place).unwrap(), expected.collect::<Vec<_>>(), "{flag:?}");
        }
        assert!(found.flags(RANK_FLAGS).is_err());
    }
    assert!(ChunkRanks::find(&ranks, "nobody").is_err());
}

/// What a server may send in the place of what was asked for.
#[test]
fn other_indexes_and_blocks_are_refused() {
    let case = Case::new();
    let draw = &mut Draw::of(53);
    let (chunk, keys) = batch(draw, 3000);
    let (id, runs) = case.made(std::slice::from_ref(&chunk));
    let (other_id, others) = case.made(&[chunk]);
    let run = &runs[0];
    let open = case.open(id, run, 3000).unwrap();
    let is_refused =
        |found: Result<Vec<Vec<u32>>, ClientError>| matches!(found, Err(ClientError::Answer { .. }));
    let cuts = vec![Cut { at: keys[1].iter().flatten().next().unwrap().clone(), behind: false }];
    let column = usize::from(open.by.name == "name");
    let cuts = if column == 1 { cuts } else { vec![Cut { at: Key::Number(7), behind: false }] };
    let places = open.places(&cuts);
    let mut moved = read(run, &places);
    assert!(open.rows_below(&cuts, &case.key, &moved).is_ok());
    assert!(is_refused(open.rows_below(&cuts, &case.key, &[])), "nothing came");
    moved[0].0 = (moved[0].0 + 1) % 20;
    assert!(is_refused(open.rows_below(&cuts, &case.key, &moved)), "of another place");
    assert!(is_refused(open.rows_below(&cuts, &case.key, &read(&others[0], &places))), "of another part");
    assert!(case.open(other_id, run, 3000).is_err(), "the index of another part");
    assert!(case.open(id, run, 2999).is_err(), "fewer rows");
    assert!(case.open(id, &RunBytes { number: runs[1].number, ..run.clone() }, 3000).is_err());
    let mut altered = run.index.to_vec();
    altered[50] ^= 1;
    assert!(case.open(id, &RunBytes { index: altered.into(), ..run.clone() }, 3000).is_err());
}

/// No bytes that its owner sealed by mistake are an index of a wrong form.
#[test]
fn indexes_of_a_wrong_form_are_none() {
    let by = RunColumn {
        name: "id".into(),
        kind: hush_plan::schema::ColumnType::Int { bits: 64 },
        nullable: false,
        form: hush_plan::run::RunForm::Units { low: 0, bits: 8 },
    };
    let flags: Vec<u8> = (0..RANK_FLAGS).rev().collect();
    let index = RankIndex {
        chunks: vec![
            ChunkOrder { rows: 200, seed: [7; 32], flags: flags.clone() },
            ChunkOrder { rows: 5, seed: [8; 32], flags },
        ],
        places: vec![2, 0, 1],
        firsts: RunValues::numbers(vec![1, 7, 3]),
    };
    let bytes = index.encode(&by);
    assert_eq!(RankIndex::decode(&by, 3, &bytes), Some(index.clone()));
    assert_eq!(RankIndex::decode(&by, 3, &[bytes.clone(), vec![0; 9]].concat()), Some(index.clone()));
    assert_eq!(RankIndex::decode(&by, 3, &[bytes.clone(), vec![1]].concat()), None);
    assert_eq!([2, 4].map(|blocks| RankIndex::decode(&by, blocks, &bytes)), [None, None]);
    for length in 0..bytes.len() {
        assert_eq!(RankIndex::decode(&by, 3, &bytes[..length]), None, "{length}");
    }
    let twice = |edit: &dyn Fn(&mut RankIndex)| {
        let mut other = index.clone();
        edit(&mut other);
        RankIndex::decode(&by, 3, &other.encode(&by))
    };
    assert_eq!(twice(&|index| index.places[0] = 1), None);
    assert_eq!(twice(&|index| index.chunks[0].flags[3] = 0), None);
    assert_eq!(twice(&|index| index.chunks[1].rows = 0), None);
    assert_eq!(twice(&|index| index.chunks[0].rows = 300), None);
}
