// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::sql::parse;
use crate::tables::patients;

fn plan_in(schema: &Schema, text: &str) -> Result<ByRow, PlanError> {
    compile(schema, &parse(schema, text)?, &Program::suits_slots)
}

fn plan(text: &str) -> ByRow {
    plan_in(&patients(), text).unwrap()
}

#[test]
fn columns_are_fetched_with_their_validity_and_clear_ones_widened() {
    let plan = plan("SELECT ward, year, age, charges, score, smoker, born, disc FROM patients");
    assert_eq!(plan.clear, ["\"ward\"", "CAST(\"year\" AS BIGINT)", "CAST(\"disc\" AS DECIMAL(38,2))"]);
    let names: Vec<_> = plan.fetch.iter().map(crate::quantity::Quantity::describe).collect();
    assert_eq!(names[..2], ["the values of age", "the validity of age"]);
    let outputs: Vec<_> = plan.outputs.iter().map(|output| output.output).collect();
    let number = ProgramOutput::Number;
    let expected = [
        number(OutputType::Int),
        number(OutputType::Decimal { scale: 2, wide: false }),
        number(OutputType::Float),
        ProgramOutput::Bool,
        ProgramOutput::Date,
    ];
    assert_eq!(outputs, expected);
    assert_eq!(plan.outputs[0].valid_if, [1]);
    assert!(plan.outputs[1].valid_if.is_empty());
}

#[test]
fn the_owner_computes_what_surrounds_the_polynomials() {
    let plan = plan(
        "SELECT ROUND((charges - 1) / 3, 2), CASE WHEN bp > 120 THEN 'high' END FROM patients ORDER BY bp, 1",
    );
    assert_eq!(plan.programs.len(), 1);
    let expected = "SELECT ROUND((CAST(p0 AS DOUBLE) / NULLIF(CAST(3 AS DOUBLE), CAST(0 AS DOUBLE))), 2) AS \
        \"ROUND((charges - 1) / 3, 2)\", CASE WHEN p1 > 120 THEN 'high' END AS \
        \"CASE WHEN bp > 120 THEN 'high' END\" FROM merged ORDER BY p1, \
        ROUND((CAST(p0 AS DOUBLE) / NULLIF(CAST(3 AS DOUBLE), CAST(0 AS DOUBLE))), 2), \"row\"";
    assert_eq!(plan.final_sql, expected);
    assert_eq!(plan.limit, None);
}

#[test]
fn the_server_stops_early_only_where_the_order_is_the_tables() {
    assert_eq!(plan("SELECT age FROM patients LIMIT 5 OFFSET 2").limit, Some(7));
    assert_eq!(plan("SELECT age FROM patients ORDER BY ward LIMIT 5").limit, None);
}

#[test]
fn equal_parts_are_computed_once() {
    let plan = plan("SELECT age * 2, (age * 2), age, age FROM patients ORDER BY age * 2");
    assert_eq!((plan.programs.len(), plan.outputs.len(), plan.fetch.len()), (1, 2, 2));
}

#[test]
fn clear_operands_and_missing_values_are_listed() {
    let plan = plan("SELECT age * weight FROM patients");
    assert_eq!(plan.operands, ["CAST(\"weight\" AS DECIMAL(38,0))"]);
    assert_eq!(plan.clear, ["\"weight\""]);
    let output = &plan.outputs[0];
    assert_eq!((output.source, output.not_null.as_slice()), (Source::Program(0), &[0][..]));
    assert_eq!(plan.fetch, [Quantity::Valid("age".into())]);
}

#[test]
fn types_do_not_depend_on_what_is_encrypted() {
    let schema = patients();
    let clear = schema.all_clear();
    for item in [
        "age + 1",
        "charges * 3",
        "charges * disc",
        "-bp",
        "age * bp - visits",
        "born - admitted",
        "charges * charges",
    ] {
        let text = format!("SELECT {item} FROM patients");
        let (encrypted, clear) = (plan_in(&schema, &text).unwrap(), plan_in(&clear, &text).unwrap());
        assert_eq!(encrypted.final_sql, clear.final_sql, "{item}");
        let types = |plan: &ByRow| {
            plan.outputs.iter().map(|output| (output.output, output.scale)).collect::<Vec<_>>()
        };
        assert_eq!(types(&encrypted), types(&clear), "{item}");
        assert!(clear.programs.is_empty() && clear.fetch.is_empty());
    }
}

#[test]
fn terms_that_cancel_leave_the_type_of_what_is_left() {
    // The terms that cancel are beyond every decimal.
    let long = ["bp"; 14].join(" * ");
    let plan = plan(&format!("SELECT {long} * 1.5 - {long} * 1.5 + age FROM patients"));
    let output = &plan.outputs[0];
    let decimal = OutputType::Decimal { scale: 1, wide: false };
    assert_eq!((output.output, output.scale), (ProgramOutput::Number(decimal), 1));
}

