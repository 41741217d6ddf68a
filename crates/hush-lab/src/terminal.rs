// SPDX-License-Identifier: Apache-2.0
//! Text on its way to a person.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use hush_lab::LabError;

/// Lines of standard output. A closed pipe (`| head`) is the reader's choice, not an error. Control characters of the user's own
/// text are shown as escapes, except newlines: see [`one_line`].
///
/// # Errors
/// [`LabError::Output`].
pub(crate) fn print(text: &str) -> Result<(), LabError> {
    match writeln!(io::stdout(), "{}", visible(text)) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(LabError::Output),
    }
}

/// Text of the user, its newlines as escapes too.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// A line of standard error.
pub(crate) fn say(text: &str) {
    drop(writeln!(io::stderr(), "{}", visible(text)));
}

fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.into() })
        .collect()
}

/// Shares done, on one line of standard error that is written over, with an estimate of what is left. Nothing for the first second, and
/// nothing where no person watches.
pub(crate) struct Progress {
    what: &'static str,
    started: Instant,
    shown: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, started: Instant::now(), shown: None }
    }

    pub(crate) fn at(&mut self, share: f64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let is_due = self.shown.map_or(elapsed > 1.0, |shown| shown.elapsed().as_secs_f64() > 0.5);
        if is_due && share > 0.0 && io::stderr().is_terminal() {
            let left = elapsed / share - elapsed;
            drop(write!(
                io::stderr(),
                "\r{}: {:.0} %, about {} left   ",
                self.what,
                100.0 * share,
                seconds(left)
            ));
            self.shown = Some(Instant::now());
        }
    }

    /// Takes the line away; the seconds since the start.
    pub(crate) fn finish(self) -> f64 {
        if self.shown.is_some() {
            drop(write!(io::stderr(), "\r{:60}\r", ""));
        }
        self.started.elapsed().as_secs_f64()
    }
}

/// Three significant digits, with a unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.2} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}

/// Decimal units.
pub(crate) fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        c if c < 1e3 => format!("{c} B"),
        c if c < 1e6 => format!("{:.1} kB", c / 1e3),
        c if c < 1e9 => format!("{:.1} MB", c / 1e6),
        c if c < 1e12 => format!("{:.1} GB", c / 1e9),
        c => format!("{:.1} TB", c / 1e12),
    }
}
