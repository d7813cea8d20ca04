"""Data cards: where a study comes from, under which licence, and what is in it; whatever can be counted is counted in the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import fill

from harmonium.datasets.paper import load_paper_study
from harmonium.datasets.studies import STUDIES, load_study
from harmonium.table.endpoints import parse_endpoints

__all__ = ["DataCard", "EndpointCard", "data_card", "data_cards_markdown"]


@dataclass(frozen=True)
class EndpointCard:
    """An endpoint's name, what it measures in which unit, and how many events were observed."""

    name: str
    meaning: str
    n_events: int


@dataclass(frozen=True)
class DataCard:
    """What there is to know of a study before using it; as text it is Markdown.

    Attributes
    ----------
    name, title, source, licence : str
    subjects : str
        What a row is.
    n_rows : int
    endpoints : tuple of EndpointCard
    columns : tuple of str
        Covariates as the study's own loader returns them.
    missing : tuple of (str, float)
        Covariates with missing values, and the fraction of rows in which each is missing.
    fraction_missing : float
        Fraction of all covariates' cells that are missing.
    paper_columns, complete_columns : tuple of str
        Columns of :func:`load_paper_study`, all of them and those for models that need complete columns.
    """

    name: str
    title: str
    source: str
    licence: str
    subjects: str
    n_rows: int
    endpoints: tuple[EndpointCard, ...]
    columns: tuple[str, ...]
    missing: tuple[tuple[str, float], ...]
    fraction_missing: float
    paper_columns: tuple[str, ...]
    complete_columns: tuple[str, ...]

    def __str__(self) -> str:
        endpoints = (f"`{endpoint.name}`, {endpoint.meaning} ({endpoint.n_events} events)" for endpoint in self.endpoints)
        missing = f"{self.fraction_missing:.1%} of the cells; " + ", ".join(f"`{name}` {part:.1%}" for name, part in self.missing)
        facts = {
            "Source": self.source,
            "Licence": self.licence,
            "Rows": f"{self.n_rows} {self.subjects}",
            "Endpoints": "; ".join(endpoints),
            f"Covariates ({len(self.columns)})": _listed(self.columns),
            "Missing values": missing if self.missing else "none",
            f"As the paper encodes it ({len(self.paper_columns)})": _listed(self.paper_columns) + self._left_out(),
        }
        return "\n".join([f"### {self.name}: {self.title}", "", *(_bullet(f"**{fact}**: {text}") for fact, text in facts.items())])

    def _left_out(self) -> str:
        left_out = [name for name in self.paper_columns if name not in self.complete_columns]
        return f"; with `complete=True` ({len(self.complete_columns)}) without {_listed(left_out)}" if left_out else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _bullet(text: str) -> str:
    return fill(text, 132, initial_indent="* ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class _Origin:
    """What cannot be counted: the words of a card."""

    title: str
    source: str
    licence: str
    subjects: str
    endpoints: Mapping[str, str]


_OF_LIFELINES = "shipped with lifelines, which is under the MIT licence and states no other for this table (`{}`)"
_OF_HARMONIUMS = "Apache-2.0, published with the package `harmoniums` of H. C. Donker; bundled here, see NOTICE"

_ORIGINS: Mapping[str, _Origin] = {
    "arrest": _Origin(
        "convicts released from Maryland's state prisons, half of them with financial aid",
        "P. H. Rossi, R. A. Berk and K. J. Lenihan, Money, Work, and Crime: Some Experimental Results, Academic Press, 1980",
        _OF_LIFELINES.format("load_rossi"),
        "convicts, followed for a year",
        {"arrest": "weeks to the first arrest after release"},
    ),
    "democracy": _Origin(
        "how long political regimes last",
        "J. A. Cheibub, J. Gandhi and J. R. Vreeland, Democracy and dictatorship revisited, Public Choice 143, 67-101, 2010",
        _OF_LIFELINES.format("load_dd"),
        "spells of a head of government under one regime, from 1946 to 2008",
        {"end": "years to the end of the spell"},
    ),
    "gbsg2": _Origin(
        "hormonal therapy of node-positive breast cancer",
        "M. Schumacher et al. for the German Breast Cancer Study Group, Journal of Clinical Oncology 12, 2086-2093, 1994",
        _OF_LIFELINES.format("load_gbsg2"),
        "women",
        {"rfs": "days to recurrence or death"},
    ),
    "ncctg": _Origin(
        "advanced lung cancer, and what questionnaires filled in by patients tell",
        "C. L. Loprinzi et al. for the North Central Cancer Treatment Group, Journal of Clinical Oncology 12, 601-607, 1994",
        _OF_LIFELINES.format("load_lung"),
        "patients",
        {"os": "days to death"},
    ),
    "nvalt8": _Origin(
        "chemotherapy with or without nadroparin after surgery for lung cancer",
        "H. J. M. Groen et al., British Journal of Cancer 121, 372-377, 2019",
        _OF_HARMONIUMS,
        "patients of the 202 randomised",
        {"os": "months to death", "rfs": "months to recurrence or death"},
    ),
    "nvalt11": _Origin(
        "prophylactic cranial irradiation or observation after treatment of stage III lung cancer",
        "D. De Ruysscher et al., Journal of Clinical Oncology 36, 2366-2377, 2018",
        _OF_HARMONIUMS,
        "patients of the 175 randomised",
        {"os": "months to death", "sbmfs": "months to symptomatic brain metastases, censored at death"},
    ),
}


def data_card(name: str) -> DataCard:
    """Describe one of the paper's studies.

    Examples
    --------
    >>> card = data_card("nvalt11")
    >>> [(endpoint.name, endpoint.n_events) for endpoint in card.endpoints]
    [('os', 118), ('sbmfs', 30)]
    >>> print(card)
    ### nvalt11: prophylactic cranial irradiation or observation after treatment of stage III lung cancer
    ...
    """
    X, y = load_study(name)
    origin = _ORIGINS[name]
    known = parse_endpoints(y)
    events = zip(known.names, known.event.sum(axis=0).tolist(), strict=True)
    missing = X.isna()
    return DataCard(
        name=name,
        title=origin.title,
        source=origin.source,
        licence=origin.licence,
        subjects=origin.subjects,
        n_rows=len(X),
        endpoints=tuple(EndpointCard(endpoint, origin.endpoints[endpoint], n_events) for endpoint, n_events in events),
        columns=tuple(X.columns),
        missing=tuple((column, float(part)) for column, part in missing.mean().items() if part),
        fraction_missing=float(missing.to_numpy().mean()),
        paper_columns=tuple(load_paper_study(name)[0].columns),
        complete_columns=tuple(load_paper_study(name, complete=True)[0].columns),
    )


def data_cards_markdown() -> str:
    """All cards one after another, as they are in docs/datasets.md."""
    return "\n\n".join(str(data_card(name)) for name in STUDIES)
