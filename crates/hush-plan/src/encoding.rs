// SPDX-License-Identifier: Apache-2.0
//! Encoded columns: how one quantity of the table (a value, its validity, its square, a product) sits in
//! ring elements. A table has several per column, like indexes. The public half goes to the server.

mod id;

use hush_params::{ParamSet, Params, ParamsError};
use serde::{Deserialize, Serialize};

use crate::packing::{Layout, NoPacking, Packing, Plaintext};
use crate::quantity::Quantity;

pub use id::EncodingId;

/// The public half: all that the server knows of an encoded column.
///
/// *Serialised as* JSON with the members `id`, `layout`, `params`, `plaintext`. Reading refuses a plaintext space that the layout
/// cannot have; [`unpacked_encoding`] then says which encoding has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Encoding {
    /// Its number in the table.
    pub id: EncodingId,
    /// Name of the parameters: of a preset, or of a chain that the manifest defines (`hush_params::Definitions`).
    pub params: String,
    /// How rows sit in ring elements.
    pub packing: Packing,
}

impl Encoding {
    /// The use that the column was made for, as far as its public half tells: `sums of 58 bits`.
    pub fn describe(&self) -> String {
        self.packing.describe()
    }

    /// The ring that it is over.
    ///
    /// # Errors
    /// [`ParamsError`] if this version has no such preset, or it is a chain.
    pub fn ring(&self) -> Result<&'static ParamSet, ParamsError> {
        Params::named(&self.params)?.ring()
    }
}

/// An encoded column as its owner knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivateEncoding {
    /// The public half.
    #[serde(flatten)]
    pub public: Encoding,
    /// The numbers that it holds.
    #[serde(rename = "content")]
    pub quantity: Quantity,
    /// Largest absolute value in units of any single row, in decimal digits (may exceed 128 bits). For the
    /// approximate layouts the largest absolute value that one row may have, rounded up to an integer.
    pub max_abs: String,
    /// Random identity from which the owner derives this column's secret; hex, 32 digits. Slot columns that meet in a
    /// product have one in common, hence one secret; no other two columns do.
    pub secret_id: String,
}

/// The first of the `encodings` of a JSON object whose plaintext space does not belong to its layout. `None` where all do, or
/// where the text is no such object.
pub fn unpacked_encoding(json: &[u8]) -> Option<EncodingId> {
    #[derive(Deserialize)]
    struct Holder {
        encodings: Vec<Written>,
    }
    let Holder { encodings } = serde_json::from_slice(json).ok()?;
    let unpacked = |written: Written| Encoding::try_from(written).err().map(|error| error.id);
    encodings.into_iter().find_map(unpacked)
}

/// The JSON form of an [`Encoding`].
#[derive(Serialize, Deserialize)]
struct Written {
    id: EncodingId,
    layout: Layout,
    params: String,
    plaintext: Plaintext,
}

#[derive(Debug, thiserror::Error)]
#[error("encoding {}: {source}", id.0)]
struct UnpackedEncoding {
    id: EncodingId,
    source: NoPacking,
}

impl From<Encoding> for Written {
    fn from(Encoding { id, params, packing }: Encoding) -> Self {
        let (layout, plaintext) = packing.written();
        Self { id, layout, params, plaintext }
    }
}

impl TryFrom<Written> for Encoding {
    type Error = UnpackedEncoding;

    fn try_from(Written { id, layout, params, plaintext }: Written) -> Result<Self, UnpackedEncoding> {
        match Packing::read(layout, plaintext) {
            Ok(packing) => Ok(Self { id, params, packing }),
            Err(source) => Err(UnpackedEncoding { id, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [&str; 5] = ["approx_slots", "approx_sum", "slots", "sum", "shared_slots"];
    const PLAINTEXTS: [&str; 3] =
        [r#"{"power_of_two":{"log2":64}}"#, r#"{"primes":{"primes":[65537]}}"#, r#"{"scale":{"log2":40}}"#];

    fn text(layout: &str, plaintext: &str) -> String {
        format!(r#"{{"id":7,"layout":"{layout}","params":"p","plaintext":{plaintext}}}"#)
    }

    /// Of the fifteen combinations five are packings; those keep their text.
    #[test]
    fn only_the_combinations_that_are_packings_are_read() {
        let legal = [(0, 2), (1, 2), (2, 1), (3, 0), (4, 1)];
        for (i, layout) in LAYOUTS.iter().enumerate() {
            for (j, plaintext) in PLAINTEXTS.iter().enumerate() {
                let text = text(layout, plaintext);
                let read = serde_json::from_str::<Encoding>(&text);
                let holder = format!(r#"{{"format":1,"encodings":[{text}]}}"#);
                if legal.contains(&(i, j)) {
                    let read = read.unwrap();
                    assert_eq!(read.packing.name(), *layout);
                    assert_eq!(serde_json::to_string(&read).unwrap(), text);
                    assert_eq!(unpacked_encoding(holder.as_bytes()), None);
                } else {
                    let error = read.unwrap_err().to_string();
                    assert!(error.contains(layout) && error.contains("encoding 7"), "{error}");
                    assert_eq!(unpacked_encoding(holder.as_bytes()), Some(EncodingId(7)));
                }
            }
        }
        assert_eq!(unpacked_encoding(b"{\"encodings\":7}"), None);
    }

    /// The private half has the public one's members among its own.
    #[test]
    fn a_private_half_is_read_by_the_same_rules() {
        let private = |plaintext| {
            let public = text("sum", plaintext);
            let public =
                public.trim_end_matches('}').to_owned() + if plaintext.ends_with("}}") { "}}" } else { "" };
            format!(r#"{public},"content":{{"value":"x"}},"max_abs":"9","secret_id":"00"}}"#)
        };
        let good = private(PLAINTEXTS[0]);
        let read: PrivateEncoding = serde_json::from_str(&good).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), good);
        let bad = private(PLAINTEXTS[2]);
        assert!(serde_json::from_str::<PrivateEncoding>(&bad).is_err());
        let holder = format!(r#"{{"encodings":[{good},{bad}]}}"#);
        assert_eq!(unpacked_encoding(holder.as_bytes()), Some(EncodingId(7)));
    }
}
