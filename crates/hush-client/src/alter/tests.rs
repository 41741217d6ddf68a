// SPDX-License-Identifier: Apache-2.0
//! Altered tables against tables of the same rows that were encrypted with the altered schema.

mod filtered;
mod table;

use hush_plan::schema::Purpose;
use hush_plan::schema::file::column_from_toml;
use hush_remote::Silent;
use hush_table::source::{OpenOptions, Source};

use self::table::{Altered, COLUMNS, Row, row, texts};
use super::*;
use crate::delete::{DeleteOptions, delete_rows};
use crate::table::OwnedTable;
use crate::update::{MissingRows, UpdateOptions, update_rows};

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
[columns.id]
type = "text"
protect = "seal"
[columns.ward]
type = "category"
protect = "clear"
nullable = true
[columns.load]
type = "int(16)"
range = [0, 1000]
nullable = true
protect = "encrypt"
[columns.cost]
type = "decimal(8,2)"
range = [0, 9999.99]
protect = "encrypt"
for = ["sum", "product"]
[columns.level]
type = "float(3)"
protect = "encrypt"
[columns.note]
type = "text"
protect = "seal"
nullable = true
"#;

fn adding(columns: &[&str]) -> Alteration {
    let add = columns.iter().map(|text| column_from_toml(text).unwrap()).collect();
    Alteration { add, ..Alteration::default() }
}

fn dropping(names: &[&str]) -> Alteration {
    Alteration { drop: names.iter().map(|name| (*name).to_owned()).collect(), ..Alteration::default() }
}

fn renaming(names: &[(&str, &str)]) -> Alteration {
    let rename = names.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    Alteration { rename, ..Alteration::default() }
}

fn widening(name: &str, low: &str, high: &str) -> Alteration {
    Alteration { widen: vec![(name.to_owned(), [low.to_owned(), high.to_owned()])], ..Alteration::default() }
}

fn giving(name: &str, purposes: &[Purpose]) -> Alteration {
    Alteration { purposes: vec![(name.to_owned(), purposes.to_vec())], ..Alteration::default() }
}

const OF_EVERY_TABLE: [&str; 7] = [
    "SELECT COUNT(*) AS n, SUM(load) AS s, COUNT(load) AS m, AVG(cost) AS c, SUM(level) AS l FROM t",
    "SELECT ward, COUNT(*) AS n, SUM(load) AS s, SUM(cost) AS c FROM t GROUP BY ward ORDER BY ward",
    "SELECT SUM(cost) AS s FROM t WHERE ward = 'b' OR ward IS NULL",
    "SELECT ward, load, cost FROM t WHERE ward = 'c'",
    "SELECT ward, cost * cost AS square FROM t WHERE ward <> 'a'",
    "SELECT ward, cost FROM t WHERE load > 900 AND ward <> 'a'",
    "SELECT load IS NULL AS missing, MIN(cost) AS c, COUNT(DISTINCT load) AS n FROM t GROUP BY load IS NULL",
];
const WEIGHT: &str = r#"weight = { type = "decimal(5,1)", range = [0, 500], protect = "encrypt" }"#;
const ADDED: [&str; 4] = [
    WEIGHT,
    r#"phone = { type = "text", protect = "seal" }"#,
    r#"year = { type = "int(16)", protect = "clear" }"#,
    r#"height = { type = "int(16)", range = [0, 300], protect = "encrypt", for = ["sum", "product"] }"#,
];
const OF_ADDED: [&str; 9] = [
    "SELECT SUM(weight) AS s, COUNT(weight) AS n, AVG(height) AS h, SUM(load) AS l FROM t",
    "SELECT year, COUNT(*) AS n, SUM(weight) AS w, SUM(load) AS s FROM t GROUP BY year ORDER BY year",
    "SELECT ward, COUNT(year) AS y, SUM(height) AS w FROM t GROUP BY ward ORDER BY ward",
    "SELECT SUM(weight) AS s FROM t WHERE year IS NULL",
    "SELECT SUM(cost) AS s, SUM(weight) AS w FROM t WHERE year = 2021",
    "SELECT ward, year, weight, load FROM t WHERE ward = 'b'",
    "SELECT ward, height * height AS h, weight FROM t WHERE ward <> 'a'",
    "SELECT phone, weight FROM t WHERE phone LIKE '%77' OR weight IS NULL AND height > 290",
    "SELECT phone IS NULL AS p, id, MAX(height) AS h FROM t WHERE id LIKE '%00' GROUP BY phone IS NULL, id",
];

