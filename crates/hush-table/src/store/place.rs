// SPDX-License-Identifier: Apache-2.0
//! From a table's place, as people write it, to the store that holds it.
//!
//! Credentials, regions and endpoints come from the environment: `AWS_*`, `GOOGLE_*`, `AZURE_*`, as the clients of these stores read
//! it. Nobody can write them into a place, so that no list of processes and no history of a shell has them.
//!
//! A connection must stand within 5 s, an answer be complete within 30 s (`AWS_CONNECT_TIMEOUT` and `AWS_TIMEOUT`, and so for the
//! others, change this). What fails in passing is tried five more times within a minute, after growing pauses.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ClientConfigKey, Error as StoreError, ObjectStore, RetryConfig};

use super::cloud::{CloudStore, S3Versions};
use super::earlier::EarlierContents;
use super::{Catalog, RecordLog, TableStore};
use crate::error::{Operation, StoreFault, TableError};
use crate::uri::{StoreScheme, TableUri};

/// Times that a request is repeated.
const MAX_RETRIES: usize = 5;
/// Time after which no request is repeated.
const RETRY_TIME: Duration = Duration::from_secs(60);

/// A prefix in a bucket, for those who keep more there than one table. One client for all of it; cheap to clone.
#[derive(Clone)]
pub struct Bucket {
    pub(crate) objects: Arc<dyn ObjectStore>,
    signer: Arc<dyn Signer>,
    earlier: Option<Arc<dyn EarlierContents>>,
    pub(crate) prefix: Path,
    /// `SCHEME://BUCKET`.
    pub(crate) root: Arc<str>,
}

impl Bucket {
    /// Opens a bucket, without asking it anything.
    ///
    /// # Errors
    /// [`TableError::Store`] if the environment does not say how to reach the store, or the prefix cannot be one.
    pub fn open(store: StoreScheme, bucket: &str, prefix: &str) -> Result<Self, TableError> {
        open(store, bucket, prefix)
    }

    /// The tables in a folder below the prefix.
    pub fn catalog(&self, folder: &str) -> Catalog {
        let mut catalog = Catalog::new(self.objects.clone(), self.prefix.clone().join(folder));
        (catalog.store_root, catalog.memory) = (Some(self.root.clone()), Some(Arc::default()));
        catalog.earlier = self.earlier.clone();
        catalog
    }

    /// A log in a folder below the prefix, of records of `record_bytes` bytes.
    pub fn log(&self, folder: &str, record_bytes: usize) -> RecordLog {
        RecordLog::new(self.objects.clone(), self.prefix.clone().join(folder), record_bytes)
    }

    /// The bucket's objects. Their errors name places and causes, and nothing of keys or signed requests.
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// The prefix in [`Bucket::objects`].
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Makes addresses that open one object for a while to whoever has them.
    pub fn signer(&self) -> &Arc<dyn Signer> {
        &self.signer
    }
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({}/{})", self.root, self.prefix)
    }
}

impl TableStore {
    /// A table's place, whether or not there is a table: a directory, which is made if it does not exist, or a prefix in an object store,
    /// of which nothing is asked yet.
    ///
    /// # Errors
    /// [`TableError::Store`] if the environment does not say how to reach the store, or the prefix cannot be one;
    /// [`TableError::Server`] for a server; [`TableError::Io`].
    pub fn at(place: &TableUri) -> Result<Self, TableError> {
        match place {
            TableUri::Directory(directory) => Self::local(directory),
            TableUri::Server { .. } => Err(TableError::Server { place: place.to_string() }),
            TableUri::Object { store, bucket, prefix } => {
                let Bucket { objects, prefix, root, earlier, .. } = open(*store, bucket, prefix)?;
                let memory = Some(Arc::default());
                Ok(Self { root: Some(root), memory, earlier, ..Self::new(objects, prefix) })
            }
        }
    }
}

impl Catalog {
    /// A place of several tables, each under its name: a directory, which is made if it does not exist, or a prefix in an object store.
    ///
    /// # Errors
    /// As [`TableStore::at`].
    pub fn at(place: &TableUri) -> Result<Self, TableError> {
        match place {
            TableUri::Directory(directory) => Self::local(directory),
            TableUri::Server { .. } => Err(TableError::Server { place: place.to_string() }),
            TableUri::Object { store, bucket, prefix } => {
                let Bucket { objects, prefix, root, earlier, .. } = open(*store, bucket, prefix)?;
                let mut catalog = Self::new(objects, prefix);
                (catalog.store_root, catalog.memory) = (Some(root), Some(Arc::default()));
                catalog.earlier = earlier;
                Ok(catalog)
            }
        }
    }
}

/// Opens a bucket, without asking it anything.
pub(crate) fn open(scheme: StoreScheme, bucket: &str, prefix: &str) -> Result<Bucket, TableError> {
    let root: Arc<str> = format!("{}://{bucket}", scheme.name()).into();
    let failed = |fault| TableError::Store { operation: Operation::Open, place: root.to_string(), fault };
    let prefix = Path::parse(prefix).map_err(|_| failed(StoreFault::Prefix))?;
    require_transport(scheme).map_err(failed)?;
    let retry = RetryConfig { max_retries: MAX_RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() };
    let built = match scheme {
        StoreScheme::S3 => {
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
            let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
            builder.build().and_then(|store| with_versions(store, region))
        }
        StoreScheme::Gs => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry);
            // This client alone would send its token over any line, and the file of an account may name an address as well.
            let plain = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
            let is_allowed = is_true("GOOGLE_ALLOW_HTTP").to_string();
            builder.with_config(plain, is_allowed).build().map(shared)
        }
        StoreScheme::Az => {
            let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket).with_retry(retry);
            builder.build().map(shared)
        }
    };
    let (inner, signer, earlier) =
        built.map_err(|error| failed(StoreFault::Settings { what: setting_of(&error) }))?;
    Ok(Bucket { objects: Arc::new(CloudStore::new(inner, root.clone())), signer, earlier, prefix, root })
}

