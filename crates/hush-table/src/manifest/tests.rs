// SPDX-License-Identifier: Apache-2.0
//! The manifest against hand-written bytes, damage of every kind, and every rule of its body.

use ed25519_dalek::Signer;
use hush_plan::packing::{ApproxSum, Packing, Slots, Sum};

use super::*;
use crate::error::{Counted, ManifestFault};
use crate::fixture::{Random, credentials, encoding, manifest, sign, signer};

/// The body of `fixture::manifest`, written by hand from docs/formats/table.md.
const BODY: &str = concat!(
    r#"{"format":2,"table":"patients","table_id":"30313233343536373839616263646566","encryption":"616e20656e6372797074696f6e202e2e","version":3,"#,
    r#""key_id":"KEYID","rows":524293,"chunk_rows":8192,"#,
    r#""clear_columns":[{"name":"ward","arrow_type":"Utf8"}],"encodings":["#,
    r#"{"id":1,"layout":"sum","params":"n12_q2x46_sec128_v1","plaintext":{"power_of_two":{"log2":64}}},"#,
    r#"{"id":4,"layout":"sum","params":"n12_q2x46_sec128_v1","plaintext":{"power_of_two":{"log2":64}}}],"#,
    r#""sealed_columns":1,"parts":["#,
    r#"{"rows":524288,"chunks":64,"clear":{"digest":"C0","bytes":1000},"encrypted":{"digest":"E0","bytes":2000}},"#,
    r#"{"rows":5,"chunks":1,"clear":{"digest":"C1","bytes":10},"encrypted":{"digest":"E1","bytes":20}}],"#,
    r#""sealed_schema":"dead"}"#,
);

fn golden_body() -> String {
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let body = BODY.replace("KEYID", &blake3::hash(&signer(7).verifying_key().to_bytes()).to_hex()[..32]);
    ["c0", "e0", "c1", "e1"].iter().fold(body, |body, name| {
        body.replace(&format!("\"{}\"", name.to_uppercase()), &format!("\"{}\"", digest(name)))
    })
}

/// A container around any body, signed by the fixture's key.
fn container(body: &[u8]) -> Vec<u8> {
    let key = signer(7);
    let mut bytes = b"HUSHTBL1\x02\0\0\0".to_vec();
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes.extend(key.verifying_key().to_bytes());
    let signature = key.sign(&bytes).to_bytes();
    bytes.extend(signature);
    bytes
}

fn fault(manifest: &Manifest) -> ManifestFault {
    match manifest.check() {
        Err(TableError::BadManifest { fault }) => fault,
        other => panic!("expected a broken rule, found {other:?}"),
    }
}

#[test]
fn bytes_are_those_of_the_specification() {
    let signed = sign(manifest());
    assert_eq!(signed.as_bytes(), container(golden_body().as_bytes()));
    let read = SignedManifest::decode(signed.as_bytes()).unwrap();
    assert_eq!(read, signed);
    assert_eq!(read.manifest(), &manifest());
    assert_eq!(read.digest(), Digest::of(signed.as_bytes()));
}

