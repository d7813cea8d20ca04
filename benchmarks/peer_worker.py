"""The peer's side of the pipe: runs in the environment of the peer, never imported by us.

One request a line on standard input, ``{"method": name, "kwargs": {...}}``; one answer a line on standard output, either
``{"result": ...}`` or ``{"error": message}``. The first line, ``{"result": "ready"}``, says that the peer is imported.

To measure something else, add a function with ``@method``: its keyword arguments come from the caller, and what it returns
(numbers, strings, lists, dictionaries, NumPy arrays) goes back. It imports the peer in its body: nothing of the peer may be
imported before standard output is out of its reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any, TextIO

import numpy as np
from numba import njit

METHODS: dict[str, Callable[..., Any]] = {}


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function to the caller, under its own name."""
    METHODS[function.__name__] = function
    return function


@method
def versions() -> dict[str, str]:
    """Report the versions of Python, the peer and the packages that it computes with."""
    packages = ("harmoniums", "numpy", "scipy", "numba", "numba-scipy", "pandas", "lifelines", "scikit-survival")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}


@method
def truncated_gamma_seconds(
    alpha: float, beta: float, lower: float, n_draws: int, repeats: int, sampler: str | None = None, seed: int = 0
) -> dict[str, Any]:
    """Time draws from the density proportional to x^(alpha - 1) exp(-beta x) on [lower, 1].

    Parameters
    ----------
    alpha, beta : float
        Shape and rate, the conventions of the peer's samplers as of ours.
    lower : float
        Where the interval starts.
    n_draws : int
        Draws in one call of the peer's array-level sampler.
    repeats : int
        Calls; the fastest counts.
    sampler : {"right", "interval"}, optional
        The peer has two samplers, and its Gibbs sweeps use both: "right" draws on [0, 1] in the free (sleep) phase;
        "interval" draws censored times on [lower, 1] in the clamped (wake) phase, by a rejection that may hardly ever accept
        when ``lower`` is small. If None, "right" when ``lower`` is 0 and else "interval".
    seed : int, optional
        Seed of Numba's random numbers.

    Returns
    -------
    dict
        ``seconds`` of the fastest call, ``seconds_per_draw``, the ``mean`` of the draws of all calls, and the ``sampler``.
    """
    from harmoniums.samplers import sample_interval_truncated_gamma_distribution, sample_right_truncated_gamma_distribution

    if sampler is None:
        sampler = "right" if lower == 0.0 else "interval"
    if sampler not in ("right", "interval"):
        raise ValueError(f'sampler must be "right" or "interval", got {sampler!r}')
    if sampler == "right" and lower != 0.0:
        raise ValueError(f'the peer\'s "right" sampler draws on [0, 1] only, got lower={lower}; use "interval"')

    def draw(a: np.ndarray, b: np.ndarray, left: np.ndarray) -> np.ndarray:
        if sampler == "right":
            return sample_right_truncated_gamma_distribution(a, b, 1.0)
        return sample_interval_truncated_gamma_distribution(a, b, left)

    _seed_numba(seed)
    easy = np.full(10, 1.5)
    draw(easy, easy, np.zeros(10))  # warm up where every proposal is soon accepted

    arguments = [np.full(n_draws, float(value)) for value in (alpha, beta, lower)]
    seconds, means = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        draws = draw(*arguments)
        seconds.append(time.perf_counter() - begin)
        means.append(draws.mean())
    return {
        "seconds": min(seconds),
        "seconds_per_draw": min(seconds) / n_draws,
        "mean": np.mean(means),
        "sampler": sampler,
    }


@method
def epoch_seconds(
    values: list[list[float]], events: list[bool], n_binary: int, n_hidden: int, batch_size: int, n_epochs: int, repeats: int
) -> float:
    """Time contrastive training: seconds an epoch, persistent chains, one step, nothing logged.

    Parameters
    ----------
    values : list of lists
        Complete rows: binary columns, standardised numeric columns, and the time divided by its horizon.
    events : list of bool
        Whether each row's time is an event.
    n_binary : int
        Binary columns come first.
    n_hidden, batch_size, n_epochs : int
    repeats : int
        Trainings; the fastest counts. One more goes first, to compile.
    """
    import pandas as pd
    from harmoniums import SurvivalHarmonium

    table = np.array(values)
    binary = [f"a{i}" for i in range(n_binary)]
    numeric = [f"c{i}" for i in range(table.shape[1] - 1 - n_binary)]
    frame = pd.DataFrame(table, columns=[*binary, *numeric, "time"])
    frame["event"] = np.array(events)

    def train(epochs: int) -> float:
        model = SurvivalHarmonium(
            n_hidden_units=n_hidden,
            survival_columns=["time"],
            event_columns=["event"],
            numeric_columns=numeric,
            categorical_columns=binary,
            learning_rate=1e-3,
            time_horizon=[1.0],
            CD_steps=1,
            mini_batch_size=batch_size,
            n_epochs=epochs,
            log_every_n_iterations=None,
            persistent=True,
        )
        begin = time.perf_counter()
        model.fit(frame)
        return time.perf_counter() - begin

    train(1)
    # The difference of a long and a short training leaves out what either does once.
    return min(train(1 + n_epochs) - train(1) for _ in range(repeats)) / n_epochs


