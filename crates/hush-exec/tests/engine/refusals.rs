// SPDX-License-Identifier: Apache-2.0
//! Refusals and their codes. They quote nothing of the plan or the table.

use std::sync::Arc;

use hush_exec::{Engine, ErrorKind, ExecError, Limits};
use hush_params::size::MAX_ROUNDED_BITS;
use hush_plan::EncodingId;
use hush_plan::plan::{Mask, RowsTask, SlotExpr, Task};
use hush_table::FileKind;
use object_store::ObjectStoreExt;
use object_store::PutPayload;
use object_store::path::Path;
use object_store::prefix::PrefixStore;

use crate::fixture::{Fixture, REAL, Random, VALUE, X};
use crate::reference::{everything, task};

fn small() -> Fixture {
    Fixture::random(&mut Random::announced("refusals"), &[500])
}

fn code(fixture: &Fixture, plan: &[u8]) -> &'static str {
    fixture.engine(1).run(plan).unwrap_err().code()
}

#[test]
fn malformed_plans() {
    let fixture = small();
    assert_eq!(code(&fixture, b"{"), "HUSH-E002");
    assert_eq!(code(&fixture, &vec![b' '; (1 << 20) + 1]), "HUSH-E001");
    let good = fixture.server_plan(None, Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])));
    let altered = |change: &dyn Fn(&mut hush_plan::ServerPlan)| {
        let mut plan = good.clone();
        change(&mut plan);
        code(&fixture, &serde_json::to_vec(&plan).unwrap())
    };
    assert_eq!(altered(&|plan| plan.format = 1), "HUSH-E003");
    assert_eq!(altered(&|plan| plan.format = 3), "HUSH-E003");
    // A plan of the version before: the format is refused before anything else.
    let mut earlier = serde_json::to_value(&good).unwrap();
    (earlier["format"], earlier["predicate"]) = (1.into(), "\"year\" = 2021".into());
    let refused = fixture.engine(1).run(&serde_json::to_vec(&earlier).unwrap()).unwrap_err();
    assert_eq!(refused.code(), "HUSH-E003");
    assert!(refused.to_string().contains("format 1, this server reads 2"), "{refused}");
    assert_eq!(altered(&|plan| plan.manifest = "x".to_owned()), "HUSH-E004");
    assert_eq!(altered(&|plan| plan.manifest = "0".repeat(64)), "HUSH-E031");
    assert_eq!(altered(&|plan| plan.table = "u".to_owned()), "HUSH-E031");
    let mut extra = serde_json::to_value(&good).unwrap();
    extra["surprise"] = 1.into();
    assert_eq!(code(&fixture, &serde_json::to_vec(&extra).unwrap()), "HUSH-E002");
}

#[test]
fn tasks_that_do_not_fit_the_table() {
    let fixture = small();
    let aggregate = |change: &dyn Fn(&mut hush_plan::plan::AggregateTask)| {
        let mut wrong = task(&[], vec![everything()], &[(0, VALUE)]);
        change(&mut wrong);
        code(&fixture, &fixture.plan(None, Task::Aggregate(wrong)))
    };
    assert_eq!(aggregate(&|task| task.clear[0] = "SUM(\"year\")".to_owned()), "HUSH-E006");
    assert_eq!(aggregate(&|task| task.sums[0].mask = 1), "HUSH-E007");
    assert_eq!(aggregate(&|task| task.sums[0].column = EncodingId(99)), "HUSH-E010");
    assert_eq!(aggregate(&|task| task.sums[0].column = X), "HUSH-E011");
    assert_eq!(aggregate(&|task| task.keys = vec!["1".to_owned(); 100]), "HUSH-E005");
    let cube = SlotExpr::Mul(
        Box::new(SlotExpr::Mul(Box::new(SlotExpr::Column(X)), Box::new(SlotExpr::Column(X)))),
        Box::new(SlotExpr::Column(X)),
    );
    let rows = |programs: Vec<SlotExpr>| RowsTask {
        clear: vec![],
        operands: vec![],
        programs,
        fetch: vec![],
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: None,
    };
    assert_eq!(code(&fixture, &fixture.plan(None, Task::Rows(rows(vec![cube])))), "HUSH-E014");
    let rounded = |column, program_bits, fetch_bits| {
        let programs = vec![SlotExpr::Neg(Box::new(SlotExpr::Column(column)))];
        let task = RowsTask { program_bits, fetch_bits, fetch: vec![column], ..rows(programs) };
        code(&fixture, &fixture.plan(None, Task::Rows(task)))
    };
    for bits in [0, MAX_ROUNDED_BITS + 1, u32::MAX] {
        assert_eq!(rounded(X, vec![Some(bits)], vec![]), "HUSH-E017");
        assert_eq!(rounded(X, vec![], vec![Some(bits)]), "HUSH-E017");
    }
    assert_eq!(rounded(REAL, vec![Some(40)], vec![]), "HUSH-E017");
    assert_eq!(rounded(X, vec![None, None], vec![]), "HUSH-E005");
    assert_eq!(rounded(X, vec![], vec![None, None]), "HUSH-E005");
}