fn further(number: usize) -> Vec<(&'static str, String)> {
    let weight =
        if number.is_multiple_of(7) { String::new() } else { format!("{}.{}", number % 500, number % 10) };
    let height = if number.is_multiple_of(4) { String::new() } else { (number % 300).to_string() };
    vec![
        ("weight", weight),
        ("phone", format!("+{number}")),
        ("year", (2020 + number % 3).to_string()),
        ("height", height),
    ]
}

#[test]
fn added_columns_are_missing_before_and_there_from_then_on() {
    for in_bucket in [false, true] {
        let mut table = Altered::new(9000);
        if in_bucket {
            table = table.in_bucket();
        }
        let before = table.manifest();
        let report = table.alter(adding(&ADDED));
        assert_eq!((report.changed, report.resumed, report.rows), (true, false, 0));
        assert_eq!(report.clear_parts, before.parts.len() as u64);
        let manifest = table.manifest();
        assert_eq!(manifest.version, before.version + 1);
        let encrypted =
            |manifest: &Manifest| manifest.parts.iter().map(|part| part.encrypted).collect::<Vec<_>>();
        assert_eq!(encrypted(&manifest), encrypted(&before), "no ciphertext was written anew");
        table.columns.extend(["weight", "phone", "year", "height"]);
        let queries: Vec<&str> = OF_EVERY_TABLE.into_iter().chain(OF_ADDED).collect();
        table.check(&queries);
        table.append(9000..9100, further);
        table.check(&queries);
        // Once more: nothing is left to be done.
        let version = table.manifest().version;
        let again = table.alter(adding(&ADDED));
        assert_eq!((again.changed, again.version), (false, version));
        table.compact();
        assert!(table.manifest().generations.is_empty());
        table.check(&queries);
    }
}

#[test]
fn columns_are_dropped_and_names_can_be_taken_again() {
    let mut table = Altered::new(300);
    let report = table.alter(dropping(&["load", "note", "ward"]));
    assert_eq!(report.left_behind, ["load", "note"]);
    table.columns = vec!["id", "cost", "level"];
    let left =
        ["SELECT COUNT(*) AS n, SUM(cost) AS c, SUM(level) AS l FROM t", "SELECT cost * cost AS q FROM t"];
    table.check(&left);
    assert!(table.table().ask("SELECT SUM(load) FROM t", &Silent).is_err());
    table.append(300..310, |_| Vec::new());
    table.check(&left);
    // Files may go on having what is dropped.
    table.columns = COLUMNS.to_vec();
    let rows: Vec<Row> = (310..320).map(row).collect();
    table.try_append(rows).unwrap();
    table.columns = vec!["id", "cost", "level"];
    table.check(&left);
    // The same name again is another column: nothing of the first one comes back.
    let again = [
        r#"load = { type = "int(32)", range = [0, 5000], protect = "encrypt" }"#,
        r#"note = { type = "text", protect = "seal" }"#,
        r#"ward = { type = "category", protect = "clear" }"#,
    ];
    table.alter(adding(&again));
    table.rows.iter_mut().for_each(|row| row.retain(|name, _| ["id", "cost", "level"].contains(name)));
    table.columns = vec!["id", "cost", "level", "load", "note", "ward"];
    let queries = [
        "SELECT SUM(load) AS s, COUNT(load) AS n FROM t",
        "SELECT ward, SUM(cost) AS c FROM t GROUP BY ward",
    ];
    table.check(&queries);
    table.append(320..330, |number| vec![("load", (4000 + number).to_string())]);
    table.check(&queries);
    table.compact();
    table.check(&queries);
    let stored: Vec<u32> = table.manifest().sealed_numbers();
    assert_eq!(stored, [0, 2]);
}

