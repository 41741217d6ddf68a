// SPDX-License-Identifier: Apache-2.0
//! What cutting the next chunk out of a file comes to.

/// What is found where a chunk begins.
pub(super) enum Cut<T> {
    /// Nothing more.
    End,
    /// Rows.
    Rows(T),
    /// More bytes than allowed, or reading failed behind them. None of them is taken: the next read of a row has them.
    Unfit,
}

impl<T> Cut<T> {
    /// With its rows as `content` has them.
    pub(super) fn map<U>(self, content: impl FnOnce(T) -> U) -> Cut<U> {
        match self {
            Self::End => Cut::End,
            Self::Rows(rows) => Cut::Rows(content(rows)),
            Self::Unfit => Cut::Unfit,
        }
    }
}
