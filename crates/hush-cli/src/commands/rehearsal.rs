// SPDX-License-Identifier: Apache-2.0
//! `hush run`.

use hush::{Error, Policy, RehearsalOptions, rehearse};

use crate::account::{preamble, summary, to_json};
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
        schema: args.schema.clone(),
        verify: args.verify,
        dry_run: args.dry_run,
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
    if args.json {
        say(&terminal::json(&to_json(&rehearsal.account)));
    }
    Ok(())
}
