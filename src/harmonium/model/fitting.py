"""From a table to a fitted model: encode once, train, and keep what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.metrics.concordance import concordance_index
from harmonium.model.calibrating import calibrated
from harmonium.model.covariate_training import CovariateTraining, check_covariate_units, in_memory
from harmonium.model.endpoint_fitting import EndpointTable, endpoint_models
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.fitted import Fitted
from harmonium.model.generator import MOST_ROWS as GENERATOR_ROWS
from harmonium.model.generator import Generating, continued_jointly
from harmonium.model.on_demand import OnDemand
from harmonium.model.spread import Spread
from harmonium.model.spreading import spread_of
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.labels import check_index
from harmonium.table.row_weights import UNWEIGHTED, RowWeights, parse_weights, rows_left_out, with_positive_weight
from harmonium.table.unseen_courses import completed
from harmonium.training.canonical import CanonicalForm
from harmonium.training.choice import describe_trainer, hidden_units_for, trainer_named
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.penalised import Prior
from harmonium.training.progress import progress
from harmonium.training.samples import MANY_ROWS
from harmonium.training.ties import ties_as_intervals
from harmonium.training.trainer import Fit, Trainer
from harmonium.typing import Array

__all__ = ["Encoded", "Recipe", "TrainingTable", "encode_training_table", "fit_model"]


@dataclass(frozen=True)
class Recipe:
    """Everything that describes a model before it has seen data. See :class:`harmonium.SurvivalHarmonium` for the settings."""

    n_hidden: str | int
    objective: str | float
    time_scale: str
    horizon: float | Mapping[str, float] | None
    roles: Mapping[Any, str] | None
    trainer: str | Trainer
    numeric_scale: str = "scores"
    n_covariate_units: str | int = "auto"

    @classmethod
    def of(cls, estimator: Any) -> Recipe:
        """The settings of an estimator, which have the same names."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    @property
    def conditional(self) -> float:
        """Weight of the conditional likelihood."""
        given = isinstance(self.n_hidden, int | np.integer) and self.n_hidden >= 0
        if not (given or (isinstance(self.n_hidden, str) and self.n_hidden == "auto")):
            raise ValueError(f'n_hidden must be "auto" or a whole number that is not negative; found {self.n_hidden!r}')
        weight = {"conditional": 1.0, "joint": 0.0}.get(self.objective, self.objective)  # type: ignore[arg-type]
        if not (isinstance(weight, int | float) and 0.0 <= weight <= 1.0):
            raise ValueError(f'objective must be "conditional", "joint" or a weight between 0 and 1; found {self.objective!r}')
        return float(weight)

    def for_table(self, objective: Any, start: Fitted | None = None) -> Recipe:
        """With as many hidden units as a table can use, or as a model has from which training goes on, unless their number is given."""
        if not isinstance(self.n_hidden, str):
            return self
        return replace(self, n_hidden=hidden_units_for(objective) if start is None else start.n_hidden)

    def resolved(self) -> Trainer:
        """The trainer, whose name may have been given."""
        n_hidden = 0 if isinstance(self.n_hidden, str) else int(self.n_hidden)
        trainer = trainer_named(self.trainer, n_hidden)
        check_covariate_units(self.n_covariate_units, n_hidden, self.conditional, trainer)
        return trainer

    def settings(self, random_state: Any) -> dict[str, Any]:
        """What a model file keeps of it."""
        return {
            "n_hidden": int(self.n_hidden),
            "n_covariate_units": self.n_covariate_units if isinstance(self.n_covariate_units, str) else int(self.n_covariate_units),
            "objective": self.objective,
            "time_scale": self.time_scale,
            "numeric_scale": self.numeric_scale,
            "horizon": dict(self.horizon) if isinstance(self.horizon, Mapping) else self.horizon,
            "roles": None if self.roles is None else dict(self.roles),
            "trainer": describe_trainer(self.resolved()),
            "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
        }


class TrainingTable(Protocol):
    """An encoded training table, wherever its rows are."""

    @property
    def encoding(self) -> Encoding:
        """What was learned from it."""

    @property
    def n_rows(self) -> int:
        """How many rows."""

    def objective(self, conditional: float) -> Any:
        """What the trainer maximises."""


@dataclass(frozen=True)
class Encoded:
    """A training table, encoded.

    ``whole_rows`` says that training cannot take parts of rows, as which courses count that were not seen to their end.
    """

    encoding: Encoding
    covariates: Array
    known: Endpoints
    weights: RowWeights = UNWEIGHTED
    whole_rows: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.covariates)

    def objective(self, conditional: float) -> Objective:
        """The objective of training, in which tied event times are intervals, and a course that was not seen to its end is several."""
        found = completed(self.known, self.weights, whole=self.whole_rows)
        covariates = self.covariates if found.y is self.known else self.covariates[found.rows]
        cells = self.encoding.cells(covariates, found.y, partial(ties_as_intervals, weights=found.weights))
        entry, subjects = self.encoding.entry(found.y), found.weights.values
        if subjects is None:
            return Objective(cells, entry, conditional)
        return WeightedObjective(cells, entry, conditional, weights=subjects, subjects=subjects)