/// A bucket's objects, its signer, and what it keeps of earlier contents, where that can be listed.
type Opened = (Arc<dyn ObjectStore>, Arc<dyn Signer>, Option<Arc<dyn EarlierContents>>);

fn shared(store: impl ObjectStore + Signer) -> Opened {
    let store = Arc::new(store);
    (store.clone(), store, None)
}

fn with_versions(store: AmazonS3, region: Option<String>) -> Result<Opened, StoreError> {
    let store = Arc::new(store);
    // As the client of the store does where nobody says.
    let region = region.unwrap_or_else(|| "us-east-1".to_owned());
    let versions = S3Versions::new(store.clone(), region)?;
    Ok((store.clone(), store, Some(Arc::new(versions))))
}

/// Refuses an endpoint without encryption that nobody has allowed; the client would say so only at the first request, and vaguely.
fn require_transport(scheme: StoreScheme) -> Result<(), StoreFault> {
    let (endpoints, allowed, what): (&[&str], _, _) = match scheme {
        StoreScheme::S3 => (
            &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
            "AWS_ALLOW_HTTP",
            "the endpoint begins with http:// and AWS_ALLOW_HTTP is not true",
        ),
        StoreScheme::Az => (
            &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
            "AZURE_ALLOW_HTTP",
            "the endpoint begins with http:// and AZURE_ALLOW_HTTP is not true",
        ),
        StoreScheme::Gs => (
            &["GOOGLE_BASE_URL"],
            "GOOGLE_ALLOW_HTTP",
            "the endpoint begins with http:// and GOOGLE_ALLOW_HTTP is not true",
        ),
    };
    let endpoint = endpoints.iter().find_map(|name| std::env::var(name).ok());
    let is_plain = endpoint.is_some_and(|url| url.to_lowercase().starts_with("http://"));
    if is_plain && !is_true(allowed) { Err(StoreFault::Settings { what }) } else { Ok(()) }
}

/// Whether a setting says yes, as the clients of stores read it.
fn is_true(name: &str) -> bool {
    let value = std::env::var(name).unwrap_or_default().to_lowercase();
    ["1", "true", "on", "yes", "y"].contains(&value.as_str())
}

/// What is wrong with the settings, without their values, which the client's own words may repeat.
fn setting_of(error: &StoreError) -> &'static str {
    let text = error.to_string();
    let known = [
        ("Missing AccessKeyId", "AWS_SECRET_ACCESS_KEY is set and AWS_ACCESS_KEY_ID is not"),
        ("Missing SecretAccessKey", "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not"),
        ("Account must be specified", "AZURE_STORAGE_ACCOUNT_NAME is not set"),
        ("SAS", "the shared access signature cannot be read"),
        (
            "service account path or service account key",
            "GOOGLE_SERVICE_ACCOUNT and GOOGLE_SERVICE_ACCOUNT_KEY are both set",
        ),
        ("redential", "the file of credentials cannot be read"),
    ];
    let found = known.iter().find(|(words, _)| text.contains(words));
    found.map_or("a setting has a value that cannot be read", |(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_they_are_written() {
        for text in ["s3://lake/a/patients", "s3://lake", "gs://lake/t"] {
            // A client of Google's asks for no credentials before its first request.
            let store = TableStore::at(&text.parse().unwrap()).unwrap();
            assert_eq!((store.place().as_str(), store.is_directory()), (text, false));
            assert_eq!(format!("{:?}", store.objects()), format!("CloudStore({})", &text[..9]));
        }
        let catalog = Catalog::at(&"s3://lake/tenants/".parse().unwrap()).unwrap();
        assert_eq!(catalog.table("patients").unwrap().place(), "s3://lake/tenants/patients");
        let directory = tempfile::tempdir().unwrap();
        let place = TableUri::Directory(directory.path().join("t"));
        assert_eq!(TableStore::at(&place).unwrap().place(), place.to_string());
        assert!(Catalog::at(&place).unwrap().table("x").unwrap().is_directory());
    }

    #[test]
    fn what_is_no_place_for_files_is_refused() {
        for prefix in ["a//b", "a/./b", "a/../b"] {
            let uri: TableUri = format!("s3://lake/{prefix}").parse().unwrap();
            let refused = TableStore::at(&uri).unwrap_err();
            assert!(matches!(refused, TableError::Store { fault: StoreFault::Prefix, .. }), "{refused}");
        }
        let server: TableUri = "http://host/tables/t".parse().unwrap();
        assert_eq!(TableStore::at(&server).unwrap_err().code(), "HUSH-T052");
        assert_eq!(Catalog::at(&server).unwrap_err().code(), "HUSH-T052");
    }

    #[test]
    fn faults_of_settings_are_told_without_their_values() {
        let half =
            AmazonS3Builder::new().with_bucket_name("b").with_access_key_id("AKIA").build().unwrap_err();
        assert_eq!(setting_of(&half), "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not");
        let azure = MicrosoftAzureBuilder::new().with_container_name("c").build().unwrap_err();
        assert_eq!(setting_of(&azure), "AZURE_STORAGE_ACCOUNT_NAME is not set");
        let key = GoogleCloudStorageBuilder::new()
            .with_bucket_name("b")
            .with_service_account_key("{secret")
            .build();
        assert_eq!(setting_of(&key.unwrap_err()), "the file of credentials cannot be read");
    }
}
