// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::fixture::manifest;

fn device(number: u32) -> DeviceId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    DeviceId::from_bytes(bytes)
}

fn delivery(number: u64) -> DeliveryId {
    DeliveryId { device: device(1), stream: StreamId::from_bytes([2; 16]), number }
}

fn rejection(number: u64, container: &str, discarded: bool) -> Rejection {
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
    rules.reject(rejection(0, "a", false));
    assert!(!rules.is_empty());
}

/// Another container under a number is another delivery; one number is discarded once.
#[test]
fn what_was_decided_is_found_by_number_and_container() {
    let mut rules = DeviceRules::default();
    for (number, container, discarded) in [(7, "a", false), (7, "b", true), (8, "c", false)] {
        rules.reject(rejection(number, container, discarded));
    }
    let found = |number, container: &str| {
        rules.rejection(delivery(number), Digest::of(container.as_bytes())).map(|known| known.discarded)
    };
    assert_eq!([found(7, "a"), found(7, "b"), found(8, "c")], [Some(false), Some(true), Some(false)]);
    assert_eq!([found(7, "c"), found(8, "a"), found(9, "a")], [None; 3]);
    assert_eq!(rules.discarded(delivery(7)), Some(&rejection(7, "b", true)));
    assert_eq!((rules.discarded(delivery(8)), rules.discarded(delivery(9))), (None, None));
    assert_eq!((rules.rejections_of(device(1)), rules.rejections_of(device(2))), (3, 0));
    // Deciding again replaces.
    rules.reject(rejection(8, "c", true));
    assert_eq!(rules.rejections_of(device(1)), 3);
    assert_eq!(rules.discarded(delivery(8)), Some(&rejection(8, "c", true)));
    assert_eq!(fault(rules), None);
}

#[test]
fn lists_have_a_length_and_an_order() {
    let revoked = |count: usize| DeviceRules {
        revoked: (0..count as u32).map(device).collect(),
        ..DeviceRules::default()
    };
    let rejected = |count: usize| DeviceRules {
        rejected: (0..count as u64).map(|number| rejection(number, "x", false)).collect(),
        ..DeviceRules::default()
    };
    let many = |what, limit: usize| {
        Some(ManifestFault::TooMany { what, found: limit as u64 + 1, limit: limit as u64 })
    };
    assert_eq!((fault(revoked(MAX_REVOKED)), fault(rejected(MAX_REJECTED))), (None, None));
    assert_eq!(fault(revoked(MAX_REVOKED + 1)), many(Counted::Revoked, MAX_REVOKED));
    assert_eq!(fault(revoked(MAX_REVOKED + 2)).map(|_| ()), Some(()));
    assert_eq!(fault(rejected(MAX_REJECTED + 1)), many(Counted::Rejected, MAX_REJECTED));
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
    for rules in [revoked(2), rejected(2)] {
        assert_eq!(fault(twice(rules.clone())), Some(ManifestFault::DeviceRules));
        assert_eq!(fault(backwards(rules)), Some(ManifestFault::DeviceRules));
    }
    // One number is discarded once, and never a delivery that was taken.
    let discarded = |containers: &[&str]| {
        let mut rules = DeviceRules::default();
        containers.iter().for_each(|container| rules.reject(rejection(5, container, true)));
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
