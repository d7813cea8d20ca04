"""``harmonium evaluate``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harmonium.cli.options import Data, EndpointColumns, Jobs, Json, Model, Quiet, flag, numbers
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium evaluate model.harmonium test.csv -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event

harmonium evaluate model.harmonium test.csv -e os=os_mth,os_event --times 6,12,24,36 --json
"""

_HEADER = {
    "rows": "rows",
    "events": "events",
    "concordance": "C-index",
    "concordance_ipcw": "Uno's C",
    "integrated_brier_score": "IBS",
    "d_calibration_p": "D-cal. p",
    "log_likelihood": "log-lik.",
}
_PART_ROWS = 200  # every row's curve is computed at the times of all rows of its part


def run(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: EndpointColumns,
    times: Annotated[
        str | None,
        typer.Option(
            "--times",
            "-t",
            metavar="T,T,...",
            show_default="the middle 80 % of the event times",
            help="Times over which the Brier score is integrated.",
        ),
    ] = None,
    likelihood: Annotated[
        bool, flag("--likelihood", help="Tell the log-likelihood also beyond 14 hidden units, where it is sampled and takes long.")
    ] = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare predictions with what happened.

    For each endpoint: Harrell's C-index and Uno's, the integrated Brier score IBS, the p-value of D-calibration (a small one
    means that predicted probabilities are off), and the mean log-likelihood of a row. Rows that were used for training flatter the model.
    Endpoints are written as for fit (see harmonium fit --help).
    """
    from harmonium.cli.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.cli.reading import open_table
    from harmonium.engine.states import EXACT_LIMIT
    from harmonium.estimator import load
    from harmonium.table.training_values import TrainingValues

    terminal: Terminal = context.obj
    asked = None if times is None else list(numbers("--times", times).values())
    model = load(model_file).set_params(n_jobs=jobs)
    table = open_table(data)
    reader = EndpointReader(endpoint, table.columns)
    require_endpoints(reader.names, model.endpoint_names_)
    covariates = TrainingValues(model.encoding_.columns)
    table.require([*covariates.names, *reader.columns])
    frame = table.read(list(dict.fromkeys([*covariates.names, *reader.columns])), text=covariates.text)
    X, y = covariates.of(frame), reader.read(frame)
    reader.check()
    terminal.warn(*covariates.unseen)

    by_endpoint = {name: _metrics(model, X, y, name, asked) for name in reader.names}
    together = float("nan")
    if likelihood or model.n_hidden <= EXACT_LIMIT:
        together = float(model.log_likelihood(X, _only(model, y, reader.names)).mean())
        for name, found in by_endpoint.items():
            found["log_likelihood"] = _log_likelihood(model, X, y, name)
    rows = [
        [name, *(_shown(found[key], "{:.2g}" if key == "d_calibration_p" else "{:.4f}") for key in _HEADER)]
        for name, found in by_endpoint.items()
    ]
    if len(rows) > 1 and not math.isnan(together):
        rows.append(["all together", str(len(X)), *[""] * (len(_HEADER) - 2), _shown(together)])
    terminal.table(f"{len(X)} rows of {data}", ["endpoint", *_HEADER.values()], rows, right=range(1, len(_HEADER) + 1))
    terminal.result({"rows": len(X), "endpoints": by_endpoint, "log_likelihood": together})


def _shown(value: float, form: str = "{:.4f}") -> str:
    if isinstance(value, int):
        return str(value)
    return "-" if math.isnan(value) else form.format(value)


def _metrics(model: Any, X: pd.DataFrame, y: pd.DataFrame, name: str, times: list[float] | None) -> dict[str, float]:
    import numpy as np

    from harmonium.metrics import d_calibration, scorers
    from harmonium.table.endpoints import parse_endpoints

    own = y[[name]]
    known = parse_endpoints(own)
    recorded = ~known.unknown[:, 0]
    at_end, at_entry = (_own_survival(model, X, name, at[:, 0]) for at in (known.lower, known.entry))
    calibration = d_calibration(own, np.divide(at_end, at_entry, out=np.full(len(X), np.nan), where=at_entry > 0.0))
    return {
        "rows": int(recorded.sum()),
        "events": int(known.event.sum()),
        "concordance": scorers.concordance_index_scorer(model, X, own, endpoint=name),
        "concordance_ipcw": scorers.concordance_index_ipcw_scorer(model, X, own, endpoint=name),
        "integrated_brier_score": -scorers.neg_integrated_brier_score_scorer(model, X, own, times=times or "central"),
        "d_calibration": calibration.statistic,
        "d_calibration_p": calibration.p_value,
        "log_likelihood": float("nan"),
    }


def _log_likelihood(model: Any, X: pd.DataFrame, y: pd.DataFrame, name: str) -> float:
    """Of one endpoint, the others being unknown; the mean over rows of which something is known."""
    from harmonium.table.endpoints import parse_endpoints

    recorded = ~parse_endpoints(y[[name]]).unknown[:, 0]
    by_row = model.log_likelihood(X, _only(model, y, [name]))[recorded]
    return float(by_row.mean()) if by_row.size else float("nan")


def _own_survival(model: Any, X: pd.DataFrame, name: str, times: Any) -> Any:
    """Predicted survival of every row until a time of its own."""
    import numpy as np

    out = np.empty(len(X))
    for first in range(0, len(X), _PART_ROWS):
        rows = slice(first, first + _PART_ROWS)
        distinct, places = np.unique(times[rows], return_inverse=True)
        curves = model.predict_survival_function(X.iloc[rows], name, distinct, return_array=True)
        out[rows] = curves[np.arange(places.size), places]
    return out


def _only(model: Any, y: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """All endpoints of the model in its order, of which only some are known."""
    import numpy as np
    import pandas as pd

    unknown = pd.DataFrame({"lower": 0.0, "upper": np.inf}, index=y.index)
    return pd.concat({name: y[name] if name in names else unknown for name in model.endpoint_names_}, axis=1)
