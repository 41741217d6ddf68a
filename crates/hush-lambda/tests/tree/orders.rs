// SPDX-License-Identifier: Apache-2.0
//! Random tables, plans and orders: the bytes are those of one machine.

use hush_lambda::worker::Ended;
use hush_protocol::job::JobState;

use crate::fixture::Random;
use crate::world::{Platform, World};

/// Many parts of few rows, and one of two chunks.
const PARTS: [usize; 12] = [3, 1, 40, 8192 + 5, 17, 1, 1, 250, 64, 9, 2, 30];

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn answers_are_those_of_one_machine_in_any_order_twice_and_late() {
    let mut random = Random::announced("orders");
    runtime().block_on(async {
        // From a leaf for each part to one leaf for all.
        for leaf_bytes in [1, 300_000, 1 << 40] {
            let world = World::new(&mut random, &PARTS, leaf_bytes);
            for plan in world.plans() {
                let expected = world.expected(&plan);
                // Parts that the zones rule out are read by nobody, and join a leaf beside them.
                let read = world.parts_read(&plan);
                let (mut submitted, mut answers) = (Vec::new(), 0);
                for _ in 0..3 {
                    submitted.push(world.submit(&plan).await);
                }
                let ends = world.deliver(&mut random, Platform { twice: 30, lost: 0 }).await;
                assert!(ends.iter().all(|end| *end != Ended::Failed));
                for job in &submitted {
                    let record = world.record(job).await.unwrap();
                    assert_eq!(record.state, JobState::Done, "{record:?}");
                    assert!(world.result(job).await == expected, "leaves of {leaf_bytes} bytes");
                    let facts = record.result.unwrap();
                    assert_eq!(
                        (facts.bytes, facts.blake3.parse().ok()),
                        (expected.len() as u64, Some(hush_table::Digest::of(&expected)))
                    );
                    let leaves = record.cut.unwrap().len() - 1;
                    assert!(leaf_bytes != 1 || (read.max(1)..=PARTS.len()).contains(&leaves), "{leaves}");
                    assert!(leaf_bytes != 1 << 40 || leaves == 1);
                    answers += 1;
                }
                assert_eq!(answers, 3);
            }
        }
    });
}

/// A tree of three storeys.
#[test]
fn many_leaves_are_combined_over_several_storeys() {
    let mut random = Random::announced("storeys");
    let parts: Vec<usize> = (0..70).map(|_| 1 + random.below(3) as usize).collect();
    runtime().block_on(async {
        let world = World::new(&mut random, &parts, 1);
        let plan = &world.plans()[0];
        let job = world.submit(plan).await;
        let ends = world.deliver(&mut random, Platform { twice: 10, lost: 0 }).await;
        assert!(ends.iter().filter(|end| **end == Ended::Invoked).count() > 1);
        assert!(world.result(&job).await == world.expected(plan));
        let partials = world.jobs.partials(&job).await.unwrap();
        assert!(partials.iter().filter(|(first, end)| end - first == 1).count() == 70 && partials.len() > 70);
    });
}

/// A table whose version has no rows.
#[test]
fn a_table_without_parts_has_an_answer() {
    let mut random = Random::announced("no parts");
    runtime().block_on(async {
        let world = World::new(&mut random, &[], 1);
        let plan = &world.plans()[0];
        let job = world.submit(plan).await;
        assert_eq!(world.deliver(&mut random, Platform { twice: 0, lost: 0 }).await, [Ended::Done]);
        assert!(world.result(&job).await == world.expected(plan));
    });
}
