// SPDX-License-Identifier: Apache-2.0
//! Column names as words, looked up in the dictionary of [`super::words`].

use std::sync::OnceLock;

use super::Class;
use super::words::DICTIONARY;

/// The content that a column's name announces. `PatientID`, `patient_id`, `patient.id` and `patientid` are one name;
/// accents and case do not matter. The longest phrase of the dictionary wins; among equals the class that
/// identifies more strongly.
pub fn class_of_name(name: &str) -> Option<Class> {
    let words = words_of(name);
    let joined = words.concat();
    let best = phrases()
        .iter()
        .filter(|phrase| phrase.matches(&words, &joined))
        .max_by_key(|phrase| (phrase.joined.len(), std::cmp::Reverse(phrase.class)));
    best.map(|phrase| phrase.class)
}

/// An entry of the dictionary.
struct Phrase {
    class: Class,
    words: Vec<String>,
    joined: String,
    /// Must be the whole name.
    whole: bool,
}

impl Phrase {
    fn matches(&self, words: &[String], joined: &str) -> bool {
        if same_word(joined, &self.joined) {
            return true;
        }
        let count = self.words.len();
        !self.whole
            && words.windows(count).any(|window| window.iter().zip(&self.words).all(|(a, b)| same_word(a, b)))
    }
}

/// Equal, up to a plural ending.
fn same_word(found: &str, word: &str) -> bool {
    found == word || (word.len() > 3 && found.strip_suffix('s') == Some(word))
}

fn phrases() -> &'static [Phrase] {
    static PHRASES: OnceLock<Vec<Phrase>> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let entry = |class: Class, text: &str| {
            let (whole, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            Phrase { class, joined: words.concat(), words, whole }
        };
        let all = DICTIONARY.iter().flat_map(|(class, lists)| {
            lists.iter().flat_map(|list| list.split(',')).map(|text| entry(*class, text.trim()))
        });
        all.collect()
    })
}

/// Splits a name at everything that is not a letter or digit, between `aB`, before the last capital of `ABc`
/// and between letters and digits; folds case and accents.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (i, &c) in letters.iter().enumerate() {
        let previous = i.checked_sub(1).and_then(|before| letters.get(before)).copied().unwrap_or(' ');
        let next = letters.get(i + 1).copied().unwrap_or(' ');
        let starts = !c.is_alphanumeric()
            || (previous.is_lowercase() && c.is_uppercase())
            || (previous.is_uppercase() && c.is_uppercase() && next.is_lowercase())
            || (previous.is_numeric() != c.is_numeric());
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            c.to_lowercase().for_each(|lower| fold(lower, &mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Appends a lower-case letter without its accent.
fn fold(c: char, out: &mut String) {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'å' => out.push('a'),
        'ä' | 'æ' => out.push_str("ae"),
        'ç' => out.push('c'),
        'è' | 'é' | 'ê' | 'ë' => out.push('e'),
        'ì' | 'í' | 'î' | 'ï' => out.push('i'),
        'ñ' => out.push('n'),
        'ò' | 'ó' | 'ô' | 'õ' => out.push('o'),
        'ö' | 'ø' | 'œ' => out.push_str("oe"),
        'ß' => out.push_str("ss"),
        'ù' | 'ú' | 'û' => out.push('u'),
        'ü' => out.push_str("ue"),
        'ý' | 'ÿ' => out.push('y'),
        // Combining marks after decomposition.
        '\u{300}'..='\u{36f}' => {}
        c => out.push(c),
    }
}
