"""A saved model comes back to the bit, or not at all."""

import hashlib
import json
import os
import stat
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load, save
from sklearn.exceptions import NotFittedError

import harmonium as hm
from harmonium.errors import ModelFileError
from harmonium.model.storage import read_contents

load_model = hm.load

TIMES = np.array([0.0, 3.0, 12.0, 24.0, 60.0])


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(study):
    X, y = study
    estimator = hm.SurvivalHarmonium(n_hidden=2, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=30))
    return estimator.fit(X, y, validation=(X[:50], y[:50])).fitted_


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.harmonium"
    model.save(path)
    return path.read_bytes()


def predictions(model, study):
    """All bits of what the model says of a few rows."""
    X, y = study[0][:20], study[1][:20]
    curves = [model.predict_survival_function(X, endpoint=e, times=TIMES, return_array=True) for e in model.endpoint_names]
    likelihoods = [model.log_likelihood(X, y, kind=kind) for kind in ("conditional", "joint")]
    return np.concatenate([part.ravel() for part in (*curves, *likelihoods, model.predict(X))]).tobytes()


def loaded(path, content):
    path.write_bytes(content)
    return load_model(path)


def opened(content):
    """The JSON document and the tensors of a file."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["harmonium"]), dict(load(content))


def sealed(document, tensors):
    """A file with a checksum that is right; written from the format's description, not with the library's own code."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    total = hashlib.sha256(json.dumps({**document, "tensors": shapes}, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(tensors):
        total.update(tensors[name].tobytes())
    return save(tensors, {"harmonium": json.dumps({**document, "checksum": total.hexdigest()})})


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


def test_a_mixture_comes_back(study, tmp_path):
    X, y = study
    quick = hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0)
    mixture = hm.Mixture(tuple(quick.set_params(n_hidden=h).fit(X, y).fitted_ for h in (1, 3)), (0.25, 0.75))
    mixture.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.weights == mixture.weights
    assert predictions(again, study) == predictions(mixture, study)


def test_a_loaded_model_can_be_saved_again_and_gives_the_same_file(content, tmp_path):
    loaded(tmp_path / "m", content).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content


def test_the_file_is_safetensors_and_holds_the_format_as_described(content):
    document, tensors = opened(content)
    assert content[8:9] == b"{"
    assert sealed(document, tensors) == content
    assert {tensor.dtype for tensor in tensors.values()} == {np.dtype("f8")}
    assert {"0.b", "0.0.W", "0.0.a", "event_times.0", "event_times.1"} <= set(tensors)
    assert document["format_version"] == 2


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
    assert load_model(tmp_path / "m").encoding.endpoints[1].event_times.shape == (0,)


# --- what cannot be saved ---


def test_a_level_that_json_cannot_hold_is_refused_with_its_column(tmp_path):
    model = small_model(pd.DataFrame({"visit": ["a", "b", "c"] * 2})).fitted_
    dates = tuple(pd.date_range("2020", periods=3))
    odd = replace(model, encoding=replace(model.encoding, columns=(replace(model.encoding.columns[0], levels=dates),)))
    with pytest.raises(TypeError, match=r"column 'visit' cannot be saved.*Timestamp"):
        odd.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_name_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"column Timestamp.* cannot be saved"):
        small_model(pd.DataFrame({pd.Timestamp("2020"): [3, 1, 2, 5, 4, 0]})).save(tmp_path / "m")


def test_a_setting_that_json_cannot_hold_is_refused_by_name(model, tmp_path):
    odd = replace(model, training=replace(model.training, settings={"roles": print}))
    with pytest.raises(TypeError, match="the setting roles cannot be saved"):
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


# --- files that are wrong ---


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing")


