"""From a table to a fitted model: encode once, train, and keep what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.metrics.concordance import concordance_index
from harmonium.model.calibrating import calibrated
from harmonium.model.endpoint_tables import EndpointSettings, EndpointTable
from harmonium.model.fitted import Fitted
from harmonium.model.generating import Generator
from harmonium.model.generator import MOST_ROWS as GENERATOR_ROWS
from harmonium.model.generator import continued_histories, continued_jointly
from harmonium.model.joint_training import (
    CovariateModel,
    CovariatesBeside,
    JointTraining,
    check_covariate_units,
    fit_covariates,
    in_memory,
    in_memory_subjects,
)
from harmonium.model.on_demand import OnDemand
from harmonium.model.spread import Spread
from harmonium.model.spreading import spread_of
from harmonium.model.training_summary import Evaluation, Settings, TrainingSummary
from harmonium.model.training_table import Encoded, TrainingTable
from harmonium.model.transitions import EndpointModel, Transitions
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.labels import check_index
from harmonium.table.row_weights import RowWeights, parse_weights, rows_left_out, with_positive_weight
from harmonium.training.canonical import CanonicalForm
from harmonium.training.choice import describe_trainer, hidden_units_for, trainer_named
from harmonium.training.completed import CompletedObjective
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.penalised import Prior
from harmonium.training.progress import progress
from harmonium.training.samples import MANY_ROWS
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

    def settings(self, random_state: Any) -> Settings:
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


def encode_training_table(recipe: Recipe, X: Any, y: Any, start: Fitted | None = None, sample_weight: Any = None) -> Encoded:
    """Learn the encoding from a table, or take that of a model from which training goes on; rows of weight zero are left out."""
    check_index(X, y)
    X, y, values = with_positive_weight(X, y, sample_weight)
    with rows_left_out(sample_weight, values):
        return _encoded(recipe, X, parse_endpoints(y), start, values)


def _encoded(recipe: Recipe, X: Any, known: Endpoints, start: Fitted | None, values: Array | None) -> Encoded:
    if known.terminal and not isinstance(recipe.n_hidden, str) and recipe.n_hidden > EXACT_LIMIT:
        raise ValueError(f"where an endpoint is terminal, at most {EXACT_LIMIT} hidden units are possible; found {recipe.n_hidden}")
    recipe.resolved()
    weights = RowWeights.of(values, X, known)
    if start is None:
        learned = Encoding.learn(X, known, recipe.roles, recipe.time_scale, recipe.horizon, recipe.numeric_scale, weights)
        return Encoded(*learned, known, weights)
    if recipe.n_hidden not in ("auto", start.n_hidden):
        raise ValueError(f"a warm start needs as many hidden units as before; found {start.n_hidden} and {recipe.n_hidden}")
    known, names = known.in_unit(start.encoding.unit), start.encoding.endpoint_names
    if known.names != names:
        raise ValueError(f"y must have the endpoints {names}; found {known.names}")
    encoding = start.encoding.in_training()
    covariates = encoding.covariates(X)
    if len(covariates) != len(known.lower):
        raise ValueError(f"X and y must have as many rows; found {len(covariates)} and {len(known.lower)}")
    return Encoded(encoding, covariates, known, weights)


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
) -> tuple[Fitted, pd.DataFrame]:
    """Train on an encoded table; returns the model and the history of training.

    With ``validation`` the parameters are kept whose conditional log-likelihood on these rows is best, and training stops once it has
    not improved ``patience`` times.
    """
    if patience is not None and validation is None:
        raise ValueError("early_stopping needs validation data: fit(X, y, validation=(X_held_out, y_held_out))")
    options: dict[str, Any] = {"verbose": verbose, "random_state": random_state, "n_jobs": n_jobs}
    if table.encoding.ordered is not None:
        if validation is not None:
            raise ValueError(
                "where an endpoint is terminal, each endpoint has a harmonium of its own, and validation data are of no use; leave them out"
            )
        return _fit_histories(recipe, table, start, **options)
    own = table.objective(recipe.conditional)
    recipe = recipe.for_table(own, start)
    trainer, n_hidden = recipe.resolved(), int(recipe.n_hidden)
    form = _canonical_form(own, trainer)
    objective = own if form is None else form.of_objective(own)
    covariates = CovariatesBeside.of(objective, trainer, n_hidden, recipe.conditional, recipe.n_covariate_units)
    validate = None if validation is None else _validation(table.encoding, validation, covariates, form, n_jobs)
    rng = np.random.default_rng(random_state)
    first = None if start is None else start.parameters if form is None else form.from_table(start.parameters)
    with progress(verbose) as listener:
        history = History(listener, validate, patience)
        found = trainer.fit(objective, n_hidden, rng=rng, history=history, start=first, n_threads=n_jobs)
        complete: WeightedObjective | None = None
        if covariates is not None:
            covariates = covariates.fitted(found.parameters)
            incomplete = isinstance(objective, Objective) and incomplete_rows(objective.recorded).any()
            if incomplete and validation is None and found.converged and isinstance(trainer, Exact):
                training = JointTraining.of_rows(objective, found.parameters, covariates, n_jobs)
                (found,), covariates, (complete,) = _in_turn(training, covariates, [trainer], [found], listener, n_jobs)
    parameters, units = _in_own_terms(form, found.parameters, None if covariates is None else covariates.units)
    rows = history.to_frame()
    evaluation = None if validation is None else _on_validation_data(rows, table.encoding.endpoint_names)
    summary = replace(_summary(recipe, random_state, table.n_rows, [found], len(rows)), evaluation=evaluation)
    some = in_memory(own, GENERATOR_ROWS)
    encoding = calibrated(table.encoding, parameters, units, some, n_jobs)
    generating = _generating(some, parameters, units, trainer, random_state, n_jobs)
    model = Fitted(encoding, parameters, summary, n_jobs, units, generating)
    spread_rows = some if complete is None else in_memory_subjects(complete if form is None else form.rows_to_table(complete))
    found = replace(found, rivals=tuple(rival if form is None else form.to_table(rival) for rival in found.rivals))
    return replace(model, spreading=_spreading(model, spread_rows, found)), rows


def _fit_histories(
    recipe: Recipe, table: TrainingTable, start: Fitted | None, *, verbose: bool, random_state: Any, n_jobs: int | None
) -> tuple[Fitted, pd.DataFrame]:
    """Train a distribution of covariates and a harmonium for each of several ordered endpoints.

    Subjects of whom something is not known are completed only if the rows are in memory.
    """
    study, conditional = table.encoding, recipe.conditional
    assert study.ordered is not None
    covariates = fit_covariates(study.layout, partial(table.objective, conditional), recipe.n_covariate_units)
    whole = not isinstance(recipe.resolved(), Exact)
    settings = EndpointSettings(conditional, recipe.time_scale, recipe.horizon, recipe.numeric_scale, whole)
    tables = table.endpoint_tables(settings)
    parts = [_search(recipe, own, e, start, verbose, random_state, n_jobs) for e, own in enumerate(tables)]
    fits, histories, trainers = [fit for fit, _, _ in parts], [own for _, own, _ in parts], [trainer for _, _, trainer in parts]
    some = table.subjects(GENERATOR_ROWS)
    here = some is table
    theirs = tables if here else [own.of_subjects(study, some.covariates, some.known, conditional) for own in tables]
    training = JointTraining.of_histories(study, covariates, theirs, some.covariates, some.known, some.weights, n_jobs)
    rows: list[Objective] = [own.objective if isinstance(own.objective, Objective) else in_memory(own.objective) for own in tables]
    exact = all(isinstance(trainer, Exact) for trainer in trainers)
    if here and exact and conditional == 1.0 and not training.is_certain and all(fit.converged for fit in fits):
        begin = _before(start, tables) or [fit.parameters for fit in fits]
        fits = [replace(fit, parameters=own) for fit, own in zip(fits, begin, strict=True)]
        with progress(verbose, "all endpoints in turn") as listener:
            fits, covariates, rows = _in_turn(training, covariates, trainers, fits, listener, n_jobs)
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    generators = _generators(training, [fit.parameters for fit in fits], covariates, seed, n_jobs) if exact else None
    models = []
    for e, (own, fit, seen) in enumerate(zip(tables, fits, rows, strict=True)):
        n_iter = len(histories[e])
        summary = _summary(replace(recipe, n_hidden=fit.parameters.n_hidden), random_state, own.objective.n_rows, [fit], n_iter)
        alone = Fitted(own.form.encoding, fit.parameters, summary, n_jobs)
        uncertainty = _spreading(alone, in_memory_subjects(seen), fit, by_rows=not incomplete_rows(seen.recorded).any())
        generating = None if generators is None else OnDemand(partial(_part_of, generators, e + 1))
        models.append(EndpointModel(own.form.scales, own.form.columns, own.form.encoding, fit.parameters, summary, uncertainty, generating))
    largest = replace(recipe, n_hidden=max(fit.parameters.n_hidden for fit in fits))
    summary = _summary(largest, random_state, table.n_rows, fits, sum(map(len, histories)))
    transitions = Transitions(study.ordered.graph, tuple(models))
    made = None if generators is None else OnDemand(partial(_part_of, generators, 0))
    fitted = Fitted(study, covariates.parameters, summary, n_jobs, covariates.units, made, transitions=transitions)
    return fitted, pd.concat(histories, ignore_index=True)


def _in_turn(
    training: JointTraining, covariates: Any, trainers: Sequence[Trainer], fits: Sequence[Fit], listener: Any, n_jobs: int | None
) -> tuple[list[Fit], Any, list[Any]]:
    """Fits by the likelihood of what was observed, from where they are and under the priors that were chosen for them."""
    found = list(fits)

    def again(e: int, objective: CompletedObjective, at: Parameters) -> Parameters:
        before, further = found[e], clone(trainers[e]).set_params(l2=found[e].l2, n_starts=1, sample_rows=None)
        fit = further.fit(objective, at.n_hidden, rng=np.random.default_rng(0), history=History(listener), start=at, n_threads=n_jobs)
        counts = before.n_evaluations + fit.n_evaluations, before.n_passes + fit.n_passes
        found[e] = Fit(fit.parameters, fit.converged, before.l2, *counts, before.rivals)
        return found[e].parameters

    _, covariates, rows = training.in_turn([fit.parameters for fit in fits], covariates, again)
    return found, covariates, rows


def _before(start: Fitted | None, tables: Sequence[EndpointTable]) -> list[Parameters] | None:
    """Parameters from which training goes on; None if there are none for these columns, some of which say which state it is."""
    if start is None or start.transitions is None:
        return None
    found = [model.parameters for model in start.transitions.models]
    fit = all(own.layout == table.objective.layout for own, table in zip(found, tables, strict=True))
    return found if fit else None


def _search(
    recipe: Recipe, table: EndpointTable, e: int, start: Fitted | None, verbose: bool, random_state: Any, n_jobs: int | None
) -> tuple[Fit, pd.DataFrame, Trainer]:
    """The optimum of one endpoint's table as it was recorded, its history, and the trainer."""
    before = None if start is None or start.transitions is None else start.transitions.models[e].parameters
    own = table.objective
    recipe = recipe if before is None else replace(recipe, n_hidden=before.n_hidden)
    recipe = recipe.for_table(own)
    trainer, name = recipe.resolved(), table.form.encoding.endpoint_names[0]
    form = _canonical_form(own, trainer)
    objective = own if form is None else form.of_objective(own)
    if before is not None and before.layout != own.layout:
        before = None  # other columns say which state it is
    first = None if before is None else before if form is None else form.from_table(before)
    rng = np.random.default_rng(random_state)
    with progress(verbose, name) as listener:
        history = History(listener)
        found = trainer.fit(objective, int(recipe.n_hidden), rng=rng, history=history, start=first, n_threads=n_jobs)
    rivals = tuple(rival if form is None else form.to_table(rival) for rival in found.rivals)
    parameters, _ = _in_own_terms(form, found.parameters, None)
    return replace(found, parameters=parameters, rivals=rivals), history.to_frame().assign(endpoint=name), trainer


