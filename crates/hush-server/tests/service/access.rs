// SPDX-License-Identifier: Apache-2.0
//! Who gets in, what is served, and that names cannot leave their place.

use std::os::unix::fs::PermissionsExt;

use crate::deliveries::deliver;
use crate::fixture::{PLAIN, Recipe};
use crate::harness::{command, start};
use crate::jobs::{plan, submit};

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn every_route_but_health_asks_for_the_token() {
    let service = start(&[]);
    let part = format!("/v1/tables/t/parts/{DIGEST}.enc");
    let job = format!("/v1/jobs/{}", &DIGEST[..32]);
    let result = format!("{job}/result");
    let routes = [
        ("GET", "/v1/version"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/v1/tables"),
        ("GET", "/v1/tables/t"),
        ("DELETE", "/v1/tables/t"),
        ("GET", "/v1/tables/t/manifest"),
        ("PUT", "/v1/tables/t/manifest"),
        ("HEAD", &part),
        ("GET", &part),
        ("PUT", &part),
        ("POST", "/v1/tables/t/purge"),
        ("POST", "/v1/jobs"),
        ("GET", &job),
        ("DELETE", &job),
        ("GET", &result),
        ("GET", "/nowhere"),
    ];
    for (method, path) in routes {
        let longer = format!("Bearer {}0", service.token);
        for given in [None, Some("Bearer wrong"), Some(longer.as_str()), Some(service.token.as_str())] {
            let headers: Vec<_> = given.map(|value| ("authorization", value)).into_iter().collect();
            let refused = service.call_bare(method, path, &headers, b"");
            assert_eq!(refused.status, 401, "{method} {path}");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
            if method != "HEAD" {
                assert_eq!(refused.code(), "HUSH-V001");
            }
        }
        let admitted = service.call(method, path, &[], b"");
        assert_ne!(admitted.status, 401, "{method} {path}");
    }
    let health = service.call_bare("GET", "/v1/health", &[], b"");
    assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("ok")));
}

#[test]
fn the_data_directory_and_the_token_are_private_and_the_token_is_never_logged() {
    let service = start(&[]);
    let mode = |path: &str| std::fs::metadata(service.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(service.token.len(), 64);
    assert_eq!(mode("token"), 0o600);
    for directory in ["tables", "uploads", "jobs", "seeds"] {
        assert_eq!(mode(directory), 0o700, "{directory}");
    }
    // So is all that comes later.
    let table = PLAIN.make();
    table.push(&service);
    submit(&service, &plan(&table, None));
    deliver(&service, &table, 3, 0);
    let mut open = vec![service.path(".")];
    let mut files = 0;
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let Ok(facts) = entry.metadata() else { continue };
            assert_eq!(facts.permissions().mode() & 0o077, 0, "{:?}", entry.path());
            if facts.is_dir() { open.push(entry.path()) } else { files += 1 }
        }
    }
    assert!(files >= 8, "{files} files");
    assert_eq!(service.get("/v1/version").status, 200);
    let token = service.token.clone();
    let (status, log) = service.terminate();
    assert!(status.success());
    assert!(log.contains("token") && !log.contains(&token));
}

