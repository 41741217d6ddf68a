// SPDX-License-Identifier: Apache-2.0
//! Damages good texts word by word, so that what comes of it often gets past the tokeniser.
//!
//! `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use std::ops::Range;

use hush_testkit::{Draw, damaged_by};

/// Calls `decode` with `count` damaged copies of `texts`; gives how many of them it accepted.
///
/// `decode` returns whether it accepted the text, and asserts by itself what an accepted value must be. `vocabulary` are
/// words of the language.
pub(crate) fn reworded(
    decoder: &str,
    count: usize,
    texts: &[String],
    vocabulary: &[&str],
    mut decode: impl FnMut(&str) -> bool,
) -> usize {
    let samples: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let by_words = |draw: &mut Draw, sample: &mut Vec<String>| {
        let other = &samples[draw.below(samples.len())];
        damage(draw, sample, other, vocabulary);
    };
    damaged_by(by_words, decoder, count, &samples, |words| decode(&words.concat()))
}

/// Runs of letters and digits, runs of blanks, and every other character by itself.
fn words(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => 0,
        ' ' | '\t' => 1,
        _ => 2,
    };
    let mut words: Vec<String> = Vec::new();
    let mut last = 2;
    for c in text.chars() {
        match words.last_mut().filter(|_| class(c) == last && last < 2) {
            Some(word) => word.push(c),
            None => words.push(c.to_string()),
        }
        last = class(c);
    }
    words
}

/// A short run of words; mostly one.
fn run(draw: &mut Draw, words: &[String]) -> Range<usize> {
    let start = draw.below(words.len());
    let length = if draw.below(2) == 0 { 1 } else { 1 + draw.below(12) };
    start..words.len().min(start + length)
}

fn damage(draw: &mut Draw, words: &mut Vec<String>, other: &[String], vocabulary: &[&str]) {
    let at = run(draw, words);
    let new = match draw.below(12) {
        0 => Vec::new(),
        1 | 2 => vec![pick(draw, vocabulary)],
        3 => vec![" ".to_owned(), pick(draw, vocabulary), " ".to_owned()],
        4 => vec![pick(draw, &NUMBERS)],
        5 => vec![pick(draw, &ODD)],
        6 => other[run(draw, other)].to_vec(),
        // The same again, a few times or very often.
        7 | 8 => {
            let times = [2, 3, 50, 1000][draw.below(4)];
            std::iter::repeat_n(&words[at.clone()], times).flatten().cloned().collect()
        }
        9 => {
            let (open, close) = [("(", ")"), ("[", "]"), ("{", "}"), ("- ", ""), ("NOT ", "")][draw.below(5)];
            let times = [1, 5, 45, 60, 2000][draw.below(5)];
            let piece = words[at.clone()].concat();
            vec![open.repeat(times), piece, close.repeat(times)]
        }
        // Two runs change places.
        10 => {
            let there = run(draw, words);
            let (here, piece) = (words[at.clone()].to_vec(), words[there.clone()].to_vec());
            if there.start >= at.end {
                drop(words.splice(there, here));
            }
            piece
        }
        _ => {
            let swap = |c: char| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            };
            words[at.clone()].iter().map(|word| word.chars().map(swap).collect()).collect()
        }
    };
    drop(words.splice(at, new));
}

fn pick(draw: &mut Draw, words: &[&str]) -> String {
    words[draw.below(words.len())].to_owned()
}

/// Ends of what numbers of several widths can be, and other notations.
const NUMBERS: [&str; 26] = [
    "0",
    "1",
    "38",
    "39",
    "255",
    "256",
    "-1",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    "170141183460469231731687303715884105728",
    "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
    "0.00000000000000000000000000000000000001",
    "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
    "1e300",
    "1e-300",
    "1e99999",
    "1e2147483648",
    "-0.0",
    "0x1F",
    "1_000",
    "inf",
    "nan",
];

/// Unexpected characters of a text: control characters, blanks that are none, quotes, characters of many bytes.
const ODD: [&str; 20] = [
    "\0",
    "\t",
    "\r",
    "\n",
    "\u{b}",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\u{10ffff}",
    "é",
    "e\u{301}",
    "日本",
    "\"",
    "'",
    "\\",
    "--",
];
