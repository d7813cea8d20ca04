"""Hazard curves of all bundled studies, of some rows and of a subject of whom nothing is known, to be looked at: no kink, no spike.

Writes docs/figures/hazards.png, which docs/scales.md shows.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import harmonium as hm
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import product_limit

__all__ = ["run"]

_STUDIES = ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11")
_FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "hazards.png"
_N_TIMES, _N_ROWS = 1000, 4


def run() -> None:
    """Fit every study, and draw."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - not needed by other benchmarks

    studies = [(name, *hm.datasets.load_study(name)) for name in _STUDIES]
    panels = [(name, X, y, endpoint) for name, X, y in studies for endpoint in parse_endpoints(y).names]
    figure = Figure(figsize=(3.2 * len(panels) / 2, 9.6), layout="constrained")
    axes = figure.subplots(4, len(panels) // 2)
    for i, (name, X, y, endpoint) in enumerate(panels):
        row, column = divmod(i, len(panels) // 2)
        _draw(axes[2 * row][column], axes[2 * row + 1][column], f"{name}, {endpoint}", X, y, endpoint)
    figure.savefig(_FIGURE, dpi=80)
    print(f"wrote {_FIGURE}; look at it")


def _draw(above: object, below: object, title: str, X: pd.DataFrame, y: pd.DataFrame, endpoint: str) -> None:
    """Hazards of some rows and with nothing known; below, Kaplan and Meier's curve and survival with nothing known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    place = model.fitted.endpoint_names.index(endpoint)
    scale, known = model.encoding_.scales[place], parse_endpoints(y)
    times = np.linspace(0.0, scale.end, _N_TIMES)[1:]
    rows = np.linspace(0, len(X) - 1, _N_ROWS).astype(int)
    for hazard in model.predict_hazard(X.iloc[rows], endpoint=endpoint, times=times):
        above.plot(times, hazard, linewidth=1.0)  # type: ignore[attr-defined]
    nothing = X[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
    above.plot(times, model.predict_hazard(nothing, endpoint=endpoint, times=times)[0], color="black", linewidth=1.6)  # type: ignore[attr-defined]
    alive = model.predict_survival_function(nothing, endpoint=endpoint, times=times, return_array=True)[0]
    above.set(title=title, ylim=(0, None), ylabel="hazard")  # type: ignore[attr-defined]
    lower = known.lower[:, place]
    distinct = np.unique(lower)
    below.step(distinct, product_limit(lower, known.event[:, place], distinct), where="post", color="grey")  # type: ignore[attr-defined]
    below.plot(times, alive, color="black")  # type: ignore[attr-defined]
    below.set(ylim=(0, 1), ylabel="survival", xlabel="time")  # type: ignore[attr-defined]
