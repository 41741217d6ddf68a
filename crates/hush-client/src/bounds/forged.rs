// SPDX-License-Identifier: Apache-2.0
//! A server that changes its answers, with right headers and checksums. Numbers that cannot come from rows of the table are
//! refused, in every way to answer.

mod prepared;

use std::path::Path;

use hush_exec::answer::{Answer, EncryptedHalf};
use hush_exec::{Engine, Limits};
use hush_params::presets::preset_by_code;
use hush_plan::{Limits as QueryLimits, WayName};
use hush_remote::Silent;
use hush_table::source::{OpenOptions, Source};
use hush_table::{Digest, TableStore};

use crate::error::ErrorKind;
use crate::owner::{self, EncryptOptions, OwnerKey};
use crate::pins::Pins;
use crate::table::{Evaluator, OwnedTable};

const ROWS: i64 = 300;
const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
[columns.n]
type = "int(16)"
protect = "clear"
[columns.x]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
for = ["sum", "stddev"]
[columns.y]
type = "int(16)"
range = [-100, 100]
protect = "encrypt"
for = ["sum", "product"]
[columns.w]
type = "int(8)"
range = [0, 1]
nullable = true
protect = "encrypt"
[columns.z]
type = "float(3)"
protect = "encrypt"
for = ["sum", "product"]
"#;

/// Every `x` is 500, so that its variance is 0.
fn encrypt(directory: &Path, key: &OwnerKey) {
    let rows: String = (0..ROWS).map(|n| format!("{n},500,{},1,{}.5\n", n % 100, n % 7)).collect();
    encrypt_as(directory, key, SCHEMA, &format!("n,x,y,w,z\n{rows}"));
}

/// Encrypts the rows of a CSV under a schema.
fn encrypt_as(directory: &Path, key: &OwnerKey, described: &str, csv: &str) {
    let (file, schema) = (directory.join("t.csv"), directory.join("schema.toml"));
    std::fs::write(&file, csv).unwrap();
    std::fs::write(&schema, described).unwrap();
    let options = EncryptOptions {
        source: Source::open(&file, &OpenOptions::default()).unwrap(),
        schema: crate::read_approved_schema(&schema).unwrap(),
        output: directory.join("T"),
        workload: None,
        threads: 2,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: false,
    };
    owner::encrypt(&options, key, &Silent).unwrap();
}

/// The table on a server that passes its answers through `forge`.
fn on_a_server(directory: &Path, key: &OwnerKey, forge: fn(Vec<u8>) -> Vec<u8>) -> OwnedTable {
    let table = OwnedTable::open_directory(&directory.join("T"), key, &Pins::forgetful(), 2).unwrap();
    let store = TableStore::local_existing(directory.join("T")).unwrap();
    let engine = Engine::for_table(store, 2, Limits::default()).unwrap();
    OwnedTable { evaluator: Evaluator::Forging(Box::new(engine), forge), ..table }
}

/// Changes every object of an answer, and its checksum.
fn altered(bytes: Vec<u8>, sums: &dyn Fn(u16, &mut [u8]), rows: &dyn Fn(&mut [u8])) -> Vec<u8> {
    const CHECKSUM: usize = 16;
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    let place = |object: &[u8]| {
        let start = object.as_ptr() as usize - bytes.as_ptr() as usize;
        start..start + object.len()
    };
    let mut objects = Vec::new();
    match &answer.encrypted {
        EncryptedHalf::Aggregate(answer) => {
            for block in &answer.blocks {
                let groups = (0..answer.group_count).filter_map(|group| block.object(group));
                let residues =
                    block.body_count as usize * preset_by_code(block.param_code).unwrap().limb_count();
                objects.extend(groups.map(|object| (place(object), Some((block.param_code, 8 * residues)))));
            }
        }
        EncryptedHalf::Products(answer) => {
            let all = answer.runs.iter().flat_map(|run| &run.objects);
            objects.extend(all.map(|object| (place(object), None)));
        }
        EncryptedHalf::Rows(chunks) => {
            let all = chunks.iter().flat_map(|chunk| chunk.programs.iter().chain(&chunk.fetched));
            objects.extend(all.map(|object| (place(object), None)));
        }
    }
    let mut forged = bytes.clone();
    for (place, of_sums) in objects {
        let (object, checksum) = forged[place.clone()].split_at_mut(place.len() - CHECKSUM);
        match of_sums {
            Some((code, length)) => {
                let start = object.len() - length;
                sums(code, &mut object[start..]);
            }
            None => {
                // Behind the header: the first rows.
                rows(&mut object[96..160]);
            }
        }
        checksum.copy_from_slice(&blake3::hash(object).as_bytes()[..CHECKSUM]);
    }
    let signed = forged.len() - 32;
    let checksum = Digest::of(&forged[..signed]);
    forged[signed..].copy_from_slice(checksum.as_bytes());
    forged
}

/// Adds the integer `value` to every sum.
fn add(code: u16, residues: &mut [u8], value: i64) {
    let moduli = preset_by_code(code).unwrap().moduli();
    for (word, q) in residues.chunks_exact_mut(8).zip(moduli.iter().cycle()) {
        let residue = u64::from_le_bytes((&*word).try_into().unwrap());
        let sum = (i128::from(residue) + i128::from(value)).rem_euclid(i128::from(*q));
        word.copy_from_slice(&(sum as u64).to_le_bytes());
    }
}

