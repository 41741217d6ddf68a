// SPDX-License-Identifier: Apache-2.0
//! Join keys of a schema file.

use toml::de::DeTable;

use super::super::{ColumnType, Protection};
use super::SchemaError;
use super::read::Reader;

impl Reader<'_> {
    /// The name of a join key's tokens. Join keys have exact values, and nothing is made of them beforehand.
    pub(super) fn join(
        &self,
        table: &DeTable<'_>,
        place: &str,
        (protect, kind): (Protection, ColumnType),
    ) -> Result<Option<String>, SchemaError> {
        let refused = |key: &'static str, expected: &'static str| match table.get(key) {
            Some(value) => Err(self.wrong(value, place, key, expected)),
            None => Ok(()),
        };
        if protect != Protection::JoinKey {
            return refused("join", "left out: it names the tokens of a join key, protect = \"joinkey\"")
                .map(|()| None);
        }
        if matches!(kind, ColumnType::Float { .. }) {
            refused("type", "of exact values for a join key: floats are not equal or different")?;
        }
        refused("for", "left out for a join key")?;
        let Some(value) = table.get("join") else { return Ok(None) };
        let name = value.get_ref().as_str().filter(|name| !name.is_empty());
        let name = name
            .ok_or_else(|| self.wrong(value, place, "join", "a name that columns of equal values share"))?;
        Ok(Some(name.to_owned()))
    }
}
