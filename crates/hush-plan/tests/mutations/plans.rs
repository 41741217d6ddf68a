// SPDX-License-Identifier: Apache-2.0
//! Plans and encodings of a few queries, as this version makes them.

use hush_plan::plan::{MAX_PREDICATE_DEPTH, MAX_PREDICATE_NODES};
use hush_plan::sql::parse;
use hush_testkit::CorpusFile;

use super::readers::{encodings_of, patients, planned};

/// One aggregate of each kind, rows with programs of each kind, and aggregates over the rows that columns have in common.
pub(crate) const QUERIES: [&str; 4] = [
    "SELECT ward, COUNT(*), AVG(age), STDDEV(charges), SUM(age * weight) FROM patients WHERE year = 2023 GROUP BY ward",
    "SELECT ward, age * visits - 3, -charges + disc FROM patients WHERE year > 2020 AND ward LIKE 'a%'",
    "SELECT score * rate - 2.50, age FROM patients WHERE NOT (weight IS NULL) LIMIT 10",
    "SELECT ward, SUM(age + bp), CORR(age, bp), REGR_SLOPE(charges, age) FROM patients GROUP BY ward",
];

pub(crate) fn made() -> Vec<CorpusFile> {
    let schema = patients();
    let names = ["aggregate", "rows", "approximate", "joint"];
    let mut files = Vec::new();
    for (name, text) in names.iter().zip(QUERIES) {
        let query = parse(&schema, text).unwrap();
        let encodings = encodings_of(&schema, &query).unwrap();
        let plan = planned(&schema, &encodings, &query).unwrap();
        let json = serde_json::to_vec_pretty(&plan.server).unwrap();
        files.push(CorpusFile::read(&format!("plan-{name}"), "json", json));
        let json = serde_json::to_vec_pretty(&encodings).unwrap();
        files.push(CorpusFile::read(&format!("encodings-{name}"), "json", json));
    }
    // Each level takes two of the 128 that the reader of JSON goes down.
    for (name, depth) in [("plan-deep", 40), ("plan-too-deep", 5000)] {
        let program = format!("{}{{\"column\":1}}{}", "{\"neg\":".repeat(depth), "}".repeat(depth));
        let task = format!(
            "{{\"rows\":{{\"clear\":[],\"operands\":[],\"programs\":[{program}],\"fetch\":[],\
             \"operand_limit_log2\":0,\"limit\":null}}}}"
        );
        let plan = format!(
            "{{\"format\":2,\"table\":\"t\",\"manifest\":\"\",\"predicate\":null,\"task\":{task},\
             \"max_answer_bytes\":18446744073709551615}}"
        );
        files.push(match depth {
            40 => CorpusFile::read(name, "json", plan),
            _ => CorpusFile::refused(name, "json", "json", plan),
        });
    }
    files.extend(conditions());
    files
}

/// Conditions that are read up to their limits, and what no planner writes.
fn conditions() -> Vec<CorpusFile> {
    let atom = |index: usize| format!("{{\"is\":{{\"clear\":\"\\\"year\\\" <> {index}\"}}}}");
    let list = |kind: &str, members: &[String]| format!("{{\"{kind}\":[{}]}}", members.join(","));
    let plan = |predicate: String| {
        format!(
            "{{\"format\":2,\"table\":\"t\",\"manifest\":\"\",\"predicate\":{predicate},\"task\":{{\"rows\":{{\
             \"clear\":[],\"operands\":[],\"programs\":[],\"fetch\":[],\"operand_limit_log2\":0,\"limit\":null}}}},\
             \"max_answer_bytes\":0}}"
        )
    };
    let deep = |depth: usize| {
        (1..depth).fold(atom(0), |inner, level| list(["and", "or"][level % 2], &[atom(level), inner]))
    };
    let wide = |nodes: usize| list("or", &(1..nodes).map(atom).collect::<Vec<_>>());
    let of_a_list = || format!("{{\"not\":{}}}", list("and", &[atom(0), atom(1)]));
    let read = |name: &str, predicate| CorpusFile::read(name, "json", plan(predicate));
    let refused = |name: &str, why: &str, predicate| CorpusFile::refused(name, why, "json", plan(predicate));
    vec![
        read("plan-condition-deep", deep(MAX_PREDICATE_DEPTH)),
        read("plan-condition-wide", wide(MAX_PREDICATE_NODES)),
        refused("plan-condition-too-deep", "predicate", deep(MAX_PREDICATE_DEPTH + 1)),
        refused("plan-condition-far-too-deep", "json", deep(200)),
        refused("plan-condition-too-wide", "predicate", wide(MAX_PREDICATE_NODES + 1)),
        refused("plan-condition-empty", "predicate", list("and", &[])),
        refused("plan-condition-of-one", "predicate", list("or", &[atom(0)])),
        refused(
            "plan-condition-in-its-kind",
            "predicate",
            list("or", &[list("or", &[atom(0), atom(1)]), atom(2)]),
        ),
        refused("plan-condition-twice", "predicate", list("and", &[atom(0), atom(1), atom(0)])),
        refused("plan-condition-not-of-a-list", "json", of_a_list()),
        refused("plan-condition-text", "json", "\"TRUE\"".to_owned()),
        refused("plan-condition-two-kinds", "json", "{\"and\":[],\"or\":[]}".to_owned()),
    ]
}
