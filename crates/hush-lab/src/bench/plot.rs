// SPDX-License-Identifier: Apache-2.0
//! Seconds of a multiplication against the security parameter, as SVG.

use std::path::Path;

use plotters::prelude::*;

use super::contender::SETS;
use super::report::{COMPARISONS, Crossover, Line};
use super::{Contender, Question, Row, crossover};

/// A line of the plot: its name, its colour, how strong it is, and where its seconds come from.
type Series = (&'static str, RGBColor, f64, Line);

const AGCD: RGBColor = RGBColor(178, 60, 70);
const LWE: RGBColor = RGBColor(46, 98, 150);
const MODERN: RGBColor = RGBColor(92, 150, 92);

/// Two lines for each of [`COMPARISONS`].
const SERIES: [Series; 6] = [
    ("approximate GCD, 2013", AGCD, 0.3, COMPARISONS[0].agcd),
    ("LWE, 2013", LWE, 0.3, COMPARISONS[0].lwe),
    ("approximate GCD, ours, one Recrypt", AGCD, 1.0, COMPARISONS[1].agcd),
    ("LWE, ours, reduced after the product", LWE, 1.0, COMPARISONS[1].lwe),
    ("approximate GCD, ours, three", AGCD, 0.6, COMPARISONS[2].agcd),
    ("LWE, ours, reduced at the end", LWE, 0.6, COMPARISONS[2].lwe),
];

/// Writes the plot; lines that were not measured are left out.
///
/// # Errors
/// A message if the file cannot be written.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), String> {
    draw(path, rows).map_err(|error| error.to_string())
}

fn draw(path: &Path, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (840, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let lines = SERIES.map(|(_, _, _, line)| points(rows, line));
    let modern = Line::Ours(Contender::Bgv, Question::Multiply).seconds(rows, 128);
    let times = || lines.iter().flatten().map(|point| point.1).chain(modern);
    let least = times().fold(1.0, f64::min) / 2.0;
    let most = times().fold(1.0, f64::max) * 20.0;
    let mut chart = ChartBuilder::on(&root)
        .caption("Multiply: encrypt, AND, decrypt (insecure schemes; one thread)", ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(40.0..74.0, (least..most).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("security parameter that the set claims")
        .y_desc("seconds")
        .x_labels(8)
        .y_label_formatter(&|seconds| format!("{seconds}"))
        .draw()?;
    for ((name, colour, strength, _), points) in SERIES.into_iter().zip(lines) {
        let style = colour.mix(strength).stroke_width(if strength < 1.0 { 2 } else { 3 });
        if !points.is_empty() {
            chart
                .draw_series(LineSeries::new(points.clone(), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(points.into_iter().map(|point| Circle::new(point, 4, style.filled())))?;
        }
    }
    let labels = ["2013", "ours, as in 2013", "ours, public key"];
    for ((comparison, label), lift) in COMPARISONS.iter().zip(labels).zip([1.4, 3.0, 6.5]) {
        let (at, text) = match crossover(rows, comparison) {
            Some(Crossover::At(at)) => {
                chart.draw_series([PathElement::new([(at, least), (at, most)], BLACK.mix(0.4))])?;
                (at, format!("crossover, {label}: {at:.0}"))
            }
            Some(Crossover::Before(at)) => (40.0, format!("crossover, {label}: {at:.0} or less")),
            Some(Crossover::After(_)) | None => continue,
        };
        // Text that begins near the right edge would leave the picture.
        let left = if at > 60.0 { at - 9.5 } else { at + 0.2 };
        chart.draw_series([Text::new(text, (left, least * lift), ("sans-serif", 13))])?;
    }
    if let Some(seconds) = modern {
        let style = MODERN.stroke_width(2);
        chart
            .draw_series(LineSeries::new([(40.0, seconds), (74.0, seconds)], style))?
            .label("BGV at 128 bits, all slots")
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

fn points(rows: &[Row], line: Line) -> Vec<(f64, f64)> {
    SETS.into_iter().filter_map(|at| Some((f64::from(at), line.seconds(rows, at)?))).collect()
}
