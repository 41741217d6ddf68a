// SPDX-License-Identifier: Apache-2.0
//! Damaged private halves. A damaged envelope does not open. Damaged contents, as a program of another version might seal them,
//! are refused with a code or survive sealing again; then keys are derived and queries planned.
//!
//! `tests/corpus/README.md` describes the files from which this starts. `HUSH_MUTATIONS` multiplies the number of copies, and
//! `HUSH_MUTATION_SEED` gives other ones.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use hush_keys::OwnerSeed;
use hush_keys::keyfile::{Passphrase, load};
use hush_plan::predict::Site;
use hush_plan::{Limits, plan_query};
use hush_testkit::{Corpus, CorpusFile};

use super::*;
use crate::columns::ColumnKeys;
use crate::corpus::corpus;

/// Queries with the schemas and encodings of the planner's corpus that were made for them.
const QUERIES: [[&str; 3]; 4] = [
    [
        "aggregate",
        "patients",
        "SELECT ward, COUNT(*), AVG(age), STDDEV(charges), SUM(age * weight) FROM patients GROUP BY ward",
    ],
    [
        "rows",
        "patients",
        "SELECT ward, age * visits - 3, -charges + disc FROM patients WHERE year > 2020 AND ward LIKE 'a%'",
    ],
    [
        "approximate",
        "patients",
        "SELECT score * rate - 2.50, age FROM patients WHERE NOT (weight IS NULL) LIMIT 10",
    ],
    [
        "joint",
        "patients",
        "SELECT ward, SUM(age + bp), CORR(age, bp), REGR_SLOPE(charges, age) FROM patients GROUP BY ward",
    ],
];

const ROWS: u64 = 1000;

/// The owner that sealed the files of the corpus, with the table's id.
pub(crate) struct Owner {
    seed: OwnerSeed,
    table_id: u8,
    /// Private halves that signed manifests could have, one for each query.
    halves: Vec<PrivateHalf>,
}

impl Owner {
    /// The key of the corpus of key files: it never protected anything.
    pub(crate) fn of_the_corpus() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("key.hushkey");
        std::fs::write(&copy, include_bytes!("../../../hush-keys/tests/corpus/0.1/key.hushkey")).unwrap();
        std::fs::set_permissions(&copy, Permissions::from_mode(0o600)).unwrap();
        let seed = load(&copy, &Passphrase::new("of the corpus".to_owned())).unwrap();
        let halves = QUERIES.map(|[name, schema, _]| half(name, schema)).to_vec();
        Self { seed, table_id: 9, halves }
    }

    fn keys(&self) -> TableKeys<'_> {
        self.of_table(self.table_id)
    }

    fn of_table(&self, table_id: u8) -> TableKeys<'_> {
        self.seed.of_table([table_id; 16], [1; 16])
    }

    fn sealed(&self, table_id: u8, place: &[u8], contents: &[u8]) -> Vec<u8> {
        self.of_table(table_id).schema_seal().seal(place, contents).unwrap()
    }
}

/// A file that the planner's corpus reads.
fn of_the_planner(name: &str) -> String {
    let corpus = Corpus::of(concat!(env!("CARGO_MANIFEST_DIR"), "/../hush-plan"));
    let file = corpus.files().into_iter().find(|file| file.reason.is_empty() && file.name == name).unwrap();
    String::from_utf8(file.bytes).unwrap()
}

/// The private half for one of the queries.
fn half(encodings: &str, schema: &str) -> PrivateHalf {
    let encodings = serde_json::from_str(&of_the_planner(&format!("encodings-{encodings}"))).unwrap();
    PrivateHalf::new(from_toml(&of_the_planner(&format!("schema-{schema}"))).unwrap(), encodings)
}

/// The contents of the sealed bytes.
fn json(half: &PrivateHalf) -> String {
    let (schema, encodings) = (to_toml(&half.schema), half.encodings.clone());
    serde_json::to_string(&Stored {
        format: FORMAT,
        schema,
        encodings,
        sealed: None,
        cubes: Vec::new(),
        next_cube: None,
        cipher: None,
        runs: Vec::new(),
        next_run: None,
        pending: None,
    })
    .unwrap()
}

fn code(error: &ClientError) -> String {
    assert!(["HUSH-C010", "HUSH-C050", "HUSH-K021"].contains(&error.code()), "{error}");
    error.code().to_owned()
}

/// Opens sealed bytes, and checks that the half survives sealing again.
pub(crate) fn envelope(owner: &Owner, sealed: &[u8]) -> Result<PrivateHalf, String> {
    let opened = PrivateHalf::open(owner.keys(), sealed).map_err(|error| code(&error))?;
    let again = opened.seal(owner.keys()).unwrap();
    assert_eq!(PrivateHalf::open(owner.keys(), &again).unwrap(), opened);
    Ok(opened)
}

/// Opens contents under the owner's seal, plans all queries and derives keys. Returns the outcomes.
pub(crate) fn contents(owner: &Owner, contents: &[u8]) -> Result<Vec<&'static str>, String> {
    let opened = envelope(owner, &owner.sealed(owner.table_id, PLACE, contents))?;
    let mut seen: Vec<_> = QUERIES.iter().map(|[_, _, query]| planned(&opened, query)).collect();
    seen.extend(owner.halves.iter().map(|half| derived(owner, &opened, half)));
    Ok(seen)
}

