// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::propose::{Advice, Situation, list_texts, listed, propose};
use crate::schema::file::{from_toml, to_toml};
use crate::sql;
use crate::tables::{column, ranged, schema as table};

const ROWS: u64 = 10_000_000;
/// 100 Mbit/s.
const LINK: f64 = 12.5e6;

fn situation(rows: u64) -> Situation {
    let distinct = [("flag", 3), ("status", 2), ("mode", 7), ("comment", 4_000_000)];
    let distinct = distinct.map(|(name, count)| (name.to_owned(), count));
    Situation { rows, distinct: distinct.into(), link: Some(LINK) }
}

/// Lines of orders of TPC-H, as `hush init` would protect them.
fn lines() -> Schema {
    use ColumnType::{Category, Date, Decimal, Int, Text};
    use Protection::{Clear, Encrypt, Seal};
    let money = Decimal { precision: 12, scale: 2 };
    let part = Decimal { precision: 3, scale: 2 };
    let encrypted = |name, kind, low, high| ranged(column(name, kind, Encrypt), low, high);
    let day = |name| Column { purposes: vec![Purpose::Count], ..encrypted(name, Date, 8035, 10_560) };
    let columns = vec![
        ranged(column("line", Int { bits: 8 }, Clear), 1, 7),
        encrypted("quantity", Int { bits: 8 }, 1, 50),
        encrypted("price", money, 0, 10_494_950),
        encrypted("discount", part, 0, 10),
        encrypted("tax", part, 0, 8),
        day("shipped"),
        day("due"),
        day("received"),
        column("flag", Category, Seal),
        column("status", Category, Seal),
        column("mode", Category, Seal),
        column("comment", Text, Seal),
    ];
    Schema { max_rows: ROWS, ..table("lines", columns) }
}

fn parsed(texts: &[&str]) -> Vec<Query> {
    texts.iter().map(|text| sql::parse(&lines(), text).unwrap()).collect()
}

fn advice(texts: &[&str], link: f64) -> Advice {
    let situation = Situation { link: Some(link), ..situation(ROWS) };
    propose(&lines(), &parsed(texts), &situation).unwrap()
}

fn words(texts: &[&str], link: f64) -> Vec<String> {
    advice(texts, link).kept.iter().map(|kept| kept.structure.describe()).collect()
}

fn ways(advice: &Advice) -> Vec<WayName> {
    advice.answers.iter().map(|answered| answered.after.as_ref().unwrap().way).collect()
}

/// The first question of TPC-H, of lines that came late.
const LATE: &str = "SELECT flag, status, SUM(quantity), SUM(price), SUM(price * (1 - discount)), AVG(discount), COUNT(*) \
     FROM lines WHERE shipped <= DATE '1998-09-02' AND received > due GROUP BY flag, status ORDER BY flag, status";
/// The sixth, of lines that are worth something.
const WORTH: &str = "SELECT SUM(price * discount) FROM lines WHERE shipped >= DATE '1994-01-01' AND shipped < DATE '1995-01-01' \
     AND discount BETWEEN 0.05 AND 0.07 AND price >= 500";
/// The twelfth.
const MODES: &str = "SELECT mode, COUNT(*) FROM lines WHERE received > due AND due > shipped AND received >= DATE '1994-01-01' \
     AND received < DATE '1995-01-01' GROUP BY mode";
const MARKED: &str = "SELECT mode, COUNT(*) FROM lines WHERE comment LIKE '%special%' AND mode IN ('AIR', 'RAIL') AND quantity < 24 \
     GROUP BY mode";

#[test]
fn cubes_come_first_where_they_serve() {
    let first = LATE.replace(" AND received > due", "");
    let sixth = WORTH.replace("price >= 500", "quantity < 24");
    for text in [first.as_str(), sixth.as_str()] {
        let words = words(&[text], LINK / 10.0);
        assert!(words.len() == 1 && words[0].starts_with("a cube by"), "{words:?}");
    }
}

