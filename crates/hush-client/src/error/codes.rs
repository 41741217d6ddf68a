// SPDX-License-Identifier: Apache-2.0
//! The stable code and the kind of each error of the owner's side.

use hush_table::error::StoreFault;

use super::{ClientError, ErrorKind};

impl ClientError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Compact(source) => source.code(),
            Self::Derived { code, .. } => code,
            Self::Edge(source) => source.code(),
            Self::Encode(source) => source.code(),
            Self::Eval(source) => source.code(),
            Self::Exec(source) => source.code(),
            Self::KeyFile(source) => source.code(),
            Self::Plan(source) | Self::Query { source, .. } | Self::Rehearsed { source, .. } => source.code(),
            Self::Purge(source) => source.code(),
            Self::Rotate(source) => source.code(),
            Self::Alter(source) => source.code(),
            Self::Model(source) => source.code(),
            Self::Release(source) => source.code(),
            Self::Remote(source) => source.code(),
            Self::SchemaEdit { source } | Self::SchemaFile { source, .. } | Self::SchemaText { source } => {
                source.code()
            }
            Self::Source(source) => source.code(),
            Self::Table(source) => source.code(),
            Self::Usage { .. } | Self::Misused { .. } | Self::Exists { .. } => "HUSH-U001",
            Self::Replaced { .. } => "HUSH-R022",
            Self::OtherName { .. } => "HUSH-R023",
            Self::NotPushed { .. } => "HUSH-R024",
            Self::OutOfBounds { .. } => "HUSH-D030",
            Self::OtherKey { .. } => "HUSH-K020",
            Self::Seal(_) => "HUSH-K021",
            Self::OldKey { .. } => "HUSH-K022",
            Self::NoRoot { .. } => "HUSH-K023",
            Self::Answer { .. } => "HUSH-C010",
            Self::Decrypt(_) => "HUSH-C011",
            Self::Codec(_) => "HUSH-C012",
            Self::Beyond { .. } => "HUSH-C013",
            Self::Unequal { .. } => "HUSH-C020",
            Self::Finish { .. } => "HUSH-C030",
            Self::Magnitude => "HUSH-C031",
            Self::Tables { .. } => "HUSH-C032",
            Self::File { .. } | Self::Io(_) | Self::NoSchema { .. } => "HUSH-C040",
            Self::Cpu { .. } => "HUSH-C041",
            Self::Randomness(_) => "HUSH-C042",
            Self::Pin { .. } => "HUSH-C043",
            Self::MemoryLimit { .. } => "HUSH-C060",
            Self::MemoryPassed { .. } => "HUSH-C061",
            Self::DiskSpace { .. } => "HUSH-C062",
            Self::DeviceTooSmall { .. } => "HUSH-C063",
            Self::WouldReplace { .. } => "HUSH-C070",
            Self::Occupied { .. } => "HUSH-C071",
            Self::Changed { .. } => "HUSH-C072",
            Self::Unfinished { .. } => "HUSH-C073",
            Self::Reencrypted { .. } => "HUSH-C074",
            Self::OtherBatch { .. } => "HUSH-C075",
            Self::NoRows { .. } => "HUSH-C076",
            Self::AllRows { .. } => "HUSH-C077",
            Self::NullKey { .. } => "HUSH-C078",
            Self::DuplicateKey { .. } => "HUSH-C079",
            Self::MissingKeys { .. } => "HUSH-C092",
            Self::ManyRows { .. } => "HUSH-C093",
            Self::DroppedColumn { .. } => "HUSH-C094",
            Self::NeedsColumn { .. } => "HUSH-C095",
            Self::NoCell { .. } => "HUSH-C096",
            Self::FullCell { .. } => "HUSH-C097",
            Self::ManyMatches { .. } => "HUSH-C098",
            Self::Encoding { .. } | Self::Params(_) => "HUSH-C050",
            Self::Arrow
            | Self::Encrypt(_)
            | Self::Internal { .. }
            | Self::Overflow
            | Self::Ring(_)
            | Self::Scheme(_) => "HUSH-C099",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Usage { .. } | Self::Misused { .. } | Self::Exists { .. } | Self::Cpu { .. } => {
                ErrorKind::Usage
            }
            Self::Plan(source) | Self::Query { source, .. } | Self::Rehearsed { source, .. } => {
                match source {
                    hush_plan::PlanError::Overflow { .. } | hush_plan::PlanError::Noise { .. } => {
                        ErrorKind::Precision
                    }
                    _ => ErrorKind::Refused,
                }
            }
            Self::AllRows { .. }
            | Self::Changed { .. }
            | Self::Derived { .. }
            | Self::NotPushed { .. }
            | Self::Occupied { .. }
            | Self::Reencrypted { .. }
            | Self::Release(_)
            | Self::SchemaEdit { .. }
            | Self::SchemaFile { .. }
            | Self::SchemaText { .. }
            | Self::Unfinished { .. }
            | Self::WouldReplace { .. } => ErrorKind::Refused,
            Self::Compact(source) => source.kind(),
            Self::Edge(source) => source.kind(),
            Self::Purge(source) => source.kind(),
            Self::Rotate(source) => source.kind(),
            Self::Alter(source) => source.kind(),
            Self::Model(source) => source.kind(),
            Self::Eval(source) => source.kind(),
            Self::KeyFile(hush_keys::keyfile::KeyFileError::Memory { .. }) => ErrorKind::Resource,
            Self::KeyFile(_) | Self::NoRoot { .. } | Self::OldKey { .. } | Self::OtherKey { .. } => {
                ErrorKind::Key
            }
            Self::Source(hush_table::source::SourceError::Server { .. }) => ErrorKind::Usage,
            Self::Source(source) => source.store_fault().map_or(ErrorKind::Data, StoreFault::kind),
            Self::DroppedColumn { .. }
            | Self::DuplicateKey { .. }
            | Self::FullCell { .. }
            | Self::ManyMatches { .. }
            | Self::ManyRows { .. }
            | Self::MissingKeys { .. }
            | Self::NeedsColumn { .. }
            | Self::NoCell { .. }
            | Self::NoRows { .. }
            | Self::NullKey { .. }
            | Self::OtherBatch { .. }
            | Self::OutOfBounds { .. } => ErrorKind::Data,
            Self::Finish { .. } | Self::Magnitude | Self::Tables { .. } => ErrorKind::Refused,
            Self::Remote(source) => source.kind(),
            Self::Exec(source) => match source.kind() {
                hush_exec::ErrorKind::Limit => ErrorKind::Resource,
                hush_exec::ErrorKind::Corrupt => ErrorKind::Damaged,
                hush_exec::ErrorKind::Internal => ErrorKind::Internal,
                _ => ErrorKind::Refused,
            },
            Self::Table(source) => source.kind(),
            Self::Answer { .. }
            | Self::Beyond { .. }
            | Self::Codec(_)
            | Self::Decrypt(_)
            | Self::Seal(_)
            | Self::Pin { .. }
            | Self::OtherName { .. }
            | Self::Replaced { .. }
            | Self::Encoding { .. } => ErrorKind::Damaged,
            Self::DeviceTooSmall { .. }
            | Self::DiskSpace { .. }
            | Self::File { .. }
            | Self::Io(_)
            | Self::MemoryLimit { .. }
            | Self::MemoryPassed { .. }
            | Self::NoSchema { .. }
            | Self::Randomness(_) => ErrorKind::Resource,
            Self::Params(_) => ErrorKind::Damaged,
            Self::Arrow
            | Self::Encode(_)
            | Self::Encrypt(_)
            | Self::Internal { .. }
            | Self::Overflow
            | Self::Ring(_)
            | Self::Scheme(_)
            | Self::Unequal { .. } => ErrorKind::Internal,
        }
    }
}
