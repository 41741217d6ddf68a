// SPDX-License-Identifier: Apache-2.0
//! Names that come from outside and become path components. Whatever parses here cannot leave its directory.

use hush_plan::schema::is_table_name;
use hush_protocol::job::ID_HEX_DIGITS;
use hush_protocol::path::{CLEAR, CUBES, DEAD, ENCRYPTED, KEY, RUNS, ZONES};
use hush_table::{FileKind, PartName};
use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Code};

/// A table's name: 1 to 64 of `a-z 0-9 _ -`, starting with a letter, a digit or `_`.
///
/// Case does not distinguish tables; the lower-case form is kept and names the directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableName(String);

impl TableName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`Code::BadName`] for anything else than described above.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        if is_table_name(text) { Ok(Self(text.to_ascii_lowercase())) } else { Err(Code::BadName.into()) }
    }

    /// The table whose directory or prefix has this name; `None` for names that no table has.
    pub fn of_stored(name: &str) -> Option<Self> {
        Self::parse(name).ok().filter(|table| table.0 == name)
    }

    /// The lower-case name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses the name of a part as routes spell it: `{digest}.clear`, `{digest}.enc`, `{digest}.key`,
/// `{digest}.zones`, `{digest}.dead`, `{digest}.cubes` or `{digest}.runs`.
///
/// # Errors
/// [`Code::BadName`].
pub fn parse_part(text: &str) -> Result<PartName, ApiError> {
    let (digest, kind) = match text.split_once('.') {
        Some((digest, CLEAR)) => (digest, FileKind::Clear),
        Some((digest, ENCRYPTED)) => (digest, FileKind::Encrypted),
        Some((digest, KEY)) => (digest, FileKind::Key),
        Some((digest, ZONES)) => (digest, FileKind::Zones),
        Some((digest, DEAD)) => (digest, FileKind::Dead),
        Some((digest, CUBES)) => (digest, FileKind::Cubes),
        Some((digest, RUNS)) => (digest, FileKind::Runs),
        _ => return Err(Code::BadName.into()),
    };
    Ok(PartName::new(kind, digest.parse().map_err(|_| Code::BadName)?))
}

/// Identifies a job: 128 random bits in hex.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

impl JobId {
    /// A fresh id.
    ///
    /// # Errors
    /// [`Code::Internal`] if the operating system gives no randomness.
    pub fn fresh() -> Result<Self, ApiError> {
        let mut bytes = [0_u8; ID_HEX_DIGITS / 2];
        getrandom::fill(&mut bytes).map_err(|_| Code::Internal)?;
        Ok(Self(hush_table::to_hex(&bytes)))
    }

    /// The id of the job under an `Idempotency-Key`, where nothing but the job's own place remembers keys.
    pub fn of_key(key: &[u8]) -> Self {
        let hash = blake3::derive_key("hushtable 2026-11 job of an idempotency key", key);
        let hex = hush_table::to_hex(&hash);
        Self(hex.chars().take(ID_HEX_DIGITS).collect())
    }

    /// Parses an id.
    ///
    /// # Errors
    /// [`Code::BadName`] unless it is 32 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        if is_lower_hex(text, ID_HEX_DIGITS) { Ok(Self(text.to_owned())) } else { Err(Code::BadName.into()) }
    }

    /// The id in hex.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is read back from a file is parsed as what comes from outside.
macro_rules! parsed_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = ApiError;

            fn try_from(text: String) -> Result<Self, ApiError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

parsed_text!(TableName);
parsed_text!(JobId);

fn is_lower_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_stay_in_their_directory() {
        for good in ["patients", "a", "_x", "2023-visits", "Ward_7"] {
            assert!(TableName::parse(good).is_ok(), "{good}");
        }
        assert_eq!(TableName::parse("Ward_7").unwrap().as_str(), "ward_7");
        assert_eq!(TableName::of_stored("ward_7"), TableName::parse("Ward_7").ok());
        assert_eq!(TableName::of_stored("Ward_7").or(TableName::of_stored("..")), None);
        let long = "a".repeat(65);
        for bad in ["", ".", "..", "a/b", "a\\b", "a.b", "-rf", "a b", "ä", "a\0", "%2e%2e", long.as_str()] {
            assert!(TableName::parse(bad).is_err(), "{bad:?}");
            let stored = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<TableName>(&stored).is_err(), "{bad:?}");
        }
        assert_eq!(serde_json::from_str::<TableName>("\"Ward_7\"").unwrap().as_str(), "ward_7");
    }

    #[test]
    fn part_names_are_read_and_all_else_is_refused() {
        let digest = "0123456789abcdef".repeat(4);
        let files = ["clear.parquet", "enc.parquet", "key", "zones.parquet", "dead", "cubes", "runs"];
        let endings = ["clear", "enc", "key", "zones", "dead", "cubes", "runs"];
        for (kind, (ending, file)) in FileKind::ALL.into_iter().zip(endings.into_iter().zip(files)) {
            let part = parse_part(&format!("{digest}.{ending}")).unwrap();
            assert_eq!(part, PartName::new(kind, digest.parse().unwrap()));
            assert_eq!(part.file_name(), format!("{digest}.{file}"));
            assert_eq!(PartName::of_file(&part.file_name()), Some(part));
        }
        let upper = digest.to_uppercase();
        for bad in [
            digest.clone(),
            format!("{digest}.parquet"),
            format!("{upper}.enc"),
            format!("{}.enc", &digest[1..]),
            format!("../{digest}.enc"),
            format!("{digest}.enc/.."),
        ] {
            assert!(parse_part(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn job_ids_are_fresh_and_strict() {
        let (one, other) = (JobId::fresh().unwrap(), JobId::fresh().unwrap());
        assert_ne!(one, other);
        let keyed = JobId::of_key(b"a key");
        assert_eq!(
            (JobId::parse(keyed.as_str()).unwrap(), JobId::of_key(b"a key")),
            (keyed.clone(), keyed.clone())
        );
        assert_ne!(keyed, JobId::of_key(b"another"));
        assert_eq!(JobId::parse(one.as_str()).unwrap(), one);
        assert_eq!(serde_json::from_str::<JobId>(&serde_json::to_string(&one).unwrap()).unwrap(), one);
        for bad in ["", "..", "0123", &one.as_str().to_uppercase().replace(char::is_numeric, "A")] {
            assert!(JobId::parse(bad).is_err(), "{bad}");
            let stored = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<JobId>(&stored).is_err(), "{bad}");
        }
    }
}
