// SPDX-License-Identifier: Apache-2.0
//! Plans and answers in files, which `tests/corpus/README.md` describes.

use std::sync::Arc;

use hush_exec::answer::{Answer, EncryptedHalf, PartialAnswer};
use hush_exec::{Engine, PartSet, Stop};
use hush_plan::EncodingId;
use hush_plan::plan::{
    AggregateTask, Factor, Mask, Predicate, ProductSum, ProductsTask, RowsTask, SlotExpr, Task,
};
use hush_table::Digest;
use hush_testkit::{Corpus, CorpusFile};

use crate::cubes;
use crate::fixture::{Fixture, Random, VALID, VALUE, X, Y};
use crate::mutations::resealed;
use crate::reference::{everything, task};
use crate::runs;

/// Stands for the manifest's digest, which differs with each table.
const ANY_MANIFEST: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// Most bytes of an answer.
const MAX_ANSWER: u64 = 1 << 20;

#[test]
fn what_earlier_versions_sent_is_read_and_what_was_dangerous_is_refused() {
    let fixture = Fixture::random(&mut Random::announced("corpus"), &[40]);
    let engine = fixture.engine(1);
    let mut made = plans(&fixture);
    made.extend(answers(&fixture, &engine));
    made.extend(partial_answers(&fixture, &engine));
    made.extend(cells());
    made.extend(pieces());
    made.extend(products(&fixture, &engine));
    Corpus::of(env!("CARGO_MANIFEST_DIR")).check(&made, |file| match file.reader() {
        "plan" => plan(&fixture, &engine, &file.bytes),
        "answer" => answer(&file.bytes),
        "partial" => partial(&file.bytes),
        _ => panic!("{}: no reader", file.path()),
    });
}

/// Runs a plan; the answer is to that plan.
fn plan(fixture: &Fixture, engine: &Engine, bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes).replace(ANY_MANIFEST, &fixture.signed.digest().to_string());
    let found = engine.run(text.as_bytes()).map_err(|error| error.code().to_owned())?;
    let found = Answer::decode(&found, MAX_ANSWER).map_err(|error| error.code().to_owned())?;
    assert_eq!(found.expect(fixture.signed.digest(), Digest::of(text.as_bytes())), Ok(()));
    assert!(found.clear(1 << 20).is_ok());
    Ok(())
}

fn answer(bytes: &[u8]) -> Result<(), String> {
    let answer = Answer::decode(bytes, MAX_ANSWER).map_err(|error| error.code().to_owned())?;
    walk(&answer, bytes)
}

fn partial(bytes: &[u8]) -> Result<(), String> {
    let partial = PartialAnswer::decode(bytes, MAX_ANSWER).map_err(|error| error.code().to_owned())?;
    assert_eq!(PartSet::from_ranges(partial.parts.ranges().to_vec()), Some(partial.parts.clone()));
    walk(&partial.answer, bytes)
}

/// Looks at everything that an answer has.
fn walk(answer: &Answer<'_>, bytes: &[u8]) -> Result<(), String> {
    let objects: usize = match &answer.encrypted {
        EncryptedHalf::Aggregate(sums) => {
            let object =
                |block: &hush_exec::answer::BlockAnswers<'_>, group| block.object(group).unwrap().len();
            let groups = |block| (0..sums.group_count).map(|group| object(block, group)).sum::<usize>();
            sums.blocks.iter().map(groups).sum()
        }
        EncryptedHalf::Products(products) => {
            products.runs.iter().flat_map(|run| &run.objects).map(|object| object.len()).sum()
        }
        EncryptedHalf::Rows(chunks) => {
            chunks.iter().flat_map(|chunk| chunk.programs.iter().chain(&chunk.fetched)).map(|o| o.len()).sum()
        }
    };
    assert!(objects < bytes.len());
    answer.clear(1 << 20).map(drop).map_err(|error| error.code().to_owned())
}

fn rows(clear: &[&str], programs: Vec<SlotExpr>, fetch: Vec<EncodingId>) -> Task {
    Task::Rows(RowsTask {
        clear: clear.iter().map(|&text| text.to_owned()).collect(),
        operands: Vec::new(),
        programs,
        fetch,
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: Some(10),
    })
}