#[test]
fn sql_that_is_not_scalar_over_clear_columns() {
    let fixture = small();
    let predicate = |text: &str| {
        code(
            &fixture,
            &fixture.plan(Some(text), Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)]))),
        )
    };
    for text in ["\"salary\" > 1", "", "\"year\" >", "\"year\" = 1; DROP TABLE t", "1 = 1) OR (1 = 1"] {
        assert_eq!(predicate(text), "HUSH-E020", "{text}");
    }
    for text in [
        "\"year\" IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "(SELECT true)",
        "SUM(\"year\") > 1",
        "ROW_NUMBER() OVER () = 1",
        "@@version = 1",
        "\"year\" = $1",
    ] {
        let found = predicate(text);
        assert!(["HUSH-E020", "HUSH-E021"].contains(&found), "{text}: {found}");
    }
    assert_eq!(predicate("repeat(\"ward\", 1000000) = 'x'"), "HUSH-E022");
    assert_eq!(predicate("\"day\" < now()"), "HUSH-E022");
    let nested = "replace(replace(\"ward\", 'a', 'aaaa'), 'a', 'aaaa') = 'x'";
    assert_eq!(predicate(nested), "HUSH-E023");
    assert_eq!(predicate(&format!("replace(\"ward\", 'a', '{}') = 'x'", "a".repeat(65))), "HUSH-E023");
    assert_eq!(predicate("\"year\""), "HUSH-E024");
    assert_eq!(predicate(&format!("{}\"year\" = 1", " ".repeat(1 << 17))), "HUSH-E023");
    assert_eq!(predicate(&format!("\"year\" = 0{}", " + 1".repeat(10_000))), "HUSH-E023");
    assert_eq!(predicate(&format!("{}\"year\" = 1{}", "(".repeat(900), ")".repeat(900))), "HUSH-E023");
    let weighted = |text: &str| {
        let mask = Mask { condition: None, weight: Some(text.to_owned()) };
        code(&fixture, &fixture.plan(None, Task::Aggregate(task(&[], vec![mask], &[(0, VALUE)]))))
    };
    assert_eq!(weighted("\"ratio\""), "HUSH-E024");
    assert_eq!(weighted("\"ward\""), "HUSH-E024");
    let keyed = |text: &str| code(&fixture, &fixture.plan(None, Task::Aggregate(task(&[text], vec![], &[]))));
    assert_eq!(keyed("COUNT(*)"), "HUSH-E021");
    let clear = |text: &str| {
        let mut wrong = task(&[], vec![], &[]);
        wrong.clear.push(text.to_owned());
        code(&fixture, &fixture.plan(None, Task::Aggregate(wrong)))
    };
    assert_eq!(clear("\"year\""), "HUSH-E021");
    assert_eq!(clear("ARRAY_AGG(\"year\")"), "HUSH-E022");
    assert_eq!(clear("SUM(SUM(\"year\"))"), "HUSH-E021");
}

#[test]
fn long_chains_and_lists_within_the_limits_run() {
    let fixture = small();
    let chain = format!("\"year\" = 0{}", " OR \"year\" = 2021".repeat(400));
    let list = (0..3000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    for predicate in
        [chain, format!("\"year\" IN ({list})"), format!("{}true{}", "(".repeat(40), ")".repeat(40))]
    {
        let plan =
            fixture.plan(Some(&predicate), Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])));
        fixture.engine(1).run(&plan).unwrap();
    }
}

#[test]
fn refusals_quote_nothing() {
    let fixture = small();
    let failing = Task::Aggregate(task(&["CAST(\"ward\" AS BIGINT)"], vec![], &[]));
    let error = fixture.engine(1).run(&fixture.plan(None, failing)).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("HUSH-E050", ErrorKind::BadPlan));
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(!["east", "north", "süd", "west"].iter().any(|ward| text.contains(ward)), "{text}");
    }
    let plan = fixture.plan(Some("\"canary\" = 'tweet'"), Task::Aggregate(task(&[], vec![], &[])));
    let error = fixture.engine(1).run(&plan).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary") && !format!("{error:?}").contains("tweet"));
}

