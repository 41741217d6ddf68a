// SPDX-License-Identifier: Apache-2.0
//! Aggregates of the values in their order, which the query engine does not have in this exactness. They keep all values of a group.
//!
//! | function | value, of `n` values in rising order, with `p = numerator / denominator` |
//! |---|---|
//! | `mode(x)` | the one that occurs most often; of several the least |
//! | `quantile_at(x, numerator, denominator, k)` | at place `⌊(n − 1)·p⌋ + k`, but at the last at most |
//! | `quantile_cont(x, numerator, denominator)` | between those at `⌊(n − 1)·p⌋` and the next one in proportion; doubles and timestamps |
//! | `quantile_disc(x, numerator, denominator, 0)` | at place `⌈n·p⌉ − 1`, but at the first at least; with 1 counted from the last |
//!
//! With one more argument each value stands for as many rows as that integer says.
//!
//! *Memory.* All values of all groups, within the memory of the session.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_comparator, new_empty_array};
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices, take};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
};

/// All of them.
pub fn functions() -> Vec<Arc<AggregateUDF>> {
    let function = |(name, kind, arguments)| {
        let signature = [arguments, arguments + 1].map(TypeSignature::Any).to_vec();
        let signature = Signature::one_of(signature, Volatility::Immutable);
        Arc::new(AggregateUDF::from(Function { name, kind, signature }))
    };
    [
        ("mode", Kind::Mode, 1),
        ("quantile_at", Kind::At, 4),
        ("quantile_cont", Kind::Cont, 3),
        ("quantile_disc", Kind::Disc, 4),
    ]
    .map(function)
    .to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    At,
    Cont,
    Disc,
    Mode,
}

impl Kind {
    /// Constants behind the values.
    fn given(self) -> usize {
        match self {
            Self::At | Self::Disc => 3,
            Self::Cont => 2,
            Self::Mode => 0,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if arguments.get(1 + self.kind.given()).is_some_and(|count| *count != DataType::Int64) {
            return exec_err!("{} of these arguments", self.name);
        }
        match (self.kind, arguments.first()) {
            (Kind::Cont, Some(kind @ (DataType::Float64 | DataType::Timestamp(..)))) => Ok(kind.clone()),
            (Kind::At | Kind::Disc | Kind::Mode, Some(kind)) => Ok(kind.clone()),
            _ => exec_err!("{} of these arguments", self.name),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Ordered {
            kind: self.kind,
            of: arguments.return_field.data_type().clone(),
            values: Vec::new(),
            counts: Vec::new(),
            bytes: 0,
            whole: 0,
            given: [0; 3],
        }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(arguments.return_field.data_type().clone(), true));
        let name = |part: &str| format_state_name(arguments.name, part);
        let given = ["numerator", "denominator", "further"];
        let given = given.map(|part| Arc::new(Field::new(name(part), DataType::Int64, true)));
        let values = Arc::new(Field::new(name("values"), DataType::List(item), true));
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let counts = Arc::new(Field::new(name("counts"), DataType::List(item), true));
        Ok([values, counts].into_iter().chain(given).collect())
    }
}

/// Slices of batches that a group holds at most.
const MOST_SLICES: usize = 32;

/// The values of a group.
#[derive(Debug)]
struct Ordered {
    kind: Kind,
    of: DataType,
    values: Vec<ArrayRef>,
    /// The rows for which each stands, as many arrays of the same lengths; none where each stands for one.
    counts: Vec<ArrayRef>,
    /// Of both.
    bytes: usize,
    /// How many of them are arrays of their own, before slices.
    whole: usize,
    /// Numerator, denominator, and the last argument.
    given: [i64; 3],
}

impl Ordered {
    fn keep(&mut self, values: &ArrayRef, counts: Option<&ArrayRef>) -> Result<()> {
        let is_known = is_not_null(values)?;
        let known = filter(values, &is_known)?;
        if known.is_empty() {
            return Ok(());
        }
        self.bytes += own_bytes(&known)?;
        self.values.push(known);
        if let Some(counts) = counts {
            let counts = filter(counts, &is_known)?;
            self.bytes += own_bytes(&counts)?;
            self.counts.push(counts);
        }
        // Slices hold the batch that they are of.
        if self.values.len() - self.whole > MOST_SLICES {
            for arrays in [&mut self.values, &mut self.counts] {
                let slices: Vec<ArrayRef> = arrays.drain(self.whole.min(arrays.len())..).collect();
                let slices: Vec<&dyn Array> = slices.iter().map(|slice| &**slice).collect();
                arrays.extend((!slices.is_empty()).then(|| concat(&slices)).transpose()?);
            }
            self.whole += 1;
        }
        Ok(())
    }

