// SPDX-License-Identifier: Apache-2.0
//! The queue with runners that wait, fail and panic on command.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Wake, Waker};

use clap::Parser;

use hush_exec::Stop;

use super::*;
use crate::runner::Failure;

const PATIENCE: Duration = Duration::from_secs(20);

/// Answers a plan with its own bytes, once per message in the channel; `fail` and `panic` do what they say.
struct Scripted {
    go: Mutex<mpsc::Receiver<()>>,
}

impl RunPlan for Scripted {
    fn run(&self, _: &TableName, plan: &[u8], stop: &Arc<Stop>) -> Result<Vec<u8>, Failure> {
        if plan == b"endless" {
            loop {
                stop.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.go.lock().unwrap().recv().unwrap();
        match plan {
            b"fail" => Err(Code::OtherVersion.into()),
            b"panic" => panic!("on command"),
            _ => Ok(plan.to_vec()),
        }
    }

    fn forget(&self, _: &TableName) {}
}

fn queue(root: &std::path::Path, arguments: &[&str]) -> (Arc<Jobs>, mpsc::Sender<()>) {
    let (go, receiver) = mpsc::channel();
    let limits = Limits::parse_from(std::iter::once(&"limits").chain(arguments));
    let runner = Arc::new(Scripted { go: Mutex::new(receiver) });
    (Jobs::open(root.join("jobs"), limits, runner).unwrap(), go)
}

fn submission(plan: &[u8], key: Option<&str>) -> Submission {
    let key = key.map(|key| key.as_bytes().to_vec());
    let (table, version) = (TableName::parse("t").unwrap(), Digest::of(b"version"));
    Submission { table, parts: 1, version, plan: plan.to_vec(), key }
}

#[tokio::test]
async fn jobs_run_in_order_and_report_their_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &[]);
    let plans: [&[u8]; 3] = [b"first", b"fail", b"panic"];
    let ids: Vec<_> = plans.iter().map(|plan| jobs.submit(submission(plan, None)).unwrap()).collect();
    assert_eq!(jobs.view(&ids[2]).unwrap().ahead, 2);
    assert_eq!(jobs.result_path(&ids[0]).unwrap_err().code, Code::NotDone);
    assert_eq!(jobs.tables_in_use().len(), 1);
    jobs.start();
    for _ in &ids {
        go.send(()).unwrap();
    }
    let first = jobs.wait(&ids[0], PATIENCE).await.unwrap();
    assert_eq!((first.state, first.attempts), (JobState::Done, 1));
    let facts = first.result.unwrap();
    assert_eq!((facts.bytes, facts.blake3), (5, blake3::hash(b"first").to_hex().to_string()));
    assert_eq!(std::fs::read(jobs.result_path(&ids[0]).unwrap()).unwrap(), b"first");
    let second = jobs.wait(&ids[1], PATIENCE).await.unwrap();
    assert_eq!(second.failure.unwrap().code, Code::OtherVersion.as_str());
    let third = jobs.wait(&ids[2], PATIENCE).await.unwrap();
    assert_eq!(third.failure.unwrap().code, Code::Internal.as_str());
    assert_eq!(jobs.result_path(&ids[2]).unwrap_err().code, Code::NotDone);
    assert!(jobs.tables_in_use().is_empty());
}

#[tokio::test]
async fn the_queue_is_bounded_and_keys_are_idempotent() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(dir.path(), &["--max-queued-jobs", "2"]);
    let one = jobs.submit(submission(b"a", Some("k"))).unwrap();
    assert_eq!(jobs.submit(submission(b"a", Some("k"))).unwrap(), one);
    assert_eq!(jobs.submit(submission(b"b", Some("k"))).unwrap_err().code, Code::KeyReused);
    let two = jobs.submit(submission(b"a", None)).unwrap();
    assert_ne!(one, two);
    assert_eq!(jobs.submit(submission(b"c", None)).unwrap_err().code, Code::Busy);
    jobs.delete(&one).unwrap();
    assert_eq!(jobs.view(&one).unwrap_err().code, Code::NoJob);
    let three = jobs.submit(submission(b"b", Some("k"))).unwrap();
    assert_ne!(one, three);
}

