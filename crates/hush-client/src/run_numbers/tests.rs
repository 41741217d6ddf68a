// SPDX-License-Identifier: Apache-2.0

use hush_plan::schema::file::from_toml;

use super::*;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 1000
order = [
  { by = "pay", within = ["ward"], sum = ["pay * hours"], cover = ["id"] },
  { by = "hours" },
]
[columns.ward]
type = "category"
protect = "seal"
[columns.id]
type = "text"
protect = "clear"
[columns.pay]
type = "int(32)"
range = [-500, 100000]
nullable = true
protect = "encrypt"
for = ["sum", "order"]
[columns.hours]
type = "int(8)"
range = [0, 60]
protect = "encrypt"
"#;

fn half() -> PrivateHalf {
    let mut half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    for (run, number) in half.runs.iter_mut().zip([4, 2, 3]) {
        run.number = number;
    }
    half.next_run = 5;
    half
}

fn renaming(from: &str, to: &str) -> Alteration {
    Alteration { rename: vec![(from.to_owned(), to.to_owned())], ..Alteration::default() }
}

/// The numbers after an alteration of the columns, and the next one.
fn after(half: &PrivateHalf, alteration: &Alteration) -> (Vec<NumberedRun>, u32) {
    let mut next = hush_plan::schema::alter::altered(&half.schema, alteration).unwrap();
    hush_plan::run::altered(&half.schema, alteration, &mut next);
    renumbered(half, alteration, &next)
}

fn numbers((runs, next): (Vec<NumberedRun>, u32)) -> (Vec<u32>, u32) {
    (runs.iter().map(|run| run.number).collect(), next)
}

/// An alteration keeps the number of a run that stays as it is, and gives new numbers to all others.
#[test]
fn numbers_mean_one_shape() {
    let half = half();
    let edited = |change: &dyn Fn(&mut Schema)| {
        let mut schema = half.schema.clone();
        change(&mut schema);
        numbers(renumbered(&half, &Alteration::default(), &schema))
    };
    assert_eq!(edited(&|_| ()), (vec![4, 2, 3], 5));
    assert_eq!(edited(&|schema| drop(schema.runs.remove(0))), (vec![2, 3], 5));
    assert_eq!(edited(&|schema| schema.runs.swap(0, 1)), (vec![2, 4, 3], 5));
    assert_eq!(edited(&|schema| schema.columns[3].nullable = true), (vec![5, 6, 3], 7));
    // Sums are of a block, whatever the table may grow to.
    assert_eq!(edited(&|schema| schema.max_rows = 100_000), (vec![4, 2, 3], 5));
    // A run that is declared has the number of the same one that a purpose asked for.
    assert_eq!(edited(&|schema| schema.runs.insert(0, Run::by("pay"))), (vec![3, 4, 2], 5));

    assert_eq!(numbers(after(&half, &renaming("ward", "Ward B"))), (vec![4, 2, 3], 5));
    let dropping = |name: &str| Alteration { drop: vec![name.to_owned()], ..Alteration::default() };
    assert_eq!(numbers(after(&half, &dropping("ward"))), (vec![2, 3], 5));
    // Without what it covered it has other columns.
    assert_eq!(numbers(after(&half, &dropping("id"))), (vec![5, 2, 3], 6));
    let widen = vec![("hours".to_owned(), ["0".to_owned(), "80".to_owned()])];
    let widening = Alteration { widen, ..Alteration::default() };
    assert_eq!(numbers(after(&half, &widening)), (vec![5, 6, 3], 7));
}

/// Columns and lanes keep the order that is written down, with the names that they have now.
#[test]
fn renamed_columns_keep_their_places() {
    let half = half();
    // A name that stands elsewhere in the alphabet: the planner would name the columns in another order.
    let renaming = renaming("hours", "zeal");
    let (runs, _) = after(&half, &renaming);
    let renamed = |name: &str| if name == "hours" { "zeal".to_owned() } else { name.to_owned() };
    for (run, before) in runs.iter().zip(&half.runs) {
        let columns: Vec<String> = before.columns.iter().map(|name| renamed(name)).collect();
        let lanes: Vec<_> = before.lanes.iter().map(|lane| lane.renamed(&renamed)).collect();
        assert_eq!((run.number, &run.columns, &run.lanes), (before.number, &columns, &lanes));
    }
}
