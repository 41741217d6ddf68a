// SPDX-License-Identifier: Apache-2.0
//! What every library is given, and what it must give back.

use std::io::Read;

use super::case::{Case, Scheme, Table};
use super::inputs::Inputs;
use super::programs::{Batch, Tally};
use super::row::Answer;
use crate::BenchError;

/// The vectors of the tables that time, and the programs, each with the text that adapters read.
pub(super) struct Given {
    pub(super) inputs: Inputs,
    pub(super) batch: Batch,
    vectors: String,
    programs: String,
    exact: Vec<Vec<f64>>,
    real: Vec<Vec<f64>>,
}

impl Given {
    /// With `count` programs drawn from `seed`.
    pub(super) fn new(degree: usize, depth: u32, count: u32, seed: u64) -> Self {
        Self::of(Batch::random(degree, depth, count, seed))
    }

    /// The inputs of one case; programs come from `input`.
    ///
    /// # Errors
    /// `input` cannot be read, or holds no programs.
    pub(super) fn read(case: &Case, input: impl Read) -> Result<Self, BenchError> {
        let batch = match case.table {
            Table::Workload | Table::Primitives => {
                Batch { degree: case.degree as usize, programs: Vec::new() }
            }
            Table::Programs => {
                let mut text = String::new();
                input.take(MAX_TEXT).read_to_string(&mut text)?;
                text.parse()?
            }
        };
        Ok(Self::of(batch))
    }

    fn of(batch: Batch) -> Self {
        let inputs = Inputs::fixed();
        let (vectors, programs) = (inputs.to_text(), batch.to_text());
        let (exact, real) = (batch.results(Scheme::Bgv), batch.results(Scheme::Ckks));
        Self { inputs, batch, vectors, programs, exact, real }
    }

    /// The standard input of an adapter.
    pub(super) fn text(&self, case: &Case) -> &str {
        if case.table == Table::Programs { &self.programs } else { &self.vectors }
    }

    /// The row of a library's answer to the programs.
    pub(super) fn tally(&self, case: &Case, answer: Answer) -> Tally {
        let expected = if case.scheme == Scheme::Ckks { &self.real } else { &self.exact };
        Tally::new(case, answer, &self.batch, expected)
    }
}

/// Largest text of programs; a thousand of the usual ones have half of it.
const MAX_TEXT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::row::tests::case;

    #[test]
    fn every_table_has_its_own_text_and_only_programs_are_read() {
        let given = Given::new(16, 2, 3, 5);
        let (programs, workload) = (case(Table::Programs, Scheme::Bgv), case(Table::Workload, Scheme::Bgv));
        assert!(given.text(&programs).starts_with("programs 3 16\n"));
        assert!(given.text(&workload).starts_with("2760\n"));
        let read = Given::read(&programs, given.text(&programs).as_bytes()).unwrap();
        assert_eq!(read.batch, given.batch);
        assert!(Given::read(&workload, &b"nonsense"[..]).is_ok());
        let refused = Given::read(&programs, &b"nonsense"[..]).err().unwrap();
        assert_eq!(refused.to_string(), "word 1: expected \"programs\", found \"nonsense\"");
    }
}