#[tokio::test]
async fn a_job_deleted_while_it_runs_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &[]);
    let id = jobs.submit(submission(b"a", None)).unwrap();
    jobs.start();
    while jobs.view(&id).unwrap().state != JobState::Running {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    jobs.delete(&id).unwrap();
    let next = jobs.submit(submission(b"b", None)).unwrap();
    go.send(()).unwrap();
    go.send(()).unwrap();
    assert_eq!(jobs.wait(&next, PATIENCE).await.unwrap().state, JobState::Done);
    assert_eq!(std::fs::read_dir(dir.path().join("jobs")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_restart_runs_open_jobs_again_and_keeps_finished_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &[]);
    let done = jobs.submit(submission(b"done", Some("k"))).unwrap();
    let open = jobs.submit(submission(b"open", None)).unwrap();
    jobs.start();
    go.send(()).unwrap();
    jobs.wait(&done, PATIENCE).await.unwrap();
    while jobs.view(&open).unwrap().state != JobState::Running {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A directory whose record never came to be, as a crash between the two leaves it.
    let torn = dir.path().join("jobs").join("0".repeat(32));
    std::fs::create_dir(&torn).unwrap();

    let (again, go_again) = queue(dir.path(), &[]);
    assert!(!torn.exists());
    assert_eq!(again.view(&done).unwrap().state, JobState::Done);
    assert_eq!(again.submit(submission(b"done", Some("k"))).unwrap(), done);
    assert_eq!(again.view(&open).unwrap().state, JobState::Queued);
    again.start();
    go_again.send(()).unwrap();
    let rerun = again.wait(&open, PATIENCE).await.unwrap();
    assert_eq!((rerun.state, rerun.attempts), (JobState::Done, 2));
    drop(go);
}

#[tokio::test]
async fn a_job_ends_when_it_is_deleted_or_its_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &[]);
    let endless = jobs.submit(submission(b"endless", None)).unwrap();
    let next = jobs.submit(submission(b"next", None)).unwrap();
    jobs.start();
    while jobs.view(&endless).unwrap().state != JobState::Running {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The only worker is free for the next job once the deleted one has ended.
    jobs.delete(&endless).unwrap();
    go.send(()).unwrap();
    assert_eq!(jobs.wait(&next, PATIENCE).await.unwrap().state, JobState::Done);

    let other = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(other.path(), &["--max-job-s", "0"]);
    let endless = jobs.submit(submission(b"endless", None)).unwrap();
    jobs.start();
    let over = jobs.wait(&endless, PATIENCE).await.unwrap();
    let failure = over.failure.unwrap();
    assert_eq!((over.state, failure.code.as_str()), (JobState::Failed, "HUSH-E043"));
    assert!(failure.message.contains("limit is 0"), "{}", failure.message);
}

#[tokio::test]
async fn kept_answers_share_a_budget_that_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &["--max-results-bytes", "10"]);
    let submit = |plan: &[u8]| jobs.submit(submission(plan, None)).unwrap();
    let ids = [submit(b"seven.."), submit(b"four..")];
    jobs.start();
    for _ in 0..3 {
        go.send(()).unwrap();
    }
    assert_eq!(jobs.wait(&ids[0], PATIENCE).await.unwrap().state, JobState::Done);
    let failure = jobs.wait(&ids[1], PATIENCE).await.unwrap().failure.unwrap();
    assert_eq!(failure.code, Code::ResultsFull.as_str());
    assert!(failure.message.ends_with("(found 13, limit 10)"), "{}", failure.message);
    jobs.delete(&ids[0]).unwrap();
    let full = jobs.submit(submission(b"ten bytes.", None)).unwrap();
    assert_eq!(jobs.wait(&full, PATIENCE).await.unwrap().state, JobState::Done);
    let refused = jobs.submit(submission(b"x", None)).unwrap_err();
    assert_eq!((refused.code, refused.over), (Code::ResultsFull, Some((11, 10))));
}

