"""How the model was made and what it has learned, for readers who want to know: the last sections of a report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harmonium import plots
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn
from harmonium.table.endpoints import parse_endpoints
from harmonium.version import __version__

__all__ = ["hidden_units", "method"]


def hidden_units(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Dependence between endpoints that are free of each other, and receptive fields."""
    if len(model.endpoint_names) > 1 and not parse_endpoints(y).terminal:
        page.heading("Dependence between endpoints")
        table = model.dependence(X)
        page.figure(drawn(lambda ax: plots.dependence(table, ax=ax), (WIDE, 1.5 + 0.45 * len(table))), "Kendall's tau under the model.")
    if model.n_hidden:
        page.heading("Hidden units")
        fields = model.receptive_fields(X, given=y)
        size = (2.5 + 0.8 * fields.shape[1], 1.0 + 0.27 * len(fields))
        figure = drawn(lambda ax: plots.receptive_fields(model, X, given=y, ax=ax), size)
        page.figure(figure, "Effect of switching each hidden unit on, for every column.")


def method(page: Document, model: Any) -> None:
    """Settings, and the optimiser's way."""
    fitted = model.fitted
    page.heading("Method and settings")
    ordered = (
        f"each endpoint has a harmonium of its own with at most {fitted.n_hidden} hidden binary units, given the covariates and the state "
        f"that a subject is in; {fitted.n_covariate_units} more units learn how covariates are distributed."
    )
    together = (
        f"all endpoints and covariates are modelled together by {fitted.n_hidden} hidden binary units, and {fitted.n_covariate_units} "
        "more that learn how covariates are distributed."
    )
    page.text(
        f"A survival harmonium (harmonium {__version__}): {together if fitted.transitions is None else ordered} Whatever was not "
        "observed, because of censoring or because it is missing, is integrated out."
        + (" Penalty strengths were estimated from the data." if _chosen_by_data(fitted) else "")
    )
    settings = fitted.training.settings
    page.table(pd.DataFrame({"setting": [_words(name) for name in settings], "value": [_value(own) for own in settings.values()]}))
    if len(model.history_):
        figure = drawn(lambda ax: plots.training_history(model, ax=ax), (WIDE, 2.6))
        page.figure(figure, "Objective by evaluations of the gradient.")
    if fitted.training.converged is not None:
        page.text("Training has converged." if fitted.training.converged else "Training has not converged.")


def _chosen_by_data(fitted: Any) -> bool:
    """Whether the trainer had no penalty prescribed."""
    trainer = fitted.training.settings.get("trainer")
    return isinstance(trainer, dict) and trainer.get("l2") == "auto"


def _words(name: str) -> str:
    return "hidden units" if name == "n_hidden" else name.removeprefix("n_").replace("_", " ")


def _value(value: Any) -> str:
    """A setting as it is said, not as it is programmed.

    Examples
    --------
    >>> _value(None), _value({}), _value({"name": "exact", "n_starts": 6})
    ('none', 'none', 'exact; starts 6')
    """
    if isinstance(value, dict) and value:
        rest = [f"{_words(key)} {_value(own)}" for key, own in value.items() if key != "name"]
        return "; ".join([*([str(value["name"])] if "name" in value else []), *rest])
    return "none" if value is None or value == {} else str(value)
