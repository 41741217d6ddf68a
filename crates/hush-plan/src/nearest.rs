// SPDX-License-Identifier: Apache-2.0
//! The name that somebody probably meant.

/// The candidate most like `found`, regardless of case, if one is like enough: one letter wrong, missing, added or swapped in
/// a short name, up to a third of them in a longer one, or the beginning of a single candidate.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = found.to_lowercase();
    let most = (wanted.chars().count() / 3).max(1);
    let (mut best, mut starts): (Option<(usize, &str)>, Vec<&str>) = (None, Vec::new());
    for candidate in candidates {
        let name = candidate.to_lowercase();
        if wanted.chars().count() >= 3 && (name.starts_with(&wanted) || wanted.starts_with(&name)) {
            starts.push(candidate);
        }
        let distance = strsim::damerau_levenshtein(&wanted, &name);
        if distance <= most && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    match (best, starts.as_slice()) {
        (Some((_, name)), _) => Some(name),
        (None, [only]) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_name_is_not() {
        let names = ["ward", "year", "charges", "admitted_on", "age"];
        for (found, expected) in [
            ("wrad", Some("ward")),
            ("Yeer", Some("year")),
            ("charge", Some("charges")),
            ("admited_on", Some("admitted_on")),
            ("admitted", Some("admitted_on")),
            ("ages", Some("age")),
            ("temperature", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, names), expected, "{found}");
        }
    }
}