#[test]
fn renamed_columns_are_the_same_columns() {
    let mut table = Altered::new(200);
    let before = table.manifest();
    let report = table.alter(renaming(&[("load", "pressure"), ("note", "remark")]));
    assert_eq!((report.clear_parts, report.encodings), (0, 0));
    let manifest = table.manifest();
    assert_eq!(
        (manifest.parts, manifest.generation, manifest.encodings),
        (before.parts, 0, before.encodings)
    );
    table.alter(renaming(&[("ward", "unit")]));
    table.columns = vec!["id", "unit", "pressure", "cost", "level", "remark"];
    let renamed = |row: &Row| -> Row {
        let name = |name: &'static str| match name {
            "load" => "pressure",
            "note" => "remark",
            "ward" => "unit",
            other => other,
        };
        row.iter().map(|(key, value)| (name(key), value.clone())).collect()
    };
    table.rows = table.rows.iter().map(renamed).collect();
    let queries = [
        "SELECT unit, SUM(pressure) AS s, AVG(cost) AS c FROM t GROUP BY unit ORDER BY unit",
        "SELECT unit, pressure FROM t WHERE unit = 'b'",
    ];
    table.check(&queries);
    table.try_append((200..210).map(|number| renamed(&row(number))).collect()).unwrap();
    table.check(&queries);
    assert!(!table.alter(renaming(&[("load", "pressure")])).changed);
    table.compact();
    table.check(&queries);
}

#[test]
fn a_further_purpose_is_served_once_all_parts_have_it() {
    let mut table = Altered::new(9000);
    table.append(9000..9010, |_| Vec::new());
    let variance = "SELECT ward, VARIANCE(load) AS v, SUM(load) AS s FROM t GROUP BY ward ORDER BY ward";
    let product = "SELECT SUM(load * cost) AS p FROM t";
    // What no server adds up, the owner does.
    let by_owner =
        |table: &Altered| [variance, product].map(|sql| table.table().plan(sql).unwrap().owner.own.is_some());
    assert_eq!(by_owner(&table), [true; 2]);
    table.check_rows(&[variance, product]);
    let alteration = Alteration {
        products: vec![vec!["load".to_owned(), "cost".to_owned()]],
        ..giving("load", &[Purpose::Variance])
    };
    // Begun, and interrupted before a part was written anew: what was served is, and what was not is not.
    begin(&table, &alteration);
    assert_eq!(by_owner(&table), [true; 2]);
    table.check_rows(&OF_EVERY_TABLE);
    table.append(9010..9020, |_| Vec::new());
    table.check_rows(&OF_EVERY_TABLE);
    let other = table.try_alter(dropping(&["note"])).unwrap_err();
    assert_eq!(other.code(), "HUSH-C120");
    // The same command goes on.
    let report = table.alter(alteration.clone());
    assert_eq!((report.resumed, report.changed, report.rows), (true, true, 9010));
    assert_eq!(by_owner(&table), [false; 2]);
    let queries: Vec<&str> = OF_EVERY_TABLE.into_iter().chain([variance, product]).collect();
    table.check(&queries);
    assert!(!table.alter(alteration).changed && !table.alter(Alteration::default()).changed);
    // Of a column that was added, where parts without it need not be written anew.
    table.alter(adding(&[WEIGHT]));
    table.columns.push("weight");
    table.append(9020..9030, further);
    let report = table.alter(giving("weight", &[Purpose::Variance, Purpose::Product]));
    assert_eq!(report.rows, 10);
    let queries = [
        "SELECT ward, VARIANCE(weight) AS v, SUM(cost) AS c FROM t GROUP BY ward ORDER BY ward",
        "SELECT ward, weight * weight AS w, cost FROM t WHERE ward = 'b'",
    ];
    table.check(&queries);
}

