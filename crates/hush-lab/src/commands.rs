// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::args::{Cli, Command};
use crate::outcome::{Outcome, Reader, Refusal, refusal};
use crate::session::Session;
use crate::{prompt, table, timing};

pub(crate) fn run(cli: &Cli) -> Result<Outcome, Refusal> {
    match &cli.command {
        Command::Bench(args) => Ok(timing::bench(args)?),
        Command::Eval { expression, options } => {
            let mut session = Session::new(options.clone())?;
            session.line(expression).map_err(|error| refusal(error, session.scheme(), Reader::CommandLine))
        }
        Command::Repl { options } => Ok(prompt::repl(Session::new(options.clone())?)?),
        Command::Params => {
            table::print_sets()?;
            Ok(Outcome::Right)
        }
    }
}
