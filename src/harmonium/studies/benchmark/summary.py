"""The table of the benchmark, and the paper's statements about it as differences between models."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from harmonium.studies.benchmark.evaluation import METRICS

__all__ = ["ORDER", "differences", "mean_and_deviation"]

ORDER = ("cox", "forest", "svm", "paper-harmonium", "harmonium", "harmonium-default", "harmonium-cv")
"""Models as tables and figures have them: the rivals, the paper's, ours."""

_RIVALS, _HARMONIUMS = ORDER[:3], ORDER[3:]
_ONE_ENDPOINT, _TWO_ENDPOINTS = ("arrest", "democracy", "gbsg2", "ncctg"), ("nvalt8", "nvalt11")

_BEST_RIVAL = "the best rival"
_PAR, _BETTER, _NO_BETTER = "on a par", "better", "no better"

_Question = tuple[str, str, str, str, str, str]


def mean_and_deviation(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over outer folds of every metric, by study, model and kind of prediction.

    Examples
    --------
    >>> scores = pd.DataFrame({"study": ["a"] * 2, "model": ["cox"] * 2, "kind": ["plain"] * 2, "fold": [0, 1],
    ...                        "concordance": [0.6, 0.7], "brier": [0.2, 0.2], "integrated_brier": [0.1, 0.3]})
    >>> mean_and_deviation(scores).loc[("a", "cox", "plain"), ("concordance", "mean")].round(3)
    np.float64(0.65)
    """
    metrics = [metric for metric in METRICS if metric in scores]
    grouped = scores.groupby(["study", "model", "kind"], sort=False)[metrics]
    return grouped.agg(["mean", "std"])


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """What the paper says about its benchmark, each statement as a difference in the same outer folds.

    "The best rival" is the one among Cox, forest and support vector machine with the best mean over folds. A model is better if its gain
    exceeds the standard deviation of the gain over folds, on a par if it does not lose as much as that.

    Parameters
    ----------
    scores : DataFrame
        Scores of every study, model, kind of prediction and fold.

    Returns
    -------
    DataFrame
        ``statement``, ``study``, ``metric``, ``model``, what it is compared with (``against``), and ``mean`` and ``std`` of the difference
        over folds; for the concordance positive differences are good, for the Brier score negative ones; and whether the statement
        ``holds``. Without models or studies that are not there.
    """
    by_fold = scores.set_index(["study", "model", "kind", "fold"]).sort_index()
    rows = []
    for model in _HARMONIUMS:
        for statement, study, metric, kind, against, claim in _questions():
            ours = _folds(by_fold, study, model, kind, metric)
            rival = _best_rival(by_fold, study, metric) if against == _BEST_RIVAL else (model, against)
            if ours is None or rival is None or (theirs := _folds(by_fold, study, *rival, metric)) is None:
                continue
            mean, std = (ours - theirs).mean(), (ours - theirs).std()
            name = rival[0] if against == _BEST_RIVAL else f"{model}, covariates alone"
            found = {"model": model, "against": name, "mean": mean, "std": std, "holds": _holds(claim, _gain(metric, mean), std)}
            rows.append({"statement": statement, "study": study, "metric": metric, **found})
    return pd.DataFrame(rows, columns=["statement", "study", "metric", "model", "against", "mean", "std", "holds"])


def _questions() -> Iterator[_Question]:
    """Statement, study, metric, kind of prediction, what it is compared with, and how it should come out."""
    for study in _ONE_ENDPOINT:
        for metric in ("concordance", "brier"):
            yield "on a par with the rivals", study, metric, "plain", _BEST_RIVAL, _PAR
    for study in _TWO_ENDPOINTS:
        yield "better concordance with the second endpoint", study, "concordance", "*", "plain", _BETTER
    yield "calibration better with it on nvalt11", "nvalt11", "brier", "*", "plain", _BETTER
    yield "calibration not better with it on nvalt8", "nvalt8", "brier", "*", "plain", _NO_BETTER
    for study in _TWO_ENDPOINTS:
        for metric in ("concordance", "brier"):
            yield "no gain from columns with missing values", study, metric, "plain", _BEST_RIVAL, _NO_BETTER


def _gain(metric: str, difference: float) -> float:
    return difference if metric == "concordance" else -difference


def _holds(claim: str, gain: float, std: float) -> bool:
    if claim == _PAR:
        return gain > -std
    return (gain > std) == (claim == _BETTER)


def _folds(by_fold: pd.DataFrame, study: str, model: str, kind: str, metric: str) -> pd.Series | None:
    """A metric by fold; None if there is none."""
    if (study, model, kind) not in by_fold.index:
        return None
    found = by_fold.loc[(study, model, kind), metric]
    return None if found.isna().any() else found


def _best_rival(by_fold: pd.DataFrame, study: str, metric: str) -> tuple[str, str] | None:
    found = {model: _folds(by_fold, study, model, "plain", metric) for model in _RIVALS}
    means = {model: _gain(metric, folds.mean()) for model, folds in found.items() if folds is not None}
    return (max(means, key=means.__getitem__), "plain") if means else None
