// SPDX-License-Identifier: Apache-2.0
//! Earlier contents of objects in an S3 bucket that keeps versions: what was overwritten or deleted is there still, as a *noncurrent version*,
//! until somebody deletes it by its identifier. `object_store` has no requests for that, so these are made here, signed by its signer.
//!
//! Rights: `s3:ListBucketVersions` and `s3:DeleteObjectVersion`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, Uri};
use object_store::aws::{AmazonS3, AwsAuthorizer};
use object_store::client::{ClientOptions, HttpClient, HttpConnector, HttpRequest, ReqwestConnector};
use object_store::path::Path;
use object_store::signer::Signer;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::error::{Said, StoreFault};
use crate::store::earlier::{EarlierContent, EarlierContents};

/// Characters of a query's value that are escaped: all but the unreserved ones of RFC 3986, as the signature wants it.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Time for which an address could be used by others: none gets it.
const SIGNED_FOR: Duration = Duration::from_secs(60);
/// Requests at a time.
const AT_ONCE: usize = 16;
/// Times that a request is sent at most.
const MOST_TRIES: u32 = 6;
/// Pause before it is sent again, twice as long each time.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest page of a list: a thousand versions with keys of a kilobyte.
const MAX_PAGE_BYTES: usize = 16 << 20;

/// The versions of a bucket's objects.
pub(in crate::store) struct S3Versions {
    bucket: Arc<AmazonS3>,
    client: HttpClient,
    region: String,
}

/// A page of versions, as S3 lists them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    is_truncated: bool,
    #[serde(default)]
    next_key_marker: Option<String>,
    #[serde(default)]
    next_version_id_marker: Option<String>,
    #[serde(default, rename = "Version")]
    versions: Vec<Listed>,
    #[serde(default, rename = "DeleteMarker")]
    markers: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    key: String,
    version_id: String,
    is_latest: bool,
    #[serde(default)]
    size: u64,
}

impl S3Versions {
    /// Of a bucket in a region.
    ///
    /// # Errors
    /// A client for HTTP that cannot be made.
    pub(in crate::store) fn new(bucket: Arc<AmazonS3>, region: String) -> object_store::Result<Self> {
        // Whether plain HTTP is allowed was decided when the bucket was opened.
        let client = ReqwestConnector::default().connect(&ClientOptions::new().with_allow_http(true))?;
        Ok(Self { bucket, client, region })
    }

    /// The address of an object, without signature.
    async fn address(&self, path: &Path) -> Result<String, StoreFault> {
        let signed = self.bucket.signed_url(Method::GET, path, SIGNED_FOR).await;
        let mut address = signed.map_err(|error| super::fault_of(&error))?;
        address.set_query(None);
        Ok(address.into())
    }

    async fn page(&self, prefix: &str, after: Option<&(String, Option<String>)>) -> Result<Page, StoreFault> {
        // The address of the bucket is that of an object without the object.
        let object = self.address(&Path::from("x")).await?;
        let bucket = object.strip_suffix('x').ok_or(StoreFault::Answer)?;
        let escaped = |text: &str| utf8_percent_encode(text, QUERY).to_string();
        let mut query = format!("prefix={}&versions=", escaped(prefix));
        if let Some((key, version)) = after {
            let version = version.as_ref().map(|version| format!("&version-id-marker={}", escaped(version)));
            query = format!("key-marker={}&{query}{}", escaped(key), version.unwrap_or_default());
        }
        let body = self.send(&Method::GET, &format!("{bucket}?{query}")).await?;
        let text = std::str::from_utf8(&body).map_err(|_| StoreFault::Answer)?;
        quick_xml::de::from_str(text).map_err(|_| StoreFault::Answer)
    }

    /// Sends a request until it is answered, and gives the body of a success.
    async fn send(&self, method: &Method, address: &str) -> Result<Vec<u8>, StoreFault> {
        let mut tries = 1;
        loop {
            let fault = match self.send_once(method, address, tries).await {
                Err(fault) if fault.is_transient() && tries < MOST_TRIES => fault,
                answered => return answered,
            };
            drop(fault);
            tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
            tries += 1;
        }
    }

