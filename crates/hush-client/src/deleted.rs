// SPDX-License-Identifier: Apache-2.0
//! The queries of `tests/queries` on tables with deleted rows, which are copies of rows that count: every answer is that of the table which
//! never had them. Encrypted, and as a dry run; by one machine, and put together from partial answers.

use hush_exec::Limits;
use hush_keys::OwnerSeed;
use hush_remote::Silent;
use hush_table::{DeadRows, SignedManifest, TableStore};
use hush_testkit::Draw;

use crate::compare::compare;
use crate::encrypt::encrypt_parts;
use crate::partial::cases;
use crate::scheme::{Lattice, NoOp, Scheme};
use crate::table::{Evaluator, OwnedTable};

/// Most rows of a part.
const PART_ROWS: usize = 4;

/// A version behind the present one without these rows of each part.
fn kill(store: &TableStore, owner: &OwnerSeed, dead: &[Vec<u64>]) {
    let mut next = store.load().unwrap().manifest().clone();
    next.version += 1;
    for (entry, rows) in next.parts.iter_mut().zip(dead).filter(|(_, rows)| !rows.is_empty()) {
        let list = DeadRows::new(entry.rows, rows.iter().copied());
        entry.dead = Some(store.put_dead_rows(&list).unwrap());
    }
    let key = owner.verifying_key().to_bytes();
    store.commit(&SignedManifest::sign(next, &key, |bytes| owner.sign(bytes)).unwrap()).unwrap();
}

#[test]
fn every_query_of_the_corpus_is_answered_as_without_deleted_rows() {
    let mut draw = Draw::of_environment("HUSH_TEST_SEED");
    let schemes: [&'static dyn Scheme; 2] = [&NoOp, &Lattice];
    let (mut deleted, mut whole_parts) = (0, 0);
    for case in &cases() {
        let directory = tempfile::tempdir().unwrap();
        // Copies go between the rows, and whatever is a copy is deleted.
        let mut rows: Vec<(String, bool)> = case.rows.iter().map(|row| (row.clone(), true)).collect();
        for _ in 0..1 + draw.below(2 * case.rows.len() + PART_ROWS) {
            let copy = case.rows[draw.below(case.rows.len())].clone();
            rows.insert(draw.below(rows.len() + 1), (copy, false));
        }
        let whole = case.source(directory.path(), "t.csv", &case.rows);
        let half = case.half(&whole, rows.len());
        let (mut sources, mut dead, mut left) = (Vec::new(), Vec::new(), &rows[..]);
        while !left.is_empty() {
            let (part, rest) = left.split_at(left.len().min(1 + draw.below(PART_ROWS)));
            let lines: Vec<String> = part.iter().map(|(row, _)| row.clone()).collect();
            sources.push(case.source(directory.path(), &format!("t{}.csv", rest.len()), &lines));
            let of_part = (0..).zip(part).filter(|(_, (_, lives))| !lives).map(|(at, _)| at);
            dead.push(of_part.collect::<Vec<u64>>());
            whole_parts += usize::from(dead.last().is_some_and(|dead| dead.len() == part.len()));
            left = rest;
        }
        deleted += dead.iter().map(Vec::len).sum::<usize>();
        for scheme in schemes {
            let owner = OwnerSeed::generate().unwrap();
            let (clean, store) = (TableStore::memory(), TableStore::memory());
            encrypt_parts(std::slice::from_ref(&whole), &half, &owner, &clean, scheme).unwrap();
            encrypt_parts(&sources, &half, &owner, &store, scheme).unwrap();
            kill(&store, &owner, &dead);
            let open = |store| OwnedTable::open_store(store, &owner, scheme, 2, Limits::default()).unwrap();
            let ask = |table: &OwnedTable| {
                let answer = table.ask(&case.sql, &Silent);
                answer.unwrap_or_else(|error| panic!("{}: {error}", case.sql)).batches
            };
            let (expected, table) = (ask(&open(&clean)), open(&store));
            let check = |table: &OwnedTable| {
                let found = ask(table);
                compare(&found, &expected, Some(1e-3))
                    .unwrap_or_else(|error| panic!("{}: {error}: {found:?} {expected:?}", case.sql));
            };
            check(&table);
            // Kept sums of whole parts.
            check(&table);
            let Evaluator::Embedded(engine) = table.evaluator else { panic!("another evaluator") };
            check(&OwnedTable { evaluator: Evaluator::Parted(engine, draw.word()), ..table });
        }
    }
    assert!(deleted > 100 && whole_parts > 10, "{deleted} {whole_parts}");
}
