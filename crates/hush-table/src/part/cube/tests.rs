// SPDX-License-Identifier: Apache-2.0
//! Packed sums against bits written one by one, and files that are refused.

use hush_testkit::Draw;

use super::*;

fn number(draw: &mut Draw, bits: u8) -> u128 {
    let wide = (0..4).fold(0_u128, |wide, _| wide << 32 | draw.below(1 << 32) as u128);
    [wide, 0, u128::MAX][if draw.below(4) > 0 { 0 } else { 1 + draw.below(2) }] & (u128::MAX >> (128 - bits))
}

/// A cube with numbers, which stand beside it lane by lane.
fn cube(draw: &mut Draw, cells: u32, bits: &[u8]) -> (CubeSums, Vec<Vec<u128>>) {
    let mut sums = CubeSums::zeros(cells, bits);
    let lane = |bits: &u8| -> Vec<u128> { (0..cells).map(|_| number(draw, *bits)).collect() };
    let lanes: Vec<Vec<u128>> = bits.iter().map(lane).collect();
    for (lane, values) in lanes.iter().enumerate() {
        values.iter().enumerate().for_each(|(cell, value)| sums.set(lane, cell, *value));
    }
    (sums, lanes)
}

fn shape(draw: &mut Draw) -> (u32, Vec<u8>) {
    let most = [3, 20, 300][draw.below(3)];
    let cells = 1 + draw.below(most) as u32;
    (cells, (0..1 + draw.below(6)).map(|_| 1 + draw.below(128) as u8).collect())
}

fn lanes(sums: &CubeSums) -> Vec<Vec<u128>> {
    (0..sums.bits().len()).map(|lane| sums.lane(lane).unwrap().collect()).collect()
}

/// The packed form, bit by bit.
fn packed(lanes: &[Vec<u128>], bits: &[u8]) -> Vec<u8> {
    let lane = |(lane, bits): (&Vec<u128>, &u8)| {
        let bits = lane.iter().flat_map(|value| (0..*bits).map(move |bit| (value >> bit & 1) as u8));
        let bits: Vec<u8> = bits.collect();
        let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
        bits.chunks(8).map(byte).collect::<Vec<u8>>()
    };
    lanes.iter().zip(bits).flat_map(lane).collect()
}

#[test]
fn sums_are_packed_bit_by_bit_and_added_modulo_powers_of_two() {
    let mut draw = Draw::new();
    for round in 0..400_u32 {
        let (cells, bits) = match round {
            // Every width once, with numbers at every place in a byte.
            0..128 => (17, vec![round as u8 + 1]),
            _ => shape(&mut draw),
        };
        let (mut one, left) = cube(&mut draw, cells, &bits);
        let (other, right) = cube(&mut draw, cells, &bits);
        let bytes = one.pack();
        assert_eq!(bytes, packed(&left, &bits), "{cells} {bits:?}");
        assert_eq!(bytes.len() as u64, CubeSums::packed_bytes(cells, &bits));
        assert_eq!(CubeSums::unpack(&bytes, cells, &bits), Some(one.clone()));
        assert_eq!(lanes(&one), left);
        let mut again = one.clone();
        one.add(&other).unwrap();
        again.add_packed(&other.pack()).unwrap();
        let sum = |(at, (left, right)): (usize, (&Vec<u128>, &Vec<u128>))| -> Vec<u128> {
            let mask = u128::MAX >> (128 - bits[at]);
            left.iter().zip(right).map(|(left, right)| left.wrapping_add(*right) & mask).collect()
        };
        let expected: Vec<_> = left.iter().zip(&right).enumerate().map(sum).collect();
        assert_eq!((lanes(&one), lanes(&again)), (expected.clone(), expected), "{cells} {bits:?}");
        assert_eq!(one.pack(), again.pack());
    }
}

#[test]
fn sums_of_another_shape_are_not_added() {
    let mut draw = Draw::new();
    for _ in 0..100 {
        let (cells, bits) = shape(&mut draw);
        let (mut one, before) = cube(&mut draw, cells, &bits);
        let other = [bits.as_slice(), &[5]].concat();
        assert_eq!(one.add(&CubeSums::zeros(cells, &other)), None);
        assert_eq!(one.add(&CubeSums::zeros(cells + 1, &bits)), None);
        let mut bytes = one.pack();
        bytes.push(0);
        assert_eq!(one.add_packed(&bytes), None);
        assert_eq!(one.add_packed(&bytes[..bytes.len() - 2]), None);
        assert_eq!(lanes(&one), before);
    }
}

#[test]
fn bits_behind_the_last_number_are_zero() {
    let one = CubeSums::zeros(3, &[3, 8]);
    assert_eq!(one.pack(), [0; 5]);
    for (at, bit, is_good) in [(1, 0, true), (1, 1, false), (1, 7, false), (4, 7, true)] {
        let mut bytes = one.pack();
        bytes[at] |= 1 << bit;
        assert_eq!(CubeSums::unpack(&bytes, 3, &[3, 8]).is_some(), is_good, "{at} {bit}");
    }
    for bits in [0, 129, 255] {
        assert_eq!(CubeSums::unpack(&[], 0, &[bits]), None);
    }
    // Refused by its length, before memory is taken.
    assert_eq!(CubeSums::unpack(&[0; 9], u32::MAX, &[128; 64]), None);
}

