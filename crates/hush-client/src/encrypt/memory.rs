// SPDX-License-Identifier: Apache-2.0
//! A model of the memory that an encryption takes, and ways to do with less.
//!
//! Chunks pass through in a window. They are cut from CSV ahead of their turn, or decoded from Parquet in their turn; typed and
//! encrypted on all threads; collected into a part; and written while the next part is collected. So memory holds the window's
//! chunks and three or five times a part, for any number of rows. Under a limit, first parts are written one at a time, then parts
//! get smaller (more files), then the window gets smaller (less overlap of reading, encrypting and writing), then the thread that
//! reads chunks also types them. Texts have no fixed size: they get the memory that is left, and a chunk with more is refused.

use hush_plan::{ColumnType, Protection, Quantity, Schema};
use hush_rlwe::OVERHEAD_BYTES;
use hush_table::part::{CHUNK_ROWS, MAX_PART_CHUNKS, PART_TARGET_BYTES};

use crate::chunk::{ChunkPlan, chunks_together};
use crate::copy;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use hush_system::memory::resident_bytes;

const MIB: u64 = 1 << 20;
const ROWS: u64 = CHUNK_ROWS as u64;
/// Estimated bytes of the token of a join key.
const TOKEN_BYTES: u64 = 64;
/// Bytes of the program before it reads a row: code that has run (28 MB of it measured), tables of the rings, threads.
pub(crate) const PROGRAM_BYTES: u64 = 36 * MIB;
/// Assumed bytes of a text of unknown length.
pub(crate) const TEXT_BYTES: u64 = 32;
/// Most bytes of a chunk that waits to be typed, without a limit on memory.
const MOST_RAW_BYTES: usize = 64 * MIB as usize;
/// Most bytes of a record of a table whose texts are all left out.
const RECORD_BYTES: usize = MIB as usize;
/// Sizes of parts with numbers of parts written at a time, from best to worst. Small parts make many files.
const PARTS: [&[(u64, usize)]; 2] = [
    // While one part waits for the disk, another one is laid out and hashed.
    &[(PART_TARGET_BYTES, 2), (PART_TARGET_BYTES, 1), (16 * MIB, 1), (8 * MIB, 1), (4 * MIB, 1)],
    &[(2 * MIB, 1), (MIB, 1)],
];

/// How chunks pass through the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Chunks that are typed and encrypted together; as many are read ahead.
    pub(super) window: usize,
    /// Most bytes of a chunk that is read ahead without being typed; 0 if all are typed as they are read.
    pub(super) raw_bytes: usize,
    /// Bytes at which a part is cut.
    pub(crate) part_bytes: u64,
    /// Parts that are written at a time.
    pub(crate) parts_in_flight: usize,
    /// Most bytes of texts in a chunk.
    pub(super) text_bytes: usize,
}

/// Bytes that the pieces of an encryption take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// The program; reading, beside the chunks that come of it; the keys.
    fixed: u64,
    /// One chunk as it stands in the file, estimated.
    raw: u64,
    /// One chunk's values, without texts.
    typed: u64,
    /// Columns of texts.
    texts: u64,
    /// Values of chunks that are together as they are encrypted, and buffers: for each thread.
    working: u64,
    /// How many chunks are together.
    together: usize,
    /// One chunk's encoded and sealed columns, without texts.
    encrypted: u64,
    /// One chunk's clear columns, without texts.
    clear: u64,
}

