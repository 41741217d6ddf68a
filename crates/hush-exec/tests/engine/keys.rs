// SPDX-License-Identifier: Apache-2.0
//! Evaluation keys of a table are written beside the parts, signed for, loaded once and used; faulty ones are refused.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use hush_exec::{Engine, ErrorKind, ExecError, KeySet, Limits};
use hush_keys::{ChainSecret, OwnerSeed};
use hush_params::{ChainParams, Params};
use hush_ring::{Chain, Cpu};
use hush_rlwe::{CodecError, EvaluationKeys, rotation_element};
use hush_schemes::bgv::{Bgv, BgvCiphertext};
use hush_table::store::KEYS_NAME;
use hush_table::{
    EncodedChunk, EncryptionId, KeyKind, KeysToStore, SecretId, TableId, TableIdentity, TableLayout,
    TableStore, TableWriter,
};

const T: u64 = 65537;
const SECRET: SecretId = SecretId::from_bytes(*b"a chain's secret");

/// An owner with a secret over a chain that is no preset: four levels of 40 bits.
struct Owner {
    scheme: Bgv,
    secret: ChainSecret,
    signer: OwnerSeed,
    params: Params,
}

impl Owner {
    fn new() -> Self {
        let params = ChainParams::uniform(8192, 40, 1, 4, 1, 1).unwrap();
        let scheme = Bgv::new(&params, T, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let signer = OwnerSeed::generate().unwrap();
        Self { scheme, secret, signer, params: Params::Chain(Arc::new(params)) }
    }

    fn encrypt(&self, values: &[i64]) -> BgvCiphertext {
        let message = self.scheme.encode(values, self.scheme.chain().top()).unwrap();
        self.scheme.ciphertext(self.secret.encrypt(message).unwrap().expand().unwrap()).unwrap()
    }

    fn decrypt(&self, ciphertext: &BgvCiphertext) -> Vec<i64> {
        self.scheme.decode(self.secret.phase(ciphertext.inner()).unwrap().poly(), ciphertext).unwrap()
    }

    fn object(&self, relinearisation: bool, elements: &[usize]) -> Vec<u8> {
        let keys = self.secret.evaluation_keys(relinearisation, elements).unwrap();
        keys.encode(self.scheme.chain()).unwrap()
    }

    fn galois(&self) -> (KeyKind, Vec<usize>) {
        let mut elements = [1, 5].map(|steps| rotation_element(self.scheme.chain().degree(), steps));
        elements.sort_unstable();
        (KeyKind::Galois { elements: elements.map(|element| element as u32).to_vec() }, elements.to_vec())
    }

    /// Five clear rows, and the given files of keys.
    fn write(&self, store: &TableStore, keys: &[(KeyKind, u64, Vec<u8>)]) {
        let clear = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
        let layout = TableLayout { clear: clear.clone(), encodings: Vec::new(), sealed_columns: 0 };
        let identity = TableIdentity {
            table: "keyed".to_owned(),
            table_id: TableId::from_bytes([3; 16]),
            encryption: EncryptionId::from_bytes([4; 16]),
            version: 1,
            verifying_key: self.signer.verifying_key().to_bytes(),
        };
        let mut writer = TableWriter::begin(store, identity, layout).unwrap();
        for (kind, unit, object) in keys {
            let keys =
                KeysToStore { kind: kind.clone(), params: self.params.clone(), unit: *unit, secret: SECRET };
            writer.put_keys(keys, object.clone()).unwrap();
        }
        let rows =
            RecordBatch::try_new(clear, vec![Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]))]).unwrap();
        let chunk = EncodedChunk { index: 0, rows: 5, seed: [0; 32], encoded: vec![], sealed: vec![] };
        writer.push(&rows, chunk).unwrap();
        writer.finish(Vec::new(), |bytes| self.signer.sign(bytes)).unwrap();
    }

    fn both(&self) -> [(KeyKind, u64, Vec<u8>); 2] {
        let (galois, elements) = self.galois();
        [(KeyKind::Relinearisation, T, self.object(true, &[])), (galois, T, self.object(false, &elements))]
    }

    fn set(&self) -> KeySet {
        KeySet { params: self.params.name(), unit: T, secret: SECRET }
    }
}

