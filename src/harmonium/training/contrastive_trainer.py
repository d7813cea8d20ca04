"""The contrastive trainer: the paper's k-step contrastive divergence for censored and missing values (its Algorithm 1).

Both phases of the gradient (eq. 17) are sampled. Positive chains are clamped to the cells of a mini-batch: points stay, intervals and
free cells are drawn. Negative chains are clamped only to the denominator's cells: to nothing for the joint objective, to the
covariates for the conditional one. With nothing unobserved this is ordinary contrastive divergence. Works for any number of hidden
units.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.numerics.streams import spawn
from harmonium.training.contrastive_epoch import Learner, Phase, Step, batch_gradient, run_epoch
from harmonium.training.history import History, StopTraining
from harmonium.training.own_coordinates import own_coordinates
from harmonium.typing import Array

__all__ = ["ContrastiveState", "ContrastiveTrainer"]

_SMALLEST_SIGMA = 0.05


@dataclass
class ContrastiveState:
    """What persists between epochs: the learner, and the negative phase's chains once there are any."""

    start: Parameters
    learner: Learner
    negative: Phase | None = None
    n_updates: int = 0

    @property
    def parameters(self) -> Parameters:
        """The current parameters, a copy."""
        return self.start.with_vector(self.learner.vector.copy())


@dataclass(frozen=True)
class ContrastiveTrainer:
    """Settings of the contrastive trainer.

    Parameters
    ----------
    learning_rate : float
    momentum : float
        Part of the previous update that is kept (eq. 19).
    batch_size : int
    n_epochs : int
    n_steps : int
        Gibbs sweeps in each phase.
    persistent : bool
        Negative chains go on from one update to the next instead of beginning at the data.
    l2 : float or mapping
        Penalty on W and V, or on parameters by name (W, V, a, c, b).
    optimiser : "sgd" or "adam"
    centred : bool
        Take the gradient of couplings between deviations from the mean, which does not mix them with biases (eq. 18).
    """

    learning_rate: float = 0.01
    momentum: float = 0.5
    batch_size: int = 100
    n_epochs: int = 500
    n_steps: int = 1
    persistent: bool = True
    l2: float | Mapping[str, float] = 1e-3
    optimiser: str = "sgd"
    centred: bool = False

    def fit(
        self,
        recorded: Cells,
        conditioned: Cells | None,
        n_hidden: int,
        rng: np.random.Generator,
        history: History,
        start: Parameters | None = None,
    ) -> Parameters:
        """Train on a table; ``conditioned`` holds the negative phase's cells, none of which are fixed by default."""
        state = self.start(recorded, n_hidden, rng, start)
        positive = self.positive_phase(recorded, rng)
        state.negative = self.negative_phase(recorded, conditioned, positive.beginning, rng)
        try:
            for _ in range(self.n_epochs):
                size = self._epoch(state, recorded, positive, rng)
                history.add(lambda: state.parameters, gradient_norm=size)
        except StopTraining:
            pass
        except KeyboardInterrupt:
            warnings.warn("training was interrupted; the parameters of the last update are kept", UserWarning, stacklevel=2)
        return history.best or state.parameters

    def partial_fit(self, state: ContrastiveState, recorded: Cells, conditioned: Cells | None, rng: np.random.Generator) -> None:
        """One pass over new rows; parameters, momentum and, if they are not tied to rows, negative chains go on from where they were."""
        positive = self.positive_phase(recorded, rng)
        fresh = self.negative_phase(recorded, conditioned, positive.beginning, rng)
        if state.negative is not None and not fresh.tied and self.persistent:
            fresh = fresh._replace(values=state.negative.values, streams=state.negative.streams)
        state.negative = fresh
        self._epoch(state, recorded, positive, rng)

    def start(self, recorded: Cells, n_hidden: int, rng: np.random.Generator, start: Parameters | None = None) -> ContrastiveState:
        """The paper's initial parameters, or given ones."""
        lower, upper = recorded.bounds()
        values = np.where(lower == upper, lower, np.nan)
        parameters = start or Parameters.initial(recorded.layout, values, n_hidden, rng)
        vector = parameters.to_vector()
        nothing = np.zeros_like(vector)
        learner = Learner(
            vector.copy(),
            own_coordinates(parameters),
            nothing.copy(),
            nothing.copy(),
            self._penalties(parameters),
            _lowest(parameters),
            parameters.n_hidden,
        )
        return ContrastiveState(parameters, learner)

    def positive_phase(self, recorded: Cells, rng: np.random.Generator) -> Phase:
        """Chains clamped to the recorded cells; they begin at the data for every update."""
        lower, upper = recorded.bounds()
        beginning = _beginning(recorded, lower, upper)
        return Phase(lower, upper, beginning, beginning.copy(), spawn(rng, recorded.n_rows), tied=True, afresh=True)

    def negative_phase(self, recorded: Cells, conditioned: Cells | None, beginning: Array, rng: np.random.Generator) -> Phase:
        """Chains clamped to the denominator's cells.

        If covariates are fixed each row has a chain of its own; if nothing is, each place in the batch.
        """
        lower, upper = (conditioned or Cells.all_free(recorded.layout, recorded.n_rows)).bounds()
        tied = conditioned is not None or not self.persistent
        rows = np.arange(recorded.n_rows) if tied else rng.integers(recorded.n_rows, size=self.batch_size)
        return Phase(lower, upper, beginning, beginning[rows], spawn(rng, rows.size), tied=tied, afresh=not self.persistent)

    def _epoch(self, state: ContrastiveState, recorded: Cells, positive: Phase, rng: np.random.Generator) -> float:
        """One update for each mini-batch; returns the mean size of the gradient."""
        assert state.negative is not None
        layout = recorded.layout
        order = rng.permutation(recorded.n_rows)
        size, state.n_updates = run_epoch(
            order,
            self.batch_size,
            positive,
            state.negative,
            layout.domains,
            layout.codes,
            layout.offsets,
            state.learner,
            self._step,
            state.n_updates,
        )
        if not np.isfinite(size):
            raise FloatingPointError(
                f"training has diverged after {state.n_updates} updates; lower learning_rate (now {self.learning_rate:g}), "
                "raise l2, or use the exact trainer"
            )
        return size

    def gradient(self, state: ContrastiveState, recorded: Cells, positive: Phase, rows: NDArray[np.int64]) -> Array:
        """The sampled gradient of the mean log-likelihood of some rows by the vector of parameters, without penalties."""
        assert state.negative is not None
        out = np.empty(state.learner.vector.size)
        layout = recorded.layout
        batch_gradient(positive, state.negative, rows, layout.domains, layout.codes, layout.offsets, state.learner, self._step, out)
        return out

    @property
    def _step(self) -> Step:
        return Step(float(self.learning_rate), float(self.momentum), int(self.n_steps), self.optimiser == "adam", bool(self.centred))

    def _penalties(self, parameters: Parameters) -> Array:
        """The penalty's weight of every parameter."""
        weights = self.l2 if isinstance(self.l2, Mapping) else {"W": self.l2, "V": self.l2}
        return _by_name(parameters, {name: float(weight) for name, weight in weights.items()}, 0.0)


