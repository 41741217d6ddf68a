// SPDX-License-Identifier: Apache-2.0
//! For tests: a table whose rows are numbers, its owner, and what it gives back and answers, against the rows that it should have.

use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use arrow::util::display::array_value_to_string;
use hush_remote::Silent;
use hush_table::TableStore;
use hush_table::source::{OpenOptions, Source};
use object_store::memory::InMemory;

use crate::append::{AppendOptions, AppendReport, append};
use crate::decrypt::TableDecryption;
use crate::delete::{DeleteOptions, DeleteReport, delete_rows};
use crate::error::ClientError;
use crate::owner::{EncryptOptions, OwnerKey, encrypt};
use crate::pins::Pins;
use crate::place::TablePlace;
use crate::table::OwnedTable;
use crate::update::{MissingRows, UpdateOptions, UpdateReport, update_rows};

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 1000000
[columns.id]
type = "text"
protect = "seal"
[columns.ward]
type = "category"
protect = "clear"
nullable = true
[columns.load]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
[columns.level]
type = "float(3)"
protect = "encrypt"
[columns.note]
type = "text"
protect = "drop"
"#;
/// Rows are added, and products of rows evaluated.
const WORKLOAD: &str = "SELECT ward, load * load AS square FROM t; SELECT SUM(level) FROM t;";

/// A row as a file has it; equal numbers have equal rows.
pub(crate) fn row(number: usize) -> String {
    let level = [-1.5, 0.25, 1.0, 0.0][number % 4];
    format!("id{number},{},{},{level}\n", ["a", "b", "c"][number % 3], number * 37 % 1001)
}

pub(crate) fn source(rows: impl IntoIterator<Item = usize>) -> Source {
    let rows: String = rows.into_iter().map(row).collect();
    let text = format!("id,ward,load,level\n{rows}");
    Source::from_bytes(text.into_bytes().into(), &OpenOptions::default()).unwrap()
}

