// SPDX-License-Identifier: Apache-2.0
//! Contents that a store keeps of objects which were overwritten or deleted, where it keeps versions.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::path::Path;

use super::{FOLDERS, JOURNAL_NAME, MANIFEST_NAME, TableStore, objects};
use crate::error::{Operation, StoreFault, TableError};

/// A version of an object that the store keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EarlierContent {
    pub(super) path: Path,
    /// The store's identifier.
    pub(super) version: String,
    /// Whether the object is this now.
    pub(super) is_latest: bool,
    /// Whether it only says that the object was deleted.
    pub(super) is_marker: bool,
    pub(super) bytes: u64,
}

/// A store that keeps versions of objects.
#[async_trait]
pub(super) trait EarlierContents: fmt::Debug + Send + Sync {
    /// All versions of the objects below a prefix, the present ones too.
    async fn list(&self, prefix: &Path) -> Result<Vec<EarlierContent>, StoreFault>;

    /// Deletes versions.
    async fn delete(&self, doomed: &[EarlierContent]) -> Result<(), StoreFault>;
}

/// Contents of a table's objects that a store had kept, and that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierGone {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What is to go of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DoomedContents {
    contents: Vec<EarlierContent>,
    /// They go after what they hide: without them the content before would be the object again.
    markers: Vec<EarlierContent>,
}

impl DoomedContents {
    /// How much it is; markers are nothing.
    pub(super) fn counted(&self) -> EarlierGone {
        let bytes = self.contents.iter().map(|found| found.bytes).fold(0, u64::saturating_add);
        EarlierGone { objects: self.contents.len() as u64, bytes }
    }
}

impl TableStore {
    /// What the store keeps of objects of the table that were overwritten or deleted. `None` where a store keeps nothing that this program can
    /// list, or does not let these credentials list it.
    ///
    /// # Errors
    /// [`TableError::Store`].
    ///
    /// # Cost
    /// A request for each thousand versions below the table's prefix.
    pub(super) fn earlier_contents(&self) -> Result<Option<DoomedContents>, TableError> {
        let Some(earlier) = self.earlier.clone() else { return Ok(None) };
        let Some(all) = self.allowed(list(&earlier, &self.prefix)?, Operation::List)? else {
            return Ok(None);
        };
        let own = all.into_iter().filter(|found| self.is_own(&found.path));
        let (markers, contents): (Vec<_>, Vec<_>) = own.partition(|found| found.is_marker);
        let contents = contents.into_iter().filter(|found| !found.is_latest).collect();
        Ok(Some(DoomedContents { contents, markers }))
    }

    /// Deletes it. `None` if the store does not let these credentials do that.
    ///
    /// # Errors
    /// [`TableError::Store`]: repeat to finish.
    ///
    /// # Cost
    /// A request for each.
    pub(super) fn delete_earlier(&self, doomed: DoomedContents) -> Result<Option<EarlierGone>, TableError> {
        let (Some(earlier), counted) = (self.earlier.clone(), doomed.counted()) else { return Ok(None) };
        for doomed in [doomed.contents, doomed.markers] {
            if self.allowed(delete(&earlier, doomed)?, Operation::Delete)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(counted))
    }

    /// Those of some files, by their paths below the table's place, of which the store keeps a content. `None` where nobody can tell.
    ///
    /// # Errors
    /// [`TableError::Store`].
    pub fn kept_files<'a>(
        &self,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<Option<Vec<&'a str>>, TableError> {
        let Some(earlier) = self.earlier.clone() else { return Ok(None) };
        let Some(all) = self.allowed(list(&earlier, &self.prefix)?, Operation::List)? else {
            return Ok(None);
        };
        let kept: HashSet<Path> =
            all.into_iter().filter(|found| !found.is_marker).map(|found| found.path).collect();
        let path = |text: &str| text.split('/').fold(self.prefix.clone(), |path, segment| path.join(segment));
        Ok(Some(paths.filter(|text| kept.contains(&path(text))).collect()))
    }

    /// Whether a table has an object of such a name.
    fn is_own(&self, path: &Path) -> bool {
        let Some(mut below) = path.prefix_match(&self.prefix) else { return false };
        let (first, second) = (below.next(), below.next());
        first.is_some_and(|first| match second {
            Some(_) => FOLDERS.contains(&first.as_ref()) && below.next().is_none(),
            None => [MANIFEST_NAME, JOURNAL_NAME].contains(&first.as_ref()),
        })
    }

    /// What was answered; `None` if the store does not let these credentials do it, or knows no versions.
    fn allowed<T>(
        &self,
        answered: Result<T, StoreFault>,
        operation: Operation,
    ) -> Result<Option<T>, TableError> {
        match answered {
            Ok(found) => Ok(Some(found)),
            Err(StoreFault::Forbidden { .. } | StoreFault::Refused { .. } | StoreFault::Answer) => Ok(None),
            Err(fault) => Err(TableError::Store { operation, place: self.place(), fault }),
        }
    }
}

type Answered<T> = Result<Result<T, StoreFault>, TableError>;

fn list(earlier: &Arc<dyn EarlierContents>, prefix: &Path) -> Answered<Vec<EarlierContent>> {
    let (earlier, below, place) = (earlier.clone(), prefix.clone(), prefix.to_string());
    let answered = objects::block(async move { Ok(earlier.list(&below).await) });
    answered.map_err(|cause| objects::io(Operation::List, &place, cause))
}

fn delete(earlier: &Arc<dyn EarlierContents>, doomed: Vec<EarlierContent>) -> Answered<()> {
    let earlier = earlier.clone();
    let answered = objects::block(async move { Ok(earlier.delete(&doomed).await) });
    answered.map_err(|cause| objects::io(Operation::Delete, "versions", cause))
}

#[cfg(test)]
mod tests;
