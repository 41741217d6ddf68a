// SPDX-License-Identifier: Apache-2.0
//! The choice among proposals, by predicted time at a site, and the list of what was weighed.

use super::Planner;
use crate::error::PlanError;
use crate::limits::{Shown, WayName};
use crate::plan::Task;
use crate::predict::{ASSUMED_GROUPS, Price, Site};
use crate::report::{Turn, Way};
use crate::ways::Proposal;

/// How much quicker rows that come back have to be than sums of a server, beyond what every query takes. Predictions are hardly better.
const CLEARLY: f64 = 1.3;

/// Rows of tables for which ways are compared, to find where they are even.
const SIZES: [u64; 10] = {
    let mut sizes = [64; 10];
    let mut place = 1;
    while place < sizes.len() {
        sizes[place] = 4 * sizes[place - 1];
        place += 1;
    }
    sizes
};

/// The proposals that are taken.
pub(super) struct Picked {
    pub(super) taken: Proposal,
    /// For more groups than [`Cost::max_groups`](crate::report::Cost::max_groups) of what is taken.
    pub(super) instead: Option<Proposal>,
    /// The ways that were weighed; empty where there was only one.
    pub(super) ways: Vec<Way>,
    /// The price of what is taken.
    pub(super) price: Price,
}

impl Planner<'_> {
    /// Picks, by the time for as many groups as are assumed where nobody knows.
    ///
    /// Where sums are the quickest and there are groups, they are for as many groups as they are quicker for, and rows that come back
    /// for more.
    ///
    /// # Errors
    /// [`PlanError::NoWay`] for no proposals; those of [`Site::price`].
    pub(super) fn pick(&self, proposals: Vec<Proposal>) -> Result<Picked, PlanError> {
        let priced = proposals.into_iter().map(|proposal| Ok((self.price(&proposal, self.site)?, proposal)));
        let mut priced = best_of_each(self.site.link, priced.collect::<Result<_, PlanError>>()?);
        let best = self.quickest(&priced);
        let seconds = |price: &Price| price.seconds(self.site.link);
        let of_rows = priced.iter().enumerate().filter(|(_, (price, proposal))| {
            let comes_back = matches!(proposal.name, WayName::Gather | WayName::Fetch);
            comes_back && price.bytes_down <= self.limits.max_answer_bytes
        });
        let second = of_rows.min_by(|(_, (one, _)), (_, (other, _))| seconds(one).total_cmp(&seconds(other)));
        let second = second.map(|(place, _)| place);
        let is_sums = priced.get(best).is_some_and(|(_, proposal)| match &proposal.task {
            Task::Aggregate(task) => !task.keys.is_empty(),
            Task::Products(task) => !task.keys.is_empty(),
            Task::Rows(_) => false,
        });
        let second = second.filter(|_| is_sums);
        if let Some(second) = second {
            self.split(&mut priced, best, second)?;
        }
        let ways = self.weighed(&priced, best)?;
        let price = priced.get(best).map(|(price, _)| *price);
        let mut proposals: Vec<Option<Proposal>> =
            priced.into_iter().map(|(_, proposal)| Some(proposal)).collect();
        let mut take = |place: usize| proposals.get_mut(place).and_then(Option::take);
        let none = PlanError::NoWay { wanted: None, why: None, found: Vec::new(), shown: Shown::default() };
        let (taken, price) = take(best).zip(price).ok_or(none)?;
        Ok(Picked { taken, instead: second.and_then(take), ways, price })
    }

    /// The place of the least time; of equals the first. Rows that come back have to be clearly quicker than what a server adds up.
    fn quickest(&self, priced: &[(Price, Proposal)]) -> usize {
        let is_summed = priced.iter().any(|(_, proposal)| proposal.name == WayName::Sum);
        // Where nothing is added up, rows come back by every way.
        let is_computed = |proposal: &Proposal| {
            matches!(proposal.name, WayName::Cube | WayName::Filter | WayName::Group | WayName::Sum)
        };
        let comes_back = |proposal: &Proposal| is_summed && !is_computed(proposal);
        let seconds = |price: &Price| price.seconds(self.site.link);
        let least = |of_rows: bool| {
            let some = priced.iter().enumerate().filter(|(_, (_, proposal))| comes_back(proposal) == of_rows);
            some.min_by(|(_, (a, _)), (_, (b, _))| seconds(a).total_cmp(&seconds(b)))
        };
        match (least(false), least(true)) {
            (Some((place, (computed, _))), Some((instead, (back, _)))) => {
                let is_small = back.bytes_down <= self.limits.max_answer_bytes;
                let beyond = |price| (seconds(price) - self.site.profile.once_s()).max(0.0);
                if is_small && beyond(back) * CLEARLY < beyond(computed) { instead } else { place }
            }
            (computed, back) => computed.or(back).map_or(0, |(place, _)| place),
        }
    }

    /// Limits sums to as many groups as they are quicker for than rows that come back. Nobody knows the number beforehand.
    fn split(&self, priced: &mut [(Price, Proposal)], sums: usize, second: usize) -> Result<(), PlanError> {
        let Some((_, rows)) = priced.get_mut(second) else { return Ok(()) };
        rows.owner.after_sums = true;
        let comma = if rows.name == WayName::Gather { "" } else { " groups," };
        rows.what = format!("with more{comma} {}", rows.what);
        let price = self.price(rows, self.site)?;
        if let Some((old, _)) = priced.get_mut(second) {
            *old = price;
        }
        let Some((_, sums)) = priced.get_mut(sums) else { return Ok(()) };
        let seconds = |groups| Ok(self.price_for(sums, self.site, groups)?.seconds(self.site.link));
        let most = groups_worth_summing(sums.cost.max_groups, price.seconds(self.site.link), seconds)?;
        sums.cost.max_groups = most;
        match &mut sums.task {
            Task::Aggregate(task) => task.max_groups = most,
            Task::Products(task) => task.max_groups = most,
            Task::Rows(_) => {}
        }
        sums.what = format!("up to {most} groups {}", sums.what);
        Ok(())
    }

    /// The list of ways, with the one at `best` taken.
    fn weighed(&self, priced: &[(Price, Proposal)], best: usize) -> Result<Vec<Way>, PlanError> {
        let (Some((price, taken)), true) = (priced.get(best), priced.len() > 1) else {
            return Ok(Vec::new());
        };
        let curve = |proposal| if self.limits.compares { self.by_rows(proposal) } else { Ok(Vec::new()) };
        let by_rows = curve(taken)?;
        let ways = priced.iter().enumerate().map(|(place, (other, proposal))| {
            let is_other = place != best;
            let even_rows = even_rows(&by_rows, &curve(proposal)?, self.site.shape.rows());
            Ok(Way {
                name: proposal.name,
                what: proposal.what.clone(),
                seconds: other.seconds(self.site.link),
                server_s: other.server_s,
                link_s: other.link_s(self.site.link),
                owner_s: other.owner_s,
                bytes_down: other.bytes_down,
                tells: proposal.tells.clone(),
                even_link: even_link(price, other).filter(|_| is_other),
                even_rows: even_rows.filter(|_| is_other),
                taken: place == best,
            })
        });
        ways.collect()
    }

    /// Seconds of a proposal on tables of [`SIZES`].
    fn by_rows(&self, proposal: &Proposal) -> Result<Vec<(u64, f64)>, PlanError> {
        let now = self.site.shape.rows().max(1);
        let priced = SIZES.map(|rows| {
            // Clear halves grow with the rows.
            let clear_bytes = (u128::from(proposal.clear_bytes) * u128::from(rows) / u128::from(now)) as u64;
            let site = self.site.of_size(rows);
            let mut price = self.price(proposal, &site)?;
            price.bytes_down = (price.bytes_down - proposal.clear_bytes) + clear_bytes;
            Ok((rows, price.seconds(self.site.link)))
        });
        priced.into_iter().collect()
    }

    /// The price of a proposal for as many groups as are assumed.
    pub(super) fn price(&self, proposal: &Proposal, site: &Site) -> Result<Price, PlanError> {
        let groups = match &proposal.task {
            Task::Products(task) if task.keys.is_empty() => 1,
            Task::Aggregate(_) | Task::Products(_) => {
                self.limits.known_groups.unwrap_or(ASSUMED_GROUPS).min(proposal.cost.max_groups)
            }
            Task::Rows(_) => 1,
        };
        self.price_for(proposal, site, groups)
    }

    /// The price of a proposal for so many groups.
    fn price_for(&self, proposal: &Proposal, site: &Site, groups: u64) -> Result<Price, PlanError> {
        let server = self.server(proposal.task.clone(), proposal.filter.as_ref());
        let mut price = site.price(&server, &proposal.owner, &self.public, groups)?;
        price.bytes_down += proposal.clear_bytes;
        let rounds = proposal.owner.search.as_ref().filter(|search| search.round.is_none());
        let rounds = rounds.map(|search| search.rounds);
        let rounds = match &proposal.owner.matching {
            None => rounds.unwrap_or(1),
            // Of rows that match there may be more than the first question tells apart: then a second one, or another way, answers.
            Some(_) => rounds.unwrap_or(0) + 2,
        };
        Ok(price.times(rounds as u64))
    }
}

