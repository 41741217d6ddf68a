// SPDX-License-Identifier: Apache-2.0
//! The questions of TPC-H that are put, and the schemas by which the rows are stored for them.

use std::fmt::Write as _;

use crate::prepared::Stored;

/// A question, and what of the rows is stored for it.
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    /// Whether it is put to orders, and not to lines.
    pub(super) of_orders: bool,
    columns: &'static [(&'static str, Use)],
    measures: &'static [&'static str],
    /// What a cube for it is by, and adds up.
    cube: (&'static str, &'static str),
    /// The dates whose bounds begin a year or a month, and the factors of its products when these have digits of the calendar.
    by_calendar: Option<(&'static str, u8)>,
}

/// What a column is for.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Filter,
    Measure,
}

use Use::{Filter, Measure};

/// The questions, with the parameters by which TPC-H validates them.
pub(super) const QUESTIONS: [Question; 6] = [
    Question {
        name: "Q1",
        sql: "SELECT flag, status, SUM(quantity), SUM(price), SUM(price * (1 - discount)), SUM(price * (1 - discount) * (1 + tax)), AVG(quantity), AVG(price), AVG(discount), COUNT(*) \
              FROM t WHERE shipdate <= DATE '1998-09-02' GROUP BY flag, status ORDER BY flag, status",
        of_orders: false,
        columns: &[
            ("shipdate", Filter),
            ("flag", Filter),
            ("status", Filter),
            ("quantity", Measure),
            ("price", Measure),
            ("discount", Measure),
            ("tax", Measure),
        ],
        measures: &["price * (1 - discount)", "price * (1 - discount) * (1 + tax)"],
        cube: (
            r#""shipdate", { column = "flag", values = ["A", "N", "R"] }, { column = "status", values = ["F", "O"] }"#,
            r#""(quantity)", "(price)", "(discount)", "price * (1 - discount) * (1 + tax)""#,
        ),
        by_calendar: None,
    },
    Question {
        name: "Q4",
        sql: "SELECT priority, COUNT(*) FROM t WHERE orderdate >= DATE '1993-07-01' AND orderdate < DATE '1993-10-01' AND late GROUP BY priority ORDER BY priority",
        of_orders: true,
        columns: &[("orderdate", Filter), ("priority", Filter), ("late", Filter)],
        measures: &[],
        cube: (
            r#""month(orderdate)", { column = "priority", values = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"] }, "late""#,
            "",
        ),
        by_calendar: Some(("orderdate", 4)),
    },
    Question {
        name: "Q6",
        sql: "SELECT SUM(price * discount) FROM t WHERE shipdate >= DATE '1994-01-01' AND shipdate < DATE '1995-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24",
        of_orders: false,
        columns: &[("shipdate", Filter), ("discount", Filter), ("quantity", Filter), ("price", Measure)],
        measures: &["price * discount"],
        cube: (r#""month(shipdate)", "discount", "quantity""#, r#""(price)""#),
        by_calendar: Some(("shipdate", 4)),
    },
    Question {
        name: "Q12",
        sql: "SELECT mode, SUM(CASE WHEN urgent THEN 1 ELSE 0 END), SUM(CASE WHEN NOT urgent THEN 1 ELSE 0 END) FROM t \
              WHERE mode IN ('MAIL', 'SHIP') AND late AND receiptdate >= DATE '1994-01-01' AND receiptdate < DATE '1995-01-01' GROUP BY mode ORDER BY mode",
        of_orders: false,
        columns: &[("mode", Filter), ("late", Filter), ("urgent", Filter), ("receiptdate", Filter)],
        measures: &[],
        cube: (
            r#""month(receiptdate)", { column = "mode", values = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"] }, "late", "urgent""#,
            "",
        ),
        by_calendar: Some(("receiptdate", 4)),
    },
    Question {
        name: "Q14",
        sql: "SELECT 100.00 * SUM(CASE WHEN promo THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount)) FROM t \
              WHERE shipdate >= DATE '1995-09-01' AND shipdate < DATE '1995-10-01'",
        of_orders: false,
        columns: &[("shipdate", Filter), ("promo", Filter), ("price", Measure), ("discount", Measure)],
        measures: &["price * (1 - discount)"],
        cube: (r#""month(shipdate)", "promo""#, r#""price * (1 - discount)""#),
        by_calendar: Some(("shipdate", 4)),
    },
    Question {
        name: "Q19",
        sql: "SELECT SUM(price * (1 - discount)) FROM t WHERE person AND ((class = 1 AND quantity BETWEEN 1 AND 11) \
              OR (class = 2 AND quantity BETWEEN 10 AND 20) OR (class = 3 AND quantity BETWEEN 20 AND 30))",
        of_orders: false,
        columns: &[
            ("person", Filter),
            ("class", Filter),
            ("quantity", Filter),
            ("price", Measure),
            ("discount", Measure),
        ],
        measures: &["price * (1 - discount)"],
        cube: (r#""person", "class", "quantity""#, r#""price * (1 - discount)""#),
        by_calendar: None,
    },
];

/// Columns of a file, each with its type and range, or with its texts.
const OF_LINES: [(&str, &str, &[&str]); 14] = [
    ("shipdate", "type = \"date\"\nrange = [\"1992-01-02\", \"1998-12-01\"]", &[]),
    ("receiptdate", "type = \"date\"\nrange = [\"1992-01-03\", \"1998-12-31\"]", &[]),
    ("quantity", "type = \"int(16)\"\nrange = [1, 50]", &[]),
    ("price", "type = \"decimal(9,2)\"\nrange = [900, 104999.50]", &[]),
    ("discount", "type = \"decimal(3,2)\"\nrange = [0, 0.10]", &[]),
    ("tax", "type = \"decimal(3,2)\"\nrange = [0, 0.08]", &[]),
    ("flag", "", &["A", "N", "R"]),
    ("status", "", &["F", "O"]),
    ("mode", "", &["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]),
    ("late", "type = \"bool\"", &[]),
    ("urgent", "type = \"bool\"", &[]),
    ("promo", "type = \"bool\"", &[]),
    ("class", "type = \"int(8)\"\nrange = [0, 3]", &[]),
    ("person", "type = \"bool\"", &[]),
];
const OF_ORDERS: [(&str, &str, &[&str]); 3] = [
    ("orderdate", "type = \"date\"\nrange = [\"1992-01-01\", \"1998-08-02\"]", &[]),
    ("priority", "", &["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]),
    ("late", "type = \"bool\"", &[]),
];

impl Question {
    /// The schema of so many rows: every column that it reads is protected, or none; others are left out. Dates are for bounds on any day, or those of
    /// the question are on whole years and months.
    pub(super) fn schema(&self, form: Stored, rows: u64, any_days: bool) -> String {
        let columns: &[_] = if self.of_orders { &OF_ORDERS } else { &OF_LINES };
        let is_protected = form != Stored::Clear;
        let mut out = format!("format = 1\ntable = \"t\"\nstatus = \"approved\"\nmax_rows = {rows}\n");
        let used =
            |name: &str| self.columns.iter().find(|(column, _)| *column == name).map(|(_, used)| *used);
        if is_protected {
            let texts = columns.iter().filter(|(name, _, texts)| !texts.is_empty() && used(name).is_some());
            let texts: Vec<String> = texts
                .map(|(name, _, texts)| format!("{{ column = \"{name}\", values = {texts:?} }}"))
                .collect();
            let by_calendar = self.by_calendar.filter(|_| !any_days);
            let dates = by_calendar.map(|(column, _)| format!("\"calendar({column})\""));
            let filters: Vec<String> = texts.into_iter().chain(dates).collect();
            let _ = writeln!(out, "filter = [{}]\nmeasure = {:?}", filters.join(", "), self.measures);
            if let Some((_, factors)) = by_calendar {
                let _ = writeln!(out, "filter_factors = {factors}");
            }
            let (by, sum) = self.cube;
            let _ = writeln!(out, "cubes = [{{ by = [{by}], sum = [{sum}] }}]");
        }
        for (name, described, texts) in columns {
            let described = if texts.is_empty() { described } else { "type = \"category\"" };
            let protect = match used(name) {
                None => "\"drop\"".to_owned(),
                Some(_) if !is_protected => "\"clear\"".to_owned(),
                Some(_) if !texts.is_empty() => "\"seal\"".to_owned(),
                Some(Filter) => "\"encrypt\"\nfor = [\"filter\"]".to_owned(),
                Some(Measure) if self.reads(name) => "\"encrypt\"\nfor = [\"measure\"]".to_owned(),
                Some(Measure) => "\"encrypt\"\nfor = [\"fetch\"]".to_owned(),
            };
            let _ = writeln!(out, "[columns.{name}]\n{described}\nprotect = {protect}");
        }
        out
    }

    /// Whether it adds a column up by itself, and not in an expression alone.
    fn reads(&self, name: &str) -> bool {
        ["SUM", "AVG"].iter().any(|call| self.sql.contains(&format!("{call}({name})")))
    }
}
