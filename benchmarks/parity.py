"""Does harmoniums 0.1.2 predict the same survival from the same parameters? Where it does not, quadrature decides who is right.

Our models are fitted to the two NVALT trials, their parameters go to the peer under the paper's names, and both predict the survival
of every patient: from the covariates, and given what is recorded of the other endpoint. The peer has no categorical unit, so every level
becomes a binary column, missing where the category is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

import harmonium as hm
from benchmarks.peer import Peer
from benchmarks.provenance import print_table, write_result
from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import hidden_states
from harmonium.model.known_rows import KnownRows
from harmonium.typing import Array
from harmonium.units import TruncatedGamma
from tests import brute_force

__all__ = ["run"]

Row = dict[str, Any]

_HORIZONS = {"nvalt8": 100.0, "nvalt11": 80.0}  # months, beyond the last recording
_POSITIONS = np.array([0.25, 0.5, 0.75])  # on the time scale
_TOLERANCE = 1e-6
_FACTORS = (4.0, 16.0, 64.0)  # on all parameters: sharper and sharper distributions
_SHAPES = (1.5, 5.2, 10.2, 20.7, 50.1, 100.3, 300.2)
_RATES = (-300.0, -100.0, -20.0, -5.0, 5.0, 20.0, 100.0, 300.0)
_GAMMA_POSITIONS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def run() -> None:
    """Compare, print and keep."""
    with Peer(timeout=600.0) as peer:
        models = [_compare(peer, *case) for case in _cases()]
        gammas = [_compare_gamma(peer, shape, rate) for shape in _SHAPES for rate in _RATES]
        versions = peer.call("versions")
    print_table("Survival from the same parameters, harmoniums 0.1.2 and ours, at 1/4, 1/2 and 3/4 of the horizon", models)
    print_table(
        "One endpoint on its own: largest error of harmoniums 0.1.2 by shape (down) and rate (across), and of ours", _by_shape(gammas)
    )
    sections = {"models": models, "one endpoint": gammas}
    path = write_result("parity", [{"section": name, **row} for name, part in sections.items() for row in part], peer_versions=versions)
    print(f"\nwritten to {path.relative_to(path.parents[2])}")


def _cases() -> Iterator[tuple[str, hm.Fitted, Subjects]]:
    """Models with a name, and subjects to predict: every patient as recorded, and again with a third of the covariates removed."""
    for study, horizon in _HORIZONS.items():
        X, y = getattr(hm.datasets, f"load_{study}")()
        X = with_levels_as_columns(X)
        thinned = X.mask(np.random.default_rng(0).random(X.shape) < 1.0 / 3.0)
        subjects = Subjects(pd.concat([X, thinned], ignore_index=True), pd.concat([y, y], ignore_index=True))
        for objective, n_hidden in product(("joint", "conditional"), (2, 4)):
            name = f"{study}, {objective}, {n_hidden} hidden"
            estimator = hm.SurvivalHarmonium(n_hidden, objective=objective, time_scale="linear", horizon=horizon, random_state=0)
            model = estimator.fit(X, y).fitted_
            _check_quadrature(model, subjects)
            yield name, model, subjects
            if (objective, n_hidden) == ("joint", 4):
                for factor in _FACTORS:
                    yield f"{name}, parameters x {factor:g}", _scaled(model, factor), subjects


@dataclass(frozen=True)
class Subjects:
    """Covariates and what is recorded of the endpoints."""

    X: pd.DataFrame
    y: pd.DataFrame


def with_levels_as_columns(X: pd.DataFrame) -> pd.DataFrame:
    """Every level of a text column as a 0/1 column, one of two if there are no more; a missing value is missing in all of them."""
    out = {}
    for name in X.columns:
        values = X[name]
        if pd.api.types.is_numeric_dtype(values):
            out[name] = values
            continue
        levels = sorted(values.dropna().unique())
        for level in levels[1:] if len(levels) == 2 else levels:
            out[f"{name} {level}"] = (values == level).astype(float).where(values.notna())
    return pd.DataFrame(out)


def _scaled(model: hm.Fitted, factor: float) -> hm.Fitted:
    """The model with all of its couplings and biases multiplied."""
    own = model.parameters
    blocks = tuple({name: a if name == "sigma" else factor * a for name, a in block.items()} for block in own.blocks)
    return replace(model, parameters=Parameters(own.layout, factor * own.hidden_bias, blocks))


def _compare(peer: Peer, name: str, model: hm.Fitted, subjects: Subjects) -> Row:
    """All predictions of one model by the peer, by us and by quadrature."""
    encoded = Encoded.of(model, subjects)
    settings = (False, True)  # whether the other endpoint is known
    ours = np.stack([_ours(model, subjects, known) for known in settings])
    theirs = np.stack([_theirs(peer, model, encoded, known) for known in settings])
    exact = np.stack([_exact(model, encoded, known) for known in settings])
    apart = ~(np.abs(ours - theirs) <= _TOLERANCE)  # where the peer has no number, too
    ours_nearer = ~(np.abs(theirs - exact) <= np.abs(ours - exact))
    return {
        "model": name,
        "shape at negative rate": _largest_shape_at_negative_rate(model),
        "predictions": ours.size,
        "with gaps": round(np.isnan(encoded.covariates).any(axis=1).mean() * ours.size),
        "difference": _largest(ours[0] - theirs[0]),
        "difference, other endpoint known": _largest(ours[1] - theirs[1]),
        "ours from quadrature": _largest(ours - exact),
        "beyond 1e-6": int(apart.sum()),
        "peer without number": int(np.isnan(theirs).sum()),
        "beyond: ours from quadrature": _largest((ours - exact)[apart]),
        "beyond: theirs from quadrature": _largest((theirs - exact)[apart]),
        "beyond: ours nearer": int((apart & ours_nearer).sum()),
    }


def _largest_shape_at_negative_rate(model: hm.Fitted) -> float | None:
    """Of all endpoints' truncated gammas; None if every rate is positive."""
    p = model.paper_parameters_
    states = hidden_states(p["b"].size)
    shape, rate = 1.0 + p["c"] + states @ p["V"].T, p["a_B"] + states @ p["W_B"].T
    return _largest(shape[rate < 0.0])


