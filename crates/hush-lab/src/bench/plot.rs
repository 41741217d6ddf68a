// SPDX-License-Identifier: Apache-2.0
//! Seconds of a multiplication against the security parameter, as SVG.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Crossover, ours, published};
use super::{Contender, Question, Row, crossover};

/// A line of the plot: its name, colour, and what is read of a row.
type Series = (&'static str, Contender, RGBColor, fn(&Row) -> Option<f64>);

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
    let times = rows.iter().filter(|row| row.question == Question::Multiply);
    let times: Vec<f64> = times.flat_map(|row| [Some(row.seconds), row.published_s]).flatten().collect();
    let least = times.iter().copied().fold(1.0, f64::min) / 2.0;
    let most = times.iter().copied().fold(1.0, f64::max) * 3.0;
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
    for (name, contender, colour, of) in SERIES {
        let points = points(rows, contender, of);
        let is_ours = name.ends_with("ours");
        let style = if is_ours { colour.stroke_width(3) } else { colour.mix(0.45).stroke_width(2) };
        if !points.is_empty() {
            chart
                .draw_series(LineSeries::new(points.clone(), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(points.into_iter().map(|point| Circle::new(point, 4, style.filled())))?;
        }
        if contender == Contender::Lwe
            && let Some(Crossover::At(at)) = crossover(rows, of)
        {
            let line = PathElement::new([(at, least), (at, most)], BLACK.mix(0.4));
            chart.draw_series([line])?;
            let side = if is_ours { "ours" } else { "2013" };
            let text = format!("crossover, {side}: {at:.0}");
            let height = if is_ours { least * 1.3 } else { most / 1.5 };
            chart.draw_series([Text::new(text, (at + 0.2, height), ("sans-serif", 13))])?;
        }
    }
    let modern = rows
        .iter()
        .find(|row| (row.contender, row.question) == (Contender::Bgv, Question::Multiply))
        .map(|row| row.seconds);
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

fn points(rows: &[Row], contender: Contender, of: fn(&Row) -> Option<f64>) -> Vec<(f64, f64)> {
    rows.iter()
        .filter(|row| (row.contender, row.question) == (contender, Question::Multiply))
        .filter_map(|row| Some((f64::from(row.security), of(row)?)))
        .collect()
}
