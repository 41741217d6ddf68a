// SPDX-License-Identifier: Apache-2.0
//! Fixed-size identifiers that are text in manifests: BLAKE3 digests and table numbers, in lowercase hex.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Domain of the names of jobs.
const JOB_DOMAIN: &[u8] = b"hushtable job\0";

/// A BLAKE3 digest; names part files and manifests. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// 16 random bytes that a table keeps over all its versions. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId([u8; 16]);

/// A device: the first half of the BLAKE3 of its verifying key. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId([u8; 16]);

/// 16 random bytes of one encryption of a table. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EncryptionId([u8; 16]);

/// 16 random bytes of the cubes of one part. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CubesId([u8; 16]);

/// 16 random bytes of the sorted runs of one part. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunsId([u8; 16]);

/// A name that an owner gives to a secret of which a table has evaluation keys: 16 bytes that say nothing about it. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretId([u8; 16]);

/// A job of many tasks that encrypt with one device's key: the first 8 bytes of the BLAKE3 of its name. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId([u8; 8]);

/// 4 random bytes of one run of a job. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId([u8; 4]);

/// 16 bytes: random ones that a device's spool keeps, or those of a task, [`StreamId::of_task`]. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId([u8; 16]);

/// Identifies one append of rows; random, drawn for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppendId([u8; 16]);

/// Stands for the owner's name of a batch of rows: a keyed digest, which tells nobody else the name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchTag([u8; 16]);

/// The text is not exactly the expected number of lowercase hexadecimal digits.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected {expected} lowercase hexadecimal digits, found {found} bytes of text")]
pub struct HexError {
    /// Length of the text found.
    pub found: usize,
    /// Digits expected.
    pub expected: usize,
}

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of all that a reader gives. 64 KiB of memory.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_reader(reader: impl Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(reader)?;
        Ok(Self(*hasher.finalize().as_bytes()))
    }
}

impl DeviceId {
    /// The device that signs with this key.
    pub fn of_key(verifying_key: &[u8; 32]) -> Self {
        let [low, _] = halves(Digest::of(verifying_key).0);
        Self(low)
    }
}

/// Both halves of 32 bytes.
fn halves(bytes: [u8; 32]) -> [[u8; 16]; 2] {
    std::array::from_fn(|half| std::array::from_fn(|at| bytes.get(16 * half + at).copied().unwrap_or(0)))
}

impl JobId {
    /// The job of this name.
    pub fn of_name(name: &str) -> Self {
        let [low, _] = halves(Digest::of(&[JOB_DOMAIN, name.as_bytes()].concat()).0);
        Self(StreamId(low).cut().0.0)
    }
}

impl StreamId {
    /// The stream of one attempt at a task: the job, the run of it, and a number that no other attempt in the run has.
    pub fn of_task(job: JobId, run: RunId, task: u32) -> Self {
        let [a, b, c, d, e, f, g, h] = job.0;
        let [i, j, k, l] = run.0;
        let [m, n, o, p] = task.to_le_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }

    /// The job of a task's stream. Random streams have one each.
    pub fn job(&self) -> JobId {
        self.cut().0
    }

    /// The run of a task's stream.
    pub fn run(&self) -> RunId {
        self.cut().1
    }

    fn cut(&self) -> (JobId, RunId) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = self.0;
        (JobId([a, b, c, d, e, f, g, h]), RunId([i, j, k, l]))
    }
}

/// Gives a byte-array newtype its bytes and its text form: lowercase hex in `Display`, `FromStr` and serde.
macro_rules! hex_text {
    ($name:ident, $bytes:literal) => {
        impl $name {
            /// Wraps bytes that were drawn or computed elsewhere.
            pub const fn from_bytes(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// The bytes.
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&to_hex(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = HexError;

            fn from_str(text: &str) -> Result<Self, HexError> {
                let wrong = HexError { found: text.len(), expected: 2 * $bytes };
                if text.len() != 2 * $bytes {
                    return Err(wrong);
                }
                let bytes = from_hex(text).ok_or(wrong)?;
                Ok(Self(bytes.try_into().map_err(|_| wrong)?))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&to_hex(&self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

hex_text!(AppendId, 16);
hex_text!(BatchTag, 16);
hex_text!(CubesId, 16);
hex_text!(Digest, 32);
hex_text!(DeviceId, 16);
hex_text!(EncryptionId, 16);
hex_text!(JobId, 8);
hex_text!(RunId, 4);
hex_text!(RunsId, 16);
hex_text!(SecretId, 16);
hex_text!(StreamId, 16);
hex_text!(TableId, 16);

/// Lowercase hex of some bytes.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Bytes of a text of lowercase hex digits; `None` for any other text (uppercase included: one value, one text).
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some((nibble(*high)? << 4) | nibble(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_their_bytes() {
        let bytes: [u8; 32] = std::array::from_fn(|at| at as u8);
        let [low, high] = halves(bytes);
        assert_eq!(([low, high].concat(), low[0], high[0]), (bytes.to_vec(), 0, 16));
        assert_eq!(*TableId::from_bytes(low).as_bytes(), low);
        assert_eq!(*EncryptionId::from_bytes(high).as_bytes(), high);
        let key = [7; 32];
        assert_eq!(DeviceId::of_key(&key).as_bytes()[..], blake3::hash(&key).as_bytes()[..16]);
    }

    #[test]
    fn streams_of_tasks_tell_job_and_run() {
        let (job, run) = (JobId::of_name("monday"), RunId::from_bytes([1, 2, 3, 4]));
        let stream = StreamId::of_task(job, run, 0x0102_0304);
        assert_eq!((stream.job(), stream.run()), (job, run));
        let digest = blake3::hash(b"hushtable job\0monday");
        assert_eq!(stream.as_bytes()[..8], digest.as_bytes()[..8]);
        assert_eq!(stream.as_bytes()[8..], [1, 2, 3, 4, 4, 3, 2, 1]);
        assert_eq!(job.to_string().parse::<JobId>().unwrap(), job);
        assert_ne!(job, JobId::of_name("tuesday"));
    }

    #[test]
    fn known_digest_and_text() {
        // BLAKE3 of the empty input, from the specification's test vectors.
        let text = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse::<Digest>().unwrap(), Digest::of(b""));
    }

    #[test]
    fn other_texts_are_refused() {
        let good = Digest::of(b"x").to_string();
        for bad in
            [good.to_uppercase(), good[1..].to_owned(), format!("{good}00"), good.replace(&good[..1], "g")]
        {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        assert!("éé".repeat(16).parse::<Digest>().is_err());
        assert!("0123456789abcdef0123456789abcdef".parse::<TableId>().is_ok());
        assert!("".parse::<TableId>().is_err());
    }
}
