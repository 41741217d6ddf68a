// SPDX-License-Identifier: Apache-2.0
//! Parts of appends and batches, against every rule that they can break.

use super::*;
use crate::error::TableError;
use crate::fixture::{manifest, sign};
use crate::{DeliveryId, DeviceId, SignedManifest, StreamId};

fn append(first: u32) -> Option<Appended> {
    Some(Appended { id: AppendId::from_bytes([1; 16]), first })
}

fn batch(tag: u8, version: u64) -> Batch {
    let tag = BatchTag::from_bytes([tag; 16]);
    Batch { tag, rows: 5, content: Digest::of(b"rows"), version }
}

fn fault(change: impl Fn(&mut Manifest)) -> Option<ManifestFault> {
    let mut changed = manifest();
    change(&mut changed);
    match changed.check() {
        Ok(()) => None,
        Err(TableError::BadManifest { fault }) => Some(fault),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn appended_parts_and_batches_survive_a_manifest() {
    let mut table = manifest();
    table.parts[1].append = append(0);
    table.batches = vec![batch(7, 2), batch(8, 3)];
    let signed = sign(table.clone());
    let text = String::from_utf8_lossy(signed.as_bytes()).into_owned();
    let (id, tag) = ("01".repeat(16), "07".repeat(16));
    assert!(text.contains(&format!(r#","append":{{"id":"{id}","first":0}}}}]"#)), "{text}");
    assert!(text.contains(&format!(r#""batches":[{{"tag":"{tag}","rows":5,"content":""#)), "{text}");
    let read = SignedManifest::decode(signed.as_bytes()).unwrap();
    assert_eq!(*read.manifest(), table);
    assert_eq!(read.manifest().batch(BatchTag::from_bytes([8; 16])), Some(&batch(8, 3)));
    assert_eq!(read.manifest().batch(BatchTag::from_bytes([9; 16])), None);
}

/// Numbers of chunks in files: by place, or through the append.
#[test]
fn chunks_are_numbered_through_their_append() {
    let mut table = manifest();
    table.parts.push(table.parts[1].clone());
    table.parts[1].append = append(0);
    table.parts[2].append = append(1);
    assert_eq!([0, 63, 64, 65, 66].map(|chunk| table.written_index(chunk)), [0, 63, 0, 1, 66]);
}

#[test]
fn no_chunk_of_an_append_is_there_twice() {
    let two = |first: u32, second: u32| {
        fault(move |table| {
            table.parts[0].append = append(first);
            table.parts[1].append = append(second);
        })
    };
    // The first part has 64 chunks, the second one.
    assert_eq!((two(0, 64), two(1, 0), two(0, u32::MAX - 1)), (None, None, None));
    for (first, second, index) in [(0, 0, 1), (0, 63, 1), (5, 5, 1), (0, 1, 1)] {
        assert_eq!(two(first, second), Some(ManifestFault::Appended { index }), "{first} {second}");
    }
    assert_eq!(two(u32::MAX - 63, 0), Some(ManifestFault::Appended { index: 0 }));
    assert_eq!(two(0, u32::MAX), Some(ManifestFault::Appended { index: 1 }));
    let device = DeviceId::from_bytes([5; 16]);
    let delivery = DeliveryId { device, stream: StreamId::from_bytes([4; 16]), number: 0 };
    let both = fault(|table| {
        table.parts[1].append = append(0);
        table.parts[1].delivery = Some(delivery);
    });
    assert_eq!(both, Some(ManifestFault::Appended { index: 1 }));
}

#[test]
fn batches_are_different_and_of_versions_that_were() {
    // The table's version is 3.
    let with = |batches: Vec<Batch>| fault(move |table| table.batches.clone_from(&batches));
    assert_eq!(with(vec![batch(1, 1), batch(2, 1), batch(3, 3)]), None);
    assert_eq!(with(vec![batch(1, 1), batch(1, 2)]), Some(ManifestFault::Batch { index: 1 }));
    assert_eq!(with(vec![batch(1, 0)]), Some(ManifestFault::Batch { index: 0 }));
    assert_eq!(with(vec![batch(1, 4)]), Some(ManifestFault::Batch { index: 0 }));
    assert_eq!(with(vec![Batch { rows: 0, ..batch(1, 1) }]), Some(ManifestFault::Batch { index: 0 }));
    let many = (0..=MAX_BATCHES as u64).map(|at| {
        let mut tag = [0; 16];
        tag[..8].copy_from_slice(&at.to_le_bytes());
        Batch { tag: BatchTag::from_bytes(tag), ..batch(0, 1) }
    });
    let (found, limit) = (MAX_BATCHES as u64 + 1, MAX_BATCHES as u64);
    let too_many = ManifestFault::TooMany { what: Counted::Batches, found, limit };
    assert_eq!(with(many.collect()), Some(too_many));
}
