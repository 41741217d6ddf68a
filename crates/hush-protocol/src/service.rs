// SPDX-License-Identifier: Apache-2.0
//! What a server says about itself.

use serde::{Deserialize, Serialize};

/// Health of the service.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct Health {
    /// `ok` while requests are answered.
    pub status: String,
}

/// Versions and limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct Version {
    /// `hush-server`
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Version of the plans that it reads.
    pub plan_format: u16,
    /// Limits that a client should know.
    pub limits: PublicLimits,
}

/// Limits in bytes and counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct PublicLimits {
    /// Tables.
    pub tables: usize,
    /// Of one table's parts.
    pub table_bytes: u64,
    /// Of one part.
    pub part_bytes: u64,
    /// Of one manifest.
    pub manifest_bytes: u64,
    /// Of one plan.
    pub plan_bytes: u64,
    /// Of one answer.
    pub answer_bytes: u64,
    /// Requests at once.
    pub requests: usize,
    /// Jobs waiting at once.
    pub queued_jobs: usize,
    /// Of unfinished uploads together.
    pub uploads_bytes: u64,
    /// Of kept answers together.
    pub results_bytes: u64,
    /// Seconds that a job may run.
    pub job_s: u64,
    /// Seconds that results are kept.
    pub result_ttl_s: u64,
}

/// The members of [`Version`] that a client reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServerVersion {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Version of the plans that it reads.
    pub plan_format: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_read_what_servers_say_of_themselves() {
        let (name, version) = ("hush-server".to_owned(), "0.1.0".to_owned());
        let limits = PublicLimits { tables: 3, ..PublicLimits::default() };
        let said = Version { name: name.clone(), version: version.clone(), plan_format: 1, limits };
        let read: ServerVersion = serde_json::from_value(serde_json::to_value(&said).unwrap()).unwrap();
        assert_eq!(read, ServerVersion { name, version, plan_format: 1 });
    }
}
