// SPDX-License-Identifier: Apache-2.0
//! `hush explain`: what a query would do, before it runs.

use hush::{Error, QueryPlan};

use super::query::open;
use crate::account::{bytes, wrapped};
use crate::args::Query;
use crate::terminal::{print, visible};

/// Plans and prints, without running.
pub(super) fn explain(args: &Query, threads: usize) -> Result<(), Error> {
    let table = open(args, threads)?;
    let plan = table.plan(&args.sql)?;
    print(&format!("{}\n", text(&plan)))
}

fn text(plan: &QueryPlan) -> String {
    let cost = &plan.cost;
    let exactness = match cost.precision {
        Some(error) => format!("approximate columns within {error:.1e} and 2^-48 of their largest value"),
        None => "exact".to_owned(),
    };
    let mut out = "Runs where\n".to_owned();
    for (number, step) in (1..).zip(&plan.steps) {
        out.push_str(&format!(" {number} {:<18} {}\n", step.actor, wrapped(&visible(&step.what), 22)));
    }
    out.push_str(&format!("Answer  {exactness}; wrong with chance < 2^-128\n"));
    out.push_str(&format!(
        "Cost    {} of encrypted answer per group or chunk; no extra keys\n",
        bytes(cost.answer_bytes_each)
    ));
    if !cost.params.is_empty() {
        out.push_str(&format!(
            "Params  {}; >={} bits; depth {}; noise margin {:.1} bits\n",
            cost.params.join(", "),
            cost.security_bits,
            cost.depth,
            cost.margin_bits
        ));
    }
    out.push_str("The server learns\n");
    let leakage = &plan.leakage;
    for (label, lines) in
        [("from the table", &leakage.table), ("from this query", &leakage.query), ("not", &leakage.hidden)]
    {
        out.push_str(&format!(" {label:<16} {}\n", wrapped(&visible(&lines.join("; ")), 18)));
    }
    out.trim_end().to_owned()
}