#[test]
fn zones_are_a_member_before_the_schema() {
    let digest = Digest::of(b"zones");
    let body = golden_body();
    let with = body.replace(
        r#""sealed_schema""#,
        &format!(r#""zones":{{"digest":"{digest}","bytes":300}},"sealed_schema""#),
    );
    let zones = Some(PartFile { digest, bytes: 300 });
    let read = SignedManifest::decode(&container(with.as_bytes())).unwrap();
    assert_eq!(read.manifest(), &Manifest { zones, ..manifest() });
    assert_eq!(sign(read.manifest().clone()).as_bytes(), container(with.as_bytes()));
    // A manifest from before is what it was.
    assert_eq!(SignedManifest::decode(&container(body.as_bytes())).unwrap().manifest().zones, None);
    let null = body.replace(r#""sealed_schema""#, r#""zones":null,"sealed_schema""#);
    assert!(SignedManifest::decode(&container(null.as_bytes())).is_err());
    for bytes in [0, MAX_ZONES_BYTES + 1] {
        let zones = Some(PartFile { digest, bytes });
        assert_eq!(fault(&Manifest { zones, ..manifest() }), ManifestFault::Zones { bytes });
    }
    let empty = Manifest { zones, parts: Vec::new(), rows: 0, ..manifest() };
    assert_eq!(fault(&empty), ManifestFault::Zones { bytes: 300 });
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let bytes = sign(manifest()).as_bytes().to_vec();
    for length in 0..bytes.len() {
        let error = SignedManifest::decode(&bytes[..length]).unwrap_err();
        let expected = if length < 8 { "HUSH-T001" } else { "HUSH-T003" };
        assert_eq!(error.code(), expected, "truncated to {length}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(SignedManifest::decode(&longer).unwrap_err().code(), "HUSH-T003");
}

#[test]
fn every_bit_of_the_header_and_random_ones_elsewhere() {
    let good = sign(manifest()).as_bytes().to_vec();
    let mut random = Random::fresh();
    let anywhere: Vec<usize> = (0..2000).map(|_| random.below(good.len() * 8)).collect();
    for bit in (0..20 * 8).chain(anywhere) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = SignedManifest::decode(&bytes).expect_err("a flipped bit");
        let codes = ["HUSH-T001", "HUSH-T002", "HUSH-T003", "HUSH-T004", "HUSH-T005"];
        assert!(codes.contains(&error.code()), "bit {bit}, seed {}: {error}", random.seed);
    }
}

#[test]
fn length_fields_are_not_believed() {
    let good = sign(manifest()).as_bytes().to_vec();
    for length in [0, 1, 1 << 31, 1 << 63, u64::MAX, MAX_BODY_BYTES, MAX_BODY_BYTES + 1] {
        let mut bytes = good.clone();
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        let code = SignedManifest::decode(&bytes).unwrap_err().code();
        assert_eq!(code, if length > MAX_BODY_BYTES { "HUSH-T004" } else { "HUSH-T003" }, "{length}");
    }
}

#[test]
fn other_texts_of_the_same_manifest_are_refused() {
    let body = golden_body();
    assert!(SignedManifest::decode(&container(body.as_bytes())).is_ok());
    let wrong = [
        (body.replacen(',', ", ", 1), "HUSH-T008"),
        (body.replace("\"dead\"", "\"DEAD\""), "HUSH-T007"),
        (body.replace("\"patients\"", "\"p\\u0061tients\""), "HUSH-T008"),
        (body.replacen("{\"format\":2,", "{\"format\":2,\"more\":0,", 1), "HUSH-T007"),
        (body.replacen("{\"id\":1,", "{\"id\":1,\"more\":0,", 1), "HUSH-T008"),
        (body.replacen("{\"format\":2,", "{\"format\":2,\"format\":2,", 1), "HUSH-T007"),
        (body.replace("\"rows\":5,", "\"rows\":5.0,"), "HUSH-T007"),
        (body.replace("\"rows\":5,", "\"rows\":-5,"), "HUSH-T007"),
        (body.replace("\"rows\":5,", "\"rows\":18446744073709551616,"), "HUSH-T007"),
        (format!("{body} "), "HUSH-T008"),
        (format!("{body}{body}"), "HUSH-T007"),
        ("[".repeat(100_000), "HUSH-T007"),
        (String::new(), "HUSH-T007"),
    ];
    for (body, code) in wrong {
        let found = SignedManifest::decode(&container(body.as_bytes())).unwrap_err();
        assert_eq!(found.code(), code, "{}: {found}", &body[..body.len().min(60)]);
    }
}

#[test]
fn only_the_right_signer_is_accepted() {
    let signed = sign(manifest());
    let (key, _) = credentials(7);
    let (other, sign_as_other) = credentials(8);
    assert!(SignedManifest::decode_signed_by(signed.as_bytes(), &key).is_ok());
    assert_eq!(SignedManifest::decode_signed_by(signed.as_bytes(), &other).unwrap_err().code(), "HUSH-T006");
    assert_eq!(signed.require_key(&other).unwrap_err().code(), "HUSH-T006");
    // A closure that signs with another key than it says is caught before anything is written.
    assert_eq!(SignedManifest::sign(manifest(), &key, sign_as_other).unwrap_err().code(), "HUSH-T005");
    // The identity point is a "key" under which anybody can sign; strict verification refuses it.
    let mut weak = [0; 32];
    weak[0] = 1;
    let forged = |_: &[u8]| {
        let mut signature = [0; 64];
        signature[0] = 1;
        signature
    };
    assert_eq!(
        SignedManifest::sign(Manifest { key_id: key_id(&weak), ..manifest() }, &weak, forged)
            .unwrap_err()
            .code(),
        "HUSH-T005"
    );
}

#[test]
fn nobody_signs_under_the_key_id_of_another() {
    let (other, sign_as_other) = credentials(8);
    let refused = SignedManifest::sign(manifest(), &other, sign_as_other).unwrap_err();
    assert!(matches!(refused, TableError::BadManifest { fault: ManifestFault::KeyIdOfSigner }), "{refused}");
    let own = key_id(&signer(7).verifying_key().to_bytes());
    let foreign = golden_body().replace(&own, &key_id(&other));
    let refused = SignedManifest::decode(&container(foreign.as_bytes())).unwrap_err();
    assert!(matches!(refused, TableError::BadManifest { fault: ManifestFault::KeyIdOfSigner }), "{refused}");
}

#[test]
fn pins_refuse_the_past_and_forks() {
    let version = |version, name: &str| sign(Manifest { version, table: name.to_owned(), ..manifest() });
    let pin = Pin::of(&version(3, "a"));
    assert!(pin.check(&version(3, "a")).is_ok());
    assert!(pin.check(&version(4, "b")).is_ok());
    assert_eq!(pin.check(&version(2, "a")).unwrap_err().code(), "HUSH-T010");
    assert_eq!(pin.check(&version(3, "b")).unwrap_err().code(), "HUSH-T011");
    let other = sign(Manifest { table_id: TableId::from_bytes([0; 16]), version: 9, ..manifest() });
    assert_eq!(pin.check(&other).unwrap_err().code(), "HUSH-T021");
}

/// One change of the good manifest and the rule that it must break.
type Broken = (fn(&mut Manifest), ManifestFault);

#[test]
fn every_rule_of_the_head_is_checked() {
    let broken: Vec<Broken> = vec![
        (|m| m.format = 3, ManifestFault::Format { found: 3, expected: 2 }),
        (|m| m.table.clear(), ManifestFault::TableName),
        (|m| m.table = "../x".to_owned(), ManifestFault::TableName),
        (|m| m.table = "a/b".to_owned(), ManifestFault::TableName),
        (|m| m.table = "a\nb".to_owned(), ManifestFault::TableName),
        (|m| m.table = "x".repeat(65), ManifestFault::TableName),
        (|m| m.version = 0, ManifestFault::Version),
        (|m| m.key_id = "0".repeat(31), ManifestFault::KeyId),
        (|m| m.key_id = "0".repeat(33), ManifestFault::KeyId),
        (|m| m.key_id = "G".repeat(32), ManifestFault::KeyId),
        (|m| m.chunk_rows = 4096, ManifestFault::ChunkRows { found: 4096, expected: 8192 }),
        (|m| m.clear_columns.push(m.clear_columns[0].clone()), ManifestFault::ClearName { index: 1 }),
        (|m| m.clear_columns[0].name.clear(), ManifestFault::ClearName { index: 0 }),
        (|m| m.clear_columns[0].arrow_type = "List(Int8)".to_owned(), ManifestFault::ClearType { index: 0 }),
        (|m| m.clear_columns[0].arrow_type = " Utf8".to_owned(), ManifestFault::ClearType { index: 0 }),
        (
            |m| m.clear_columns[0].arrow_type = "Decimal128(39, 2)".to_owned(),
            ManifestFault::ClearType { index: 0 },
        ),
        (|m| m.sealed_columns = 4097, too_many(Counted::SealedColumns, 4097, 4096)),
        (|m| m.sealed_schema = vec![0; MAX_SCHEMA_BYTES + 1], {
            too_many(Counted::SchemaBytes, MAX_SCHEMA_BYTES as u64 + 1, MAX_SCHEMA_BYTES as u64)
        }),
        (|m| m.encodings = (0..4097).map(encoding).collect(), too_many(Counted::Encodings, 4097, 4096)),
        (
            |m| {
                m.encodings.clear();
                m.clear_columns.clear();
                m.sealed_columns = 0;
            },
            ManifestFault::NoColumns,
        ),
    ];
    check_all(broken);
}

#[test]
fn every_rule_of_encodings_is_checked() {
    let id = EncodingId(4);
    let plain = |id| ManifestFault::Plaintext { id };
    let broken: Vec<Broken> = vec![
        (|m| m.encodings[1].id = EncodingId(1), ManifestFault::EncodingOrder { id: EncodingId(1) }),
        (|m| m.encodings[1].id = EncodingId(0), ManifestFault::EncodingOrder { id: EncodingId(0) }),
        (|m| m.encodings[1].params = "n5_q1x20".to_owned(), ManifestFault::Params { id }),
        (|m| sum(m, 1), plain(id)),
        (|m| sum(m, 92), plain(id)),
        (|m| sum(m, u32::MAX), plain(id)),
        (|m| scale(m, 0), plain(id)),
        (|m| scale(m, 92), plain(id)),
        (|m| scale(m, 251), plain(id)),
        (|m| slots(m, vec![]), plain(id)),
        (|m| slots(m, vec![65539]), plain(id)),
        (|m| slots(m, vec![hush_params::PLAINTEXT_PRIMES_32[0]; 2]), plain(id)),
        (
            |m| slots(m, vec![hush_params::PLAINTEXT_PRIMES_32[0], hush_params::PLAINTEXT_PRIMES_45[0]]),
            plain(id),
        ),
    ];
    check_all(broken);
    let mut good = manifest();
    slots(&mut good, hush_params::PLAINTEXT_PRIMES_32[..3].to_vec());
    good.check().unwrap();
    for log2 in [1, 91] {
        scale(&mut good, log2);
        good.check().unwrap();
    }
}

/// What is no packing cannot be had but as text.
#[test]
fn a_plaintext_space_of_another_layout_breaks_a_rule_of_encodings() {
    let body = String::from_utf8(manifest().to_json().unwrap()).unwrap();
    let second = body.find(r#"{"id":4,"layout":"sum""#).unwrap();
    for (from, to) in [
        (r#""layout":"sum""#, r#""layout":"slots""#),
        (r#""layout":"sum""#, r#""layout":"approx_sum""#),
        (r#"{"power_of_two":{"log2":64}}"#, r#"{"scale":{"log2":64}}"#),
        (r#"{"power_of_two":{"log2":64}}"#, r#"{"primes":{"primes":[4293918721]}}"#),
    ] {
        let changed = body[..second].to_owned() + &body[second..].replacen(from, to, 1);
        let read = SignedManifest::decode(&container(changed.as_bytes()));
        let expected = ManifestFault::Plaintext { id: EncodingId(4) };
        assert!(matches!(read, Err(TableError::BadManifest { fault }) if fault == expected), "{to}");
    }
}

#[test]
fn every_rule_of_parts_is_checked() {
    let rows = |index, rows, chunks| ManifestFault::PartRows { index, rows, chunks };
    let broken: Vec<Broken> = vec![
        (|m| m.parts[0].rows += 1, rows(0, 524_289, 64)),
        (|m| m.parts[0].rows -= 8192, rows(0, 516_096, 64)),
        (|m| m.parts[0].chunks = 65, rows(0, 524_288, 65)),
        (|m| m.parts[1].chunks = 0, rows(1, 5, 0)),
        (|m| m.parts[1].rows = 0, rows(1, 0, 1)),
        (|m| m.parts[1].chunks = u32::MAX, rows(1, 5, u32::MAX)),
        (|m| m.parts[1].clear = None, ManifestFault::PartFiles { index: 1 }),
        (|m| m.parts[1].encrypted = None, ManifestFault::PartFiles { index: 1 }),
        (|m| m.clear_columns.clear(), ManifestFault::PartFiles { index: 0 }),
        (
            |m| m.parts[1].encrypted.as_mut().unwrap().bytes = 0,
            ManifestFault::PartBytes { index: 1, bytes: 0 },
        ),
        (
            |m| m.parts[1].clear.as_mut().unwrap().bytes = u64::MAX,
            ManifestFault::PartBytes { index: 1, bytes: u64::MAX },
        ),
        (|m| m.parts[1].encrypted = m.parts[0].encrypted, ManifestFault::PartRepeated { index: 1 }),
        (|m| m.rows = u64::MAX, ManifestFault::Rows { found: 524_293, expected: u64::MAX }),
        // Dropped, repeated parts: the sum of rows tells.
        (
            |m| {
                m.parts.pop();
            },
            ManifestFault::Rows { found: 524_288, expected: 524_293 },
        ),
        (|m| m.parts.push(m.parts[1].clone()), ManifestFault::PartRepeated { index: 2 }),
    ];
    check_all(broken);
}

#[test]
fn a_table_of_the_most_parts_fits_its_container() {
    // The longest entry that a full part can have.
    let file = |number: usize, kind: &str| {
        let digest = Digest::of(format!("{number}{kind}").as_bytes());
        Some(PartFile { digest, bytes: MAX_PART_BYTES })
    };
    let entry = |number| PartEntry {
        rows: 524_288,
        chunks: 64,
        clear: file(number, "c"),
        encrypted: file(number, "e"),
        delivery: None,
        append: None,
        first_chunk: None,
        dead: None,
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    };
    let most = Manifest {
        parts: (0..MAX_PARTS).map(entry).collect(),
        rows: 524_288 * MAX_PARTS as u64,
        ..manifest()
    };
    assert!(most.to_json().unwrap().len() as u64 <= MAX_BODY_BYTES);
    most.check().unwrap();
    assert_eq!(most.chunk_count(), 64 * MAX_PARTS as u32);
    let (place, _) = most.placed_parts().last().unwrap();
    assert_eq!(place.first_row, 524_288 * (MAX_PARTS as u64 - 1));
    let mut above = most;
    above.parts.push(above.parts[0].clone());
    assert_eq!(fault(&above), too_many(Counted::Parts, MAX_PARTS as u64 + 1, MAX_PARTS as u64));
}

#[test]
fn clear_types_have_one_text_each() {
    use arrow::datatypes::TimeUnit::{Microsecond, Nanosecond, Second};
    let kinds = [
        DataType::Boolean,
        DataType::Int64,
        DataType::UInt8,
        DataType::Float64,
        DataType::Utf8,
        DataType::Date32,
        DataType::Timestamp(Microsecond, None),
        DataType::Time32(Second),
        DataType::Time64(Nanosecond),
        DataType::Decimal128(38, 10),
        DataType::Decimal256(76, 0),
    ];
    for kind in kinds {
        let column = ClearColumn::new("c", &kind).unwrap();
        assert_eq!(column.data_type(), Some(kind));
    }
    let nested = DataType::new_list(DataType::Int8, true);
    for kind in [nested, DataType::Binary, DataType::Null, DataType::Time32(Nanosecond)] {
        assert_eq!(ClearColumn::new("c", &kind).unwrap_err().code(), "HUSH-T041", "{kind}");
    }
}

#[test]
fn decimals_have_room_for_their_scale() {
    for (precision, scale, expected) in [
        (1, 0, true),
        (38, 38, true),
        (38, 0, true),
        (0, 0, false),
        (39, 2, false),
        (5, 6, false),
        (5, -1, false),
    ] {
        let kind = DataType::Decimal128(precision, scale);
        assert_eq!(conform::is_clear_type(&kind), expected, "{kind}");
    }
    assert!(conform::is_clear_type(&DataType::Decimal256(76, 76)));
    assert!(!conform::is_clear_type(&DataType::Decimal256(77, 2)));
}

/// Sealed columns alone are reason enough for encrypted files.
#[test]
fn tables_have_encrypted_files_for_what_is_in_them() {
    let with = |encodings, sealed_columns| Manifest { encodings, sealed_columns, ..manifest() };
    assert!(with(vec![], 1).has_encrypted_files() && with(vec![encoding(1)], 0).has_encrypted_files());
    assert!(!with(vec![], 0).has_encrypted_files());
}

/// Chunks of the owner's parts are numbered through the table, those of a delivery within it.
#[test]
fn chunks_keep_the_number_that_they_were_written_with() {
    let stream = crate::StreamId::from_bytes([4; 16]);
    let device = crate::DeviceId::from_bytes([5; 16]);
    let mut table = manifest();
    table.parts.push(table.parts[1].clone());
    assert_eq!([0, 63, 64, 65, 66].map(|chunk| table.written_index(chunk)), [0, 63, 64, 65, 66]);
    table.parts[1].chunks = 2;
    table.parts[1].delivery = Some(crate::DeliveryId { device, stream, number: 0 });
    assert_eq!([0, 63, 64, 65, 66, 67].map(|chunk| table.written_index(chunk)), [0, 63, 0, 1, 66, 67]);
}

#[test]
fn a_part_suits_its_table_or_not() {
    let table = manifest();
    let mut part = table.parts[1].clone();
    assert!(table.suits(&part));
    part.clear = None;
    assert!(!table.suits(&part));
    assert!(!table.suits(&PartEntry { rows: 8193, ..table.parts[1].clone() }));
}

#[test]
fn lengths_that_are_wrong_are_told() {
    let bytes = sign(manifest()).as_bytes().to_vec();
    match UncheckedManifest::decode(&bytes[..10]).err() {
        Some(TableError::WrongLength { found: 10, expected: 116 }) => {}
        other => panic!("{other:?}"),
    }
}

fn sum(manifest: &mut Manifest, t_log2: u32) {
    manifest.encodings[1].packing = Packing::Sum(Sum { t_log2 });
}

fn scale(manifest: &mut Manifest, scale_log2: u32) {
    manifest.encodings[1].packing = Packing::ApproxSum(ApproxSum { scale_log2 });
}

fn slots(manifest: &mut Manifest, primes: Vec<u64>) {
    manifest.encodings[1].packing = Packing::Slots(Slots::of(primes));
}

fn too_many(what: Counted, found: u64, limit: u64) -> ManifestFault {
    ManifestFault::TooMany { what, found, limit }
}

/// Checks each change alone, both on the struct and on a container that somebody signed all the same.
fn check_all(broken: Vec<Broken>) {
    manifest().check().unwrap();
    for (change, expected) in broken {
        let mut changed = manifest();
        change(&mut changed);
        assert_eq!(fault(&changed), expected);
        let read = SignedManifest::decode(&container(&changed.to_json().unwrap()));
        assert!(matches!(read, Err(TableError::BadManifest { fault }) if fault == expected));
    }
}
