// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush alter`.

use std::path::PathBuf;

use clap::Args;
use hush::{Alteration, Column, Purpose};
use hush_terminal::size;

use super::{KeyArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Alter {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The outcome as one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Most memory that the program may take, for instance 64MB (the key included: see keygen --opens-in)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// What is altered, each as often as needed; nothing, to go on with an alteration that was interrupted.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// A column to add, as a schema file has it: 'weight = { type = "int(16)", range = [0, 500], protect = "encrypt" }'. Rows that are
    /// there have NULL in it
    #[arg(long, value_name = "COLUMN", value_parser = column)]
    pub(crate) add: Vec<Column>,
    /// A column to drop; files may go on having it
    #[arg(long, value_name = "NAME")]
    pub(crate) drop: Vec<String>,
    /// A column to rename
    #[arg(long, value_name = "OLD=NEW", value_parser = names)]
    pub(crate) rename: Vec<(String, String)>,
    /// A column with a wider range, for instance load=0..5000
    #[arg(long, value_name = "NAME=LOW..HIGH", value_parser = range)]
    pub(crate) range: Vec<(String, [String; 2])>,
    /// A column with further purposes, for instance load=variance,product
    #[arg(long = "for", value_name = "NAME=PURPOSE,...", value_parser = purposes)]
    pub(crate) purposes: Vec<(String, Vec<Purpose>)>,
    /// Encrypted columns whose product is to be summed, for instance price,quantity
    #[arg(long, value_name = "NAME,NAME", value_parser = list)]
    pub(crate) product: Vec<List>,
    /// Columns among which COVAR, CORR and regressions are to be asked for
    #[arg(long, value_name = "NAME,NAME", value_parser = list)]
    pub(crate) moments: Vec<List>,
    /// An expression to be added up under conditions without keys, for instance 'price * discount'
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) measure: Vec<String>,
}

impl ChangeArgs {
    /// The alteration that they ask for.
    pub(crate) fn alteration(&self) -> Alteration {
        let lists = |lists: &[List]| lists.iter().map(|list| list.0.clone()).collect();
        Alteration {
            drop: self.drop.clone(),
            rename: self.rename.clone(),
            add: self.add.clone(),
            widen: self.range.clone(),
            purposes: self.purposes.clone(),
            products: lists(&self.product),
            moments: lists(&self.moments),
            measures: self.measure.clone(),
        }
    }
}

/// Names that a comma separates.
#[derive(Clone, Debug)]
pub(crate) struct List(Vec<String>);

fn column(text: &str) -> Result<Column, String> {
    hush::column_of_text(text).map_err(|error| error.to_string())
}

/// The name in front of the last `=`, and what is behind it.
fn named<'a>(text: &'a str, form: &str) -> Result<(String, &'a str), String> {
    let (name, rest) = text.rsplit_once('=').ok_or_else(|| format!("expected {form}"))?;
    if name.is_empty() { Err(format!("expected {form}")) } else { Ok((name.trim().to_owned(), rest.trim())) }
}

fn names(text: &str) -> Result<(String, String), String> {
    let (from, to) = named(text, "OLD=NEW")?;
    if to.is_empty() || from.contains('=') {
        return Err("expected OLD=NEW, names without =".to_owned());
    }
    Ok((from, to.to_owned()))
}

fn range(text: &str) -> Result<(String, [String; 2]), String> {
    let form = "NAME=LOW..HIGH";
    let (name, range) = named(text, form)?;
    let (low, high) = range.split_once("..").ok_or_else(|| format!("expected {form}"))?;
    Ok((name, [low, high].map(|bound| bound.trim().to_owned())))
}

fn purposes(text: &str) -> Result<(String, Vec<Purpose>), String> {
    let (name, listed) = named(text, "NAME=PURPOSE,...")?;
    let purpose = |text: &str| {
        let all = || Purpose::ALL.map(Purpose::name).join(", ");
        let found = Purpose::ALL.into_iter().find(|purpose| purpose.name() == text.trim());
        found.ok_or_else(|| format!("{text:?} is none of {}", all()))
    };
    Ok((name, listed.split(',').map(purpose).collect::<Result<_, _>>()?))
}

fn list(text: &str) -> Result<List, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() < 2 || names.contains(&String::new()) {
        return Err("expected two names or more, with commas between them".to_owned());
    }
    Ok(List(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written() {
        assert_eq!(names("a = b").unwrap(), ("a".to_owned(), "b".to_owned()));
        assert_eq!(range("x=-5..1e9").unwrap(), ("x".to_owned(), ["-5".to_owned(), "1e9".to_owned()]));
        assert_eq!(range("born=1900-01-01..2100-12-31").unwrap().1[1], "2100-12-31");
        assert_eq!(purposes("x=variance, sum").unwrap().1, [Purpose::Variance, Purpose::Sum]);
        assert_eq!(list("a, b").unwrap().0, ["a", "b"]);
        let refused = [
            names("a").is_err(),
            names("=b").is_err(),
            names("a=").is_err(),
            names("a=b=c").is_err(),
            range("x=5").is_err(),
            range("5..6").is_err(),
            purposes("x=sums").is_err(),
            purposes("x=").is_err(),
            list("a").is_err(),
            list("a,").is_err(),
            column("x").is_err(),
            column("x = { type = \"int(16)\" }").is_err(),
        ];
        assert_eq!(refused, [true; 12]);
    }
}
