// SPDX-License-Identifier: Apache-2.0
//! Files as people write them, every refusal, and the round trip of random schemas.

use super::super::units::type_bounds;
use super::super::{Column, ColumnType, DateFormat, Purpose, ReleaseBudget, UnitRange, Written};
use super::*;
use crate::error::Front;
use crate::limits::Facet;

const EXAMPLE: &str = r#"# Proposal. Contains no values from your data.
format = 1
table = "patients"
status = "proposed"      # encrypt refuses until "approved"
approved_by = ""
unlisted = "refuse"      # a new column stops the job
null_tokens = ["", "NA"]
max_rows = 100000      # sums are sized for this many
# clear together: ward + year single out 41 of 6000 rows

[columns.patient_id]
type = "text"
protect = "drop"         # or "seal"
reason = "unique in every row"

[columns.charges]
type = "decimal(12,2)"
range = [0, 9999999.99]  # headroom, not the observed extremes
nullable = true
protect = "encrypt"
for = ["sum", "avg", "stddev"]
reason = "money (name, two decimals)"

[columns.bp]
type = "int(16)"
protect = "DECIDE"       # encrypt: you alone answer WHERE; clear: the server reads it
reason = "clinical measurement (name)"
"#;

#[test]
fn the_example_reads_and_writes_itself() {
    let schema = from_toml(EXAMPLE).unwrap();
    assert_eq!(
        schema.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["patient_id", "charges", "bp"]
    );
    assert_eq!(schema.columns[1].range, Some(UnitRange { low: 0, high: 999_999_999 }));
    assert_eq!(schema.columns[1].purposes, [Purpose::Sum, Purpose::Avg, Purpose::Stddev]);
    assert!(schema.columns[1].nullable && !schema.columns[0].nullable);
    assert_eq!(schema.notes, ["clear together: ward + year single out 41 of 6000 rows"]);
    assert_eq!(to_toml(&schema), EXAMPLE);
}

#[test]
fn approval_needs_decisions_first() {
    let mut schema = from_toml(EXAMPLE).unwrap();
    let error = require_approved(&schema).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("HUSH-S003", "1 column undecided (bp)"));
    schema.columns[2].protect = Protection::Encrypt;
    assert_eq!(require_approved(&schema).unwrap_err().code(), "HUSH-S002");
    schema.approved = true;
    assert_eq!(require_approved(&schema), Ok(()));
}

/// Replaces one piece of the example and expects a code and a line.
#[track_caller]
fn refused(from: &str, to: &str, code: &str, line: &str) {
    assert!(EXAMPLE.contains(from), "{from}");
    let error = from_toml(&EXAMPLE.replacen(from, to, 1)).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().starts_with(line), "{error}");
    assert!(!error.remedy().describe(Front::CommandLine).is_empty());
}

