// SPDX-License-Identifier: Apache-2.0
//! Plans in, answers out. The plans count rows by a clear column: no key is needed to read their answers.

use arrow::array::{Array, AsArray};
use hush_exec::answer::Answer as PlanAnswer;
use hush_plan::ServerPlan;
use hush_plan::plan::{AggregateTask, PLAN_FORMAT, Predicate, Task};
use hush_table::Digest;

use crate::fixture::{LocalTable, PLAIN, ROWS, Recipe};
use crate::harness::{Answer, Service, start, start_in};

const MAX_ANSWER: u64 = 1 << 20;

pub(crate) fn plan(table: &LocalTable, predicate: Option<&str>) -> Vec<u8> {
    let task = AggregateTask {
        keys: vec!["\"year\"".to_owned()],
        clear: vec!["COUNT(*)".to_owned()],
        masks: Vec::new(),
        sums: Vec::new(),
        max_groups: 100,
    };
    let plan = ServerPlan {
        format: PLAN_FORMAT,
        table: table.recipe.name.to_owned(),
        manifest: table.manifest.digest().to_string(),
        predicate: predicate.map(Predicate::clear),
        task: Task::Aggregate(task),
        max_answer_bytes: MAX_ANSWER,
    };
    serde_json::to_vec(&plan).unwrap()
}

pub(crate) fn submit(service: &Service, plan: &[u8]) -> String {
    let accepted = service.call("POST", "/v1/jobs", &[], plan);
    assert_eq!(accepted.status, 202, "{}", String::from_utf8_lossy(&accepted.body));
    let id = accepted.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(accepted.header("location"), Some(format!("/v1/jobs/{id}").as_str()));
    id
}

pub(crate) fn finished(service: &Service, id: &str) -> serde_json::Value {
    for _ in 0..10 {
        let status = service.get(&format!("/v1/jobs/{id}?wait_ms=20000")).json();
        if matches!(status["state"].as_str(), Some("done" | "failed")) {
            return status;
        }
    }
    panic!("job {id} does not finish");
}

/// Year and number of rows, sorted.
fn counts(answer: &[u8]) -> Vec<(i64, i64)> {
    let answer = PlanAnswer::decode(answer, MAX_ANSWER).unwrap();
    let batch = answer.clear(0).unwrap();
    let column = |name: &str| {
        let column = batch.column_by_name(name).unwrap();
        let cast = arrow::compute::cast(column, &arrow::datatypes::DataType::Int64).unwrap();
        assert_eq!(cast.null_count(), 0);
        cast.as_primitive::<arrow::datatypes::Int64Type>().values().to_vec()
    };
    let mut rows: Vec<_> = column("k0").into_iter().zip(column("c0")).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn a_plan_is_run_and_its_answer_fetched() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let plan = plan(&table, Some("\"year\" >= 2022"));
    let id = submit(&service, &plan);
    let status = finished(&service, &id);
    assert_eq!(status["state"], "done", "{status}");
    let route = format!("/v1/jobs/{id}/result");
    let answer = service.get(&route);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(status["result"]["bytes"], answer.body.len());
    assert_eq!(status["result"]["blake3"], blake3::hash(&answer.body).to_hex().as_str());
    let quarter = i64::from(ROWS) / 4;
    assert_eq!(counts(&answer.body), [(2022, quarter), (2023, quarter)]);
    let decoded = PlanAnswer::decode(&answer.body, MAX_ANSWER).unwrap();
    assert_eq!((decoded.manifest, decoded.plan), (table.manifest.digest(), Digest::of(&plan)));

    let piece = service.call("GET", &route, &[("range", "bytes=8-15")], &[]);
    assert_eq!((piece.status, piece.body.as_slice()), (206, &answer.body[8..16]));
    assert_eq!(service.call("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 204);
    assert_eq!(service.get(&route).code(), "HUSH-V024");
    assert_eq!(std::fs::read_dir(service.path("jobs")).unwrap().count(), 0);
}

#[test]
fn a_submitter_that_waits_a_little_is_told_of_the_end() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let post = |query: &str, plan: &[u8]| service.call("POST", &format!("/v1/jobs{query}"), &[], plan).json();
    let (good, bad) = (plan(&table, None), plan(&table, Some("\"nothing\" = 1")));
    assert!(post("", &good)["ended"].is_null());
    // However slow the machine is: the end is told, or the job can be asked as ever.
    for (plan, expected) in [(&good, "done"), (&bad, "failed")] {
        let accepted = post("?wait_ms=100", plan);
        let status = finished(&service, accepted["id"].as_str().unwrap());
        assert_eq!(status["state"], expected);
        assert!(accepted["ended"].is_null() || accepted["ended"] == status, "{accepted}");
    }
    let refused = service.call("POST", "/v1/jobs?wait_ms=no", &[], &good);
    assert_eq!(refused.code(), "HUSH-V030");
}

#[test]
fn the_same_key_gives_the_same_job_and_another_body_is_refused() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let (one, other) = (plan(&table, None), plan(&table, Some("\"year\" = 2020")));
    let post = |key: &str, plan: &[u8]| service.call("POST", "/v1/jobs", &[("idempotency-key", key)], plan);
    let first = post("k1", &one).json()["id"].clone();
    assert_eq!(post("k1", &one).json()["id"], first);
    let refused = post("k1", &other);
    assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V023"));
    assert_ne!(post("k2", &one).json()["id"], first);
    for bad in ["", "with space", &"x".repeat(129)] {
        assert_eq!(post(bad, &one).code(), "HUSH-V006", "{bad:?}");
    }
}

