// SPDX-License-Identifier: Apache-2.0
//! Putting the service together on a data directory, and housekeeping while it runs.

use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hush_table::{TableError, TableUri};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::admission::{Admission, Tokens};
use crate::catalog::{Catalog, Storage};
use crate::config::Config;
use crate::connection;
use crate::jobs::{Jobs, LocalJobs};
use crate::places::Places;
use crate::routes::{App, Intake, router};
use crate::runner::{EngineRunner, RunPlan};
use crate::token::{TokenError, TokenHash};
use crate::uploads::Uploads;

const HOUSEKEEPING: Duration = Duration::from_secs(30);

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// `--no-auth-insecure` for everyone to reach.
    #[error(
        "--no-auth-insecure is for loopback addresses only, not {listen}: leave it out, or listen on 127.0.0.1"
    )]
    OpenToAll {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// A second server.
    #[error("another server is using {path}: stop it, or take another directory")]
    InUse {
        /// The data directory.
        path: PathBuf,
    },
    /// Address taken, or not ours.
    #[error("cannot listen on {listen}: take a free port with --listen")]
    Listen {
        /// The address asked for.
        listen: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A place that no tables can be in, or that cannot be reached.
    #[error("cannot use the place of the tables")]
    Place {
        /// The cause.
        #[source]
        source: TableError,
    },
    /// Tables in a bucket, and no directory for the rest.
    #[error("{place} keeps tables alone: name a directory for uploads, jobs and tokens with --work DIR")]
    NoWork {
        /// The place of the tables.
        place: TableUri,
    },
    /// The data directory.
    #[error("cannot use the data directory {path}")]
    Data {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// No randomness.
    #[error("the operating system provides no randomness")]
    Randomness,
}

/// A service that is bound to its address but does not answer yet.
pub struct Server {
    app: Arc<App>,
    jobs: Arc<Jobs>,
    listener: TcpListener,
    _lock: fs::File,
}

impl Server {
    /// Opens the place of the tables, the directory for the rest (both made with mode 0700 if absent) and the token, and binds the address.
    ///
    /// What an earlier process left is read: committed tables, growing parts, jobs.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn bind(config: &Config) -> Result<Self, StartError> {
        Self::bind_where(config, || Storage::at(&config.data)).await
    }

    /// As [`Server::bind`], with tables in `storage` instead of the place that `config` names.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn bind_on(config: &Config, storage: Storage) -> Result<Self, StartError> {
        Self::bind_where(config, || Ok(storage)).await
    }

    async fn bind_where(
        config: &Config,
        storage: impl FnOnce() -> Result<Storage, TableError>,
    ) -> Result<Self, StartError> {
        if config.no_auth_insecure && !config.listen.ip().is_loopback() {
            return Err(StartError::OpenToAll { listen: config.listen });
        }
        let work = config.work().ok_or_else(|| StartError::NoWork { place: config.data.clone() })?;
        let failed = |source| StartError::Data { path: work.to_owned(), source };
        private_directory(work).map_err(failed)?;
        if let TableUri::Directory(directory) = &config.data {
            private_directory(directory).map_err(failed)?;
        }
        let lock = lock(work)?;
        let token = match config.no_auth_insecure {
            true => None,
            false => Some(Tokens {
                owner: TokenHash::load_or_create(&config.token_path(work))?,
                devices: Some(TokenHash::load_or_create(&config.device_token_path(work))?),
            }),
        };
        let limits = config.limits.clone();
        let admission = Admission::new(token, &limits).map_err(|_| StartError::Randomness)?;
        let refused = |error: TableError| failed(error.into_io());
        let at_place = |source| StartError::Place { source };
        let catalog = Catalog::open(storage().map_err(at_place)?).map_err(at_place)?;
        catalog.reach().map_err(at_place)?;
        let tables = catalog.tables().clone();
        let growing = work.join("uploads");
        let places = Places::new(tables.clone(), growing.clone(), limits.max_tables);
        let uploads = Uploads::open(growing, limits.max_uploads_bytes).map_err(refused)?;
        let runner: Arc<dyn RunPlan> =
            Arc::new(EngineRunner::new(tables, config.threads_per_job(), engine_limits(config)));
        let jobs = Jobs::open(work.join("jobs"), limits.clone(), Arc::clone(&runner)).map_err(failed)?;
        let intake = Some(Intake { places, uploads, runner });
        let service = Arc::new(LocalJobs(Arc::clone(&jobs)));
        let admission = Arc::new(admission);
        let app = App { limits, admission, catalog, intake, jobs: service, elsewhere: None };
        let unbound = |source| StartError::Listen { listen: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(unbound)?;
        Ok(Self { app: Arc::new(app), jobs, listener, _lock: lock })
    }

    /// The address that was bound.
    ///
    /// # Errors
    /// From the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests and runs jobs until `stop` turns true, then lets open requests finish.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let jobs = self.jobs;
        jobs.start();
        let housekeeping = tokio::spawn(keep_house(Arc::clone(&self.app), Arc::clone(&jobs)));
        let limits = self.app.limits.clone();
        connection::serve(self.listener, router(self.app), &limits, stop).await;
        housekeeping.abort();
        jobs.suspend();
    }
}

fn engine_limits(config: &Config) -> hush_exec::Limits {
    hush_exec::Limits { max_answer_bytes: config.limits.max_answer_bytes, ..hush_exec::Limits::default() }
}

fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// One server per data directory: the lock goes with the process, however it ends.
fn lock(work: &Path) -> Result<fs::File, StartError> {
    let failed = |source| StartError::Data { path: work.to_owned(), source };
    let path = work.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse { path: work.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Removes expired results and orphaned parts, at once and then regularly.
async fn keep_house(app: Arc<App>, jobs: Arc<Jobs>) {
    let mut ticks = interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let orphan_ttl = Duration::from_secs(app.limits.orphan_ttl_s);
    let mut parts_swept: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let (app, jobs) = (Arc::clone(&app), Arc::clone(&jobs));
        let parts_due = parts_swept.is_none_or(|swept| swept.elapsed() >= between_sweeps(orphan_ttl));
        if parts_due {
            parts_swept = Some(Instant::now());
        }
        let swept = spawn_blocking(move || {
            jobs.sweep();
            if let Some(intake) = &app.intake {
                intake.uploads.sweep(orphan_ttl);
            }
            if parts_due {
                app.catalog.sweep(orphan_ttl, &jobs.tables_in_use());
            }
        });
        if swept.await.is_err() {
            tracing::error!("housekeeping panicked");
        }
    }
}

/// Time between two sweeps of parts, which list every table: short beside the time that an orphan is kept.
fn between_sweeps(orphan_ttl: Duration) -> Duration {
    (orphan_ttl / 24).min(Duration::from_secs(3600))
}
