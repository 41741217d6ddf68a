// SPDX-License-Identifier: Apache-2.0
//! Damaged records of jobs: what a start makes of each is a job that can be shown, run, kept and forgotten like any other,
//! or no job; nothing outside the job's own directory changes.
//!
//! `tests/corpus/README.md` says what is in the files that this starts from; `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use std::fs;
use std::path::Path;

use clap::Parser;
use hush_exec::Stop;
use hush_testkit::{CorpusFile, damaged, damaged_json};

use super::record::{RECORD_MAX_BYTES, RecordFault};
use super::table::Begun;
use super::*;
use crate::corpus::corpus;
use crate::runner::Failure;

const PLAN: &[u8] = b"a plan";
const ANSWER: &[u8] = b"an answer";
const ID: &str = "00112233445566778899aabbccddeeff";
const OTHER: &str = "00000000000000000000000000000000";

/// Answers every plan, on tables whose names are names.
struct Answering;

impl RunPlan for Answering {
    fn run(&self, table: &TableName, plan: &[u8], _: &Arc<Stop>) -> Result<Vec<u8>, Failure> {
        assert_eq!(TableName::parse(table.as_str()).unwrap(), *table);
        assert_eq!(plan, PLAN);
        Ok(ANSWER.to_vec())
    }

    fn forget(&self, _: &TableName) {}
}

/// A directory of jobs with two neighbours that no damage may reach: a job, and a directory beside all jobs.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.0.path().join("victim")).unwrap();
        for id in [ID, OTHER] {
            let record = record(id, JobState::Done);
            let files = JobFiles::of(&place.root(), &record.id);
            files.create(&record, PLAN).unwrap();
            files.save_result(ANSWER).unwrap();
        }
        place
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("jobs")
    }

    fn files(&self) -> JobFiles {
        JobFiles::of(&self.root(), &id())
    }

    /// Puts the files of a sound job there, under the given bytes as its record.
    fn put(&self, bytes: &[u8]) {
        self.files().create(&record(ID, JobState::Done), PLAN).unwrap();
        self.files().save_result(ANSWER).unwrap();
        fs::write(self.root().join(ID).join("record.json"), bytes).unwrap();
    }

    fn open(&self) -> Arc<Jobs> {
        let limits = Limits::parse_from(["limits", "--max-results-bytes", "100"]);
        Jobs::open(self.root(), limits, Arc::new(Answering)).unwrap()
    }

    fn neighbours_are_there(&self) {
        assert!(self.0.path().join("victim").is_dir());
        assert_eq!(fs::read(self.root().join(OTHER).join("result.bin")).unwrap(), ANSWER);
    }
}

fn id() -> JobId {
    JobId::parse(ID).unwrap()
}

fn record(id: &str, state: JobState) -> Record {
    let body = blake3::hash(PLAN).to_hex().to_string();
    let key = blake3::hash(id.as_bytes()).to_hex().to_string();
    let table = TableName::parse("patients").unwrap();
    let mut record =
        Record::new(JobId::parse(id).unwrap(), table, hush_table::Digest::of(b"version"), body, Some(key));
    match state {
        JobState::Queued => {}
        JobState::Running => record.begin(),
        JobState::Done => {
            record.begin();
            let blake3 = blake3::hash(ANSWER).to_hex().to_string();
            record.finish(Ok(ResultFacts { bytes: ANSWER.len() as u64, blake3 }));
        }
        JobState::Failed => {
            record.begin();
            record.finish(Err(Failure::from(Code::OtherVersion).into()));
        }
    }
    record
}

/// Does with the job what a service does; whether there is one.
fn work(place: &Place) -> bool {
    let jobs = place.open();
    place.neighbours_are_there();
    jobs.tables_in_use()
        .iter()
        .for_each(|table| assert_eq!(TableName::parse(table.as_str()).unwrap(), *table));
    let known = jobs.view(&id()).is_ok();
    if let Ok(view) = jobs.view(&id()) {
        // Reading the record again gives the same meaning.
        let stored = jobs.files(&id()).load(&id(), 100).unwrap();
        let kept = jobs.lock().records().find(|record| record.id == id()).cloned().unwrap();
        assert_eq!((&stored.id, &stored.table, stored.state), (&view.id, &kept.table, view.state));
        assert_eq!((stored.result, stored.failure, stored.key), (kept.result, kept.failure, kept.key));
        assert_eq!(jobs.result_path(&id()).is_ok(), view.state == JobState::Done);
        assert!(jobs.lock().kept_bytes() <= 2 * ANSWER.len() as u64);
    }
    // Anything queued runs, once; then all have ended.
    while let Some(Begun { id, table, stop }) = jobs.take() {
        let outcome = jobs.run(&id, &table, &stop);
        assert_eq!(outcome.as_ref().map(|facts| facts.bytes), Ok(ANSWER.len() as u64));
        jobs.finish(&id, outcome);
    }
    assert!(jobs.tables_in_use().is_empty());
    let again = place.open();
    assert_eq!(again.view(&id()).is_ok(), known);
    // An old end is forgotten now, any other at its time; whatever the clock was at the time of writing.
    again.sweep();
    place.neighbours_are_there();
    if again.view(&id()).is_ok() {
        again.suspend();
        again.delete(&id()).unwrap();
    }
    assert!(again.lock().records().all(|record| record.expired(3600, unix_seconds() + 3600)));
    assert!(!place.root().join(ID).exists());
    place.neighbours_are_there();
    known
}

