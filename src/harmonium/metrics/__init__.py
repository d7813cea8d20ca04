"""How good predictions are: of one endpoint, of several at once, in numbers that survive cross-validation.

:func:`evaluate` compares a model with what happened. The other functions take what was observed (what :func:`harmonium.endpoints` returns)
and what was predicted, as arrays; :mod:`harmonium.metrics.scorers` has the same for scikit-learn's ``cross_validate``. ``endpoint=None``
means the first endpoint. A metric that the rows at hand cannot define is NaN, with a :class:`MetricWarning` that says why.
"""

from harmonium.errors import MetricWarning
from harmonium.metrics import scorers
from harmonium.metrics.brier import brier_score, integrated_brier_score
from harmonium.metrics.calibration import DCalibration, d_calibration
from harmonium.metrics.competing import (
    aalen_johansen,
    competing_concordance,
    incidence_brier_score,
    integrated_incidence_brier_score,
)
from harmonium.metrics.concordance import concordance_index, concordance_index_ipcw
from harmonium.metrics.energy import energy_score
from harmonium.metrics.evaluation import evaluate
from harmonium.metrics.multi_endpoint import global_concordance, joint_concordance, local_concordance
from harmonium.metrics.routing import weighted_scorer
from harmonium.metrics.scorers import (
    competing_concordance_scorer,
    concordance_index_ipcw_scorer,
    concordance_index_scorer,
    global_concordance_scorer,
    joint_concordance_scorer,
    local_concordance_scorer,
    log_likelihood_scorer,
    neg_brier_score_scorer,
    neg_d_calibration_scorer,
    neg_energy_score_scorer,
    neg_integrated_brier_score_scorer,
    neg_integrated_incidence_brier_score_scorer,
)
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.metrics.states import state_brier_score
from harmonium.metrics.times import central_times
from harmonium.metrics.wins import count_wins

__all__ = [
    "DCalibration",
    "MetricWarning",
    "MultiEndpointStratifiedKFold",
    "aalen_johansen",
    "brier_score",
    "central_times",
    "competing_concordance",
    "competing_concordance_scorer",
    "concordance_index",
    "concordance_index_ipcw",
    "concordance_index_ipcw_scorer",
    "concordance_index_scorer",
    "count_wins",
    "d_calibration",
    "energy_score",
    "evaluate",
    "global_concordance",
    "global_concordance_scorer",
    "incidence_brier_score",
    "integrated_brier_score",
    "integrated_incidence_brier_score",
    "joint_concordance",
    "joint_concordance_scorer",
    "local_concordance",
    "local_concordance_scorer",
    "log_likelihood_scorer",
    "neg_brier_score_scorer",
    "neg_d_calibration_scorer",
    "neg_energy_score_scorer",
    "neg_integrated_brier_score_scorer",
    "neg_integrated_incidence_brier_score_scorer",
    "scorers",
    "state_brier_score",
    "weighted_scorer",
]