/// Halves as they are sealed, and other bytes that the key could have sealed.
pub(crate) fn made(owner: &Owner) -> Vec<CorpusFile> {
    let (table_id, first) = (owner.table_id, json(&owner.halves[0]));
    let sealed = |contents: &str| owner.sealed(table_id, PLACE, contents.as_bytes());
    let mut files = Vec::new();
    for ([name, ..], half) in QUERIES.iter().zip(&owner.halves) {
        files.push(CorpusFile::read(&format!("half-{name}"), "json", json(half)));
    }
    let moments = PrivateHalf { encodings: Vec::new(), ..half("aggregate", "moments") };
    files.push(CorpusFile::read("half-without-encodings", "json", json(&moments)));
    files.push(CorpusFile::read("envelope", "bin", sealed(&first)));

    let edited = |from: &str, to: &str| {
        assert!(first.contains(from), "{from}");
        first.replacen(from, to, 1)
    };
    for (name, contents) in [
        ("newer", edited("\"format\":2", "\"format\":3")),
        ("earlier", edited("\"format\":2", "\"format\":1")),
        ("unknown-member", edited("{", "{\"more\":0,")),
        ("unknown-cipher", edited("{", "{\"cipher\":\"none\",")),
        ("format-twice", edited("{", "{\"format\":2,")),
        ("schema-is-none", edited("[columns.ward]", "[columns.ward")),
        ("schema-of-newer-format", edited("format = 1\\n", "format = 2\\n")),
        ("schema-null", edited("\"schema\":\"", "\"schema\":null,\"x\":\"")),
        ("unknown-layout", edited("\"layout\":\"", "\"layout\":\"x")),
        ("unknown-content", edited("\"content\":{\"", "\"content\":{\"x")),
        ("negative-id", edited("\"id\":0", "\"id\":-1")),
        ("deep", "[".repeat(10_000)),
        (
            "deep-content",
            edited("\"content\":", &("\"content\":".to_owned() + &"{\"where\":{\"content\":".repeat(1000))),
        ),
        ("cut", first[..first.len() / 2].to_owned()),
        ("empty", String::new()),
        ("two", first.repeat(2)),
    ] {
        files.push(CorpusFile::refused(&format!("half-{name}"), "HUSH-C010", "json", contents));
    }
    let good = sealed(&first);
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let bytes = first.as_bytes();
    for (name, bytes) in [
        ("other-nonce", flipped(0)),
        ("flipped-bit", flipped(100)),
        ("other-tag", flipped(good.len() - 1)),
        ("cut", good[..good.len() / 2].to_vec()),
        ("nonce-alone", good[..24].to_vec()),
        ("longer", [good.as_slice(), &[0]].concat()),
        ("empty", Vec::new()),
        ("of-another-table", owner.sealed(8, PLACE, bytes)),
        ("of-another-place", owner.sealed(table_id, b"elsewhere", bytes)),
        (
            "of-another-owner",
            OwnerSeed::generate()
                .unwrap()
                .of_table([table_id; 16], [1; 16])
                .schema_seal()
                .seal(PLACE, bytes)
                .unwrap(),
        ),
        ("not-sealed", bytes.to_vec()),
    ] {
        files.push(CorpusFile::refused(&format!("envelope-{name}"), "HUSH-K021", "bin", bytes));
    }
    files
}

#[test]
fn damaged_envelopes_do_not_open() {
    let owner = Owner::of_the_corpus();
    let accepted = corpus().damaged("envelope", 2000, |file, bytes| {
        let opened = envelope(&owner, bytes);
        assert!(opened.is_err() || bytes == file.bytes);
        opened.is_ok()
    });
    assert!(accepted.copies <= accepted.of / 10, "{accepted:?}");
}

#[test]
fn damaged_contents_are_refused_or_can_be_worked_with() {
    let owner = Owner::of_the_corpus();
    let mut seen = BTreeMap::<&str, usize>::new();
    let accepted = corpus().damaged("half", 300, |_, bytes| {
        let done = contents(&owner, bytes);
        done.iter().flatten().for_each(|what| *seen.entry(what).or_default() += 1);
        done.is_ok()
    });
    assert!(accepted.copies > accepted.of / 100, "{accepted:?}");
    for what in ["keys", "planned"] {
        assert!(seen.get(what).is_some_and(|times| *times > 2), "{what}: {seen:?}");
    }
}

/// Keys are derived once the half was compared with the signed manifest, as `open_private` does.
fn derived(owner: &Owner, opened: &PrivateHalf, half: &PrivateHalf) -> &'static str {
    let public = |half: &PrivateHalf| -> Vec<_> {
        half.encodings.iter().map(|encoding| encoding.public.clone()).collect()
    };
    if public(opened) != public(half) {
        return "of another manifest";
    }
    let keys = ColumnKeys::derive(owner.keys(), &opened.encodings);
    keys.map_or_else(|error| error.code(), |_| "keys")
}

fn planned(opened: &PrivateHalf, query: &str) -> &'static str {
    let plan = hush_plan::sql::parse(&opened.schema, query).and_then(|query| {
        let digest = "0".repeat(64);
        plan_query(&opened.schema, &opened.encodings, &Site::local(ROWS), &digest, &query, &Limits::default())
    });
    plan.map_or_else(|error| error.code(), |_| "planned")
}
