"""Data cards, and the document that carries them."""

from pathlib import Path

import numpy as np
import pytest

import harmonium as hm

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "datasets.md").read_text()


@pytest.fixture(params=hm.datasets.STUDIES)
def card(request):
    return hm.datasets.data_card(request.param)


def test_a_card_counts_what_is_in_the_data(card):
    X, y = hm.datasets.STUDIES[card.name]()
    assert (card.n_rows, card.columns) == (len(X), tuple(X.columns))
    events = {name: int(np.isfinite(y[name, "upper"]).sum()) for name in y.columns.unique(0)}
    assert {endpoint.name: endpoint.n_events for endpoint in card.endpoints} == events
    assert sum(part for _, part in card.missing) / len(card.columns) == pytest.approx(card.fraction_missing)
    assert dict(card.missing) == {column: X[column].isna().mean() for column in X if X[column].isna().any()}
    assert card.paper_columns == tuple(hm.datasets.load_paper_study(card.name)[0].columns)
    assert card.complete_columns == tuple(hm.datasets.load_paper_study(card.name, complete=True)[0].columns)


def test_a_card_reads_as_markdown(card):
    heading, empty, *facts = str(card).splitlines()
    assert heading == f"### {card.name}: {card.title}"
    assert not empty
    assert all(line.startswith(("* **", "  ")) and len(line) <= 132 for line in facts)
    for part in (card.source, card.licence, f"{card.n_rows} {card.subjects}", *(endpoint.meaning for endpoint in card.endpoints)):
        assert part in " ".join(str(card).split())


def test_a_card_cannot_be_changed(card):
    with pytest.raises(AttributeError):
        card.n_rows = 0
    assert hash(card) == hash(hm.datasets.data_card(card.name))


def test_lifelines_ships_a_table_under_the_mit_licence_and_the_trials_are_under_apache(card):
    assert ("Apache-2.0" if card.name.startswith("nvalt") else "MIT") in card.licence


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="there is no study 'lung'"):
        hm.datasets.data_card("lung")


# --- docs/datasets.md ---


def test_the_document_carries_the_cards():
    renew = "python -c 'import harmonium as hm; print(hm.datasets.data_cards_markdown())'"
    assert DOCUMENT.endswith(f"{hm.datasets.data_cards_markdown()}\n"), f"renew the cards: {renew}"
    assert renew in DOCUMENT


def test_oddities_of_the_document_are_in_the_data():
    X, y = hm.datasets.load_nvalt8()
    assert X["bmi"].nlargest(2).round().tolist() == [393.0, 38.0]
    assert ((y["rfs", "lower"] == 0) & ~np.isfinite(y["rfs", "upper"])).sum() == 3
    died = np.isfinite(y["os", "upper"])
    assert np.isfinite(y["rfs", "upper"])[died].all()
    assert X["M-stage"].value_counts(normalize=True, dropna=False)["M0"] == 0.97


def test_who_dies_without_brain_metastases_is_censored_at_death_but_for_one():
    _, y = hm.datasets.load_nvalt11()
    died, metastases = (np.isfinite(y[name, "upper"]) for name in ("os", "sbmfs"))
    later = (y["sbmfs", "lower"] - y["os", "lower"])[died & ~metastases]
    assert len(later) == 91
    assert later[later != 0.0].round(1).tolist() == [3.7]
