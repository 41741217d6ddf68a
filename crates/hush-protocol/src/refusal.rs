// SPDX-License-Identifier: Apache-2.0
//! Refusals.

use serde::{Deserialize, Serialize};

/// The body of every refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// Stable code, `HUSH-V…` from the service or `HUSH-E…` from the engine.
    #[cfg_attr(feature = "schemas", schema(example = "HUSH-V014"))]
    pub code: String,
    /// Fixed sentence with the way out.
    pub message: String,
    /// Identifies the request in the server's log.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schema(required))]
    pub request_id: String,
    /// For a limit: what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// For a limit: what is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_with_and_without_the_numbers_of_a_limit() {
        for text in [
            r#"{"code":"HUSH-V014","message":"no such table","request_id":"7"}"#,
            r#"{"code":"HUSH-V008","message":"larger","request_id":"7","found":3,"limit":2}"#,
        ] {
            let body: ErrorBody = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&body).unwrap(), text);
        }
        assert!(serde_json::from_str::<ErrorBody>(r#"{"code":"HUSH-V014","message":"no"}"#).is_ok());
    }
}
