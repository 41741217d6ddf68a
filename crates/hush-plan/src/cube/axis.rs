// SPDX-License-Identifier: Apache-2.0
//! A dimension of a cube worked out: the cell of each value, and a value of each cell.

use super::CubeFault;
use crate::quantity::CellValues;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::units::{civil_from_days, column_bounds, days_from_civil, type_bounds};
use crate::schema::{ColumnType, Protection, Schema};

/// Microseconds of a day.
const DAY_MICROS: i128 = 86_400_000_000;

/// A dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The column.
    pub column: String,
    /// Its values in cells.
    places: Places,
    /// Whether missing values have a cell, the last one.
    nullable: bool,
    grain: Grain,
    kind: ColumnType,
    /// Whether its cells are told apart for places of the order alone (`crate::filter`).
    pub(crate) is_searched: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Places {
    /// Each number from `low` on.
    Each {
        low: i128,
        count: u64,
    },
    /// Runs of numbers, each from one of these to the next, the last to `high`.
    Runs {
        starts: Vec<i128>,
        high: i128,
    },
    Texts(Vec<String>),
}

/// A value of a cell, which stands for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// No value.
    Missing,
    /// A number in units; of several the least.
    Units(i128),
    /// A text.
    Text(&'a str),
}

impl Axis {
    /// Works a dimension out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn of(schema: &Schema, dimension: &Dimension) -> Result<Self, CubeFault> {
        let Dimension { column: name, grain } = dimension;
        let column = schema.columns.iter().find(|column| column.name == *name);
        let column = column.ok_or_else(|| CubeFault::NoColumn { column: name.clone() })?;
        if matches!(column.protect, Protection::Drop | Protection::JoinKey) {
            return Err(CubeFault::NotStored { column: name.clone() });
        }
        let (kind, bounds) = (column.kind, column_bounds(column));
        let is_float = matches!(kind, ColumnType::Float { .. });
        let is_fixed = !is_float || (column.protect == Protection::Encrypt && column.range.is_some());
        let places = match (grain, bounds) {
            (Grain::Texts(texts), _) if type_bounds(kind).is_none() && !is_float => {
                if texts.is_empty() {
                    return Err(CubeFault::NoValues { column: name.clone() });
                }
                if (1..texts.len()).any(|place| texts[..place].contains(&texts[place])) {
                    return Err(CubeFault::Twice { column: name.clone() });
                }
                Places::Texts(texts.clone())
            }
            (_, None) if !is_float => return Err(CubeFault::NoValues { column: name.clone() }),
            (_, None) => return Err(CubeFault::Uncounted { column: name.clone() }),
            (Grain::Texts(_), Some(_)) => return Err(CubeFault::Bins { column: name.clone() }),
            _ if !is_fixed => return Err(CubeFault::Uncounted { column: name.clone() }),
            (Grain::Calendar | Grain::Each | Grain::Equality, Some(bounds)) => {
                let count = bounds.high.abs_diff(bounds.low).saturating_add(1);
                // More than a cube may have is told with the other dimensions.
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                Places::Each { low: bounds.low, count }
            }
            (Grain::Bins(bins), Some(bounds)) => {
                let rises = bins.windows(2).all(|pair| pair[0] < pair[1]);
                let is_within = bins.iter().all(|bin| bounds.low < *bin && *bin <= bounds.high);
                if bins.is_empty() || !rises || !is_within {
                    return Err(CubeFault::Bins { column: name.clone() });
                }
                let starts = std::iter::once(bounds.low).chain(bins.iter().copied()).collect();
                Places::Runs { starts, high: bounds.high }
            }
            (Grain::Month | Grain::Quarter | Grain::Year, Some(bounds)) => {
                let day = match kind {
                    ColumnType::Date => 1,
                    ColumnType::Timestamp => DAY_MICROS,
                    _ => {
                        let word = Grain::WORDS.into_iter().find(|(_, known)| known == grain);
                        let grain = word.map_or("", |(word, _)| word);
                        return Err(CubeFault::Grain { column: name.clone(), grain });
                    }
                };
                let months = grain.months();
                let starts = calendar_starts(bounds.low.div_euclid(day), bounds.high.div_euclid(day), months);
                let starts = starts.into_iter().map(|start| (start * day).max(bounds.low)).collect();
                Places::Runs { starts, high: bounds.high }
            }
        };
        let is_of_values = matches!(grain, Grain::Calendar | Grain::Equality);
        let grain = if is_of_values { Grain::Each } else { grain.clone() };
        Ok(Self { column: name.clone(), places, nullable: column.nullable, grain, kind, is_searched: false })
    }

    /// Cells, that of missing values among them.
    pub fn len(&self) -> usize {
        let values = match &self.places {
            Places::Each { count, .. } => usize::try_from(*count).unwrap_or(usize::MAX),
            Places::Runs { starts, .. } => starts.len(),
            Places::Texts(texts) => texts.len(),
        };
        values.saturating_add(usize::from(self.nullable))
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell of missing values.
    pub fn cell_of_missing(&self) -> Option<usize> {
        self.nullable.then(|| self.len() - 1)
    }

    /// The cell of a number in units.
    pub fn cell_of_units(&self, units: i128) -> Option<usize> {
        match &self.places {
            Places::Each { low, count } => {
                let place = usize::try_from(units.checked_sub(*low)?).ok()?;
                (place < self.len() && (place as u64) < *count).then_some(place)
            }
            Places::Runs { starts, high } if units <= *high => {
                starts.partition_point(|start| *start <= units).checked_sub(1)
            }
            Places::Runs { .. } | Places::Texts(_) => None,
        }
    }

    /// The cell of a text.
    pub fn cell_of_text(&self, text: &str) -> Option<usize> {
        match &self.places {
            Places::Texts(texts) => texts.iter().position(|known| known == text),
            Places::Each { .. } | Places::Runs { .. } => None,
        }
    }

    /// What stands for a cell.
    pub fn place(&self, cell: usize) -> Place<'_> {
        match &self.places {
            _ if self.cell_of_missing() == Some(cell) => Place::Missing,
            Places::Each { low, .. } => Place::Units(low + cell as i128),
            Places::Runs { starts, .. } => {
                starts.get(cell).map_or(Place::Missing, |start| Place::Units(*start))
            }
            Places::Texts(texts) => texts.get(cell).map_or(Place::Missing, |text| Place::Text(text)),
        }
    }

    /// The values that are a cell.
    pub fn values(&self, cell: usize) -> CellValues {
        match (self.place(cell), &self.places) {
            (Place::Missing, _) => CellValues::Missing,
            (Place::Text(text), _) => CellValues::Text(text.to_owned()),
            (Place::Units(low), Places::Runs { starts, high }) => {
                let high = starts.get(cell + 1).map_or(*high, |next| next - 1);
                CellValues::Between { low, high }
            }
            (Place::Units(units), _) => CellValues::Between { low: units, high: units },
        }
    }

    /// The first and the last number of a cell, in units.
    pub(crate) fn bounds(&self, cell: usize) -> Option<(i128, i128)> {
        match self.values(cell) {
            CellValues::Between { low, high } => Some((low, high)),
            CellValues::Missing | CellValues::Text(_) => None,
        }
    }

    /// The type of its column.
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Whether each cell is one value.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self.places, Places::Runs { .. })
    }

    /// Whether another dimension has the same cells.
    pub(super) fn has_form_of(&self, other: &Self) -> bool {
        (&self.places, self.nullable, self.kind) == (&other.places, other.nullable, other.kind)
    }

    /// How its values make cells.
    pub(super) fn grain(&self) -> &Grain {
        &self.grain
    }

    /// Whether a cell begins at a number, or none does above it or below.
    pub(super) fn begins_at(&self, units: i128) -> bool {
        match &self.places {
            Places::Runs { starts, high } => {
                units > *high
                    || starts.first().is_some_and(|first| units <= *first)
                    || starts.contains(&units)
            }
            Places::Each { .. } | Places::Texts(_) => true,
        }
    }
}

impl Grain {
    /// Months of a cell.
    pub(super) fn months(&self) -> i64 {
        match self {
            Self::Quarter => 3,
            Self::Year => 12,
            _ => 1,
        }
    }
}

/// The days on which months, quarters or years begin, from that of one day to that of another.
fn calendar_starts(low: i128, high: i128, months: i64) -> Vec<i128> {
    let (year, month, _) = civil_from_days(i64::try_from(low).unwrap_or_default());
    let mut next = year * 12 + (month - 1);
    next -= next.rem_euclid(months);
    let mut starts = Vec::new();
    while let Some(day) = days_from_civil(next.div_euclid(12), next.rem_euclid(12) + 1, 1).map(i128::from)
        && day <= high
    {
        starts.push(day);
        next += months;
    }
    starts
}
