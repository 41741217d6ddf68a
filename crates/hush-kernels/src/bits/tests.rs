// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::KernelError;
use crate::testing::{Random, lengths};

fn widths() -> impl Iterator<Item = BitWidth> {
    (1..=MAX_BIT_WIDTH).map(|bits| BitWidth::new(bits).unwrap())
}

/// Values, many with all bits set or none.
fn values(random: &mut Random, width: BitWidth, count: usize) -> Vec<u64> {
    let value = |word: u64| match word >> 62 {
        0 => width.mask(),
        1 => 0,
        _ => word & width.mask(),
    };
    (0..count).map(|_| value(random.word())).collect()
}

/// The definition, bit by bit.
fn reference(width: BitWidth, values: &[u64]) -> Vec<u8> {
    let mut packed = vec![0; width.packed_bytes(values.len())];
    for (i, value) in values.iter().enumerate() {
        for j in 0..width.bits() as usize {
            let position = i * width.bits() as usize + j;
            packed[position / 8] |= ((value >> j & 1) as u8) << (position % 8);
        }
    }
    packed
}

#[test]
fn streams_follow_the_definition_and_come_back() {
    let mut random = Random::new(41);
    for width in widths() {
        for len in lengths() {
            let values = values(&mut random, width, len);
            let expected = reference(width, &values);
            for cpu in Cpu::available() {
                // Stale bytes must be overwritten, and exact-length slices make over-reads panic.
                let mut packed = vec![0xA5; expected.len()];
                pack_bits(cpu, width, &values, &mut packed);
                assert_eq!(packed, expected, "pack, {cpu}, {width:?}, {len}");
                let mut back = vec![u64::MAX; len];
                unpack_bits(cpu, width, &packed, &mut back);
                assert_eq!(back, values, "unpack, {cpu}, {width:?}, {len}");
                let sum = values.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value));
                assert_eq!(unpack_sum(cpu, width, &packed, len), sum, "sum, {cpu}, {width:?}, {len}");
            }
        }
    }
}

#[test]
fn spare_bits_of_the_last_byte_are_ignored() {
    let width = BitWidth::new(46).unwrap();
    let values = vec![width.mask(); 3];
    for cpu in Cpu::available() {
        let mut packed = reference(width, &values);
        *packed.last_mut().unwrap() |= 0xC0;
        let mut back = vec![0; 3];
        unpack_bits(cpu, width, &packed, &mut back);
        assert_eq!(back, values, "{cpu}");
        assert_eq!(unpack_sum(cpu, width, &packed, 3), 3 * width.mask(), "{cpu}");
    }
}

#[test]
fn bounds_are_checked_in_every_position() {
    for cpu in Cpu::available() {
        for len in lengths() {
            assert!(all_below(cpu, &vec![6; len], 7));
            for position in 0..len {
                for (value, inside) in [(6, true), (7, false), (u64::MAX, false)] {
                    let mut data = vec![0; len];
                    data[position] = value;
                    assert_eq!(all_below(cpu, &data, 7), inside, "{cpu}, {len}, {position}");
                }
            }
        }
        assert!(!all_below(cpu, &[0; 9], 0));
        assert!(all_below(cpu, &[u64::MAX - 1; 9], u64::MAX));
    }
}

#[test]
fn widths_are_checked() {
    for found in [0, 57, 64, u32::MAX] {
        assert_eq!(BitWidth::new(found), Err(KernelError::BitWidthOutOfRange { found, max: 56 }));
    }
    assert_eq!(BitWidth::new(46).unwrap().packed_bytes(8192), 47_104);
    assert_eq!(BitWidth::new(3).unwrap().packed_bytes(3), 2);
    let prime = hush_arith::Modulus::new(257).unwrap();
    assert_eq!(BitWidth::of_modulus(prime).bits(), 9);
}
