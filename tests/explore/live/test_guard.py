import re

import pytest
from fastapi.testclient import TestClient

from coterie.explore.live.guard import Keys
from coterie.explore.live.server import make_app

HOME = "http://127.0.0.1:4321"


@pytest.fixture
def keys():
    return Keys(4321)


@pytest.fixture
def stranger(make_session, keys):
    """A client without the cookie."""
    app = make_app(make_session(prepared=False), keys)
    return TestClient(app, base_url=HOME, follow_redirects=False)


@pytest.fixture
def client(stranger, keys):
    """A client that opened the link."""
    assert stranger.get(keys.link().removeprefix(HOME)).status_code == 303
    return stranger


ADDRESSES = [
    "/",
    "/style.css",
    "/canvas.js",
    "/explorer.js",
    "/api/state",
    "/api/rows?rows=1",
    "/api/export/answers",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_the_cookie_nothing_is_served(stranger, address):
    answer = stranger.get(address)
    assert answer.status_code == 403
    assert "Open the link" in answer.text


@pytest.mark.parametrize("address", ADDRESSES)
def test_with_the_cookie_everything_is(client, address):
    assert client.get(address).status_code == 200


def test_a_link_works_once_and_the_cookie_stays_with_the_browser(stranger, keys):
    link = keys.link().removeprefix(HOME)
    first = stranger.get(link)
    assert first.status_code == 303
    assert first.headers["location"] == "/"
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("coterie-4321=")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "max-age" not in cookie.lower()
    assert link.partition("=")[2] not in cookie
    assert stranger.get(link).status_code == 303, "a reload of the link in the same browser"
    stranger.cookies.clear()
    again = stranger.get(link)
    assert again.status_code == 403
    assert "used before" in again.text
    assert stranger.get(keys.link().removeprefix(HOME)).status_code == 303


@pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 5000])
def test_a_guessed_token_opens_nothing(stranger, keys, token):
    keys.link()
    assert stranger.get(f"/?token={token}").status_code == 403


@pytest.mark.parametrize("cookie", ["", "x", '"quoted"', "a" * 5000])
def test_a_guessed_cookie_opens_nothing(stranger, cookie):
    assert stranger.get("/api/state", headers={"cookie": f"coterie-4321={cookie}"}).status_code == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:4322", "localhost", "0.0.0.0:4321", "127.0.0.1:4321.evil", ""],
)
def test_a_wrong_host_is_refused(client, host):
    assert client.get("/api/state", headers={"host": host}).status_code == 400


def test_the_other_name_of_this_machine_is_a_right_host(client, keys):
    headers = {"host": "localhost:4321", "cookie": f"coterie-4321={keys.cookie}"}
    assert client.get("/api/state", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:4321", "http://127.0.0.1:9", ""]
)
def test_a_wrong_origin_is_refused(client, origin):
    for answer in (
        client.get("/api/state", headers={"origin": origin}),
        client.post("/api/undo", headers={"origin": origin}),
    ):
        assert answer.status_code == 403
        assert "another page" in answer.text


def test_a_change_needs_the_origin_and_a_get_of_another_site_is_refused(client):
    assert client.post("/api/undo", json={}).status_code == 403
    assert client.get("/api/export/answers", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/api/export/answers", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    answer = client.post(
        "/api/name", json={"cluster": 0, "name": "x"}, headers={"origin": HOME, "coterie-steps": "0"}
    )
    assert answer.status_code == 200


def test_a_body_that_is_too_large_or_of_unknown_length_is_refused(client):
    headers = {"origin": HOME, "content-type": "application/json"}
    for method, address in (("POST", "/api/label"), ("GET", "/api/state"), ("DELETE", "/api/state")):
        for content in (b" " * (2**20 + 1), iter([b"{}"])):
            assert client.request(method, address, content=content, headers=headers).status_code == 413


def test_every_answer_has_the_safe_headers(client, stranger):
    for answer in (client.get("/"), client.get("/api/none"), client.get("/", headers={"host": "x"})):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe-eval" not in policy
        assert re.search(r"script-src [^;]*unsafe", policy) is None
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "address",
    [
        "/run.json",
        "/../run.json",
        "/%2e%2e/run.json",
        "/api/export/..%2f..%2frun.json",
        "/api/export/answers.jsonl",
        "/static/index.html",
        "/explorer.css/../../session.py",
        "/docs",
        "/openapi.json",
    ],
)
def test_no_other_file_can_be_reached(client, address):
    answer = client.get(address)
    assert answer.status_code in (400, 404)
    assert "rows.csv" not in answer.text
    assert "import" not in answer.text
