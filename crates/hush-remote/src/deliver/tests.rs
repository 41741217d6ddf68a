// SPDX-License-Identifier: Apache-2.0
//! Lists of deliveries that a server could send.

use ed25519_dalek::{Signer, SigningKey};
use hush_table::delivery::DELIVERY_FORMAT;
use hush_table::{Delivery, DeviceId, Digest, StreamId, TableId, to_hex};
use hush_testkit::damaged_json;

use super::*;
use crate::canned::{Canned, sound};

fn signed(number: u64) -> SignedDelivery {
    let key = SigningKey::from_bytes(&[3; 32]);
    let device = key.verifying_key().to_bytes();
    let delivery = Delivery {
        format: DELIVERY_FORMAT,
        table_id: TableId::from_bytes([1; 16]),
        encodings: Digest::of(b"encodings"),
        id: DeliveryId { device: DeviceId::of_key(&device), stream: StreamId::from_bytes([2; 16]), number },
        rows: 1,
        chunks: 1,
        clear: None,
        encrypted: Some(PartFile { digest: Digest::of(b"part"), bytes: 4 }),
    };
    SignedDelivery::sign(delivery, &device, &[0; 64], |bytes| key.sign(bytes).to_bytes()).unwrap()
}

fn id(number: u64) -> DeliveryId {
    signed(number).delivery().id
}

fn page(numbers: &[u64], next: Option<u64>) -> Vec<u8> {
    let deliveries: Vec<String> = numbers.iter().map(|number| to_hex(signed(*number).as_bytes())).collect();
    let next = next.map(|next| id(next).to_string());
    serde_json::json!({ "deliveries": deliveries, "next": next }).to_string().into_bytes()
}

#[test]
fn pages_are_asked_for_by_where_the_last_one_ended() {
    let canned = Canned::new();
    let listed = canned.body(&page(&[1, 4], Some(4))).deliveries("t", None).unwrap();
    assert_eq!(listed.deliveries, [signed(1), signed(4)]);
    assert_eq!(listed.next, Some(id(4)));
    assert_eq!(canned.asked(), ["GET /v1/tables/t/deliveries HTTP/1.1"]);
    // Deliveries that a server skipped lie between the last one of a page and the start of the next.
    let listed = canned.body(&page(&[5], Some(9))).deliveries("t", listed.next).unwrap();
    assert_eq!((listed.deliveries.len(), listed.next), (1, Some(id(9))));
    assert_eq!(canned.asked(), [format!("GET /v1/tables/t/deliveries?after={} HTTP/1.1", id(4))]);
    assert!(canned.body(&page(&[], None)).deliveries("t", Some(id(9))).unwrap().next.is_none());
}

#[test]
fn a_list_that_does_not_advance_is_refused() {
    let canned = Canned::new();
    let hostile = [
        // The same page for ever.
        page(&[], Some(4)),
        page(&[5], Some(4)),
        // Back, and below what it lists.
        page(&[], Some(3)),
        page(&[5, 7], Some(6)),
        // Ids that were listed before, twice, or in no order.
        page(&[4, 5], None),
        page(&[1], Some(9)),
        page(&[5, 5], Some(5)),
        page(&[6, 5], Some(6)),
        b"{\"deliveries\":[],\"next\":\"\"}".to_vec(),
        b"{\"deliveries\":[],\"next\":\"../4\"}".to_vec(),
        b"{\"waiting\":3}".to_vec(),
    ];
    for (at, body) in hostile.iter().enumerate() {
        let error = canned.body(body).deliveries("t", Some(id(4))).unwrap_err();
        assert_eq!(error.code(), "HUSH-R006", "{at}: {error}");
        sound(&error);
    }
}

#[test]
fn damaged_pages_are_refused_or_keep_their_order() {
    let canned = Canned::new();
    let read = |body: &[u8]| match canned.body(body).deliveries("t", Some(id(4))) {
        Err(error) => sound(&error),
        Ok(listed) => {
            let ids: Vec<DeliveryId> = listed.deliveries.iter().map(|signed| signed.delivery().id).collect();
            assert!(ids.is_sorted_by(|left, right| left < right));
            assert!(ids.iter().chain(&listed.next).all(|known| id(4) < *known));
            true
        }
    };
    let kept = damaged_json("a page of deliveries", 300, &page(&[5, 6, 9], Some(12)), read);
    assert!(kept > 0);
}
