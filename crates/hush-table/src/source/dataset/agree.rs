// SPDX-License-Identifier: Apache-2.0
//! Whether files have the same columns.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::Order;
use crate::source::{SourceColumn, SourceError, cells};

/// The columns that all files so far have, in the order of the first.
pub(super) struct SharedColumns {
    columns: Vec<SourceColumn>,
    /// For each column, a file that has it in the type that it has here.
    from: Vec<Arc<str>>,
    first: Arc<str>,
    /// The order of the file before, which the next one most often shares.
    order: Order,
}

impl SharedColumns {
    pub(super) fn new(first: &Arc<str>, columns: &[SourceColumn]) -> Self {
        Self {
            columns: columns.to_vec(),
            from: vec![first.clone(); columns.len()],
            first: first.clone(),
            order: None,
        }
    }

    /// The first file.
    pub(super) fn first(&self) -> &str {
        &self.first
    }

    /// Takes the columns of the next file, which may widen types; gives where they stand in it.
    pub(super) fn admit(&mut self, file: &Arc<str>, found: &[SourceColumn]) -> Result<Order, SourceError> {
        let order = self.order(file, found)?;
        for (i, (column, from)) in self.columns.iter_mut().zip(&mut self.from).enumerate() {
            let position = order.as_ref().map_or(Some(i), |order| order.get(i).copied());
            let Some(other) = position.and_then(|position| found.get(position)) else { continue };
            if column.kind == other.kind {
                continue;
            }
            let wider = match (&column.kind, &other.kind) {
                (Some(kind), Some(other)) => wider(kind, other),
                _ => None,
            };
            let text =
                |kind: &Option<DataType>| kind.as_ref().map(ToString::to_string).unwrap_or_default().into();
            let wider = wider.ok_or_else(|| SourceError::OtherType {
                column: column.name.clone(),
                file: file.as_ref().into(),
                found: text(&other.kind),
                first: from.as_ref().into(),
                expected: text(&column.kind),
            })?;
            if Some(&wider) == other.kind.as_ref() {
                *from = file.clone();
            }
            column.kind = Some(wider);
        }
        Ok(order)
    }

    /// The columns in types that hold those of every file.
    pub(super) fn finish(self) -> Vec<SourceColumn> {
        let columns = self.columns.into_iter().map(|column| SourceColumn {
            unsupported: column.kind.as_ref().and_then(cells::unsupported),
            declared: column.kind.as_ref().and_then(cells::declared),
            ..column
        });
        columns.collect()
    }

    /// Where the columns stand in a file.
    fn order(&mut self, file: &Arc<str>, found: &[SourceColumn]) -> Result<Order, SourceError> {
        let is_same = |order: &[usize]| {
            let mut places = self.columns.iter().zip(order);
            order.len() == found.len()
                && places.all(|(column, at)| found.get(*at).is_some_and(|found| found.name == column.name))
        };
        if found.iter().map(|column| &column.name).eq(self.columns.iter().map(|column| &column.name)) {
            return Ok(None);
        }
        if let Some(order) = self.order.as_ref().filter(|order| is_same(order)) {
            return Ok(Some(order.clone()));
        }
        let place = |name: &str| found.iter().position(|column| column.name == name);
        let is_known = |name: &str| self.columns.iter().any(|column| column.name == name);
        let order: Vec<Option<usize>> = self.columns.iter().map(|column| place(&column.name)).collect();
        let absent = self.columns.iter().zip(&order).filter(|(_, at)| at.is_none());
        let absent: Vec<String> = absent.map(|(column, _)| column.name.clone()).collect();
        let more = found.iter().filter(|column| !is_known(&column.name));
        let more: Vec<String> = more.map(|column| column.name.clone()).collect();
        if !absent.is_empty() || !more.is_empty() {
            let (file, first) = (file.to_string(), self.first.to_string());
            return Err(SourceError::OtherColumns { file, first, absent, more });
        }
        self.order = Some(order.into_iter().flatten().collect());
        Ok(self.order.clone())
    }
}

/// The type that holds every value of two types as it is; `None` if there is none.
fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    let (a, b) = (cells::plain(a)?, cells::plain(b)?);
    Some(match (&a, &b) {
        _ if a == b => a,
        (T::Null, _) => b,
        (_, T::Null) => a,
        (T::Float32, T::Float64) | (T::Float64, T::Float32) => T::Float64,
        (T::Decimal128(_, _), T::Decimal128(_, _)) => {
            let (of_a, of_b) = (digits(&a)?, digits(&b)?);
            let (whole, scale) = ((of_a.0 - of_a.1).max(of_b.0 - of_b.1), of_a.1.max(of_b.1));
            let precision = whole + scale;
            if precision > 38 {
                return None;
            }
            T::Decimal128(precision, scale.cast_signed())
        }
        _ => match (integer(&a)?, integer(&b)?) {
            ((signed_a, bits_a), (signed_b, bits_b)) if signed_a == signed_b => {
                if bits_a < bits_b {
                    b
                } else {
                    a
                }
            }
            ((true, signed), (false, unsigned)) | ((false, unsigned), (true, signed)) => {
                match signed.max(unsigned * 2) {
                    16 => T::Int16,
                    32 => T::Int32,
                    64 => T::Int64,
                    _ => return None,
                }
            }
            _ => return None,
        },
    })
}

/// Precision and scale of a decimal.
fn digits(kind: &DataType) -> Option<(u8, u8)> {
    let DataType::Decimal128(precision, scale) = kind else { return None };
    Some((*precision, scale.unsigned_abs()))
}

/// Of an integer whether it has a sign, and its bits.
fn integer(kind: &DataType) -> Option<(bool, u8)> {
    use DataType as T;
    Some(match kind {
        T::Int8 => (true, 8),
        T::Int16 => (true, 16),
        T::Int32 => (true, 32),
        T::Int64 => (true, 64),
        T::UInt8 => (false, 8),
        T::UInt16 => (false, 16),
        T::UInt32 => (false, 32),
        T::UInt64 => (false, 64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use DataType as T;
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn a_wider_type_holds_all_values_of_both() {
        let dictionary = T::Dictionary(Box::new(T::Int32), Box::new(T::Utf8));
        let nanos = T::Timestamp(TimeUnit::Nanosecond, None);
        for (a, b, expected) in [
            (T::Int8, T::Int64, Some(T::Int64)),
            (T::Int32, T::UInt8, Some(T::Int32)),
            (T::Int8, T::UInt8, Some(T::Int16)),
            (T::Int16, T::UInt32, Some(T::Int64)),
            (T::Int64, T::UInt64, None),
            (T::UInt16, T::UInt32, Some(T::UInt32)),
            (T::Float32, T::Float64, Some(T::Float64)),
            (T::Float16, T::Float32, Some(T::Float32)),
            (T::Int32, T::Float64, None),
            (T::Decimal128(10, 2), T::Decimal128(9, 4), Some(T::Decimal128(12, 4))),
            (T::Decimal128(38, 0), T::Decimal128(38, 2), None),
            (T::Null, T::Utf8, Some(T::Utf8)),
            (T::LargeUtf8, dictionary, Some(T::Utf8)),
            (T::Date32, T::Date64, None),
            (nanos, T::Timestamp(TimeUnit::Microsecond, None), None),
            (T::Utf8, T::Int32, None),
        ] {
            assert_eq!(wider(&a, &b), expected, "{a} {b}");
            assert_eq!(wider(&b, &a), expected, "{b} {a}");
        }
    }
}