/// Copies beside ciphertexts, alone, of approximate columns, of columns that come, grow and go.
#[test]
fn copies_are_read_once_all_parts_have_them() {
    let mut table = Altered::new(9000);
    table.append(9000..9010, |_| Vec::new());
    let copied = |table: &Altered| {
        let plan = table.table().plan("SELECT MAX(load) AS l, MEDIAN(cost) AS c FROM t").unwrap();
        plan.owner.own.map(|own| own.sealed).unwrap_or_default()
    };
    assert!(copied(&table).is_empty());
    begin(&table, &giving("load", &[Purpose::Fetch]));
    assert!(copied(&table).is_empty(), "parts of before have none");
    table.append(9010..9020, |_| Vec::new());
    table.check_rows(&OF_EVERY_TABLE);
    let report = table.alter(giving("load", &[Purpose::Fetch]));
    assert_eq!((report.resumed, report.rows), (true, 9010), "appends after the beginning have copies");
    assert_eq!(copied(&table), ["load"]);
    table.check(&OF_EVERY_TABLE);

    // Questions of an approximate column are refused without a copy, and exact with one.
    let level = "SELECT ward, MAX(level) AS m, COUNT(DISTINCT level) AS n FROM t GROUP BY ward ORDER BY ward";
    assert_eq!(table.table().plan(level).unwrap_err().code(), "HUSH-P029");
    // What is to be ordered has a copy as well, for rows without a sorted run.
    table.alter(giving("level", &[Purpose::Order]));
    table.check(&[level]);
    let half = table.opened().half;
    assert_eq!(
        (half.runs.len(), half.runs[0].columns.as_slice(), half.next_run),
        (1, &["level".to_owned()][..], 1)
    );

    // A column that comes with a copy alone is not there before, and stays behind the others when it is renamed.
    let alone = r#"dose = { type = "decimal(20,3)", protect = "encrypt", for = ["fetch"] }"#;
    assert_eq!(table.alter(adding(&[alone])).rows, 0);
    table.columns.push("dose");
    let of_dose = |number: usize| vec![("dose", format!("-{number}000000000000.125"))];
    table.append(9020..9050, of_dose);
    let dose = "SELECT dose IS NULL AS missing, MIN(dose) AS d, SUM(dose) AS s, COUNT(*) AS n FROM t GROUP BY dose IS NULL ORDER BY missing";
    let queries: Vec<&str> = OF_EVERY_TABLE.into_iter().chain([level, dose]).collect();
    table.check(&queries);
    // Sums of what was a copy alone: rows of before have values, and get ciphertexts.
    begin(&table, &giving("dose", &[Purpose::Sum]));
    table.check(&[level]);
    assert!(table.table().plan("SELECT SUM(dose) AS s FROM t").unwrap().owner.own.is_some());
    let report = table.alter(giving("dose", &[Purpose::Sum]));
    assert_eq!(report.rows, 30, "of parts that have the column");
    table.check(&queries);
    // A wider range: blobs of before stay as they are, and are read by their own width.
    let report = table.alter(widening("load", "-5", "100000"));
    assert!(report.changed);
    table.append(9050..9060, |number| {
        let mut row = of_dose(number);
        row.push(("load", "-3".to_owned()));
        row
    });
    table.check(&queries);
    table.alter(dropping(&["note"]));
    table.columns.retain(|name| *name != "note");
    table.check(&queries);
    table.compact();
    table.check(&queries);
    table.alter(dropping(&["load"]));
    table.columns.retain(|name| *name != "load");
    table.check(&[level, dose]);
    table.alter(dropping(&["level"]));
    let half = table.opened().half;
    assert!(half.runs.is_empty() && half.next_run == 1, "its number does not come again");
}

