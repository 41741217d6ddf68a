// SPDX-License-Identifier: Apache-2.0
//! `hush explain`: what a query would do, cost and tell, before it runs.

use std::path::Path;

use hush::{EncryptedNode, Error, Explanation, MANY_GROUPS, OwnerKey, Turn, Way};

use super::profile;
use super::query::Place;
use crate::account::{bytes, grouped, seconds, wrapped};
use crate::analysis::basis;
use crate::args::Explain;
use crate::terminal::{self, print, say, visible};

/// Plans for one table and prints, without running; false if the question is one for a catalogue, and nothing was done.
pub(super) fn explain(
    args: &Explain,
    (place, sql): (&str, &str),
    key: &OwnerKey,
    threads: usize,
) -> Result<bool, Error> {
    let drawn = args.graph.as_deref().map(Drawing::of).transpose()?;
    let place = Place { place, sql, token: &args.token, threads, ways: &args.ways };
    let table = place.open(key)?;
    let explanation = match table.explain(sql, args.groups, threads, profile()) {
        Err(error) if error.needs_catalogue() => return Ok(false),
        explained => explained?,
    };
    if let Some(drawing) = drawn {
        drawing.write(&explanation)?;
    }
    if args.json {
        print(&format!("{}\n", terminal::json(&explanation.to_json())))?;
        return Ok(true);
    }
    explanation.plan.notes.iter().for_each(|note| say(&format!("! {}", visible(note))));
    print(&whole(&explanation, args.verbose))?;
    Ok(true)
}

/// The explanation as people read it.
pub(super) fn whole(explanation: &Explanation, with_details: bool) -> String {
    let details = if with_details { verbose(explanation) } else { String::new() };
    format!("{}\n{details}", text(explanation))
}

/// A file to draw into.
enum Drawing<'a> {
    Dot(&'a Path),
    Svg(&'a Path),
}

impl<'a> Drawing<'a> {
    fn of(path: &'a Path) -> Result<Self, Error> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg(path)),
            Some("dot") => Ok(Self::Dot(path)),
            _ => Err(Error::usage(format!(
                "{}: what to draw shows in the name\n  Ways out: --graph FILE.svg; --graph FILE.dot.",
                path.display()
            ))),
        }
    }

    fn write(&self, explanation: &Explanation) -> Result<(), Error> {
        let (path, text) = match self {
            Self::Dot(path) => (path, explanation.plan.graph.to_dot()),
            Self::Svg(path) => (path, explanation.plan.graph.to_svg()),
        };
        std::fs::write(path, text).map_err(Error::output)?;
        say(&format!("Drew {}", path.display()));
        Ok(())
    }
}

fn text(explanation: &Explanation) -> String {
    let plan = &explanation.plan;
    let exactness = match plan.cost.precision {
        Some(error) => format!("approximate columns within {error:.1e} and 2^-48 of their largest value"),
        None => "exact".to_owned(),
    };
    let mut out = "Runs where\n".to_owned();
    for (number, step) in (1..).zip(&plan.steps) {
        out.push_str(&format!(" {number} {:<18} {}\n", step.actor, wrapped(&visible(&step.what), 22)));
    }
    let nodes = &plan.cost.nodes;
    let failure = nodes.iter().map(|node| node.failure_log2).fold(f64::NEG_INFINITY, f64::max);
    let chance = if nodes.is_empty() {
        String::new()
    } else {
        format!("; a number is wrong with chance < 2^{failure:.0}")
    };
    out.push_str(&format!("Answer  {exactness}{chance}\n"));
    let mut sets: Vec<String> = nodes.iter().map(security).collect();
    sets.sort();
    sets.dedup();
    if !sets.is_empty() {
        out.push_str(&format!("Secure  {}\n", wrapped(&sets.join("; "), 8)));
    }
    for line in devices(nodes) {
        out.push_str(&format!("Devices {}\n", wrapped(&line, 8)));
    }
    out.push_str(&format!("Cost    {}\n", wrapped(&cost(explanation), 8)));
    out.push_str(&format!("Times   {}\n", basis(&explanation.profile)));
    for (index, way) in plan.ways.iter().enumerate() {
        let label = if index == 0 { "Ways" } else { "" };
        out.push_str(&format!("{label:<8}{}\n", wrapped(&weighed(way), 8)));
    }
    out.push_str("The server learns\n");
    let leakage = &plan.leakage;
    for (label, lines) in
        [("from the table", &leakage.table), ("from this query", &leakage.query), ("not", &leakage.hidden)]
    {
        out.push_str(&format!(" {label:<16} {}\n", wrapped(&visible(&lines.join("; ")), 18)));
    }
    for watch in watch(explanation) {
        out.push_str(&format!("Watch   {}\n", wrapped(&watch, 8)));
    }
    out.trim_end().to_owned()
}

/// Time, memory and bytes in one sentence.
fn cost(explanation: &Explanation) -> String {
    let prediction = &explanation.prediction;
    let link = explanation.link.map_or(String::new(), |speed| {
        format!(" over a link of {} Mbit/s", grouped((speed * 8e-6).round() as u64))
    });
    let down = bytes(prediction.bytes_down);
    let plan = &explanation.plan;
    let down = match (plan.is_by_row(), prediction.groups) {
        (true, _) if plan.server.predicate.is_some() => format!("at most {down}"),
        (true, _) => format!("about {down}"),
        (false, groups) if plan.has_groups() => {
            let each = bytes(prediction.bytes_each);
            format!("about {down} for {} groups ({each} encrypted in each)", grouped(groups))
        }
        (false, _) if prediction.bytes_down_exact => down,
        (false, _) => format!("about {down}"),
    };
    let keys = match prediction.key_bytes {
        0 => "no extra keys".to_owned(),
        stored => format!("{} of the table's keys", bytes(stored)),
    };
    format!(
        "about {} s{link}, {:.0} MB; up {}, down {down}; {keys}",
        seconds(explanation.total_s()),
        explanation.memory_bytes as f64 / 1e6,
        bytes(prediction.bytes_up)
    )
}

