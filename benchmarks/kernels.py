"""How fast are the kernels? Draws against `harmoniums`; gradients against straightforward enumeration; cost against rows."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.peer import Peer
from benchmarks.provenance import best_of, print_table, write_result
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.parameters import Parameters
from harmonium.units.truncated_gamma import interval_mass, sample
from tests.gbsg2 import LAYOUT, gbsg2_cells
from tests.straightforward import ConditionalObjective

__all__ = ["run"]

Row = dict[str, Any]

# Shape and rate of the three-way problem's blobs: with modes at 1/4 and 3/4 (docs/model.md, section 6), and as the paper prints them.
_BLOBS = {"mode 1/4": (8.127, 28.508), "mode 3/4": (58.233, 76.310), "as printed": (8.1, 58.0), "as printed, 2": (29.0, 76.0)}
_N_DRAWS = 200_000


def run() -> None:
    """Measure, print and keep everything."""
    with Peer(timeout=300.0) as peer:
        draws = _draws(peer)
        versions = peer.call("versions")
    gradients = [_gradient(n_hidden) for n_hidden in (2, 4, 6, 8, 10)]
    rows = [_rows(n_rows) for n_rows in (10_000, 100_000, 1_000_000)]
    print_table("Draws of truncated gammas on (lower, 1], against harmoniums 0.1.2", draws)
    print_table("Conditional objective on gbsg2, value and gradient, one thread, against one integral for each cell and state", gradients)
    print_table("Cost and memory of a gradient: 15 covariates, two endpoints, half of the times censored, 4 hidden units", rows)
    sections = {"draws": draws, "gradient": gradients, "rows": rows}
    path = write_result("kernels", [{"section": name, **row} for name, part in sections.items() for row in part], peer_versions=versions)
    print(f"\nwritten to {path.relative_to(path.parents[2])}")


def _draws(peer: Peer) -> list[Row]:
    """Free draws as its negative phase makes them, and draws of times censored at ``lower`` as its positive phase does."""
    out = []
    for blob, (alpha, beta) in _BLOBS.items():
        for lower in (0.0, 0.25, 0.5, 0.75):
            sampler = "right" if lower == 0.0 else "interval"
            one = peer.call("truncated_gamma_seconds", alpha=alpha, beta=beta, lower=lower, n_draws=10, repeats=1, sampler=sampler)
            n_draws = int(min(_N_DRAWS, max(10, 0.5 / one["seconds_per_draw"])))
            theirs = peer.call("truncated_gamma_seconds", alpha=alpha, beta=beta, lower=lower, n_draws=n_draws, repeats=3, sampler=sampler)[
                "seconds_per_draw"
            ]
            ours, ours_distinct = _our_draws(alpha, beta, lower)
            out.append(
                {
                    "blob": blob,
                    "alpha": alpha,
                    "beta": beta,
                    "lower": lower,
                    "peer's sampler": sampler,
                    "peer us": 1e6 * theirs,
                    "ours us": 1e6 * ours,
                    "ratio": theirs / ours,
                    "ours us, all parameters different": 1e6 * ours_distinct,
                    "ratio, all different": theirs / ours_distinct,
                }
            )
    return [*out, _three_way_sweep(out)]


def _three_way_sweep(measured: list[Row]) -> Row:
    """The draws of a Gibbs sweep over the three-way problem's 1000 subjects: both times free, and those censored at 3/4.

    Drawn by parameters; ``Chains`` meets them in the subjects' order, where the column for different parameters applies.
    """
    counts = {("mode 1/4", 0.0): 1000, ("mode 3/4", 0.0): 1000, ("mode 3/4", 0.75): 400}

    def total(column: str) -> float:
        by_case = {(row["blob"], row["lower"]): float(row[column]) for row in measured}
        return sum(count * by_case[case] for case, count in counts.items())

    theirs, ours, different = total("peer us"), total("ours us"), total("ours us, all parameters different")
    return {
        "blob": "all of a sweep",
        "peer us": theirs,
        "ours us": ours,
        "ratio": theirs / ours,
        "ours us, all parameters different": different,
        "ratio, all different": theirs / different,
    }


def _our_draws(alpha: float, beta: float, lower: float) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    same = np.full(_N_DRAWS, alpha)
    different = alpha * (1.0 + 1e-9 * np.arange(_N_DRAWS))
    mean = sample(same, beta, lower, 1.0, rng).mean()
    expected = float(interval_mass(alpha, beta, lower, 1.0)[2])
    if abs(mean - expected) > 1e-2 * expected:
        raise RuntimeError(f"draws are off: mean {mean}, expected {expected}")
    return tuple(best_of(lambda a=a: sample(a, beta, lower, 1.0, rng), repeats=5) / _N_DRAWS for a in (same, different))  # type: ignore[return-value, misc]


def _gradient(n_hidden: int) -> Row:
    cells = gbsg2_cells()
    values, _ = cells.bounds()
    parameters = Parameters.initial(LAYOUT, values, n_hidden, np.random.default_rng(0))
    straightforward = ConditionalObjective(LAYOUT, *cells.bounds())
    terms = [Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)]
    engine = LogMassSum(terms, n_threads=1)
    expected, expected_gradient = straightforward.value_and_gradient(parameters)
    value, gradient = engine.value_and_gradient(parameters)
    slow = best_of(lambda: straightforward.value_and_gradient(parameters), repeats=3)
    fast = best_of(lambda: engine.value_and_gradient(parameters), repeats=7)
    theirs, ours = expected_gradient.to_vector(), gradient.to_vector()
    return {
        "hidden units": n_hidden,
        "straightforward ms": 1e3 * slow,
        "engine ms": 1e3 * fast,
        "ratio": slow / fast,
        "difference of value": abs(value / expected - 1.0),
        "difference of gradient": np.abs(ours - theirs).max() / np.abs(theirs).max(),
    }


def _rows(n_rows: int) -> Row:
    """In a process of its own, so that its peak memory is nobody else's."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.rows", str(n_rows)], capture_output=True, text=True, check=True)
    measured: Row = json.loads(done.stdout)
    return measured
