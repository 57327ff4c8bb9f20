"""Every command in a block of the README and the docs is run, or at least understood by the program that it calls."""

import csv
import re
import shlex
from pathlib import Path

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
import typer
from benchmarks import __main__ as benchmarks
from PIL import Image
from tests.test_docs import LINKING, ROOT
from torch.distributed.run import get_args_parser

from coterie import LargeMvCNet, refine
from coterie.cli import run
from coterie.explore.live import server
from coterie.runs import Run, write_labels

N_ROWS, N_COLUMNS = 120, 64


def commands(page: Path) -> list[list[str]]:
    """Return the commands in the blocks of a page that are of no language, as words."""
    found, language = [], None
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            language = line[3:].strip() if language is None else None
        elif language in ("", "text"):
            found += [shlex.split(part, comments=True) for part in line.split("&&")]
    return [words for words in found if words]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with all files that pages speak of: three kinds of rows, images of 8 by 8."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = np.arange(N_ROWS) % 3
    rows = (3 * rng.normal(size=(3, N_COLUMNS))[kinds] + rng.normal(size=(N_ROWS, N_COLUMNS))).round(3)
    names = [f"feature{i}" for i in range(N_COLUMNS)]
    for name in ("rows", "data", "new"):
        _write(f"{name}.csv", names, rows.tolist())
        np.save(f"{name}.npy", rows)
    np.savez("data.npz", X=rows)
    customers = [[i, f"city {i % 7}", *row] for i, row in enumerate(rows.tolist())]
    for name in ("customers", "new-customers"):
        _write(f"{name}.csv", ["customer_id", "city", *names], customers)
    _write("known.csv", ["row", "label"], [[i, kinds[i]] for i in range(12)])
    _write("said.csv", ["row", "label"], [[0, 1], [3, 1]])
    Path("answers.json").write_text('{"answers": [{"kind": "name", "cluster": 0, "name": "cats"}]}')
    _write("classes.csv", ["label"], kinds[:, None].tolist())
    _write("about.csv", ["maker", "age"], [[f"maker {i % 4}", i] for i in range(N_ROWS)])
    _write_things(rows, kinds, names)
    return tmp_path


def _write_things(rows: np.ndarray, kinds: np.ndarray, names: list[str]) -> None:
    """Write texts, pictures, series, cells and shards."""
    words = np.array(
        [
            ["cat", "dog", "purrs", "barks"],
            ["bond", "stock", "yield", "price"],
            ["goal", "team", "match", "win"],
        ]
    )
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(words[kind], 8)) for kind in kinds]
    _write("notes.csv", ["body"], [[text] for text in texts])
    pixels = (255 * (rows - rows.min()) / np.ptp(rows)).astype(np.uint8).reshape(-1, 8, 8)
    np.save("digits.npy", pixels)
    for folder in ("texts", "photos", "shards"):
        Path(folder).mkdir()
    for i, text in enumerate(texts):
        Path("texts", f"{i:03}.txt").write_text(text)
        Image.fromarray(pixels[i]).save(Path("photos", f"{i:03}.png"))
    np.save("beats.npy", rows)
    _write("beats.csv", names, rows.tolist())
    for part in range(2):
        frame = pd.DataFrame(rows[60 * part : 60 * part + 60], columns=names)
        frame.to_parquet(Path("shards", f"{part}.parquet"))
    counts = rng.poisson(np.exp(rows / 4))
    cells = anndata.AnnData(counts.astype(np.float32), layers={"counts": counts.astype(np.float32)})
    cells.write_h5ad("cells.h5ad")
    mudata.MuData({"rna": cells[:, :40].copy(), "protein": cells[:, 40:].copy()}).write("cells.h5mu")


def _write(name: str, heading: list[str], lines: list[list[object]]) -> None:
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([heading, *lines])


@pytest.fixture
def a_run(place):
    """The folder `run`, on pages that do not make it."""
    model = LargeMvCNet(3, random_state=0).fit("rows.npy")
    Path("run").mkdir()
    the_run = Run(place / "run")
    model.save(the_run.model)
    write_labels(the_run.labels, *model.assign("rows.npy"))
    the_run.write_note({"data": str(place / "rows.npy"), "rows": N_ROWS})
    refine(model, "rows.npy", {0: 1}).model().save("refined.coterie")


def check(words: list[str]) -> None:
    """Run a command of coterie's; look whether another one is what its program takes."""
    if words[0] == "OMP_NUM_THREADS=1":
        words = words[1:]
    if Path(words[0]).name == "coterie":
        assert run(words[1:]) == 0, words
    elif words[0] == "torchrun":
        asked = get_args_parser().parse_args(words[1:])
        assert (asked.module, asked.training_script, asked.training_script_args[0]) == (
            True,
            "coterie",
            "fit",
        )
        if "..." not in asked.training_script_args:
            assert run(asked.training_script_args) == 0, words
    elif words[:3] == ["python", "-m", "benchmarks"]:
        command = typer.main.get_command(benchmarks.app).commands[words[3]]
        command.make_context(words[3], words[4:])
    elif words[0] == "python":
        assert (ROOT / words[1]).exists(), words
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), words
    else:
        assert words == ["source", ".venv/bin/activate"], words


@pytest.mark.parametrize("page", [page for page in LINKING if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page, place, request, monkeypatch, short_training):
    opened = []
    monkeypatch.setattr(server, "serve", lambda session, port, say: opened.append(session.log.close()))
    words = commands(page)
    if any("run" in line for line in words) and not any("fit" in line for line in words):
        request.getfixturevalue("a_run")
    for line in words:
        check(line)
    assert len(opened) == sum("explore" in line for line in words)


def test_a_wrong_command_is_noticed(place):
    for line in (
        ["coterie", "predict", "nowhere", "rows.npy"],
        ["make", "coffee"],
        ["python", "nowhere.py"],
        ["rm", "-r"],
    ):
        with pytest.raises(AssertionError, match=re.escape(line[1])):
            check(line)
    with pytest.raises(Exception, match="No such option"):
        check(["python", "-m", "benchmarks", "disk", "--coffee"])
