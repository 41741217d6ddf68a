// SPDX-License-Identifier: Apache-2.0
//! Sums of whole parts that are kept between plans: nothing is read twice, answers are those of an engine that keeps
//! nothing, and later changes of files change no sum.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ethnum::I256;
use hush_exec::{Engine, SumCache};
use hush_plan::EncodingId;
use hush_plan::plan::{AggregateTask, Mask, Predicate, Task};
use hush_table::{FileKind, SignedManifest};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};

use crate::fixture::{Fixture, REAL_SUM, Random, SQUARE, VALID, VALUE};
use crate::reference::{decrypt, everything, task};
use crate::watched::{Access, watched};

/// An engine and the encrypted files that it has read, in order.
struct Counted {
    engine: Engine,
    read: Arc<Mutex<Vec<Path>>>,
}

impl Counted {
    fn new(fixture: &Fixture, threads: usize) -> Self {
        let read: Arc<Mutex<Vec<Path>>> = Arc::default();
        let seen = read.clone();
        let hook = move |path: &Path, access: Access| {
            let mut seen = seen.lock().unwrap();
            // Each file is read in several ranges.
            let is_new = access != Access::Look && !seen.contains(path);
            if is_new && path.as_ref().ends_with(".enc.parquet") {
                seen.push(path.clone());
            }
            None
        };
        Self { engine: watched(fixture, threads, Box::new(hook)), read }
    }

    /// The answer, and the number of encrypted files read for it.
    fn run(&self, plan: &[u8]) -> (Vec<u8>, usize) {
        self.read.lock().unwrap().clear();
        let answer = self.engine.run(plan).unwrap();
        (answer, self.read.lock().unwrap().len())
    }
}

/// An engine that keeps no sums.
fn forgetful(fixture: &Fixture) -> Engine {
    fixture.engine(1).with_sums(SumCache::new(0))
}

fn over(mask: Mask, columns: &[EncodingId]) -> AggregateTask {
    let sums: Vec<_> = columns.iter().map(|column| (0, *column)).collect();
    task(&[], vec![mask], &sums)
}

/// Commits the table again, with its first `parts` parts alone.
fn commit(fixture: &Fixture, parts: usize, version: u64) -> SignedManifest {
    let mut manifest = fixture.signed.manifest().clone();
    manifest.parts.truncate(parts);
    manifest.rows = manifest.parts.iter().map(|part| part.rows).sum();
    manifest.version = version;
    let key = fixture.seed.verifying_key().to_bytes();
    let signed = SignedManifest::sign(manifest, &key, |message| fixture.seed.sign(message)).unwrap();
    fixture.store.commit(&signed).unwrap();
    signed
}

fn plan_for(fixture: &Fixture, signed: &SignedManifest, task: &AggregateTask) -> Vec<u8> {
    let mut plan = fixture.server_plan(None, Task::Aggregate(task.clone()));
    plan.manifest = signed.digest().to_string();
    serde_json::to_vec(&plan).unwrap()
}

fn encrypted_path(fixture: &Fixture, part: usize) -> Path {
    let file = fixture.signed.manifest().parts[part].encrypted.unwrap();
    fixture.store.part_path(FileKind::Encrypted, &file.digest)
}

fn put(fixture: &Fixture, path: &Path, bytes: Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let objects = fixture.store.objects();
    runtime.block_on(async { objects.put(path, PutPayload::from(bytes)).await.unwrap() });
}

fn read(fixture: &Fixture, path: &Path) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let objects = fixture.store.objects();
    runtime.block_on(async { objects.get(path).await.unwrap().bytes().await.unwrap().to_vec() })
}

