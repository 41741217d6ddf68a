// SPDX-License-Identifier: Apache-2.0
//! `hush fit` and `hush score`: models with the owner's key alone.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use hush::{
    ClientError, Error, Model, ModelFit, ModelRequest, OwnedTable, Phases, ScoreRequest, TableLocation,
};

use super::{open_key, pins};
use crate::account::{exposure, grouped, moved, times};
use crate::args::{Fit, KeyArgs, Printed, Score, TokenArgs, WayArgs};
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{print, say, visible};

/// Largest file of a model that is read: deeper and wider ones than any that is written.
const MAX_BYTES: u64 = 64 << 20;

/// Fits a model and writes it.
pub(super) fn fit(args: &Fit, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let request = ModelRequest {
        kind: args.kind(),
        outcome: args.outcome.clone(),
        features: args.features(),
        condition: args.condition.clone(),
    };
    if args.output.exists() && !args.force {
        return Err(Error::usage(format!(
            "{} is there already\n  Way out: --force, or another -o.",
            args.output.display()
        )));
    }
    let place = (args.table.as_path(), &args.token);
    let (model, outcome) = answered(&mut phases, &args.key, (place, &args.ways, threads), |table| {
        table.fit(&request, &Bar::default())
    })?;
    outcome.phases.iter().for_each(|(name, seconds)| phases.add(name, seconds));
    exposure(&outcome.exposed);
    phases.time("write", || write(&args.output, &model.to_json()?, args.force))?;
    say(&format!(
        "{}\nWrote     {}\nTime      {}\nMoved     {}",
        described(&model),
        args.output.display(),
        times(&phases, start.elapsed().as_secs_f64()),
        moved(outcome.moved, None)
    ));
    Ok(())
}

/// Scores rows, or prints a model.
pub(super) fn score(args: &Score, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let model = read(&args.model)?;
    let place = match (args.print, &args.table) {
        (Some(Printed::Sql), _) => return print(&format!("{}\n", visible(&model.sql()))),
        (Some(Printed::Expression), _) => return print(&format!("{}\n", visible(&model.expression()?))),
        (None, Some(table)) => (table.as_path(), &args.token),
        (None, None) => return Err(Error::usage("no table to score\n  Way out: hush score MODEL TABLE.")),
    };
    let request = ScoreRequest { keep: args.keep.clone(), condition: args.condition.clone() };
    let outcome = answered(&mut phases, &args.key, (place, &args.ways, threads), |table| {
        table.score(&model, &request, &Bar::default())
    })?;
    outcome.phases.iter().for_each(|(name, seconds)| phases.add(name, seconds));
    exposure(&outcome.exposed);
    phases.time("write", || write_result(&outcome.batches, args.format, args.wide))?;
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("Time      {times}\nMoved     {}", moved(outcome.moved, None)));
    Ok(())
}

/// A table's place, with all that opens it but the key.
type Place<'a> = ((&'a Path, &'a TokenArgs), &'a WayArgs, usize);

/// Opens the table and asks it; once more where a new version came between the plan and the server.
fn answered<T>(
    phases: &mut Phases,
    key: &KeyArgs,
    ((place, token), ways, threads): Place<'_>,
    ask: impl Fn(&OwnedTable) -> Result<T, ClientError>,
) -> Result<T, Error> {
    let key = phases.time("key", || open_key(key))?;
    let open = || -> Result<OwnedTable, Error> {
        let location = TableLocation::of(place, token.token_file.as_deref())?;
        Ok(ways.of(location.open(&key, &pins(), threads)?))
    };
    match ask(&phases.time("open", open)?) {
        Err(error) if error.is_stale_version() => Ok(ask(&phases.time("open", open)?)?),
        answered => Ok(answered?),
    }
}

/// The model in some lines.
fn described(model: &Model) -> String {
    let (rows, outcome) = (grouped(model.rows), visible(&model.outcome));
    match &model.fit {
        ModelFit::Linear(fit) | ModelFit::Logistic(fit) => {
            let kind = match &model.fit {
                ModelFit::Linear(_) => format!("linear, r2 {:.4}", fit.r2),
                _ => format!("logistic, r2 (McFadden) {:.4}", fit.r2),
            };
            let names: Vec<String> = model.features.iter().map(|name| visible(name)).collect();
            let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
            let names = names.iter().map(String::as_str);
            let lines = std::iter::once(("intercept", &fit.intercept)).chain(names.zip(&fit.coefficients));
            let lines = lines.map(|(name, value)| format!("\n  {name:<width$}  {value}"));
            format!("Model     {outcome}: {kind}, of {rows} rows{}", lines.collect::<String>())
        }
        ModelFit::Tree(tree) => format!(
            "Model     {outcome}: a tree of depth {} with {} leaves, of {rows} rows",
            tree.depth(),
            tree.leaves()
        ),
    }
}

/// Writes a file that only its owner can read.
fn write(path: &Path, text: &str, replace: bool) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(replace).truncate(replace).create_new(!replace);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| Error::usage(format!("cannot write {}: {source}", path.display())))
}

fn read(path: &Path) -> Result<Model, Error> {
    let cannot = |source| Error::usage(format!("cannot read {}: {source}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(cannot)?;
    Ok(Model::from_json(&text, &path.display().to_string())?)
}
