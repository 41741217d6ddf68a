// SPDX-License-Identifier: Apache-2.0
//! The report as text.

use std::fmt::Write as _;

use hush::WayName;

use super::{Case, Measured, Options, PUBLISHED};
use crate::aligned::{align, figure_text};

/// The questions in a table, what its columns mean, and what others published.
pub fn text(options: &Options, cases: &[Case]) -> String {
    let mut out = format!(
        "TPC-H, dbgen's rows, scale {}: every condition, group and measure encrypted, {}, {} threads\n\n",
        options.scale,
        match (options.encrypted_constants, options.answer_keys) {
            (true, _) => "encrypted constants and evaluation keys",
            (false, true) => "evaluation keys for smaller answers",
            (false, false) => "no evaluation keys",
        },
        options.threads
    );
    let head = [
        "",
        "rows",
        "filter ms",
        "ns a row",
        "MB down",
        "you ms",
        "cube ms",
        "MB down",
        "fetch ms",
        "MB down",
        "KB a row",
        "us a row",
        "KB up",
        "error",
        "DuckDB",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for case in cases {
        let way = |name: WayName| case.ways.iter().find(|way| way.way == name);
        let figure = |name: WayName, of: &dyn Fn(&Measured) -> f64| {
            way(name).map_or_else(String::new, |way| figure_text(of(way)))
        };
        let both = |way: &Measured| way.server_ms + way.owner_ms;
        let megabytes = |way: &Measured| way.bytes_down as f64 / 1e6;
        lines.push(vec![
            case.query.to_owned(),
            case.rows.to_string(),
            figure(WayName::Filter, &|way| way.server_ms),
            figure(WayName::Filter, &|way| way.server_ms * 1e6 / case.rows as f64),
            figure(WayName::Filter, &megabytes),
            figure(WayName::Filter, &|way| way.owner_ms),
            figure(WayName::Cube, &both),
            figure(WayName::Cube, &megabytes),
            figure(WayName::Fetch, &both),
            figure(WayName::Fetch, &megabytes),
            figure_text(case.stored_bytes as f64 / 1e3 / case.rows as f64),
            figure_text(case.encrypt_us_a_row),
            figure(WayName::Filter, &|way| way.bytes_up as f64 / 1e3),
            case.check.to_string(),
            match case.is_duckdbs {
                Some(true) => "equal",
                Some(false) => "DIFFERS",
                None => "-",
            }
            .to_owned(),
        ]);
    }
    out.push_str(&align(&lines));
    let _ = writeln!(
        out,
        "\nfilter: the server evaluates the condition on ciphertexts, and learns which numbered columns are combined; cube: prepared sums; fetch: columns come back. Times: medians of {} in turns, files in memory.\n\
         The server's time of filter, and the owner's; of the others both together. KB a row: all files of the table for this question; us a row: CPU time of encrypting it.\n\
         {}\n\
         Attributes of orders and parts, comparisons of two columns, Q1's groups and Q19's three classes of parts stand on the rows when they are encrypted. {}\n\
         Each question is also put with {} other sets of constants, as TPC-H draws them; every result counts in error, which is beside the same rows in the clear.\n\n\
         Published:\n{}",
        options.repeat,
        if options.any_days || options.encrypted_constants {
            "Bounds of dates may be any days."
        } else {
            "Dates of Q4, Q6, Q12 and Q14 are stored by the calendar, with parameters for four factors: their bounds begin years and months (others: --any-days)."
        },
        if options.encrypted_constants {
            match cases.iter().all(|case| case.are_alike == Some(true)) {
                true => "Plans are the same for all constants, but for one ciphertext of these.",
                false => "Plans DIFFER with their constants.",
            }
        } else if options.answer_keys {
            "Sums are brought back to two components with keys for the powers of the secret."
        } else {
            "There are no keys but the owner's (with them: --answer-keys)."
        },
        cases.first().map_or(0, |case| case.varied.len()),
        PUBLISHED.iter().map(|system| format!("  {}: {}\n", system.name, system.says)).collect::<String>(),
    );
    out
}
