// SPDX-License-Identifier: Apache-2.0
//! The words of a refusal: clauses, parts of SQL, reasons.

/// A clause of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clause {
    /// `CASE WHEN` inside an aggregate's argument.
    #[error("CASE WHEN")]
    Case,
    /// `FILTER (WHERE …)` of an aggregate.
    #[error("FILTER")]
    Filter,
    /// `FROM`
    #[error("FROM")]
    From,
    /// `GROUP BY`
    #[error("GROUP BY")]
    GroupBy,
    /// `HAVING`
    #[error("HAVING")]
    Having,
    /// `LIMIT`
    #[error("LIMIT")]
    Limit,
    /// `OFFSET`
    #[error("OFFSET")]
    Offset,
    /// `ORDER BY`
    #[error("ORDER BY")]
    OrderBy,
    /// The list of outputs.
    #[error("SELECT")]
    Select,
    /// `WHERE`
    #[error("WHERE")]
    Where,
}

/// A part of SQL that the planner refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Feature {
    /// `WITH t AS …` where there is a table t, and `WITH RECURSIVE`.
    #[error("WITH RECURSIVE, or WITH under the name of a table,")]
    CommonName,
    /// `WITH`
    #[error("a common table expression (WITH)")]
    CommonTable,
    /// A clause or expression of some dialect.
    #[error("this dialect's extension")]
    Dialect,
    /// `SELECT DISTINCT` beyond clear expressions.
    #[error("SELECT DISTINCT with encrypted columns or aggregates")]
    Distinct,
    /// `SELECT DISTINCT ON (x)` of a rehearsal.
    #[error("SELECT DISTINCT ON")]
    DistinctOn,
    /// `COUNT(DISTINCT x)` and the like on an encrypted column.
    #[error("this aggregate of an encrypted column")]
    EncryptedAggregate,
    /// A frame of groups, of values, or one that ends before it begins.
    #[error("this frame of a window")]
    Frame,
    /// `ROLLUP`, `CUBE`, `GROUPING SETS`, `GROUP BY ALL`
    #[error("ROLLUP, CUBE, GROUPING SETS or ALL")]
    GroupingSets,
    /// `SELECT … INTO`
    #[error("SELECT INTO")]
    Into,
    /// More than one table.
    #[error("a join or a second table")]
    Join,
    /// `CORR(DISTINCT x, y)`
    #[error("DISTINCT in an aggregate of several columns")]
    JointDistinct,
    /// `LIKE … ESCAPE` beyond one character after a literal pattern.
    #[error("an ESCAPE other than LIKE 'text' ESCAPE 'c' with a text that does not end in c")]
    LikeEscape,
    /// A sum or moment of doubles whose frame moves.
    #[error("a sum, mean or variance of floats over a frame that moves")]
    MovingDoubles,
    /// `SUM(RANK() OVER …) OVER …`
    #[error("a window function within another")]
    NestedWindow,
    /// `f(name => x)`
    #[error("a named function argument")]
    NamedArgument,
    /// `LINREG(y)`
    #[error("a regression without an x")]
    NoFeatures,
    /// `CORR(x)`
    #[error("an aggregate of two arguments, y and x, with other than two")]
    NotAPair,
    /// `SELECT *` where every column is sealed or dropped.
    #[error("* over a table whose columns are all sealed, dropped or undecided")]
    Nothing,
    /// `?`, `$1`
    #[error("a placeholder")]
    Placeholder,
    /// `x SIMILAR TO y`, and patterns that are none of the SQL standard.
    #[error("SIMILAR TO with something else than a literal that is a pattern of the SQL standard")]
    SimilarPattern,
    /// `STRING_AGG(x, ',')` and the like of a rehearsal.
    #[error("this aggregate of the rows one by one")]
    RowAggregate,
    /// `(a, b) = (c)`
    #[error("a comparison of rows of values of different lengths")]
    RowLengths,
    /// `LINREG(…)` or `LOGREG(…)` within an expression.
    #[error(
        "LINREG or LOGREG, which has several outputs, within an expression or outside of the list after SELECT"
    )]
    SeveralOutputs,
    /// `UNION`, `EXCEPT`, `INTERSECT`, `VALUES`
    #[error("a set operation")]
    SetOperation,
    /// `ORDER BY x + 1` in a query within, where x is an output and another column.
    #[error(
        "an expression over a name in ORDER BY that is both a column and an output, in a query within the query"
    )]
    OutputInOrder,
    /// A quantile at what is no part of the rows.
    #[error("a quantile at anything but a number from 0 to 1")]
    Part,
    /// A query inside the query.
    #[error("a subquery")]
    Subquery,
    /// `ntile(4) FILTER (…) OVER …` and other functions.
    #[error("OVER with a function that is no window function")]
    UnknownWindow,
    /// `WINDOW w AS (…), w AS (…)`
    #[error("WINDOW with one name twice")]
    RepeatedWindowName,
    /// `OVER w` without `WINDOW w AS (…)`.
    #[error("OVER with a name that WINDOW does not have")]
    UnknownWindowName,
    /// `OVER` in a grouped query, QUALIFY or WINDOW of a rehearsal; or in WHERE, GROUP BY or HAVING.
    #[error("a window function in a grouped query or in a condition")]
    Window,
}