def _by_name(parameters: Parameters, values: dict[str, float], other: float) -> Array:
    """A vector with a value for each parameter's name."""
    parts = [np.full(parameters.n_hidden, values.get("b", other))]
    parts += [np.full(array.size, values.get(name, other)) for block in parameters.blocks for name, array in block.items()]
    return np.concatenate(parts)


def _lowest(parameters: Parameters) -> Array:
    """Bounds: V and c not negative, sigma not too small."""
    return _by_name(parameters, {"V": 0.0, "c": 0.0, "sigma": _SMALLEST_SIGMA}, -np.inf)


def _beginning(recorded: Cells, lower: Array, upper: Array) -> Array:
    """Observed values; a bound where there is one inside the domain; the column's median where nothing is known."""
    values = np.where(lower == upper, lower, np.nan)
    out = values.copy()
    for c, unit in enumerate(recorded.layout.units):
        seen = values[~np.isnan(values[:, c]), c]
        median = float(np.median(seen)) if seen.size else (0.5 if unit.tabulated else 0.0)
        if unit.discrete:
            median = float(np.round(median))
        lowest, highest = unit.domain
        bound = np.where((lower[:, c] > lowest) & (lower[:, c] < highest), lower[:, c], upper[:, c])
        usable = np.isfinite(bound) & (bound > lowest) & (bound <= highest) & (not unit.discrete)
        out[:, c] = np.where(np.isnan(out[:, c]), np.where(usable, bound, median), out[:, c])
    return out
