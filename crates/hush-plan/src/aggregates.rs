// SPDX-License-Identifier: Apache-2.0
//! The aggregate functions, each in one line: its names, its arguments, what its finish computes from which moments, the
//! purpose of a schema that it serves, and how it stands over a window.
//!
//! A new function of moments is a line here and its finish in `hush-client`; CONTRIBUTING.md has all steps. `grouped` plans
//! the moments, and the server adds them up without knowing what they are for.

use crate::schema::Purpose;

/// The aggregate functions of the count and of sums of powers of one argument. All are NULL where no row has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MomentFunction {
    /// AVG
    Avg,
    /// KURTOSIS: the excess of a sample, unbiased for normal values; NULL for fewer than four rows, and where all are equal.
    Kurtosis,
    /// KURTOSIS_POP: the excess; NULL where all rows are equal, so for a single one.
    KurtosisPop,
    /// SKEWNESS: of a sample, with the usual correction for its size; NULL for fewer than three rows, and where all are equal.
    Skewness,
    /// STDDEV_POP
    StddevPop,
    /// STDDEV, STDDEV_SAMP; NULL for a single row.
    StddevSamp,
    /// SUM
    Sum,
    /// VAR_POP
    VarPop,
    /// VARIANCE, VAR_SAMP; NULL for a single row.
    VarSamp,
}

/// The aggregate functions of the product of the rows. All are NULL where no row has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductFunction {
    /// GEOMEAN: the `n`-th root of the product of `n` rows; NULL where one is negative.
    Geomean,
    /// PRODUCT
    Product,
}

/// The aggregate functions of a dependent variable `y` and one or more others `x₁ … x_k`. All are NULL where no row has
/// all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointFunction {
    /// CORR; NULL where `x` or `y` does not vary.
    Corr,
    /// COVAR_POP
    CovarPop,
    /// COVAR_SAMP; NULL for a single row.
    CovarSamp,
    /// Constant term of the least-squares fit; NULL where the `x` do not determine one, for they are linearly dependent
    /// (or constant).
    Intercept,
    /// Mean of variable `index`: 0 is `y`.
    Mean(usize),
    /// Part of the variance of `y` that the fit explains; NULL as for the intercept, 1 where `y` does not vary.
    R2,
    /// Coefficient of `x` number `index` (from 1) in the fit; NULL as for the intercept.
    Slope(usize),
    /// `Σ (v − v̄)·(w − w̄)` of two variables `v ≤ w`.
    Spread(usize, usize),
}

/// The parts of the logistic regression of an outcome `y` on one or more `x₁ … x_k`. They keep all values of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FitPart {
    /// The number of rows where all have a value.
    Count,
    /// The constant; NULL where no coefficients make the rows most likely: the `x` are linearly dependent (or constant), or they
    /// separate the outcomes.
    Intercept,
    /// McFadden's part of the likelihood that the fit explains; NULL as for the constant.
    R2,
    /// Coefficient of `x` number `index` (from 1); NULL as for the constant.
    Slope(usize),
}

/// A part of all rows, from 0 to 1, in lowest terms or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// At most the denominator.
    pub numerator: u64,
    /// Positive.
    pub denominator: u64,
}

impl Fraction {
    /// A half.
    pub(crate) const HALF: Self = Self { numerator: 1, denominator: 2 };
}

/// The aggregate functions of the values in their order. All are NULL where no row has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderFunction {
    /// MODE: the value that occurs most often; of several the least.
    Mode,
    /// MEDIAN, QUANTILE_CONT, PERCENTILE_CONT: between the two values around the place `(n − 1)·p`, in proportion.
    QuantileCont(Fraction),
    /// QUANTILE_DISC, QUANTILE, PERCENTILE_DISC: the first value up to which this part of the rows lies.
    QuantileDisc {
        /// The part.
        part: Fraction,
        /// Whether values fall.
        descending: bool,
    },
}

/// The aggregate functions of the rows one by one, some in an order that the call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowFunction {
    /// ANY_VALUE: the first that is not NULL.
    AnyValue,
    /// ARG_MAX, MAX_BY: the value beside the greatest of another; rows where one of both is NULL do not count.
    ArgMax,
    /// ARG_MIN, MIN_BY
    ArgMin,
    /// BIT_AND, BIT_OR, BIT_XOR
    Bits,
    /// FIRST, FIRST_VALUE
    First,
    /// STRING_AGG, LISTAGG, GROUP_CONCAT: texts of the values, with a separator between them.
    Joined,
    /// LAST, LAST_VALUE
    Last,
}

