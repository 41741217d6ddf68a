// SPDX-License-Identifier: Apache-2.0
//! Configuration: the environment of a function, and nothing else. What is missing or malformed keeps it from starting.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hush_exec::Limits as EngineLimits;
use hush_server::admission::{Admission, Tokens};
use hush_server::catalog::Catalog;
use hush_server::files::Elsewhere;
use hush_server::routes::{App, router};
use hush_server::token::TokenHash;
use hush_server::{Limits, Storage};
use hush_table::{Bucket, TableError, TableUri};

use crate::front::StoreJobs;
use crate::invoke::{Invoke, InvokeError, Lambda};
use crate::objects::JobObjects;
use crate::worker::{Settings, Worker};

/// Bodies of more bytes are given by an address in the bucket.
pub const OVER_BYTES: u64 = 4 << 20;
/// How long such an address is good.
const ADDRESS_GOOD_FOR: Duration = Duration::from_secs(15 * 60);
/// Most bytes that a leaf reads, unless the environment says otherwise.
const LEAF_BYTES: u64 = 256 << 20;
/// Largest answer, and largest partial answer, of a worker with memory for it.
const ANSWER_BYTES: u64 = 256 << 20;

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable that is needed.
    #[error("{name} is not set: {expected}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What it holds.
        expected: &'static str,
    },
    /// A variable with another value than it can have. The value is not repeated.
    #[error("{name} is not {expected}")]
    Malformed {
        /// The variable.
        name: &'static str,
        /// What it holds.
        expected: &'static str,
    },
    /// The bucket.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The workers.
    #[error(transparent)]
    Invoke(#[from] InvokeError),
    /// No randomness.
    #[error("the operating system provides no randomness")]
    Randomness,
}

impl ConfigError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Table(error) => error.code(),
            Self::Invoke(_) => "HUSH-L004",
            _ => "HUSH-L010",
        }
    }
}

/// The two functions.
pub enum Role {
    /// Answers requests.
    Front(Router),
    /// Evaluates parts.
    Worker(Arc<Worker>),
}

/// A variable, and what it holds.
type Variable = (&'static str, &'static str);

const ROLE: Variable = ("HUSH_ROLE", "front or worker");
const DATA: Variable = ("HUSH_DATA", "the place of the tables and jobs, s3://BUCKET/PREFIX");
const TOKEN: Variable =
    ("HUSH_TOKEN_HASH", "the hash of the owner's token, 64 hex digits: hush-lambda token makes both");
const WORKER: Variable = ("HUSH_WORKER", "the name of the worker function");
const PATIENCE: Variable = ("HUSH_PATIENCE_S", "seconds without progress before tasks are sent again");
const LEAF: Variable = ("HUSH_LEAF_BYTES", "most bytes that a worker reads for one task");

/// The arguments, and the environment of each function.
pub fn help() -> String {
    let list = |variables: &[Variable]| -> String {
        variables.iter().map(|(name, holds)| format!("  {name:<15}  {holds}\n")).collect()
    };
    format!(
        "The service as functions on AWS Lambda; contains no secret-key code\n\n\
         Usage: hush-lambda [COMMAND]\n\n\
         Without a command it is the function that its environment describes.\n\n\
         Commands:\n  token  Make a token for the owner, and its hash for the front\n\n\
         Options:\n  -h, --help     Print help\n  -V, --version  Print version\n\n\
         Environment of the front:\n{}\n\
         Environment of the worker:\n{}\n\
         HUSH_PATIENCE_S, HUSH_LEAF_BYTES and, in the worker, HUSH_WORKER can be left out.\n",
        list(&[ROLE, DATA, TOKEN, WORKER, PATIENCE]),
        list(&[ROLE, DATA, WORKER, LEAF]),
    )
}