#[test]
fn refusals_name_code_and_line() {
    refused("format = 1", "format = 2", "HUSH-S012", "line 2");
    refused("format = 1\n", "", "HUSH-S007", "line 1");
    refused("table = \"patients\"", "table = 3", "HUSH-S008", "line 3");
    for name in ["", "a b", "a/b", "-a", "größe", &"x".repeat(65)] {
        refused("table = \"patients\"", &format!("table = \"{name}\""), "HUSH-S008", "line 3");
    }
    refused("\"proposed\"", "\"maybe\"", "HUSH-S008", "line 4");
    refused("\"refuse\"", "\"encrypt\"", "HUSH-S008", "line 6");
    refused("null_tokens = [\"\", \"NA\"]", "null_tokens = \"NA\"", "HUSH-S008", "line 7");
    refused("100000 ", "0 ", "HUSH-S008", "line 8");
    refused("max_rows", "max_row", "HUSH-S006", "line 8");
    refused("protect = \"drop\"", "protct = \"drop\"", "HUSH-S006", "line 13");
    refused("protect = \"drop\"", "protect = \"hide\"", "HUSH-S008", "line 13");
    refused("protect = \"drop\"", "protect = \"encrypt\"", "HUSH-S009", "line 13");
    refused("protect = \"drop\"         # or \"seal\"\n", "", "HUSH-S007", "line 11");
    refused("type = \"text\"", "type = \"varchar\"", "HUSH-S004", "line 12");
    refused("decimal(12,2)", "decimal(12,13)", "HUSH-S004", "line 17");
    refused("int(16)", "int(12)", "HUSH-S004", "line 25");
    refused("[0, 9999999.99]", "[0, 9999999.999]", "HUSH-S005", "line 18");
    refused("[0, 9999999.99]", "[2, 1]", "HUSH-S005", "line 18");
    refused("[0, 9999999.99]", "[1]", "HUSH-S005", "line 18");
    refused("[0, 9999999.99]", "[0, inf]", "HUSH-S005", "line 18");
    refused("type = \"text\"", "type = \"text\"\nrange = [0, 1]", "HUSH-S005", "line 13");
    refused("\"stddev\"", "\"median\"", "HUSH-S008", "line 21");
    refused("[columns.bp]", "[columns.charges]", "HUSH-S001", "line 24");
    refused("[columns.bp]", "[columns.bp", "HUSH-S001", "line 24");
    refused("unlisted", "products = [[\"charges\", \"patient_id\"]]\nunlisted", "HUSH-S010", "line 6");
    refused("nullable = true", "nullable = 1", "HUSH-S008", "line 19");
    refused("nullable = true", "null_tokens = \"NA\"", "HUSH-S008", "line 19");
    refused("nullable = true", "censored = \"middle\"", "HUSH-S008", "line 19");
    // What a type cannot have would be a promise that nobody keeps.
    refused("nullable = true", "date_format = \"dmy\"", "HUSH-S008", "line 19");
    refused("protect = \"drop\"", "censored = \"bound\"\nprotect = \"drop\"", "HUSH-S008", "line 13");
    refused("type = \"text\"", "type = \"date\"\ndate_format = \"d/m/y\"", "HUSH-S008", "line 13");
    assert_eq!(from_toml("format = 1\ntable = \"t\"\n").unwrap_err().code(), "HUSH-S011");
    assert_eq!(from_toml("format = 1\ntable = \"t\"\n[columns]\n").unwrap_err().code(), "HUSH-S011");
}

