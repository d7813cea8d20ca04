"""Fidelity: how much a synthetic table of covariates and endpoints resembles a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from threadpoolctl import threadpool_limits

from harmonium.table.columns import infer_column
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.frames import to_pandas
from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array, Booleans

__all__ = ["Fidelity", "fidelity"]

_FOLDS = 5
_MOST_CATEGORIES = 255  # that the classifier takes; levels beyond share the last one
_SHOWN = 6
_PRINTED = ["distance", "at", "until", "events_real", "events_synthetic"]
_MEASURES_OVER_TIME = ["optimism", "absolute_optimism", "short_sightedness"]


@dataclass(frozen=True, repr=False, eq=False)
class Fidelity:
    """What :func:`harmonium.fidelity` finds. Printed, it shows what differs most.

    Parameters
    ----------
    auc : float
        Cross-validated area under the ROC curve of a classifier that tells real from synthetic rows: 0.5 if it cannot, 1 if it always
        can. Well below 0.5, synthetic rows copy real ones: the twin of a row to be classified has the other label.
    survival : DataFrame
        A row for each endpoint: ``distance``, the largest between the two Kaplan-Meier curves, and the time ``at`` which it is found;
        ``until``, the last time with somebody at risk in both tables, up to which they are compared; proportions of events, ``events_real``
        and ``events_synthetic``. Few are at risk late, so a distance found there says little. Then three measures
        (Norcliffe et al. 2023, as in synthcity): ``optimism``, the mean over time of the synthetic curve minus the real one;
        ``absolute_optimism``, the mean of the absolute difference; ``short_sightedness``, the part of the real follow-up by which the
        synthetic one is shorter.
    marginals : DataFrame
        A row for each covariate: its ``kind``; ``distance``, between 0 and 1, of its distributions where it is known
        (Kolmogorov-Smirnov if numeric, else total variation); proportions missing, ``missing_real`` and ``missing_synthetic``.
    associations : DataFrame
        A row for each pair of covariates or endpoints: the ``measure`` of association, its values ``real`` and ``synthetic``, and their
        ``difference``, positive if the synthetic table has the larger one.
    """

    auc: float
    survival: pd.DataFrame
    marginals: pd.DataFrame
    associations: pd.DataFrame

    def __repr__(self) -> str:
        return "\n\n".join(
            [
                f"Telling real from synthetic rows: AUC {self.auc:.3f} (0.5 if they are alike)",
                "Survival: " + _most(self.survival[_PRINTED], "distance"),
                "Marginals: " + _most(self.marginals, "distance"),
                "Associations: " + _most(self.associations, "difference"),
            ]
        )


def fidelity(real: tuple[Any, Any], synthetic: tuple[Any, Any], *, random_state: int | None = 0) -> Fidelity:
    """Compare a synthetic table with a real one: each covariate, each pair, survival, and all at once.

    Two tables from one population differ too. To know what to expect, compare one half of the real table with the other.

    Parameters
    ----------
    real, synthetic : tuple (X, y)
        Covariates, in a DataFrame, and endpoints, as :func:`harmonium.endpoints` returns them. Both must have the same columns and
        endpoints, in any order, and at least five rows. Kinds of covariates are inferred from the real table as
        :class:`harmonium.SurvivalHarmonium` does.
    random_state : int, optional
        For the folds of the classifier.

    Returns
    -------
    Fidelity

    Notes
    -----
    **Associations** between numeric or binary variables are measured by Spearman's correlation, where the second level of a binary one
    counts as the higher value; between one of these and a categorical variable, by the correlation ratio of ranks; between two
    categorical ones, by Cramér's V. The latter two are corrected for the numbers of rows and levels (Kelley 1935, Bergsma 2013), so
    that tables of different size can be compared. Rows count where both variables are known. An association with a variable that
    does not vary is NaN.

    **Endpoints** take part in associations as log-rank scores: 1 for an event or 0 for none, less the cumulative hazard of the table
    over the time at risk. So censoring is allowed for, and a positive correlation with a covariate means earlier events where it is
    large. Without censoring, it is that with the time, with the sign reversed.

    Curves and scores take late entry into account. An event between two times counts at their middle. Rows of which nothing is known
    are left out.

    The **classifier** (gradient boosting) sees covariates, observed times, and whether there was an event. So a synthetic table must be
    censored as the real one is; otherwise it is recognized by that.

    References
    ----------
    Kelley, An unbiased correlation ratio measure, Proceedings of the National Academy of Sciences 21 (1935).

    Norcliffe et al., SurvivalGAN: generating time-to-event data for survival analysis, AISTATS (2023).

    Bergsma, A bias-correction for Cramér's V and Tschuprow's T, Journal of the Korean Statistical Society 42 (2013).

    Examples
    --------
    >>> import harmonium as hm
    >>> import numpy as np
    >>> X, y = hm.datasets.load_nvalt8()
    >>> X = X[["age", "gender_female", "histology"]]
    >>> half = np.random.default_rng(0).permutation(len(X)) < 100
    >>> hm.fidelity((X[half], y[half]), (X[~half], y[~half]))
    Telling real from synthetic rows: AUC 0... (0.5 if they are alike)
    <BLANKLINE>
    Survival: all 2
              distance     at  until  events_real  events_synthetic
    endpoint
    rfs          0.265 83.088 95.737        0.454             0.620
    os           0.223 46.719 95.737        0.320             0.520
    <BLANKLINE>
    Marginals: all 3
                          kind  distance  missing_real  missing_synthetic
    covariate
    age                numeric     0.150         0.000              0.000
    histology      categorical     0.096         0.010              0.000
    gender_female       binary     0.090         0.000              0.000
    <BLANKLINE>
    Associations: the 6 of 10 that differ most
                                       measure   real  synthetic  difference
    first         second
    gender_female os                  Spearman -0.187      0.026       0.213
    histology     os         correlation ratio  0.000      0.191       0.191
    age           histology  correlation ratio  0.165      0.000      -0.165
    gender_female rfs                 Spearman -0.137     -0.029       0.108
    histology     rfs        correlation ratio  0.167      0.275       0.108
    age           rfs                 Spearman  0.065      0.173       0.107
    """
    X, y = _read(real, "real")
    X_synthetic, y_synthetic = _read(synthetic, "synthetic")
    _require_same("columns", list(X.columns), list(X_synthetic.columns))
    _require_same("endpoints", y.names, y_synthetic.names)
    covariates = [_covariate(X[name], X_synthetic[name]) for name in X.columns]
    endpoints = [_Endpoint(name, _observe(y, name), _observe(y_synthetic, name)) for name in y.names]
    return Fidelity(
        auc=_auc(covariates, endpoints, random_state),
        survival=_survival(endpoints),
        marginals=_marginals(covariates),
        associations=_associations([*(v for v in covariates if v.kind != "ignored"), *(endpoint.scores() for endpoint in endpoints)]),
    )


def _read(table: Any, which: str) -> tuple[pd.DataFrame, Endpoints]:
    if not isinstance(table, tuple | list) or len(table) != 2:
        raise ValueError(f"the {which} table must be a tuple (X, y) of covariates and endpoints; found {type(table).__name__}")
    X, y = to_pandas(table[0]), parse_endpoints(table[1])
    if len(X) != len(y.lower):
        raise ValueError(f"X and y of the {which} table must have the same number of rows; found {len(X)} and {len(y.lower)}")
    if len(X) < _FOLDS:
        raise ValueError(f"the {which} table must have at least {_FOLDS} rows; found {len(X)}")
    return X, y


def _require_same(what: str, real: Sequence[Any], synthetic: Sequence[Any]) -> None:
    apart = [
        f"{name!r} is in the {which} one only"
        for which, names, others in (("real", real, synthetic), ("synthetic", synthetic, real))
        for name in names
        if name not in others
    ]
    if apart:
        raise ValueError(f"both tables must have the same {what}; {', '.join(apart)}")


@dataclass(frozen=True)
class _Variable:
    """A variable in both tables: numbers, or codes of its levels, NaN where missing."""

    name: Any
    kind: str
    real: Array
    synthetic: Array

    @property
    def has_levels(self) -> bool:
        return self.kind not in ("numeric", "endpoint")

    @property
    def pooled(self) -> Array:
        return np.concatenate([self.real, self.synthetic])


def _covariate(real: pd.Series, synthetic: pd.Series) -> _Variable:
    column = infer_column(real)
    if column.role == "ignored":  # of one value, or none, in the real table
        column = infer_column(synthetic)
    if column.role == "numeric":
        return _Variable(column.name, column.role, column.encode(real), column.encode(synthetic))
    in_order = np.array(column.levels, dtype=object)
    places, _ = pd.factorize(np.concatenate([in_order, *(series.astype(object).to_numpy() for series in (real, synthetic))]))
    codes = np.where(places < 0, np.nan, places)[in_order.size :]
    return _Variable(column.name, column.role, codes[: len(real)], codes[len(real) :])


@dataclass(frozen=True)
class _Observed:
    """Of an endpoint in one table: observed times, NaN where nothing is known, whether there was an event, and entries."""

    time: Array
    event: Booleans
    entry: Array

    @property
    def known(self) -> Booleans:
        return ~np.isnan(self.time)

    def curve(self) -> ProductLimit:
        """Kaplan and Meier's. Its last time is the last at which somebody is at risk."""
        known = self.known
        return ProductLimit.of_events(self.time[known], self.event[known], self.entry[known])

    def scores(self) -> Array:
        """Log-rank scores: events less the cumulative hazard over the time at risk."""
        curve = self.curve()
        hazard = np.concatenate([np.zeros(1), np.cumsum(1.0 - curve.factors)])
        until, from_ = (hazard[np.searchsorted(curve.times, at, side="right")] for at in (self.time, self.entry))
        at_risk = until - np.where(self.entry > 0.0, from_, 0.0)
        return np.where(self.known, np.round(self.event - at_risk, 12), np.nan)  # equal ones must have equal ranks


