// SPDX-License-Identifier: Apache-2.0
//! `hush run`.

use std::time::Instant;

use hush::{Error, Policy, RehearsalOptions, rehearse};

use super::{open_file, profile};
use crate::account::{exposure, preamble, summary, to_json};
use crate::analysis;
use crate::args::Run;
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, say};

/// Rehearses and prints: account before and after to standard error, the result to standard output.
pub(super) fn run(args: &Run, threads: usize) -> Result<(), Error> {
    let start = Instant::now();
    let options = RehearsalOptions {
        source: open_file(&args.file, &args.lookup)?,
        sql: args.sql.clone(),
        policy: Policy { sensitive: args.policy.sensitive.clone(), clear: args.policy.clear.clone() },
        schema: args.schema.as_deref().map(hush::read_schema).transpose()?,
        verify: args.verify,
        dry_run: args.dry_run,
        release: args.release.digits,
        analyze: args.analyze.then(profile),
        threads,
    };
    let is_text = !args.quiet && !args.json;
    let show = |text: String| {
        if is_text {
            say(&text);
        }
    };
    let rehearsal = rehearse(&options, &Bar::default(), &|account| show(preamble(account)))?;
    exposure(&rehearsal.account.exposed);
    write_result(&rehearsal.batches, args.format, args.wide)?;
    let next = format!("Next      hush init {}{}", args.file.display(), args.lookup.again());
    show(format!("\n{}{next}", summary(&rehearsal.account, start.elapsed().as_secs_f64())));
    if let Some(analysis) = &rehearsal.analysis {
        show(analysis::text(analysis));
    }
    if args.json {
        let mut account = to_json(&rehearsal.account, start.elapsed().as_secs_f64());
        if let Some(analysis) = &rehearsal.analysis {
            account["analysis"] = analysis.to_json();
        }
        say(&terminal::json(&account));
    }
    Ok(())
}