impl Role {
    /// What the environment asks for; `set` reads a variable of it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn of_environment(set: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name: &str| set(name).filter(|value| !value.is_empty());
        let needed = |(name, expected)| set(name).ok_or(ConfigError::Missing { name, expected });
        let malformed = |(name, expected)| ConfigError::Malformed { name, expected };
        let role = needed(ROLE)?;
        if !matches!(role.as_str(), "front" | "worker") {
            return Err(malformed(ROLE));
        }
        let TableUri::Object { store, bucket, prefix } =
            needed(DATA)?.parse().map_err(|_| malformed(DATA))?
        else {
            return Err(malformed(DATA));
        };
        let allow_http =
            set("AWS_ALLOW_HTTP").is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1");
        let invoke = |worker: &str| -> Result<Arc<dyn Invoke>, ConfigError> {
            Ok(Arc::new(Lambda::new(worker, set("AWS_ENDPOINT_URL_LAMBDA").as_deref(), allow_http)?))
        };
        let number = |name: &'static str| match set(name).map(|text| text.parse::<u64>()) {
            None => Ok(None),
            Some(Ok(number)) if number > 0 => Ok(Some(number)),
            Some(_) => Err(malformed((name, "a positive whole number"))),
        };
        if role == "front" {
            let hash = TokenHash::parse(&needed(TOKEN)?).ok_or_else(|| malformed(TOKEN))?;
            let worker = needed(WORKER)?;
            let patience = number(PATIENCE.0)?.map(Duration::from_secs);
            let bucket = Bucket::open(store, &bucket, &prefix)?;
            let jobs = JobObjects::new(bucket.objects().clone(), bucket.prefix());
            let jobs = StoreJobs::new(jobs, invoke(&worker)?, OVER_BYTES, patience);
            let good_for = ADDRESS_GOOD_FOR;
            let elsewhere = Elsewhere { signer: bucket.signer().clone(), over_bytes: OVER_BYTES, good_for };
            return Ok(Self::Front(front(Storage::bucket(&bucket), hash, jobs, elsewhere)?));
        }
        let worker = set(WORKER.0).or_else(|| set("AWS_LAMBDA_FUNCTION_NAME"));
        let worker = worker.ok_or(ConfigError::Missing { name: WORKER.0, expected: WORKER.1 })?;
        let memory = number("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")?.map(|megabytes| megabytes << 20);
        let leaf_bytes = number(LEAF.0)?.unwrap_or(LEAF_BYTES);
        let bucket = Bucket::open(store, &bucket, &prefix)?;
        let jobs = JobObjects::new(bucket.objects().clone(), bucket.prefix());
        Ok(Self::Worker(Arc::new(Worker::new(
            jobs,
            Storage::tables_of(&bucket),
            invoke(&worker)?,
            settings(memory, leaf_bytes),
        ))))
    }
}

/// The server's own router on tables and jobs in a store, without what takes tables in.
///
/// # Errors
/// [`ConfigError`].
pub fn front(
    storage: Storage,
    owner: TokenHash,
    jobs: Arc<StoreJobs>,
    elsewhere: Elsewhere,
) -> Result<Router, ConfigError> {
    let limits = Limits::default();
    let tokens = Tokens { owner, devices: None };
    let admission = Admission::new(Some(tokens), &limits).map_err(|_| ConfigError::Randomness)?;
    let catalog = Catalog::open(storage)?;
    let app = App {
        limits,
        admission: Arc::new(admission),
        catalog,
        intake: None,
        jobs,
        elsewhere: Some(elsewhere),
    };
    Ok(router(Arc::new(app)))
}

