// SPDX-License-Identifier: Apache-2.0
//! The queries of `tests/queries` on tables of many small parts: whatever way these are cut, and in whatever tree partial answers are
//! put together, the answer has the bytes of one machine. Encrypted, and as a dry run.

use std::path::Path;
use std::sync::Arc;

use hush_exec::{Engine, Limits, PartSet, Stop};
use hush_keys::OwnerSeed;
use hush_remote::Silent;
use hush_table::TableStore;
use hush_table::source::{OpenOptions, Source};
use hush_testkit::Draw;

use crate::encrypt::{encrypt_parts, plan_encodings};
use crate::policy::{Policy, propose_schema, protect_undecided};
use crate::private::PrivateHalf;
use crate::rehearse::used_part;
use crate::scheme::{Lattice, NoOp, Scheme};
use crate::table::{Evaluator, OwnedTable};

/// Cuts of the parts for each plan.
const CUTS: usize = 4;

/// A query of a file, and the table that it asks.
pub(crate) struct Case {
    header: String,
    pub(crate) rows: Vec<String>,
    sensitive: Vec<String>,
    clear: Vec<String>,
    pub(crate) sql: String,
}

impl Case {
    /// Some rows as a file.
    pub(crate) fn source(&self, directory: &Path, name: &str, rows: &[String]) -> Source {
        let path = directory.join(name);
        let lines = std::iter::once(&self.header).chain(rows).flat_map(|line| [line, "\n"]);
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        Source::open(&path, &OpenOptions::default()).unwrap()
    }

    /// Schema and encodings of a table of at most `most` rows that answers the query.
    pub(crate) fn half(&self, whole: &Source, most: usize) -> PrivateHalf {
        let policy = Policy { sensitive: self.sensitive.clone(), clear: self.clear.clone() };
        let mut schema = propose_schema(whole, &policy).unwrap().schema;
        protect_undecided(&mut schema);
        (schema.max_rows, schema.approved) = (most as u64, true);
        let (schema, needs, _) = used_part(&schema, &self.sql).unwrap();
        let encodings = plan_encodings(&schema, &needs, most as u64).unwrap();
        PrivateHalf::new(schema, encodings)
    }
}

/// Every query that is answered, of every file.
pub(crate) fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/queries");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (mut header, mut rows, mut sql) = (String::new(), Vec::new(), String::new());
        let (mut sensitive, mut clear) = (Vec::new(), Vec::new());
        let mut lines = text.lines();
        let names = |list: &str| list.split(',').map(|name| name.trim().to_owned()).collect();
        while let Some(line) = lines.next() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("data", _) => {
                    let mut block = lines.by_ref().take_while(|line| !line.is_empty()).map(str::to_owned);
                    header = block.next().unwrap();
                    rows = block.collect();
                }
                ("sensitive", list) => sensitive = names(list),
                ("clear", list) => clear = names(list),
                ("query", _) => sql = lines.next().unwrap().to_owned(),
                ("expect", _) => {
                    let (header, rows, sql) = (header.clone(), rows.clone(), sql.clone());
                    cases.push(Case {
                        header,
                        rows,
                        sensitive: sensitive.clone(),
                        clear: clear.clone(),
                        sql,
                    });
                }
                _ => {}
            }
        }
    }
    cases
}

/// The answer to a plan, from partial answers over random cuts of the parts: combined in random trees, out of order and some twice,
/// and each time equal to that of one run.
pub(crate) fn evaluate(engine: &Engine, plan: &[u8], parts: u32, draw: &mut Draw) -> Vec<u8> {
    let stop = Arc::new(Stop::never());
    let expected = engine.run(plan).unwrap();
    for _ in 0..CUTS {
        let sets = 1 + draw.below(parts as usize);
        let mut cut = vec![PartSet::default(); sets];
        (0..parts).for_each(|part| cut[draw.below(sets)].insert(part..part + 1));
        let run = |parts: &PartSet| engine.run_parts(plan, parts, &stop).unwrap();
        let mut partials: Vec<Vec<u8>> = cut.iter().map(run).collect();
        let answer = loop {
            let is_last = partials.len() < 3 || draw.below(4) == 0;
            let taken = if is_last { partials.len() } else { 2 + draw.below(partials.len() - 2) };
            let mut combiner = engine.combiner(plan, &stop).unwrap();
            for _ in 0..taken {
                let partial = partials.swap_remove(draw.below(partials.len()));
                (0..1 + draw.below(2)).for_each(|_| combiner.push(&partial).unwrap());
            }
            if is_last {
                break combiner.finish().unwrap();
            }
            partials.push(combiner.partial().unwrap());
        };
        assert!(answer == expected, "the answer differs for {cut:?}");
    }
    expected
}

#[test]
fn every_query_of_the_corpus_has_the_bytes_of_one_machine() {
    let mut draw = Draw::of_environment("HUSH_TEST_SEED");
    let cases = cases();
    assert!(cases.len() > 40, "{}", cases.len());
    let schemes: [&'static dyn Scheme; 2] = [&NoOp, &Lattice];
    for case in &cases {
        let directory = tempfile::tempdir().unwrap();
        let whole = case.source(directory.path(), "t.csv", &case.rows);
        let half = case.half(&whole, case.rows.len());
        let (mut sources, mut first) = (Vec::new(), 0);
        while first < case.rows.len() {
            let end = case.rows.len().min(first + 1 + draw.below(2));
            sources.push(case.source(directory.path(), &format!("t{first}.csv"), &case.rows[first..end]));
            first = end;
        }
        for scheme in schemes {
            let (owner, store) = (OwnerSeed::generate().unwrap(), TableStore::memory());
            encrypt_parts(&sources, &half, &owner, &store, scheme).unwrap();
            let table = OwnedTable::open_store(&store, &owner, scheme, 2, Limits::default()).unwrap();
            let Evaluator::Embedded(engine) = table.evaluator else { panic!("another evaluator") };
            let table = OwnedTable { evaluator: Evaluator::Parted(engine, draw.word()), ..table };
            table.ask(&case.sql, &Silent).unwrap_or_else(|error| panic!("{}: {error}", case.sql));
        }
    }
}