    async fn send_once(&self, method: &Method, address: &str, tries: u32) -> Result<Vec<u8>, StoreFault> {
        let uri: Uri = address.parse().map_err(|_| StoreFault::Answer)?;
        let mut request = HttpRequest::new(object_store::client::HttpRequestBody::empty());
        (*request.method_mut(), *request.uri_mut()) = (method.clone(), uri);
        let credentials = self.bucket.credentials().get_credential().await;
        let credentials = credentials.map_err(|error| super::fault_of(&error))?;
        AwsAuthorizer::new(&credentials, "s3", &self.region).authorize(&mut request, None);
        let response = self.client.execute(request).await;
        let response = response.map_err(|_| StoreFault::Unreachable { tries })?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        let mut pieces = response.into_body().bytes_stream();
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece.map_err(|_| StoreFault::Cut)?);
            if body.len() > MAX_PAGE_BYTES {
                return Err(StoreFault::Answer);
            }
        }
        let text = String::from_utf8_lossy(&body);
        let said = || Said::of(super::between(&text, "<Code>", "</Code>").unwrap_or_default());
        match status {
            200..=299 => Ok(body),
            401 => Err(StoreFault::Credentials { said: said() }),
            403 => Err(StoreFault::Forbidden { said: said() }),
            408 | 429 | 500..=599 if status != 501 => Err(StoreFault::Slow { tries, said: said() }),
            _ => Err(StoreFault::Refused { status, said: said() }),
        }
    }
}

#[async_trait]
impl EarlierContents for S3Versions {
    async fn list(&self, prefix: &Path) -> Result<Vec<EarlierContent>, StoreFault> {
        let below = if prefix.as_ref().is_empty() { String::new() } else { format!("{prefix}/") };
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(&below, after.as_ref()).await?;
            let of_kind = |listed: Vec<Listed>, is_marker: bool| {
                listed.into_iter().filter_map(move |Listed { key, version_id, is_latest, size }| {
                    // What is no path of ours is nobody's of a table.
                    let (path, version) = (Path::parse(key).ok()?, version_id);
                    Some(EarlierContent { path, version, is_latest, is_marker, bytes: size })
                })
            };
            found.extend(of_kind(page.versions, false));
            found.extend(of_kind(page.markers, true));
            match page.next_key_marker.filter(|_| page.is_truncated) {
                Some(key) => after = Some((key, page.next_version_id_marker)),
                None => return Ok(found),
            }
        }
    }

    async fn delete(&self, doomed: &[EarlierContent]) -> Result<(), StoreFault> {
        let delete = |content: &EarlierContent| {
            let (path, version) = (content.path.clone(), content.version.clone());
            async move {
                let address = self.address(&path).await?;
                let version = utf8_percent_encode(&version, QUERY);
                self.send(&Method::DELETE, &format!("{address}?versionId={version}")).await.map(drop)
            }
        };
        stream::iter(doomed.iter().map(delete)).buffer_unordered(AT_ONCE).try_collect().await
    }
}

impl fmt::Debug for S3Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Versions").field("region", &self.region).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_whatever_the_order_of_their_entries() {
        let page = |entries: &str| {
            let text = format!(
                "<?xml version=\"1.0\"?><ListVersionsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>{entries}</ListVersionsResult>"
            );
            quick_xml::de::from_str::<Page>(&text).unwrap()
        };
        let entry = |kind: &str, key: &str, latest: bool, more: &str| {
            format!(
                "<{kind}><Key>{key}</Key><VersionId>v-{key}</VersionId><IsLatest>{latest}</IsLatest>{more}<Owner><ID>o</ID></Owner></{kind}>"
            )
        };
        let found = page(
            &[
                entry("Version", "a", true, "<Size>5</Size><ETag>&quot;x&quot;</ETag>"),
                entry("DeleteMarker", "b", true, ""),
                entry("Version", "b", false, "<Size>7</Size>"),
            ]
            .concat(),
        );
        assert!(!found.is_truncated && found.next_key_marker.is_none());
        assert_eq!(
            found.versions.iter().map(|v| (v.key.as_str(), v.is_latest, v.size)).collect::<Vec<_>>(),
            [("a", true, 5), ("b", false, 7)]
        );
        assert_eq!(found.markers[0].version_id, "v-b");
        let next = page(
            "<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextVersionIdMarker>w</NextVersionIdMarker>",
        );
        assert_eq!(
            (next.is_truncated, next.next_key_marker.as_deref(), next.next_version_id_marker.as_deref()),
            (true, Some("k"), Some("w"))
        );
        assert!(page("").versions.is_empty());
    }
}
