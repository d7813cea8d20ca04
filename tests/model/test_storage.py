"""A saved model comes back to the bit, or not at all."""

import os
import stat
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import harmonium as hm
from tests.model.model_files import load_model, loaded, opened, predictions, sealed

# --- what was saved comes back ---


def test_predictions_are_the_same_to_the_bit(model, content, study, tmp_path):
    again = loaded(tmp_path / "m", content)
    assert predictions(again, study) == predictions(model, study)


def test_everything_fitted_comes_back(model, content, tmp_path):
    again = loaded(tmp_path / "m", content)
    assert again.training == model.training
    assert again.training.evaluation is not None
    assert again.encoding == model.encoding
    assert again.parameters.to_vector().tobytes() == model.parameters.to_vector().tobytes()
    for endpoint, back in zip(model.encoding.endpoints, again.encoding.endpoints, strict=True):
        assert np.array_equal(endpoint.event_times, back.event_times)
    assert set(vars(model)) == set(vars(again))


def test_a_loaded_model_can_be_saved_again_and_gives_the_same_file(content, tmp_path):
    loaded(tmp_path / "m", content).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content


def test_the_file_is_safetensors_and_holds_the_format_as_described(content):
    document, tensors = opened(content)
    assert content[8:9] == b"{"
    assert sealed(document, tensors) == content
    assert {tensor.dtype for tensor in tensors.values()} == {np.dtype("f8")}
    assert {"parameters.b", "parameters.0.W", "parameters.0.a", "encoding.endpoints.os.event_times"} <= set(tensors)
    assert document["format_version"] == 11


def test_loading_neither_holds_nor_runs_code(content, monkeypatch, tmp_path):
    import builtins
    import pickle

    def forbidden(*_, **__):
        raise AssertionError("code was run")

    for home, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (builtins, "eval"), (builtins, "exec")):
        monkeypatch.setattr(home, name, forbidden)
    loaded(tmp_path / "m", content)
    monkeypatch.undo()
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    assert b"pickle" not in content
    assert all(32 <= byte < 127 for byte in header), "the header is plain text"
    assert content[8 + len(header) :] == b"".join(tensor.tobytes() for _, tensor in sorted(opened(content)[1].items()))


LEVELS = {
    "truth": [True, False, True, False],
    "whole": pd.Categorical([1, 2, 3, 1]),
    "text that looks like numbers": ["1", "2", "3", "1"],
    "real": pd.Categorical([1.0, 0.1 + 0.2, 1e-300, 1.0]),
    "extreme": pd.Categorical([np.inf, -np.inf, 0.0, -np.inf]),
    "umlauts": ["ä", "\ud800", "$float", "\0"],
    7: ["a", "b", "a", "b"],
    1.5: [0, 1, 0, 1],
    True: [0.0, 1.0, 0.0, 1.0],
    ("a", 1): ["x", "y", "z", "x"],
}


def small_model(X, **settings):
    y = hm.endpoints(pd.DataFrame({"t": np.arange(1.0, len(X) + 1.0), "e": 1}), t=("t", "e"))
    quick = {"n_hidden": 1, "trainer": hm.Exact(n_starts=1, max_iter=2), "random_state": 0}
    return hm.SurvivalHarmonium(**{**quick, **settings}).fit(X, y)


def test_names_and_levels_keep_their_types(tmp_path):
    frame = pd.concat([pd.Series(values, name="x") for values in LEVELS.values()], axis=1)
    frame.columns = pd.Index(list(LEVELS), dtype=object, tupleize_cols=False)
    model = small_model(frame)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    for column, back in zip(model.encoding_.columns, again.encoding.columns, strict=True):
        assert (back.name, type(back.name)) == (column.name, type(column.name))
        assert [(level, type(level)) for level in back.levels] == [(level, type(level)) for level in column.levels]
    assert {type(level) for column in again.encoding.columns for level in column.levels} == {bool, int, float, str}
    assert np.array_equal(model.predict(frame), again.predict(frame))


@pytest.mark.parametrize(
    "settings",
    [
        {"horizon": {"t": 50.0}, "time_scale": "linear"},
        {"horizon": np.float64(60.1), "time_scale": "log"},
        {"roles": {0: "categorical", "$odd": "ignored"}},
        {"n_hidden": 0},
        {"n_hidden": np.int64(3), "trainer": hm.Exact(l2=np.float64(0.1), max_iter=2), "objective": 0.3},
        {"n_hidden": 2, "trainer": hm.Contrastive(n_epochs=2, l2={"W": 0.1})},
        {"random_state": np.int64(4)},
    ],
)
def test_settings_come_back(settings, tmp_path):
    X = pd.DataFrame({0: [1, 2, 3] * 4, "$odd": ["a", "b"] * 6, "missing": [0.5, None, 2.5, 3.5] * 3})
    model = small_model(X, **settings)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.training.settings == model.fitted_.training.settings
    assert again.training.settings["trainer"]["name"] in ("exact", "contrastive")
    assert np.array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.SeedSequence(0)])
def test_a_random_state_that_is_not_a_number_is_not_kept(state, tmp_path):
    small_model(pd.DataFrame({"x": range(9)}), random_state=state).save(tmp_path / "m")
    assert load_model(tmp_path / "m").training.settings["random_state"] is None


def test_an_endpoint_without_events_is_kept(tmp_path):
    X = pd.DataFrame({"x": range(6)})
    y = hm.endpoints(pd.DataFrame({"t": range(1, 7), "dead": 1, "relapse": 0}), os=("t", "dead"), rfs=("t", "relapse"))
    with pytest.warns(hm.errors.EndpointWarning, match="'rfs' has no event"):
        hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=2)).fit(X, y).save(tmp_path / "m")
    assert load_model(tmp_path / "m").encoding.endpoints[1].event_times.tolist() == [6.0]


# --- what cannot be saved ---


def test_a_level_that_json_cannot_hold_is_refused_with_its_column(tmp_path):
    model = small_model(pd.DataFrame({"visit": ["a", "b", "c"] * 2})).fitted_
    dates = tuple(pd.date_range("2020", periods=3))
    odd = replace(model, encoding=replace(model.encoding, columns=(replace(model.encoding.columns[0], levels=dates),)))
    with pytest.raises(TypeError, match=r"encoding\.columns\.visit\.levels\.0 cannot be saved: .*Timestamp.*use text or numbers"):
        odd.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_name_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"encoding\.columns\.2020-01-01 00:00:00\.name cannot be saved: .*Timestamp"):
        small_model(pd.DataFrame({pd.Timestamp("2020"): [3, 1, 2, 5, 4, 0]})).save(tmp_path / "m")


def test_a_setting_that_json_cannot_hold_is_refused_by_name(model, tmp_path):
    odd = replace(model, training=replace(model.training, settings={"roles": print}))
    with pytest.raises(TypeError, match=r"training\.settings\.roles cannot be saved"):
        odd.save(tmp_path / "m")


def test_only_a_fitted_harmonium_can_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        hm.SurvivalHarmonium().save(tmp_path / "m")


# --- whole or not at all ---


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(model, monkeypatch, tmp_path, step, error):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        model.save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_complete_write_leaves_one_file_and_follows_links(model, content, tmp_path):
    path, link = tmp_path / "m", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    model.save(str(link))
    assert link.is_symlink()
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_folder_that_is_missing_or_in_the_way_is_an_error(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        model.save(tmp_path / "nowhere" / "m")
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        model.save(tmp_path / "taken")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]