#[test]
fn values_stay_out_of_debug_texts() {
    let mut one = CubeSums::zeros(1, &[64, 32]);
    one.set(0, 0, 987_654);
    one.set(1, 0, 987_654);
    one.set(1, 1, 987_654);
    one.set(2, 0, 987_654);
    assert!(!format!("{one:?}").contains("987654"));
    assert_eq!((one.cells(), one.bits(), lanes(&one)), (1, [64, 32].as_slice(), vec![vec![987_654]; 2]));
}

fn cubes(draw: &mut Draw) -> PartCubes {
    let (mut number, count) = (draw.below(3) as u32, [1, 2, 5][draw.below(3)]);
    let one = |_| {
        let (cells, bits) = shape(draw);
        number += 1 + draw.below(3) as u32;
        StoredCube::new(number, &cube(draw, cells, &bits).0)
    };
    PartCubes { id: CubesId::from_bytes([7; 16]), cubes: (0..count).map(one).collect() }
}

#[test]
fn files_are_read_as_they_were_written() {
    let mut draw = Draw::new();
    for _ in 0..100 {
        let file = cubes(&mut draw);
        let bytes = Bytes::from(file.encode());
        let read = PartCubes::decode(bytes.clone()).unwrap();
        assert_eq!((&read, read.encode()), (&file, bytes.to_vec()));
        let first = &read.cubes[0];
        assert_eq!(StoredCube::new(first.number, &first.unpack().unwrap()), *first);
        assert_eq!(read.cube(first.number), Some(first));
        assert_eq!(
            PackedSums::decode(&first.unpack().unwrap().encode()).map(|sums| sums.unpack()),
            first.unpack()
        );
        for end in [0, 7, 8, 23, 25, 26, 33, bytes.len() - 1] {
            assert_eq!(PartCubes::decode(bytes.slice(..end)), None, "{end}");
        }
        let longer = [bytes.as_ref(), &[0]].concat();
        assert_eq!(PartCubes::decode(longer.into()), None);
    }
}

#[test]
fn files_that_break_a_rule_are_refused() {
    let sums = CubeSums::zeros(2, &[3, 4]);
    let with = |cubes: Vec<StoredCube>| PartCubes { id: CubesId::from_bytes([7; 16]), cubes }.encode();
    let one = |number| StoredCube::new(number, &sums);
    let is_read = |bytes: Vec<u8>| PartCubes::decode(bytes.into()).is_some();
    assert!(is_read(with((0..64).map(one).collect())));
    assert!(!is_read(with((0..65).map(one).collect())));
    assert!(!is_read(with(Vec::new())));
    assert!(is_read(with(vec![one(1), one(u32::MAX)])));
    assert!(!is_read(with(vec![one(1), one(1)])) && !is_read(with(vec![one(2), one(1)])));
    let of = |cells, bits: &[u8]| {
        let sums = vec![0; CubeSums::packed_bytes(cells, bits) as usize];
        with(vec![StoredCube { number: 0, cells, bits: bits.to_vec(), sums: sums.into() }])
    };
    assert!(is_read(of(MAX_CUBE_CELLS, &[1])) && !is_read(of(MAX_CUBE_CELLS + 1, &[1])));
    assert!(is_read(of(1, &[1; 64])) && !is_read(of(1, &[1; 65])));
    assert!(is_read(of(1, &[128])) && !is_read(of(1, &[129])) && !is_read(of(9, &[0])));
    assert!(!is_read(of(0, &[9])) && !is_read(of(9, &[])));
    let mut magic = with(vec![one(0)]);
    magic[7] = b'F';
    assert!(!is_read(magic));
    let mut filled = with(vec![one(0)]);
    *filled.iter_mut().nth_back(1).unwrap() = 0x40;
    assert!(!is_read(filled));
}

#[test]
fn damaged_files_are_refused_or_keep_their_rules() {
    let mut draw = Draw::new();
    for _ in 0..3000 {
        let mut bytes = cubes(&mut draw).encode();
        for _ in 0..1 + draw.below(3) {
            let head = [60.min(bytes.len()), bytes.len()][draw.below(2)];
            let at = draw.below(head);
            match draw.below(3) {
                0 => bytes[at] = draw.below(256) as u8,
                1 => bytes.truncate(at + 1),
                _ => bytes.insert(at, draw.below(256) as u8),
            }
        }
        let Some(read) = PartCubes::decode(bytes.clone().into()) else { continue };
        assert_eq!(read.encode(), bytes);
        for cube in read.cubes.iter().filter(|cube| cube.sums.len() < 1 << 20) {
            assert_eq!(cube.unpack().map(|sums| sums.pack()), Some(cube.sums.to_vec()));
        }
    }
}
