// SPDX-License-Identifier: Apache-2.0
//! Damages good JSON by its words, so that what comes of it is often JSON: values change places and kinds, keys occur
//! twice, numbers reach the ends of what they can be, brackets nest. Half of the copies are damaged by bytes as well.

use crate::Draw;
use crate::mutator::{damage, damaged_by};

/// As [`crate::damaged`], for JSON.
///
/// # Panics
/// As there.
pub fn damaged_json(
    decoder: &str,
    count: usize,
    golden: &[u8],
    mut decode: impl FnMut(&[u8]) -> bool,
) -> usize {
    let by_words = |draw: &mut Draw, bytes: &mut Vec<u8>| match draw.below(6) {
        0 => damage(draw, bytes),
        _ => reword(draw, bytes),
    };
    damaged_by(by_words, decoder, count, &[golden.to_vec()], |bytes| decode(bytes))
}

/// Strings, numbers and names as one word each, every other byte by itself.
fn words(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let (mut in_string, mut escaped, mut in_name) = (false, false, false);
    for &byte in bytes {
        let of_name = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_');
        match words.last_mut().filter(|_| in_string || in_name && of_name) {
            Some(word) => word.push(byte),
            None => words.push(vec![byte]),
        }
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else {
            (in_string, in_name) = (byte == b'"', of_name);
        }
    }
    words
}

fn reword(draw: &mut Draw, bytes: &mut Vec<u8>) {
    let mut words = words(bytes);
    let is_value = |word: &Vec<u8>| word.len() > 1 || word[0].is_ascii_digit();
    let values: Vec<usize> = (0..words.len()).filter(|&at| is_value(&words[at])).collect();
    if values.is_empty() {
        return damage(draw, bytes);
    }
    let at = values[draw.below(values.len())];
    let other = values[draw.below(values.len())];
    match draw.below(9) {
        0..=2 => words[at] = VALUES[draw.below(VALUES.len())].to_vec(),
        3 => words[at] = words[other].clone(),
        4 => words.swap(at, other),
        // A member again, or gone: from a word to the comma after the next.
        5 | 6 => {
            let rest = words.iter().skip(at).position(|word| word == b",").unwrap_or(0);
            let member: Vec<_> = words[at..=at + rest].to_vec();
            let times = [0, 2, 300][draw.below(3)];
            drop(words.splice(at..=at + rest, member.iter().cycle().take(times * member.len()).cloned()));
        }
        7 => {
            let depth = [1, 5, 100, 127, 128, 5000][draw.below(6)];
            let (open, close) = [("[", "]"), ("{\"a\":", "}")][draw.below(2)];
            words[at] = [open.repeat(depth).as_bytes(), &words[at], close.repeat(depth).as_bytes()].concat();
        }
        _ => {
            let piece = ODD[draw.below(ODD.len())];
            let place = draw.below(words[at].len() + 1);
            let times = [1, 1, 1, 20_000][draw.below(4)];
            drop(words[at].splice(place..place, piece.repeat(times)));
        }
    }
    *bytes = words.concat();
}

/// Values of every kind, numbers at the ends of their types.
const VALUES: [&[u8]; 28] = [
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\"..\"",
    b"\"../../victim\"",
    b"\"/etc\"",
    b"\"00000000000000000000000000000000\"",
    b"\"0000000000000000000000000000000000000000000000000000000000000000\"",
    b"\"\\ud800\"",
    b"\"\\u0000\\u001b[31m\"",
    b"0",
    b"-0",
    b"1",
    b"-1",
    b"2",
    b"0.5",
    b"1e2",
    b"1e999",
    b"1e-999",
    b"65536",
    b"4294967295",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"99999999999999999999999999999999999999999999",
];

/// Bytes that no word should hold: invalid UTF-8, control characters, blanks, ends of strings.
const ODD: [&[u8]; 12] = [
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\0",
    b"\n",
    b" ",
    b"\"",
    b"\\",
    b"/",
    b"9",
    "\u{202e}".as_bytes(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_nothing_and_copies_keep_much_of_the_form() {
        let text = br#"{"a":[1,-2.5e3,"x \" y"],"b":{"c":null}}"#;
        assert_eq!(words(text).concat(), text);
        assert!(words(text).iter().any(|word| word == br#""x \" y""#));
        let whole = damaged_json("form", 300, text, |bytes| {
            bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}')
        });
        assert!(whole > 100, "{whole}");
    }
}