/// Columns and texts have flags, what compares columns is derived, and dates have the digits that suit their bounds.
#[test]
fn conditions_that_no_cube_has_cells_for_get_flags() {
    assert_eq!(
        words(&[MODES], LINK),
        [
            "conditions without keys (filter) on calendar(received), mode; derived: received > due, due > shipped; 4 factors"
        ]
    );
    // Over a fast link a sorted run is quicker than products of as many factors.
    let within = MODES.replace("1994-01-01", "1994-03-17");
    assert!(
        words(&[&within], LINK)[0].starts_with("a sorted run by received"),
        "{:?}",
        words(&[&within], LINK)
    );
    assert_eq!(
        words(&[&within], LINK / 10.0),
        ["conditions without keys (filter) on received, mode; derived: received > due, due > shipped"]
    );
    // Prices that are picked one by one take fewer flags in codewords.
    let picked = "SELECT COUNT(*) FROM lines WHERE price IN (500.25, 812) AND comment LIKE '%special%'";
    assert_eq!(
        words(&[picked], LINK / 10.0),
        ["conditions without keys (filter) on equality(price); derived: comment LIKE '%special%'"]
    );
    // As soon as another question asks for a range, they have digits.
    let above = &picked.replace("price IN (500.25, 812)", "price > 500");
    let both = words(&[picked, above], LINK / 10.0);
    assert!(both.len() == 1 && !both[0].contains("equality"), "{both:?}");
    let found = advice(&[MARKED], LINK);
    assert_eq!(
        found.kept[0].structure.describe(),
        "conditions without keys (filter) on quantity, mode; derived: comment LIKE '%special%'"
    );
    assert_eq!((found.kept.len(), ways(&found)), (1, vec![WayName::Filter]));
    // 49 flags of numbers, seven of texts and that of the condition.
    let kept = &found.kept[0];
    assert!((500.0..2000.0).contains(&kept.row_bytes) && (6.0..8.0).contains(&kept.row_us), "{kept:?}");
    let answered = &found.answers[0];
    let [before, after] = [&answered.before, &answered.after].map(|answer| *answer.as_ref().unwrap());
    assert!(after.bytes_down < 1_000_000 && before.bytes_down > 100_000_000, "{answered:?}");
}

/// Behind WHERE a condition makes cells of its own. A condition on more values than products have factors for is derived too.
#[test]
fn what_would_take_many_cells_or_factors_is_derived() {
    let share = "SELECT SUM(CASE WHEN quantity > 25 OR comment LIKE 'a%' THEN price ELSE 0 END) / SUM(price) \
         FROM lines WHERE shipped >= DATE '1995-09-01' AND shipped < DATE '1995-10-01'";
    for (text, expected) in [
        (
            share,
            "on calendar(shipped); derived: quantity > 25 OR comment LIKE 'a%'; measures of price; 4 factors",
        ),
        (
            WORTH,
            "on discount, calendar(shipped); derived: price >= 500; measures of price * discount; 4 factors",
        ),
        (
            LATE,
            "on flag, status; derived: shipped <= DATE '1998-09-02', received > due; \
             measures of discount, price, price * (1 - discount), quantity",
        ),
    ] {
        assert_eq!(words(&[text], LINK / 10.0), [format!("conditions without keys (filter) {expected}")]);
    }
}

/// They are in one ring: one proposal, with what all need.
#[test]
fn several_queries_share_one_ring() {
    let found = advice(&[WORTH, LATE, MARKED], LINK / 10.0);
    assert_eq!(ways(&found), [WayName::Filter; 3]);
    let [kept] = found.kept.as_slice() else { panic!("{:?}", found.kept) };
    let Structure::Filters(filters) = &kept.structure else { panic!("{kept:?}") };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(filters.columns, names(&["discount", "quantity", "shipped"]));
    assert_eq!(filters.texts.keys().cloned().collect::<BTreeSet<_>>(), names(&["flag", "mode", "status"]));
    assert_eq!(filters.measures, names(&["discount", "price", "price * discount", "quantity"]));
    assert_eq!((filters.derived.len(), filters.factors), (4, None));
    // The same question in other words needs nothing more.
    let again = MODES.replace("due > shipped", "NOT (due <= shipped)");
    assert_eq!(advice(&[MODES, &again], LINK).kept, advice(&[MODES], LINK).kept);
}

