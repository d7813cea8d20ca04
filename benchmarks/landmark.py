"""Does it help to know, at a landmark, what has happened to the second endpoint? Survival beyond 6 and 12 months in the NVALT trials.

Five stratified folds, shuffled ten times; everything is fitted inside the training folds. Of the test subjects, those still at risk of
death at the landmark are predicted from there on: concordance of what is left of their lives (Harrell's, and Uno's up to 24 months after
the landmark), Brier score 12 and 24 months after it, and its mean over these 24 months (IBS). Censoring is estimated in the training
subjects at risk. No setting looks at a test fold: the harmonium has its defaults, the penalty of Cox is chosen in three inner folds.

Folds of repeated cross-validation share training subjects, so standard errors are those of Nadeau and Bengio (2003): the variance over
splits is multiplied by 1/splits + test/train rather than by 1/splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from benchmarks.quality import as_structured, complete_encoder, curves_at, fit_kaplan_meier
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["run"]

Row = dict[str, Any]
Prediction = tuple[Array, Array]  # risk, and survival at _GRID after the landmark
Split = tuple[list[Row], list[Row]]  # metrics, and predictions of single subjects

_STUDIES = ("nvalt8", "nvalt11")
_LANDMARKS = (6.0, 12.0)  # months
_GRID = np.arange(1.0, 25.0)  # months after the landmark
_HORIZONS = (12, 24)
_SHUFFLES, _FOLDS = 10, 5
_HIDDEN = (4, 6)
_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_METRICS = ("c harrell", "c uno", *(f"brier {h}" for h in _HORIZONS), "ibs")
_DYNAMIC, _ALIVE, _ALONE = "dynamic", "alive only", "os alone"
_COMPARED = (
    *((f"{_DYNAMIC} 4", f"{other} 4") for other in (_ALIVE, _ALONE)),
    *((f"{_DYNAMIC} 4", other) for other in ("cox with second", "cox without", "cox second only", "kaplan-meier")),
    (f"{_DYNAMIC} 6", f"{_ALIVE} 6"),
    (f"{_DYNAMIC} 6", f"{_DYNAMIC} 4"),
    ("cox with second", "cox without"),
)


@dataclass(frozen=True)
class AtRisk:
    """Subjects alive at a landmark: what was known of them then, and what happened later, counted from the landmark."""

    rows: Any
    X: pd.DataFrame
    known: pd.DataFrame
    later: Any

    @classmethod
    def at(cls, time: float, X: pd.DataFrame, y: pd.DataFrame, rows: Any) -> AtRisk:
        """Those of some rows that are at risk of death."""
        recorded = parse_endpoints(y[["os"]])
        rows = rows[recorded.lower[rows, 0] > time]
        later = as_structured(recorded.event[rows, 0], recorded.lower[rows, 0] - time)
        return cls(rows, X.iloc[rows], hm.landmark(y.iloc[rows], time), later)

    @property
    def second(self) -> pd.DataFrame:
        """What Cox gets of the second endpoint."""
        seen = self.seen
        name, time = self.known.columns[-1][0], self.known["os", "lower"]
        since = np.where(seen, time - self.known[name, "lower"], 0.0)
        return pd.DataFrame({"second seen": seen.astype(float), "months since": since}, index=self.X.index)

    @property
    def seen(self) -> Any:
        """Who has had the second event."""
        return np.isfinite(self.known.iloc[:, -1].to_numpy())


# --- models ---


def _harmoniums(X: pd.DataFrame, y: pd.DataFrame) -> dict[str, hm.SurvivalHarmonium]:
    """Of both endpoints, and of survival alone, for each number of hidden units."""
    fits = {}
    for n_hidden in _HIDDEN:
        for name, endpoints in (("both", y), (_ALONE, y[["os"]])):
            fits[f"{name} {n_hidden}"] = hm.SurvivalHarmonium(n_hidden, random_state=0, n_jobs=1).fit(X, endpoints)
    return fits


def _by_harmonium(fits: dict[str, hm.SurvivalHarmonium], test: AtRisk, time: float) -> Iterator[tuple[str, Prediction]]:
    alive = test.known[["os"]]
    for n_hidden in _HIDDEN:
        both, alone = fits[f"both {n_hidden}"], fits[f"{_ALONE} {n_hidden}"]
        for name, model, given in ((_DYNAMIC, both, test.known), (_ALIVE, both, alive), (_ALONE, alone, alive)):
            prognosis = model.prognosis(test.X, given=given)
            yield f"{name} {n_hidden}", (prognosis.risk("os"), prognosis.survival("os", time + _GRID))


def _by_cox(train: AtRisk, test: AtRisk) -> Iterator[tuple[str, Prediction]]:
    both = [pd.concat([part.X, part.second], axis=1) for part in (train, test)]
    yield "cox with second", _cox(both[0], train.later, both[1])
    yield "cox without", _cox(train.X, train.later, test.X)
    yield "cox second only", _cox(train.second, train.later, test.second)


def _cox(X: pd.DataFrame, later: Any, X_test: pd.DataFrame) -> Prediction:
    """Choose the penalty by the integrated Brier score in inner folds, then fit to all training subjects at risk."""
    losses = np.zeros(len(_PENALTIES))
    for inner, left_out in hm.metrics.MultiEndpointStratifiedKFold(3, shuffle=True, random_state=0).split(X, later):
        for i, penalty in enumerate(_PENALTIES):
            _, curves = _cox_at(penalty, X.iloc[inner], later[inner], X.iloc[left_out])
            losses[i] += _integral(_brier(later[inner], later[left_out], curves))
    return _cox_at(_PENALTIES[int(np.argmin(losses))], X, later, X_test)


def _cox_at(penalty: float, X: pd.DataFrame, later: Any, X_test: pd.DataFrame) -> Prediction:
    encoder, scaler = complete_encoder(X), StandardScaler()  # levels shall be penalised like numbers
    encoded, encoded_test = scaler.fit_transform(encoder.fit_transform(X)), scaler.transform(encoder.transform(X_test))
    model = CoxPHSurvivalAnalysis(alpha=penalty).fit(encoded, later)
    return model.predict(encoded_test), curves_at(model, encoded_test, _GRID)


def _by_kaplan_meier(train: AtRisk, test: AtRisk) -> Prediction:
    risk, curves = fit_kaplan_meier(train.X, train.later, _GRID)[0](test.X, _GRID)
    return risk, curves


# --- scores ---


def _brier(train: Any, test: Any, curves: Array) -> Array:
    """Brier score at :data:`_GRID`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hm.metrics.MetricWarning)
        scores = hm.metrics.brier_score(test, curves, _GRID, y_train=train)
    early = test["time"].min() > _GRID  # everybody is known to be alive; the metric has no answer there
    scores[early] = np.mean((1.0 - curves[:, early]) ** 2, axis=0)
    return scores


