// SPDX-License-Identifier: Apache-2.0
//! The `hush-lambda` binary: a function on AWS Lambda; or, with the command `token`, a token for one.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use hush_lambda::config::{ConfigError, Role, help};
use hush_lambda::event::Event;
use hush_lambda::gateway;
use hush_lambda::runtime::{Fault, Invocation, Runtime};
use hush_lambda::worker::{WorkError, Worker};
use hush_server::token::TokenHash;
use tracing_subscriber::filter::LevelFilter;

/// Threads for the network; plans run on threads of their own.
const NETWORK_THREADS: usize = 2;
/// Of the time that is left, at most so much is kept for writing what was computed.
const MARGIN: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into()).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => run(),
        ["token"] => token(),
        ["--help" | "-h"] => print(&help()),
        ["--version" | "-V"] => print(concat!("hush-lambda ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => Err("no such command or option: see hush-lambda --help".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do if even this cannot be written.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> Result<(), Box<dyn Error>> {
    Ok(io::stdout().write_all(text.as_bytes())?)
}

/// Prints a fresh token for the owner, and its hash for the front's environment.
fn token() -> Result<(), Box<dyn Error>> {
    let (token, hash) = TokenHash::fresh()?;
    print(&format!("token: {token}\nhash: {hash}\n"))
}

fn run() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .without_time()
        .init();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let api = Runtime::at(&std::env::var("AWS_LAMBDA_RUNTIME_API").unwrap_or_default())?;
    match Role::of_environment(|name| std::env::var(name).ok()) {
        Ok(Role::Front(router)) => {
            let answer = |invocation: Invocation| {
                let router = router.clone();
                async move { gateway::answer(router, &invocation.payload).await }
            };
            Ok(api.serve(answer).await?)
        }
        Ok(Role::Worker(worker)) => Ok(api.serve(|invocation| work(worker.clone(), invocation)).await?),
        Err(error) => {
            api.refuse(&Fault { code: error.code().to_owned(), message: error.to_string() }).await?;
            Err(Box::<ConfigError>::new(error))
        }
    }
}

async fn work(worker: Arc<Worker>, invocation: Invocation) -> Result<Bytes, Fault> {
    let fault = |error: WorkError| {
        tracing::error!(code = error.code(), "an event was not worked off");
        Fault { code: error.code().to_owned(), message: error.to_string() }
    };
    let event = Event::read(&invocation.payload).map_err(|refused| fault(refused.into()))?;
    let time = invocation.left.saturating_sub(MARGIN.min(invocation.left / 10));
    let ended = worker.work(&event, time).await.map_err(fault)?;
    tracing::info!(
        job = event.job.as_str(),
        first = event.first,
        end = event.end,
        ended = ended.name(),
        "event"
    );
    Ok(serde_json::json!({ "ended": ended.name() }).to_string().into())
}
