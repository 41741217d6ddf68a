// SPDX-License-Identifier: Apache-2.0
//! What all elements share, taken out of functions of whole vectors, which are linear.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use crate::tree::{Function, Node, check_bits};
use crate::value::{Values, value};
use crate::{Expression, Ratio};

/// Most terms that a function may become.
const MAX_TERMS: usize = 64;
/// Most pieces that all functions may have then: inside one another they would grow as a power of their number.
const MAX_PIECES: u64 = 4096;

/// Places of factors, rising, each as often as it is one.
type Monomial = Vec<usize>;
/// The coefficients of monomials; none is 0.
type Polynomial = BTreeMap<Monomial, Ratio>;

impl Expression {
    /// An expression of the same value on vectors of so many elements, with what all of them share in front of functions: `mean((x - mean(x))^2)` is `mean(x^2) - mean(x)^2`.
    /// A function stays as it is where it has no such factor, or would become more than 64 terms, or all of them more than 4096 pieces.
    pub fn with_shared_in_front(&self, length: usize) -> Self {
        let root = Taker { names: self.names(), length, factors: Vec::new(), pieces: 0 }.node(self.root());
        Self::of(root, self.names().to_vec())
    }
}

/// A factor that is not taken apart.
struct Factor {
    /// Positions differ where texts do not.
    text: String,
    node: Node,
    /// Its pieces.
    size: u64,
    is_shared: bool,
}

struct Taker<'a> {
    names: &'a [String],
    length: usize,
    factors: Vec<Factor>,
    /// Pieces that functions have become so far.
    pieces: u64,
}

impl Taker<'_> {
    fn node(&mut self, node: &Node) -> Node {
        let inner = node.map_parts(&mut |part| Ok::<_, std::convert::Infallible>(self.node(part)));
        let Ok(node) = inner;
        match &node {
            Node::Call { function, arguments, position } if !node.has_locals() => {
                self.call(*function, arguments, *position).unwrap_or(node)
            }
            _ => node,
        }
    }

    /// The sum of what a function becomes, if it has a shared factor.
    fn call(&mut self, function: Function, arguments: &[Node], position: usize) -> Option<Node> {
        let polynomial = self.product(arguments)?;
        let is_shared = |factor: &usize| self.factors.get(*factor).is_some_and(|factor| factor.is_shared);
        let mut factors = polynomial.keys().flatten().peekable();
        if factors.peek().is_some() && !factors.any(is_shared) {
            return None;
        }
        let size_of = |monomial: &Monomial| {
            let sizes = monomial.iter().filter_map(|factor| Some(self.factors.get(*factor)?.size));
            sizes.fold(0, u64::saturating_add)
        };
        self.pieces = polynomial.keys().map(size_of).fold(self.pieces, u64::saturating_add);
        if self.pieces > MAX_PIECES {
            return None;
        }
        let of = if function == Function::Mean { Function::Mean } else { Function::Sum };
        let mut terms = Vec::with_capacity(polynomial.len());
        for (monomial, coefficient) in &polynomial {
            let (shared, own): (Monomial, Monomial) = monomial.iter().partition(|factor| is_shared(factor));
            let of_nothing = match of {
                Function::Mean => Ratio::one(),
                _ => Ratio::from(BigInt::from(self.length)),
            };
            let scale = if own.is_empty() { coefficient * &of_nothing } else { coefficient.clone() };
            let mut factors: Vec<Node> =
                shared.iter().map(|factor| self.factors[*factor].node.clone()).collect();
            if !own.is_empty() {
                let arguments = vec![self.monomial(&own)];
                factors.push(Node::Call { function: of, arguments, position });
            }
            if scale != Ratio::one() || factors.is_empty() {
                factors.insert(0, Node::Number(scale));
            }
            terms.push(joined(factors, Node::Product));
        }
        Some(joined(terms, Node::Sum))
    }

    /// A product of factors, equal ones as a power.
    fn monomial(&self, monomial: &[usize]) -> Node {
        let equal = monomial.chunk_by(|a, b| a == b);
        let power = |run: &[usize]| {
            let base = self.factors[run[0]].node.clone();
            match u32::try_from(run.len()) {
                Ok(exponent) if exponent > 1 => Node::Power(Box::new(base), exponent),
                _ => base,
            }
        };
        joined(equal.map(power).collect(), Node::Product)
    }

    /// `None` for what is no polynomial of its factors, or has too many terms.
    fn polynomial(&mut self, node: &Node) -> Option<Polynomial> {
        let constant = |number: Ratio| {
            if number.is_zero() { Polynomial::new() } else { BTreeMap::from([(Monomial::new(), number)]) }
        };
        match node {
            Node::Local(_) => None,
            node if node.is_constant() => value(node, &mut Values::new(&[])).ok().map(constant),
            Node::Negative(of) => {
                let of = self.polynomial(of)?;
                Some(of.into_iter().map(|(monomial, number)| (monomial, -number)).collect())
            }
            Node::Sum(terms) => terms.iter().try_fold(Polynomial::new(), |sum, term| {
                let term = self.polynomial(term)?;
                Some(added(sum, term))
            }),
            Node::Product(factors) => self.product(factors),
            Node::Power(of, exponent) if *exponent as usize <= MAX_TERMS => {
                let of = self.polynomial(of)?;
                (0..*exponent).try_fold(constant(Ratio::one()), |power, _| multiplied(&power, &of))
            }
            Node::Power(..) | Node::Reciprocal { .. } => None,
            Node::Call { .. } | Node::Gate(_) | Node::Name(_) | Node::Number(_) | Node::Repeat(_) => {
                Some(BTreeMap::from([(vec![self.factor(node)], Ratio::one())]))
            }
        }
    }

    fn product(&mut self, factors: &[Node]) -> Option<Polynomial> {
        let one = BTreeMap::from([(Monomial::new(), Ratio::one())]);
        factors.iter().try_fold(one, |product, factor| multiplied(&product, &self.polynomial(factor)?))
    }

    /// The place of a factor.
    fn factor(&mut self, node: &Node) -> usize {
        let expression = Expression::of(node.clone(), self.names.to_vec());
        let text = expression.to_string();
        self.factors.iter().position(|known| known.text == text).unwrap_or_else(|| {
            let is_shared = expression.is_one_value();
            self.factors.push(Factor { text, node: node.clone(), size: node.unrolled(), is_shared });
            self.factors.len() - 1
        })
    }
}

fn added(mut sum: Polynomial, other: Polynomial) -> Polynomial {
    for (monomial, number) in other {
        let total = &sum.remove(&monomial).unwrap_or_else(Ratio::zero) + &number;
        if !total.is_zero() {
            sum.insert(monomial, total);
        }
    }
    sum
}

fn multiplied(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    let mut product = Polynomial::new();
    for (left, factor) in a {
        let of_term = b.iter().map(|(right, number)| {
            let mut monomial: Monomial = left.iter().chain(right).copied().collect();
            monomial.sort_unstable();
            let number = factor * number;
            check_bits(number.bits()).ok()?;
            Some((monomial, number))
        });
        product = added(product, of_term.collect::<Option<_>>()?);
        if product.len() > MAX_TERMS {
            return None;
        }
    }
    Some(product)
}

/// Nodes as one: of one it is that, of none 0.
fn joined(mut nodes: Vec<Node>, join: fn(Vec<Node>) -> Node) -> Node {
    match nodes.len() {
        0 => Node::Number(Ratio::zero()),
        1 => nodes.swap_remove(0),
        _ => join(nodes),
    }
}
