// SPDX-License-Identifier: Apache-2.0
//! Programs on digits, block by block: what one block takes, and sums of what blocks give.

use std::ops::Range;

use hush_circuits::gates::{Bridged, GatePlan};
use hush_circuits::program::ProgramError;
use hush_tfhe::integer::{Program, Sent, Step};
use hush_tfhe::{Lwe, ServerKey, TfheError};

/// Most elements that are evaluated together.
const MAX_BLOCK: u64 = 128;
/// Ciphertexts of a block, of 16 KB each: a quarter of a gigabyte, and about twice as much while they are looked up.
const MAX_HELD: u64 = 1 << 14;
/// Sums of blocks that are kept before they are added up.
const MAX_SUMS: usize = 32;

/// Elements in blocks.
pub(super) struct Blocks {
    elements: usize,
    block: usize,
}

impl Blocks {
    /// A block has no more ciphertexts than it sends and looks up.
    pub(super) fn of(program: &Program, elements: usize) -> Result<Self, TfheError> {
        let sent: usize = program.inputs().map(|(_, digits)| digits).sum();
        let held = program.cost(1)?.bootstraps.saturating_add(sent as u64);
        Ok(Self { elements, block: (MAX_HELD / held.max(1)).clamp(1, MAX_BLOCK) as usize })
    }

    /// The elements of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        let Self { elements, block } = *self;
        (0..elements).step_by(block).map(move |first| first..elements.min(first + block))
    }

    /// Bootstrappings of all.
    pub(super) fn bootstraps(&self, program: &Program) -> Result<u64, TfheError> {
        let of_block = |elements: usize| Ok::<_, TfheError>(program.cost(elements)?.bootstraps);
        let whole = (self.elements / self.block) as u64;
        let of_whole = if whole > 0 { of_block(self.block)? } else { 0 };
        Ok(of_whole.saturating_mul(whole).saturating_add(of_block(self.elements % self.block)?))
    }

    /// Batches of bootstrappings of one, one after another.
    pub(super) fn rounds(&self, program: &Program) -> Result<u64, TfheError> {
        Ok(program.cost(self.elements.min(self.block))?.rounds)
    }
}

/// A sum over elements that stays on the server, as an integer from 0 on ([`Bridged::of_sum`]).
pub(super) struct Sum<'a> {
    plan: &'a GatePlan,
    length: usize,
    /// Digits of the sums of blocks.
    held: Vec<Vec<Lwe>>,
}

impl<'a> Sum<'a> {
    /// The sum of a program over so many elements.
    pub(super) fn new(plan: &'a GatePlan, length: usize) -> Self {
        Self { plan, length, held: Vec::new() }
    }

    /// Bootstrappings, and batches of them one after another, beyond those of the blocks.
    ///
    /// # Errors
    /// [`ProgramError::WideInteger`] for a sum that no integer holds.
    pub(super) fn cost(&self, blocks: &Blocks) -> Result<(u64, u64), ProgramError> {
        let (mut bootstraps, mut rounds) = (0_u64, 0);
        let mut add = |program: Option<Program>| {
            if let Some(program) = program {
                let cost = program.cost(1)?;
                bootstraps = bootstraps.saturating_add(cost.bootstraps);
                rounds += cost.rounds;
            }
            Ok::<_, ProgramError>(())
        };
        let mut held = 0;
        for _ in blocks.iter() {
            held += 1;
            if held == MAX_SUMS {
                add(self.adding(held, false)?)?;
                held = 1;
            }
        }
        add(self.adding(held, true)?)?;
        Ok((bootstraps, rounds))
    }

    /// Evaluates the program on a block of so many elements, and adds what it gives.
    ///
    /// # Errors
    /// A [`ProgramError`] for inputs that are not the program's.
    pub(super) fn add(
        &mut self,
        server: &ServerKey,
        elements: usize,
        sent: Vec<Sent<'_>>,
    ) -> Result<(), ProgramError> {
        self.held.extend(self.plan.program().digits_sent(server, elements, sent)?);
        if self.held.len() == MAX_SUMS {
            self.join(server, false)?;
        }
        Ok(())
    }

    /// The digits of the sum.
    ///
    /// # Errors
    /// As [`Sum::cost`].
    pub(super) fn digits(mut self, server: &ServerKey) -> Result<Vec<Lwe>, ProgramError> {
        self.join(server, true)?;
        let mut digits = self.held.pop().unwrap_or_default();
        digits.truncate(Bridged::of_sum(self.plan, self.length).digits());
        Ok(digits)
    }

    fn join(&mut self, server: &ServerKey, is_last: bool) -> Result<(), ProgramError> {
        if let Some(program) = self.adding(self.held.len(), is_last)? {
            let sent = self.held.drain(..).map(Sent::Digits).collect();
            self.held = program.digits_sent(server, 1, sent)?;
        }
        Ok(())
    }

    /// The program that adds up some sums of blocks, and at last takes the least away; none where there is nothing to do.
    fn adding(&self, count: usize, is_last: bool) -> Result<Option<Program>, ProgramError> {
        let least = if is_last { self.plan.least(self.length) } else { 0.into() };
        let least = i128::try_from(&least).map_err(|_| ProgramError::WideInteger { bits: least.bits() })?;
        if count == 0 || (count == 1 && least == 0) {
            return Ok(None);
        }
        let digits = self.plan.program().digits();
        let inputs = (0..count).map(|vector| Step::Input { vector, digits, last: 3 });
        let sum = Step::Linear(-least, (0..count).map(|place| (place, 1)).collect());
        Ok(Some(Program::new(digits, false, inputs.chain([sum]).collect(), false)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a program looks up, a block of it fits in memory: wide products have few elements, comparisons many.
    #[test]
    fn blocks_hold_no_more_ciphertexts_than_memory() {
        let input = |vector| Step::Input { vector, digits: 32, last: 3 };
        let squared = |times: usize| {
            let steps = std::iter::once(input(0)).chain((0..times).map(|place| Step::Product(place, place)));
            Program::new(32, false, steps.collect(), false).unwrap()
        };
        let block_of = |program: &Program| Blocks::of(program, 1000).unwrap().block;
        for (times, most) in [(1, 32), (4, 8), (40, 1)] {
            let (program, block) = (squared(times), block_of(&squared(times)));
            let held = program.cost(block).unwrap().bootstraps;
            assert!(block <= most && (block == 1 || held <= MAX_HELD), "{times}: {block} elements, {held}");
        }
        let plain =
            Program::new(4, false, vec![Step::Input { vector: 0, digits: 4, last: 3 }], false).unwrap();
        assert_eq!(block_of(&plain) as u64, MAX_BLOCK);
    }

    #[test]
    fn blocks_cover_all_elements_once() {
        for (elements, block) in [(0, 3), (1, 3), (3, 3), (7, 3), (9, 4)] {
            let all: Vec<usize> = Blocks { elements, block }.iter().flatten().collect();
            assert_eq!(all, (0..elements).collect::<Vec<_>>());
        }
    }
}
