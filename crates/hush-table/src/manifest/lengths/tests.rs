// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use arrow::array::{Int64Array, LargeStringArray, StringArray, StringViewArray};
use hush_testkit::Draw;

use super::*;
use crate::error::TableError;
use crate::fixture::{manifest, sign};
use crate::manifest::{ClearColumn, SignedManifest};
use crate::{DeliveryId, DeviceId, StreamId};

fn length(column: u32, rows: u64, bytes: u64) -> ColumnLength {
    ColumnLength { column, rows, bytes }
}

/// The table of the fixture, `ward` in 10 rows, its sealed column in 20.
fn counted() -> Manifest {
    let lengths = Lengths { clear: vec![length(0, 10, 45)], sealed: vec![length(0, 20, 6000)] };
    Manifest { lengths, ..manifest() }
}

#[test]
fn lengths_stand_behind_the_changes() {
    let text = String::from_utf8(counted().to_json().unwrap()).unwrap();
    let member = "\"lengths\":{\"clear\":[{\"column\":0,\"rows\":10,\"bytes\":45}],\"sealed\":[{\"column\":0,\"rows\":20,\"bytes\":6000}]},\"sealed_schema\"";
    assert!(text.contains(member), "{text}");
    let signed = sign(counted());
    let read = SignedManifest::decode(signed.as_bytes()).unwrap();
    assert_eq!(read.manifest().lengths, counted().lengths);
    // One list alone, and none: a manifest of before has no such member.
    let sealed = Lengths { clear: Vec::new(), ..counted().lengths };
    let text = String::from_utf8(Manifest { lengths: sealed, ..manifest() }.to_json().unwrap()).unwrap();
    assert!(text.contains("\"lengths\":{\"sealed\":[{"), "{text}");
    assert!(!String::from_utf8(manifest().to_json().unwrap()).unwrap().contains("lengths"));
}

#[test]
fn every_rule_of_lengths_is_checked() {
    counted().check().unwrap();
    let found = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = counted();
        change(&mut manifest);
        manifest.check().err().map(|error| error.to_string())
    };
    let wrong = |column| Some(TableError::from(ManifestFault::Length { column }).to_string());
    let disorder = || Some(TableError::from(ManifestFault::LengthOrder).to_string());
    for of in [(|l| &mut l.clear) as fn(&mut Lengths) -> &mut Vec<ColumnLength>, |l| &mut l.sealed] {
        let with = |list: &[ColumnLength]| found(&|m| *of(&mut m.lengths) = list.to_vec());
        assert_eq!(with(&[length(0, 1, 0)]), None);
        assert_eq!(with(&[length(0, MAX_ROWS, MAX_BYTES)]), None);
        assert_eq!(with(&[length(0, 0, 0)]), wrong(0));
        assert_eq!(with(&[length(0, MAX_ROWS + 1, 1)]), wrong(0));
        assert_eq!(with(&[length(0, 1, MAX_BYTES + 1)]), wrong(0));
        assert_eq!(with(&[length(0, u64::MAX, u64::MAX)]), wrong(0));
        assert_eq!(with(&[length(1, 1, 1)]), wrong(1));
        assert_eq!(with(&[length(u32::MAX, 1, 1)]), wrong(u32::MAX));
        assert_eq!(with(&[length(0, 1, 1), length(0, 1, 1)]), disorder());
    }
    // A column of numbers has no texts.
    let number = ClearColumn { name: "ward".to_owned(), arrow_type: "Int64".to_owned() };
    assert_eq!(found(&|m| m.clear_columns[0] = number.clone()), wrong(0));
    let three = |m: &mut Manifest, numbers: [u32; 2]| {
        m.sealed_columns = 3;
        m.lengths.sealed = numbers.map(|number| length(number, 1, 1)).to_vec();
    };
    assert_eq!(found(&|m| three(m, [1, 2])), None);
    assert_eq!(found(&|m| three(m, [2, 1])), disorder());
    let gone = |m: &mut Manifest| {
        m.begin_generation();
        m.parts[0].generation = 1;
        (m.sealed_columns, m.unsealed) = (2, vec![0]);
    };
    assert_eq!(found(&gone), wrong(0));
    assert_eq!(found(&|m| (gone(m), m.forget_lengths()).0), None);
}