/// How a worker with so much memory works: two fifths of it for sums and groups, as the parts that are being read and the runtime need the rest.
fn settings(memory: Option<u64>, leaf_bytes: u64) -> Settings {
    let usual = EngineLimits::default();
    let limits = match memory {
        None => usual,
        Some(memory) => EngineLimits {
            memory_bytes: memory / 5 * 2,
            max_answer_bytes: ANSWER_BYTES.min(memory / 4),
            ..usual
        },
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Settings { threads, limits, leaf_bytes }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    fn start(variables: &[(&str, &str)]) -> Result<Role, ConfigError> {
        let all: HashMap<_, _> = variables.iter().copied().collect();
        Role::of_environment(|name| all.get(name).map(|value| (*value).to_owned()))
    }

    const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    /// Whatever is missing or wrong, nothing starts; and no message repeats a value.
    #[test]
    fn it_fails_closed() {
        let front = [
            ("HUSH_ROLE", "front"),
            ("HUSH_DATA", "s3://lake/hush"),
            ("HUSH_WORKER", "w"),
            ("HUSH_TOKEN_HASH", HASH),
        ];
        for absent in 0..front.len() {
            let mut some = front.to_vec();
            let (name, _) = some.remove(absent);
            for variables in [some.clone(), [some, vec![(name, "")]].concat()] {
                let error = start(&variables).err().unwrap();
                assert!(
                    matches!(error, ConfigError::Missing { name: found, .. } if found == name),
                    "{error}"
                );
            }
        }
        for (name, bad) in [
            ("HUSH_ROLE", "both"),
            ("HUSH_ROLE", "Front"),
            ("HUSH_DATA", "/tmp/data"),
            ("HUSH_DATA", "https://server"),
            ("HUSH_DATA", "s3://"),
            ("HUSH_TOKEN_HASH", "secret-token-itself"),
            ("HUSH_TOKEN_HASH", &HASH[1..]),
            ("HUSH_PATIENCE_S", "0"),
            ("HUSH_PATIENCE_S", "soon-enough"),
        ] {
            let mut variables: Vec<_> = front.iter().copied().filter(|(known, _)| *known != name).collect();
            variables.push((name, bad));
            let error = start(&variables).err().unwrap();
            assert!(matches!(error, ConfigError::Malformed { name: found, .. } if found == name), "{error}");
            assert!(!error.to_string().contains(bad) || bad == "s3://" || bad == "both", "{error}");
        }
        let worker = [("HUSH_ROLE", "worker"), ("HUSH_DATA", "s3://lake/hush")];
        assert!(matches!(start(&worker).err(), Some(ConfigError::Missing { name: "HUSH_WORKER", .. })));
        let bad = [("HUSH_WORKER", "w"), ("HUSH_LEAF_BYTES", "256MB")];
        assert!(matches!(start(&[worker, bad].concat()).err(), Some(ConfigError::Malformed { .. })));
    }

    /// Help names the variables that a function reads, and no others, below the function that reads them.
    #[test]
    fn help_names_what_is_read() {
        let (front, worker) = help()
            .split_once("of the worker:")
            .map(|(front, worker)| (front.to_owned(), worker.to_owned()))
            .unwrap();
        let listed = |text: &str| -> BTreeSet<String> {
            let lines = text.lines().filter(|line| line.starts_with("  HUSH_"));
            lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
        };
        for (role, text) in [("front", front), ("worker", worker)] {
            let asked = std::cell::RefCell::new(BTreeSet::new());
            let set = |name: &str| {
                asked.borrow_mut().insert(name.to_owned());
                let set = [(ROLE.0, role), (DATA.0, "s3://lake/hush"), (TOKEN.0, HASH), (WORKER.0, "w")];
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            // Without credentials it may not start, but by then it has read all.
            let _ = Role::of_environment(set);
            let mut asked = asked.into_inner();
            asked.retain(|name| name.starts_with("HUSH_"));
            assert_eq!(listed(&text), asked, "{role}");
        }
    }

    #[test]
    fn memory_bounds_the_engine() {
        let small = settings(Some(128 << 20), 1).limits;
        assert!(small.memory_bytes + small.max_answer_bytes < 100 << 20);
        assert_eq!(settings(Some(10 << 30), 1).limits.max_answer_bytes, ANSWER_BYTES);
        assert_eq!(settings(None, 7).leaf_bytes, 7);
    }
}
