// SPDX-License-Identifier: Apache-2.0
//! Two hundred clients and four uploads at once: no error but 503, and every accepted job is answered.
//!
//! The clients are careless ones: they send bodies without asking for leave, keep their connections, and retry on nothing but
//! 503 with `Retry-After`. The short form counts jobs; the long one, of `make test-slow`, lasts a minute.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope, sleep};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::Request;

use crate::fixture::PLAIN;
use crate::harness::{Answer, PATIENCE, Service, start};
use crate::jobs::plan;

const CLIENTS: usize = 200;
const UPLOADS: usize = 4;
const UPLOAD_BYTES: usize = 3 << 20;

/// Counts of outcomes.
#[derive(Default)]
struct Tally {
    accepted: AtomicUsize,
    answered: AtomicUsize,
    uploaded: AtomicUsize,
    /// 503s, to those who bring and to those who collect.
    refused: AtomicUsize,
    refused_collecting: AtomicUsize,
    errors: Mutex<Vec<String>>,
}

impl Tally {
    fn count(number: &AtomicUsize) {
        number.fetch_add(1, Ordering::Relaxed);
    }

    fn error(&self, error: String) {
        self.errors.lock().unwrap().push(error);
    }
}

/// One client with a connection of its own.
struct Client<'a> {
    service: &'a Service,
    tally: &'a Tally,
    agent: Agent,
    number: usize,
}

impl Client<'_> {
    /// One exchange; `None` if there is no response.
    fn exchange(&self, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.service.address))
            .header("authorization", format!("Bearer {}", self.service.token));
        let sent = match body {
            [] => self.agent.run(request.body(()).unwrap()),
            body => self.agent.run(request.body(body).unwrap()),
        };
        let read = sent.and_then(|response| {
            let (parts, mut body) = response.into_parts();
            let body = body.read_to_vec()?;
            Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
        });
        read.map_err(|error| self.tally.error(format!("{method} {path}: {error}"))).ok()
    }

    /// Repeats a request while it is answered 503, as its `Retry-After` says; `None`, and an error, for any other end than
    /// these statuses.
    fn call(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        good: &[u16],
        refused: &AtomicUsize,
    ) -> Option<Answer> {
        let mut spread = self.number;
        loop {
            let answer = self.exchange(method, path, body)?;
            if good.contains(&answer.status) {
                return Some(answer);
            }
            let after = answer.header("retry-after").and_then(|value| value.parse::<u64>().ok());
            let (503, Some(after)) = (answer.status, after) else {
                let text = String::from_utf8_lossy(&answer.body);
                self.tally.error(format!("{method} {path}: {} {text}", answer.status));
                return None;
            };
            Tally::count(refused);
            // Not all at once.
            spread = (spread * 37 + 101) % 1000;
            sleep(Duration::from_millis(after * 1000 + spread as u64));
        }
    }

    /// Submits a plan, waits, fetches the answer, compares it and deletes the job.
    fn ask(&self, plan: &[u8], expected: &[u8]) -> Option<()> {
        let Tally { refused, refused_collecting, .. } = self.tally;
        let accepted = self.call("POST", "/v1/jobs", plan, &[202], refused)?;
        Tally::count(&self.tally.accepted);
        let job = format!("/v1/jobs/{}", accepted.json()["id"].as_str()?);
        loop {
            let asked = Instant::now();
            let poll = format!("{job}?wait_ms=10000");
            match self.call("GET", &poll, b"", &[200], refused_collecting)?.json()["state"].as_str()? {
                "done" => break,
                "failed" => {
                    self.tally.error(format!("{job} failed"));
                    return None;
                }
                _ if asked.elapsed() < Duration::from_millis(500) => sleep(Duration::from_millis(500)),
                _ => {}
            }
        }
        let answer = self.call("GET", &format!("{job}/result"), b"", &[200], refused_collecting)?;
        if answer.body != expected {
            self.tally.error(format!("{job} has another answer"));
            return None;
        }
        Tally::count(&self.tally.answered);
        self.call("DELETE", &job, b"", &[204], refused_collecting).map(drop)
    }

    /// Uploads a part without asking for leave, and deletes its table.
    fn upload(&self, round: usize) -> Option<()> {
        let refused = &self.tally.refused;
        let content = [&self.number.to_le_bytes()[..], &round.to_le_bytes(), &[7; UPLOAD_BYTES]].concat();
        let table = format!("/v1/tables/u{}", self.number);
        let part = format!("{table}/parts/{}.enc", blake3::hash(&content).to_hex());
        self.call("PUT", &part, &content, &[201], refused)?;
        Tally::count(&self.tally.uploaded);
        self.call("DELETE", &table, b"", &[204], refused).map(drop)
    }
}

