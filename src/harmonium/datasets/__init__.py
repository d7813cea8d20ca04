"""Data to try things on: the paper's six studies and its three-way problem, each as ``(X, y)``."""

from harmonium.datasets.cards import DataCard, EndpointCard, data_card, data_cards_markdown
from harmonium.datasets.paper import load_paper_study
from harmonium.datasets.studies import (
    STUDIES,
    load_arrest,
    load_democracy,
    load_gbsg2,
    load_ncctg,
    load_nvalt8,
    load_nvalt11,
    load_study,
)
from harmonium.datasets.three_way import make_three_way

__all__ = [
    "STUDIES",
    "DataCard",
    "EndpointCard",
    "data_card",
    "data_cards_markdown",
    "load_arrest",
    "load_democracy",
    "load_gbsg2",
    "load_ncctg",
    "load_nvalt8",
    "load_nvalt11",
    "load_paper_study",
    "load_study",
    "make_three_way",
]
