"""Ordered endpoints, recurrence and death: incidence, survival and dynamic prediction in five-fold cross-validation of six studies.

Questions: is the mean predicted incidence that of Aalen and Johansen; is the Brier score of incidences at or below that of cause-specific
Cox models and of hazardous' SurvivalBoost, gradient boosting of all causes with its defaults; is survival from baseline predicted as well
as by a model of death alone; and is survival from a landmark on, given what had happened until then, predicted better than by a Cox model
and a forest that are fitted to those alive then and know the same?

The harmonium has its defaults. The penalties of Cox models are chosen in three inner folds, by the concordance of what was left out for
incidences and by the Brier score at landmarks; the leaves of the forest likewise.

``python -m benchmarks episodes further`` asks the same of four studies on which nothing was chosen, and ``shuffled`` of the first six in
three other divisions into five folds: differences as small as these depend on the division.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from hazardous import SurvivalBoost
from joblib import Parallel, delayed
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

import harmonium as hm
from benchmarks.episode_studies import FURTHER, LANDMARKS, STUDIES
from benchmarks.provenance import print_table, write_result
from benchmarks.quality import as_structured, complete_encoder, curves_at
from harmonium.metrics.competing import competing
from harmonium.metrics.competing import integrated as integrated_incidence
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["run"]

Row = dict[str, Any]

_FOLDS = 5
_PENALTIES = (0.3, 3.0, 30.0, 300.0)
_LEAVES = (15, 30)


def _encoded(X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[Array, Array]:
    encoder, scaler = complete_encoder(X), StandardScaler()
    return scaler.fit_transform(encoder.fit_transform(X)), scaler.transform(encoder.transform(X_test))


# --- incidence ---


def _cause_specific(X: pd.DataFrame, y: pd.DataFrame, X_test: pd.DataFrame, times: Array) -> Array:
    """Cumulative incidence of recurrence from Cox models of both first events."""
    own = competing(parse_endpoints(y), "recurrence")
    time, kinds = np.maximum(own.observed.time, 1e-6), (own.observed.event, own.other)
    train, test = _encoded(X[own.observed.rows], X_test)
    grid = np.unique(np.concatenate([time, times]))
    hazards = []
    for event in kinds:
        target = as_structured(event, time)
        model = CoxPHSurvivalAnalysis(alpha=_penalty(train, target)).fit(train, target)
        hazards.append(-np.log(np.maximum(curves_at(model, test, grid), 1e-12)))
    free = np.exp(-hazards[0] - hazards[1])
    before = np.concatenate([np.ones((len(test), 1)), free[:, :-1]], axis=1)
    incidence = np.cumsum(before * np.diff(hazards[0], axis=1, prepend=0.0), axis=1)
    return np.asarray(incidence[:, np.searchsorted(grid, times)])


def _boosted(X: pd.DataFrame, y: pd.DataFrame, X_test: pd.DataFrame, times: Array) -> Array:
    """Cumulative incidence of recurrence from gradient boosting of both first events."""
    own = competing(parse_endpoints(y), "recurrence")
    train, test = _encoded(X[own.observed.rows], X_test)
    kinds = np.where(own.observed.event, 1, np.where(own.other, 2, 0))
    target = pd.DataFrame({"event": kinds, "duration": np.maximum(own.observed.time, 1e-6)})
    model = SurvivalBoost(show_progressbar=False, random_state=0).fit(train, target)
    return np.asarray(model.predict_cumulative_incidence(test, times=times))[:, 1]


def _penalty(X: Array, target: Any) -> float:
    """By concordance in three inner folds."""
    score = np.zeros(len(_PENALTIES))
    for inner, left_out in KFold(3, shuffle=True, random_state=0).split(X):
        for i, penalty in enumerate(_PENALTIES):
            model = CoxPHSurvivalAnalysis(alpha=penalty).fit(X[inner], target[inner])
            score[i] += model.score(X[left_out], target[left_out]) if target[left_out]["event"].sum() > 1 else 0.0
    return _PENALTIES[int(np.argmax(score))]


# --- landmarks ---


def _at_risk(X: pd.DataFrame, y: pd.DataFrame, landmark: float) -> tuple[pd.DataFrame, pd.DataFrame, Any, pd.DataFrame]:
    """Those alive and observed at a landmark: covariates, the same with what is known of recurrence, what happened later, what is known."""
    alive = ((y["death"]["lower"] > landmark) & (y["recurrence"]["upper"] <= landmark)) | (y["recurrence"]["lower"] > landmark)
    alive &= y["death"]["lower"] > landmark
    own, known = y[alive], hm.landmark(y[alive], landmark)
    recurred = (own["recurrence"]["upper"] <= landmark).astype(float)
    since = np.where(recurred == 1.0, landmark - own["recurrence"]["lower"], 0.0)
    later = as_structured(own["death"]["lower"] == own["death"]["upper"], own["death"]["lower"] - landmark)
    return X[alive], X[alive].assign(recurred=recurred, since_recurrence=since), later, known


def _ibs(train: Any, test: Any, curves: Array, grid: Array) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hm.metrics.integrated_brier_score(test, curves, grid, y_train=train)


def _rivals_at(train: pd.DataFrame, later: Any, test: pd.DataFrame, grid: Array) -> dict[str, Array]:
    def cox(penalty: float, X: Array, target: Any, X_new: Array) -> Array:
        return np.asarray(curves_at(CoxPHSurvivalAnalysis(alpha=penalty).fit(X, target), X_new, grid))

    def forest(leaf: float, X: Array, target: Any, X_new: Array) -> Array:
        trees = RandomSurvivalForest(100, min_samples_leaf=int(leaf), max_features="sqrt", random_state=0).fit(X, target)
        return np.asarray(curves_at(trees, X_new, grid))

    X, X_test = _encoded(train, test)
    out = {}
    for name, make, settings in (("cox", cox, _PENALTIES), ("forest", forest, _LEAVES)):
        losses = np.zeros(len(settings))
        for inner, left_out in KFold(3, shuffle=True, random_state=0).split(X):
            for i, setting in enumerate(settings):
                losses[i] += _ibs(later[inner], later[left_out], make(setting, X[inner], later[inner], X[left_out]), grid)
        out[name] = make(settings[int(np.nanargmin(losses))], X, later, X_test)
    return out


# --- one fold ---


def _fold(study: str, X: pd.DataFrame, y: pd.DataFrame, train: Array, test: Array, fold: int) -> tuple[list[Row], Array]:
    place, rows = {"study": study, "fold": fold}, []
    (X_train, y_train), (X_test, y_test) = ((X.iloc[part], y.iloc[part]) for part in (train, test))
    model = hm.SurvivalHarmonium(random_state=0).fit(X_train, y_train)
    alone = hm.SurvivalHarmonium(random_state=0).fit(X_train, y_train[["death"]].drop(columns=[("death", "terminal")]))
    prognosis, single = model.prognosis(X_test), alone.prognosis(X_test)
    prognosis.warns = single.warns = False
    own, own_train = competing(parse_endpoints(y_test), "recurrence"), competing(parse_endpoints(y_train), "recurrence")
    at = own_train.observed.time[own_train.observed.event]
    grid = np.linspace(np.quantile(at, 0.1), np.quantile(at, 0.9), 40)
    for name, incidence in (
        ("episodes", prognosis.cumulative_incidence("recurrence", grid)),
        ("cox", _cause_specific(X_train, y_train, X_test, grid)),
        ("boost", _boosted(X_train, y_train, X_test, grid)),
        ("null", np.broadcast_to(own_train.incidence().at(grid), (len(X_test), grid.size))),
    ):
        rows.append({**place, "question": "incidence", "model": name, "ibs": integrated_incidence(own, own_train, incidence, grid).value})
    died = y_train["death"]["lower"][y_train["death"]["lower"] == y_train["death"]["upper"]]
    grid = np.linspace(died.quantile(0.1), died.quantile(0.9), 40)
    then, now = (as_structured(t["death"]["lower"] == t["death"]["upper"], t["death"]["lower"]) for t in (y_train, y_test))
    for name, asked in (("episodes", prognosis), ("death alone", single)):
        rows.append({**place, "question": "survival", "model": name, "ibs": _ibs(then, now, asked.survival("death", grid), grid)})
    for landmark in LANDMARKS[study]:
        rows += _landmark(place, model, (X_train, y_train), (X_test, y_test), landmark)
    return rows, np.asarray(prognosis.cumulative_incidence("recurrence", _five_times(y)))


def _landmark(place: Row, model: Any, train: Any, test: Any, landmark: float) -> list[Row]:
    _, told, later, _ = _at_risk(train[0], train[1], landmark)
    X_new, told_new, later_new, known = _at_risk(test[0], test[1], landmark)
    at = later["time"][later["event"]]
    grid = np.linspace(np.quantile(at, 0.1), np.quantile(at, 0.8), 20)
    prognosis = model.prognosis(X_new, given=known)
    prognosis.warns = False
    curves = {"episodes": prognosis.survival("death", landmark + grid), **_rivals_at(told, later, told_new, grid)}
    question = f"landmark {landmark:g}"
    return [{**place, "question": question, "model": name, "ibs": _ibs(later, later_new, own, grid)} for name, own in curves.items()]


def _five_times(y: pd.DataFrame) -> Array:
    own = competing(parse_endpoints(y), "recurrence").observed
    return np.quantile(own.time, [0.15, 0.35, 0.55, 0.75, 0.95])


# --- summary ---


def _summary(rows: pd.DataFrame) -> list[Row]:
    """Means over folds, and paired differences in standard errors: negative if the model is better than a rival."""
    out = []
    for (study, question), part in rows.groupby(["study", "question"], sort=False):
        table = part.pivot(index="fold", columns="model", values="ibs")
        row: Row = {"study": study, "question": question, **table.mean().round(4).to_dict()}
        for rival in table.columns.drop("episodes"):
            difference = table["episodes"] - table[rival]
            error = difference.std(ddof=1) * np.sqrt(1 / len(table) + 1 / (_FOLDS - 1))
            row[f"z {rival}"] = round(float(difference.mean() / error), 2)
        out.append(row)
    return out


def _study(study: str, X: pd.DataFrame, y: pd.DataFrame, shuffles: Sequence[int]) -> tuple[list[Row], Row]:
    """Scores of all folds, and how far the mean incidence is from Aalen and Johansen's."""
    parts = [part for shuffle in shuffles for part in KFold(_FOLDS, shuffle=True, random_state=shuffle).split(X)]
    found = Parallel(n_jobs=-1)(delayed(_quiet_fold)(study, X, y, train, test, fold) for fold, (train, test) in enumerate(parts))
    incidence = np.concatenate([own for _, own in found]).mean(axis=0)
    times = _five_times(y)
    bias = incidence - hm.metrics.aalen_johansen(y, times, endpoint="recurrence")
    named = {f"{t:.3g}": round(float(b), 4) for t, b in zip(times, bias, strict=True)}
    return [row for rows, _ in found for row in rows], {"study": study, **named}


