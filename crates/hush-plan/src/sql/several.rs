// SPDX-License-Identifier: Apache-2.0
//! One SELECT over several tables, as the owner's query engine takes it: joins, sub-queries, WITH and set operations.
//!
//! The text is read, checked and spelled here, and planned by the engine. Names follow the rules of [one table](super), functions are those of its
//! list, and `/` on results is a division of doubles, so that an expression means the same whether its question is on one table or on several.
//!
//! *Non-goals.* What each table is asked: that follows from the engine's plan.

mod joint;
mod order;
mod quotients;
mod rows;
mod selects;
mod spelling;
mod windows;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Select, Value, VisitorMut,
};

use self::order::Orders;
use self::selects::Selects;
use self::spelling::{Spelling, respell_aliases};
use self::windows::NamedWindows;
use super::{bare, functions, like, names, scalar, statement};
use crate::aggregates::{self, Aggregate, OrderFunction};
use crate::error::{Clause, PlanError};
use crate::schema::Schema;
use crate::sql::walk::walk_mut;

/// A question about several tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Several {
    /// One query for the owner's query engine. Every name in it is quoted, and every output named.
    pub sql: String,
    /// The tables that it reads, sorted.
    pub tables: Vec<String>,
    /// Sentences on values that the result lacks though somebody may expect them.
    pub notes: Vec<String>,
}

/// Reads `text` as one query over tables of these schemas.
///
/// # Errors
/// P001 to P006, P009 and P012: whatever is wrong with a query before its columns are looked up.
pub fn several(schemas: &[&Schema], text: &str) -> Result<Several, PlanError> {
    let mut query = statement::parse_query(text)?;
    let spelling = Spelling::of(schemas, &mut query);
    respell_aliases(&mut query, &spelling);
    let broken = |flow: ControlFlow<Box<PlanError>>| match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    };
    broken(walk_mut(&mut query, &mut NamedWindows::default()))?;
    broken(walk_mut(&mut query, &mut Expressions { spelling: &spelling }))?;
    let mut selects = Selects::new(schemas);
    broken(walk_mut(&mut query, &mut selects))?;
    broken(walk_mut(&mut query, &mut Orders::new(schemas)))?;
    broken(walk_mut(&mut query, &mut Renaming))?;
    let (tables, notes): (BTreeSet<String>, Vec<String>) = selects.into_found();
    if tables.is_empty() {
        return Err(PlanError::NoTable);
    }
    Ok(Several { sql: query.to_string(), tables: tables.into_iter().collect(), notes })
}

/// Checks and spells every expression, wherever it stands.
struct Expressions<'a> {
    spelling: &'a Spelling,
}