/// The input of an aggregate, which decides how it is planned and finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// Of the rows one by one, by a function of ours in the query engine.
    Fitted(FitPart),
    /// Of the values in their order, by the server's query engine; exact quantiles are finished by the owner.
    Ordered(OrderFunction),
    /// By the server's query engine only, under this name.
    Engine(&'static str),
    /// From exact sums of one argument; works on encrypted columns.
    FromSums(FromSums),
    /// From exact sums over the rows where several arguments all have a value; works on encrypted columns.
    Jointly(Jointly),
    /// Of the rows one by one, by the owner's query engine.
    Rows(RowFunction),
}

/// Functions of exact sums of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FromSums {
    /// COUNT
    Count,
    Moments(MomentFunction),
    Product(ProductFunction),
}

/// Functions of exact sums of several arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jointly {
    /// The number of rows where all have a value.
    Count,
    Function(JointFunction),
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// `y` and one or more `x`.
    Features,
    /// The number of an `x`, then `y` and one or more `x`.
    NumberedFeatures,
    One,
    /// One, and the part of the rows up to which the value lies.
    OneAndPart,
    /// One, or `*`, or none.
    OneOrRows,
    /// One, and perhaps the text between the values.
    OneOrSeparator,
    /// `y` and `x`.
    Pair,
    /// The part of the rows; the argument stands in `WITHIN GROUP (ORDER BY x)`.
    PartWithinGroup,
}

/// An aggregate over a window, which the owner's query engine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    /// The number of rows of the frame: an integer.
    Counting,
    /// Computed anew for each frame, or from what the engine remembers of it.
    Remembering,
    /// The engine updates the value by taking away what leaves the frame.
    Retracting,
}

/// One aggregate function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Names in lower case that query engines know too; the server's is asked by the first.
    names: &'static [&'static str],
    /// A further name, and the one that query engines know instead.
    alias: Option<(&'static str, &'static str)>,
    pub(crate) computes: Aggregate,
    pub(crate) arguments: Arguments,
    /// The purpose that a schema's `for` names where a column is there for it.
    purpose: Option<Purpose>,
    /// `None` where it cannot stand over a window.
    pub(crate) window: Option<Window>,
    /// The name that somebody is asked about who has typed a similar one.
    suggested: Option<&'static str>,
}

