// SPDX-License-Identifier: Apache-2.0
//! Finds the ends of CSV records, byte by byte as they come.
//!
//! The rules are those of the reader that takes the records afterwards: a quote opens only at the beginning of a field, two inside are
//! one, and a record ends at LF, CRLF or CR.

/// Delimiters that a file may have; the first that fits its header is taken.
pub(super) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The state of the reader before the next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The beginning of a field.
    #[default]
    Start,
    /// A byte of a field without quotes.
    Plain,
    /// A byte between quotes.
    Quoted,
    /// Behind a quote that closes the field, or is the first of two.
    Closed,
    /// Behind CR: LF still belongs to the record.
    Return,
}

/// Finds the ends of records.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordEnds {
    state: State,
    /// The byte between fields; any that may be one, until the header is known.
    delimiter: Option<u8>,
}

impl RecordEnds {
    /// For records with fields that `delimiter` separates; any of [`DELIMITERS`] while the header is unknown.
    pub(super) fn new(delimiter: Option<u8>) -> Self {
        Self { state: State::Start, delimiter }
    }

    /// Appends to `ends` the places behind the records that end in `bytes[from..]`, in order; at most `most` of them. Returns the
    /// place that it reached.
    pub(super) fn find(&mut self, bytes: &[u8], from: usize, most: usize, ends: &mut Vec<usize>) -> usize {
        let limit = ends.len().saturating_add(most);
        for (place, &byte) in bytes.iter().enumerate().skip(from) {
            if ends.len() == limit {
                return place;
            }
            if self.state == State::Return {
                self.state = State::Start;
                if byte == b'\n' {
                    ends.push(place + 1);
                    continue;
                }
                ends.push(place);
                if ends.len() == limit {
                    return place;
                }
            }
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Closed,
                (State::Quoted, _) | (State::Start | State::Closed, b'"') => State::Quoted,
                (_, b'\n') => {
                    ends.push(place + 1);
                    State::Start
                }
                (_, b'\r') => State::Return,
                (_, byte) if self.is_delimiter(byte) => State::Start,
                _ => State::Plain,
            };
        }
        bytes.len()
    }

    /// Whether a last record needs no more than the end of the input: its line end is there.
    pub(super) fn is_behind_return(&self) -> bool {
        self.state == State::Return
    }

    /// Whether a quote is open.
    pub(super) fn is_quoted(&self) -> bool {
        self.state == State::Quoted
    }

    fn is_delimiter(&self, byte: u8) -> bool {
        self.delimiter.map_or_else(|| DELIMITERS.contains(&byte), |delimiter| byte == delimiter)
    }
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;

    /// The number of records that `csv-core`, behind the table's reader, finds in a text.
    fn read(text: &[u8]) -> usize {
        use bytes::Bytes;
        use hush_plan::schema::file::from_toml;
        use hush_table::source::{OpenOptions, Source};
        let schema = from_toml(
            "format = 1\ntable = \"t\"\n[columns.a]\ntype = \"text\"\nnullable = true\nprotect = \"clear\"\n[columns.b]\ntype = \"text\"\nnullable = true\nprotect = \"clear\"\n",
        )
        .unwrap();
        let options = OpenOptions { delimiter: Some(b','), ..OpenOptions::default() };
        let whole = [b"a,b\n".as_slice(), text].concat();
        let source = Source::from_bytes(Bytes::from(whole), &options).unwrap();
        source.typed(&schema).unwrap().map(|batch| batch.unwrap().rows).sum()
    }

    /// A text that is cut at the ends of records gives the rows of the whole: one for each piece that is no empty line.
    #[test]
    fn records_end_where_the_reader_ends_them() {
        let mut draw = Draw::new();
        let (mut checked, cells) =
            (0, ["x", "5\" pipe", "\"a\"\"b\"", "\"q,\r\n\"", "\"closed\"tail", "", " \"", "a\"b\"c"]);
        for _ in 0..300 {
            let mut text = Vec::new();
            let count = 1 + draw.below(6);
            for _ in 0..count {
                let [left, right] = [(); 2].map(|()| cells[draw.below(cells.len())]);
                text.extend(format!("{left},{right}").into_bytes());
                text.extend(["\n", "\r\n", "\r"][draw.below(3)].as_bytes());
            }
            let mut scan = RecordEnds::new(Some(b','));
            let mut ends = Vec::new();
            let cut = draw.below(text.len() + 1);
            let seen = scan.find(&text[..cut], 0, usize::MAX, &mut ends);
            scan.find(&text, seen, usize::MAX, &mut ends);
            if scan.is_behind_return() {
                ends.push(text.len());
            }
            assert_eq!(ends.len(), count, "{}", String::from_utf8_lossy(&text));
            assert_eq!(ends.last(), Some(&text.len()));
            let mut first = 0;
            for end in ends {
                assert_eq!(read(&text[first..end]), 1, "{}", String::from_utf8_lossy(&text[first..end]));
                first = end;
            }
            assert_eq!(read(&text), count);
            checked += count;
        }
        assert!(checked > 500);
    }

    #[test]
    fn as_many_are_found_as_are_wanted_and_the_rest_later() {
        let text = b"a;b\r\rc\nd";
        let mut scan = RecordEnds::new(None);
        let mut ends = Vec::new();
        let seen = scan.find(text, 0, 1, &mut ends);
        assert_eq!((seen, ends.as_slice()), (4, &[4][..]));
        let mut scan = RecordEnds::new(Some(b';'));
        scan.find(text, seen, usize::MAX, &mut ends);
        assert_eq!(ends, [4, 5, 7]);
    }
}