fn scrambled(bytes: Vec<u8>) -> Vec<u8> {
    altered(
        bytes,
        &|code, residues| {
            // Not the same integer in every limb: a random phase.
            for (at, word) in residues.chunks_exact_mut(8).enumerate() {
                add(code, word, (1 << 44) + 12_345_678_901 * at as i64);
            }
        },
        &|bytes| bytes.iter_mut().step_by(7).for_each(|byte| *byte ^= 0x15),
    )
}

fn added(bytes: Vec<u8>, value: i64) -> Vec<u8> {
    altered(bytes, &|code, residues| add(code, residues, value), &|_| {})
}

/// A change that a server makes to the bytes of an answer.
type Forge = fn(Vec<u8>) -> Vec<u8>;

const QUERIES: [&str; 7] = [
    "SELECT SUM(x) AS v FROM t",
    "SELECT n % 3 AS g, AVG(x) AS v FROM t GROUP BY n % 3",
    "SELECT STDDEV(x) AS v, COUNT(w) AS c FROM t WHERE n < 100",
    "SELECT x FROM t",
    "SELECT y * y AS v FROM t",
    "SELECT z * z AS v FROM t WHERE n < 50",
    // Grouped by the owner, from rows.
    "SELECT n, SUM(x) AS v FROM t GROUP BY n",
];

#[test]
fn falsified_answers_are_refused_whatever_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    encrypt(directory.path(), &key);
    for query in QUERIES {
        on_a_server(directory.path(), &key, |bytes| bytes).ask(query, &Silent).unwrap();
        let refused = on_a_server(directory.path(), &key, scrambled).ask(query, &Silent).unwrap_err();
        assert_eq!((refused.code(), refused.kind()), ("HUSH-C013", ErrorKind::Damaged), "{query}: {refused}");
        // The message has no number that could tell of the secret key or the data.
        assert!(
            !refused.report(hush_plan::error::Front::CommandLine).bytes().any(|byte| byte.is_ascii_digit()),
            "{refused}"
        );
    }
}

#[test]
fn sums_that_no_rows_give_are_refused_and_others_are_not_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    encrypt(directory.path(), &key);
    let refused = |query: &str, forge: fn(Vec<u8>) -> Vec<u8>| {
        let asked = on_a_server(directory.path(), &key, forge).ask(query, &Silent);
        asked.err().map(|error| error.code())
    };
    let cases: [(&str, Forge, Option<&str>); 8] = [
        // 300 rows with values of at most 1000; the query asks for 100 of them.
        ("SELECT SUM(x) FROM t", |bytes| added(bytes, 150_001), Some("HUSH-C013")),
        ("SELECT SUM(x) FROM t", |bytes| added(bytes, -150_001), Some("HUSH-C013")),
        ("SELECT SUM(x) FROM t WHERE n < 100", |bytes| added(bytes, 50_001), Some("HUSH-C013")),
        ("SELECT SUM(x) FROM t WHERE n < 100", |bytes| added(bytes, -50_001), Some("HUSH-C013")),
        // Every row has a value, so one more is impossible.
        ("SELECT COUNT(w) FROM t", |bytes| added(bytes, 1), Some("HUSH-C013")),
        // No numbers have these moments: equal numbers have the smallest sum of squares.
        ("SELECT STDDEV(x) FROM t", |bytes| added(bytes, 1), Some("HUSH-C013")),
        // Whole multiples of t leave the message as it is; honest error is far smaller.
        ("SELECT SUM(x) FROM t", |bytes| added(bytes, 1 << 42), Some("HUSH-C013")),
        // A wrong sum that could be true is accepted.
        ("SELECT SUM(x) FROM t", |bytes| added(bytes, 149_000), None),
    ];
    for (query, forge, expected) in cases {
        assert_eq!(refused(query, forge), expected, "{query}");
    }
}

/// The bytes of an answer that a server has kept.
static KEPT: std::sync::Mutex<Vec<u8>> = std::sync::Mutex::new(Vec::new());

/// Rows that a condition picked, as if they were those of a question without it.
fn exchanged(bytes: Vec<u8>) -> Vec<u8> {
    const PLAN: std::ops::Range<usize> = 80..112;
    let mut forged = KEPT.lock().unwrap().clone();
    forged[PLAN].copy_from_slice(&bytes[PLAN]);
    let signed = forged.len() - 32;
    let checksum = Digest::of(&forged[..signed]);
    forged[signed..].copy_from_slice(checksum.as_bytes());
    forged
}

#[test]
fn rows_are_not_left_out_where_there_is_no_condition() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    encrypt(directory.path(), &key);
    let keeping = |bytes: Vec<u8>| {
        bytes.clone_into(&mut KEPT.lock().unwrap());
        bytes
    };
    for way in [WayName::Fetch, WayName::Rows] {
        let limits = QueryLimits { way: Some(way), ..QueryLimits::default() };
        let on = |forge: Forge| on_a_server(directory.path(), &key, forge).with_limits(limits);
        let some = on(keeping).ask("SELECT n, x FROM t WHERE n > 3", &Silent).unwrap();
        assert!(some.batches[0].num_rows() > 0);
        let error = on(exchanged).ask("SELECT n, x FROM t", &Silent).unwrap_err();
        assert!(error.to_string().contains("all rows of the table"), "{way:?}: {error}");
    }
}
