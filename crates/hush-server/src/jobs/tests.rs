// SPDX-License-Identifier: Apache-2.0
//! The queue with runners that wait, fail and panic on command.

use std::sync::mpsc;

use clap::Parser;

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
    Submission { table: TableName::parse("t").unwrap(), plan: plan.to_vec(), key }
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
    assert_eq!((refused.code, refused.over), (Code::ResultsFull, Some((10, 10))));
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