impl Need {
    /// The need of a table. `decode` is that of the reader ([`hush_table::source::Source::decode_bytes`]).
    pub(super) fn of(schema: &Schema, plan: &ChunkPlan<'_>, decode: u64) -> Self {
        // A program that does other things beside this, such as Python, has taken more already.
        let program = PROGRAM_BYTES.max(resident_bytes().unwrap_or(0));
        let mut need = Self {
            fixed: program + decode + plan.prepare.bytes(ROWS * u64::from(MAX_PART_CHUNKS)),
            together: plan.together(),
            ..Self::default()
        };
        for column in &schema.columns {
            let is_text = matches!(column.kind, ColumnType::Category | ColumnType::Text);
            need.raw += ROWS * raw_cell_bytes(column.kind);
            if column.protect == Protection::Drop {
                continue;
            }
            let bytes = ROWS * cell_bytes(column.kind);
            need.typed += bytes;
            need.texts += u64::from(is_text);
            match column.protect {
                Protection::Clear => need.clear += bytes,
                Protection::JoinKey => need.clear += ROWS * TOKEN_BYTES,
                Protection::Seal => need.encrypted += bytes,
                Protection::Encrypt if column.has_copy() => {
                    need.encrypted += copy::shape(column).bytes(ROWS);
                }
                Protection::Decide | Protection::Drop | Protection::Encrypt => {}
            }
        }
        for key in plan.keys.iter() {
            let ring = key.ring();
            let element_words = ring.poly_words() as u64;
            need.fixed += 24 * element_words;
            need.encrypted += encoded_bytes(key);
            // Numbers of chunks that share ring elements are put together in a copy.
            let copies = if chunks_together(key) > 1 { 2 } else { 1 };
            need.working += copies * plan.together() as u64 * plaintext_bytes(&key.encoding.quantity);
            need.fixed += if key.encoding.public.packing.evaluates() { 64 * element_words } else { 0 };
        }
        let widest = plan.keys.iter().map(|key| key.ring().poly_words() as u64).max().unwrap_or(0);
        need.working += 64 * widest;
        need
    }

    /// Bytes of encoded columns in the files, for each chunk.
    pub(super) fn stored_bytes(plan: &ChunkPlan<'_>) -> u64 {
        let copies = plan.sealed.iter().filter(|(_, column, _)| column.has_copy());
        let copies: u64 = copies.map(|(_, column, _)| copy::shape(column).bytes(ROWS)).sum();
        plan.keys.iter().map(encoded_bytes).sum::<u64>() + copies
    }

    /// Most bytes that are in memory at a time.
    fn bytes(&self, flow: Flow, threads: usize) -> u64 {
        let window = flow.window as u64;
        let texts = if self.texts > 0 { flow.text_bytes as u64 } else { 0 };
        let (raw, typed) = (flow.raw_bytes as u64, self.typed + texts);
        // Chunks in work, chunks that wait, one without room to wait, and one that is being read, from a buffer that may have grown.
        let read = (2 * window + 2) * typed.max(raw) + 2 * raw;
        let in_work = window.min(threads as u64);
        let working = in_work * (self.working + if raw > 0 { typed } else { 0 });
        let encrypted = window * (self.encrypted + texts);
        let most_chunks = flow.part_bytes / self.encrypted.max(1) + 1;
        let chunks = most_chunks.min(u64::from(MAX_PART_CHUNKS));
        let part = |chunk: u64| flow.part_bytes.min(chunks * chunk) + chunk + texts;
        let parts = [self.encrypted, self.clear].into_iter().filter(|bytes| *bytes > 0);
        // One part is collected while those before it are in memory as chunks and as files.
        let copies = 1 + 2 * flow.parts_in_flight as u64;
        let parts: u64 = parts.map(|chunk| copies * part(chunk)).sum();
        // Freed memory does not all go back at once.
        self.fixed + (read + working + encrypted + parts) * 9 / 8
    }
}

impl Flow {
    /// Chunks that are in work together.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// The flow without a limit.
    pub(super) fn unlimited(threads: usize) -> Self {
        // Two chunks a thread keep all busy while the writer takes the last ones.
        let (window, raw_bytes) = (2 * threads, MOST_RAW_BYTES);
        let parts_in_flight = 2.min(threads.max(1));
        Self { window, raw_bytes, part_bytes: PART_TARGET_BYTES, parts_in_flight, text_bytes: usize::MAX }
    }

