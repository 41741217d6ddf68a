// SPDX-License-Identifier: Apache-2.0
//! The scan, and the grid of what it cuts, against the parser.

use super::super::grid::Grid;
use super::super::lines::Lines;
use super::super::records::Records;
use super::super::tests::Random;
use super::*;

const DELIMITER: u8 = b',';

/// Line and fields of a record.
type Row = (u64, Vec<Vec<u8>>);

/// All that a parser gives; `None` where it refuses the text.
fn read_all(mut records: Records) -> Option<Vec<Row>> {
    let mut all = Vec::new();
    while let Some(record) = records.next().ok()? {
        all.push((record.line(), (0..record.len()).map(|i| record.field(i).to_vec()).collect()));
    }
    Some(all)
}

/// The parser over a whole text that begins on line 2, as a file would be read behind its header.
fn parser(text: &[u8], blank_rows: bool) -> Records {
    let text = [&b"x\n"[..], text].concat();
    let mut records = Records::new(Box::new(std::io::Cursor::new(text)), DELIMITER);
    assert!(records.next().unwrap().is_some());
    if blank_rows {
        records.keep_blank_lines();
    }
    records
}

/// What the scan cuts a text into, which it sees in pieces of `piece` bytes: `wanted` records each.
fn cut(text: &[u8], blank_rows: bool, wanted: usize, piece: usize) -> Vec<Lines> {
    let (mut out, mut after_return, mut start, mut line) = (Vec::new(), false, 0, 2);
    while start < text.len() {
        let mut scan = RecordScan::new(DELIMITER, blank_rows, after_return);
        let mut at = start;
        let end = loop {
            let bytes = &text[at..text.len().min(at + piece)];
            if bytes.is_empty() {
                break text.len();
            }
            match scan.advance(bytes, wanted) {
                Some(length) => break at + length,
                None => at += bytes.len(),
            }
        };
        let bytes = text[start..end].to_vec();
        let line_feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!((scan.line_feeds(), scan.has_quotes()), (line_feeds, bytes.contains(&b'"')));
        let (records, has_quotes, is_short) = (scan.records(), scan.has_quotes(), scan.is_short());
        out.push(Lines { bytes, records, line, after_return, has_quotes, is_short });
        line += line_feeds as u64;
        (start, after_return) = (end, scan.after_return());
    }
    out
}

fn grid_rows(lines: &Lines, columns: usize, blank_rows: bool) -> Option<Vec<Row>> {
    let mut marks = Vec::new();
    let grid = Grid::of(lines, DELIMITER, columns, blank_rows, &mut marks)?;
    let mut rows: Vec<Row> = (0..grid.rows()).map(|row| (grid.line(row), Vec::new())).collect();
    for column in 0..columns {
        let fields: Vec<_> = grid.fields(column).collect();
        assert_eq!(fields.len(), rows.len());
        for ((_, row), field) in rows.iter_mut().zip(fields) {
            let content = grid.field(field).into_owned();
            if let Some(text) = grid.text(field) {
                assert_eq!(text.as_bytes(), content);
            }
            row.push(content);
        }
    }
    Some(rows)
}

/// Checks every piece that a text is cut into, and their number; how many of them were grids.
fn check(text: &[u8], blank_rows: bool, wanted: usize, piece: usize) -> Option<(usize, usize)> {
    let expected = read_all(parser(text, blank_rows))?;
    let (mut found, mut pieces, mut grids) = (Vec::new(), 0, 0);
    for lines in cut(text, blank_rows, wanted, piece) {
        let what = || String::from_utf8_lossy(&lines.bytes).into_owned();
        let (count, line, after_return) = (lines.records, lines.line, lines.after_return);
        assert!(count <= wanted);
        let copy = Lines { bytes: lines.bytes.clone(), ..lines };
        let records = read_all(Records::of_lines(copy, DELIMITER, blank_rows)).unwrap();
        assert_eq!(records.len(), count, "{}", what());
        let columns = records.first().map_or(1, |(_, fields)| fields.len());
        let is_even = records.iter().all(|(_, fields)| fields.len() == columns);
        let grid = grid_rows(&lines, columns, blank_rows);
        if let Some(rows) = &grid {
            assert_eq!(*rows, records, "{}", what());
        }
        // Line after line, with line feeds alone and without quotes, is a grid.
        let in_lines = records.iter().map(|(line, _)| *line).eq((line..).take(count));
        let is_simple = is_even && in_lines && !after_return && (columns > 1 || blank_rows);
        if is_simple && !lines.bytes.contains(&b'\r') && !lines.has_quotes && !lines.bytes.ends_with(b"\n\n")
        {
            assert!(grid.is_some(), "{}", what());
        }
        assert!(grid_rows(&lines, columns + 1, blank_rows).is_none(), "{}", what());
        pieces += 1;
        grids += usize::from(grid.is_some());
        found.extend(records);
    }
    assert_eq!(found, expected);
    Some((pieces, grids))
}

