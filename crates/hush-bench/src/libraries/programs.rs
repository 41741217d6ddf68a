// SPDX-License-Identifier: Apache-2.0
//! The third table: random programs; every library must give the same results.
//!
//! # What a program is
//! A list of steps without branches. Its values are numbered: the inputs, which are encrypted, then one for each step.
//! A step names values before it; the last value is the result, and the only one that is decrypted.
//!
//! | step | value |
//! |---|---|
//! | `add A B`, `sub A B`, `neg A 0` | slot by slot |
//! | `mul A B` | slot by slot, relinearised |
//! | `add_clear A C`, `mul_clear A C` | with clear vector `C`, slot by slot |
//! | `rotate A K` | each row `K` places to the left, around its end: column `c` gets column `c + K`; `0 < abs(K) < N/2` |
//!
//! *Vectors* have `N` integers in `[-128, 127]`. BGV and BFV compute modulo 65537 in `N` slots: two rows of `N/2`, slot `i` in
//! row `i div N/2` and column `i mod N/2`. Results are the residues nearest to zero, and must be exact. CKKS computes on the first
//! row alone, divided by 128, and errs by at most 10^-4.
//!
//! *Depth.* An input has depth 0, a product one more than the deeper factor, any other step that of its deeper operand; no
//! value is deeper than the program says. `mul` and `mul_clear` go a level down in BGV and CKKS (a division by the last prime);
//! levels, scales and correction factors are no part of a program: an adapter brings two operands to the lower one's level as
//! users of its library do.
//!
//! # Text
//! What every adapter reads on standard input, ours too, is words between white space:
//!
//! ```text
//! programs COUNT N
//! program SEED DEPTH INPUTS CLEARS STEPS     once for each program, followed by
//! N integers                                 once for each input, then for each clear vector
//! STEP A B                                   once for each step
//! ```

mod clear;
mod generate;
pub mod report;
mod tally;
mod text;

use std::fmt::Write as _;

pub use tally::{Disagreement, LeftOut, Tally};

/// Programs over rings of one degree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Ring degree.
    pub degree: usize,
    /// The programs.
    pub programs: Vec<Program>,
}

/// One program.
///
/// *Invariants* (by `Batch::from_str` and the generator): vectors have as many values as the ring has coefficients, steps use
/// earlier values and clear vectors that are there, and no value is deeper than `depth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its seed.
    pub seed: u64,
    /// Largest depth of a value.
    pub depth: u32,
    /// Vectors that are encrypted.
    pub inputs: Vec<Vec<i64>>,
    /// Vectors that are not.
    pub clears: Vec<Vec<i64>>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A value plus a value.
    Add(usize, usize),
    /// A value plus a clear vector.
    AddClear(usize, usize),
    /// A value times a value.
    Mul(usize, usize),
    /// A value times a clear vector.
    MulClear(usize, usize),
    /// A value with its sign changed.
    Neg(usize),
    /// A value's rows moved to the left.
    Rotate(usize, i64),
    /// A value minus a value.
    Sub(usize, usize),
}

/// A program that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A clear vector that is not there.
    #[error("step {step} uses clear vector {found} of {expected}")]
    Clear {
        /// The step, from 0.
        step: usize,
        /// What it names.
        found: usize,
        /// How many there are.
        expected: usize,
    },
    /// A value deeper than declared.
    #[error("step {step} has depth {found}, the program {expected}")]
    Depth {
        /// The step, from 0.
        step: usize,
        /// Depth of its value.
        found: u32,
        /// Depth of the program.
        expected: u32,
    },
    /// A ring other than the case's.
    #[error("programs for degree {found}, a case of degree {expected}")]
    Degree {
        /// Degree of the programs.
        found: usize,
        /// Degree of the case.
        expected: usize,
    },
    /// The text ended too early.
    #[error("the text ended before its programs did")]
    Ended,
    /// A value that is not computed yet.
    #[error("step {step} uses value {found}, but only {expected} come before it")]
    Operand {
        /// The step, from 0.
        step: usize,
        /// What it names.
        found: usize,
        /// How many values there are before it.
        expected: usize,
    },
    /// A rotation by nothing, or by a row or more.
    #[error("step {step} rotates by {found} places, a row has {expected}")]
    Rotation {
        /// The step, from 0.
        step: usize,
        /// The places.
        found: i64,
        /// Length of a row.
        expected: usize,
    },
    /// A word out of place.
    #[error("word {place}: expected {expected}, found {found:?}")]
    Word {
        /// Which word, from 1.
        place: usize,
        /// What should stand there.
        expected: Expected,
        /// What does, shortened.
        found: String,
    },
}

