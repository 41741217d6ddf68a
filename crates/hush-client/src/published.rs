// SPDX-License-Identifier: Apache-2.0
//! The attack by published results. The secret of an approximate column follows by linear algebra from its decrypted values
//! and from the parts that the server stores. A decrypted approximate value is message and error together, so `b + a·s = p`
//! holds exactly.
//!
//! The attack runs at the parameters of real tables, because in the evaluation domain the equations fall apart into small ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use hush_keys::PhaseLimit;
use hush_plan::{EncodingId, Quantity};
use hush_ring::{ExpandLabel, Ring, RingLimb, UniformSeed};
use hush_schemes::Values;
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::source::{OpenOptions, Source};
use hush_table::{Projection, SignedManifest, TableStore};

use crate::cells::Cells;
use crate::columns::{ColumnKeys, keys_of};
use crate::isolation::{root_of, ternary};
use crate::owner::{self, EncryptOptions, OwnerKey};
use crate::packing::{ColumnKey, Stored};
use crate::pins::Pins;
use crate::private::PrivateHalf;
use crate::roots::RowKeys;
use crate::{OwnedTable, Silent, TableDecryption, TablePlace};

const ROWS: usize = 8192;

/// `a`, `b`: approximate, by slots; `s`: approximate, to be summed; `i`, `j`: exact, by slots of the same ring for the sake of
/// [`WORKLOAD`]; `k`: exact sums over the ring of `s`.
const SCHEMA: &str = "format = 1\ntable = \"published\"\nstatus = \"approved\"\n\
    [columns.a]\ntype = \"float(1)\"\nprotect = \"encrypt\"\nfor = [\"product\"]\n\
    [columns.b]\ntype = \"float(1)\"\nprotect = \"encrypt\"\nfor = [\"product\"]\n\
    [columns.s]\ntype = \"float(1)\"\nprotect = \"encrypt\"\nfor = [\"sum\"]\n\
    [columns.i]\ntype = \"int(64)\"\nrange = [-20000000, 20000000]\nprotect = \"encrypt\"\nfor = [\"count\"]\n\
    [columns.j]\ntype = \"int(64)\"\nrange = [-20000000, 20000000]\nprotect = \"encrypt\"\nfor = [\"count\"]\n\
    [columns.k]\ntype = \"int(64)\"\nrange = [-9000000000, 9000000000]\nprotect = \"encrypt\"\nfor = [\"sum\"]\n";
const WORKLOAD: &str = "SELECT 1000000 * i * j FROM published;\n";

/// The value of row `index`, another multiple in each column.
fn number(index: usize) -> i64 {
    (index * 7919 % 1999) as i64 - 999
}

/// One version of the table as a server has it, with the numbers that its owner publishes.
pub(crate) struct Version {
    pub(crate) signed: SignedManifest,
    /// The root of its secrets.
    pub(crate) root: [u8; 32],
    pub(crate) keys: ColumnKeys,
    directory: PathBuf,
}

impl Version {
    /// Encrypts the rows into the directory, as the first version of a table or as the next.
    pub(crate) fn encrypt(directory: &Path, key: &OwnerKey, schema: &str) -> Self {
        Self::encrypt_with(directory, key, schema, Pins::forgetful())
    }

