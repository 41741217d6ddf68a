// SPDX-License-Identifier: Apache-2.0
//! Tokens of join keys: what stands in the clear half of a table in the place of their values.
//!
//! A token is the value, encrypted so that equal values of one kind have equal tokens ([`hush_keys::TokenKey`]), as text. Numbers are compared in
//! units, so that `int(32)` and `decimal(9,0)` have the same tokens; texts are filled up to whole blocks of 16 bytes, so that tokens tell little of their
//! lengths. A missing value has no token.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int64Type, TimestampMicrosecondType};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hush_encode::arrow_type;
use hush_keys::{OwnerSeed, TokenKey};
use hush_plan::schema::Column;
use hush_plan::{ColumnType, Protection, Schema};
use hush_table::source::{ColumnData, RowBatch};

use crate::error::ClientError;

/// Texts are filled up to a multiple of so many bytes.
const BLOCK_BYTES: usize = 16;
/// Digits of decimals that eight bytes hold.
const NARROW_DIGITS: u8 = 18;
/// Ends a text before it is filled up with zeros.
const TEXT_END: u8 = 0x80;

/// The join keys of a table, with the keys of their tokens.
#[derive(Default)]
pub(crate) struct Tokens(Vec<(Column, TokenKey)>);

impl std::fmt::Debug for Tokens {
    /// Names of columns alone.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(column, _)| &column.name)).finish()
    }
}

impl Tokens {
    /// Those of a schema.
    pub(crate) fn of(owner: &OwnerSeed, schema: &Schema) -> Self {
        let of_column = |column: &Column| (column.clone(), owner.token_key(column.token_name()));
        Self(schema.protected(Protection::JoinKey).map(of_column).collect())
    }

    /// The join key of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.find(name).map(|(column, _)| column)
    }

    /// The name of the join key for whose name this is true.
    pub(crate) fn named(&self, is_it: impl Fn(&str) -> bool) -> Option<&str> {
        self.0.iter().map(|(column, _)| column.name.as_str()).find(|name| is_it(name))
    }

    /// What the tokens of a join key are of: where that is the same, equal values have equal tokens, in tables of one owner.
    pub(crate) fn of_what(&self, name: &str) -> Option<(&str, String)> {
        self.column(name).map(|column| (column.token_name(), header(column.kind)))
    }

    /// Whether two columns have equal tokens where they have equal values.
    pub(crate) fn are_alike(&self, one: &str, other: &str) -> bool {
        self.of_what(one).is_some_and(|found| Some(found) == self.of_what(other))
    }

    fn find(&self, name: &str) -> Option<&(Column, TokenKey)> {
        self.0.iter().find(|(column, _)| column.name == name)
    }

    /// The tokens of all join keys in a batch of this schema.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a batch without them.
    pub(crate) fn of_rows(
        &self,
        schema: &Schema,
        batch: &RowBatch,
    ) -> Result<BTreeMap<String, StringArray>, ClientError> {
        let columns = schema.columns.iter().zip(&batch.columns);
        let keys = columns.filter(|(column, _)| column.protect == Protection::JoinKey);
        let tokens = keys.map(|(column, data)| {
            let Some(ColumnData::Array(values)) = data else {
                return Err(ClientError::Internal { what: "a join key's data was not read" });
            };
            Ok((column.name.clone(), self.tokens(&column.name, values)?))
        });
        tokens.collect()
    }

    /// The tokens of values of a join key, of its Arrow type.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for another column or type.
    pub(crate) fn tokens(&self, name: &str, values: &ArrayRef) -> Result<StringArray, ClientError> {
        let other = || ClientError::Internal { what: "values of another type than their join key" };
        let (column, key) = self.find(name).ok_or_else(other)?;
        let values = plain(column.kind, values).ok_or_else(other)?;
        let tokens = key.tokens(header(column.kind).as_bytes(), values);
        Ok(tokens.into_iter().map(|token| token.map(|token| URL_SAFE_NO_PAD.encode(token))).collect())
    }

    /// The values of tokens of a join key, of its Arrow type.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for what is no token of it.
    pub(crate) fn values(&self, name: &str, tokens: &ArrayRef) -> Result<ArrayRef, ClientError> {
        let forged = || ClientError::Answer { what: format!("{name} has a token that is not yours") };
        let (column, key) = self.find(name).ok_or_else(forged)?;
        let texts = tokens.as_string_opt::<i32>().ok_or_else(forged)?;
        let decoded = texts.iter().map(|text| text.map(|text| URL_SAFE_NO_PAD.decode(text)).transpose());
        let decoded = decoded.collect::<Result<Vec<_>, _>>().map_err(|_| forged())?;
        let values = key.values(header(column.kind).as_bytes(), decoded).ok_or_else(forged)?;
        array(column.kind, &values).ok_or_else(forged)
    }
}

