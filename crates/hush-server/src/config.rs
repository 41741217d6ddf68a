// SPDX-License-Identifier: Apache-2.0
//! Configuration: command-line arguments, limits and their defaults.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use hush_protocol::table::MOST_LISTED;
use hush_table::TableUri;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Threads for the service's own files: housekeeping.
const OWN_THREADS: usize = 4;
/// Whatever the limits are.
const MAX_THREADS: usize = 4096;

/// The service: stores encrypted tables and answers plans. It holds no secret key.
#[derive(Clone, Debug, Parser)]
#[command(name = "hush-server", version, about)]
pub struct Config {
    /// Place of the tables: a directory, made with mode 0700 if absent, or s3://BUCKET/PREFIX, gs://, az://.
    #[arg(long, value_name = "PLACE")]
    pub data: TableUri,
    /// Directory of uploads, jobs and tokens, made with mode 0700 if absent [default: the directory of the tables].
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7373")]
    pub listen: SocketAddr,
    /// Threads for running plans, over all jobs together [default: all cores].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// File with the API token, mode 0600; made if absent [default: WORK/token].
    #[arg(long, value_name = "PATH", conflicts_with = "no_auth_insecure")]
    pub token_file: Option<PathBuf>,
    /// File with the token of devices, which lets deliveries in and nothing out; mode 0600, made if absent [default:
    /// WORK/device-token].
    #[arg(long, value_name = "FILE", conflicts_with = "no_auth_insecure")]
    pub device_token_file: Option<PathBuf>,
    /// Serve without a token. Only on a loopback address.
    #[arg(long)]
    pub no_auth_insecure: bool,
    /// The limits.
    #[command(flatten)]
    pub limits: Limits,
}

impl Config {
    /// The directory of what is under way, and of the tokens; `None` if tables lie in a bucket and no directory is named.
    pub fn work(&self) -> Option<&Path> {
        match &self.data {
            _ if self.work.is_some() => self.work.as_deref(),
            TableUri::Directory(directory) => Some(directory),
            _ => None,
        }
    }

    /// Path of the file with the devices' token, with `work` from [`Config::work`].
    pub fn device_token_path(&self, work: &Path) -> PathBuf {
        self.device_token_file.clone().unwrap_or_else(|| work.join("device-token"))
    }

    /// The token file's path, with `work` from [`Config::work`].
    pub fn token_path(&self, work: &Path) -> PathBuf {
        self.token_file.clone().unwrap_or_else(|| work.join("token"))
    }

    /// Threads for files and for jobs that run, made as they are needed. Every request that has a place finds one, and so does every
    /// job: work that reads files for long, such as checking large parts, delays nobody who collects.
    pub fn blocking_threads(&self) -> usize {
        let Limits { max_requests, max_collecting, parallel_jobs, .. } = &self.limits;
        let places = max_requests.saturating_add(max_collecting.get()).saturating_add(parallel_jobs.get());
        places.saturating_add(OWN_THREADS).min(MAX_THREADS)
    }

    /// Threads that one job may use.
    pub fn threads_per_job(&self) -> usize {
        let all = self.threads.map_or_else(hush_system::processors::count, NonZeroUsize::get);
        (all / self.limits.parallel_jobs.get()).max(1)
    }
}