fn plans(fixture: &Fixture) -> Vec<CorpusFile> {
    let with = |predicate: Option<Predicate>, task: Task| {
        let mut plan = fixture.server_plan(None, task);
        (plan.manifest, plan.max_answer_bytes) = (ANY_MANIFEST.to_owned(), MAX_ANSWER);
        plan.predicate = predicate;
        serde_json::to_string_pretty(&plan).unwrap() + "\n"
    };
    let text = |predicate: Option<&str>, task: Task| with(predicate.map(Predicate::clear), task);
    let [recent, nowhere] = ["\"year\" >= 2021", "\"ward\" IS NULL"].map(Predicate::clear);
    let list = Predicate::And(vec![recent.clone(), nowhere.clone()]);
    let deep = (0..50).fold(recent.clone(), |inner, level| {
        let members = vec![inner, nowhere.clone()];
        if level % 2 == 0 { Predicate::And(members) } else { Predicate::Or(members) }
    });
    let alone = |predicate| with(Some(predicate), Task::Aggregate(task(&[], Vec::new(), &[])));
    let count = |predicate: &str| text(Some(predicate), Task::Aggregate(task(&[], Vec::new(), &[])));
    let product = SlotExpr::Mul(Box::new(SlotExpr::Column(X)), Box::new(SlotExpr::Column(Y)));
    let late =
        Mask { condition: Some(Predicate::clear("\"year\" > 2020")), weight: Some("\"weight\"".to_owned()) };
    let sums = Task::Aggregate(task(&["\"ward\""], vec![everything(), late], &[(0, VALUE), (1, VALID)]));
    let program = (0..70).fold(SlotExpr::Column(X), |inner, _| SlotExpr::Neg(Box::new(inner)));
    let read = |name: &str, text: String| CorpusFile::read(name, "json", text);
    let refused = |name: &str, code: &str, text: String| CorpusFile::refused(name, code, "json", text);
    let nested = |open: &str, count: usize, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    let factor = (0..80)
        .fold(Factor::Column(0), |inner, _| Factor::Add(Box::new(inner), Box::new(Factor::Constant(1))));
    let sum = ProductSum { factor: 0, measure: None, bits: vec![40; 2] };
    let products = |columns: &[EncodingId], factor: Factor| {
        let (columns, sums) = (columns.to_vec(), vec![sum.clone()]);
        text(
            None,
            Task::Products(ProductsTask {
                columns,
                factors: vec![factor],
                sums,
                elements: 9,
                ..ProductsTask::default()
            }),
        )
    };
    let chain = |next: &str| count(&format!("\"year\"{}", next.repeat(1200)));
    vec![
        read("plan-aggregate", with(Some(recent.clone().and(nowhere.clone().negated())), sums)),
        read("plan-rows", text(Some("\"year\" > 2019"), rows(&["\"ward\""], vec![product], vec![VALID]))),
        refused("plan-deep-program", "HUSH-E005", text(None, rows(&[], vec![program], Vec::new()))),
        refused("plan-long-is-null", "HUSH-E023", chain(" IS NULL")),
        refused("plan-long-sum", "HUSH-E023", chain(" + 1")),
        refused("plan-long-casts", "HUSH-E023", chain("::INT")),
        refused("plan-deep-casts", "HUSH-E023", count(&nested("CAST(", 40, "%", ")"))),
        refused("plan-deep-arrays", "HUSH-E023", count(&nested("ARRAY[", 40, "%", "]"))),
        refused("plan-deep-intervals", "HUSH-E023", count(&nested("INTERVAL ", 40, "%", ""))),
        refused("plan-deep-name", "HUSH-E023", count(&nested("a.", 40, ")", ""))),
        refused("plan-deep-quotients", "HUSH-E023", count(&nested("1/(", 40, "\"year\"", ")"))),
        refused("plan-deep-coalesce", "HUSH-E023", count(&nested("coalesce(", 13, "\"year\"", ",1)"))),
        refused(
            "plan-deep-between",
            "HUSH-E023",
            count(&nested("(", 40, "true", " BETWEEN false AND true)")),
        ),
        refused("plan-subquery", "HUSH-E021", count("\"year\" IN (SELECT 1)")),
        refused("plan-empty-list", "HUSH-E008", alone(Predicate::Or(Vec::new()))),
        refused("plan-list-in-its-kind", "HUSH-E008", alone(Predicate::And(vec![nowhere.clone(), list]))),
        refused("plan-member-twice", "HUSH-E008", alone(Predicate::Or(vec![recent.clone(), recent]))),
        refused("plan-deep-predicate", "HUSH-E005", alone(deep)),
        refused("plan-deep-factor", "HUSH-E002", products(&[X], factor)),
        refused("plan-products-of-two-primes", "HUSH-E012", products(&[X], Factor::Column(0))),
        refused("plan-factor-of-itself", "HUSH-E007", products(&[X], Factor::Earlier(0))),
        refused("plan-not-json", "HUSH-E002", "{".repeat(1000)),
    ]
}

