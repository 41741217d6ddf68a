// SPDX-License-Identifier: Apache-2.0
//! One reader for each kind of text: the reason of a refusal, or nothing after a look at all that can be done with the value.

use hush_plan::error::Front;
use hush_plan::plan::{PlanReadFault, QueryPlan};
use hush_plan::predict::Site;
use hush_plan::schema::file::{from_toml, to_toml};
use hush_plan::sql::{check_expression, parse, parse_workload, table_of};
use hush_plan::{
    Limits, PlanError, PrivateEncoding, Query, Schema, ServerPlan, needs_of, plan_encodings, plan_query,
};
use hush_testkit::CorpusFile;
use sqlparser::ast::Statement;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;

pub(crate) fn read(file: &CorpusFile) -> Result<(), String> {
    let text = || std::str::from_utf8(&file.bytes).unwrap();
    match file.reader() {
        "encodings" => encodings(&file.bytes),
        "plan" => plan(&file.bytes),
        "query" => query(text()),
        "schema" => schema(text()),
        "workload" => workload(text()),
        other => panic!("{}: no reader {other}", file.path()),
    }
}

/// Prints to a text with the same meaning, which is then the very text that is printed.
pub(crate) fn schema(text: &str) -> Result<(), String> {
    let schema = from_toml(text).map_err(|error| {
        assert!(!error.remedy().describe(Front::default()).is_empty() && !error.to_string().is_empty());
        error.code().to_owned()
    })?;
    let printed = to_toml(&schema);
    assert_eq!(from_toml(&printed).as_ref(), Ok(&schema), "{text}");
    assert!(from_toml(&printed).map(|schema| to_toml(&schema)).as_ref() == Ok(&printed));
    assert!(!printed.contains(|c: char| c.is_control() && c != '\n'), "{printed:?}");
    Ok(())
}

/// The table of the corpus' queries.
pub(crate) fn patients() -> Schema {
    let file = super::corpus().files().into_iter().find(|file| file.name == "schema-patients").unwrap();
    from_toml(std::str::from_utf8(&file.bytes).unwrap()).unwrap()
}

thread_local! {
    static PATIENTS: Schema = patients();
}

/// Its parts are printed to what is accepted again; it is planned for encryption, for the table that this gives, and for the
/// same table in the clear.
pub(crate) fn query(text: &str) -> Result<(), String> {
    let _ = table_of(text).map_err(code);
    PATIENTS.with(|schema| {
        let query = parse(schema, text).map_err(code)?;
        assert!(query.columns().iter().all(|name| schema.column(name).is_some()));
        assert!(query.outputs().count() > 0);
        if let Some(filter) = query.filter_text() {
            prints_to_itself(&filter, text);
        }
        if let Ok(encodings) = encodings_of(schema, &query)
            && let Ok(plan) = planned(schema, &encodings, &query)
        {
            printable(&plan, text);
        }
        let clear = schema.all_clear();
        if let Ok(plan) = parse(&clear, text).map_err(code).and_then(|query| planned(&clear, &[], &query)) {
            printable(&plan, text);
        }
        Ok(())
    })
}

pub(crate) fn encodings_of(schema: &Schema, query: &Query) -> Result<Vec<PrivateEncoding>, String> {
    let mut next = 0_u32;
    let mut id = || {
        next += 1;
        format!("{next:032x}")
    };
    let needs = needs_of(schema, std::slice::from_ref(query)).map_err(code)?;
    plan_encodings(schema, &needs, ROWS, &mut id).map_err(code)
}

pub(crate) fn planned(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    query: &Query,
) -> Result<QueryPlan, String> {
    plan_query(schema, encodings, &Site::local(ROWS), &"0".repeat(64), query, &Limits::default())
        .map_err(code)
}

fn code(error: PlanError) -> String {
    assert!(error.report().starts_with(error.code()) && error.code().starts_with("HUSH-P0"));
    error.code().to_owned()
}

/// What goes to the server is read there as it was meant: every piece of SQL in it is one expression, which prints to itself.
fn printable(plan: &QueryPlan, text: &str) {
    let bytes = serde_json::to_vec(&plan.server).unwrap();
    assert_eq!(ServerPlan::from_json(&bytes).unwrap(), plan.server, "{text}");
    plan.server.predicates().for_each(|predicate| prints_to_itself(&predicate.to_string(), text));
    for sql in plan.server.expressions() {
        prints_to_itself(sql, text);
        assert_eq!(check_expression(sql), Ok(()), "{text}");
    }
    let parsed = statements(&plan.owner.final_sql);
    let merges = usize::from(plan.owner.own.is_none());
    assert_eq!(parsed.map(|parsed| parsed.len()), Ok(merges), "{text}");
}

fn prints_to_itself(sql: &str, text: &str) {
    let statement = format!("SELECT {sql}");
    let printed =
        statements(&statement).map(|parsed| parsed.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(printed, Ok(vec![statement]), "{text}");
}

/// Texts keep their doubled quotes, as in the planner's reader: printed, those that stand alone are doubled again. The
/// planner's own parentheses may come on top of the nesting that it accepts.
fn statements(text: &str) -> Result<Vec<Statement>, ParserError> {
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, text).with_unescape(false).tokenize()?;
    Parser::new(&dialect).with_recursion_limit(120).with_tokens(tokens).parse_statements()
}

/// A file of several queries.
pub(crate) fn workload(text: &str) -> Result<(), String> {
    PATIENTS.with(|schema| {
        let queries = parse_workload(schema, text).map_err(code)?;
        let _ = needs_of(schema, &queries).map_err(code);
        Ok(())
    })
}

/// What a server reads first of a plan; whether it fits a table is asked in `hush-exec`.
pub(crate) fn plan(bytes: &[u8]) -> Result<(), String> {
    let plan = ServerPlan::from_json(bytes).map_err(|fault| {
        assert!(!fault.to_string().is_empty());
        let why = match fault {
            PlanReadFault::Format { .. } => "format",
            PlanReadFault::MaskCondition { .. } => "mask",
            PlanReadFault::Predicate(_) => "predicate",
            _ => "json",
        };
        why.to_owned()
    })?;
    let printed = serde_json::to_vec(&plan).unwrap();
    assert!(ServerPlan::from_json(&printed).unwrap() == plan);
    assert!(
        plan.predicates().all(|predicate| predicate.check().is_ok() && !predicate.to_string().is_empty())
    );
    Ok(())
}

/// What an owner finds in the private half of a manifest; queries are planned against it whatever it says.
pub(crate) fn encodings(bytes: &[u8]) -> Result<(), String> {
    let encodings: Vec<PrivateEncoding> = serde_json::from_slice(bytes).map_err(|_| "json".to_owned())?;
    let printed = serde_json::to_vec(&encodings).unwrap();
    assert!(serde_json::from_slice::<Vec<PrivateEncoding>>(&printed).unwrap() == encodings);
    PATIENTS.with(|schema| {
        for text in super::plans::QUERIES {
            let query = parse(schema, text).unwrap();
            match planned(schema, &encodings, &query) {
                Ok(plan) => printable(&plan, text),
                Err(code) => assert!(code.starts_with("HUSH-P0")),
            }
        }
        encodings.iter().for_each(|encoding| assert!(!encoding.public.describe().is_empty()));
    });
    Ok(())
}

/// Rows of the table that queries are planned for.
const ROWS: u64 = 6000;