/// What values have in common whose tokens are compared.
fn header(kind: ColumnType) -> String {
    match kind {
        ColumnType::Bool => "truth".to_owned(),
        ColumnType::Category | ColumnType::Text => "text".to_owned(),
        ColumnType::Date => "date".to_owned(),
        // Of another width than other numbers, so that none is equal to one of these by its token.
        ColumnType::Decimal { precision, scale } if precision > NARROW_DIGITS => {
            format!("long number {scale}")
        }
        ColumnType::Decimal { scale, .. } => format!("number {scale}"),
        // No join key is one.
        ColumnType::Float { .. } => "float".to_owned(),
        ColumnType::Int { .. } => "number 0".to_owned(),
        ColumnType::Timestamp => "instant".to_owned(),
    }
}

/// The bytes of values: units in eight bytes, or sixteen for decimals of more than 18 digits.
fn plain(kind: ColumnType, values: &ArrayRef) -> Option<Vec<Option<Vec<u8>>>> {
    let unit = |unit: i64| unit.to_le_bytes().to_vec();
    if *values.data_type() != arrow_type(kind) {
        return None;
    }
    Some(match kind {
        ColumnType::Bool => {
            values.as_boolean().iter().map(|value| value.map(|value| unit(value.into()))).collect()
        }
        ColumnType::Category | ColumnType::Text => {
            values.as_string::<i32>().iter().map(|text| text.map(filled)).collect()
        }
        ColumnType::Date => {
            let days = values.as_primitive::<Date32Type>().iter();
            days.map(|days| days.map(|days| unit(days.into()))).collect()
        }
        ColumnType::Decimal { precision, .. } => {
            let units = values.as_primitive::<Decimal128Type>().iter();
            let bytes = |value: i128| match i64::try_from(value) {
                Ok(small) if precision <= NARROW_DIGITS => unit(small),
                _ => value.to_le_bytes().to_vec(),
            };
            units.map(|value| value.map(bytes)).collect()
        }
        ColumnType::Float { .. } => return None,
        ColumnType::Int { .. } => {
            values.as_primitive::<Int64Type>().iter().map(|value| value.map(unit)).collect()
        }
        ColumnType::Timestamp => {
            values.as_primitive::<TimestampMicrosecondType>().iter().map(|value| value.map(unit)).collect()
        }
    })
}

/// The array of [`plain`] bytes; `None` if they are of another kind.
fn array<T: AsRef<[u8]>>(kind: ColumnType, values: &[Option<T>]) -> Option<ArrayRef> {
    let units = || {
        let unit = |value: &Option<T>| match value {
            Some(value) => value.as_ref().try_into().ok().map(i64::from_le_bytes).map(Some),
            None => Some(None),
        };
        values.iter().map(unit)
    };
    let wide = |value: &T| {
        let bytes: Option<[u8; 16]> = value.as_ref().try_into().ok();
        let narrow: Option<[u8; 8]> = value.as_ref().try_into().ok();
        bytes.map(i128::from_le_bytes).or_else(|| narrow.map(|bytes| i64::from_le_bytes(bytes).into()))
    };
    Some(match kind {
        ColumnType::Bool => {
            let truths = units().map(|unit| unit.map(|unit| unit.map(|unit| unit != 0)));
            Arc::new(truths.collect::<Option<BooleanArray>>()?)
        }
        ColumnType::Category | ColumnType::Text => {
            let texts = values.iter().map(|value| match value {
                Some(value) => text_of(value.as_ref()).map(Some),
                None => Some(None),
            });
            Arc::new(StringArray::from(texts.collect::<Option<Vec<Option<&str>>>>()?))
        }
        ColumnType::Date => {
            let days = units().map(|unit| match unit? {
                Some(unit) => i32::try_from(unit).ok().map(Some),
                None => Some(None),
            });
            Arc::new(Date32Array::from(days.collect::<Option<Vec<_>>>()?))
        }
        ColumnType::Decimal { .. } => {
            let DataType::Decimal128(precision, scale) = arrow_type(kind) else { return None };
            let units =
                values.iter().map(|value| value.as_ref().map_or(Some(None), |value| wide(value).map(Some)));
            let units = Decimal128Array::from(units.collect::<Option<Vec<_>>>()?);
            Arc::new(units.with_precision_and_scale(precision, scale).ok()?)
        }
        ColumnType::Float { .. } => return None,
        ColumnType::Int { .. } => Arc::new(Int64Array::from(units().collect::<Option<Vec<_>>>()?)),
        ColumnType::Timestamp => {
            Arc::new(TimestampMicrosecondArray::from(units().collect::<Option<Vec<_>>>()?))
        }
    })
}

