// SPDX-License-Identifier: Apache-2.0
//! The scan and the reader of plain records against the parser, on short texts of the bytes that matter.

use super::super::records::Records;
use super::super::tests::Random;
use super::*;

const DELIMITER: u8 = b',';

/// Line and fields of each record that a reader gives; `None` where it refuses the text.
fn read_all(records: &mut impl NextRecord) -> Option<Vec<(u64, Vec<Vec<u8>>)>> {
    let mut all = Vec::new();
    while let Some(record) = records.next_record().ok()? {
        all.push((record.line(), (0..record.len()).map(|i| record.field(i).to_vec()).collect()));
    }
    Some(all)
}

/// The parser over a whole text that begins on line 1, as a file would be read behind its header.
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
        let (bytes, records, is_plain) = (text[start..end].to_vec(), scan.records(), scan.is_plain());
        out.push(Lines { bytes, records, line, after_return, is_plain });
        line += text[start..end].iter().filter(|byte| **byte == b'\n').count() as u64;
        (start, after_return) = (end, scan.after_return());
    }
    out
}

/// Every way of cutting a text gives the records of the whole: their number in each piece, their fields and their lines.
#[test]
fn pieces_have_the_records_of_the_whole() {
    let alphabet: &[&[u8]] =
        &[b"a", b"1", b",", b",", b"\"", b"\"", b"\n", b"\n", b"\r", b"\r\n", b" ", b";", b"\xef\xbb\xbf"];
    let (mut plain, mut quoted) = (0, 0);
    for seed in 1..=20_000 {
        let mut random = Random(seed);
        // Half of them without quotes.
        let letters: Vec<&[u8]> =
            alphabet.iter().copied().filter(|letter| seed % 2 == 0 || *letter != b"\"").collect();
        let length = random.below(40);
        let text: Vec<u8> =
            (0..length).flat_map(|_| letters[random.below(letters.len() as u64) as usize].to_vec()).collect();
        for blank_rows in [false, true] {
            let Some(expected) = read_all(&mut parser(&text, blank_rows)) else { continue };
            let (wanted, piece) = (1 + random.below(4) as usize, 1 + random.below(9) as usize);
            let mut found = Vec::new();
            for lines in cut(&text, blank_rows, wanted, piece) {
                let expected = lines.records;
                assert!(expected <= wanted);
                let records = if lines.is_plain {
                    plain += 1;
                    read_all(&mut PlainRecords::new(&lines, DELIMITER, blank_rows)).unwrap()
                } else {
                    quoted += 1;
                    read_all(&mut Records::of_lines(lines, DELIMITER, blank_rows)).unwrap()
                };
                assert_eq!(records.len(), expected, "seed {seed}: {:?}", String::from_utf8_lossy(&text));
                found.extend(records);
            }
            assert_eq!(found, expected, "seed {seed}: {:?}", String::from_utf8_lossy(&text));
        }
    }
    assert!(plain > 20_000 && quoted > 10_000, "{plain} pieces were plain, {quoted} were not");
}

#[test]
fn records_that_could_pass_a_limit_are_not_plain() {
    let is_plain = |text: &[u8]| {
        let mut scan = RecordScan::new(DELIMITER, false, false);
        assert_eq!(scan.advance(text, usize::MAX), None);
        scan.is_plain()
    };
    let line = |length: usize| [&vec![b'a'; length][..], b"\n"].concat();
    assert!(is_plain(&line(FIRST_RECORD_BYTES - 2)));
    assert!(is_plain(&[line(FIRST_RECORD_BYTES / 2), line(FIRST_RECORD_BYTES / 2)].concat()));
    assert!(!is_plain(&[line(3), line(FIRST_RECORD_BYTES), line(3)].concat()));
    assert!(!is_plain(&vec![b'a'; FIRST_RECORD_BYTES]), "without a line end");
    let bytes = vec![DELIMITER; COLUMN_LIMIT];
    let lines = Lines { bytes, records: 1, line: 1, after_return: false, is_plain: true };
    let refused = PlainRecords::new(&lines, DELIMITER, false).next_record().err().unwrap();
    assert!(matches!(refused, SourceError::TooManyColumns { limit: COLUMN_LIMIT }), "{refused}");
}
