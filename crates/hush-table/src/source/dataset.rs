// SPDX-License-Identifier: Apache-2.0
//! A folder of files of one kind, read as one table: their rows one file after the other, by path.
//!
//! ```text
//!  ward=A/part-0.csv ── rows ─┐
//!  ward=A/part-1.csv ── rows ─┼─▶ rows of one table, with a column `ward`
//!  ward=B/part-0.csv ── rows ─┘
//! ```
//!
//! *Invariants.* Files come in the order of their paths, byte by byte. All have the same columns, in any order; folders called `key=value`
//! add a column each, the same in every path. A file that has another size or time than when the folder was opened is an error, in
//! every pass. An error of a file is a [`SourceError::InFile`], which names it. At most one file is read at a time, whatever their number.
//!
//! Folders of object stores are the same: `list` and [`Folder`] are all that knows of places. Their files are asked for before they are needed:
//! several at a time while columns are compared, and one in a pass.

mod agree;
mod csv_files;
mod list;
mod parquet_files;
mod partitions;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::{Path as ObjectPath, PathPart};

pub(super) use csv_files::{CsvFiles, Piece};
pub use list::FILE_LIMIT;
pub(super) use parquet_files::ParquetFiles;

use super::object::{ObjectFile, ObjectFolder, Objects, Version};
use super::{Format, OpenOptions, Origin, PathFault, Source, SourceColumn, SourceError, record};
use agree::SharedColumns;
use list::Listed;

/// About what a file takes in the list of files.
const ENTRY_BYTES: u64 = 160;
/// Objects that are looked at ahead of the one whose columns are compared.
const LOOKED_AHEAD: usize = 16;

/// Where files lie.
#[derive(Debug)]
enum Folder {
    Directory(PathBuf),
    Bucket(ObjectFolder),
}

/// The file after the one that is read, which is on its way; its number.
#[derive(Default)]
pub(super) struct NextFile(Option<(usize, Origin)>);

/// Files of one kind and their columns.
#[derive(Debug)]
pub(super) struct Dataset {
    folder: Folder,
    format: Format,
    files: Box<[Entry]>,
    /// The columns of files, then those of paths.
    columns: Arc<[SourceColumn]>,
    /// Number of the columns of paths.
    keys: usize,
    options: OpenOptions,
}

/// A file and where its columns stand in it.
#[derive(Debug)]
struct Entry {
    listed: Listed,
    order: Order,
}

/// For each column of all files, its position in one of them; `None` if it is the same.
type Order = Option<Arc<[usize]>>;

/// A file of a dataset and what is known of it.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// Its path below the folder.
    pub name: Arc<str>,
    order: Order,
    /// The values of the columns of its path.
    pub values: Arc<[Option<String>]>,
}

/// A row of a file.
#[derive(Clone, Debug)]
pub(super) struct FileRow {
    pub(super) file: DataFile,
    /// From 0.
    pub(super) row: u64,
}

impl DataFile {
    /// The position in the file of a column of all files.
    pub fn position(&self, column: usize) -> usize {
        self.order.as_ref().map_or(column, |order| order.get(column).copied().unwrap_or(usize::MAX))
    }

    /// The error of this file.
    pub(super) fn error(&self, error: SourceError) -> SourceError {
        error.in_file(&self.name)
    }
}

impl Source {
    /// Opens a folder of CSV or Parquet files as one table: lists the files, and compares the columns of all.
    ///
    /// # Cost
    /// Every file is opened, and its header or index read. Memory: a list of the files.
    ///
    /// # Errors
    /// No files, too many, or folders too deep; files of two kinds or with other columns; paths whose keys differ; those of
    /// [`Source::open`], with the file's name.
    pub fn open_folder(folder: &Path, options: &OpenOptions) -> Result<Self, SourceError> {
        Self::of_files(Folder::Directory(folder.to_owned()), list::list(folder)?, options)
    }

    /// Opens an object, or the files below a prefix as [`Source::open_folder`] does. An object of this name comes before a prefix, but for a
    /// `folder`. Messages call it `root/path`.
    ///
    /// Every read asks for the object as it was found, by its tag or its time; one that has changed is [`SourceError::FileChanged`].
    ///
    /// # Cost
    /// A request for the object, one for each thousand of a prefix, and one or two for each file; several at a time.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::open_folder`]; [`SourceError::Store`].
    pub fn open_object(
        objects: Arc<dyn ObjectStore>,
        root: &str,
        path: &ObjectPath,
        is_folder: bool,
        options: &OpenOptions,
    ) -> Result<Self, SourceError> {
        let objects = Objects { store: objects, root: root.into() };
        if !is_folder
            && !path.as_ref().is_empty()
            && let Some(meta) = objects.look(path)?
        {
            let file = ObjectFile::new(objects, path.clone(), meta.size, Version::of(&meta), None);
            return Self::with_origin(Origin::Object(Arc::new(file)), options);
        }
        let folder = ObjectFolder { objects, prefix: path.clone() };
        let listed = list::list_objects(&folder)?;
        Self::of_files(Folder::Bucket(folder), listed, options)
    }

