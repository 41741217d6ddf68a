// SPDX-License-Identifier: Apache-2.0
//! The front: keys, polls that watch, ends that are told, deletions.

use std::time::Duration;

use hush_lambda::event::Event;
use hush_lambda::worker::{Ended, WorkError};
use hush_protocol::job::JobState;
use hush_server::error::Code;
use hush_server::files::Stored;
use hush_server::jobs::JobService;

use crate::fixture::Random;
use crate::world::{Platform, World};

const PARTS: [usize; 6] = [3, 1, 40, 17, 2, 9];
const CALM: Platform = Platform { twice: 0, lost: 0 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_events_are_sent_again_by_polls_until_the_answer_is_there() {
    let mut random = Random::announced("lost");
    let world = World::new(&mut random, &PARTS, 1);
    let plan = &world.plans()[0];
    let expected = world.expected(plan);
    for _ in 0..8 {
        let job = world.submit(plan).await;
        let mut ended = false;
        // Each round counts against a task once at most, and three are allowed.
        for lost in [40, 40, 40, 0, 0] {
            world.deliver(&mut random, Platform { twice: 10, lost }).await;
            let view = world.front.wait(&job, Duration::ZERO).await.unwrap();
            assert_ne!(view.state, JobState::Failed, "{view:?}");
            if view.state == JobState::Done {
                ended = true;
                break;
            }
        }
        assert!(ended && world.result(&job).await == expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_always_lost_ends_its_job() {
    let mut random = Random::announced("always lost");
    let world = World::new(&mut random, &PARTS, 1);
    let plan = &world.plans()[0];
    // The first event; then a leaf that kills its worker.
    for lost in [None, Some(2)] {
        let job = world.submit(plan).await;
        let (mut sent, mut polls) = (0, 0);
        let view = loop {
            while let Some(event) = world.take(&mut random) {
                if lost.is_none_or(|first| (event.first, event.end) == (first, first + 1)) {
                    sent += 1;
                } else {
                    world.work(&event).await.unwrap();
                }
            }
            let view = world.front.wait(&job, Duration::ZERO).await.unwrap();
            polls += 1;
            if view.state.is_final() {
                break view;
            }
            assert!(polls < 20);
        };
        assert_eq!((view.state, view.failure.unwrap().code.as_str()), (JobState::Failed, "HUSH-V028"));
        assert_eq!(sent, 4, "once, and three times again");
        // What comes now comes too late.
        let event = Event { job: job.clone(), first: 0, end: world.parts() };
        assert_eq!(world.work(&event).await.unwrap(), Ended::Late);
        assert_eq!(world.record(&job).await.unwrap().state, JobState::Failed);
    }
}

/// Fronts that poll at the same time send a lost task again once, not each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_fronts_one_sends_again() {
    let mut random = Random::announced("fronts");
    let world = World::new(&mut random, &PARTS, 1);
    let job = world.submit(&world.plans()[0]).await;
    assert!(world.take(&mut random).is_some());
    let poll = || world.front.wait(&job, Duration::ZERO);
    let (one, two, three) = tokio::join!(poll(), poll(), poll());
    assert!([one, two, three].iter().all(|view| view.as_ref().unwrap().state == JobState::Queued));
    let record = world.record(&job).await.unwrap();
    let sent = std::iter::from_fn(|| world.take(&mut random)).count();
    assert_eq!(sent as u32, record.repeats.values().sum::<u32>(), "each that was counted was sent");
    assert_eq!(u64::from(record.repeats.values().sum::<u32>()), record.revision);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_is_one_job_whoever_asks_and_however_often() {
    let mut random = Random::announced("keys");
    let world = World::new(&mut random, &PARTS, 1);
    let plans = world.plans();
    let submit = |plan: &[u8], key: &[u8]| world.front.submit(world.submission(plan, Some(key)));
    let (one, two) = tokio::join!(submit(&plans[0], b"k"), submit(&plans[0], b"k"));
    let job = one.unwrap();
    assert_eq!(two.unwrap(), job);
    assert_eq!(world.take(&mut random).map(|event| event.end), Some(world.parts()));
    assert!(world.take(&mut random).is_none(), "invoked once");
    assert_eq!(submit(&plans[1], b"k").await.unwrap_err().code, Code::KeyReused);
    assert_ne!(submit(&plans[0], b"another").await.unwrap(), job);
    // A front that died between the two objects: the same request again completes it.
    world.jobs.remove(&job).await.unwrap();
    world.jobs.create_plan(&job, plans[0].clone().into()).await.unwrap();
    assert_eq!(world.front.wait(&job, Duration::ZERO).await.unwrap_err().code, Code::NoJob);
    assert_eq!(submit(&plans[0], b"k").await.unwrap(), job);
    world.deliver(&mut random, CALM).await;
    assert!(world.result(&job).await == world.expected(&plans[0]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_given_here_or_by_its_address() {
    let mut random = Random::announced("answers");
    let world = World::new(&mut random, &PARTS, 1);
    let plan = &world.plans()[0];
    let job = world.submit(plan).await;
    assert!(matches!(world.front.answer(&job).await, Err(error) if error.code == Code::NotDone));
    world.deliver(&mut random, CALM).await;
    let expected = world.expected(plan);
    let Ok(Stored::Bytes { source, .. }) = world.front.answer(&job).await else { panic!("not here") };
    assert!(source.read_all().unwrap() == expected);
    let small = hush_lambda::front::StoreJobs::new(
        world.jobs.clone(),
        world.queue.clone(),
        expected.len() as u64 - 1,
        None,
    );
    let Ok(Stored::Object(path)) = small.answer(&job).await else { panic!("no address") };
    assert_eq!(path.as_ref(), format!("lake/hush/jobs/{}/result", job.as_str()));
}

/// Deleted at any moment: no event of the job leaves anything behind, and other jobs go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_after_a_deletion() {
    let mut random = Random::announced("deletions");
    let world = World::new(&mut random, &PARTS, 1);
    let plan = &world.plans()[0];
    for steps in 0..14 {
        let (job, other) = (world.submit(plan).await, world.submit(plan).await);
        let mut late = Vec::new();
        for _ in 0..steps {
            let Some(event) = world.take(&mut random) else { break };
            // At work while the job is deleted, now and then.
            late.push(event.clone());
            world.work(&event).await.unwrap();
        }
        let at_work = world.take(&mut random).filter(|event| event.job == job);
        let (deleted, _) = tokio::join!(world.front.delete(&job), async {
            match &at_work {
                Some(event) => world.work(event).await.map(drop),
                None => Ok::<_, WorkError>(()),
            }
        });
        deleted.unwrap();
        assert_eq!(world.front.delete(&job).await.unwrap_err().code, Code::NoJob);
        world.deliver(&mut random, CALM).await;
        for event in late.iter().filter(|event| event.job == job) {
            assert_eq!(world.work(event).await.unwrap(), Ended::Late);
        }
        let left: Vec<_> =
            world.objects().await.into_iter().filter(|name| name.contains(job.as_str())).collect();
        assert_eq!(left, Vec::<String>::new(), "after {steps} steps");
        // The other one may have lost the event that was taken out.
        for _ in 0..3 {
            world.front.wait(&other, Duration::ZERO).await.unwrap();
            world.deliver(&mut random, CALM).await;
        }
        assert!(world.result(&other).await == world.expected(plan));
        world.front.delete(&other).await.unwrap();
        assert_eq!(world.objects().await, Vec::<String>::new());
    }
}