def _generators(
    training: JointTraining, parameters: list[Parameters], covariates: CovariateModel, seed: int, n_jobs: int | None
) -> OnDemand[tuple[Generator, ...]]:
    """What imputations and cohorts will be drawn from; holds on to the training rows until then."""
    return OnDemand(partial(continued_histories, training.thinned(GENERATOR_ROWS), parameters, covariates, seed, n_jobs))


def _part_of(generators: OnDemand[tuple[Generator, ...]], number: int) -> Generator:
    return generators.value[number]


def _summary(recipe: Recipe, random_state: Any, n_rows: int, fits: Sequence[Fit], n_iter: int) -> TrainingSummary:
    """How fits came about."""
    l2 = [fit.l2.typical if isinstance(fit.l2, Prior) else fit.l2 for fit in fits]
    numbers, converged = [own for own in l2 if not isinstance(own, Mapping)], [fit.converged for fit in fits]
    return TrainingSummary(
        settings=recipe.settings(random_state),
        n_rows=n_rows,
        n_iter=max(1, n_iter),
        n_evaluations=sum(fit.n_evaluations for fit in fits),
        n_passes=sum(fit.n_passes for fit in fits),
        l2=l2[0] if len(l2) == 1 or len(numbers) < len(l2) else float(np.exp(np.mean(np.log(np.maximum(numbers, 1e-300))))),
        converged=None if None in converged else all(converged),
    )


