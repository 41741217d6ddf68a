// SPDX-License-Identifier: Apache-2.0

use hush_keys::OwnerSeed;
use hush_plan::schema::file::from_toml;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};

use super::*;
use crate::run::{OpenRun, RunPlan, shape_of};

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
order = [{ by = "x" }]
[columns.x]
type = "int(32)"
protect = "encrypt"
for = ["fetch"]
"#;

/// A run of twelve blocks.
fn run() -> PartRun {
    let half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let key = OwnerSeed::generate().unwrap().of_table([1; 16], [2; 16]).run_seal();
    let maker = Arc::new(RunPlan::of(&half)).maker(key.copied());
    let values = Values::I64((0..12 * 512).map(|row| row * 7919 % 6151).collect());
    let columns = vec![Some(ColumnData::Units(TypedColumn { values, valid: None }))];
    let batch = RowBatch { first_row: 0, rows: 12 * 512, columns };
    maker.add(RunPlan::of(&half).rows(&half.schema, &batch, &[]).unwrap());
    let made = maker.cut().unwrap();
    let (_, shape) = shape_of(&half, 0).unwrap();
    let stored = made.runs.first().unwrap();
    let open = OpenRun::open((made.id, 0, 12), &shape, &key, &stored.index).unwrap();
    PartRun { first_row: 0, block_bytes: stored.block_bytes, domain: 0, open }
}

fn below(constant: i128) -> RunQuery {
    let cuts = vec![Cut { at: Key::Number(constant), behind: false }];
    RunQuery {
        place: 0,
        cuts,
        least: 1,
        needed: Vec::new(),
        segments: None,
        opens: Opens::Parted(Vec::new()),
    }
}

/// One block always in the place of those that are not needed would be known for it; blocks drawn anew would not be those of a question that is
/// asked again.
#[test]
fn blocks_that_fill_up_belong_to_the_question() {
    let (run, other) = (run(), run());
    let filled = |run: &PartRun, needed: &[u32], constant: i128, most: usize| {
        let mut blocks: BTreeSet<u32> = needed.iter().copied().collect();
        fill(&mut blocks, run, &format!("{:?}", below(constant)), most);
        assert!(needed.iter().all(|block| blocks.contains(block)));
        blocks
    };
    let alone: BTreeSet<BTreeSet<u32>> = (0..60).map(|constant| filled(&run, &[], constant, 1)).collect();
    assert!(alone.len() >= 6, "{alone:?}");
    for constant in 0..20 {
        assert_eq!(filled(&run, &[], constant, 3), filled(&run, &[], constant, 3));
        assert_eq!(filled(&run, &[2, 5], constant, 4).len(), 4);
        assert_eq!(filled(&run, &[2, 5], constant, 1).len(), 2);
        assert_eq!(filled(&run, &[2], constant, 99).len(), 12);
    }
    // Nor do they follow from the question alone.
    assert!((0..20).any(|constant| filled(&run, &[], constant, 1) != filled(&other, &[], constant, 1)));
}
