// SPDX-License-Identifier: Apache-2.0
//! Programs read from their text.

use std::str::FromStr;

use super::{Batch, Expected, Program, ProgramError, Step};

impl FromStr for Batch {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let mut words = Words { words: text.split_whitespace(), place: 0 };
        words.literal("programs", Expected::Programs)?;
        let count = words.number(0..=MAX_PROGRAMS, Expected::Count)?;
        let degree = words.parsed(Expected::Degree, |word| {
            word.parse()
                .ok()
                .filter(|degree: &usize| degree.is_power_of_two() && (8..=65536).contains(degree))
        })?;
        let mut programs = Vec::new();
        for _ in 0..count {
            programs.push(words.program(degree)?);
        }
        match words.words.next() {
            Some(found) => {
                words.place += 1;
                Err(words.wrong(Expected::End, found))
            }
            None => Ok(Self { degree, programs }),
        }
    }
}

/// A text word by word.
struct Words<'a> {
    words: std::str::SplitWhitespace<'a>,
    place: usize,
}

impl Words<'_> {
    fn program(&mut self, degree: usize) -> Result<Program, ProgramError> {
        self.literal("program", Expected::Program)?;
        let seed = self.parsed(Expected::Number, |word| word.parse().ok())?;
        let depth = self.number(0..=MAX_DEPTH, Expected::Number)? as u32;
        let inputs = self.number(1..=MAX_VECTORS, Expected::Count)?;
        let clears = self.number(0..=MAX_VECTORS, Expected::Count)?;
        let steps = self.number(0..=MAX_STEPS, Expected::Count)?;
        let vectors = |count: i64, words: &mut Self| -> Result<Vec<Vec<i64>>, ProgramError> {
            let mut vector = || (0..degree).map(|_| words.number(LEAST..=MOST, Expected::Number)).collect();
            (0..count).map(|_| vector()).collect()
        };
        let inputs = vectors(inputs, self)?;
        let clears = vectors(clears, self)?;
        let steps = (0..steps).map(|_| self.step()).collect::<Result<_, _>>()?;
        let program = Program { seed, depth, inputs, clears, steps };
        program.check(degree)?;
        Ok(program)
    }

    fn step(&mut self) -> Result<Step, ProgramError> {
        type Make = fn(usize, i64) -> Step;
        let make: Make = self.parsed(Expected::Step, |word| {
            Some(match word {
                "add" => |a, b| Step::Add(a, b as usize),
                "add_clear" => |a, b| Step::AddClear(a, b as usize),
                "mul" => |a, b| Step::Mul(a, b as usize),
                "mul_clear" => |a, b| Step::MulClear(a, b as usize),
                "neg" => |a, _| Step::Neg(a),
                "rotate" => Step::Rotate,
                "sub" => |a, b| Step::Sub(a, b as usize),
                _ => return None,
            })
        })?;
        let is_rotation = matches!(make(0, 1), Step::Rotate(..));
        let a = self.number(0..=i64::from(u32::MAX), Expected::Number)? as usize;
        let least = if is_rotation { i64::from(i32::MIN) } else { 0 };
        Ok(make(a, self.number(least..=i64::from(i32::MAX), Expected::Number)?))
    }

    fn literal(&mut self, literal: &str, expected: Expected) -> Result<(), ProgramError> {
        self.parsed(expected, |word| (word == literal).then_some(()))
    }

    fn number(
        &mut self,
        range: std::ops::RangeInclusive<i64>,
        expected: Expected,
    ) -> Result<i64, ProgramError> {
        self.parsed(expected, |word| word.parse().ok().filter(|number| range.contains(number)))
    }

    fn parsed<T>(
        &mut self,
        expected: Expected,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ProgramError> {
        let word = self.words.next().ok_or(ProgramError::Ended)?;
        self.place += 1;
        parse(word).ok_or_else(|| self.wrong(expected, word))
    }

    fn wrong(&self, expected: Expected, found: &str) -> ProgramError {
        ProgramError::Word { place: self.place, expected, found: found.chars().take(20).collect() }
    }
}

/// Range of the integers of a vector.
const LEAST: i64 = -128;
const MOST: i64 = 127;
/// What a text may ask for, so that it cannot ask for more memory than it has words.
const MAX_PROGRAMS: i64 = 10_000;
const MAX_DEPTH: i64 = 64;
const MAX_VECTORS: i64 = 64;
const MAX_STEPS: i64 = 10_000;