def _compare_gamma(peer: Peer, shape: float, rate: float) -> Row:
    """Survival of an endpoint that nothing is coupled to, so that its distribution is one truncated gamma."""
    none, one = np.zeros((1, 1)), np.ones(1)
    own = {"W": none, "V": none, "a": rate * one, "c": (shape - 1.0) * one}
    times = {"W_B": none, "V": none, "a_B": own["a"], "c": own["c"], "b": 0.0 * one}
    rest = {"W_A": none, "a_A": 0.0 * one, "W_C": none, "a_C": 0.0 * one, "sigma": one}
    complete = Encoded(np.zeros((2, 2)), 1, np.full((2, 1), 0.5), np.ones((2, 1), dtype=bool))
    layout = Layout([TruncatedGamma()])
    free = Cells.from_bounds(layout, [[np.nan]])
    rows = next(KnownRows.of(Parameters(layout, 0.0 * one, (own,)), free, np.random.default_rng(0)))
    ours = rows.survival(0, _GAMMA_POSITIONS).mean[0]
    theirs = _ask(peer, times | rest, complete, _GAMMA_POSITIONS, conditional=False)[:, 0, 0]
    log_mass = Quadrature(times).beyond(0, np.concatenate([[0.0], _GAMMA_POSITIONS]))[:, 0]
    exact = np.exp(log_mass[1:] - log_mass[0])
    error = None if np.isnan(theirs).any() else _largest(theirs - exact)
    return {"shape": shape, "rate": rate, "theirs from quadrature": error, "ours from quadrature": _largest(ours - exact)}


def _by_shape(gammas: list[Row]) -> list[Row]:
    """A row for each shape, a column for each rate."""
    out = []
    for shape in _SHAPES:
        rows = [row for row in gammas if row["shape"] == shape]
        errors = {f"{row['rate']:g}": row["theirs from quadrature"] for row in rows}
        out.append({"shape": shape, **errors, "ours": max(row["ours from quadrature"] for row in rows)})
    return out


def _largest(difference: Array) -> float | None:
    """Of all that are numbers; None if there are none."""
    known = np.abs(difference[~np.isnan(difference)])
    return float(known.max()) if known.size else None


