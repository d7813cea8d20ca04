"""A fitted model: one immutable value, which is saved, loaded and asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.annealing import annealed_log_mass
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.exact import log_mass
from harmonium.engine.integration import integrated_log_mass
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.answering import Purpose
from harmonium.model.calibrating import calibrated_to_generate
from harmonium.model.cell_answers import CellAnswers
from harmonium.model.completions import HistoryCompletions
from harmonium.model.draws import DrawnHistories, completed_subjects, draw_tables, simulate_histories
from harmonium.model.generating import Generator
from harmonium.model.likelihood import conditional_log_likelihood, joint_log_likelihood
from harmonium.model.on_demand import OnDemand
from harmonium.model.prognosis import Prognosis
from harmonium.model.scale_change import moved_cells, moved_table
from harmonium.model.spread import Spread
from harmonium.model.survival_model import SurvivalModel
from harmonium.model.training_summary import Evaluation, TrainingSummary
from harmonium.model.transition_answers import TransitionAnswers
from harmonium.model.transitions import Transitions
from harmonium.model.words import model_html, model_words
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["Fitted"]


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(SurvivalModel):
    """A fitted model: what ``save`` writes and :func:`harmonium.load` returns.

    It answers every question that :class:`harmonium.SurvivalHarmonium` answers, and is never changed.

    Attributes
    ----------
    encoding : Encoding
        Roles and encodings of columns, time scales of endpoints.
    parameters : Parameters
        Of the prognostic units; where endpoints are ordered, of the covariates alone, without hidden units.
    training : TrainingSummary
    n_jobs : int, optional
        Threads that answer; no part of the model.
    covariate_units : CovariateUnits, optional
        How covariates are distributed, where that was learned beside the parameters.
    generating : OnDemand, optional
        What imputations and cohorts are drawn from, made when it is first needed; without it, the parameters.
    spreading : OnDemand, optional
        How far the parameters may be from where they are, made when an interval is first asked for; without it, there are none.
    transitions : Transitions, optional
        Where an endpoint is terminal, a harmonium of each endpoint given covariates and the state that a subject is in.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.load_nvalt8()
    >>> fitted = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y).fitted_
    >>> fitted.endpoint_names, fitted.n_hidden, fitted.training.n_rows
    (('os', 'rfs'), 2, 200)
    >>> fitted
    Fitted: 2 hidden units and 4 of covariates
      200 rows, 13 covariates
      os: 84 events in 200 rows, observed until 96.13
      rfs: 106 events in 197 rows, observed until 96.13
      fit converged after ... iterations
    """

    encoding: Encoding
    parameters: Parameters
    training: TrainingSummary
    n_jobs: int | None = field(default=None, compare=False)
    covariate_units: CovariateUnits | None = None
    generating: OnDemand[Generator] | None = field(default=None, compare=False, repr=False)
    spreading: OnDemand[Spread] | None = field(default=None, compare=False, repr=False)
    transitions: Transitions | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return model_words(self, "Fitted")

    def _repr_html_(self) -> str:
        return model_html(self, "harmonium")

    @property
    def fitted(self) -> Fitted:
        """Itself."""
        return self

    @property
    def n_hidden(self) -> int:
        """How many prognostic units, at most in one harmonium."""
        return self.parameters.n_hidden if self.transitions is None else max(own.parameters.n_hidden for own in self.transitions.models)

    @property
    def n_covariate_units(self) -> int:
        """How many units couple to covariates only."""
        return 0 if self.covariate_units is None else self.covariate_units.n_units

    @property
    def whole_parameters(self) -> Parameters:
        """Of the prognostic units and, after them, the covariate units."""
        return self.parameters if self.covariate_units is None else self.covariate_units.joined(self.parameters)

    @property
    def generator(self) -> Generator | None:
        """What imputations and cohorts are drawn from; None of a model that was trained in parts."""
        return None if self.generating is None else self.generating.value

    @property
    def spread(self) -> Spread | None:
        """How far the parameters may be from where they are; None of a model whose likelihood was not maximised."""
        return None if self.spreading is None else self.spreading.value

    @property
    def seed(self) -> int:
        """Of random numbers where answers need them: the same at every call."""
        stated = self.training.settings.get("random_state")
        return stated if isinstance(stated, int) else 0

    def with_jobs(self, n_jobs: int | None) -> Fitted:
        """The same model, answering with another number of threads."""
        return self if n_jobs == self.n_jobs else replace(self, n_jobs=n_jobs)

    def with_evaluation(self, method: str, scores: Mapping[str, Mapping[str, float]]) -> Fitted:
        """The same model, which now knows how well it predicts."""
        evaluation: Evaluation = {"method": method, "scores": {name: dict(own) for name, own in scores.items()}}
        return replace(self, training=replace(self.training, evaluation=evaluation))

    # --- what all answers are made of ---

    def ask(self, covariates: Array, known: Endpoints | None) -> Prognosis:
        """The prognosis of encoded covariates."""
        own = self.encoding, self.parameters
        if self.transitions is not None:
            return Prognosis(TransitionAnswers(*own, self.covariate_units, self.transitions, covariates, known, self.n_jobs))
        cells = self.encoding.cells(covariates, known)
        return Prognosis(CellAnswers(*own, cells, known, self.seed, self.n_jobs, self.covariate_units, self.spreading))

    def log_mass(self, cells: Cells) -> Array:
        """Log mass of every row (eq. 5): beyond enumeration by integration, and by annealing where too much is unobserved."""
        if self.parameters.n_hidden <= EXACT_LIMIT:
            return log_mass(self.whole_parameters, cells, self.n_jobs)
        out = integrated_log_mass(self.parameters, cells, self.n_jobs)
        left = np.flatnonzero(np.isnan(out))
        if left.size:
            rng = np.random.default_rng(self.seed)
            out[left] = annealed_log_mass(self.parameters, cells.part(left), rng, n_threads=self.n_jobs)[0]
        return out

    def log_likelihood_of(self, covariates: Array, known: Endpoints, kind: str) -> Array:
        """Ln p of every row."""
        if self.transitions is not None:
            return self._log_likelihood_of_histories(self.transitions, covariates, known, kind)
        if kind != "conditional":
            return joint_log_likelihood(self.encoding, self.log_mass, covariates, known)
        return conditional_log_likelihood(self.encoding, self.log_mass_given_covariates, covariates, known)

    def _log_likelihood_of_histories(self, transitions: Transitions, covariates: Array, known: Endpoints, kind: str) -> Array:
        own = self.parameters, self.covariate_units
        possible = HistoryCompletions.possible(self.encoding, *own, covariates, known, self.n_jobs)
        out = possible.given(transitions, self.encoding, everything=True).log_likelihoods()
        if kind == "conditional" or not covariates.shape[1]:
            return out
        nothing = Cells.all_free(self.encoding.layout)
        return np.asarray(out + self.log_mass(self.encoding.cells(covariates)) - self.log_mass(nothing))

    def log_mass_given_covariates(self, cells: Cells) -> Array:
        """Log mass of every row, but for a constant that depends on its covariates alone."""
        if self.covariate_units is None:
            return self.log_mass(cells)
        return self.covariate_units.log_mass_given_covariates(self.parameters, cells, self.n_jobs)

    def draw(self, cells: Cells, n_draws: int, rng: np.random.Generator, purpose: Purpose) -> Iterator[Array]:
        """Completed tables (rows, columns) where endpoints have no order; of a prediction, only outcomes are drawn as they are distributed.

        Subjects of a cohort whose covariates are given in full have the outcomes that are predicted for them.
        """
        gaps = incomplete_rows(cells)
        if purpose == "prediction" or (purpose == "cohort" and not gaps.any()):
            yield from self._predicted(cells, n_draws, rng)
            return
        generator = self.generator or Generator(self.parameters, ())
        scales = calibrated_to_generate(self.encoding, generator.parameters, self.n_jobs)
        for number in range(n_draws):
            if purpose == "imputation":
                yield self._generated(generator.of_imputation(number), scales, cells, rng)
                continue
            out, whole, rest = np.empty((cells.n_rows, cells.layout.n_columns)), np.flatnonzero(~gaps), np.flatnonzero(gaps)
            if rest.size:
                out[rest] = self._generated(generator.parameters, scales, cells.part(rest), rng)
            if whole.size:
                out[whole] = next(self._predicted(cells.part(whole), 1, rng))
            yield out

    def _predicted(self, cells: Cells, n_draws: int, rng: np.random.Generator) -> Iterator[Array]:
        """Completed tables as they are predicted."""
        return draw_tables(self.parameters, cells, n_draws, rng, self.n_jobs, self.covariate_units)

    def _generated(self, parameters: Parameters, scales: Encoding, cells: Cells, rng: np.random.Generator) -> Array:
        """A completed table by parameters of the generator, which has time scales of its own."""
        drawn = next(draw_tables(parameters, moved_cells(cells, self.encoding, scales), 1, rng, self.n_jobs))
        return moved_table(drawn, scales, self.encoding)

    def draw_histories(
        self, cells: Cells, known: Endpoints, n_draws: int, rng: np.random.Generator, purpose: Purpose
    ) -> Iterator[tuple[Array, DrawnHistories]]:
        """Completed covariates and event histories where endpoints are ordered, by the parameters that the purpose calls for."""
        assert self.transitions is not None
        complete = purpose == "prediction" or not (cells.layout.n_columns and incomplete_rows(cells).any())
        for number in range(n_draws):
            whole, transitions = self.whole_parameters, self.transitions
            if purpose == "imputation" or not complete:
                whole, transitions = self._generating_parts(number if purpose == "imputation" else None)
            covariates, histories = completed_subjects(self.encoding, whole, transitions, cells, known, rng, self.n_jobs)
            yield covariates, simulate_histories(transitions, self.encoding, covariates, histories, rng, self.n_jobs)

    def _generating_parts(self, number: int | None) -> tuple[Parameters, Transitions]:
        """Parameters of covariates and harmoniums of endpoints that draws are made with: those of an imputation, or the likeliest."""
        assert self.transitions is not None
        found = [own or Generator(model.parameters, ()) for model in self.transitions.models for own in [model.generator]]
        covariates = self.generator or Generator(self.whole_parameters, ())
        of = [own.parameters if number is None else own.of_imputation(number) for own in (covariates, *found)]
        models = tuple(replace(model, parameters=own) for model, own in zip(self.transitions.models, of[1:], strict=True))
        return of[0], replace(self.transitions, models=models)
