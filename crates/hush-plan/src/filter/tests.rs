// SPDX-License-Identifier: Apache-2.0

mod coarse;
mod together;

use num_bigint::BigInt;

use super::*;
use crate::error::PlanError;
use crate::limits::{Limits, WayName};
use crate::physical::plan_query;
use crate::plan::{MatchingRows, MatchingValue, QueryPlan, Task};
use crate::predict::Site;
use crate::quantity::{Digits, Flag, FlagOf};
use crate::range::Interval;
use crate::schema::cube::Grain;
use crate::schema::{ColumnType, Protection, Purpose};
use crate::sql;
use crate::tables::{column, encodings, nullable, ranged, schema, with_purposes};

/// The columns of TPC-H's sixth query, days exact.
fn lineitem(max_rows: u64) -> Schema {
    use ColumnType::{Category, Date, Decimal, Int};
    let encrypted = |name, kind, low, high| ranged(column(name, kind, Protection::Encrypt), low, high);
    let money = Decimal { precision: 12, scale: 2 };
    let part = Decimal { precision: 3, scale: 2 };
    let mut table = schema(
        "lineitem",
        vec![
            with_purposes(encrypted("shipdate", Date, 8035, 10_560), &[Purpose::Filter]),
            with_purposes(encrypted("discount", part, 0, 10), &[Purpose::Filter, Purpose::Measure]),
            with_purposes(
                encrypted("quantity", Int { bits: 8 }, 1, 50),
                &[Purpose::Filter, Purpose::Measure],
            ),
            with_purposes(encrypted("price", money, 0, 10_494_950), &[Purpose::Measure]),
            column("flag", Category, Protection::Seal),
            nullable(column("region", Category, Protection::Clear)),
        ],
    );
    table.max_rows = max_rows;
    table.filters = vec![Dimension {
        column: "flag".into(),
        grain: Grain::Texts(["A", "N", "R"].map(str::to_owned).into()),
    }];
    table.measures = vec!["price * discount".into(), "price * (1 - discount)".into()];
    table
}

fn planned(schema: &Schema, rows: u64, text: &str) -> Result<QueryPlan, PlanError> {
    let mut needs = Needs::default();
    needs.add_filters(schema);
    let encodings = encodings(schema, &needs, schema.max_rows);
    let limits = Limits { way: Some(WayName::Filter), ..Limits::default() };
    plan_query(schema, &encodings, &Site::local(rows), "", &sql::parse(schema, text).unwrap(), &limits)
}

const Q6: &str = "SELECT SUM(price * discount) FROM lineitem WHERE shipdate >= DATE '1994-01-01' \
     AND shipdate < DATE '1995-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24";

