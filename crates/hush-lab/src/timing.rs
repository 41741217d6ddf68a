// SPDX-License-Identifier: Apache-2.0
//! `hush-lab bench`.

use std::path::Path;

use hush_lab::LabError;
use hush_lab::bench::{self, Case, Options};

use crate::args::Bench;
use crate::outcome::Outcome;
use crate::terminal::{Progress, print, say};

/// Runs every case, or one of them in this process; wrong if any result was.
pub(crate) fn bench(args: &Bench) -> Result<Outcome, LabError> {
    if let Some(case) = &args.case {
        return alone(&case.clone().only(&args.only), args);
    }
    say("INSECURE schemes, for comparison. One case after the other, on one thread:");
    let options = Options {
        repeat: args.repeat,
        up_to: args.up_to,
        questions: args.only.clone(),
        contenders: args.scheme.clone(),
        seed: args.seed.clone(),
    };
    let program = std::env::current_exe().map_err(LabError::Process)?;
    if let Some(path) = &args.plot {
        // Not after an hour.
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        opened.map_err(|error| no_plot(path, &error.to_string()))?;
    }
    let (rows, failed) = bench::run(&options, &program, &mut |text| say(text))?;
    match args.json {
        true => print(&json(&rows))?,
        false => print(bench::text(&rows).trim_end())?,
    }
    if let Some(path) = &args.plot {
        bench::write_plot(path, &rows).map_err(|message| no_plot(path, &message))?;
        say(&format!("plot {}", path.display()));
    }
    if !failed.is_empty() {
        return Err(LabError::EndedEarly { cases: failed.join(", ") });
    }
    Ok(if rows.iter().any(|row| row.failures > 0) { Outcome::Wrong } else { Outcome::Right })
}

fn no_plot(path: &Path, reason: &str) -> LabError {
    LabError::Plot { path: path.display().to_string(), reason: reason.to_owned() }
}

fn alone(case: &Case, args: &Bench) -> Result<Outcome, LabError> {
    let mut progress = Some(Progress::new("keys"));
    let mut written = Ok(());
    bench::measure(
        case,
        args.repeat,
        &args.seed,
        &mut |share| {
            if let Some(progress) = &mut progress {
                progress.at(share);
            }
        },
        &mut |row| {
            if written.is_ok() {
                written = print(&json(row));
            }
        },
    )?;
    progress.take().map(Progress::finish);
    written.map(|()| Outcome::Right)
}

/// Rows hold numbers and names alone, which always have a text.
fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