/// Every way of cutting a text gives the records of the whole: their number in each piece, their fields and their lines.
#[test]
fn pieces_have_the_records_of_the_whole() {
    let alphabet: &[&[u8]] =
        &[b"a", b"1", b",", b",", b"\"", b"\"", b"\n", b"\n", b"\r", b"\r\n", b" ", b";", b"\xef\xbb\xbf"];
    let (mut pieces, mut grids) = (0, 0);
    for seed in 1..=20_000 {
        let mut random = Random(seed);
        // Half of them without quotes.
        let letters: Vec<&[u8]> =
            alphabet.iter().copied().filter(|letter| seed % 2 == 0 || *letter != b"\"").collect();
        let length = random.below(40);
        let text: Vec<u8> =
            (0..length).flat_map(|_| letters[random.below(letters.len() as u64) as usize].to_vec()).collect();
        for blank_rows in [false, true] {
            let (wanted, piece) = (1 + random.below(4) as usize, 1 + random.below(9) as usize);
            let counts = check(&text, blank_rows, wanted, piece).unwrap_or_default();
            (pieces, grids) = (pieces + counts.0, grids + counts.1);
        }
    }
    assert!(grids > 20_000 && pieces > grids + 10_000, "{grids} of {pieces} pieces were grids");
}

/// Long texts, which are looked at block by block, with something odd here and there.
#[test]
fn blocks_have_the_records_of_the_whole() {
    let odd: &[&[u8]] =
        &[b"\"a\nb\"", b"\"\"", b"a\"b", b"\n", b"\r", b"\r\n", b"\r\r\n", b",", b"\"x,\"\"y\"", b"\n\n"];
    let (mut pieces, mut grids) = (0, 0);
    for seed in 1..=600 {
        let mut random = Random(seed * 0x5851_f42d);
        let end: &[u8] = [&b"\n"[..], b"\r\n", b"\r"][random.below(3) as usize];
        let (columns, odd_every) = (1 + random.below(6), 20 + random.below(8000));
        let mut text = Vec::new();
        for _ in 0..random.below(3000) {
            for column in 0..columns {
                text.extend((column > 0).then_some(b','));
                match random.below(odd_every) {
                    0 => text.extend(odd[random.below(odd.len() as u64) as usize]),
                    _ => text.extend(random.below(1 << (4 * column)).to_string().bytes()),
                }
            }
            text.extend(end);
        }
        if random.below(3) == 0 {
            text.pop();
        }
        let blank_rows = columns == 1;
        let wanted = 1 + random.below(2000) as usize;
        let piece = [1 + random.below(9), 4000 + random.below(5000), 1 << 20][random.below(3) as usize];
        let counts = check(&text, blank_rows, wanted, piece as usize).unwrap_or_default();
        (pieces, grids) = (pieces + counts.0, grids + counts.1);
    }
    assert!(grids > 500 && pieces > grids + 500, "{grids} of {pieces} pieces were grids");
}

#[test]
fn records_that_could_pass_a_limit_are_not_short() {
    let is_short = |text: &[u8]| {
        let mut scan = RecordScan::new(DELIMITER, false, false);
        assert_eq!(scan.advance(text, usize::MAX), None);
        scan.is_short()
    };
    let line = |length: usize| [&vec![b'a'; length][..], b"\n"].concat();
    assert!(is_short(&line(FIRST_RECORD_BYTES - 2)));
    assert!(is_short(&[line(FIRST_RECORD_BYTES / 2), line(FIRST_RECORD_BYTES / 2)].concat()));
    assert!(!is_short(&[line(3), line(FIRST_RECORD_BYTES), line(3)].concat()));
    assert!(!is_short(&vec![b'a'; FIRST_RECORD_BYTES]), "without a line end");
}
