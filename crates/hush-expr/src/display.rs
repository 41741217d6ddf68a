// SPDX-License-Identifier: Apache-2.0
//! The text of an expression.

use crate::parse::MAX_EXPONENT;
use crate::tree::{Gate, Node, Repeat};
use crate::{Expression, Logic};

impl std::fmt::Display for Expression {
    /// A text that parses to the same expression, with no more nesting than it was parsed from.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Writer { names: self.names(), locals: Vec::new() }.write(f, self.root(), Binding::Or)
    }
}

struct Writer<'a> {
    names: &'a [String],
    locals: Vec<&'a str>,
}

/// How tightly a place binds what stands there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    /// And `xor`.
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Sign,
    Atom,
}

impl Binding {
    fn of(gate: &Gate) -> Self {
        match gate {
            Gate::Choose { .. } | Gate::Extreme { .. } | Gate::LookUp { .. } => Self::Atom,
            Gate::Compare { .. } => Self::Comparison,
            Gate::Logic { runs, .. } if runs.iter().any(|run| run.operation == Logic::And) => Self::And,
            Gate::Logic { .. } => Self::Or,
            Gate::Not { .. } => Self::Not,
        }
    }
}

impl<'a> Writer<'a> {
    fn write(&mut self, f: &mut std::fmt::Formatter<'_>, node: &'a Node, place: Binding) -> std::fmt::Result {
        let own = match node {
            Node::Sum(_) => Binding::Sum,
            Node::Product(_) | Node::Reciprocal { .. } => Binding::Product,
            Node::Negative(_) | Node::Power(..) => Binding::Sign,
            Node::Call { .. } | Node::Local(_) | Node::Name(_) | Node::Number(_) | Node::Repeat(_) => {
                Binding::Atom
            }
            Node::Gate(gate) => Binding::of(gate),
        };
        if own < place {
            f.write_str("(")?;
            self.write(f, node, Binding::Or)?;
            return f.write_str(")");
        }
        match node {
            Node::Call { function, arguments, .. } => self.write_call(f, function.name(), arguments),
            Node::Gate(gate) => self.write_gate(f, gate),
            Node::Local(index) => f.write_str(self.locals.get(*index).copied().unwrap_or("?")),
            Node::Name(index) => f.write_str(self.names.get(*index).map_or("?", String::as_str)),
            Node::Negative(inner) => {
                f.write_str("-")?;
                self.write(f, inner, Binding::Sign)
            }
            Node::Number(number) => write!(f, "{number}"),
            Node::Power(base, exponent) => {
                debug_assert!(*exponent <= MAX_EXPONENT);
                self.write(f, base, Binding::Atom)?;
                write!(f, "^{exponent}")
            }
            Node::Product(factors) => {
                for (index, factor) in factors.iter().enumerate() {
                    match factor {
                        Node::Reciprocal { of, .. } => {
                            f.write_str(" / ")?;
                            self.write(f, of, Binding::Sign)?;
                        }
                        factor => {
                            f.write_str(if index == 0 { "" } else { "*" })?;
                            self.write(f, factor, Binding::Sign)?;
                        }
                    }
                }
                Ok(())
            }
            Node::Reciprocal { of, .. } => {
                f.write_str("1 / ")?;
                self.write(f, of, Binding::Sign)
            }
            Node::Repeat(repeat) => self.write_repeat(f, repeat),
            Node::Sum(terms) => {
                for (index, term) in terms.iter().enumerate() {
                    match term {
                        Node::Negative(inner) if index > 0 => {
                            f.write_str(" - ")?;
                            self.write(f, inner, Binding::Product)?;
                        }
                        term => {
                            f.write_str(if index == 0 { "" } else { " + " })?;
                            self.write(f, term, Binding::Product)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn write_repeat(&mut self, f: &mut std::fmt::Formatter<'_>, repeat: &'a Repeat) -> std::fmt::Result {
        write!(f, "repeat({}", repeat.count)?;
        for state in &repeat.states {
            write!(f, ", {} := ", state.name)?;
            self.write(f, &state.start, Binding::Or)?;
        }
        let outer = self.locals.len();
        self.locals.extend(repeat.states.iter().map(|state| state.name.as_str()));
        for state in &repeat.states {
            f.write_str(", ")?;
            self.write(f, &state.next, Binding::Or)?;
        }
        self.locals.truncate(outer);
        f.write_str(")")
    }

    fn write_call(
        &mut self,
        f: &mut std::fmt::Formatter<'_>,
        name: &str,
        arguments: &'a [Node],
    ) -> std::fmt::Result {
        write!(f, "{name}(")?;
        for (index, argument) in arguments.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            self.write(f, argument, Binding::Or)?;
        }
        f.write_str(")")
    }

    fn write_gate(&mut self, f: &mut std::fmt::Formatter<'_>, gate: &'a Gate) -> std::fmt::Result {
        match gate {
            Gate::Choose { parts, .. } => self.write_call(f, "if", parts.as_ref()),
            Gate::Compare { comparison, left, right, .. } => {
                self.write(f, left, Binding::Sum)?;
                write!(f, " {} ", comparison.symbol())?;
                self.write(f, right, Binding::Sum)
            }
            Gate::Extreme { is_greatest, of, .. } => self.write_call(f, Gate::extreme(*is_greatest), of),
            Gate::LookUp { parts, .. } => self.write_call(f, "lookup", parts),
            Gate::Logic { first, runs } => {
                let place = if Binding::of(gate) == Binding::And { Binding::Not } else { Binding::And };
                self.write(f, first, place)?;
                for run in runs {
                    for term in &run.terms {
                        write!(f, " {} ", run.operation.name())?;
                        self.write(f, term, place)?;
                    }
                }
                Ok(())
            }
            Gate::Not { of, .. } => {
                f.write_str("not ")?;
                self.write(f, of, Binding::Not)
            }
        }
    }
}