def test_a_directory_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match="it is a directory"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"", "the file is empty"),
        (b"{", "not a safetensors file"),
        (b"time,event\n12,1\n", "not a safetensors file"),
        (b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins", "not a safetensors file"),
        (bytes(100), "not a safetensors file"),
        (b"\xff" * 8 + b"{}", "cut short"),
        ((2).to_bytes(8, "little") + b"{}", "not one that harmonium has written"),
        ((2).to_bytes(8, "little") + b"{]", "damaged"),
        (save({"x": np.zeros(3)}), "not one that harmonium has written"),
        (save({"x": np.zeros(3)}, {"format": "pt"}), "not one that harmonium has written"),
        (save({"x": np.zeros(3)}, {"harmonium": '{"format": "music"}'}), "not a model of harmonium"),
        (save({"x": np.zeros(3)}, {"harmonium": "[" * 100_000}), "its header is damaged"),
        (save({"x": np.zeros(3)}, {"harmonium": "9" * 5_000}), "its header is damaged"),
        (save({"x": np.zeros(3)}, {"harmonium": "NaN"}), "its header is damaged"),
        (save({"x": np.zeros(3)}, {"harmonium": '{"format": "harmonium model", "format_version": 2, "a": 1e999}'}), "damaged"),
    ],
)
def test_other_files_are_refused(wrong, message, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(wrong)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_a_newer_format_says_so(content, tmp_path):
    document, tensors = opened(content)
    with pytest.raises(ModelFileError, match=r"written by a newer version of harmonium \(format 3\); this one reads format 2"):
        loaded(tmp_path / "m", sealed({**document, "format_version": 3, "news": []}, tensors))


def test_an_early_format_says_what_to_do(content, tmp_path):
    document, tensors = opened(content)
    with pytest.raises(ModelFileError, match=r"early version of harmonium \(format 1\); fit the model again"):
        loaded(tmp_path / "m", sealed({**document, "format_version": 1}, tensors))


@pytest.mark.parametrize("version", [0, True, "1", None, 1.0])
def test_a_format_that_never_was_is_refused(content, tmp_path, version):
    document, tensors = opened(content)
    with pytest.raises(ModelFileError, match="its format must be"):
        loaded(tmp_path / "m", sealed({**document, "format_version": version}, tensors))


def test_a_change_without_a_new_checksum_is_noticed(content, tmp_path):
    document, tensors = opened(content)
    tensors["0.b"] = np.nextafter(tensors["0.b"], 1e9)
    with pytest.raises(ModelFileError, match="checksum"):
        loaded(tmp_path / "m", save(tensors, {"harmonium": json.dumps(document)}))


@pytest.mark.parametrize("step", [1, 97])
def test_a_truncated_file_is_noticed(content, tmp_path, step):
    for length in range(len(content) - 1, len(content) - 50 if step == 1 else 0, -step):
        with pytest.raises(ModelFileError, match=r"cut short|beginning is damaged"):
            loaded(tmp_path / "m", content[:length])


def with_nan(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("0.b", with_nan, "must be finite; found nan in b"),
        ("0.0.W", with_nan, "must be finite; found nan in W"),
        ("0.b", lambda b: b[:-1], "n_hidden is 2, but the tensors have 1 hidden units"),
        ("0.b", lambda b: b[None], "must have one axis"),
        ("0.0.a", lambda a: a[:-1], "must have the shape"),
        ("0.0.W", lambda w: w.astype("f4"), "must be float64; found F32"),
        ("0.0.W", lambda w: np.zeros(w.shape, dtype=bool), "must be float64; found BOOL"),
        ("0.0.W", lambda w: np.zeros((0, 2**40)), "must have the shape"),
        ("event_times.0", lambda t: t[::-1].copy(), "and ascend"),
        ("event_times.0", lambda t: t[None], "one axis"),
        ("event_times.1", with_nan, "must be finite"),
    ],
)
def test_wrong_tensors_are_refused(content, tmp_path, name, change, message):
    document, tensors = opened(content)
    tensors[name] = change(tensors[name])
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(document, tensors))


def test_negative_scales_are_refused(content, tmp_path):
    document, tensors = opened(content)
    for name in (name for name in tensors if name.endswith((".sigma", ".c", ".V"))):
        with pytest.raises(ModelFileError, match=r"must be above 0|must be at least 0"):
            loaded(tmp_path / "m", sealed(document, {**tensors, name: -1.0 - tensors[name]}))


def test_missing_and_additional_tensors_are_refused(content, tmp_path):
    document, tensors = opened(content)
    for name in tensors:
        with pytest.raises(ModelFileError, match=f"'{name.removeprefix('0.')}' is missing|'{name}' is missing"):
            loaded(tmp_path / "m", sealed(document, {key: value for key, value in tensors.items() if key != name}))
    with pytest.raises(ModelFileError, match="tensors of no use: 'more'"):
        loaded(tmp_path / "m", sealed(document, {**tensors, "more": np.zeros(2)}))