impl Feature {
    /// The way out, where there is one.
    pub(crate) fn way_out(self) -> Option<&'static str> {
        match self {
            Self::CommonTable | Self::Subquery => Some("write it as one SELECT over the table"),
            Self::CommonName => Some("WITH under another name"),
            Self::OutputInOrder => Some("the output under another name"),
            Self::Distinct => Some("GROUP BY the clear columns"),
            Self::DistinctOn | Self::RowAggregate => Some("on encrypted tables (hush query)"),
            Self::EncryptedAggregate => Some(
                "COUNT, SUM, AVG, VARIANCE, STDDEV, SKEWNESS, KURTOSIS, COVAR, CORR, PRODUCT and regressions work on \
                 encrypted columns",
            ),
            Self::GroupingSets => Some("one query for each set of keys"),
            Self::Join => Some("join before encrypting"),
            Self::LikeEscape => Some("strpos, starts_with, ends_with and contains take texts as they are"),
            Self::SeveralOutputs => Some(
                "LINREG_INTERCEPT(y, x1, ...), LINREG_SLOPE(i, y, x1, ...), LINREG_R2 and LINREG_COUNT have one each, and so those of LOGREG",
            ),
            Self::SimilarPattern => Some("regexp_like takes regular expressions"),
            Self::SetOperation => Some("one query for each part"),
            Self::Frame => {
                Some("ROWS BETWEEN n PRECEDING AND m FOLLOWING; RANGE with UNBOUNDED and CURRENT ROW")
            }
            Self::MovingDoubles => Some(
                "those of + - * of exact columns can move, and COUNT, MIN and MAX; a float with a range is exact",
            ),
            Self::UnknownWindow => Some(
                "COUNT, SUM, AVG, VARIANCE, STDDEV, SKEWNESS, MIN, MAX, ROW_NUMBER, RANK, LAG, LEAD, FIRST_VALUE and their kin",
            ),
            Self::UnknownWindowName => Some("WINDOW w AS (PARTITION BY ward ORDER BY age)"),
            Self::Window => Some(
                "window functions after SELECT and in ORDER BY; on encrypted tables (hush query) also over groups and in QUALIFY",
            ),
            Self::JointDistinct => Some("without DISTINCT"),
            Self::Part => Some("QUANTILE_CONT(x, 0.9), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"),
            Self::NoFeatures => {
                Some("y, then x1, x2, ...: LINREG(y, x1), LINREG_INTERCEPT(y, x1), LINREG_SLOPE(i, y, x1)")
            }
            Self::Dialect
            | Self::Into
            | Self::NamedArgument
            | Self::NestedWindow
            | Self::NotAPair
            | Self::Nothing
            | Self::Placeholder
            | Self::RepeatedWindowName
            | Self::RowLengths => None,
        }
    }
}

/// Why an expression does not suit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A float without a range where exact numbers are needed.
    #[error(
        "covariances, regressions, products of rows, SKEWNESS and KURTOSIS need exact columns; give the float a range in \
         the schema"
    )]
    Approximate,
    /// `CASE` in a slot program.
    #[error("CASE conditions on it cannot be evaluated")]
    Case,
    /// A cast that changes the value.
    #[error("only casts that keep the value are possible")]
    Cast,
    /// A sum, or a clear column, under PRODUCT.
    #[error("the product of rows can be taken of a product of encrypted columns and numbers, nothing else")]
    NotAProduct,
    /// A date or time in arithmetic other than a difference.
    #[error("dates and times can be counted and subtracted from one another, nothing else")]
    DateArithmetic,
    /// `/` or `%`.
    #[error("a division inside an aggregate cannot be evaluated on it")]
    Division,
    /// A clear float next to an exact encrypted column.
    #[error("a floating-point factor is not exact; CAST it to DECIMAL(p,s)")]
    Float,
    /// A function.
    #[error("functions of it cannot be evaluated before decryption; + - * can")]
    Function,
    /// Not a literal number.
    #[error("only numbers can be used in arithmetic")]
    NotANumber,
    /// An expression whose range does not follow from its parts.
    #[error("only + - *, CASE and casts of columns and numbers are bounded")]
    NotBounded,
    /// Too wide for exact decimals.
    #[error("its values can exceed 76 decimal digits")]
    TooWide,
    /// Text.
    #[error("text and categories cannot be computed on")]
    Text,
}
