// SPDX-License-Identifier: Apache-2.0
//! Why the columns of a table are not altered.

use hush_plan::schema::alter::AlterFault;
use hush_table::error::ErrorKind;

/// An alteration that is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlterError {
    /// What is asked for cannot be, or would change answers without a word.
    #[error(transparent)]
    Fault(#[from] Box<AlterFault>),
    /// Another alteration was interrupted, or runs.
    #[error(
        "{place}: another alteration is under way\n  Way out: alter without any change goes on with it; then this one."
    )]
    UnderWay {
        /// The place.
        place: String,
    },
    /// Deliveries that nobody could take in after the alteration.
    #[error(
        "{place}: {count} deliveries of devices wait, and could not be accepted any more\n  Ways out: accept them first; or discard them."
    )]
    Waiting {
        /// The place.
        place: String,
        /// How many.
        count: u64,
    },
    /// As many generations of columns as a table can have.
    #[error(
        "{place}: its parts are of as many generations of columns as a table can have\n  Way out: compact --all, which writes all of them with the present ones."
    )]
    Generations {
        /// The place.
        place: String,
    },
    /// Parts that would have no column at all.
    #[error(
        "{place}: parts that are there would have no column left\n  Way out: keep one of their columns, or compact --all first, which writes the others into them."
    )]
    Nothing {
        /// The place.
        place: String,
    },
}

impl AlterError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnderWay { .. } => "HUSH-C120",
            Self::Waiting { .. } => "HUSH-C121",
            Self::Generations { .. } => "HUSH-C122",
            Self::Nothing { .. } => "HUSH-C123",
            Self::Fault(fault) => match **fault {
                AlterFault::NoColumns => "HUSH-C123",
                AlterFault::Taken { .. } => "HUSH-C124",
                AlterFault::NoColumn { .. } | AlterFault::Dropped { .. } => "HUSH-C125",
                AlterFault::Narrower { .. } => "HUSH-C126",
                AlterFault::Range { .. } | AlterFault::NoRange { .. } => "HUSH-C127",
                AlterFault::NotEncrypted { .. } => "HUSH-C128",
                _ => "HUSH-C129",
            },
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnderWay { .. }
            | Self::Waiting { .. }
            | Self::Generations { .. }
            | Self::Nothing { .. } => ErrorKind::Refused,
            Self::Fault(fault) => match **fault {
                AlterFault::NoColumns | AlterFault::Taken { .. } | AlterFault::Narrower { .. } => {
                    ErrorKind::Refused
                }
                _ => ErrorKind::Usage,
            },
        }
    }
}
