"""``harmonium fit``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Data, Drop, EndpointColumns, Ends, Force, Jobs, Json, Quiet, Roles, Seed, TimeUnit, Weights, flag
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium fit data.csv -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event -o model.harmonium

harmonium fit data.csv -e death=months,status:dead --drop patient --role grade=categorical -o model.harmonium

harmonium fit data.parquet -e progression=last_clear..first_seen --hidden 8 -o model.harmonium

harmonium fit data.csv -e recurrence=rfs_mth,rfs_event,including=death -e death=os_mth,os_event --terminal death -o model.harmonium

harmonium fit data.csv -e os=last_seen,dead,from=surgery,unit=months -o model.harmonium

harmonium fit data.csv -e recurrence=recurrence_date,recurred,from=surgery,until=last_seen,unit=months -o model.harmonium

harmonium fit data.csv -e os=os_mth,os_event --weights ipw --groups hospital --report report.html -o model.harmonium

harmonium fit data.csv -e os=os_mth,os_event --dry-run
"""

_OF_CONTRASTIVE = "Options of the contrastive trainer"


def run(
    context: typer.Context,
    data: Data,
    endpoint: EndpointColumns,
    ends: Ends = None,
    unit: TimeUnit = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="The model file; it ends with .harmonium.", show_default=False)
    ] = None,
    hidden: Annotated[
        int | None, typer.Option("--hidden", metavar="NUMBER", min=0, help="Hidden units.", show_default="4, or 6 from 1000 events on")
    ] = None,
    covariate_units: Annotated[
        str,
        typer.Option(
            "--covariate-units",
            metavar="NUMBER",
            help="Hidden units for how covariates are distributed, which missing values need; auto lets the data choose.",
        ),
    ] = "auto",
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective",
            metavar="WHAT",
            show_default="conditional",
            help="conditional (endpoints given covariates), joint (both), or a weight from 0 (joint) to 1 (conditional).",
        ),
    ] = None,
    cv: Annotated[
        bool, flag("--cv", help="Choose --hidden and --objective, unless given, by likelihood in 5-fold cross-validation.")
    ] = False,
    l2: Annotated[
        str, typer.Option("--l2", metavar="NUMBER", help="Penalty on covariates' couplings; auto lets the data choose.")
    ] = "auto",
    time_scale: Annotated[
        Literal["kaplan-meier", "linear", "log"],
        typer.Option("--time-scale", metavar="SCALE", help="How time is mapped to the unit interval: kaplan-meier, linear or log."),
    ] = "kaplan-meier",
    horizon: Annotated[
        list[str] | None,
        typer.Option("--horizon", metavar="TIME", help="Where the time scale ends; NAME=TIME for one endpoint only.", show_default=False),
    ] = None,
    role: Roles = None,
    drop: Drop = None,
    weights: Weights = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN",
            help="A column whose equal values are kept together in cross-validation, such as the hospital; it is no covariate.",
            show_default=False,
        ),
    ] = None,
    trainer: Annotated[
        Literal["auto", "exact", "contrastive"],
        typer.Option("--trainer", metavar="TRAINER", help="exact, contrastive, or auto: exact up to 14 hidden units."),
    ] = "auto",
    starts: Annotated[
        int, typer.Option("--starts", metavar="NUMBER", min=1, help="Short runs of the optimiser, of which the best is continued.")
    ] = 6,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="NUMBER", min=1, help="At most so many iterations of the optimiser.")
    ] = 1000,
    epochs: Annotated[int, typer.Option("--epochs", metavar="NUMBER", min=1, rich_help_panel=_OF_CONTRASTIVE)] = 500,
    learning_rate: Annotated[float, typer.Option("--learning-rate", metavar="NUMBER", rich_help_panel=_OF_CONTRASTIVE)] = 0.01,
    batch_size: Annotated[int, typer.Option("--batch-size", metavar="NUMBER", min=1, rich_help_panel=_OF_CONTRASTIVE)] = 100,
    seed: Seed = 0,
    jobs: Jobs = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Also write a report, .html or .docx.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", help="Show what is inferred from the data, and do not fit.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a model to a table and save it.

    Every column that belongs to no endpoint and is not dropped is a covariate. Its role is inferred and shown. Values may be missing.

    An endpoint is a name and columns:

      NAME=TIME,EVENT         EVENT holds 0 and 1
      NAME=TIME,EVENT:VALUE   EVENT holds VALUE if the event was observed
      NAME=LOWER..UPPER       the event lies between two times, or after
                              LOWER where UPPER is empty
      NAME=...,entry=COLUMN   when each subject came under observation
      NAME=...,unit=days      the unit of these times; --unit converts
      NAME=DATE,EVENT,from=DATE,unit=months
                              columns with dates, such as 2019-03-01
      NAME=DATE,EVENT,from=DATE,until=LAST,unit=months
                              DATE is empty where there was no event; then
                              there was none until LAST (times likewise)
      NAME=TIME,EVENT,including=DEATH
                              a composite, of which the terminal endpoint
                              DEATH is a part, is taken apart
      NAME=TIME,CAUSE,causes=RELAPSE:1/DEATH:2
                              competing risks: an endpoint for each cause

    With --terminal DEATH nothing follows that endpoint: the model predicts cumulative incidences and states.
    """
    from harmonium.cli.summaries import show_columns, show_endpoints
    from harmonium.cli.writing import MODEL, PAGE, check_output
    from harmonium.table.encoding import Encoding
    from harmonium.table.endpoints import parse_endpoints
    from harmonium.table.row_weights import RowWeights, with_positive_weight
    from harmonium.table.summary import columns_summary, endpoints_summary

    terminal: Terminal = context.obj
    if output is not None:
        check_output(output, force, MODEL, inputs=[data])
    elif not dry_run:
        raise ValueError("there is no --output; say where to save the model: -o model.harmonium")
    if report is not None:
        require_matplotlib()
        check_output(report, force, PAGE, inputs=[data, output])
    settings: dict[str, Any] = {
        "time_scale": time_scale,
        "horizon": _horizon(horizon or []),
        "roles": dict(pair("--role", "COLUMN=ROLE", text) for text in role or []),
        "n_covariate_units": _covariate_units(covariate_units),
    }
    penalty = "auto" if l2 == "auto" else _number("--l2", l2)
    chosen = {key: value for key, value in (("n_hidden", hidden), ("objective", _objective(objective))) if value is not None}
    X, y, beside = training_table(data, endpoint, ends, unit, drop or [], settings["roles"], weights, groups)
    kept_X, kept_y, values = with_positive_weight(X, y, beside["sample_weight"])
    known = parse_endpoints(kept_y)
    own = RowWeights.of(values, kept_X, known)
    encoding, _ = Encoding.learn(kept_X, known, settings["roles"], time_scale, settings["horizon"], weights=own)
    endpoints = endpoints_summary(encoding)
    show_columns(terminal, encoding)
    show_endpoints(terminal, endpoints)
    summary = {"rows": len(kept_X), "columns": columns_summary(encoding), "endpoints": endpoints}
    if groups is not None:
        summary["groups"] = len(set(beside["groups"]))
        kept = f"cross-validation keeps rows with the same {groups!r} together, and the fit counts each row"
        terminal.note(f"{len(X)} rows with {summary['groups']} values of {groups!r}: {kept}")
    if output is None or dry_run:
        terminal.result(summary)
        return
    settings["trainer"] = _trainer(trainer, penalty, starts, iterations, epochs, learning_rate, batch_size, hidden)
    settings |= {"random_state": seed, "n_jobs": jobs, "verbose": not terminal.quiet}
    title = f"{_title(data)}: {_listed(encoding.endpoint_names)}"
    fitted, likelihood = _fit(terminal, settings, chosen, X, y, beside, output, cv, report, force, title)
    terminal.result(
        {
            "model": output,
            **summary,
            "settings": dict(fitted.training.settings),
            "covariate_units": fitted.n_covariate_units,
            "log_likelihood": likelihood,
            "iterations": fitted.training.n_iter,
            "converged": fitted.training.converged,
        }
    )


def _fit(
    terminal: Terminal,
    settings: dict[str, Any],
    chosen: dict[str, Any],
    X: pd.DataFrame,
    y: pd.DataFrame,
    beside: dict[str, Any],
    output: str,
    cv: bool,
    report: str | None,
    force: bool,
    title: str,
) -> tuple[Any, float | None]:
    """Fit, save, and write the report; the fitted model and its log-likelihood in training, unless that would have to be sampled."""
    import numpy as np

    from harmonium.cli.summaries import show_model
    from harmonium.engine.states import EXACT_LIMIT
    from harmonium.errors import WeightWarning, silenced
    from harmonium.estimator import SurvivalHarmonium

    start = time.monotonic()
    model = SurvivalHarmonium(**settings)
    if cv:
        chosen = _cross_validated(terminal, model, chosen, X, y, beside)
        if chosen["objective"] not in ("conditional", 1.0):
            model.set_params(n_covariate_units="auto")
    with silenced(WeightWarning):  # it has been given
        model.set_params(**chosen).fit(X, y, beside["sample_weight"])
    fitted, likelihood = model.fitted_, None
    if fitted.n_hidden <= EXACT_LIMIT:
        likelihood = float(np.average(fitted.log_likelihood(X, y), weights=beside["sample_weight"]))
    fitted.save(output)
    show_model(terminal, fitted, model.objective, likelihood, time.monotonic() - start)
    terminal.note(f"saved to {output}")
    if report is not None:
        method, scores = _write_report(terminal, model, X, y, beside, title, Path(report), force)
        fitted = fitted.with_evaluation(method, scores)
        fitted.save(output)  # once more, as it now knows how good it is
    return fitted, likelihood


def training_table(
    data: Path,
    endpoint: list[str],
    ends: list[str] | None,
    unit: str | None,
    drop: list[str],
    roles: dict[str, str],
    weights: str | None = None,
    groups: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Covariates and endpoints of a file, and the weights and groups of its rows."""
    from harmonium.cli.problems import groups_in, refuse_incomplete, training_rows, weights_in
    from harmonium.table.endpoint_columns import EndpointReader
    from harmonium.table.files.opening import open_table

    table = open_table(data)
    reader = EndpointReader(endpoint, table.columns, () if ends == ["none"] else ends, unit)
    beside = [column for column in (weights, groups) if column is not None]
    refuse_incomplete(table, reader, [*drop, *beside], roles)
    frame = table.read(table.columns, codes=reader.codes)
    X, y = training_rows(frame, reader, [*drop, *(column for column in beside if column not in drop)], roles)
    return X, y, {"sample_weight": weights_in(frame, weights), "groups": groups_in(frame, groups)}