#[test]
fn texts_of_every_form_and_blobs_are_counted() {
    let texts = [Some("a"), None, Some("süd"), Some(""), Some("a text longer than a view holds")];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("numbers", Arc::new(Int64Array::from(vec![1; 5]))),
        ("short", Arc::new(StringArray::from(texts.to_vec()))),
        ("large", Arc::new(LargeStringArray::from(texts.to_vec()))),
        ("view", Arc::new(StringViewArray::from(texts.to_vec()))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = |texts: &[Option<&str>]| texts.iter().flatten().map(|text| text.len() as u64).sum::<u64>();
    let mut lengths = Lengths::default();
    let blobs = [Bytes::from(vec![0; 70]), Bytes::from(vec![0; 9])];
    lengths.count(Some(&batch), (&[2, 5], &blobs), 5);
    let all = bytes(&texts);
    assert_eq!(lengths.clear, [length(1, 5, all), length(2, 5, all), length(3, 5, all)]);
    assert_eq!(lengths.sealed, [length(2, 5, 70), length(5, 5, 9)]);
    // A piece of a batch has the bytes of its own rows.
    let mut piece = Lengths::default();
    piece.count(Some(&batch.slice(2, 2)), (&[], &[]), 2);
    assert_eq!(piece.clear, [1, 2, 3].map(|column| length(column, 2, bytes(&texts[2..4]))));
    lengths.add(&piece);
    assert_eq!(lengths.clear[2], length(3, 7, all + bytes(&texts[2..4])));
    assert_eq!((lengths.of_clear(0), lengths.of_sealed(5)), (None, Some(length(5, 5, 9))));
}

#[test]
fn what_is_more_than_a_table_may_have_is_counted_no_longer() {
    let full = Lengths { clear: vec![length(0, MAX_ROWS, 1)], sealed: vec![length(0, 1, MAX_BYTES)] };
    let mut lengths = full.clone();
    lengths.add(&Lengths { clear: Vec::new(), sealed: vec![length(1, 1, 1)] });
    assert_eq!(lengths.sealed, [length(0, 1, MAX_BYTES), length(1, 1, 1)]);
    lengths.add(&full);
    assert_eq!(lengths, Lengths { clear: Vec::new(), sealed: vec![length(1, 1, 1)] });
    let mut wrapped = Lengths { clear: vec![length(0, u64::MAX, u64::MAX)], sealed: Vec::new() };
    wrapped.add(&wrapped.clone());
    assert!(wrapped.is_empty());
}

#[test]
fn parts_written_anew_take_the_place_of_average_ones() {
    let mut manifest = manifest();
    manifest.lengths = Lengths { clear: vec![length(0, 524_293, 5_242_930)], sealed: Vec::new() };
    let new = |rows, bytes| Lengths { clear: vec![length(0, rows, bytes)], sealed: vec![length(0, rows, 1)] };
    manifest.replace_lengths(1..2, &new(4, 400));
    assert_eq!(manifest.lengths.clear, [length(0, 524_292, 5_242_880 + 400)]);
    assert_eq!(manifest.lengths.sealed, [length(0, 4, 1)]);
    // All parts: what was counted of others is gone.
    manifest.replace_lengths(0..2, &new(7, 21));
    assert_eq!(manifest.lengths, new(7, 21));
    // A part of a device's was not counted before.
    let (device, stream) = (DeviceId::from_bytes([5; 16]), StreamId::from_bytes([4; 16]));
    manifest.parts[1].delivery = Some(DeliveryId { device, stream, number: 0 });
    manifest.replace_lengths(1..2, &new(5, 15));
    assert_eq!(manifest.lengths.clear, [length(0, 12, 36)]);
    // What is no part replaces nothing.
    manifest.replace_lengths(5..9, &Lengths::default());
    assert_eq!(manifest.lengths.clear, [length(0, 12, 36)]);
}

#[test]
fn columns_take_their_lengths_along() {
    let mut draw = Draw::of(7);
    for _ in 0..100 {
        let count = 1 + draw.below(5);
        let mut manifest = manifest();
        manifest.lengths.clear = (0..count as u32).map(|column| length(column, 1, column.into())).collect();
        let before: Vec<Option<usize>> =
            (0..draw.below(6)).map(|_| Some(draw.below(8)).filter(|place| *place < 6)).collect();
        manifest.move_lengths(&before);
        for (place, origin) in before.iter().enumerate() {
            let expected = origin.filter(|origin| *origin < count).map(|origin| origin as u64);
            assert_eq!(manifest.lengths.of_clear(place).map(|length| length.bytes), expected, "{before:?}");
        }
    }
}
