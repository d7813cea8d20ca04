"""Every figure that ``harmonium.plots`` draws, of fitted models. Writes ``docs/figures/*.png`` and ``docs/gallery.md``.

The code that the page shows is the code that has run: bodies of the functions below, whose docstrings are the captions.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import harmonium as hm

DOCS = Path(__file__).resolve().parents[1] / "docs"


class Fitted(NamedTuple):
    """Models, and the tables that they were fitted to."""

    X: object
    y: object
    model: hm.SurvivalHarmonium
    test: object
    of_others: hm.SurvivalHarmonium
    watched: hm.SurvivalHarmonium
    X3: object
    y3: object
    three_way: hm.SurvivalHarmonium


def fit_models():
    """Months to death and to recurrence in the NVALT-8 trial, a part of that trial, and the three-way problem."""
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(objective=0.95, random_state=0).fit(X, y)

    test = X.sample(80, random_state=3).index
    train = X.index.difference(test)
    of_others = hm.SurvivalHarmonium(random_state=0).fit(X.loc[train], y.loc[train])
    watched = hm.SurvivalHarmonium(random_state=0).fit(X.loc[train], y.loc[train], validation=(X.loc[test], y.loc[test]))

    X3, y3 = hm.datasets.make_three_way(1000, random_state=0)
    three_way = hm.SurvivalHarmonium(objective="joint", time_scale="linear", horizon=1, random_state=0).fit(X3, y3)

    return Fitted(X, y, model, test, of_others, watched, X3, y3, three_way)


def survival_curves(X, y, model):
    """Three patients after surgery (dashed) and with what was known a year later (solid); the whole trial in grey."""
    patients = [43, 2, 3]
    year = hm.landmark(y, 12).loc[patients]
    names = ["A: recurrence at 2.8 months", "B: recurrence at 10.0 months", "C: no recurrence by month 12"]
    hm.plots.survival_curves(model, X.loc[patients], "os", given=year, labels=names, cohort=y, time_label="Months")


def joint_density_by_colour(X3, y3, three_way):
    """Two event times that tell a colour only together: the marginals of both colours are nearly the same."""
    unit = np.linspace(0.01, 1, 100)
    hm.plots.joint_density(three_way, endpoints=("t1", "t2"), by="colour", times=(unit, unit), recorded=(X3[:500], y3[:500]))


def joint_density(X, y, model):
    """Recurrence and death in the trial, as modelled (regions with 20, 40, 60 and 80 % of the probability) and as recorded."""
    hm.plots.joint_density(model, X, ("rfs", "os"), recorded=(X, y), time_labels=("Months to recurrence or death", "Months to death"))


def calibration(X, y, test, of_others):
    """Predicted and observed mortality of 80 patients whom the model has not seen."""
    hm.plots.calibration(of_others, X.loc[test], y.loc[test], "os", time=36, n_bins=4, time_label="month")


def receptive_fields(X, y, model):
    """What each hidden unit stands for: the change of every column when the unit goes from off to on."""
    hm.plots.receptive_fields(model, X, y)


def training_history(watched):
    """The optimiser's six short runs, the best carried on, and the last with the prior that the data chose; validation below."""
    hm.plots.training_history(watched)


def dependence(X, y, model):
    """Overall and recurrence-free survival go together, and covariates explain little of it; bars are 95 % bootstrap intervals."""
    hm.plots.dependence(model.dependence(X, y, n_bootstrap=40, random_state=0))


FIGURES = (survival_curves, joint_density_by_colour, joint_density, calibration, receptive_fields, training_history, dependence)


def code_of(function) -> str:
    """A function's body, without its docstring and its return."""
    lines = inspect.getsource(function).splitlines()[2:]
    return textwrap.dedent("\n".join(line for line in lines if not line.strip().startswith("return "))).strip()


def draw(function, fitted: Fitted) -> None:
    """Run one of the functions above and save its figure."""
    function(**{name: getattr(fitted, name) for name in inspect.signature(function).parameters})
    path = DOCS / "figures" / f"{function.__name__}.png"
    plt.gcf().savefig(path, dpi=150)
    plt.close("all")
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
    print(f"{path.relative_to(DOCS)}  {path.stat().st_size / 1000:.0f} kB")


def write_page() -> None:
    """The page that shows all figures, captions and code."""
    parts = [
        "# Gallery",
        "Every figure of `harmonium.plots`: axes in, axes out. Nothing is told by colour alone. "
        "Made by [examples/gallery.py](../examples/gallery.py); all figures start from",
        f"```python\nimport numpy as np\n\nimport harmonium as hm\n\n{code_of(fit_models)}\n```",
    ]
    for function in FIGURES:
        caption = inspect.getdoc(function)
        parts.append(f"![{caption}](figures/{function.__name__}.png)")
        parts.append(f"*{caption}*")
        parts.append(f"```python\n{code_of(function)}\n```")
    (DOCS / "gallery.md").write_text("\n\n".join(parts) + "\n")


def main() -> None:
    """Fit, draw, write."""
    fitted = fit_models()
    for function in FIGURES:
        draw(function, fitted)
    write_page()


if __name__ == "__main__":
    main()
