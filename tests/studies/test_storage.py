"""Results in files: whole lines or none, any order of writing, and nothing of another benchmark."""

import pytest

from harmonium.studies.benchmark.evaluation import Result
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS
from harmonium.studies.benchmark.storage import Results

PROTOCOL = Protocol(folds=2, candidates=3)
FAILED = Result(0.25, 'ValueError: what, "this",\nagain?')


def task(outer, candidate, inner):
    return Task("ncctg", "cox", outer, candidate, inner)


def score(value):
    return Result(1.0, scores={("plain", "concordance"): value})


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path, PROTOCOL)


def again(results):
    return Results(results.folder, PROTOCOL)


def file_of(results):
    return results.folder / "ncctg-cox.csv"


def test_what_is_put_is_found_in_memory_and_in_the_file(results):
    results.put(task(0, 1, 0), score(1.0 / 3.0))
    results.put(task(0, 1, None), FAILED)
    for where in (results, again(results)):
        assert where.get(task(0, 1, 0)) == score(0.3333333333)
        assert where.get(task(0, 1, None)).failure == 'ValueError: what, "this", again?'
        assert not where.get(task(0, 1, None)).diverged
        assert where.get(task(0, 2, 0)) is None


def test_the_order_of_writing_does_not_matter(tmp_path):
    texts = []
    for name, order in (("one", (0, 1, 2)), ("other", (2, 0, 1))):
        results = Results(tmp_path / name, PROTOCOL)
        for candidate in order:
            results.put(task(1, candidate, 0), score(0.1 * candidate))
        results.tidy()
        texts.append(file_of(results).read_text())
    assert texts[0] == texts[1]
    assert texts[0].startswith("# harmonium benchmark 2: 2 folds, inputs ")
    assert "# made with Python" in texts[0]


def test_a_line_that_was_cut_off_is_no_result_and_spoils_no_other(results):
    """Every possible end of the last line, as a killed process may leave it; then another result is added."""
    results.put(task(0, 0, 0), score(0.5))
    before = file_of(results).read_bytes()
    results.put(task(0, 1, 0), score(0.61234))
    whole = file_of(results).read_bytes()
    for end in range(len(before), len(whole) - 1):
        file_of(results).write_bytes(whole[:end])
        resumed = again(results)
        assert resumed.get(task(0, 1, 0)) is None
        resumed.put(task(0, 2, 0), score(0.75))
        found = again(results)
        assert [found.get(task(0, c, 0)) for c in range(3)] == [score(0.5), None, score(0.75)]


def test_two_processes_at_once_lose_nothing(results):
    """Each has read the file before the other wrote to it; the first to end sorts what both have added."""
    results.put(task(0, 0, 0), score(0.5))
    one, other = again(results), again(results)
    for place, where in enumerate((one, other)):
        where.get(task(0, 0, 0))
        where.put(task(1, place, 0), score(0.6 + 0.1 * place))
        where.put(task(1, 2, 0), score(0.9))
    one.tidy()
    other.put(task(1, 2, 1), score(0.8))
    other.tidy()
    found = again(results)
    assert [found.get(task(1, c, 0)) for c in range(3)] == [score(0.6), score(0.7), score(0.9)]
    assert found.get(task(1, 2, 1)) == score(0.8)
    assert sum(line.startswith("1,2,0") for line in file_of(results).read_text().splitlines()) == 1


def test_results_of_other_folds_and_of_other_search_spaces_are_refused(results, monkeypatch):
    results.put(task(0, 0, 0), score(0.5))
    with pytest.raises(ValueError, match=r"another benchmark than .* Use another folder"):
        Results(results.folder, Protocol(folds=3)).get(task(0, 0, 0))
    monkeypatch.setattr(type(RIVALS["cox"]), "draw", lambda *_: {"penalizer": 1.0, "l1_ratio": 0.0})
    with pytest.raises(ValueError, match="Use another folder"):
        again(results).get(task(0, 0, 0))


def test_more_candidates_are_the_same_benchmark(results):
    results.put(task(0, 0, 0), score(0.5))
    more = Results(results.folder, Protocol(folds=2, candidates=50, exceptions=(("cox", 7),)))
    assert more.get(task(0, 0, 0)) == score(0.5)