def _ours(model: hm.Fitted, subjects: Subjects, conditional: bool) -> Array:
    """(positions, rows, endpoints), through the public interface and in months."""
    out = []
    for name, scale in zip(model.endpoint_names, model.encoding.scales, strict=True):
        known = subjects.y.copy()
        known[name, "lower"], known[name, "upper"] = 0.0, np.inf  # of the endpoint itself, nothing
        prognosis = model.prognosis(subjects.X, given=known if conditional else None)
        prognosis.warns = False  # the horizon lies beyond follow-up
        out.append(prognosis.survival(name, _POSITIONS * scale.horizon).T)
    return np.stack(out, axis=2)


@dataclass(frozen=True)
class Encoded:
    """Subjects as the peer takes them: binary columns, then standardised ones; times divided by the horizon."""

    covariates: Array
    n_binary: int
    times: Array
    events: Any

    @classmethod
    def of(cls, model: hm.Fitted, subjects: Subjects) -> Encoded:
        """Encode with what the model learned; its layout has the same order."""
        units = [block.unit.name for block in model.encoding.layout.blocks]
        if units != ["bernoulli", "gaussian", "truncated_gamma"]:
            raise ValueError(f"the peer knows binary and numeric columns and event times; found {units}")
        horizons = np.array([scale.horizon for scale in model.encoding.scales])
        lower, upper = (
            np.column_stack([subjects.y[name, bound] for name in model.endpoint_names]) / horizons for bound in ("lower", "upper")
        )
        n_binary = model.encoding.layout.blocks[0].n_columns
        return cls(model.encoding.covariates(subjects.X), n_binary, lower, lower == upper)


def _theirs(peer: Peer, model: hm.Fitted, encoded: Encoded, conditional: bool) -> Array:
    return _ask(peer, model.paper_parameters_, encoded, _POSITIONS, conditional)


def _ask(peer: Peer, parameters: dict[str, Array], encoded: Encoded, positions: Array, conditional: bool) -> Array:
    """The peer's survival, (positions, rows, endpoints)."""
    answer = peer.call(
        "survival_probabilities",
        parameters={name: array.tolist() for name, array in parameters.items()},
        values=np.hstack([encoded.covariates, encoded.times]).tolist(),
        events=encoded.events.tolist(),
        n_binary=encoded.n_binary,
        positions=np.column_stack([positions] * encoded.times.shape[1]).tolist(),
        conditional=conditional,
    )
    return np.array(answer["survival"], dtype=float)


def _exact(model: hm.Fitted, encoded: Encoded, conditional: bool) -> Array:
    """By quadrature of the paper's energy, (positions, rows, endpoints)."""
    reference = Quadrature(model.paper_parameters_)
    by_state = reference.covariates(encoded.covariates[:, : encoded.n_binary], encoded.covariates[:, encoded.n_binary :])
    endpoints = range(encoded.times.shape[1])
    if conditional:
        known = [reference.endpoint(e, encoded.times[:, e], encoded.events[:, e]) for e in endpoints]
    else:
        known = [reference.beyond(e, np.zeros(1)) for e in endpoints]
    out = []
    for e in endpoints:
        rest = by_state + sum(known[other] for other in endpoints if other != e)
        at = reference.beyond(e, np.concatenate([[0.0], _POSITIONS]))  # (bounds, states)
        log_mass = logsumexp(rest + at[:, None, :], axis=2)
        out.append(np.exp(log_mass[1:] - log_mass[0]))
    return np.stack(out, axis=2)