def _quiet_fold(*arguments: Any) -> tuple[list[Row], Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fold(*arguments)


def run(*studies: str) -> None:
    """Run all studies, some of them, "further" ones or all of them "shuffled", print the tables and, if all were run, keep them."""
    known, name, chosen, shuffles = STUDIES, "episodes", list(studies or STUDIES), [0]
    if studies == ("further",):
        known, name, chosen = FURTHER, "episodes_further", list(FURTHER)
    if studies == ("shuffled",):
        name, chosen, shuffles = "episodes_shuffled", list(STUDIES), [1, 2, 3]
    strangers = [study for study in chosen if study not in known]
    if strangers:
        raise ValueError(f"there is no study {strangers[0]!r}; there are {', '.join(known)}")
    rows: list[Row] = []
    biases: list[Row] = []
    for study in chosen:
        X, y = known[study]()
        own, bias = _study(study, X.reset_index(drop=True), y.reset_index(drop=True), shuffles)
        rows, biases = rows + own, [*biases, bias]
        print_table(f"{study}: IBS, and paired differences in standard errors", _summary(pd.DataFrame(own)))
        print_table(f"{study}: mean incidence minus Aalen-Johansen", [bias])
    if chosen == list(known):
        tables = {"scores": _summary(pd.DataFrame(rows)), "bias": biases}
        write_result(name, [{"table": table, **row} for table, part in tables.items() for row in part])
