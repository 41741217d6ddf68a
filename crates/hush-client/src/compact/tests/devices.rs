// SPDX-License-Identifier: Apache-2.0
//! Rows of devices that were merged with others: they count once, whoever sends them again.

use hush_table::error::DeliveryFault;
use hush_table::{DeliveryId, SignedDelivery, TableError, TableStore};

use super::*;
use crate::devices::hostile::{Case as Fleet, Crafted};
use crate::devices::revoke_device;

const HONEST: i64 = 1 + 2 + 3 + 1000;

fn compact_all(fleet: &Fleet) -> CompactReport {
    let options =
        CompactOptions { which: Which::All, threads: 2, memory_limit: None, pins: Pins::forgetful() };
    compact(TablePlace::Directory(&fleet.table()), &options, &fleet.owner, &Silent).unwrap()
}

/// The delivery that lies beside the table.
fn waiting(fleet: &Fleet, id: DeliveryId) -> SignedDelivery {
    let file = fleet.table().join("deliveries").join(id.file_name());
    SignedDelivery::decode(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_delivery_that_was_merged_is_not_taken_again() {
    let fleet = Fleet::new();
    let id = fleet.deliver(&fleet.device, 1, &Crafted::honest());
    let signed = waiting(&fleet, id);
    assert_eq!(fleet.accept(&[]).rows, 4);
    let before = fleet.sum();
    let report = compact_all(&fleet);
    assert_eq!((report.table_rows, report.table_parts), (9, 1));
    let store = TableStore::local_existing(fleet.table()).unwrap();
    let manifest = store.load().unwrap().manifest().clone();
    assert!(manifest.parts.iter().all(|part| part.delivery.is_none()));
    assert_eq!(manifest.next_numbers().get(&(id.device, id.stream)), Some(&1));
    assert_eq!((fleet.sum(), before), (500 + HONEST, 500 + HONEST));
    // The device itself, whose answer was lost, is told that its rows are in.
    assert_eq!(store.deliver(&signed).unwrap(), hush_table::Delivered::Known);
    // Another delivery of the number is refused, and one that lies there all the same is not taken and goes.
    let again = fleet.deliver(&fleet.device, 1, &Crafted::honest());
    let other = waiting(&fleet, again);
    let refused = store.deliver(&other).unwrap_err();
    assert!(matches!(refused, TableError::BadDelivery { fault: DeliveryFault::Conflict }), "{refused}");
    let accepted = fleet.accept(&[]);
    assert_eq!((accepted.rows, accepted.deliveries), (0, 0));
    assert!(store.deliveries(&store.load().unwrap()).unwrap().is_empty());
    assert_eq!(fleet.sum(), 500 + HONEST);
    // Other streams go on.
    fleet.deliver(&fleet.device, 2, &Crafted::honest());
    assert_eq!(fleet.accept(&[]).rows, 4);
    assert_eq!(fleet.sum(), 500 + 2 * HONEST);
    assert_eq!(compact_all(&fleet).table_parts, 1);
    assert_eq!(fleet.sum(), 500 + 2 * HONEST);
}

#[test]
fn rows_that_were_merged_cannot_be_removed_as_a_devices() {
    let fleet = Fleet::new();
    fleet.deliver(&fleet.device, 1, &Crafted::honest());
    fleet.accept(&[]);
    compact_all(&fleet);
    fleet.deliver(&fleet.device, 2, &Crafted::honest());
    fleet.accept(&[]);
    let (table, pins) = (fleet.table(), Pins::forgetful());
    let device = fleet.device.id().to_string();
    let revoked =
        revoke_device(TablePlace::Directory(&table), &fleet.owner, &pins, &device[..10], true).unwrap();
    assert_eq!((revoked.removed_rows, revoked.left_rows, revoked.merged_rows), (4, 4, 4));
    assert_eq!(fleet.sum(), 500 + HONEST);
}
