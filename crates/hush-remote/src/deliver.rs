// SPDX-License-Identifier: Apache-2.0
//! Deliveries of devices: sent, listed for their owner, and taken in by a manifest.

use std::path::Path;

use hush_table::part::PartKind;
use hush_table::{PartFile, SignedDelivery, SignedManifest, TableStore, from_hex};
use serde::Deserialize;

use super::job::download;
use super::push::{Upload, expect, part_path};
use super::transport::{Call, Method, Transport};
use super::{RemoteError, Silent, table_path};

/// Largest list of deliveries that is read: 4096 of the largest, in hex.
const LIST_MAX_BYTES: u64 = 40 << 20;

/// What waits beside a table on a server.
#[derive(Debug)]
pub struct WaitingDeliveries {
    /// How many there are, by the server's count.
    pub waiting: u64,
    /// The first of them, whose signatures agree with themselves; whose they are is the caller's question.
    pub deliveries: Vec<SignedDelivery>,
}

#[derive(Deserialize)]
struct Listed {
    waiting: u64,
    deliveries: Vec<String>,
}

/// Sends a delivery whose parts lie in `directory`, as a table's do.
pub(super) fn deliver(
    transport: &Transport,
    table: &str,
    directory: &Path,
    signed: &SignedDelivery,
) -> Result<(), RemoteError> {
    let base = table_path(table)?;
    let store = TableStore::local(directory)?;
    let delivery = signed.delivery();
    for (kind, file) in [(PartKind::Encrypted, delivery.encrypted), (PartKind::Clear, delivery.clear)] {
        let Some(file) = file else { continue };
        Upload { transport, store: &store, directory, base: &base, kind, file, progress: &Silent }.run()?;
    }
    let path = format!("{base}/deliveries");
    let call = Call { headers: vec![expect()], body: signed.as_bytes(), ..Call::new(Method::Put, &path) };
    transport.send(&call).map(drop)
}

pub(super) fn waiting(transport: &Transport, table: &str) -> Result<WaitingDeliveries, RemoteError> {
    let path = format!("{}/deliveries", table_path(table)?);
    let listed: Listed = transport.json(&Call::get(&path, LIST_MAX_BYTES))?;
    // One that does not decode is nobody's, and keeps no other out.
    let decode = |text: &String| SignedDelivery::decode(&from_hex(text)?).ok();
    let deliveries = listed.deliveries.iter().filter_map(decode).collect();
    Ok(WaitingDeliveries { waiting: listed.waiting, deliveries })
}

pub(super) fn part(
    transport: &Transport,
    table: &str,
    kind: PartKind,
    file: PartFile,
) -> Result<Vec<u8>, RemoteError> {
    let path = part_path(&table_path(table)?, kind, &file);
    download(transport, &path, file.bytes, file.bytes, &Silent, &file.digest)
}

/// Makes a manifest the table's present version; its parts are there.
pub(super) fn commit(transport: &Transport, manifest: &SignedManifest) -> Result<(), RemoteError> {
    let path = format!("{}/manifest", table_path(&manifest.manifest().table)?);
    let call = Call { headers: vec![expect()], body: manifest.as_bytes(), ..Call::new(Method::Put, &path) };
    transport.send(&call).map(drop)
}