/// Reads a record of the corpus as a start of the service does; the reason of a refusal.
pub(crate) fn read(place: &Place, bytes: &[u8]) -> Result<(), String> {
    place.put(bytes);
    match place.files().load(&id(), 100) {
        Ok(_) => {
            assert!(work(place));
            Ok(())
        }
        Err(fault) => {
            assert!(fault.is_final() && !work(place), "{fault}");
            let reason = match fault {
                RecordFault::Form => "form",
                RecordFault::Io(_) => "file",
                RecordFault::OtherJob => "other-job",
                RecordFault::Plan => "plan",
                RecordFault::Result => "result",
                RecordFault::State => "state",
            };
            Err(reason.to_owned())
        }
    }
}

/// Records in every state, and others that would reach further than their job.
pub(crate) fn made() -> Vec<CorpusFile> {
    let json = |record: &Record| serde_json::to_vec(record).unwrap();
    let states = [JobState::Queued, JobState::Running, JobState::Done, JobState::Failed];
    let names = ["queued", "running", "done", "failed"];
    let read = |name: &str, bytes| CorpusFile::read(&format!("record-{name}"), "json", bytes);
    let mut files: Vec<_> =
        names.iter().zip(states).map(|(name, state)| read(name, json(&record(ID, state)))).collect();
    let mut long = record(ID, JobState::Running);
    let message = "\u{1}".repeat(1 << 20);
    long.finish(Err(Failure { code: "HUSH-E099".to_owned(), message }.into()));
    let mut early = record(ID, JobState::Done);
    early.finished_s = Some(u64::MAX);
    let without_key = Record { key: None, ..record(ID, JobState::Queued) };
    files.extend([read("long-sentence", json(&long)), read("of-a-late-clock", json(&early))]);
    files.push(read("without-key", json(&without_key)));

    let done = String::from_utf8(json(&record(ID, JobState::Done))).unwrap();
    let mut refused = |name: &str, reason: &str, bytes: &[u8]| {
        files.push(CorpusFile::refused(&format!("record-{name}"), reason, "json", bytes));
    };
    let table = "\"table\":\"patients\"";
    let plan = blake3::hash(PLAN).to_hex().to_string();
    for (name, reason, from, to) in [
        // A path that leaves the directory is one that a sweep would remove.
        ("path-as-id", "form", ID, "../victim"),
        ("path-as-table", "form", table, "\"table\":\"../victim\""),
        ("capital-id", "form", ID, &ID.to_uppercase()),
        ("neighbour", "other-job", ID, OTHER),
        ("table-twice", "form", table, &format!("{table},{table}")),
        ("unknown-member", "form", table, &format!("{table},\"more\":0")),
        ("unknown-state", "form", "\"done\"", "\"undone\""),
        ("done-but-queued", "state", "\"done\"", "\"queued\""),
        ("body-is-no-digest", "state", &plan, "x"),
        ("negative-attempts", "form", "\"attempts\":1", "\"attempts\":-1"),
        ("attempts-beyond-32-bits", "form", "\"attempts\":1", "\"attempts\":4294967296"),
        // It would fill the room for answers.
        ("vast-result", "result", "\"bytes\":9", "\"bytes\":18446744073709551615"),
    ] {
        assert!(done.contains(from), "{from}");
        refused(name, reason, done.replacen(from, to, 1).as_bytes());
    }
    let another_plan = Record { body: "0".repeat(64), ..record(ID, JobState::Queued) };
    refused("of-another-plan", "plan", &json(&another_plan));
    refused("deep", "form", "[".repeat(10_000).as_bytes());
    refused("cut", "form", &done.as_bytes()[..done.len() / 2]);
    refused("empty", "form", b"");
    refused("two", "form", done.repeat(2).as_bytes());
    refused("too-long", "file", &[done.as_bytes(), &vec![b' '; RECORD_MAX_BYTES as usize]].concat());
    files
}

#[test]
fn damaged_records_are_jobs_or_are_forgotten() {
    let place = Place::new();
    let check = |bytes: &[u8]| {
        place.put(bytes);
        work(&place)
    };
    let mut accepted = 0;
    for state in [JobState::Queued, JobState::Running, JobState::Done, JobState::Failed] {
        let golden = serde_json::to_vec(&record(ID, state)).unwrap();
        assert!(check(&golden), "{state:?}");
        accepted += damaged_json("job record", 50, &golden, check);
        accepted += damaged("job record", 25, &golden, check);
    }
    assert!(accepted > 2, "{accepted}");
    let accepted = corpus().damaged("record", 50, |_, bytes| check(bytes));
    assert!(accepted.copies > 2, "{accepted:?}");
}