def _observe(y: Endpoints, name: str) -> _Observed:
    e = y.names.index(name)
    lower, upper, entry = y.lower[:, e], y.upper[:, e], y.entry[:, e]
    event = np.isfinite(upper)
    time = np.where(event, 0.5 * (lower + upper), lower)
    return _Observed(np.where(event | (lower > entry), time, np.nan), event, entry)


@dataclass(frozen=True)
class _Endpoint:
    """An endpoint in both tables."""

    name: str
    real: _Observed
    synthetic: _Observed

    def scores(self) -> _Variable:
        return _Variable(self.name, "endpoint", self.real.scores(), self.synthetic.scores())


def _survival(endpoints: Sequence[_Endpoint]) -> pd.DataFrame:
    rows = []
    for endpoint in endpoints:
        both = (endpoint.real, endpoint.synthetic)
        curves = [observed.curve() for observed in both]
        events = [_proportion(observed.event[observed.known]) for observed in both]
        rows.append((*_between_curves(*curves), *events, *_optimism(*curves)))
    index = pd.Index([endpoint.name for endpoint in endpoints], name="endpoint")
    return pd.DataFrame(rows, index, columns=[*_PRINTED, *_MEASURES_OVER_TIME])


def _between_curves(real: ProductLimit, synthetic: ProductLimit) -> tuple[float, float, float]:
    """The largest distance, when it is reached first, and until when both are known."""
    if not real.times.size or not synthetic.times.size:
        return np.nan, np.nan, np.nan
    times = np.union1d(real.times, synthetic.times)
    times = times[times <= min(real.last, synthetic.last)]
    distance = np.abs(real.at(times) - synthetic.at(times))
    return float(distance.max()), float(times[distance.argmax()]), float(times[-1])


