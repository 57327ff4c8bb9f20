import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

POSTS = ("label", "merge", "split", "together", "apart", "name", "undo", "redo")


def test_the_page_is_told_all_it_needs(client, session, evil):
    run = client.get("/api/run").json()
    assert run["title"] == evil
    assert (run["rows"], run["method"]) == (240, "PCX")
    assert [way["key"] for way in run["colourings"]][:3] == ["cluster", "confidence", "given"]
    state = client.get("/api/state").json()
    assert sum(cluster["size"] for cluster in state["clusters"]) == 240
    assert state["refine"]["ready"]
    assert not session.map_requested.is_set()
    plane = client.get("/api/map").json()
    assert session.map_requested.is_set()
    assert len(plane["x"]) == len(plane["y"]) == len(plane["rows"]) == 240


def test_an_answer_comes_back_with_what_it_did(client):
    answer = client.post("/api/label", json={"rows": [3, 5, 9], "to": None}).json()
    assert answer["change"]["moved"] >= 3
    assert "moved" in answer["change"]["words"]
    assert answer["state"]["undo"] == 1
    assert [cluster["number"] for cluster in answer["state"]["clusters"]] == [0, 1, 2, 3, 4]
    assert client.post("/api/undo").json()["state"]["redo"] == 1
    assert client.post("/api/redo").json()["state"]["undo"] == 1


def test_rows_are_found_by_number_and_by_words(client, evil):
    assert client.get("/api/search?words=17").json()[0]["row"] == 17
    answer = client.get(f"/api/search?words={quote('THING 239 ' + evil)}").json()
    assert [row["row"] for row in answer] == [239]
    assert client.get("/api/search?words=nowhere").json() == []
    assert len(client.get("/api/search?words=maker").json()) == 60


def test_a_cluster_is_described_and_its_rows_are_paged(client):
    answer = client.get("/api/clusters/1").json()
    rows = client.get("/api/clusters/1/rows?order=row&offset=2&most=3").json()
    assert len(rows) == 3
    assert answer["size"] > 3
    assert client.get("/api/clusters/1/rows?offset=100000").json() == []


@pytest.mark.parametrize("what", ["labels.csv", "labels.parquet", "model", "answers"])
def test_exports_are_downloads_and_lie_in_the_folder(client, session, what):
    answer = client.get(f"/api/export/{what}")
    assert answer.headers["content-disposition"].startswith("attachment")
    name = answer.headers["content-disposition"].partition('filename="')[2].rstrip('"')
    assert (session.folder / name).read_bytes() == answer.content


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/api/rows?rows=240", 400, "There is no row 240"),
        ("/api/rows?rows=-1", 400, "row numbers"),
        ("/api/rows?rows=1,two", 400, "row numbers"),
        ("/api/rows?rows=" + ",".join("1" * 61), 400, "up to 60"),
        ("/api/rows", 422, "rows, missing"),
        ("/api/clusters/77", 400, "There is no cluster 77"),
        ("/api/clusters/99999999999999999999", 422, "number"),
        ("/api/colours/nothing", 400, "cannot be coloured"),
        ("/api/colours/column-9", 400, "cannot be coloured"),
        ("/api/search?words=", 422, "words"),
        ("/api/export/everything", 400, "no such export"),
    ],
)
def test_a_wrong_question_is_one_sentence(client, address, status, words):
    answer = client.get(address)
    assert answer.status_code == status
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("label", b'{"rows": [NaN], "to": 1}'),
        ("label", b'{"rows": [1e400], "to": 1}'),
        ("label", b'{"rows": [99999999999999999999], "to": 1}'),
        ("label", b'{"rows": [true], "to": 1}'),
        ("label", b'{"rows": [1], "to": 1, "more": 1}'),
        ("name", b'{"cluster": 0, "name": "\\ud800"}'),
        ("name", b'{"cluster": 0, "name": "' + b"x" * 201 + b'"}'),
        ("name", b"\xff\xfe"),
        ("apart", b'{"rows": [1, 2, 3]}'),
        ("together", b'{"rows": [1]}'),
        ("together", b'{"rows": [1, 1]}'),
        ("merge", b"[" * 20_000),
        ("merge", b""),
    ],
)
def test_a_malformed_answer_is_refused_and_leaves_no_trace(client, session, address, body):
    answer = client.post(f"/api/{address}", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert session.log.path.read_bytes() == b""


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
number = st.integers(-3, 260) | st.just(2**31) | anything
bodies = anything | st.fixed_dictionaries(
    {},
    optional={
        "rows": st.lists(number, max_size=4) | anything,
        "to": number,
        "cluster": number,
        "source": number,
        "into": number,
        "name": st.text() | anything,
    },
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(address=st.sampled_from(POSTS), body=bodies)
def test_no_answer_however_strange_breaks_the_server(client, address, body):
    answer = client.post(
        f"/api/{address}", content=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    assert answer.status_code in (200, 400, 422)
    assert client.get("/api/state").status_code == 200


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    address=st.sampled_from(
        (
            "colours/{}",
            "rows?rows={}",
            "clusters/{}",
            "clusters/1/rows?order={}",
            "clusters/1/rows?offset={}",
            "search?words={}",
            "export/{}",
            "{}",
        )
    ),
    word=st.text(max_size=30) | st.integers().map(str) | st.sampled_from(["..", "%00", "1,2", "cluster"]),
)
def test_no_question_however_strange_breaks_the_server(client, address, word):
    sendable = word.encode("utf-8", "surrogatepass")
    answer = client.get("/api/" + address.format(quote(sendable, safe="")))
    assert answer.status_code in (200, 400, 404, 422)


def test_an_answer_of_a_tab_that_missed_another_answer_is_refused_and_nothing_is_lost(client, session):
    known = client.get("/api/state").json()["steps"]
    headers = {"coterie-steps": str(known)}
    assert client.post("/api/name", json={"cluster": 0, "name": "one"}, headers=headers).status_code == 200
    for what, body in (
        ("name", {"cluster": 0, "name": "two"}),
        ("undo", {}),
        ("redo", {}),
        ("split", {"cluster": 0}),
    ):
        stale = client.post(f"/api/{what}", json=body, headers=headers)
        assert stale.status_code == 409
        assert stale.json()["error"].startswith(
            "Another tab has given an answer since, so this one was not taken"
        )
    assert [answer.name for answer in session.log.answers] == ["one"]
    fresh = {"coterie-steps": str(client.get("/api/state").json()["steps"])}
    again = client.post("/api/name", json={"cluster": 0, "name": "two"}, headers=fresh)
    assert again.status_code == 200
    assert again.json()["state"]["steps"] == int(fresh["coterie-steps"]) + 1


def test_an_undone_answer_is_a_step_too(client):
    assert client.post("/api/name", json={"cluster": 0, "name": "one"}).json()["state"]["steps"] == 1
    assert client.post("/api/undo").json()["state"]["steps"] == 2
    assert client.post("/api/redo", headers={"coterie-steps": "1"}).status_code == 409


def test_an_answer_that_does_not_say_which_steps_the_page_knows_is_refused(client, session):
    answer = client.request("POST", "/api/name", json={"cluster": 0, "name": "x"})
    assert answer.status_code == 422
    assert answer.json()["error"] == "The request is wrong: coterie-steps, missing."
    assert session.log.path.read_bytes() == b""


@pytest.mark.parametrize("steps", ["-1", "x", "1" * 4000, ""])
def test_a_number_of_steps_that_is_none_is_refused(client, steps):
    answer = client.post("/api/name", json={"cluster": 0, "name": "x"}, headers={"coterie-steps": steps})
    assert answer.status_code == 422
