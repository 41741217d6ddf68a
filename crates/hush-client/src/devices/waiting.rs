// SPDX-License-Identifier: Apache-2.0
//! The deliveries that wait beside a table, page by page and to the end.
//!
//! Pages are in the order of ids, which begin with the device. Ids never change, so nothing is missed or met twice. But a device
//! with thousands of deliveries would fill pages before those of others, so devices take turns. If a page has one device alone,
//! the device's next page comes after those of all others.
//!
//! ```text
//! A A A │ A A A │ A A B │ C C        read as   A A A │ B C C │ A A A │ A A
//! ```
//!
//! A server can list anything. So every page must begin behind the one before in its device's turn or its round, only deliveries of
//! devices that the owner has certified are kept, and the list ends after [`MAX_PAGES`].

use std::collections::VecDeque;

use hush_remote::RemoteError;
use hush_table::{DeliveryId, DeliveryPage, DeviceId, SignedDelivery, SignedManifest};

use crate::error::ClientError;
use crate::place::TablePlace;

/// Deliveries of one page of a directory.
const PAGE: usize = 4096;
/// Most pages: far more than any table can take in.
const MAX_PAGES: usize = 4096;

type Fetch<'a> = dyn FnMut(Option<DeliveryId>) -> Result<DeliveryPage, ClientError> + 'a;

/// The waiting deliveries of devices that the table's owner has certified.
pub(crate) struct Waiting<'a> {
    fetch: Box<Fetch<'a>>,
    signed: &'a SignedManifest,
    /// The server's address, or the directory.
    place: String,
    turns: VecDeque<Turn>,
    pages: usize,
}

/// A page to read.
struct Turn {
    after: Option<DeliveryId>,
    /// The device whose deliveries count; `None` for all devices.
    of: Option<DeviceId>,
}

impl<'a> Waiting<'a> {
    /// The deliveries that wait beside a table.
    pub(crate) fn beside(place: TablePlace<'a>, signed: &'a SignedManifest) -> Self {
        let fetch = move |after| match place {
            TablePlace::Directory(_) | TablePlace::Bucket(_) => {
                Ok(place.files()?.deliveries_after(signed, after, PAGE)?)
            }
            TablePlace::Server(server, table) => Ok(server.deliveries(table, after)?),
        };
        let name = match place {
            TablePlace::Server(server, _) => server.url().to_owned(),
            TablePlace::Directory(_) | TablePlace::Bucket(_) => place.name(),
        };
        Self::new(Box::new(fetch), signed, name)
    }

    fn new(fetch: Box<Fetch<'a>>, signed: &'a SignedManifest, place: String) -> Self {
        Self { fetch, signed, place, turns: [Turn { after: None, of: None }].into(), pages: 0 }
    }

    /// The next page; `None` at the end. Deliveries of one device come in the order of their ids, each once.
    ///
    /// # Errors
    /// The errors of a server or a directory; a list that never ends is [`RemoteError::Protocol`].
    pub(crate) fn next_page(&mut self) -> Result<Option<Vec<SignedDelivery>>, ClientError> {
        let Some(turn) = self.turns.pop_front() else { return Ok(None) };
        if self.pages >= MAX_PAGES {
            let what = "its list of deliveries has no end";
            return Err(RemoteError::Protocol { url: self.place.clone(), what }.into());
        }
        self.pages += 1;
        let DeliveryPage { mut deliveries, next } = (self.fetch)(turn.after)?;
        if let Some(next) = next {
            self.go_on(&turn, next, &deliveries);
        }
        let table = self.signed.manifest().table_id;
        deliveries.retain(|signed| {
            let is_of = turn.of.is_none_or(|device| device == signed.delivery().id.device);
            is_of && signed.require_owner(self.signed.key(), table).is_ok()
        });
        Ok(Some(deliveries))
    }

    /// Their number.
    ///
    /// # Errors
    /// As [`Waiting::next_page`].
    pub(crate) fn count(mut self) -> Result<u64, ClientError> {
        let mut count = 0;
        while let Some(page) = self.next_page()? {
            count += page.len() as u64;
        }
        Ok(count)
    }

    /// Arranges the next turns after a page behind which the list goes on at `next`.
    fn go_on(&mut self, turn: &Turn, next: DeliveryId, deliveries: &[SignedDelivery]) {
        let device = next.device;
        let is_alone = deliveries.iter().all(|signed| signed.delivery().id.device == device);
        match turn.of {
            Some(of) if of == device => self.turns.push_back(Turn { after: Some(next), of: Some(of) }),
            Some(_) => {}
            None if is_alone => {
                self.turns.push_back(Turn { after: Some(next), of: Some(device) });
                self.turns.push_front(Turn { after: Some(DeliveryId::last_of(device)), of: None });
            }
            None => self.turns.push_front(Turn { after: Some(next), of: None }),
        }
    }
}

#[cfg(test)]
mod tests;