def _optimism(real: ProductLimit, synthetic: ProductLimit) -> tuple[float, float, float]:
    """Mean difference of the curves over the time that both have, mean absolute difference, and the part of follow-up that is missing."""
    if not real.times.size or not synthetic.times.size:
        return np.nan, np.nan, np.nan
    end = min(real.last, synthetic.last)
    steps = np.union1d(real.times, synthetic.times)
    edges = np.concatenate([[0.0], steps[(steps > 0.0) & (steps < end)], [end]])
    difference, width = synthetic.at(edges[:-1]) - real.at(edges[:-1]), np.diff(edges)
    if not end > 0.0:
        return np.nan, np.nan, np.nan
    return float(difference @ width / end), float(np.abs(difference) @ width / end), float(max(0.0, 1.0 - synthetic.last / real.last))


def _marginals(covariates: Sequence[_Variable]) -> pd.DataFrame:
    rows = []
    for variable in covariates:
        real, synthetic = (values[~np.isnan(values)] for values in (variable.real, variable.synthetic))
        distance = _between_distributions(real, synthetic, variable.has_levels) if real.size and synthetic.size else np.nan
        rows.append((variable.kind, distance, _proportion(np.isnan(variable.real)), _proportion(np.isnan(variable.synthetic))))
    index = pd.Index([variable.name for variable in covariates], name="covariate")
    return pd.DataFrame(rows, index, columns=["kind", "distance", "missing_real", "missing_synthetic"])


