// SPDX-License-Identifier: Apache-2.0
//! Coefficients that a device puts after the last row of a chunk. No query reads them. Unlike the rows, they tell whether the mask is
//! that of an honest encryption.

use hush_ring::{Ring, UniformSeed};
use hush_rlwe::{BodyId, BodyKind, BodyWriter, SumMasks, UncheckedBody};

use super::{Case, Crafted};
use crate::devices::device_key;
use crate::pins::Pins;
use crate::place::TablePlace;

/// One exact and one approximate column, so that no square or validity contradicts a changed mask.
const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
edge = true
[columns.site]
type = "category"
protect = "clear"
[columns.day]
type = "int(8)"
range = [0, 31]
protect = "clear"
[columns.load]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
[columns.level]
type = "float(3)"
protect = "encrypt"
"#;

/// The body under the mask `a + K` for a constant `K`: it decrypts to `m + K·s`.
pub(super) fn shifted(ring: &Ring, column: u32, blob: &[u8], constant: u64) -> Vec<u8> {
    let id = BodyId { column, chunk: 0, element_count: 1, lanes: 1 };
    let body = UncheckedBody::decode(blob).unwrap().conform(ring, BodyKind::Sum, id).unwrap();
    let stored = std::slice::from_ref(&body);
    let mut mask = vec![0; ring.poly_words()];
    SumMasks::of(UniformSeed::from_bytes([0; 32]), stored).unwrap().expand_into(ring, 0, &mut mask);
    let mut writer = BodyWriter::new(ring, BodyKind::MaskedSum, id).unwrap();
    let mut words = vec![0; ring.degree()];
    for (index, limb) in ring.limbs().iter().enumerate() {
        limb.unpack(body.packed(0, 0, index), &mut words);
        writer.push_limb(limb, &words);
    }
    for (limb, words) in ring.limbs().iter().zip(mask.chunks_exact_mut(ring.degree())) {
        // A constant is the same in every evaluation.
        words.iter_mut().for_each(|word| *word = limb.modulus().add(*word, constant));
        writer.push_limb(limb, words);
    }
    writer.finish().unwrap()
}

/// Four rows in the middle of the range of `load`, changed by `change`.
fn crafted(change: &dyn Fn(&mut Crafted)) -> Crafted {
    let mut crafted = Crafted::honest();
    crafted.values = [("load", vec![500; 4]), ("level", vec![0; 4])].into();
    change(&mut crafted);
    crafted
}

#[test]
fn nothing_may_stand_behind_the_last_row() {
    let rows: String = (0..5).map(|row| format!("a,{row},100,{row}.5\n")).collect();
    let case = Case::of(SCHEMA, &format!("site,day,load,level\n{rows}"));
    let scale = case.device.encodings.iter().find_map(|encoding| encoding.public.packing.scale_log2());
    let one = 1_i64 << scale.unwrap();
    let behind = |load: i64, level: i64| {
        crafted(&|crafted| {
            crafted.values.get_mut("load").unwrap().push(load);
            crafted.values.get_mut("level").unwrap().push(level);
        })
    };
    // Within every range, so that as rows they would be taken.
    let hostile = [
        (behind(7, 0), "load: behind its last row"),
        (behind(0, one), "level: behind its last row"),
        (behind(0, -one), "level: behind its last row"),
        // The rows tell coefficients of the secret, each within the range and with the error of an honest row.
        (crafted(&|crafted| crafted.shift = 1), "load: behind its last row"),
        (crafted(&|crafted| crafted.shift = 200), "load: behind its last row"),
    ];
    for (stream, (crafted_rows, why)) in (1..).zip(&hostile) {
        let place = case.table();
        let device = device_key(TablePlace::Directory(&place), &case.owner, &Pins::forgetful()).unwrap();
        let id = case.deliver(&device, stream, crafted_rows);
        case.deliver(&case.device, stream, &crafted(&|_| {}));
        let accepted = case.accept(&[]);
        assert_eq!((accepted.deliveries, accepted.rejected.len()), (1, 1), "{why}: {accepted:?}");
        assert!(accepted.rejected[0].why.contains(why), "{}, expected {why}", accepted.rejected[0].why);
        // Only the owner's key can find this fault, so the rejection counts.
        let known = hush_table::TableStore::local_existing(&place).unwrap().load().unwrap();
        assert_eq!(known.manifest().devices.rejections_of(device.id()), 1, "{why}");
        case.accept(&[id.to_string()]);
    }
}