    /// The table of the files of a folder.
    fn of_files(folder: Folder, listed: Vec<Listed>, options: &OpenOptions) -> Result<Self, SourceError> {
        let (mut files, mut options) = (Vec::with_capacity(listed.len()), options.clone());
        let mut known: Option<(Source, SharedColumns, Vec<String>)> = None;
        let (mut rows, mut estimated_rows, mut decode_bytes) = (Some(0_u64), Some(0_u64), 0);
        let with_origin = |listed| (folder.origin(&listed, None), listed);
        let (mut coming, mut ahead) = (listed.into_iter().map(with_origin), VecDeque::new());
        let mut next = || {
            let more = coming.by_ref().take(LOOKED_AHEAD - ahead.len());
            ahead.extend(more.inspect(|(origin, _)| origin.begin()));
            ahead.pop_front()
        };
        while let Some((origin, listed)) = next() {
            let name = listed.name();
            let found = Source::inspect(origin, &options).map_err(|error| error.in_file(&name))?;
            let path = partitions::of(&listed.path)
                .map_err(|what| SourceError::Path { file: name.to_string(), what })?;
            let keys: Vec<String> = path.into_iter().map(|(key, _)| key).collect();
            decode_bytes = found.decode_bytes.max(decode_bytes);
            rows = rows.zip(found.rows).map(|(sum, rows)| sum.saturating_add(rows));
            // A header is no row.
            let estimate = found.estimated_rows.map(|rows| rows.saturating_sub(1));
            estimated_rows = estimated_rows.zip(estimate).map(|(sum, rows)| sum.saturating_add(rows));
            let order = match &mut known {
                None => {
                    if let Format::Csv { delimiter } = found.format {
                        options.delimiter = Some(delimiter);
                    }
                    known = Some((found.clone(), SharedColumns::new(&name, &found.columns), keys));
                    None
                }
                Some((first, columns, first_keys)) => {
                    if found.format != first.format {
                        let (file, first) = (name.to_string(), columns.first().to_owned());
                        return Err(SourceError::OtherKind { file, found: found.format, first });
                    }
                    if keys != *first_keys {
                        let what = PathFault::OtherKeys {
                            found: keys,
                            first: columns.first().to_owned(),
                            expected: first_keys.clone(),
                        };
                        return Err(SourceError::Path { file: name.to_string(), what });
                    }
                    columns.admit(&name, &found.columns)?
                }
            };
            files.push(Entry { listed, order });
        }
        let (first, columns, keys) = known.ok_or_else(|| SourceError::NoFiles { folder: folder.path() })?;
        if rows == Some(0) {
            return Err(SourceError::NoRows);
        }
        let columns = with_keys(columns, &keys)?;
        let list_bytes = ENTRY_BYTES * files.len() as u64;
        let columns: Arc<[SourceColumn]> = columns.into();
        let dataset = Dataset {
            folder,
            format: first.format,
            files: files.into(),
            columns: columns.clone(),
            keys: keys.len(),
            options,
        };
        let (origin, decode_bytes) =
            (Origin::Dataset(Arc::new(dataset)), decode_bytes.saturating_add(list_bytes));
        Ok(Self { origin, columns, rows, estimated_rows, decode_bytes, ..first })
    }

    /// Whether the column at a position is none of a file: its values stand in the names of folders.
    pub fn is_of_path(&self, position: usize) -> bool {
        match &self.origin {
            Origin::Dataset(dataset) => position >= dataset.width(),
            Origin::Joined(joined) => joined.is_of_path(position),
            _ => false,
        }
    }

    /// The files of a folder, each with what it is in the table; `None` for anything else.
    pub fn files(&self) -> Option<impl Iterator<Item = Result<(DataFile, Source), SourceError>> + use<>> {
        let Origin::Dataset(dataset) = &self.origin else { return None };
        let dataset = dataset.clone();
        let mut next = NextFile::default();
        Some((0..dataset.files.len()).map(move |index| dataset.open_file(index, &mut next)))
    }