/// A text, its end, and zeros up to whole blocks.
fn filled(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(TEXT_END);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    bytes
}

/// The text that was filled up.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().rposition(|byte| *byte != 0)?;
    let (text, rest) = bytes.split_at_checked(end)?;
    (rest.first() == Some(&TEXT_END)).then(|| std::str::from_utf8(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use arrow::array::new_null_array;
    use hush_plan::schema::file::from_toml;

    use super::*;

    fn tokens(owner: &OwnerSeed, columns: &[(&str, &str, &str)]) -> Tokens {
        let column = |(name, kind, join): &(&str, &str, &str)| {
            format!(
                "[columns.{name}]\ntype = \"{kind}\"\nprotect = \"joinkey\"\njoin = \"{join}\"\nnullable = true\n"
            )
        };
        let columns: String = columns.iter().map(column).collect();
        Tokens::of(owner, &from_toml(&format!("format = 1\ntable = \"t\"\n{columns}")).unwrap())
    }

    /// Values of each type, at their ends and missing.
    #[test]
    fn tokens_open_to_their_values() {
        let owner = OwnerSeed::generate().unwrap();
        let int: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), None, Some(i64::MIN), Some(i64::MAX)]));
        let decimal = |precision, values: Vec<Option<i128>>| {
            Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, 2).unwrap())
        };
        let texts = vec![
            Some(""),
            None,
            Some("a"),
            Some("fifteen letters"),
            Some("sixteen letters!"),
            Some("ä\0\u{80}"),
        ];
        let all: Vec<(&str, ArrayRef)> = vec![
            ("int(64)", int),
            ("decimal(9,2)", decimal(9, vec![Some(-5), None, Some(999_999_999)])),
            (
                "decimal(38,2)",
                decimal(38, vec![Some(10_i128.pow(38) - 1), None, Some(1 - 10_i128.pow(38)), Some(7)]),
            ),
            ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
            ("date", Arc::new(Date32Array::from(vec![Some(-719_162), None, Some(2_932_896)]))),
            ("timestamp", Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None, Some(1 << 60)]))),
            ("category", Arc::new(StringArray::from(texts.clone()))),
            ("text", Arc::new(StringArray::from(texts))),
        ];
        for (kind, values) in all {
            let keys = tokens(&owner, &[("k", kind, "k")]);
            let made: ArrayRef = Arc::new(keys.tokens("k", &values).unwrap());
            assert_eq!(made.null_count(), 1, "{kind}");
            assert_eq!(&keys.values("k", &made).unwrap(), &values, "{kind}");
            let nothing = new_null_array(values.data_type(), 3);
            let made: ArrayRef = Arc::new(keys.tokens("k", &nothing).unwrap());
            assert_eq!(&keys.values("k", &made).unwrap(), &nothing, "{kind}");
        }
    }

    /// Equal where name and kind are, different where one of them is, or the owner.
    #[test]
    fn tokens_are_equal_where_they_should_be() {
        let (owner, other) = (OwnerSeed::generate().unwrap(), OwnerSeed::generate().unwrap());
        let columns = [
            ("a", "int(32)", "x"),
            ("b", "decimal(9,0)", "x"),
            ("c", "int(32)", "y"),
            ("d", "decimal(9,1)", "x"),
            ("e", "date", "x"),
            ("f", "decimal(38,0)", "x"),
        ];
        let keys = tokens(&owner, &columns);
        let token = |keys: &Tokens, name: &str| {
            let kind = arrow_type(keys.column(name).unwrap().kind);
            let one: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![5]));
            keys.tokens(name, &arrow::compute::cast(&one, &kind).unwrap()).unwrap().value(0).to_owned()
        };
        assert_eq!(token(&keys, "a"), token(&keys, "b"));
        assert!(keys.are_alike("a", "b"));
        for name in ["c", "d", "e", "f"] {
            assert_ne!(token(&keys, "a"), token(&keys, name), "{name}");
            assert!(!keys.are_alike("a", name), "{name}");
        }
        assert_ne!(token(&keys, "a"), token(&tokens(&other, &columns), "a"));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let keys = tokens(&OwnerSeed::generate().unwrap(), &[("k", "text", "k"), ("n", "int(8)", "k")]);
        let made = keys.tokens("k", &(Arc::new(StringArray::from(vec!["x"])) as ArrayRef)).unwrap();
        let mut longer = made.value(0).to_owned();
        longer.push('A');
        for forged in ["", "x", "not base64!", &longer, &made.value(0)[1..]] {
            let forged: ArrayRef = Arc::new(StringArray::from(vec![made.value(0), forged]));
            assert!(matches!(keys.values("k", &forged), Err(ClientError::Answer { .. })));
        }
        // A token of another kind.
        assert!(keys.values("n", &(Arc::new(made) as ArrayRef)).is_err());
    }
}
