// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::libraries::case::Scheme;

#[test]
fn the_same_seed_draws_the_same_programs_and_each_can_be_had_alone() {
    let batch = Batch::random(64, 4, 5, 40);
    assert_eq!(batch, Batch::random(64, 4, 5, 40));
    assert_eq!(batch.programs[3..], Batch::random(64, 4, 2, 43).programs[..]);
    assert_ne!(batch.programs[0].steps, batch.programs[1].steps);
}

#[test]
fn drawn_programs_keep_their_rules() {
    for depth in 0..6 {
        let batch = Batch::random(16, depth, 200, 1000 * u64::from(depth));
        for program in &batch.programs {
            assert_eq!(program.check(16), Ok(()), "{program:?}");
            assert!((6..=40).contains(&program.steps.len()), "{program:?}");
            // Every value but the last is used, so that the result depends on every step.
            let used: Vec<usize> = program.steps.iter().flat_map(|step| step.values()).collect();
            let last = program.inputs.len() + program.steps.len() - 1;
            assert!((0..last).all(|value| used.contains(&value)), "{program:?}");
        }
        let bound = |values: &Vec<f64>| values.iter().fold(0.0_f64, |bound, value| bound.max(value.abs()));
        let largest = batch.results(Scheme::Ckks).iter().map(bound).fold(0.0, f64::max);
        assert!(largest <= 200.0, "seeds from {}: {largest}", 1000 * depth);
    }
}

#[test]
fn drawn_programs_use_every_step_and_reach_their_depth() {
    let batch = Batch::random(16, 4, 100, 1);
    let steps: Vec<&str> = batch.programs.iter().flat_map(|p| &p.steps).map(|step| step.words().0).collect();
    for name in ["add", "add_clear", "mul", "mul_clear", "neg", "rotate", "sub"] {
        let count = steps.iter().filter(|&&step| step == name).count();
        assert!(count >= 30, "{count} of {name}");
    }
    let deepest = |program: &Program| program.depths().last().copied().unwrap_or(0);
    let deep = batch.programs.iter().filter(|program| deepest(program) == 4).count();
    assert!(deep >= 20, "{deep}");
    let still = batch.programs.iter().filter(|program| program.rotations().is_empty()).count();
    assert!((20..=60).contains(&still), "{still}");
}

/// Whatever is encrypted, some slot of every value depends on it.
#[test]
fn no_value_is_free_of_the_inputs() {
    let batch = Batch::random(32, 4, 100, 5);
    for (index, program) in batch.programs.iter().enumerate() {
        for length in 1..=program.steps.len() {
            let mut first = program.clone();
            first.steps.truncate(length);
            let mut second = first.clone();
            second.inputs.iter_mut().flatten().for_each(|value| *value = (*value * 7 + 3) % 128);
            let results = Batch { degree: 32, programs: vec![first, second] }.results(Scheme::Bgv);
            assert_ne!(results[0], results[1], "program {index}, {length} steps");
        }
    }
}

#[test]
fn a_batch_survives_its_text() {
    let batch = Batch::random(16, 4, 20, 9);
    assert_eq!(batch.to_text().parse(), Ok(batch.clone()));
    assert_eq!("programs 0 8".parse(), Ok(Batch { degree: 8, programs: vec![] }));
}

const GOOD: &str = "programs 1 8\nprogram 5 1 1 1 3\n1 2 3 4 5 6 7 8\n8 7 6 5 4 3 2 1\n\
                    mul_clear 0 0\nrotate 1 -3\nadd 2 0\n";

#[test]
fn malformed_texts_are_refused_with_the_place() {
    let batch: Batch = GOOD.parse().unwrap();
    assert_eq!(batch.programs[0].steps, [Step::MulClear(0, 0), Step::Rotate(1, -3), Step::Add(2, 0)]);
    let word = |place, expected, found: &str| ProgramError::Word { place, expected, found: found.into() };
    for (from, to, error) in [
        ("programs 1 8", "program 1 8", word(1, Expected::Programs, "program")),
        ("programs 1 8", "programs 10001 8", word(2, Expected::Count, "10001")),
        ("programs 1 8", "programs -1 8", word(2, Expected::Count, "-1")),
        ("programs 1 8", "programs 1 12", word(3, Expected::Degree, "12")),
        ("programs 1 8", "programs 1 131072", word(3, Expected::Degree, "131072")),
        ("program 5", "programme 5", word(4, Expected::Program, "programme")),
        ("program 5", "program -5", word(5, Expected::Number, "-5")),
        ("1 1 1 3", "65 1 1 3", word(6, Expected::Number, "65")),
        ("1 1 1 3", "1 0 1 3", word(7, Expected::Count, "0")),
        ("1 1 1 3", "1 1 65 3", word(8, Expected::Count, "65")),
        ("1 1 1 3", "1 1 1 99999999999999999999", word(9, Expected::Count, "99999999999999999999")),
        ("1 1 1 3", "1 1 1 4", ProgramError::Ended),
        ("1 1 1 3", "1 1 1 2", word(32, Expected::End, "add")),
        ("1 2 3 4 5 6 7 8\n", "1 2 3 4 5 6 7 128\n", word(17, Expected::Number, "128")),
        ("1 2 3 4 5 6 7 8\n", "1 2 3 4 5 6 7\n", word(25, Expected::Number, "mul_clear")),
        ("mul_clear", "divide", word(26, Expected::Step, "divide")),
        ("mul_clear 0 0", "mul_clear -1 0", word(27, Expected::Number, "-1")),
        ("mul_clear 0 0", "mul_clear 1 0", ProgramError::Operand { step: 0, found: 1, expected: 1 }),
        ("mul_clear 0 0", "mul_clear 0 1", ProgramError::Clear { step: 0, found: 1, expected: 1 }),
        ("rotate 1 -3", "rotate 1 -4", ProgramError::Rotation { step: 1, found: -4, expected: 4 }),
        ("rotate 1 -3", "rotate 1 0", ProgramError::Rotation { step: 1, found: 0, expected: 4 }),
        ("add 2 0", "add 0 3", ProgramError::Operand { step: 2, found: 3, expected: 3 }),
        ("add 2 0", "mul 2 0", ProgramError::Depth { step: 2, found: 2, expected: 1 }),
    ] {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(GOOD.replacen(from, to, 1).parse::<Batch>(), Err(error), "{from} as {to}");
    }
}

#[test]
fn no_damaged_text_makes_the_reader_panic() {
    let words: Vec<&str> = GOOD.split_whitespace().collect();
    let others =
        ["", "0", "-1", "7", "4294967296", "9223372036854775807", "-9223372036854775808", "x", "mul"];
    for place in 0..words.len() {
        for other in others {
            let mut damaged = words.clone();
            damaged[place] = other;
            if let Ok(batch) = damaged.join(" ").parse::<Batch>() {
                batch.results(Scheme::Bfv);
                batch.results(Scheme::Ckks);
                assert_eq!(batch.to_text().parse(), Ok(batch));
            }
        }
        assert!(words[..place].join(" ").parse::<Batch>().is_err(), "{place} words");
    }
}
