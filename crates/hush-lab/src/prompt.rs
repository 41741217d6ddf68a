// SPDX-License-Identifier: Apache-2.0
//! `hush-lab repl`: a line is an expression, an assignment or a command.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use hush_lab::LabError;

use crate::args::assignment;
use crate::commands::{Outcome, Session};
use crate::terminal::{print, say};

/// Reads lines until `quit` or the end. Errors are told and do not end it.
pub(crate) fn repl(mut session: Session) -> Result<Outcome, LabError> {
    let mut worst = Outcome::Right;
    let is_terminal = io::stdin().is_terminal();
    if is_terminal {
        say(HELP);
    }
    loop {
        if is_terminal {
            drop(write!(io::stderr(), "lab> "));
        }
        let mut line = String::new();
        // A line without end must not fill the memory.
        match io::stdin().lock().take(MAX_LINE).read_line(&mut line) {
            Ok(0) | Err(_) => return Ok(worst),
            Ok(_) => {}
        }
        match line.trim() {
            "" => {}
            "help" | "?" => print(HELP),
            "quit" | "exit" => return Ok(worst),
            text => match answer(&mut session, text) {
                Ok(Outcome::Right) => {}
                Ok(Outcome::Wrong) => worst = Outcome::Wrong,
                Err(error) => say(&format!("error: {error}")),
            },
        }
    }
}

fn answer(session: &mut Session, text: &str) -> Result<Outcome, LabError> {
    if let Some(width) = text.strip_prefix("width ").and_then(|width| width.trim().parse().ok()) {
        session.set_width(width);
    } else if let Ok(assignment) = assignment(text) {
        session.assign(assignment);
    } else {
        return session.line(text);
    }
    Ok(Outcome::Right)
}

const HELP: &str = "INSECURE, for teaching. An expression: 1+(1*0+1)*1, x*y+1. A value: x = 1. Bits of integers: width 4. Also: help, quit.";
const MAX_LINE: u64 = 1 << 17;
