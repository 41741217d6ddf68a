// SPDX-License-Identifier: Apache-2.0
//! The source of rows: standard input, a file, or a file that grows.

pub(crate) mod json;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use hush_table::Digest;
use hush_table::source::PARQUET_MAGIC;
use zeroize::Zeroize;

use crate::feed::{Feed, LineForm, MAX_RECORD_BYTES, Start};
use crate::place::{Mark, Window};
use crate::spool::SourceId;
use crate::{DeviceKey, EdgeError};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Interval at which a growing file is read on.
const POLL: Duration = Duration::from_millis(200);
/// Quiet time after which a rotated file counts as complete: its writer may keep it open for a while.
const QUIET: Duration = Duration::from_secs(2);

/// The source of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input, until it ends. A loss of power loses the rows that were read and not yet encrypted.
    Stdin,
    /// A file, until its end, or for as long as the program runs. Then the bytes by which it grows are read, and another file under
    /// its name, such as a rotated log, from its beginning.
    File {
        /// The file.
        path: PathBuf,
        /// Whether it grows.
        follow: bool,
    },
}

/// The state that a reader reports.
pub(crate) enum Message {
    /// Bytes of the input.
    Bytes(Vec<u8>),
    /// Another file stands under the name now, or other content in it; its bytes follow.
    Rotated(SourceId),
    /// The input has ended.
    End,
    /// The input cannot be read on.
    Failed(EdgeError),
}

/// An input that has been opened.
pub(crate) struct Opened {
    input: Input,
    file: Option<File>,
    /// The identity of the file, and its length when it was opened.
    pub(crate) place: Option<(SourceId, u64)>,
}

/// An input that is Parquet.
pub(crate) struct ParquetFile<'a> {
    path: &'a Path,
    file: &'a File,
    source: SourceId,
}

impl ParquetFile<'_> {
    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    /// The identity of the file, and the fingerprint of its bytes under `key`.
    ///
    /// # Cost
    /// One pass over the bytes.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn identity(&self, key: &DeviceKey) -> Result<SourceId, EdgeError> {
        let content = Digest::of_reader(self.file).map_err(failed(self.path))?;
        Ok(SourceId { content: Some(key.fingerprint(&content)), ..self.source })
    }

    /// Whether the file still stands under its name.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn is_present(&self) -> Result<bool, EdgeError> {
        let present = File::open(self.path).and_then(|file| identity(&file)).map_err(failed(self.path))?;
        Ok(present.0 == self.source)
    }
}

impl Input {
    /// Opens the input.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn open(&self) -> Result<Opened, EdgeError> {
        let file = match self {
            Self::Stdin => None,
            Self::File { path, .. } => Some(File::open(path).map_err(failed(path))?),
        };
        let place = match (self, &file) {
            (Self::File { path, .. }, Some(file)) => Some(identity(file).map_err(failed(path))?),
            _ => None,
        };
        Ok(Opened { input: self.clone(), file, place })
    }
}