def _between_distributions(real: Array, synthetic: Array, has_levels: bool) -> float:
    """Total variation of levels, or Kolmogorov and Smirnov's distance of numbers."""
    values = np.union1d(real, synthetic)
    below = [np.searchsorted(np.sort(sample), values, side="right") / sample.size for sample in (real, synthetic)]
    difference = below[0] - below[1]
    return float(0.5 * np.abs(np.diff(difference, prepend=0.0)).sum() if has_levels else np.abs(difference).max())


def _proportion(which: Booleans) -> float:
    return float(which.mean()) if which.size else np.nan


def _associations(variables: Sequence[_Variable]) -> pd.DataFrame:
    pairs, rows = [], []
    for first, second in combinations(variables, 2):
        left, right = sorted((first, second), key=lambda variable: variable.kind == "categorical")
        name, measure = _MEASURES[(left.kind == "categorical") + (right.kind == "categorical")]
        real, synthetic = _where_both_vary(measure, left.real, right.real), _where_both_vary(measure, left.synthetic, right.synthetic)
        pairs.append((first.name, second.name))
        rows.append((name, real, synthetic, synthetic - real))
    index = pd.MultiIndex.from_tuples(pairs, names=["first", "second"])
    return pd.DataFrame(rows, index, columns=["measure", "real", "synthetic", "difference"])


def _where_both_vary(measure: Callable[[Array, Array], float], left: Array, right: Array) -> float:
    """An association over the rows in which both are known; NaN if one of them is constant there."""
    complete = ~(np.isnan(left) | np.isnan(right))
    left, right = left[complete], right[complete]
    varies = complete.any() and np.ptp(left) > 0.0 and np.ptp(right) > 0.0
    return measure(left, right) if varies else np.nan


def _spearman(left: Array, right: Array) -> float:
    return float(np.corrcoef(rankdata(left), rankdata(right))[0, 1])


def _correlation_ratio(numbers: Array, codes: Array) -> float:
    """Kelley's, of ranks: the square root of the proportion of variance between levels, less what is there by chance."""
    _, level, count = np.unique(codes, return_inverse=True, return_counts=True)
    n, k = numbers.size, count.size
    if n == k:
        return np.nan
    ranks = rankdata(numbers)
    within = ((ranks - (np.bincount(level, ranks) / count)[level]) ** 2).sum() / (n - k)
    return float(np.sqrt(max(0.0, 1.0 - within / ranks.var(ddof=1))))


def _cramers_v(left: Array, right: Array) -> float:
    """Cramér's V as corrected by Bergsma."""
    levels = np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]
    n, shape = left.size, np.array([level.max() + 1 for level in levels])
    if n in shape:
        return np.nan
    table = np.zeros(shape)
    np.add.at(table, levels, 1.0 / n)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    squared = ((table - expected) ** 2 / expected).sum() - np.prod(shape - 1.0) / (n - 1.0)
    largest = (shape - 1.0 - (shape - 1.0) ** 2 / (n - 1.0)).min()
    return float(np.sqrt(max(0.0, squared) / largest))


_MEASURES = (("Spearman", _spearman), ("correlation ratio", _correlation_ratio), ("Cramér's V", _cramers_v))


def _auc(covariates: Sequence[_Variable], endpoints: Sequence[_Endpoint], random_state: int | None) -> float:
    features = [np.minimum(v.pooled, _MOST_CATEGORIES - 1) if v.has_levels else v.pooled for v in covariates]
    for endpoint in endpoints:
        both = (endpoint.real, endpoint.synthetic)
        features.append(np.concatenate([observed.time for observed in both]))
        features.append(np.concatenate([np.where(observed.known, observed.event, np.nan) for observed in both]))
    is_synthetic = np.repeat([False, True], [observed.time.size for observed in both])
    has_levels = [v.has_levels for v in covariates] + [False] * (len(features) - len(covariates))
    classifier = HistGradientBoostingClassifier(categorical_features=has_levels, random_state=random_state)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state)
    with threadpool_limits(1, user_api="openmp"):  # on tables of this size its threads wait for each other most of the time
        return float(cross_val_score(classifier, np.column_stack(features), is_synthetic, cv=folds, scoring="roc_auc").mean())


def _most(table: pd.DataFrame, column: str) -> str:
    """The rows with the largest values of a column, and a line above that says how many there are."""
    order = np.argsort(-table[column].abs().fillna(-1.0).to_numpy(), kind="stable")
    count = f"the {_SHOWN} of {len(table)} that differ most" if len(table) > _SHOWN else f"all {len(table)}"
    shown = table.iloc[order[:_SHOWN]]
    return f"{count}\n{shown.to_string(float_format='{:.3f}'.format, sparsify=False)}"