    /// Takes the constants from their columns.
    fn read_given(&mut self, columns: &[ArrayRef]) {
        for (given, column) in self.given.iter_mut().zip(columns) {
            let constant =
                column.as_primitive_opt::<Int64Type>().and_then(|column| column.iter().flatten().next());
            *given = constant.unwrap_or(*given);
        }
    }

    fn all(&self) -> Result<ArrayRef> {
        let values: Vec<&dyn Array> = self.values.iter().map(|values| &**values).collect();
        if values.is_empty() { Ok(new_empty_array(&self.of)) } else { Ok(concat(&values)?) }
    }

    fn all_counts(&self) -> Result<ArrayRef> {
        let counts: Vec<&dyn Array> = self.counts.iter().map(|counts| &**counts).collect();
        if counts.is_empty() { Ok(new_empty_array(&DataType::Int64)) } else { Ok(concat(&counts)?) }
    }

    /// The values in order, and the rows up to each.
    fn sorted(&self) -> Result<(ArrayRef, Rows)> {
        let values = self.all()?;
        let order = sort_to_indices(&values, Some(SortOptions::default()), None)?;
        let sorted = take(&values, &order, None)?;
        if self.counts.is_empty() {
            return Ok((sorted, Rows::Each(values.len())));
        }
        let counts = take(&self.all_counts()?, &order, None)?;
        let mut rows = 0_usize;
        let ends = counts.as_primitive::<Int64Type>().iter().map(|count| {
            rows = rows.saturating_add(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0));
            rows
        });
        Ok((sorted, Rows::Many(ends.collect())))
    }

    /// The place `⌊(n − 1)·p⌋` among `n` values, and the numerator of what is missing to `(n − 1)·p`.
    fn place(&self, count: usize) -> Result<(usize, i128)> {
        let [numerator, denominator, _] = self.given.map(i128::from);
        if denominator <= 0 || !(0..=denominator).contains(&numerator) {
            return exec_err!("a part of rows that is none");
        }
        let at = (count as i128 - 1) * numerator;
        Ok(((at / denominator) as usize, at % denominator))
    }
}

/// For each of some values in order the number of rows up to it.
enum Rows {
    /// A row for each.
    Each(usize),
    /// So many.
    Many(Vec<usize>),
}

impl Rows {
    /// All of them.
    fn count(&self) -> usize {
        match self {
            Self::Each(count) => *count,
            Self::Many(ends) => ends.last().copied().unwrap_or(0),
        }
    }

    /// The value of a row, counted from 0.
    fn value_of(&self, row: usize) -> usize {
        match self {
            Self::Each(_) => row,
            Self::Many(ends) => ends.partition_point(|end| *end <= row),
        }
    }

    /// The rows before a value.
    fn before(&self, value: usize) -> usize {
        match self {
            Self::Each(_) => value,
            Self::Many(ends) => value.checked_sub(1).and_then(|value| ends.get(value)).copied().unwrap_or(0),
        }
    }
}

