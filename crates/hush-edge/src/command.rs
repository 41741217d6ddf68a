// SPDX-License-Identifier: Apache-2.0
//! The command line of a device, the same as a program of its own (`hush-edge`) and as `hush edge run`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use hush_remote::{ApiToken, RemoteServer};
use hush_system::harden_process;
use hush_table::{CHUNK_ROWS, TableUri, TableUriError};
use hush_terminal::size;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::event::Event;
use crate::forward::bucket;
use crate::gateway::{self, GatewayOptions, Summary};
use crate::{Capacity, Destination, DeviceKey, EdgeError, Input, LineForm};

/// Encrypts rows as they come, with a key that cannot decrypt, and delivers them to a table.
#[derive(Clone, Debug, Args)]
pub struct GatewayArgs {
    /// CSV file with a header line, Parquet file, or - for standard input; absent: send what waits in the spool
    pub input: Option<PathBuf>,
    /// The device's key, from `hush edge key`
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Directory of encrypted rows that wait to be delivered; made if absent
    #[arg(long, value_name = "DIR")]
    pub spool: PathBuf,
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX; absent: rows stay in the spool
    #[arg(long, value_name = "TABLE")]
    pub to: Option<String>,
    /// File with the server's token for devices
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The file grows, and may be rotated: read on until stopped
    #[arg(long)]
    pub follow: bool,
    /// Each line is a message: a JSON object of columns, or a list of such, as an MQTT broker hands them on
    #[arg(long)]
    pub messages: bool,
    /// How long rows wait for a chunk of 8192 to fill
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub flush_after: Duration,
    /// Size of the spool at which no more is read until some is delivered
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size::parse)]
    pub spool_limit: u64,
    /// How long to try to deliver once the input has ended
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub patience: Duration,
    /// Print what was done as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing of single chunks and deliveries
    #[arg(long)]
    pub quiet: bool,
}

impl GatewayArgs {
    /// Runs until the input ends, or until the process is asked to end (SIGHUP, SIGINT, SIGTERM): rows that wait are then encrypted first.
    ///
    /// # Errors
    /// The errors of [`gateway::run`]; a key, token or address that cannot be used.
    pub fn run(&self) -> Result<(), EdgeError> {
        harden_process();
        let key = DeviceKey::read(&self.key)?;
        let options = self.options()?;
        let report = |event: Event| {
            if !self.quiet {
                say(&describe(&key, &event));
            }
        };
        let summary = gateway::run(&key, &options, &report)?;
        if self.json {
            return print(&serde_json::to_string(&summary).unwrap_or_default());
        }
        say(&self.closing(&key, &summary));
        Ok(())
    }

    fn options(&self) -> Result<GatewayOptions, EdgeError> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            // Asked twice, the process ends at once.
            let registered = signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
                .and_then(|_| signal_hook::flag::register(signal, stop.clone()));
            registered.map_err(|source| EdgeError::File { what: "watch", path: "signals".into(), source })?;
        }
        let input = match &self.input {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(Input::Stdin),
            Some(path) => Some(Input::File { path: path.clone(), follow: self.follow }),
        };
        if self.follow && !matches!(input, Some(Input::File { .. })) {
            return Err(EdgeError::Usage { what: "--follow needs a file".to_owned() });
        }
        Ok(GatewayOptions {
            input,
            form: if self.messages { LineForm::Json } else { LineForm::Csv },
            spool: self.spool.clone(),
            destination: self.destination()?,
            flush_after: self.flush_after,
            spool_limit: self.spool_limit,
            patience: self.patience,
            stop,
        })
    }

    fn destination(&self) -> Result<Destination, EdgeError> {
        let Some(to) = &self.to else { return Ok(Destination::Nowhere) };
        let usage = |what: String| EdgeError::Usage { what };
        let (address, table) = match to.parse().map_err(|error: TableUriError| usage(error.to_string()))? {
            TableUri::Directory(directory) => return Ok(Destination::Directory(directory)),
            TableUri::Server { address, table: Some(table) } => (address, table),
            TableUri::Server { .. } => {
                return Err(usage("which table?\n  Way out: --to SERVER/tables/NAME".to_owned()));
            }
            uri @ TableUri::Object { .. } => {
                return Ok(Destination::Bucket(Box::new(bucket(&uri)?)));
            }
        };
        let token = self.token_file.as_deref().map(ApiToken::from_file).transpose()?;
        Ok(Destination::Server { server: Box::new(RemoteServer::new(&address, token)?), table })
    }

    fn closing(&self, key: &DeviceKey, summary: &Summary) -> String {
        let Summary { rows, chunks, bytes, delivered, waiting, .. } = *summary;
        let mut text = format!(
            "{rows} rows of {} in {chunks} chunks, {}; {delivered} delivered, {waiting} in the spool",
            key.schema.table,
            in_bytes(bytes)
        );
        if waiting > 0 {
            text.push_str("\nThe same command sends what waits; without input it sends nothing else.");
        }
        text
    }
}

