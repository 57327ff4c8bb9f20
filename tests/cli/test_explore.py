"""`coterie explore`: where it cannot begin."""

import importlib.util
import socket

import pytest
from tests.cli.helpers import last_error

from coterie.cli import run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{place}"], "holds no finished run"),
        (["{place}/run", "--data", "{place}/gone.csv"], "gone.csv; give --data the place where they are now"),
        (["{place}/run", "--data", "{place}/fewer.csv"], "The data have 2 rows, the run had 150"),
        (
            ["{place}/run", "--data", "{place}/narrow.csv"],
            "The data have [2] columns, the model was fitted on [5]",
        ),
        (["{place}/run", "--metadata", "{place}/fewer.csv"], "has 2 lines but the data have 150 rows"),
        (["{place}/run", "--truth", "{place}/fewer.csv"], "fewer.csv"),
        (["{place}/run", "--image-shape", "3x3"], "image_shape needs a view with 9 features"),
        (["{place}/run", "--rows", "2"], "max_rows is 2, fewer than the 3 clusters"),
        (["{place}/run", "--port", "70000"], "--port"),
    ],
)
def test_explore_ends_in_one_sentence_where_it_cannot_begin(folder, capsys, arguments, words):
    (folder / "fewer.csv").write_text("a,b\n1,2\n3,4\n")
    (folder / "narrow.csv").write_text("a,b\n" + "1,2\n" * 150)
    assert run(["explore", *(argument.format(place=folder) for argument in arguments)]) == 2
    assert words in last_error(capsys)


def test_explore_says_that_its_port_is_taken(folder, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["explore", str(folder / "run"), "--port", str(port)]) == 2
    assert f"--port {port} cannot be used" in last_error(capsys)


def test_explore_names_the_package_it_lacks(folder, capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["explore", str(folder / "run")]) == 2
    assert "coterie explore needs fastapi: pip install 'coterie[explore]'" in last_error(capsys)