/// Small answers that a server sent, and answers that one could send.
fn answers(fixture: &Fixture, engine: &Engine) -> Vec<CorpusFile> {
    let run = |task| engine.run(&fixture.plan(Some("\"year\" > 2019"), task)).unwrap();
    let clear = run(Task::Aggregate(task(&["\"year\""], Vec::new(), &[])));
    let sum = run(Task::Aggregate(task(&[], vec![everything()], &[(0, VALID)])));
    let fetched = run(rows(&["\"year\""], Vec::new(), vec![VALID]));
    let with = |at: usize, new: &[u8]| {
        let mut bytes = clear.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        resealed(&bytes, 32)
    };
    let flipped = |at: usize| {
        let mut bytes = clear.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases = [
        ("another-magic", "HUSH-E080", with(0, b"X")),
        ("newer-version", "HUSH-E081", with(8, &[3])),
        ("cut", "HUSH-E083", clear[..clear.len() / 2].to_vec()),
        ("longer-than-said", "HUSH-E083", [clear.as_slice(), &[0]].concat()),
        ("huge-clear-half", "HUSH-E083", with(32, &u64::MAX.to_le_bytes())),
        ("huge-directory", "HUSH-E083", with(40, &u64::MAX.to_le_bytes())),
        ("flipped-bit", "HUSH-E084", flipped(200)),
        ("unknown-kind", "HUSH-E085", with(10, &[5])),
        ("partial-kind", "HUSH-E089", with(10, &[3])),
        ("ranges", "HUSH-E085", with(112, &[1])),
        ("more-groups-than-rows", "HUSH-E086", with(12, &u32::MAX.to_le_bytes())),
        ("nothing", "HUSH-E080", Vec::new()),
        ("huge-numbers", "HUSH-E086", {
            let mut bytes = fetched.clone();
            let directory = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
            bytes[128 + directory..][..8].fill(0xff);
            resealed(&bytes, 32)
        }),
    ];
    let refused = |(name, code, bytes): (&str, &str, Vec<u8>)| {
        CorpusFile::refused(&format!("answer-{name}"), code, "bin", bytes)
    };
    let read = |name, bytes| CorpusFile::read(name, "bin", bytes);
    let good = [
        ("answer-clear", clear.clone()),
        ("answer-sum", sum),
        ("answer-fetched", fetched.clone()),
        ("answer-numbers", fetched.clone()),
    ];
    good.into_iter().map(|(name, bytes)| read(name, bytes)).chain(cases.into_iter().map(refused)).collect()
}

/// Answers with the cells of a cube.
fn cells() -> Vec<CorpusFile> {
    let fixture = cubes::small();
    let (engine, plan) = (fixture.engine(1), fixture.plan(None, Task::Rows(cubes::asked(Some(cubes::CUBE)))));
    let whole = engine.run(&plan).unwrap();
    let partial = engine.run_parts(&plan, &PartSet::from(1..2), &Arc::new(Stop::never())).unwrap();
    let with = |at: usize, new: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        resealed(&bytes, 32)
    };
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let start = 128 + number(32) + number(40);
    let refused =
        |name: &str, code: &str, bytes| CorpusFile::refused(&format!("answer-{name}"), code, "bin", bytes);
    vec![
        CorpusFile::read("answer-cells", "bin", whole.clone()),
        CorpusFile::read("partial-cells", "bin", partial),
        refused("huge-cells", "HUSH-E083", with(116, &u64::MAX.to_le_bytes())),
        refused("many-cells", "HUSH-E091", with(start, &u32::MAX.to_le_bytes())),
        refused("no-lanes", "HUSH-E091", with(start + 4, &[0])),
        refused("lane-without-bits", "HUSH-E091", with(start + 5, &[0])),
        refused("cells-of-earlier-version", "HUSH-E085", with(8, &[1])),
        refused("reserved-behind-cells", "HUSH-E085", with(124, &[1])),
    ]
}

