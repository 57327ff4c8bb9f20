"""What commands say while they work, and the seconds of their phases."""

import re
import threading

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import PCX, GraphClustering
from coterie.cli import patience, run
from coterie.progress import phase, step, watched

X = make_blobs(120, n_features=4, centers=3, random_state=0)[0]


class Recorder:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.told, self.open = [], []

    def begin(self, name):
        self.told.append(name)
        self.open.append(name)

    def step(self, share):
        self.told.append(share)

    def end(self):
        self.open.pop()


@pytest.fixture
def data(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return str(tmp_path / "rows.npy")


@pytest.mark.parametrize(
    ("model", "phases"),
    [
        (GraphClustering(3, random_state=0), ["graph", "clusters", "labels"]),
        (GraphClustering(3, max_rows=60, random_state=0), ["graph", "clusters", "labels"]),
        (PCX(3, max_epochs=2, hidden=(8,), n_code=3, random_state=0), ["graph", "clusters", "training"]),
    ],
)
def test_a_fit_tells_whoever_watches_its_phases_and_how_far_they_are(model, phases):
    recorder = Recorder()
    with watched(recorder):
        model.fit(X)
    assert recorder.open == []
    assert [name for name in dict.fromkeys(recorder.told) if name in phases] == phases
    shares = [share for share in recorder.told if not isinstance(share, str)]
    if not isinstance(model, GraphClustering) or model.max_rows < len(X):
        assert shares[-1] == 1.0
        assert shares == sorted(shares)


def test_a_call_of_the_library_is_silent(capfd):
    GraphClustering(3, random_state=0).fit(X)
    PCX(3, max_epochs=2, hidden=(8,), n_code=3, random_state=0).fit(X)
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_phase_ends_it():
    recorder = Recorder()
    with watched(recorder), pytest.raises(ZeroDivisionError), phase("reading"):
        1 / 0  # noqa: B018
    assert recorder.open == []


def test_a_phase_is_timed_without_those_inside_it(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(patience.time, "monotonic", lambda: next(clock))
    reporter = patience.Reporter(quiet=True)  # 0
    reporter.begin("fit")  # 1, 2
    reporter.begin("graph")  # 3, 4
    reporter.end()  # 5
    reporter.end()  # 6
    assert reporter.seconds == {"fit": 3, "graph": 2}


def test_a_line_says_what_is_done_and_how_long_it_will_take(monkeypatch):
    now = 0.0
    monkeypatch.setattr(patience.time, "monotonic", lambda: now)
    reporter = patience.Reporter(quiet=True)
    assert reporter.line() is None
    reporter.expected = 60.0
    reporter.begin("graph")
    now = 15.0
    assert reporter.line() == "coterie: graph, 15 s so far, about 45 s left"
    now = 75.0
    assert reporter.line() == "coterie: graph, 75 s so far"
    reporter.begin("training")
    now = 115.0
    reporter.step(0.25)
    assert reporter.line() == "coterie: training 25%, 115 s so far, about 2 min left"


def _say_soon(monkeypatch):
    """Let the first line come at once, and the work wait until it has come."""
    said = threading.Event()
    monkeypatch.setattr(patience, "FIRST", 0.0)
    line = patience.Reporter.line

    def spoken(reporter):
        text = line(reporter)
        if text:
            said.set()
        return text

    monkeypatch.setattr(patience.Reporter, "line", spoken)
    fit = GraphClustering._fit
    monkeypatch.setattr(GraphClustering, "_fit", lambda model, rows: (said.wait(20), fit(model, rows))[1])


def test_a_long_fit_says_so_on_standard_error_and_ends_with_its_seconds(data, tmp_path, monkeypatch, capsys):
    _say_soon(monkeypatch)
    assert run(["fit", data, "-k", "3", "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert re.match(r"coterie: \w+, \d+ s so far", printed.err)
    assert re.search(
        r"Seconds: reading [\d.]+ s, .*graph [\d.]+ s, clusters [\d.]+ s, labels [\d.]+ s, writing",
        printed.out,
    )


def test_quiet_silences_all_of_it(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patience, "FIRST", 0.0)
    assert run(["fit", data, "-k", "3", "--quiet", "--out", str(tmp_path / "run")]) == 0
    assert capsys.readouterr() == ("", "")


def test_steps_without_a_watcher_do_nothing():
    with phase("reading"):
        assert step(1, 2) is None
