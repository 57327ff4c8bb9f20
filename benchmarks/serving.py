"""The page's server under many requests: its memory, and what it answers to hostile ones."""

from __future__ import annotations

import http.client
import json
import random
import socket
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from benchmarks.browsing import Program
from benchmarks.fuzzing.mutate import mutate_bytes, mutate_json, random_bytes
from benchmarks.records import save_record
from coterie import GraphClustering
from coterie.runs import Run

FILE = "serving"
_WARM = 1000
_LOOKS = (
    "/", "/style.css", "/explorer.js", "/api/run", "/api/state", "/api/map", "/api/rows?rows=1,2,3",
    "/api/clusters/1", "/api/clusters/2/rows?order=sure&most=10", "/api/search?words=7", "/api/colours/cluster",
)  # fmt: skip
_ANSWERS = ("label", "merge", "split", "together", "apart", "name", "undo", "redo")
_METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "", "get", "G\x00T")


def run_serving(ordinary: int, hostile: int, seed: int) -> None:
    """Send ordinary and then hostile requests to one server, and record its memory and its answers."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(_run(Path(folder)))
        try:
            record = _measured(program, ordinary, hostile, seed)
        finally:
            program.kill()
    save_record(FILE, {"ordinary": ordinary, "hostile": hostile, "seed": seed, **record})
    if record["server_errors"] or record["unanswered_looks"]:
        sys.exit(1)


def _run(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = np.eye(4)[np.arange(400) % 4] * 9 + rng.normal(size=(400, 4))
    np.save(folder / "rows.npy", rows)
    model, run = GraphClustering(4, random_state=0).fit(rows), Run(folder / "run")
    with run.created(replace=False):
        facts = {"data": str(folder / "rows.npy"), "rows": len(rows)}
        run.write(model, model.labels_, model.confidence_, None, facts)
    return run.folder


def _measured(program: Program, ordinary: int, hostile: int, seed: int) -> dict[str, Any]:
    link = urlsplit(program.link)
    connection = http.client.HTTPConnection(link.hostname, link.port, timeout=60)
    connection.request("GET", f"{link.path}?{link.query}")
    opened = connection.getresponse()
    opened.read()
    headers = {"Cookie": opened.headers["Set-Cookie"].partition(";")[0]}
    rng, memory, failed = random.Random(seed), {}, 0
    for number in range(_WARM + ordinary):
        if number == _WARM:
            memory["mb_before"] = _resident_mb(program)
        connection.request("GET", rng.choice(_LOOKS), headers=headers)
        answer = connection.getresponse()
        answer.read()
        failed += answer.status != 200
    memory["mb_after_ordinary"] = _resident_mb(program)
    origin = f"http://{link.hostname}:{link.port}"
    statuses: Counter[str] = Counter()
    for number in range(hostile):
        made = random.Random(f"{seed} {number}")
        statuses[_status(link.hostname, link.port, _hostile(made, headers["Cookie"], origin))] += 1
    memory["mb_after_hostile"] = _resident_mb(program)
    connection.close()
    connection.request("GET", "/api/state", headers=headers)
    failed += connection.getresponse().status != 200
    return {
        **memory,
        "unanswered_looks": failed,
        "statuses": dict(sorted(statuses.items())),
        "server_errors": sum(count for status, count in statuses.items() if status.startswith("5")),
    }


def _hostile(rng: random.Random, cookie: str, origin: str) -> bytes:
    """Return a request of which something is wrong: its line, a header, its body or its length."""
    body, address = _body(rng), _address(rng)
    lines = {
        "Host": urlsplit(origin).netloc,
        "Cookie": cookie,
        "Origin": origin,
        "Coterie-Steps": rng.choice(("0", "1", "-1", "x", "9" * 30)),
        "Content-Type": rng.choice(("application/json", "text/xml", "multipart/form-data; boundary=", "")),
        "Content-Length": str(len(body)),
    }
    for _ in range(rng.randrange(3)):
        name = rng.choice([*lines, "Range", "Expect", "Transfer-Encoding", "Upgrade", "If-Match", "X" * 300])
        value = rng.choice(
            ("", "0", "-1", "9" * 25, "chunked", "100-continue", "bytes=0-,-1", "websocket", "a" * 9000, "\xe9",
             "http://evil.example", "127.0.0.1", "coterie=1; coterie=2")
        )  # fmt: skip
        lines[name] = value
    method = rng.choice(("POST", "POST", "GET", *_METHODS))
    head = f"{method} {address} HTTP/1.{rng.choice('1110x')}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    data = head.encode("latin-1") + body
    return mutate_bytes(data, rng) if rng.random() < 0.2 else data


def _address(rng: random.Random) -> str:
    word = rng.choice(
        ("../../etc/passwd", "%2e%2e%2f", "\udcff", "<script>", "1e999", "-1", "9" * 99, "\x00", "é")
    )
    sendable = quote(word.encode("utf-8", "surrogateescape"), safe="./%")
    if rng.random() < 0.6:
        return f"/api/{rng.choice(_ANSWERS)}"
    return rng.choice(
        (*_LOOKS, "/api/export/{}", "/api/rows?rows={}", "/api/clusters/{}", "/{}", "/?token={}")
    ).format(sendable)


def _body(rng: random.Random) -> bytes:
    valid = rng.choice(
        (
            {"rows": [1, 2], "to": 1},
            {"source": 0, "into": 1},
            {"cluster": 0, "name": "x"},
            {"rows": [3, 4]},
            {"cluster": 1},
        )
    )
    how = rng.random()
    if how < 0.6:
        return mutate_json(valid, rng).encode("utf-8", "surrogatepass")
    return json.dumps(valid).encode() if how < 0.8 else random_bytes(rng)


def _status(host: str, port: int, request: bytes) -> str:
    """Send bytes; return the status of the answer, or "closed" where the server ends the connection without one."""
    with socket.create_connection((host, port), timeout=60) as sending:
        try:
            sending.sendall(request)
            sending.shutdown(socket.SHUT_WR)
            first = sending.makefile("rb").readline().split(b" ")
        except ConnectionError:
            return "closed"
        return first[1].decode("latin-1") if len(first) > 1 else "closed"


def _resident_mb(program: Program) -> float:
    status = Path(f"/proc/{program._process.pid}/status").read_text()
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)
