// SPDX-License-Identifier: Apache-2.0
//! The questions of TPC-H that are put, and the schemas by which the rows are stored for them.

use std::fmt::Write as _;

use super::Options;
use crate::prepared::Stored;
use crate::synthetic::mix;

/// A question, and what of the rows is stored for it.
pub(super) struct Question {
    pub(super) name: &'static str,
    /// With places for its constants, `{0}` and so on.
    sql: &'static str,
    /// Those by which TPC-H validates it.
    validation: &'static [&'static str],
    /// Others, as TPC-H draws them.
    draw: fn(&mut Random) -> Vec<String>,
    /// Whether it is put to orders, and not to lines.
    pub(super) of_orders: bool,
    columns: &'static [(&'static str, Use)],
    measures: &'static [&'static str],
    /// What a cube for it is by, and adds up.
    cube: (&'static str, &'static str),
    /// Conditions that are worked out when rows are encrypted.
    derived: &'static [&'static str],
    /// Dates whose bounds begin a year or a month.
    by_calendar: Option<&'static str>,
    /// Factors of its products, where dates have digits of the calendar.
    factors: Option<u8>,
}

/// What a column is for.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// For conditions that compare it for equality alone.
    Equality,
    Filter,
    Measure,
}

use Use::{Equality, Filter, Measure};

/// What the sixth question and those for rows read.
const OF_SIXTH: [(&str, Use); 4] =
    [("shipdate", Filter), ("discount", Filter), ("quantity", Filter), ("price", Measure)];
/// The ways of shipping.
const MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];

/// Numbers that look random, the same for a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from one to another, both included.
    fn between(&mut self, first: i64, last: i64) -> i64 {
        self.0 = self.0.wrapping_add(1);
        first + (mix(self.0) % (last - first + 1) as u64) as i64
    }
}

/// The day that lies so far before December 1998, at most 122 days.
fn before_december(mut days: i64) -> String {
    for (month, length) in [(11, 30), (10, 31), (9, 30)] {
        if days <= length {
            return format!("1998-{month:02}-{:02}", length + 1 - days);
        }
        days -= length;
    }
    format!("1998-08-{:02}", 32 - days)
}

/// The beginning of a month that lies so far behind January 1993, and that of another so much later.
fn months(first: i64, count: i64) -> Vec<String> {
    let begin = |months: i64| format!("{}-{:02}-01", 1993 + months / 12, 1 + months % 12);
    vec![begin(first), begin(first + count)]
}

