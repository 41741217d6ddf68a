// SPDX-License-Identifier: Apache-2.0
//! The study's five figures as SVG: time against the number of integers for each ring, time against the ring, CPU load over
//! time, memory, and ours beside SEAL.

use std::path::{Path, PathBuf};

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::cell::{Key, Packing};
use super::row::Row;
use super::{COUNTS, DEGREES};

/// A line of a figure.
struct Series {
    name: String,
    colour: RGBColor,
    /// The peer's are thinner.
    is_ours: bool,
    points: Vec<(f64, f64)>,
}

/// Axes and title of a figure.
struct Frame {
    file: String,
    title: String,
    x: &'static str,
    y: &'static str,
    scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    /// Both axes logarithmic, counts across.
    Counts,
    /// Both axes logarithmic, powers of two across.
    Degrees,
    /// Both from zero on.
    Linear,
}

/// Writes the figures for which there are cells into `directory` and returns their paths.
///
/// # Errors
/// A message if the directory cannot be written or a figure not drawn.
pub fn write(directory: &Path, rows: &[Row]) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let mut paths = Vec::new();
    for (frame, series) in figures(rows) {
        let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
        if series.is_empty() {
            continue;
        }
        let path = directory.join(format!("edge_grid_{}.svg", frame.file));
        draw(&path, &frame, &series).map_err(|error| error.to_string())?;
        paths.push(path);
    }
    Ok(paths)
}

fn figures(rows: &[Row]) -> Vec<(Frame, Vec<Series>)> {
    let mut figures = Vec::new();
    for is_ours in [true, false] {
        let whose = if is_ours { "Hushtable" } else { "SEAL" };
        figures.push((
            Frame {
                file: format!("1_by_count_{}", whose.to_lowercase()),
                title: format!("{whose}, one integer a ciphertext: parameters, keys, encryption"),
                x: "integers",
                y: "seconds",
                scale: Scale::Counts,
            },
            by_count(rows, is_ours),
        ));
    }
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0);
    figures.push((
        Frame {
            file: "2_by_degree".to_owned(),
            title: "Hushtable, one integer a ciphertext: parameters, keys, encryption".to_owned(),
            x: "ring degree N",
            y: "seconds",
            scale: Scale::Degrees,
        },
        by_degree(rows),
    ));
    figures.push((
        Frame {
            file: "3_cpu_load".to_owned(),
            title: "CPU load of the longest cell, 100 is one core".to_owned(),
            x: "seconds",
            y: "percent",
            scale: Scale::Linear,
        },
        load(rows),
    ));
    figures.push((
        Frame {
            file: "4_memory".to_owned(),
            title: format!("Peak memory of a process, {most} integers"),
            x: "ring degree N",
            y: "megabytes",
            scale: Scale::Degrees,
        },
        beside(rows, most, &[Key::Public], |row| row.answer.peak_mb),
    ));
    figures.push((
        Frame {
            file: "5_beside_seal".to_owned(),
            title: format!("Parameters, keys and encryption of {most} integers"),
            x: "ring degree N",
            y: "seconds",
            scale: Scale::Degrees,
        },
        beside(rows, most, &Key::ALL, |row| row.total_s.mean),
    ));
    figures
}

/// Cells with one integer in a ciphertext, under the public key where that was measured.
fn published(rows: &[Row], is_ours: bool) -> impl Iterator<Item = &Row> {
    let key = if rows.iter().any(|row| row.key == Key::Public) { Key::Public } else { Key::Secret };
    rows.iter().filter(move |row| (row.way, row.key, row.is_ours()) == (Packing::OneByOne, key, is_ours))
}

fn by_count(rows: &[Row], is_ours: bool) -> Vec<Series> {
    let line = |(place, degree): (usize, u32)| {
        let of = published(rows, is_ours).filter(|row| row.degree == degree);
        let points = of.map(|row| (row.count as f64, row.total_s.mean)).collect();
        Series { name: format!("N = {degree}"), colour: COLOURS[place], is_ours: true, points }
    };
    DEGREES.into_iter().enumerate().map(line).collect()
}

fn by_degree(rows: &[Row]) -> Vec<Series> {
    let line = |(place, count): (usize, u64)| {
        let of = published(rows, true).filter(|row| row.count == count);
        let points = of.map(|row| (f64::from(row.degree), row.total_s.mean)).collect();
        Series { name: format!("{count} integers"), colour: COLOURS[place], is_ours: true, points }
    };
    COUNTS.into_iter().enumerate().map(line).collect()
}

