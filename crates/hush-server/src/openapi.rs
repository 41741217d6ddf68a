// SPDX-License-Identifier: Apache-2.0
//! The OpenAPI document: what is common to all routes. Paths come from the handlers.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use hush_protocol::refusal::ErrorBody;

/// The document without its paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Hushtable service",
        description = "Stores encrypted tables and answers plans on them. Holds no secret key. \
                       Refusals have the body ErrorBody with a stable code.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerToken),
    security(("token" = []))
)]
pub struct Description;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Every route, as clients are promised it.
    const PROMISED: &[(&str, &[&str])] = &[
        ("/v1/health", &["get"]),
        ("/v1/version", &["get"]),
        ("/v1/openapi.json", &["get"]),
        ("/v1/tables", &["get"]),
        ("/v1/tables/{table}", &["get", "delete"]),
        ("/v1/tables/{table}/manifest", &["get", "put"]),
        ("/v1/tables/{table}/parts/{part}", &["head", "get", "put"]),
        ("/v1/tables/{table}/deliveries", &["get", "put"]),
        ("/v1/tables/{table}/purge", &["post"]),
        ("/v1/jobs", &["post"]),
        ("/v1/jobs/{job}", &["get", "delete"]),
        ("/v1/jobs/{job}/result", &["get"]),
    ];

    #[test]
    fn clients_ask_for_the_promised_paths() {
        use hush_protocol::path;

        let table = path::table("{table}");
        let asked = [
            path::HEALTH,
            path::VERSION,
            path::OPENAPI,
            path::TABLES,
            &table,
            &path::manifest(&table),
            &path::part(&table, "{part}"),
            &path::deliveries(&table),
            &path::purge(&table),
            path::JOBS,
            &path::job("{job}"),
            &path::job_result("{job}"),
        ];
        assert_eq!(PROMISED.iter().map(|(path, _)| *path).collect::<Vec<_>>(), asked);
    }

    #[test]
    fn every_route_is_described_with_its_parameters_and_refusals() {
        let (_, document) = crate::routes::described();
        let document = serde_json::to_value(&document).unwrap();
        let mut found = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                found.insert((path.clone(), method.clone()));
                let what = format!("{method} {path}");
                assert!(operation["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{what}");
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.keys().any(|status| status.starts_with('2')), "{what}");
                assert!(responses.contains_key("default") || path == crate::admission::OPEN_ROUTE, "{what}");
                let named: BTreeSet<_> = operation["parameters"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|parameter| parameter["in"] == "path")
                    .map(|parameter| parameter["name"].as_str().unwrap())
                    .collect();
                let in_path: BTreeSet<_> = path
                    .split('/')
                    .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
                    .collect();
                assert_eq!(named, in_path, "{what}");
            }
        }
        let promised: BTreeSet<_> = PROMISED
            .iter()
            .flat_map(|(path, methods)| {
                methods.iter().map(|method| ((*path).to_owned(), (*method).to_owned()))
            })
            .collect();
        assert_eq!(found, promised);
        assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
        assert_eq!(document["security"][0]["token"], serde_json::json!([]));
    }
}