    fn encrypt_with(directory: &Path, key: &OwnerKey, schema: &str, pins: Pins) -> Self {
        let row = |index| {
            let n = number(index);
            let [a, b, s] = [n, n * 3 % 700, n * 5 % 900].map(|tenths| tenths as f64 / 10.0);
            format!("{a:.1},{b:.1},{s:.1},{},{},{}\n", n * 1000, 7 - n, n * 99_999)
        };
        let [file, schema_file, workload] =
            ["rows.csv", "schema.toml", "workload.sql"].map(|name| directory.join(name));
        std::fs::write(&workload, WORKLOAD).unwrap();
        let rows: String = (0..ROWS).map(row).collect();
        std::fs::write(&file, format!("a,b,s,i,j,k\n{rows}")).unwrap();
        std::fs::write(&schema_file, schema).unwrap();
        let directory = directory.join("T");
        let options = EncryptOptions {
            source: Source::open(&file, &OpenOptions::default()).unwrap(),
            schema: crate::read_approved_schema(&schema_file).unwrap(),
            output: directory.clone(),
            workload: Some(workload),
            threads: 2,
            memory_limit: None,
            pins,
            replace: true,
        };
        let signed = owner::encrypt(&options, key, &Silent).unwrap().manifest;
        let of_table = keys_of(key.seed(), signed.manifest());
        let half = PrivateHalf::open(of_table, &signed.manifest().sealed_schema).unwrap();
        let (keys, _) = RowKeys::open(key.seed(), signed.manifest(), &half).unwrap();
        let (keys, root) = (keys.present().columns.clone(), root_of(key.seed(), signed.manifest()));
        Self { signed, root, keys, directory }
    }

    /// The decrypted first chunk of a column, in full doubles. Results are shown with fewer digits. That makes the attack harder, and
    /// stops no attacker who knows or chose some of the rows.
    fn decrypted(&self, column: &str) -> Vec<f64> {
        let key = self.key(column);
        let decrypt = |stored: &Stored<'_>| key.codec.owned().decrypt(stored, ROWS, PhaseLimit::NONE);
        match self.stored(key.id(), decrypt).unwrap() {
            Cells::Approx(values) => values,
            Cells::Exact(_) => panic!("an exact column"),
        }
    }

    /// The encoding of a column's values.
    pub(crate) fn key(&self, column: &str) -> &ColumnKey {
        let quantity = Quantity::Value(column.to_owned());
        self.keys.iter().find(|key| key.encoding.quantity == quantity).unwrap()
    }