@method
def survival_probabilities(
    parameters: dict[str, list[Any]],
    values: list[list[float]],
    events: list[list[bool]],
    n_binary: int,
    positions: list[list[float]],
    conditional: bool,
    repeats: int = 1,
) -> dict[str, Any]:
    """Predict survival of every endpoint with given parameters, and time it.

    Parameters
    ----------
    parameters : dict
        Under the paper's names; biases, ``c`` and ``sigma`` as plain lists.
    values : list of lists
        Binary columns, standardised numeric columns, and the times of all endpoints divided by their horizons; NaN where a covariate is
        missing, 0 with no event where nothing is known of an endpoint.
    events : list of lists of bool
        Whether each row's times are events, one column for each endpoint.
    n_binary : int
        Binary columns come first.
    positions : list of lists
        Where to evaluate, divided by the horizons as well: (positions, endpoints).
    conditional : bool
        Whether the other endpoints are known or marginalised out.
    repeats : int, optional
        Predictions; the fastest counts. One more goes first, to warm up. With 1 there is only that one.

    Returns
    -------
    dict
        ``survival`` (positions, rows, endpoints), NaN where the peer raises an arithmetic error, and ``seconds`` of the fastest pass over
        all positions.
    """
    names, frame = _frame(np.array(values, dtype=float), np.array(events, dtype=bool), n_binary)
    arrays = {name: np.array(given, dtype=float) for name, given in parameters.items()}
    arrays |= {name: array.reshape(-1, 1) for name, array in arrays.items() if array.ndim == 1}

    seconds, survival = [], []
    for _ in range(1 if repeats == 1 else 1 + repeats):
        model = _untrained(names, frame, n_hidden=arrays["b"].size)  # anew: the peer remembers what it has predicted
        model.set_parameters(arrays)
        begin = time.perf_counter()
        survival = [_predicted(model, frame, conditional, dict(zip(names["survival"], at, strict=True))) for at in positions]
        seconds.append(time.perf_counter() - begin)
    return {"survival": np.array(survival), "seconds": min(seconds)}


def _predicted(model: Any, frame: Any, conditional: bool, at: dict[str, float]) -> np.ndarray:
    """Predict for all rows at once, or, should that fail, for every row and endpoint alone: (rows, endpoints)."""
    try:
        return model.predict(frame, conditional, at).to_numpy()
    except ArithmeticError:
        out = np.full((len(frame), len(at)), np.nan)
    for column, (name, position) in enumerate(at.items()):
        for row in range(len(frame)):
            with contextlib.suppress(ArithmeticError):
                out[row, column] = model.predict(frame.iloc[[row]], conditional, {name: position}).to_numpy().item()
    return out


def _frame(values: np.ndarray, events: np.ndarray, n_binary: int) -> tuple[dict[str, list[str]], Any]:
    """Name the columns of a table by what they hold."""
    import pandas as pd

    n_endpoints = events.shape[1]
    counts = {"binary": n_binary, "numeric": values.shape[1] - n_binary - n_endpoints, "survival": n_endpoints}
    names = {kind: [f"{kind}{i}" for i in range(count)] for kind, count in counts.items()}
    frame = pd.DataFrame(values, columns=[name for kind in counts for name in names[kind]])
    names["event"] = [f"event{i}" for i in range(n_endpoints)]
    frame[names["event"]] = events
    return names, frame


def _untrained(names: dict[str, list[str]], frame: Any, n_hidden: int) -> Any:
    """Make a model that knows its columns and is ready for parameters. It scales no times: it would make a given horizon 1 % longer."""
    from harmoniums import SurvivalHarmonium

    with tempfile.TemporaryDirectory() as output:
        model = SurvivalHarmonium(
            n_hidden_units=n_hidden,
            survival_columns=names["survival"],
            event_columns=names["event"],
            numeric_columns=names["numeric"],
            categorical_columns=names["binary"],
            time_horizon=None,
            log_every_n_iterations=None,
            dry_run=True,
            output=output,
        )
        model.fit(frame)
    return model


@njit
def _seed_numba(seed: int) -> None:
    """Seed the generator of compiled code, which is not that of NumPy."""
    np.random.seed(seed)


def _as_json(value: Any) -> Any:
    """Turn NumPy's arrays and scalars into what JSON knows."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"a method returned a {type(value).__name__}, which JSON cannot carry")


def _answer(request: str) -> str:
    """Carry out one request; an exception becomes an answer too."""
    try:
        call = json.loads(request)
        if call["method"] not in METHODS:
            raise LookupError(f"no method {call['method']!r}; there are: {', '.join(sorted(METHODS))}")
        return json.dumps({"result": METHODS[call["method"]](**call["kwargs"])}, default=_as_json)
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def _reserve_stdout() -> TextIO:
    """Keep the real standard output for the protocol; whatever the peer or Numba prints goes to standard error."""
    protocol = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    return protocol


def main() -> None:
    """Answer until the caller hangs up."""
    protocol = _reserve_stdout()
    import_module("harmoniums")  # compiles
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # the peer leaves folders where it runs
        print(json.dumps({"result": "ready"}), file=protocol)
        for request in sys.stdin:
            print(_answer(request), file=protocol)


if __name__ == "__main__":
    main()