impl Opened {
    /// The file, if it is Parquet: it is read as a table and not line by line.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn parquet(&self) -> Result<Option<ParquetFile<'_>>, EdgeError> {
        let (Some(file), Input::File { path, .. }, Some((source, _))) = (&self.file, &self.input, self.place)
        else {
            return Ok(None);
        };
        // Anything but a plain file, such as a pipe, is read once, line by line.
        if !file.metadata().map_err(failed(path))?.is_file() {
            return Ok(None);
        }
        let mut start = [0; PARQUET_MAGIC.len()];
        let read = file.read_at(&mut start, 0).map_err(failed(path))?;
        Ok((read == start.len() && start == PARQUET_MAGIC).then_some(ParquetFile { path, file, source }))
    }

    /// The mark of a place in the file as it is now: `None` if the file is not that long or no plain file, `Some(None)` for standard
    /// input, which has no marks.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn mark_at(&self, position: u64, key: &DeviceKey) -> Result<Option<Option<Mark>>, EdgeError> {
        let (Some(file), Input::File { path, .. }) = (&self.file, &self.input) else { return Ok(Some(None)) };
        if !file.metadata().map_err(failed(path))?.is_file() {
            return Ok(None);
        }
        let window = Window::of_file(file, position).map_err(failed(path))?;
        Ok(window.map(|window| Some(window.trace().mark(key))))
    }

    /// Goes to `position`, and returns the bytes before it. Messages have no header.
    ///
    /// # Errors
    /// [`EdgeError::File`], [`EdgeError::LongRecord`].
    pub(crate) fn start_at(&mut self, position: u64, form: LineForm) -> Result<Start, EdgeError> {
        let (Some(file), Input::File { path, .. }) = (&mut self.file, &self.input) else {
            return Ok(Start::default());
        };
        if position == 0 {
            return Ok(Start::default());
        }
        let header = match form {
            LineForm::Json => None,
            LineForm::Csv => {
                let mut start = vec![0; MAX_RECORD_BYTES.min(position as usize)];
                let read = file.read_at(&mut start, 0).map_err(failed(path))?;
                start.truncate(read);
                // A header that is the whole file may lack its end.
                Some(Feed::header_of(&start).unwrap_or(start))
            }
        };
        let window = Window::of_file(file, position).map_err(failed(path))?.unwrap_or_default();
        file.seek(SeekFrom::Start(position)).map_err(failed(path))?;
        Ok(Start { position, window, header })
    }

    /// Reads to the end, or until `stop`, into `sender`: the body of the reading thread.
    pub(crate) fn read(mut self, sender: &SyncSender<Message>, stop: &Arc<AtomicBool>) {
        let ended = match self.read_all(sender, stop) {
            Ok(true) => Message::End,
            Ok(false) => return,
            Err(error) => Message::Failed(error),
        };
        // Nobody waits for it if the other side has failed.
        let _ = sender.send(ended);
    }

    /// Whether the input ended; `false` if nobody listens any more.
    fn read_all(&mut self, sender: &SyncSender<Message>, stop: &Arc<AtomicBool>) -> Result<bool, EdgeError> {
        let mut buffer = vec![0; READ_BYTES];
        let path = match &self.input {
            Input::Stdin => PathBuf::from("standard input"),
            Input::File { path, .. } => path.clone(),
        };
        let follow = matches!(self.input, Input::File { follow: true, .. });
        let mut recent = self.recent(&path)?;
        // The time since which another file stands under the name and this one is quiet.
        let mut left: Option<Instant> = None;
        while !stop.load(Ordering::Relaxed) {
            let read = match &mut self.file {
                Some(file) => file.read(&mut buffer),
                None => io::stdin().lock().read(&mut buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&path)(error)),
                Ok(0) if !follow => break,
                Ok(0) => {
                    std::thread::sleep(POLL);
                    let rotated = match self.standing(&path, &recent)? {
                        Standing::Same => {
                            left = None;
                            None
                        }
                        Standing::Other(_) if left.get_or_insert_with(Instant::now).elapsed() < QUIET => None,
                        Standing::Other(file) | Standing::Rewritten(file) => Some(file),
                    };
                    if let Some(file) = rotated {
                        let place = identity(&file).map_err(failed(&path))?;
                        (self.file, self.place) = (Some(file), Some(place));
                        (recent, left) = (Window::default(), None);
                        if sender.send(Message::Rotated(place.0)).is_err() {
                            return Ok(false);
                        }
                    }
                }
                Ok(count) => {
                    left = left.map(|_| Instant::now());
                    let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                    if follow {
                        recent.pass(&bytes);
                    }
                    if sender.send(Message::Bytes(bytes)).is_err() {
                        return Ok(false);
                    }
                }
            }
        }
        buffer.zeroize();
        Ok(true)
    }

    /// The bytes before the place at which reading begins.
    fn recent(&mut self, path: &Path) -> Result<Window, EdgeError> {
        let Some(file) = self.file.as_mut().filter(|file| is_plain(file)) else {
            return Ok(Window::default());
        };
        let position = file.stream_position().map_err(failed(path))?;
        Ok(Window::of_file(file, position).map_err(failed(path))?.unwrap_or_default())
    }

    /// Looks at the file that has the name now. `recent` holds the last bytes read of the present file.
    fn standing(&mut self, path: &Path, recent: &Window) -> Result<Standing, EdgeError> {
        let Some(file) = self.file.as_mut().filter(|file| is_plain(file)) else { return Ok(Standing::Same) };
        // Between two files there may be none.
        let Ok(present) = File::open(path) else { return Ok(Standing::Same) };
        let (source, _) = identity(&present).map_err(failed(path))?;
        if self.place.is_some_and(|(before, _)| before != source) {
            return Ok(Standing::Other(present));
        }
        // The file may have been cut, and be longer again already.
        let position = file.stream_position().map_err(failed(path))?;
        let length = file.metadata().map_err(failed(path))?.len();
        let window = Window::of_file(file, position).map_err(failed(path))?;
        let goes_on = position <= length && window.is_some_and(|window| window.ends_like(recent));
        Ok(if goes_on { Standing::Same } else { Standing::Rewritten(present) })
    }
}

/// The file that now has the name of the file being read.
enum Standing {
    /// The file, or nothing.
    Same,
    /// Another file.
    Other(File),
    /// The file, with other content in the bytes that were read.
    Rewritten(File),
}

/// Whether it is a file on a disk, and not a pipe.
fn is_plain(file: &File) -> bool {
    file.metadata().is_ok_and(|facts| facts.is_file())
}

fn identity(file: &File) -> io::Result<(SourceId, u64)> {
    let facts = file.metadata()?;
    Ok((SourceId { device: facts.dev(), inode: facts.ino(), content: None }, facts.len()))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> EdgeError {
    let path = path.to_owned();
    move |source| EdgeError::File { what: "read", path: path.clone(), source }
}
