"""Every example of the gallery runs to its end and makes a picture."""

import runpy
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from coterie.methods.choosing import clusters
from coterie.methods.run_setup import RunSettings

EXAMPLES = sorted((Path(__file__).parents[1] / "docs" / "gallery").rglob("plot_*.py"))


def test_there_are_at_least_eight_examples():
    assert len(EXAMPLES) >= 8


def six_epochs(settings, per_epoch, _epochs=RunSettings.epochs):
    """Train for six epochs at most: the site itself is built with those that an example asks for."""
    most = settings.max_epochs if isinstance(settings.max_epochs, int) else 6
    return _epochs(replace(settings, max_epochs=min(6, most)), per_epoch)


def of_few_numbers(graph, tried, _figures=clusters.count_figures, **options):
    """Try three numbers of clusters."""
    return _figures(graph, tried[:3], **options)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_makes_a_picture(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunSettings, "epochs", six_epochs)
    monkeypatch.setattr(clusters, "count_figures", of_few_numbers)
    plt.switch_backend("agg")
    try:
        runpy.run_path(str(example))
        assert plt.get_fignums()
        assert all(plt.figure(number).axes for number in plt.get_fignums())
    finally:
        plt.close("all")
    assert list(tmp_path.iterdir()) == []
