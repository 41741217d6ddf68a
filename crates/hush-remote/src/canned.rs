// SPDX-License-Identifier: Apache-2.0
//! A server of the tests, which gives replies that were prepared.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::job::JobId;
use super::transport::is_code;
use super::*;

pub(super) const JOB: &str = "00112233445566778899aabbccddeeff";

/// A server that gives the next of its replies on each connection, and the last one for ever.
pub(crate) struct Canned {
    pub(super) client: RemoteServer,
    replies: Arc<Mutex<Vec<Vec<u8>>>>,
    /// First lines of the requests since the replies were set.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client =
            RemoteServer::new(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
        client.transport.first_pause = Duration::ZERO;
        let (replies, asked) = (Arc::new(Mutex::new(Vec::<Vec<u8>>::new())), Arc::default());
        let canned = Self { client, replies: Arc::clone(&replies), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                exchange(stream, &asked, || {
                    let mut replies = replies.lock().unwrap();
                    if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() }
                });
            }
        });
        canned
    }

    pub(super) fn set(&self, replies: &[&[u8]]) -> &RemoteServer {
        *self.replies.lock().unwrap() = replies.iter().map(|reply| reply.to_vec()).collect();
        self.asked.lock().unwrap().clear();
        &self.client
    }

    /// Bytes of a body, under a sound head.
    pub(crate) fn body(&self, body: &[u8]) -> &RemoteServer {
        self.set(&[&response("200 OK", body)])
    }

    /// The id of a job that it took.
    pub(super) fn job(&self) -> JobId {
        self.body(format!("{{\"id\":\"{JOB}\"}}").as_bytes()).submit(b"{}").unwrap()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one request, but not a body that waits for leave, and answers it.
fn exchange(stream: TcpStream, asked: &Mutex<Vec<String>>, reply: impl FnOnce() -> Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length, mut waits) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        let lower = line.to_lowercase();
        match lower.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("expect", _)) => waits = true,
            _ => {}
        }
        head.push_str(&line);
    }
    asked.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
    let _ = reader.read_exact(&mut vec![0; if waits { 0 } else { length }]);
    let _ = reader.into_inner().write_all(&reply());
}

/// A reply with a body of stated length.
pub(super) fn response(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A reply that ends with its connection.
pub(super) fn endless(body: &[u8]) -> Vec<u8> {
    [&b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"[..], body].concat()
}

/// Checks that an error has a code and a text that is safe on a terminal. Returns false, for the counts.
pub(crate) fn sound(error: &RemoteError) -> bool {
    let text = error.to_string();
    assert!(error.code().starts_with("HUSH-"), "{text}");
    assert!(text.len() < 1000 && text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    if let RemoteError::Refused { code, .. } = error {
        assert!(is_code(code), "{code:?}");
    }
    false
}