    /// An encoding as it is stored in the first chunk, handed to `read`.
    fn stored<T>(&self, id: EncodingId, read: impl FnOnce(&Stored<'_>) -> T) -> T {
        let store = TableStore::local_existing(&self.directory).unwrap();
        let manifest = self.signed.manifest();
        let (place, entry) = manifest.placed_parts().next().unwrap();
        let part = store.open_encrypted(manifest, place, entry).unwrap();
        let projection = Projection { seed: true, ..Projection::encodings([id]) };
        let chunk = part.read(&projection).unwrap().remove(0);
        let key = self.keys.get(id).unwrap();
        let seed = UniformSeed::from_bytes(chunk.seed.unwrap());
        read(&Stored { key, seed, chunk: 0, rows: chunk.rows, blob: &chunk.encoded[0] })
    }

    /// Body and mask of one ring element in one limb, as evaluations.
    fn evaluations(&self, id: EncodingId, element: u32, index: usize) -> (Vec<u64>, Vec<u64>) {
        let key = self.keys.get(id).unwrap();
        let (ring, form) = (key.ring(), key.encoding.public.packing.stored());
        let limb = &ring.limbs()[index];
        self.stored(id, |stored| {
            let (seed, stored) = (stored.seed, stored.body().unwrap());
            let (mut body, mut mask) = (vec![0; ring.degree()], vec![0; ring.degree()]);
            limb.unpack(stored.packed(element, 0, index), &mut body);
            let is_sum = form == Some(hush_plan::Stored::Coefficients);
            if is_sum {
                limb.forward(&mut body);
            }
            let label = if is_sum { ExpandLabel::sum(element) } else { ExpandLabel::slot(id.0, element, 0) };
            seed.expand_limb(ring, label, index, &mut mask);
            (body, mask)
        })
    }

    /// Whether a secret opens an encoding: every coefficient of the phase is far below the modulus.
    pub(crate) fn opens(&self, id: EncodingId, secret: &[i8]) -> bool {
        let ring = self.keys.get(id).unwrap().ring();
        if ring.degree() != secret.len() {
            return false;
        }
        let wide: Vec<i64> = secret.iter().map(|&s| i64::from(s)).collect();
        let phase = ring.limbs().iter().enumerate().map(|(index, limb)| {
            let (mut phase, mask) = self.evaluations(id, 0, index);
            let mut secret = vec![0; ring.degree()];
            limb.lift_signed(&wide, &mut secret);
            limb.forward(&mut secret);
            limb.mul_add_assign(&mut phase, &mask, &secret);
            limb.inverse(&mut phase);
            phase
        });
        let phase: Vec<Vec<u64>> = phase.collect();
        let largest = (0..ring.degree()).map(|at| {
            let residues: Vec<u64> = phase.iter().map(|limb| limb[at]).collect();
            ring.crt().lift_centered(&residues).as_f64().abs()
        });
        largest.fold(0.0, f64::max).log2() < ring.crt().log2_product() - 8.0
    }

    /// All encodings under other secrets than that of `column`; some must be over its ring.
    fn others(&self, column: &str) -> Vec<EncodingId> {
        let own = self.key(column);
        let other = |key: &&ColumnKey| key.encoding.secret_id != own.encoding.secret_id;
        let others: Vec<&ColumnKey> = self.keys.iter().filter(other).collect();
        let alike = others.iter().filter(|key| key.ring().param_code() == own.ring().param_code());
        assert!(alike.count() > 0, "nothing over the ring of {column}");
        others.into_iter().map(ColumnKey::id).collect()
    }
}

/// The secret of an approximate column, from published values and stored parts; `None` if the equations have no ternary
/// solution.
pub(crate) fn attack(version: &Version, column: &str, published: &[f64]) -> Option<Vec<i8>> {
    let key = version.key(column);
    let packing = &key.encoding.public.packing;
    let log2 = packing.scale_log2().expect("an approximate column");
    match packing.stored().expect("polynomials") {
        hush_plan::Stored::Coefficients => from_coefficients(version, key, log2, published),
        hush_plan::Stored::Evaluations => from_slots(version, key, log2, published),
    }
}

/// Each value is a coefficient of `p`: `s = (p − b)/a`, value by value in the evaluation domain.
fn from_coefficients(version: &Version, key: &ColumnKey, log2: u32, published: &[f64]) -> Option<Vec<i8>> {
    let (limb, degree) = (&key.ring().limbs()[0], key.ring().degree());
    let p: Vec<i128> =
        published[..degree].iter().map(|value| (value * f64::from(log2).exp2()).round() as i128).collect();
    let p = evaluations(key.ring(), limb, &p);
    let (b, a) = version.evaluations(key.id(), 0, 0);
    let q = limb.modulus();
    let secret =
        (0..degree).map(|at| q.mul(q.sub(p[at], b[at]), q.pow(a[at], q.value() - 2))).collect::<Vec<_>>();
    ternary_of(limb, secret)
}

/// A slot's real part is a value of `(p + p̄)/2`, where `p̄` is `p` under `X ↦ X^-1`. That is half of the information in `p`.
/// Two ring elements make two equations for the values of `s` at each pair of conjugate roots.
fn from_slots(version: &Version, key: &ColumnKey, log2: u32, published: &[f64]) -> Option<Vec<i8>> {
    let (ring, limb) = (key.ring(), &key.ring().limbs()[0]);
    let (degree, q) = (ring.degree(), limb.modulus());
    let encoder = ApproxEncoder::new(ring);
    let doubled = Scale::from_log2(log2 + 1).unwrap();
    let place: Vec<usize> = {
        let mut of_exponent = vec![0; 2 * degree];
        (0..degree).for_each(|at| of_exponent[limb.root_exponent(at)] = at);
        (0..degree).map(|at| of_exponent[2 * degree - limb.root_exponent(at)]).collect()
    };
    let element = |element: usize| {
        let values = &published[element * degree / 2..(element + 1) * degree / 2];
        let sum = evaluations(ring, limb, &encoder.coefficients(values, doubled).unwrap());
        let (b, a) = version.evaluations(key.id(), element as u32, 0);
        let right: Vec<u64> = (0..degree).map(|at| q.sub(sum[at], q.add(b[at], b[place[at]]))).collect();
        (a, right)
    };
    let [(a, left), (c, right)] = [element(0), element(1)];
    // a·x + a'·y = left, c·x + c'·y = right.
    let secret = (0..degree).map(|at| {
        let (a, a_conj, c, c_conj) = (a[at], a[place[at]], c[at], c[place[at]]);
        let determinant = q.sub(q.mul(a, c_conj), q.mul(a_conj, c));
        let x = q.sub(q.mul(left[at], c_conj), q.mul(a_conj, right[at]));
        q.mul(x, q.pow(determinant, q.value() - 2))
    });
    ternary_of(limb, secret.collect())
}

fn evaluations(ring: &Ring, limb: &RingLimb, coefficients: &[i128]) -> Vec<u64> {
    let mut words = vec![0; ring.degree()];
    Values::I128(coefficients).residues_into(limb, &mut words);
    limb.forward(&mut words);
    words
}

fn ternary_of(limb: &RingLimb, mut secret: Vec<u64>) -> Option<Vec<i8>> {
    limb.inverse(&mut secret);
    let q = limb.modulus();
    let small = |word: u64| match word {
        0 => Some(0),
        1 => Some(1),
        word if word == q.value() - 1 => Some(-1),
        _ => None,
    };
    secret.into_iter().map(small).collect()
}

/// The attack works on decrypted values for the column that was published. The secret that it finds opens no exact column, no
/// approximate one that does not meet it in products, and nothing of the next encryption.
#[test]
fn a_published_approximate_column_opens_itself_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    let first = Version::encrypt(directory.path(), &key, SCHEMA);
    let published: Vec<(&str, Vec<f64>)> = ["a", "s"].map(|name| (name, first.decrypted(name))).to_vec();
    let secrets: Vec<Vec<i8>> = published
        .iter()
        .map(|(name, values)| attack(&first, name, values).expect("the attack finds a secret"))
        .collect();
    for ((name, _), secret) in published.iter().zip(&secrets) {
        let own = first.key(name);
        assert_eq!(secret, &ternary(&first.root, first.signed.manifest(), own), "the secret of {name}");
        assert!(first.opens(own.id(), secret));
        for other in first.others(name) {
            let own = ternary(&first.root, first.signed.manifest(), first.keys.get(other).unwrap());
            assert!(first.opens(other, &own), "opening is tried on what must open");
            assert!(!first.opens(other, secret), "{name} opens encoding {}", other.0);
        }
    }
    // Columns that meet in products have one secret: publishing one of them opens the others, as the documents say.
    assert!(first.opens(first.key("b").id(), &secrets[0]));