/// Bytes per second at which the other becomes quicker.
fn even_link(one: &Price, other: &Price) -> Option<Turn> {
    let bytes = |price: &Price| (price.bytes_up + price.bytes_down) as f64;
    let computing = |price: &Price| price.server_s + price.owner_s;
    let at = (bytes(other) - bytes(one)) / (computing(one) - computing(other));
    let is_speed = at.is_finite() && (1.0..1e12).contains(&at);
    is_speed.then_some(Turn { at, above: bytes(other) > bytes(one) })
}

/// Rows at which the other becomes quicker: where the difference of two curves changes its sign, as near as possible to `now`.
fn even_rows(one: &[(u64, f64)], other: &[(u64, f64)], now: u64) -> Option<Turn> {
    let differences = one.iter().zip(other).map(|((rows, one), (_, other))| (*rows as f64, one - other));
    let differences: Vec<(f64, f64)> = differences.collect();
    let turns = differences.windows(2).filter_map(|pair| match pair {
        [(low, before), (high, after)] if (*before < 0.0) != (*after < 0.0) => {
            let at = low + (high - low) * before / (before - after);
            Some(Turn { at: at.round(), above: *after > 0.0 })
        }
        _ => None,
    });
    let distance = |turn: &Turn| (turn.at.ln() - (now.max(1) as f64).ln()).abs();
    turns.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Of proposals that are described alike the quickest, in the place of the first.
fn best_of_each(link: Option<f64>, priced: Vec<(Price, Proposal)>) -> Vec<(Price, Proposal)> {
    let mut best: Vec<(Price, Proposal)> = Vec::new();
    for (price, proposal) in priced {
        match best.iter_mut().find(|(_, other)| other.what == proposal.what) {
            Some(other) if price.seconds(link) < other.0.seconds(link) => *other = (price, proposal),
            Some(_) => {}
            None => best.push((price, proposal)),
        }
    }
    best
}

/// Largest number of groups, at most `most`, for which sums are the quicker way. At least the number that is assumed where nobody knows, so that
/// few groups never take a second question.
///
/// # Errors
/// Those of `seconds`, the predicted time for so many groups.
fn groups_worth_summing(
    most: u64,
    gathered: f64,
    seconds: impl Fn(u64) -> Result<f64, PlanError>,
) -> Result<u64, PlanError> {
    let (mut low, mut high) = (ASSUMED_GROUPS.min(most), most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if seconds(middle)? <= gathered {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}
