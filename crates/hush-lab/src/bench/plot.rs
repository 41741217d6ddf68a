// SPDX-License-Identifier: Apache-2.0
//! Seconds of a multiplication against the security parameter, as SVG.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Crossover, SETS, Seconds, ours, published};
use super::{Contender, Row, crossover};

/// A line of the plot: its name, whose it is, its colour, and where its seconds come from.
type Series = (&'static str, Contender, RGBColor, Seconds);

const AGCD: RGBColor = RGBColor(178, 60, 70);
const LWE: RGBColor = RGBColor(46, 98, 150);
const MODERN: RGBColor = RGBColor(92, 150, 92);

const SERIES: [Series; 4] = [
    ("approximate GCD, 2013", Contender::Agcd, AGCD, published),
    ("LWE, 2013", Contender::Lwe, LWE, published),
    ("approximate GCD, ours", Contender::Agcd, AGCD, ours),
    ("LWE, ours", Contender::Lwe, LWE, ours),
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
    let lines = SERIES.map(|(_, contender, _, of)| points(rows, contender, of));
    let modern = ours(rows, Contender::Bgv, 128);
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
    for ((name, contender, colour, of), points) in SERIES.into_iter().zip(lines) {
        let is_ours = name.ends_with("ours");
        let style = if is_ours { colour.stroke_width(3) } else { colour.mix(0.45).stroke_width(2) };
        if !points.is_empty() {
            chart
                .draw_series(LineSeries::new(points.clone(), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(points.into_iter().map(|point| Circle::new(point, 4, style.filled())))?;
        }
        if contender == Contender::Lwe {
            let height = if is_ours { least * 1.4 } else { most / 2.0 };
            let side = if is_ours { "ours" } else { "2013" };
            let (at, text) = match crossover(rows, of) {
                Some(Crossover::At(at)) => {
                    chart.draw_series([PathElement::new([(at, least), (at, most)], BLACK.mix(0.4))])?;
                    (at, format!("crossover, {side}: {at:.0}"))
                }
                Some(Crossover::Before(at)) => (40.0, format!("crossover, {side}: {at:.0} or less")),
                Some(Crossover::After(_)) | None => continue,
            };
            chart.draw_series([Text::new(text, (at + 0.2, height), ("sans-serif", 13))])?;
        }
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

fn points(rows: &[Row], contender: Contender, of: Seconds) -> Vec<(f64, f64)> {
    SETS.into_iter().filter_map(|at| Some((f64::from(at), of(rows, contender, at)?))).collect()
}