def _spreading(model: Fitted, rows: Objective, found: Fit, *, by_rows: bool = False) -> OnDemand[Spread] | None:
    """How far the parameters may be from where they are; holds on to the training rows until it is asked for."""
    if isinstance(found.l2, Mapping) or found.converged is None:  # nothing was maximised
        return None
    return OnDemand(partial(spread_of, replace(model, generating=None), rows, found.l2, found.rivals, by_rows=by_rows))


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
) -> OnDemand[Generator]:
    """What imputations and cohorts will be drawn from; holds on to the training rows until then."""
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    return OnDemand(partial(continued_jointly, rows, parameters, units, trainer, seed, n_jobs))


def _validation(
    encoding: Encoding, validation: tuple[Any, ...], covariates: CovariatesBeside | None, form: CanonicalForm | None, n_jobs: int | None
) -> Callable[[Parameters], dict[str, float]]:
    """Metrics of parameters on validation data, which are encoded once; where values are missing, with covariate units that go along."""
    if len(validation) not in (2, 3):
        raise ValueError(f"validation must be (X, y) or (X, y, sample_weight); found a tuple of {len(validation)}")
    X, y = validation[:2]
    known, values = parse_endpoints(y).in_unit(encoding.unit), encoding.covariates(X)
    weights = parse_weights(validation[2] if len(validation) == 3 else None, len(values), getattr(X, "index", None))
    with_gaps = bool(np.isnan(values).any())
    if known.names != encoding.endpoint_names:
        raise ValueError(f"y must have the endpoints {encoding.endpoint_names}; found {known.names}")
    check_index(X, y)

    def metrics(parameters: Parameters) -> dict[str, float]:
        units = covariates.fitted(parameters).units if with_gaps and covariates is not None else None
        own, units = _in_own_terms(form, parameters, units)
        candidate = Fitted(encoding, own, TrainingSummary(), n_jobs, units)
        prognosis = candidate.ask(values, None)
        by_name = {
            f"concordance {name}": concordance_index(y, prognosis.risk(name), endpoint=name, sample_weight=weights) for name in known.names
        }
        likelihood = candidate.log_likelihood_of(values, known, "conditional")
        return {"validation": float(np.average(likelihood, weights=weights)), **by_name}

    return metrics


def _on_validation_data(history: pd.DataFrame, names: tuple[str, ...]) -> Evaluation:
    """Concordance where validation was best: of the parameters that were kept."""
    best = history.loc[history["validation"].idxmax()]
    scores = {name: {"concordance": float(best[f"concordance {name}"])} for name in names}
    return {"method": "validation data, by which the parameters were chosen", "scores": scores}


def grown(model: Fitted, parameters: Parameters, n_rows: int) -> Fitted:
    """The model after one more pass over some rows."""
    training = replace(model.training, n_rows=model.training.n_rows + n_rows, n_iter=model.training.n_iter + 1, evaluation=None)
    return replace(model, parameters=parameters, training=training, spreading=None)
