// SPDX-License-Identifier: Apache-2.0
//! Deliveries of devices: sent, listed for their owner, and taken in by a manifest.

use std::path::Path;

use hush_protocol::path;
use hush_protocol::table::Deliveries;
use hush_table::part::FileKind;
use hush_table::{DeliveryId, DeliveryPage, PartFile, SignedDelivery, SignedManifest, TableStore, from_hex};

use super::job::download;
use super::transport::{Call, Method, Transport};
use super::upload::{Upload, expect, part_path};
use super::{RemoteError, Silent, table_path};

/// Largest page of deliveries that is read: 4096 of the largest, in hex.
const LIST_MAX_BYTES: u64 = 40 << 20;

/// Sends a delivery with its parts from `directory`, where they lie like a table's.
pub(super) fn deliver(
    transport: &Transport,
    table: &str,
    directory: &Path,
    signed: &SignedDelivery,
) -> Result<(), RemoteError> {
    let base = table_path(table)?;
    let store = TableStore::local(directory)?;
    let delivery = signed.delivery();
    let files = [(FileKind::Encrypted, delivery.encrypted), (FileKind::Clear, delivery.clear)];
    let files = files.into_iter().filter_map(|(kind, file)| Some((kind, file?)));
    send_parts(transport, &base, &store, files)?;
    let path = path::deliveries(&base);
    let (body, headers) = (signed.as_bytes(), expect(signed.as_bytes().len() as u64).into_iter().collect());
    let call = Call { headers, body, ..Call::new(Method::Put, &path) };
    transport.send(&call).map(drop)
}

/// Uploads files of parts, each unless the server has it.
pub(super) fn send_parts(
    transport: &Transport,
    base: &str,
    store: &TableStore,
    files: impl IntoIterator<Item = (FileKind, PartFile)>,
) -> Result<(), RemoteError> {
    for (kind, file) in files {
        Upload { transport, store, base, kind, file, expected: true, progress: &Silent }.run()?;
    }
    Ok(())
}

/// The deliveries after `after`, and the id at which the list goes on. Ids must rise, so that no server sends us in a circle.
pub(super) fn waiting(
    transport: &Transport,
    table: &str,
    after: Option<DeliveryId>,
) -> Result<DeliveryPage, RemoteError> {
    let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
    let path = path::deliveries(&table_path(table)?) + &query;
    let listed: Deliveries = transport.json(&Call::get(&path, LIST_MAX_BYTES))?;
    let protocol = |what| RemoteError::Protocol { url: transport.url().to_owned(), what };
    let id = |text: String| DeliveryId::of_text(&text).ok_or(protocol("its list goes on behind no delivery"));
    let next = listed.next.map(id).transpose()?;
    // A delivery that does not decode is nobody's, and keeps no other out.
    let decode = |text: &String| SignedDelivery::decode(&from_hex(text)?).ok();
    let deliveries: Vec<SignedDelivery> = listed.deliveries.iter().filter_map(decode).collect();
    let ids = deliveries.iter().map(|signed| signed.delivery().id);
    let mut last = after;
    for id in ids {
        if last.is_some_and(|last| id <= last) {
            return Err(protocol("its list of deliveries is not in the order of their ids"));
        }
        last = Some(id);
    }
    if next.is_some_and(|next| last.is_some_and(|last| next < last) || after == Some(next)) {
        return Err(protocol("its list of deliveries does not advance"));
    }
    Ok(DeliveryPage { deliveries, next })
}

pub(super) fn part(
    transport: &Transport,
    table: &str,
    kind: FileKind,
    file: PartFile,
) -> Result<Vec<u8>, RemoteError> {
    let path = part_path(&table_path(table)?, kind, &file);
    download(transport, &path, file.bytes, file.bytes, &Silent, &file.digest)
}

/// Makes a manifest the table's present version. Its parts are on the server already.
pub(super) fn commit(transport: &Transport, manifest: &SignedManifest) -> Result<(), RemoteError> {
    let path = path::manifest(&table_path(&manifest.manifest().table)?);
    let (body, headers) =
        (manifest.as_bytes(), expect(manifest.as_bytes().len() as u64).into_iter().collect());
    let call = Call { headers, body, ..Call::new(Method::Put, &path) };
    transport.send(&call).map(drop)
}

#[cfg(test)]
mod tests;
