// SPDX-License-Identifier: Apache-2.0
//! What a plan reads of each part, against the bytes that stand there.

use hush_exec::PartSize;
use hush_plan::EncodingId;
use hush_plan::plan::{SlotExpr, Task};
use hush_table::Projection;

use crate::fixture::{Fixture, REAL_SUM, Random, SQUARE, VALID, VALUE, X, Y};
use crate::partial::rows_task;
use crate::reference::{everything, task};

#[test]
fn sizes_of_parts_are_those_of_the_stored_columns() {
    let mut random = Random::announced("sizes of parts");
    let product = SlotExpr::Mul(Box::new(SlotExpr::Column(X)), Box::new(SlotExpr::Column(Y)));
    let tasks: [(Task, &[EncodingId]); 4] = [
        (
            Task::Aggregate(task(&["\"ward\""], vec![everything()], &[(0, VALUE), (0, VALID), (0, VALUE)])),
            &[VALUE, VALID],
        ),
        (Task::Aggregate(task(&[], vec![everything()], &[(0, SQUARE), (0, REAL_SUM)])), &[SQUARE, REAL_SUM]),
        (Task::Aggregate(task(&["\"ward\""], vec![everything()], &[])), &[]),
        (Task::Rows(rows_task(&[], vec![product], &[X], None)), &[X, Y]),
    ];
    let fixture = Fixture::random(&mut random, &[3, 8192 + 5, 1, 300]);
    let manifest = fixture.signed.manifest();
    for (task, columns) in tasks {
        let stored = |(place, entry): (_, &hush_table::PartEntry)| {
            let part = fixture.store.open_encrypted(manifest, place, entry).unwrap();
            let chunks = part.read(&Projection::encodings(columns.iter().copied())).unwrap();
            let blobs =
                chunks.iter().flat_map(|chunk| &chunk.encoded).map(|blob| blob.len() as u64).sum::<u64>();
            PartSize { rows: entry.rows, bytes: blobs + entry.clear.unwrap().bytes }
        };
        let expected: Vec<PartSize> = manifest.placed_parts().map(stored).collect();
        assert_eq!(fixture.engine(1).part_sizes(&fixture.plan(None, task)).unwrap(), expected);
    }
}

#[test]
fn plans_that_do_not_fit_the_table_have_no_sizes() {
    let mut random = Random::announced("sizes of no parts");
    let fixture = Fixture::random(&mut random, &[3]);
    let unknown = Task::Aggregate(task(&[], vec![everything()], &[(0, EncodingId(99))]));
    let engine = fixture.engine(1);
    assert_eq!(engine.part_sizes(&fixture.plan(None, unknown)).unwrap_err().code(), "HUSH-E010");
    let other = Fixture::random(&mut random, &[3]);
    let plan = other.plan(None, Task::Aggregate(task(&[], vec![everything()], &[])));
    assert_eq!(engine.part_sizes(&plan).unwrap_err().code(), "HUSH-E031");
}
