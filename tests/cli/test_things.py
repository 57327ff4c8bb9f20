"""Texts, pictures, series and cells at the command line: fit, report, predict, and mistakes."""

import anndata
import numpy as np
import pytest
from PIL import Image
from tests.cli.helpers import last_error, read_lines

from coterie.cli import run

QUICK = ["--set", "n_resamples=0", "--quiet"]


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """Two kinds each of texts, pictures, series and cells."""
    place = tmp_path_factory.mktemp("things")
    rng = np.random.default_rng(0)
    words = (["cat", "purr", "whisker", "paw"], ["bond", "stock", "market", "price"])
    for folder in ("notes", "pics"):
        (place / folder).mkdir()
    for i in range(40):
        kind = i % 2
        (place / "notes" / f"{i}.txt").write_text(" ".join(rng.choice(words[kind], 6)))
        pixels = rng.integers(0, 60, (12, 12), dtype=np.uint8)
        pixels[:, :6] += np.uint8(150 * kind)
        Image.fromarray(pixels).save(place / "pics" / f"{i}.png")
    times = np.arange(40) * np.array([[0.2], [1.1]])
    np.save(place / "series.npy", np.sin(times[np.arange(40) % 2] + rng.uniform(0, 6, (40, 1))))
    counts = rng.poisson(np.array([[40, 1], [1, 40]]).repeat(30, axis=1)[np.arange(40) % 2])
    anndata.AnnData(counts.astype(np.float32)).write(place / "cells.h5ad")
    return place


@pytest.mark.parametrize("name", ["notes", "pics", "series.npy", "cells.h5ad"])
def test_things_are_fitted_and_new_ones_described_alike(name, things, tmp_path):
    data, out = str(things / name), tmp_path / "run"
    kind = ["--as", "series"] if name == "series.npy" else []
    assert run(["fit", data, "-k", "2", "--out", str(out), *kind, *QUICK]) == 0
    assert (
        run(["predict", str(out / "model.coterie"), data, "-o", str(tmp_path / "again.csv"), "--quiet"]) == 0
    )
    lines = read_lines(out / "labels.csv")
    assert read_lines(tmp_path / "again.csv") == lines
    labels = np.array([int(line["cluster"]) for line in lines])
    assert len(set(labels[::2])) == len(set(labels[1::2])) == 1
    assert labels[0] != labels[1]
    if name == "notes":
        assert set(lines[0]["name"].split()) <= {"cat", "purr", "whisker", "paw"}
    if name == "pics":
        assert run(["report", str(out), "--quiet"]) == 0
        assert "data:image/png" in (out / "report.html").read_text()


def test_what_was_done_to_things_is_said(things, tmp_path, capsys):
    assert run(["recommend", str(things / "cells.h5ad"), "--rep", "X"]) == 0
    said = capsys.readouterr().out
    assert (
        "cells.h5ad: raw counts were scaled to the median total of a cell, log1p taken, and 60 genes" in said
    )
    assert "--rep X" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["notes", "--layer", "counts"], "--layer is for cells (.h5ad, .h5mu)"),
        (["notes", "--drop", "a"], "--drop is for the columns of a table"),
        (["notes", "--as", "images"], "notes has no images"),
        (["cells.h5ad", "--layer", "raw"], "There is no layer 'raw': layers is empty"),
        (["cells.h5ad", "--text", "body"], "cells.h5ad"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(options, words, things, tmp_path, capsys):
    assert run(["fit", str(things / options[0]), "-k", "2", "--out", str(tmp_path / "r"), *options[1:]]) == 2
    assert words in last_error(capsys)