#[test]
fn plans_that_cannot_be_run_are_refused_or_fail_with_a_code() {
    let service = start(&["--max-plan-bytes", "2000"]);
    let table = PLAIN.make();
    table.push(&service);
    let post = |body: &[u8]| -> Answer { service.call("POST", "/v1/jobs", &[], body) };
    assert_eq!(post(b"{}").code(), "HUSH-V022");
    assert_eq!(post(b"[[[[").code(), "HUSH-V022");
    assert_eq!(post(&b"[".repeat(1999)).code(), "HUSH-V022");
    assert_eq!(post(&[b' '; 2001]).code(), "HUSH-V008");
    let text = String::from_utf8(plan(&table, None)).unwrap();
    assert_eq!(post(text.replace("\"visits\"", "\"nowhere\"").as_bytes()).code(), "HUSH-V014");
    assert_eq!(post(text.replace("\"visits\"", "\"../visits\"").as_bytes()).code(), "HUSH-V005");
    let digest = table.manifest.digest().to_string();
    let stale = post(text.replace(&digest, &"0".repeat(64)).as_bytes());
    assert_eq!((stale.status, stale.code().as_str()), (409, "HUSH-V029"));

    let id = submit(&service, &plan(&table, Some("\"secret\" > 3")));
    let status = finished(&service, &id);
    assert_eq!(status["state"], "failed");
    assert!(status["code"].as_str().unwrap().starts_with("HUSH-E"), "{status}");
    assert!(!status["message"].as_str().unwrap().contains("secret"), "{status}");
    assert_eq!(service.get(&format!("/v1/jobs/{id}/result")).code(), "HUSH-V025");
    assert_eq!(service.get(&format!("/v1/jobs/{id}?wait_ms=no")).code(), "HUSH-V030");
}

#[test]
fn a_result_survives_a_crash_and_a_replaced_table_answers_anew() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let id = submit(&service, &plan(&table, None));
    assert_eq!(finished(&service, &id)["state"], "done");
    let before = service.get(&format!("/v1/jobs/{id}/result")).body;
    let quarter = i64::from(ROWS) / 4;
    assert_eq!(counts(&before), [2020, 2021, 2022, 2023].map(|year| (year, quarter)));
    let service = start_in(service.kill(), &[]);
    assert_eq!(finished(&service, &id)["state"], "done");
    assert_eq!(service.get(&format!("/v1/jobs/{id}/result")).body, before);

    let next = Recipe { version: 2, seed: 2, ..PLAIN }.make();
    assert_eq!(next.push(&service), 201);
    let stale = service.call("POST", "/v1/jobs", &[], &plan(&table, None));
    assert_eq!(stale.code(), "HUSH-V029");
    let id = submit(&service, &plan(&next, None));
    assert_eq!(finished(&service, &id)["state"], "done");
    let after = service.get(&format!("/v1/jobs/{id}/result")).body;
    assert_eq!(counts(&after), counts(&before));
}