fn engine(store: TableStore) -> Engine {
    Engine::for_table(store, 1, Limits::default()).unwrap()
}

/// A product and a rotation with these keys decrypt to those of the values.
fn compute(owner: &Owner, chain: &Chain, keys: &EvaluationKeys) {
    assert_eq!(chain, owner.scheme.chain());
    let scheme = &owner.scheme;
    let half = chain.degree() / 2;
    let x: Vec<i64> = (0..chain.degree() as i64).map(|i| i % 251 - 125).collect();
    let y: Vec<i64> = (0..chain.degree() as i64).map(|i| i % 127 - 60).collect();
    let product = scheme.mul(&owner.encrypt(&x), &owner.encrypt(&y)).unwrap();
    let product = scheme.relinearize(&product, keys).unwrap();
    assert_eq!(product.inner().components().len(), 2);
    let expected: Vec<i64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    assert_eq!(owner.decrypt(&product), expected);
    for steps in [1_usize, 5] {
        let rotated = scheme.rotate_rows(&owner.encrypt(&x), steps as i64, keys).unwrap();
        // Both rows of slots turn to the left.
        let turned = |row: &[i64]| [&row[steps..], &row[..steps]].concat();
        assert_eq!(owner.decrypt(&rotated), [turned(&x[..half]), turned(&x[half..])].concat());
    }
}

#[test]
fn keys_of_a_table_are_loaded_once_and_compute() {
    let owner = Owner::new();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("t");
    for store in [TableStore::local(&place).unwrap(), TableStore::memory()] {
        owner.write(&store, &owner.both());
        let signed = store.load().unwrap();
        store.verify(signed.manifest()).unwrap();
        assert_eq!((signed.manifest().chains.len(), signed.manifest().keys.len()), (1, 2));
        let engine = engine(store);
        let loaded = engine.evaluation_keys(&owner.set()).unwrap();
        compute(&owner, loaded.chain(), loaded.keys());
        // The second time, they are the same object.
        assert!(Arc::ptr_eq(&loaded, &engine.evaluation_keys(&owner.set()).unwrap()));
    }
    assert_eq!(std::fs::read_dir(place.join(KEYS_NAME)).unwrap().count(), 2 + 1, "and a hash tree");
    // Deleting the table deletes its keys.
    TableStore::local_existing(&place).unwrap().delete().unwrap();
    assert!(!place.exists());
}

#[test]
fn keys_that_nobody_signed_for_are_not_there() {
    let owner = Owner::new();
    let store = TableStore::memory();
    owner.write(&store, &owner.both()[..1]);
    let engine = engine(store.clone());
    let others = [
        KeySet { unit: 1, ..owner.set() },
        KeySet { secret: SecretId::from_bytes([0; 16]), ..owner.set() },
        KeySet { params: "n13_q3p1x46_d1_sec128_v1".to_owned(), ..owner.set() },
    ];
    for other in others {
        let refused = engine.evaluation_keys(&other).unwrap_err();
        assert_eq!((refused.code(), refused.kind()), ("HUSH-E064", ErrorKind::NotFound));
    }
    // A file that the manifest does not name gives no key.
    let (_, elements) = owner.galois();
    store.put_key(owner.object(false, &elements)).unwrap();
    let loaded = engine.evaluation_keys(&owner.set()).unwrap();
    assert!(loaded.keys().galois(elements[0]).is_err() && loaded.keys().relinearisation().is_ok());
    // A file that no manifest names is swept.
    assert_eq!(store.sweep().unwrap(), 1);
    assert!(store.verify(store.load().unwrap().manifest()).is_ok());
}

