"""The three-way problem (the paper's Fig 1): two event times that tell a colour only together.

Red subjects have both events early or both late, blue ones have one early and one late; each time alone says nothing about the colour, so
a Cox model on either finds nothing. A harmonium with four hidden units, one for each blob, represents the density (docs/model.md, section
6): its parameters can be written down, and they can be learned, by exact likelihood or by the paper's contrastive divergence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harmonium.cells import Cells, Layout
from harmonium.datasets.three_way import BLOBS, make_three_way
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Parameters
from harmonium.estimator import SurvivalHarmonium
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.studies.cox import fit_cox
from harmonium.table.endpoints import parse_endpoints
from harmonium.training.contrastive import Contrastive
from harmonium.training.trainer import Trainer
from harmonium.typing import Array
from harmonium.units import Bernoulli, TruncatedGamma
from harmonium.units.truncated_gamma import interval_mass

__all__ = ["ThreeWay", "closed_form", "contrastive_trainer", "reproduce_three_way"]

LAYOUT = Layout([Bernoulli(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
_COLOURS = ("red", "blue")
# Shade, line and markers of events and of censored times; red comes last, dashed, so that blue shows through where both lie on each other.
_STYLES = {"blue": ("#0072B2", "-", ".", "x"), "red": ("#D55E00", "--", "^", "+")}
Density = Callable[[str, Any, Any], Array]


@dataclass(frozen=True)
class ThreeWay:
    """What was found.

    Attributes
    ----------
    p_values : dict
        Of the colour in a Cox model of either time.
    modes : DataFrame
        Density at each blob's mode: of the generator, of the closed form, of the model that was learned, and of the one that was learned by
        contrastive divergence, if there is one.
    total : float
        Probability under the closed form, by quadrature; one if the engine is right.
    figure : matplotlib.figure.Figure
    """

    p_values: dict[str, float]
    modes: pd.DataFrame
    total: float
    figure: Figure


def reproduce_three_way(n_samples: int = 1000, random_state: int = 0, contrastive_epochs: int = 0) -> ThreeWay:
    """Draw a sample, fit it, compare with the generator and the closed form, and draw the panels of the figure.

    Parameters
    ----------
    n_samples : int
    random_state : int
    contrastive_epochs : int
        If not zero, fit by contrastive divergence as well, with the paper's settings and this many epochs (the paper has 300,000); 60,000
        take one to two minutes.
    """
    X, y = make_three_way(n_samples, random_state=random_state)
    solution = closed_form()

    def learned_by(trainer: str | Trainer) -> Density:
        model = SurvivalHarmonium(
            n_hidden=4, objective="joint", time_scale="linear", horizon=1, trainer=trainer, random_state=random_state
        ).fit(X, y)
        return lambda colour, t1, t2: _learned_density(model, colour, t1, t2)

    def written(colour: str, t1: Any, t2: Any) -> Array:
        return _closed_form_density(solution, colour, t1, t2)

    learned = {"learned": learned_by("exact")}
    if contrastive_epochs:
        learned["contrastive"] = learned_by(contrastive_trainer(contrastive_epochs, n_samples))
    x, w = gauss_legendre(60)
    total = sum(float(0.5 * w @ written(colour, 0.5 * (x + 1.0), np.nan)) for colour in _COLOURS)
    return ThreeWay(_cox_p_values(X, y), _modes(written, learned), total, _figure(learned, X, y, contrastive_epochs))


def contrastive_trainer(n_epochs: int, batch_size: int) -> Contrastive:
    """The paper's settings: persistent chains, three steps, learning rate 0.375, a tenth of momentum. It names no size of batches."""
    return Contrastive(learning_rate=0.375, momentum=0.1, n_steps=3, persistent=True, batch_size=batch_size, n_epochs=n_epochs, l2=0.0)


def closed_form(clamp: float = 60.0, background: float = -7.0) -> Parameters:
    """One hidden unit for each blob (eq. 13).

    ``clamp`` ties a blob to its colour; ``background`` is how far, in logarithm, the density without any blob lies below them.
    """
    colour = np.array([float(_COLOURS.index(blob[0])) for blob in BLOBS])
    shape, rate = (np.array([[time[i] for time in blob[1:]] for blob in BLOBS]).T for i in (0, 1))
    mode = (shape - 1.0) / rate
    w = -clamp * (colour - 0.5)
    bias = -w * colour + np.sum((shape - 1.0) * (np.log(mode) - 1.0), axis=0) + background
    times = {"W": rate, "V": shape - 1.0, "a": np.zeros(2), "c": np.zeros(2)}
    return Parameters(LAYOUT, bias, ({"W": w[None, :], "a": np.zeros(1)}, times))


# --- densities p(colour, t1, t2); a time that is NaN is integrated out ---


def _generating_density(colour: str, t1: Any, t2: Any) -> Array:
    total = np.zeros(np.broadcast_shapes(np.shape(t1), np.shape(t2)))
    for blob_colour, *parameters in BLOBS:
        if blob_colour == colour:
            total = total + 0.25 * _gamma_density(t1, *parameters[0]) * _gamma_density(t2, *parameters[1])
    return total


