// SPDX-License-Identifier: Apache-2.0
//! Purging a table of its old versions and of what only they name.

use std::sync::Arc;

use hush_table::{Digest, Purge, PurgeRun, SignedManifest};

use super::Catalog;
use crate::error::{ApiError, Code};
use crate::names::TableName;

impl Catalog {
    /// Deletes what the present version does not need, if `version` is the digest of its manifest; gives that version too.
    ///
    /// # Errors
    /// [`Code::NoTable`]; [`Code::OtherVersion`]; [`Code::Busy`] while somebody else writes to the table; [`Code::Internal`] if a file
    /// cannot be deleted: repeat to finish.
    ///
    /// # Cost
    /// A list of the table's files.
    pub fn purge(
        &self,
        table: &TableName,
        version: &Digest,
        run: PurgeRun,
    ) -> Result<(Purge, Arc<SignedManifest>), ApiError> {
        // No commit and no delivery comes between the look and the deletion.
        let _change = self.changing();
        let present = self.find(table)?;
        if present.digest() != *version {
            return Err(Code::OtherVersion.into());
        }
        let purged = self.place(table)?.purge(version, run);
        if run == PurgeRun::Delete {
            self.count_anew(table);
        }
        Ok((purged?.ok_or(Code::OtherVersion)?, present))
    }
}
