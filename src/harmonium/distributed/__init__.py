"""Survival harmoniums of Dask DataFrames: fits, predictions and evaluation on as many machines as there are.

Needs ``pip install 'harmonium[distributed]'``.
"""

from __future__ import annotations

try:
    import dask.dataframe  # noqa: F401 - said once, for all files of the package
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("many machines need Dask: pip install 'harmonium[distributed]'") from error

from harmonium.distributed.estimator import DaskSurvivalHarmonium
from harmonium.distributed.evaluation import evaluate
from harmonium.distributed.frames import (
    endpoints,
    impute,
    predict,
    predict_cumulative_hazard_function,
    predict_cumulative_incidence,
    predict_median,
    predict_quantile,
    predict_restricted_mean,
    predict_state_probabilities,
    predict_survival_function,
    predict_time_in_states,
)

__all__ = [
    "DaskSurvivalHarmonium",
    "endpoints",
    "evaluate",
    "impute",
    "predict",
    "predict_cumulative_hazard_function",
    "predict_cumulative_incidence",
    "predict_median",
    "predict_quantile",
    "predict_restricted_mean",
    "predict_state_probabilities",
    "predict_survival_function",
    "predict_time_in_states",
]