/// Approximate columns, dates and booleans, and moments of encrypted and clear columns together.
#[test]
fn columns_of_every_kind_come_and_serve() {
    let mut table = Altered::new(120);
    table.alter(adding(&[
        r#"mood = { type = "float(2)", protect = "encrypt", for = ["sum", "variance", "product"] }"#,
        r#"born = { type = "date", protect = "encrypt", for = ["count"] }"#,
        r#"smokes = { type = "bool", protect = "encrypt" }"#,
        r#"temp = { type = "float(1)", range = [-50, 50], protect = "encrypt" }"#,
        r#"year = { type = "int(16)", range = [1900, 2100], protect = "clear" }"#,
    ]));
    table.columns.extend(["mood", "born", "smokes", "temp", "year"]);
    let of_rows = |number: usize| {
        vec![
            ("mood", ["-0.5", "0.25", "", "7.75"][number % 4].to_owned()),
            (
                "born",
                if number.is_multiple_of(3) {
                    String::new()
                } else {
                    format!("19{}-02-03", 10 + number % 80)
                },
            ),
            ("smokes", ["true", "false", ""][number % 3].to_owned()),
            ("temp", format!("{}.5", number % 50)),
            ("year", (1990 + number % 20).to_string()),
        ]
    };
    let queries = [
        "SELECT COUNT(mood) AS n, SUM(mood) AS s, AVG(temp) AS t, COUNT(born) AS b, SUM(load) AS l FROM t",
        "SELECT ward, SUM(mood) AS s, SUM(level) AS v, COUNT(smokes) AS k FROM t GROUP BY ward ORDER BY ward",
        "SELECT ward, born, smokes, temp FROM t WHERE ward = 'b'",
        "SELECT ward, mood FROM t WHERE year > 1995",
    ];
    table.check(&queries);
    table.append(120..150, of_rows);
    table.check(&queries);
    let moments = [["load", "cost"], ["cost", "year"]].map(|set| set.map(str::to_owned).to_vec()).to_vec();
    let report = table.alter(Alteration { moments, ..widening("temp", "-50", "60000") });
    assert_eq!(report.rows, 150, "of rows without a year too: nobody but the owner knows which they are");
    table.append(150..160, |number| {
        let mut row = of_rows(number);
        row.push(("temp", "50000.5".to_owned()));
        row
    });
    let with_moments = [
        "SELECT COVAR_POP(load, cost) AS c, CORR(cost, year) AS r, SUM(temp) AS t FROM t",
        "SELECT ward, COVAR_SAMP(cost, year) AS c FROM t GROUP BY ward ORDER BY ward",
    ];
    let all: Vec<&str> = queries.into_iter().chain(with_moments).collect();
    table.check(&all);
    table.compact();
    table.check(&all);
}

/// Commits the first version of an alteration alone. Says after `then` whether it finds its version among those of the table.
fn begin_and(table: &Altered, alteration: &Alteration, then: impl FnOnce()) -> bool {
    let path = table.path("T");
    let place = TablePlace::Directory(&path);
    let (owner, pins) = (table.owner.seed(), &table.pins);
    let present = || place.open(owner, pins).unwrap();
    let offered = {
        let destination = Destination::of(place).unwrap();
        let (clear, mut report) = (ClearFiles::new(place, &destination), AlterReport::default());
        let (dropped, offered) = (Vec::new(), Offered::default());
        let mut edit = Begin { place, owner, alteration, clear, report: &mut report, dropped, offered };
        let committer = Committer { place, owner, pins, destination: &destination };
        let before = present();
        assert!(!edit.has_landed(before.manifest.manifest()).unwrap());
        assert!(matches!(committer.commit(&before, &mut edit).unwrap(), Committed::In(_)));
        edit.offered
    };
    then();
    offered.is_in(present().manifest.manifest())
}

