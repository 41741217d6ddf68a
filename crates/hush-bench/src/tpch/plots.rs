// SPDX-License-Identifier: Apache-2.0
//! The questions by every way, and the sixth beside what others published, as SVG: bars on logarithmic axes.

use std::path::{Path, PathBuf};

use hush::WayName;
use plotters::prelude::*;

use super::{Case, Measured, PUBLISHED};
use crate::bars::{Bar, Chart};

const FILTER: RGBColor = RGBColor(46, 98, 150);
const PREPARED: RGBColor = RGBColor(92, 150, 92);
const FETCHED: RGBColor = RGBColor(190, 190, 190);
const OTHERS: RGBColor = RGBColor(178, 60, 70);

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
        let chart = Chart { title: &title, unit, legend: &[] };
        chart.draw(&path, &bars).map_err(|error| error.to_string())?;
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
        bar_of(format!("{}, {how}", case.query), way.server_ms + way.owner_ms, colour)
    };
    cases.iter().flat_map(|case| case.ways.iter().map(move |way| bar(case, way))).collect()
}

/// The sixth question beside what others published.
fn sixth(cases: &[Case], threads: usize) -> Vec<Bar> {
    let of_case = |case: &Case| {
        let way = case.ways.iter().find(|way| way.way == WayName::Filter)?;
        let value = way.server_ms * 1e3 * threads as f64 / case.rows as f64;
        Some(bar_of(format!("Hushtable, {} rows, measured", case.rows), value, FILTER))
    };
    let Some(ours) = cases.iter().find(|case| case.query == "Q6").and_then(of_case) else {
        return Vec::new();
    };
    let others = PUBLISHED.iter().filter_map(|system| {
        Some(bar_of(format!("{}, published", system.name), system.core_us_a_row?, OTHERS))
    });
    std::iter::once(ours).chain(others).collect()
}

fn bar_of(label: String, value: f64, colour: RGBColor) -> Bar {
    Bar { label, parts: vec![(value, colour)] }
}