/// Runs so many clients, each for as long as `more` says after so many jobs, and the uploads meanwhile.
fn load(clients: usize, arguments: &[&str], more: impl Fn(usize) -> bool + Sync) {
    let service = start(arguments);
    let table = PLAIN.make();
    assert_eq!(table.push(&service), 201);
    let plan = plan(&table, Some("\"year\" >= 2022"));
    let tally = Tally::default();
    let client = |number| {
        let config = Agent::config_builder().http_status_as_error(false).proxy(None);
        let agent = config.timeout_global(Some(2 * PATIENCE)).build().new_agent();
        Client { service: &service, tally: &tally, agent, number }
    };
    let expected = {
        let id = crate::jobs::submit(&service, &plan);
        assert_eq!(crate::jobs::finished(&service, &id)["state"], "done");
        let answer = service.get(&format!("/v1/jobs/{id}/result")).body;
        assert_eq!(service.call("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 204);
        answer
    };
    let asking = AtomicUsize::new(clients);
    scope(|threads| {
        let thread = || Builder::new().stack_size(1 << 20);
        for number in 0..clients {
            let (client, more, plan, expected, asking) = (client(number), &more, &plan, &expected, &asking);
            let ask = move || {
                let _ = (0..).take_while(|done| more(*done)).try_for_each(|_| client.ask(plan, expected));
                asking.fetch_sub(1, Ordering::SeqCst);
            };
            thread().spawn_scoped(threads, ask).unwrap();
        }
        for number in clients..clients + UPLOADS {
            let (client, asking) = (client(number), &asking);
            let upload = move || {
                let mut rounds = (0..).take_while(|_| asking.load(Ordering::SeqCst) > 0);
                let _ = rounds.try_for_each(|round| client.upload(round));
            };
            thread().spawn_scoped(threads, upload).unwrap();
        }
    });
    let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
    let errors = tally.errors.lock().unwrap();
    #[allow(clippy::print_stdout, reason = "the figures of the measurement")]
    let tell = |line: String| println!("{line}");
    tell(format!(
        "{} jobs accepted, {} answered, {} uploads; refused with 503: {} to bring, {} to collect; {} errors",
        count(&tally.accepted),
        count(&tally.answered),
        count(&tally.uploaded),
        count(&tally.refused),
        count(&tally.refused_collecting),
        errors.len()
    ));
    assert!(errors.is_empty(), "{} errors, such as {:?}", errors.len(), &errors[..errors.len().min(5)]);
    assert!(count(&tally.answered) >= clients && count(&tally.uploaded) > 0);
    assert_eq!(count(&tally.accepted), count(&tally.answered));
    assert_eq!(std::fs::read_dir(service.path("jobs")).unwrap().count(), 0);
}

#[test]
fn two_hundred_clients_and_four_uploads_are_all_answered() {
    load(CLIENTS, &[], |done| done < 3);
}

/// Those who hold a connection and those who wait for one take turns.
#[test]
fn more_clients_than_connections_are_all_answered() {
    load(40, &["--max-connections", "8"], |done| done < 2);
}

#[test]
#[ignore = "a minute; run by make test-slow"]
fn two_hundred_clients_and_four_uploads_for_a_minute() {
    let end = Instant::now() + Duration::from_secs(60);
    load(CLIENTS, &[], |_| Instant::now() < end);
}