#[test]
fn unsafe_starts_are_refused() {
    let fails = |data: &std::path::Path, arguments: &[&str]| {
        let mut with = command(data, &[]);
        let output = with.args(arguments).stderr(std::process::Stdio::piped()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let open = std::process::Command::new(env!("CARGO_BIN_EXE_hush-server"))
        .args(["--listen", "0.0.0.0:0", "--no-auth-insecure", "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(!open.status.success());
    assert!(String::from_utf8(open.stderr).unwrap().contains("loopback"));

    let service = start(&[]);
    assert!(fails(service.data.path(), &[]).contains("another server"));

    let exposed = dir.path().join("exposed");
    std::fs::write(&exposed, "x".repeat(64)).unwrap();
    std::fs::set_permissions(&exposed, std::fs::Permissions::from_mode(0o644)).unwrap();
    let path = exposed.to_str().unwrap();
    assert!(fails(&dir.path().join("data"), &["--token-file", path]).contains("chmod 600"));
}

#[test]
fn without_a_token_a_loopback_service_is_open() {
    let service = start(&["--no-auth-insecure"]);
    assert_eq!(service.call_bare("GET", "/v1/tables", &[], b"").status, 200);
    assert!(!service.path("token").exists());
}

#[test]
fn the_served_description_is_the_one_that_is_routed() {
    let service = start(&[]);
    let document = service.get("/v1/openapi.json");
    assert_eq!(document.header("content-type"), Some("application/json"));
    let document = document.json();
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 12);
    for (path, item) in paths {
        let path = path.replace("{table}", "t").replace("{part}", &format!("{DIGEST}.enc"));
        let path = path.replace("{job}", &DIGEST[..32]);
        for method in item.as_object().unwrap().keys() {
            let answer = service.call(&method.to_uppercase(), &path, &[], b"");
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(
                method == "head" || answer.status < 400 || answer.code() != "HUSH-V002",
                "{method} {path}"
            );
        }
        assert_eq!(service.call("PATCH", &path, &[], b"").code(), "HUSH-V003");
    }
    assert_eq!(service.get("/v1/tables/t/nothing").code(), "HUSH-V002");
    let version = service.get("/v1/version").json();
    assert_eq!(version["plan_format"], hush_plan::plan::PLAN_FORMAT);
}

#[test]
fn names_cannot_leave_their_place() {
    let service = start(&[]);
    PLAIN.make().push(&service);
    let bearer = &service.token;
    for target in [
        "/v1/tables/../../token",
        "/v1/tables/..",
        "/v1/tables/%2e%2e",
        "/v1/tables/%2e%2e%2f%2e%2e%2ftoken",
        "/v1/tables/..%2ftoken/manifest",
        "/v1/tables/a%00b",
        "/v1/tables/%ff",
        "/v1/tables/.deleted-visits/manifest",
        "/v1/tables/visits/parts/..%2fmanifest.hush",
        "/v1/tables/visits/parts/..",
        "/v1/jobs/..%2f..%2ftoken/result",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = service.raw(
                format!(
                    "{method} {target} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {bearer}\r\n\
                     content-length: 1\r\nconnection: close\r\n\r\nx"
                )
                .as_bytes(),
            );
            let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
            assert!(matches!(status.as_str(), "400" | "404" | "405"), "{method} {target}: {answer}");
            assert!(!answer.contains(bearer.as_str()));
        }
    }
    let names = |inside: &str| -> Vec<_> {
        let mut names: Vec<_> = std::fs::read_dir(service.path(inside))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("tables"), ["visits"]);
    assert_eq!(names("."), ["device-token", "jobs", "lock", "seeds", "tables", "token", "uploads"]);
    let upper = Recipe { name: "VISITS", ..PLAIN };
    assert_eq!(service.get(&upper.make().base()).json()["name"], "visits");
}

/// A bucket holds tables; tokens, uploads and jobs need a directory. A store that nobody reaches is told at the start, without secrets.
#[test]
fn a_bucket_needs_a_directory_beside_it_and_is_tried_at_the_start() {
    let work = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hush-server"));
        command.args(["--listen", "127.0.0.1:0", "--data"]).args(arguments).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1").env("AWS_REGION", "here");
        let ended =
            command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "hidden").output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let (status, said) = run(&["s3://lake/hush"]);
    assert!(status == Some(1) && said.contains("s3://lake/hush") && said.contains("--work DIR"), "{said}");
    let directory = work.path().to_str().unwrap();
    let (status, said) = run(&["s3://lake/a//b", "--work", directory]);
    assert!(status == Some(1) && said.contains("s3://lake"), "{said}");
    let (status, said) = run(&["http://host/tables/t", "--work", directory]);
    assert!(status == Some(1) && said.contains("is a server"), "{said}");
    assert_eq!(run(&["ftp://lake/hush", "--work", directory]).0, Some(2));
    let (status, said) = run(&["s3://lake/hush", "--work", directory]);
    assert!(status == Some(1) && said.contains("cannot be reached") && !said.contains("hidden"), "{said}");
}
