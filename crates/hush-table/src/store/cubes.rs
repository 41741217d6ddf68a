// SPDX-License-Identifier: Apache-2.0
//! The cubes of parts.

use bytes::Bytes;

use super::TableStore;
use super::open::failed;
use crate::error::{PartFault, TableError};
use crate::manifest::{Cubes, PartEntry};
use crate::part::{CubesHead, FileKind, PartCubes, Recheck, StoredCube, WrittenPart};

impl TableStore {
    /// The cubes of a part; `None` if it has none. Whether they still stand for its rows, [`PartEntry::has_cube`] says.
    ///
    /// # Errors
    /// As [`TableStore::open_part`]; [`TableError::BadPart`] for other cubes than those of the entry.
    ///
    /// # Cost
    /// The size of the file.
    pub fn cubes(&self, entry: &PartEntry) -> Result<Option<PartCubes>, TableError> {
        let Some(Cubes { id, numbers, file }) = &entry.cubes else { return Ok(None) };
        let source = self.open_part(FileKind::Cubes, file)?;
        let bytes = source.read_all().map_err(|cause| failed(&source, FileKind::Cubes, file, cause))?;
        let cubes = PartCubes::decode(bytes).filter(|cubes| cubes.id == *id && cubes.numbers() == *numbers);
        cubes.ok_or(TableError::BadPart { part: file.digest, fault: PartFault::Cubes }).map(Some)
    }

    /// One cube of a part; `None` if the part does not have it.
    ///
    /// # Errors
    /// As [`TableStore::cubes`].
    ///
    /// # Cost
    /// The size of the cube; in a bucket, where each range is a request, that of the file.
    pub fn cube(&self, entry: &PartEntry, number: u32) -> Result<Option<StoredCube>, TableError> {
        let Some(Cubes { id, numbers, file }) = &entry.cubes else { return Ok(None) };
        if !self.is_directory() {
            let cubes = self.cubes(entry)?;
            return Ok(cubes.and_then(|cubes| cubes.cubes.into_iter().find(|cube| cube.number == number)));
        }
        let other = || TableError::BadPart { part: file.digest, fault: PartFault::Cubes };
        let source = self.open_checked(FileKind::Cubes, file, Recheck::Unseen)?;
        let read = |range| source.read(range).map_err(|cause| failed(&source, FileKind::Cubes, file, cause));
        let front = read(0..CubesHead::MAX_BYTES.min(source.length()))?;
        let head = CubesHead::decode(&front, source.length());
        let head = head.filter(|head| head.id == *id && head.numbers() == *numbers).ok_or_else(other)?;
        let Some(cube) = head.cubes.into_iter().find(|cube| cube.number == number) else { return Ok(None) };
        let sums = read(cube.sums.clone())?;
        cube.with_sums(sums).ok_or_else(other).map(Some)
    }

    /// Stores the cubes of a part, and says where they are for the manifest. Storing them again changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::put_part`]; [`TableError::BadPart`] for cubes that no file can hold; then nothing is stored.
    pub fn put_cubes(&self, cubes: &PartCubes) -> Result<Cubes, TableError> {
        let written = WrittenPart::new(FileKind::Cubes, cubes.encode(), 0, 0);
        if PartCubes::decode(Bytes::clone(&written.bytes)).as_ref() != Some(cubes) {
            return Err(TableError::BadPart { part: written.file.digest, fault: PartFault::Cubes });
        }
        self.put_part(&written)?;
        Ok(Cubes { id: cubes.id, numbers: cubes.numbers(), file: written.file })
    }
}