def places(stored, path=()):
    """Every place in a JSON document."""
    yield path
    items = stored.items() if isinstance(stored, dict) else enumerate(stored) if isinstance(stored, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def replaced(stored, path, value):
    if not path:
        return value
    copy = stored.copy()
    copy[path[0]] = replaced(stored[path[0]], path[1:], value)
    return copy


VALUES = [
    None,
    True,
    -1,
    10**400,
    -0.5,
    "",
    "x",
    [],
    [[]],
    {},
    {"a": 1},
    {"$float": "x"},
    {"$tuple": 3},
    {"$mapping": [1]},
    {"$": 1, "b": 2},
]


def test_a_document_that_makes_no_sense_is_refused_though_its_checksum_is_right(content, tmp_path):
    document, tensors = opened(content)
    everywhere = [path for path in places(document) if path and path[0] != "checksum"]
    rng = np.random.default_rng(0)
    refused = 0
    for i in rng.permutation(len(everywhere))[:200]:
        for v in rng.choice(len(VALUES), 3, replace=False):
            try:
                loaded(tmp_path / "m", sealed(replaced(document, everywhere[i], VALUES[v]), tensors))
            except ModelFileError:
                refused += 1
    assert refused > 300


@pytest.mark.parametrize("deep", [50, 500, 2_000, 20_000])
def test_nesting_that_is_too_deep_is_refused(content, tmp_path, deep):
    document, tensors = opened(content)
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    nested = "[" * deep + "]" * deep
    del document["checksum"]
    document["components"][0]["settings"] = {"n_hidden": "HERE", "roles": 3, "no such setting": None}
    described = json.dumps({**document, "tensors": shapes}, sort_keys=True, separators=(",", ":")).replace('"HERE"', nested)
    checksum = hashlib.sha256(described.encode() + b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()
    text = json.dumps({**document, "checksum": checksum}).replace('"HERE"', nested)
    with pytest.raises(ModelFileError) as caught:
        loaded(tmp_path / "m", save(tensors, {"harmonium": text}))
    assert "checksum" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hidden": 3}, "n_hidden is 3, but the tensors have 2"),
        ({"n_hidden": "2"}, "n_hidden must be a whole number"),
        ({"n_hidden": True}, "n_hidden must be a whole number"),
        ({"objective": "both"}, "objective must be"),
        ({"objective": 1.5}, "objective must be"),
        ({"time_scale": 4}, "time_scale must be one of"),
        ({"horizon": -1.0}, "horizon must be"),
        ({"horizon": {"os": "late"}}, "horizon must be"),
        ({"roles": {"age": "number"}}, "roles must be"),
        ({"trainer": "sgd"}, "trainer must be"),
        ({"trainer": {"name": "exact", "l2": [1]}}, "trainer must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"verbose": True}, "there is no setting 'verbose'"),
    ],
)
def test_settings_are_checked_for_type_and_against_the_tensors(content, tmp_path, settings, message):
    document, tensors = opened(content)
    document["components"][0]["settings"] |= settings
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(document, tensors))


def test_the_contents_of_a_file_are_read_without_the_model(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    contents = read_contents(path)
    assert contents.encoding.endpoint_names == ("os", "rfs")
    assert contents.training[0].n_rows == 200


# --- random damage ---


def flip(content, rng):
    out = np.frombuffer(content, dtype=np.uint8).copy()
    where = rng.integers(0, out.size, rng.integers(1, 5))
    out[where] ^= rng.integers(1, 256, where.size, dtype=np.uint8)
    return out.tobytes()


def truncate(content, rng):
    return content[: rng.integers(0, len(content))]


def insert(content, rng):
    at = rng.integers(0, len(content) + 1)
    return content[:at] + rng.bytes(rng.integers(1, 64)) + content[at:]


def delete(content, rng):
    at = rng.integers(0, len(content))
    return content[:at] + content[at + rng.integers(1, 64) :]


def zero(content, rng):
    at, length = rng.integers(0, len(content)), rng.integers(1, 64)
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def swap(content, rng):
    length = int(rng.integers(1, 64))
    first, second = np.sort(rng.integers(0, len(content) - length, 2))
    second = max(second, first + length)
    a, b = content[first : first + length], content[second : second + length]
    return content[:first] + b + content[first + length : second] + a + content[second + length :]


def digit(content, rng):
    """The nastiest: a header that is still valid JSON, with another number in it."""
    digits = [i for i in range(8, 8 + int.from_bytes(content[:8], "little")) if 48 <= content[i] < 58]
    at = rng.choice(digits)
    return content[:at] + b"%d" % ((content[at] - 48 + rng.integers(1, 10)) % 10) + content[at + 1 :]


DAMAGES = [flip, truncate, insert, delete, zero, swap, digit]


def test_500_random_corruptions_give_an_error_or_the_same_model(model, content, study, tmp_path):
    rng = np.random.default_rng(20240229)
    expected = predictions(model, study)
    refused = same = 0
    for i in range(504):
        damaged = content
        while damaged == content:  # two equal ranges may have been swapped, zeros zeroed
            damaged = DAMAGES[i % len(DAMAGES)](content, rng)
        try:
            again = loaded(tmp_path / "m", damaged)
        except ModelFileError:
            refused += 1
        else:
            same += 1
            assert again.encoding == model.encoding
            assert again.training == model.training
            assert predictions(again, study) == expected
    assert refused + same == 504
    assert refused > 490