/// The questions: those of TPC-H, two for rows that match such conditions, one on a column of 64 bits, and one for some keys.
pub(super) const QUESTIONS: [Question; 10] = [
    Question {
        name: "Q1",
        sql: "SELECT flag, status, SUM(quantity), SUM(price), SUM(price * (1 - discount)), SUM(price * (1 - discount) * (1 + tax)), AVG(quantity), AVG(price), AVG(discount), COUNT(*) \
              FROM t WHERE shipdate <= DATE '{0}' GROUP BY flag, status ORDER BY flag, status",
        validation: &["1998-09-02"],
        draw: |random| vec![before_december(random.between(60, 120))],
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
        // The cells that rows are grouped by, but for one that the others leave.
        derived: &[
            "flag = 'A' AND status = 'F'",
            "flag = 'A' AND status = 'O'",
            "flag = 'N' AND status = 'F'",
            "flag = 'N' AND status = 'O'",
            "flag = 'R' AND status = 'F'",
        ],
        by_calendar: None,
        factors: Some(4),
    },
    Question {
        name: "Q4",
        sql: "SELECT priority, COUNT(*) FROM t WHERE orderdate >= DATE '{0}' AND orderdate < DATE '{1}' AND late GROUP BY priority ORDER BY priority",
        validation: &["1993-07-01", "1993-10-01"],
        draw: |random| months(random.between(0, 57), 3),
        of_orders: true,
        columns: &[("orderdate", Filter), ("priority", Filter), ("late", Filter)],
        measures: &[],
        cube: (
            r#""month(orderdate)", { column = "priority", values = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"] }, "late""#,
            "",
        ),
        derived: &[],
        by_calendar: Some("orderdate"),
        factors: Some(4),
    },
    Question {
        name: "Q6",
        sql: "SELECT SUM(price * discount) FROM t WHERE shipdate >= DATE '{0}' AND shipdate < DATE '{1}' AND discount BETWEEN {2} AND {3} AND quantity < {4}",
        validation: &["1994-01-01", "1995-01-01", "0.05", "0.07", "24"],
        draw: |random| {
            let percent = random.between(2, 9);
            let hundredths = [percent - 1, percent + 1].map(|part| format!("0.{part:02}"));
            let last = random.between(24, 25).to_string();
            months(12 * random.between(0, 4), 12).into_iter().chain(hundredths).chain([last]).collect()
        },
        of_orders: false,
        columns: &OF_SIXTH,
        measures: &["price * discount"],
        cube: (r#""month(shipdate)", "discount", "quantity""#, r#""(price)""#),
        derived: &[],
        by_calendar: Some("shipdate"),
        factors: Some(4),
    },
    Question {
        name: "Q12",
        sql: "SELECT mode, SUM(CASE WHEN urgent THEN 1 ELSE 0 END), SUM(CASE WHEN NOT urgent THEN 1 ELSE 0 END) FROM t \
              WHERE mode IN ('{2}', '{3}') AND late AND receiptdate >= DATE '{0}' AND receiptdate < DATE '{1}' GROUP BY mode ORDER BY mode",
        validation: &["1994-01-01", "1995-01-01", "MAIL", "SHIP"],
        draw: |random| {
            let first = random.between(0, 6);
            let modes = [first, first + random.between(1, 6)].map(|mode| MODES[mode as usize % 7].to_owned());
            months(12 * random.between(0, 4), 12).into_iter().chain(modes).collect()
        },
        of_orders: false,
        columns: &[("mode", Filter), ("late", Filter), ("urgent", Filter), ("receiptdate", Filter)],
        measures: &[],
        cube: (
            r#""month(receiptdate)", { column = "mode", values = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"] }, "late", "urgent""#,
            "",
        ),
        derived: &[],
        by_calendar: Some("receiptdate"),
        factors: Some(4),
    },
    Question {
        name: "Q14",
        sql: "SELECT 100.00 * SUM(CASE WHEN promo THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount)) FROM t \
              WHERE shipdate >= DATE '{0}' AND shipdate < DATE '{1}'",
        validation: &["1995-09-01", "1995-10-01"],
        draw: |random| months(random.between(0, 59), 1),
        of_orders: false,
        columns: &[("shipdate", Filter), ("promo", Filter), ("price", Measure), ("discount", Measure)],
        measures: &["price * (1 - discount)"],
        cube: (r#""month(shipdate)", "promo""#, r#""price * (1 - discount)""#),
        derived: &[],
        by_calendar: Some("shipdate"),
        factors: Some(4),
    },
    Question {
        name: "Q19",
        sql: "SELECT SUM(price * (1 - discount)) FROM t WHERE person AND ((class = 1 AND quantity BETWEEN {0} AND {1}) \
              OR (class = 2 AND quantity BETWEEN {2} AND {3}) OR (class = 3 AND quantity BETWEEN {4} AND {5}))",
        validation: &["1", "11", "10", "20", "20", "30"],
        draw: |random| {
            let least = [(1, 10), (10, 20), (20, 30)].map(|(first, last)| random.between(first, last));
            least.into_iter().flat_map(|least| [least, least + 10]).map(|number| number.to_string()).collect()
        },
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
        derived: &[],
        by_calendar: None,
        factors: None,
    },
    Question {
        name: "rows",
        sql: "SELECT price, quantity, discount FROM t WHERE shipdate >= DATE '{0}' AND shipdate < DATE '{1}' AND discount = {2} AND quantity < {3} ORDER BY price, quantity",
        validation: &["1994-03-09", "1994-03-16", "0.06", "24"],
        draw: |random| {
            let (year, month, day) =
                (random.between(1993, 1997), random.between(1, 12), random.between(1, 21));
            let day_of = |day| format!("{year}-{month:02}-{day:02}");
            let discount = format!("0.{:02}", random.between(0, 10));
            vec![day_of(day), day_of(day + 7), discount, random.between(2, 25).to_string()]
        },
        of_orders: false,
        columns: &OF_SIXTH,
        measures: &[],
        cube: ("", ""),
        derived: &[],
        by_calendar: None,
        factors: None,
    },
    Question {
        name: "first",
        sql: "SELECT price, quantity FROM t WHERE discount = {0} AND quantity < {1} ORDER BY shipdate DESC, price LIMIT 10",
        validation: &["0.06", "24"],
        draw: |random| vec![format!("0.{:02}", random.between(0, 10)), random.between(2, 25).to_string()],
        of_orders: false,
        columns: &OF_SIXTH,
        measures: &[],
        cube: ("", ""),
        derived: &[],
        by_calendar: None,
        factors: None,
    },
    Question {
        name: "ranks",
        sql: "SELECT COUNT(*), SUM(price) FROM t WHERE part BETWEEN {0} AND {1} AND quantity < {2}",
        validation: &["1000", "1999", "24"],
        draw: |random| {
            let first = random.between(1, 15_000);
            vec![first.to_string(), (first + 999).to_string(), random.between(2, 50).to_string()]
        },
        of_orders: false,
        columns: &[("part", Filter), ("quantity", Filter), ("price", Measure)],
        measures: &[],
        cube: ("", ""),
        derived: &[],
        by_calendar: None,
        factors: None,
    },
    Question {
        name: "keys",
        sql: "SELECT COUNT(*), SUM(price) FROM t WHERE orderkey IN ({0}, {1}, {2})",
        validation: &["1", "3", "7"],
        draw: |random| {
            // Of 32 numbers in a row orders have eight.
            let mut key = || (32 * random.between(0, 4000) + random.between(1, 7)).to_string();
            vec![key(), key(), key()]
        },
        of_orders: false,
        columns: &[("orderkey", Equality), ("price", Measure)],
        measures: &[],
        cube: ("", ""),
        derived: &[],
        by_calendar: None,
        factors: None,
    },
];

/// Columns of a file, each with its type and range, or with its texts.
const OF_LINES: [(&str, &str, &[&str]); 16] = [
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
    // Of any 64 bits, so that it is compared by ranks.
    ("part", "type = \"int(64)\"", &[]),
    ("orderkey", "type = \"int(32)\"\nrange = [1, 6000000]", &[]),
];
const OF_ORDERS: [(&str, &str, &[&str]); 3] = [
    ("orderdate", "type = \"date\"\nrange = [\"1992-01-01\", \"1998-08-02\"]", &[]),
    ("priority", "", &["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]),
    ("late", "type = \"bool\"", &[]),
];

impl Question {
    /// The question with the constants by which TPC-H validates it.
    pub(super) fn validating(&self) -> String {
        self.with(self.validation)
    }

    /// The question with constants as TPC-H draws them.
    pub(super) fn drawn(&self, random: &mut Random) -> String {
        self.with(&(self.draw)(random))
    }

    fn with(&self, constants: &[impl AsRef<str>]) -> String {
        let places = (0..).zip(constants);
        places.fold(self.sql.to_owned(), |sql, (place, constant)| {
            sql.replace(&format!("{{{place}}}"), constant.as_ref())
        })
    }

    /// The schema of so many rows: every column that it reads is protected, or none; others are left out. Dates are for bounds on any day, or those of
    /// the question are on whole years and months. With keys that make answers smaller, with such for encrypted constants, or without.
    pub(super) fn schema(&self, form: Stored, rows: u64, options: &Options) -> String {
        let Options { any_days, answer_keys, encrypted_constants, .. } = *options;
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
            let by_calendar = self.by_calendar.filter(|_| !any_days && !encrypted_constants);
            let dates = by_calendar.map(|column| format!("\"calendar({column})\""));
            let keys = self.columns.iter().filter(|(_, used)| *used == Equality);
            let keys = keys.map(|(column, _)| format!("\"equality({column})\""));
            let filters: Vec<String> = texts.into_iter().chain(dates).chain(keys).collect();
            let _ = writeln!(out, "filter = [{}]\nmeasure = {:?}", filters.join(", "), self.measures);
            let _ = writeln!(out, "derive = {:?}", self.derived);
            // Bounds on any day take a digit more than those that begin a month.
            let is_short = by_calendar.is_some() || self.by_calendar.is_none();
            if let Some(factors) = self.factors.filter(|_| is_short && !encrypted_constants) {
                let _ = writeln!(out, "filter_factors = {factors}");
            }
            if answer_keys {
                let _ = writeln!(out, "answer_keys = true");
            }
            if encrypted_constants {
                let _ = writeln!(out, "constant_keys = true");
            }
            let (by, sum) = self.cube;
            if !by.is_empty() {
                let _ = writeln!(out, "cubes = [{{ by = [{by}], sum = [{sum}] }}]");
            }
        }
        for (name, described, texts) in columns {
            let described = if texts.is_empty() { described } else { "type = \"category\"" };
            let protect = match used(name) {
                None => "\"drop\"".to_owned(),
                Some(_) if !is_protected => "\"clear\"".to_owned(),
                Some(_) if !texts.is_empty() => "\"seal\"".to_owned(),
                Some(Equality | Filter) => "\"encrypt\"\nfor = [\"filter\"]".to_owned(),
                Some(Measure) if self.reads(name) => "\"encrypt\"\nfor = [\"measure\"]".to_owned(),
                Some(Measure) => "\"encrypt\"\nfor = [\"fetch\"]".to_owned(),
            };
            let _ = writeln!(out, "[columns.{name}]\n{described}\nprotect = {protect}");
        }
        out
    }

    /// Whether it reads a column by itself, and not in an expression alone.
    fn reads(&self, name: &str) -> bool {
        let calls = ["SUM", "AVG"].map(|call| format!("{call}({name})"));
        let items = self.sql.split(" FROM ").next().unwrap_or_default().trim_start_matches("SELECT ");
        items.split(", ").any(|item| item.trim() == name || calls.contains(&item.trim().to_owned()))
    }

    /// Whether it is one of TPC-H's.
    pub(super) fn is_of_tpch(&self) -> bool {
        self.name.starts_with('Q')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_the_specification() {
        assert_eq!(
            [60, 90, 92, 120, 121, 122].map(before_december),
            ["1998-10-02", "1998-09-02", "1998-08-31", "1998-08-03", "1998-08-02", "1998-08-01"]
        );
        assert_eq!(months(57, 3), ["1997-10-01", "1998-01-01"]);
        let mut random = Random::new(7);
        for question in &QUESTIONS {
            let drawn: Vec<String> = (0..20).map(|_| question.drawn(&mut random)).collect();
            assert!(drawn.iter().all(|sql| !sql.contains('{')), "{drawn:?}");
            assert!(drawn.iter().any(|sql| *sql != drawn[0]), "{drawn:?}");
        }
        assert!(QUESTIONS[2].validating().contains("BETWEEN 0.05 AND 0.07 AND quantity < 24"));
    }
}