def _integral(brier: Array) -> float:
    """Mean over the window; at the landmark itself the score is zero."""
    return float(np.trapezoid(np.concatenate([[0.0], brier]), np.concatenate([[0.0], _GRID])) / _GRID[-1])


def _scores(train: Any, test: Any, prediction: Prediction) -> Row:
    risk, curves = prediction
    brier = _brier(train, test, curves)
    return {
        "c harrell": hm.metrics.concordance_index(test, risk),
        "c uno": hm.metrics.concordance_index_ipcw(test, risk, y_train=train, tau=_GRID[-1]),
        **{f"brier {h}": brier[h == _GRID].item() for h in _HORIZONS},
        "ibs": _integral(brier),
    }


# --- splits ---


def _split(study: str, shuffle: int, fold: int) -> Split:
    """All models at all landmarks of one training and one test fold."""
    X, y = getattr(hm.datasets, f"load_{study}")()
    rows, test_rows = list(hm.metrics.MultiEndpointStratifiedKFold(_FOLDS, shuffle=True, random_state=shuffle).split(X, y))[fold]
    scores: list[Row] = []
    subjects: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # levels that a training fold does not have
        fits = _harmoniums(X.iloc[rows], y.iloc[rows])
        for time in _LANDMARKS:
            train, test = AtRisk.at(time, X, y, rows), AtRisk.at(time, X, y, test_rows)
            predictions = {
                **dict(_by_harmonium(fits, test, time)),
                **dict(_by_cox(train, test)),
                "kaplan-meier": _by_kaplan_meier(train, test),
            }
            place = {"study": study, "landmark": time}
            for model, prediction in predictions.items():
                scores.append({**place, "model": model, "split": (shuffle, fold), **_scores(train.later, test.later, prediction)})
                subjects += _subjects({**place, "model": model}, test, prediction[1])
    return scores, subjects


