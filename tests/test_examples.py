"""The examples run as they are, and print what they say they print."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
# What a reader of the output should find, and the files that are left.
PROMISED = {
    "texts": (["stands for it: ", "are in the cluster of their module"], ["texts.html"]),
    "omics": (
        ["lack a modality", "accuracy 0.9", "spoilt protein assays: ", "has no protein"],
        ["cells.h5mu", "omics.html"],
    ),
    "cells": (["cells; ", "coterie: ", "least sure: ", "two clusters from the same fit"], ["cells.h5ad"]),
    "images": (["the answer is the only one: True", "after 20 answers"], ["digits.coterie", "images.html"]),
    "stream": (["day 6: 2", "fit again", "saved, loaded"], ["stream.coterie"]),
}


def example(name: str):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tried_and_listed():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(PROMISED)
    readme = (FOLDER / "README.md").read_text()
    assert [name for name in PROMISED if f"[{name}.py]({name}.py)" not in readme] == []


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_runs_and_keeps_its_promises(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = example(name)
    if name == "texts":
        monkeypatch.setattr(module, "MODULES", ("signal", "linalg"))
        monkeypatch.setattr(module, "EPOCHS", 8)
    module.main()
    said = capsys.readouterr().out
    words, files = PROMISED[name]
    assert [word for word in words if word not in said] == []
    assert [file for file in files if not (tmp_path / file).stat().st_size] == []
