// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::fixture::manifest;
use crate::manifest::PartEntry;

fn id(device: u8, stream: u8, number: u64) -> DeliveryId {
    let (device, stream) = (DeviceId::from_bytes([device; 16]), StreamId::from_bytes([stream; 16]));
    DeliveryId { device, stream, number }
}

fn rejection(delivery: DeliveryId, discarded: bool) -> Rejection {
    Rejection { delivery, container: Digest::of(&delivery.number.to_le_bytes()), discarded }
}

fn taken(manifest: &mut Manifest, delivery: DeliveryId) {
    let file = crate::manifest::PartFile { digest: Digest::of(delivery.to_string().as_bytes()), bytes: 9 };
    let of = manifest.parts[0].clone();
    let clear = of.clear.map(|_| file);
    let encrypted = of.encrypted.map(|_| file);
    manifest.rows += 1;
    manifest.parts.push(PartEntry {
        rows: 1,
        chunks: 1,
        clear,
        encrypted,
        delivery: Some(delivery),
        append: None,
        first_chunk: None,
        dead: None,
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    });
}

#[test]
fn streams_go_on_behind_what_was_taken_and_discarded() {
    let mut table = manifest();
    taken(&mut table, id(1, 1, 0));
    taken(&mut table, id(1, 1, 3));
    for number in [1, 2, 4, 5, 7] {
        table.devices.reject(rejection(id(1, 1, number), true));
    }
    table.devices.reject(rejection(id(1, 2, 0), true));
    // Not yet decided: the stream stands.
    table.devices.reject(rejection(id(2, 1, 0), false));
    table.check().unwrap();
    let next = table.next_numbers();
    let of =
        |device, stream| next.get(&(id(device, stream, 0).device, id(device, stream, 0).stream)).copied();
    assert_eq!((of(1, 1), of(1, 2), of(2, 1)), (Some(6), Some(1), None));
    assert_eq!(table.devices.rejections_of(id(1, 1, 0).device), 6);
    // Decided after all.
    table.devices.reject(rejection(id(2, 1, 0), true));
    assert_eq!(table.devices.rejections_of(id(2, 1, 0).device), 1);
    table.check().unwrap();
}

#[test]
fn lists_that_contradict_are_refused() {
    let refused = |change: &dyn Fn(&mut Manifest)| {
        let mut table = manifest();
        taken(&mut table, id(1, 1, 0));
        table.devices.revoke(id(2, 1, 0).device);
        table.devices.revoke(id(1, 1, 0).device);
        table.devices.reject(rejection(id(1, 1, 2), false));
        table.devices.reject(rejection(id(1, 1, 1), false));
        table.check().unwrap();
        assert!(
            table.devices.is_revoked(id(1, 0, 0).device) && !table.devices.is_revoked(id(3, 0, 0).device)
        );
        change(&mut table);
        let json = table.to_json().unwrap();
        let read: Manifest = serde_json::from_slice(&json).unwrap();
        assert_eq!(read, table);
        table.check().is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|table| table.devices.revoked.reverse()));
    assert!(refused(&|table| table.devices.rejected.reverse()));
    assert!(refused(&|table| table.devices.revoked = vec![DeviceId::from_bytes([1; 16]); 2]));
    assert!(refused(&|table| table.devices.reject(rejection(id(1, 1, 0), true))));
    let twice = |table: &mut Manifest| {
        let other = Rejection { container: Digest::of(b"other"), ..rejection(id(1, 1, 1), true) };
        table.devices.reject(other);
        table.devices.reject(rejection(id(1, 1, 1), true));
    };
    assert!(refused(&twice));
}

fn device(number: u32) -> DeviceId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    DeviceId::from_bytes(bytes)
}

fn delivery(number: u64) -> DeliveryId {
    DeliveryId { device: device(1), stream: StreamId::from_bytes([2; 16]), number }
}

fn rejected(number: u64, container: &str, discarded: bool) -> Rejection {
    Rejection { delivery: delivery(number), container: Digest::of(container.as_bytes()), discarded }
}

fn fault(rules: DeviceRules) -> Option<ManifestFault> {
    check(&Manifest { devices: rules, ..manifest() }).err()
}

#[test]
fn rules_are_empty_only_without_both_lists() {
    let mut rules = DeviceRules::default();
    assert!(rules.is_empty());
    rules.revoke(device(3));
    assert!(!rules.is_empty() && rules.is_revoked(device(3)) && !rules.is_revoked(device(4)));
    let mut rules = DeviceRules::default();
    rules.reject(rejected(0, "a", false));
    assert!(!rules.is_empty());
}

/// Another container under a number is another delivery; one number is discarded once.
#[test]
fn what_was_decided_is_found_by_number_and_container() {
    let mut rules = DeviceRules::default();
    for (number, container, discarded) in [(7, "a", false), (7, "b", true), (8, "c", false)] {
        rules.reject(rejected(number, container, discarded));
    }
    let found = |number, container: &str| {
        rules.rejection(delivery(number), Digest::of(container.as_bytes())).map(|known| known.discarded)
    };
    assert_eq!([found(7, "a"), found(7, "b"), found(8, "c")], [Some(false), Some(true), Some(false)]);
    assert_eq!([found(7, "c"), found(8, "a"), found(9, "a")], [None; 3]);
    assert_eq!(rules.discarded(delivery(7)), Some(&rejected(7, "b", true)));
    assert_eq!((rules.discarded(delivery(8)), rules.discarded(delivery(9))), (None, None));
    assert_eq!((rules.rejections_of(device(1)), rules.rejections_of(device(2))), (3, 0));
    // Deciding again replaces.
    rules.reject(rejected(8, "c", true));
    assert_eq!(rules.rejections_of(device(1)), 3);
    assert_eq!(rules.discarded(delivery(8)), Some(&rejected(8, "c", true)));
    assert_eq!(fault(rules), None);
}

