// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::limits::Facet;
use crate::packing::{Packing, Slots, Sum};
use crate::plan::{LinearForm, Mask, Moment, MomentFunction, OutputType, OwnerAggregate, ProgramSource};
use crate::quantity::Quantity;
use crate::schema::ColumnType;
use crate::sql::parse;
use crate::tables::{column, encodings_for, patients, ranged, refusal, schema};

const MAIN: &str =
    "SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward";

fn plan_with(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    rows: u64,
    text: &str,
) -> Result<QueryPlan, PlanError> {
    plan_query(schema, encodings, &Site::local(rows), "00ff", &parse(schema, text)?, &Limits::default())
}

fn plan(text: &str) -> QueryPlan {
    let schema = patients();
    plan_with(&schema, &encodings_for(&schema, &[text]), 6000, text).unwrap()
}

fn form(terms: &[(&str, Moment)]) -> LinearForm {
    LinearForm { terms: terms.iter().map(|(factor, moment)| ((*factor).to_owned(), *moment)).collect() }
}

#[test]
fn the_plan_of_the_main_job() {
    let schema = patients();
    let encodings = encodings_for(&schema, &[MAIN]);
    let id = |quantity: Quantity| encodings.iter().find(|e| e.quantity == quantity).unwrap().public.id;
    let plan = plan_with(&schema, &encodings, 6000, MAIN).unwrap();
    assert_eq!(plan.server.predicate, Some(Predicate::clear("\"year\" = 2023")));
    let Task::Aggregate(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
    assert_eq!(
        (task.keys.as_slice(), task.clear.as_slice()),
        (&["\"ward\"".to_owned()][..], &["COUNT(*)".to_owned()][..])
    );
    assert_eq!(task.masks, [Mask { condition: None, weight: None }]);
    let columns: Vec<_> = task.sums.iter().map(|sum| sum.column).collect();
    let expected = [
        id(Quantity::Valid("age".into())),
        id(Quantity::Value("age".into())),
        id(Quantity::Value("charges".into())),
        id(Quantity::Square("charges".into())),
    ];
    assert_eq!(columns, expected);
    assert_eq!(
        plan.owner.aggregates[1],
        OwnerAggregate::Moments {
            function: MomentFunction::Avg,
            count: form(&[("1", Moment::Encrypted(0))]),
            powers: vec![form(&[("1", Moment::Encrypted(1))])],
            scale: 0,
            output: OutputType::Float,
        }
    );
    assert_eq!(
        plan.owner.aggregates[2],
        OwnerAggregate::Moments {
            function: MomentFunction::StddevSamp,
            count: form(&[("1", Moment::Clear(0))]),
            powers: vec![form(&[("1", Moment::Encrypted(2))]), form(&[("1", Moment::Encrypted(3))])],
            scale: 2,
            output: OutputType::Float,
        }
    );
    let sql = "SELECT k0 AS \"ward\", a0 AS \"count\", a1 AS \"avg_age\", a2 AS \"stddev_charges\" FROM merged ORDER BY k0";
    assert_eq!(plan.owner.final_sql, sql);
    assert_eq!(plan.cost.security_bits, 128);
    assert!(plan.cost.margin_bits >= 0.0 && plan.cost.depth == 0 && plan.cost.precision.is_none());
}

#[test]
fn the_main_job_in_the_clear_is_the_same_query() {
    let schema = patients().all_clear();
    let clear = plan_with(&schema, &[], 6000, MAIN).unwrap();
    let Task::Aggregate(task) = &clear.server.task else { panic!() };
    assert!(task.sums.is_empty() && task.masks.is_empty());
    assert_eq!(clear.owner.final_sql, plan(MAIN).owner.final_sql);
    assert_eq!(clear.cost.answer_bytes_each, 0);
    let outputs = |plan: &QueryPlan| {
        let shape = |aggregate: &OwnerAggregate| match aggregate {
            OwnerAggregate::Moments { function, scale, output, .. } => Some((*function, *scale, *output)),
            OwnerAggregate::Count { .. } => None,
            other => panic!("{other:?}"),
        };
        plan.owner.aggregates.iter().map(shape).collect::<Vec<_>>()
    };
    assert_eq!(outputs(&clear), outputs(&plan(MAIN)));
}

#[test]
fn what_is_sent_names_no_encrypted_column() {
    for text in [
        MAIN,
        "SELECT ward, age * visits, charges FROM patients WHERE year = 2023",
        "SELECT AVG(age * weight) FROM patients",
    ] {
        let sent = serde_json::to_string(&plan(text).server).unwrap();
        for name in ["age", "charges", "visits"] {
            assert!(!sent.contains(name), "{name} in {sent}");
        }
        let back: ServerPlan = serde_json::from_str(&sent).unwrap();
        assert_eq!(back, plan(text).server);
    }
}

#[test]
fn the_answer_has_one_mask_polynomial_per_mask_and_parameter_set() {
    let schema = patients();
    let text = "SELECT SUM(age), SUM(visits), SUM(bp) FROM patients WHERE ward = 'a'";
    let encodings = encodings_for(&schema, &[text]);
    let sets: std::collections::BTreeSet<_> = encodings.iter().map(|e| e.public.params.clone()).collect();
    assert_eq!(sets.len(), 1, "all of them are small");
    let set = hush_params::preset(sets.first().unwrap()).unwrap();
    let plan = plan_with(&schema, &encodings, 6000, text).unwrap();
    // Three values and two validities share one mask.
    assert_eq!(plan.cost.answer_bytes_each, hush_params::size::sum_answer_bytes(set, 5) as u64);
    assert_eq!(plan.cost.max_groups, 1);
}

#[test]
fn the_bytes_of_the_answer_limit_the_groups() {
    let schema = patients();
    let encodings = encodings_for(&schema, &[MAIN]);
    let query = parse(&schema, MAIN).unwrap();
    let limited = |max_answer_bytes| {
        let limits = Limits { max_answer_bytes, ..Limits::default() };
        plan_query(&schema, &encodings, &Site::local(6000), "00", &query, &limits)
    };
    let each = limited(1 << 30).unwrap().cost.answer_bytes_each;
    assert_eq!(limited(each * 7 + 1).unwrap().cost.max_groups, 7);
    let error = limited(each - 1).unwrap_err();
    assert_eq!(error, PlanError::AnswerTooLarge { needed: each, limit: each - 1 });
}

#[test]
fn missing_layouts_name_the_command_that_adds_them() {
    let schema = patients();
    let sums = encodings_for(&schema, &["SELECT SUM(age), SUM(bp), SUM(visits) FROM patients"]);
    let error = |text: &str| refusal(&schema, &sums, 6000, text);
    for text in [
        "SELECT VARIANCE(age) FROM patients",
        "SELECT SUM(age * visits) FROM patients",
        "SELECT AVG(age * bp) FROM patients",
        "SELECT age * charges FROM patients",
        "SELECT charges FROM patients",
        "SELECT SUM(score) FROM patients",
        "SELECT score * 2 FROM patients",
    ] {
        let error = error(text);
        assert_eq!(error.code(), "HUSH-P020", "{text}");
        assert!(error.report().contains("hush encrypt"), "{}", error.report());
    }
    // What the sums are encrypted in can go back and be computed with.
    for text in ["SELECT age + 1 FROM patients", "SELECT age * bp * visits FROM patients"] {
        let plan = plan_with(&schema, &sums, 6000, text).unwrap();
        assert_eq!(
            (plan.owner.programs[0].source, plan.owner.owned.len()),
            (ProgramSource::Owned(0), 1),
            "{text}"
        );
    }
    let product = error("SELECT SUM(age * visits) FROM patients").to_string();
    assert!(product.starts_with("SUM(age * visits) needs the product"), "{product}");
}

#[test]
fn a_table_that_outgrows_its_encodings_is_refused_not_wrapped() {
    let schema = patients();
    let text = "SELECT SUM(age) FROM patients";
    let encodings = encodings_for(&schema, &[text]);
    let fits = |rows| plan_with(&schema, &encodings, rows, text).map(drop);
    let encoding = encodings.iter().find(|e| e.quantity == Quantity::Value("age".into())).unwrap();
    let Packing::Sum(Sum { t_log2: log2 }) = encoding.public.packing else { panic!() };
    // The largest number of rows whose sum stays below t/2, if noise allows it.
    let most = ((1u64 << (log2 - 1)) - 1) / 120;
    assert!(fits(most).is_ok());
    assert_eq!(refusal(&schema, &encodings, most + 1, text).code(), "HUSH-P021");
    // The owner can still add up what comes back, and is told why he has to.
    let plan = plan_with(&schema, &encodings, most + 1, text).unwrap();
    assert!(plan.owner.own.is_some() && plan.notes[0].contains("because SUM(age)"), "{:?}", plan.notes);
}

#[test]
fn weights_that_the_noise_does_not_allow_are_refused() {
    let mut schema = patients();
    let encodings = encodings_for(&schema, &["SELECT SUM(age) FROM patients"]);
    let wide = ranged(column("factor", ColumnType::Int { bits: 64 }, crate::Protection::Clear), 0, 1 << 40);
    schema.columns.push(wide);
    let error = refusal(&schema, &encodings, 1, "SELECT SUM(age * factor) FROM patients");
    assert!(["HUSH-P021", "HUSH-P022"].contains(&error.code()), "{}", error.report());
    assert!(plan_with(&schema, &encodings, 1, "SELECT SUM(age * weight) FROM patients").is_ok());
}

#[test]
fn the_smallest_sufficient_encoding_is_used() {
    let schema = patients();
    let small = encodings_for(&schema, &["SELECT SUM(age) FROM patients"]);
    let mut large = crate::tables::encodings(
        &schema,
        &crate::needs::needs_of(&schema, &[parse(&schema, "SELECT SUM(age) FROM patients").unwrap()])
            .unwrap(),
        1 << 40,
    );
    large.iter_mut().for_each(|encoding| encoding.public.id.0 += 100);
    let both: Vec<_> = large.iter().chain(&small).cloned().collect();
    let column = |rows| {
        let plan = plan_with(&schema, &both, rows, "SELECT SUM(age) FROM patients").unwrap();
        let Task::Aggregate(task) = plan.server.task else { panic!() };
        task.sums.last().unwrap().column.0
    };
    assert!(column(100) < 100);
    assert!(column(1 << 39) >= 100);
}

#[test]
fn damaged_encodings_are_refused() {
    let schema = patients();
    let text = "SELECT SUM(age) FROM patients";
    let good = encodings_for(&schema, &[text]);
    let refused = |change: fn(&mut PrivateEncoding)| {
        let mut encodings = good.clone();
        change(&mut encodings[0]);
        plan_with(&schema, &encodings, 10, text).unwrap_err().code()
    };
    assert_eq!(refused(|e| e.public.params = "n10_q1".into()), "HUSH-P026");
    assert_eq!(refused(|e| e.max_abs = "-1".into()), "HUSH-P026");
    assert_eq!(refused(|e| e.max_abs = "many".into()), "HUSH-P026");
    assert_eq!(refused(|e| e.public.packing = Packing::Sum(Sum { t_log2: 251 })), "HUSH-P026");
    assert_eq!(refused(|e| e.public.packing = Packing::Slots(Slots::of(vec![65539]))), "HUSH-P026");
}

#[test]
fn row_plans_bind_programs_and_fetches() {
    let plan = plan("SELECT ward, visits * age + 1 AS v, charges FROM patients WHERE year > 2000 LIMIT 3");
    let Task::Rows(task) = &plan.server.task else { panic!() };
    assert_eq!((task.programs.len(), task.fetch.len(), task.limit), (1, 2, Some(3)));
    assert_eq!(plan.cost.depth, 1);
    assert!(plan.cost.margin_bits >= 0.0);
    assert_eq!(plan.owner.programs[0].source, ProgramSource::Program(0));
    assert_eq!(
        plan.owner.final_sql,
        "SELECT c0 AS \"ward\", p0 AS \"v\", p1 AS \"charges\" FROM merged ORDER BY \"row\" LIMIT 3"
    );
}

fn on_link(text: &str, link: Option<f64>) -> QueryPlan {
    of_rows_on_link(6000, text, link)
}

fn of_rows_on_link(rows: u64, text: &str, link: Option<f64>) -> QueryPlan {
    let schema = Schema { max_rows: rows.max(10_000), ..patients() };
    let encodings = encodings_for(&schema, &[text]);
    let site = Site { link, ..Site::local(rows) };
    let query = parse(&schema, text).unwrap();
    let limits = Limits { compares: true, ..Limits::default() };
    plan_query(&schema, &encodings, &site, "00ff", &query, &limits).unwrap()
}

/// Bits of programs and of fetched columns, and whether the owner evaluates.
fn way(plan: &QueryPlan) -> (Vec<Option<u32>>, Vec<Option<u32>>, bool) {
    let Task::Rows(task) = &plan.server.task else { panic!() };
    (task.program_bits.clone(), task.fetch_bits.clone(), !plan.owner.owned.is_empty())
}

#[test]
fn the_way_to_answer_follows_the_link() {
    let text = "SELECT age * visits AS v, charges FROM patients";
    // In one process the server evaluates and nothing is rounded; over a slow link two columns are less than their product.
    assert_eq!(way(&on_link(text, None)), (vec![], vec![], false));
    let slow = on_link(text, Some(1e5));
    let (programs, fetched, by_owner) = way(&slow);
    assert!(programs.is_empty() && by_owner, "{slow:?}");
    assert!(fetched.iter().all(Option::is_some), "{fetched:?}");
    // A sum of many columns is less than all of them.
    let sum = on_link("SELECT age + visits + charges + bp + 2 * age AS v FROM patients", Some(1e5));
    let (programs, _, by_owner) = way(&sum);
    assert!(!by_owner && programs[0].is_some_and(|bits| bits < 60), "{programs:?}");
    for plan in [slow, sum] {
        assert!(plan.cost.margin_bits >= 0.0);
        let taken: Vec<_> = plan.ways.iter().filter(|way| way.taken).collect();
        assert_eq!((plan.ways.len(), taken.len()), (5, 1));
        let others = plan.ways.iter().filter(|way| way.name != WayName::Fetch);
        assert!(others.into_iter().all(|way| way.seconds >= taken[0].seconds));
        let (small, large) = plan
            .ways
            .iter()
            .fold((u64::MAX, 0), |(s, l), way| (s.min(way.bytes_down), l.max(way.bytes_down)));
        assert!(2 * small < large);
        assert!(plan.cost.nodes.iter().all(|node| node.answer_bits.is_some()));
    }
}

#[test]
fn many_groups_are_left_to_the_owner() {
    let text = "SELECT ward, COUNT(*), SUM(age * weight), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward";
    let on_link = |link| of_rows_on_link(60_000, text, link);
    let groups = |link| on_link(link).cost.max_groups;
    // Never less than are assumed; over no link the columns come back, over a slow one what the groups need of them.
    let (local, slow) = (groups(None), groups(Some(1e5)));
    assert!((10..10_000).contains(&slow) && (10..10_000).contains(&local), "{local} {slow}");
    assert_eq!(on_link(None).gathered.unwrap().way, WayName::Fetch);
    let plan = on_link(Some(1e5));
    let Task::Aggregate(task) = &plan.server.task else { panic!() };
    assert_eq!(task.max_groups, slow);
    assert!(
        plan.leakage.query.iter().any(|line| line.starts_with("with more groups than it adds up, which"))
    );
    let instead = plan.clone().for_groups(slow + 1);
    assert_eq!(plan.clone().for_groups(slow), plan);
    let taken = |plan: &QueryPlan| plan.ways.iter().map(|way| way.taken).collect::<Vec<_>>();
    // Columns are fewer bytes than the squares of them.
    assert_eq!((taken(&plan), taken(&instead)), (vec![true, false, false], vec![false, false, true]));
    // The groups were asked for first.
    assert_eq!(instead.leakage, plan.leakage);
    assert!(instead.steps[0].what.contains("find more groups than it adds up"), "{:?}", instead.steps);
    let schema = Schema { max_rows: 60_000, ..patients() };
    let gathered =
        limited(&schema, text, &Limits { way: Some(WayName::Gather), ..Limits::default() }).unwrap();
    let Task::Rows(rows) = &gathered.server.task else { panic!() };
    // What the filter alone reads stays where it is.
    assert_eq!(rows.clear, ["\"ward\"", "\"weight\""]);
    assert_eq!((rows.programs.len(), rows.limit, gathered.server.predicate.is_some()), (0, None, true));
    let mut summed: Vec<_> = task.sums.iter().map(|sum| sum.column).collect();
    summed.sort_unstable();
    summed.dedup();
    assert_eq!(rows.fetch, summed);
    // Squares are wider than what is packed.
    assert!(rows.fetch_bits.iter().any(Option::is_some));
    assert!(gathered.cost.margin_bits >= 0.0);
    let regroup = gathered.owner.regroup.unwrap();
    assert_eq!((&regroup.task.keys, &regroup.task.masks), (&task.keys, &task.masks));
    assert_eq!(
        (gathered.owner.aggregates, gathered.owner.final_sql),
        (plan.owner.aggregates, plan.owner.final_sql)
    );
    for one_way in [
        "SELECT SUM(age) FROM patients",
        "SELECT ward, SUM(year) FROM patients GROUP BY ward",
        "SELECT ward, SUM(score) FROM patients GROUP BY ward",
    ] {
        let plan = of_rows_on_link(60_000, one_way, Some(1e5));
        assert!(plan.gathered.is_none(), "{one_way}");
        assert_eq!(plan.ways.is_empty(), !one_way.contains("SUM(age)"), "{one_way}");
    }
}

/// A plan of `patients` for a server at the end of a slow link, within limits.
fn limited(schema: &Schema, text: &str, limits: &Limits) -> Result<QueryPlan, PlanError> {
    let encodings = encodings_for(schema, &[text]);
    let site = Site { link: Some(1e5), ..Site::local(6000) };
    plan_query(schema, &encodings, &site, "00ff", &parse(schema, text).unwrap(), limits)
}

#[test]
fn a_way_that_is_wanted_is_taken_or_refused() {
    let text = MAIN;
    let by = |way| limited(&patients(), text, &Limits { way: Some(way), ..Limits::default() });
    // Few rows over a slow link are quicker than sums of ten groups.
    let quickest = limited(&patients(), text, &Limits::default()).unwrap();
    let taken: Vec<_> = quickest.ways.iter().map(|way| (way.name, way.taken)).collect();
    assert_eq!(taken, [(WayName::Sum, false), (WayName::Gather, false), (WayName::Fetch, true)]);
    assert_eq!(quickest.server, by(WayName::Fetch).unwrap().server);
    let sums = by(WayName::Sum).unwrap();
    assert!(
        matches!(sums.server.task, Task::Aggregate(_)) && sums.ways.is_empty() && sums.gathered.is_none()
    );
    let gather = by(WayName::Gather).unwrap();
    assert!(gather.owner.regroup.is_some() && !gather.owner.after_sums);
    assert!(!gather.steps.iter().any(|step| step.what.contains("more groups")), "{:?}", gather.steps);
    let error = by(WayName::Rows).unwrap_err();
    assert_eq!(error.to_string(), "the query is not answered by rows; it is by sum, gather, fetch");
    // A way that applies says why it cannot.
    let limits = Limits { way: Some(WayName::Sum), ..Limits::default() };
    let error = limited(&patients(), "SELECT SUM(visits) FROM patients WHERE age > 65", &limits).unwrap_err();
    assert_eq!(error.code(), "HUSH-P014");
}

#[test]
fn what_is_hidden_is_not_sent() {
    let text = "SELECT ward, SUM(age) FROM patients WHERE year = 2023 GROUP BY ward";
    let hidden = |hide: &[Facet], way| {
        let limits = Limits { hide: hide.iter().copied().collect(), way, ..Limits::default() };
        limited(&patients(), text, &limits)
    };
    for facet in Facet::ALL {
        let plan = hidden(&[facet], None).unwrap();
        let Task::Rows(task) = &plan.server.task else { panic!() };
        assert_eq!((&plan.server.predicate, task.limit), (&None, None));
        assert!(!serde_json::to_string(&plan.server).unwrap().contains("2023"));
        let error = hidden(&[facet], Some(WayName::Sum)).unwrap_err();
        assert_eq!(error.code(), "HUSH-P030");
        assert!(error.to_string().ends_with(&format!("what is to be hidden: {}", facet.name())), "{error}");
    }
    // Sums of all rows show nothing more than the columns; groups show their sizes; a weight that may be missing is a condition.
    for (text, shown) in [
        ("SELECT SUM(age), AVG(charges) FROM patients", &[][..]),
        ("SELECT SUM(age * weight) FROM patients", &Facet::ALL),
        ("SELECT ward, SUM(age) FROM patients GROUP BY ward", &[Facet::Sizes]),
        ("SELECT year + 1, SUM(age) FROM patients GROUP BY year + 1", &[Facet::Constants, Facet::Sizes]),
        ("SELECT SUM(age), MIN(substr(ward, 1, 2)) FROM patients", &[Facet::Constants]),
        ("SELECT age * visits AS v, charges FROM patients", &[]),
        ("SELECT SUM(age) FILTER (WHERE year > 2020) FROM patients", &Facet::ALL),
        ("SELECT age * visits AS v FROM patients LIMIT 3", &Facet::ALL),
    ] {
        for facet in Facet::ALL {
            let limits = Limits { hide: [facet].into_iter().collect(), ..Limits::default() };
            let computing = |way| limited(&patients(), text, &Limits { way: Some(way), ..limits }).is_ok();
            let is_computed = computing(WayName::Sum) || computing(WayName::Rows);
            assert_eq!(is_computed, !shown.contains(&facet), "{text}, {facet:?}");
        }
    }
    // A schema that allows nothing is as if all were hidden.
    let schema = Schema { allow: Shown::default(), ..patients() };
    let plan = limited(&schema, text, &Limits::default()).unwrap();
    assert_eq!(plan.server.predicate, None);
    assert!(plan.ways.is_empty());
}

#[test]
fn ways_say_where_they_are_even() {
    let at = |rows, link| of_rows_on_link(rows, MAIN, link);
    let name = |plan: &QueryPlan| plan.ways.iter().find(|way| way.taken).map(|way| way.name);
    let large = at(1 << 20, Some(12.5e6));
    assert_eq!(name(&large), Some(WayName::Sum));
    let turn = large.ways[2].even_rows.unwrap();
    assert!(!turn.above && large.ways[0].even_rows.is_none(), "few rows are fetched");
    // Near that size neither way is clearly quicker.
    let rows = turn.at as u64;
    let near = at(rows, Some(12.5e6));
    let seconds: Vec<f64> = near.ways.iter().map(|way| way.seconds).collect();
    assert!((0.5..2.0).contains(&(seconds[0] / seconds[2])), "{rows} rows: {seconds:?}");
    let parts = |way: &Way| way.server_s + way.link_s + way.owner_s;
    assert!(large.ways.iter().all(|way| (parts(way) / way.seconds - 1.0).abs() < 1e-9));
}

#[test]
fn approximate_answers_are_not_rounded() {
    let plan = on_link("SELECT score * score FROM patients", Some(1e5));
    assert_eq!(way(&plan), (vec![], vec![], false));
    assert!(plan.ways.is_empty());
}

#[test]
fn approximate_results_state_their_precision() {
    let sum = plan("SELECT SUM(score) FROM patients");
    assert!(sum.cost.precision.unwrap() <= 0.5e-3);
    let product = plan("SELECT score * score FROM patients");
    assert!(product.cost.precision.unwrap() <= 0.5e-3, "{:?}", product.cost.precision);
    let refused = patients();
    let encodings = encodings_for(&refused, &["SELECT score * score FROM patients"]);
    let error = plan_with(&refused, &encodings, 10, "SELECT score * score * 1.5 FROM patients").unwrap_err();
    assert_eq!(error.code(), "HUSH-P021");
}

#[test]
fn leakage_names_what_is_sent_and_what_is_not() {
    let leakage = plan(MAIN).leakage;
    let has = |list: &[String], text: &str| list.iter().any(|line| line.contains(text));
    assert!(
        has(&leakage.table, "ward, year, disc, weight, rate, admitted, Odd Name of every row"),
        "{:?}",
        leakage.table
    );
    assert!(has(&leakage.table, "(6000)"));
    assert!(has(&leakage.query, "the filter \"year = 2023\""));
    assert!(has(&leakage.query, "which rows match"));
    assert!(has(&leakage.query, "grouped by ward, and the size of each group"));
    assert!(has(&leakage.query, "which encrypted quantities are added up in each group (#"));
    assert!(has(&leakage.hidden, "age, charges") && has(&leakage.hidden, "missing"));
    let shown = [leakage.table.join(" "), leakage.query.join(" ")].concat();
    assert!(!shown.contains("charges") && !shown.contains(" age"));
    let weighted = plan("SELECT SUM(age * weight) FROM patients").leakage;
    assert!(has(&weighted.query, "weighted by") && has(&weighted.query, "every row is used"));
}

#[test]
fn extremes_of_64_bits_are_planned_exactly() {
    for rows in [1u64, 1_000_000_000] {
        let table = schema("t", vec![column("x", ColumnType::Int { bits: 64 }, crate::Protection::Encrypt)]);
        let text = "SELECT SUM(x), VARIANCE(x) FROM t";
        let query = parse(&table, text).unwrap();
        let needs = crate::needs::needs_of(&table, std::slice::from_ref(&query)).unwrap();
        let encodings = crate::tables::encodings(&table, &needs, rows);
        let plan = plan_with(&table, &encodings, rows, text).unwrap();
        assert!(plan.cost.margin_bits >= 0.0);
        let OwnerAggregate::Moments { output, .. } = plan.owner.aggregates[0] else { panic!() };
        assert!(matches!(output, OutputType::Decimal { scale: 0, .. }));
        assert_eq!(
            encodings.iter().find(|e| e.quantity == Quantity::Value("x".into())).unwrap().max_abs,
            (1u64 << 63).to_string()
        );
    }
}