#[test]
fn the_second_unfiltered_plan_reads_no_encrypted_file() {
    let fixture = Fixture::random(&mut Random::announced("kept"), &[8192 + 300, 5000, 1]);
    let counted = Counted::new(&fixture, 2);
    let plan = |columns: &[EncodingId]| fixture.plan(None, Task::Aggregate(over(everything(), columns)));
    let expect = |columns: &[EncodingId], reads: usize| {
        let (answer, read) = counted.run(&plan(columns));
        assert_eq!(answer, forgetful(&fixture).run(&plan(columns)).unwrap(), "{columns:?}");
        assert_eq!(read, reads, "{columns:?}");
    };
    expect(&[VALUE, VALID], 3);
    expect(&[VALUE, VALID], 0);
    expect(&[VALID], 0);
    expect(&[VALID, VALUE, VALUE], 0);
    expect(&[SQUARE, VALUE], 3);
    expect(&[SQUARE, VALUE, VALID], 0);
    // REAL_SUM has the ring of VALUE. The sum of both is computed once; then each is there.
    expect(&[VALUE, REAL_SUM], 3);
    expect(&[REAL_SUM], 0);
    expect(&[REAL_SUM, SQUARE, VALID, VALUE], 0);
    // A clone has the engine's sums; another engine has not.
    let clone = Counted { engine: counted.engine.clone(), read: counted.read.clone() };
    assert_eq!(clone.run(&plan(&[VALUE])).1, 0);
    assert_eq!(Counted::new(&fixture, 2).run(&plan(&[VALUE])).1, 3);
}

#[test]
fn after_an_append_only_the_new_part_is_read() {
    let fixture = Fixture::random(&mut Random::announced("append"), &[8192, 700, 900]);
    let task = over(everything(), &[VALUE, SQUARE]);
    let first = commit(&fixture, 2, 2);
    let counted = Counted::new(&fixture, 1);
    assert_eq!(counted.run(&plan_for(&fixture, &first, &task)).1, 2);
    let second = commit(&fixture, 3, 3);
    let plan = plan_for(&fixture, &second, &task);
    let (answer, reads) = counted.run(&plan);
    assert_eq!((reads, counted.read.lock().unwrap()[0].clone()), (1, encrypted_path(&fixture, 2)));
    assert_eq!(answer, forgetful(&fixture).run(&plan).unwrap());
    let fixture = Fixture { signed: second, ..fixture };
    let total: I256 = fixture.rows.iter().map(|row| I256::from(row.value.unwrap_or(0))).sum();
    assert_eq!(decrypt(&fixture, &plan, &answer, &task).sums[0][0], total);
    assert_eq!(counted.run(&plan).1, 0);
}

/// Sums belong to files, so they may outlive an engine, and several engines may share them.
#[test]
fn engines_that_share_their_sums_find_those_of_one_another() {
    let fixture = Fixture::random(&mut Random::announced("shared"), &[400, 300]);
    let plan = fixture.plan(None, Task::Aggregate(over(everything(), &[VALUE])));
    let sums = SumCache::default();
    let engine = || {
        let Counted { engine, read } = Counted::new(&fixture, 1);
        Counted { engine: engine.with_sums(sums.clone()), read }
    };
    let (answer, reads) = engine().run(&plan);
    assert_eq!((reads, engine().run(&plan)), (2, (answer, 0)));
}

