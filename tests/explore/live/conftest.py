"""A small run that every test of the page explores, and sessions of it."""

import csv

import numpy as np
import pytest
from fastapi.testclient import TestClient

from coterie.cli import run
from coterie.data import read_views
from coterie.explore.live.guard import Keys
from coterie.explore.live.metadata import Metadata
from coterie.explore.live.server import make_app
from coterie.explore.live.session import Session
from coterie.methods.base import load
from coterie.runs import Run, read_confidence

EVIL = "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=2>\"'&"
CENTRES = np.array([[0, 0, 0, 0], [7, 0, 0, 7], [0, 9, 0, 0], [7, 9, 5, 0]])
HOME = "http://127.0.0.1:4321"
KIND = np.arange(240) % 4


def write_rows(path):
    """Write four groups of 60 rows; the name of one column is an attack."""
    rows = CENTRES[KIND] + 0.8 * np.random.default_rng(0).normal(size=(240, 4))
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["height", EVIL, "width", "depth"])
        writer.writerows(rows)


def write_metadata(path):
    """Write a column of three groups, one of numbers and one of texts that are attacks."""
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["maker", "age", EVIL])
        writer.writerows([f"maker {row % 3}", 20 + row / 7, f"thing {row} {EVIL}"] for row in range(240))


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder with rows.csv, metadata.csv, and a finished run of PCX asked for four clusters."""
    folder = tmp_path_factory.mktemp("explored")
    write_rows(folder / "rows.csv")
    write_metadata(folder / "metadata.csv")
    fast = ["max_epochs=20", "hidden=[16]", "n_code=3"]
    settings = [word for setting in fast for word in ("--set", setting)]
    arguments = ["fit", str(folder / "rows.csv"), "--method", "pcx", "-k", "4", "--out", str(folder / "run")]
    assert run([*arguments, "--quiet", *settings]) == 0
    return folder


@pytest.fixture
def make_session(place, tmp_path):
    """Return a function that opens a session on the run, prepared, with a folder of its own."""
    made = []

    def make(folder=tmp_path / "explore", prepared=True, **options):
        the_run = Run(place / "run")
        views = read_views(place / "rows.csv")
        usual = {"metadata": Metadata.read(place / "metadata.csv", 240), "truth": KIND, "embedding": "pca"}
        usual["confidence"] = read_confidence(the_run.labels, 240)
        session = Session(load(the_run.model), views, folder, title=EVIL, **(usual | options))
        made.append(session)
        if prepared:
            session.prepare()
            session.draw_map()
        return session

    yield make
    for session in made:
        session.log.close()


@pytest.fixture
def session(make_session):
    return make_session()


class PageClient(TestClient):
    """Talks as the page does: an answer says how many steps the page knows of, the last ones by default."""

    def post(self, url, *, headers=None, **options):
        steps = str(self.session.log.steps)
        return super().post(url, headers={"coterie-steps": steps} | (headers or {}), **options)


@pytest.fixture
def client(session):
    """Someone who has the link and talks to the server of the session."""
    keys = Keys(4321)
    page_client = PageClient(make_app(session, keys), base_url=HOME, raise_server_exceptions=False)
    page_client.session = session
    page_client.cookies.set(keys.cookie_name, keys.cookie)
    page_client.headers["origin"] = HOME
    return page_client


@pytest.fixture
def kind():
    """The group of each row."""
    return KIND


@pytest.fixture
def evil():
    """A text that does harm where it is read as HTML."""
    return EVIL


@pytest.fixture
def number_of():
    """Return a function from a session and a group to the cluster that most of the group's rows are in."""
    return lambda session, group: int(np.bincount(session.state.labels[group == KIND]).argmax())
