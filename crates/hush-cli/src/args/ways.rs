// SPDX-License-Identifier: Apache-2.0
//! By what a way to answer is chosen.

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use hush::{Facet, OwnedTable, QueryLimits, WayName};

#[derive(Clone, Debug, Args)]
pub(crate) struct WayArgs {
    /// Speed of the link to the server in megabit per second, by which plans are chosen; 0: no link at all
    /// [default: 100 for a server, 0 for other places]
    #[arg(long, value_name = "MBIT/S", value_parser = link_speed)]
    pub(crate) link: Option<f64>,
    /// The way to answer [default: the one that is predicted to be quickest]
    #[arg(long, value_parser = ways())]
    way: Option<WayName>,
    /// What the question may not show the server; all rows go back where a condition would
    #[arg(long, value_delimiter = ',', value_parser = facets())]
    hide: Vec<Facet>,
}

impl WayArgs {
    /// The table, asked in these ways.
    pub(crate) fn of(&self, table: OwnedTable) -> OwnedTable {
        let hide = self.hide.iter().copied().collect();
        let table = table.with_limits(QueryLimits { way: self.way, hide, ..QueryLimits::default() });
        match self.link {
            Some(megabit) => table.with_link((megabit > 0.0).then_some(megabit * BYTES_PER_MEGABIT)),
            None => table,
        }
    }
}

const BYTES_PER_MEGABIT: f64 = 125_000.0;

fn ways() -> impl TypedValueParser<Value = WayName> {
    let named = |name: String| WayName::named(&name).ok_or("no such way");
    PossibleValuesParser::new(WayName::ALL.map(WayName::name)).try_map(named)
}

fn facets() -> impl TypedValueParser<Value = Facet> {
    let named = |name: String| Facet::named(&name).ok_or("nothing that a question shows");
    PossibleValuesParser::new(Facet::ALL.map(Facet::name)).try_map(named)
}

/// Megabit per second.
fn link_speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "expected a number of megabit per second".to_owned())?;
    if (0.0..=1e7).contains(&speed) { Ok(speed) } else { Err("expected 0 to 10000000".to_owned()) }
}