#[test]
fn filters_that_take_whole_parts_use_their_sums() {
    // `year` ascends over the table: 2020 and 2021 are the rows of the first two parts.
    let fixture = Fixture::random(&mut Random::announced("whole parts"), &[1000, 1000, 3000]);
    let counted = Counted::new(&fixture, 2);
    let condition = Mask { condition: Some(Predicate::clear("\"weight\" > 0")), weight: None };
    let two = task(&[], vec![everything(), condition], &[(0, VALUE), (1, VALUE), (0, VALID)]);
    let weighted = Mask { condition: None, weight: Some("2".to_owned()) };
    let cases = [
        (Some("\"year\" >= 2020"), over(everything(), &[VALUE]), 3),
        (None, over(everything(), &[VALUE]), 0),
        (Some("\"year\" < 2022"), over(everything(), &[VALUE]), 0),
        (Some("\"year\" < 2023"), over(everything(), &[VALUE]), 1),
        (Some("\"year\" < 2023"), over(everything(), &[VALUE, VALID]), 3),
        (Some("\"year\" < 2022"), two.clone(), 2),
        (None, two, 3),
        (None, over(weighted, &[VALUE]), 3),
        (None, task(&["\"year\""], vec![everything()], &[(0, VALUE)]), 3),
        (Some("\"year\" > 3000"), over(everything(), &[VALUE]), 0),
    ];
    for (predicate, task, reads) in cases {
        let plan = fixture.plan(predicate, Task::Aggregate(task.clone()));
        let (answer, read) = counted.run(&plan);
        assert_eq!(answer, forgetful(&fixture).run(&plan).unwrap(), "{predicate:?} {task:?}");
        assert_eq!(read, reads, "{predicate:?} {task:?}");
    }
}

/// Plans of all kinds in any order, with room for few sums: answers are those of an engine that keeps nothing.
#[test]
fn whatever_is_kept_answers_are_the_same_bytes() {
    let mut random = Random::announced("kept, random");
    let fixture = Fixture::random(&mut random, &[8192 + 17, 600, 1300, 8192]);
    let reference = forgetful(&fixture);
    let engines: Vec<(Engine, SumCache, usize)> = [1, 100_000, 400_000, 64 << 20]
        .map(|bytes| (SumCache::new(bytes), bytes))
        .map(|(sums, bytes)| (fixture.engine(2).with_sums(sums.clone()), sums, bytes))
        .into();
    for _ in 0..30 {
        let mut columns = [VALUE, VALID, SQUARE, REAL_SUM].to_vec();
        columns.retain(|_| random.chance(60));
        let condition = random.chance(20).then(|| Predicate::clear("\"ratio\" > 0"));
        let weight = random.chance(20).then(|| "\"weight\"".to_owned());
        let mut masks = vec![Mask { condition, weight }, everything()];
        let sums: Vec<_> = columns.iter().map(|column| (random.below(2) as usize, *column)).collect();
        masks.truncate(1 + sums.iter().map(|(mask, _)| *mask).max().unwrap_or(0));
        let predicate = format!("\"year\" >= {}", 2019 + random.below(6));
        let predicate = random.chance(50).then_some(predicate.as_str());
        let plan = fixture.plan(predicate, Task::Aggregate(task(&[], masks, &sums)));
        let expected = reference.run(&plan).unwrap();
        for (engine, sums, bytes) in &engines {
            assert_eq!(
                engine.run(&plan).unwrap(),
                expected,
                "{bytes} bytes, {}",
                String::from_utf8_lossy(&plan)
            );
            assert!(sums.bytes() <= *bytes);
        }
    }
}

#[test]
fn with_room_for_one_part_the_bound_holds_and_with_none_all_is_read() {
    let fixture = Fixture::random(&mut Random::announced("bound"), &[300, 300, 300]);
    let plan = fixture.plan(None, Task::Aggregate(over(everything(), &[VALUE])));
    let expected = forgetful(&fixture).run(&plan).unwrap();
    // A sum of VALUE takes 64 KiB and a little.
    for (room, bytes) in [(0, 60_000), (1, 100_000), (2, 140_000), (3, 1 << 20)] {
        let (sums, counted) = (SumCache::new(bytes), Counted::new(&fixture, 1));
        let counted = Counted { engine: counted.engine.with_sums(sums.clone()), ..counted };
        assert_eq!(counted.run(&plan), (expected.clone(), 3));
        assert_eq!(sums.bytes() >> 16, room);
        // In the order of the table each part drives out the next one needed, unless all fit.
        assert_eq!(counted.run(&plan), (expected.clone(), if room == 3 { 0 } else { 3 }));
        assert!(sums.bytes() <= bytes);
    }
}

