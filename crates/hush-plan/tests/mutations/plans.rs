// SPDX-License-Identifier: Apache-2.0
//! Plans and encodings of a few queries, as this version makes them.

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
            "{{\"format\":1,\"table\":\"t\",\"manifest\":\"\",\"predicate\":null,\"task\":{task},\
             \"max_answer_bytes\":18446744073709551615}}"
        );
        files.push(match depth {
            40 => CorpusFile::read(name, "json", plan),
            _ => CorpusFile::refused(name, "json", "json", plan),
        });
    }
    files
}
