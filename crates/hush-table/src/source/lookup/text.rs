// SPDX-License-Identifier: Apache-2.0
//! Lookups of the profiling pass, which knows no types: rows of text cells.
//!
//! Numbers and instants are the same key however they are written, other texts are keys as they are; numbers with leading zeros are texts.
//! What a typed pass finds may differ: the schema decides.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hush_plan::schema::units::{DecimalPoint, Number, parse_timestamp, scan_number};

use super::super::raw::{FileRows, TextColumn};
use super::super::{Origin, Source, SourceError};
use super::{INDEX_ENTRY_BYTES, Lookup, LookupFault};

/// Rows of a source as text, one after the other, with the missing cells marked and what they look up.
pub(crate) struct RawRows {
    facts: FileRows,
    lookups: Vec<TextLookup>,
    /// The present row as far as keys need it.
    row: Vec<Option<Vec<u8>>>,
}

/// A lookup, read.
struct TextLookup {
    lookup: Lookup,
    columns: Vec<TextColumn>,
    index: HashMap<Vec<u8>, usize>,
    points: Vec<DecimalPoint>,
}

impl RawRows {
    pub(in super::super) fn new(source: &Source) -> Result<Self, SourceError> {
        let lookups = match &source.origin {
            Origin::Joined(joined) => joined
                .lookups
                .iter()
                .map(|lookup| TextLookup::read(source, lookup))
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        Ok(Self { facts: FileRows::new(source.facts())?, lookups, row: Vec::new() })
    }

    /// Calls `sink` for every cell of the next row, with the column's position and `None` for a missing one.
    /// Returns `false`, and calls nothing, at the end.
    ///
    /// # Errors
    /// A ragged record, or reading fails.
    #[inline]
    pub(crate) fn next_row(
        &mut self,
        mut sink: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<bool, SourceError> {
        if self.lookups.is_empty() {
            return self.facts.next_row(sink);
        }
        self.row.clear();
        let row = &mut self.row;
        if !self.facts.next_row(|position, cell| {
            row.push(cell.map(<[u8]>::to_vec));
            sink(position, cell);
        })? {
            return Ok(false);
        }
        for TextLookup { lookup, columns, index, points } in &self.lookups {
            let cells = lookup.keys.iter().map(|(own, _)| self.row.get(*own)?.as_deref());
            let found = key(cells, points).and_then(|key| index.get(&key)).copied();
            for (place, column) in lookup.kept.iter().enumerate() {
                let cell = found.and_then(|found| columns.get(*column)?.field(found));
                sink(lookup.first + place, cell);
                self.row.push(cell.map(<[u8]>::to_vec));
            }
        }
        Ok(true)
    }
}

impl TextLookup {
    fn read(source: &Source, lookup: &Lookup) -> Result<Self, SourceError> {
        let rows = &lookup.rows;
        let theirs: Vec<DecimalPoint> =
            lookup.keys.iter().map(|(_, place)| rows.decimal_point_of(*place)).collect();
        let mut raw = rows.raw().map_err(|error| lookup.error(error))?;
        let mut columns = vec![TextColumn::default(); rows.columns().len()];
        let (mut index, mut row, mut bytes) = (HashMap::new(), 0, 0);
        while raw
            .next_row(|position, cell| {
                bytes += cell.map_or(0, <[u8]>::len) + size_of::<usize>() + 1;
                if let Some(column) = columns.get_mut(position) {
                    column.push(cell);
                }
            })
            .map_err(|error| lookup.error(error))?
        {
            let cells = |row| lookup.keys.iter().map(move |(_, place)| (place, row));
            let field = |(place, row): (&usize, usize)| columns.get(*place)?.field(row);
            if let Some(key) = key(cells(row).map(field), &theirs) {
                bytes += key.len() + INDEX_ENTRY_BYTES;
                match index.entry(key) {
                    Entry::Vacant(place) => {
                        place.insert(row);
                    }
                    // Keys that are not written alike may be two texts: the typed pass will know.
                    Entry::Occupied(known) if cells(*known.get()).map(field).eq(cells(row).map(field)) => {
                        let (first, second) = (*known.get() as u64 + 1, row as u64 + 1);
                        return Err(lookup.fault(LookupFault::Twice { first, second }));
                    }
                    Entry::Occupied(_) => {}
                }
            }
            lookup.check_size(bytes as u64)?;
            row += 1;
        }
        if row == 0 {
            return Err(lookup.error(SourceError::NoRows));
        }
        let points = lookup.keys.iter().map(|(own, _)| source.decimal_point_of(*own)).collect();
        Ok(Self { lookup: lookup.clone(), columns, index, points })
    }
}

/// What stands for a key; `None` if a part of it is missing.
fn key<'a>(cells: impl Iterator<Item = Option<&'a [u8]>>, points: &[DecimalPoint]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for (cell, point) in cells.zip(points) {
        let cell = cell?.trim_ascii();
        let number = scan_number(cell, *point).filter(|number| !number.cut && !number.leading_zeros);
        if let Some(number) = number {
            key.push(0);
            push_number(number, &mut key);
        } else if let Some(micros) = parse_timestamp(cell, None) {
            key.push(1);
            key.extend(micros.to_le_bytes());
        } else {
            key.push(2);
            key.extend((cell.len() as u64).to_le_bytes());
            key.extend(cell);
        }
    }
    Some(key)
}

/// A number without the zeros that it may end in.
fn push_number(number: Number, key: &mut Vec<u8>) {
    let Number { negative, mut mantissa, mut exponent, .. } = number;
    while mantissa != 0 && mantissa.is_multiple_of(10) {
        (mantissa, exponent) = (mantissa / 10, exponent.saturating_add(1));
    }
    key.push(u8::from(negative && mantissa != 0));
    key.extend(mantissa.to_le_bytes());
    key.extend(if mantissa == 0 { 0 } else { exponent }.to_le_bytes());
}