def _gamma_density(t: Any, shape: float, rate: float) -> Array:
    t = np.asarray(t, dtype=np.float64)
    density = np.exp((shape - 1.0) * np.log(t) - rate * t - interval_mass(shape, rate, 0.0, 1.0)[0])
    return np.where(np.isnan(t), 1.0, density)


def _closed_form_density(parameters: Parameters, colour: str, t1: Any, t2: Any) -> Array:
    t1, t2 = np.broadcast_arrays(t1, t2)
    rows = np.column_stack([np.full(t1.size, float(_COLOURS.index(colour))), t1.ravel(), t2.ravel()])
    log_density = log_mass(parameters, Cells.from_bounds(LAYOUT, rows)) - log_mass(parameters, Cells.all_free(LAYOUT))
    return np.exp(log_density).reshape(t1.shape)


def _learned_density(model: SurvivalHarmonium, colour: str, t1: Any, t2: Any) -> Array:
    times = [np.ravel(t) for t in np.broadcast_arrays(t1, t2)]
    parts = {}
    for name, t in zip(("t1", "t2"), times, strict=True):
        unknown = np.isnan(t)
        parts[name, "lower"], parts[name, "upper"] = np.where(unknown, 0.0, t), np.where(unknown, np.inf, t)
    log_density = model.log_likelihood(pd.DataFrame({"colour": [colour] * times[0].size}), pd.DataFrame(parts), kind="joint")
    return np.exp(log_density).reshape(np.broadcast_shapes(np.shape(t1), np.shape(t2)))


# --- what is compared ---


def _cox_p_values(X: pd.DataFrame, y: pd.DataFrame) -> dict[str, float]:
    known = parse_endpoints(y)
    out = {}
    for e, name in enumerate(known.names):
        frame = pd.DataFrame({"red": X["colour"].to_numpy() == "red", "time": known.lower[:, e], "event": known.event[:, e]}).astype(float)
        out[name] = float(fit_cox(frame).summary.loc["red", "p"])
    return out


def _modes(written: Density, learned: dict[str, Density]) -> pd.DataFrame:
    densities = {"generator": _generating_density, "closed form": written, **learned}
    rows = []
    for colour, *parameters in BLOBS:
        mode = [(shape - 1.0) / rate for shape, rate in parameters]
        rows.append([colour, *mode, *(float(density(colour, *mode)) for density in densities.values())])
    return pd.DataFrame(rows, columns=["colour", "t1", "t2", *densities])


def _figure(learned: dict[str, Density], X: pd.DataFrame, y: pd.DataFrame, n_epochs: int) -> Figure:
    titles = {
        "learned": f"b  a harmonium fitted to {len(X)} subjects",
        "contrastive": f"c  the same by contrastive divergence, {n_epochs:,} epochs",
    }
    with mpl.rc_context({"font.size": 9}):
        n_panels = 1 + len(learned)
        figure = Figure(figsize=(5.25 * n_panels, 5.4))
        outer = figure.add_gridspec(1, n_panels, wspace=0.16, left=0.12 / n_panels, right=0.99, top=0.93, bottom=0.09)
        _panel(figure, outer[0], _generating_density, "a  the generating density")
        for place, (name, density) in enumerate(learned.items(), start=1):
            _scatter(_panel(figure, outer[place], density, titles[name]), X, y)
    return figure


def _panel(figure: Figure, cell: Any, density: Density, title: str) -> Any:
    """Contours by colour, with the marginal of each time by colour on the sides."""
    grid = cell.subgridspec(2, 2, width_ratios=[4, 1], height_ratios=[1, 4], wspace=0.06, hspace=0.06)
    joint = figure.add_subplot(grid[1, 0])
    above, beside = figure.add_subplot(grid[0, 0], sharex=joint), figure.add_subplot(grid[1, 1], sharey=joint)
    t = np.linspace(0.005, 0.995, 199)
    for colour, (shade, line, _, _) in _STYLES.items():
        joint.contour(t, t, density(colour, t[None, :], t[:, None]), levels=[0.4, 1.2, 2.4, 3.6], colors=shade, linestyles=line)
        above.plot(t, density(colour, t, np.nan), color=shade, linestyle=line, label=colour)
        beside.plot(density(colour, np.nan, t), t, color=shade, linestyle=line)
    joint.set(xlabel="first event time $t_1$", ylabel="second event time $t_2$", xlim=(0, 1), ylim=(0, 1))
    above.set_title(title, loc="left", fontsize=10)
    above.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5), handlelength=2.6)
    for axis in (above, beside):
        axis.tick_params(labelleft=False, labelbottom=False, length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
    above.set_ylim(0, None)
    beside.set_xlim(0, None)
    return joint


def _scatter(joint: Any, X: pd.DataFrame, y: pd.DataFrame) -> None:
    known = parse_endpoints(y)
    seen = known.event.all(axis=1)
    for colour, (shade, _, dot, cross) in _STYLES.items():
        chosen = X["colour"].to_numpy() == colour
        for rows, marker in ((chosen & seen, dot), (chosen & ~seen, cross)):
            joint.plot(*known.lower[rows].T, marker, color=shade, markersize=3.5, alpha=0.5, markeredgewidth=0.6, zorder=0)
