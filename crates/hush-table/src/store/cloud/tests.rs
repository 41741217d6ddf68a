// SPDX-License-Identifier: Apache-2.0
//! Answers of a store, as its client really gets them, and what they are told as.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::{BackoffConfig, RetryConfig};

use super::*;
use crate::error::{ErrorKind, Operation, TableError};
use crate::store::TableStore;

const SECRET: &str = "a-secret-access-key";
const KEY_ID: &str = "AKIAEXAMPLE";
/// What a store may say of a request that it refuses.
const DETAILS: &str = "<AWSAccessKeyId>AKIAEXAMPLE</AWSAccessKeyId><StringToSign>AWS4-HMAC</StringToSign>";

/// Answers every request with the same bytes; gives the port and the number of requests so far.
fn answering(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink()).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    (port, asked)
}

/// A table in a bucket of the store at `port`, whose client tries three times.
fn table(port: u16) -> TableStore {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(1), ..BackoffConfig::default() };
    let retry = RetryConfig { backoff, max_retries: 2, retry_timeout: Duration::from_secs(20) };
    let builder = AmazonS3Builder::new().with_bucket_name("lake").with_retry(retry).with_allow_http(true);
    let builder = builder.with_endpoint(format!("http://127.0.0.1:{port}")).with_access_key_id(KEY_ID);
    let store = Arc::new(builder.with_secret_access_key(SECRET).build().unwrap());
    let root: Arc<str> = "s3://lake".into();
    let objects = Arc::new(CloudStore::new(store, root.clone()));
    TableStore {
        root: Some(root),
        memory: Some(Arc::default()),
        ..TableStore::new(objects, Path::from("a/t"))
    }
}

/// How loading a manifest fails; checks that nothing of the request is told.
fn fault(port: u16) -> (Option<StoreFault>, ErrorKind) {
    let table = table(port);
    let error = table.load().unwrap_err();
    let told = format!("{error} {error:?} {table:?}");
    for secret in [SECRET, KEY_ID, "127.0.0.1", "http:", "AWS4", "Signature="] {
        assert!(!told.contains(secret), "{told}");
    }
    let kind = error.kind();
    match error {
        TableError::Store { operation: Operation::Read, place, fault } => {
            assert_eq!(place, "s3://lake/a/t/manifest.hush");
            (Some(fault), kind)
        }
        TableError::NoTable { place } => {
            assert_eq!(place, "s3://lake/a/t");
            (None, kind)
        }
        other => panic!("{other:?}"),
    }
}

/// A refusal with a code.
fn refusal(status: &str, code: &str) -> &'static str {
    let body =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message>{DETAILS}</Error>");
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    Box::leak((head + &body).into_boxed_str())
}

#[test]
fn refusals_are_told_by_their_cause() {
    let said = Said::of;
    for (status, code, expected, kind, tries) in [
        ("404 Not Found", "NoSuchKey", None, ErrorKind::Usage, 1),
        ("404 Not Found", "NoSuchBucket", Some(StoreFault::NoBucket), ErrorKind::Usage, 1),
        (
            "403 Forbidden",
            "SignatureDoesNotMatch",
            Some(StoreFault::Credentials { said: said("SignatureDoesNotMatch") }),
            ErrorKind::Key,
            1,
        ),
        (
            "404 Not Found",
            "NoSuchThing",
            Some(StoreFault::Refused { status: 404, said: said("NoSuchThing") }),
            ErrorKind::Remote,
            1,
        ),
        (
            "404 Not Found",
            "XAdminUserNotFound",
            Some(StoreFault::Credentials { said: said("XAdminUserNotFound") }),
            ErrorKind::Key,
            1,
        ),
        (
            "400 Bad Request",
            "ExpiredToken",
            Some(StoreFault::Credentials { said: said("ExpiredToken") }),
            ErrorKind::Key,
            1,
        ),
        ("401 Unauthorized", "<b>", Some(StoreFault::Credentials { said: said("") }), ErrorKind::Key, 1),
        (
            "403 Forbidden",
            "AccessDenied",
            Some(StoreFault::Forbidden { said: said("AccessDenied") }),
            ErrorKind::Key,
            1,
        ),
        (
            "503 Slow Down",
            "SlowDown",
            Some(StoreFault::Slow { tries: 3, said: said("SlowDown") }),
            ErrorKind::Remote,
            3,
        ),
        (
            "418 Teapot",
            "Tea",
            Some(StoreFault::Refused { status: 418, said: said("Tea") }),
            ErrorKind::Remote,
            1,
        ),
    ] {
        let (port, asked) = answering(refusal(status, code));
        assert_eq!(fault(port), (expected, kind), "{code}");
        assert_eq!(asked.load(Ordering::SeqCst), tries, "{code}");
    }
}

#[test]
fn broken_connections_and_other_servers_are_told_apart() {
    let cut = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nLast-Modified: Tue, 24 Nov 2026 12:00:00 GMT\r\nContent-Length: 9000\r\n\r\nHUSHTBL1";
    assert_eq!(fault(answering(cut).0), (Some(StoreFault::Cut), ErrorKind::Remote));
    let elsewhere = "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(fault(answering(elsewhere).0), (Some(StoreFault::Answer), ErrorKind::Remote));
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert_eq!(fault(unused), (Some(StoreFault::Unreachable { tries: 3 }), ErrorKind::Remote));
}

#[test]
fn writes_fail_with_the_same_words() {
    let (port, _) = answering(refusal("403 Forbidden", "AccessDenied"));
    let (table, written) =
        (table(port), crate::part::WrittenPart::new(crate::part::FileKind::Key, vec![1; 9], 0, 0));
    let error = table.put_part(&written).unwrap_err();
    assert_eq!(error.code(), "HUSH-T051");
    let place = format!("s3://lake/a/t/keys/{}.key", written.file.digest);
    assert_eq!(
        error.to_string(),
        format!("cannot write {place}: the store does not allow it (AccessDenied)")
    );
    let again = error.into_io();
    assert_eq!(again.kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(again.to_string(), format!("{place}: the store does not allow it (AccessDenied)"));
}
