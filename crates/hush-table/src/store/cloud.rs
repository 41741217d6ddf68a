// SPDX-License-Identifier: Apache-2.0
//! An object store in the cloud whose errors are ours: typed, and without what the store and its client say of addresses, keys and
//! signed requests. Everything below [`super::TableStore`] sees such errors alone.

mod versions;

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

pub(super) use self::versions::S3Versions;
use crate::error::{Said, StoreFault, StoreTrouble};

/// Codes by which stores refuse credentials, beside the statuses 401 and 403.
const CREDENTIAL_CODES: [&str; 11] = [
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidToken",
    "TokenRefreshRequired",
    "RequestTimeTooSkewed",
    "RequestExpired",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
    "XAdminUserNotFound",
];
/// Codes by which stores say that there is no such bucket.
const BUCKET_CODES: [&str; 3] = ["NoSuchBucket", "ContainerNotFound", "InvalidBucketName"];
/// Codes by which stores say that there is no such object. Some say nothing.
const OBJECT_CODES: [&str; 2] = ["NoSuchKey", "BlobNotFound"];
/// Addresses that a client asks for credentials when the environment has none: those of a cloud's own machines.
const METADATA_HOSTS: [&str; 3] = ["://169.254.169.254", "://169.254.170.2", "://metadata.google.internal"];

/// A bucket.
pub(super) struct CloudStore {
    inner: Arc<dyn ObjectStore>,
    root: Arc<str>,
}

impl CloudStore {
    /// `root` is `SCHEME://BUCKET`.
    pub(super) fn new(inner: Arc<dyn ObjectStore>, root: Arc<str>) -> Self {
        Self { inner, root }
    }
}

/// The same error in words of ours.
fn ours(root: &str, path: Option<&Path>, error: StoreError) -> StoreError {
    let fault = fault_of(&error);
    let says_why = |said: &Said| said.code().is_some_and(|code| !OBJECT_CODES.contains(&code));
    let is_absent = matches!(&fault, StoreFault::Refused { said, .. } if !says_why(said));
    let path = path.filter(|path| !path.as_ref().is_empty());
    let place = path.map_or_else(|| root.to_owned(), |path| format!("{root}/{path}"));
    let source = Box::new(StoreTrouble { place, fault });
    match error {
        // An absent bucket or an unknown user is no absent object: nobody may conclude that there is room for a table.
        StoreError::NotFound { path, .. } if is_absent => StoreError::NotFound { path, source },
        StoreError::AlreadyExists { path, .. } => StoreError::AlreadyExists { path, source },
        StoreError::Precondition { path, .. } => StoreError::Precondition { path, source },
        StoreError::NotModified { path, .. } => StoreError::NotModified { path, source },
        _ => StoreError::Generic { store: "cloud", source },
    }
}

/// What an error of a store's client means. Its own types are private in part, so its words count; tests hold them.
pub(super) fn fault_of(error: &StoreError) -> StoreFault {
    let text = error.to_string();
    let code =
        between(&text, "<Code>", "</Code>").or_else(|| between(&text, "(code: ", ")")).unwrap_or_default();
    let status = number_after(&text, "status code: ").and_then(|status| u16::try_from(status).ok());
    let tries = number_after(&text, ", after ").unwrap_or(0).saturating_add(1);
    let said = Said::of(code);
    let transport = transport_of(error);
    if BUCKET_CODES.contains(&code) {
        return StoreFault::NoBucket;
    }
    if METADATA_HOSTS.iter().any(|host| text.contains(host)) {
        return StoreFault::NoCredentials;
    }
    if CREDENTIAL_CODES.contains(&code) || matches!(error, StoreError::Unauthenticated { .. }) {
        return StoreFault::Credentials { said };
    }
    if matches!(error, StoreError::PermissionDenied { .. }) {
        return StoreFault::Forbidden { said };
    }
    match (status, transport) {
        (Some(401), _) => StoreFault::Credentials { said },
        (Some(403), _) => StoreFault::Forbidden { said },
        (Some(408 | 429 | 500..), _) => StoreFault::Slow { tries, said },
        (Some(status), _) => StoreFault::Refused { status, said },
        // A success whose body says otherwise.
        (None, _) if ["SlowDown", "InternalError"].contains(&code) => StoreFault::Slow { tries, said },
        (None, Some(HttpErrorKind::Connect)) => StoreFault::Unreachable { tries },
        (None, Some(HttpErrorKind::Timeout)) => StoreFault::Slow { tries, said },
        (None, Some(_)) => StoreFault::Cut,
        (None, None) => StoreFault::Answer,
    }
}

/// The kind of error of the connection, where one is below.
fn transport_of(error: &StoreError) -> Option<HttpErrorKind> {
    let mut below: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = below {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        below = error.source();
    }
    None
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

fn number_after(text: &str, before: &str) -> Option<u32> {
    let rest = text.split_once(before)?.1;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}

/// A stream of a store, its errors ours.
fn told<T: Send + 'static>(
    root: &Arc<str>,
    path: Option<&Path>,
    stream: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let (root, path) = (root.clone(), path.cloned());
    stream.map(move |item| item.map_err(|error| ours(&root, path.as_ref(), error))).boxed()
}

#[async_trait::async_trait]
impl ObjectStore for CloudStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(path, payload, options).await.map_err(|error| ours(&self.root, Some(path), error))
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.inner.put_multipart_opts(path, options).await;
        let inner = upload.map_err(|error| ours(&self.root, Some(path), error))?;
        Ok(Box::new(Upload { inner, root: self.root.clone(), path: path.clone() }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found =
            self.inner.get_opts(path, options).await.map_err(|error| ours(&self.root, Some(path), error))?;
        if let GetResultPayload::Stream(stream) = found.payload {
            found.payload = GetResultPayload::Stream(told(&self.root, Some(path), stream));
        }
        Ok(found)
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(path, ranges).await.map_err(|error| ours(&self.root, Some(path), error))
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        told(&self.root, None, self.inner.delete_stream(paths))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        told(&self.root, prefix, self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        told(&self.root, prefix, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await.map_err(|error| ours(&self.root, prefix, error))
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await.map_err(|error| ours(&self.root, Some(to), error))
    }
}

/// An upload in pieces.
struct Upload {
    inner: Box<dyn MultipartUpload>,
    root: Arc<str>,
    path: Path,
}

#[async_trait::async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (sent, root, path) = (self.inner.put_part(data), self.root.clone(), self.path.clone());
        Box::pin(async move { sent.await.map_err(|error| ours(&root, Some(&path), error)) })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await.map_err(|error| ours(&self.root, Some(&self.path), error))
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await.map_err(|error| ours(&self.root, Some(&self.path), error))
    }
}

// The client's own `Debug` shows its settings.
impl fmt::Debug for CloudStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CloudStore({})", self.root)
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({})", self.root)
    }
}

impl fmt::Display for CloudStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)
    }
}

#[cfg(test)]
mod tests;