#[test]
fn floats_in_the_clear_are_left_to_the_owner() {
    let plan = plan("SELECT age * rate FROM patients");
    assert!(plan.programs.is_empty());
    assert!(plan.final_sql.contains("CAST(p0 AS DECIMAL(38,0)) * c0"), "{}", plan.final_sql);
}

#[test]
fn the_owner_computes_what_is_too_deep_for_the_server() {
    let plan = plan("SELECT age * bp * (visits + weight), age * bp FROM patients");
    assert_eq!((plan.programs.len(), plan.owned.len()), (1, 1));
    assert_eq!((plan.outputs[0].source, plan.outputs[1].source), (Source::Owned(0), Source::Program(0)));
    for name in ["age", "bp", "visits"] {
        assert!(plan.fetch.contains(&Quantity::Value(name.into())), "{name}");
    }
    // Its clear operand is a clear column of the answer, and none of the server's programs.
    assert!(plan.operands.is_empty());
    assert!(plan.clear.contains(&"CAST(\"weight\" AS DECIMAL(38,0))".to_owned()), "{:?}", plan.clear);
}

#[test]
fn filters_on_encrypted_columns_are_refused() {
    let code = |text: &str| plan_in(&patients(), text).unwrap_err().code();
    assert_eq!(code("SELECT ward FROM patients WHERE age = 1"), "HUSH-P014");
    assert_eq!(code("SELECT note FROM patients"), "HUSH-P010");
    let deep = ["age"; 17].join(" * ");
    assert_eq!(code(&format!("SELECT {deep} FROM patients")), "HUSH-P017");
    assert_eq!(code("SELECT age + score FROM patients"), "HUSH-P024");
}

#[test]
fn windows_are_the_owners_and_see_rows_in_the_tables_order() {
    let sql = |items: &str| {
        let plan = plan(&format!("SELECT {items} FROM patients LIMIT 2"));
        assert_eq!(plan.limit, None, "{items}");
        let (_, rest) = plan.final_sql.split_once("SELECT ").unwrap();
        rest.split_once(" AS \"v\"").unwrap().0.to_owned()
    };
    assert_eq!(
        sql("SUM(age) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS v"),
        "SUM(p0) OVER (ORDER BY \"row\" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
    );
    assert_eq!(sql("SUM(age) OVER (ORDER BY ward) AS v"), "SUM(p0) OVER (ORDER BY c0)");
    assert_eq!(
        sql("2 * COUNT(*) OVER (ORDER BY ward ROWS 1 PRECEDING) + age AS v"),
        "CAST(2 AS DECIMAL(38,0)) * CAST(COUNT(*) OVER (ORDER BY c0, \"row\" ROWS 1 PRECEDING) AS DECIMAL(38,0)) + \
         CAST(p0 AS DECIMAL(38,0))"
    );
    assert_eq!(
        sql("FIRST_VALUE(age * visits) OVER () AS v"),
        "FIRST_VALUE(p0) OVER (ORDER BY \"row\" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    );
    let program = plan("SELECT SUM(age * visits) OVER (PARTITION BY ward) FROM patients");
    assert_eq!((program.programs.len(), program.clear.len()), (1, 1));
}

#[test]
fn windows_that_would_err_are_refused() {
    let refused = |text: &str| match plan_in(&patients(), &format!("SELECT {text} FROM patients")) {
        Err(PlanError::Unsupported { feature, .. }) => feature,
        other => panic!("{text}: {other:?}"),
    };
    for (text, feature) in [
        ("SUM(score) OVER (ROWS 3 PRECEDING)", Feature::MovingDoubles),
        ("AVG(age / 2) OVER (ROWS 3 PRECEDING)", Feature::MovingDoubles),
        ("VAR_POP(score) OVER (ROWS 3 PRECEDING)", Feature::MovingDoubles),
        ("SUM(age) OVER (ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW)", Feature::Frame),
        ("SUM(age) OVER (ROWS BETWEEN UNBOUNDED FOLLOWING AND UNBOUNDED FOLLOWING)", Feature::Frame),
        ("SUM(age) OVER (ROWS BETWEEN visits PRECEDING AND CURRENT ROW)", Feature::Frame),
        ("SUM(age) OVER (ORDER BY year GROUPS 1 PRECEDING)", Feature::Frame),
        ("SUM(RANK() OVER ()) OVER ()", Feature::NestedWindow),
        ("UPPER(ward) OVER ()", Feature::UnknownWindow),
        ("SUM(DISTINCT age) OVER ()", Feature::Dialect),
        ("COUNT(*), RANK() OVER (ORDER BY ward)", Feature::Window),
        ("DISTINCT RANK() OVER (ORDER BY ward)", Feature::Window),
    ] {
        assert_eq!(refused(text), feature, "{text}");
    }
    // What stays in a frame is never taken away again.
    for text in [
        "SUM(score) OVER (ORDER BY ward)",
        "STDDEV(age) OVER (ROWS 3 PRECEDING)",
        "MAX(score) OVER (ROWS 3 PRECEDING)",
    ] {
        plan(&format!("SELECT {text} FROM patients"));
    }
}
