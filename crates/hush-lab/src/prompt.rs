// SPDX-License-Identifier: Apache-2.0
//! `hush-lab repl`: a line is an expression, an assignment or a command.

use std::io::{self, BufRead, IsTerminal as _, Read as _, Write as _};

use hush_lab::LabError;

use crate::args::assignment;
use crate::outcome::{Outcome, Reader, refusal};
use crate::session::Session;
use crate::terminal::{one_line, print, say};

/// Reads lines until `quit` or the end. Errors of a line are told and do not end it.
///
/// # Errors
/// [`LabError::Input`], [`LabError::Output`]: where no further line could be read or answered.
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
        let line = match read(&mut io::stdin().lock(), MAX_LINE).map_err(LabError::Input)? {
            Line::End => return Ok(worst),
            Line::Skipped(why) => {
                say(&format!("error: line skipped: {why}"));
                continue;
            }
            Line::Text(line) => line,
        };
        match line.trim() {
            "" => {}
            "help" | "?" => print(HELP)?,
            "quit" | "exit" => return Ok(worst),
            text => match answer(&mut session, text) {
                Ok(Outcome::Right) => {}
                Ok(Outcome::Wrong) => worst = Outcome::Wrong,
                Err(error @ LabError::Output(_)) => return Err(error),
                Err(error) => {
                    let refusal = refusal(error, session.scheme(), Reader::Prompt).to_string();
                    say(&format!("error: {}", one_line(&refusal)));
                }
            },
        }
    }
}

fn answer(session: &mut Session, text: &str) -> Result<Outcome, LabError> {
    if let Some(width) = width(text) {
        session.set_width(width)?;
    } else if let Ok(assignment) = assignment(text) {
        session.assign(assignment);
    } else {
        return session.line(text);
    }
    Ok(Outcome::Right)
}

/// The number of `width NUMBER`; `width` may also be a name.
fn width(text: &str) -> Option<&str> {
    let number = text.strip_prefix("width")?;
    let is_number = |number: &&str| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    number.starts_with(char::is_whitespace).then(|| number.trim()).filter(is_number)
}

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    End,
    /// Read to its end and left out, and why.
    Skipped(&'static str),
    Text(String),
}

/// Reads a line of at most `max` bytes, so that one without end does not fill the memory.
fn read(input: &mut impl BufRead, max: u64) -> io::Result<Line> {
    let mut line = Vec::new();
    if input.take(max).read_until(b'\n', &mut line)? == 0 {
        return Ok(Line::End);
    }
    if line.len() as u64 == max && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Line::Skipped("it is longer than 131072 bytes"));
    }
    Ok(String::from_utf8(line).map_or(Line::Skipped("it is not UTF-8"), Line::Text))
}

const HELP: &str = "INSECURE, for teaching. An expression: 1+(1*0+1)*1, x*y+1. A value: x = 1. Bits of integers: width 4. Also: help, quit.";
const MAX_LINE: u64 = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_long_or_no_text_are_skipped_as_a_whole() {
        let mut input: &[u8] = b"1+1\n1*1+1*1+1\n\xff1\n12345678\n0";
        let lines: Vec<Line> = std::iter::from_fn(|| Some(read(&mut input, 8).unwrap())).take(6).collect();
        let text = |text: &str| Line::Text(text.to_owned());
        let too_long = || Line::Skipped("it is longer than 131072 bytes");
        let expected =
            [text("1+1\n"), too_long(), Line::Skipped("it is not UTF-8"), too_long(), text("0"), Line::End];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_width_is_a_number_behind_the_word() {
        assert_eq!([width("width 4"), width("width  99")], [Some("4"), Some("99")]);
        assert_eq!([width("width = 3"), width("width+1"), width("width"), width("width4")], [None; 4]);
    }
}
