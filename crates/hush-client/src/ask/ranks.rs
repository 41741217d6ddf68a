// SPDX-License-Identifier: Apache-2.0
//! Conditions by ranks: before a plan is sent, its owner finds in each chunk how many rows lie below the constants of the condition, and so which flags of
//! ranks the server multiplies there.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hush_plan::QueryPlan;
use hush_plan::plan::{Choices, ChosenOf, Cut, RanksQuery, RunRead, RunTask, Task};
use hush_plan::quantity::{Flag, FlagOf, Quantity, RankFlag};
use hush_remote::Progress;
use rayon::prelude::*;

use super::runs::{MAX_BLOCKS, Sealed};
use crate::account::Moved;
use crate::error::ClientError;
use crate::run::{ChunkOrder, KnownRun, OpenRanks, PartRanks};
use crate::table::OwnedTable;
use crate::threads::on_threads;

impl OwnedTable {
    /// Chooses the flags of ranks that a plan multiplies in each chunk, and writes them into it. Gives the bytes that had to come for it.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`].
    pub(super) fn choose_flags(
        &self,
        plan: &mut QueryPlan,
        progress: &dyn Progress,
    ) -> Result<Moved, ClientError> {
        let other = || ClientError::Internal { what: "the plan has other choices than its owner knows of" };
        let Task::Products(task) = &mut plan.server.task else { return Err(other()) };
        if task.choices.len() != plan.owner.ranks.len() {
            return Err(other());
        }
        let mut moved = Moved::default();
        for (choices, query) in task.choices.iter_mut().zip(&plan.owner.ranks) {
            let known = self.rows_below(query, &mut moved, progress)?;
            let shape = self.run_shape(query.place, query.number)?;
            let places = self.places_of_flags(&shape.by().ok_or_else(other)?.name, choices)?;
            let orders: Vec<&ChunkOrder> = known.parts.iter().flat_map(|part| part.open.chunks()).collect();
            let chosen = query.flags.iter().map(|flag| {
                let chosen = (0..).zip(&orders).map(|(chunk, order)| {
                    let place = order.place_of(number_of(flag, (chunk, order), &known.below)?)?;
                    places.get(usize::from(place)).copied()
                });
                let chosen: Vec<u8> = chosen.collect::<Option<_>>().ok_or_else(other)?;
                Ok(BASE64_STANDARD.encode(chosen))
            });
            choices.of_chunks = chosen.collect::<Result<_, ClientError>>()?;
        }
        Ok(moved)
    }

    /// Where the flag at each place of a column's ranks is among the columns to choose from.
    fn places_of_flags(&self, column: &str, choices: &Choices) -> Result<Vec<u8>, ClientError> {
        let missing = || ClientError::Internal { what: "a flag of a rank is not among the choices" };
        let place = |place: u8| {
            let flag = Quantity::Flag(Flag { column: column.to_owned(), of: FlagOf::Ranked(place) });
            let mut alike = self.half.encodings.iter().filter(|encoding| encoding.quantity == flag);
            let among = alike.find_map(|encoding| choices.among.binary_search(&encoding.public.id).ok());
            among.and_then(|among| u8::try_from(among).ok()).ok_or_else(missing)
        };
        (0..choices.among.len().min(u8::MAX.into()) as u8).map(place).collect()
    }

