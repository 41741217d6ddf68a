// SPDX-License-Identifier: Apache-2.0
//! Graphs of planned queries, and where their drawing puts things.

use crate::graph::{Graph, GraphNode};
use crate::limits::{Limits, WayName};
use crate::physical::plan_query;
use crate::predict::Site;
use crate::sql::parse;
use crate::steps::Actor;
use crate::tables::{encodings_for, patients};

const QUERIES: [&str; 5] = [
    "SELECT ward, COUNT(*), AVG(age), STDDEV(charges), SUM(age * year) AS w FROM patients WHERE ward = 'secret ward' \
     GROUP BY ward HAVING COUNT(*) > 4711 ORDER BY ward LIMIT 3",
    "SELECT ward, age * visits AS p FROM patients WHERE year = 2023",
    "SELECT SUM(year) FROM patients",
    "SELECT ward, SUM(age + 4711) OVER (PARTITION BY ward ORDER BY year ROWS 2021 PRECEDING) AS s, \
     RANK() OVER (ORDER BY visits) AS r FROM patients",
    "SELECT SUM(age) FILTER (WHERE year > 2021), SUM(age * 4711), SUM(charges) FROM patients",
];

fn graph(text: &str) -> Graph {
    let schema = patients();
    let encodings = encodings_for(&schema, &[text]);
    let query = parse(&schema, text).unwrap();
    // Results of rows by the server, and not columns that come back.
    let way = (!query.is_grouped()).then_some(WayName::Rows);
    let limits = Limits { way, ..Limits::default() };
    plan_query(&schema, &encodings, &Site::local(6000), "00ff", &query, &limits).unwrap().graph
}

/// `(x, y, width, height)` of every element `name`.
fn boxes(svg: &str, name: &str) -> Vec<[f64; 4]> {
    let number = |line: &str, key: &str| -> Option<f64> {
        let at = line.find(&format!(" {key}=\""))? + key.len() + 3;
        line[at..].split('"').next()?.parse().ok()
    };
    let lines = svg.lines().filter(|line| line.starts_with(&format!("<{name} ")));
    let keys = ["x", "y", "width", "height"];
    lines.map(|line| keys.map(|key| number(line, key).unwrap_or(f64::NAN))).collect()
}

#[test]
fn boxes_do_not_overlap_and_hold_their_text() {
    for text in QUERIES {
        let svg = graph(text).to_svg();
        let boxes = boxes(&svg, "rect");
        let boxes: Vec<_> = boxes.into_iter().filter(|shape| !shape[0].is_nan()).collect();
        for (index, a) in boxes.iter().enumerate() {
            for b in &boxes[index + 1..] {
                let apart =
                    a[0] + a[2] <= b[0] || b[0] + b[2] <= a[0] || a[1] + a[3] <= b[1] || b[1] + b[3] <= a[1];
                assert!(apart, "{a:?} {b:?} in {text}");
            }
        }
        // 12 pixels of a monospaced font take 7.23 pixels a column in the widest common one.
        for line in svg.lines().filter(|line| line.contains("text-anchor")) {
            let at = |key: &str| -> f64 {
                line.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
            };
            let words = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            let half = words.chars().count() as f64 * 7.23 / 2.0;
            let inside = boxes.iter().any(|shape| {
                at("x") - half >= shape[0]
                    && at("x") + half <= shape[0] + shape[2]
                    && at("y") - 10.0 >= shape[1]
                    && at("y") + 3.0 <= shape[1] + shape[3]
            });
            assert!(inside, "{words:?} leaves its box in {text}");
        }
    }
}

#[test]
fn lines_pass_no_box() {
    for text in QUERIES {
        let svg = graph(text).to_svg();
        let boxes: Vec<_> = boxes(&svg, "rect").into_iter().filter(|shape| !shape[0].is_nan()).collect();
        for line in svg.lines().filter(|line| line.starts_with("<polyline")) {
            let points: Vec<(f64, f64)> = line
                .split('"')
                .nth(1)
                .unwrap()
                .split(' ')
                .map(|point| {
                    let (x, y) = point.split_once(',').unwrap();
                    (x.parse().unwrap(), y.parse().unwrap())
                })
                .collect();
            for pair in points.windows(2) {
                for step in 1..100 {
                    let t = f64::from(step) / 100.0;
                    let x = pair[0].0 + t * (pair[1].0 - pair[0].0);
                    let y = pair[0].1 + t * (pair[1].1 - pair[0].1);
                    let hit =
                        boxes.iter().find(|b| x > b[0] && x < b[0] + b[2] && y > b[1] && y < b[1] + b[3]);
                    assert!(hit.is_none(), "{line} crosses {hit:?} in {text}");
                }
            }
        }
    }
}

#[test]
fn no_constant_of_the_query_is_drawn() {
    for text in QUERIES {
        let graph = graph(text);
        for drawn in [graph.to_svg(), graph.to_dot(), serde_json::to_string(&graph).unwrap()] {
            assert!(
                !drawn.contains("secret ward") && !drawn.contains("2021") && !drawn.contains("4711"),
                "{drawn}"
            );
        }
        assert!(!serde_json::to_string(&graph).unwrap().contains("2023"));
    }
}

#[test]
fn windows_are_labelled_with_their_columns() {
    let graph = graph(QUERIES[3]);
    let windows = graph.nodes.iter().find(|node| node.title == "window functions").unwrap();
    let expected = ["RANK in order of visits", "SUM of age by ward in order of year over a moving frame"];
    assert_eq!(windows.lines, expected);
    assert!(graph.to_svg().contains("RANK in order of visits"));
}

#[test]
fn every_operator_leads_to_the_result() {
    for text in QUERIES {
        let graph = graph(text);
        let last = graph.nodes.len() - 1;
        for index in 0..last {
            assert!(graph.edges.iter().any(|(from, _)| *from == index), "{index} of {graph:?}");
        }
        assert!(graph.edges.iter().all(|(from, to)| from < to));
        assert_eq!(graph.to_dot().matches(" -> ").count(), graph.edges.len());
    }
}

#[test]
fn names_are_escaped() {
    let title = "a\"b\\<c>&\u{202e}\n\u{1b}".to_owned();
    let graph = Graph {
        nodes: vec![GraphNode { actor: Actor::Owner, title, lines: vec!["x".repeat(200)] }],
        edges: Vec::new(),
    };
    let (svg, dot) = (graph.to_svg(), graph.to_dot());
    assert!(svg.contains("a&quot;b\\&lt;c&gt;&amp;\\u{202e}\\n\\u{1b}"), "{svg}");
    assert!(dot.contains("a\\\"b\\\\<c>&\\\\u{202e}\\\\n\\\\u{1b}"), "{dot}");
    assert!(svg.lines().all(|line| line.chars().count() < 200));
}