/// The longest cell of each library.
fn load(rows: &[Row]) -> Vec<Series> {
    let line = |is_ours: bool| {
        let lasted = |row: &&Row| row.load.last().map_or(0.0, |load| load.at_s);
        let row = published(rows, is_ours).max_by(|a, b| lasted(a).total_cmp(&lasted(b)))?;
        Some(Series {
            name: format!("{}, N = {}, {} integers", row.answer.library, row.degree, row.count),
            colour: COLOURS[usize::from(!is_ours)],
            is_ours,
            points: row.load.iter().map(|load| (load.at_s, load.cpu_percent)).collect(),
        })
    };
    [true, false].into_iter().filter_map(line).collect()
}

/// A quantity against the ring, a line for each library, way and key.
fn beside(rows: &[Row], count: u64, keys: &[Key], value: fn(&Row) -> f64) -> Vec<Series> {
    let mut lines = Vec::new();
    for is_ours in [true, false] {
        for (place, way) in Packing::ALL.into_iter().enumerate() {
            for (shade, &key) in keys.iter().enumerate() {
                let same =
                    |row: &&Row| (row.is_ours(), row.way, row.key, row.count) == (is_ours, way, key, count);
                let points =
                    rows.iter().filter(same).map(|row| (f64::from(row.degree), value(row))).collect();
                let whose = if is_ours { "Hushtable" } else { "SEAL" };
                let name = format!("{whose}, {}, {} key", way.name(), key.name());
                let colour = COLOURS[2 * shade + place];
                lines.push(Series { name, colour, is_ours, points });
            }
        }
    }
    lines
}

fn draw(path: &Path, frame: &Frame, series: &[Series]) -> Result<(), Box<dyn std::error::Error>> {
    let points = || series.iter().flat_map(|series| series.points.iter().copied());
    let range = |of: fn((f64, f64)) -> f64| {
        let most = points().map(of).fold(f64::MIN_POSITIVE, f64::max);
        match frame.scale {
            Scale::Linear => 0.0..1.2 * most,
            // A cell that takes no time at all would have no place.
            _ => points().map(of).fold(most, f64::min).max(1e-9) / 1.5..1.5 * most,
        }
    };
    let (x, y) = (range(|point| point.0), range(|point| point.1));
    match frame.scale {
        Scale::Linear => draw_on(path, frame, series, x, y),
        Scale::Counts => draw_on(path, frame, series, x.log_scale(), y.log_scale()),
        Scale::Degrees => draw_on(path, frame, series, x.log_scale().base(2.0), y.log_scale()),
    }
}

fn draw_on<X, Y>(
    path: &Path,
    frame: &Frame,
    series: &[Series],
    x: X,
    y: Y,
) -> Result<(), Box<dyn std::error::Error>>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let root = SVGBackend::new(path, (860, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(&frame.title, ("sans-serif", 19))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(x, y)?;
    let label = |value: &f64| format!("{value}");
    chart
        .configure_mesh()
        .x_desc(frame.x)
        .y_desc(frame.y)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .draw()?;
    for line in series {
        let style =
            if line.is_ours { line.colour.stroke_width(3) } else { line.colour.mix(0.6).stroke_width(2) };
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        if frame.scale != Scale::Linear {
            let dots = line.points.iter().map(|&point| Circle::new(point, 3, style.filled()));
            chart.draw_series(dots)?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

const COLOURS: [RGBColor; 6] = [
    RGBColor(46, 98, 150),
    RGBColor(178, 60, 70),
    RGBColor(92, 150, 92),
    RGBColor(214, 164, 73),
    RGBColor(120, 90, 160),
    RGBColor(90, 90, 90),
];

#[cfg(test)]
mod tests {
    use super::super::report::tests::outcome;
    use super::*;

    #[test]
    fn every_figure_is_drawn_and_names_its_lines() {
        let directory = tempfile::tempdir().unwrap();
        let rows = outcome().cells;
        let paths = write(directory.path(), &rows).unwrap();
        assert_eq!(paths.len(), 6);
        let drawn = |file: &str| {
            std::fs::read_to_string(directory.path().join(format!("edge_grid_{file}.svg"))).unwrap()
        };
        assert!(drawn("1_by_count_hushtable").contains("N = 1024"));
        assert!(drawn("2_by_degree").contains("1000 integers"));
        assert!(drawn("3_cpu_load").contains("seal-python 4, N = 1024"));
        assert!(drawn("4_memory").contains("SEAL, packed, public key"));
        assert!(drawn("5_beside_seal").contains("Hushtable, one-by-one, public key"));
        let ours: Vec<Row> = rows.into_iter().filter(Row::is_ours).collect();
        assert_eq!(write(directory.path(), &ours).unwrap().len(), 5);
        assert!(write(directory.path(), &[]).unwrap().is_empty());
    }
}