fn begin(table: &Altered, alteration: &Alteration) {
    assert!(begin_and(table, alteration, || ()));
}

/// The answer to the commit is lost, and others write before the owner looks again.
#[test]
fn an_alteration_that_has_landed_is_known_again() {
    let table = Altered::new(10);
    assert!(begin_and(&table, &renaming(&[("note", "remark")]), || table.compact()));
    // The same names again, by another hand.
    let other = || {
        table.alter(renaming(&[("remark", "note")]));
        table.alter(renaming(&[("note", "remark")]));
    };
    assert!(!begin_and(&table, &renaming(&[("level", "height")]), other));
}

impl Altered {
    /// As [`Altered::check`], against a table with the schema of before.
    fn check_rows(&self, queries: &[&str]) {
        let schema = hush_plan::schema::file::from_toml(SCHEMA).unwrap();
        self.encrypt("R", &schema, &COLUMNS);
        let right = OwnedTable::open_directory(&self.path("R"), &self.owner, &self.pins, 2).unwrap();
        for sql in queries {
            let ask = |table: &OwnedTable| {
                let mut lines = texts(&table.ask(sql, &Silent).unwrap().batches);
                lines.sort_unstable();
                lines
            };
            assert_eq!(ask(&self.table()), ask(&right), "{sql}");
        }
    }
}

#[test]
fn a_range_is_widened_in_its_encodings_or_beyond_them() {
    let mut table = Altered::new(200);
    // Within the encodings that are there: nothing is written anew.
    let report = table.alter(widening("load", "-10", "2000"));
    assert_eq!((report.rows, report.encodings), (0, 0));
    table.append(200..210, |number| vec![("load", (1900 + number % 100).to_string())]);
    table.check(&OF_EVERY_TABLE);
    // Beyond them, and beyond the type.
    let mut far = widening("load", "-1e17", "1e17");
    far.widen.extend(widening("cost", "0", "90000000000.99").widen);
    begin(&table, &far);
    let interim = table.opened().half;
    assert!(interim.pending.is_some());
    table.append(210..215, |_| Vec::new());
    let beyond =
        vec![[("load", "100000000000000000".to_owned()), ("id", "far".to_owned())].into_iter().collect()];
    assert_eq!(table.try_append(beyond).unwrap_err().code(), "HUSH-D021");
    let report = table.alter(far.clone());
    assert!(report.resumed && report.rows > 0);
    let half = table.opened().half;
    assert!(half.pending.is_none());
    table.append(215..230, |number| {
        vec![
            ("load", format!("-9999999999999{number}")),
            ("cost", format!("8999999999{number}.5").split_off(3)),
        ]
    });
    table.check(&OF_EVERY_TABLE);
    assert!(!table.alter(far).changed);
    table.compact();
    table.check(&OF_EVERY_TABLE);
}