#[test]
fn absent_and_damaged_tables() {
    let fixture = small();
    let plan = fixture.plan(None, Task::Aggregate(task(&["\"ward\""], vec![everything()], &[(0, VALUE)])));
    let right = fixture.engine(1).run(&plan).unwrap();
    let nowhere = Engine::new(fixture.store.objects().clone(), "nowhere", 1, Limits::default()).unwrap();
    assert!(matches!(nowhere.run(&plan).unwrap_err(), ExecError::NoTable));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let part = &fixture.signed.manifest().parts[0];
    for (kind, file) in [(FileKind::Clear, part.clear), (FileKind::Encrypted, part.encrypted)] {
        let path = fixture.store.part_path(kind, &file.unwrap().digest);
        let objects = fixture.store.objects();
        let good = runtime.block_on(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        let mut refused = 0;
        for place in (0..40).map(|step| step * (good.len() - 1) / 39) {
            let mut bad = good.to_vec();
            bad[place] ^= 1;
            runtime.block_on(async { objects.put(&path, PutPayload::from(bad)).await.unwrap() });
            // Bytes that the plan does not need are not looked at.
            match fixture.engine(1).run(&plan) {
                Ok(answer) => assert_eq!(answer, right, "{kind:?} {place}"),
                Err(error) => {
                    assert_eq!((error.code(), error.kind()), ("HUSH-E060", ErrorKind::Corrupt));
                    refused += 1;
                }
            }
            assert_eq!(fixture.store.verify(fixture.signed.manifest()).unwrap_err().code(), "HUSH-T031");
        }
        assert!(refused > 0, "{kind:?}");
        runtime.block_on(async { objects.delete(&path).await.unwrap() });
        assert_eq!(fixture.engine(1).run(&plan).unwrap_err().code(), "HUSH-E060");
        runtime.block_on(async { objects.put(&path, PutPayload::from(good)).await.unwrap() });
    }
    fixture.engine(1).run(&plan).unwrap();
}

/// Copies of a table below a prefix. With their full paths the answer is the same. Behind a store that hides the prefix
/// but tells heads under their full paths, as object_store's own does, rows are never lost in silence.
#[test]
fn a_table_below_a_prefix_is_whole_or_refused() {
    let fixture = small();
    let plan = fixture.plan(
        Some("\"year\" < 2100"),
        Task::Aggregate(task(&["\"ward\""], vec![everything()], &[(0, VALUE)])),
    );
    let expected = fixture.engine(1).run(&plan).unwrap();
    let objects = fixture.store.objects().clone();
    let part = &fixture.signed.manifest().parts[0];
    let mut paths = vec![Path::from(hush_table::store::MANIFEST_NAME)];
    for (kind, file) in [(FileKind::Clear, part.clear), (FileKind::Encrypted, part.encrypted)] {
        paths.push(fixture.store.part_path(kind, &file.unwrap().digest));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for path in paths {
        let deep = Path::from(format!("deep/er/{path}"));
        runtime.block_on(async { objects.copy(&path, &deep).await.unwrap() });
    }
    let prefixed = Engine::new(objects.clone(), "deep/er", 1, Limits::default()).unwrap();
    assert_eq!(prefixed.run(&plan).unwrap(), expected);
    let hidden = Arc::new(PrefixStore::new(objects, "deep/er"));
    match Engine::new(hidden, "", 1, Limits::default()).unwrap().run(&plan) {
        Ok(answer) => assert_eq!(answer, expected),
        Err(error) => assert!(matches!(error, ExecError::MissingRows { found: 0, expected: 500 }), "{error}"),
    }
}

#[test]
fn engines_run_inside_a_runtime_and_in_parallel() {
    let fixture = small();
    let plan = fixture.plan(None, Task::Aggregate(task(&["\"ward\""], vec![everything()], &[(0, VALUE)])));
    let engine = fixture.engine(2);
    let expected = engine.run(&plan).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async move {
        let jobs: Vec<_> = (0..8)
            .map(|_| {
                let (engine, plan) = (engine.clone(), plan.clone());
                tokio::spawn(async move { engine.run_async(plan).await })
            })
            .collect();
        for job in jobs {
            assert_eq!(job.await.unwrap().unwrap(), expected);
        }
        // The last handle is dropped inside the runtime.
        drop(engine);
    });
}