/// A TOML reader that went through binary floats would change these bounds.
#[test]
fn bounds_keep_every_digit() {
    let text = EXAMPLE.replace("decimal(12,2)", "decimal(38,9)");
    let nines = "99999999999999999999999999999.999999999";
    for written in [format!("[-{nines}, {nines}]"), format!("[\"-{nines}\", \"{nines}\"]")] {
        let schema = from_toml(&text.replace("[0, 9999999.99]", &written)).unwrap();
        let high = 10i128.pow(38) - 1;
        assert_eq!(schema.columns[1].range, Some(UnitRange { low: -high, high }));
        assert_eq!(from_toml(&to_toml(&schema)).unwrap(), schema);
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn text(&mut self) -> String {
        const CHARACTERS: [char; 16] =
            ['a', 'Z', '0', '_', '-', ' ', '.', '"', '\\', '\n', '#', '[', '=', 'é', '\u{7f}', '日'];
        (0..self.below(9)).map(|_| CHARACTERS[self.below(16) as usize]).collect()
    }

    fn kind(&mut self) -> ColumnType {
        let precision = 1 + self.below(38) as u8;
        [
            ColumnType::Bool,
            ColumnType::Category,
            ColumnType::Date,
            ColumnType::Decimal { precision, scale: self.below(u64::from(precision) + 1) as u8 },
            ColumnType::Float { digits: self.below(16) as u8 },
            ColumnType::Int { bits: 8 << self.below(4) },
            ColumnType::Text,
            ColumnType::Timestamp,
        ][self.below(8) as usize]
    }

    fn column(&mut self, number: usize) -> Column {
        let kind = self.kind();
        let bounds = type_bounds(kind);
        let range = bounds.filter(|_| kind != ColumnType::Bool && self.below(2) == 0).map(|bounds| {
            let wide = (u128::from(self.next()) << 64 | u128::from(self.next())) as i128 >> self.below(120);
            let (a, b) = (wide.clamp(bounds.low, bounds.high), (wide / 3).clamp(bounds.low, bounds.high));
            UnitRange { low: a.min(b), high: a.max(b) }
        });
        let protect = match self.below(5) {
            0 => Protection::Clear,
            1 => Protection::Decide,
            2 => Protection::Drop,
            3 if bounds.is_some() => Protection::Encrypt,
            _ => Protection::Seal,
        };
        let purposes = Purpose::ALL.into_iter().filter(|_| self.below(2) == 0).collect();
        let name = format!("{}{number}", self.text());
        let is_time = matches!(kind, ColumnType::Date | ColumnType::Timestamp);
        let formats = [DateFormat::DayMonthYear, DateFormat::MonthDayYear, DateFormat::YearMonthDay];
        let is_number = bounds.is_some() && !is_time && kind != ColumnType::Bool;
        let written = Written {
            null_tokens: (self.below(3) == 0).then(|| (0..self.below(4)).map(|_| self.text()).collect()),
            date_format: formats.get(self.below(4) as usize).copied().filter(|_| is_time),
            censored: is_number && self.below(2) == 0,
            rounded: false,
        };
        let (nullable, reason) = (self.below(2) == 0, self.text());
        Column { name, kind, nullable, range, protect, join: None, purposes, reason, written }
    }
}

#[test]
fn random_schemas_survive_the_round_trip() {
    for seed in 1..400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let columns: Vec<Column> = (0..1 + random.below(6) as usize).map(|i| random.column(i)).collect();
        let numbers: Vec<String> = columns
            .iter()
            .filter(|c| type_bounds(c.kind).is_some() && c.protect == Protection::Encrypt)
            .map(|c| c.name.clone())
            .collect();
        let is_time = |c: &Column| matches!(c.kind, ColumnType::Date | ColumnType::Timestamp);
        let of_moments = columns.iter().filter(|c| numbers.contains(&c.name) && !is_time(c));
        let of_moments: Vec<String> = of_moments.map(|c| c.name.clone()).collect();
        let schema = Schema {
            table: format!("table_{}", random.below(1000)),
            columns,
            null_tokens: (0..random.below(4)).map(|_| random.text()).collect(),
            max_rows: 1 + random.below(1 << 40),
            approved: random.below(2) == 0,
            approved_by: random.text(),
            notes: vec!["clear together: a + b single out 3 of 9 rows".to_owned()],
            products: numbers.windows(2).map(<[String]>::to_vec).collect(),
            edge: random.below(2) == 0,
            erasable: random.below(2) == 0,
            allow: Facet::ALL.into_iter().filter(|_| random.below(3) > 0).collect(),
            release: (random.below(2) == 0).then(|| ReleaseBudget {
                digits: random.below(16) as u8,
                answers: 1 + random.below(1 << 16) as u32,
            }),
            cubes: Vec::new(),
            groups: Vec::new(),
            runs: Vec::new(),
            filters: Vec::new(),
            derived: if numbers.is_empty() {
                Vec::new()
            } else {
                vec![format!("\"{}\" IS NULL", numbers[0]), random.text()]
            },
            measures: Vec::new(),
            filter_factors: Some(2 + random.below(4) as u8).filter(|_| random.below(2) == 0),
            answer_keys: random.below(4) == 0,
            constant_keys: random.below(4) == 0,
            moments: if of_moments.len() < 2 { Vec::new() } else { vec![of_moments] },
        };
        let text = to_toml(&schema);
        assert_eq!(from_toml(&text).as_ref(), Ok(&schema), "seed {seed}\n{text}");
        // What an owner makes of columns that came back, with some that did not.
        let mut open = schema.all_clear();
        open.columns.iter_mut().step_by(2).for_each(|column| column.protect = crate::Protection::Drop);
        // Files do not have this.
        open.columns.iter_mut().for_each(|column| column.written.rounded = false);
        let text = to_toml(&open);
        assert_eq!(from_toml(&text).as_ref(), Ok(&open), "seed {seed}\n{text}");
    }
}

