"""An epoch of contrastive divergence on gbsg2, against `harmoniums`: the same rows, batches, steps and persistent chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peer import Peer
from benchmarks.provenance import best_of, print_table, write_result
from harmonium.cells import Cells, Layout
from harmonium.training.contrastive import Contrastive
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.gbsg2 import gbsg2_cells

__all__ = ["run"]

_BATCH = 100
_EPOCHS = 20


def _complete_table() -> tuple[Any, Any, int]:
    """Categories as dummies, which is what the peer takes; values, events, number of binary columns."""
    lower, upper = gbsg2_cells().bounds()
    dummies = lower[:, 2:3] == np.array([1.0, 2.0])
    values = np.column_stack([lower[:, :2], dummies, lower[:, 3:]])
    return values, lower[:, -1] == upper[:, -1], 4


def _our_seconds(values: Any, events: Any, n_binary: int, n_hidden: int) -> float:
    layout = Layout([*[Bernoulli()] * n_binary, *[Gaussian()] * (values.shape[1] - 1 - n_binary), TruncatedGamma()], n_outcomes=1)
    upper = values.copy()
    upper[~events, -1] = 1.0
    objective = Objective(Cells.from_bounds(layout, values, upper), np.zeros((len(values), 1)), conditional=0.0)

    def train(epochs: int) -> None:
        trainer = Contrastive(learning_rate=1e-3, momentum=0.0, batch_size=_BATCH, n_epochs=epochs, n_steps=1, persistent=True, l2=0.0)
        trainer.fit(objective, n_hidden, rng=np.random.default_rng(0), history=History())

    return (best_of(lambda: train(1 + _EPOCHS), 5) - best_of(lambda: train(1), 5)) / _EPOCHS


def run() -> None:
    """Measure, print and keep."""
    values, events, n_binary = _complete_table()
    rows = []
    with Peer(timeout=600.0) as peer:
        for n_hidden in (4, 32, 128):
            theirs = peer.call(
                "epoch_seconds",
                values=values.tolist(),
                events=events.tolist(),
                n_binary=n_binary,
                n_hidden=n_hidden,
                batch_size=_BATCH,
                n_epochs=_EPOCHS,
                repeats=3,
            )
            ours = _our_seconds(values, events, n_binary, n_hidden)
            rows.append({"hidden units": n_hidden, "peer ms": 1e3 * theirs, "ours ms": 1e3 * ours, "ratio": theirs / ours})
        versions = peer.call("versions")
    print_table("One contrastive epoch on gbsg2: batches of 100, one step, persistent chains, one thread", rows)
    write_result("contrastive", rows, peer_versions=versions)