#[test]
fn all_encodings_are_alike_and_stand_in_a_drawn_order() {
    let schema = lineitem(1_000_000);
    let shape = FilterShape::of(&schema).unwrap();
    let mut needs = Needs::default();
    needs.add_filters(&schema);
    let mut drawn = 0_u64;
    let encodings = crate::layout::plan_encodings(&schema, &needs, 1_000_000, &mut || {
        drawn += 1;
        format!("{:032x}", drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    });
    let encodings = encodings.unwrap();
    assert_eq!(encodings.len(), shape.quantities().len());
    let first = &encodings[0];
    assert!(encodings.iter().all(|encoding| {
        (&encoding.public.params, &encoding.public.packing) == (&first.public.params, &first.public.packing)
            && encoding.secret_id == first.secret_id
    }));
    let sorted = encodings.windows(2).filter(|pair| pair[0].quantity < pair[1].quantity).count();
    assert!(
        sorted < encodings.len() * 3 / 4 && sorted > encodings.len() / 4,
        "{sorted} of {}",
        encodings.len()
    );
}

#[test]
fn a_question_like_the_sixth_is_a_product_of_four_conditions_and_the_limbs_of_a_measure() {
    let plan = planned(&lineitem(1_000_000), 1_000_000, Q6).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
    assert_eq!(plan.server.predicate, None);
    // Two digits of dates, a discount, a quantity, and a measure.
    let degrees: Vec<usize> = task.sums.iter().map(|sum| task.components(sum) - 1).collect();
    assert_eq!(degrees, [4, 5, 5, 5]);
    assert_eq!(task.elements, 128);
    let filtered = plan.owner.filtered.as_ref().unwrap();
    assert_eq!(filtered.sums.iter().map(|sum| sum.shift).collect::<Vec<_>>(), [0, 0, 9, 18]);
    assert!(filtered.sums.iter().all(|sum| sum.padding == 0));
    assert!(task.sums.iter().all(|sum| sum.bits.iter().all(|bits| *bits <= 63)));
    assert!(plan.cost.answer_bytes_each < 1_000_000, "{}", plan.cost.answer_bytes_each);
    let text = serde_json::to_string(&plan.server).unwrap();
    for hidden in ["price", "discount", "shipdate", "1994", "24"] {
        assert!(!text.contains(&format!("\"{hidden}")), "{hidden} in {text}");
    }
}

#[test]
fn groups_by_encrypted_columns_share_the_condition() {
    let schema = lineitem(1_000_000);
    let text = "SELECT flag, SUM(quantity), AVG(price), COUNT(*) FROM lineitem WHERE discount > 0.02 GROUP BY flag HAVING COUNT(*) > 3";
    let plan = planned(&schema, 1_000_000, text).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    // The condition, and it in two of three cells: the third is what they leave.
    assert_eq!(task.factors.len(), 3);
    // Rows, a limb of quantities, and three of prices.
    assert_eq!(task.sums.len(), 3 * (1 + 1 + 3));
    let masked =
        planned(&schema, 1_000_000, "SELECT COUNT(*) FROM lineitem WHERE discount > 0.02 AND region = 'x'");
    let masked = masked.unwrap();
    assert!(masked.server.predicate.is_some() && masked.owner.filtered.unwrap().is_masked);
}

/// A mask within a formula costs what one outside costs: its message is centred modulo t, and no constant.
#[test]
fn masks_in_formulas_are_in_their_bounds() {
    let space = space_of(hush_params::preset("n13_q4x46_sec128_v1").unwrap());
    let (mask, flag) = (|| Term::Clear(0), || Term::Stored(Quantity::Valid("x".into())));
    let fresh = flag().phase_log2(space);
    let both = mask().times(flag());
    assert_eq!(both.phase_log2(space), fresh + mask_log2(space));
    assert_eq!(mask_log2(space), (FILTER_PRIME as f64).log2() - 1.0 + (space.degree as f64).log2());
    let either = mask().plus(flag()).minus(both.clone());
    let more = either.phase_log2(space) - both.phase_log2(space);
    assert!((0.0..0.1).contains(&more), "{more}");
    // A constant has no convolution, and a sum with a mask in it is none.
    assert_eq!(Term::Constant(2).times(flag()).phase_log2(space), fresh + 1.0);
    let rest = Term::Constant(1).minus(mask()).times(flag());
    assert!(rest.phase_log2(space) >= both.phase_log2(space));
}

/// Clear members beside encrypted ones are masks of the task, and clear columns that the rest reads are groups of it.
#[test]
fn clear_columns_are_masks_and_groups() {
    let schema = lineitem(1_000_000);
    let text = "SELECT COUNT(*) FROM lineitem WHERE discount > 0.02 OR region = 'x'";
    let plan = planned(&schema, 1000, text).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!((plan.server.predicate.as_ref(), task.masks.len(), task.keys.len()), (None, 1, 0));
    assert_eq!(plan.owner.filtered.as_ref().unwrap().sums[0].padding, 0);
    assert!(plan.leakage.query.iter().any(|told| told.contains("region")), "{:?}", plan.leakage.query);
    let text = "SELECT region, flag, SUM(price) FROM lineitem WHERE discount > 0.02 AND region <> 'x' GROUP BY region, flag";
    let plan = planned(&schema, 1000, text).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!(task.keys, ["\"region\""]);
    assert_eq!(plan.owner.filtered.as_ref().unwrap().keys, ["region"]);
    assert!(task.max_groups >= 1 && task.max_groups * task.sums.len() as u64 <= 4096);
    assert!(plan.server.predicate.is_some() && task.masks.is_empty());
    assert_eq!(plan.cost.max_groups, task.max_groups);
    // A count of values needs to know which rows have one.
    let plan = planned(&schema, 1000, "SELECT COUNT(region) FROM lineitem WHERE quantity < 24").unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!(task.keys, ["\"region\""]);
}

/// What the columns of groups decide takes no factor.
#[test]
fn conditions_on_groups_leave_cells_out() {
    let text = "SELECT flag, COUNT(*) FROM lineitem WHERE flag IN ('A', 'R') AND quantity < 24 GROUP BY flag";
    let plan = planned(&lineitem(1_000_000), 1_000_000, text).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!(task.sums.iter().map(|sum| task.components(sum)).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(
        plan.owner.filtered.unwrap().sums.iter().map(|sum| sum.cells[0].cell).collect::<Vec<_>>(),
        [0, 2]
    );
}

#[test]
fn rows_behind_the_last_count_where_a_condition_holds_for_zeros() {
    let plan =
        planned(&lineitem(1_000_000), 1000, "SELECT COUNT(*) FROM lineitem WHERE quantity < 24").unwrap();
    assert_eq!(plan.owner.filtered.unwrap().sums[0].padding, 1);
}

#[test]
fn what_filters_do_not_answer_is_refused_with_the_reason() {
    let schema = lineitem(1_000_000);
    for (text, why) in [
        ("SELECT SUM(price) FROM lineitem WHERE price > 3", "its condition is not made of"),
        ("SELECT region FROM lineitem WHERE quantity < 24", "it is not made of"),
        ("SELECT SUM(price) FROM lineitem WHERE region = 'x'", "it has no condition on"),
        ("SELECT flag, COUNT(*) FROM lineitem WHERE flag = 'none' GROUP BY flag", "no row can match"),
        ("SELECT flag, COUNT(*) FROM lineitem WHERE quantity > 50 GROUP BY flag", "no row can match"),
        (
            "SELECT SUM(price) FROM lineitem WHERE flag = 'A' AND quantity = 3 AND discount = 0 AND shipdate = DATE '1994-03-07' AND region = 'x'",
            "encrypted columns, and",
        ),
    ] {
        let error = planned(&schema, 1000, text).unwrap_err();
        assert_eq!(error.code(), "HUSH-P030", "{text}: {error}");
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

/// By the calendar, and with parameters for four factors, the sixth question is four of them, in less than two kilobytes a row.
#[test]
fn factors_and_digits_decide_what_a_row_takes() {
    let even = lineitem(1_000_000);
    let mut schema = even.clone();
    schema.filters.push(Dimension { column: "shipdate".into(), grain: Grain::Calendar });
    schema.measures.truncate(1);
    schema.columns[1].purposes = vec![Purpose::Filter];
    schema.columns[2].purposes = vec![Purpose::Filter];
    schema.columns[3].purposes = vec![Purpose::Fetch];
    schema.filters.remove(0);
    schema.filter_factors = Some(4);
    let shape = FilterShape::of(&schema).unwrap();
    assert_eq!(shape.set().unwrap().name(), "n13_q3x46_sec128_v1");
    let bytes = shape.quantities().len() as f64 * shape.bytes_of_value(shape.set().unwrap());
    assert!(bytes < 2000.0, "{bytes}");
    let plan = planned(&schema, 1_000_000, Q6).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!(task.sums.iter().map(|sum| task.components(sum) - 1).collect::<Vec<_>>(), [3, 4, 4, 4]);
    assert_eq!(task.columns.len(), 2 + 2 + 1 + 3);
    // A day within a month takes two factors more.
    let exact = Q6.replace("1994-01-01", "1994-01-17");
    assert_eq!(planned(&schema, 1_000_000, &exact).unwrap_err().code(), "HUSH-P030");
    let degree = |factors: u8| {
        let schema = Schema { filter_factors: Some(factors), ..even.clone() };
        FilterShape::of(&schema).unwrap().set().unwrap().name()
    };
    assert_eq!((degree(2), degree(5)), ("n12_q2x46_sec128_v1", "n13_q4x46_sec128_v1"));
}

/// The last cell of a column is what the others leave, whatever the cells hold.
#[test]
fn sums_of_cells_are_those_of_every_row() {
    let mut schema = lineitem(1000);
    schema.columns.push(nullable(column("mode", ColumnType::Category, Protection::Seal)));
    let texts = ["x", "y"].map(str::to_owned);
    schema.filters.push(Dimension { column: "mode".into(), grain: Grain::Texts(texts.into()) });
    let shape = FilterShape::of(&schema).unwrap();
    let each = |column: &str| Dimension { column: column.into(), grain: Grain::Each };
    let by = [schema.filters[0].clone(), schema.filters[1].clone(), each("discount")];
    let cube = cells_of(&schema, &shape, &by).unwrap();
    let count = cube.cells() as usize;
    assert_eq!(count, 3 * 3 * 11);
    let some: Vec<usize> = (0..count).filter(|cell| cell % 33 >= 11).collect();
    let odd: Vec<usize> = (0..count).filter(|cell| cell % 7 != 2).collect();
    for (asked, completes, sums) in [
        ((0..count).collect(), true, count),
        ((0..count).collect(), false, count),
        (some, true, 66),
        (odd.clone(), true, odd.len()),
    ] {
        let asked: Vec<usize> = asked;
        let found = sums_of_cells((&shape, &cube), &asked, completes).unwrap();
        assert_eq!(found.len(), sums);
        // A row in each cell that is asked for, some in several: every cell gets its rows.
        let mut totals = vec![0_i64; count];
        for (place, row) in asked.iter().enumerate() {
            let rows = 1 + place as i64 % 3;
            for SumOfCells { term, cells } in &found {
                let met = term.evaluate(&|quantity| flag_of_cell((&shape, &cube), *row, quantity));
                cells.iter().for_each(|share| totals[share.cell] += rows * met * i64::from(share.weight));
            }
        }
        let mut expected = vec![0_i64; count];
        asked.iter().enumerate().for_each(|(place, cell)| expected[*cell] = 1 + place as i64 % 3);
        assert_eq!(totals, expected);
        let degrees: usize = found.iter().map(|sum| sum.term.degree()).sum();
        assert_eq!(degrees < 3 * sums, completes && asked.len() != odd.len());
    }
}

/// Cells of two columns are flags of conditions that say the same, however these are written, and the last is what the others leave.
#[test]
fn cells_that_are_derived_are_one_factor() {
    let mut schema = lineitem(1_000_000);
    schema.columns.push(column("status", ColumnType::Category, Protection::Seal));
    let texts = ["F", "O"].map(str::to_owned);
    schema.filters.push(Dimension { column: "status".into(), grain: Grain::Texts(texts.into()) });
    let cells = [("A", "F"), ("A", "O"), ("N", "F"), ("N", "O"), ("R", "F"), ("R", "O")];
    let condition = |(flag, status): &(&str, &str)| match *flag {
        "N" => format!("'{status}' = status AND (flag = '{flag}')"),
        _ => format!("flag = '{flag}' AND status = '{status}'"),
    };
    let query = "SELECT flag, status, COUNT(*), SUM(quantity) FROM lineitem WHERE discount > 0.03 GROUP BY flag, status";
    for (derived, is_whole) in [(6, true), (5, true), (4, false)] {
        schema.derived = cells.iter().take(derived).map(condition).collect();
        let shape = FilterShape::of(&schema).unwrap();
        let cube = cells_of(&schema, &shape, &schema.filters).unwrap();
        let asked: Vec<usize> = (0..6).collect();
        let found = sums_of_cells((&shape, &cube), &asked, true).unwrap();
        let mut totals = [0_i64; 6];
        for (place, (flag, status)) in cells.iter().enumerate() {
            let row = |quantity: &Quantity| match quantity {
                Quantity::Holds(holds) => {
                    let is_of = |text: &str| holds.condition.contains(&format!("'{text}'"));
                    i64::from(is_of(flag) && is_of(status))
                }
                other => flag_of_cell((&shape, &cube), place, other),
            };
            for SumOfCells { term, cells } in &found {
                let met = term.evaluate(&row) * (1 + place as i64);
                cells.iter().for_each(|share| totals[share.cell] += met * i64::from(share.weight));
            }
        }
        assert_eq!(totals, [1, 2, 3, 4, 5, 6]);
        let factors = found.iter().map(|sum| sum.term.degree()).max();
        assert_eq!((found.len(), factors), (6, Some(if is_whole { 1 } else { 2 })));
        let plan = planned(&schema, 1_000_000, query).unwrap();
        let Task::Products(task) = &plan.server.task else { panic!() };
        let factors = task.sums.iter().map(|sum| task.components(sum) - 1).max();
        assert_eq!(factors, Some(if is_whole { 3 } else { 4 }));
    }
    // Only some cells are asked for, and each of them has a flag.
    let some = query.replace("discount > 0.03", "discount > 0.03 AND flag <> 'R'");
    let plan = planned(&schema, 1_000_000, &some).unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    assert_eq!(task.sums.iter().map(|sum| task.components(sum) - 1).max(), Some(3));
}

/// An expression is one number for each row; what others make is not stored again, and every combination of them is answered.
#[test]
fn expressions_are_measured_as_they_are() {
    let mut schema = lineitem(1_000_000);
    let measured = |schema: &Schema| FilterShape::of(schema).unwrap().lanes.len();
    // Discount, quantity and price are columns, the first expression is a product, and the second is made of them.
    assert_eq!(measured(&schema), 4);
    schema.measures = vec!["price * (1 - discount)".into(), "price * (1 - discount) * (1 + quantity)".into()];
    assert_eq!(measured(&schema), 5);
    for name in ["discount", "quantity", "price"] {
        let column = schema.columns.iter_mut().find(|column| column.name == name).unwrap();
        column.purposes = vec![if name == "price" { Purpose::Fetch } else { Purpose::Filter }];
    }
    assert_eq!(measured(&schema), 2);
    let sums = |text: &str| {
        let text = format!("SELECT {text} FROM lineitem WHERE flag = 'A'");
        let plan = planned(&schema, 1_000_000, &text)?;
        let Task::Products(task) = plan.server.task else { panic!() };
        Ok::<usize, PlanError>(task.sums.len())
    };
    let (one, other) = (
        sums("SUM(price * (1 - discount))").unwrap(),
        sums("AVG((1 - discount) * (quantity + 1) * price)").unwrap(),
    );
    assert!(one > 2 && other > one);
    let both = "SUM(price * (1 - discount)) - 2 * SUM(price * (1 - discount) * (1 + quantity) + 3)";
    assert_eq!(sums(both).unwrap(), one + other - 1);
    assert_eq!(sums("SUM(price * quantity * (1 - discount))").unwrap(), one + other - 1);
    for text in ["SUM(price)", "SUM(price * discount)", "VAR_POP(price * (1 - discount))"] {
        assert_eq!(sums(text).unwrap_err().code(), "HUSH-P030", "{text}");
    }
    // Squares are there for a column that has them itself.
    let price = schema.columns.iter_mut().find(|column| column.name == "price").unwrap();
    price.purposes = vec![Purpose::Measure, Purpose::Variance];
    assert_eq!(measured(&schema), 2 + 2);
}

/// A condition that is derived is one factor, whatever its columns, and can be a group.
#[test]
fn conditions_that_are_derived_are_flags() {
    let mut schema = lineitem(1_000_000);
    schema.columns.push(nullable(column("note", ColumnType::Text, Protection::Seal)));
    schema.derived = vec!["note LIKE '%late%'".into(), "price > 100 * quantity AND region = 'x'".into()];
    let shape = FilterShape::of(&schema).unwrap();
    let holds = |quantity: &&Quantity| matches!(quantity, Quantity::Holds(_));
    // Of what may be NULL two flags, of regions too.
    assert_eq!(shape.quantities().iter().filter(holds).count(), 4);
    let degrees = |text: &str| {
        let plan = planned(&schema, 1000, text).unwrap();
        let Task::Products(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
        let text = serde_json::to_string(&plan.server).unwrap();
        assert!(!text.contains("late") && !text.contains("note"), "{text}");
        task.sums.iter().map(|sum| task.components(sum) - 1).collect::<Vec<_>>()
    };
    for (condition, degree) in [
        ("note LIKE '%late%'", 1),
        ("note NOT LIKE '%late%' AND flag = 'A'", 2),
        ("region = 'x' AND quantity < 7 AND 100 * quantity < price", 2),
        ("NOT (note LIKE '%late%' OR quantity < 7)", 2),
    ] {
        assert_eq!(
            degrees(&format!("SELECT COUNT(*) FROM lineitem WHERE {condition}")),
            [degree],
            "{condition}"
        );
    }
    let share = "SELECT SUM(CASE WHEN note LIKE '%late%' THEN price ELSE 0 END) / SUM(price) FROM lineitem WHERE discount > 0.02";
    // Rows that have it, that have it not, and those of which it is not known: a count and the limbs of a price of each.
    assert_eq!(degrees(share).len(), 3 * 4);
    for text in ["note LIKE '%other%'", "price > 100 * quantity"] {
        let error =
            planned(&schema, 1000, &format!("SELECT COUNT(*) FROM lineitem WHERE {text}")).unwrap_err();
        assert_eq!(error.code(), "HUSH-P030", "{text}");
    }
}

#[test]
fn derived_conditions_follow_the_names_of_their_columns() {
    let mut before = lineitem(1000);
    before.derived = vec!["price > 100 * quantity".into(), "flag LIKE 'A%'".into()];
    let alteration = crate::schema::alter::Alteration {
        rename: vec![("price".into(), "the price".into())],
        drop: vec!["flag".into()],
        ..Default::default()
    };
    let mut next = crate::schema::alter::altered(&before, &alteration).unwrap();
    altered(&before, &alteration, &mut next);
    assert_eq!(next.derived, ["\"the price\" > 100 * \"quantity\""]);
    // What is stored is what the altered schema asks for.
    let rename = |name: &str| alteration.name_after(name).unwrap_or_else(|| name.to_owned());
    let of = |schema: &Schema| FilterShape::of(schema).unwrap().quantities();
    let stored: Vec<Quantity> = of(&before).iter().map(|quantity| quantity.renamed(&rename)).collect();
    assert!(of(&next).iter().all(|quantity| stored.contains(quantity)));
}

/// The largest sums that share a slot are known by their residues.
#[test]
fn sums_of_limbs_stay_in_the_prime() {
    let prime = BigInt::from(FILTER_PRIME);
    let residues = |low: BigInt, high: BigInt| Interval::point(low).hull(&Interval::point(high));
    for elements in [1, 16, 100, 128, 1000, 1024] {
        let bits = bits_of_limbs(elements);
        assert!(elements_of_limbs(bits) >= elements, "{bits}");
        let most = Interval::point(elements_of_limbs(bits).into());
        let half = BigInt::from(FILTER_PRIME / 2);
        for (natural, held) in
            [(false, residues(-half.clone(), half)), (true, residues(BigInt::default(), &prime - 1))]
        {
            assert!(held.contains(&Digits { bits, natural }.range().mul(&most)), "{bits} bits");
        }
    }
}

/// A limb fewer than for numbers of either sign.
#[test]
fn what_is_never_negative_has_natural_digits() {
    let limbs = |low: i128| {
        let mut schema = lineitem(1_000_000);
        let revenue = column("revenue", ColumnType::Int { bits: 64 }, Protection::Encrypt);
        let revenue = ranged(revenue, low, (1 << 27) - 1);
        schema.columns.push(with_purposes(revenue, &[Purpose::Measure]));
        let shape = FilterShape::of(&schema).unwrap();
        let natural = |quantity: Quantity| match quantity {
            Quantity::Limb { ref digits, .. } if quantity.columns() == ["revenue"] => Some(digits.natural),
            _ => None,
        };
        let limbs: Vec<bool> = shape.quantities().into_iter().filter_map(natural).collect();
        assert!(limbs.iter().all(|natural| *natural == (low >= 0)));
        limbs.len()
    };
    assert_eq!((limbs(0), limbs(-1)), (3, 4));
}

#[test]
fn what_is_much_is_told() {
    let schema = lineitem(1_000_000);
    let note = note(&schema, 1_000_000).unwrap();
    assert!(note.contains("encoded columns over n13_q4x46_sec128_v1, 3.") && note.contains("GB"), "{note}");
    assert_eq!((super::note(&schema, 1000), super::note(&crate::tables::patients(), 1 << 30)), (None, None));
}

#[test]
fn faults_of_filters_are_named() {
    let refused = |edit: &dyn Fn(&mut Schema)| {
        let mut schema = lineitem(1000);
        edit(&mut schema);
        check(&schema).unwrap_err().to_string()
    };
    let texts = |texts: &[&str]| Grain::Texts(texts.iter().map(|text| (*text).to_owned()).collect());
    let filter = |column: &str, grain| Dimension { column: column.to_owned(), grain };
    for (found, expected) in [
        (refused(&|schema| schema.filters[0].column = "nobody".into()), "no column nobody"),
        (refused(&|schema| schema.filters.push(filter("region", texts(&["x"])))), "region is neither"),
        (refused(&|schema| schema.filters[0].grain = Grain::Calendar), "flag is sealed"),
        (refused(&|schema| schema.filters[0].grain = texts(&["A", "A"])), "twice"),
        (refused(&|schema| schema.filters.push(filter("shipdate", Grain::Month))), "by its values alone"),
        (refused(&|schema| schema.columns[5].purposes = vec![Purpose::Filter]), "region is neither"),
        (refused(&|schema| schema.columns[4].purposes = vec![Purpose::Measure]), "flag is sealed"),
        (refused(&|schema| schema.measures.push("price * nobody".into())), "measure"),
        (refused(&|schema| schema.derived.push("nobody = 1".into())), "nobody"),
        (refused(&|schema| schema.derived.push("region = 'x'".into())), "region = 'x' is neither"),
        (refused(&|schema| schema.derived = vec!["price < 3".into(), "3 > price".into()]), "twice"),
    ] {
        assert!(found.contains(expected), "{found}");
    }
}

/// Columns of more values than digits tell, and sealed texts that are not listed, take as many flags as ranks do, and a run that tells them.
#[test]
fn what_has_too_many_values_is_by_ranks() {
    let mut schema = lineitem(1000);
    schema.columns[2].kind = ColumnType::Int { bits: 64 };
    schema.columns[2].range = None;
    schema.filters[0].grain = Grain::Each;
    check(&schema).unwrap();
    let ranked = [schema.filters[0].column.clone(), schema.columns[2].name.clone()];
    let runs = schema.all_runs();
    assert!(ranked.iter().eq(runs.iter().filter(|run| run.by_chunk).map(|run| &run.by)), "{runs:?}");
    let flags = FilterShape::of(&schema).unwrap().quantities();
    for name in &ranked {
        let of_column = flags
            .iter()
            .filter(|quantity| matches!(quantity, Quantity::Flag(flag) if flag.column == *name))
            .count();
        assert_eq!(of_column, usize::from(crate::quantity::RANK_FLAGS), "{name}");
    }
}

/// Rows that match: as many sums as find four in each slot, in a ring that holds them.
#[test]
fn rows_that_match_are_sums_of_powers() {
    let schema = lineitem(2_000_000);
    let text = "SELECT shipdate, flag, price FROM lineitem WHERE shipdate = DATE '1994-01-01' AND quantity < 3 ORDER BY price DESC";
    let plan = planned(&schema, 2_000_000, text).unwrap();
    let rows = plan.owner.matching.as_ref().unwrap();
    let Task::Products(task) = &plan.server.task else { panic!() };
    // Two digits of days, one of flags; limbs of prices.
    let MatchingValue::Limbs { first: 1, count, natural: true, .. } = rows.columns[1].value else {
        panic!("{rows:?}")
    };
    let digits = 1 + count + 2;
    assert_eq!((rows.most, rows.digits, rows.columns.len()), (4, digits, 3));
    assert_eq!(task.sums.len(), 5 + 4 * digits);
    assert_eq!((task.sums.len(), task.sums.len()), (rows.phases.len(), MatchingRows::sum_count(4, digits)));
    assert_eq!((task.highest_power(), rows.is_masked, rows.padding), (Some(4), false, 0));
    assert!(plan.owner.cells.is_none() && plan.owner.filtered.is_none());
    // Every bound leaves room in the ring.
    let (_, set) = schema_set(&schema);
    assert!(rows.phases.iter().all(|phase| *phase <= set.log_q() - 1.0));
    // Clear conditions are masks, clear columns do not come back, and conditions that are not of flags are not asked so.
    let masked = "SELECT price FROM lineitem WHERE quantity < 3 AND region = 'EUROPE'";
    assert!(planned(&schema, 10_000, masked).unwrap().owner.matching.unwrap().is_masked);
    for (text, why) in [
        ("SELECT region, price FROM lineitem WHERE quantity < 3", "without clear columns"),
        ("SELECT 1 FROM lineitem WHERE quantity < 3", "reads no column"),
        ("SELECT price FROM lineitem", "no condition on"),
        ("SELECT price FROM lineitem WHERE quantity < discount", "not made of"),
    ] {
        let error = planned(&schema, 10_000, text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

fn schema_set(schema: &Schema) -> (FilterShape, &'static ParamSet) {
    let shape = FilterShape::of(schema).unwrap();
    let set = shape.set().unwrap();
    (shape, set)
}