    /// Of each file its name, and a number that changes with its name, size or time of change; nothing for what is no file.
    pub fn file_marks(&self) -> Vec<(String, u64)> {
        match &self.origin {
            Origin::Dataset(dataset) => dataset
                .files
                .iter()
                .map(|file| (file.listed.name().to_string(), file.listed.mark()))
                .collect(),
            Origin::File(path) => {
                let listed = Listed::of_file(path).map(Listed::without_folder);
                listed.iter().map(|listed| (listed.name().to_string(), listed.mark())).collect()
            }
            Origin::Joined(joined) => joined.sources().flat_map(Self::file_marks).collect(),
            Origin::Object(object) => {
                let mark = list::mark(Path::new(object.name()), object.bytes(), object.version());
                vec![(object.name().to_owned(), mark)]
            }
            Origin::Batches(_) | Origin::Memory(_) | Origin::Stream { .. } => Vec::new(),
        }
    }
}

impl Folder {
    /// A file of it. `format` is what an earlier look at it has told.
    fn origin(&self, listed: &Listed, format: Option<Format>) -> Origin {
        match self {
            Self::Directory(folder) => Origin::File(folder.join(&listed.path)),
            Self::Bucket(folder) => {
                let segments = listed.path.to_str().unwrap_or_default().split('/').filter_map(|name| {
                    // Names of listed objects are no news to the store, which is told them as they are.
                    PathPart::parse(name).ok()
                });
                let path = folder.prefix.parts().chain(segments).collect();
                let (objects, version) = (folder.objects.clone(), listed.version.clone());
                Origin::Object(Arc::new(ObjectFile::new(objects, path, listed.bytes, version, format)))
            }
        }
    }

    /// What messages and names of tables are made of.
    fn path(&self) -> PathBuf {
        match self {
            Self::Directory(folder) => folder.clone(),
            Self::Bucket(folder) => folder.objects.place(&folder.prefix).into(),
        }
    }
}

impl Dataset {
    /// Number of the columns that files have.
    pub(super) fn width(&self) -> usize {
        self.columns.len() - self.keys
    }

    /// Whether a blank line is a row.
    pub(super) fn has_blank_rows(&self) -> bool {
        self.width() == 1
    }

    /// Where the folder is.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path()
    }

    /// File `index`, which must be as it was. An object behind it is asked for.
    fn open_file(&self, index: usize, next: &mut NextFile) -> Result<(DataFile, Source), SourceError> {
        let entry = self.files.get(index).ok_or(SourceError::Empty)?;
        let values = partitions::of(&entry.listed.path).unwrap_or_default();
        let values = values.into_iter().map(|(_, value)| value).collect();
        let file = DataFile { name: entry.listed.name(), order: entry.order.clone(), values };
        self.check(index)?;
        let origin = |entry: &Entry| self.folder.origin(&entry.listed, Some(self.format));
        let waiting = next.0.take().filter(|(waiting, _)| *waiting == index);
        let this = waiting.map_or_else(|| origin(entry), |(_, origin)| origin);
        this.begin();
        next.0 = self.files.get(index + 1).map(origin).map(|origin| (index + 1, origin));
        next.0.iter().for_each(|(_, origin)| origin.begin());
        match Source::inspect(this, &self.options) {
            Ok(source) => Ok((file, source)),
            Err(error) => Err(file.error(error)),
        }
    }

    /// Refuses a file that has changed since the folder was opened. Objects need no look: each read asks for them as they were.
    fn check(&self, index: usize) -> Result<(), SourceError> {
        let (Some(entry), Folder::Directory(folder)) = (self.files.get(index), &self.folder) else {
            return Ok(());
        };
        if Listed::of_file(&folder.join(&entry.listed.path))
            .is_none_or(|now| (now.bytes, now.version) != (entry.listed.bytes, entry.listed.version.clone()))
        {
            return Err(SourceError::FileChanged { file: entry.listed.name().to_string() });
        }
        Ok(())
    }
}

/// The columns of files and, behind them, those of paths.
fn with_keys(columns: SharedColumns, keys: &[String]) -> Result<Vec<SourceColumn>, SourceError> {
    let file = columns.first().to_owned();
    let mut columns = columns.finish();
    for (i, key) in keys.iter().enumerate() {
        let column = key.clone();
        if columns.iter().any(|known| known.name == column) {
            let is_twice = keys.iter().take(i).any(|before| before == key);
            let what = if is_twice { PathFault::Twice { column } } else { PathFault::AlsoInFile { column } };
            return Err(SourceError::Path { file, what });
        }
        columns.push(SourceColumn { name: column, unsupported: None, declared: None, kind: None });
    }
    if columns.len() > record::COLUMN_LIMIT {
        return Err(SourceError::TooManyColumns { limit: record::COLUMN_LIMIT });
    }
    Ok(columns)
}