def _listed(names: Sequence[str]) -> str:
    """Names as they are said."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _title(data: Path) -> str:
    """What a report calls the table."""
    return "standard input" if str(data) == "-" else data.name


def _trainer(
    name: str, l2: Any, starts: int, iterations: int, epochs: int, learning_rate: float, batch_size: int, hidden: int | None
) -> Any:
    """The trainer with its settings."""
    from harmonium.training.choice import trainer_named
    from harmonium.training.exact import Exact

    trainer: Any = trainer_named(name, 0 if hidden is None else hidden)
    if isinstance(trainer, Exact):
        return trainer.set_params(l2=l2, n_starts=starts, max_iter=iterations)
    penalty = {} if l2 == "auto" else {"l2": l2}
    return trainer.set_params(n_epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, **penalty)


def _others(model: Any) -> dict[str, Any]:
    """What a report compares with: Cox regression, if lifelines is there."""
    from importlib.util import find_spec

    from harmonium.studies.usual_models import Cox

    return {} if find_spec("lifelines") is None else {"Cox": Cox(dict(model.roles or {}))}


def _write_report(
    terminal: Terminal, model: Any, X: pd.DataFrame, y: pd.DataFrame, beside: dict[str, Any], title: str, path: Path, force: bool
) -> tuple[str, Any]:
    """Write the page; return how the model was evaluated, and the scores."""
    from harmonium.cli.writing import replacing
    from harmonium.errors import IdentifierWarning, LeakageWarning, SubjectWarning, silenced
    from harmonium.report.study import N_STEPS, study_report
    from harmonium.report.writing import content_of

    said = (IdentifierWarning, LeakageWarning, SubjectWarning)  # of the whole table, and not again of every fold
    with silenced(*said), terminal.steps("report", N_STEPS) as done:
        report = study_report(model, X, y, title, done, others=_others(model), **beside)
    with replacing(path, force) as temporary:
        temporary.write_bytes(content_of(report.document, path))
    terminal.note(f"wrote {path}")
    return report.method, report.scores


def _cross_validated(
    terminal: Terminal, model: Any, chosen: dict[str, Any], X: pd.DataFrame, y: pd.DataFrame, beside: dict[str, Any]
) -> dict[str, Any]:
    """Settings of the best candidate."""
    from harmonium.search import SurvivalHarmoniumCV

    candidates: dict[str, Any] = {key: (value,) for key, value in chosen.items()}
    search = SurvivalHarmoniumCV(**candidates, estimator=model).fit(X, y, **beside)
    rows = [[f"{h}", f"{o}", f"{mean:.4f}", f"{se:.4f}"] for h, o, mean, se in search.cv_results_.itertuples(index=False)]
    header = ["hidden units", "objective", "log-likelihood per row", "standard error"]
    terminal.table("5-fold cross-validation", header, rows, right=(0, 1, 2, 3))
    return dict(search.best_params_)


def _objective(text: str | None) -> str | float | None:
    return text if text in (None, "conditional", "joint") else _number("--objective", text)


def _covariate_units(text: str) -> str | int:
    if text == "auto" or text.isdecimal():
        return text if text == "auto" else int(text)
    raise ValueError(f"--covariate-units must be auto or a whole number; found {text!r}")


def _horizon(texts: list[str]) -> float | dict[str, float] | None:
    """One time for all endpoints, or one for each that is named."""
    if len(texts) == 1 and "=" not in texts[0]:
        return _number("--horizon", texts[0])
    named = dict(pair("--horizon", "NAME=TIME", text) for text in texts)
    return {name: _number("--horizon", value) for name, value in named.items()} or None


def pair(option: str, form: str, text: str) -> tuple[str, str]:
    """What stands before and after the last equals sign."""
    name, equals, value = text.rpartition("=")  # a column's name may hold an equals sign
    if not (name and equals and value):
        raise ValueError(f"{option} must be written {form}; found {text!r}")
    return name, value


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} cannot be {text!r}; see harmonium fit --help") from None
