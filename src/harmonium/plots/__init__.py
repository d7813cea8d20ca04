"""Figures of a fitted model. Axes in, axes out: every function draws on the axes it is given, or on new ones, and returns them.

Nothing is said by colour alone, so figures survive a photocopier, and the palette is that of Okabe and Ito, which colour-blind readers
can tell apart. A model is anything with the methods of :class:`harmonium.SurvivalHarmonium`.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ModuleNotFoundError("figures need matplotlib: pip install 'harmonium[plots]'", name="matplotlib")

from harmonium.plots.curves import survival_curves
from harmonium.plots.fields import receptive_fields
from harmonium.plots.forest import effects
from harmonium.plots.history import training_history
from harmonium.plots.joint import JointAxes, joint_density
from harmonium.plots.kaplan_meier import kaplan_meier
from harmonium.plots.pairs import dependence
from harmonium.plots.reliability import calibration
from harmonium.plots.states import incidence, states

__all__ = [
    "JointAxes",
    "calibration",
    "dependence",
    "effects",
    "incidence",
    "joint_density",
    "kaplan_meier",
    "receptive_fields",
    "states",
    "survival_curves",
    "training_history",
]