/// What is proposed is what the planner then takes, on the schema that is written and read again, with the texts of the data.
#[test]
fn proposals_serve_as_they_are_written() {
    let mut found = advice(&[MODES, MARKED], LINK);
    assert_eq!(listed(&found.schema, 0), BTreeSet::from(["mode".to_owned()]));
    let texts = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "it's"].map(str::to_owned);
    list_texts(&mut found.schema, 0, "mode", &texts);
    let read = from_toml(&to_toml(&found.schema)).unwrap();
    assert_eq!(read, found.schema);
    crate::filter::check(&read).unwrap();
    assert_eq!(read.filters[1].grain, Grain::Texts(texts.to_vec()));
    assert!(crate::filter::note(&read, ROWS).is_some_and(|note| note.contains("GB")));
    let table = LaidOut::of(&read, &situation(ROWS)).unwrap();
    for (query, answered) in parsed(&[MODES, MARKED]).iter().zip(&found.answers) {
        let [read, proposed] = [table.price(query), answered.after.clone()].map(Result::unwrap);
        // Other texts may give other numbers to columns, and a plan other digits.
        assert_eq!((read.way, read.bytes_down), (WayName::Filter, proposed.bytes_down));
    }
}

/// A count takes few bytes, however many columns its condition reads.
#[test]
fn counts_of_some_ten_thousand_rows_are_served() {
    let text = "SELECT COUNT(*) FROM lines WHERE price > 1000 * quantity AND mode IN ('AIR', 'RAIL')";
    let words = |rows| {
        let found = propose(&lines(), &parsed(&[text]), &situation(rows)).unwrap();
        found.kept.iter().map(|kept| kept.structure.describe()).collect::<Vec<_>>()
    };
    let filters = "conditions without keys (filter) on mode; derived: price > 1000 * quantity; 2 factors";
    assert_eq!(words(40_000), [filters]);
    assert_eq!(words(5000), ["copies of price, quantity (fetch)"]);
}

#[test]
fn what_they_do_not_serve_gets_none() {
    let found = |schema: &Schema, rows: u64, texts: &[&str]| {
        let queries: Vec<Query> = texts.iter().map(|text| sql::parse(schema, text).unwrap()).collect();
        let (queries, situation) = (queries.as_slice(), &situation(rows));
        find(&Workload { schema, queries, situation }).len()
    };
    assert_eq!(found(&lines(), ROWS, &[MODES, MODES]), 1);
    // The rows of a small table come back.
    assert_eq!(found(&lines(), 1000, &[LATE, WORTH, MODES, MARKED]), 0);
    let few = propose(&lines(), &parsed(&[LATE, WORTH, MODES, MARKED]), &situation(1000)).unwrap();
    assert!(few.kept.iter().all(|kept| !matches!(kept.structure, Structure::Filters(_))), "{:?}", few.kept);
    for text in [
        "SELECT price FROM lines WHERE received > due",
        "SELECT MEDIAN(price) FROM lines WHERE received > due",
        "SELECT SUM(price) FROM lines WHERE line = 3",
        "SELECT comment, COUNT(*) FROM lines WHERE received > due GROUP BY comment",
        "SELECT COUNT(*) FROM lines WHERE received > due AND price + 1 > 3 AND tax * 2 > 1 AND quantity * 2 = 6 AND discount = tax AND mode = 'AIR'",
    ] {
        assert_eq!(found(&lines(), ROWS, &[text]), 0, "{text}");
    }
    // Clear columns are groups and masks of the server.
    for text in [
        "SELECT line, SUM(price) FROM lines WHERE received > due GROUP BY line",
        "SELECT SUM(price) FROM lines WHERE received > due OR line = 3",
    ] {
        assert_eq!(found(&lines(), ROWS, &[text]), 1, "{text}");
    }
    // Devices write no flags, and what a schema declares is left as it is.
    assert_eq!(found(&Schema { edge: true, ..lines() }, ROWS, &[MODES]), 0);
    assert_eq!(found(&Schema { derived: vec!["due < received".into()], ..lines() }, ROWS, &[MODES]), 0);
}

/// Columns of too many values for flags are not for conditions by ranks unless their owner says so: what a query asks of them is derived.
#[test]
fn ranks_are_not_proposed() {
    let account = column("account", ColumnType::Int { bits: 64 }, Protection::Encrypt);
    let mut schema = lines();
    schema.columns.push(crate::tables::nullable(account));
    let queries = [sql::parse(&schema, &format!("{WORTH} AND account IS NULL")).unwrap()];
    let situation = &situation(ROWS);
    let found = find(&Workload { schema: &schema, queries: &queries, situation });
    let Some(Structure::Filters(filters)) = found.first() else { panic!("{found:?}") };
    assert!(!filters.columns.contains("account") && filters.columns.contains("discount"), "{filters:?}");
    assert!(filters.derived.iter().any(|condition| condition.contains("account")), "{filters:?}");
}