/// Measures the load that this machine can carry, and prints it.
///
/// # Errors
/// The errors of [`Capacity::measure`]; standard output cannot be written.
pub fn report_capacity(json: bool) -> Result<(), EdgeError> {
    let capacity = Capacity::measure()?;
    print(&if json { capacity.to_json() } else { describe_capacity(&capacity) })
}

/// Columns of a table as an example.
const EXAMPLE_COLUMNS: u64 = 4;

fn describe_capacity(capacity: &Capacity) -> String {
    let memory = capacity
        .memory_bytes
        .map_or("memory unknown".to_owned(), |bytes| format!("{} of memory", in_bytes(bytes)));
    let mut text = format!(
        "Kernels {}, {} threads (a device encrypts on one), {memory}\n\
         Columns are encrypted for sums with public keys, in chunks of {CHUNK_ROWS} rows, {EXAMPLE_COLUMNS} columns as an example.\n\n\
         {:>6}  {:>7}  {:>13}  {:>12}  {:>11}  {:>9}  {:>11}",
        capacity.kernels,
        capacity.threads,
        "N",
        "modulus",
        "bytes a value",
        "rows/s of 4",
        "bytes a row",
        "memory",
        "columns fit"
    );
    for ring in &capacity.rings {
        let columns = [(ring.params.clone(), EXAMPLE_COLUMNS)].into();
        let load = capacity.load(&columns, 0).unwrap_or_default();
        let fit = capacity.columns_that_fit(ring).map_or("unknown".to_owned(), |count| match count {
            0..10_000 => count.to_string(),
            _ => "over 10000".to_owned(),
        });
        text.push_str(&format!(
            "\n{:>6}  {:>7}  {:>13.1}  {:>12.0}  {:>11.1}  {:>9}  {fit:>11}",
            ring.degree,
            format!("{:.0} bit", ring.modulus_bits),
            ring.value_bytes,
            load.rows_per_s,
            load.row_bytes,
            in_bytes(load.memory_bytes)
        ));
    }
    text.push_str("\n\nWhich N a table has follows from its ranges and rows: hush init --target edge fits them to this machine (hush doctor --device --json, --device FILE).");
    text
}

/// An event as a person reads it.
fn describe(key: &DeviceKey, event: &Event) -> String {
    match event {
        Event::Spooled { number, rows, bytes, flushed: false } => {
            format!("chunk {number}: {rows} rows, {}", in_bytes(*bytes))
        }
        Event::Spooled { number, rows, bytes, .. } => {
            let values = (key.encodings.len() * rows).max(1) as u64;
            let full = key.full_chunk_bytes() / (u64::from(CHUNK_ROWS) * key.encodings.len().max(1) as u64);
            format!(
                "chunk {number}: {rows} of {CHUNK_ROWS} rows, {}: {} bytes a value where a full chunk has {full}",
                in_bytes(*bytes),
                bytes / values
            )
        }
        Event::Delivered { number } => format!("chunk {number} delivered"),
        Event::Waiting { reason, pause } => {
            format!("cannot deliver: {reason}; trying again in {} s", pause.as_secs())
        }
        Event::Torn { bytes } => {
            format!(
                "left out: a last line of {bytes} bytes without its end, of a file that was rotated or written anew"
            )
        }
        Event::Full { bytes } => {
            format!("the spool has {}, its limit: reading stops until some is delivered", in_bytes(*bytes))
        }
    }
}

fn in_bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A line on standard output.
fn print(text: &str) -> Result<(), EdgeError> {
    match writeln!(std::io::stdout(), "{text}") {
        // The reader has read enough.
        Err(source) if source.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(EdgeError::File { what: "write", path: "standard output".into(), source }),
        Ok(()) => Ok(()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("{text:?} is not a number of seconds from 0 on"))
}

/// A line on standard error. If nobody reads it, that is no reason to stop.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
