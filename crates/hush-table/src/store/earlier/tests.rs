// SPDX-License-Identifier: Apache-2.0

use std::sync::Mutex;

use object_store::memory::InMemory;

use super::*;

/// A store that keeps versions, and refuses what it is told to refuse.
#[derive(Debug, Default)]
struct Kept {
    versions: Mutex<Vec<EarlierContent>>,
    refuses: Mutex<Option<StoreFault>>,
    deleted: Mutex<Vec<String>>,
}

#[async_trait]
impl EarlierContents for Kept {
    async fn list(&self, prefix: &Path) -> Result<Vec<EarlierContent>, StoreFault> {
        let versions = self.versions.lock().unwrap();
        Ok(versions.iter().filter(|found| found.path.prefix_matches(prefix)).cloned().collect())
    }

    async fn delete(&self, doomed: &[EarlierContent]) -> Result<(), StoreFault> {
        if let Some(fault) = self.refuses.lock().unwrap().clone() {
            return Err(fault);
        }
        self.deleted.lock().unwrap().extend(doomed.iter().map(|found| found.version.clone()));
        self.versions.lock().unwrap().retain(|known| !doomed.contains(known));
        Ok(())
    }
}

fn content(path: &str, version: &str, is_latest: bool, is_marker: bool) -> EarlierContent {
    EarlierContent { path: Path::from(path), version: version.to_owned(), is_latest, is_marker, bytes: 10 }
}

fn store(kept: &Arc<Kept>) -> TableStore {
    TableStore {
        earlier: Some(kept.clone()),
        ..TableStore::new(Arc::new(InMemory::new()), Path::from("lake/t"))
    }
}

fn bucket() -> Arc<Kept> {
    let kept = Arc::new(Kept::default());
    kept.versions.lock().unwrap().extend([
        content("lake/t/manifest.hush", "m2", true, false),
        content("lake/t/manifest.hush", "m1", false, false),
        content("lake/t/parts/a", "a1", true, false),
        content("lake/t/parts/b", "b-gone", true, true),
        content("lake/t/parts/b", "b1", false, false),
        content("lake/t/parts/b", "b-gone-before", false, true),
        content("lake/t/versions/v", "v-gone", true, true),
        // Nobody's of the table.
        content("lake/t/parts/deeper/b", "x1", false, false),
        content("lake/t/notes.txt", "x2", false, false),
        content("lake/t2/parts/b", "x3", false, false),
        content("lake/t2/manifest.hush", "x4", false, false),
    ]);
    kept
}

#[test]
fn what_was_overwritten_or_deleted_goes_and_nothing_else() {
    let kept = bucket();
    let store = store(&kept);
    let doomed = store.earlier_contents().unwrap().unwrap();
    assert_eq!(doomed.counted(), EarlierGone { objects: 2, bytes: 20 });
    let paths = || ["manifest.hush", "parts/a", "parts/b", "versions/v", "parts/c"].into_iter();
    assert_eq!(store.kept_files(paths()).unwrap().unwrap(), ["manifest.hush", "parts/a", "parts/b"]);
    assert_eq!(store.delete_earlier(doomed.clone()).unwrap(), Some(doomed.counted()));
    // Contents before the markers that hide them.
    assert_eq!(*kept.deleted.lock().unwrap(), ["m1", "b1", "b-gone", "b-gone-before", "v-gone"]);
    assert_eq!(store.kept_files(paths()).unwrap().unwrap(), ["manifest.hush", "parts/a"]);
    assert_eq!(store.earlier_contents().unwrap(), Some(DoomedContents::default()));
}

#[test]
fn a_store_that_refuses_has_proven_nothing() {
    let kept = bucket();
    let store = store(&kept);
    *kept.refuses.lock().unwrap() =
        Some(StoreFault::Forbidden { said: crate::error::Said::of("AccessDenied") });
    let doomed = store.earlier_contents().unwrap().unwrap();
    assert_eq!(store.delete_earlier(doomed.clone()).unwrap(), None);
    *kept.refuses.lock().unwrap() = Some(StoreFault::Unreachable { tries: 6 });
    assert_eq!(store.delete_earlier(doomed).unwrap_err().code(), "HUSH-T051");
    // Stores without versions.
    let plain = TableStore::new(Arc::new(InMemory::new()), Path::from("lake/t"));
    assert_eq!(plain.earlier_contents().unwrap(), None);
    assert_eq!(plain.kept_files(["parts/a"].into_iter()).unwrap(), None);
}
