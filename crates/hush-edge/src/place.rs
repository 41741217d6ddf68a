// SPDX-License-Identifier: Apache-2.0
//! Places in a file that is read in pieces, with marks that tell whether the file before a place is still the same.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use hush_table::Digest;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::DeviceKey;

/// Bytes that are looked at: the first of a file, and the last before a place.
const WINDOW_BYTES: usize = 512;

/// A place in the input: the number of bytes before it, or of rows in a Parquet file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) position: u64,
    /// Marks of the bytes around it; none for rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<Mark>,
}

/// Fingerprints of the bytes at the beginning of a file and before a place in it. Only the holder of the device's key can compute
/// them, so nobody else can try bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    pub(crate) head: u64,
    pub(crate) tail: u64,
}

/// Digests of the same bytes, for this process alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    head: Digest,
    tail: Digest,
}

impl Trace {
    /// The mark under a device's key.
    pub(crate) fn mark(&self, key: &DeviceKey) -> Mark {
        let [head, tail] = [self.head, self.tail].map(|digest| {
            let [a, b, c, d, e, f, g, h, ..] = *key.fingerprint(&digest).as_bytes();
            u64::from_le_bytes([a, b, c, d, e, f, g, h])
        });
        Mark { head, tail }
    }
}

/// The first bytes of the input, and the last before a place that moves on.
///
/// *Secrecy.* Plaintext; wiped on drop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Window {
    /// The window of a place in a file; `None` if the file does not reach so far. A last line without its end counts as if it had
    /// one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn of_file(file: &File, position: u64) -> io::Result<Option<Self>> {
        let length = file.metadata()?.len();
        if position > length + 1 {
            return Ok(None);
        }
        let read = |from: u64, to: u64| -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; (to.min(length) - from.min(length)) as usize];
            file.read_exact_at(&mut bytes, from)?;
            bytes.extend((to > length).then_some(b'\n'));
            Ok(bytes)
        };
        let window = WINDOW_BYTES as u64;
        let (head, tail) = (read(0, position.min(window)), read(position.saturating_sub(window), position));
        match (head, tail) {
            // The file was cut meanwhile.
            (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            (head, tail) => Ok(Some(Self { head: head?, tail: tail? })),
        }
    }

    /// Moves the place behind `bytes`.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        let missing = WINDOW_BYTES - self.head.len();
        self.head.extend(bytes.iter().take(missing));
        let recent = bytes.get(bytes.len().saturating_sub(WINDOW_BYTES)..).unwrap_or_default();
        let kept = WINDOW_BYTES - recent.len();
        let old = self.tail.len().saturating_sub(kept);
        self.tail.drain(..old);
        self.tail.extend_from_slice(recent);
    }

    /// Whether the last bytes before the place are the same.
    pub(crate) fn ends_like(&self, other: &Self) -> bool {
        self.tail == other.tail
    }

    /// Digests by which places are told apart.
    pub(crate) fn trace(&self) -> Trace {
        Trace { head: Digest::of(&self.head), tail: Digest::of(&self.tail) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.head.zeroize();
        self.tail.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use hush_testkit::Draw;

    use super::*;

    /// The window of a place is the same, passed in pieces or read from the file.
    #[test]
    fn windows_do_not_depend_on_how_they_were_come_by() {
        let mut draw = Draw::new();
        for length in [0, 1, 511, 512, 513, 5000] {
            let bytes: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let mut window = Window::default();
            let mut at = 0;
            while at < length {
                let next = (at + 1 + draw.below(700)).min(length);
                window.pass(&bytes[at..next]);
                at = next;
                let found = Window::of_file(&file, at as u64).unwrap().unwrap();
                assert_eq!((&found.head, &found.tail), (&window.head, &window.tail), "{at} of {length}");
                assert_eq!(found.trace(), window.trace());
            }
            // A last line gets the end that it lacks.
            window.pass(b"\n");
            let found = Window::of_file(&file, length as u64 + 1).unwrap().unwrap();
            assert_eq!(found.trace(), window.trace());
            assert!(Window::of_file(&file, length as u64 + 2).unwrap().is_none());
        }
    }
}
