// SPDX-License-Identifier: Apache-2.0
//! Processes, watched from outside: CPU load and memory over time, alike for every library.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hush_system::usage::{Sample, of_process};
use serde::{Deserialize, Serialize};

/// The usage of a process in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// End of the interval, seconds after the start.
    pub at_s: f64,
    /// CPU time over wall time in percent; 100 is one core.
    pub cpu_percent: f64,
    /// Resident megabytes at the end.
    pub memory_mb: f64,
}

/// A process that has ended.
pub(super) struct Watched {
    /// Its output and exit status.
    pub(super) output: Output,
    /// From start to end.
    pub(super) wall_s: f64,
    /// Load over time; empty where the system does not tell or the process was too short.
    pub(super) load: Vec<Load>,
}

/// Runs a program to its end without input.
///
/// # Errors
/// It cannot be started.
pub(super) fn run(command: &mut Command) -> std::io::Result<Watched> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let process = child.id();
    let (end, ended) = channel();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(move || watch(process, start, &ended));
        let output = child.wait_with_output();
        let wall_s = start.elapsed().as_secs_f64();
        drop(end);
        // A watcher that failed has nothing to say.
        Ok(Watched { output: output?, wall_s, load: watcher.join().unwrap_or_default() })
    })
}

fn watch(process: u32, start: Instant, ended: &Receiver<()>) -> Vec<Load> {
    let (mut interval, mut load) = (SHORTEST, Vec::with_capacity(MOST));
    let (mut before_s, mut cpu_before_s) = (0.0, 0.0);
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let at_s = start.elapsed().as_secs_f64();
        let Some(Sample { cpu_s, resident_bytes }) = of_process(process) else { break };
        let cpu_percent = 100.0 * (cpu_s - cpu_before_s) / (at_s - before_s);
        load.push(Load { at_s, cpu_percent, memory_mb: resident_bytes as f64 / 1e6 });
        (before_s, cpu_before_s) = (at_s, cpu_s);
        if load.len() == MOST {
            load = halved(&load);
            interval *= 2;
        }
    }
    load
}

/// Two intervals in one.
fn halved(load: &[Load]) -> Vec<Load> {
    let mut before_s = 0.0;
    let merge = |pair: &[Load]| {
        let [a, b] = pair else { return pair.first().copied() };
        let (first, second) = (a.at_s - before_s, b.at_s - a.at_s);
        before_s = b.at_s;
        let cpu_percent = (a.cpu_percent * first + b.cpu_percent * second) / (first + second);
        Some(Load { at_s: b.at_s, cpu_percent, memory_mb: a.memory_mb.max(b.memory_mb) })
    };
    load.chunks(2).filter_map(merge).collect()
}

/// Ten ticks of the kernel's clock, so that a load is right within a tenth.
const SHORTEST: Duration = Duration::from_millis(100);
/// Intervals that are kept; then two become one.
const MOST: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_intervals_keep_the_time_that_was_used() {
        let point = |at_s, cpu_percent| Load { at_s, cpu_percent, memory_mb: at_s };
        let merged = halved(&[point(1.0, 100.0), point(2.0, 50.0), point(5.0, 0.0), point(6.0, 40.0)]);
        assert_eq!(merged, [point(2.0, 75.0), point(6.0, 10.0)]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_busy_process_is_seen_and_its_output_kept() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo out; end=$(( $(date +%s) + 2 )); while [ $(date +%s) -lt $end ]; do :; done"]);
        let watched = run(&mut command).unwrap();
        assert_eq!(watched.output.stdout, b"out\n");
        assert!(watched.wall_s > 0.5 && !watched.load.is_empty());
        assert!(watched.load.is_sorted_by(|a, b| a.at_s < b.at_s));
        assert!(watched.load.iter().all(|load| load.memory_mb > 0.0));
    }
}