#[test]
fn plans_at_the_same_time_agree() {
    let fixture = Fixture::random(&mut Random::announced("at once"), &[2000, 1500, 800]);
    let plans: Vec<Vec<u8>> = [&[VALUE][..], &[VALID, VALUE], &[SQUARE, VALUE, VALID]]
        .map(|columns| fixture.plan(None, Task::Aggregate(over(everything(), columns))))
        .into();
    let expected: Vec<_> = plans.iter().map(|plan| forgetful(&fixture).run(plan).unwrap()).collect();
    let counted = Counted::new(&fixture, 2);
    std::thread::scope(|scope| {
        for first in 0..6 {
            let (engine, plans, expected) = (counted.engine.clone(), &plans, &expected);
            scope.spawn(move || {
                for turn in 0..4 {
                    let index = (first + turn) % plans.len();
                    assert_eq!(engine.run(&plans[index]).unwrap(), expected[index]);
                }
            });
        }
    });
    for (plan, expected) in plans.iter().zip(expected) {
        assert_eq!(counted.run(plan), (expected, 0));
    }
}

/// The sum is still that of the part which the manifest names. Plans that need the file itself are refused.
#[test]
fn a_file_altered_after_it_was_summed_changes_no_answer() {
    let fixture = Fixture::random(&mut Random::announced("altered"), &[900, 700]);
    let others = [over(everything(), &[SQUARE]), task(&["\"year\""], vec![everything()], &[(0, VALUE)])];
    let others = others.map(|task| fixture.plan(None, Task::Aggregate(task)));
    let right: Vec<_> = others.iter().map(|plan| fixture.engine(1).run(plan).unwrap()).collect();
    let counted = Counted::new(&fixture, 1);
    let whole = fixture.plan(None, Task::Aggregate(over(everything(), &[VALUE])));
    let (answer, _) = counted.run(&whole);
    let path = encrypted_path(&fixture, 0);
    let good = read(&fixture, &path);
    for place in [20, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        put(&fixture, &path, bytes);
        assert_eq!(counted.run(&whole), (answer.clone(), 0));
        for (plan, right) in others.iter().zip(&right) {
            assert_right_or_refused(&counted.engine, plan, right);
        }
        assert_right_or_refused(&fixture.engine(1), &whole, &answer);
        assert_eq!(fixture.store.verify(fixture.signed.manifest()).unwrap_err().code(), "HUSH-T031");
    }
}

/// A query that needs none of the altered bytes is answered right; any other is refused.
fn assert_right_or_refused(engine: &Engine, plan: &[u8], right: &[u8]) {
    match engine.run(plan) {
        Ok(answer) => assert_eq!(answer, right),
        Err(error) => assert_eq!(error.code(), "HUSH-E060"),
    }
}

/// Nobody knows whether the bytes read in between were the part's, so the sum is not kept.
#[test]
fn the_sum_of_a_file_that_was_written_again_meanwhile_is_not_kept() {
    let fixture = Fixture::random(&mut Random::announced("meanwhile"), &[500, 400]);
    let path = encrypted_path(&fixture, 1);
    let again: Bytes = read(&fixture, &path).into();
    let reads: Arc<Mutex<HashSet<Path>>> = Arc::default();
    let (seen, place) = (reads.clone(), path.clone());
    let hook = move |path: &Path, access: Access| {
        let encrypted = path.as_ref().ends_with(".enc.parquet");
        if encrypted && access != Access::Look {
            seen.lock().unwrap().insert(path.clone());
        }
        (encrypted && access == Access::Look && *path == place).then(|| again.clone())
    };
    let engine = watched(&fixture, 1, Box::new(hook));
    let plan = fixture.plan(None, Task::Aggregate(over(everything(), &[VALUE])));
    let expected = forgetful(&fixture).run(&plan).unwrap();
    for read in [2, 1, 1] {
        assert_eq!(engine.run(&plan).unwrap(), expected);
        assert_eq!(std::mem::take(&mut *reads.lock().unwrap()).len(), read);
    }
}
