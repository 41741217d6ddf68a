// SPDX-License-Identifier: Apache-2.0
//! Runs of chunks: the ring elements that one answer on products adds up.

use std::ops::Range;

use hush_params::size::CHUNK_ROWS;
use hush_plan::ServerPlan;
use hush_table::Manifest;

/// Chunks whose products are added up in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductRun {
    /// The domain of their parts ([`hush_table::manifest::Domain`]).
    pub domain: u32,
    /// Their ring elements.
    pub elements: u32,
    /// Their rows, deleted ones too. All other slots of the ring elements are padding.
    pub rows: u64,
    /// The chunks, by rising parts.
    pub chunks: Vec<RunChunks>,
}

/// Chunks of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChunks {
    /// The part's place in the manifest.
    pub part: u32,
    /// Indices in the table.
    pub chunks: Range<u32>,
    /// Ring elements of the run before them.
    pub first_element: u32,
}

/// Cuts a table's chunks into runs for answers on products over a ring of this degree: for each domain in rising order its parts, and their
/// chunks, in the order of the table. A run takes chunks as long as it has at most `elements` ring elements, and one chunk at least. Of each part
/// so many chunks are together in ring elements ([`hush_plan::Packing::chunks_together`]), which are never parted.
///
/// Server and owner both call this, because an answer does not repeat its plan. Chunks of one run share a secret.
///
/// # Cost
/// One step for each chunk, and one for each part and domain.
pub fn product_runs(manifest: &Manifest, (degree, together): (usize, u32), elements: u32) -> Vec<ProductRun> {
    let mut runs = Vec::new();
    for domain in manifest.domains() {
        let of_domain = manifest.placed_parts().zip(0..).filter(|((_, part), _)| part.domain == domain);
        let mut run = ProductRun { domain, ..ProductRun::default() };
        for ((place, entry), part) in of_domain {
            let mut left = entry.rows;
            let end = place.first_chunk.saturating_add(entry.chunks);
            for first in (place.first_chunk..end).step_by(together.max(1) as usize) {
                let chunks = first..end.min(first.saturating_add(together.max(1)));
                let rows = left.min(chunks.len() as u64 * u64::from(CHUNK_ROWS));
                left -= rows;
                let more = u32::try_from(rows.div_ceil(degree.max(1) as u64)).unwrap_or(u32::MAX);
                if run.elements > 0 && run.elements.saturating_add(more) > elements {
                    runs.push(std::mem::replace(&mut run, ProductRun { domain, ..ProductRun::default() }));
                }
                run.push(part, chunks, more, rows);
            }
        }
        if !run.chunks.is_empty() {
            runs.push(run);
        }
    }
    runs
}

/// Whether products are masked, so that padding counts as 0 in them: if a plan has a predicate, or rows of the table were deleted. If not, the formula is
/// evaluated on the zeros of padding, too.
pub fn masks_products(plan: &ServerPlan, manifest: &Manifest) -> bool {
    plan.predicate.is_some() || manifest.parts.iter().any(|part| part.dead.is_some())
}

impl RunChunks {
    /// The chunks that are together, where so many are: at most as many, one after another.
    pub fn together(&self, together: u32) -> impl Iterator<Item = Range<u32>> + use<> {
        let (end, together) = (self.chunks.end, together.max(1));
        self.chunks
            .clone()
            .step_by(together as usize)
            .map(move |first| first..end.min(first.saturating_add(together)))
    }

    /// The number in its run of the first ring element of each of these, where all chunks that are together have so many if they are full. None but the last
    /// of a part have fewer.
    pub fn numbers(&self, elements: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.first_element;
        (0_u32..).map(move |place| first.saturating_add(place.saturating_mul(elements)))
    }
}

impl ProductRun {
    fn push(&mut self, part: u32, chunks: Range<u32>, elements: u32, rows: u64) {
        let first_element = self.elements;
        self.elements = self.elements.saturating_add(elements);
        self.rows = self.rows.saturating_add(rows);
        match self.chunks.last_mut() {
            Some(last) if last.part == part => last.chunks.end = chunks.end,
            _ => self.chunks.push(RunChunks { part, chunks, first_element }),
        }
    }
}
