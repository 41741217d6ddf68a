// SPDX-License-Identifier: Apache-2.0
//! Manifests of the corpus: of every form, bodies that break a rule behind a good signature, containers that break one before
//! it.

use arrow::datatypes::{DataType, TimeUnit};
use hush_params::{ChainParams, Params};
use hush_plan::packing::{ApproxSlots, ApproxSum, Packing, Slots, Sum};
use hush_plan::{Encoding, EncodingId};
use hush_table::manifest::{
    BODY_FORMAT, ChainDefinition, ClearColumn, ColumnLength, DeviceRules, KeyEntry, KeyKind, Lengths,
    Manifest, PartEntry, PartFile, key_id,
};
use hush_table::{CHUNK_ROWS, Digest, EncryptionId, SecretId, TableId};
use hush_testkit::CorpusFile;

use super::readers::{container, golden, signer};

pub(crate) fn made() -> Vec<CorpusFile> {
    [manifests(), bodies(), keyed_bodies(), containers()].concat()
}

/// Two parts, clear columns of three types, all layouts, a sealed column.
fn whole() -> Manifest {
    let file = |text: &str, bytes| Some(PartFile { digest: Digest::of(text.as_bytes()), bytes });
    let encoding =
        |id, packing| Encoding { id: EncodingId(id), params: "n12_q2x46_sec128_v1".to_owned(), packing };
    let clear = |name: &str, kind: DataType| ClearColumn::new(name, &kind).unwrap();
    let primes = hush_params::PLAINTEXT_PRIMES_32[..3].to_vec();
    Manifest {
        format: BODY_FORMAT,
        table: "corpus-1_A".to_owned(),
        table_id: TableId::from_bytes(*b"0123456789abcdef"),
        encryption: EncryptionId::from_bytes(*b"an encryption .."),
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: u64::MAX,
        key_id: key_id(&signer().verifying_key().to_bytes()),
        predecessors: Vec::new(),
        rows: 64 * u64::from(CHUNK_ROWS) + 5,
        chunk_rows: CHUNK_ROWS,
        clear_columns: vec![
            clear("ward", DataType::Utf8),
            clear("süd \"x\"\n", DataType::Decimal128(38, 38)),
            clear("when", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ],
        encodings: vec![
            encoding(0, Packing::Sum(Sum { t_log2: 64 })),
            encoding(1, Packing::ApproxSum(ApproxSum { scale_log2: 40 })),
            encoding(7, Packing::ApproxSlots(ApproxSlots { scale_log2: 30 })),
            encoding(u32::MAX, Packing::Slots(Slots::of(primes))),
        ],
        sealed_columns: 1,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts: vec![
            PartEntry {
                rows: 524_288,
                chunks: 64,
                clear: file("c0", 1000),
                encrypted: file("e0", 1 << 30),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: None,
                cubes: None,
                runs: None,
                domain: 0,
                generation: 0,
            },
            PartEntry {
                rows: 5,
                chunks: 1,
                clear: file("c0", 10),
                encrypted: file("e1", 20),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: None,
                cubes: None,
                runs: None,
                domain: 0,
                generation: 0,
            },
        ],
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: vec![0xde, 0xad],
    }
}

/// The same with a chain that is no preset, and keys over it and over a preset.
fn keyed() -> Manifest {
    let own = ChainParams::uniform(8192, 40, 1, 3, 1, 1).unwrap();
    let entry = |params: &Params, kind: KeyKind| {
        let bytes = KeyEntry::expected_bytes(&kind, params).unwrap();
        let file = PartFile { digest: Digest::of(params.name().as_bytes()), bytes };
        let secret = SecretId::from_bytes(*b"secret of chains");
        KeyEntry { kind, params: params.name(), unit: 65537, secret, file }
    };
    let preset = Params::named("n12_q2p1x34_d1_sec128_v1").unwrap();
    let chains = vec![ChainDefinition::of(&own)];
    let keys = vec![
        entry(&preset, KeyKind::Relinearisation),
        entry(&Params::Chain(own.into()), KeyKind::Galois { elements: vec![3, 25, 16383] }),
    ];
    Manifest { chains, keys, ..whole() }
}

/// Bodies with keys that break a rule.
fn keyed_bodies() -> Vec<CorpusFile> {
    let body = String::from_utf8(keyed().to_json().unwrap()).unwrap();
    let edited = |from: &str, to: &str| {
        assert!(body.contains(from), "{from}");
        body.replacen(from, to, 1).into_bytes()
    };
    let bytes = keyed().keys[0].file.bytes;
    let cases = [
        ("key-of-other-bytes", edited(&format!("\"bytes\":{bytes}"), &format!("\"bytes\":{}", bytes + 1))),
        ("key-without-unit", edited("\"unit\":65537", "\"unit\":0")),
        ("key-of-a-ring", edited("n12_q2p1x34_d1_sec128_v1", "n12_q3x34_sec128_v1")),
        ("key-of-no-chain", edited("\"params\":\"chain:", "\"params\":\"chain:0")),
        ("galois-elements-even", edited("[3,25,16383]", "[3,24,16383]")),
        ("galois-elements-fall", edited("[3,25,16383]", "[25,3,16383]")),
        ("chain-that-is-insecure", edited("3100000000200000", "3100000000080000")),
        ("chain-that-is-a-toy", edited("31000000002000000001", "31000000002000000101")),
        ("chain-with-more-bytes", edited("\"],\"keys\"", "00\"],\"keys\"")),
    ];
    let refused = |(name, body): (&str, Vec<u8>)| {
        CorpusFile::refused(&format!("manifest-{name}"), "HUSH-T008", "hush", container(&body))
    };
    cases.into_iter().map(refused).collect()
}

fn signed(manifest: &Manifest) -> Vec<u8> {
    container(&manifest.to_json().unwrap())
}

fn manifests() -> Vec<CorpusFile> {
    let all = whole();
    let mut clear_only = Manifest { encodings: Vec::new(), sealed_columns: 0, ..all.clone() };
    clear_only.parts.iter_mut().for_each(|part| part.encrypted = None);
    let mut encrypted_only = Manifest { clear_columns: Vec::new(), sealed_schema: Vec::new(), ..all.clone() };
    encrypted_only.parts.iter_mut().for_each(|part| part.clear = None);
    let zoned = PartFile { digest: Digest::of(b"zones"), bytes: 64 << 20 };
    let zoned = Manifest { zones: Some(zoned), ..all.clone() };
    let mut altered = all.clone();
    altered.begin_generation();
    altered.encodings.remove(1);
    (altered.sealed_columns, altered.unsealed) = (2, vec![0]);
    altered.parts[1].generation = 1;
    altered.generations[0].incomplete = true;
    let length = |column, rows, bytes| ColumnLength { column, rows, bytes };
    let lengths =
        Lengths { clear: vec![length(0, 524_293, u64::from(u32::MAX))], sealed: vec![length(0, 5, 0)] };
    let counted = Manifest { lengths, ..all.clone() };
    let mut shared = all.clone();
    shared.encodings[3] = Encoding {
        params: "n14_q5x46_sec128_v1".to_owned(),
        packing: Packing::Slots(Slots { primes: vec![65_537], shared: true }),
        ..shared.encodings[3].clone()
    };
    let empty = Manifest { rows: 0, parts: Vec::new(), ..all.clone() };
    let good = [
        ("whole", all),
        ("clear-only", clear_only),
        ("encrypted-only", encrypted_only),
        ("empty", empty),
        ("keyed", keyed()),
        ("zoned", zoned),
        ("altered", altered),
        ("counted", counted),
        ("shared", shared),
    ];
    let files = good
        .iter()
        .map(|(name, manifest)| CorpusFile::read(&format!("manifest-{name}"), "hush", signed(manifest)));
    files.chain([CorpusFile::read("manifest-golden", "hush", golden("manifest.hush"))]).collect()
}

/// Bodies that the owner's own key signed.
fn bodies() -> Vec<CorpusFile> {
    let body = String::from_utf8(whole().to_json().unwrap()).unwrap();
    let edited = |from: &str, to: &str| {
        assert!(body.contains(from), "{from}");
        body.replacen(from, to, 1).into_bytes()
    };
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    let lengths =
        |members: &str| edited("\"sealed_schema\"", &format!("\"lengths\":{{{members}}},\"sealed_schema\""));
    let own = key_id(&signer().verifying_key().to_bytes());
    let cases = [
        ("no-version", "HUSH-T008", edited("\"version\":18446744073709551615", "\"version\":0")),
        ("other-chunk-rows", "HUSH-T008", edited("\"chunk_rows\":8192", "\"chunk_rows\":8191")),
        ("clear-name-twice", "HUSH-T008", edited("\"when\"", "\"ward\"")),
        ("encoding-twice", "HUSH-T008", edited("\"id\":7", "\"id\":1")),
        ("layout-of-another-plaintext", "HUSH-T008", edited("\"layout\":\"sum\"", "\"layout\":\"slots\"")),
        (
            "shared-slots-of-several-primes",
            "HUSH-T008",
            edited("\"layout\":\"slots\"", "\"layout\":\"shared_slots\""),
        ),
        ("prime-twice", "HUSH-T008", edited("[4293918721,4291952641", "[4293918721,4293918721")),
        ("no-such-prime", "HUSH-T008", edited("[4293918721,", "[4293918723,")),
        ("too-many-sealed-columns", "HUSH-T008", edited("\"sealed_columns\":1", "\"sealed_columns\":4097")),
        ("rows-that-do-not-add-up", "HUSH-T008", edited("\"rows\":524293", "\"rows\":524294")),
        ("part-twice", "HUSH-T008", edited(&digest("e1"), &digest("e0"))),
        (
            "part-without-a-half",
            "HUSH-T008",
            edited(&format!("{{\"digest\":\"{}\",\"bytes\":20}}", digest("e1")), "null"),
        ),
        (
            "zones-of-no-bytes",
            "HUSH-T008",
            edited(
                "\"sealed_schema\"",
                &format!("\"zones\":{{\"digest\":\"{}\",\"bytes\":0}},\"sealed_schema\"", digest("zones")),
            ),
        ),
        ("lengths-of-numbers", "HUSH-T008", lengths("\"clear\":[{\"column\":1,\"rows\":1,\"bytes\":1}]")),
        ("lengths-of-no-rows", "HUSH-T008", lengths("\"sealed\":[{\"column\":0,\"rows\":0,\"bytes\":1}]")),
        (
            "lengths-of-no-column",
            "HUSH-T008",
            lengths("\"sealed\":[{\"column\":4294967295,\"rows\":1,\"bytes\":1}]"),
        ),
        (
            "lengths-that-wrap",
            "HUSH-T008",
            lengths("\"clear\":[{\"column\":0,\"rows\":1,\"bytes\":18446744073709551615}]"),
        ),
        ("lengths-of-nothing", "HUSH-T008", lengths("")),
        ("odd-digits", "HUSH-T007", edited("\"dead\"", "\"dea\"")),
        ("blanks", "HUSH-T008", edited(",", ", ")),
        ("member-twice", "HUSH-T007", edited("{\"format\":2,", "{\"format\":2,\"format\":2,")),
        ("unknown-member", "HUSH-T007", edited("{\"format\":2,", "{\"format\":2,\"more\":0,")),
        ("newer-body", "HUSH-T008", edited("{\"format\":2,", "{\"format\":3,")),
        ("negative-rows", "HUSH-T007", edited("\"rows\":5,", "\"rows\":-5,")),
        ("rows-beyond-64-bits", "HUSH-T007", edited("\"rows\":5,", "\"rows\":18446744073709551616,")),
        ("rows-that-wrap", "HUSH-T008", edited("\"rows\":5,", "\"rows\":18446744073709551615,")),
        ("chunks-that-wrap", "HUSH-T008", edited("\"chunks\":1,", "\"chunks\":4294967295,")),
        ("no-bytes", "HUSH-T008", edited("\"bytes\":20}", "\"bytes\":0}")),
        ("huge-part", "HUSH-T008", edited("\"bytes\":20}", "\"bytes\":9223372036854775808}")),
        ("path-as-name", "HUSH-T008", edited("\"corpus-1_A\"", "\"../x\"")),
        ("control-character-as-name", "HUSH-T008", edited("\"corpus-1_A\"", "\"a\\u001b[31m\"")),
        ("bare-control-character", "HUSH-T007", edited("\"corpus-1_A\"", "\"a\u{1b}[31m\"")),
        ("half-a-surrogate", "HUSH-T007", edited("\"ward\"", "\"\\ud800\"")),
        ("key-id-of-another", "HUSH-T008", edited(&own, &"0".repeat(32))),
        ("unknown-parameters", "HUSH-T008", edited("n12_q2x46_sec128_v1", "n12_q2x46_sec128_v2")),
        ("plaintext-beyond-modulus", "HUSH-T008", edited("\"log2\":64", "\"log2\":4294967295")),
        ("nested-clear-type", "HUSH-T008", edited("\"Utf8\"", &format!("\"{}\"", "List(".repeat(2000)))),
        ("deep", "HUSH-T007", vec![b'['; 10_000]),
        ("empty-body", "HUSH-T007", Vec::new()),
        ("not-text", "HUSH-T007", [&body.as_bytes()[..30], &[0xff, 0xfe], &body.as_bytes()[32..]].concat()),
    ];
    let refused = |(name, code, body): (&str, &str, Vec<u8>)| {
        CorpusFile::refused(&format!("manifest-{name}"), code, "hush", container(&body))
    };
    cases.into_iter().map(refused).collect()
}

/// What is wrong before anything in the body is looked at.
fn containers() -> Vec<CorpusFile> {
    let good = signed(&whole());
    let with = |at: usize, new: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    let end = good.len();
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut weak = with(end - 96, &identity);
    weak[end - 64..].fill(0);
    weak[end - 64] = 1;
    let cases = [
        ("other-magic", "HUSH-T001", with(7, b"2")),
        ("newer-container", "HUSH-T002", with(8, &[3])),
        ("earlier-container", "HUSH-T002", with(8, &[1])),
        ("shorter-than-said", "HUSH-T003", with(12, &(64_u64 << 20).to_le_bytes())),
        ("longer-than-said", "HUSH-T003", [good.as_slice(), &[0]].concat()),
        ("huge-length", "HUSH-T004", with(12, &u64::MAX.to_le_bytes())),
        ("flipped-bit", "HUSH-T005", with(40, &[good[40] ^ 1])),
        // Under the neutral element anybody can sign.
        ("weak-key", "HUSH-T005", weak),
        ("empty-file", "HUSH-T001", Vec::new()),
    ];
    let refused = |(name, code, bytes)| CorpusFile::refused(&format!("manifest-{name}"), code, "hush", bytes);
    cases.into_iter().map(refused).collect()
}
