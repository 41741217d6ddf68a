// SPDX-License-Identifier: Apache-2.0
//! The comparison of 2013, run again: both schemes at four security parameters, the published seconds beside ours.
//!
//! ```text
//!   run ─▶ for every Case a process of its own ─▶ Rows, as lines of JSON ─▶ report, plot
//!            case    keys, then every question until it was repeated often enough
//!            question  the circuits, and what was published of them
//! ```
//! A process of its own has a peak of memory of its own, and takes nothing with it if it is killed.

mod case;
mod contender;
mod plot;
mod question;
mod report;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

pub use case::{Case, measure};
pub use contender::Contender;
pub use plot::write as write_plot;
pub use question::Question;
pub use report::{COMPARISONS, Comparison, Crossover, Line, crossover, text};

use crate::LabError;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Repetitions behind each median; what takes long is repeated less.
    pub repeat: u32,
    /// Cases of larger security parameters are left out.
    pub up_to: u32,
    /// Only these questions; all if empty.
    pub questions: Vec<Question>,
    /// Only these schemes; all if empty.
    pub contenders: Vec<Contender>,
    /// Seed of keys, bits and noise.
    pub seed: String,
}

/// One question to one scheme at one security parameter, answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Who.
    pub contender: Contender,
    /// At which security parameter; that of BGV is 128.
    pub security: u32,
    /// What.
    pub question: Question,
    /// Median seconds of encryption, evaluation, reduction and decryption together.
    pub seconds: f64,
    /// Of them for encryption.
    pub encryption_s: f64,
    /// Seconds of key generation, which is in no figure.
    pub keys_s: f64,
    /// Repetitions.
    pub runs: u32,
    /// Repetitions with a wrong result.
    pub failures: u32,
    /// Repetitions in which a bound of the noise was over its limit: the result was not promised.
    pub unpromised: u32,
    /// Bytes of the public and the evaluation keys, as stored.
    pub key_bytes: u64,
    /// Bytes of the evaluation keys if nothing came from seeds.
    pub expanded_bytes: u64,
    /// Bytes of a fresh ciphertext.
    pub ciphertext_bytes: u64,
    /// Peak resident megabytes (10^6 bytes) of the process so far.
    pub peak_mb: f64,
    /// log2 of the cost of the best attack of the estimate.
    pub estimated_security: f64,
    /// Circuits evaluated at once.
    pub slots: u64,
    /// The published seconds.
    pub published_s: Option<f64>,
}

impl Row {
    /// How many times the published speed.
    pub fn speedup(&self) -> Option<f64> {
        self.published_s.map(|published| published / self.seconds)
    }

    /// How many times the published speed if ours made its keys within the time, which the published one did not.
    pub fn speedup_with_keys(&self) -> Option<f64> {
        self.published_s.map(|published| published / (self.seconds + self.keys_s))
    }
}

/// Runs every case in a process of `program`, one after the other.
///
/// `progress` is told what runs and about how long it takes. Cases that end early are named beside the rows.
///
/// # Errors
/// [`LabError::Process`] if the program cannot be started, [`LabError::NoCase`] if there is nothing to run.
pub fn run(
    options: &Options,
    program: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(Vec<Row>, Vec<String>), LabError> {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    let cases = Case::all(options);
    if cases.is_empty() {
        return Err(LabError::NoCase { up_to: options.up_to });
    }
    let whole_s = cases.iter().map(|case| case.estimate_s(options.repeat)).sum();
    progress(&format!("{} cases: about {}", cases.len(), duration_text(whole_s)));
    for case in cases {
        progress(&format!("{case}: about {}", duration_text(case.estimate_s(options.repeat))));
        let mut child = Command::new(program)
            .args(["bench", "--case", &case.to_string(), "--repeat", &options.repeat.to_string()])
            // In one word: it may begin with a dash.
            .arg(format!("--seed={}", options.seed))
            .args(case.questions.iter().flat_map(|question| ["--only", question.name()]))
            // The schemes of the laboratory know no threads; BGV would use them all.
            .env("RAYON_NUM_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(LabError::Process)?;
        let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            if let Ok(row) = serde_json::from_str::<Row>(&line) {
                progress(&report::line(&row));
                rows.push(row);
            }
        }
        let status = child.wait().map_err(LabError::Process)?;
        if !status.success() {
            progress(&format!("{case}: ended early ({status})"));
            failed.push(case.to_string());
        }
    }
    Ok((rows, failed))
}

/// Seconds for people.
pub(crate) fn duration_text(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a moment".to_owned(),
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests;
