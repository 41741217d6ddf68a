// SPDX-License-Identifier: Apache-2.0
//! The deliveries that are taken, and the records that are kept of the others. Other tests judge single deliveries.

use std::cell::RefCell;
use std::path::Path;

use ed25519_dalek::{Signer, SigningKey};
use hush_table::Delivery;
use hush_table::delivery::{DELIVERY_FORMAT, certified_bytes};

use super::*;

fn table() -> Manifest {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
    hush_table::TableStore::local_existing(golden).unwrap().load().unwrap().manifest().clone()
}

fn encodings() -> Digest {
    Digest::of(b"encodings")
}

fn signer(device: u8) -> (SigningKey, DeviceId) {
    let key = SigningKey::from_bytes(&[device; 32]);
    let id = DeviceId::of_key(&key.verifying_key().to_bytes());
    (key, id)
}

fn delivery(
    table: &Manifest,
    [device, stream]: [u8; 2],
    number: u64,
    change: impl Fn(&mut Delivery),
) -> SignedDelivery {
    let (signer, device) = signer(device);
    let file = |kind: &str| {
        let name = format!("{device} {stream} {number} {kind}");
        Some(PartFile { digest: Digest::of(name.as_bytes()), bytes: 9 })
    };
    let mut delivery = Delivery {
        format: DELIVERY_FORMAT,
        table_id: table.table_id,
        encodings: encodings(),
        id: DeliveryId { device, stream: StreamId::from_bytes([stream; 16]), number },
        rows: 10,
        chunks: 1,
        clear: file("clear").filter(|_| !table.clear_columns.is_empty()),
        encrypted: file("encrypted").filter(|_| table.has_encrypted_files()),
    };
    change(&mut delivery);
    let key = signer.verifying_key().to_bytes();
    let certificate = signer.sign(&certified_bytes(table.table_id, delivery.encodings, &key)).to_bytes();
    SignedDelivery::sign(delivery, &key, &certificate, |bytes| signer.sign(bytes).to_bytes()).unwrap()
}

fn good(table: &Manifest, stream: u8, number: u64) -> SignedDelivery {
    delivery(table, [stream, stream], number, |_| {})
}

/// Taken, waiting behind another, outdated, rejected, held.
fn counts(accepted: &Accepted) -> [u64; 5] {
    let rejected = accepted.rejected.len() as u64;
    [accepted.deliveries, accepted.out_of_order, accepted.outdated, rejected, accepted.held]
}

/// Everything has the table's form, except for `faults`.
fn taken(
    manifest: &mut Manifest,
    waiting: &[SignedDelivery],
    faults: &dyn Fn(&SignedDelivery) -> Option<Fault>,
) -> Accepted {
    let mut choice = Choice::new(manifest.clone(), encodings());
    let form = manifest.clone();
    let examine = |signed: &SignedDelivery| match faults(signed) {
        Some(fault) => Err(fault),
        None if form.suits(&signed.delivery().part_entry(&form)) => Ok(()),
        None => Err(Fault::Form),
    };
    choice.take(waiting, &examine).unwrap();
    choice.manifest.check().unwrap();
    *manifest = choice.manifest;
    choice.accepted
}

#[test]
fn deliveries_are_taken_in_order_and_what_cannot_be_taken_keeps_no_other_out() {
    let mut manifest = table();
    let (rows, parts) = (manifest.rows, manifest.parts.len());
    let stolen = manifest.parts[0].encrypted;
    let waiting = [
        // The list is in no order.
        good(&manifest, 1, 1),
        good(&manifest, 1, 0),
        good(&manifest, 2, 1),
        delivery(&manifest, [3, 3], 0, |delivery| delivery.encodings = Digest::of(b"earlier")),
        delivery(&manifest, [4, 4], 0, |delivery| delivery.rows = 9000),
        delivery(&manifest, [5, 5], 0, |delivery| delivery.encrypted = stolen),
        delivery(&manifest, [6, 6], 0, |delivery| delivery.clear = None),
        // Another device under the stream of the first.
        delivery(&manifest, [7, 1], 0, |_| {}),
    ];
    let accepted = taken(&mut manifest, &waiting, &|_| None);
    assert_eq!(counts(&accepted), [3, 1, 1, 3, 0]);
    assert_eq!((manifest.rows, manifest.parts.len()), (rows + 30, parts + 3));
    // A fault of form is no secret, and does not count against a device.
    assert!(manifest.devices.is_empty());
    // The deliveries in the table come again, and one that was missing.
    let waiting =
        [good(&manifest, 1, 0), good(&manifest, 1, 1), good(&manifest, 2, 1), good(&manifest, 2, 0)];
    assert_eq!(counts(&taken(&mut manifest, &waiting, &|_| None)), [2, 0, 0, 0, 0]);
}