/// The fault that reading a record gives.
fn fault(place: &Place, change: impl FnOnce(&mut serde_json::Value)) -> RecordFault {
    let mut value = serde_json::to_value(record(ID, JobState::Done)).unwrap();
    change(&mut value);
    place.put(&serde_json::to_vec(&value).unwrap());
    let fault = place.files().load(&id(), 100).unwrap_err();
    assert!(fault.is_final(), "{fault}");
    assert!(!work(place), "{fault}");
    fault
}

#[test]
fn records_that_would_reach_further_than_their_job_are_refused() {
    let place = Place::new();
    let set =
        |name: &'static str, new: serde_json::Value| move |record: &mut serde_json::Value| record[name] = new;
    // A name that leaves the directory, which a sweep would remove.
    assert!(matches!(fault(&place, set("id", "../victim".into())), RecordFault::Form));
    assert!(matches!(fault(&place, set("table", "../victim".into())), RecordFault::Form));
    assert!(matches!(fault(&place, set("id", OTHER.into())), RecordFault::OtherJob));
    assert!(matches!(fault(&place, set("finished_s", serde_json::Value::Null)), RecordFault::State));
    assert!(matches!(fault(&place, set("state", "queued".into())), RecordFault::State));
    assert!(matches!(fault(&place, set("body", "x".into())), RecordFault::State));
    // It would fill the room for answers.
    let vast = |record: &mut serde_json::Value| record["result"]["bytes"] = u64::MAX.into();
    assert!(matches!(fault(&place, vast), RecordFault::Result));
}

#[test]
fn a_result_or_a_plan_that_the_machine_lost_is_no_job() {
    let place = Place::new();
    let lose = |state: JobState, file: &str, content: Option<&[u8]>| {
        place.put(&serde_json::to_vec(&record(ID, state)).unwrap());
        let path = place.root().join(ID).join(file);
        content.map_or_else(|| fs::remove_file(&path), |content| fs::write(&path, content)).unwrap();
        work(&place)
    };
    for (content, kept) in [(None, false), (Some(&b""[..]), false), (Some(b"an answex"), true)] {
        assert_eq!(lose(JobState::Done, "result.bin", content), kept);
        assert!(lose(JobState::Failed, "result.bin", content));
    }
    for content in [None, Some(&b""[..]), Some(b"a plax"), Some(b"a plan.")] {
        assert!(!lose(JobState::Queued, "plan.json", content));
        assert!(!lose(JobState::Running, "plan.json", content));
        assert!(lose(JobState::Done, "plan.json", content));
    }
}

#[test]
fn records_and_plans_are_read_up_to_their_largest_size() {
    let place = Place::new();
    let golden = serde_json::to_vec(&record(ID, JobState::Queued)).unwrap();
    let padded = |length: u64| [&golden[..], &vec![b' '; length as usize - golden.len()]].concat();
    place.put(&padded(RECORD_MAX_BYTES));
    assert!(work(&place));
    place.put(&padded(RECORD_MAX_BYTES + 1));
    assert!(!work(&place));
    let stretch = |path: &Path| {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10 << 30).unwrap();
    };
    for file in ["record.json", "plan.json"] {
        place.put(&golden);
        stretch(&place.root().join(ID).join(file));
        assert!(!work(&place), "{file}");
    }
    place.put(&golden);
    assert!(place.files().load(&id(), PLAN.len() as u64).is_ok());
    assert!(place.files().load(&id(), PLAN.len() as u64 - 1).is_err());
}

/// The longest sentence is read back, even if each of its characters takes six bytes of JSON.
#[test]
fn every_record_that_is_written_is_read_again() {
    let place = Place::new();
    let failure = Failure { code: "HUSH-E099".to_owned(), message: "\u{1}".repeat(1 << 20) };
    let mut long = record(ID, JobState::Running);
    long.finish(Err(failure.into()));
    place.put(&serde_json::to_vec(&long).unwrap());
    assert_eq!(place.files().load(&id(), 100).unwrap(), long);
}

/// A record that cannot be read just now is left for the next start.
#[test]
fn a_record_that_cannot_be_read_is_kept() {
    let place = Place::new();
    place.put(b"");
    let path = place.root().join(ID).join("record.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(place.open().view(&id()).unwrap_err().code, Code::NoJob);
    assert!(path.exists());
}

#[test]
fn a_clock_that_was_set_back_keeps_nothing_for_ever() {
    let place = Place::new();
    let mut early = record(ID, JobState::Done);
    early.finished_s = Some(u64::MAX);
    place.put(&serde_json::to_vec(&early).unwrap());
    let jobs = place.open();
    let kept = jobs.lock().records().find(|record| record.id == id()).cloned();
    let end = kept.and_then(|record| record.finished_s).unwrap();
    assert!(end <= unix_seconds());
}
