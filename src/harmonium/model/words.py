"""A fitted model in a few lines of text, as a console shows it."""

from __future__ import annotations

from harmonium.model.answering import Answering
from harmonium.table.learned_endpoint import LearnedEndpoint

__all__ = ["model_words", "outcome"]

_MOST_ENDPOINTS = 6


def model_words(model: Answering, title: str) -> str:
    """Rows, covariates, endpoints with events, hidden units, and how the fit ended."""
    encoding, training = model.encoding, model.training
    unit = f" {encoding.unit}" if encoding.unit else ""
    endpoints = [f"{_observed(own)} until {own.follow_up.last:.4g}{unit}" for own in encoding.endpoints]
    more = len(endpoints) - _MOST_ENDPOINTS
    shown = endpoints if more <= 0 else [*endpoints[:_MOST_ENDPOINTS], f"and {more} more endpoints"]
    n_covariates = len(encoding.modelled)
    lines = [
        f"{title}: {model.n_hidden} hidden units and {model.n_covariate_units} of covariates",
        f"{training.n_rows} rows, {n_covariates} covariate{'s' * (n_covariates != 1)}",
        *shown,
        f"fit {outcome(training.converged)} after {training.n_iter} iterations",
    ]
    return "\n  ".join(lines)


def _observed(own: LearnedEndpoint) -> str:
    return f"{own.name}: {own.counts.words(f'in {own.counts.rows} rows')}, observed"


def outcome(converged: bool | None) -> str:
    """How a fit ended.

    Examples
    --------
    >>> outcome(True), outcome(None)
    ('converged', 'ended')
    """
    return {True: "converged", False: "did not converge", None: "ended"}[converged]