def _subjects(place: Row, test: AtRisk, curves: Array) -> list[Row]:
    """Predicted survival of each subject."""
    at = [curves[:, h == _GRID][:, 0] for h in _HORIZONS]
    return [
        {**place, "row": row, "second seen": bool(seen), **{f"predicted {h}": p for h, p in zip(_HORIZONS, values, strict=True)}}
        for row, seen, *values in zip(test.rows, test.seen, *at, strict=True)
    ]


# --- summaries ---


def _error(values: Array) -> float:
    """Nadeau and Bengio's standard error of a mean over splits."""
    return float(np.sqrt((1.0 / values.size + 1.0 / (_FOLDS - 1)) * np.var(values, ddof=1)))


def _mean_and_error(values: pd.DataFrame) -> Row:
    out: Row = {}
    for metric in _METRICS:
        known = values[metric].dropna().to_numpy()
        out[metric], out[f"{metric} se"] = float(known.mean()), _error(known)
    return out


def summarise(scores: pd.DataFrame) -> tuple[list[Row], list[Row]]:
    """Means of each model, and paired differences of two."""
    means: list[Row] = []
    differences: list[Row] = []
    for (study, time), here in scores.groupby(["study", "landmark"], sort=False):
        place = {"study": study, "landmark": time}
        by_model = {model: part.set_index("split")[list(_METRICS)] for model, part in here.groupby("model", sort=False)}
        means += [{**place, "model": model, **_mean_and_error(part)} for model, part in by_model.items()]
        differences += [
            {**place, "difference": f"{first} - {second}", **_mean_and_error(by_model[first] - by_model[second])}
            for first, second in _COMPARED
        ]
    return means, differences


def groups(subjects: pd.DataFrame) -> list[Row]:
    """Predicted survival (mean of test predictions) and observed (Kaplan-Meier) of those with and without the second event."""
    columns = [f"predicted {h}" for h in _HORIZONS]
    out = []
    for (study, time, seen), here in subjects.groupby(["study", "landmark", "second seen"], sort=False):
        X, y = getattr(hm.datasets, f"load_{study}")()
        later = AtRisk.at(time, X, y, np.unique(here["row"])).later
        at, alive = kaplan_meier_estimator(later["event"], later["time"])
        row: Row = {"study": study, "landmark": time, "second seen": "yes" if seen else "no", "subjects": later.size}
        row["deaths"] = int(later["event"].sum())
        for h, predicted in zip(_HORIZONS, columns, strict=True):
            row[f"kaplan-meier {h}"] = float(np.concatenate([[1.0], alive])[np.searchsorted(at, h, side="right")])
            for model in (f"{_DYNAMIC} 4", f"{_ALIVE} 4", "cox with second"):
                row[f"{model}: {h}"] = float(here.loc[here["model"] == model, predicted].mean())
        out.append(row)
    return sorted(out, key=lambda row: (row["study"], row["landmark"], row["second seen"]))


def run() -> None:
    """Run all splits on two processes, print the tables and keep them."""
    tasks = [(study, shuffle, fold) for study in _STUDIES for shuffle in range(_SHUFFLES) for fold in range(_FOLDS)]
    results: list[Split] = Parallel(n_jobs=2, verbose=1)(delayed(_split)(*task) for task in tasks)
    means, differences = summarise(pd.DataFrame([row for scores, _ in results for row in scores]))
    shares = groups(pd.DataFrame([row for _, subjects in results for row in subjects]))
    print_table("Survival beyond the landmark: mean over splits, and corrected standard error", means)
    print_table("Paired differences: a higher C and a lower Brier score are better", differences)
    print_table("Survival 12 and 24 months after the landmark, by whether the second event was seen before it", shares)
    tables = {"models": means, "differences": differences, "groups": shares}
    rows = [{"table": name, **row} for name, part in tables.items() for row in part]
    write_result("landmark", rows, peer_versions={"scikit-survival": metadata.version("scikit-survival")})
