// SPDX-License-Identifier: Apache-2.0
//! The key file of a device: public keys of its table, and a key that signs deliveries. It decrypts nothing.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ed25519_dalek::{Signer, SigningKey};
use hush_params::preset;
use hush_plan::schema::file::{from_toml, to_toml};
use hush_plan::{PrivateEncoding, Schema};
use hush_ring::{Cpu, Poly, Ring, UniformSeed};
use hush_rlwe::{BodyId, BodyKind, BodyWriter, UncheckedBody, masked_body_bytes};
use hush_schemes::bgv::public::{PublicColumn, SumPublicKey};
use hush_table::{DeviceId, Digest, TableId, from_hex, to_hex};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::EdgeError;

/// Version of the format.
const FORMAT: u16 = 2;
/// The format that the file states.
const KIND: &str = "hushtable device key";
/// Largest key file in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// A device's key for one table.
///
/// *Secrecy.* The signing key lets its holder deliver rows to the table in the device's name; nothing here decrypts.
pub struct DeviceKey {
    /// The schema, with the columns of rows.
    pub schema: Schema,
    /// The table.
    pub table_id: TableId,
    /// The owner's verifying key.
    pub owner: [u8; 32],
    /// The encoded columns, without the ids from which their secrets are derived.
    pub encodings: Vec<PrivateEncoding>,
    /// [`digest_of_encodings`] of the encodings as the owner has them.
    pub digest: Digest,
    /// Public keys.
    pub families: Vec<KeyFamily>,
    /// The owner's signature on the device's verifying key.
    pub certificate: [u8; 64],
    signing: SigningKey,
}

/// Public keys of the columns of one ring.
#[derive(Clone, Debug)]
pub struct KeyFamily {
    /// Name of the parameter set.
    pub params: String,
    /// The keys.
    pub key: SumPublicKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    kind: String,
    format: u16,
    table_id: TableId,
    owner: String,
    schema: String,
    encodings: Vec<PrivateEncoding>,
    digest: Digest,
    families: Vec<StoredFamily>,
    certificate: String,
    signing_key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFamily {
    params: String,
    seed: String,
    scale_log2: u32,
    columns: Vec<StoredColumn>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredColumn {
    id: u32,
    key: String,
}

/// The digest to which deliveries are bound. It covers the encodings with the ids of their secrets, which a new encryption of a
/// table changes, and the domain, which a rotation changes.
pub fn digest_of_encodings(encodings: &[PrivateEncoding], domain: u32) -> Digest {
    // Serialising plain data into memory does not fail.
    let mut bytes = serde_json::to_vec(encodings).unwrap_or_default();
    if domain > 0 {
        bytes.extend_from_slice(&domain.to_le_bytes());
    }
    Digest::of(&bytes)
}

impl DeviceKey {
    /// A key with a signing key made of `seed`, 32 random bytes. `certify` signs with the owner's key.
    ///
    /// `encodings` come as the owner has them, with the number of the domain that `families` are keys of.
    pub fn new(
        (schema, table_id, owner): (Schema, TableId, [u8; 32]),
        (encodings, domain): (&[PrivateEncoding], u32),
        families: Vec<KeyFamily>,
        seed: &[u8; 32],
        certify: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Self {
        let signing = SigningKey::from_bytes(seed);
        let digest = digest_of_encodings(encodings, domain);
        let device = signing.verifying_key().to_bytes();
        let certificate = certify(&hush_table::delivery::certified_bytes(table_id, digest, &device));
        let public =
            |encoding: &PrivateEncoding| PrivateEncoding { secret_id: String::new(), ..encoding.clone() };
        let encodings = encodings.iter().map(public).collect();
        Self { schema, table_id, owner, encodings, digest, families, certificate, signing }
    }

    /// The device's verifying key; its digest names it.
    pub fn verifying_key(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    /// The device's name in deliveries, in manifests and for people.
    pub fn id(&self) -> DeviceId {
        DeviceId::of_key(&self.verifying_key())
    }

    /// Bytes of a full chunk's encoded columns.
    pub fn full_chunk_bytes(&self) -> u64 {
        let of_family = |family: &KeyFamily| {
            let ring = family.key.ring();
            let elements = hush_table::CHUNK_ROWS.div_ceil(ring.degree() as u32);
            (masked_body_bytes(ring, elements) * family.key.columns().len()) as u64
        };
        self.families.iter().map(of_family).sum()
    }

    /// A fingerprint of a plaintext that only the holder of this key can compute. So nobody else can try plaintexts.
    pub(crate) fn fingerprint(&self, plaintext: &Digest) -> Digest {
        let mut bytes = b"hushtable input\0".to_vec();
        bytes.extend_from_slice(plaintext.as_bytes());
        Digest::of(&self.sign(&bytes))
    }

    /// Signs a delivery.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.signing.sign(bytes).to_bytes()
    }

    /// Writes the key file: mode 0600, never over an existing file.
    ///
    /// # Errors
    /// [`EdgeError::File`]; [`EdgeError::Internal`] for keys that cannot be written down.
    pub fn write(&self, path: &Path) -> Result<(), EdgeError> {
        let failed = |what| move |source| EdgeError::File { what, path: path.to_owned(), source };
        let text = Zeroizing::new(self.to_json()?);
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).open(path).map_err(failed("create"))?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        if written.is_err() {
            let _ = std::fs::remove_file(path);
        }
        written.map_err(failed("write"))
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`EdgeError::File`]; [`EdgeError::KeyFile`] for anything but a key file that only its user can read.
    pub fn read(path: &Path) -> Result<Self, EdgeError> {
        Self::from_json(&Self::read_bytes(path)?)
            .map_err(|what| EdgeError::KeyFile { path: path.to_owned(), what })
    }

    /// The key in the bytes of a key file.
    ///
    /// # Errors
    /// [`EdgeError::KeyFile`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EdgeError> {
        Self::from_json(bytes).map_err(|what| EdgeError::KeyFile { path: "the device's key".into(), what })
    }

    /// The bytes of a key file.
    ///
    /// # Errors
    /// As [`DeviceKey::read`], but what is in the file is not looked at.
    pub fn read_bytes(path: &Path) -> Result<Zeroizing<Vec<u8>>, EdgeError> {
        let failed = |source| EdgeError::File { what: "read", path: path.to_owned(), source };
        let bad = |what: String| EdgeError::KeyFile { path: path.to_owned(), what };
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        if facts.mode() & 0o077 != 0 {
            return Err(bad(format!("other users can read it (mode {:o})", facts.mode() & 0o777)));
        }
        if facts.len() > MAX_BYTES {
            return Err(bad(format!("it has {} bytes", facts.len())));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(facts.len() as usize));
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn to_json(&self) -> Result<Vec<u8>, EdgeError> {
        let families = self.families.iter().map(|family| {
            let columns = family.key.columns().iter().map(|column| {
                Ok(StoredColumn { id: column.column, key: to_hex(&key_object(family.key.ring(), column)?) })
            });
            Ok(StoredFamily {
                params: family.params.clone(),
                seed: to_hex(&family.key.seed().to_bytes()),
                scale_log2: family.key.scale_log2(),
                columns: columns.collect::<Result<_, EdgeError>>()?,
            })
        });
        let stored = Stored {
            kind: KIND.to_owned(),
            format: FORMAT,
            table_id: self.table_id,
            owner: to_hex(&self.owner),
            schema: to_toml(&self.schema),
            encodings: self.encodings.clone(),
            digest: self.digest,
            families: families.collect::<Result<_, EdgeError>>()?,
            certificate: to_hex(&self.certificate),
            signing_key: to_hex(self.signing.as_bytes()),
        };
        serde_json::to_vec(&stored)
            .map_err(|_| EdgeError::Internal { what: "a device's key does not serialise" })
    }

    fn from_json(bytes: &[u8]) -> Result<Self, String> {
        // The reader's message could contain bytes of the signing key.
        let stored: Stored = serde_json::from_slice(bytes).map_err(|_| "it has another form".to_owned())?;
        if stored.kind != KIND || stored.format != FORMAT {
            return Err(format!("format {}, this version reads {FORMAT}", stored.format));
        }
        let signing =
            Zeroizing::new(bytes_of::<32>(&stored.signing_key).ok_or("its signing key is malformed")?);
        let families = stored.families.iter().map(family).collect::<Result<Vec<_>, String>>()?;
        let schema =
            from_toml(&stored.schema).map_err(|error| format!("its schema is not valid: {error}"))?;
        let columns: usize = families.iter().map(|family| family.key.columns().len()).sum();
        if columns != stored.encodings.len() {
            return Err(format!("{columns} public keys for {} encoded columns", stored.encodings.len()));
        }
        Ok(Self {
            schema,
            table_id: stored.table_id,
            owner: bytes_of(&stored.owner).ok_or("its owner's key is malformed")?,
            encodings: stored.encodings,
            digest: stored.digest,
            families,
            certificate: bytes_of(&stored.certificate).ok_or("its certificate is malformed")?,
            signing: SigningKey::from_bytes(&signing),
        })
    }
}

impl std::fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceKey({} for {})", self.id(), self.schema.table)
    }
}

