// SPDX-License-Identifier: Apache-2.0
//! For any cut of the input into pieces, the rows are those of the whole, and each position is the end of their lines.

use hush_plan::schema::file::from_toml;
use hush_table::source::ColumnData;
use hush_testkit::Draw;

use super::*;

fn schema() -> Schema {
    let columns = "[columns.n]\ntype = \"int(64)\"\nnullable = true\nprotect = \"clear\"\n[columns.t]\ntype = \"text\"\nnullable = true\nprotect = \"clear\"\n";
    from_toml(&format!("format = 1\ntable = \"t\"\nnull_tokens = [\"\", \"NA\"]\n{columns}")).unwrap()
}

/// All rows of some pieces of input, as pairs of texts, and the positions after each take.
fn rows(form: LineForm, pieces: &[&[u8]], start: u64, header: Option<&str>) -> (Vec<String>, Vec<u64>) {
    let header = header.map(|header| header.as_bytes().to_vec());
    let start = Start { position: start, header, ..Start::default() };
    let mut feed = Feed::new(form, &schema(), start);
    let (mut found, mut positions) = (Vec::new(), Vec::new());
    for piece in pieces {
        feed.push(piece).unwrap();
    }
    feed.end().unwrap();
    while feed.records() > 0 {
        let count = *feed.counts().last().unwrap();
        let batch = feed.rows(count).unwrap();
        feed.pass(count);
        let Some(batch) = batch else { continue };
        positions.push(feed.place().0);
        let column = |place: usize| match &batch.columns[place] {
            Some(ColumnData::Array(array)) => array.clone(),
            _ => panic!("a clear column"),
        };
        let text = |array: &arrow::array::ArrayRef, row| {
            arrow::util::display::array_value_to_string(array, row).unwrap()
        };
        let (numbers, texts) = (column(0), column(1));
        found.extend((0..batch.rows).map(|row| format!("{}|{}", text(&numbers, row), text(&texts, row))));
    }
    (found, positions)
}

/// A CSV with quotes, line ends in quotes, empty lines, and without an end of line at its end.
fn sample(draw: &mut Draw, count: usize) -> (String, Vec<String>) {
    let (mut text, mut expected) = ("n,t\r\n".to_owned(), Vec::new());
    for row in 0..count {
        let (cell, value) = match draw.below(4) {
            0 => (format!("\"a \"\"{row}\"\"\n,b\""), format!("a \"{row}\"\n,b")),
            1 => ("NA".to_owned(), String::new()),
            _ => (format!("x{row}"), format!("x{row}")),
        };
        text.push_str(&format!("{row},{cell}{}", if draw.below(2) == 0 { "\n" } else { "\r\n" }));
        expected.push(format!("{row}|{value}"));
    }
    (text.trim_end().to_owned(), expected)
}

#[test]
fn rows_do_not_depend_on_how_input_is_cut() {
    let mut draw = Draw::new();
    for count in [1, 7, 8192, 8193, 20_000] {
        let (text, expected) = sample(&mut draw, count);
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + draw.below(40_000)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let (found, positions) = rows(LineForm::Csv, &pieces, 0, None);
        assert_eq!(found, expected);
        // The last line got the end that it lacked.
        assert_eq!(*positions.last().unwrap(), text.len() as u64 + 1);
        // Reading on from any position gives the rest.
        for (place, position) in positions.iter().enumerate().take(positions.len() - 1) {
            let left = &text.as_bytes()[*position as usize..];
            let (found, _) = rows(LineForm::Csv, &[left], *position, Some("n,t\r\n"));
            assert_eq!(found, expected[(place + 1) * 8192..]);
        }
    }
}

#[test]
fn messages_are_objects_or_lists_of_them() {
    let text = "{\"n\":1,\"t\":\"a, \\\"b\\\"\"}\n\n[{\"t\":null,\"n\":-9007199254740993},{\"n\":3}]\n[]\n{\"t\":\"z\"}";
    let (found, positions) = rows(LineForm::Json, &[text.as_bytes()], 0, None);
    assert_eq!(found, ["1|a, \"b\"", "-9007199254740993|", "3|", "|z"]);
    assert_eq!(positions, [text.len() as u64 + 1]);
    let by_byte: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(rows(LineForm::Json, &by_byte, 0, None).0, found);
}

