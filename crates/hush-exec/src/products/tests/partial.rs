// SPDX-License-Identifier: Apache-2.0
//! Partial answers on products: however parts are cut, their combination is the answer of one machine.

use std::sync::Arc;

use super::*;
use crate::answer::PartialAnswer;
use crate::{Engine, PartialFault, Stop};

pub(super) fn stop() -> Arc<Stop> {
    Arc::new(Stop::never())
}

pub(super) fn combined(engine: &Engine, plan: &[u8], partials: &[Vec<u8>]) -> Vec<u8> {
    let mut combiner = engine.combiner(plan, &stop()).unwrap();
    partials.iter().for_each(|partial| combiner.push(partial).unwrap());
    combiner.finish().unwrap()
}

pub(super) fn set(parts: &[u32]) -> PartSet {
    parts.iter().map(|part| *part..part + 1).collect()
}

#[test]
fn every_cut_of_the_parts_gives_the_same_bytes() {
    let mut random = random("partial products");
    let parts = [part(CHUNK + 10, 0), part(50, 1), part(300, 0), part(20, 1), part(30, 0)];
    for kind in [Kind::Encrypted, Kind::Plain] {
        let table = TestTable::new(&mut random, LARGE, &parts, kind);
        let engine = table.engine(2);
        for (predicate, elements, has_keys) in [
            (None, 3, false),
            (Some("\"year\" > 2022"), 2, false),
            (None, 2, true),
            (Some("\"year\" > 2021"), 3, true),
        ] {
            let task = random_task(&mut random, 2, elements, 63);
            let task = with_choices(&mut random, task, 6);
            let task = if has_keys { by_year(&task, 50) } else { with_powers(task, &[1, 2], 63) };
            let plan = table.plan(predicate, task.clone());
            let whole = engine.run(&plan).unwrap();
            let run = |parts: &[u32]| engine.run_parts(&plan, &set(parts), &stop()).unwrap();
            for cut in [vec![vec![0, 1, 2, 3, 4]], vec![vec![4, 1], vec![2], vec![], vec![3, 0]]] {
                let partials: Vec<Vec<u8>> = cut.iter().map(|parts| run(parts)).collect();
                assert!(combined(&engine, &plan, &partials) == whole, "{cut:?}");
            }
            // Combined in two steps: a partial answer is that of its parts.
            let mut combiner = engine.combiner(&plan, &stop()).unwrap();
            [run(&[3]), run(&[0, 4])].iter().for_each(|partial| combiner.push(partial).unwrap());
            let some = combiner.partial().unwrap();
            assert!(some == run(&[0, 3, 4]));
            assert!(combined(&engine, &plan, &[run(&[1, 2]), some.clone()]) == whole);
            let read = PartialAnswer::decode(&some, 1 << 30).unwrap();
            let runs = product_runs(table.signed.manifest(), table.in_ring(), elements);
            let touched = covered(&runs, &set(&[0, 3, 4]));
            assert!(runs_of(&read.answer).runs.iter().map(|run| run.number).eq(touched));
            // Nothing of no parts.
            let nothing = run(&[]);
            let nothing = PartialAnswer::decode(&nothing, 1 << 20).unwrap();
            assert!(runs_of(&nothing.answer).runs.is_empty());
        }
    }
}

#[test]
fn partial_answers_to_something_else_are_refused() {
    let mut random = random("other products");
    let table = TestTable::new(&mut random, SMALL, &[part(20, 0), part(30, 0)], Kind::Encrypted);
    let engine = table.engine(1);
    let plan = table.plan(None, random_task(&mut random, 2, 2, 40));
    let other = |parts: &PartSet, runs: &[(u32, Vec<Vec<u8>>)]| {
        let digest = hush_table::Digest::of(&plan);
        let parts = Some(parts.clone());
        let head =
            answer::AnswerHead { manifest: table.signed.digest(), plan: digest, max_bytes: 1 << 30, parts };
        let sums = runs.first().map_or(5, |(_, objects)| objects.len());
        answer::encode_products(&head, sums, None, runs).unwrap()
    };
    let part = set(&[0]);
    let partial = engine.run_parts(&plan, &part, &stop()).unwrap();
    let read = PartialAnswer::decode(&partial, 1 << 30).unwrap();
    let objects: Vec<Vec<u8>> =
        runs_of(&read.answer).runs[0].objects.iter().map(|object| object.to_vec()).collect();
    assert!(other(&part, &[(0, objects.clone())]) == partial);
    let push = |bytes: &[u8]| {
        engine.combiner(&plan, &stop()).unwrap().push(bytes).map_err(|error| error.to_string())
    };
    let differ = |what| Err(PartialFault::OtherTask { what }.to_string());
    assert_eq!(push(&other(&part, &[(1, objects.clone())])), differ("runs of chunks"));
    assert_eq!(push(&other(&part, &[])), differ("runs of chunks"));
    assert_eq!(push(&other(&part, &[(0, objects.clone()), (1, objects.clone())])), differ("runs of chunks"));
    assert_eq!(push(&other(&part, &[(0, objects[..4].to_vec())])), differ("encrypted sums"));
    let (mut swapped, mut cut) = (objects.clone(), objects.clone());
    swapped.swap(0, 2);
    cut[4].pop();
    for objects in [swapped, cut, vec![Vec::new(); 5]] {
        assert_eq!(push(&other(&part, &[(0, objects)])), differ("encrypted sums"));
    }
    // Whole answers, and those of another kind of task.
    assert!(push(&engine.run(&plan).unwrap()).is_err());
    let (keys, masks, sums) = Default::default();
    let clear = vec!["COUNT(*)".to_owned()];
    let rows = hush_plan::plan::AggregateTask { keys, clear, masks, sums, max_groups: 1 };
    let mut aggregate = table.server_plan(None, ProductsTask::default());
    aggregate.task = hush_plan::plan::Task::Aggregate(rows);
    let aggregate = serde_json::to_vec(&aggregate).unwrap();
    let partial = engine.run_parts(&aggregate, &part, &stop()).unwrap();
    assert!(push(&partial).is_err());
    let limits = Limits { memory_bytes: 1 << 16, ..Limits::default() };
    let mut combiner = table.limited(1, limits).combiner(&plan, &stop()).unwrap();
    let refused = combiner.push(&engine.run_parts(&plan, &part, &stop()).unwrap());
    assert_eq!(refused.unwrap_err().code(), "HUSH-E042");
}