/// Broken files are refused with a line, never with a panic.
#[test]
fn damaged_files_never_panic() {
    let mut random = Random(77);
    for _ in 0..4000 {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.below(128) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Err(error) = from_toml(&text)
        {
            assert!(error.code().starts_with("HUSH-S0"));
        }
    }
}

#[test]
fn sets_of_moments_that_mean_nothing_are_refused_with_their_line() {
    let columns = "[columns.a]\ntype = \"int(8)\"\nprotect = \"encrypt\"\n[columns.b]\ntype = \"int(8)\"\nprotect = \"clear\"\n\
                   [columns.d]\ntype = \"date\"\nprotect = \"encrypt\"\n[columns.s]\ntype = \"int(8)\"\nprotect = \"seal\"\n";
    let read = |sets: &str| from_toml(&format!("format = 1\ntable = \"t\"\nmoments = {sets}\n{columns}"));
    assert_eq!(read("[[\"a\", \"b\"]]").unwrap().moments, [["a", "b"]]);
    for sets in [
        "3",
        "[3]",
        "[[\"a\"]]",
        "[[\"a\", \"a\"]]",
        "[[\"a\", \"d\"]]",
        "[[\"a\", \"s\"]]",
        "[[\"a\", \"x\"]]",
    ] {
        let error = read(sets).unwrap_err();
        assert!(error.to_string().contains("moments"), "{sets}: {error}");
    }
}

#[test]
fn an_edit_is_what_the_edited_file_would_be() {
    let mut schema = from_toml(EXAMPLE).unwrap();
    (schema.approved, schema.approved_by) = (true, "a person".to_owned());
    let text = |text: &str| Some(Setting::Text(text.to_owned()));
    let list = |items: &[&str]| Some(Setting::Texts(items.iter().map(|item| (*item).to_owned()).collect()));
    let edited =
        edit(&schema, Some("bp"), &[("protect", text("encrypt")), ("range", list(&["0", "300"]))]).unwrap();
    assert_eq!(
        (edited.columns[2].protect, edited.columns[2].range.unwrap().high),
        (Protection::Encrypt, 300)
    );
    assert_eq!(
        (edited.approved, edited.approved_by.as_str()),
        (false, ""),
        "an approval is of what was approved"
    );
    assert_eq!((&edited.columns[..2], &edited.notes), (&schema.columns[..2], &schema.notes));
    assert_eq!(edit(&edited, Some("bp"), &[("range", None)]).unwrap().columns[2].range, None);
    let rows = edit(&schema, None, &[("max_rows", Some(Setting::Integer(7))), ("null_tokens", list(&["-"]))])
        .unwrap();
    assert_eq!((rows.max_rows, rows.null_tokens), (7, vec!["-".to_owned()]));
    // A text stays a text, whatever it holds.
    let hostile = "x\"\n[columns.bp]\nprotect = \"clear\" # ";
    let edited = edit(&schema, Some("patient_id"), &[("reason", text(hostile))]).unwrap();
    assert_eq!((edited.columns[0].reason.as_str(), edited.columns[2].protect), (hostile, Protection::Decide));
    for (column, key, setting, code) in [
        (Some("bp"), "protect", text("open"), "HUSH-S008"),
        (Some("bp"), "type", text("int(7)"), "HUSH-S004"),
        (Some("bp"), "range", list(&["3", "2"]), "HUSH-S005"),
        (Some("bp"), "range", list(&["3", "x"]), "HUSH-S005"),
        (Some("patient_id"), "protect", text("encrypt"), "HUSH-S009"),
        (Some("bp"), "protect", None, "HUSH-S007"),
        (Some("bp"), "colour", text("red"), "HUSH-S006"),
        (Some("bp"), "reason = 1\nx", text("red"), "HUSH-S006"),
        (Some("nobody"), "type", text("text"), "HUSH-S013"),
        (None, "max_rows", Some(Setting::Integer(0)), "HUSH-S008"),
        (None, "products", Some(Setting::Lists(vec![vec!["bp".to_owned()]])), "HUSH-S008"),
        (None, "edge", text("yes"), "HUSH-S008"),
        (None, "erasable", text("yes"), "HUSH-S008"),
        (None, "allow", text("constants"), "HUSH-S008"),
    ] {
        assert_eq!(edit(&schema, column, &[(key, setting)]).unwrap_err().code(), code, "{column:?} {key}");
    }
}