    /// The flow within `limit` bytes of memory, code included.
    ///
    /// # Errors
    /// [`ClientError::MemoryLimit`] if one chunk at a time is too much.
    pub(super) fn within(limit: u64, threads: usize, need: &Need) -> Result<Self, ClientError> {
        let text_bytes = usize::try_from(need.texts * ROWS * TEXT_BYTES).unwrap_or(usize::MAX);
        let widest = (2 * threads).max(need.together);
        let windows = || {
            std::iter::successors(Some(widest), |window| {
                Some(window / 2).filter(|w| *w >= need.together.max(1))
            })
        };
        // One chunk at a time is typed while the one before is encrypted.
        let raw_bytes = [usize::try_from(need.raw).unwrap_or(usize::MAX).min(MOST_RAW_BYTES), 0];
        let flows = PARTS.into_iter().flat_map(|sizes| {
            let of_window = move |raw_bytes: usize, window: usize| {
                // Texts need the memory more than a second part in flight.
                let most = if need.texts > 0 { 1 } else { threads.max(1) };
                let parts = sizes.iter().filter(move |(_, in_flight)| *in_flight <= most);
                parts.map(move |(part_bytes, parts_in_flight)| Self {
                    window,
                    raw_bytes,
                    part_bytes: *part_bytes,
                    parts_in_flight: *parts_in_flight,
                    text_bytes,
                })
            };
            raw_bytes.into_iter().flat_map(move |raw_bytes| {
                windows()
                    .filter(move |window| raw_bytes == 0 || *window > 1)
                    .flat_map(move |window| of_window(raw_bytes, window))
            })
        });
        let Some(flow) = flows.clone().find(|flow| need.bytes(*flow, threads) <= limit) else {
            let needed = flows.map(|flow| need.bytes(flow, threads)).min().unwrap_or(u64::MAX);
            return Err(ClientError::MemoryLimit { limit, needed });
        };
        Ok(flow.with_all_texts(limit, threads, need))
    }

    /// The flow with as many bytes of texts as the limit leaves room for.
    fn with_all_texts(self, limit: u64, threads: usize, need: &Need) -> Self {
        let with = |text_bytes| Self { text_bytes, ..self };
        if need.texts == 0 {
            return with(RECORD_BYTES);
        }
        let fits = |bytes: usize| need.bytes(with(bytes), threads) <= limit;
        let mut most = self.text_bytes;
        let mut step = usize::try_from(limit).unwrap_or(usize::MAX).next_power_of_two() / 2;
        while step > 0 {
            most += if fits(most + step) { step } else { 0 };
            step /= 2;
        }
        with(most)
    }
}

/// Bytes of a cell: a number and its validity, or the offset of a text.
fn cell_bytes(kind: ColumnType) -> u64 {
    match kind {
        ColumnType::Category | ColumnType::Text => 5,
        ColumnType::Decimal { precision, .. } if precision > 18 => 17,
        ColumnType::Int { bits } if bits > 64 => 17,
        _ => 9,
    }
}

/// Assumed bytes of a cell in a file, with its separators: few digits for a number, rather too many bytes for a text.
fn raw_cell_bytes(kind: ColumnType) -> u64 {
    match kind {
        ColumnType::Category | ColumnType::Text => 2 * TEXT_BYTES,
        _ => 24,
    }
}

/// Bytes of a full chunk of an encoded column, on average.
fn encoded_bytes(key: &ColumnKey) -> u64 {
    let packing = &key.encoding.public.packing;
    let bytes = |set| (packing.element_bytes(set, None) as f64 * packing.elements_of_chunk(set)).ceil();
    key.ring().set().map_or(0.0, bytes) as u64 + OVERHEAD_BYTES as u64
}