/// A way to answer with its price; the one taken is marked.
fn weighed(way: &Way) -> String {
    let mark = if way.taken { "*" } else { "-" };
    let side = |turn: &Turn| if turn.above { "above" } else { "below" };
    let turns = [
        way.even_rows.map(|turn| format!("{} {} rows", side(&turn), grouped(turn.at as u64))),
        way.even_link
            .map(|turn| format!("{} {} Mbit/s", side(&turn), grouped((turn.at * 8e-6).ceil() as u64))),
    ];
    let turns: Vec<String> = turns.into_iter().flatten().collect();
    let turns = if turns.is_empty() { String::new() } else { format!("; quicker {}", turns.join(" or ")) };
    let (time, down) = (seconds(way.seconds), bytes(way.bytes_down));
    format!("{mark} {}, {}: {time} s, {down} down{turns}", way.name.name(), way.what)
}

fn watch(explanation: &Explanation) -> Vec<String> {
    let mut out = Vec::new();
    if explanation.plan.has_groups() {
        out.push("groups of few rows may identify someone: HAVING COUNT(*) >= 5 leaves them out".to_owned());
    }
    let own =
        explanation.plan.owner.own.as_ref().filter(|own| !own.encrypted.is_empty() || !own.sealed.is_empty());
    if let Some(own) = own {
        let names = own.encrypted.iter().map(|column| &column.name).chain(&own.sealed);
        let names: Vec<&str> = names.map(String::as_str).collect();
        out.push(format!(
            "the columns come back whenever you ask: if you ask often, keep them (hush decrypt --columns {})",
            visible(&names.join(","))
        ));
    }
    let prediction = &explanation.prediction;
    if prediction.groups > MANY_GROUPS {
        let each = bytes(prediction.bytes_each);
        out.push(format!(
            "{} groups take {each} each: a coarser GROUP BY is cheaper",
            grouped(prediction.groups)
        ));
    }
    out
}

/// Every encrypted operation with its parameters, and what was counted.
fn verbose(explanation: &Explanation) -> String {
    let mut out = String::new();
    let nodes = &explanation.plan.cost.nodes;
    if !nodes.is_empty() {
        out.push_str("Encrypted\n");
    }
    for node in nodes {
        out.push_str(&format!(
            " {} of {}\n   {}\n",
            node.kind,
            wrapped(&visible(&node.what), 3),
            parameters(node)
        ));
    }
    let prediction = &explanation.prediction;
    out.push_str("Counted\n");
    for block in &prediction.blocks {
        let mask = block.mask.map_or(String::new(), |mask| format!(" under mask {mask}"));
        let columns: Vec<String> = block.columns.iter().map(|id| format!("#{id}")).collect();
        let line = format!(
            "{} of {}{mask}, {}: chunks {}, ring elements {}, transforms {}, products {}",
            block.kind,
            columns.join(", "),
            block.params,
            grouped(block.chunks),
            grouped(block.elements),
            grouped(block.work.transforms),
            grouped(block.work.products)
        );
        out.push_str(&format!(" {}\n", wrapped(&line, 3)));
    }
    let work = &prediction.work;
    out.push_str(&format!(
        " clear: {} values, {} texts, {} read\n you: {} products with the key, {} numbers decoded\nServer  {} s, {:.1} MB beyond the program\n\
         You     {} s\nKeys    {} B of evaluation keys\nPlanned in {:.1} ms\n",
        grouped(work.clear_cells),
        grouped(work.text_cells),
        bytes(work.bytes_read),
        grouped(work.owner_products),
        grouped(work.owner_decoded),
        seconds(explanation.times.server_s),
        prediction.server_memory_bytes as f64 / 1e6,
        seconds(explanation.times.owner_s),
        prediction.key_bytes,
        explanation.planning_s * 1e3
    ));
    out
}

fn parameters(node: &EncryptedNode) -> String {
    let margin = node
        .margin_bits
        .map_or("no limit to its noise".to_owned(), |bits| format!("noise margin {bits:.1} bits"));
    let rounded = node.answer_bits.map_or(String::new(), |bits| format!("; rounded to {bits} bits"));
    let error = node.error.map_or(String::new(), |error| format!("; error < {error:.1e}"));
    format!(
        "{}; {}; depth {}; {margin}; failure < 2^{:.0}{error}{rounded}",
        security(node),
        node.plaintext,
        node.depth,
        node.failure_log2
    )
}

/// What rows cost that devices encrypt, for each parameter set of the query.
fn devices(nodes: &[EncryptedNode]) -> Vec<String> {
    let line = |node: &EncryptedNode| {
        let cost = node.devices?;
        Some(format!(
            "{:.1} bytes a value in full chunks where yours have {:.1}, {:.1} bits more noise, which the parameters leave room for ({})",
            cost.value_bytes, cost.owner_value_bytes, cost.noise_bits, node.params
        ))
    };
    let mut lines: Vec<String> = nodes.iter().filter_map(line).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// Scheme, parameters and the security that they are labelled with.
fn security(node: &EncryptedNode) -> String {
    let log_q = node.log_q.ceil();
    format!("{} N={} log q={log_q:.0}, >={} bits", node.scheme, node.degree, node.security_bits)
}