impl VisitorMut for Expressions<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        match joint::regressions(std::mem::take(&mut select.projection)) {
            Ok(outputs) => {
                select.projection = outputs;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Some(double) = names::beyond_decimals(expr) {
            *expr = double;
        }
        names::to_microseconds(expr);
        names::settle_conditions(expr);
        let checked = like::with_backslash(expr, Clause::Select).and_then(|()| check(expr));
        if let Err(error) = checked {
            return ControlFlow::Break(Box::new(error));
        }
        match expr {
            Expr::Identifier(ident) => self.spelling.spell(ident),
            Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(|part| self.spelling.spell(part)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Gives every aggregate the name by which the query engine knows it, once outputs are named after what was typed.
struct Renaming;

impl VisitorMut for Renaming {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let call = functions::aggregate(expr).and_then(Result::ok);
        if let Expr::Function(function) = expr {
            match call.as_ref().map(|call| (call.aggregate, call.arguments.as_slice())) {
                Some((Aggregate::Ordered(of), [argument])) => place_in_order(function, of, argument),
                Some((Aggregate::Rows(of), arguments)) => rows::as_the_engine_has_it(function, of, arguments),
                Some((Aggregate::Fitted(part), arguments)) => joint::fitted(function, part, arguments),
                Some((Aggregate::Jointly(of), arguments)) => joint::of_exact_sums(function, of, arguments),
                _ => rename(&mut function.name),
            }
        }
        ControlFlow::Continue(())
    }
}

/// Checks one node; its children are visited by themselves.
fn check(expr: &Expr) -> Result<(), PlanError> {
    match expr {
        Expr::CompoundIdentifier(_)
        | Expr::Cube(_)
        | Expr::Exists { .. }
        | Expr::GroupingSets(_)
        | Expr::InSubquery { .. }
        | Expr::Rollup(_)
        | Expr::Subquery(_) => Ok(()),
        Expr::AllOp { right, .. } | Expr::AnyOp { right, .. } if matches!(bare(right), Expr::Subquery(_)) => {
            Ok(())
        }
        Expr::Function(function) if functions::is_grouping(function) => Ok(()),
        _ => match functions::aggregate(expr) {
            None => scalar::node(expr, Clause::Select),
            Some(call) => call.map(drop),
        },
    }
}

/// Writes a function of the values in their order as the query engine has it: with the part of the rows in two integers behind the argument.
fn place_in_order(function: &mut Function, of: OrderFunction, argument: &Expr) {
    let (name, given) = match of {
        OrderFunction::Mode => ("mode", Vec::new()),
        OrderFunction::QuantileCont(part) => ("exact_quantile", vec![part.numerator, part.denominator]),
        OrderFunction::QuantileDisc { part, descending } => {
            ("quantile_disc", vec![part.numerator, part.denominator, u64::from(descending)])
        }
    };
    let number = |number: u64| Expr::Value(Value::Number(number.to_string(), false).into());
    let arguments = std::iter::once(argument.clone()).chain(given.into_iter().map(number));
    let args = arguments.map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
    function.args = FunctionArguments::List(list);
    function.within_group = Vec::new();
}

/// Gives an aggregate the name by which the query engine knows it.
fn rename(name: &mut ObjectName) {
    if let [ObjectNamePart::Identifier(ident)] = name.0.as_mut_slice()
        && let Some(entry) = aggregates::named(&ident.value.to_ascii_lowercase())
    {
        *ident = Ident::new(entry.engine_name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Protection;

    fn schema(table: &str, columns: &[(&str, Protection)]) -> Schema {
        let mut schema = crate::tables::patients();
        schema.table = table.to_owned();
        let column = schema.columns[0].clone();
        let named = |(name, protect): &(&str, Protection)| {
            let (name, protect) = ((*name).to_owned(), *protect);
            crate::schema::Column { name, protect, ..column.clone() }
        };
        schema.columns = columns.iter().map(named).collect();
        schema
    }

    fn read(text: &str) -> Result<Several, PlanError> {
        use Protection::{Clear, Drop, Encrypt, Seal};
        let people = schema("People", &[("id", Clear), ("Age", Encrypt), ("note", Seal), ("old", Drop)]);
        let visits = schema("visits", &[("id", Clear), ("cost", Encrypt), ("n", Encrypt)]);
        several(&[&people, &visits], text)
    }

    #[test]
    fn names_are_spelled_as_the_tables_have_them() {
        for (text, expected) in [
            (
                "SELECT p.age, V.COST FROM people p JOIN Visits AS V ON p.ID = v.id",
                r#"SELECT "p"."Age", "V"."cost" FROM "People" "p" JOIN "visits" AS "V" ON "p"."id" = "V"."id""#,
            ),
            (
                "SELECT cost AS Total FROM visits, people ORDER BY total",
                r#"SELECT "cost" AS "Total" FROM "visits", "People" ORDER BY "Total""#,
            ),
            (
                "WITH w AS (SELECT AVG(cost) FROM visits) SELECT * FROM w",
                r#"WITH "w" AS (SELECT avg("cost") AS "avg_cost" FROM "visits") SELECT * FROM "w""#,
            ),
            (
                "SELECT MEDIAN(v.cost), PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost DESC) AS q, MODE(id) FILTER (WHERE n > 1) FROM visits v",
                r#"SELECT exact_quantile("v"."cost", 1, 2) AS "median_cost", quantile_disc("cost", 25, 100, 1) AS "q", mode("id") FILTER (WHERE "n" > 1) AS "MODE(id) FILTER (WHERE n > 1)" FROM "visits" "v""#,
            ),
            (
                "SELECT COUNT(*), count(*), VARIANCE(v.cost) FROM visits v JOIN people USING (ID)",
                r#"SELECT count(*) AS "count", count(*) AS "count_2", var_samp("v"."cost") AS "variance_cost" FROM "visits" "v" JOIN "People" USING("id")"#,
            ),
        ] {
            assert_eq!(read(text).unwrap().sql, expected, "{text}");
        }
    }

    /// Windows are written out, and conditions on them divide as results do; ordinals in sets of keys are the outputs, whose keys stay as they are.
    #[test]
    fn windows_have_names_and_keys_come_in_sets() {
        for (text, expected) in [
            (
                "SELECT RANK() OVER w AS r FROM visits WINDOW u AS (ORDER BY n), w AS u QUALIFY r < 3 ORDER BY ROW_NUMBER() OVER (ORDER BY id), SUM(n) OVER U",
                r#"SELECT RANK() OVER (ORDER BY "n") AS "r" FROM "visits" QUALIFY "r" < 3 ORDER BY ROW_NUMBER() OVER (ORDER BY "id"), sum("n") OVER (ORDER BY "n")"#,
            ),
            (
                "SELECT id / 2 AS h, SUM(n) AS s FROM visits GROUP BY ROLLUP (1, (cost, n % 2)), CUBE (n)",
                r#"SELECT "id" / 2 AS "h", sum("n") AS "s" FROM "visits" GROUP BY ROLLUP ("id" / 2, ("cost", "n" % 2)), CUBE ("n")"#,
            ),
            (
                "SELECT id / 2 AS h, COUNT(*) AS c FROM visits GROUP BY GROUPING SETS ((id / 2), ())",
                r#"SELECT "id" / 2 AS "h", count(*) AS "c" FROM "visits" GROUP BY GROUPING SETS (("id" / 2), ())"#,
            ),
            (
                "SELECT id AS i FROM visits WHERE n IN (SELECT RANK() OVER w AS r FROM people WINDOW w AS (ORDER BY id))",
                r#"SELECT "id" AS "i" FROM "visits" WHERE "n" IN (SELECT RANK() OVER (ORDER BY "id") AS "r" FROM "People")"#,
            ),
            (
                "SELECT (SELECT MAX(r) FROM (SELECT RANK() OVER w AS r FROM people WINDOW w AS (ORDER BY id)) q) AS m, RANK() OVER w AS r FROM visits WINDOW w AS (ORDER BY n)",
                r#"SELECT (SELECT max("r") AS "max_r" FROM (SELECT RANK() OVER (ORDER BY "id") AS "r" FROM "People") "q") AS "m", RANK() OVER (ORDER BY "n") AS "r" FROM "visits""#,
            ),
            (
                "SELECT id / 2, SUM(n) AS s FROM visits GROUP BY ALL",
                r#"SELECT "id" / 2 AS "id / 2", sum("n") AS "s" FROM "visits" GROUP BY ALL"#,
            ),
        ] {
            assert_eq!(read(text).unwrap().sql, expected, "{text}");
        }
    }

    /// Functions of rows one by one are the engine's, in the order of the call; rows of values are sought by EXISTS.
    #[test]
    fn rows_are_told_one_by_one() {
        for (text, expected) in [
            (
                "SELECT ANY_VALUE(n) AS v, FIRST(n ORDER BY id DESC) AS f, LAST(n) AS l FROM visits",
                r#"SELECT first_value("n") FILTER (WHERE ("n") IS NOT NULL) AS "v", first_value("n" ORDER BY "id" DESC) AS "f", last_value("n") AS "l" FROM "visits""#,
            ),
            (
                "SELECT ARG_MAX(id, cost) AS m, MIN_BY(id, cost) FILTER (WHERE n > 1) AS l FROM visits",
                r#"SELECT first_value("id" ORDER BY "cost" DESC) FILTER (WHERE (("id") IS NOT NULL) AND ("cost") IS NOT NULL) AS "m", first_value("id" ORDER BY "cost" ASC) FILTER (WHERE (("n" > 1) AND ("id") IS NOT NULL) AND ("cost") IS NOT NULL) AS "l" FROM "visits""#,
            ),
            (
                "SELECT STRING_AGG(n, '; ' ORDER BY n) AS a, LISTAGG(id) WITHIN GROUP (ORDER BY n DESC) AS b FROM visits",
                r#"SELECT string_agg(CAST("n" AS VARCHAR), '; ' ORDER BY "n") AS "a", string_agg(CAST("id" AS VARCHAR), ',' ORDER BY "n" DESC) AS "b" FROM "visits""#,
            ),
            (
                "SELECT CORR(cost, n) AS r, REGR_COUNT(cost, n) FILTER (WHERE id > 1) AS k, GEOMEAN(n) AS g FROM visits",
                r#"SELECT exact_joint('corr', "cost", "n") AS "r", count(*) FILTER (WHERE (("id" > 1) AND ("cost") IS NOT NULL) AND ("n") IS NOT NULL) AS "k", geomean("n") AS "g" FROM "visits""#,
            ),
            (
                "SELECT LINREG(cost, n) AS fit, LOGREG_SLOPE(1, id > 1, n) FILTER (WHERE id > 2) AS s FROM visits",
                r#"SELECT exact_joint('intercept', "cost", "n") AS "fit_intercept", exact_joint('slope:1', "cost", "n") AS "fit_n", exact_joint('r2', "cost", "n") AS "fit_r2", count(*) FILTER (WHERE (("cost") IS NOT NULL) AND ("n") IS NOT NULL) AS "fit_n_2", logreg_part(logreg(CAST(1 AS BIGINT), CAST("id" > 1 AS DOUBLE), CAST("n" AS DOUBLE)) FILTER (WHERE "id" > 2), 2) AS "s" FROM "visits""#,
            ),
            ("SELECT DISTINCT ON (n) n, id, BIT_OR(id) OVER () FROM visits ORDER BY n, cost", "HUSH-P005"),
            (
                "SELECT DISTINCT ON (N) n, id FROM visits ORDER BY n, cost",
                r#"SELECT DISTINCT ON ("n") "n", "id" FROM "visits" ORDER BY "n", "cost""#,
            ),
            (
                "SELECT id, GROUPING(id) AS g FROM visits GROUP BY ROLLUP (id)",
                r#"SELECT "id", GROUPING("id") AS "g" FROM "visits" GROUP BY ROLLUP ("id")"#,
            ),
            (
                "SELECT id FROM visits WHERE n > ALL (SELECT age FROM people) AND (id, n) IN (SELECT id, age FROM people)",
                r#"SELECT "id" FROM "visits" WHERE "n" > ALL(SELECT "Age" FROM "People") AND EXISTS (SELECT 1 AS "1" FROM (SELECT "id", "Age" FROM "People") AS "hush sought" ("hush sought 0", "hush sought 1") WHERE "hush sought"."hush sought 0" = ("id") AND "hush sought"."hush sought 1" = ("n"))"#,
            ),
        ] {
            assert_eq!(
                read(text).map_or_else(|error| error.code().to_owned(), |read| read.sql),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_star_leaves_out_what_is_sealed() {
        let found = read("SELECT * FROM people p, visits").unwrap();
        let visits = r#""visits"."id", "visits"."cost", "visits"."n""#;
        assert_eq!(found.sql, format!(r#"SELECT "p"."id", "p"."Age", {visits} FROM "People" "p", "visits""#));
        assert_eq!(found.notes, ["* leaves out note (sealed: naming them gives them back)"]);
        assert_eq!(found.tables, ["People", "visits"]);
        let named = read("SELECT v.*, p.note FROM visits v, people p").unwrap();
        let visits = r#""v"."id", "v"."cost", "v"."n""#;
        assert_eq!(named.sql, format!(r#"SELECT {visits}, "p"."note" FROM "visits" "v", "People" "p""#));
        assert!(named.notes.is_empty());
        let shared = read("SELECT * FROM visits FULL JOIN people USING (id)").unwrap();
        let columns = r#""id", "visits"."cost", "visits"."n", "People"."Age""#;
        assert_eq!(shared.sql, format!(r#"SELECT {columns} FROM "visits" FULL JOIN "People" USING("id")"#));
        assert_eq!(read("SELECT * FROM visits").unwrap().sql, r#"SELECT * FROM "visits""#);
        for (text, expected) in [
            ("* EXCLUDE (COST) FROM visits", r#""visits"."id", "visits"."n" FROM "visits""#),
            ("* EXCEPT (id, n) FROM visits", r#""visits"."cost" FROM "visits""#),
            (
                "v.* EXCLUDE n, p.* EXCLUDE \"Age\" FROM visits v, people p",
                r#""v"."id", "v"."cost", "p"."id" FROM "visits" "v", "People" "p""#,
            ),
        ] {
            assert_eq!(read(&format!("SELECT {text}")).unwrap().sql, format!("SELECT {expected}"));
        }
        for (text, code) in [
            ("* EXCLUDE (nothing) FROM visits", "HUSH-P003"),
            ("* EXCLUDE (id, cost, n) FROM visits", "HUSH-P005"),
            ("* REPLACE (1 AS id) FROM people", "HUSH-P005"),
            ("* EXCLUDE (id) FROM (SELECT id, n FROM visits) t", "HUSH-P005"),
        ] {
            assert_eq!(read(&format!("SELECT {text}")).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn repeated_outputs_are_numbered() {
        let outputs = |text: &str| read(&format!("SELECT {text} FROM visits v")).unwrap().sql;
        for (text, expected) in [
            ("id, id, v.id", r#""id", "id" AS "id_2", "v"."id" AS "id_3""#),
            ("cost + 1 AS n, n, n AS n", r#""cost" + 1 AS "n", "n" AS "n_2", "n" AS "n_3""#),
            ("n, cost AS n", r#""n", "cost" AS "n_2""#),
            ("v.id, w.id, v.id", r#""v"."id", "w"."id", "v"."id" AS "id_3""#),
            ("n, v.*", r#""n", "v"."id", "v"."cost", "v"."n" AS "n_2""#),
        ] {
            assert_eq!(outputs(text), format!(r#"SELECT {expected} FROM "visits" "v""#), "{text}");
        }
    }

    /// A name alone in ORDER BY is an output's, one in an expression a column's.
    #[test]
    fn expressions_in_order_by_read_columns() {
        let mark = "\u{1}";
        for (text, expected) in [
            (
                "-cost AS cost, n FROM visits ORDER BY cost",
                r#"-"cost" AS "cost", "n" FROM "visits" ORDER BY "cost""#.to_owned(),
            ),
            (
                "-cost AS cost, n FROM visits ORDER BY cost + 0, cost",
                format!(r#"-"cost" AS "cost{mark}", "n" FROM "visits" ORDER BY "cost" + 0, "cost{mark}""#),
            ),
            (
                "v.n * 2 AS id FROM visits v JOIN people p ON p.id = v.id ORDER BY v.id",
                format!(
                    r#""v"."n" * 2 AS "id{mark}" FROM "visits" "v" JOIN "People" "p" ON "p"."id" = "v"."id" ORDER BY "v"."id""#
                ),
            ),
            (
                "id, -SUM(cost) AS cost FROM visits GROUP BY id ORDER BY SUM(cost)",
                format!(
                    r#""id", -sum("cost") AS "cost{mark}" FROM "visits" GROUP BY "id" ORDER BY sum("cost")"#
                ),
            ),
            // What is no column is the output, and so is the column itself.
            (
                "id, COUNT(*) AS k FROM visits GROUP BY id ORDER BY k + 1",
                r#""id", count(*) AS "k" FROM "visits" GROUP BY "id" ORDER BY "k" + 1"#.to_owned(),
            ),
            (
                "v.cost AS cost FROM visits v ORDER BY cost + 1, v.cost",
                r#""v"."cost" AS "cost" FROM "visits" "v" ORDER BY "cost" + 1, "v"."cost""#.to_owned(),
            ),
            (
                "-v AS v FROM (SELECT cost AS v FROM visits) x ORDER BY v + 0",
                format!(
                    r#"-"v" AS "v{mark}" FROM (SELECT "cost" AS "v" FROM "visits") "x" ORDER BY "v" + 0"#
                ),
            ),
            (
                "DISTINCT id % 7 AS z FROM visits ORDER BY id % 7",
                r#"DISTINCT "id" % 7 AS "z" FROM "visits" ORDER BY "z""#.to_owned(),
            ),
        ] {
            assert_eq!(read(&format!("SELECT {text}")).unwrap().sql, format!("SELECT {expected}"), "{text}");
        }
        let with = read("WITH w AS (SELECT cost AS v FROM visits) SELECT -v AS v FROM w ORDER BY abs(v)")
            .unwrap()
            .sql;
        assert!(with.ends_with(&format!(r#"SELECT -"v" AS "v{mark}" FROM "w" ORDER BY abs("v")"#)), "{with}");
        let within = read("SELECT * FROM (SELECT -cost AS cost FROM visits ORDER BY cost + 1 LIMIT 2) x");
        assert_eq!(within.unwrap_err().code(), "HUSH-P005");
    }

    /// Results are divided as doubles; keys, conditions and arguments as the engine divides them.
    #[test]
    fn quotients_of_results_are_doubles() {
        let quotient = r#"(CAST("cost" AS DOUBLE) / NULLIF(CAST("n" AS DOUBLE), CAST(0 AS DOUBLE)))"#;
        let whole = r#""cost" / "n""#;
        for (text, expected) in [
            ("SELECT cost / n AS q FROM visits", format!(r#"SELECT {quotient} AS "q" FROM "visits""#)),
            (
                "SELECT SUM(cost / n) AS q FROM visits WHERE cost / n > 1",
                format!(r#"SELECT sum({whole}) AS "q" FROM "visits" WHERE {whole} > 1"#),
            ),
            (
                "SELECT cost / n AS q, COUNT(*) AS k FROM visits GROUP BY q",
                format!(r#"SELECT {whole} AS "q", count(*) AS "k" FROM "visits" GROUP BY "q""#),
            ),
            (
                "SELECT cost / n + 1 AS q FROM visits GROUP BY cost / n",
                format!(r#"SELECT {whole} + 1 AS "q" FROM "visits" GROUP BY {whole}"#),
            ),
            (
                "SELECT DISTINCT cost / n AS q FROM visits",
                format!(r#"SELECT DISTINCT {whole} AS "q" FROM "visits""#),
            ),
            (
                "SELECT id FROM visits WHERE cost > (SELECT cost / n FROM visits) ORDER BY cost / n",
                format!(
                    r#"SELECT "id" FROM "visits" WHERE "cost" > (SELECT {quotient} AS "cost / n" FROM "visits") ORDER BY {quotient}"#
                ),
            ),
        ] {
            assert_eq!(read(text).unwrap().sql, expected, "{text}");
        }
    }

    /// A window of many bytes, which has a name of one.
    #[test]
    fn windows_do_not_grow_out_of_proportion() {
        let of = |uses: usize| {
            let (outputs, keys) = (vec!["RANK() OVER w"; uses].join(", "), vec!["cost"; 2000].join(", "));
            read(&format!("SELECT {outputs} FROM visits WINDOW w AS (ORDER BY {keys})"))
        };
        assert!(of(3).is_ok());
        assert_eq!(of(1000).unwrap_err().code(), "HUSH-P012");
    }

    #[test]
    fn refusals_have_their_codes() {
        for (text, code) in [
            ("SELECT 1", "HUSH-P002"),
            ("SELECT * FROM people JOIN nobody USING (id)", "HUSH-P002"),
            ("SELECT * FROM people JOIN other.visits USING (id)", "HUSH-P002"),
            ("SELECT x FROM generate_series(1, 10) AS t(x)", "HUSH-P005"),
            ("SELECT random() FROM visits", "HUSH-P006"),
            ("SELECT now() FROM visits", "HUSH-P006"),
            ("SELECT MEDIAN(DISTINCT cost) FROM visits", "HUSH-P005"),
            ("SELECT QUANTILE_CONT(cost, 2) FROM visits", "HUSH-P005"),
            ("SELECT CORR(cost) FROM visits", "HUSH-P005"),
            ("SELECT CORR(DISTINCT cost, n) FROM visits", "HUSH-P005"),
            ("SELECT LINREG_SLOPE(2, cost, n) FROM visits", "HUSH-P009"),
            ("SELECT LINREG(cost) FROM visits", "HUSH-P005"),
            ("SELECT LINREG(cost, n) + 1 FROM visits", "HUSH-P005"),
            ("WITH visits AS (SELECT 1) SELECT * FROM visits", "HUSH-P005"),
            ("WITH RECURSIVE w AS (SELECT 1) SELECT * FROM w, visits", "HUSH-P005"),
            ("SELECT * FROM visits CROSS APPLY people", "HUSH-P005"),
            ("SELECT * INTO other FROM visits", "HUSH-P005"),
            ("SELECT * FROM visits FOR UPDATE", "HUSH-P005"),
            ("SELECT * FROM visits LIMIT n", "HUSH-P009"),
            ("SELECT id FROM visits GROUP BY id WITH ROLLUP", "HUSH-P005"),
            ("SELECT id, n FROM visits GROUP BY ROLLUP (1, 3)", "HUSH-P009"),
            ("SELECT RANK() OVER w FROM visits WINDOW v AS (ORDER BY id)", "HUSH-P005"),
            ("SELECT RANK() OVER w FROM visits WINDOW w AS w", "HUSH-P005"),
            ("SELECT STRING_AGG(DISTINCT id, ',') FROM visits", "HUSH-P005"),
            ("SELECT STRING_AGG(id, ',', n) FROM visits", "HUSH-P005"),
            ("SELECT ARG_MAX(id) FROM visits", "HUSH-P005"),
            ("SELECT BIT_AND(id ORDER BY n) FROM visits", "HUSH-P005"),
            ("SELECT id FROM visits WHERE (id, n) IN (SELECT id, age FROM people) IS NULL", "HUSH-P005"),
            ("SELECT id FROM visits WHERE (id, n) = 3", "HUSH-P005"),
            ("SELECT ARRAY_AGG(id) FROM visits", "HUSH-P006"),
            ("SELECT id FROM visits WHERE RANK() OVER (ORDER BY id) < 3", "HUSH-P005"),
            ("SELECT id FROM visits GROUP BY id HAVING SUM(SUM(n)) OVER () > 3", "HUSH-P005"),
            ("SELECT RANK() OVER w FROM visits", "HUSH-P005"),
            ("SELECT RANK() OVER w FROM visits WINDOW w AS (ORDER BY id), W AS (ORDER BY n)", "HUSH-P005"),
            (
                "SELECT (SELECT MAX(r) FROM (SELECT RANK() OVER w AS r FROM people) q) FROM visits WINDOW w AS (ORDER BY id)",
                "HUSH-P005",
            ),
            ("DROP TABLE visits", "HUSH-P004"),
            ("SELECT 1 FROM visits; SELECT 2 FROM visits", "HUSH-P004"),
            ("COPY visits TO '/tmp/x'", "HUSH-P004"),
        ] {
            assert_eq!(
                read(text).map(|several| several.sql).map_err(|error| error.code()),
                Err(code),
                "{text}"
            );
        }
    }
}