/// All of them; those that are suggested in alphabetical order.
const AGGREGATES: &[Entry] = &[
    Entry::rows(&["any_value", "arbitrary"], RowFunction::AnyValue, Arguments::One).suggested("any_value"),
    Entry::rows(&["arg_max", "max_by"], RowFunction::ArgMax, Arguments::Pair).suggested("arg_max"),
    Entry::rows(&["arg_min", "min_by"], RowFunction::ArgMin, Arguments::Pair).suggested("arg_min"),
    Entry::moments(&["avg"], MomentFunction::Avg, Purpose::Avg).alias("mean", "avg").suggested("avg"),
    Entry::rows(&["bit_and"], RowFunction::Bits, Arguments::One),
    Entry::rows(&["bit_or"], RowFunction::Bits, Arguments::One),
    Entry::rows(&["bit_xor"], RowFunction::Bits, Arguments::One),
    Entry::engine(&["bool_and"]),
    Entry::engine(&["bool_or"]),
    Entry::pair(&["corr"], JointFunction::Corr).suggested("corr"),
    Entry::from_sums(&["count"], FromSums::Count, Purpose::Count)
        .arguments(Arguments::OneOrRows)
        .window(Window::Counting)
        .suggested("count"),
    Entry::pair(&["covar_pop"], JointFunction::CovarPop).suggested("covar_pop"),
    Entry::pair(&["covar_samp", "covar"], JointFunction::CovarSamp).suggested("covar_samp"),
    Entry::rows(&["first_value", "first"], RowFunction::First, Arguments::One).suggested("first_value"),
    Entry::product(&["geomean"], ProductFunction::Geomean)
        .alias("geometric_mean", "geomean")
        .suggested("geomean"),
    Entry::moments(&["kurtosis"], MomentFunction::Kurtosis, Purpose::Kurtosis).suggested("kurtosis"),
    Entry::moments(&["kurtosis_pop"], MomentFunction::KurtosisPop, Purpose::Kurtosis)
        .suggested("kurtosis_pop"),
    Entry::rows(&["last_value", "last"], RowFunction::Last, Arguments::One).suggested("last_value"),
    Entry::jointly(&["linreg_count"], Jointly::Count, Arguments::Features),
    Entry::features(&["linreg_intercept"], JointFunction::Intercept),
    Entry::features(&["linreg_r2"], JointFunction::R2),
    Entry::features(&["linreg_slope"], JointFunction::Slope(1)).arguments(Arguments::NumberedFeatures),
    Entry::fitted(&["logreg_count"], FitPart::Count),
    Entry::fitted(&["logreg_intercept"], FitPart::Intercept),
    Entry::fitted(&["logreg_r2"], FitPart::R2),
    Entry::fitted(&["logreg_slope"], FitPart::Slope(1)).arguments(Arguments::NumberedFeatures),
    Entry::engine(&["max"]).window(Window::Remembering).suggested("max"),
    Entry::ordered(&["median"], OrderFunction::QuantileCont(Fraction::HALF), Arguments::One)
        .suggested("median"),
    Entry::engine(&["min"]).window(Window::Remembering).suggested("min"),
    Entry::ordered(&["mode"], OrderFunction::Mode, Arguments::One).suggested("mode"),
    Entry::ordered(
        &["percentile_cont"],
        OrderFunction::QuantileCont(Fraction::HALF),
        Arguments::PartWithinGroup,
    )
    .suggested("percentile_cont"),
    Entry::ordered(&["percentile_disc"], OrderFunction::HALF_OF_ROWS, Arguments::PartWithinGroup)
        .suggested("percentile_disc"),
    Entry::product(&["product"], ProductFunction::Product).suggested("product"),
    Entry::ordered(&["quantile_cont"], OrderFunction::QuantileCont(Fraction::HALF), Arguments::OneAndPart)
        .suggested("quantile_cont"),
    Entry::ordered(&["quantile_disc", "quantile"], OrderFunction::HALF_OF_ROWS, Arguments::OneAndPart)
        .suggested("quantile_disc"),
    Entry::pair(&["regr_avgx"], JointFunction::Mean(1)),
    Entry::pair(&["regr_avgy"], JointFunction::Mean(0)),
    Entry::jointly(&["regr_count"], Jointly::Count, Arguments::Pair),
    Entry::pair(&["regr_intercept"], JointFunction::Intercept),
    Entry::pair(&["regr_r2"], JointFunction::R2),
    Entry::pair(&["regr_slope"], JointFunction::Slope(1)),
    Entry::pair(&["regr_sxx"], JointFunction::Spread(1, 1)),
    Entry::pair(&["regr_sxy"], JointFunction::Spread(0, 1)),
    Entry::pair(&["regr_syy"], JointFunction::Spread(0, 0)),
    Entry::moments(&["skewness"], MomentFunction::Skewness, Purpose::Skewness).suggested("skewness"),
    Entry::moments(&["stddev_samp", "stddev"], MomentFunction::StddevSamp, Purpose::Stddev)
        .suggested("stddev"),
    Entry::moments(&["stddev_pop"], MomentFunction::StddevPop, Purpose::Stddev).suggested("stddev_pop"),
    Entry::rows(&["string_agg", "group_concat", "listagg"], RowFunction::Joined, Arguments::OneOrSeparator)
        .suggested("string_agg"),
    Entry::moments(&["sum"], MomentFunction::Sum, Purpose::Sum).suggested("sum"),
    Entry::moments(&["var_pop"], MomentFunction::VarPop, Purpose::Variance)
        .alias("variance_pop", "var_pop")
        .suggested("var_pop"),
    Entry::moments(&["var_samp", "var"], MomentFunction::VarSamp, Purpose::Variance)
        .alias("variance", "var")
        .suggested("variance"),
];

/// The aggregate that a lower-case name means.
pub(crate) fn named(name: &str) -> Option<&'static Entry> {
    AGGREGATES.iter().find(|entry| entry.all_names().any(|own| own == name))
}

/// The aggregates that a purpose is for.
pub(crate) fn of_purpose(purpose: Purpose) -> impl Iterator<Item = &'static Entry> {
    AGGREGATES.iter().filter(move |entry| entry.purpose == Some(purpose))
}