class Quadrature:
    """Log masses (docs/model.md, eq. 5) from the energy (eq. 1) by Gauss-Legendre quadrature and a sum over all hidden states.

    Shares no code with the package. Given the hidden state the energy is a sum over columns, so each is integrated on its own, by a much
    finer rule than the nested ones of :mod:`tests.brute_force`, which it is checked against.
    """

    def __init__(self, parameters: dict[str, Array]) -> None:
        self.parameters = parameters
        n_hidden = parameters["b"].size
        self.states = (np.arange(2**n_hidden)[:, None] >> np.arange(n_hidden) & 1).astype(float)

    def covariates(self, binary: Array, numeric: Array) -> Array:
        """Minus energies of covariates and hidden biases, missing covariates summed or integrated out, (rows, states)."""
        p, h = self.parameters, self.states
        total = np.tile(-(h @ p["b"]), (len(binary), 1))
        for i, x in enumerate(binary.T):
            field = p["a_A"][i] + h @ p["W_A"][i]
            total += np.where(np.isnan(x)[:, None], np.logaddexp(0.0, -field), -np.nan_to_num(x)[:, None] * field)
        for i, x in enumerate(numeric.T):
            field, a, sigma = h @ p["W_C"][i], p["a_C"][i], p["sigma"][i]

            def minus_energy(x: Array, field: Array = field, a: float = a, sigma: float = sigma) -> Array:
                return -(x[:, None] / sigma * field + (x[:, None] - a) ** 2 / (2.0 * sigma**2))

            reach = sigma * (np.abs(field).max() + 12.0)
            nodes, log_weights = _rule(np.linspace(a - reach, a + reach, 2 + int(2.0 * reach / sigma)))
            missing = logsumexp(minus_energy(nodes) + log_weights[:, None], axis=0)
            total += np.where(np.isnan(x)[:, None], missing, minus_energy(np.nan_to_num(x)))
        return total

    def endpoint(self, e: int, times: Array, event: Any) -> Array:
        """Log factor of an event at a time, or of none until then, (rows, states)."""
        distinct, place = np.unique(times, return_inverse=True)
        return np.where(event[:, None], self._minus_energy(e, np.where(event, times, 1.0)), self.beyond(e, distinct)[place])

    def beyond(self, e: int, bounds: Array) -> Array:
        """Log of the integral from each bound to 1, (bounds, states)."""
        out = np.empty((bounds.size, len(self.states)))
        for i, bound in enumerate(bounds):
            near = 2.0 ** np.arange(-60.0, -8.0) if bound == 0.0 else np.geomspace(bound, 1.0, 200)
            nodes, log_weights = _rule(np.unique(np.concatenate([[bound], near, np.linspace(bound, 1.0, 257)])))
            out[i] = logsumexp(self._minus_energy(e, nodes) + log_weights[:, None], axis=0)
        return out

    def _minus_energy(self, e: int, x: Array) -> Array:
        p, h = self.parameters, self.states
        minus_energy: Array = np.log(x)[:, None] * (p["c"][e] + h @ p["V"][e]) - x[:, None] * (p["a_B"][e] + h @ p["W_B"][e])
        return minus_energy


def _rule(edges: Array) -> tuple[Array, Array]:
    """Nodes and logarithms of weights: 16 between neighbouring edges."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * nodes).ravel(), np.log(half[:, None] * weights).ravel()


def _check_quadrature(model: hm.Fitted, subjects: Subjects, n_rows: int = 2) -> None:
    """Against nested quadrature over everything that is missing at once, for some rows in which that is not too much."""
    encoded = Encoded.of(model, subjects)
    exact = _exact(model, encoded, conditional=True)
    gaps = np.isnan(encoded.covariates)
    n_binary, n_numeric = gaps[:, : encoded.n_binary].sum(axis=1), gaps[:, encoded.n_binary :].sum(axis=1)
    simple = (n_binary > 0) & (2.0**n_binary * 1000.0**n_numeric < 4000.0) & encoded.events[:, 1]
    if simple.sum() < n_rows:
        raise RuntimeError(f"only {simple.sum()} rows are simple enough for nested quadrature; {n_rows} are needed")
    for row in np.flatnonzero(simple)[:n_rows]:
        lower = np.concatenate([encoded.covariates[row], [np.nan], encoded.times[row, 1:]])
        upper = lower.copy()
        lower[-2], upper[-2] = _POSITIONS[1], 1.0
        until, free = lower.copy(), upper.copy()
        until[-2] = free[-2] = np.nan
        nested = np.exp(brute_force.log_mass(model.parameters, lower, upper) - brute_force.log_mass(model.parameters, until, free))
        if abs(nested - exact[1, row, 0]) > 1e-9:
            raise RuntimeError(f"quadrature is off in row {row}: {exact[1, row, 0]}, nested {nested}")
