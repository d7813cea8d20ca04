"""What comes over the network: sense is answered, nonsense is refused in a line, and the server goes on."""

import copy
import http.client
import json
import random
import string
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest

from harmonium.explorer.answers import Edits, curves_of
from harmonium.explorer.app import make_app
from harmonium.explorer.validation import parse_form


def curve_of(response, name):
    traces = response.json["response"]["patient-figure"]["figure"]["data"]
    return np.array(next(trace["y"] for trace in traces if trace["name"] == name))


def message_of(response):
    parts = response.json["response"]
    return next(value["children"] for name, value in parts.items() if name.endswith("-message"))


def is_right(model, schema, page, response, form):
    expected = curves_of(model, schema, [parse_form(schema, form)]).survival[0, 0]
    return response.status_code == 200 and np.allclose(curve_of(response, "os"), expected, rtol=1e-9)


def test_a_patient_is_answered(model, schema, page):
    known = {"age": "70"}, {"rfs": "event"}, {"rfs": "8"}
    response = page.post(page.patient(*known))
    assert is_right(model, schema, page, response, page.form(*known))
    assert response.headers["Cache-Control"] == "no-store"
    again = page.post(page.patient({"age": "70"}, {"rfs": "event"}, {"rfs": "9"}, history=response.json["response"]["history"]["data"]))
    assert again.json["response"]["change"]["children"].startswith("rfs event at 9 months: median os ")


def test_a_wrong_field_is_said_on_the_page_and_changes_nothing_else(page):
    response = page.post(page.patient({"age": "sixty"}))
    assert list(response.json["response"]) == ["patient-message"]
    assert message_of(response) == "age must be a number; found 'sixty'"


def test_scenarios_are_compared(page):
    response = page.post(page.compare([page.form({"age": "40"}), None, page.form({"age": "80"})], ["young", "", "<b>old</b>"]))
    names = [trace["name"] for trace in response.json["response"]["compare-figure"]["figure"]["data"]]
    assert names == ["average", "young", "&lt;b&gt;old&lt;/b&gt;"]
    known = [response.json["response"][f'{{"index":{i},"type":"known"}}']["children"] for i in range(3)]
    assert known == ["age 40", "empty", "age 80"]


def test_two_endpoints_are_drawn_together_when_the_tab_is_open(page):
    response = page.post(page.together())
    assert np.shape(response.json["response"]["together-figure"]["figure"]["data"][0]["z"]) == (60, 60)
    assert page.post(page.together(tab=0)).status_code == 204


@pytest.mark.parametrize("grid", ["100000", 10**9, -1, 1e300, None, "x", [60], {"n": 60}])
def test_absurd_grids_are_refused(page, grid):
    for tab in (0, 2):
        response = page.post(page.together(grid=grid, tab=tab))
        assert response.status_code == 200
        assert message_of(response).startswith("a grid must have 2 to 200 times on each side")


def nonsense(rng, depth=0):
    """Random JSON."""
    kind = rng.randrange(8 if depth < 3 else 6)
    if kind == 6:
        return [nonsense(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {rng.choice(["output", "inputs", "state", "id", "value", "x"]): nonsense(rng, depth + 1) for _ in range(rng.randrange(4))}
    text = "".join(rng.choices(string.printable, k=rng.randrange(30)))
    return [None, True, rng.randrange(-(10**12), 10**12), rng.uniform(-1e300, 1e300), text, "é" * 1000][kind]


def damaged(body, rng):
    """A good request with something wrong in it."""
    body = copy.deepcopy(body)
    places = [(body, key) for key in body]
    stack = list(body.values())
    while stack:
        item = stack.pop()
        keys = item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        for key in keys:
            places.append((item, key))
            stack.append(item[key])
    holder, key = rng.choice(places)
    if rng.random() < 0.4:
        del holder[key]
    else:
        holder[key] = nonsense(rng)
    return body


def test_two_hundred_malformed_requests_do_not_hurt(model, schema, page):
    rng = random.Random(0)
    client = page.client()
    good = [
        page.patient(
            {"age": "70"}, {"rfs": "event"}, {"rfs": "8"}, history=Edits(page.form(), page.form(), (1.0, 2.0), (1.0, 2.0)).to_json()
        ),
        page.compare([page.form(), None, page.form({"age": "50"})]),
        page.together(),
        page.cohort({"name": "a.csv", "contents": "data:text/csv;base64,YQox"}, "12"),
    ]
    bodies = [json.dumps(nonsense(rng)) for _ in range(60)]
    bodies += [json.dumps(damaged(rng.choice(good), rng)) for _ in range(130)]
    bodies += ["", "{", "null", "[]", '"x"', "\x00\xff", '{"output": NaN}', "[" * 5000, '{"output": {}}', '{"inputs": 3, "output": "x"}']
    assert len(bodies) == 200
    statuses = []
    for body in bodies:
        response = client.post("/_dash-update-component", data=body.encode(), content_type="application/json")
        statuses.append(response.status_code)
        assert response.status_code in (200, 204, 400, 415), (response.status_code, body[:300], response.text[:300])
        assert "Traceback" not in response.text
        if response.status_code >= 400:
            assert 0 < len(response.text) < 500
    assert statuses.count(400) > 60
    assert is_right(model, schema, page, page.post(page.patient({"age": "70"}), client), page.form({"age": "70"}))


def test_an_upload_of_50_mb_is_refused_and_the_server_goes_on(model, schema, app, page, serve):
    body = json.dumps(page.cohort({"name": "a.csv", "contents": "data:text/csv;base64," + "A" * (50 * 2**20)})).encode()
    response = page.client().post("/_dash-update-component", data=body, content_type="application/json")
    assert (response.status_code, response.text) == (413, "the request is too large; a file may have 20 MB\n")
    place = urlsplit(serve(app))
    for sent, status in ((body, 413), (json.dumps(page.patient()).encode(), 200)):
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=300)
        connection.request("POST", "/_dash-update-component", sent, {"Content-Type": "application/json"})
        assert connection.getresponse().status == status
        connection.close()


@pytest.mark.slow
def test_twenty_clients_at_once_get_their_own_answers(model, schema, page):
    ages = [str(40 + number) for number in range(20)]

    def ask(age):
        client = page.client()
        return [(page.post(page.patient({"age": age}), client), page.form({"age": age})) for _ in range(5)]

    with ThreadPoolExecutor(20) as pool:
        answers = [pair for own in pool.map(ask, ages) for pair in own]
    assert all(is_right(model, schema, page, response, form) for response, form in answers)


def test_a_failure_of_ours_shows_no_traceback(model, monkeypatch, caplog, schema):
    from .conftest import Page

    app = make_app(model)
    broken = Page(app, schema)
    monkeypatch.setattr("harmonium.explorer.tabs.patient.curves_of", lambda *_: 1 / 0)
    response = broken.post(broken.patient())
    assert (response.status_code, response.text) == (500, "this should not have happened; please report it\n")
    assert "ZeroDivisionError" in caplog.text


def test_the_page_loads_everything_from_here(page):
    client = page.client()
    response = client.get("/")
    assert "http://" not in response.text.replace("http://www.w3.org", "")
    assert "https://" not in response.text
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy
    layout = client.get("/_dash-layout")
    assert layout.status_code == 200


def test_only_this_machine_is_answered_unless_opened(app, model):
    client = app.server.test_client()
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"Host": "localhost:8050"}).status_code == 200
    assert client.get("/", headers={"Host": "[::1]:8050"}).status_code == 200
    opened = make_app(model, local=False).server.test_client()
    assert opened.get("/", headers={"Host": "hospital.example"}).status_code == 200