#[test]
fn what_would_change_answers_is_refused() {
    let table = Altered::new(20);
    let version = table.manifest().version;
    let add = |text: &str| adding(&[text]);
    let cases = [
        (renaming(&[("load", "cost")]), "HUSH-C124"),
        (renaming(&[("load", "COST")]), "HUSH-C124"),
        (add(r#"Load = { type = "text", protect = "seal" }"#), "HUSH-C124"),
        (add(r#"load = { type = "text", protect = "seal" }"#), "HUSH-C124"),
        (add(r#"x = { type = "text", protect = "DECIDE" }"#), "HUSH-C129"),
        (dropping(&["laod"]), "HUSH-C125"),
        (renaming(&[("laod", "pressure")]), "HUSH-C125"),
        (widening("load", "1", "1000"), "HUSH-C126"),
        (widening("cost", "0", "much"), "HUSH-C127"),
        (widening("level", "0", "1"), "HUSH-C127"),
        (widening("note", "0", "1"), "HUSH-C127"),
        (giving("note", &[Purpose::Sum]), "HUSH-C128"),
        (giving("ward", &[Purpose::Variance]), "HUSH-C128"),
        (dropping(&COLUMNS), "HUSH-C123"),
        (
            Alteration { products: vec![vec!["load".into(), "note".into()]], ..Alteration::default() },
            "HUSH-C129",
        ),
    ];
    for (alteration, code) in cases {
        let refused = table.try_alter(alteration.clone()).unwrap_err();
        assert_eq!(refused.code(), code, "{alteration:?}: {refused}");
    }
    let told = table.try_alter(dropping(&["laod"])).unwrap_err().to_string();
    assert!(told.contains("did you mean load?"), "{told}");
    assert_eq!(table.manifest().version, version);
    // Parts that would have no column: those of before hold the dropped ones alone.
    let all_but = |kept: &str| COLUMNS.iter().copied().filter(|name| *name != kept).collect::<Vec<_>>();
    table.alter(dropping(&all_but("ward")));
    table.alter(add(r#"x = { type = "text", protect = "seal" }"#));
    table.alter(dropping(&["ward"]));
}

/// Rows of every generation are found, corrected and deleted by columns of any kind.
#[test]
fn rows_of_all_generations_are_updated_and_deleted() {
    let mut table = Altered::new(40);
    table.alter(adding(&ADDED));
    table.columns.extend(["weight", "phone", "year", "height"]);
    table.append(40..60, further);
    table.alter(dropping(&["note"]));
    table.columns.retain(|name| *name != "note");
    table.rows.iter_mut().for_each(|row| drop(row.remove("note")));
    let text = "id,weight,phone\nid0003,12.5,+3\nid0041,,\n";
    let update = UpdateOptions {
        source: Source::from_bytes(text.as_bytes().to_vec().into(), &OpenOptions::default()).unwrap(),
        key: vec!["id".to_owned()],
        missing: MissingRows::Refuse,
        all: false,
        dry_run: false,
        threads: 2,
        memory_limit: None,
        pins: table.pins.clone(),
    };
    table.with(|place| update_rows(place, &update, &table.owner, &Silent)).unwrap();
    table.rows[3].extend([("weight", "12.5".to_owned()), ("phone", "+3".to_owned())]);
    table.rows[41].extend([("weight", String::new()), ("phone", String::new())]);
    table.check(&OF_ADDED);
    let delete = |condition: &str| {
        let (condition, pins) = (condition.to_owned(), table.pins.clone());
        let options = DeleteOptions { condition, all: false, dry_run: false, threads: 2, pins };
        table.with(|place| delete_rows(place, &options, &table.owner, &Silent)).unwrap().rows
    };
    // NULL meets no comparison.
    assert_eq!(delete("weight > 50"), table.rows.iter().filter(|row| is_above(row, 50.0)).count() as u64);
    assert_eq!(delete("phone = '+3'"), 1);
    assert_eq!(delete("height IS NULL AND load > 900"), {
        let meets = |row: &&Row| {
            row.get("height").is_none_or(String::is_empty)
                && row["load"].parse::<i64>().is_ok_and(|load| load > 900)
                && !is_above(row, 50.0)
                && row.get("phone").is_none_or(|phone| phone != "+3")
        };
        table.rows.iter().filter(meets).count() as u64
    });
    let stays = |row: &Row| {
        !is_above(row, 50.0)
            && row.get("phone").is_none_or(|phone| phone != "+3")
            && !(row.get("height").is_none_or(String::is_empty)
                && row["load"].parse::<i64>().is_ok_and(|load| load > 900))
    };
    table.rows.retain(stays);
    table.check(&OF_ADDED);
    table.compact();
    table.check(&OF_ADDED);
}

fn is_above(row: &Row, bound: f64) -> bool {
    row.get("weight").and_then(|text| text.parse::<f64>().ok()).is_some_and(|weight| weight > bound)
}
