"""A model file that is damaged, foreign or made up is refused with a reason."""

import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import save

from harmonium.errors import ModelFileError
from harmonium.model.storage import read_contents
from tests.model.model_files import load_model, loaded, opened, predictions, sealed

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
        (save({"x": np.zeros(3)}, {"harmonium": "[" * 100_000}), "its content makes no sense"),
        (save({"x": np.zeros(3)}, {"harmonium": "9" * 5_000}), "its content makes no sense"),
        (save({"x": np.zeros(3)}, {"harmonium": "NaN"}), "not a model of harmonium"),
        (save({"x": np.zeros(3)}, {"harmonium": '{"format": "harmonium model", "format_version": 11, "a": 1e999}'}), "is missing"),
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
    with pytest.raises(ModelFileError, match=r"written by a newer version of harmonium \(format 12\); this one reads format 11"):
        loaded(tmp_path / "m", sealed({**document, "format_version": 12, "news": []}, tensors))


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
    tensors["parameters.b"] = np.nextafter(tensors["parameters.b"], 1e9)
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
        ("parameters.b", with_nan, "the tensor 'parameters.b' must be finite"),
        ("parameters.0.W", with_nan, "the tensor 'parameters.0.W' must be finite"),
        ("parameters.b", lambda b: b[:-1], "n_hidden is 2, but the tensors have 1 hidden units"),
        ("parameters.b", lambda b: b[None], "with one axis"),
        ("parameters.0.a", lambda a: a[:-1], "must have the shape"),
        ("parameters.0.W", lambda w: w.astype("f4"), "must be float64; found F32"),
        ("parameters.0.W", lambda w: np.zeros(w.shape, dtype=bool), "must be float64; found BOOL"),
        ("parameters.0.W", lambda w: np.zeros((0, 2**40)), "must have the shape"),
        ("encoding.endpoints.os.event_times", lambda t: t[::-1].copy(), "ascend"),
        ("encoding.endpoints.os.event_times", lambda t: t[None], "one axis"),
        ("encoding.endpoints.rfs.event_times", with_nan, "must be finite"),
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
        with pytest.raises(ModelFileError, match=f"'{name}' is missing"):
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
    document["model"]["training"]["settings"] = {"n_hidden": "HERE", "roles": 3, "no such setting": None}
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
        ({"n_hidden": "2"}, "n_hidden must be of type int"),
        ({"n_hidden": True}, "n_hidden must be of type int"),
        ({"objective": "both"}, "objective must be"),
        ({"objective": 1.5}, "objective must be"),
        ({"time_scale": 4}, "time_scale must be of type str"),
        ({"horizon": -1.0}, "horizon must be"),
        ({"horizon": {"os": "late"}}, "horizon must be"),
        ({"roles": {"age": "number"}}, "roles.age must be one of numeric, .* found 'number'"),
        ({"trainer": "sgd"}, "trainer must be"),
        ({"trainer": {"name": "exact", "l2": [1]}}, "trainer must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"verbose": True}, "there is nothing called training.settings.verbose"),
    ],
)
def test_settings_are_checked_for_type_and_against_the_tensors(content, tmp_path, settings, message):
    document, tensors = opened(content)
    document["model"]["training"]["settings"] |= settings
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(document, tensors))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("columns.age.role", "number", "encoding.columns.age.role must be one of numeric, .*; found 'number'"),
        ("columns.age.mean", 61, "encoding.columns.age.mean must be of type float; found 61"),
        ("columns.age.missing", 1.5, "encoding.columns.age.missing must be between 0 and 1"),
        ("columns.age.deviation", {"$float": "inf"}, "deviation must be finite and at least 0; found inf"),
        ("columns.age.scale", None, "encoding.columns.age: it has a scale if it is numeric, and only then"),
        ("columns.age.scale.spread", 0.0, "scale.spread must be finite and positive"),
        ("columns.age.scale.knots", [3.0, 2.0], "encoding.columns.age.scale: it needs two knots"),
        ("columns.age.scale.floor", 1e9, "encoding.columns.age.scale: its bounds must ascend"),
        ("columns.age.scale.grid.step", 0, "encoding.columns.age.scale.grid: it must have a positive step"),
        ("columns.arm.levels", ["a", "a"], "encoding.columns.arm: its levels must be unique"),
        ("columns.arm.levels", ["a"], "encoding.columns.arm: it is binary and cannot have 1 levels"),
        ("columns.arm.name", "age", "encoding: names of columns must be unique"),
        ("endpoints.os.name", "rfs", "encoding: there must be endpoints with unique names"),
        ("endpoints.os.first_time", 0.0, "encoding.endpoints.os.first_time must be finite and positive"),
        ("endpoints.os.counts.rows", True, "counts.rows must be of type float"),
        ("endpoints.os.follow_up.quantiles", [2.0, 1.0], "endpoints.os.follow_up: the quantiles"),
        ("endpoints.os.scale.hazards", [1.0], "endpoints.os.scale: it needs two knots and two hazards more"),
        ("endpoints.os.scale.horizon", 1e9, "endpoints.os.scale: its horizon must be its end"),
        ("endpoints.os.scale.name", "sqrt", "endpoints.os.scale.name must be one of kaplan-meier"),
        ("observation.ended_by", [[0], []], "encoding: what ends an endpoint's observation must be other endpoints"),
        ("observation.weights", [], "encoding: follow-up must have a weight for every number and level"),
        ("unit", 3, "encoding.unit must be of type str; found 3"),
    ],
)
def test_what_no_fit_could_have_learned_is_refused_by_name(content, tmp_path, place, value, message):
    document, tensors = opened(content)
    *path, last = place.split(".")
    where = document["model"]["encoding"]
    for step in path:
        where = where[step] if isinstance(where, dict) else next(item for item in where if item["name"] == step)
    where[last] = value
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(document, tensors))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("endpoints",), [], "there must be a harmonium for each endpoint where one is terminal"),
        (("encoding", "ordered"), None, "there must be a harmonium for each endpoint where one is terminal"),
        (("encoding", "ordered", "graph", "terminal"), ["other"], "there must be terminal endpoints among"),
        (("encoding", "ordered", "graph", "names"), ["recurrence", "death", "more"], "encoding: the ordered endpoints must be"),
        (("endpoints", 1, "scales", 0), None, "the harmonium of endpoint 1 must have a time scale for each state"),
        (("endpoints", 1, "columns", "happened"), [], "the harmonium of endpoint 1 must have a column or none for each event"),
        (("endpoints", 1, "columns", "happened"), ["age"], "endpoints.1: it must have the columns that tell the state"),
        (("endpoints", 0, "encoding", "columns", 0, "name"), "other", "the harmonium of endpoint 0 must have the columns of the study"),
        (("endpoints", 0, "encoding", "endpoints", 0, "name"), "other", "there must be a harmonium for each endpoint"),
        (("endpoints", 1, "training", "settings", "n_hidden"), 5, "endpoints.1: the setting n_hidden is 5"),
        (("endpoints", 1, "spread"), {}, "tensors of no use: 'endpoints.1.spread"),
    ],
)
def test_damaged_harmoniums_of_endpoints_are_refused(ordered_content, tmp_path, path, value, message):
    document, tensors = opened(ordered_content)
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(replaced(document, ("model", *path), value), tensors))


def test_tensors_of_endpoints_are_checked_likewise(ordered_content, tmp_path):
    document, tensors = opened(ordered_content)
    for name in (name for name in tensors if name.startswith("endpoints.")):
        with pytest.raises(ModelFileError, match=f"'{name}' is missing"):
            loaded(tmp_path / "m", sealed(document, {key: value for key, value in tensors.items() if key != name}))
        cut = np.ascontiguousarray(tensors[name][..., :-1]) if tensors[name].size else np.zeros((3, 3, 3, 3))
        if not name.endswith("event_times"):
            with pytest.raises(ModelFileError, match=r"must have|n_hidden is 1"):
                loaded(tmp_path / "m", sealed(document, {**tensors, name: cut}))


def test_the_contents_of_a_file_are_read_without_the_model(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    contents = read_contents(path)
    assert contents.encoding.endpoint_names == ("os", "rfs")
    assert contents.training.n_rows == 200


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
