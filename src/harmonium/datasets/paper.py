"""The six studies in numbers only, as the paper's appendix "Encoding experimental datasets" has them (lines 891-921 of paper.tex).

The appendix leaves some of it open; docs/datasets.md says what, and how it was decided:

* A category of three or more levels becomes one dummy for each level, none of them left out; one of two levels becomes the dummy of its
  second level.
* A missing category has missing dummies, or all of them off where a model needs complete columns.
* Numeric columns stay in their units. "All numeric features were standardised [...] prior to training" (line 921): models do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from harmonium.datasets.studies import Study, load_study

__all__ = ["RECIPES", "Recipe", "load_paper_study"]

_LARGEST_FRACTION = 0.95  # lines 904-905 and 914-916: "on/off in more than 95 % of the samples were dropped"


@dataclass(frozen=True)
class Recipe:
    """What the paper does with the columns of a study.

    Attributes
    ----------
    columns : tuple of str
        Those that all models use.
    harmonium_only : tuple of str
        Those that "contained missing values, and were therefore dropped in all models except the harmonium".
    categories : tuple of str
        Those among both that become dummies.
    grouped_above : mapping of str to int
        Categories in which larger numbers are one level.
    drops_low_variance : bool
        Whether columns go in which more than 95 % of the known values are the same.
    """

    columns: tuple[str, ...]
    harmonium_only: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    grouped_above: Mapping[str, int] = field(default_factory=dict)
    drops_low_variance: bool = False


_NVALT8_CATEGORIES = ("performance_status", "histology", "smoker", "stage", "arm", "T-stage", "N-stage", "M-stage")

RECIPES: Mapping[str, Recipe] = {
    # Lines 895-896: "All features were used for training, but we grouped the number of prior convictions > 5 before one-hot encoding".
    "arrest": Recipe(("fin", "age", "race", "wexp", "mar", "paro", "prio"), categories=("prio",), grouped_above={"prio": 5}),
    # Lines 898-899: "We only considered the continent name and type of regimes as features."
    "democracy": Recipe(("un_continent_name", "regime"), categories=("un_continent_name", "regime")),
    # Line 900: "All features were used."
    "gbsg2": Recipe(
        ("horTh", "age", "menostat", "tsize", "tgrade", "pnodes", "progrec", "estrec"), categories=("horTh", "menostat", "tgrade")
    ),
    # Lines 902-905: "All features except for the institute code and the columns weight loss and meal calory intake", then the 95 % rule.
    "ncctg": Recipe(
        ("age", "sex", "ph.ecog", "ph.karno", "pat.karno"),
        categories=("sex", "ph.ecog", "ph.karno", "pat.karno"),
        drops_low_variance=True,
    ),
    # Lines 912-918: categories and age for all models, the 95 % rule, "the harmonium also incorporated" SUVmax >= 10 and BMI.
    "nvalt8": Recipe(
        ("age", *_NVALT8_CATEGORIES), harmonium_only=("FDG-PET SUVmax>=10", "bmi"), categories=_NVALT8_CATEGORIES, drops_low_variance=True
    ),
    # Lines 906-910: five columns for all models, five more with missing values for the harmonium; no 95 % rule.
    "nvalt11": Recipe(
        ("gender_female", "arm", "performance_status", "smoker", "age"),
        harmonium_only=("squamous", "prior_conditions", "prior_malign", "stage", "bmi"),
        categories=("performance_status", "smoker", "stage"),
    ),
}
"""How the appendix encodes each study."""


def load_paper_study(name: str, *, complete: bool = False) -> Study:
    """Load a study as the paper's benchmark uses it: all columns are numbers, categories are dummies of 0 and 1.

    Parameters
    ----------
    name : {"arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11"}
    complete : bool, default False
        Only what the paper gives to Cox regression, the forest and the support vector machine: no column with missing values, and all
        dummies of a missing category off. Otherwise what it gives to the harmonium, with missing values.

    Returns
    -------
    X : DataFrame
        Covariates of type float, not standardised, in the order of the study's own columns.
    y : DataFrame
        All endpoints, as the study's own loader returns them.

    Examples
    --------
    >>> X, y = load_paper_study("nvalt11")
    >>> X.filter(like="smoker").columns.tolist()
    ['smoker_current', 'smoker_former', 'smoker_never']
    >>> int(X["stage_IIIB"].isna().sum())
    1
    >>> X, y = load_paper_study("nvalt11", complete=True)
    >>> X.shape, int(X.isna().to_numpy().sum())
    ((174, 9), 0)
    """
    X, y = load_study(name)
    recipe = RECIPES[name]
    used = recipe.columns if complete else (*recipe.columns, *recipe.harmonium_only)
    encoded = pd.concat([_encoded(X[column], recipe, 0.0 if complete else np.nan) for column in X.columns if column in used], axis=1)
    if recipe.drops_low_variance:
        encoded = encoded.loc[:, [not _has_low_variance(encoded[column]) for column in encoded.columns]]
    return encoded, y


def _encoded(series: pd.Series, recipe: Recipe, otherwise: float) -> pd.DataFrame:
    if series.name in recipe.categories:
        return _dummies(series, recipe.grouped_above.get(str(series.name)), otherwise)
    return series.astype(float).to_frame()


def _dummies(series: pd.Series, grouped_above: int | None, otherwise: float) -> pd.DataFrame:
    """One column for each level, or for the second one only if there are two."""
    missing = series.isna()
    if grouped_above is not None:
        series = series.clip(upper=grouped_above + 1)
    levels = sorted(series.dropna().unique())
    kept = levels[1:] if len(levels) == 2 else levels
    columns = {f"{series.name}_{_label(level, grouped_above)}": (series == level).astype(float).mask(missing, otherwise) for level in kept}
    return pd.DataFrame(columns, index=series.index)


def _label(level: str | float, grouped_above: int | None) -> str:
    if isinstance(level, str):
        return level
    return f"{level:g}" if grouped_above is None or level <= grouped_above else f">{grouped_above}"


def _has_low_variance(series: pd.Series) -> bool:
    return bool(series.value_counts(normalize=True).max() > _LARGEST_FRACTION)