/// A table of the rows 0 to 9, its owner and what the owner has seen.
pub(crate) struct Case {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) owner: OwnerKey,
    pub(crate) pins: Pins,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self::of(OwnerKey::temporary().unwrap(), SCHEMA)
    }

    /// The same table, of an owner whose secrets can be forgotten.
    pub(crate) fn erasable(owner: OwnerKey) -> Self {
        Self::of(owner, &SCHEMA.replacen("max_rows", "erasable = true\nmax_rows", 1))
    }

    fn of(owner: OwnerKey, schema: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(&directory.path().join("pins"));
        let case = Self { directory, owner, pins };
        case.encrypt_by(schema, false);
        case
    }

    pub(crate) fn encrypt(&self, replace: bool) {
        self.encrypt_by(SCHEMA, replace);
    }

    fn encrypt_by(&self, text: &str, replace: bool) {
        let (schema, workload) = (self.path("schema.toml"), self.path("workload.sql"));
        std::fs::write(&schema, text).unwrap();
        std::fs::write(&workload, WORKLOAD).unwrap();
        let options = EncryptOptions {
            source: source(0..10),
            schema: crate::read_approved_schema(&schema).unwrap(),
            output: self.path("T"),
            workload: Some(workload),
            threads: 2,
            memory_limit: None,
            pins: self.pins.clone(),
            replace,
        };
        encrypt(&options, &self.owner, &Silent).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn options(
        &self,
        rows: impl IntoIterator<Item = usize>,
        batch: Option<&str>,
    ) -> AppendOptions {
        let (source, batch, pins) = (source(rows), batch.map(str::to_owned), self.pins.clone());
        AppendOptions { source, batch, threads: 2, memory_limit: None, pins }
    }

    pub(crate) fn append(
        &self,
        rows: impl IntoIterator<Item = usize>,
        batch: Option<&str>,
    ) -> Result<AppendReport, ClientError> {
        let options = self.options(rows, batch);
        append(TablePlace::Directory(&self.path("T")), &options, &self.owner, &Silent)
    }

    pub(crate) fn deletion(&self, condition: &str) -> DeleteOptions {
        let (condition, pins) = (condition.to_owned(), self.pins.clone());
        DeleteOptions { condition, all: false, dry_run: false, threads: 2, pins }
    }

    pub(crate) fn delete(&self, condition: &str) -> Result<DeleteReport, ClientError> {
        let path = self.path("T");
        delete_rows(TablePlace::Directory(&path), &self.deletion(condition), &self.owner, &Silent)
    }

    /// An update by rows as a file has them.
    pub(crate) fn update(&self, text: &str, key: &str) -> UpdateOptions {
        UpdateOptions {
            source: Source::from_bytes(text.as_bytes().to_vec().into(), &OpenOptions::default()).unwrap(),
            key: key.split(',').map(str::to_owned).collect(),
            missing: MissingRows::Refuse,
            all: false,
            dry_run: false,
            threads: 2,
            memory_limit: None,
            pins: self.pins.clone(),
        }
    }

    pub(crate) fn run_update(&self, options: &UpdateOptions) -> Result<UpdateReport, ClientError> {
        update_rows(TablePlace::Directory(&self.path("T")), options, &self.owner, &Silent)
    }

    /// The table in an object store.
    pub(crate) fn bucket(&self) -> TableStore {
        let bucket = TableStore::new(std::sync::Arc::new(InMemory::new()), "t".into());
        let local = TableStore::local_existing(self.path("T")).unwrap();
        local.copy_version(&local.load().unwrap(), &bucket, &|_| ()).unwrap();
        bucket
    }

    pub(crate) fn files(&self) -> usize {
        std::fs::read_dir(self.path("T/parts")).unwrap().count()
    }

    /// Some columns of the rows that a table gives back, in their order, as a file has them.
    pub(crate) fn texts(&self, place: TablePlace<'_>, columns: &[&str]) -> Vec<String> {
        let names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let decryption = TableDecryption::open(place, &self.owner, &self.pins, Some(&names), &Silent);
        let mut texts = Vec::new();
        for batch in decryption.unwrap() {
            let batch = batch.unwrap();
            let cell = |at: usize, column: &ArrayRef| array_value_to_string(column, at).unwrap();
            let line = |at: usize| batch.columns().iter().map(|column| cell(at, column)).collect::<Vec<_>>();
            texts.extend((0..batch.num_rows()).map(|at| line(at).join(",")));
        }
        texts
    }

    /// The numbers of the rows that a table gives back, in their order.
    pub(crate) fn numbers(&self, place: TablePlace<'_>) -> Vec<usize> {
        let ids = self.texts(place, &["id"]);
        ids.iter().map(|id| id.trim_start_matches("id").parse().unwrap()).collect()
    }

    /// What the table gives back and what it answers, against the rows that it should have in this order.
    pub(crate) fn check(&self, rows: &[usize]) {
        self.check_at(TablePlace::Directory(&self.path("T")), rows);
    }

    pub(crate) fn check_at(&self, place: TablePlace<'_>, rows: &[usize]) {
        let expected =
            rows.iter().map(|number| row(*number).trim_end().rsplit_once(',').unwrap().0.to_owned());
        assert_eq!(self.texts(place, &["id", "ward", "load"]), expected.collect::<Vec<_>>());

        let table = match place {
            TablePlace::Directory(path) => OwnedTable::open_directory(path, &self.owner, &self.pins, 2),
            TablePlace::Bucket(store) => OwnedTable::open_bucket(store, &self.owner, &self.pins, 2),
            TablePlace::Server(..) => panic!("no server here"),
        };
        let table = table.unwrap();
        let ask = |sql: &str| table.ask(sql, &Silent).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let load = |number: &usize| (number * 37 % 1001) as i64;
        let sums = ask("SELECT COUNT(*) AS n, CAST(SUM(load) AS BIGINT) AS s FROM t WHERE ward <> 'b'");
        let kept: Vec<&usize> = rows.iter().filter(|number| *number % 3 != 1).collect();
        let number = |column: usize| {
            let column = sums.batches[0].column(column).as_primitive::<Int64Type>();
            column.is_valid(0).then(|| column.value(0))
        };
        // No rows have no sum.
        let sum = (!kept.is_empty()).then(|| kept.iter().map(|number| load(number)).sum());
        assert_eq!((number(0), number(1)), (Some(kept.len() as i64), sum));
        // Products are answered chunk by chunk, with the numbers that their headers have.
        let squares = ask("SELECT ward, load * load AS square FROM t WHERE ward = 'c'");
        let mut found = Vec::new();
        for batch in &squares.batches {
            let column = batch.column_by_name("square").unwrap();
            let texts = (0..column.len()).map(|at| array_value_to_string(column, at).unwrap());
            found.extend(texts.map(|text| text.parse::<i64>().unwrap()));
        }
        let third = rows.iter().filter(|number| *number % 3 == 2).map(|number| load(number) * load(number));
        assert_eq!(found, third.collect::<Vec<i64>>());
    }
}
