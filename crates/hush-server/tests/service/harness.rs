// SPDX-License-Identifier: Apache-2.0
//! Starts the service, talks to it through an ordinary HTTP client or over a bare socket, and ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use clap::Parser;
use hush_server::{Config, Storage};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::watch;
use ureq::http::Request;
use ureq::{Agent, SendBody};

/// How long anything may take before a test fails; far more than it does take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running service; ended when dropped.
pub(crate) struct Service {
    server: Server,
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) data: Arc<TempDir>,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    agent: Agent,
}

/// What serves.
enum Server {
    /// The program.
    Process(Child),
    /// A thread of this process, so that its tables may lie in a store that this process has made.
    Thread { stop: watch::Sender<bool>, thread: Option<JoinHandle<()>> },
}

impl Server {
    fn end(&mut self) {
        match self {
            // Both fail where the process has ended already.
            Self::Process(child) => drop((child.kill(), child.wait())),
            Self::Thread { stop, thread } => {
                stop.send_replace(true);
                thread.take().map(JoinHandle::join).transpose().expect("a server that does not panic");
            }
        }
    }
}

/// A response, read whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// The code of a refusal, whose body must have the uniform shape.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let object = body.as_object().expect("an object");
        let keys: Vec<_> = object.keys().map(String::as_str).collect();
        let over_limit = ["code", "found", "limit", "message", "request_id"];
        assert!(keys == ["code", "message", "request_id"] || keys == over_limit, "{keys:?}");
        assert_eq!(self.header("x-request-id"), object["request_id"].as_str());
        let message = object["message"].as_str().unwrap().replace("/v1/", "");
        assert!(!message.is_empty() && !message.contains('/'), "{message}");
        object["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A service in a fresh data directory, with more arguments.
pub(crate) fn start(arguments: &[&str]) -> Service {
    start_in(Arc::new(tempfile::tempdir().unwrap()), arguments)
}

/// A service in the data directory of an earlier one.
pub(crate) fn start_in(data: Arc<TempDir>, arguments: &[&str]) -> Service {
    let mut child = command(data.path(), arguments).stderr(Stdio::piped()).spawn().unwrap();
    let log = Arc::new(Mutex::new(String::new()));
    let reader = collect(BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Some(address) = line.trim_end().strip_prefix("listening on http://") else {
        panic!("no address in {line:?}; log: {}", log.lock().unwrap());
    };
    let address = address.to_owned();
    Service::of(Server::Process(child), address, data, log, Some(reader))
}

/// A service whose tables lie in `storage`; `data` holds what is under way.
pub(crate) fn start_on(storage: Storage, data: Arc<TempDir>, arguments: &[&str]) -> Service {
    let directory = data.path().to_str().unwrap();
    let fixed = ["hush-server", "--data", directory, "--listen", "127.0.0.1:0", "--threads", "1"];
    let config = Config::parse_from(fixed.iter().chain(arguments));
    let (stop, stopped) = watch::channel(false);
    let (address, bound) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = hush_server::Server::bind_on(&config, storage).await.unwrap();
            address.send(server.address().unwrap().to_string()).unwrap();
            server.run(stopped).await;
        });
        runtime.shutdown_timeout(PATIENCE);
    });
    let address = bound.recv_timeout(PATIENCE).expect("a server that starts");
    let server = Server::Thread { stop, thread: Some(thread) };
    Service::of(server, address, data, Arc::default(), None)
}

/// The binary on a free port.
pub(crate) fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hush-server"));
    command.arg("--data").arg(data).args(["--listen", "127.0.0.1:0", "--threads", "1"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn collect(mut stderr: impl BufRead + Send + 'static, log: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut line = String::new();
        while stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
            log.lock().unwrap().push_str(&line);
            line.clear();
        }
    })
}

/// Repeats until `done` gives something.
pub(crate) fn eventually<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(5);
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        if let Some(result) = done() {
            return result;
        }
        sleep(pause);
    }
    panic!("{what} did not happen");
}

impl Service {
    fn of(
        server: Server,
        address: String,
        data: Arc<TempDir>,
        log: Arc<Mutex<String>>,
        reader: Option<JoinHandle<()>>,
    ) -> Self {
        let token = std::fs::read_to_string(data.path().join("token")).unwrap_or_default().trim().to_owned();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .build()
            .new_agent();
        Self { server, address, token, data, log, reader, agent }
    }

    /// A request with the token.
    pub(crate) fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        self.call_bare(method, path, &all, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], &[])
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.call("PUT", path, &[], body)
    }

    /// A request with these headers alone.
    pub(crate) fn call_bare(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = if matches!(method, "PUT" | "POST") {
            let mut source = body;
            // So that a refusal arrives instead of a connection broken under an unread body.
            let request = request.header("content-length", body.len()).header("expect", "100-continue");
            self.agent.run(request.body(SendBody::from_reader(&mut source)).unwrap())
        } else {
            self.agent.run(request.body(()).unwrap())
        };
        let (parts, mut body) = sent.expect("a response").into_parts();
        let body = if method == "HEAD" { Vec::new() } else { body.read_to_vec().expect("a whole body") };
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// A connection for requests that no client would send.
    pub(crate) fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Sends bytes over a fresh connection and reads until the server closes it.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut socket = self.socket();
        // The server may answer and close before it has taken everything.
        let _ = socket.write_all(bytes);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Begins an upload of `announced` bytes with `sent` of them, and leaves it open.
    pub(crate) fn begin_upload(&self, path: &str, announced: usize, sent: &[u8]) -> TcpStream {
        let mut socket = self.socket();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {announced}\r\n\r\n",
            self.address, self.token
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(sent).unwrap();
        socket.flush().unwrap();
        socket
    }

    /// Where an upload stands.
    pub(crate) fn offset(&self, path: &str) -> u64 {
        let head = self.call("HEAD", path, &[], &[]);
        head.header("upload-offset").expect("an offset").parse().unwrap()
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.data.path().join(inside)
    }

    /// Everything logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Ends the process as a power switch would; gives its data directory.
    pub(crate) fn kill(mut self) -> Arc<TempDir> {
        self.server.end();
        Arc::clone(&self.data)
    }

    /// Asks the process to end; gives its status and its whole log.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        let Server::Process(child) = &mut self.server else { panic!("not a process") };
        kill_process(Pid::from_child(child), Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status, self.log())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.server.end();
    }
}
