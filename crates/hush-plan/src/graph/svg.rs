// SPDX-License-Identifier: Apache-2.0
//! A layered drawing. Every layer is a row of boxes as wide as their longest line; an edge over several layers passes
//! through a gap of its own in each, so that lines never cross a box and texts never overlap.

use super::{Graph, GraphNode};
use crate::steps::Actor;

/// Width that a column of text takes at most: monospaced fonts have 0.6 of their size or little more.
const CHAR_WIDTH: f64 = 7.9;
/// Height of a line of text.
const LINE_HEIGHT: f64 = 17.0;
/// Space around the text of a box.
const PADDING: f64 = 10.0;
/// Space between boxes of a layer.
const GAP: f64 = 28.0;
/// Space between layers.
const LAYER_GAP: f64 = 46.0;
/// Width of a gap that an edge passes through.
const PASS_WIDTH: f64 = 12.0;
/// Space around everything.
const MARGIN: f64 = 20.0;
/// Columns after which a line is broken.
const BREAK_AT: usize = 34;

/// A place in a layer: a box, or an edge that passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Node(usize),
    Pass(usize),
}

/// A box with its text broken into lines.
struct Shape {
    lines: Vec<String>,
    width: f64,
    height: f64,
}

/// Draws the graph.
pub(super) fn draw(graph: &Graph) -> String {
    let shapes: Vec<Shape> = graph.nodes.iter().map(shape).collect();
    let layers = graph.layers();
    let rows = places(graph, &layers);
    let width_of = |place: &Place| match place {
        Place::Node(index) => shapes[*index].width,
        Place::Pass(_) => PASS_WIDTH,
    };
    let row_width =
        |row: &Vec<Place>| row.iter().map(width_of).sum::<f64>() + GAP * row.len().saturating_sub(1) as f64;
    let legend_width = legend_columns() as f64 * CHAR_WIDTH + 3.0 * 40.0;
    let inner = rows.iter().map(row_width).fold(legend_width, f64::max);
    let mut y = MARGIN + 2.0 * LINE_HEIGHT;
    // For every place: middle, top and bottom.
    let mut spots: Vec<Vec<(f64, f64, f64)>> = Vec::with_capacity(rows.len());
    let mut bottoms = Vec::with_capacity(rows.len());
    for row in &rows {
        let tallest = row.iter().map(|place| match place {
            Place::Node(index) => shapes[*index].height,
            Place::Pass(_) => 0.0,
        });
        let tallest = tallest.fold(0.0, f64::max);
        let mut x = MARGIN + (inner - row_width(row)) / 2.0;
        let mut line = Vec::with_capacity(row.len());
        for place in row {
            let width = width_of(place);
            let height = match place {
                Place::Node(index) => shapes[*index].height,
                Place::Pass(_) => tallest,
            };
            line.push((x + width / 2.0, y, y + height));
            x += width + GAP;
        }
        spots.push(line);
        bottoms.push(y + tallest);
        y += tallest + LAYER_GAP;
    }
    let (width, height) = (inner + 2.0 * MARGIN, y - LAYER_GAP + MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    out.push_str(&legend());
    let spot = |layer: usize, place: Place| {
        rows.get(layer)
            .and_then(|row| row.iter().position(|known| *known == place))
            .map(|at| spots[layer][at])
    };
    for (edge, (from, to)) in graph.edges.iter().enumerate() {
        let mut points = Vec::new();
        let through = (layers[*from] + 1..layers[*to]).filter_map(|layer| spot(layer, Place::Pass(edge)));
        if let (Some((x, _, bottom)), Some((to_x, top, _))) =
            (spot(layers[*from], Place::Node(*from)), spot(layers[*to], Place::Node(*to)))
        {
            // Straight down past the taller boxes of the row.
            points.extend([(x, bottom), (x, bottoms[layers[*from]])]);
            for (x, top, bottom) in through {
                points.extend([(x, top), (x, bottom)]);
            }
            points.push((to_x, top - 5.0));
        }
        out.push_str(&polyline(&points));
    }
    for (index, (node, shape)) in graph.nodes.iter().zip(&shapes).enumerate() {
        if let Some((x, top, _)) = spot(layers[index], Place::Node(index)) {
            out.push_str(&boxed(node, shape, x, top));
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The rows: nodes by layer, and in each layer the edges that pass it; ordered so that few edges cross.
fn places(graph: &Graph, layers: &[usize]) -> Vec<Vec<Place>> {
    let depth = layers.iter().max().map_or(0, |deepest| deepest + 1);
    let mut rows: Vec<Vec<Place>> = vec![Vec::new(); depth];
    for (index, layer) in layers.iter().enumerate() {
        rows[*layer].push(Place::Node(index));
    }
    for (edge, (from, to)) in graph.edges.iter().enumerate() {
        for row in rows.iter_mut().take(layers[*to]).skip(layers[*from] + 1) {
            row.push(Place::Pass(edge));
        }
    }
    // Each place under the mean position of what leads to it; a stable sort keeps the order of equals.
    for layer in 1..depth {
        let (above, below) = rows.split_at_mut(layer);
        let (Some(above), Some(row)) = (above.last(), below.first_mut()) else { continue };
        let place_of = |wanted: Place| above.iter().position(|place| *place == wanted);
        let sources = |place: &Place| -> Vec<usize> {
            let edges = graph.edges.iter().enumerate().filter(|(edge, (_, to))| match place {
                Place::Node(index) => to == index,
                Place::Pass(passing) => edge == passing,
            });
            edges
                .filter_map(|(edge, (from, _))| place_of(Place::Node(*from)).or(place_of(Place::Pass(edge))))
                .collect()
        };
        row.sort_by_key(|place| {
            let sources = sources(place);
            // Halves matter, fractions of them do not.
            1000 * sources.iter().sum::<usize>() / sources.len().max(1)
                + usize::from(sources.is_empty()) * 1_000_000
        });
    }
    rows
}

fn shape(node: &GraphNode) -> Shape {
    let text = std::iter::once(&node.title).chain(&node.lines);
    let lines: Vec<String> = text.flat_map(|line| broken(&printable(line))).collect();
    let columns = lines.iter().map(|line| columns(line)).max().unwrap_or(0);
    let width = columns as f64 * CHAR_WIDTH + 2.0 * PADDING;
    Shape { height: lines.len() as f64 * LINE_HEIGHT + 2.0 * PADDING - 4.0, width, lines }
}

fn boxed(node: &GraphNode, shape: &Shape, x: f64, top: f64) -> String {
    let (fill, stroke) = colours(node.actor);
    let (left, width, height) = (x - shape.width / 2.0, shape.width, shape.height);
    let mut out = format!(
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\" fill=\"{fill}\" \
         stroke=\"{stroke}\"/>\n"
    );
    for (index, line) in shape.lines.iter().enumerate() {
        let y = top + PADDING + LINE_HEIGHT * index as f64 + 10.0;
        let weight = if index == 0 { " font-weight=\"bold\"" } else { "" };
        out.push_str(&text_at(x, y, weight, line));
    }
    out
}

fn text_at(x: f64, y: f64, more: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\"{more}>{}</text>\n", escaped(text))
}

/// A line with a head at its end.
fn polyline(points: &[(f64, f64)]) -> String {
    let Some((x, y)) = points.last() else { return String::new() };
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#666666\"/>\n\
         <path d=\"M{:.1},{y:.1} L{:.1},{y:.1} L{x:.1},{:.1} Z\" fill=\"#666666\"/>\n",
        path.join(" "),
        x - 4.0,
        x + 4.0,
        y + 5.0,
    )
}

const ACTORS: [Actor; 3] = [Actor::ServerClear, Actor::ServerEncrypted, Actor::Owner];

fn legend_columns() -> usize {
    ACTORS.iter().map(|actor| columns(&actor.to_string())).sum()
}

fn legend() -> String {
    let mut out = String::new();
    let mut x = MARGIN;
    for actor in ACTORS {
        let (fill, stroke) = colours(actor);
        let words = actor.to_string();
        out.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{MARGIN:.1}\" width=\"12\" height=\"12\" fill=\"{fill}\" stroke=\"{stroke}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{words}</text>\n",
            x + 18.0,
            MARGIN + 10.5,
        ));
        x += 40.0 + columns(&words) as f64 * CHAR_WIDTH;
    }
    out
}

/// Fill and line of an actor's boxes; they differ in lightness too.
pub(super) fn colours(actor: Actor) -> (&'static str, &'static str) {
    match actor {
        Actor::ServerClear => ("#fff3cd", "#b8860b"),
        Actor::ServerEncrypted => ("#cfe2ff", "#1f4e9c"),
        Actor::Owner => ("#d7f0dc", "#1e7a3a"),
    }
}

/// Breaks a line at blanks, and a long word anywhere.
fn broken(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        for c in std::iter::once(' ').chain(word.chars()) {
            let Some(last) = lines.last_mut() else { continue };
            let starts_word = c == ' ';
            let length = columns(last)
                + if starts_word { 1 + columns(word) } else { columns(c.encode_utf8(&mut [0; 4])) };
            if !last.is_empty() && length > BREAK_AT {
                lines.push(if starts_word { String::new() } else { c.to_string() });
            } else if !(starts_word && last.is_empty()) {
                last.push(c);
            }
        }
    }
    lines
}

/// Columns that a text takes in a monospaced font: characters beyond Latin, Greek and Cyrillic may take two.
fn columns(text: &str) -> usize {
    text.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum()
}

/// Control characters, marks that turn text, and what XML cannot hold, as escapes.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
        if hidden { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
