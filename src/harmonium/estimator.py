"""The estimator: from a DataFrame to a fitted model, in the manner of scikit-learn and scikit-survival. No mathematics here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import RegressorTags
from sklearn.utils.validation import check_is_fitted

from harmonium.engine.parameters import Parameters
from harmonium.model.explanation import code_names
from harmonium.model.fitted import Fitted
from harmonium.model.fitting import Recipe, encode_training_table, fit_model, grown
from harmonium.model.survival_model import SurvivalModel
from harmonium.model.training_summary import TrainingSummary
from harmonium.model.words import model_html
from harmonium.table.encoding import Encoding
from harmonium.training.contrastive import Contrastive, ContrastiveState
from harmonium.training.trainer import Trainer
from harmonium.typing import Array

__all__ = ["SurvivalHarmonium"]


class SurvivalHarmonium(SurvivalModel, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Joint model of several endpoints and covariates, of which values may be missing.

    Parameters
    ----------
    n_hidden : "auto" or int
        Binary hidden units. "auto": four, and six from a thousand events of an endpoint on.
    n_covariate_units : "auto" or int
        Hidden units that couple to covariates only: they learn how covariates are distributed, which decides what a missing value means,
        and leave predictions for complete rows as they are. "auto" lets the table choose. With another objective than "conditional", and
        with the contrastive trainer, there are none.
    objective : "conditional", "joint" or float
        What is maximised: the likelihood of the times given the covariates, of both together, or a weight of the former between 0
        (joint) and 1 (conditional). "joint" is the paper's model, and predicts less well; imputing and generating do not need it.
    time_scale : "kaplan-meier", "linear" or "log"
        How time is mapped to the unit interval.
    horizon : float or mapping of endpoint to float, optional
        Where the time scale ends; by default just beyond the last observed time, or nowhere ("kaplan-meier").
    numeric_scale : "scores" or "linear"
        How numbers are mapped to those that a Gaussian unit takes: smooth normal scores, or standard deviations from the mean (the
        paper's).
    roles : mapping, optional
        Roles of columns, where they should not be inferred: "numeric", "binary", "categorical" or "ignored".
    trainer : "auto", "exact", "contrastive", Exact or Contrastive
        Exact likelihood, or the paper's contrastive divergence, which takes any number of hidden units; "auto" is exact while the
        hidden states can be enumerated. A trainer owns its settings and its penalty: ``hm.Exact(l2=1.0)``.
    warm_start : bool
        Continue from the parameters of the last fit.
    early_stopping : int, optional
        With validation data, stop once their log-likelihood has not improved this many times (it is looked at every ten iterations).
    verbose : bool
        Show progress on standard error.
    random_state : int or numpy.random.Generator, optional
    n_jobs : int, optional
        Threads; None and -1 mean as many as there are cores. Results do not depend on it.

    Attributes
    ----------
    fitted_ : Fitted
        The fitted model: what :meth:`save` writes.
    history_ : DataFrame
        Progress of the optimiser.
    encoding_ : Encoding
        Roles and encodings of columns, time scales of endpoints.
    parameters_ : Parameters
        Parameters of the prognostic units.
    paper_parameters_ : dict
        Parameters of all hidden units under the paper's names.
    endpoint_names_ : tuple of str
    event_times_ : dict
        Distinct event times of each endpoint in training, where answers are given by default. An event within an interval counts at its
        later bound; of an endpoint without events, it is the last observed time.
    n_covariate_units_ : int
        Hidden units that couple to covariates only.
    converged_ : bool or None
        Whether the optimiser met its criterion; None for the contrastive trainer, which has none.
    l2_ : float
        The precision used; where the data chose one for each covariate, their geometric mean.
    n_rows_ : int
        Rows in training.
    n_iter_ : int
        Iterations of the optimiser, or epochs.
    n_evaluations_ : int
        Exact gradients computed, of all rows or of a sample.
    n_passes_ : int
        Exact gradients of all rows.
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

    def __init__(
        self,
        n_hidden: str | int = "auto",
        *,
        n_covariate_units: str | int = "auto",
        objective: str | float = "conditional",
        time_scale: str = "kaplan-meier",
        horizon: float | Mapping[str, float] | None = None,
        numeric_scale: str = "scores",
        roles: Mapping[Any, str] | None = None,
        trainer: str | Trainer = "auto",
        warm_start: bool = False,
        early_stopping: int | None = None,
        verbose: bool = False,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_covariate_units = n_covariate_units
        self.objective = objective
        self.time_scale = time_scale
        self.horizon = horizon
        self.numeric_scale = numeric_scale
        self.roles = roles
        self.trainer = trainer
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- training ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: tuple[Any, ...] | None = None) -> SurvivalHarmonium:
        """Fit to covariates and endpoints.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; values may be missing.
        y : DataFrame or structured array
            What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time) for one endpoint.
        sample_weight : array_like of shape (n_rows,), optional
            For how many subjects each row stands: a weight of two is the row twice, of zero none. The prior counts their sum as the number
            of subjects, so weights that only say which rows matter more, such as inverse probabilities, should have the mean 1.
        validation : tuple (X, y) or (X, y, sample_weight), optional
            Its mean conditional log-likelihood and each endpoint's concordance go into ``history_``, and the parameters with the best
            likelihood are kept: these rows are then no test set any more.

        Returns
        -------
        self
        """
        recipe = self.recipe()
        start: Fitted | None = getattr(self, "fitted_", None) if self.warm_start else None
        table = encode_training_table(recipe, X, y, start, sample_weight)
        self.fitted_, self.history_ = fit_model(
            recipe,
            table,
            start=start,
            validation=validation,
            patience=self.early_stopping,
            verbose=self.verbose,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._name_features(X)
        self.__dict__.pop("_contrastive", None)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> SurvivalHarmonium:
        """One pass of the contrastive trainer over some rows.

        The first call decides on roles of columns, time scales and levels of categories.

        Parameters
        ----------
        X : DataFrame or array
        y : DataFrame or structured array
        sample_weight : array_like of shape (n_rows,), optional
            How often each row is there: whole numbers.

        Returns
        -------
        self
        """
        recipe = self.recipe()
        trainer = recipe.trainer if isinstance(recipe.trainer, Contrastive) else Contrastive()
        known: Fitted | None = getattr(self, "fitted_", None)
        table = encode_training_table(recipe, X, y, known, sample_weight)
        objective = table.objective(recipe.conditional)
        recipe = recipe.for_table(objective, known)
        self._contrastive: ContrastiveState = trainer.partial_fit(
            objective,
            int(recipe.n_hidden),
            rng=np.random.default_rng(self.random_state),
            state=self.__dict__.get("_contrastive"),
            start=None if known is None else known.parameters,
        )
        parameters = self._contrastive.parameters
        if known is None:
            summary = TrainingSummary(settings=recipe.settings(self.random_state), l2=trainer.l2)
            known = Fitted(table.encoding, parameters, summary, self.n_jobs)
            self.history_ = pd.DataFrame()
        self.fitted_ = grown(known, parameters, len(table.covariates))
        self._name_features(X)
        return self

    def recipe(self) -> Recipe:
        """The settings that describe the model."""
        return Recipe.of(self)

    def _name_features(self, X: Any) -> None:
        names = [column.name for column in self.encoding_.columns]
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in names) and hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, dtype=object)

    # --- what was fitted ---

    @property
    def fitted(self) -> Fitted:
        """The fitted model that answers."""
        check_is_fitted(self, "fitted_")
        model: Fitted = self.fitted_.with_jobs(self.n_jobs)
        return model

    @property
    def encoding_(self) -> Encoding:
        """Roles and encodings of columns, time scales of endpoints."""
        return self.fitted_.encoding

    @property
    def parameters_(self) -> Parameters:
        """Parameters of the prognostic units."""
        return self.fitted_.parameters

    @property
    def endpoint_names_(self) -> tuple[str, ...]:
        """In the order of the training table."""
        return self.fitted_.encoding.endpoint_names

    @property
    def event_times_(self) -> dict[str, Array]:
        """Distinct event times of each endpoint in training."""
        return {endpoint.name: endpoint.event_times for endpoint in self.fitted_.encoding.endpoints}

    @property
    def n_features_in_(self) -> int:
        """Covariates in training."""
        return len(self.fitted_.encoding.columns)

    @property
    def n_covariate_units_(self) -> int:
        """Hidden units that couple to covariates only."""
        return self.fitted_.n_covariate_units

    @property
    def converged_(self) -> bool | None:
        """Whether the optimiser met its criterion."""
        return self.fitted_.training.converged

    @property
    def l2_(self) -> Any:
        """The precision, or penalty, that was used."""
        return self.fitted_.training.l2

    @property
    def n_rows_(self) -> int:
        """Rows in training."""
        return self.fitted_.training.n_rows

    @property
    def n_iter_(self) -> int:
        """Iterations of the optimiser, or epochs."""
        return self.fitted_.training.n_iter

    @property
    def n_evaluations_(self) -> int:
        """Exact gradients computed, of all rows or of a sample."""
        return self.fitted_.training.n_evaluations

    @property
    def n_passes_(self) -> int:
        """Exact gradients of all rows."""
        return self.fitted_.training.n_passes

    @property
    def evaluation_(self) -> Mapping[str, Any] | None:
        """How well the model predicts rows that it was not fitted to, if that was measured."""
        return self.fitted_.training.evaluation

    # --- scikit-learn ---

    def transform(self, X: Any, *, given: Any = None) -> Array:
        """Latent codes: p(h = 1) of every hidden unit (eq. 7), (rows, hidden units)."""
        return super().transform(X, given=given)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the latent codes: hidden0, hidden1, ..."""
        return code_names(self.fitted)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """What a notebook shows: scikit-learn's diagram, and the model itself once it is fitted."""
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "fitted_"):
            shown["text/html"] = model_html(self.fitted_, repr(self))
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"  # of risk; partial_dependence asks for it
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
