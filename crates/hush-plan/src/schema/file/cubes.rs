// SPDX-License-Identifier: Apache-2.0
//! Reading the cubes of a schema file, and the sums by hidden values, which are written alike.

use toml::de::{DeTable, DeValue};

use super::super::cube::{Cube, Dimension, Grain};
use super::super::{Column, Schema};
use super::SchemaError;
use super::read::{Reader, SCHEMA, Value, bound_units};

/// Most cubes of a table.
const MAX_CUBES: usize = 64;

impl Reader<'_> {
    /// The cubes or groups that stand under a key. Whether there can be such, [`crate::cube::check`] and [`crate::one_hot::check`] say.
    pub(super) fn cubes(
        &self,
        value: &Value<'_>,
        key: &'static str,
        schema: &Schema,
    ) -> Result<Vec<Cube>, SchemaError> {
        let expected = "up to 64 of { by = [\"ward\"], sum = [\"charges\"] }";
        let wrong = || self.wrong(value, SCHEMA, key, expected);
        let items = value.get_ref().as_array().filter(|items| items.len() <= MAX_CUBES).ok_or_else(wrong)?;
        let cube = |item: &Value<'_>| {
            let table = item.get_ref().as_table().ok_or_else(wrong)?;
            self.cube(table, key, schema)
        };
        items.iter().map(cube).collect()
    }

    /// The columns of conditions. Whether there can be such, [`crate::filter::check`] says.
    pub(super) fn filters(&self, value: &Value<'_>, schema: &Schema) -> Result<Vec<Dimension>, SchemaError> {
        let wrong = || {
            let expected =
                format!("up to {MAX_CUBES} columns, [{{ column = \"ward\", values = [\"A\", \"B\"] }}]");
            self.wrong(value, SCHEMA, "filter", expected)
        };
        let items = value.get_ref().as_array().filter(|items| items.len() <= MAX_CUBES).ok_or_else(wrong)?;
        items.iter().map(|item| self.dimension(item, schema)).collect()
    }

    fn cube(&self, table: &DeTable<'_>, key: &str, schema: &Schema) -> Result<Cube, SchemaError> {
        // Sums by hidden values are made for each row and have no cells that rows could fill.
        let keys: &[&str] = if key == "cubes" { &["by", "max_cell_rows", "sum"] } else { &["by", "sum"] };
        self.known_keys(table, keys, "a cube")?;
        let dimensions = table.get("by").map(|value| {
            let items = value.get_ref().as_array();
            let expected = "a list of columns, of months such as \"month(admitted)\", or of { column, bins } and { column, values }";
            let items = items.ok_or_else(|| self.wrong(value, "a cube", "by", expected))?;
            items.iter().map(|item| self.dimension(item, schema)).collect()
        });
        let sum = table.get("sum").map(|value| self.texts(value, "a cube", "sum")).transpose()?;
        let most = table.get("max_cell_rows").map(|value| self.rows(value, "a cube", "max_cell_rows"));
        let (by, sum) = (dimensions.transpose()?.unwrap_or_default(), sum.unwrap_or_default());
        Ok(Cube { by, sum, max_cell_rows: most.transpose()? })
    }

    fn dimension(&self, item: &Value<'_>, schema: &Schema) -> Result<Dimension, SchemaError> {
        let expected =
            "a column, or { column = \"age\", bins = [18, 40] }, or { column = \"ward\", values = [\"A\"] }";
        let wrong = || self.wrong(item, "a cube", "by", expected);
        if let Some(text) = item.get_ref().as_str() {
            return Ok(Dimension::named(schema, text));
        }
        let table = item.get_ref().as_table().ok_or_else(wrong)?;
        self.known_keys(table, &["bins", "column", "values"], "a dimension")?;
        let column = self.text_of(table.get("column").ok_or_else(wrong)?, "a dimension", "column")?;
        let grain = match (table.get("bins"), table.get("values")) {
            (None, None) => Grain::Each,
            (Some(bins), None) => {
                let known = schema.columns.iter().find(|known| known.name == column);
                let units = |known: &Column, bin: &DeValue<'_>| bound_units(bin, known.kind);
                let bins = bins.get_ref().as_array().zip(known).and_then(|(bins, known)| {
                    bins.iter().map(|bin| units(known, bin.get_ref())).collect::<Option<_>>()
                });
                Grain::Bins(bins.ok_or_else(wrong)?)
            }
            (None, Some(values)) => Grain::Texts(self.texts(values, "a dimension", "values")?),
            (Some(_), Some(_)) => return Err(wrong()),
        };
        Ok(Dimension { column, grain })
    }
}
