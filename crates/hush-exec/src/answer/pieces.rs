// SPDX-License-Identifier: Apache-2.0
//! Pieces of a sorted run in answers: what was asked of each part that has it.
//!
//! ```text
//! parts: u32   for each, its number: u32 and the bytes of its piece: u64   then, part after part, the pieces
//! ```
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use bytes::Bytes;

/// Bytes of the number of parts.
const COUNT_BYTES: u64 = 4;
/// Bytes of a part's entry.
const ENTRY_BYTES: u64 = 12;

/// Pieces of a sorted run, decoded: views into the bytes received.
///
/// *Secrecy.* Sealed by the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPieces<'a>(Vec<(u32, &'a [u8])>);

impl<'a> RunPieces<'a> {
    /// The numbers of the parts in the manifest, rising, each with its piece. One of which no block was asked for has no bytes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a [u8])> {
        self.0.iter().copied()
    }

    /// The pieces that some bytes are; `None` if they are none.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let entries = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_mul(ENTRY_BYTES as usize)?;
        let (entries, mut rest) = rest.split_at_checked(entries)?;
        let (entries, _) = entries.as_chunks::<{ ENTRY_BYTES as usize }>();
        let mut pieces: Vec<(u32, &[u8])> = Vec::with_capacity(entries.len());
        for entry in entries {
            let [a, b, c, d, length @ ..] = *entry;
            let part = u32::from_le_bytes([a, b, c, d]);
            if pieces.last().is_some_and(|(before, _)| *before >= part) {
                return None;
            }
            let (piece, behind) = rest.split_at_checked(u64::from_le_bytes(length).try_into().ok()?)?;
            pieces.push((part, piece));
            rest = behind;
        }
        (rest.is_empty() && !pieces.is_empty()).then_some(Self(pieces))
    }
}

/// Bytes that pieces of these lengths take in an answer.
pub(crate) fn pieces_bytes(lengths: impl Iterator<Item = u64>) -> u64 {
    let sum = lengths.fold(0_u64, |sum, length| sum.saturating_add(length).saturating_add(ENTRY_BYTES));
    if sum == 0 { 0 } else { sum.saturating_add(COUNT_BYTES) }
}

/// The bytes of some pieces, by the numbers of their parts; none where there are no pieces.
pub(super) fn encode(pieces: &BTreeMap<u32, Bytes>) -> Vec<u8> {
    let length = pieces_bytes(pieces.values().map(|piece| piece.len() as u64));
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    if pieces.is_empty() {
        return bytes;
    }
    bytes.extend_from_slice(&u32::try_from(pieces.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (part, piece) in pieces {
        bytes.extend_from_slice(&part.to_le_bytes());
        bytes.extend_from_slice(&(piece.len() as u64).to_le_bytes());
    }
    pieces.values().for_each(|piece| bytes.extend_from_slice(piece));
    bytes
}