#[test]
fn lists_have_a_length_and_an_order() {
    let revoked = |count: usize| DeviceRules {
        revoked: (0..count as u32).map(device).collect(),
        ..DeviceRules::default()
    };
    let of_rejected = |count: usize| DeviceRules {
        rejected: (0..count as u64).map(|number| rejected(number, "x", false)).collect(),
        ..DeviceRules::default()
    };
    let many = |what, limit: usize| {
        Some(ManifestFault::TooMany { what, found: limit as u64 + 1, limit: limit as u64 })
    };
    assert_eq!((fault(revoked(MAX_REVOKED)), fault(of_rejected(MAX_REJECTED))), (None, None));
    assert_eq!(fault(revoked(MAX_REVOKED + 1)), many(Counted::Revoked, MAX_REVOKED));
    assert_eq!(fault(revoked(MAX_REVOKED + 2)).map(|_| ()), Some(()));
    assert_eq!(fault(of_rejected(MAX_REJECTED + 1)), many(Counted::Rejected, MAX_REJECTED));
    let twice = |mut rules: DeviceRules| {
        rules.revoked.extend(rules.revoked.last().copied());
        rules.rejected.extend(rules.rejected.last().copied());
        rules
    };
    let backwards = |mut rules: DeviceRules| {
        rules.revoked.reverse();
        rules.rejected.reverse();
        rules
    };
    for rules in [revoked(2), of_rejected(2)] {
        assert_eq!(fault(twice(rules.clone())), Some(ManifestFault::DeviceRules));
        assert_eq!(fault(backwards(rules)), Some(ManifestFault::DeviceRules));
    }
    // One number is discarded once, and never a delivery that was taken.
    let discarded = |containers: &[&str]| {
        let mut rules = DeviceRules::default();
        containers.iter().for_each(|container| rules.reject(rejected(5, container, true)));
        rules
    };
    assert_eq!(fault(discarded(&["a"])), None);
    assert_eq!(fault(discarded(&["a", "b"])), Some(ManifestFault::DeviceRules));
    let mut taken = Manifest { devices: discarded(&["a"]), ..manifest() };
    taken.parts[1].delivery = Some(delivery(5));
    assert_eq!(check(&taken), Err(ManifestFault::DeviceRules));
    taken.parts[1].delivery = Some(delivery(6));
    assert_eq!(check(&taken), Ok(()));
}

#[test]
fn streams_whose_parts_were_merged_go_on_behind_them() {
    let mut table = manifest();
    for number in [0, 1, 2] {
        taken(&mut table, id(1, 1, number));
    }
    taken(&mut table, id(2, 7, 0));
    let (first, last) = (table.parts[2].clone(), table.parts[4].clone());
    // In any order; parts of the owner's leave nothing.
    for part in [last.clone(), first, table.parts[0].clone(), table.parts[5].clone()] {
        table.devices.settle(&part);
    }
    table.parts.truncate(4);
    table.parts.remove(2);
    table.rows = table.parts.iter().map(|part| part.rows).sum();
    table.check().unwrap();
    let known = table.devices.settled(id(1, 1, 0).device, id(1, 1, 0).stream).unwrap();
    assert_eq!((known.next, known.last, known.rows), (3, last.encrypted.unwrap().digest, 2));
    assert_eq!(table.devices.merged_rows(id(1, 1, 0).device), 2);
    let next = table.next_numbers();
    assert_eq!(next.values().copied().collect::<Vec<_>>(), [3, 1]);
    // Another run of a job whose rows were merged is a repetition.
    assert_eq!(table.runs().get(&DeviceJob::of(id(2, 7, 0))), Some(&id(2, 7, 0).stream.run()));
    assert!(table.devices.is_settled(id(1, 1, 2)) && !table.devices.is_settled(id(1, 1, 3)));
    assert!(!table.devices.is_settled(id(1, 2, 0)));
    table.devices.reject(rejection(id(1, 1, 3), true));
    assert_eq!(table.next_numbers().values().copied().collect::<Vec<_>>(), [4, 1]);
    assert!(!table.devices.is_empty());
}

#[test]
fn streams_that_were_merged_rise_and_are_few_enough() {
    let settled = |stream: u32, next| {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&stream.to_be_bytes());
        let (device, stream) = (id(1, 1, 0).device, StreamId::from_bytes(name));
        Settled { device, stream, next, last: Digest::of(b"x"), rows: 1 }
    };
    let fault = |settled: Vec<Settled>| {
        let devices = DeviceRules { settled, ..DeviceRules::default() };
        check(&Manifest { devices, ..manifest() })
    };
    assert_eq!(fault((0..MAX_SETTLED as u32).map(|stream| settled(stream, 1)).collect()), Ok(()));
    let (found, limit) = (MAX_SETTLED as u64 + 1, MAX_SETTLED as u64);
    let many = (0..=MAX_SETTLED as u32).map(|stream| settled(stream, 1)).collect();
    assert_eq!(fault(many), Err(ManifestFault::TooMany { what: Counted::Settled, found, limit }));
    for wrong in [vec![settled(1, 1), settled(1, 2)], vec![settled(2, 1), settled(1, 1)], vec![settled(1, 0)]]
    {
        assert_eq!(fault(wrong), Err(ManifestFault::DeviceRules));
    }
}