def encode_training_table(recipe: Recipe, X: Any, y: Any, start: Fitted | None = None, sample_weight: Any = None) -> Encoded:
    """Learn the encoding from a table, or take that of a model from which training goes on; rows of weight zero are left out."""
    check_index(X, y)
    X, y, values = with_positive_weight(X, y, sample_weight)
    with rows_left_out(sample_weight, values):
        return _encoded(recipe, X, parse_endpoints(y), start, values)


def _encoded(recipe: Recipe, X: Any, known: Endpoints, start: Fitted | None, values: Array | None) -> Encoded:
    if known.terminal and not isinstance(recipe.n_hidden, str) and recipe.n_hidden > EXACT_LIMIT:
        raise ValueError(f"where an endpoint is terminal, at most {EXACT_LIMIT} hidden units are possible; found {recipe.n_hidden}")
    weights, whole_rows = RowWeights.of(values, X, known), not isinstance(recipe.resolved(), Exact)
    if start is None:
        learned = Encoding.learn(X, known, recipe.roles, recipe.time_scale, recipe.horizon, recipe.numeric_scale, weights)
        return Encoded(*learned, known, weights, whole_rows)
    if recipe.n_hidden not in ("auto", start.n_hidden):
        raise ValueError(f"a warm start needs as many hidden units as before; found {start.n_hidden} and {recipe.n_hidden}")
    known, names = known.in_unit(start.encoding.unit), start.encoding.endpoint_names
    if known.names != names:
        raise ValueError(f"y must have the endpoints {names}; found {known.names}")
    encoding = start.encoding.in_training()
    covariates = encoding.covariates(X)
    if len(covariates) != len(known.lower):
        raise ValueError(f"X and y must have as many rows; found {len(covariates)} and {len(known.lower)}")
    return Encoded(encoding, covariates, known, weights, whole_rows)


def fit_model(
    recipe: Recipe,
    table: TrainingTable,
    *,
    start: Fitted | None = None,
    validation: tuple[Any, ...] | None = None,
    patience: int | None = None,
    verbose: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    what: str = "",
) -> tuple[Fitted, pd.DataFrame]:
    """Train on an encoded table; returns the model and the history of training.

    With ``validation`` the parameters are kept whose conditional log-likelihood on these rows is best, and training stops once it has
    not improved ``patience`` times.
    """
    own, asked_for = table.objective(recipe.conditional), recipe
    recipe = recipe.for_table(own, start)
    trainer, n_hidden = recipe.resolved(), int(recipe.n_hidden)
    form = _canonical_form(own, trainer)
    objective = own if form is None else form.of_objective(own)
    if patience is not None and validation is None:
        raise ValueError("early_stopping needs validation data: fit(X, y, validation=(X_held_out, y_held_out))")
    covariates = CovariateTraining.of(objective, trainer, n_hidden, recipe.conditional, recipe.n_covariate_units)
    validate = None if validation is None else _validation(table.encoding, validation, covariates, form, n_jobs)
    rng = np.random.default_rng(random_state)
    with progress(verbose, what) as listener:
        history = History(listener, validate, patience)
        found = trainer.fit(
            objective,
            n_hidden,
            rng=rng,
            history=history,
            start=None if start is None else start.parameters if form is None else form.from_table(start.parameters),
            n_threads=n_jobs,
        )
        units = None
        if covariates is not None and validation is None:
            found, units = covariates.in_turn(found, trainer, History(listener), n_jobs)
        elif covariates is not None:
            units = covariates.units(found.parameters)
    parameters, units = _in_own_terms(form, found.parameters, units)
    rows = history.to_frame()
    training = TrainingSummary(
        settings=recipe.settings(random_state),
        n_rows=table.n_rows,
        n_iter=max(1, len(rows)),
        n_evaluations=found.n_evaluations,
        n_passes=found.n_passes,
        l2=found.l2.typical if isinstance(found.l2, Prior) else found.l2,
        converged=found.converged,
        evaluation=None if validation is None else _on_validation_data(rows, table.encoding.endpoint_names),
    )
    some = in_memory(own, GENERATOR_ROWS)
    encoding = calibrated(table.encoding, parameters, units, some, n_jobs)
    generating = _generating(some, parameters, units, trainer, random_state, n_jobs)
    model = Fitted(encoding, parameters, training, n_jobs, units, generating)
    rivals = tuple(rival if form is None else form.to_table(rival) for rival in found.rivals)
    model = replace(model, spreading=_spreading(model, some, replace(found, rivals=rivals)))
    if validation is not None or not isinstance(table, Encoded) or not isinstance(trainer, Exact) or recipe.conditional < 1.0:
        return model, rows
    models = _endpoint_models(asked_for, table, verbose=verbose, random_state=random_state, n_jobs=n_jobs)
    return model if models is None else _with_endpoint_models(model, models), rows