/// The expected word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A number of clear vectors, inputs, programs or steps, within its limit.
    Count,
    /// A power of two that is a ring degree.
    Degree,
    /// Nothing more.
    End,
    /// The word `program`.
    Program,
    /// The word `programs`.
    Programs,
    /// The name of a step.
    Step,
    /// An integer in the range of its place.
    Number,
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Count => "a count within its limit",
            Self::Degree => "a power of two from 8 to 65536",
            Self::End => "the end",
            Self::Number => "an integer in range",
            Self::Program => "\"program\"",
            Self::Programs => "\"programs\"",
            Self::Step => "a step",
        })
    }
}

impl Batch {
    /// The text that every adapter reads.
    pub fn to_text(&self) -> String {
        let mut out = format!("programs {} {}\n", self.programs.len(), self.degree);
        for program in &self.programs {
            let (inputs, clears) = (program.inputs.len(), program.clears.len());
            let counts = format!("{} {inputs} {clears} {}", program.depth, program.steps.len());
            let _ = writeln!(out, "program {} {counts}", program.seed);
            for vector in program.inputs.iter().chain(&program.clears) {
                for value in vector {
                    let _ = write!(out, "{value} ");
                }
                out.push('\n');
            }
            out.push_str(&program.steps_text());
        }
        out
    }

    /// Steps of all programs.
    pub fn step_count(&self) -> usize {
        self.programs.iter().map(|program| program.steps.len()).sum()
    }
}

impl Program {
    /// The steps, one a line.
    pub fn steps_text(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            let (name, a, b) = step.words();
            let _ = writeln!(out, "{name} {a} {b}");
        }
        out
    }

    /// How far its rotations go, each once.
    pub fn rotations(&self) -> Vec<i64> {
        let places = |step: &Step| if let Step::Rotate(_, places) = *step { Some(places) } else { None };
        let mut out: Vec<i64> = self.steps.iter().filter_map(places).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The depth of every value: the inputs, then the steps.
    fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.inputs.len()];
        for step in &self.steps {
            let deepest = step.values().map(|value| depths.get(value).copied().unwrap_or(0)).max();
            depths.push(deepest.unwrap_or(0) + u32::from(step.is_product()));
        }
        depths
    }

    /// Checks what the text itself does not rule out.
    fn check(&self, degree: usize) -> Result<(), ProgramError> {
        let depths = self.depths();
        for (step, kind) in self.steps.iter().enumerate() {
            let expected = self.inputs.len() + step;
            if let Some(found) = kind.values().find(|&value| value >= expected) {
                return Err(ProgramError::Operand { step, found, expected });
            }
            match *kind {
                Step::AddClear(_, found) | Step::MulClear(_, found) if found >= self.clears.len() => {
                    return Err(ProgramError::Clear { step, found, expected: self.clears.len() });
                }
                Step::Rotate(_, found) if found == 0 || found.unsigned_abs() >= degree as u64 / 2 => {
                    return Err(ProgramError::Rotation { step, found, expected: degree / 2 });
                }
                _ => {}
            }
            if depths[expected] > self.depth {
                return Err(ProgramError::Depth { step, found: depths[expected], expected: self.depth });
            }
        }
        Ok(())
    }
}

impl Step {
    /// The values that it uses.
    fn values(self) -> impl Iterator<Item = usize> {
        let (a, b) = match self {
            Self::Add(a, b) | Self::Mul(a, b) | Self::Sub(a, b) => (a, Some(b)),
            Self::AddClear(a, _) | Self::MulClear(a, _) | Self::Neg(a) | Self::Rotate(a, _) => (a, None),
        };
        std::iter::once(a).chain(b)
    }

    fn is_product(self) -> bool {
        matches!(self, Self::Mul(..) | Self::MulClear(..))
    }

    fn words(self) -> (&'static str, usize, i64) {
        match self {
            Self::Add(a, b) => ("add", a, b as i64),
            Self::AddClear(a, clear) => ("add_clear", a, clear as i64),
            Self::Mul(a, b) => ("mul", a, b as i64),
            Self::MulClear(a, clear) => ("mul_clear", a, clear as i64),
            Self::Neg(a) => ("neg", a, 0),
            Self::Rotate(a, places) => ("rotate", a, places),
            Self::Sub(a, b) => ("sub", a, b as i64),
        }
    }
}

#[cfg(test)]
mod tests;