/// Bytes of an encoded column's plaintext in a chunk.
fn plaintext_bytes(quantity: &Quantity) -> u64 {
    match quantity {
        Quantity::Value(_) => 0,
        Quantity::BothValid(..)
        | Quantity::Flag(_)
        | Quantity::Holds(_)
        | Quantity::Negative(_)
        | Quantity::Valid(_)
        | Quantity::Zero(_) => 8 * ROWS,
        Quantity::Limb { quantity, .. } => 8 * ROWS + plaintext_bytes(quantity),
        // The sum so far, and the next term.
        Quantity::Combination(terms) => {
            32 * ROWS + terms.iter().map(|(_, quantity)| plaintext_bytes(quantity)).max().unwrap_or(0)
        }
        // Numbers in 256 bits before they are placed, and the places.
        Quantity::InCells { quantity, .. } => {
            96 * ROWS + quantity.as_ref().map_or(0, |quantity| plaintext_bytes(quantity))
        }
        Quantity::Log(_) => 16 * ROWS,
        Quantity::Monomial(_) | Quantity::Product(..) | Quantity::Square(_) => 32 * ROWS,
        // Before and after.
        Quantity::Where { quantity, .. } => 32 * ROWS + plaintext_bytes(quantity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 2;

    fn four_columns() -> Need {
        let chunk = 4 * 94_300;
        Need {
            fixed: PROGRAM_BYTES + MIB,
            raw: 4 * 24 * ROWS,
            typed: 4 * 9 * ROWS,
            working: chunk,
            encrypted: chunk,
            ..Need::default()
        }
    }

    #[test]
    fn a_limit_is_kept_by_fewer_and_smaller_parts_first_and_then_by_a_smaller_window() {
        let need = four_columns();
        let raw_bytes = need.raw as usize;
        let unlimited = Flow { text_bytes: RECORD_BYTES, raw_bytes, ..Flow::unlimited(THREADS) };
        let plenty = need.bytes(unlimited, THREADS);
        assert_eq!(Flow::within(plenty, THREADS, &need).unwrap(), unlimited);
        let mut seen = vec![unlimited];
        for limit in (0..plenty).rev().step_by(MIB as usize / 8) {
            let Ok(flow) = Flow::within(limit, THREADS, &need) else { break };
            assert!(need.bytes(flow, THREADS) <= limit, "{flow:?} in {limit}");
            seen.push(flow);
        }
        seen.dedup();
        assert_eq!(seen.remove(0).parts_in_flight, 2);
        assert!(seen.iter().all(|flow| flow.parts_in_flight == 1), "{seen:?}");
        let sizes: Vec<_> =
            seen.iter().map(|flow| (flow.raw_bytes > 0, flow.window, flow.part_bytes / MIB)).collect();
        let four = [(true, 4, 32), (true, 4, 16), (true, 4, 8), (true, 4, 4), (true, 2, 4)];
        let typed = [(false, 4, 4), (false, 2, 4), (false, 1, 4)];
        // Two and one megabyte only where four do not fit in any window.
        let small = [(true, 2, 1), (false, 4, 2), (false, 4, 1), (false, 2, 1), (false, 1, 1)];
        assert_eq!(sizes, [&four[..], &typed, &small].concat());
    }

    #[test]
    fn too_low_a_limit_is_refused_with_the_lowest_that_would_do() {
        let need = four_columns();
        let Err(ClientError::MemoryLimit { limit, needed }) = Flow::within(MIB, THREADS, &need) else {
            panic!("a megabyte is not enough")
        };
        assert_eq!(limit, MIB);
        assert!(Flow::within(needed, THREADS, &need).is_ok());
        assert!(Flow::within(needed - 1, THREADS, &need).is_err());
    }

    #[test]
    fn texts_get_what_is_left() {
        let need = Need { texts: 1, ..four_columns() };
        let tight = Flow::within(64 * MIB, THREADS, &need).unwrap();
        let wide = Flow::within(512 * MIB, THREADS, &need).unwrap();
        assert!(
            tight.text_bytes >= 32 * 8192 && wide.text_bytes > 4 * tight.text_bytes,
            "{tight:?} {wide:?}"
        );
        for (flow, limit) in [(tight, 64 * MIB), (wide, 512 * MIB)] {
            assert!(need.bytes(flow, THREADS) <= limit);
        }
    }
}