#[test]
fn a_rejected_delivery_stands_until_it_is_discarded() {
    let mut manifest = table();
    let waiting: Vec<_> =
        (0..3).map(|number| good(&manifest, 1, number)).chain([good(&manifest, 2, 0)]).collect();
    let bad = waiting[0].delivery().id;
    let looked_at = RefCell::new(Vec::new());
    let faults = |signed: &SignedDelivery| {
        looked_at.borrow_mut().push(signed.delivery().id);
        (signed.delivery().id == bad).then(|| Fault::Values("x".into()))
    };
    assert_eq!(counts(&taken(&mut manifest, &waiting, &faults)), [1, 2, 0, 1, 0]);
    // The next run does not decrypt it again.
    looked_at.borrow_mut().clear();
    let again = taken(&mut manifest, &waiting, &faults);
    assert_eq!(counts(&again), [0, 2, 0, 1, 0]);
    assert!(looked_at.borrow().is_empty());
    assert_eq!(again.rejected[0].delivery, bad.to_string());

    let mut choice = Choice::new(manifest.clone(), encodings());
    let unknown = good(&manifest, 9, 0).delivery().id.to_string();
    let settled = good(&manifest, 2, 0).delivery().id.to_string();
    for text in [unknown, settled, String::new(), "no delivery".to_owned()] {
        let waiting = [&waiting[..], &[good(&manifest, 2, 0)]].concat();
        assert_eq!(choice.discard(&[text], &waiting).unwrap_err().code(), "HUSH-U001");
    }
    choice.discard(&[bad.to_string()], &waiting).unwrap();
    assert_eq!(choice.accepted.discarded, 1);
    manifest = choice.manifest;
    manifest.check().unwrap();
    let accepted = taken(&mut manifest, &waiting, &faults);
    assert_eq!(counts(&accepted), [2, 0, 0, 0, 0]);
    assert!(!manifest.parts.iter().any(|part| part.delivery == Some(bad)));
}

#[test]
fn nobody_decrypts_more_of_a_device_after_its_last_chance() {
    let mut manifest = table();
    let of = |stream: u8| delivery(&table(), [1, stream], 0, |_| {});
    let waiting: Vec<_> = (1..=6).map(of).chain([good(&manifest, 7, 0)]).collect();
    let looked_at = RefCell::new(0);
    let (_, hostile) = signer(1);
    let faults = |signed: &SignedDelivery| {
        *looked_at.borrow_mut() += 1;
        (signed.delivery().id.device == hostile).then(|| Fault::Contradiction("x".into()))
    };
    let accepted = taken(&mut manifest, &waiting, &faults);
    assert_eq!(counts(&accepted), [1, 0, 0, MAX_REJECTIONS as u64, 3]);
    assert_eq!(accepted.held_devices, [hostile.to_string()]);
    assert_eq!(manifest.devices.rejections_of(hostile), MAX_REJECTIONS);
    assert_eq!(*looked_at.borrow(), MAX_REJECTIONS + 1);
    // Hidden or exchanged by the server, they count all the same.
    let others: Vec<_> = (11..=16).map(of).collect();
    assert_eq!(counts(&taken(&mut manifest, &others, &faults)), [0, 0, 0, 0, 6]);
    assert_eq!(*looked_at.borrow(), MAX_REJECTIONS + 1);
    // Revoked, it is not even listed.
    manifest.devices.revoke(hostile);
    assert_eq!(counts(&taken(&mut manifest, &waiting, &faults)), [0, 0, 0, 0, 0]);
}
