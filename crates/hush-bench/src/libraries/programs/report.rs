// SPDX-License-Identifier: Apache-2.0
//! The table of programs for people.

use std::fmt::Write as _;

use super::Tally;
use crate::aligned::{align, figure_text};
use crate::libraries::case::Scheme;

/// The table, what every library left out, and every disagreement with its program; empty without rows.
pub fn text(tallies: &[Tally]) -> String {
    if tallies.is_empty() {
        return String::new();
    }
    let header =
        ["", "scheme", "N", "primes", "log2 Q+P", "programs", "run", "agreed", "steps", "worst error", "s"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let mut sorted: Vec<&Tally> = tallies.iter().collect();
    sorted.sort_by_key(|tally| tally.scheme.name());
    lines.extend(sorted.iter().map(|tally| line(tally)));
    let mut out =
        format!("\nRandom programs, compared with their evaluation in the clear\n{}", align(&lines));
    for tally in &sorted {
        for (reason, seeds) in reasons(tally) {
            let name = name(tally);
            let _ = writeln!(out, "{name} left out {} programs ({seeds}): {reason}", tally.left_out.len());
        }
    }
    for tally in &sorted {
        for disagreement in &tally.disagreements {
            let (slot, found, expected) = disagreement.first;
            let found = found.map_or_else(|| "no number".to_owned(), |found| found.to_string());
            let [inputs, clears] = disagreement.vectors;
            let _ = write!(
                out,
                "\nDISAGREEMENT of {}, seed {}: {} of {} values are wrong; slot {slot}: {found}, not {expected}\n\
                 Values 0 to {} are inputs, clear vectors {clears}; then one value a step:\n{}",
                name(tally),
                disagreement.seed,
                disagreement.wrong,
                disagreement.slots,
                inputs.saturating_sub(1),
                disagreement.steps,
            );
        }
    }
    out
}

fn name(tally: &Tally) -> String {
    format!("{} {}", tally.answer.library, tally.scheme.name().to_uppercase())
}

/// Every reason once, with the seeds of its programs.
fn reasons(tally: &Tally) -> Vec<(&str, String)> {
    let mut out: Vec<(&str, String)> = Vec::new();
    for left_out in &tally.left_out {
        match out.iter_mut().find(|(reason, _)| *reason == left_out.reason) {
            Some((_, seeds)) => {
                let _ = write!(seeds, ", {}", left_out.seed);
            }
            None => out.push((&left_out.reason, format!("seeds {}", left_out.seed))),
        }
    }
    out
}

fn line(tally: &Tally) -> Vec<String> {
    let answer = &tally.answer;
    let error = match (tally.scheme, tally.worst_error) {
        (Scheme::Bgv | Scheme::Bfv, _) if tally.disagreements.is_empty() => "exact".to_owned(),
        (Scheme::Ckks, Some(error)) => format!("{error:.1e}"),
        _ => "-".to_owned(),
    };
    let agreed = if tally.disagreements.is_empty() { "" } else { " WRONG" };
    let seconds = answer.times_ms.get("programs").map_or_else(|| "-".into(), |ms| figure_text(ms / 1e3));
    vec![
        answer.library.clone(),
        tally.scheme.name().to_uppercase(),
        answer.degree.to_string(),
        if answer.q_primes == 0 { "-".into() } else { format!("{}+{}", answer.q_primes, answer.p_primes) },
        format!("{:.0}+{:.0}", answer.log_q, answer.log_p),
        tally.programs.to_string(),
        tally.run.to_string(),
        format!("{}{agreed}", tally.agreed),
        tally.steps.to_string(),
        error,
        seconds,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{Disagreement, LeftOut};
    use super::*;
    use crate::libraries::Answer;

    #[test]
    fn the_table_counts_programs_and_shows_every_disagreement() {
        let times_ms = [("programs".to_owned(), 1500.0)].into();
        let answer = Answer { library: "Test 1.0".into(), degree: 16384, times_ms, ..Answer::default() };
        let tally = |scheme, disagreements: Vec<Disagreement>| Tally {
            scheme,
            programs: 20,
            run: 19,
            agreed: 19 - disagreements.len(),
            steps: 200,
            worst_error: (scheme == Scheme::Ckks).then_some(2e-7),
            disagreements,
            left_out: vec![LeftOut { seed: 3, reason: "no rotations".into() }],
            answer: answer.clone(),
        };
        let wrong = Disagreement {
            seed: 11,
            steps: "mul 0 1\nneg 2 0\n".into(),
            vectors: [2, 1],
            wrong: 5,
            slots: 16384,
            first: (4, Some(7.0), -8.0),
        };
        let shown = text(&[tally(Scheme::Ckks, vec![]), tally(Scheme::Bgv, vec![wrong])]);
        let has = |words: &str| {
            let is_there = shown.lines().any(|line| line.split_whitespace().eq(words.split_whitespace()));
            assert!(is_there, "{words:?} in {shown}");
        };
        has("Test 1.0 BGV 16384 - 0+0 20 19 18 WRONG 200 - 1.50");
        has("Test 1.0 CKKS 16384 - 0+0 20 19 19 200 2.0e-7 1.50");
        has("Test 1.0 BGV left out 1 programs (seeds 3): no rotations");
        has("DISAGREEMENT of Test 1.0 BGV, seed 11: 5 of 16384 values are wrong; slot 4: 7, not -8");
        has("mul 0 1");
        assert_eq!(text(&[]), "");
    }
}