/// Answers with pieces of a sorted run.
fn pieces() -> Vec<CorpusFile> {
    let fixture = runs::small();
    let task = Task::Rows(runs::asked(Some(runs::blocks(&[&[1, 3]]))));
    let (engine, plan) = (fixture.engine(1), fixture.plan(None, task));
    let whole = engine.run(&plan).unwrap();
    let partial = engine.run_parts(&plan, &PartSet::from(1..2), &Arc::new(Stop::never())).unwrap();
    let with = |at: usize, new: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        resealed(&bytes, 32)
    };
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let start = 128 + number(32) + number(40);
    let other = |pieces: &[(u32, &[u8])]| runs::with_pieces(&whole, &runs::section(pieces));
    let refused =
        |name: &str, code: &str, bytes| CorpusFile::refused(&format!("answer-{name}"), code, "bin", bytes);
    vec![
        CorpusFile::read("answer-pieces", "bin", whole.clone()),
        CorpusFile::read("partial-pieces", "bin", partial),
        refused("unknown-section", "HUSH-E085", with(127, &[2])),
        refused("many-pieces", "HUSH-E092", with(start, &u32::MAX.to_le_bytes())),
        refused("huge-piece", "HUSH-E092", with(start + 8, &u64::MAX.to_le_bytes())),
        refused("no-pieces", "HUSH-E092", other(&[])),
        refused("piece-twice", "HUSH-E092", other(&[(1, &[7]), (1, &[7])])),
        refused("pieces-of-earlier-version", "HUSH-E085", with(8, &[1])),
    ]
}

/// The clear half of an answer in groups, and how many there are.
fn groups(fixture: &Fixture, engine: &Engine) -> (Vec<u8>, u32) {
    let task = task(&["\"ward\""], vec![everything()], &[(0, VALUE)]);
    let bytes = engine.run(&fixture.plan(None, Task::Aggregate(task))).unwrap();
    let length = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let start = 128 + length(40);
    let count = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
    (bytes[start..start + length(32)].to_vec(), count)
}

/// Answers on products of two runs and two sums, also of groups. What their objects hold is read elsewhere.
fn products(fixture: &Fixture, engine: &Engine) -> Vec<CorpusFile> {
    let in_groups = |kind: u8, ranges: &[[u32; 2]], runs: [u32; 2], clear: &[u8], groups: u32| {
        let each = if clear.is_empty() { 1 } else { groups as usize };
        let of_run = |run: u32| std::iter::once(run).chain([5, 6].repeat(each));
        let directory: Vec<u8> = ranges
            .iter()
            .flatten()
            .copied()
            .chain(runs.into_iter().flat_map(of_run))
            .flat_map(u32::to_le_bytes)
            .collect();
        let objects = vec![7; 22 * each];
        let total = 128 + directory.len() + clear.len() + objects.len() + 32;
        let lengths = [total, clear.len(), directory.len()].map(|length| (length as u64).to_le_bytes());
        let counts = [2, 2, groups].map(u32::to_le_bytes);
        let ranges = (ranges.len() as u32).to_le_bytes();
        let head = [b"HUSHANS1".as_slice(), &[2, 0, kind, 0], &counts.concat(), &lengths.concat()].concat();
        let head = [head.as_slice(), &[1; 32], &[2; 32], &ranges, &[0; 12]].concat();
        resealed(&[head.as_slice(), &directory, clear, &objects, &[0; 32]].concat(), 32)
    };
    let made = |kind, ranges: &[[u32; 2]], runs| in_groups(kind, ranges, runs, &[], 0);
    let (clear, count) = groups(fixture, engine);
    let with = |at: usize, new: &[u8]| {
        let mut bytes = made(5, &[], [0, 1]);
        bytes[at..at + new.len()].copy_from_slice(new);
        resealed(&bytes, 32)
    };
    let refused =
        |name: &str, code: &str, bytes| CorpusFile::refused(&format!("answer-{name}"), code, "bin", bytes);
    vec![
        CorpusFile::read("answer-products", "bin", made(5, &[], [0, 1])),
        CorpusFile::read("partial-products", "bin", made(6, &[[1, 3]], [2, 4])),
        CorpusFile::read("answer-products-in-groups", "bin", in_groups(5, &[], [0, 1], &clear, count)),
        CorpusFile::read("partial-products-in-groups", "bin", in_groups(6, &[[1, 3]], [2, 4], &clear, count)),
        refused("products-in-groups-of-nothing", "HUSH-E085", with(20, &[1])),
        refused("products-in-other-groups", "HUSH-E086", in_groups(5, &[], [0, 1], &clear, count + 1)),
        refused("products-with-other-clear-half", "HUSH-E086", in_groups(5, &[], [0, 1], &[0], 1)),
        refused("products-backwards", "HUSH-E085", made(5, &[], [1, 0])),
        refused("products-of-earlier-version", "HUSH-E085", with(8, &[1])),
        refused("products-of-many-runs", "HUSH-E083", with(12, &u32::MAX.to_le_bytes())),
        refused("products-of-many-sums", "HUSH-E083", with(16, &u32::MAX.to_le_bytes())),
        refused("products-of-huge-object", "HUSH-E083", with(132, &u32::MAX.to_le_bytes())),
        refused("newer-kind", "HUSH-E085", with(10, &[7])),
    ]
}

