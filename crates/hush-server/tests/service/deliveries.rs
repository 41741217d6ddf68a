// SPDX-License-Identifier: Apache-2.0
//! What waits beside a table, page by page.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::EncodingId;
use hush_table::delivery::{DELIVERY_FORMAT, certified_bytes};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::{Delivery, DeliveryId, DeviceId, Digest, EncodedChunk, SignedDelivery, StreamId, from_hex};

use crate::fixture::{LocalTable, PLAIN};
use crate::harness::{Service, start};

/// Uploads the parts of one row and lets the delivery wait.
pub(crate) fn deliver(service: &Service, table: &LocalTable, device: u8, number: u64) -> DeliveryId {
    let (owner, signer) =
        (SigningKey::from_bytes(&[PLAIN.signer; 32]), SigningKey::from_bytes(&[device; 32]));
    let key = signer.verifying_key().to_bytes();
    let manifest = table.manifest.manifest();
    let id = DeliveryId { device: DeviceId::of_key(&key), stream: StreamId::from_bytes([5; 16]), number };
    let schema = manifest.clear_schema().unwrap();
    let columns =
        vec![Arc::new(StringArray::from(vec!["north"])) as _, Arc::new(Int64Array::from(vec![2020])) as _];
    let mut clear = ClearPartWriter::new(&schema).unwrap();
    clear.push(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    let mut encrypted = EncryptedPartWriter::new(&[EncodingId(1)], &[], 0);
    let blob = id.to_string().into_bytes();
    let (seed, encoded) = (id.chunk_seed(0), vec![blob.into()]);
    encrypted.push(EncodedChunk { index: 0, rows: 1, seed, encoded, sealed: Vec::new() }).unwrap();
    let (clear, encrypted) = (clear.finish().unwrap(), encrypted.finish().unwrap());
    for (part, half) in [(&clear, "clear"), (&encrypted, "enc")] {
        let put = service.put(&format!("{}/parts/{}.{half}", table.base(), part.file.digest), &part.bytes);
        assert!(matches!(put.status, 200 | 201), "{}", put.status);
    }
    let encodings = Digest::of(b"encodings");
    let delivery = Delivery {
        format: DELIVERY_FORMAT,
        table_id: manifest.table_id,
        encodings,
        id,
        rows: 1,
        chunks: 1,
        clear: Some(clear.file),
        encrypted: Some(encrypted.file),
    };
    let certificate = owner.sign(&certified_bytes(manifest.table_id, encodings, &key)).to_bytes();
    let signed =
        SignedDelivery::sign(delivery, &key, &certificate, |bytes| signer.sign(bytes).to_bytes()).unwrap();
    assert_eq!(service.put(&format!("{}/deliveries", table.base()), signed.as_bytes()).status, 201);
    id
}

/// The ids of one page, and where it goes on.
fn page(service: &Service, table: &LocalTable, after: Option<&str>) -> (Vec<DeliveryId>, Option<String>) {
    let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
    let page = service.get(&format!("{}/deliveries{query}", table.base()));
    assert_eq!(page.status, 200);
    let page = page.json();
    let id = |text: &serde_json::Value| {
        let container = from_hex(text.as_str().unwrap()).unwrap();
        SignedDelivery::decode(&container).unwrap().delivery().id
    };
    let ids = page["deliveries"].as_array().unwrap().iter().map(id).collect();
    (ids, page["next"].as_str().map(str::to_owned))
}

/// All pages.
pub(crate) fn listed(service: &Service, table: &LocalTable) -> Vec<Vec<DeliveryId>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let (ids, next) = page(service, table, after.as_deref());
        pages.push(ids);
        after = next;
        if after.is_none() {
            return pages;
        }
    }
}

#[test]
fn everything_that_waits_is_listed_once_page_by_page() {
    let service = start(&["--max-listed", "3"]);
    let table = PLAIN.make();
    table.push(&service);
    assert_eq!(listed(&service, &table), [[]; 1]);
    let mut expected: Vec<DeliveryId> =
        (0..10).map(|at| deliver(&service, &table, 1 + at % 2, u64::from(at))).collect();
    expected.sort_unstable();
    let pages = listed(&service, &table);
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 1]);
    assert_eq!(pages.concat(), expected);
    // What comes or goes on earlier pages moves nothing on later ones.
    let (first, next) = page(&service, &table, None);
    assert_eq!(next.as_deref(), first.last().map(ToString::to_string).as_deref());
    let folder = service.path("tables/visits/deliveries");
    std::fs::remove_file(folder.join(first[0].file_name())).unwrap();
    std::fs::remove_file(folder.join(first[2].file_name())).unwrap();
    assert_eq!(page(&service, &table, next.as_deref()).0, expected[3..6]);
    // A page that is just full is the last one.
    expected.retain(|id| *id != first[0] && *id != first[2]);
    let last = expected.split_off(6);
    last.iter().for_each(|id| std::fs::remove_file(folder.join(id.file_name())).unwrap());
    assert_eq!(listed(&service, &table), [&expected[..3], &expected[3..]]);
    // Behind the last id there is nothing, whosever it is.
    let end = DeliveryId::last_of(DeviceId::from_bytes([0xff; 16])).to_string();
    assert_eq!(page(&service, &table, Some(&end)), (Vec::new(), None));
}

#[test]
fn a_place_that_is_none_is_refused() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let id = deliver(&service, &table, 1, 0).to_string();
    for query in
        ["after=", "after=7", "after=../x", "before=7", &format!("after={id}0"), &format!("after={id}&n=9")]
    {
        let refused = service.get(&format!("{}/deliveries?{query}", table.base()));
        assert_eq!((refused.status, refused.code().as_str()), (400, "HUSH-V030"), "{query}");
    }
    assert_eq!(service.get(&format!("/v1/tables/none/deliveries?after={id}")).code(), "HUSH-V014");
}

#[test]
fn pages_have_a_size_that_clients_can_read() {
    for size in ["0", "4097", "-1", "x"] {
        let data = tempfile::tempdir().unwrap();
        let mut command = crate::harness::command(data.path(), &["--max-listed", size]);
        let status = command.stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{size}");
    }
}
