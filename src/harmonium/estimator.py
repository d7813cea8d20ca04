"""The estimator: from a DataFrame to a fitted model, in the manner of scikit-learn and scikit-survival. No mathematics here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.metrics.concordance import concordance_index
from harmonium.model.explanation import Explanation
from harmonium.model.generation import Generation
from harmonium.model.likelihood import Likelihood
from harmonium.model.predictions import Predictions
from harmonium.model.storage import load_model, save_model
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.training.contrastive import Contrastive, ContrastiveState
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.progress import progress
from harmonium.training.ties import ties_as_intervals
from harmonium.typing import Array

__all__ = ["OF_THE_SESSION", "SurvivalHarmonium", "load"]

_CONTRASTIVE_L2 = 1e-3
OF_THE_SESSION = ("verbose", "n_jobs", "warm_start", "early_stopping")
"""Settings that say how a fit was run, and nothing about the model."""


class SurvivalHarmonium(Predictions, Likelihood, Generation, Explanation, BaseEstimator):  # type: ignore[misc]
    """Joint model of several endpoints and covariates with gaps.

    Parameters
    ----------
    n_hidden : int
        Binary hidden units. Four are enough for most studies.
    objective : "conditional", "joint" or float
        What is maximised: the likelihood of the times given the covariates, of both together, or a weight of the former between 0
        (joint) and 1 (conditional). "joint" is for imputing covariates and generating cohorts; such a model predicts less well.
    l2 : "auto" or float
        Precision of the prior on covariates' couplings; "auto" lets the data choose.
    time_scale : "kaplan-meier", "linear" or "log"
        How time is mapped to the unit interval.
    horizon : float or mapping of endpoint to float, optional
        Where the time scale ends; by default just beyond the last recording, or nowhere ("kaplan-meier").
    roles : mapping, optional
        Roles of columns, where they should not be inferred: "numeric", "binary", "categorical" or "ignored".
    n_starts : int
        Short runs of the optimiser from which the best is carried on.
    max_iter : int
        Most iterations of the optimiser.
    trainer : "auto", "exact" or "contrastive"
        Exact likelihood, or the paper's contrastive divergence, which takes any number of hidden units; "auto" is exact while the
        hidden states can be enumerated.
    learning_rate : float
        This and the next seven are of the contrastive trainer.
    momentum : float
        Part of the previous update that is kept.
    batch_size : int
        Rows in an update.
    n_epochs : int
        Passes over all rows.
    n_steps : int
        Gibbs sweeps in each phase.
    persistent : bool
        Negative chains go on from one update to the next instead of beginning at the data.
    optimiser : "sgd" or "adam"
        Plain steps with momentum, or steps scaled by the gradients seen so far.
    centred : bool
        Take the gradient of couplings between deviations from the mean, which does not mix them with biases.
    warm_start : bool
        Go on from the parameters of the last fit.
    early_stopping : int, optional
        With validation data, stop once their log-likelihood has not improved this many times (it is looked at every ten iterations).
    verbose : bool
        Show a progress bar, on terminals.
    random_state : int or numpy.random.Generator, optional
    n_jobs : int, optional
        Threads; by default as many as there are cores. Results do not depend on it.

    Attributes
    ----------
    paper_parameters_ : dict
        Parameters under the paper's names.
    encoding_ : Encoding
        Roles and encodings of columns, time scales of endpoints.
    parameters_ : Parameters
        The paper's parameters.
    endpoint_names_ : tuple of str
    l2_ : float
        The precision used.
    n_rows_ : int
        Rows in training.
    history_ : DataFrame
        Progress of the optimiser.
    n_iter_ : int
        Iterations of the optimiser, or epochs.
    n_evaluations_ : int
        Gradients computed.
    event_times_ : dict
        Distinct event times of each endpoint in training.
    evaluation_ : dict or None
        How well the model predicts rows that it was not fitted to, if that was measured: ``method`` says on what, ``scores`` has the
        metrics of each endpoint. With validation data it is their concordance; ``harmonium fit --report`` cross-validates.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.make_three_way(300, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=4, objective="joint", time_scale="linear", horizon=1, random_state=0).fit(X, y)
    >>> model.predict_survival_function(X[:2], endpoint="t1", times=[0.25, 0.5], return_array=True).shape
    (2, 2)
    """

    _contrastive_state: ContrastiveState | None = None

    def __init__(
        self,
        n_hidden: int = 4,
        *,
        objective: str | float = "conditional",
        l2: str | float = "auto",
        time_scale: str = "kaplan-meier",
        horizon: float | Mapping[str, float] | None = None,
        roles: Mapping[Any, str] | None = None,
        n_starts: int = 6,
        max_iter: int = 1000,
        trainer: str = "auto",
        learning_rate: float = 0.01,
        momentum: float = 0.5,
        batch_size: int = 100,
        n_epochs: int = 500,
        n_steps: int = 1,
        persistent: bool = True,
        optimiser: str = "sgd",
        centred: bool = False,
        warm_start: bool = False,
        early_stopping: int | None = None,
        verbose: bool = False,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.objective = objective
        self.l2 = l2
        self.time_scale = time_scale
        self.horizon = horizon
        self.roles = roles
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.trainer = trainer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_steps = n_steps
        self.persistent = persistent
        self.optimiser = optimiser
        self.centred = centred
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None) -> SurvivalHarmonium:
        """Fit to covariates and endpoints.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        y : DataFrame or structured array
            What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time) for one endpoint.
        validation : tuple (X, y), optional
            Its mean conditional log-likelihood and each endpoint's concordance go into ``history_``, and the parameters with the best
            likelihood are kept: these rows are then no test set any more.

        Returns
        -------
        self
        """
        conditional = self._check_settings()
        if self.early_stopping is not None and validation is None:
            raise ValueError("early_stopping needs validation data: fit(X, y, validation=(X_held_out, y_held_out))")
        known = parse_endpoints(y)
        start: Parameters | None = getattr(self, "parameters_", None) if self.warm_start else None
        if start is None:
            self._learn_encoding(X, known)
        recorded, entry = self._training_cells(X, known)
        rng = np.random.default_rng(self.random_state)
        exact = self._trains_exactly()
        with progress(self.verbose, None if exact else self.n_epochs) as listener:
            validate = None if validation is None else self._validation(*validation)
            history = History(listener, validate, self.early_stopping)
            trainer = Exact(self.l2, self.n_starts, self.max_iter) if exact else self._contrastive_trainer()
            objective = Objective(recorded, entry, conditional)
            fit = trainer.fit(objective, self.n_hidden, rng=rng, history=history, start=start, n_threads=self.n_jobs)
            self.parameters_, self.l2_, self.n_evaluations_ = fit.parameters, fit.l2, fit.n_evaluations
        self.history_ = history.to_frame()
        self.n_iter_ = max(1, len(self.history_))
        self.n_rows_ = recorded.n_rows
        self.evaluation_ = None if validation is None else self._on_validation_data()
        self.__dict__.pop("_contrastive_state", None)
        return self

    def partial_fit(self, X: Any, y: Any) -> SurvivalHarmonium:
        """One pass of the contrastive trainer over some rows.

        The first call decides on roles of columns, time scales and levels of categories.

        Parameters
        ----------
        X : DataFrame or array
        y : DataFrame or structured array

        Returns
        -------
        self
        """
        conditional = self._check_settings()
        known = parse_endpoints(y)
        rng = np.random.default_rng(self.random_state)
        if not hasattr(self, "encoding_"):
            self._learn_encoding(X, known)
        recorded, entry = self._training_cells(X, known)
        trainer = self._contrastive_trainer()
        state, start = self._contrastive_state, getattr(self, "parameters_", None)
        objective = Objective(recorded, entry, conditional)
        self._contrastive_state = trainer.partial_fit(objective, self.n_hidden, rng=rng, state=state, start=start)
        self.parameters_ = self._contrastive_state.parameters
        self.l2_, self.n_evaluations_, self.history_ = trainer.l2, 0, History().to_frame()
        self.n_rows_, self.n_iter_ = getattr(self, "n_rows_", 0) + recorded.n_rows, getattr(self, "n_iter_", 0) + 1
        self.evaluation_ = None
        return self

    def _learn_encoding(self, X: Any, known: Endpoints) -> None:
        self.encoding_ = Encoding.fit(X, known, self.roles, self.time_scale, self.horizon)
        self.endpoint_names_ = known.names
        self.event_times_ = {name: np.unique(known.lower[known.event[:, e], e]) for e, name in enumerate(known.names)}
        self.n_features_in_ = len(self.encoding_.columns)
        names = [column.name for column in self.encoding_.columns]
        if hasattr(self, "feature_names_in_"):
            delattr(self, "feature_names_in_")
        if all(isinstance(name, str) for name in names) and hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, dtype=object)

    def _training_cells(self, X: Any, known: Endpoints) -> tuple[Cells, Array]:
        covariates = self._covariates(X)
        if len(covariates) != len(known.lower):
            raise ValueError(f"X and y must have as many rows; found {len(covariates)} and {len(known.lower)}")
        if known.names != self.endpoint_names_:
            raise ValueError(f"y must have the endpoints {self.endpoint_names_}; found {known.names}")
        return self.encoding_.cells(covariates, *self.encoding_.times(ties_as_intervals(known))), self.encoding_.entry(known)

    def _trains_exactly(self) -> bool:
        if self.trainer == "exact" and self.n_hidden > EXACT_LIMIT:
            raise ValueError(
                f'the exact trainer takes at most {EXACT_LIMIT} hidden units; found {self.n_hidden}. Use trainer="contrastive"'
            )
        return self.trainer == "exact" or (self.trainer == "auto" and self.n_hidden <= EXACT_LIMIT)

    def _contrastive_trainer(self) -> Contrastive:
        return Contrastive(
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            n_steps=self.n_steps,
            persistent=self.persistent,
            l2=_CONTRASTIVE_L2 if self.l2 == "auto" else float(self.l2),
            optimizer=self.optimiser,
            centered=self.centred,
        )

    def _validation(self, X: Any, y: Any) -> Callable[[Parameters], dict[str, float]]:
        candidate, known = clone(self), self._endpoints(y)
        for name in ("encoding_", "endpoint_names_", "event_times_", "n_features_in_"):
            setattr(candidate, name, getattr(self, name))

        def metrics(parameters: Parameters) -> dict[str, float]:
            candidate.parameters_ = parameters
            by_name = {f"concordance {name}": concordance_index(y, candidate.predict(X, name), endpoint=name) for name in known.names}
            return {"validation": float(candidate.log_likelihood(X, y).mean()), **by_name}

        return metrics

    def _on_validation_data(self) -> dict[str, Any]:
        """Concordance where validation was best: of the parameters that were kept."""
        best = self.history_.loc[self.history_["validation"].idxmax()]
        scores = {name: {"C-index": float(best[f"concordance {name}"])} for name in self.endpoint_names_}
        return {"method": "validation data, by which the parameters were chosen", "scores": scores}

    def _check_settings(self) -> float:
        """Refuse settings that make no sense; return the objective's weight."""
        if not (isinstance(self.n_hidden, (int, np.integer)) and self.n_hidden >= 0):
            raise ValueError(f"n_hidden must be a whole number that is not negative; found {self.n_hidden!r}")
        if self.l2 != "auto" and not (isinstance(self.l2, (int, float)) and self.l2 >= 0.0):
            raise ValueError(f'l2 must be "auto" or a number that is not negative; found {self.l2!r}')
        for name, allowed in (("trainer", ("auto", "exact", "contrastive")), ("optimiser", ("sgd", "adam"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; found {getattr(self, name)!r}")
        weight = {"conditional": 1.0, "joint": 0.0}.get(self.objective, self.objective)  # type: ignore[arg-type]
        if not (isinstance(weight, (int, float)) and 0.0 <= weight <= 1.0):
            raise ValueError(f'objective must be "conditional", "joint" or a weight between 0 and 1; found {self.objective!r}')
        return float(weight)

    @property
    def paper_parameters_(self) -> dict[str, Array]:
        """The paper's W_A, a_A (Bernoulli), W_B, V, a_B, c (times), W_C, a_C, sigma (Gaussian) and b; categories excepted."""
        check_is_fitted(self, "parameters_")
        return self.parameters_.paper_parameters()

    def save(self, path: Any) -> None:
        """Write the model to one file, whole or not at all; :func:`harmonium.load` reads it.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self, "parameters_")
        save_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def load(path: Any) -> SurvivalHarmonium:
    """Read a model from a file that :meth:`SurvivalHarmonium.save` wrote. Executes no code.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SurvivalHarmonium

    Raises
    ------
    harmonium.model.storage.ModelFileError
        If the file is damaged, foreign, or written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib, harmonium as hm
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, n_starts=1, max_iter=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.harmonium"
    ...     model.save(path)
    ...     again = hm.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return load_model(path, SurvivalHarmonium)
