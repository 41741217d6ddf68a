// SPDX-License-Identifier: Apache-2.0
//! What one invocation of a worker is told: some parts of a job's table. Never a ciphertext, never a plan.

use hush_server::names::JobId;
use serde::{Deserialize, Serialize};

/// Longest event that is read. One has about 80 bytes.
const MAX_BYTES: usize = 1024;

/// The work of one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The job.
    pub job: JobId,
    /// The first part, counted from 0 in the order of the manifest.
    pub first: u32,
    /// The part after the last one.
    pub end: u32,
}

/// Why an event is refused. Nothing has been done for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventFault {
    /// Not the JSON of an event.
    #[error("an event is not {{\"job\": ID, \"first\": PART, \"end\": PART}}; send what the front sends")]
    Form,
    /// Parts that are no task of the job.
    #[error(
        "parts {first} to {end} are no task of the job, whose table has {parts} parts; the front sends 0 to {parts}"
    )]
    Parts {
        /// The first part that was asked for.
        first: u32,
        /// The part after the last one.
        end: u32,
        /// Parts of the table.
        parts: u32,
    },
}

impl EventFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form => "HUSH-L001",
            Self::Parts { .. } => "HUSH-L002",
        }
    }
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// [`EventFault::Form`].
    pub fn read(bytes: &[u8]) -> Result<Self, EventFault> {
        let bytes = bytes.get(..bytes.len().min(MAX_BYTES + 1)).unwrap_or_default();
        if bytes.len() > MAX_BYTES {
            return Err(EventFault::Form);
        }
        serde_json::from_slice(bytes).map_err(|_| EventFault::Form)
    }

    /// The event as it is sent.
    pub fn to_json(&self) -> String {
        // An id and two numbers: there is nothing that JSON could not say.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_is_sent_and_nothing_else_is() {
        let event = Event { job: JobId::fresh().unwrap(), first: 3, end: 9 };
        let sent = event.to_json();
        assert_eq!(sent, format!("{{\"job\":\"{}\",\"first\":3,\"end\":9}}", event.job.as_str()));
        assert_eq!(Event::read(sent.as_bytes()), Ok(event));
        let foreign = [
            "",
            "null",
            "[]",
            "{}",
            r#"{"Records":[{"eventSource":"aws:s3"}]}"#,
            r#"{"job":"../../tables","first":0,"end":1}"#,
            r#"{"job":"00112233445566778899AABBCCDDEEFF","first":0,"end":1}"#,
            r#"{"job":"00112233445566778899aabbccddeeff","first":-1,"end":1}"#,
            r#"{"job":"00112233445566778899aabbccddeeff","first":0,"end":4294967296}"#,
            r#"{"job":"00112233445566778899aabbccddeeff","first":0}"#,
            r#"{"job":"00112233445566778899aabbccddeeff","first":0,"end":1,"plan":"x"}"#,
        ];
        for bytes in foreign.iter().map(|text| text.as_bytes()).chain([&b"\xff\xfe"[..], &[b' '; 4096]]) {
            assert_eq!(Event::read(bytes), Err(EventFault::Form));
        }
        let padded = sent + &" ".repeat(2000);
        assert_eq!(Event::read(padded.as_bytes()), Err(EventFault::Form), "too long, though it is JSON");
    }
}
