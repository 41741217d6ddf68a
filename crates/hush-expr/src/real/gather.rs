// SPDX-License-Identifier: Apache-2.0
//! Means inside expressions, gathered: what is added to a mean, and is the same for every element, goes into it.
//!
//! # Math
//! `w − r·mean(f)` is `mean(w − r·f)` where `w` is the same for every element, as weights are that a model is trained to. The values are equal; the bounds are not. A state with
//! an error of its own in every element is off by `e·(1 + r·|∂f|)` after the first, and by `e·|1 − r·∂f|` at most after the second, which a step of gradient descent shrinks.

use std::collections::HashMap;

use crate::tree::{Function, Node, Repeat, State};
use crate::{ExprError, Ratio};

/// The states around a piece, each the same for every element or not; and what was found of repetitions when they were last passed. It is only ever lowered,
/// so that a repetition inside others is passed as often as there are states, and not as often as the product of their numbers.
#[derive(Default)]
pub(super) struct Around {
    states: Vec<bool>,
    known: HashMap<*const Repeat, Vec<bool>>,
}

/// A piece with its means gathered, and whether it is the same for every one of `length` elements.
pub(super) fn gathered(node: &Node, length: usize, around: &mut Around) -> Result<(Node, bool), ExprError> {
    let all = |nodes: &[Node], around: &mut Around| {
        nodes.iter().map(|node| gathered(node, length, around)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match node {
        Node::Call { function, arguments, position } => {
            let inside = all(arguments, around)?.into_iter().map(|(node, _)| node).collect();
            let product = single(inside);
            let whole = match function {
                Function::Mean => product,
                // A sum is as many means.
                Function::Sum | Function::Dot => Node::Product(vec![count(length), product]),
            };
            (mean(whole, *position), true)
        }
        Node::Gate(gate) => return Err(gate.refused()),
        Node::Local(index) => (node.clone(), around.states.get(*index).copied().unwrap_or(false)),
        Node::Name(_) => (node.clone(), false),
        Node::Number(_) => (node.clone(), true),
        Node::Negative(of) => {
            let (of, is_uniform) = gathered(of, length, around)?;
            let negative = |of: Node| Node::Negative(Box::new(of));
            match of {
                Node::Call { mut arguments, position, .. } => {
                    (mean(negative(single(std::mem::take(&mut arguments))), position), true)
                }
                of => (negative(of), is_uniform),
            }
        }
        Node::Power(of, exponent) => {
            let (of, is_uniform) = gathered(of, length, around)?;
            (Node::Power(Box::new(of), *exponent), is_uniform)
        }
        Node::Reciprocal { of, position } => {
            let (of, is_uniform) = gathered(of, length, around)?;
            (Node::Reciprocal { of: Box::new(of), position: *position }, is_uniform)
        }
        Node::Product(factors) => {
            let factors = all(factors, around)?;
            let is_uniform = factors.iter().all(|(_, is_uniform)| *is_uniform);
            let mut factors: Vec<Node> = factors.into_iter().map(|(node, _)| node).collect();
            let means: Vec<usize> = (0..factors.len()).filter(|&at| is_mean(&factors[at])).collect();
            let others_are_numbers = factors.iter().all(|factor| is_mean(factor) || is_number(factor));
            match means.as_slice() {
                &[at] if others_are_numbers => {
                    let Node::Call { arguments, position, .. } = factors.swap_remove(at) else {
                        return Ok((Node::Product(factors), is_uniform));
                    };
                    factors.push(single(arguments));
                    (mean(Node::Product(factors), position), true)
                }
                _ => (Node::Product(factors), is_uniform),
            }
        }
        Node::Sum(terms) => {
            let terms = all(terms, around)?;
            let is_uniform = terms.iter().all(|(_, is_uniform)| *is_uniform);
            let position = terms.iter().find_map(|(node, _)| match node {
                Node::Call { position, .. } => Some(*position),
                _ => None,
            });
            let terms = terms.into_iter().map(|(node, _)| node);
            match position {
                Some(position) if is_uniform => {
                    let inside = terms.map(|node| match node {
                        Node::Call { arguments, .. } => single(arguments),
                        node => node,
                    });
                    (mean(Node::Sum(inside.collect()), position), true)
                }
                _ => (Node::Sum(terms.collect()), is_uniform),
            }
        }
        Node::Repeat(repeat) => repeated(repeat, length, around)?,
    })
}

fn repeated(repeat: &Repeat, length: usize, around: &mut Around) -> Result<(Node, bool), ExprError> {
    let outer = around.states.len();
    let starts = repeat.states.iter().map(|state| gathered(&state.start, length, around));
    let starts = starts.collect::<Result<Vec<_>, _>>()?;
    let mut uniform: Vec<bool> = starts.iter().map(|(_, is_uniform)| *is_uniform).collect();
    if let Some(known) = around.known.get(&std::ptr::from_ref(repeat)) {
        uniform.iter_mut().zip(known).for_each(|(own, known)| *own &= known);
    }
    // States that are made from others that differ differ as well: as many rounds as there are states.
    let next = loop {
        around.states.extend(&uniform);
        let next = repeat.states.iter().map(|state| gathered(&state.next, length, around));
        let next = next.collect::<Result<Vec<_>, _>>();
        around.states.truncate(outer);
        let next = next?;
        let after: Vec<bool> =
            uniform.iter().zip(&next).map(|(before, (_, after))| *before && *after).collect();
        if after == uniform {
            break next;
        }
        uniform = after;
    };
    around.known.insert(std::ptr::from_ref(repeat), uniform.clone());
    let mut states = Vec::with_capacity(next.len());
    for ((state, (start, _)), (next, _)) in repeat.states.iter().zip(starts).zip(next) {
        states.push(State { name: state.name.clone(), start, next });
    }
    let is_uniform = uniform.first().copied().unwrap_or(false);
    Ok((Node::Repeat(Repeat { count: repeat.count, states }), is_uniform))
}

fn mean(of: Node, position: usize) -> Node {
    Node::Call { function: Function::Mean, arguments: vec![of], position }
}

fn is_mean(node: &Node) -> bool {
    matches!(node, Node::Call { .. })
}

/// Whether nothing in it is a name, a state or a mean.
fn is_number(node: &Node) -> bool {
    !matches!(node, Node::Name(_) | Node::Local(_) | Node::Call { .. })
        && node.parts().into_iter().all(is_number)
}

fn count(length: usize) -> Node {
    Node::Number(Ratio::from(num_bigint::BigInt::from(length)))
}

fn single(mut nodes: Vec<Node>) -> Node {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            Node::Product(nodes)
        }
    }
}