#[test]
fn messages_that_are_none_are_refused_without_their_values() {
    let schema = schema();
    for bad in
        ["{\"n\":[777]}", "{\"n\":{\"a\":777}}", "{\"other\":777}", "777", "[777]", "{\"n\":777", "\u{7f}"]
    {
        let mut feed = Feed::new(LineForm::Json, &schema, Start::default());
        let error = feed.push(format!("{bad}\n").as_bytes()).unwrap_err();
        assert_eq!(error.code(), "HUSH-G002", "{bad}");
        assert!(!error.to_string().contains("777"), "{error}");
    }
}

/// A message is in one delivery, so one that was not delivered is read again whole.
#[test]
fn messages_are_not_divided() {
    let rows_of = |count: usize| vec!["{\"n\":1}"; count].join(",");
    let first = format!("[{}]\n", rows_of(8000));
    let text = format!("{first}[{}]\n", rows_of(200));
    let (found, positions) = rows(LineForm::Json, &[text.as_bytes()], 0, None);
    assert_eq!(found.len(), 8200);
    assert_eq!(positions, [first.len() as u64, text.len() as u64]);
    let schema = schema();
    let mut feed = Feed::new(LineForm::Json, &schema, Start::default());
    let refused = feed.push(format!("[{}]\n", rows_of(8193)).as_bytes());
    assert_eq!(refused.unwrap_err().code(), "HUSH-G002");
}

#[test]
fn records_without_an_end_are_refused() {
    let schema = schema();
    for form in [LineForm::Csv, LineForm::Json] {
        let mut feed = Feed::new(form, &schema, Start::default());
        let piece = vec![b'x'; 1 << 19];
        let pushed = (0..4).map(|_| feed.push(&piece)).collect::<Result<Vec<_>, _>>();
        assert_eq!(pushed.unwrap_err().code(), "HUSH-G004");
    }
}

/// The trace of a place is the same, whether its bytes were passed or are read from the file.
#[test]
fn places_have_the_traces_of_the_file() {
    use std::io::Write;
    let mut draw = Draw::new();
    let (text, _) = sample(&mut draw, 20_000);
    let messages: String = (0..9000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    for (form, text) in [(LineForm::Csv, text), (LineForm::Json, messages)] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut feed = Feed::new(form, &schema(), Start::default());
        text.as_bytes().chunks(30_011).for_each(|piece| feed.push(piece).unwrap());
        feed.end().unwrap();
        while feed.records() > 0 {
            feed.pass(*feed.counts().last().unwrap());
            let (position, trace) = feed.place();
            assert_eq!(Window::of_file(&file, position).unwrap().unwrap().trace(), trace, "{position}");
        }
    }
}

#[test]
fn quotes_inside_fields_are_text_and_open_ones_are_refused() {
    let text = "n,t\n".to_owned() + &"1,5\" pipe\n".repeat(9000) + "2,x";
    let (found, _) = rows(LineForm::Csv, &[text.as_bytes()], 0, None);
    assert_eq!((found.len(), found[0].as_str(), found[9000].as_str()), (9001, "1|5\" pipe", "2|x"));
    let mut feed = Feed::new(LineForm::Csv, &schema(), Start::default());
    feed.push(b"n,t\n1,a\n2,\"b\n3,c\n").unwrap();
    feed.end().unwrap();
    assert_eq!(feed.rows(1).unwrap().unwrap().rows, 1);
    assert_eq!(feed.rows(2).unwrap_err().code(), "HUSH-D016");
}

#[test]
fn lines_may_end_in_cr_and_fields_in_semicolons() {
    let (found, positions) = rows(LineForm::Csv, &[b"n;t\r1;a,b\r", b"2;\"c\rd\"\r\r", b"\r3;e"], 0, None);
    assert_eq!(found, ["1|a,b", "2|c\rd", "3|e"]);
    assert_eq!(positions, [24]);
}

#[test]
fn empty_lines_alone_are_no_rows() {
    let (found, positions) = rows(LineForm::Csv, &[b"n,t\n\n\r\n"], 0, None);
    assert_eq!((found.len(), positions.len()), (0, 0));
}
