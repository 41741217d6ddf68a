// SPDX-License-Identifier: Apache-2.0
//! What the owner allows a query: sizes, one way of answering it, and what it may show the server.

use serde::Serialize;

/// Limits that the owner sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most groups of an answer.
    pub max_groups: u64,
    /// How many groups there are at most, if the asker knows; else a few are assumed when ways are weighed.
    pub known_groups: Option<u64>,
    /// Most bytes of an answer.
    pub max_answer_bytes: u64,
    /// The way that is taken; `None` for the one that is predicted to be quickest.
    pub way: Option<WayName>,
    /// What no way may show the server, beside what the schema does not allow.
    pub hide: Shown,
    /// Whether to find for how many rows and which links other ways become quicker. It takes as long as planning, and only people read it.
    pub compares: bool,
    /// Whether it is to be one question, whose answer says everything. Other ways ask again.
    pub at_once: bool,
    /// Most rows of a slot that the first question for rows which match an encrypted condition tells apart; 0 for no such question. Where there are more, a
    /// second one does.
    pub rows_of_slot: u8,
}

impl Default for Limits {
    /// 10,000 groups and 1 GiB, any way.
    fn default() -> Self {
        Self {
            max_groups: 10_000,
            known_groups: None,
            max_answer_bytes: 1 << 30,
            way: None,
            hide: Shown::default(),
            compares: false,
            at_once: false,
            rows_of_slot: 4,
        }
    }
}

/// The ways to answer a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WayName {
    /// The server adds up the cells of a cube, and the owner answers on them.
    Cube,
    /// The server evaluates a condition on encrypted columns, and adds up what it leaves.
    Filter,
    /// The server adds up sums by hidden values, and the owner answers on them.
    Group,
    /// Blocks of a sorted run go back, and the owner answers on them and on what its index says of the others.
    Order,
    /// The server adds ciphertexts up.
    Sum,
    /// One result for each row, which the server or the owner evaluates.
    Rows,
    /// The rows of encrypted quantities go back, and the owner groups them.
    Gather,
    /// Columns go back, and the owner puts the whole question to them.
    Fetch,
}

impl WayName {
    /// All of them, in the order in which they are weighed.
    pub const ALL: [Self; 8] = [
        Self::Cube,
        Self::Group,
        Self::Order,
        Self::Filter,
        Self::Sum,
        Self::Rows,
        Self::Gather,
        Self::Fetch,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cube => "cube",
            Self::Filter => "filter",
            Self::Group => "group",
            Self::Order => "order",
            Self::Sum => "sum",
            Self::Rows => "rows",
            Self::Gather => "gather",
            Self::Fetch => "fetch",
        }
    }

    /// The way of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// What a question shows the server beside the columns that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Facet {
    /// The constants in it.
    Constants,
    /// Which rows or blocks it reads, so that a question asked again is known again.
    Pattern,
    /// How many rows match, or are in a group.
    Sizes,
}

impl Facet {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Constants, Self::Pattern, Self::Sizes];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constants => "constants",
            Self::Pattern => "pattern",
            Self::Sizes => "sizes",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.name() == name)
    }
}

/// A set of facets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown(u8);

impl Shown {
    /// All facets.
    pub const ALL: Self = Self(0b111);

    /// Whether this one is among them.
    pub fn has(self, facet: Facet) -> bool {
        self.0 & (1 << facet as u8) != 0
    }

    /// Those of either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of both sets.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are not in the set.
    #[must_use]
    pub fn others(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// They, in the order of [`Facet::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Facet> {
        Facet::ALL.into_iter().filter(move |facet| self.has(*facet))
    }
}

impl FromIterator<Facet> for Shown {
    fn from_iter<I: IntoIterator<Item = Facet>>(facets: I) -> Self {
        Self(facets.into_iter().fold(0, |set, facet| set | 1 << facet as u8))
    }
}