/// Limits that the server keeps to. Sizes are in bytes.
#[derive(Clone, Debug, Parser)]
pub struct Limits {
    /// Bytes that one table's parts may take.
    #[arg(long, value_name = "BYTES", default_value_t = 256 * GIB)]
    pub max_table_bytes: u64,
    /// Tables, begun ones included.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_tables: usize,
    /// Bytes that unfinished uploads may take together, over all tables.
    #[arg(long, value_name = "BYTES", default_value_t = 16 * GIB)]
    pub max_uploads_bytes: u64,
    /// Bytes of one part.
    #[arg(long, value_name = "BYTES", default_value_t = GIB)]
    pub max_part_bytes: u64,
    /// Bytes of one manifest.
    #[arg(long, value_name = "BYTES", default_value_t = 64 * MIB)]
    pub max_manifest_bytes: u64,
    /// Bytes of one plan.
    #[arg(long, value_name = "BYTES", default_value_t = MIB)]
    pub max_plan_bytes: u64,
    /// Bytes of one answer; a plan may ask for less.
    #[arg(long, value_name = "BYTES", default_value_t = GIB)]
    pub max_answer_bytes: u64,
    /// Bytes of request bodies held in memory at once, over all requests.
    #[arg(long, value_name = "BYTES", default_value_t = 256 * MIB)]
    pub max_buffered_bytes: u64,
    /// Requests served at once, other than polls, fetches and deletions of jobs; more are answered 503.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub max_requests: usize,
    /// Answers fetched and jobs deleted at once; more wait for their turn.
    #[arg(long, value_name = "N", default_value = "64")]
    pub max_collecting: NonZeroUsize,
    /// Deliveries in one page of a list; who lists them asks for page after page.
    #[arg(long, value_name = "N", default_value_t = MOST_LISTED, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_LISTED)))]
    pub max_listed: u16,
    /// Polls that wait for the end of a job at once, never more than half of the connections; more are answered with the
    /// job as it stands.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub max_polls: usize,
    /// Connections held at once; while more wait, each response closes its connection.
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub max_connections: usize,
    /// Jobs waiting; more are answered 503.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub max_queued_jobs: usize,
    /// Jobs remembered, finished ones included; those whose answers were fetched make room for more, else more are answered
    /// 503 until one is fetched, deleted or expires.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_jobs: usize,
    /// Jobs running at once; they share the threads.
    #[arg(long, value_name = "N", default_value = "1")]
    pub parallel_jobs: NonZeroUsize,
    /// Seconds that one job may run; then it fails, with a code.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub max_job_s: u64,
    /// Bytes that the answers of finished jobs may take together; those that were fetched make room for more, else jobs
    /// fail until one is fetched, deleted or expires.
    #[arg(long, value_name = "BYTES", default_value_t = 8 * GIB)]
    pub max_results_bytes: u64,
    /// Seconds that a finished job and its result are kept.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub result_ttl_s: u64,
    /// Seconds that a part of no manifest, or a part of an upload, is kept.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub orphan_ttl_s: u64,
    /// Seconds without a byte from or to a client before its connection is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub idle_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::parse_from(["limits"])
    }
}

impl Limits {
    /// Longest time of a job.
    pub fn job(&self) -> Duration {
        Duration::from_secs(self.max_job_s)
    }

    /// Polls that may wait at once: the other half of the connections is left to those who bring and fetch.
    pub fn polls(&self) -> usize {
        self.max_polls.min(self.max_connections / 2)
    }

    /// Longest silence of a client; also how long an answer that was fetched is kept in any case, in which a client whose
    /// connection broke under the last bytes comes back for them.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_s.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_loopback_and_threads_are_shared() {
        let config = Config::parse_from(["hush-server", "--data", "d"]);
        assert!(config.listen.ip().is_loopback());
        assert_eq!(config.token_path(config.work().unwrap()), PathBuf::from("d/token"));
        assert!(config.threads_per_job() >= 1);
        assert_eq!(config.blocking_threads(), 64 + 64 + 1 + 4);
        let args = ["hush-server", "--data", "d", "--threads", "7", "--parallel-jobs", "2"];
        assert_eq!(Config::parse_from(args).threads_per_job(), 3);
    }

    #[test]
    fn tables_in_a_bucket_need_a_directory_for_the_rest() {
        let config = Config::parse_from(["hush-server", "--data", "s3://lake/hush"]);
        assert_eq!(config.work(), None);
        let config = Config::parse_from(["hush-server", "--data", "s3://lake/hush", "--work", "w"]);
        assert_eq!(config.work(), Some(Path::new("w")));
        let config = Config::parse_from(["hush-server", "--data", "d", "--work", "w"]);
        assert_eq!(config.work(), Some(Path::new("w")));
        assert!(Config::try_parse_from(["hush-server", "--data", "ftp://h/d"]).is_err());
    }

    #[test]
    fn a_token_file_and_no_token_contradict() {
        let args = ["hush-server", "--data", "d", "--token-file", "t", "--no-auth-insecure"];
        assert!(Config::try_parse_from(args).is_err());
    }
}
