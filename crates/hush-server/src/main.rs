// SPDX-License-Identifier: Apache-2.0
//! The `hush-server` binary: arguments, logs, signals.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use hush_server::{Config, Server};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::LevelFilter;

/// Threads for the network; plans run on threads of their own.
const NETWORK_THREADS: usize = 2;

fn main() -> ExitCode {
    let config = Config::parse();
    // Whatever this process writes is for its user alone.
    umask(Mode::RWXG | Mode::RWXO);
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .init();
    match start(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do if even this cannot be written.
            let _ = report(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

fn start(config: &Config) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(NETWORK_THREADS)
        .max_blocking_threads(config.blocking_threads())
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(config));
    // Jobs that run are run again at the next start.
    runtime.shutdown_background();
    served
}

async fn serve(config: &Config) -> Result<(), Box<dyn Error>> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let server = Server::bind(config).await?;
    if config.no_auth_insecure {
        tracing::warn!("serving without a token (--no-auth-insecure)");
    } else if let Some(work) = config.work() {
        writeln!(io::stderr(), "API token in {}", config.token_path(work).display())?;
    }
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on http://{}", server.address()?)?;
    stdout.flush()?;

    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(server.run(stopped));
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    tracing::info!("stopping");
    stop.send_replace(true);
    Ok(running.await?)
}

fn report(error: &dyn Error) -> io::Result<()> {
    let mut stderr = io::stderr();
    write!(stderr, "error: {error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(stderr, ": {error}")?;
        cause = error.source();
    }
    writeln!(stderr)
}
