// SPDX-License-Identifier: Apache-2.0
//! Paths below a server's address. Names are inserted as they are: the caller has checked them.

/// Whether the service answers; needs no token.
pub const HEALTH: &str = "/v1/health";
/// Versions and limits.
pub const VERSION: &str = "/v1/version";
/// The description of all paths.
pub const OPENAPI: &str = "/v1/openapi.json";
/// All tables.
pub const TABLES: &str = "/v1/tables";
/// Where jobs are submitted.
pub const JOBS: &str = "/v1/jobs";

/// Ending of a part's name: clear columns.
pub const CLEAR: &str = "clear";
/// Ending of a part's name: encrypted columns.
pub const ENCRYPTED: &str = "enc";
/// Ending of the name of a file of evaluation keys, which is sent as parts are.
pub const KEY: &str = "key";
/// Ending of the name of a zone file, which is sent as parts are.
pub const ZONES: &str = "zones";
/// Ending of the name of a list of deleted rows, which is sent as parts are.
pub const DEAD: &str = "dead";
/// Ending of the name of a file of cubes, which is sent as parts are.
pub const CUBES: &str = "cubes";
/// Ending of the name of a file of sorted runs, which is sent as parts are.
pub const RUNS: &str = "runs";

/// A table.
pub fn table(name: &str) -> String {
    format!("{TABLES}/{name}")
}

/// The table that a path is, or is below.
pub fn table_of(path: &str) -> Option<&str> {
    path.strip_prefix(TABLES)?.strip_prefix('/')?.split(['/', '?']).next()
}

/// The manifest of the table at a path.
pub fn manifest(table: &str) -> String {
    format!("{table}/manifest")
}

/// A part of the table at a path, by its [`part_name`].
pub fn part(table: &str, name: &str) -> String {
    format!("{table}/parts/{name}")
}

/// The name of a part: BLAKE3 of the file, 64 hex digits, and one of the endings above.
pub fn part_name(digest: &str, ending: &str) -> String {
    format!("{digest}.{ending}")
}

/// Deliveries that wait beside the table at a path.
pub fn deliveries(table: &str) -> String {
    format!("{table}/deliveries")
}

/// Where the table at a path is purged of its old versions.
pub fn purge(table: &str) -> String {
    format!("{table}/purge")
}

/// A job.
pub fn job(id: &str) -> String {
    format!("{JOBS}/{id}")
}

/// The answer of a job.
pub fn job_result(id: &str) -> String {
    format!("{JOBS}/{id}/result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_in_every_path_below_it() {
        let table = table("visits");
        for path in
            [&table, &manifest(&table), &purge(&table), &part(&table, "x.enc"), &format!("{table}?after=1")]
        {
            assert_eq!(table_of(path), Some("visits"), "{path}");
        }
        assert_eq!(table_of(TABLES), None);
        assert_eq!(table_of(&job("visits")), None);
    }
}
