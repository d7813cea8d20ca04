"""How good predictions are: of one endpoint, of several at once, in numbers that survive cross-validation.

Functions take what was recorded (what :func:`harmonium.endpoints` returns) and what was predicted, as arrays.
:mod:`harmonium.metrics.scorers` has the same for scikit-learn's ``cross_validate``. A metric that the rows at hand cannot define is NaN,
with a :class:`MetricWarning` that says why.
"""

from harmonium.metrics import scorers
from harmonium.metrics.brier import brier_score, integrated_brier_score
from harmonium.metrics.calibration import DCalibration, d_calibration
from harmonium.metrics.concordance import concordance_index, concordance_index_ipcw
from harmonium.metrics.energy import energy_score
from harmonium.metrics.orderings import global_concordance, joint_concordance, local_concordance
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.metrics.undefined import MetricWarning

__all__ = [
    "DCalibration",
    "MetricWarning",
    "MultiEndpointStratifiedKFold",
    "brier_score",
    "concordance_index",
    "concordance_index_ipcw",
    "d_calibration",
    "energy_score",
    "global_concordance",
    "integrated_brier_score",
    "joint_concordance",
    "local_concordance",
    "scorers",
]
