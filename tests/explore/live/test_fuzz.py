"""Whatever is sent to any address of the page, the server answers, says no in its own words, and stays up."""

import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.explore.live.guard import Keys
from coterie.explore.live.server import make_app

POSTS = ("label", "merge", "split", "together", "apart", "name", "undo", "redo")
GETS = (
    "/api/run",
    "/api/state",
    "/api/map",
    "/api/colours/{}",
    "/api/rows?rows={}",
    "/api/clusters/{}",
    "/api/clusters/{}/rows",
    "/api/clusters/1/rows?order=row&offset={}&most={}",
    "/api/search?words={}",
    "/api/export/{}",
    "/{}",
    "/?{}",
)
EVERY = [*GETS, *(f"/api/{post}" for post in POSTS)]
few = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


huge = st.sampled_from(["1e999", "-1e999", "9" * 400, "-0", "1e-999", "0.1", "NaN", "Infinity", "2147483648"])
texts = st.text(max_size=12).map(json.dumps) | st.just(json.dumps("x" * 5000))
deep = st.tuples(st.sampled_from(["[", '{"rows":', '{"a":[']), st.sampled_from([3, 400, 50_000])).map(
    lambda pair: pair[0] * pair[1]
)
values = huge | texts | deep | st.sampled_from(["null", "true", "[]", "{}", "[[1]]", '{"rows":1}'])
fields = st.sampled_from(
    ["rows", "to", "cluster", "source", "into", "name", "kind", "stay", "new", "__class__"]
)
made = st.dictionaries(
    fields, values | values.map("[{}]".format) | st.integers(-2, 250).map(str), max_size=4
).map(lambda parts: "{" + ",".join(f'"{key}":{value}' for key, value in parts.items()) + "}")
bodies = (made | values).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60)
kinds = st.sampled_from(
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "",
        "é",
    ]
)


@few
@given(post=st.sampled_from(POSTS), body=bodies, kind=kinds)
def test_no_body_of_any_kind_breaks_an_answer(client, session, post, body, kind):
    before = len(session.log.path.read_bytes())
    answer = client.post(f"/api/{post}", content=body, headers={"content-type": kind.encode()})
    assert answer.status_code in (200, 400, 413, 422)
    if answer.status_code != 200:
        assert answer.json()["error"]
        assert len(session.log.path.read_bytes()) == before


@few
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]),
    address=st.sampled_from(EVERY),
    words=st.lists(
        st.text(max_size=20)
        | st.integers().map(str)
        | huge
        | st.sampled_from(["../..", "%2e", "\0", "a" * 3000]),
        min_size=2,
        max_size=2,
    ),
    body=st.none() | bodies,
)
def test_no_method_and_no_address_breaks_the_server(client, method, address, words, body):
    sendable = [quote(word.encode("utf-8", "surrogatepass"), safe="") for word in words]
    answer = client.request(method, address.format(*sendable), content=body)
    assert answer.status_code in (200, 303, 400, 403, 404, 405, 413, 422)
    assert answer.headers["cache-control"] == "no-store"


@few
@given(
    name=st.sampled_from(
        ["cookie", "host", "origin", "content-length", "sec-fetch-site", "range", "if-none-match"]
    ),
    value=st.binary(max_size=80).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"")),
    address=st.sampled_from(["/", "/api/state", "/api/export/answers"]),
)
def test_no_header_breaks_the_server(client, name, value, address):
    answer = client.get(address, headers={name: value})
    assert answer.status_code in (200, 206, 400, 403, 413, 416)


def test_many_requests_at_once_are_all_answered_and_every_answer_is_kept(client, session):
    def answered(address, body):
        answer = client.post(address, json=body)
        while answer.status_code == 409:  # another was faster
            answer = client.post(address, json=body)
        return answer

    def talk(i):
        steps = (
            lambda: answered("/api/name", {"cluster": i % 4, "name": f"name {i}"}),
            lambda: answered("/api/label", {"rows": [i, i + 40], "to": i % 4}),
            lambda: client.get(f"/api/clusters/{i % 4}"),
            lambda: client.get("/api/state"),
            lambda: client.get("/api/export/labels.csv"),
        )
        return steps[i % 5]().status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(talk, range(40))) == {200}
    said = session.log.path.read_text().splitlines()
    assert len(said) == len(session.log.entries) == 16
    assert all("answer" in json.loads(line) for line in said)


@pytest.fixture
def raw(session):
    """Return a function that sends bytes to the real server and returns the first line of what comes back."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = uvicorn.Config(make_app(session, Keys(port)), log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def send(data):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sending:
            sending.sendall(data.replace(b"PORT", str(port).encode()))
            with contextlib.suppress(OSError):  # the server may have answered and closed already
                sending.shutdown(socket.SHUT_WR)
            return sending.makefile("rb").readline().decode("latin-1")

    yield send
    server.should_exit = True
    thread.join(20)
    listening.close()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", "403"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/1.0\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1:PORT\r\n\r\n", "400"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", "40"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", "403"),
        (
            b"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            "403",
        ),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", "4"),
    ],
)
def test_raw_bytes_get_a_no_and_never_a_500(raw, request_, status):
    assert raw(request_).split(" ")[1].startswith(status)
