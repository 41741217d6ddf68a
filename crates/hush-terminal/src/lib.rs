// SPDX-License-Identifier: Apache-2.0
//! Text on its way to a person. What comes from data, files or a server must not speak to the terminal: control
//! characters, and those that turn or hide text, are shown as escapes. Result formats for programs pass none of this.
//!
//! *Non-goals.* Layout: tables, colours and progress bars belong to the programs.

pub mod size;

use std::fmt::Write as _;
use std::io::{self, Write as _, stderr};

use serde_json::{Value, json};

/// A name or another piece of one line: every control character escaped, line breaks too.
pub fn visible(text: &str) -> String {
    escaped(text, |_| false)
}

/// A text of several lines: as [`visible`], with its line breaks kept.
pub fn lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

/// JSON on one line. JSON escapes the first 32 characters by itself, but not the others that terminals obey.
pub fn one_line(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if speaks(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells a person something on standard error; one that is closed is nobody's loss.
pub fn say(text: &str) {
    drop(writeln!(stderr(), "{}", lines(text)));
}

/// Tells a person, or with `as_json` a program, about an error on standard error.
pub fn say_error(as_json: bool, code: &str, kind: &str, message: &str) {
    if as_json {
        say(&one_line(&json!({ "code": code, "kind": kind, "message": message })));
    } else {
        say(&format!("{code} {message}"));
    }
}

/// Writes text to standard output.
///
/// # Errors
/// Standard output cannot be written, unless because its reader has closed it.
pub fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // A closed pipe (`| head`) is the reader's choice, not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if speaks(c) && !keep(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters (C0, DEL, C1), the marks that change the direction of text, and line separators.
fn speaks(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_the_rest_is_not() {
        assert_eq!(visible("a\u{1b}[2Jb\n\u{9b}c\u{202e}"), "a\\u{1b}[2Jb\\n\\u{9b}c\\u{202e}");
        assert_eq!(lines("one\n two\r"), "one\n two\\r");
        assert_eq!(visible("süd »x\\« 東京"), "süd »x\\« 東京");
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{9b}\u{202e}\"\n" });
        let text = one_line(&value);
        assert!(!text.chars().any(speaks), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