#[tokio::test]
async fn a_job_that_runs_when_the_service_ends_is_no_crash() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(dir.path(), &[]);
    let id = jobs.submit(submission(b"endless", None)).unwrap();
    for _ in 0..=MAX_ATTEMPTS {
        let (jobs, _go) = queue(dir.path(), &[]);
        jobs.start();
        while jobs.view(&id).unwrap().state != JobState::Running {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(jobs.view(&id).unwrap().attempts, 1);
        jobs.suspend();
    }
    let (jobs, _go) = queue(dir.path(), &[]);
    assert_eq!(jobs.view(&id).unwrap().state, JobState::Queued);
}

#[test]
fn a_job_that_was_running_at_two_crashes_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(dir.path(), &[]);
    let id = jobs.submit(submission(b"poison", None)).unwrap();
    for attempt in 1..=MAX_ATTEMPTS {
        let (again, _go) = queue(dir.path(), &[]);
        let mut record = again.files(&id).load(&id, u64::MAX).unwrap();
        assert_eq!(record.state, JobState::Queued, "attempt {attempt}");
        record.begin();
        again.files(&id).save(&record).unwrap();
    }
    let (again, _go) = queue(dir.path(), &[]);
    let view = again.view(&id).unwrap();
    let failure = view.failure.unwrap();
    assert_eq!((view.state, failure.code.as_str()), (JobState::Failed, "HUSH-V028"));
    assert!(failure.message.contains("submit it again"), "{}", failure.message);
    assert_eq!(MAX_ATTEMPTS, 2);
}

#[tokio::test]
async fn results_expire() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &["--result-ttl-s", "0"]);
    let finished = jobs.submit(submission(b"a", None)).unwrap();
    jobs.start();
    go.send(()).unwrap();
    jobs.wait(&finished, PATIENCE).await.unwrap();
    let open = jobs.submit(submission(b"b", None)).unwrap();
    jobs.sweep();
    assert_eq!(jobs.view(&finished).unwrap_err().code, Code::NoJob);
    assert!(jobs.view(&open).is_ok());
    assert_eq!(std::fs::read_dir(dir.path().join("jobs")).unwrap().count(), 1);
}

/// Counts how often it is woken.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_job_wakes_those_who_wait_for_it_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(dir.path(), &[]);
    let ids = [b"one", b"two"].map(|plan| jobs.submit(submission(plan, None)).unwrap());
    let mut waits = ids.each_ref().map(|id| Box::pin(jobs.wait(id, PATIENCE)));
    let woken = [Arc::<Counting>::default(), Arc::default()];
    let wakers = woken.each_ref().map(|count| Waker::from(Arc::clone(count)));
    let counts = || woken.each_ref().map(|count| count.0.load(Ordering::SeqCst));
    for (wait, waker) in waits.iter_mut().zip(&wakers) {
        assert!(wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    // Begun, and another submitted: no end of either.
    let begun = jobs.take().unwrap();
    jobs.submit(submission(b"three", None)).unwrap();
    assert_eq!(counts(), [0, 0]);
    jobs.finish(&begun.id, Err(Failure::from(Code::OtherVersion).into()));
    assert_eq!(counts(), [1, 0]);
    jobs.delete(&ids[1]).unwrap();
    assert_eq!(counts(), [1, 1]);
    let [one, two] = waits;
    assert_eq!(one.await.unwrap().state, JobState::Failed);
    assert_eq!(two.await.unwrap_err().code, Code::NoJob);
    // Nobody waits for a job that has ended.
    assert!(pin!(jobs.wait(&ids[0], PATIENCE)).poll(&mut Context::from_waker(&wakers[0])).is_ready());
}

/// Ends a job that waits, with an answer of its plan's bytes.
fn end(jobs: &Jobs) -> JobId {
    let begun = jobs.take().unwrap();
    let outcome = jobs.files(&begun.id).save_result(b"answer").unwrap();
    jobs.finish(&begun.id, Ok(outcome));
    begun.id
}

#[tokio::test]
async fn what_was_collected_long_ago_makes_room_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, _go) = queue(dir.path(), &["--max-jobs", "3", "--idle-s", "60"]);
    let submit = || jobs.submit(submission(b"plan", None));
    let now = Instant::now();
    let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
    let collected = |id: &JobId, at| jobs.lock().handed_over(id, 0..6, at);
    let full = || assert_eq!(submit().unwrap_err().code, Code::Busy);
    let ids: Vec<_> = (0..3).map(|_| submit().unwrap()).collect();
    full();
    // Done is not collected, nor is an answer with a gap, nor one whose last byte is missing.
    assert_eq!([end(&jobs), end(&jobs), end(&jobs)].to_vec(), ids);
    jobs.lock().handed_over(&ids[0], 1..6, ago(100));
    jobs.lock().handed_over(&ids[1], 0..5, ago(100));
    jobs.failure_told(&ids[2]);
    full();
    // In pieces; the last two overlap.
    jobs.lock().handed_over(&ids[1], 3..6, ago(70));
    collected(&ids[2], ago(65));
    let fourth = submit().unwrap();
    assert_eq!(jobs.view(&ids[1]).unwrap_err().code, Code::NoJob);
    assert!(!dir.path().join("jobs").join(ids[1].as_str()).exists());
    assert!(jobs.view(&ids[2]).is_ok());
    submit().unwrap();
    assert_eq!(jobs.view(&ids[2]).unwrap_err().code, Code::NoJob);
    // Collected a moment ago: its client may come back for the end of it.
    collected(&ids[0], ago(50));
    full();
    assert!(std::fs::read(jobs.result_path(&ids[0]).unwrap()).is_ok());
    // A failure counts as collected once the client was told.
    let begun = jobs.take().unwrap();
    assert_eq!(begun.id, fourth);
    jobs.finish(&fourth, Err(Failure::from(Code::OtherVersion).into()));
    full();
    jobs.lock().failure_told(&fourth, ago(90));
    submit().unwrap();
    assert_eq!(jobs.view(&fourth).unwrap_err().code, Code::NoJob);
    assert!(jobs.view(&ids[0]).is_ok());
}

