// SPDX-License-Identifier: Apache-2.0
//! Lists of a server that keeps to the rules, and of some that do not.

use std::path::Path;

use ed25519_dalek::{Signer, SigningKey};
use hush_table::delivery::{DELIVERY_FORMAT, certified_bytes};
use hush_table::{Delivery, Digest, PartFile, StreamId};

use super::*;

fn owner() -> SigningKey {
    SigningKey::from_bytes(&[9; 32])
}

fn table() -> SignedManifest {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
    let mut manifest =
        hush_table::TableStore::local_existing(golden).unwrap().load().unwrap().manifest().clone();
    let key = owner().verifying_key().to_bytes();
    manifest.key_id = hush_table::manifest::key_id(&key);
    SignedManifest::sign(manifest, &key, |bytes| owner().sign(bytes).to_bytes()).unwrap()
}

/// A delivery that `certifier` lets in.
fn by(certifier: &SigningKey, table: &SignedManifest, device: u8, number: u64) -> SignedDelivery {
    let signer = SigningKey::from_bytes(&[device; 32]);
    let key = signer.verifying_key().to_bytes();
    let (table_id, encodings) = (table.manifest().table_id, Digest::of(b"encodings"));
    let id = DeliveryId { device: DeviceId::of_key(&key), stream: StreamId::from_bytes([1; 16]), number };
    let file = Some(PartFile { digest: Digest::of(id.to_string().as_bytes()), bytes: 9 });
    let delivery = Delivery {
        format: DELIVERY_FORMAT,
        table_id,
        encodings,
        id,
        rows: 10,
        chunks: 1,
        clear: None,
        encrypted: file,
    };
    let certificate = certifier.sign(&certified_bytes(table_id, encodings, &key)).to_bytes();
    SignedDelivery::sign(delivery, &key, &certificate, |bytes| signer.sign(bytes).to_bytes()).unwrap()
}

/// The pages of a server that has these, three deliveries each.
fn honest(
    mut waiting: Vec<SignedDelivery>,
) -> impl FnMut(Option<DeliveryId>) -> Result<DeliveryPage, ClientError> {
    waiting.sort_by_key(|signed| signed.delivery().id);
    move |after| {
        let rest = waiting.iter().filter(|signed| after < Some(signed.delivery().id));
        let deliveries: Vec<_> = rest.clone().take(3).cloned().collect();
        let next = deliveries.last().filter(|_| rest.count() > 3).map(|signed| signed.delivery().id);
        Ok(DeliveryPage { deliveries, next })
    }
}

fn read(mut waiting: Waiting<'_>) -> Result<Vec<Vec<DeliveryId>>, ClientError> {
    let mut pages = Vec::new();
    while let Some(page) = waiting.next_page()? {
        pages.push(page.iter().map(|signed| signed.delivery().id).collect());
    }
    Ok(pages)
}

#[test]
fn everything_is_read_once_and_no_device_keeps_others_out() {
    let table = table();
    // One device has many deliveries, and its id any place among the others'.
    for many in 1..=4 {
        let counts = (1..=4).map(|device| (device, if device == many { 40 } else { 2 }));
        let all = counts.flat_map(|(device, count)| (0..count).map(move |number| (device, number)));
        let all: Vec<_> = all.map(|(device, number)| by(&owner(), &table, device, number)).collect();
        let mut expected: Vec<DeliveryId> = all.iter().map(|signed| signed.delivery().id).collect();
        expected.sort_unstable();
        let hoarder = by(&owner(), &table, many, 0).delivery().id.device;
        let pages = read(Waiting::new(Box::new(honest(all)), &table, String::new())).unwrap();
        let flat: Vec<DeliveryId> = pages.concat();
        let of = |device| flat.iter().filter(move |id| id.device == device).copied().collect::<Vec<_>>();
        for device in expected.iter().map(|id| id.device) {
            assert!(of(device).is_sorted(), "deliveries of a device in their order");
        }
        let last_of_others = flat.iter().rposition(|id| id.device != hoarder).unwrap();
        let before = flat[..last_of_others].iter().filter(|id| id.device == hoarder).count();
        assert!(before <= 5, "{before} deliveries of the device with many before the last of another");
        let mut sorted = flat.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "each once");
    }
}

#[test]
fn deliveries_of_other_owners_are_passed_over() {
    let table = table();
    let stranger = SigningKey::from_bytes(&[8; 32]);
    let foreign = (0..20).map(|number| by(&stranger, &table, 1, number));
    let own = by(&owner(), &table, 2, 0);
    let all = foreign.chain([own.clone()]).collect();
    let waiting = Waiting::new(Box::new(honest(all)), &table, String::new());
    assert_eq!(read(waiting).unwrap().concat(), [own.delivery().id]);
}

#[test]
fn a_list_without_end_is_given_up() {
    let table = table();
    // Empty pages, each behind the one before, as the protocol asks: of one device, or of ever new ones.
    for one_device in [false, true] {
        let mut count = 0_u64;
        let endless = move |_| {
            count += 1;
            let device = if one_device { [7; 16] } else { u128::from(count).to_be_bytes() };
            let stream = StreamId::from_bytes(u128::from(count).to_be_bytes());
            let next = DeliveryId { device: DeviceId::from_bytes(device), stream, number: 0 };
            Ok(DeliveryPage { deliveries: Vec::new(), next: Some(next) })
        };
        let error = read(Waiting::new(Box::new(endless), &table, "http://host".into())).unwrap_err();
        assert!(error.code() == "HUSH-R006" && error.to_string().contains("no end"), "{error}");
    }
}
