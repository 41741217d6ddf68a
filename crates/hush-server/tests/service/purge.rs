// SPDX-License-Identifier: Apache-2.0
//! Old versions that go for good, and what stays: the present one, uploads, deliveries.

use std::sync::Arc;

use hush_server::Storage;
use object_store::memory::InMemory;
use object_store::path::Path;

use crate::deliveries::{deliver, listed};
use crate::fixture::{LocalTable, PLAIN, Recipe};
use crate::harness::{Answer, Service, eventually, start, start_on};
use crate::jobs::{finished, plan, submit};

fn second() -> LocalTable {
    Recipe { version: 2, seed: 2, ward: "south", ..PLAIN }.make()
}

fn purge(service: &Service, present: &LocalTable, query: &str) -> Answer {
    let path = format!("{}/purge?manifest={}{query}", present.base(), present.manifest.digest());
    service.call("POST", &path, &[], b"")
}

fn paths(answer: &Answer, list: &str) -> Vec<String> {
    let files = answer.json()[list].as_array().unwrap().clone();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

fn names(table: &LocalTable) -> Vec<String> {
    let name =
        |(route, _): (String, Vec<u8>)| route.rsplit('/').next().unwrap().replace("clear", "clear.parquet");
    let mut names: Vec<_> = table.parts().into_iter().map(name).collect();
    names.iter_mut().for_each(|name| *name = format!("parts/{}", name.replace(".enc", ".enc.parquet")));
    names.sort();
    names
}

#[test]
fn what_only_old_versions_need_is_deleted_and_named() {
    let (first, second) = (PLAIN.make(), second());
    let memory = Storage::objects(Arc::new(InMemory::new()), &Path::from("one/server"));
    let on_store = start_on(memory, Arc::new(tempfile::tempdir().unwrap()), &[]);
    for (service, is_directory) in [(start(&[]), true), (on_store, false)] {
        assert_eq!(purge(&service, &first, "").code(), "HUSH-V014");
        first.push(&service);
        assert_eq!(purge(&service, &first, "").json()["deleted"], serde_json::json!([]));
        second.push(&service);
        let stale = purge(&service, &first, "");
        assert_eq!((stale.status, stale.code().as_str()), (409, "HUSH-V029"));
        let looked = purge(&service, &second, "&dry_run=true");
        for (route, content) in first.parts().into_iter().chain(second.parts()) {
            assert_eq!(service.get(&route).body, content);
        }
        let purged = purge(&service, &second, "");
        assert_eq!((purged.status, &purged.body), (200, &looked.body));
        let mut deleted = paths(&purged, "deleted");
        let versions = deleted.extract_if(.., |path| path.starts_with("versions/")).count();
        assert_eq!((deleted, versions), (names(&first), usize::from(!is_directory)));
        let bytes: usize = first.parts().iter().map(|(_, content)| content.len()).sum();
        let files = purged.json()["deleted"].as_array().unwrap().clone();
        let told = files.iter().filter(|file| file["path"].as_str().unwrap().starts_with("parts/"));
        assert_eq!(told.map(|file| file["bytes"].as_u64().unwrap()).sum::<u64>(), bytes as u64);
        for (route, _) in first.parts() {
            assert_eq!(service.get(&route).code(), "HUSH-V015");
        }
        for (route, content) in second.parts() {
            assert_eq!(service.get(&route).body, content);
        }
        assert_eq!(service.get(&second.manifest_path()).body, second.manifest.as_bytes());
        let again = purge(&service, &second, "&dry_run=false").json();
        assert_eq!(again, serde_json::json!({ "deleted": [], "waiting": [], "unnamed": [] }));
        // A question that was planned for the old version is told so.
        let refused = service.call("POST", "/v1/jobs", &[], &plan(&first, None));
        assert_eq!(refused.code(), "HUSH-V029");
        assert_eq!(finished(&service, &submit(&service, &plan(&second, None)))["state"], "done");
    }
}

#[test]
fn only_the_owner_may_and_only_by_a_sound_request() {
    let service = start(&[]);
    let (first, second) = (PLAIN.make(), second());
    first.push(&service);
    second.push(&service);
    let path = |query: &str| format!("{}/purge{query}", second.base());
    for query in ["", "?manifest=0", "?manifest=..", "?dry_run=true", "?manifest=x&all=1"] {
        assert_eq!(service.call("POST", &path(query), &[], b"").code(), "HUSH-V030", "{query}");
    }
    let good = path(&format!("?manifest={}", second.manifest.digest()));
    let device = std::fs::read_to_string(service.path("device-token")).unwrap();
    let bearer = format!("Bearer {}", device.trim());
    let refused = service.call_bare("POST", &good, &[("authorization", &bearer)], b"");
    assert_eq!((refused.status, refused.code().as_str()), (403, "HUSH-V036"));
    assert_eq!(service.call_bare("POST", &good, &[], b"").code(), "HUSH-V001");
    assert_eq!(service.call("GET", &good, &[], b"").code(), "HUSH-V003");
    for (route, content) in first.parts() {
        assert_eq!(service.get(&route).body, content);
    }
}

#[test]
fn uploads_and_deliveries_are_kept_and_told() {
    let service = start(&[]);
    let (first, second) = (PLAIN.make(), second());
    first.push(&service);
    second.push(&service);
    // A part that arrives at this moment.
    let third = Recipe { version: 3, seed: 3, ward: "west", ..PLAIN }.make();
    let [(route, content), (other_route, other)] = third.parts().try_into().unwrap();
    let open = service.begin_upload(&route, content.len(), &content[..100]);
    let refused = eventually("a refusal while a part arrives", || {
        let answer = purge(&service, &second, "");
        (answer.status != 200).then_some(answer)
    });
    assert_eq!((refused.status, refused.code().as_str()), (409, "HUSH-V039"));
    drop(open);
    // It broke off, and another part is complete: both may be of a version to come.
    assert_eq!(service.put(&other_route, &other).status, 201);
    let id = deliver(&service, &second, 5, 0);
    let purged = eventually("a purge after the upload broke off", || {
        let answer = purge(&service, &second, "");
        (answer.status == 200).then_some(answer)
    });
    let unnamed = paths(&purged, "unnamed");
    assert_eq!(unnamed.len(), 2, "{unnamed:?}");
    assert!(unnamed[0].starts_with("parts/") && unnamed[1].starts_with("uploads/"), "{unnamed:?}");
    assert_eq!(paths(&purged, "waiting").len(), 2);
    assert_eq!(listed(&service, &second), [[id]]);
    // The upload goes on where it was, and the version is committed.
    assert_eq!(third.push(&service), 201);
    let store = hush_table::TableStore::local_existing(service.path("tables/visits")).unwrap();
    store.verify(store.load().unwrap().manifest()).unwrap();
    assert_eq!(store.deliveries(&store.load().unwrap()).unwrap().len(), 1);
}

/// Answers that old versions gave, and what was computed from them, go with them.
#[test]
fn answers_from_old_versions_go_too() {
    let service = start(&[]);
    let (first, second) = (PLAIN.make(), second());
    first.push(&service);
    let old = submit(&service, &plan(&first, None));
    assert_eq!(finished(&service, &old)["state"], "done");
    second.push(&service);
    let new = submit(&service, &plan(&second, None));
    assert_eq!(finished(&service, &new)["state"], "done");
    assert_eq!(purge(&service, &second, "&dry_run=true").status, 200);
    assert_eq!(service.get(&format!("/v1/jobs/{old}")).status, 200);
    assert_eq!(purge(&service, &second, "").status, 200);
    assert_eq!(service.get(&format!("/v1/jobs/{old}")).code(), "HUSH-V024");
    assert_eq!(service.get(&format!("/v1/jobs/{old}/result")).code(), "HUSH-V024");
    assert!(!service.path("jobs").join(&old).exists());
    assert_eq!(service.get(&format!("/v1/jobs/{new}/result")).status, 200);
}
