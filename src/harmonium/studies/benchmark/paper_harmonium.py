"""The paper's own model: contrastive divergence with the search space of its appendix, and answers found as the paper finds them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import softmax

from harmonium.cells import Cells
from harmonium.engine.axes import admitted_levels
from harmonium.engine.choice_of_method import SAMPLE
from harmonium.engine.parameters import Parameters
from harmonium.estimator import SurvivalHarmonium
from harmonium.model.cell_answers import CellAnswers
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.studies.benchmark.rival import Prediction, Rival, Settings, log_uniform
from harmonium.training.contrastive import Contrastive
from harmonium.typing import Array, Booleans, Integers

__all__ = ["PaperHarmonium", "integrated_survival"]

_MOST_EPOCHS = 100_000
_INTEGRATED_FROM = 10
"""Hidden units from which on the paper integrates x instead of summing over h (its appendix, "Metrics")."""


class PaperHarmonium(Rival):
    """The paper's harmonium: joint likelihood by contrastive divergence on the linear time scale."""

    complete: ClassVar[bool] = False
    tuned_given_all: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals, with its exceptions for three studies."""
        most_epochs = 50_000 if study in ("democracy", "ncctg") else _MOST_EPOCHS
        return {
            "n_hidden": round(log_uniform(rng, 1.0, 128.0)),
            "learning_rate": log_uniform(rng, 1e-5, 0.0125 if study == "nvalt8" else 5e-2),
            "n_epochs": round(log_uniform(rng, 500.0, most_epochs)),
            "batch_size": round(log_uniform(rng, 25.0, 1000.0)),
            "l2": log_uniform(rng, 1e-5, 1e-1),
            "momentum": float(rng.uniform(0.0, 0.9)),
            "persistent": bool(rng.random() < 0.5),
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """With one Gibbs step."""
        trainer = Contrastive(**{name: value for name, value in settings.items() if name != "n_hidden"}, n_steps=1)
        model = SurvivalHarmonium(
            settings["n_hidden"],
            objective="joint",
            time_scale="linear",
            numeric_scale="linear",
            trainer=trainer,
            random_state=seed,
            n_jobs=1,
        )
        return model.fit(X, y)

    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """By enumeration below ten hidden units and by integrating x from there on."""
        at = np.append(times, half)
        alive, n_sampled = _survival(model, X, at, given)
        return Prediction(1.0 - alive[:, -1], alive[:, :-1], n_sampled)

    def cost(self, settings: Settings) -> float:
        """Epochs, each with a part that grows with the hidden units and one that does not."""
        return float(settings["n_epochs"] * (25 + settings["n_hidden"]))


def _survival(model: SurvivalHarmonium, X: pd.DataFrame, times: Array, given: Any) -> tuple[Array, int]:
    """Survival of the first endpoint, (rows, times), and how many rows had to be sampled.

    Integration has limits. A row beyond them is answered as the library answers it: by enumeration up to 14 hidden units, by Gibbs
    sampling beyond.
    """
    prognosis = model.prognosis(X, given=given)
    if model.fitted.n_hidden < _INTEGRATED_FROM:
        return prognosis.survival(None, times), 0
    answerer = prognosis.answerer
    assert isinstance(answerer, CellAnswers)
    encoding = answerer.encoding
    alive, could = integrated_survival(answerer.parameters, answerer.cells, encoding.column_of(0), encoding.scales[0].to_unit(times))
    left = np.flatnonzero(~could)
    if not left.size:
        return alive, 0
    others = model.prognosis(X.iloc[left], given=None if given is None else given.iloc[left])
    alive[left] = others.survival(None, times)
    return alive, int(np.count_nonzero(others.methods == SAMPLE))


def integrated_survival(parameters: Parameters, cells: Cells, column: int, positions: Array) -> tuple[Array, Booleans]:
    """P(x > u) of a column by integrating what is unobserved, (rows, positions), and which rows could be integrated.

    Where an integral is too large, because of the levels of unobserved discrete cells or of its nodes, the row is taken apart: its survival
    is that of its parts, in each of which one more of these cells is known, weighted with their masses.
    """
    alive: list[list[Array]] = [[] for _ in range(cells.n_rows)]
    log_mass: list[list[float]] = [[] for _ in range(cells.n_rows)]
    complete = np.ones(cells.n_rows, dtype=bool)
    parts, owner = cells, np.arange(cells.n_rows)
    while parts.n_rows:
        rows, could = IntegratedRows.of(parameters, parts, n_threads=1)
        for row, answer, integral in zip(owner[could], rows.survival(column, positions).mean, rows.found, strict=True):
            alive[row].append(answer)
            log_mass[row].append(integral.log_mass)
        left = np.flatnonzero(~could)
        parts, from_where = _taken_apart(parts.part(left))
        hopeless = np.setdiff1d(np.arange(left.size), from_where)
        complete[owner[left[hopeless]]] = False
        owner = owner[left[from_where]]
    out = np.full((cells.n_rows, positions.size), np.nan)
    for row in np.flatnonzero(complete):
        out[row] = softmax(log_mass[row]) @ np.array(alive[row])
    return out, complete


def _taken_apart(cells: Cells) -> tuple[Cells, Integers]:
    """Rows in parts, one for each level of their first unobserved discrete cell, and where parts are from; without rows that have none."""
    layout = cells.layout
    lower, upper = cells.bounds()
    unknown = (lower != upper) & np.array([unit.discrete for unit in layout.units])
    rows, columns, values = [], [], []
    for row in np.flatnonzero(unknown.any(axis=1)):
        column = int(np.argmax(unknown[row]))
        levels = admitted_levels(layout.units[column], lower[row, column], upper[row, column])
        rows += [row] * levels.size
        columns += [column] * levels.size
        values += levels.tolist()
    origin = np.array(rows, dtype=np.int64)
    lower, upper = lower[origin], upper[origin]
    for bounds in (lower, upper):
        bounds[np.arange(origin.size), np.array(columns, dtype=np.int64)] = values
    return Cells.from_bounds(layout, lower, upper), origin
