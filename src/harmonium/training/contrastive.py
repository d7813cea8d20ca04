"""The contrastive trainer: the paper's k-step contrastive divergence for censored and missing values (its Algorithm 1).

Both phases of the gradient (eq. 17) are sampled. Positive chains are clamped to the cells of a mini-batch: points stay, intervals and
free cells are drawn. Negative chains are clamped only to the denominator's cells: to nothing for the joint objective, to the
covariates for the conditional one. With nothing unobserved this is ordinary contrastive divergence. Works for any number of hidden
units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.errors import InterruptionWarning, warn
from harmonium.numerics.streams import spawn
from harmonium.training.contrastive_epoch import Learner, Phase, Step, batch_gradient, run_epoch
from harmonium.training.history import History, StopTraining
from harmonium.training.interruption import interruptible
from harmonium.training.objective import Objective, with_rows_repeated
from harmonium.training.own_coordinates import own_coordinates
from harmonium.training.phases import negative_phase, positive_phase
from harmonium.training.settings import require_boolean, require_number, require_one_of, require_whole_number
from harmonium.training.trainer import Fit, check_start
from harmonium.typing import Array, Integers
from harmonium.units.contract import Parameter

__all__ = ["Contrastive", "ContrastiveState"]


@dataclass
class ContrastiveState:
    """What persists between passes: parameters, momentum, random numbers, and the negative phase's chains once there are any.

    The stream of ``shuffling`` orders rows; all other random numbers come from ``rng``.
    """

    start: Parameters
    learner: Learner
    rng: np.random.Generator
    shuffling: NDArray[np.uint64]
    negative: Phase | None = None
    n_updates: int = 0

    @property
    def parameters(self) -> Parameters:
        """The current parameters, a copy."""
        return self.start.with_vector(self.learner.vector.copy())


class Contrastive(BaseEstimator):  # type: ignore[misc]
    """Fit by contrastive divergence; any number of hidden units. Settings are checked when they are used.

    Parameters
    ----------
    learning_rate : float
    momentum : float
        Part of the previous update that is kept (eq. 19).
    batch_size : int
        Rows in an update.
    n_epochs : int
        Passes over all rows.
    n_steps : int
        Gibbs sweeps in each phase.
    persistent : bool
        Negative chains go on from one update to the next instead of beginning at the data.
    l2 : float or mapping
        Penalty on couplings, or on parameters by name: ``{"W": 0.01, "b": 0.001}``.
    optimizer : "sgd" or "adam"
        Plain steps with momentum, or steps scaled by the gradients seen so far.
    centered : bool
        Take the gradient of couplings between deviations from the mean, which does not mix them with biases (eq. 18).

    Examples
    --------
    >>> Contrastive(n_steps=3).set_params(learning_rate=0.1)
    Contrastive(learning_rate=0.1, n_steps=3)
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.5,
        batch_size: int = 100,
        n_epochs: int = 500,
        n_steps: int = 1,
        persistent: bool = True,
        l2: float | Mapping[str, float] = 1e-3,
        optimizer: str = "sgd",
        centered: bool = False,
    ) -> None:
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_steps = n_steps
        self.persistent = persistent
        self.l2 = l2
        self.optimizer = optimizer
        self.centered = centered

    def fit(
        self,
        objective: Objective,
        n_hidden: int,
        *,
        rng: np.random.Generator,
        history: History,
        start: Parameters | None = None,
        n_threads: int | None = None,
    ) -> Fit:
        """Maximise the objective; see :class:`harmonium.training.trainer.Trainer`. Batches are small, so threads are not used."""
        objective = with_rows_repeated(objective)
        state = self.begin(objective, n_hidden, rng, start)
        positive, state.negative = self.phases(objective, rng)
        try:
            with interruptible():
                for _ in range(self.n_epochs):
                    size = self.run_epoch(state, positive)
                    history.add(lambda: state.parameters, gradient_norm=size)
        except StopTraining:
            pass
        except KeyboardInterrupt:
            warn("training was interrupted; the parameters of the last update are kept", InterruptionWarning)
        return Fit(history.best or state.parameters, None, self.l2, 0)

    def partial_fit(
        self,
        objective: Objective,
        n_hidden: int,
        *,
        rng: np.random.Generator,
        state: ContrastiveState | None = None,
        start: Parameters | None = None,
    ) -> ContrastiveState:
        """One pass over new rows.

        Parameters
        ----------
        objective : Objective
            Of the new rows.
        n_hidden : int
            Hidden units.
        rng : numpy.random.Generator
            For the first pass; later ones draw from the state's.
        state : ContrastiveState, optional
            What the last pass returned. Parameters, momentum and, if they are not tied to rows, negative chains go on from there.
        start : Parameters, optional
            Where the first pass begins; by default at the paper's initial parameters.

        Returns
        -------
        ContrastiveState
            Its ``parameters`` are the current ones.
        """
        objective = with_rows_repeated(objective)
        if state is None:
            state = self.begin(objective, n_hidden, rng, start)
        else:
            self._check(state.start)
        positive, fresh = self.phases(objective, state.rng)
        if state.negative is not None and not fresh.tied and self.persistent:
            fresh = fresh._replace(values=state.negative.values, streams=state.negative.streams)
        state.negative = fresh
        with interruptible():
            self.run_epoch(state, positive)
        return state

    def begin(self, objective: Objective, n_hidden: int, rng: np.random.Generator, start: Parameters | None = None) -> ContrastiveState:
        """The state before the first update: the paper's initial parameters, or given ones."""
        if start is not None:
            check_start(start, objective, n_hidden)
        if 0.0 < objective.conditional < 1.0:
            warn(
                f"the contrastive trainer knows no weights: objective={objective.conditional:g} trains the joint likelihood. "
                'Say objective="joint" if that is meant'
            )
        lower, upper = objective.recorded.bounds()
        values = np.where(lower == upper, lower, np.nan)
        parameters = start or Parameters.initial(objective.recorded.layout, values, n_hidden, rng)
        self._check(parameters)
        vector = parameters.to_vector()
        nothing, coordinates = np.zeros_like(vector), own_coordinates(parameters)
        learner = Learner(
            vector.copy(),
            coordinates,
            nothing.copy(),
            nothing.copy(),
            parameters.by_declaration(self._penalty),
            parameters.by_declaration(lambda declared: declared.smallest),
            _with_constant(np.flatnonzero(coordinates.coupling_place >= 0), coordinates.coupling_place.size),
            parameters.n_hidden,
        )
        return ContrastiveState(parameters, learner, rng, spawn(rng, 1))

    def phases(self, objective: Objective, rng: np.random.Generator) -> tuple[Phase, Phase]:
        """Chains of the positive and of the negative phase."""
        positive = positive_phase(objective.recorded, rng)
        clamped = objective.clamped()
        return positive, negative_phase(objective.recorded, clamped, positive.beginning, rng, self.batch_size, self.persistent)

    def run_epoch(self, state: ContrastiveState, positive: Phase) -> float:
        """One update for each mini-batch; returns the mean size of the gradient."""
        assert state.negative is not None
        size, state.n_updates = run_epoch(
            state.shuffling,
            self.batch_size,
            positive,
            state.negative,
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

    def gradient(self, state: ContrastiveState, recorded: Cells, positive: Phase, rows: Integers) -> Array:
        """The sampled gradient of the mean log-likelihood of some rows by the vector of parameters, without penalties."""
        assert state.negative is not None
        out = np.empty(state.learner.vector.size)
        batch_gradient(positive, state.negative, rows, state.learner, self._step, out)
        return out

    @property
    def _step(self) -> Step:
        return Step(float(self.learning_rate), float(self.momentum), int(self.n_steps), self.optimizer == "adam", bool(self.centered))

    def _penalty(self, declared: Parameter) -> float:
        """The penalty's weight of a parameter (eq. 19)."""
        if isinstance(self.l2, Mapping):
            return float(self.l2.get(declared.name, 0.0))
        return float(self.l2) if declared.penalised else 0.0

    def _check(self, parameters: Parameters) -> None:
        """Refuse settings that make no sense."""
        require_number("learning_rate", self.learning_rate, least=0.0, above=True)
        require_number("momentum", self.momentum, least=0.0, below=1.0)
        for name in ("batch_size", "n_epochs", "n_steps"):
            require_whole_number(name, getattr(self, name), least=1)
        for name in ("persistent", "centered"):
            require_boolean(name, getattr(self, name))
        require_one_of("optimizer", self.optimizer, ("sgd", "adam"))
        if not isinstance(self.l2, Mapping):
            require_number("l2", self.l2, least=0.0, instead="a mapping of parameters' names to numbers, or ")
            return
        known = sorted({declared.name for declared, _ in parameters.declared()})
        for name, weight in self.l2.items():
            require_one_of("a name in l2", name, known)
            require_number(f"l2[{name!r}]", weight, least=0.0)


def _with_constant(places: Integers, constant: int) -> Integers:
    """Places and the constant's, once or twice to make their number even."""
    return np.append(places, [constant] * (2 - places.size % 2))
