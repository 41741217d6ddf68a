// SPDX-License-Identifier: Apache-2.0
//! Records: read as they are written; damaged ones are refused, or are records that a job can have.

use hush_lambda::record::Record;
use hush_lambda::tree::Cut;
use hush_protocol::job::{JobState, ResultFacts};
use hush_server::jobs::JobFailure;
use hush_server::names::{JobId, TableName};
use hush_testkit::{damaged, damaged_json};

fn records() -> Vec<Record> {
    let id = JobId::parse("00112233445566778899aabbccddeeff").unwrap();
    let queued = Record::new(id, TableName::parse("patients").unwrap(), 7, b"a plan", 5000);
    let mut running = queued.clone();
    let cut = Cut::of(vec![0, 3, 5, 7], 7).unwrap();
    running.begin(&cut, 9000);
    assert!(running.repeat(Some(&cut), Some(&cut.root())));
    let (mut done, mut failed) = (running.clone(), queued.clone());
    done.finish(Ok(ResultFacts { bytes: 9, blake3: "0".repeat(64) }));
    failed.finish(Err(JobFailure { code: "HUSH-E031".into(), message: "a sentence".into() }));
    vec![queued, running, done, failed]
}

#[test]
fn a_record_is_read_as_it_is_written() {
    for record in records() {
        assert_eq!(Record::read(&record.to_json(), &record.id), Ok(record.clone()));
        let other = JobId::fresh().unwrap();
        assert!(Record::read(&record.to_json(), &other).is_err(), "of another job");
    }
}

#[test]
fn a_task_is_repeated_three_times() {
    let [mut queued, ..] = <[Record; 4]>::try_from(records()).unwrap();
    let allowed: Vec<bool> = (0..5).map(|_| queued.repeat(None, None)).collect();
    assert_eq!(allowed, [true, true, true, false, false]);
}

#[test]
fn mutations_of_records_are_refused_or_keep_the_rules() {
    for record in records() {
        let id = record.id.clone();
        let read = |bytes: &[u8]| match Record::read(bytes, &id) {
            Ok(read) => {
                assert_eq!(read.id, id);
                assert_eq!(read.result.is_some(), read.state == JobState::Done);
                assert_eq!(read.failure.is_some(), read.state == JobState::Failed);
                assert_eq!(read.cut.is_some(), read.cut().is_some());
                assert!(read.state != JobState::Running || read.cut().is_some());
                assert_eq!(Record::read(&read.to_json(), &id), Ok(read.clone()));
                let _ = read.view();
                true
            }
            Err(_) => false,
        };
        damaged("lambda record", 1500, &record.to_json(), read);
        damaged_json("lambda record", 1500, &record.to_json(), read);
    }
}