/// Small partial answers of a worker, and some that a worker does not make.
fn partial_answers(fixture: &Fixture, engine: &Engine) -> Vec<CorpusFile> {
    let run = |task, parts: PartSet| {
        let plan = fixture.plan(Some("\"year\" > 2019"), task);
        engine.run_parts(&plan, &parts, &Arc::new(Stop::never())).unwrap()
    };
    let all = || PartSet::from(0..1);
    let by_year = task(&["\"year\""], Vec::new(), &[]);
    let by_year =
        AggregateTask { clear: vec!["COUNT(*)".to_owned(), "MIN(\"weight\") + 1".to_owned()], ..by_year };
    let clear = run(Task::Aggregate(by_year), all());
    let sum = run(Task::Aggregate(task(&[], vec![everything()], &[(0, VALID)])), all());
    let nothing =
        run(Task::Aggregate(task(&["\"year\""], vec![everything()], &[(0, VALID)])), PartSet::default());
    let fetched = run(rows(&["\"year\""], Vec::new(), vec![VALID]), all());
    let with = |at: usize, new: &[u8]| {
        let mut bytes = clear.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        resealed(&bytes, 32)
    };
    let cases = [
        ("whole-kind", "HUSH-E085", with(10, &[1])),
        ("other-kind", "HUSH-E083", with(10, &[4])),
        ("no-parts", "HUSH-E090", with(128, &[0, 0, 0, 0, 0, 0, 0, 0])),
        ("backwards", "HUSH-E090", with(128, &[2, 0, 0, 0, 1, 0, 0, 0])),
        ("huge-ranges", "HUSH-E083", with(112, &u32::MAX.to_le_bytes())),
        ("no-ranges", "HUSH-E083", with(112, &[0])),
        ("reserved", "HUSH-E085", with(116, &[1])),
        ("cut", "HUSH-E083", clear[..clear.len() / 2].to_vec()),
    ];
    let refused = |(name, code, bytes): (&str, &str, Vec<u8>)| {
        CorpusFile::refused(&format!("partial-{name}"), code, "bin", bytes)
    };
    let read = |name, bytes| CorpusFile::read(name, "bin", bytes);
    let whole = CorpusFile::refused(
        "partial-whole",
        "HUSH-E089",
        "bin",
        engine.run(&fixture.plan(None, Task::Aggregate(task(&[], vec![], &[])))).unwrap(),
    );
    let good = [
        ("partial-clear", clear.clone()),
        ("partial-sum", sum),
        ("partial-fetched", fetched.clone()),
        ("partial-numbers", fetched),
        ("partial-nothing", nothing),
    ];
    good.into_iter()
        .map(|(name, bytes)| read(name, bytes))
        .chain(cases.into_iter().map(refused))
        .chain([whole])
        .collect()
}
