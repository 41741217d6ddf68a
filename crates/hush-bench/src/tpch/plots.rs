// SPDX-License-Identifier: Apache-2.0
//! The questions by every way, and the sixth beside what others published, as SVG: bars on logarithmic axes.

use std::path::{Path, PathBuf};

use hush::WayName;
use plotters::prelude::*;

use super::{Case, Measured, PUBLISHED};
use crate::aligned::figure_text;
use crate::axis::{AXIS_HEIGHT, Axis};

const FILTER: RGBColor = RGBColor(46, 98, 150);
const PREPARED: RGBColor = RGBColor(92, 150, 92);
const FETCHED: RGBColor = RGBColor(190, 190, 190);
const OTHERS: RGBColor = RGBColor(178, 60, 70);

const WIDTH: u32 = 960;
const ROW: i32 = 30;
const TOP: i32 = 60;
const LEFT: i32 = 330;

/// A bar.
struct Bar {
    label: String,
    value: f64,
    colour: RGBColor,
}

/// Writes both figures; returns their paths.
///
/// # Errors
/// A message if the directory cannot be written or a figure not drawn.
pub fn write(directory: &Path, cases: &[Case], threads: usize) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let rows = cases.iter().map(|case| case.rows).max().unwrap_or(0);
    let figures = [
        (
            "tpch_ways.svg",
            format!("Server and owner, {rows} lines of TPC-H, every column encrypted, threads: {threads}"),
            "milliseconds",
            by_way(cases),
        ),
        (
            "tpch_q6.svg",
            "TPC-H Q6, every column encrypted: time for a row, times cores".to_owned(),
            "microseconds",
            sixth(cases, threads),
        ),
    ];
    let drawn = figures.into_iter().filter(|(.., bars)| !bars.is_empty()).map(|(name, title, unit, bars)| {
        let path = directory.join(name);
        draw(&path, &title, unit, &bars).map_err(|error| error.to_string())?;
        Ok(path)
    });
    drawn.collect()
}

/// Each question by each way that answers it.
fn by_way(cases: &[Case]) -> Vec<Bar> {
    let bar = |case: &Case, way: &Measured| {
        let (how, colour) = match way.way {
            WayName::Filter => ("by conditions without keys", FILTER),
            WayName::Cube => ("by a cube, sums made beforehand", PREPARED),
            _ => ("by columns that come back", FETCHED),
        };
        Bar { label: format!("{}, {how}", case.query), value: way.server_ms + way.owner_ms, colour }
    };
    cases.iter().flat_map(|case| case.ways.iter().map(move |way| bar(case, way))).collect()
}

/// The sixth question beside what others published.
fn sixth(cases: &[Case], threads: usize) -> Vec<Bar> {
    let of_case = |case: &Case| {
        let way = case.ways.iter().find(|way| way.way == WayName::Filter)?;
        let value = way.server_ms * 1e3 * threads as f64 / case.rows as f64;
        Some(Bar { label: format!("Hushtable, {} rows, measured", case.rows), value, colour: FILTER })
    };
    let Some(ours) = cases.iter().find(|case| case.query == "Q6").and_then(of_case) else {
        return Vec::new();
    };
    let others = PUBLISHED.iter().filter_map(|system| {
        let label = format!("{}, published", system.name);
        Some(Bar { label, value: system.core_us_a_row?, colour: OTHERS })
    });
    std::iter::once(ours).chain(others).collect()
}

fn draw(path: &Path, title: &str, unit: &str, bars: &[Bar]) -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f64> = bars.iter().map(|bar| bar.value).collect();
    let axis = Axis::of(&values, LEFT, WIDTH as i32 - 90);
    let bottom = TOP + ROW * bars.len() as i32;
    let root = SVGBackend::new(path, (WIDTH, bottom as u32 + AXIS_HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw(&Text::new(title.to_owned(), (24, 18), ("sans-serif", 20).into_font().color(&BLACK)))?;
    let small = ("sans-serif", 14).into_font().color(&BLACK);
    axis.draw(&root, (TOP - 8, bottom), unit)?;
    for (row, bar) in (0..).zip(bars) {
        let (top, end) = (TOP + ROW * row, axis.at(bar.value));
        root.draw(&Text::new(bar.label.clone(), (24, top + 3), small.clone()))?;
        root.draw(&Rectangle::new([(axis.left, top), (end, top + 20)], bar.colour.filled()))?;
        root.draw(&Text::new(figure_text(bar.value), (end + 8, top + 3), small.clone()))?;
    }
    root.present()?;
    Ok(())
}
