// SPDX-License-Identifier: Apache-2.0
//! Orders, conditions and choices.

use super::digit::{BASE, Digit, Integer};
use super::engine::Engine;
use super::program::Outcomes;
use crate::TfheError;

/// How two numbers compare, as a digit.
const EQUAL: u64 = 0;
const LESS: u64 = 1;
const GREATER: u64 = 2;

impl Engine<'_> {
    /// Bits that tell where integers compare as wanted, for each element.
    ///
    /// # Method
    /// Each pair of digits tells its order, or two digits together where the other side is a constant. Orders are joined in pairs: the higher one counts, unless it is equal. The highest
    /// digit of signed integers has its upper bit turned, which puts negative ones first. Where equality alone is wanted, differences are added up.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn compare(
        &mut self,
        (left, right): (&[Integer], &[Integer]),
        when: Outcomes,
        is_signed: bool,
    ) -> Result<Vec<Digit>, TfheError> {
        let (left, right) = (self.cleaned(left)?, self.cleaned(right)?);
        if left.is_empty() {
            return Ok(Vec::new());
        }
        if when.less == when.equal && when.equal == when.greater {
            return Ok(vec![Digit::constant(u64::from(when.less)); left.len()]);
        }
        let wants_equality = when.is_equality();
        let mut orders =
            self.orders((&left, &right), is_signed, |order, groups| match (wants_equality, groups) {
                (true, _) => u64::from(order != EQUAL),
                (false, 1) => when.tells(order),
                _ => order,
            })?;
        if wants_equality {
            let differs = self.any(orders)?;
            return differs
                .iter()
                .map(|differs| if when.equal { differs.taken_from(1) } else { Ok(differs.clone()) })
                .collect();
        }
        let joined = self.look_up(|pair| if pair / BASE == EQUAL { pair % BASE } else { pair / BASE })?;
        let last =
            self.look_up(|pair| when.tells(if pair / BASE == EQUAL { pair % BASE } else { pair / BASE }))?;
        while let Some(left) = orders.first().map(Vec::len).filter(|left| *left > 1) {
            let is_last = left == 2;
            let mut jobs = Vec::new();
            for pair in orders.iter().flat_map(|orders| orders.chunks(2)) {
                if let [high, low] = pair {
                    jobs.push((high.beside(low)?, if is_last { &last } else { &joined }));
                }
            }
            let mut found = self.apply(&jobs)?.into_iter();
            for orders in &mut orders {
                let pairs = orders.len() / 2;
                let odd = orders.drain(..).nth(2 * pairs);
                orders.extend(found.by_ref().take(pairs).chain(odd));
            }
        }
        Ok(orders.into_iter().flatten().collect())
    }

    /// For each element what is told of the order of each group of digits, the highest first. It is told of an order, and of how many groups there are.
    fn orders(
        &mut self,
        (left, right): (&[Integer], &[Integer]),
        is_signed: bool,
        told: impl Fn(u64, usize) -> u64,
    ) -> Result<Vec<Vec<Digit>>, TfheError> {
        // Constants are those of a program, and so the same for all elements.
        let constant = right.first().filter(|_| right.iter().all(Integer::is_known));
        let width = if constant.is_some() { 2 } else { 1 };
        let digits = left.first().map_or(0, |integer| integer.0.len());
        let groups = digits.div_ceil(width);
        let (mut sums, mut look_ups) = (Vec::new(), Vec::with_capacity(groups));
        for group in (0..groups).rev() {
            let places = group * width..((group + 1) * width).min(digits);
            let turned = if is_signed && group + 1 == groups { BASE.pow(places.len() as u32) / 2 } else { 0 };
            let order = |x: u64, y: u64| match (x ^ turned).cmp(&(y ^ turned)) {
                std::cmp::Ordering::Less => told(LESS, groups),
                std::cmp::Ordering::Equal => told(EQUAL, groups),
                std::cmp::Ordering::Greater => told(GREATER, groups),
            };
            look_ups.push(match constant {
                Some(constant) => {
                    let known =
                        places.clone().rev().fold(0, |sum, place| sum * BASE + known_at(constant, place));
                    self.look_up(|x| order(x, known))?
                }
                None => self.look_up(|pair| order(pair / BASE, pair % BASE))?,
            });
            for (a, b) in left.iter().zip(right) {
                let own = match &a.0[places.clone()] {
                    [low, high] => high.beside(low)?,
                    [only] => only.clone(),
                    _ => Digit::constant(0),
                };
                sums.push(if constant.is_some() { own } else { own.beside(&b.0[places.start])? });
            }
        }
        let of_group = |(place, sum): (usize, Digit)| (sum, &look_ups[place / left.len().max(1)]);
        let jobs: Vec<_> = sums.into_iter().enumerate().map(of_group).collect();
        let found = self.apply(&jobs)?;
        let of_element =
            |element: usize| found.iter().skip(element).step_by(left.len().max(1)).cloned().collect();
        Ok((0..left.len()).map(of_element).collect())
    }

    /// Whether any bit of each list is 1.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn any(&mut self, lists: Vec<Vec<Digit>>) -> Result<Vec<Digit>, TfheError> {
        let some = self.look_up(|sum| u64::from(sum > 0))?;
        self.in_groups(lists, |_| &some)
    }

    /// Whether all bits of each list are 1.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn all(&mut self, lists: Vec<Vec<Digit>>) -> Result<Vec<Digit>, TfheError> {
        let of_count =
            (0..=self.limit().1 as u64).map(|count| self.look_up(move |sum| u64::from(sum >= count)));
        let of_count = of_count.collect::<Result<Vec<_>, _>>()?;
        self.in_groups(lists, |count| &of_count[count.min(of_count.len() - 1)])
    }

    /// Whether an odd number of bits of each list is 1.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn odd(&mut self, lists: Vec<Vec<Digit>>) -> Result<Vec<Digit>, TfheError> {
        let parity = self.look_up(|sum| sum % 2)?;
        self.in_groups(lists, |_| &parity)
    }

    /// Looks up sums of as many bits as fit, and sums of what comes of it, until one bit is left.
    fn in_groups<'l>(
        &mut self,
        mut lists: Vec<Vec<Digit>>,
        look_up: impl Fn(usize) -> &'l super::engine::LookUp,
    ) -> Result<Vec<Digit>, TfheError> {
        let most = self.limit().1 as usize;
        while lists.iter().any(|list| list.len() > 1) {
            let mut jobs = Vec::new();
            for group in lists.iter().flat_map(|list| list.chunks(most)).filter(|group| group.len() > 1) {
                let mut sum = Digit::constant(0);
                group.iter().try_for_each(|bit| sum.add_scaled(bit, 1))?;
                jobs.push((sum, look_up(group.len())));
            }
            let mut found = self.apply(&jobs)?.into_iter();
            for list in &mut lists {
                let next = |group: &[Digit]| match group {
                    [only] => Some(only.clone()),
                    _ => found.next(),
                };
                *list = list.chunks(most).filter_map(next).collect();
            }
        }
        Ok(lists.into_iter().flatten().collect())
    }

    /// For each element the first where the bit is 1, and the second where it is 0.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn choose(
        &mut self,
        bits: &[Digit],
        (then, otherwise): (&[Integer], &[Integer]),
    ) -> Result<Vec<Integer>, TfheError> {
        let (then, otherwise) = (self.cleaned(then)?, self.cleaned(otherwise)?);
        let known = |constant: u64, is_then: bool| {
            move |pair: u64| if (pair / BASE == 1) == is_then { pair % BASE } else { constant }
        };
        // What is looked up of a digit beside the bit, where the other is a constant; the sum of both where none is.
        let mut tables = Vec::new();
        for constant in 0..BASE {
            tables.push([self.look_up(known(constant, false))?, self.look_up(known(constant, true))?]);
        }
        let (mut jobs, mut shapes) = (Vec::new(), Vec::new());
        for ((bit, then), otherwise) in bits.iter().zip(&then).zip(&otherwise) {
            for (a, b) in then.0.iter().zip(&otherwise.0) {
                let before = jobs.len();
                match (a.known(), b.known()) {
                    (Some(a), Some(b)) if a == b => {}
                    (Some(one), _) => jobs.push((bit.beside(b)?, &tables[one as usize][0])),
                    (_, Some(other)) => jobs.push((bit.beside(a)?, &tables[other as usize][1])),
                    (None, None) => {
                        jobs.push((bit.beside(a)?, &tables[0][1]));
                        jobs.push((bit.beside(b)?, &tables[0][0]));
                    }
                }
                shapes.push((jobs.len() - before, a.clone(), a.most.max(b.most)));
            }
        }
        let mut found = self.apply(&jobs)?.into_iter();
        let digits = then.first().map_or(0, |integer| integer.0.len());
        let mut chosen = Vec::with_capacity(shapes.len());
        for (parts, same, most) in shapes {
            let mut sum = if parts == 0 { same } else { Digit::constant(0) };
            for part in found.by_ref().take(parts) {
                sum.add_scaled(&part, 1)?;
            }
            // One of two parts is 0.
            sum.most = sum.most.min(most);
            chosen.push(sum);
        }
        Ok(chosen.chunks(digits.max(1)).map(|digits| Integer(digits.to_vec())).collect())
    }
}

impl Outcomes {
    /// 1 for an order that is wanted, 0 for another.
    fn tells(self, order: u64) -> u64 {
        u64::from(match order {
            EQUAL => self.equal,
            LESS => self.less,
            _ => self.greater,
        })
    }
}

/// The digit of a constant; 0 for what is none.
fn known_at(integer: &Integer, place: usize) -> u64 {
    integer.0.get(place).and_then(Digit::known).unwrap_or(0)
}