    // An attacker may have kept the parts of the first version.
    let second = Version::encrypt(directory.path(), &key, SCHEMA);
    let [was, now] = [&first, &second].map(|version| version.signed.manifest());
    assert_eq!((was.table_id, was.version + 1), (now.table_id, now.version));
    assert_ne!(was.encryption, now.encryption);
    for key in second.keys.iter() {
        let own = ternary(&second.root, now, key);
        assert!(second.opens(key.id(), &own));
        assert!(secrets.iter().all(|secret| !second.opens(key.id(), secret)));
    }
    // Even with the root and the secret ids of the first version.
    for (key, secret) in ["a", "s"].map(|name| first.key(name)).into_iter().zip(&secrets) {
        assert_ne!(&ternary(&first.root, now, key), secret);
    }
}

/// Numbers that leave through `release` are right to their digits, the same each time, and counted once. No secret follows from
/// them, at real parameters either.
#[test]
fn released_values_are_right_and_the_attack_on_them_fails() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    let pins = Pins::in_directory(&directory.path().join("state/pins"));
    let schema = SCHEMA.replacen("[columns", "release = { digits = 2, answers = 5 }\n[columns", 1);
    let version = Version::encrypt_with(directory.path(), &key, &schema, pins.clone());
    let place = TablePlace::Directory(&version.directory);
    let released = |column: &str, digits: i32| -> Result<Vec<f64>, crate::ClientError> {
        let wanted = [column.to_owned()];
        let decryption =
            TableDecryption::open(place, &key, &pins, Some(&wanted), &Silent)?.released(digits)?;
        let mut values = Vec::new();
        for batch in decryption {
            values.extend_from_slice(batch?.column(0).as_primitive::<Float64Type>().values());
        }
        Ok(values)
    };
    // The schema asks for two digits: the last is right up to one unit.
    let first = released("s", 2).unwrap();
    for (index, value) in first.iter().enumerate() {
        let right = (number(index) * 5 % 900) as f64 / 10.0;
        assert!((value - right).abs() <= 0.01 + 1e-9, "row {index}: {value} for {right}");
        assert_eq!((value * 100.0).round() / 100.0, *value, "row {index} has two digits");
    }
    assert_eq!(released("s", 2).unwrap(), first, "again the same, and free");
    assert!(version.decrypted("s") != first);
    assert_eq!(ROWS.div_ceil(version.key("s").ring().degree()), 1, "one number");

    let table = OwnedTable::open_directory(&version.directory, &key, &pins, 2).unwrap();
    let ask = |digits| table.ask_released("SELECT SUM(s), SUM(k) FROM published", digits, &Silent);
    let sum = ask(2).unwrap();
    let counted = sum.released.unwrap();
    assert_eq!((counted.numbers, counted.left), (1, 3));
    let right: i64 = (0..ROWS).map(|index| number(index) * 5 % 900).sum();
    let found =
        |outcome: &crate::Outcome| outcome.batches[0].column(0).as_primitive::<Float64Type>().value(0);
    assert!((found(&sum) - right as f64 / 10.0).abs() <= 0.01 + 1e-6);
    assert_eq!(found(&ask(2).unwrap()), found(&sum));
    assert!(sum.exposed.is_empty());
    assert_eq!(table.ask("SELECT SUM(s), SUM(k) FROM published", &Silent).unwrap().exposed, ["s"]);
    assert!(table.ask("SELECT SUM(k) FROM published", &Silent).unwrap().exposed.is_empty());
    assert_eq!(ask(9).unwrap_err().code(), "HUSH-C083");

    // Columns for products have room for no digit: they can be released only in whole powers of ten.
    let refused = released("a", 2).unwrap_err();
    let crate::ClientError::Release(crate::ReleaseError::Digits { possible, .. }) = refused else {
        panic!("{refused}")
    };
    assert!(possible < 0);
    let coarse = released("a", possible).unwrap();
    for (column, values) in [("s", &first), ("a", &coarse)] {
        assert_eq!(attack(&version, column, values), None, "a released {column} opens nothing");
    }
    // One number is left, and `b` takes two: nothing of it leaves or is counted, and numbers that have left stay free.
    let refused = released("b", possible).unwrap_err();
    assert!(
        refused.code() == "HUSH-C082" && refused.to_string().contains("1 left, this takes 2"),
        "{refused}"
    );
    assert_eq!(released("a", possible).unwrap(), coarse);
    assert_eq!(released("s", 2).unwrap(), first);
    // Another machine has no ledger; a lost one stops everything.
    std::fs::remove_dir_all(directory.path().join("state/releases")).unwrap();
    assert_eq!(released("s", 2).unwrap_err().code(), "HUSH-C080");
    assert_eq!(ask(2).unwrap_err().code(), "HUSH-C080");
}