impl Accumulator for Ordered {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some((values, rest)) = columns.split_first() else { return Ok(()) };
        let given = self.kind.given();
        self.read_given(rest.get(..given).unwrap_or_default());
        self.keep(values, rest.get(given))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, counts, given @ ..] = states else { return Ok(()) };
        self.read_given(given);
        let lists = values.as_list::<i32>().iter().zip(counts.as_list::<i32>().iter());
        for (values, counts) in lists {
            if let Some(values) = values {
                self.keep(&values, counts.as_ref().filter(|counts| counts.len() == values.len()))?;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |array| {
            let builder = datafusion::common::utils::SingleRowListArrayBuilder::new(array);
            ScalarValue::List(Arc::new(builder.build_list_array()))
        };
        Ok([list(self.all()?), list(self.all_counts()?)]
            .into_iter()
            .chain(self.given.map(ScalarValue::from))
            .collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (values, rows) = self.sorted()?;
        let count = rows.count();
        if count == 0 {
            return ScalarValue::try_from(&self.of);
        }
        let last = count - 1;
        let [_, denominator, further] = self.given.map(i128::from);
        let at = match self.kind {
            Kind::Mode => return ScalarValue::try_from_array(&values, most_frequent(&values, &rows)?),
            Kind::At => {
                let (place, _) = self.place(count)?;
                place.saturating_add(usize::try_from(further).unwrap_or(0)).min(last)
            }
            Kind::Disc => {
                self.place(count)?;
                let upto = (count as i128 * i128::from(self.given[0]) + denominator - 1) / denominator;
                let place = (upto.max(1) - 1) as usize;
                if further == 1 { last - place.min(last) } else { place.min(last) }
            }
            Kind::Cont => {
                let (place, behind) = self.place(count)?;
                let value = |row| ScalarValue::try_from_array(&values, rows.value_of(row));
                let ends = [place, (place + 1).min(last)].map(value);
                let [low, high] = ends;
                return between(low?, high?, (behind, denominator));
            }
        };
        ScalarValue::try_from_array(&values, rows.value_of(at))
    }

    fn size(&self) -> usize {
        size_of_val(self) + (self.values.len() + self.counts.len()) * size_of::<ArrayRef>() + self.bytes
    }
}

/// Bytes of the values of an array, whatever it is a slice of.
fn own_bytes(array: &ArrayRef) -> Result<usize> {
    Ok(array.to_data().get_slice_memory_size()?)
}

/// The value that lies `behind / whole` of the way from one to another; timestamps are rounded down.
fn between(low: ScalarValue, high: ScalarValue, (behind, whole): (i128, i128)) -> Result<ScalarValue> {
    use ScalarValue::{Float64, TimestampMicrosecond, TimestampNanosecond};
    let ticks = |low: i64, high: i64| {
        let apart = (i128::from(high) - i128::from(low)) * behind;
        (i128::from(low) + apart.div_euclid(whole)) as i64
    };
    Ok(match (&low, &high) {
        (Float64(Some(low)), Float64(Some(high))) => {
            let part = behind as f64 / whole as f64;
            Float64(Some(if behind == 0 { *low } else { low + (high - low) * part }))
        }
        (TimestampMicrosecond(Some(low), zone), TimestampMicrosecond(Some(high), _)) => {
            TimestampMicrosecond(Some(ticks(*low, *high)), zone.clone())
        }
        (TimestampNanosecond(Some(low), zone), TimestampNanosecond(Some(high), _)) => {
            TimestampNanosecond(Some(ticks(*low, *high)), zone.clone())
        }
        _ => return exec_err!("no value lies between these"),
    })
}

/// The place of the first of the values that occur most often, of some in order.
fn most_frequent(values: &ArrayRef, rows: &Rows) -> Result<usize> {
    let compare = make_comparator(values, values, SortOptions::default())?;
    let (mut best, mut first) = ((0, 0), 0);
    for at in 1..=values.len() {
        if at == values.len() || compare(first, at) != Ordering::Equal {
            let count = rows.before(at) - rows.before(first);
            if count > best.1 {
                best = (first, count);
            }
            first = at;
        }
    }
    Ok(best.0)
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    /// A thousand groups of a batch share its memory, and each counts its own values.
    #[test]
    fn slices_count_as_what_they_are() {
        let batch = Int64Array::from_iter_values(0..8192);
        let mut ordered = Ordered {
            kind: Kind::At,
            of: DataType::Int64,
            values: Vec::new(),
            counts: Vec::new(),
            bytes: 0,
            whole: 0,
            given: [1, 2, 0],
        };
        for place in 0..1000 {
            let slice: ArrayRef = Arc::new(batch.slice(place * 8, 8));
            ordered.keep(&slice, Some(&slice)).unwrap();
        }
        assert!((128_000..160_000).contains(&ordered.size()), "{}", ordered.size());
        assert!(ordered.values.len() < 100 && ordered.values.len() == ordered.counts.len());
        let all = ordered.all().unwrap();
        assert!(all.as_primitive::<Int64Type>().values().iter().copied().eq(0..8000));
    }
}
