// SPDX-License-Identifier: Apache-2.0
//! Doubles from JSON, each the nearest to its decimals: the reader's own may be the one beside it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// For `deserialize_with`.
pub(super) fn double<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    parsed(&Box::<RawValue>::deserialize(deserializer)?)
}

/// For `deserialize_with`.
pub(super) fn doubles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let texts = Vec::<Box<RawValue>>::deserialize(deserializer)?;
    texts.iter().map(|text| parsed(text)).collect()
}

fn parsed<E: Error>(text: &RawValue) -> Result<f64, E> {
    text.get().parse().map_err(|_| E::custom("no number"))
}
