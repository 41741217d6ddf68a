// SPDX-License-Identifier: Apache-2.0
//! `hush run`.

use hush::{Error, Policy, RehearsalOptions, rehearse};

use super::profile;
use crate::account::{preamble, summary, to_json};
use crate::analysis;
use crate::args::Run;
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, say};

/// Rehearses and prints: account before and after to standard error, the result to standard output.
pub(super) fn run(args: &Run, threads: usize) -> Result<(), Error> {
    let options = RehearsalOptions {
        source: hush::open(&args.file)?,
        sql: args.sql.clone(),
        policy: Policy { sensitive: args.policy.sensitive.clone(), clear: args.policy.clear.clone() },
        schema: args.schema.as_deref().map(hush::read_schema).transpose()?,
        verify: args.verify,
        dry_run: args.dry_run,
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
    write_result(&rehearsal.batches, args.format)?;
    let next = format!("Next      hush init {}", args.file.display());
    show(format!("\n{}{next}", summary(&rehearsal.account)));
    if let Some(analysis) = &rehearsal.analysis {
        show(analysis::text(analysis));
    }
    if args.json {
        let mut account = to_json(&rehearsal.account);
        if let Some(analysis) = &rehearsal.analysis {
            account["analysis"] = analysis.to_json();
        }
        say(&terminal::json(&account));
    }
    Ok(())
}