def _endpoint_models(recipe: Recipe, table: Encoded, **options: Any) -> EndpointModels | None:
    """Where an endpoint is terminal, a model of each endpoint, trained as any other."""

    def fit(own: EndpointTable) -> Fitted:
        settings = replace(recipe, roles=None, horizon=None, time_scale="kaplan-meier")
        return fit_model(settings, Encoded(own.encoding, own.covariates, own.known, own.weights), what=own.known.names[0], **options)[0]

    return endpoint_models(
        table.encoding.in_training(),
        table.covariates,
        table.known,
        table.weights,
        time_scale=recipe.time_scale,
        horizon=recipe.horizon,
        numeric_scale=recipe.numeric_scale,
        fit=fit,
    )


def _with_endpoint_models(model: Fitted, models: EndpointModels) -> Fitted:
    """A model has converged if all its parts have."""
    converged = model.training.converged and models.converged
    return replace(model, endpoint_models=models, training=replace(model.training, converged=converged))


def _spreading(model: Fitted, rows: Objective, found: Fit) -> OnDemand[Spread] | None:
    """How far the parameters may be from where they are; holds on to the training rows until it is asked for."""
    if isinstance(found.l2, Mapping) or found.converged is None:  # nothing was maximised
        return None
    return OnDemand(partial(spread_of, replace(model, generating=None), rows, found.l2, found.rivals))


def _canonical_form(objective: Any, trainer: Trainer) -> CanonicalForm | None:
    """Of a table in memory whose fit is to depend on nothing but what it says; not of a large one, of which there would be two."""
    small = isinstance(objective, Objective) and objective.n_rows < MANY_ROWS
    return CanonicalForm.of(objective) if small and isinstance(trainer, Exact) else None


def _in_own_terms(
    form: CanonicalForm | None, parameters: Parameters, units: CovariateUnits | None
) -> tuple[Parameters, CovariateUnits | None]:
    """What was learned from a table in canonical form, for the table as it was written."""
    if form is None:
        return parameters, units
    return form.to_table(parameters), None if units is None else form.units_to_table(units)


def _generating(
    rows: Objective, parameters: Parameters, units: CovariateUnits | None, trainer: Trainer, random_state: Any, n_jobs: int | None
) -> Generating:
    """What imputations and cohorts will be drawn from; holds on to the training rows until then."""
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    return Generating(partial(continued_jointly, rows, parameters, units, trainer, seed, n_jobs))


def _validation(
    encoding: Encoding, validation: tuple[Any, ...], training: CovariateTraining | None, form: CanonicalForm | None, n_jobs: int | None
) -> Callable[[Parameters], dict[str, float]]:
    """Metrics of parameters on validation data, which are encoded once; where values are missing, with covariate units that go along."""
    if len(validation) not in (2, 3):
        raise ValueError(f"validation must be (X, y) or (X, y, sample_weight); found a tuple of {len(validation)}")
    X, y = validation[:2]
    known, covariates = parse_endpoints(y).in_unit(encoding.unit), encoding.covariates(X)
    weights = parse_weights(validation[2] if len(validation) == 3 else None, len(covariates), getattr(X, "index", None))
    with_gaps = bool(np.isnan(covariates).any())
    if known.names != encoding.endpoint_names:
        raise ValueError(f"y must have the endpoints {encoding.endpoint_names}; found {known.names}")
    check_index(X, y)

    def metrics(parameters: Parameters) -> dict[str, float]:
        units = training.units(parameters) if with_gaps and training is not None else None
        own, units = _in_own_terms(form, parameters, units)
        candidate = Fitted(encoding, own, TrainingSummary(), n_jobs, units)
        prognosis = candidate.ask(covariates, None)
        by_name = {
            f"concordance {name}": concordance_index(y, prognosis.risk(name), endpoint=name, sample_weight=weights) for name in known.names
        }
        likelihood = candidate.log_likelihood_of(covariates, known, "conditional")
        return {"validation": float(np.average(likelihood, weights=weights)), **by_name}

    return metrics


def _on_validation_data(history: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Concordance where validation was best: of the parameters that were kept."""
    best = history.loc[history["validation"].idxmax()]
    scores = {name: {"concordance": float(best[f"concordance {name}"])} for name in names}
    return {"method": "validation data, by which the parameters were chosen", "scores": scores}


def grown(model: Fitted, parameters: Parameters, n_rows: int) -> Fitted:
    """The model after one more pass over some rows."""
    training = replace(model.training, n_rows=model.training.n_rows + n_rows, n_iter=model.training.n_iter + 1, evaluation=None)
    return replace(model, parameters=parameters, training=training, spreading=None)