/// As the version before wrote them, with SQL for a predicate.
fn plan_of_format_1(table: &LocalTable) -> Vec<u8> {
    let mut plan: serde_json::Value = serde_json::from_slice(&plan(table, None)).unwrap();
    (plan["format"], plan["predicate"]) = (1.into(), "\"year\" >= 2022".into());
    serde_json::to_vec(&plan).unwrap()
}

/// A server that is updated finds the jobs of the one before: those with a plan that it does not read fail with a code.
#[test]
fn plans_of_another_format_are_refused_when_they_come_and_when_they_are_found() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let earlier = plan_of_format_1(&table);
    let refused = service.call("POST", "/v1/jobs", &[], &earlier);
    assert_eq!((refused.status, refused.code().as_str()), (400, "HUSH-V022"));
    assert!(refused.json()["message"].as_str().unwrap().contains("plan_format"));

    let id = submit(&service, &plan(&table, None));
    assert_eq!(finished(&service, &id)["state"], "done");
    let data = service.kill();
    let folder = data.path().join("jobs").join(&id);
    let mut record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("record.json")).unwrap()).unwrap();
    record["state"] = "queued".into();
    record["body"] = blake3::hash(&earlier).to_hex().as_str().into();
    for member in ["started_s", "finished_s", "result"] {
        record[member] = serde_json::Value::Null;
    }
    std::fs::write(folder.join("record.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    std::fs::write(folder.join("plan.json"), earlier).unwrap();

    let service = start_in(data, &[]);
    let status = finished(&service, &id);
    assert_eq!((status["state"].as_str(), status["code"].as_str()), (Some("failed"), Some("HUSH-E003")));
    assert!(status["message"].as_str().unwrap().contains("format 1, this server reads 2"), "{status}");
    let id = submit(&service, &plan(&table, None));
    assert_eq!(finished(&service, &id)["state"], "done");
}

#[test]
fn logs_hold_neither_names_nor_values_nor_predicates() {
    let service = start(&[]);
    let table = Recipe { name: "canarytable", ward: "canaryvalue", ..PLAIN }.make();
    table.push(&service);
    let id = submit(&service, &plan(&table, Some("\"ward\" = 'canaryvalue'")));
    assert_eq!(finished(&service, &id)["state"], "done");
    let failing = submit(&service, &plan(&table, Some("\"canarycolumn\" = 'canaryvalue'")));
    assert_eq!(finished(&service, &failing)["state"], "failed");
    service.get("/v1/tables/canarytable");
    service.get("/v1/tables/canaryother");
    service.get("/canarypath?canaryquery=1");
    let (status, log) = service.terminate();
    assert!(status.success());
    assert!(log.contains(&id) && log.contains("/v1/tables/{table}") && log.contains("HUSH-V014"), "{log}");
    assert!(!log.to_lowercase().contains("canary"), "{log}");
}

/// These once ended the process, or kept it busy for years.
#[test]
fn plans_made_to_exhaust_the_service_are_refused_and_it_goes_on() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    for hostile in [
        format!("\"year\"{}", " IS NULL".repeat(1001)),
        format!("\"year\"{}", " IS NULL".repeat(5000)),
        format!("\"year\" = 0{}", " + 1".repeat(1200)),
        format!("{}%{}", "CAST(".repeat(40), ")".repeat(40)),
        format!("{}'1' DAY", "INTERVAL ".repeat(1500)),
        format!("{}\"year\"{} = 1", "1/(".repeat(30), ")".repeat(30)),
    ] {
        let id = submit(&service, &plan(&table, Some(&hostile)));
        let status = finished(&service, &id);
        assert_eq!(
            (status["state"].as_str(), status["progress"]["attempts"].as_u64()),
            (Some("failed"), Some(1))
        );
        let code = status["code"].as_str().unwrap();
        assert!(["HUSH-E023", "HUSH-E024"].contains(&code), "{status}");
    }
    let id = submit(&service, &plan(&table, Some("\"year\" >= 2022")));
    assert_eq!(finished(&service, &id)["state"], "done");
}