    /// The orders of all chunks, and how many rows of each lie below the cuts of a query.
    fn rows_below(
        &self,
        query: &RanksQuery,
        moved: &mut Moved,
        progress: &dyn Progress,
    ) -> Result<KnownRun, ClientError> {
        let mut known = match self.ranks.get(query.number) {
            Some(known) => known,
            None => KnownRun { parts: self.open_ranks(query, moved, progress)?, ..KnownRun::default() },
        };
        let unknown = query.cuts().into_iter().filter(|cut| !known.below.contains_key(cut));
        let unknown: Vec<Cut> = unknown.collect();
        let chunks: usize = known.parts.iter().map(|part| part.open.chunks().len()).sum();
        for cuts in unknown.chunks((MAX_BLOCKS / chunks.max(1)).max(1)) {
            let of_parts: Vec<Vec<u32>> = known.parts.iter().map(|part| part.open.places(cuts)).collect();
            let read = RunRead::Blocks { of_parts: of_parts.clone(), by_values: false };
            let run = RunTask { number: query.number, read };
            let manifest = self.manifest.manifest();
            let (found, here) = self.pieces_of_run(run, progress, |pieces| {
                let parts = pieces.into_par_iter().zip(known.parts.par_iter()).zip(&of_parts);
                let of_part = parts.map(|((sealed, part), places)| {
                    let size = part.block_bytes.max(1) as usize;
                    if sealed.bytes.len() != places.len() * size {
                        return Err(other_blocks());
                    }
                    let read: Vec<(u32, &[u8])> =
                        places.iter().copied().zip(sealed.bytes.chunks_exact(size)).collect();
                    let key = &self.keys.of(manifest, part.domain)?.runs;
                    part.open.rows_below(cuts, key, &read)
                });
                on_threads(self.costs.threads, || of_part.collect::<Result<Vec<_>, ClientError>>())
            })?;
            *moved += here;
            for (place, cut) in cuts.iter().enumerate() {
                let of_parts = found.iter().filter_map(|of_part| of_part.get(place)).flatten();
                known.below.insert(cut.clone(), Arc::new(of_parts.copied().collect()));
            }
        }
        self.ranks.keep(query.number, known.clone());
        Ok(known)
    }

    /// The opened orders of all parts.
    fn open_ranks(
        &self,
        query: &RanksQuery,
        moved: &mut Moved,
        progress: &dyn Progress,
    ) -> Result<Arc<Vec<PartRanks>>, ClientError> {
        let number = query.number;
        let shape = self.run_shape(query.place, number)?;
        let manifest = self.manifest.manifest();
        let index = RunTask { number, read: RunRead::Index };
        let (parts, here) = self.pieces_of_run(index, progress, |pieces| {
            let opened = pieces.into_par_iter().map(|Sealed { part, id, run, bytes, .. }| {
                let key = &self.keys.of(manifest, part.domain)?.runs;
                let open = OpenRanks::open((id, number, run.blocks), (&shape, part.rows), key, bytes)?;
                Ok(PartRanks { domain: part.domain, block_bytes: run.block_bytes, open })
            });
            on_threads(self.costs.threads, || opened.collect::<Result<Vec<_>, ClientError>>())
        })?;
        *moved += here;
        // A plan chooses in every chunk.
        let is_whole = parts.len() == manifest.parts.len();
        if is_whole { Ok(Arc::new(parts)) } else { Err(other_blocks()) }
    }
}

fn other_blocks() -> ClientError {
    ClientError::Answer { what: "it does not have the blocks that were asked for".into() }
}

/// The number of a flag in a chunk, where so many rows lie below the cuts.
fn number_of(
    flag: &ChosenOf,
    (chunk, order): (usize, &ChunkOrder),
    below: &BTreeMap<Cut, Arc<Vec<u32>>>,
) -> Option<u8> {
    let rows = |cut: &Cut| below.get(cut)?.get(chunk).copied();
    let chosen = match flag {
        ChosenOf::Valid => RankFlag::Valid,
        ChosenOf::AtLeast { cut, digit, next } => RankFlag::at(order.code(rows(cut)?), *digit, *next),
        ChosenOf::Equal { at, digit, next } => {
            let [before, behind] = [false, true].map(|behind| rows(&Cut { at: at.clone(), behind }));
            let code = if before? < behind? { order.code(before?) } else { order.spare_code(before?) };
            RankFlag::at(code, *digit, *next)
        }
    };
    Some(chosen.number())
}
