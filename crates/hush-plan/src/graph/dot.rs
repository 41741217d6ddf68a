// SPDX-License-Identifier: Apache-2.0
//! Graphviz's language.

use super::svg::{colours, printable};
use super::{Graph, GraphNode};

/// Writes the graph.
pub(super) fn write(graph: &Graph) -> String {
    let mut out =
        "digraph plan {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n".to_owned();
    for (index, node) in graph.nodes.iter().enumerate() {
        let (fill, stroke) = colours(node.actor);
        out.push_str(&format!(
            "  n{index} [label=\"{}\", fillcolor=\"{fill}\", color=\"{stroke}\"];\n",
            label(node)
        ));
    }
    for (from, to) in &graph.edges {
        out.push_str(&format!("  n{from} -> n{to};\n"));
    }
    out.push_str("}\n");
    out
}

/// The label of a node: its place, title and lines, with quotes and backslashes escaped.
fn label(node: &GraphNode) -> String {
    let actor = node.actor.to_string();
    let lines =
        [actor.as_str(), node.title.as_str()].into_iter().chain(node.lines.iter().map(String::as_str));
    let escaped = lines.map(|line| printable(line).replace('\\', "\\\\").replace('"', "\\\""));
    escaped.collect::<Vec<_>>().join("\\n")
}