/// The id that a stored public key has.
fn key_id(column: u32) -> BodyId {
    BodyId { column, chunk: 0, element_count: 1, lanes: 1 }
}

/// A public key as an object: header, residues, checksum.
fn key_object(ring: &Ring, column: &PublicColumn) -> Result<Vec<u8>, EdgeError> {
    let codec = |source| EdgeError::PublicKey(hush_schemes::PublicKeyError::Codec(source));
    let mut writer = BodyWriter::new(ring, BodyKind::Slot, key_id(column.column)).map_err(codec)?;
    for (limb, words) in column.key.limbs() {
        writer.push_limb(limb, words);
    }
    writer.finish().map_err(codec)
}

fn family(stored: &StoredFamily) -> Result<KeyFamily, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let set = preset(&stored.params).map_err(|error| text(&error))?;
    let cpu = Cpu::detect().map_err(|error| text(&error))?;
    let ring = Ring::new(set, cpu).map_err(|error| text(&error))?;
    let seed = UniformSeed::from_bytes(bytes_of(&stored.seed).ok_or("a seed is malformed")?);
    let columns = stored.columns.iter().map(|column| {
        let object = from_hex(&column.key).ok_or("a public key is malformed")?;
        let body = UncheckedBody::decode(&object)
            .and_then(|body| body.conform(&ring, BodyKind::Slot, key_id(column.id)));
        let body = body.map_err(|error| text(&error))?;
        let mut words = vec![0; ring.poly_words()];
        for (index, (limb, words)) in
            ring.limbs().iter().zip(words.chunks_exact_mut(ring.degree())).enumerate()
        {
            limb.unpack(body.packed(0, 0, index), words);
        }
        Ok(PublicColumn {
            column: column.id,
            key: Poly::from_words(&ring, words).map_err(|error| text(&error))?,
        })
    });
    let columns = columns.collect::<Result<Vec<_>, String>>()?;
    let key = SumPublicKey::new(&ring, seed, stored.scale_log2, columns).map_err(|error| text(&error))?;
    Ok(KeyFamily { params: stored.params.clone(), key })
}

fn bytes_of<const COUNT: usize>(hex: &str) -> Option<[u8; COUNT]> {
    from_hex(hex)?.try_into().ok()
}
