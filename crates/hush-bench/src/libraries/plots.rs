// SPDX-License-Identifier: Apache-2.0
//! The workload's phases and the products of the second table as SVG.

use std::path::{Path, PathBuf};

use plotters::prelude::*;

use super::case::{Encryption, Scheme, Table};
use super::row::Row;
use crate::bars::{Bar, Chart};

/// The phases with their colours, in the order of the bars.
const PHASES: [(&str, RGBColor); 5] = [
    ("parameters", RGBColor(190, 190, 190)),
    ("keys", RGBColor(214, 164, 73)),
    ("encrypt", RGBColor(46, 98, 150)),
    ("evaluate", RGBColor(178, 60, 70)),
    ("decrypt", RGBColor(92, 150, 92)),
];

/// Writes one figure for each scheme of the workload and one for the products; returns their paths.
///
/// # Errors
/// A message if the directory cannot be written or a figure not drawn.
pub fn write(directory: &Path, rows: &[Row]) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let mut paths = Vec::new();
    let mut add = |name: String, title: &str, legend: &[(&str, RGBColor)], bars: Vec<Bar>| {
        if bars.is_empty() {
            return Ok(());
        }
        let path = directory.join(name);
        let chart = Chart { title, unit: "milliseconds of wall time", legend };
        chart.draw(&path, &bars).map_err(|error| error.to_string())?;
        paths.push(path);
        Ok::<_, String>(())
    };
    for scheme in Scheme::ALL {
        let (name, upper) = (scheme.name(), scheme.name().to_uppercase());
        let workload = format!("{upper}: y*(x+z) on 2760 elements, one thread");
        let bars = bars(rows, Table::Workload, scheme, workload_parts);
        add(format!("libraries_workload_{name}.svg"), &workload, &PHASES, bars)?;
        let level = if scheme == Scheme::Bfv { "" } else { ", one level down" };
        let product = format!("{upper}: multiply and relinearise{level}, one thread");
        let bars = self::bars(rows, Table::Primitives, scheme, product_parts);
        add(format!("libraries_multiply_{name}.svg"), &product, &[], bars)?;
    }
    Ok(paths)
}

/// Rows of one table and scheme on one thread, fastest first within a ring.
fn bars(rows: &[Row], table: Table, scheme: Scheme, parts: fn(&Row) -> Vec<(f64, RGBColor)>) -> Vec<Bar> {
    let chosen = rows.iter().filter(|row| (row.table, row.scheme, row.threads) == (table, scheme, 1));
    let mut bars: Vec<(u32, Bar)> = chosen
        .map(|row| {
            let key = match (table, row.encryption) {
                (Table::Workload, Encryption::Secret) => ", secret key",
                _ => "",
            };
            let answer = &row.answer;
            let label = format!(
                "{} N={} {:.0}+{:.0}{key}",
                answer.library, answer.degree, answer.log_q, answer.log_p
            );
            (answer.degree, Bar { label, parts: parts(row) })
        })
        .filter(|(_, bar)| bar.total() > 0.0)
        .collect();
    bars.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total().total_cmp(&b.1.total())));
    bars.into_iter().map(|(_, bar)| bar).collect()
}

fn workload_parts(row: &Row) -> Vec<(f64, RGBColor)> {
    PHASES.iter().filter_map(|&(name, colour)| Some((row.time_ms(name)?, colour))).collect()
}

fn product_parts(row: &Row) -> Vec<(f64, RGBColor)> {
    row.time_ms("multiply").map(|ms| (ms, PHASES[3].1)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::super::row::tests::{answer, case};
    use super::*;

    #[test]
    fn a_figure_names_its_rows() {
        let inputs = Inputs::fixed();
        let rows: Vec<Row> = [Table::Workload, Table::Primitives]
            .map(|table| {
                let case = case(table, Scheme::Bgv);
                Row::new(&case, answer(&case, &inputs), &inputs)
            })
            .into();
        let directory = tempfile::tempdir().unwrap();
        let paths = write(directory.path(), &rows).unwrap();
        assert_eq!(paths.len(), 2);
        let figure = std::fs::read_to_string(&paths[0]).unwrap();
        assert!(figure.contains("milliseconds of wall time"), "{figure}");
        assert!(figure.contains("Test 1.0 N=4096 70+35") && figure.contains("evaluate"), "{figure}");
    }
}
