// SPDX-License-Identifier: Apache-2.0
//! Events that nobody of us sends, plans that cannot be run, partial answers that are none: typed refusals, and never a wrong total.

use std::time::Duration;

use hush_lambda::event::{Event, EventFault};
use hush_lambda::worker::{Ended, WorkError};
use hush_protocol::job::JobState;
use hush_server::jobs::JobService;
use hush_server::names::JobId;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::fixture::Random;
use crate::world::{Platform, World};

const PARTS: [usize; 6] = [3, 1, 40, 17, 2, 9];
const CALM: Platform = Platform { twice: 0, lost: 0 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_no_task_are_refused_and_change_nothing() {
    let mut random = Random::announced("hostile events");
    let world = World::new(&mut random, &PARTS, 1);
    let plan = &world.plans()[0];
    let job = world.submit(plan).await;
    let count = world.parts();
    let unknown = Event { job: JobId::fresh().unwrap(), first: 0, end: count };
    assert_eq!(world.work(&unknown).await.unwrap(), Ended::Late);
    // Before the parts were cut only the root is a task, later nodes alone.
    for is_cut in [false, true] {
        let before = (world.record(&job).await, world.objects().await);
        for (first, end) in [
            (0, count + 1),
            (1, 0),
            (count, count),
            (0, 0),
            (1, count),
            (u32::MAX, u32::MAX),
            (0, u32::MAX),
            (2, 4),
        ] {
            let refused = world.work(&Event { job: job.clone(), first, end }).await;
            let Err(WorkError::Event(fault)) = refused else { panic!("{first} to {end}: {refused:?}") };
            assert_eq!(
                (fault.code(), &fault),
                ("HUSH-L002", &EventFault::Parts { first, end, parts: count })
            );
        }
        assert_eq!((world.record(&job).await, world.objects().await), before);
        if !is_cut {
            let event = world.take(&mut random).unwrap();
            assert_eq!(world.work(&event).await.unwrap(), Ended::Invoked);
        }
    }
    world.deliver(&mut random, CALM).await;
    assert!(world.result(&job).await == world.expected(plan));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_the_engine_refuses_fails_with_its_code() {
    let mut random = Random::announced("refused plans");
    let world = World::new(&mut random, &PARTS, 1);
    let good = String::from_utf8(world.plans()[0].clone()).unwrap();
    let digest = world.fixture.signed.digest().to_string();
    let other_version = good.replace(&digest, &"0".repeat(64));
    let other_column = good.replace("\\\"ward\\\"", "\\\"nobody\\\"");
    for (plan, code) in
        [(other_version.as_str(), "HUSH-E031"), (&other_column, "HUSH-E020"), ("{}", "HUSH-E002")]
    {
        assert_ne!(plan, good);
        let job = world.submit(plan.as_bytes()).await;
        let ends = world.deliver(&mut random, CALM).await;
        assert!(ends.contains(&Ended::Failed));
        let view = world.front.wait(&job, Duration::ZERO).await.unwrap();
        assert_eq!((view.state, view.failure.unwrap().code.as_str()), (JobState::Failed, code));
    }
    // A worker without time.
    let job = world.submit(good.as_bytes()).await;
    let event = world.take(&mut random).unwrap();
    world.work(&event).await.unwrap();
    let leaf = world.take(&mut random).unwrap();
    assert_eq!(world.worker.work(&leaf, Duration::ZERO).await.unwrap(), Ended::Failed);
    let view = world.front.wait(&job, Duration::ZERO).await.unwrap();
    assert_eq!(view.failure.unwrap().code, "HUSH-E043");
}

/// Whoever can write to the bucket can change answers, but nothing that is merely wrong becomes one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_answers_that_are_damaged_or_of_another_job_are_refused() {
    let mut random = Random::announced("hostile partial answers");
    let world = World::new(&mut random, &PARTS, 1);
    let plans = world.plans();
    let other = world.submit(&plans[1]).await;
    world.deliver(&mut random, CALM).await;
    let path =
        |job: &JobId, parts: &str| Path::from(format!("lake/hush/jobs/{}/partial/{parts}", job.as_str()));
    let foreign = world.store.get(&path(&other, "2-3")).await.unwrap().bytes().await.unwrap();
    for (bytes, code) in [(foreign, "HUSH-E070"), ("damaged".into(), "HUSH-E08")] {
        let job = world.submit(&plans[0]).await;
        let root = world.take(&mut random).unwrap();
        world.work(&root).await.unwrap();
        world.store.put(&path(&job, "2-3"), bytes.into()).await.unwrap();
        world.store.put(&path(&job, "what-ever"), "foreign".into()).await.unwrap();
        world.deliver(&mut random, CALM).await;
        let record = world.record(&job).await.unwrap();
        assert_eq!(record.state, JobState::Failed);
        let found = record.failure.unwrap().code;
        assert!(found.starts_with(code), "{found}");
    }
}