/// The names by which the server's query engine is asked for aggregates of clear columns.
pub fn engine_aggregates() -> impl Iterator<Item = &'static str> {
    let is_asked = |entry: &&Entry| {
        !matches!(
            entry.computes,
            Aggregate::Fitted(_) | Aggregate::Jointly(_) | Aggregate::Ordered(_) | Aggregate::Rows(_)
        )
    };
    AGGREGATES.iter().filter(is_asked).map(Entry::engine_name)
}

/// The names by which the owner's query engine is asked for aggregates over a window.
pub fn window_aggregates() -> impl Iterator<Item = &'static str> {
    AGGREGATES.iter().filter(|entry| entry.window.is_some()).map(Entry::engine_name)
}

/// The purpose whose aggregates read the sums of powers of a column up to this one.
pub(crate) fn purpose_of_order(order: u32) -> Option<Purpose> {
    Purpose::ALL.into_iter().find(|purpose| purpose.order() == order)
}

/// Names that somebody may have meant.
pub(crate) fn suggestions() -> impl Iterator<Item = &'static str> {
    AGGREGATES.iter().filter_map(|entry| entry.suggested)
}

impl Purpose {
    /// The highest power of a value whose sum the aggregates of this purpose read; 0 for none.
    pub fn order(self) -> u32 {
        of_purpose(self).map(Entry::order).max().unwrap_or(0)
    }
}

impl MomentFunction {
    /// The highest power of the argument whose sum it reads, besides all lower ones. Planning, encryption and finish take the
    /// number of sums from here.
    pub fn order(self) -> u32 {
        match self {
            Self::Avg | Self::Sum => 1,
            Self::StddevPop | Self::StddevSamp | Self::VarPop | Self::VarSamp => 2,
            Self::Skewness => 3,
            Self::Kurtosis | Self::KurtosisPop => 4,
        }
    }
}

impl OrderFunction {
    const HALF_OF_ROWS: Self = Self::QuantileDisc { part: Fraction::HALF, descending: false };
}

impl JointFunction {
    /// The function as one word, for a query engine's argument.
    pub fn code(self) -> String {
        match self {
            Self::Corr => "corr".to_owned(),
            Self::CovarPop => "covar_pop".to_owned(),
            Self::CovarSamp => "covar_samp".to_owned(),
            Self::Intercept => "intercept".to_owned(),
            Self::Mean(index) => format!("mean:{index}"),
            Self::R2 => "r2".to_owned(),
            Self::Slope(index) => format!("slope:{index}"),
            Self::Spread(i, j) => format!("spread:{i}:{j}"),
        }
    }

    /// The function of such a word.
    pub fn of_code(code: &str) -> Option<Self> {
        let mut words = code.split(':');
        let name = words.next()?;
        let numbers: Vec<usize> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(match (name, numbers.as_slice()) {
            ("corr", []) => Self::Corr,
            ("covar_pop", []) => Self::CovarPop,
            ("covar_samp", []) => Self::CovarSamp,
            ("intercept", []) => Self::Intercept,
            ("mean", [index]) => Self::Mean(*index),
            ("r2", []) => Self::R2,
            ("slope", [index]) => Self::Slope(*index),
            ("spread", [i, j]) => Self::Spread(*i, *j),
            _ => return None,
        })
    }

    /// The products of variables `i ≤ j` that it reads, of so many.
    pub(crate) fn products(self, variables: usize) -> Vec<(usize, usize)> {
        let pairs = |from: usize| (from..variables).flat_map(move |i| (i..variables).map(move |j| (i, j)));
        match self {
            Self::Mean(_) => Vec::new(),
            Self::Spread(i, j) => vec![(i, j)],
            Self::CovarPop | Self::CovarSamp => vec![(0, 1)],
            Self::Corr | Self::R2 => pairs(0).collect(),
            // All but the square of the dependent variable.
            Self::Intercept | Self::Slope(_) => pairs(0).skip(1).collect(),
        }
    }
}