#[tokio::test]
async fn collected_answers_make_room_for_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &["--max-results-bytes", "10", "--idle-s", "60"]);
    jobs.start();
    let run = async |plan: &[u8]| {
        let id = jobs.submit(submission(plan, None)).unwrap();
        go.send(()).unwrap();
        (jobs.wait(&id, PATIENCE).await.unwrap(), id)
    };
    let (_, first) = run(b"seven..").await;
    assert_eq!(run(b"seven..").await.0.failure.unwrap().code, Code::ResultsFull.as_str());
    let ago = Instant::now().checked_sub(Duration::from_secs(61)).unwrap();
    jobs.lock().handed_over(&first, 0..7, ago);
    assert_eq!(run(b"ten bytes.").await.0.state, JobState::Done);
    assert_eq!(jobs.view(&first).unwrap_err().code, Code::NoJob);
}

/// Answers that old versions gave go with the versions, also those of jobs from before jobs knew theirs.
#[tokio::test]
async fn jobs_of_old_versions_are_forgotten_and_those_of_the_present_one_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (jobs, go) = queue(dir.path(), &[]);
    let old = |plan: &[u8]| Submission { version: Digest::of(b"old"), ..submission(plan, None) };
    let elsewhere = Submission { table: TableName::parse("other").unwrap(), ..old(b"of another table") };
    let done = [old(b"old"), submission(b"new", None), elsewhere].map(|job| jobs.submit(job).unwrap());
    jobs.start();
    done.iter().for_each(|_| go.send(()).unwrap());
    for id in &done {
        assert_eq!(jobs.wait(id, PATIENCE).await.unwrap().state, JobState::Done);
    }
    let running = jobs.submit(old(b"endless")).unwrap();
    let record = dir.path().join("jobs").join(done[0].as_str()).join("record.json");
    assert!(record.exists());
    jobs.forget_old(&TableName::parse("t").unwrap(), &Digest::of(b"version"));
    for id in [&done[0], &running] {
        assert_eq!(jobs.view(id).unwrap_err().code, Code::NoJob);
    }
    assert!(!record.exists() && jobs.result_path(&done[1]).is_ok() && jobs.result_path(&done[2]).is_ok());
}