/// The only file of keys of a table in a directory.
fn key_file(place: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(place.join(KEYS_NAME)).unwrap().map(|entry| entry.unwrap().path());
    let mut keys = files.filter(|path| path.extension().is_some_and(|ending| ending == "key"));
    keys.next().unwrap()
}

#[test]
fn files_of_keys_that_were_changed_are_refused() {
    let owner = Owner::new();
    let relinearisation = owner.object(true, &[]);
    let another = owner.object(true, &[]);
    let mut flipped = relinearisation.clone();
    flipped[1000] ^= 1;
    let cases = [
        ("swapped", another, "HUSH-T031"),
        ("flipped", flipped, "HUSH-T031"),
        ("truncated", relinearisation[..relinearisation.len() - 1].to_vec(), "HUSH-T032"),
        ("oversized", [&relinearisation[..], &[0]].concat(), "HUSH-T032"),
        ("empty", Vec::new(), "HUSH-T032"),
    ];
    for (name, bytes, code) in cases {
        let directory = tempfile::tempdir().unwrap();
        let store = TableStore::local(directory.path()).unwrap();
        owner.write(&store, &[(KeyKind::Relinearisation, T, relinearisation.clone())]);
        std::fs::write(key_file(directory.path()), bytes).unwrap();
        let store = TableStore::local_existing(directory.path()).unwrap();
        let found = store.verify(store.load().unwrap().manifest()).unwrap_err();
        assert_eq!(found.code(), code, "{name}");
        match engine(store).evaluation_keys(&owner.set()).unwrap_err() {
            ExecError::Corrupt { code: found } => assert_eq!(found, code, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        std::fs::remove_file(key_file(directory.path())).unwrap();
        let store = TableStore::local_existing(directory.path()).unwrap();
        let missing = engine(store).evaluation_keys(&owner.set()).unwrap_err();
        assert!(matches!(missing, ExecError::Corrupt { code: "HUSH-T030" }), "{name}: {missing:?}");
    }
}

/// The owner signed for these files, but they hold other keys than the manifest says.
#[test]
fn files_that_hold_other_keys_are_refused() {
    let owner = Owner::new();
    let (galois, elements) = owner.galois();
    let KeyKind::Galois { elements: named } = &galois else { unreachable!() };
    let fault = |keys: (KeyKind, u64, Vec<u8>), unit| {
        let store = TableStore::memory();
        owner.write(&store, &[keys]);
        match engine(store).evaluation_keys(&KeySet { unit, ..owner.set() }).unwrap_err() {
            ExecError::BadKey { fault, .. } => *fault,
            other => panic!("{other:?}"),
        }
    };
    // Keys over the chain of another unit have the same size.
    let unit = fault((KeyKind::Relinearisation, 1, owner.object(true, &[])), 1);
    assert!(matches!(unit, CodecError::Chain { .. }), "{unit:?}");
    let relinearisation = fault((KeyKind::Relinearisation, T, owner.object(false, &elements[..1])), T);
    assert_eq!(relinearisation, CodecError::GaloisElement { found: named[0], expected: 0 });
    let first = KeyKind::Galois { elements: named[..1].to_vec() };
    let other = fault((first, T, owner.object(false, &elements[1..])), T);
    assert_eq!(other, CodecError::GaloisElement { found: named[1], expected: named[0] });
    // As long as the keys, but no object at all.
    let noise = vec![7; owner.object(true, &[]).len()];
    assert_eq!(fault((KeyKind::Relinearisation, T, noise), T), CodecError::Magic);
}

#[test]
fn keys_beyond_the_memory_are_refused_before_they_are_read() {
    let owner = Owner::new();
    let directory = tempfile::tempdir().unwrap();
    let store = TableStore::local(directory.path()).unwrap();
    owner.write(&store, &owner.both());
    std::fs::remove_dir_all(directory.path().join(KEYS_NAME)).unwrap();
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let engine = Engine::for_table(store, 1, limits).unwrap();
    let refused = engine.evaluation_keys(&owner.set()).unwrap_err();
    assert!(matches!(refused, ExecError::MemoryLimit), "{refused:?}");
}