impl Entry {
    /// The name by which the server's query engine is asked.
    pub(crate) fn engine_name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The name by which a query engine knows the function that was typed under this one.
    pub(crate) fn known_name<'a>(&self, typed: &'a str) -> &'a str {
        self.alias.filter(|(alias, _)| *alias == typed).map_or(typed, |(_, known)| known)
    }

    /// The highest power of its argument whose sum it reads; 0 where it reads none.
    pub(crate) fn order(&self) -> u32 {
        match self.computes {
            Aggregate::FromSums(FromSums::Moments(function)) => function.order(),
            _ => 0,
        }
    }

    /// Whether it reads more of a column than values and validity, which every summed column has.
    pub(crate) fn reads_further_quantities(&self) -> bool {
        self.order() > 1 || matches!(self.computes, Aggregate::FromSums(FromSums::Product(_)))
    }

    fn all_names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().copied().chain(self.alias.map(|(alias, _)| alias))
    }

    const fn new(names: &'static [&'static str], computes: Aggregate, arguments: Arguments) -> Self {
        Self { names, alias: None, computes, arguments, purpose: None, window: None, suggested: None }
    }

    const fn engine(names: &'static [&'static str]) -> Self {
        Self::new(names, Aggregate::Engine(names[0]), Arguments::One)
    }

    const fn from_sums(names: &'static [&'static str], computes: FromSums, purpose: Purpose) -> Self {
        let purpose = Some(purpose);
        Self { purpose, ..Self::new(names, Aggregate::FromSums(computes), Arguments::One) }
    }

    const fn moments(names: &'static [&'static str], function: MomentFunction, purpose: Purpose) -> Self {
        Self::from_sums(names, FromSums::Moments(function), purpose).window(Window::Retracting)
    }

    const fn product(names: &'static [&'static str], function: ProductFunction) -> Self {
        Self::from_sums(names, FromSums::Product(function), Purpose::Geomean)
    }

    const fn ordered(names: &'static [&'static str], computes: OrderFunction, arguments: Arguments) -> Self {
        Self::new(names, Aggregate::Ordered(computes), arguments)
    }

    const fn fitted(names: &'static [&'static str], part: FitPart) -> Self {
        Self::new(names, Aggregate::Fitted(part), Arguments::Features)
    }

    const fn jointly(names: &'static [&'static str], computes: Jointly, arguments: Arguments) -> Self {
        Self::new(names, Aggregate::Jointly(computes), arguments)
    }

    const fn pair(names: &'static [&'static str], function: JointFunction) -> Self {
        Self::jointly(names, Jointly::Function(function), Arguments::Pair)
    }

    const fn features(names: &'static [&'static str], function: JointFunction) -> Self {
        Self::jointly(names, Jointly::Function(function), Arguments::Features)
    }

    const fn rows(names: &'static [&'static str], computes: RowFunction, arguments: Arguments) -> Self {
        Self::new(names, Aggregate::Rows(computes), arguments)
    }

    const fn alias(self, alias: &'static str, known: &'static str) -> Self {
        Self { alias: Some((alias, known)), ..self }
    }

    const fn arguments(self, arguments: Arguments) -> Self {
        Self { arguments, ..self }
    }

    const fn suggested(self, name: &'static str) -> Self {
        Self { suggested: Some(name), ..self }
    }

    const fn window(self, window: Window) -> Self {
        Self { window: Some(window), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_their_codes() {
        use JointFunction as F;
        let all = [F::Corr, F::CovarPop, F::CovarSamp, F::Intercept, F::Mean(1), F::R2, F::Slope(32)];
        for function in all.into_iter().chain([F::Spread(0, 1), F::Mean(0)]) {
            assert_eq!(F::of_code(&function.code()), Some(function));
        }
        for code in ["", "corr:1", "mean", "mean:x", "spread:1", "slope:1:2", "Corr"] {
            assert_eq!(F::of_code(code), None, "{code}");
        }
    }

    #[test]
    fn every_name_means_one_aggregate() {
        let mut names: Vec<&str> = AGGREGATES.iter().flat_map(Entry::all_names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for entry in AGGREGATES {
            for name in entry.all_names().chain(entry.suggested) {
                assert_eq!(named(name), Some(entry), "{name}");
                assert!(entry.names.contains(&entry.known_name(name)), "{name}");
            }
        }
        assert!(suggestions().is_sorted());
        assert!(AGGREGATES.iter().filter_map(|entry| entry.purpose).all(|of| Purpose::ALL.contains(&of)));
        assert_eq!(named("array_agg"), None);
    }
}
