// SPDX-License-Identifier: Apache-2.0
//! One SELECT over several tables, as the owner's query engine takes it: joins, sub-queries, WITH and set operations.
//!
//! The text is read, checked and spelled here, and planned by the engine. Names follow the rules of [one table](super), functions are those of its
//! list, and `/` on results is a division of doubles, so that an expression means the same whether its question is on one table or on several.
//!
//! *Non-goals.* What each table is asked: that follows from the engine's plan.

mod order;
mod quotients;
mod selects;
mod spelling;
mod windows;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Value, VisitorMut,
};

use self::order::Orders;
use self::selects::Selects;
use self::spelling::{Spelling, respell_aliases};
use self::windows::NamedWindows;
use super::expression::shown;
use super::{functions, like, names, scalar, statement};
use crate::aggregates::{self, Aggregate, FromSums, OrderFunction};
use crate::error::{Clause, Feature, PlanError};
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
        _ => match functions::aggregate(expr) {
            None => scalar::node(expr, Clause::Select),
            Some(call) => match call?.aggregate {
                Aggregate::Engine(_)
                | Aggregate::FromSums(FromSums::Count | FromSums::Moments(_))
                | Aggregate::Ordered(_) => Ok(()),
                _ => Err(PlanError::UnsupportedCall { text: shown(expr), feature: Feature::SeveralTables }),
            },
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
            ("SELECT GEOMEAN(cost) FROM visits", "HUSH-P005"),
            ("SELECT CORR(cost, n) FROM visits", "HUSH-P005"),
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
            ("SELECT DISTINCT ON (id) id FROM visits", "HUSH-P005"),
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