const WITH_CUBES: &str = r#"
format = 1
table = "stays"
max_rows = 5000
cubes = [
  { by = ["month(admitted)", "smoker", { column = "age", bins = [18, 65] }, { column = "ward", values = ["A", "B \"x\""] }], sum = ["charges", "charges * age"] },
  { by = ["disc"], sum = [], max_cell_rows = 4095 },
]
[columns.admitted]
type = "date"
range = ["2023-01-01", "2023-12-31"]
protect = "encrypt"
[columns.smoker]
type = "bool"
protect = "encrypt"
[columns.age]
type = "int(8)"
range = [0, 120]
nullable = true
protect = "encrypt"
[columns.ward]
type = "category"
protect = "seal"
[columns.disc]
type = "decimal(3,2)"
range = [0, 0.10]
protect = "clear"
[columns.charges]
type = "int(32)"
protect = "encrypt"
"#;

#[test]
fn cubes_are_read_written_and_refused() {
    let schema = from_toml(WITH_CUBES).unwrap();
    crate::cube::check(&schema).unwrap();
    let most: Vec<Option<u64>> = schema.cubes.iter().map(|cube| cube.max_cell_rows).collect();
    assert_eq!(most, [None, Some(4095)]);
    let text = to_toml(&schema);
    assert_eq!(from_toml(&text).as_ref(), Ok(&schema), "{text}");
    for (from, to, code, words) in [
        ("\"smoker\", {", "\"nobody\", {", "HUSH-S014", "cube 1: there is no column nobody"),
        ("bins = [18, 65]", "bins = [65, 18]", "HUSH-S014", "cube 1: the bins of age"),
        ("bins = [18, 65]", "bins = [\"x\"]", "HUSH-S008", "line 6"),
        ("by = [\"disc\"]", "by = [\"charges\"]", "HUSH-S014", "cube 2: it would have 4294967296 cells"),
        ("by = [\"disc\"]", "bye = [\"disc\"]", "HUSH-S006", "unknown key bye"),
        ("\"charges * age\"", "\"charges / age\"", "HUSH-S014", "cannot be added up"),
        ("4095", "0", "HUSH-S008", "max_cell_rows"),
        ("4095", "-1", "HUSH-S008", "max_cell_rows"),
        ("4095", "\"many\"", "HUSH-S008", "max_cell_rows"),
        ("cubes = [", "group = [", "HUSH-S006", "unknown key max_cell_rows"),
    ] {
        assert!(WITH_CUBES.contains(from), "{from}");
        let read = from_toml(&WITH_CUBES.replacen(from, to, 1));
        let error = read.and_then(|schema| crate::cube::check(&schema)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn sorted_runs_are_read_written_and_refused() {
    let order = r#"order = [
  { by = "charges", within = ["ward"], sum = ["charges", "charges * age"], cover = ["admitted"] },
  { by = "disc" },
]
[columns.admitted]"#;
    let file = WITH_CUBES.replacen("[columns.admitted]", order, 1);
    let file = file.replacen(
        "nullable = true\nprotect = \"encrypt\"",
        "nullable = true\nprotect = \"encrypt\"\nfor = [\"order\"]",
        1,
    );
    let schema = from_toml(&file).unwrap();
    crate::run::check(&schema).unwrap();
    assert_eq!((schema.runs.len(), schema.all_runs().len()), (2, 3));
    let age = schema.column("age").unwrap();
    assert!(age.has_copy() && age.is_copy_alone() && !age.is_summed());
    let text = to_toml(&schema);
    assert_eq!(from_toml(&text).as_ref(), Ok(&schema), "{text}");
    let many = format!("order = [{}]", "{ by = \"disc\" }, ".repeat(33));
    for (from, to, code, words) in [
        ("by = \"disc\"", "by = \"nobody\"", "HUSH-S015", "order 2: there is no column nobody"),
        ("within = [\"ward\"]", "within = [\"charges\"]", "HUSH-S015", "order 1: charges stands twice"),
        ("* age\"], cover", "/ age\"], cover", "HUSH-S015", "order 1: charges / age cannot be added up"),
        ("by = \"disc\"", "sum = []", "HUSH-S007", "line 11: a sorted run has no by"),
        ("by = \"disc\"", "by = [\"disc\"]", "HUSH-S008", "line 11, a sorted run: by must be a text"),
        ("by = \"disc\"", "by = \"disc\", of = 3", "HUSH-S006", "unknown key of in a sorted run"),
        ("cover = [\"admitted\"]", "cover = \"admitted\"", "HUSH-S008", "cover must be a list of texts"),
        ("{ by = \"disc\" }", "\"disc\"", "HUSH-S008", "order must be up to 32 sorted runs"),
        (order, &format!("{many}\n[columns.admitted]"), "HUSH-S008", "order must be up to 32 sorted runs"),
    ] {
        assert_eq!(file.matches(from).count(), 1, "{from}");
        let read = from_toml(&file.replacen(from, to, 1));
        let error = read.and_then(|schema| crate::run::check(&schema)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn sums_by_hidden_values_are_read_written_and_refused() {
    let group = r#"group = [
  { by = ["smoker", { column = "ward", values = ["A", "it's \"x\""] }], sum = ["charges"] },
]
[columns.admitted]"#;
    let file = WITH_CUBES.replacen("[columns.admitted]", group, 1);
    let age = "nullable = true\nprotect = \"encrypt\"";
    let file = file.replacen(age, &format!("{age}\nfor = [\"group\"]"), 1);
    let schema = from_toml(&file).unwrap();
    crate::one_hot::check(&schema).unwrap();
    assert_eq!((schema.groups.len(), schema.all_groups().len()), (1, 2));
    let text = to_toml(&schema);
    assert_eq!(from_toml(&text).as_ref(), Ok(&schema), "{text}");
    for (from, to, code, words) in [
        ("by = [\"smoker\", {", "by = [\"nobody\", {", "HUSH-S016", "group 1: there is no column nobody"),
        ("by = [\"smoker\", {", "by = [\"disc\", {", "HUSH-S016", "group 1: disc is clear"),
        (
            "sum = [\"charges\"] },\n]\n[columns.adm",
            "sum = \"charges\" },\n]\n[columns.adm",
            "HUSH-S008",
            "list of texts",
        ),
        (
            "sum = [\"charges\"] },\n]\n[columns.adm",
            "sum = [\"smoker\"] },\n]\n[columns.adm",
            "HUSH-S016",
            "group 1: smoker is of dimensions",
        ),
        ("for = [\"group\"]", "for = [\"groups\"]", "HUSH-S008", "group"),
    ] {
        assert_eq!(file.matches(from).count(), 1, "{from}");
        let read = from_toml(&file.replacen(from, to, 1));
        let error = read.and_then(|schema| crate::one_hot::check(&schema)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
