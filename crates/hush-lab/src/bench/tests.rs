// SPDX-License-Identifier: Apache-2.0
//! Cases, rows, crossovers.

use super::*;

fn row(contender: Contender, question: Question, security: u32, seconds: f64) -> Row {
    Row {
        contender,
        security,
        question,
        seconds,
        encryption_s: 0.0,
        keys_s: 1.0,
        runs: 3,
        failures: 0,
        unpromised: 0,
        key_bytes: 10,
        expanded_bytes: 100,
        ciphertext_bytes: 1,
        peak_mb: 4.0,
        estimated_security: 42.0,
        slots: 1,
        published_s: question.published_s(contender, security),
    }
}

fn rows(agcd: [f64; 4], lwe: [f64; 4]) -> Vec<Row> {
    let of = |contender, question, seconds: [f64; 4]| {
        [42, 52, 62, 72]
            .into_iter()
            .zip(seconds)
            .map(move |(security, s)| row(contender, question, security, s))
    };
    let tenth = agcd.map(|seconds| seconds / 10.0);
    let agcd = of(Contender::Agcd, Question::Multiply, agcd).chain(of(
        Contender::Agcd,
        Question::OwnerMultiply,
        tenth,
    ));
    let lwe =
        of(Contender::Lwe, Question::Multiply, lwe).chain(of(Contender::LweLeveled, Question::Multiply, lwe));
    agcd.chain(lwe).collect()
}

fn options(up_to: u32) -> Options {
    Options { repeat: 1, up_to, questions: vec![], contenders: vec![], seed: "test".to_owned() }
}

#[test]
fn crossovers_lie_where_lines_meet() {
    let rows = rows([0.01, 0.1, 10.0, 100.0], [1.0; 4]);
    let [published, as_published, public] = &COMPARISONS;
    assert_eq!(crossover(&rows, public), Some(Crossover::At(57.0)));
    // From 1 s to 10 s instead of 10 s to 100 s.
    assert_eq!(crossover(&rows, as_published), Some(Crossover::At(62.0)));
    let at = crossover(&rows, published);
    assert!(matches!(at, Some(Crossover::At(at)) if (62.0..72.0).contains(&at)), "{at:?}");
    let ahead = self::rows([2.0; 4], [1.0; 4]);
    assert_eq!(crossover(&ahead, public), Some(Crossover::Before(42.0)));
    let behind = self::rows([0.5; 4], [1.0; 4]);
    assert_eq!(crossover(&behind, public), Some(Crossover::After(72.0)));
    assert_eq!(crossover(&[], public), None);
}

#[test]
fn reports_and_plots_show_published_figures_and_crossovers() {
    let rows = rows([0.01, 0.1, 10.0, 100.0], [1.0; 4]);
    let text = text(&rows);
    for expected in [
        "Figure 1",
        "1860",
        "18.6x",
        "2013: LWE is ahead from 6",
        "against lwe-leveled): LWE is ahead from 62",
        "against lwe): LWE is ahead from 57",
        "over its limit: 0",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let path = std::env::temp_dir().join(format!("hush-lab-plot-{}.svg", std::process::id()));
    write_plot(&path, &rows).unwrap();
    let plot = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(plot.contains("crossover, ours, public key: 57") && plot.contains("LWE, 2013"), "{plot}");
}

#[test]
fn cases_are_chosen_estimated_and_read_back() {
    assert_eq!(Case::all(&options(41)).len(), 2);
    let cases = Case::all(&options(72));
    assert_eq!(cases.len(), 4 * 5 + 2);
    for case in &cases {
        assert_eq!(Case::parse(&case.to_string()).as_ref(), Some(case));
        assert!(case.estimate_s(1) > 0.0, "{case}");
    }
    let large = Case::parse("agcd:72:0").unwrap().estimate_s(1);
    assert!(large > 300.0, "{large}");
    let adds = Options { questions: vec![Question::Add], ..options(72) };
    assert!(Case::all(&adds).iter().all(|case| case.depth < 2));
    let agcd = Options { contenders: vec![Contender::Agcd], ..options(72) };
    assert_eq!(Case::all(&agcd).len(), 4);
    for text in ["", "agcd", "agcd:42", "dghv:42:1", "agcd:42:0:1", "agcd:x:0"] {
        assert_eq!(Case::parse(text), None, "{text}");
    }
}

#[test]
fn a_case_is_measured_row_by_row() {
    let case = Case::parse("agcd:42:0").unwrap().only(&[Question::Add, Question::OwnerMultiply]);
    let mut rows = Vec::new();
    measure(&case, 2, "test", &mut |_| {}, &mut |row| rows.push(row.clone())).unwrap();
    let asked: Vec<Question> = rows.iter().map(|row| row.question).collect();
    assert_eq!(asked, [Question::Add, Question::OwnerMultiply]);
    for row in rows {
        assert!(row.runs == 2 && row.failures == 0 && row.seconds > row.encryption_s, "{row:?}");
        let line = serde_json::to_string(&row).unwrap();
        let read: Row = serde_json::from_str(&line).unwrap();
        assert_eq!((read.question, read.runs, read.key_bytes), (row.question, row.runs, row.key_bytes));
        assert!((read.seconds / row.seconds - 1.0).abs() < 1e-9);
    }
    let missing = Case { security: 43, ..case };
    assert!(matches!(measure(&missing, 1, "", &mut |_| {}, &mut |_| {}), Err(LabError::Set { .. })));
}
